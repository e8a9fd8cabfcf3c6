/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/err.h"

#include <errno.h>
#include <stdarg.h>

/* Drop the first bytes of a character whose rest did not fit before `end`. */
static void cut_at_character(char *text, size_t end)
{
	size_t start = end;

	while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start > 0 && (unsigned char)text[start - 1] >= 0xc0)
		text[start - 1] = '\0';
}

int np_fail(struct np_err *err, enum np_code code, const char *fmt, ...)
{
	/* Not straight into err->text: a wrapped failure quotes it as an argument. */
	char text[sizeof(err->text)] = "";
	va_list args;
	int length;

	if (!err)
		return code;

	va_start(args, fmt);
	length = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	if (length < 0)
		text[0] = '\0';
	else if ((size_t)length >= sizeof(text))
		cut_at_character(text, sizeof(text) - 1);
	memcpy(err->text, text, sizeof(text));
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
