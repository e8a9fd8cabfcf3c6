/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of pickles: where the window ends must not make a difference, and whatever it took
 * can be walked.
 */
#include "npuprof/pickle.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* Every other dictionary becomes a record. */
static int take(void *context, struct np_pickle *pickle, const np_pickled *pairs, size_t count,
		uint64_t *ret_record, struct np_err *err)
{
	size_t *seen = context;

	(void)err;
	for (size_t i = 0; i < 2 * count; i++)
		must(np_pickled_type(pickle, pairs[i]) <= NP_PICKLED_RECORD);
	if ((*seen)++ % 2)
		*ret_record = *seen;
	return NP_OK;
}

/* So do lists of one item, and two thirds of what is added to them. */
static int take_list(void *context, struct np_pickle *pickle, uint64_t before,
		     const np_pickled *items, size_t count, uint64_t *ret_record,
		     struct np_err *err)
{
	size_t *seen = context;

	(void)err;
	for (size_t i = 0; i < count; i++)
		must(np_pickled_type(pickle, items[i]) <= NP_PICKLED_RECORD);
	++*seen;
	if (before == UINT64_MAX ? count == 1 : *seen % 3 > 0)
		*ret_record = *seen;
	return NP_OK;
}

/* The root and what it holds itself: more would not end in lists that hold themselves. */
static void compare_values(struct np_pickle *a, np_pickled value_a, struct np_pickle *b,
			   np_pickled value_b)
{
	size_t count_a;
	size_t count_b;
	const np_pickled *items_a = np_pickled_items(a, value_a, &count_a);
	const np_pickled *items_b = np_pickled_items(b, value_b, &count_b);

	must(np_pickled_type(a, value_a) == np_pickled_type(b, value_b) && count_a == count_b);
	for (size_t i = 0; i < count_a; i++) {
		int64_t integer_a = 0;
		int64_t integer_b = 0;

		must(np_pickled_type(a, items_a[i]) == np_pickled_type(b, items_b[i]));
		must(np_pickled_integer(a, items_a[i], &integer_a) ==
		     np_pickled_integer(b, items_b[i], &integer_b));
		must(integer_a == integer_b);
		must(np_pickled_text(items_a[i]) == np_pickled_text(items_b[i]));
	}
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_pickle_closep) struct np_pickle *a = NULL;
	NP_CLEANUP(np_pickle_closep) struct np_pickle *b = NULL;
	struct np_err err_a = NP_ERR_INIT;
	struct np_err err_b = NP_ERR_INIT;
	size_t block = size > 0 ? 1U + data[size - 1] % 64U : 1U;
	np_pickled root_a = 0;
	np_pickled root_b = 0;
	size_t seen_a = 0;
	size_t seen_b = 0;
	const struct np_pickle_user user_a = { take, take_list, &seen_a };
	const struct np_pickle_user user_b = { take, take_list, &seen_b };
	int rc = np_pickle_open_bytes(data, size, "fuzz", 0, &a, &err_a);

	must(np_pickle_open_bytes(data, size, "fuzz", block, &b, &err_b) == rc);
	if (rc < 0)
		return 0;
	rc = np_pickle_run(a, &user_a, &root_a, &err_a);
	must(np_pickle_run(b, &user_b, &root_b, &err_b) == rc);
	must(strcmp(err_a.text, err_b.text) == 0);
	must(seen_a == seen_b && np_pickle_trailing(a) == np_pickle_trailing(b));
	if (rc == NP_OK)
		compare_values(a, root_a, b, root_b);
	return 0;
}
