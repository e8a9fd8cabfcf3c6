/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/engine/cmp_sequence.h"

#include "np_random.h"
#include "np_test.h"

static struct cmp_matches align(const char *base, const char *new_)
{
	uint32_t tokens[2][64];
	struct cmp_matches matches = { 0 };
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; base[i]; i++)
		tokens[0][i] = (uint32_t)base[i];
	for (size_t i = 0; new_[i]; i++)
		tokens[1][i] = (uint32_t)new_[i];
	assert_ok(cmp_align(tokens[0], strlen(base), tokens[1], strlen(new_), &matches, &err), err);
	return matches;
}

static void expect_matches(const char *base, const char *new_, const char *common)
{
	struct cmp_matches matches = align(base, new_);
	char text[64] = "";

	for (size_t i = 0; i < matches.list.count; i++)
		text[i] = base[matches.list.item[i].base];
	assert_string_equal(text, common);
	np_vec_release(&matches.list);
}

static void equal_sequences_match_throughout(void **state)
{
	(void)state;
	expect_matches("abcabc", "abcabc", "abcabc");
	expect_matches("", "abc", "");
}

static void what_was_put_in_and_taken_out_is_found(void **state)
{
	(void)state;
	expect_matches("aabbaabb", "aabxbaabb", "aabbaabb");
	expect_matches("abab", "aab", "aab");
	expect_matches("xaay", "zaaw", "aa");
}

/* The length of the longest common subsequence, by the plain table. */
static size_t longest_common(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
	size_t table[25][25] = { 0 };

	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			size_t best = table[i - 1][j] > table[i][j - 1] ? table[i - 1][j]
									: table[i][j - 1];

			table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : best;
		}
	}
	return table[n][m];
}

static void as_many_match_as_possible(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint32_t tokens[2][24];
		size_t count[2] = { 4 + np_random_below(&seed, 20),
				    4 + np_random_below(&seed, 20) };
		struct cmp_matches matches = { 0 };
		struct np_err err = NP_ERR_INIT;

		for (int side = 0; side < 2; side++) {
			for (size_t i = 0; i < count[side]; i++)
				tokens[side][i] = i < 4 ? (uint32_t)(i % 2)
							: (uint32_t)np_random_below(&seed, 2);
		}
		assert_ok(cmp_align(tokens[0], count[0], tokens[1], count[1], &matches, &err), err);
		assert_int_equal(matches.list.count,
				 longest_common(tokens[0], count[0], tokens[1], count[1]));
		np_vec_release(&matches.list);
	}
}

/* Long enough for anchors. */
static void matches_ascend_on_both_sides_and_are_equal(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (int round = 0; round < 50; round++) {
		uint32_t tokens[2][600];
		size_t count[2] = { 300 + np_random_below(&seed, 300),
				    300 + np_random_below(&seed, 300) };
		struct cmp_matches matches = { 0 };
		struct np_err err = NP_ERR_INIT;

		for (int side = 0; side < 2; side++) {
			for (size_t i = 0; i < count[side]; i++)
				tokens[side][i] = (uint32_t)np_random_below(&seed, 400);
		}
		assert_ok(cmp_align(tokens[0], count[0], tokens[1], count[1], &matches, &err), err);
		for (size_t i = 0; i < matches.list.count; i++) {
			const struct cmp_match *match = &matches.list.item[i];

			assert_int_equal(tokens[0][match->base], tokens[1][match->new_]);
			assert_true(i == 0 ||
				    (match[-1].base < match->base && match[-1].new_ < match->new_));
		}
		np_vec_release(&matches.list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_sequences_match_throughout),
		cmocka_unit_test(what_was_put_in_and_taken_out_is_found),
		cmocka_unit_test(as_many_match_as_possible),
		cmocka_unit_test(matches_ascend_on_both_sides_and_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
