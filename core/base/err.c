/* SPDX-License-Identifier: Apache-2.0 */
/* Describing a failure, in a text that always fits. */
#include "npuprof/err.h"

#include <errno.h>
#include <stdarg.h>

/* Of text that does not fit this much of the end stays: there it says why. */
enum {
	KEPT_END = 200
};

static bool inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The length of text that was cut off somewhere, without the first bytes of a character. */
static size_t whole_characters(const char *text, size_t length)
{
	size_t start = length;

	while (start > 0 && inside_character(text[start - 1]))
		start--;
	return start > 0 && (unsigned char)text[start - 1] >= 0xc0 ? start - 1 : length;
}

/* Copy `text` without what does not fit from between its ends, and without halves of characters. */
static void copy_short(char *ret, size_t size, const char *text, size_t length)
{
	static const char gap[] = "…";
	size_t start = length - KEPT_END;
	size_t end;

	while (inside_character(text[start]))
		start++;
	end = size - sizeof(gap) - (length - start);
	while (end > 0 && inside_character(text[end]))
		end--;
	memcpy(ret, text, end);
	memcpy(ret + end, gap, sizeof(gap) - 1);
	memcpy(ret + end + sizeof(gap) - 1, text + start, length - start);
	ret[end + sizeof(gap) - 1 + length - start] = '\0';
}

int np_fail(struct np_err *err, enum np_code code, const char *fmt, ...)
{
	/* Not straight into err->text: a wrapped failure quotes it as an argument. */
	char text[8192];
	va_list args;
	int length;

	if (!err)
		return code;

	va_start(args, fmt);
	length = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	if (length < 0)
		text[0] = '\0';
	if (length < (int)sizeof(err->text))
		memcpy(err->text, text, strlen(text) + 1);
	else
		copy_short(err->text, sizeof(err->text), text,
			   length < (int)sizeof(text) ? (size_t)length
						      : whole_characters(text, sizeof(text) - 1));
	err->code = code;
	return code;
}

int np_fail_errno(struct np_err *err, const char *verb, const char *path)
{
	enum np_code code = errno == ENOENT || errno == ENOTDIR ? NP_E_NOTFOUND : NP_E_IO;
	char reason[128];

	return np_fail(err, code, "cannot %s '%s': %s", verb, path,
		       strerror_r(errno, reason, sizeof(reason)));
}
