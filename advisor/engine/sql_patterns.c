/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_private.h"

#include "npuprof/pattern.h"

/*
 * Patterns in SQL: x REGEXP p, regex_capture(p, x, group), regex_replace(x, p, by).
 * A pattern that is the same for all rows is compiled once.
 */
static void fail(sqlite3_context *context, const struct np_err *err)
{
	if (err->code == NP_E_NOMEM)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_error(context, err->text, -1);
}

static void free_pattern(void *pattern)
{
	np_pattern_free(pattern);
}

/* The compiled argument `index`; NULL after a failure that was reported. */
static struct np_pattern *pattern_of(sqlite3_context *context, sqlite3_value **argv, int index)
{
	struct np_pattern *pattern = sqlite3_get_auxdata(context, index);
	struct np_err err = NP_ERR_INIT;
	const char *text;

	if (pattern)
		return pattern;
	text = (const char *)sqlite3_value_text(argv[index]);
	if (!text) {
		sqlite3_result_error(context, "the pattern is NULL", -1);
		return NULL;
	}
	if (np_pattern_compile(text, (size_t)sqlite3_value_bytes(argv[index]), 0, &pattern, NULL,
			       &err) < 0) {
		fail(context, &err);
		return NULL;
	}
	sqlite3_set_auxdata(context, index, pattern, free_pattern);
	/* When memory is short it is freed at once. */
	return sqlite3_get_auxdata(context, index);
}

static void regexp(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	struct np_err err = NP_ERR_INIT;
	struct np_pattern *pattern;
	bool found = false;

	(void)argc;
	if (!text)
		return;
	pattern = pattern_of(context, argv, 0);
	if (!pattern)
		return;
	if (np_pattern_match(pattern, text, (size_t)sqlite3_value_bytes(argv[1]), 0, &found, &err) <
	    0)
		fail(context, &err);
	else
		sqlite3_result_int(context, found);
}

static void regex_capture(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	int group = argc > 2 ? sqlite3_value_int(argv[2]) : 1;
	struct np_err err = NP_ERR_INIT;
	struct np_pattern *pattern;
	struct np_capture part;
	bool found = false;

	if (!text || group < 0)
		return;
	pattern = pattern_of(context, argv, 0);
	if (!pattern)
		return;
	if (np_pattern_match(pattern, text, (size_t)sqlite3_value_bytes(argv[1]), 0, &found, &err) <
	    0)
		fail(context, &err);
	else if (found && np_pattern_capture(pattern, (size_t)group, &part))
		sqlite3_result_text64(context, text + part.begin, part.end - part.begin,
				      SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void regex_replace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *by = (const char *)sqlite3_value_text(argv[2]);
	struct np_buf result = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_pattern *pattern;

	(void)argc;
	if (!text || !by)
		return;
	pattern = pattern_of(context, argv, 1);
	if (!pattern)
		return;
	if (np_pattern_replace(pattern, text, (size_t)sqlite3_value_bytes(argv[0]), by,
			       (size_t)sqlite3_value_bytes(argv[2]), &result, &err) < 0)
		fail(context, &err);
	else
		sqlite3_result_text64(context, result.text, result.length, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	np_buf_release(&result);
}

int sql_add_patterns(struct sql *sql)
{
	static const struct {
		const char *name;
		int arguments;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "regexp", 2, regexp },
		{ "regex_capture", 2, regex_capture },
		{ "regex_capture", 3, regex_capture },
		{ "regex_replace", 3, regex_replace },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < NP_COUNT(functions) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function(sql->db, functions[i].name, functions[i].arguments,
					     SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
					     functions[i].function, NULL, NULL);
	return rc;
}
