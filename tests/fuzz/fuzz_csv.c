/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The csv reader: where the window ends must not make a difference. Every input
 * is read once in one piece and once through a window that begins with few bytes,
 * and both must give the same.
 */
#include "npuprof/csv.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct np_csv_column columns[] = {
	{ "Name", NP_OPTIONAL },
	{ "Start Time(us)", NP_OPTIONAL },
	{ "Block Num|Block Dim", NP_OPTIONAL },
	{ "a|b", NP_OPTIONAL },
	{ "b|a", NP_OPTIONAL },
};

static void must(bool condition)
{
	if (!condition)
		abort();
}

static int open_csv(const uint8_t *data, size_t size, size_t block, struct np_csv **ret,
		    struct np_err *err)
{
	return np_csv_open_bytes(data, size, "fuzz", block, columns, NP_COUNT(columns), ret, err);
}

static void compare_rows(const struct np_csv_row *a, const struct np_csv_row *b)
{
	must(a->line == b->line);
	for (size_t i = 0; i < NP_COUNT(columns); i++) {
		must(a->cell[i].length == b->cell[i].length);
		if (a->cell[i].length > 0)
			must(memcmp(a->cell[i].bytes, b->cell[i].bytes, a->cell[i].length) == 0);
		must(np_csv_missing(a->cell[i]) == np_csv_missing(b->cell[i]));
	}
}

static void compare_tallies(const struct np_csv_tally *a, const struct np_csv_tally *b)
{
	must(a->rows == b->rows && a->short_rows == b->short_rows && a->long_rows == b->long_rows);
	must(a->truncated == b->truncated);
}

static void compare(struct np_csv *a, struct np_csv *b)
{
	const struct np_csv_row *row_a = NULL;
	const struct np_csv_row *row_b = NULL;
	struct np_err err_a = NP_ERR_INIT;
	struct np_err err_b = NP_ERR_INIT;

	do {
		int rc = np_csv_next(a, &row_a, &err_a);

		must(np_csv_next(b, &row_b, &err_b) == rc);
		if (rc < 0) {
			must(strcmp(err_a.text, err_b.text) == 0);
			break;
		}
		must(!row_a == !row_b);
		if (row_a)
			compare_rows(row_a, row_b);
	} while (row_a);
	compare_tallies(np_csv_tally(a), np_csv_tally(b));
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *a = NULL;
	NP_CLEANUP(np_csv_closep) struct np_csv *b = NULL;
	struct np_err err_a = NP_ERR_INIT;
	struct np_err err_b = NP_ERR_INIT;
	size_t block = size > 0 ? 1U + data[size - 1] % 64U : 1U;
	int rc = open_csv(data, size, 0, &a, &err_a);

	must(open_csv(data, size, block, &b, &err_b) == rc);
	if (rc < 0)
		must(strcmp(err_a.text, err_b.text) == 0);
	else
		compare(a, b);
	return 0;
}
