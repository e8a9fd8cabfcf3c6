/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligns the kernels of one step of both sides, stream by stream: added, removed, fused, other
 * inputs.
 */
#include "cmp_comparison.h"
#include "cmp_sequence.h"

#include "npuprof/arena.h"
#include "npuprof/buf.h"

#include <inttypes.h>

/*
 * The kernels of one step of the first pair, aligned by type: those of each stream, in
 * the order of their starts, with those of the stream that had most in common. What
 * came, what went, what became one, and what is the same kernel with other inputs.
 */

/* Longer runs of removed kernels are no fusion. */
#define FUSED_MOST 16

/* The kernels of each stream: places in the sequence of the step. */
struct streams {
	struct cmp_lane *lanes; /* types of kernels, by stream */
	size_t count;
	size_t *first; /* of each in `places` and `tokens` */
	uint32_t *places;
	uint32_t *tokens;
};

struct structure_finder {
	struct comparison *comparison;
	const struct cmp_rank_kernels *side[CMP_SIDES];
	struct streams streams[CMP_SIDES];
	const uint32_t *at[CMP_SIDES]; /* places of the streams that are being compared */
	struct np_strtab *keys;
	struct np_idmap *rows; /* id in `keys` → row */
	struct np_err *err;
};

static const struct cmp_kernel_place *place_at(const struct structure_finder *finder,
					       enum cmp_which which, size_t index)
{
	return &finder->side[which]->sequence.item[finder->at[which][index]];
}

static const struct cmp_kernel_group *group_at(const struct structure_finder *finder,
					       enum cmp_which which, size_t index)
{
	const struct cmp_side *side = &finder->comparison->sides[which];

	return &side->groups.item[place_at(finder, which, index)->group];
}

static const char *type_at(const struct structure_finder *finder, enum cmp_which which,
			   size_t place)
{
	const char *type = cmp_text(finder->comparison, group_at(finder, which, place)->type);

	return type ? type : "unknown";
}

/* Count a finding under what it is. Texts that a buffer holds are kept. */
static int count_one(struct structure_finder *finder, const char *kind, const char *what,
		     const char *from, const char *to)
{
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
	struct comparison *comparison = finder->comparison;
	const char *parts[] = { what, from, to };
	const char *kept[3];
	struct cmp_structure *row;
	uint32_t index;
	np_str id;
	int rc;

	np_buf_printf(&key, "%s\n%s\n%s\n%s", kind, what, from ? from : "", to ? to : "");
	rc = np_buf_check(&key, finder->err);
	if (rc == NP_OK)
		rc = np_strtab_add(finder->keys, key.text, key.length, &id, finder->err);
	if (rc < 0)
		return rc;
	index = np_idmap_get(finder->rows, id);
	if (index != NP_IDMAP_NONE) {
		comparison->structure.item[index].count++;
		return NP_OK;
	}
	for (size_t i = 0; i < NP_COUNT(parts); i++) {
		kept[i] = parts[i] ? np_arena_text(comparison->arena, parts[i], strlen(parts[i]))
				   : NULL;
		if (parts[i] && !kept[i])
			return np_fail_nomem(finder->err, "structure");
	}
	row = np_vec_add(&comparison->structure, finder->err);
	if (!row)
		return NP_E_NOMEM;
	*row = (struct cmp_structure){ kind, kept[0], kept[1], kept[2], 1 };
	return np_idmap_set(finder->rows, id, (uint32_t)(comparison->structure.count - 1),
			    finder->err);
}

/* --- kernels that are not on both sides ------------------------------------------------------ */

static void list_types(const struct structure_finder *finder, enum cmp_which which, size_t from,
		       size_t to, struct np_buf *buf)
{
	for (size_t i = from; i < to; i++)
		np_buf_printf(buf, "%s%s", i > from ? " + " : "", type_at(finder, which, i));
}

/* Several kernels on one side and a single other one on the other side, at the same place. */
static int find_fusion(struct structure_finder *finder, const size_t from[CMP_SIDES],
		       const size_t to[CMP_SIDES], bool *ret)
{
	size_t count[] = { to[0] - from[0], to[1] - from[1] };
	NP_CLEANUP(np_buf_release) struct np_buf many = NP_BUF_INIT;
	enum cmp_which one = count[CMP_NEW] == 1 ? CMP_NEW : CMP_BASE;
	enum cmp_which other = one == CMP_NEW ? CMP_BASE : CMP_NEW;
	const char *single;
	int rc;

	*ret = count[one] == 1 && count[other] >= 2 && count[other] <= FUSED_MOST;
	if (!*ret)
		return NP_OK;
	single = type_at(finder, one, from[one]);
	if (cmp_is_conversion(single)) {
		*ret = false;
		return NP_OK;
	}
	list_types(finder, other, from[other], to[other], &many);
	rc = np_buf_check(&many, finder->err);
	if (rc < 0)
		return rc;
	return one == CMP_NEW ? count_one(finder, "fused", single, many.text, single)
			      : count_one(finder, "split", single, single, many.text);
}

