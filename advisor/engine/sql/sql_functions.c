/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one row and aggregates that SQLite itself does not have. */
#include "sql_connection.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/course.h"
#include "npuprof/order.h"
#include "npuprof/text.h"

#include "advisor/engine/data/frames.h"

/*
 * Versions: "8.0.RC2" < "8.0.0" < "8.0.1" < "8.0.10". A part is a run of digits or
 * of letters; letters that announce a release come before it, others behind.
 */
struct version_part {
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

static struct version_part next_part(const char **text)
{
	struct version_part part = { .order = 0, .number = 0 };
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

static int compare_parts(const struct version_part *a, const struct version_part *b)
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
		struct version_part x = next_part(&a);
		struct version_part y = next_part(&b);

		order = compare_parts(&x, &y);
	}
	sqlite3_result_int(context, (order > 0) - (order < 0));
}

/* envget(rank, name): a variable of the environment as v_env knows it */
static void envget(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct adv_sql *sql = sqlite3_user_data(context);
	NP_CLEANUP(adv_sql_finishp) struct adv_sql_stmt *stmt = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = adv_sql_prepare(sql, "SELECT value FROM v_env WHERE rank IS ?1 AND name = ?2",
				 false, &stmt, &err);

	(void)argc;
	for (int i = 0; i < 2 && rc == NP_OK; i++)
		rc = adv_sql_bind(stmt, (size_t)i + 1, adv_sql_value_cell(argv[i]), &err);
	if (rc == NP_OK)
		rc = adv_sql_step(stmt, &err);
	if (rc < 0)
		sqlite3_result_error(context, err.text, -1);
	else if (rc > 0)
		adv_sql_result_cell(context, adv_sql_cell(stmt, 0), false);
}

/* adv_user_frame(stack): the innermost frame that is the user's own */
static void user_frame_of(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *stack = (const char *)sqlite3_value_text(argv[0]);
	size_t length;
	const char *frame = stack ? adv_user_frame(stack, &length) : NULL;

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

/* As SQLite's own, which may be left out of it and is before 3.35: unknown for what is no number or
 * below zero. */
static void square_root(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int type = sqlite3_value_numeric_type(argv[0]);
	double value = sqlite3_value_double(argv[0]);

	(void)argc;
	if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && value >= 0)
		sqlite3_result_double(context, sqrt(value));
}

static int add_scalars(struct adv_sql *sql)
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
		{ "sqrt", 1, NULL, square_root },   { "ver_cmp", 2, NULL, ver_cmp },
		{ "envget", 2, sql, envget },       { "user_frame", 1, NULL, user_frame_of },
		{ "instr", 2, NULL, quick_instr },  { "replace", 3, NULL, quick_replace },
		{ "trim", 2, &both, quick_trim },   { "ltrim", 2, &left, quick_trim },
		{ "rtrim", 2, &right, quick_trim },
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

/*
 * Aggregates over numbers: median(x), percentile(x, p) with p from 0 to 100 and
 * linear interpolation, mad(x) (the median distance from the median, not
 * scaled), stddev(x) (of the sample), course(x) and course_period(x) of a series
 * in the order of its rows (npuprof/course.h). Over texts: mode(x), the most frequent
 * one, and top_frame(stack), the most frequent adv_user_frame(). NULLs do not count;
 * without a value the result is NULL.
 *
 * Memory is SQLite's, so that it counts for the rule.
 */
struct number_list {
	double *item;
	sqlite3_uint64 count;
	sqlite3_uint64 capacity;
	double percent;
};

static void numbers_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct number_list *numbers = sqlite3_aggregate_context(context, sizeof(*numbers));
	int type = sqlite3_value_numeric_type(argv[0]);

	if (!numbers || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
		return;
	if (numbers->count == numbers->capacity) {
		sqlite3_uint64 capacity = numbers->capacity ? 2 * numbers->capacity : 64;
		double *grown = sqlite3_realloc64(numbers->item, capacity * sizeof(double));

		if (!grown) {
			sqlite3_result_error_nomem(context);
			return;
		}
		numbers->item = grown;
		numbers->capacity = capacity;
	}
	numbers->item[numbers->count++] = sqlite3_value_double(argv[0]);
	numbers->percent = argc > 1 ? sqlite3_value_double(argv[1]) : 50;
}

/* Sorts the numbers and gives the value at `percent` of the way through them. */
static double quantile(struct number_list *numbers, double percent)
{
	double at;
	size_t low;

	qsort(numbers->item, numbers->count, sizeof(double), np_by_double);
	if (!(percent > 0))
		return numbers->item[0];
	if (percent >= 100)
		return numbers->item[numbers->count - 1];
	at = percent / 100 * (double)(numbers->count - 1);
	low = (size_t)at;
	if (low + 1 >= numbers->count)
		return numbers->item[low];
	return numbers->item[low] +
	       (at - (double)low) * (numbers->item[low + 1] - numbers->item[low]);
}

static double percentile(struct number_list *numbers)
{
	return quantile(numbers, numbers->percent);
}

static double mad(struct number_list *numbers)
{
	double median = quantile(numbers, 50);

	for (sqlite3_uint64 i = 0; i < numbers->count; i++)
		numbers->item[i] = fabs(numbers->item[i] - median);
	return quantile(numbers, 50);
}

