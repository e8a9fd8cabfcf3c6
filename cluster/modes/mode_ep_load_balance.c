/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens that the experts of each rank worked on, by the shapes of its grouped
 * matrix multiplications, and how uneven they are within a group of experts.
 */
#include "registry.h"

#define MODE "ep_load_balance"

struct tokens {
	int64_t count; /* NP_UNKNOWN if not known from a kernel */
};

/* Inputs that hold no tokens: weights, and the list of groups. They are the last ones. */
#define OTHER_INPUTS 2

/* The first dimension of a shape; NP_UNKNOWN for one that is none. */
static int64_t first_dimension(const char *shape)
{
	char *end;
	long long number = strtoll(shape, &end, 10);

	return end == shape || number < 0 || number > INT32_MAX ? NP_UNKNOWN : number;
}

/* "128,4096;16,4096,1024;16": of the inputs, all but the last two are tokens × width. */
static int64_t tokens_of(const char *shapes)
{
	int64_t last[OTHER_INPUTS];
	size_t parts = 0;
	int64_t sum = 0;

	while (*shapes) {
		size_t length = strcspn(shapes, ";");

		if (length > 0) {
			if (parts >= OTHER_INPUTS)
				sum = np_plus(sum, last[parts % OTHER_INPUTS]);
			last[parts++ % OTHER_INPUTS] = first_dimension(shapes);
		}
		shapes += length + (shapes[length] != '\0');
	}
	return parts > OTHER_INPUTS ? sum : NP_UNKNOWN;
}

static bool is_of_experts(const struct np_detail *detail, np_str type)
{
	return strncmp(np_detail_text(detail, type), NP_EXPERT_TYPE, strlen(NP_EXPERT_TYPE)) == 0;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct tokens *tokens = calloc(1, sizeof(*tokens));
	/* Types that are none of experts, by id: there are few, and many kernels. */
	bool *others = calloc(np_strtab_count(rank->detail->strings) + 2, sizeof(*others));

	(void)prepared;
	*ret = tokens;
	if (!tokens || !others) {
		free(others);
		return np_fail_nomem(rank->err, MODE);
	}
	tokens->count = NP_UNKNOWN;
	others[NP_STR_NONE] = true;
	for (size_t i = 0; i < rank->detail->kernels.count; i++) {
		const struct np_kernel *kernel = &rank->detail->kernels.item[i];
		int64_t count;

		if (others[kernel->type])
			continue;
		others[kernel->type] = !is_of_experts(rank->detail, kernel->type);
		if (others[kernel->type] || kernel->in_shapes == NP_STR_NONE ||
		    !mode_takes(rank, kernel->step))
			continue;
		count = tokens_of(np_detail_text(rank->detail, kernel->in_shapes));
		if (count != NP_UNKNOWN)
			tokens->count = (tokens->count == NP_UNKNOWN ? 0 : tokens->count) + count;
	}
	free(others);
	return NP_OK;
}

/* The group of experts that a rank is in; NULL without one. */
static const struct np_group *experts_of(const struct np_modes *modes, const struct np_rank *rank)
{
	static const char *const names[] = { "exp", "ep" };

	for (size_t n = 0; n < NP_COUNT(names); n++) {
		for (size_t i = 0; i < rank->groups.count; i++) {
			const struct np_group *group = &rank->groups.item[i];
			const char *name = np_run_text(modes->run, group->pg_name);

			if (name && group->members && strcmp(name, names[n]) == 0)
				return group;
		}
	}
	return NULL;
}

