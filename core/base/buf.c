/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text. */
#include "npuprof/buf.h"

#include <stdarg.h>

#define FIRST_CAPACITY ((size_t)64)

/* Shared by all threads: it is read, never written. */
char np_buf_empty[1] = "";

void np_buf_release(struct np_buf *buf)
{
	if (buf->capacity > 0)
		free(buf->text);
	*buf = NP_BUF_INIT;
}

void np_buf_clear(struct np_buf *buf)
{
	buf->length = 0;
	if (buf->capacity > 0)
		buf->text[0] = '\0';
}

static bool grow(struct np_buf *buf, size_t needed)
{
	size_t capacity = buf->capacity > SIZE_MAX / 2 ? SIZE_MAX : buf->capacity * 2;
	char *grown;

	if (capacity < FIRST_CAPACITY)
		capacity = FIRST_CAPACITY;
	if (capacity < needed)
		capacity = needed;

	grown = realloc(buf->capacity > 0 ? buf->text : NULL, capacity);
	if (!grown)
		return false;
	buf->text = grown;
	buf->capacity = capacity;
	return true;
}

/* Room for `extra` bytes and the NUL behind them; false when text is to be dropped. */
static bool room(struct np_buf *buf, size_t extra)
{
	size_t needed;

	if (buf->failed)
		return false;
	if (__builtin_add_overflow(buf->length + 1, extra, &needed))
		buf->failed = true;
	else if (needed > buf->capacity)
		buf->failed = !grow(buf, needed);
	return !buf->failed;
}

char *np_buf_reserve(struct np_buf *buf, size_t most)
{
	return room(buf, most) ? buf->text + buf->length : NULL;
}

void np_buf_take(struct np_buf *buf, size_t length)
{
	buf->length += length;
	buf->text[buf->length] = '\0';
}

void np_buf_add_bytes(struct np_buf *buf, const char *bytes, size_t length)
{
	if (length == 0 || !room(buf, length))
		return;
	memcpy(buf->text + buf->length, bytes, length);
	buf->length += length;
	buf->text[buf->length] = '\0';
}

void np_buf_add(struct np_buf *buf, const char *text)
{
	np_buf_add_bytes(buf, text, strlen(text));
}

void np_buf_add_char(struct np_buf *buf, char c)
{
	if (!room(buf, 1))
		return;
	buf->text[buf->length++] = c;
	buf->text[buf->length] = '\0';
}

void np_buf_add_repeated(struct np_buf *buf, char c, size_t times)
{
	if (times == 0 || !room(buf, times))
		return;
	memset(buf->text + buf->length, c, times);
	buf->length += times;
	buf->text[buf->length] = '\0';
}

/* Print behind the text if it fits; the length it has, or would have, either way. */
static int print(struct np_buf *buf, const char *fmt, va_list args) NP_PRINTF(2, 0);

static int print(struct np_buf *buf, const char *fmt, va_list args)
{
	return vsnprintf(buf->text + buf->length, buf->capacity - buf->length, fmt, args);
}

void np_buf_printf(struct np_buf *buf, const char *fmt, ...)
{
	size_t space;
	va_list args;
	int length;

	if (!room(buf, 1))
		return;

	space = buf->capacity - buf->length;
	va_start(args, fmt);
	length = print(buf, fmt, args);
	va_end(args);

	if (length >= 0 && (size_t)length >= space && room(buf, (size_t)length)) {
		va_start(args, fmt);
		length = print(buf, fmt, args);
		va_end(args);
	}
	if (length < 0)
		buf->failed = true;
	if (!buf->failed)
		buf->length += (size_t)length;
	buf->text[buf->length] = '\0';
}

int np_buf_check(const struct np_buf *buf, struct np_err *err)
{
	if (buf->failed)
		return np_fail_nomem(err, "text");
	return NP_OK;
}