static double stddev(struct number_list *numbers)
{
	double mean = 0;
	double squares = 0;

	if (numbers->count < 2)
		return (double)NAN;
	for (sqlite3_uint64 i = 0; i < numbers->count; i++)
		mean += numbers->item[i] / (double)numbers->count;
	for (sqlite3_uint64 i = 0; i < numbers->count; i++)
		squares += (numbers->item[i] - mean) * (numbers->item[i] - mean);
	return sqrt(squares / (double)(numbers->count - 1));
}

static void numbers_finish(sqlite3_context *context, double (*of)(struct number_list *))
{
	struct number_list *numbers = sqlite3_aggregate_context(context, 0);

	if (!numbers)
		return;
	if (numbers->count > 0)
		sqlite3_result_double(context, of(numbers)); /* NaN is NULL to SQLite */
	sqlite3_free(numbers->item);
}

static void percentile_final(sqlite3_context *context)
{
	numbers_finish(context, percentile);
}

static void mad_final(sqlite3_context *context)
{
	numbers_finish(context, mad);
}

static void stddev_final(sqlite3_context *context)
{
	numbers_finish(context, stddev);
}

/* How a series goes on, and its period; UNKNOWN where memory for the marks runs out. */
static enum np_course_kind judge_course(sqlite3_context *context, size_t *ret_period)
{
	struct number_list *numbers = sqlite3_aggregate_context(context, 0);
	enum np_course_kind kind = NP_COURSE_UNKNOWN;
	bool *marked;

	*ret_period = 0;
	if (!numbers)
		return kind;
	marked = sqlite3_malloc64(numbers->count + 1);
	if (marked)
		kind = np_course_judge(numbers->item, numbers->count, ret_period, marked);
	else
		sqlite3_result_error_nomem(context);
	sqlite3_free(marked);
	sqlite3_free(numbers->item);
	return kind;
}

static void course_final(sqlite3_context *context)
{
	size_t period;
	const char *name = np_course_name(judge_course(context, &period));

	if (name)
		sqlite3_result_text(context, name, -1, SQLITE_STATIC);
}

static void course_period_final(sqlite3_context *context)
{
	size_t period;

	if (judge_course(context, &period) == NP_COURSE_PERIODIC)
		sqlite3_result_int64(context, (sqlite3_int64)period);
}

struct word_counts {
	char **item;
	sqlite3_uint64 count;
	sqlite3_uint64 capacity;
};

static void add_word(sqlite3_context *context, const char *text, size_t length)
{
	struct word_counts *words = sqlite3_aggregate_context(context, sizeof(*words));
	char *copy = words ? sqlite3_malloc64(length + 1) : NULL;

	if (copy && words->count == words->capacity) {
		sqlite3_uint64 capacity = words->capacity ? 2 * words->capacity : 16;
		char **grown = sqlite3_realloc64(words->item, capacity * sizeof(*grown));

		if (grown) {
			words->item = grown;
			words->capacity = capacity;
		}
	}
	if (!copy || words->count == words->capacity) {
		sqlite3_free(copy);
		sqlite3_result_error_nomem(context);
		return;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	words->item[words->count++] = copy;
}

static void mode_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);

	(void)argc;
	if (text)
		add_word(context, text, (size_t)sqlite3_value_bytes(argv[0]));
}

static void frame_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *stack = (const char *)sqlite3_value_text(argv[0]);
	size_t length = 0;
	const char *frame = stack ? adv_user_frame(stack, &length) : NULL;

	(void)argc;
	if (frame)
		add_word(context, frame, length);
}

/* The most frequent; of equally frequent ones the first in order of bytes. */
static void mode_final(sqlite3_context *context)
{
	struct word_counts *words = sqlite3_aggregate_context(context, 0);
	sqlite3_uint64 best = 0;
	const char *chosen = NULL;

	if (!words)
		return;
	if (words->count > 0)
		qsort(words->item, words->count, sizeof(*words->item), np_by_text);
	for (sqlite3_uint64 i = 0, run = 1; i < words->count; i += run) {
		for (run = 1;
		     i + run < words->count && strcmp(words->item[i], words->item[i + run]) == 0;)
			run++;
		if (run > best) {
			best = run;
			chosen = words->item[i];
		}
	}
	if (chosen)
		sqlite3_result_text(context, chosen, -1, SQLITE_TRANSIENT);
	for (sqlite3_uint64 i = 0; i < words->count; i++)
		sqlite3_free(words->item[i]);
	sqlite3_free(words->item);
}

static int add_aggregates(struct adv_sql *sql)
{
	static const struct {
		const char *name;
		int arguments;
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*final)(sqlite3_context *);
	} functions[] = {
		{ "median", 1, numbers_step, percentile_final },
		{ "percentile", 2, numbers_step, percentile_final },
		{ "mad", 1, numbers_step, mad_final },
		{ "stddev", 1, numbers_step, stddev_final },
		{ "course", 1, numbers_step, course_final },
		{ "course_period", 1, numbers_step, course_period_final },
		{ "mode", 1, mode_step, mode_final },
		{ "top_frame", 1, frame_step, mode_final },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < NP_COUNT(functions) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function(sql->db, functions[i].name, functions[i].arguments,
					     SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, NULL,
					     functions[i].step, functions[i].final);
	return rc;
}

int adv_sql_add_functions(struct adv_sql *sql)
{
	int rc = add_scalars(sql);

	return rc == SQLITE_OK ? add_aggregates(sql) : rc;
}
