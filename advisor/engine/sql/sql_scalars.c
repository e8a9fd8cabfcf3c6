/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_private.h"

#include <ctype.h>
#include <string.h>

#include "npuprof/text.h"

#include "advisor/engine/views/frames.h"

/*
 * Versions: "8.0.RC2" < "8.0.0" < "8.0.1" < "8.0.10". A part is a run of digits or
 * of letters; letters that announce a release come before it, others behind.
 */
struct part {
	int order;      /* of what a part is: before a release, nothing or a number, behind */
	int64_t number; /* of digits; of letters their rank among those before a release */
	const char *text;
	size_t length;
};

static const char *skip_separators(const char *text)
{
	return text + strspn(text, ".-_+ ");
}

static int announce_order(const char *text, size_t length)
{
	static const char *const words[] = { "dev", "alpha", "a", "beta", "b", "rc", "t", "c" };

	for (size_t i = 0; i < NP_COUNT(words); i++) {
		if (strlen(words[i]) == length && strncasecmp(words[i], text, length) == 0)
			return (int)i;
	}
	return -1;
}

static struct part next_part(const char **text)
{
	struct part part = { .order = 0, .number = 0 };
	int announced;

	*text = skip_separators(*text);
	part.text = *text;
	if (isdigit((unsigned char)**text)) {
		part.length = strspn(*text, "0123456789");
		if (!np_text_to_int(*text, part.length, &part.number))
			part.number = INT64_MAX;
	} else if (**text) {
		while (part.text[part.length] && isalpha((unsigned char)part.text[part.length]))
			part.length++;
		if (part.length == 0)
			part.length = 1; /* neither: taken as a word */
		announced = announce_order(part.text, part.length);
		part.order = announced >= 0 ? -1 : 1;
		part.number = announced;
	}
	*text += part.length;
	return part;
}

static int compare_parts(const struct part *a, const struct part *b)
{
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order;

	if (a->order != b->order)
		return a->order - b->order;
	if (a->order < 1)
		return np_order(a->number, b->number);
	order = strncasecmp(a->text, b->text, shorter);
	return order != 0 ? order : np_order((int64_t)a->length, (int64_t)b->length);
}

static void ver_cmp(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *a = (const char *)sqlite3_value_text(argv[0]);
	const char *b = (const char *)sqlite3_value_text(argv[1]);
	int order = 0;

	(void)argc;
	if (!a || !b)
		return;
	while (order == 0 && (*a || *b)) {
		struct part x = next_part(&a);
		struct part y = next_part(&b);

		order = compare_parts(&x, &y);
	}
	sqlite3_result_int(context, (order > 0) - (order < 0));
}

/* envget(rank, name): a variable of the environment as v_env knows it */
static void envget(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct sql *sql = sqlite3_user_data(context);
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = sql_prepare(sql, "SELECT value FROM v_env WHERE rank IS ?1 AND name = ?2", false,
			     &stmt, &err);

	(void)argc;
	for (int i = 0; i < 2 && rc == NP_OK; i++)
		rc = sql_bind(stmt, (size_t)i + 1, sql_value_cell(argv[i]), &err);
	if (rc == NP_OK)
		rc = sql_step(stmt, &err);
	if (rc < 0)
		sqlite3_result_error(context, err.text, -1);
	else if (rc > 0)
		sql_result_cell(context, sql_cell(stmt, 0), false);
}

