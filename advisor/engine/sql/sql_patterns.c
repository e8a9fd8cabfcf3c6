/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns in SQL: x REGEXP p, regex_capture(p, x, group), regex_replace(x, p, by).
 * A rule has few patterns: each is compiled once for its connection.
 */
#include "sql_connection.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/pattern.h"

#define PATTERN_LIMIT 32

struct sql_pattern {
	char *text;
	size_t length;
	struct np_pattern *pattern;
};

static void release(struct sql_pattern *one)
{
	free(one->text);
	np_pattern_free(one->pattern);
	*one = (struct sql_pattern){ .text = NULL };
}

void adv_sql_patterns_free(struct adv_sql *sql)
{
	for (size_t i = 0; sql->patterns && i < PATTERN_LIMIT; i++)
		release(&sql->patterns[i]);
	free(sql->patterns);
}

/* Where a pattern is, or where it is to be: the place that was filled longest ago. */
static struct sql_pattern *place_of(struct adv_sql *sql, const char *text, size_t length)
{
	for (size_t i = 0; i < PATTERN_LIMIT; i++) {
		struct sql_pattern *one = &sql->patterns[(sql->last_pattern + i) % PATTERN_LIMIT];

		if (one->text && one->length == length && memcmp(one->text, text, length) == 0) {
			sql->last_pattern = (size_t)(one - sql->patterns);
			return one;
		}
	}
	sql->next_pattern = (sql->next_pattern + 1) % PATTERN_LIMIT;
	sql->last_pattern = sql->next_pattern;
	release(&sql->patterns[sql->last_pattern]);
	return &sql->patterns[sql->last_pattern];
}

int adv_sql_pattern(struct adv_sql *sql, const char *text, size_t length, struct np_pattern **ret,
		    struct np_err *err)
{
	struct sql_pattern *one;
	int rc;

	if (!sql->patterns)
		sql->patterns = calloc(PATTERN_LIMIT, sizeof(*sql->patterns));
	if (!sql->patterns)
		return np_fail_nomem(err, "a pattern");
	one = place_of(sql, text, length);
	if (!one->pattern) {
		rc = np_pattern_compile(text, length, 0, &one->pattern, NULL, err);
		if (rc < 0)
			return rc;
		one->text = malloc(length + 1);
		one->length = length;
		if (!one->text) {
			release(one);
			return np_fail_nomem(err, "a pattern");
		}
		memcpy(one->text, text, length);
		one->text[length] = '\0';
	}
	*ret = one->pattern;
	return NP_OK;
}

static void fail(sqlite3_context *context, const struct np_err *err)
{
	if (err->code == NP_E_NOMEM)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_error(context, err->text, -1);
}

/* The compiled argument; NULL after a failure that was reported. */
static struct np_pattern *pattern_of(sqlite3_context *context, sqlite3_value *argument)
{
	const char *text = (const char *)sqlite3_value_text(argument);
	struct np_pattern *pattern = NULL;
	struct np_err err = NP_ERR_INIT;

	if (!text)
		sqlite3_result_error(context, "the pattern is NULL", -1);
	else if (adv_sql_pattern(sqlite3_user_data(context), text,
				 (size_t)sqlite3_value_bytes(argument), &pattern, &err) < 0)
		fail(context, &err);
	return pattern;
}

/* Look for a pattern in a text; NULL if it is not there, or after a failure that was reported. */
static struct np_pattern *find(sqlite3_context *context, sqlite3_value *argument, const char *text,
			       size_t length)
{
	struct np_pattern *pattern = pattern_of(context, argument);
	struct np_err err = NP_ERR_INIT;
	bool found = false;

	if (!pattern)
		return NULL;
	if (np_pattern_match(pattern, text, length, 0, &found, &err) < 0)
		fail(context, &err);
	return found ? pattern : NULL;
}

static void regexp(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[1]);

	(void)argc;
	if (!text)
		return;
	sqlite3_result_int(context, 0);
	if (find(context, argv[0], text, (size_t)sqlite3_value_bytes(argv[1])))
		sqlite3_result_int(context, 1);
}

static void regex_capture(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[1]);
	int group = argc > 2 ? sqlite3_value_int(argv[2]) : 1;
	const struct np_pattern *pattern;
	struct np_capture part;

	if (!text || group < 0)
		return;
	pattern = find(context, argv[0], text, (size_t)sqlite3_value_bytes(argv[1]));
	if (pattern && np_pattern_capture(pattern, (size_t)group, &part))
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
	size_t limit;

	(void)argc;
	if (!text || !by)
		return;
	limit = (size_t)sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
	pattern = pattern_of(context, argv[1]);
	if (!pattern)
		return;
	if (np_pattern_replace(pattern, text, (size_t)sqlite3_value_bytes(argv[0]), by,
			       (size_t)sqlite3_value_bytes(argv[2]), limit, &result, &err) < 0)
		fail(context, &err);
	else
		sqlite3_result_text64(context, result.text, result.length, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	np_buf_release(&result);
}

int adv_sql_add_patterns(struct adv_sql *sql)
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
					     SQLITE_UTF8 | SQLITE_DETERMINISTIC, sql,
					     functions[i].function, NULL, NULL);
	return rc;
}