static void put_members(struct np_buf *buf, const struct np_group *group)
{
	for (size_t i = 0; i < group->member_count; i++)
		np_buf_printf(buf, "%s%d", i ? "," : "", group->members[i]);
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct np_column rank_columns[] = {
	{ "rank", NP_INTEGER },
	{ "epRanks", NP_TEXT },
	{ "inputShapesSummary", NP_INTEGER },
};

static const struct np_column group_columns[] = {
	{ "epRanks", NP_TEXT },
	{ "tokensDiff", NP_INTEGER },
};

/* What the ranks of one group of experts have at most and at least. */
struct spread {
	char *ranks;
	int64_t most;
	int64_t least;
};

struct spreads {
	NP_VEC(struct spread) list;
};

static int widen(struct spreads *spreads, const char *ranks, int64_t tokens, struct np_err *err)
{
	struct spread *spread = NULL;

	for (size_t i = 0; i < spreads->list.count && !spread; i++) {
		if (strcmp(spreads->list.item[i].ranks, ranks) == 0)
			spread = &spreads->list.item[i];
	}
	if (!spread) {
		spread = np_vec_add(&spreads->list, err);
		if (!spread)
			return NP_E_NOMEM;
		*spread = (struct spread){ strdup(ranks), tokens, tokens };
		if (!spread->ranks)
			return np_fail_nomem(err, MODE);
	}
	spread->most = tokens > spread->most ? tokens : spread->most;
	spread->least = tokens < spread->least ? tokens : spread->least;
	return NP_OK;
}

static int put_rank(struct np_modes *modes, struct np_mode_table *table, struct spreads *spreads,
		    size_t index, int64_t tokens, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	const struct np_rank *rank = modes->run->ranks[index];
	const struct np_group *group = experts_of(modes, rank);
	int rc;

	if (group)
		put_members(&ranks, group);
	rc = mode_row(modes, table,
		      (const struct np_cell[NP_COUNT(rank_columns)]){
			      np_cell_integer(rank->id),
			      group ? np_cell_text(ranks.text) : np_cell_null(),
			      np_cell_integer(tokens) },
		      err);
	/* Whose experts share the work with whose is not known: then nothing is compared. */
	return rc < 0 || !group ? rc : widen(spreads, ranks.text, tokens, err);
}

static int by_difference(const void *left, const void *right)
{
	const struct spread *a = left;
	const struct spread *b = right;

	if (a->most - a->least != b->most - b->least)
		return np_order(b->most - b->least, a->most - a->least);
	return strcmp(a->ranks, b->ranks);
}

static int put_groups(struct np_modes *modes, struct np_mode_table *table, struct spreads *spreads,
		      struct np_err *err)
{
	size_t top = mode_top(modes, 20);
	int rc = NP_OK;

	if (spreads->list.count)
		qsort(spreads->list.item, spreads->list.count, sizeof(spreads->list.item[0]),
		      by_difference);
	for (size_t i = 0; i < spreads->list.count && i < top && rc == NP_OK; i++) {
		const struct spread *spread = &spreads->list.item[i];

		rc = mode_row(modes, table,
			      (const struct np_cell[NP_COUNT(group_columns)]){
				      np_cell_text(spread->ranks),
				      np_cell_integer(spread->most - spread->least) },
			      err);
	}
	return rc;
}

/* Is a rank with known tokens in the same group of experts? */
static bool is_compared(const struct np_modes *modes, void *const *ranks,
			const struct np_group *group)
{
	for (size_t i = 0; i < modes->run->sources.count; i++) {
		const struct tokens *tokens = ranks[i];
		const struct np_group *other = NULL;

		if (tokens && tokens->count != NP_UNKNOWN)
			other = experts_of(modes, modes->run->ranks[i]);
		if (other && other->member_count == group->member_count &&
		    memcmp(other->members, group->members,
			   group->member_count * sizeof(*group->members)) == 0)
			return true;
	}
	return false;
}

/* Ranks whose experts are compared with nobody's, and those that are missing beside others. */
static int note_ranks(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	size_t count = modes->run->sources.count;
	bool *alone = calloc(count + 1, sizeof(*alone));
	bool *missing = calloc(count + 1, sizeof(*missing));
	int rc = alone && missing ? NP_OK : np_fail_nomem(err, MODE);

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct tokens *tokens = ranks[i];
		const struct np_group *group =
			tokens ? experts_of(modes, modes->run->ranks[i]) : NULL;

		alone[i] = tokens && tokens->count != NP_UNKNOWN && !group;
		missing[i] =
			group && tokens->count == NP_UNKNOWN && is_compared(modes, ranks, group);
	}
	if (rc == NP_OK) {
		mode_note(modes, NP_NOTE_WARNING, MODE, alone,
			  "nothing tells with whom they share experts (parallel_group_info in"
			  " profiler_metadata.json): their tokens are not compared");
		mode_note(modes, NP_NOTE_SKIPPED, MODE, missing,
			  "no GroupedMatmul kernels with recorded shapes, which other ranks of"
			  " their experts have (profiler_level=Level1)");
	}
	free(alone);
	free(missing);
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *each =
		MODE_TABLE(modes, MODE, "EPTokensSummary",
			   "tokens that the experts of each rank worked on", rank_columns, err);
	struct np_mode_table *groups = MODE_TABLE(
		modes, MODE, "TopEPTokensInfo",
		"groups of experts by the difference between their ranks", group_columns, err);
	struct spreads spreads = { 0 };
	int rc = each && groups ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK)
		each->empty = groups->empty = "no GroupedMatmul kernels with recorded shapes";
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct tokens *tokens = ranks[i];

		if (tokens && tokens->count != NP_UNKNOWN)
			rc = put_rank(modes, each, &spreads, i, tokens->count, err);
	}
	if (rc == NP_OK)
		rc = put_groups(modes, groups, &spreads, err);
	if (rc == NP_OK)
		rc = note_ranks(modes, ranks, err);
	if (rc == NP_OK && each->rows > 0)
		groups->empty = "nothing tells which ranks share experts";
	if (rc == NP_OK && each->rows == 0)
		np_note_add(&modes->run->notes, NP_NOTE_WARNING, NP_NO_RANK,
			    modes->run->roots.item[0], MODE,
			    "no rank has GroupedMatmul kernels with recorded shapes");
	for (size_t i = 0; i < spreads.list.count; i++)
		free(spreads.list.item[i].ranks);
	np_vec_release(&spreads.list);
	return rc;
}

const struct mode mode_ep_load_balance = {
	.name = MODE,
	.summary = "tokens of the experts of each rank",
	.wants = NP_DETAIL_KERNELS,
	.needs = NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = free,
};
