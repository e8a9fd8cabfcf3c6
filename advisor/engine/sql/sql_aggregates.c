/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_private.h"

#include "npuprof/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/engine/views/frames.h"

/*
 * Aggregates over numbers: median(x), percentile(x, p) with p from 0 to 100 and
 * linear interpolation, mad(x) (the median distance from the median, not
 * scaled), stddev(x) (of the sample). Over texts: mode(x), the most frequent
 * one, and top_frame(stack), the most frequent user_frame(). NULLs do not count;
 * without a value the result is NULL.
 *
 * Memory is SQLite's, so that it counts for the rule.
 */
struct numbers {
	double *item;
	sqlite3_uint64 count;
	sqlite3_uint64 capacity;
	double percent;
};

static void numbers_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct numbers *numbers = sqlite3_aggregate_context(context, sizeof(*numbers));
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
static double quantile(struct numbers *numbers, double percent)
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

static double percentile(struct numbers *numbers)
{
	return quantile(numbers, numbers->percent);
}

static double mad(struct numbers *numbers)
{
	double median = quantile(numbers, 50);

	for (sqlite3_uint64 i = 0; i < numbers->count; i++)
		numbers->item[i] = fabs(numbers->item[i] - median);
	return quantile(numbers, 50);
}

static double stddev(struct numbers *numbers)
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

static void numbers_finish(sqlite3_context *context, double (*of)(struct numbers *))
{
	struct numbers *numbers = sqlite3_aggregate_context(context, 0);

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

struct words {
	char **item;
	sqlite3_uint64 count;
	sqlite3_uint64 capacity;
};

static void add_word(sqlite3_context *context, const char *text, size_t length)
{
	struct words *words = sqlite3_aggregate_context(context, sizeof(*words));
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
	const char *frame = stack ? user_frame(stack, &length) : NULL;

	(void)argc;
	if (frame)
		add_word(context, frame, length);
}

/* The most frequent; of equally frequent ones the first in order of bytes. */
static void mode_final(sqlite3_context *context)
{
	struct words *words = sqlite3_aggregate_context(context, 0);
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

int sql_add_aggregates(struct sql *sql)
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
