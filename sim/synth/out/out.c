/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text files through a large buffer, compressed or not (out.h). */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gzip.h"
#include "io.h"
#include "npuprof/buf.h"

#define CAPACITY ((size_t)256 << 10)

static int prepare(struct syn_out *out, const char *path, bool gzip, struct np_err *err)
{
	out->text = malloc(CAPACITY);
	out->path = strdup(path);
	if (gzip)
		out->gzip = syn_gzip_new();
	if (!out->text || !out->path || (gzip && !out->gzip))
		return np_fail_nomem(err, "a file");
	return NP_OK;
}

static void release(struct syn_out *out)
{
	if (out->fd >= 0)
		(void)close(out->fd);
	syn_gzip_free(out->gzip);
	free(out->text);
	free(out->path);
	*out = SYN_OUT_INIT;
}

int syn_out_open(struct syn_out *out, const char *path, bool gzip, struct np_err *err)
{
	int rc;

	*out = SYN_OUT_INIT;
	rc = prepare(out, path, gzip, err);
	if (rc == NP_OK)
		out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (rc == NP_OK && out->fd < 0)
		rc = syn_io_fail(err, "write", path);
	if (rc < 0)
		release(out);
	return rc;
}

int syn_out_spool(struct syn_out *out, const char *dir, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	*out = SYN_OUT_INIT;
	np_buf_printf(&path, "%s/.npuprof-synth.XXXXXX", dir);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = prepare(out, path.text, false, err);
	if (rc == NP_OK)
		out->fd = mkostemp(out->path, O_CLOEXEC);
	if (rc == NP_OK && out->fd < 0)
		rc = syn_io_fail(err, "write", out->path);
	else if (rc == NP_OK)
		(void)unlink(out->path);
	if (rc < 0)
		release(out);
	return rc;
}

static void write_all(struct syn_out *out, const char *bytes, size_t length)
{
	while (length > 0 && !out->write_errno) {
		ssize_t done = write(out->fd, bytes, length);

		if (done < 0 && errno != EINTR)
			out->write_errno = errno;
		if (done > 0) {
			bytes += done;
			length -= (size_t)done;
		}
	}
}

static void write_some(struct syn_out *out, const char *bytes, size_t length)
{
	if (!out->gzip) {
		write_all(out, bytes, length);
		return;
	}
	while (length > 0) {
		size_t piece = length < SYN_GZIP_PIECE ? length : SYN_GZIP_PIECE;

		syn_gzip_add(out->gzip, bytes, piece);
		write_all(out, syn_gzip_bytes(out->gzip), syn_gzip_length(out->gzip));
		syn_gzip_taken(out->gzip);
		bytes += piece;
		length -= piece;
	}
}

static void flush(struct syn_out *out)
{
	write_some(out, out->text, out->length);
	out->length = 0;
}

int syn_out_close(struct syn_out *out, int rc, struct np_err *err)
{
	if (out->fd < 0)
		return rc;
	flush(out);
	if (out->gzip) {
		syn_gzip_end(out->gzip);
		write_all(out, syn_gzip_bytes(out->gzip), syn_gzip_length(out->gzip));
	}
	if (!out->write_errno && close(out->fd) != 0)
		out->write_errno = errno;
	else if (out->write_errno)
		(void)close(out->fd);
	out->fd = -1;
	if (rc == NP_OK && out->write_errno) {
		errno = out->write_errno;
		rc = syn_io_fail(err, "write", out->path);
	}
	release(out);
	return rc;
}

int syn_out_move(struct syn_out *to, struct syn_out *spool, struct np_err *err)
{
	ssize_t got = 1;

	/* What fitted into the buffer never sees the disk. */
	if (lseek(spool->fd, 0, SEEK_CUR) == 0 && !spool->write_errno) {
		syn_put_bytes(to, spool->text, spool->length);
		spool->length = 0;
		return NP_OK;
	}
	flush(spool);
	errno = spool->write_errno;
	if (spool->write_errno || lseek(spool->fd, 0, SEEK_SET) < 0)
		return syn_io_fail(err, "write", spool->path);
	while (got > 0) {
		got = read(spool->fd, spool->text, CAPACITY);
		if (got > 0)
			syn_put_bytes(to, spool->text, (size_t)got);
		else if (got < 0 && errno == EINTR)
			got = 1;
	}
	if (got < 0 || ftruncate(spool->fd, 0) != 0 || lseek(spool->fd, 0, SEEK_SET) < 0)
		return syn_io_fail(err, "read", spool->path);
	return NP_OK;
}