/* user_frame(stack): the innermost frame that is the user's own */
static void user_frame_of(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *stack = (const char *)sqlite3_value_text(argv[0]);
	size_t length;
	const char *frame = stack ? user_frame(stack, &length) : NULL;

	(void)argc;
	if (frame)
		sqlite3_result_text64(context, frame, length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/*
 * SQLite's own instr(), replace() and trim() take time that grows with the
 * product of the lengths, within one instruction and so past the deadline.
 */
static void quick_instr(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *word = (const char *)sqlite3_value_text(argv[1]);
	const char *found;
	sqlite3_int64 characters = 1;

	(void)argc;
	if (!text || !word)
		return;
	found = memmem(text, (size_t)sqlite3_value_bytes(argv[0]), word,
		       (size_t)sqlite3_value_bytes(argv[1]));
	for (const char *at = text; found && at < found; at++)
		characters += ((unsigned char)*at & 0xc0) != 0x80;
	sqlite3_result_int64(context, found ? characters : 0);
}

static void quick_replace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *word = (const char *)sqlite3_value_text(argv[1]);
	const char *by = (const char *)sqlite3_value_text(argv[2]);
	size_t left = (size_t)sqlite3_value_bytes(argv[0]);
	size_t word_length = (size_t)sqlite3_value_bytes(argv[1]);
	struct np_buf result = NP_BUF_INIT;
	size_t limit =
		(size_t)sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);

	(void)argc;
	if (!text || !word || !by)
		return;
	while (word_length > 0 && result.length <= limit) {
		const char *found = memmem(text, left, word, word_length);

		if (!found)
			break;
		np_buf_add_bytes(&result, text, (size_t)(found - text));
		np_buf_add_bytes(&result, by, (size_t)sqlite3_value_bytes(argv[2]));
		left -= (size_t)(found - text) + word_length;
		text = found + word_length;
	}
	np_buf_add_bytes(&result, text, left);
	if (result.failed)
		sqlite3_result_error_nomem(context);
	else if (result.length > limit)
		sqlite3_result_error_toobig(context);
	else
		sqlite3_result_text64(context, result.text, result.length, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	np_buf_release(&result);
}

enum trim_side {
	TRIM_LEFT = 1,
	TRIM_RIGHT = 2,
};

/* Of single bytes only: what is trimmed are spaces, quotes and brackets. */
static void quick_trim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *set = (const char *)sqlite3_value_text(argv[1]);
	size_t length = (size_t)sqlite3_value_bytes(argv[0]);
	size_t set_length = (size_t)sqlite3_value_bytes(argv[1]);
	const int *sides = sqlite3_user_data(context);
	bool cut[256] = { false };

	(void)argc;
	if (!text || !set)
		return;
	for (size_t i = 0; i < set_length; i++) {
		if ((unsigned char)set[i] >= 0x80) {
			sqlite3_result_error(context, "only ASCII characters can be trimmed", -1);
			return;
		}
		cut[(unsigned char)set[i]] = true;
	}
	for (; (*sides & TRIM_LEFT) && length > 0 && cut[(unsigned char)*text]; length--)
		text++;
	while ((*sides & TRIM_RIGHT) && length > 0 && cut[(unsigned char)text[length - 1]])
		length--;
	sqlite3_result_text64(context, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int sql_add_scalars(struct sql *sql)
{
	static const int left = TRIM_LEFT;
	static const int right = TRIM_RIGHT;
	static const int both = TRIM_LEFT | TRIM_RIGHT;
	const struct {
		const char *name;
		int arguments;
		const void *context;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "ver_cmp", 2, NULL, ver_cmp },          { "envget", 2, sql, envget },
		{ "user_frame", 1, NULL, user_frame_of }, { "instr", 2, NULL, quick_instr },
		{ "replace", 3, NULL, quick_replace },    { "trim", 2, &both, quick_trim },
		{ "ltrim", 2, &left, quick_trim },        { "rtrim", 2, &right, quick_trim },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < NP_COUNT(functions) && rc == SQLITE_OK; i++) {
		union {
			const void *shown;
			void *real;
		} context = { .shown = functions[i].context };

		rc = sqlite3_create_function(sql->db, functions[i].name, functions[i].arguments,
					     SQLITE_UTF8 | SQLITE_DETERMINISTIC, context.real,
					     functions[i].function, NULL, NULL);
	}
	return rc;
}