static int take_gap(struct structure_finder *finder, const size_t from[CMP_SIDES],
		    const size_t to[CMP_SIDES])
{
	bool fused;
	int rc = find_fusion(finder, from, to, &fused);

	for (int which = 0; which < CMP_SIDES && !fused; which++) {
		for (size_t i = from[which]; i < to[which] && rc == NP_OK; i++) {
			const char *type = type_at(finder, (enum cmp_which)which, i);
			const char *kind = which == CMP_BASE         ? "removed"
					   : cmp_is_conversion(type) ? "conversion"
								     : "new";

			rc = count_one(finder, kind, type, NULL, NULL);
		}
	}
	return rc;
}

/* --- kernels with other inputs --------------------------------------------------------------- */

static int compare_texts(struct structure_finder *finder, const char *kind, const char *type,
			 np_str base, np_str new_)
{
	/* Not recorded on one side is no change. */
	if (base == new_ || base == NP_STR_NONE || new_ == NP_STR_NONE)
		return NP_OK;
	return count_one(finder, kind, type, cmp_text(finder->comparison, base),
			 cmp_text(finder->comparison, new_));
}

static int compare_kernels(struct structure_finder *finder, const struct cmp_match *match)
{
	const struct cmp_kernel_group *a = group_at(finder, CMP_BASE, match->base);
	const struct cmp_kernel_group *b = group_at(finder, CMP_NEW, match->new_);
	int64_t dims[] = { place_at(finder, CMP_BASE, match->base)->block_dim,
			   place_at(finder, CMP_NEW, match->new_)->block_dim };
	const char *type = type_at(finder, CMP_BASE, match->base);
	char text[2][24];
	int rc = compare_texts(finder, "shape", type, a->shapes, b->shapes);

	if (rc == NP_OK)
		rc = compare_texts(finder, "dtype", type, a->dtypes, b->dtypes);
	if (rc == NP_OK)
		rc = compare_texts(finder, "format", type, a->formats, b->formats);
	if (rc < 0 || dims[0] == dims[1] || dims[0] == NP_UNKNOWN || dims[1] == NP_UNKNOWN)
		return rc;
	(void)snprintf(text[0], sizeof(text[0]), "%" PRId64, dims[0]);
	(void)snprintf(text[1], sizeof(text[1]), "%" PRId64, dims[1]);
	return count_one(finder, "block_dim", type, text[0], text[1]);
}

/* --- everything ------------------------------------------------------------------------------ */

static int walk(struct structure_finder *finder, const struct cmp_matches *matches,
		const size_t count[CMP_SIDES])
{
	size_t from[CMP_SIDES] = { 0, 0 };
	int rc = NP_OK;

	for (size_t i = 0; i <= matches->list.count && rc == NP_OK; i++) {
		bool end = i == matches->list.count;
		const struct cmp_match *match = end ? NULL : &matches->list.item[i];
		const size_t to[CMP_SIDES] = { end ? count[0] : match->base,
					       end ? count[1] : match->new_ };

		rc = take_gap(finder, from, to);
		if (end || rc < 0)
			break;
		rc = compare_kernels(finder, match);
		from[0] = match->base + 1;
		from[1] = match->new_ + 1;
	}
	return rc;
}

/* --- streams --------------------------------------------------------------------------------- */

static void release_streams(struct streams *streams)
{
	free(streams->lanes);
	free(streams->first);
	free(streams->places);
	free(streams->tokens);
}

/* Number the streams in the order of their first kernel, and count their kernels. */
static int count_streams(const struct cmp_rank_kernels *side, struct np_idmap *numbers,
			 struct streams *streams, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < side->sequence.count && rc == NP_OK; i++) {
		int64_t stream = side->sequence.item[i].stream;

		if (np_idmap_get(numbers, stream) == NP_IDMAP_NONE)
			rc = np_idmap_set(numbers, stream, (uint32_t)streams->count++, err);
		if (rc == NP_OK)
			streams->first[np_idmap_get(numbers, stream) + 1]++;
	}
	return rc;
}

static void fill_streams(const struct cmp_rank_kernels *side, const struct cmp_kernel_group *groups,
			 struct np_idmap *numbers, struct streams *streams)
{
	for (size_t i = 0; i < streams->count; i++)
		streams->first[i + 1] += streams->first[i];
	for (size_t i = 0; i < streams->count; i++)
		streams->lanes[i] = (struct cmp_lane){ streams->tokens + streams->first[i], 0 };
	for (uint32_t i = 0; i < side->sequence.count; i++) {
		uint32_t stream = np_idmap_get(numbers, side->sequence.item[i].stream);
		size_t place = streams->first[stream] + streams->lanes[stream].count++;

		streams->places[place] = i;
		streams->tokens[place] = groups[side->sequence.item[i].group].type;
	}
}

