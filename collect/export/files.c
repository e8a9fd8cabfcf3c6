/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON value as it was read, written again. */
#include "export.h"

#include <errno.h>

#include "npuprof/jsonout.h"

/* --- JSON ------------------------------------------------------------------------------------ */

/* NOLINTNEXTLINE(misc-no-recursion): bounded by NP_JSONOUT_DEPTH */
static void copy(struct np_jsonout *out, const char *key, const struct np_json *node, bool line);

static void copy_members(struct np_jsonout *out, const char *key, const struct np_json *node,
			 bool line)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (line)
		np_jsonout_object_line(out, key);
	else
		np_jsonout_object(out, key);
	while (np_json_next(node, &entry))
		copy(out, entry.key, entry.value, line);
	np_jsonout_end(out);
}

/* Lists of numbers and of small objects are easier to read on one line. */
static void copy_items(struct np_jsonout *out, const char *key, const struct np_json *node,
		       bool line)
{
	bool plain = np_json_type(np_json_item(node, 0)) != NP_JSON_OBJECT;

	if (line || plain)
		np_jsonout_array_line(out, key);
	else
		np_jsonout_array(out, key);
	for (size_t i = 0; i < np_json_count(node); i++)
		copy(out, NULL, np_json_item(node, i), line || plain);
	np_jsonout_end(out);
}

static void copy_number(struct np_jsonout *out, const char *key, const struct np_json *node)
{
	int64_t integer;
	double real = 0;

	if (np_json_type(node) == NP_JSON_INTEGER && np_json_integer(node, &integer)) {
		np_jsonout_integer(out, key, integer);
		return;
	}
	(void)np_json_real(node, &real);
	np_jsonout_real(out, key, real);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void copy(struct np_jsonout *out, const char *key, const struct np_json *node, bool line)
{
	bool value = false;

	switch (np_json_type(node)) {
	case NP_JSON_OBJECT:
		if (out->depth < NP_JSONOUT_DEPTH - 1)
			copy_members(out, key, node, line);
		else
			np_jsonout_null(out, key);
		break;
	case NP_JSON_ARRAY:
		if (out->depth < NP_JSONOUT_DEPTH - 1)
			copy_items(out, key, node, line);
		else
			np_jsonout_null(out, key);
		break;
	case NP_JSON_TEXT:
		np_jsonout_text(out, key, np_json_text(node));
		break;
	case NP_JSON_BOOL:
		(void)np_json_bool(node, &value);
		np_jsonout_bool(out, key, value);
		break;
	case NP_JSON_INTEGER:
	case NP_JSON_REAL:
		copy_number(out, key, node);
		break;
	case NP_JSON_NULL:
	case NP_JSON_NONE:
		np_jsonout_null(out, key);
		break;
	}
}

void np_export_copy_json(struct np_jsonout *out, const char *key, const struct np_json *node,
			 bool line)
{
	copy(out, key, node, line);
}