void syn_put_bytes(struct syn_out *out, const char *bytes, size_t length)
{
	if (out->length + length > CAPACITY)
		flush(out);
	if (length > CAPACITY) {
		write_some(out, bytes, length);
		return;
	}
	memcpy(out->text + out->length, bytes, length);
	out->length += length;
}

void syn_put(struct syn_out *out, const char *text)
{
	syn_put_bytes(out, text, strlen(text));
}

void syn_put_char(struct syn_out *out, char c)
{
	syn_put_bytes(out, &c, 1);
}

/* Digits of `value` before `end`; gives where they begin. */
static char *digits_before(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	return end;
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

void syn_put_int(struct syn_out *out, int64_t value)
{
	char text[24];
	char *end = text + sizeof(text);
	char *start = digits_before(end, magnitude(value));

	if (value < 0)
		*--start = '-';
	syn_put_bytes(out, start, (size_t)(end - start));
}

/* "<µs>.<three digits>" at the end of `text`; gives where it begins. */
static char *microseconds(char *end, np_ns time)
{
	uint64_t left = magnitude(time);
	char *start = end;

	for (int i = 0; i < 3; i++) {
		*--start = (char)('0' + left % 10);
		left /= 10;
	}
	*--start = '.';
	start = digits_before(start, left);
	if (time < 0)
		*--start = '-';
	return start;
}

void syn_put_us(struct syn_out *out, np_ns time)
{
	char text[32];
	char *end = text + sizeof(text);
	char *start = microseconds(end, time);

	syn_put_bytes(out, start, (size_t)(end - start));
}

void syn_put_us_float(struct syn_out *out, np_ns time)
{
	char text[32];
	char *end = text + sizeof(text);
	char *start = microseconds(end, time);

	while (end[-1] == '0' && end[-2] != '.')
		end--;
	syn_put_bytes(out, start, (size_t)(end - start));
}

/* Python writes no exponent where %g begins to, so the digits are laid out again. */
static void put_plain(struct syn_out *out, const char *scientific, int exponent)
{
	char digits[24];
	int count = 0;

	for (const char *c = scientific; *c && *c != 'e'; c++) {
		if (*c >= '0' && *c <= '9')
			digits[count++] = *c;
		else if (*c == '-')
			syn_put_char(out, '-');
	}
	while (count > 1 && digits[count - 1] == '0')
		count--;
	if (exponent < 0)
		SYN_PUT(out, "0.");
	for (int i = -1; i > exponent; i--)
		syn_put_char(out, '0');
	for (int i = 0; i < count || i <= exponent; i++) {
		syn_put_char(out, (char)(i < count ? digits[i] : '0'));
		if (i == exponent)
			syn_put_char(out, '.');
	}
	if (exponent >= count - 1)
		syn_put_char(out, '0');
}

void syn_put_real(struct syn_out *out, double value)
{
	char text[40];
	int digits = 14;
	int exponent;

	do {
		digits++;
		(void)snprintf(text, sizeof(text), "%.*e", digits - 1, value);
	} while (digits < 17 && strtod(text, NULL) != value);
	exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	if (value == 0.0) {
		syn_put(out, signbit(value) ? "-0.0" : "0.0");
	} else if (exponent >= -4 && exponent < 16) {
		put_plain(out, text, exponent);
	} else {
		(void)snprintf(text, sizeof(text), "%.*g", digits, value);
		syn_put(out, text);
	}
}

void syn_put_cell(struct syn_out *out, const char *text)
{
	if (!strpbrk(text, "\",\r\n")) {
		syn_put(out, text);
		return;
	}
	syn_put_char(out, '"');
	for (const char *c = text; *c; c++) {
		if (*c == '"')
			syn_put_char(out, '"');
		syn_put_char(out, *c);
	}
	syn_put_char(out, '"');
}

double syn_us(np_ns time)
{
	/* A double cannot hold the nanoseconds of today's clock, but their microseconds. */
	return (double)(time / 1000) + (double)(time % 1000) / 1000.0;
}
