/* SPDX-License-Identifier: Apache-2.0 */
/* Aligns two sequences of tokens with as few changes as possible (cmp_sequence.h). */
#include "cmp_sequence.h"

#include "npuprof/idmap.h"

/* More changes than these between two anchors are no longer told apart. */
#define MOST_CHANGES 2000

/* Shorter ones are cheap enough without anchors, which may cost a match. */
#define ANCHORS_FROM 512

struct sequence_aligner {
	const uint32_t *base;
	const uint32_t *new_;
	struct cmp_matches *ret;
	struct np_err *err;
};

/* A part of both sequences: [begin, end). */
struct sequence_part {
	size_t base;
	size_t base_end;
	size_t new_;
	size_t new_end;
};

static int add_match(struct sequence_aligner *aligner, size_t base, size_t new_)
{
	struct cmp_match *match = np_vec_add(&aligner->ret->list, aligner->err);

	if (!match)
		return NP_E_NOMEM;
	*match = (struct cmp_match){ base, new_ };
	return NP_OK;
}

/* --- Myers ----------------------------------------------------------------------------------- */

/* The furthest points of each number of changes, kept to walk back. */
struct trace {
	int64_t *rows; /* of changes d: 2 d + 1 entries from rows[d × d] on */
	size_t changes;
};

/* Where diagonal k was after d − 1 changes, −2 if it was not reached. */
static int64_t reached(const int64_t *before, int64_t d, int64_t k)
{
	return k <= -d || k >= d ? -2 : before[k + d - 1];
}

struct size {
	int64_t n;
	int64_t m;
};

/*
 * Where change d arrives on diagonal k, by a removal (from k − 1) or an insertion
 * (from k + 1), whichever is further and within both sequences; −1 for neither.
 */
static int64_t arrive(const int64_t *before, int64_t d, int64_t k, struct size size, bool *removal)
{
	int64_t left = reached(before, d, k - 1);
	int64_t above = reached(before, d, k + 1);
	bool left_ok = left >= 0 && left < size.n;
	bool above_ok = above >= 0 && above - k <= size.m;

	*removal = left_ok && (!above_ok || left >= above);
	if (!left_ok && !above_ok)
		return -1;
	return *removal ? left + 1 : above;
}

static bool forward(const struct sequence_aligner *aligner, const struct sequence_part *part,
		    struct trace *trace, size_t most)
{
	const struct size size = { (int64_t)(part->base_end - part->base),
				   (int64_t)(part->new_end - part->new_) };
	bool removal;

	for (int64_t d = 0; d <= (int64_t)most; d++) {
		int64_t *row = trace->rows + d * d;
		const int64_t *before = d ? trace->rows + (d - 1) * (d - 1) : NULL;

		for (int64_t k = -d; k <= d; k++)
			row[k + d] = -2;
		for (int64_t k = -d; k <= d; k += 2) {
			int64_t x = d ? arrive(before, d, k, size, &removal) : 0;
			int64_t y = x - k;

			if (x < 0 || y < 0)
				continue;
			while (x < size.n && y < size.m &&
			       aligner->base[part->base + (size_t)x] ==
				       aligner->new_[part->new_ + (size_t)y]) {
				x++;
				y++;
			}
			row[k + d] = x;
			if (x == size.n && y == size.m) {
				trace->changes = (size_t)d;
				return true;
			}
		}
	}
	return false;
}

/* From the end to the start: matches come last first. */
static int backward(struct sequence_aligner *aligner, const struct sequence_part *part,
		    const struct trace *trace)
{
	const struct size size = { (int64_t)(part->base_end - part->base),
				   (int64_t)(part->new_end - part->new_) };
	size_t first = aligner->ret->list.count;
	int64_t x = size.n;
	int64_t y = size.m;
	int rc = NP_OK;

	for (int64_t d = (int64_t)trace->changes; d >= 0 && rc == NP_OK; d--) {
		bool removal = false;
		int64_t from =
			d ? arrive(trace->rows + (d - 1) * (d - 1), d, x - y, size, &removal) : 0;

		while (x > from && rc == NP_OK) {
			x--;
			y--;
			rc = add_match(aligner, part->base + (size_t)x, part->new_ + (size_t)y);
		}
		x -= d > 0 && removal;
		y -= d > 0 && !removal;
	}
	for (size_t i = first, j = aligner->ret->list.count; i + 1 < j; i++) {
		struct cmp_match swap = aligner->ret->list.item[i];

		j--;
		aligner->ret->list.item[i] = aligner->ret->list.item[j];
		aligner->ret->list.item[j] = swap;
	}
	return rc;
}

