/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the streams or threads of two sides by what they have in common. */
#include "cmp_sequence.h"

#include "npuprof/order.h"

/* A lane with its tokens sorted. */
struct bag {
	uint32_t *tokens;
	size_t count;
};

static struct bag *new_bags(const struct cmp_lane *lanes, size_t count)
{
	struct bag *bags = calloc(count + 1, sizeof(*bags));

	for (size_t i = 0; bags && i < count; i++) {
		bags[i].tokens = malloc((lanes[i].count + 1) * sizeof(uint32_t));
		if (!bags[i].tokens)
			continue;
		bags[i].count = lanes[i].count;
		if (lanes[i].count == 0)
			continue;
		memcpy(bags[i].tokens, lanes[i].tokens, lanes[i].count * sizeof(uint32_t));
		qsort(bags[i].tokens, lanes[i].count, sizeof(uint32_t), np_by_uint32);
	}
	return bags;
}

static bool are_whole(const struct bag *bags, size_t count)
{
	for (size_t i = 0; bags && i < count; i++) {
		if (!bags[i].tokens)
			return false;
	}
	return bags != NULL;
}

static void free_bags(struct bag *bags, size_t count)
{
	for (size_t i = 0; bags && i < count; i++)
		free(bags[i].tokens);
	free(bags);
}

static size_t in_common(const struct bag *a, const struct bag *b)
{
	size_t common = 0;
	size_t i = 0;
	size_t j = 0;

	while (i < a->count && j < b->count) {
		if (a->tokens[i] < b->tokens[j]) {
			i++;
		} else if (a->tokens[i] > b->tokens[j]) {
			j++;
		} else {
			common++;
			i++;
			j++;
		}
	}
	return common;
}

/* Two lanes with something in common. */
struct pair {
	size_t base;
	size_t new_;
	size_t common;
};

static int by_common(const void *left, const void *right)
{
	const struct pair *a = left;
	const struct pair *b = right;

	if (a->common != b->common)
		return a->common > b->common ? -1 : 1;
	return a->base != b->base ? np_order((int64_t)a->base, (int64_t)b->base)
				  : np_order((int64_t)a->new_, (int64_t)b->new_);
}

static int pair_bags(const struct bag *base, size_t base_count, const struct bag *new_,
		     size_t new_count, size_t *partner, struct np_err *err)
{
	NP_VEC(struct pair) pairs = { 0 };
	bool *taken = calloc(new_count + 1, sizeof(*taken));
	int rc = taken ? NP_OK : np_fail_nomem(err, "the alignment");

	for (size_t i = 0; i < base_count * new_count && rc == NP_OK; i++) {
		size_t common = in_common(&base[i / new_count], &new_[i % new_count]);
		struct pair *pair = common ? np_vec_add(&pairs, err) : NULL;

		if (pair)
			*pair = (struct pair){ i / new_count, i % new_count, common };
		else if (common)
			rc = NP_E_NOMEM;
	}
	if (pairs.count)
		qsort(pairs.item, pairs.count, sizeof(*pairs.item), by_common);
	for (size_t i = 0; i < pairs.count && rc == NP_OK; i++) {
		if (partner[pairs.item[i].base] != SIZE_MAX || taken[pairs.item[i].new_])
			continue;
		partner[pairs.item[i].base] = pairs.item[i].new_;
		taken[pairs.item[i].new_] = true;
	}
	np_vec_release(&pairs);
	free(taken);
	return rc;
}

int cmp_pair_lanes(const struct cmp_lane *base, size_t base_count, const struct cmp_lane *new_,
		   size_t new_count, size_t *partner, struct np_err *err)
{
	struct bag *here = new_bags(base, base_count);
	struct bag *there = new_bags(new_, new_count);
	int rc;

	for (size_t i = 0; i < base_count; i++)
		partner[i] = SIZE_MAX;
	rc = are_whole(here, base_count) && are_whole(there, new_count)
		     ? pair_bags(here, base_count, there, new_count, partner, err)
		     : np_fail_nomem(err, "the alignment");
	free_bags(here, base_count);
	free_bags(there, new_count);
	return rc;
}
