/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ranks as users write them: checked, and applied. */
#include "rank_list.h"

#include <inttypes.h>

#include "npuprof/text.h"

#define SEPARATORS ", \t\n[]" /* also of a list as JSON has it */

enum {
	MOST_WORD = 64, /* longer than any number or range */
};

/* What the words stand for; `leader` and `chosen` are NULL while a list is only checked. */
struct choosing {
	const bool *leader;
	bool *chosen;
	int64_t world;
};

static bool to_period(const char *word, int64_t *ret)
{
	const char every[] = "every:";
	size_t prefix = sizeof(every) - 1;

	return strncmp(word, every, prefix) == 0 &&
	       np_text_to_int(word + prefix, strlen(word + prefix), ret) && *ret > 0;
}

static void choose_every(const struct choosing *choosing, int64_t period)
{
	for (int64_t rank = 0; choosing->chosen && rank < choosing->world; rank += period)
		choosing->chosen[rank] = true;
}

static void choose_leaders(const struct choosing *choosing)
{
	for (int64_t rank = 0; choosing->chosen && rank < choosing->world; rank++)
		choosing->chosen[rank] = choosing->chosen[rank] || choosing->leader[rank];
}

/* "7" or "0-7". */
static bool to_range(const char *word, int64_t *ret_first, int64_t *ret_last)
{
	const char *dash = strchr(word, '-');
	size_t length = dash ? (size_t)(dash - word) : strlen(word);

	if (!np_text_to_int(word, length, ret_first) || *ret_first < 0)
		return false;
	*ret_last = *ret_first;
	return !dash ||
	       (np_text_to_int(dash + 1, strlen(dash + 1), ret_last) && *ret_last >= *ret_first);
}

static int choose_numbers(const struct choosing *choosing, const char *word, struct np_err *err)
{
	int64_t first;
	int64_t last;

	if (!to_range(word, &first, &last))
		return np_fail(err, NP_E_USAGE,
			       "'%s' names no ranks; write them as 0-7,16, all, every:8 or "
			       "node-leaders",
			       word);
	if (!choosing->chosen)
		return NP_OK;
	if (last >= choosing->world)
		return np_fail(err, NP_E_USAGE, "there is no rank %s: the job has 0-%" PRId64, word,
			       choosing->world - 1);
	for (int64_t rank = first; rank <= last; rank++)
		choosing->chosen[rank] = true;
	return NP_OK;
}

static int choose_word(const struct choosing *choosing, const char *word, struct np_err *err)
{
	int64_t period;

	if (strcmp(word, "all") == 0 || strcmp(word, "-1") == 0)
		choose_every(choosing, 1);
	else if (strcmp(word, "node-leaders") == 0)
		choose_leaders(choosing);
	else if (to_period(word, &period))
		choose_every(choosing, period);
	else
		return choose_numbers(choosing, word, err);
	return NP_OK;
}

static int choose(const char *text, const struct choosing *choosing, struct np_err *err)
{
	size_t words = 0;
	int rc = NP_OK;

	for (text += strspn(text, SEPARATORS); *text && rc == NP_OK; words++) {
		size_t length = strcspn(text, SEPARATORS);
		char word[MOST_WORD];

		if (length >= sizeof(word))
			return np_fail(err, NP_E_USAGE, "'%.40s…' names no ranks", text);
		memcpy(word, text, length);
		word[length] = '\0';
		rc = choose_word(choosing, word, err);
		text += length;
		text += strspn(text, SEPARATORS);
	}
	if (rc == NP_OK && words == 0)
		return np_fail(err, NP_E_USAGE, "the list of ranks is empty");
	return rc;
}

int np_rank_list_check(const char *text, struct np_err *err)
{
	return choose(text, &(struct choosing){ .chosen = NULL }, err);
}

int np_rank_list_choose(const char *text, const bool *leader, int64_t world, bool *ret_chosen,
			struct np_err *err)
{
	for (int64_t rank = 0; rank < world; rank++)
		ret_chosen[rank] = false;
	return choose(text, &(struct choosing){ leader, ret_chosen, world }, err);
}

static bool word_has(const char *word, int64_t rank, bool is_leader)
{
	int64_t first;
	int64_t last;

	if (strcmp(word, "all") == 0 || strcmp(word, "-1") == 0)
		return true;
	if (strcmp(word, "node-leaders") == 0)
		return is_leader;
	if (to_period(word, &first))
		return rank % first == 0;
	return to_range(word, &first, &last) && rank >= first && rank <= last;
}

bool np_rank_list_has(const char *text, int64_t rank, int64_t world, bool is_leader)
{
	bool found = false;

	if (rank < 0 || (world >= 0 && rank >= world))
		return false;
	for (text += strspn(text, SEPARATORS); *text && !found;) {
		size_t length = strcspn(text, SEPARATORS);
		char word[MOST_WORD];

		(void)snprintf(word, sizeof(word), "%.*s", (int)length, text);
		found = word_has(word, rank, is_leader);
		text += length;
		text += strspn(text, SEPARATORS);
	}
	return found;
}

bool np_rank_list_is_word(const char *word)
{
	/* What starts like a number is meant as one, even if it is none: it will be quoted. */
	return (word[0] >= '0' && word[0] <= '9') || np_rank_list_check(word, NULL) == NP_OK;
}
