/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/text.h"

/* Nobody means to write a longer word than this. */
#define LONGEST_WORD 64

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* One row of the distance table: a[..i] against every beginning of b. */
static void fill_row(const char *a, size_t i, const char *b, size_t b_length,
		     size_t (*row)[LONGEST_WORD + 1])
{
	size_t *now = row[i % 3];
	const size_t *before = row[(i - 1) % 3];

	now[0] = i;
	for (size_t j = 1; j <= b_length; j++) {
		int x = lower(a[i - 1]);
		int y = lower(b[j - 1]);

		now[j] = least(before[j - 1] + (x != y), least(before[j], now[j - 1]) + 1);
		/* Two letters swapped are one slip, not two. */
		if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
			now[j] = least(now[j], row[(i - 2) % 3][j - 2] + 1);
	}
}

static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[3][LONGEST_WORD + 1];

	for (size_t j = 0; j <= b_length; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a_length; i++)
		fill_row(a, i, b, b_length, row);
	return row[a_length % 3][b_length];
}

static bool is_beginning(const char *word, size_t length, const char *of)
{
	for (size_t i = 0; i < length; i++) {
		if (lower(word[i]) != lower(of[i]))
			return false;
	}
	return true;
}

/* How far a candidate is from the word; SIZE_MAX when it cannot be meant. */
static size_t remoteness(const char *word, size_t length, const char *candidate)
{
	size_t candidate_length = strlen(candidate);
	size_t apart;

	if (candidate_length == 0 || candidate_length > LONGEST_WORD)
		return SIZE_MAX;
	/* A word cut short is likelier than any slip; one letter could be anything. */
	if (length > 1 && length <= candidate_length && is_beginning(word, length, candidate))
		return candidate_length - length;
	apart = distance(word, length, candidate, candidate_length);
	/* About one slip in three letters: more than that is another word. */
	return apart <= (length + 1) / 3 ? LONGEST_WORD + apart : SIZE_MAX;
}

const char *np_text_closest(const char *word, const char *const *candidates, size_t count)
{
	size_t length = strlen(word);
	size_t nearest = SIZE_MAX;
	const char *closest = NULL;

	if (length == 0 || length > LONGEST_WORD)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t apart = remoteness(word, length, candidates[i]);

		if (apart < nearest) {
			nearest = apart;
			closest = candidates[i];
		}
	}
	return closest;
}
