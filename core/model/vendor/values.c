/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the vendor's files as they are kept: those that say nothing become no text. */
#include "values.h"

bool vendor_is_no_value(const char *text, size_t length, enum vendor_no_value words)
{
	static const char *const marks[] = { "N/A", "NA", "INVALID_TYPE" };
	size_t count = words == VENDOR_NO_TYPE ? 1 : NP_COUNT(marks);

	/* A cell that is not there has no text at all. */
	if (length == 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		if (strlen(marks[i]) == length && memcmp(text, marks[i], length) == 0)
			return true;
	}
	return false;
}

int vendor_intern(struct np_strtab *strings, const char *text, size_t length, np_str *ret,
		  struct np_err *err)
{
	*ret = NP_STR_NONE;
	if (!text || vendor_is_no_value(text, length, VENDOR_NO_TEXT))
		return NP_OK;
	return np_strtab_add(strings, text, length, ret, err);
}

/* Most texts have nothing to drop or replace and are not copied. */
static bool is_plain(const char *text, size_t length, const char *drop, char from, char to)
{
	for (; *drop; drop++) {
		if (memchr(text, *drop, length))
			return false;
	}
	return from == to || !memchr(text, from, length);
}

/* Intern a copy without what is in `drop`, and with `to` for `from`. */
static int intern_without(struct np_strtab *strings, const char *text, size_t length,
			  const char *drop, char from, char to, np_str *ret, struct np_err *err)
{
	size_t kept = 0;
	char *copy;
	int rc;

	if (!text || is_plain(text, length, drop, from, to))
		return vendor_intern(strings, text, length, ret, err);
	*ret = NP_STR_NONE;
	copy = malloc(length + 1);
	if (!copy)
		return np_fail_nomem(err, "a text");
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\0' && strchr(drop, text[i]))
			continue;
		copy[kept++] = text[i] == from ? to : text[i];
	}
	rc = vendor_intern(strings, copy, kept, ret, err);
	free(copy);
	return rc;
}

int vendor_intern_list(struct np_strtab *strings, const char *text, size_t length, char separator,
		       np_str *ret, struct np_err *err)
{
	return intern_without(strings, text, length, "\r\n\"", ';', separator, ret, err);
}

int vendor_intern_shapes(struct np_strtab *strings, const char *text, size_t length, np_str *ret,
			 struct np_err *err)
{
	return intern_without(strings, text, length, "\"", '\0', '\0', ret, err);
}