static int align_part(struct sequence_aligner *aligner, const struct sequence_part *part)
{
	size_t all = part->base_end - part->base + part->new_end - part->new_;
	size_t most = all < MOST_CHANGES ? all : MOST_CHANGES;
	struct trace trace = { 0 };
	int rc = NP_OK;

	if (part->base == part->base_end || part->new_ == part->new_end)
		return NP_OK;
	/* Few changes are the rule: room for many only when needed. */
	for (size_t try = most < 64 ? most : 64;; try = try * 6 < most ? try * 6 : most) {
		bool found;

		trace.rows = malloc((try + 1) * (try + 1) * sizeof(*trace.rows));
		if (!trace.rows)
			return np_fail_nomem(aligner->err, "the alignment");
		found = forward(aligner, part, &trace, try);
		if (found)
			rc = backward(aligner, part, &trace);
		free(trace.rows);
		if (found || try == most)
			return rc;
	}
}

/* --- anchors --------------------------------------------------------------------------------- */

#define SEVERAL (UINT32_MAX - 1)

/* Token → its only place in [begin, end), or SEVERAL. */
static int find_places(const uint32_t *tokens, size_t begin, size_t end, struct np_idmap *places,
		       struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = begin; i < end && rc == NP_OK; i++) {
		bool again = np_idmap_get(places, tokens[i]) != NP_IDMAP_NONE;

		rc = np_idmap_set(places, tokens[i], again ? SEVERAL : (uint32_t)i, err);
	}
	return rc;
}

/* Unique tokens in the same order, greedily; between them the parts are aligned. */
static int align_middle(struct sequence_aligner *aligner, const struct sequence_part *whole)
{
	struct np_idmap *in_base = np_idmap_new();
	struct np_idmap *in_new = np_idmap_new();
	struct sequence_part part = *whole;
	int rc = in_base && in_new ? NP_OK : np_fail_nomem(aligner->err, "the alignment");

	if (rc == NP_OK)
		rc = find_places(aligner->base, whole->base, whole->base_end, in_base,
				 aligner->err);
	if (rc == NP_OK)
		rc = find_places(aligner->new_, whole->new_, whole->new_end, in_new, aligner->err);
	for (size_t i = whole->base; i < whole->base_end && rc == NP_OK; i++) {
		uint32_t here = np_idmap_get(in_base, aligner->base[i]);
		uint32_t there = np_idmap_get(in_new, aligner->base[i]);

		if (here == SEVERAL || there == SEVERAL || there == NP_IDMAP_NONE ||
		    there < part.new_)
			continue;
		part.base_end = i;
		part.new_end = there;
		rc = align_part(aligner, &part);
		if (rc == NP_OK)
			rc = add_match(aligner, i, there);
		part.base = i + 1;
		part.new_ = (size_t)there + 1;
	}
	part.base_end = whole->base_end;
	part.new_end = whole->new_end;
	if (rc == NP_OK)
		rc = align_part(aligner, &part);
	np_idmap_free(in_base);
	np_idmap_free(in_new);
	return rc;
}

int cmp_align(const uint32_t *base, size_t base_count, const uint32_t *new_, size_t new_count,
	      struct cmp_matches *ret, struct np_err *err)
{
	struct sequence_aligner aligner = { base, new_, ret, err };
	struct sequence_part part = { 0, base_count, 0, new_count };
	size_t tail = 0;
	int rc = NP_OK;

	while (part.base < base_count && part.new_ < new_count &&
	       base[part.base] == new_[part.new_] && rc == NP_OK)
		rc = add_match(&aligner, part.base++, part.new_++);
	while (part.base_end > part.base && part.new_end > part.new_ &&
	       base[part.base_end - 1] == new_[part.new_end - 1]) {
		part.base_end--;
		part.new_end--;
		tail++;
	}
	if (rc == NP_OK && part.base_end - part.base + part.new_end - part.new_ < ANCHORS_FROM)
		rc = align_part(&aligner, &part);
	else if (rc == NP_OK)
		rc = align_middle(&aligner, &part);
	for (size_t i = 0; i < tail && rc == NP_OK; i++)
		rc = add_match(&aligner, part.base_end + i, part.new_end + i);
	return rc;
}