static int divide_streams(const struct structure_finder *finder, enum cmp_which which,
			  struct streams *ret, struct np_err *err)
{
	const struct cmp_rank_kernels *side = finder->side[which];
	NP_CLEANUP(np_idmap_freep) struct np_idmap *numbers = np_idmap_new();
	size_t room = side->sequence.count + 2;
	int rc;

	ret->lanes = calloc(room, sizeof(*ret->lanes));
	ret->first = calloc(room, sizeof(*ret->first));
	ret->places = calloc(room, sizeof(*ret->places));
	ret->tokens = calloc(room, sizeof(*ret->tokens));
	if (!numbers || !ret->lanes || !ret->first || !ret->places || !ret->tokens)
		return np_fail_nomem(err, "structure");
	rc = count_streams(side, numbers, ret, err);
	if (rc == NP_OK)
		fill_streams(side, finder->comparison->sides[which].groups.item, numbers, ret);
	return rc;
}

/* Compare two streams, of which one may be SIZE_MAX: it has no partner. */
static int compare_streams(struct structure_finder *finder, size_t base, size_t new_)
{
	const size_t stream[] = { base, new_ };
	struct cmp_lane lanes[CMP_SIDES] = { 0 };
	struct cmp_matches matches = { 0 };
	int rc;

	for (int i = 0; i < CMP_SIDES; i++) {
		const struct streams *streams = &finder->streams[i];

		if (stream[i] == SIZE_MAX)
			continue;
		lanes[i] = streams->lanes[stream[i]];
		finder->at[i] = streams->places + streams->first[stream[i]];
	}
	rc = cmp_align(lanes[0].tokens, lanes[0].count, lanes[1].tokens, lanes[1].count, &matches,
		       finder->err);
	if (rc == NP_OK)
		rc = walk(finder, &matches, (const size_t[]){ lanes[0].count, lanes[1].count });
	np_vec_release(&matches.list);
	return rc;
}

static int compare_paired(struct structure_finder *finder, const size_t *partner)
{
	size_t count = finder->streams[CMP_BASE].count;
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = compare_streams(finder, i, partner[i]);
	for (size_t i = 0; i < finder->streams[CMP_NEW].count && rc == NP_OK; i++) {
		size_t j = 0;

		while (j < count && partner[j] != i)
			j++;
		if (j == count)
			rc = compare_streams(finder, SIZE_MAX, i);
	}
	return rc;
}

static int align_and_walk(struct structure_finder *finder)
{
	const struct streams *base = &finder->streams[CMP_BASE];
	const struct streams *new_ = &finder->streams[CMP_NEW];
	size_t *partner = NULL;
	int rc = divide_streams(finder, CMP_BASE, &finder->streams[CMP_BASE], finder->err);

	if (rc == NP_OK)
		rc = divide_streams(finder, CMP_NEW, &finder->streams[CMP_NEW], finder->err);
	if (rc == NP_OK) {
		partner = malloc((base->count + 1) * sizeof(*partner));
		rc = partner ? cmp_pair_lanes(base->lanes, base->count, new_->lanes, new_->count,
					      partner, finder->err)
			     : np_fail_nomem(finder->err, "structure");
	}
	if (rc == NP_OK)
		rc = compare_paired(finder, partner);
	free(partner);
	release_streams(&finder->streams[CMP_BASE]);
	release_streams(&finder->streams[CMP_NEW]);
	return rc;
}

static int by_count(const void *left, const void *right)
{
	const struct cmp_structure *a = left;
	const struct cmp_structure *b = right;
	int order = np_order(b->count, a->count);

	if (order == 0)
		order = strcmp(a->kind, b->kind);
	if (order == 0)
		order = strcmp(a->what, b->what);
	if (order == 0)
		order = strcmp(a->from ? a->from : "", b->from ? b->from : "");
	return order ? order : strcmp(a->to ? a->to : "", b->to ? b->to : "");
}

int cmp_measure_structure(struct comparison *comparison, struct np_err *err)
{
	const struct cmp_pair *pair = &comparison->pairs.item[0];
	struct structure_finder finder = {
		.comparison = comparison,
		.side = { &comparison->sides[0].kernels[pair->rank[0]],
			  &comparison->sides[1].kernels[pair->rank[1]] },
		.keys = np_strtab_new(),
		.rows = np_idmap_new(),
		.err = err,
	};
	int rc = finder.keys && finder.rows ? NP_OK : np_fail_nomem(err, "structure");

	/* What one side alone recorded is not gone on the other. */
	if (rc == NP_OK && !comparison->coarse && finder.side[0]->sequence.count > 0 &&
	    finder.side[1]->sequence.count > 0 && finder.side[0]->types == finder.side[1]->types)
		rc = align_and_walk(&finder);
	if (comparison->structure.count)
		qsort(comparison->structure.item, comparison->structure.count,
		      sizeof(struct cmp_structure), by_count);
	np_strtab_free(finder.keys);
	np_idmap_free(finder.rows);
	return rc;
}
