/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_comparison.h"
#include "cmp_sequence.h"

#include "npuprof/buf.h"

#include <inttypes.h>

/*
 * The kernels of one step of the first pair, in the order of their starts, aligned
 * by type: what came, what went, what became one, and what is the same kernel with
 * other inputs.
 */

/* Longer runs of removed kernels are no fusion. */
#define FUSED_MOST 16

struct finder {
	struct comparison *comparison;
	const struct cmp_rank_kernels *side[CMP_SIDES];
	struct np_strtab *keys;
	struct np_idmap *rows; /* id in `keys` → row */
	struct np_err *err;
};

static const struct cmp_kernel_group *group_at(const struct finder *finder, enum cmp_which which,
					       size_t place)
{
	const struct cmp_rank_kernels *side = finder->side[which];

	return &side->groups.item[side->sequence.item[place].group];
}

static const char *type_at(const struct finder *finder, enum cmp_which which, size_t place)
{
	const char *type = cmp_text(finder->comparison, group_at(finder, which, place)->type);

	return type ? type : "unknown";
}

/* Count a finding under what it is. Texts that a buffer holds are kept. */
static int count_one(struct finder *finder, const char *kind, const char *what, const char *from,
		     const char *to)
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

static void list_types(const struct finder *finder, enum cmp_which which, size_t from, size_t to,
		       struct np_buf *buf)
{
	for (size_t i = from; i < to; i++)
		np_buf_printf(buf, "%s%s", i > from ? " + " : "", type_at(finder, which, i));
}

/* Several kernels on one side and a single other one on the other side, at the same place. */
static int find_fusion(struct finder *finder, const size_t from[CMP_SIDES],
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

static int take_gap(struct finder *finder, const size_t from[CMP_SIDES], const size_t to[CMP_SIDES])
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

static int compare_texts(struct finder *finder, const char *kind, const char *type, np_str base,
			 np_str new_)
{
	/* Not recorded on one side is no change. */
	if (base == new_ || base == NP_STR_NONE || new_ == NP_STR_NONE)
		return NP_OK;
	return count_one(finder, kind, type, cmp_text(finder->comparison, base),
			 cmp_text(finder->comparison, new_));
}

static int compare_kernels(struct finder *finder, const struct cmp_match *match)
{
	const struct cmp_kernel_group *a = group_at(finder, CMP_BASE, match->base);
	const struct cmp_kernel_group *b = group_at(finder, CMP_NEW, match->new_);
	int64_t dims[] = { finder->side[0]->sequence.item[match->base].block_dim,
			   finder->side[1]->sequence.item[match->new_].block_dim };
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

static int walk(struct finder *finder, const struct cmp_matches *matches)
{
	size_t from[CMP_SIDES] = { 0, 0 };
	int rc = NP_OK;

	for (size_t i = 0; i <= matches->list.count && rc == NP_OK; i++) {
		bool end = i == matches->list.count;
		const struct cmp_match *match = end ? NULL : &matches->list.item[i];
		const size_t to[CMP_SIDES] = {
			end ? finder->side[0]->sequence.count : match->base,
			end ? finder->side[1]->sequence.count : match->new_,
		};

		rc = take_gap(finder, from, to);
		if (end || rc < 0)
			break;
		rc = compare_kernels(finder, match);
		from[0] = match->base + 1;
		from[1] = match->new_ + 1;
	}
	return rc;
}

static uint32_t *tokens_of(const struct finder *finder, enum cmp_which which)
{
	size_t count = finder->side[which]->sequence.count;
	uint32_t *tokens = malloc((count + 1) * sizeof(*tokens));

	for (size_t i = 0; tokens && i < count; i++)
		tokens[i] = group_at(finder, which, i)->type;
	return tokens;
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

static int align_and_walk(struct finder *finder)
{
	uint32_t *base = tokens_of(finder, CMP_BASE);
	uint32_t *new_ = tokens_of(finder, CMP_NEW);
	struct cmp_matches matches = { 0 };
	int rc = base && new_ ? NP_OK : np_fail_nomem(finder->err, "structure");

	if (rc == NP_OK)
		rc = cmp_align(base, finder->side[0]->sequence.count, new_,
			       finder->side[1]->sequence.count, &matches, finder->err);
	if (rc == NP_OK)
		rc = walk(finder, &matches);
	np_vec_release(&matches.list);
	free(base);
	free(new_);
	return rc;
}

int cmp_measure_structure(struct comparison *comparison, struct np_err *err)
{
	const struct cmp_pair *pair = &comparison->pairs.item[0];
	struct finder finder = {
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
	    finder.side[1]->sequence.count > 0)
		rc = align_and_walk(&finder);
	if (comparison->structure.count)
		qsort(comparison->structure.item, comparison->structure.count,
		      sizeof(struct cmp_structure), by_count);
	np_strtab_free(finder.keys);
	np_idmap_free(finder.rows);
	return rc;
}
