/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank has more than another, and what was added from one run to the next. */
#include "mem_compare.h"

static int64_t bytes_of(const struct mem_rank *rank, const char *what)
{
	for (size_t i = 0; i < rank->composition->groups.count; i++) {
		const struct mem_group *group = &rank->composition->groups.item[i];

		if (strcmp(mem_rank_label(rank, group->label), what) == 0)
			return (int64_t)group->bytes;
	}
	return 0;
}

static int add_difference(mem_differences *ret, const char *what, int64_t bytes, int64_t other,
			  struct np_err *err)
{
	struct mem_difference *added;

	if (bytes == other)
		return NP_OK;
	added = np_vec_add(ret, err);
	if (!added)
		return NP_E_NOMEM;
	*added = (struct mem_difference){ strdup(what), bytes, other };
	return added->what ? NP_OK : np_fail_nomem(err, "a difference");
}

static int order_differences(const void *a, const void *b)
{
	const struct mem_difference *left = a;
	const struct mem_difference *right = b;
	int order = np_order(llabs(right->bytes - right->other_bytes),
			     llabs(left->bytes - left->other_bytes));

	return order ? order : strcmp(left->what, right->what);
}

int mem_differences_find(const struct mem_rank *rank, const struct mem_rank *other,
			 mem_differences *ret, struct np_err *err)
{
	int rc = NP_OK;

	/* Stacks and operators have no names in common. */
	if (rank->by != other->by || rank->source != other->source)
		return NP_OK;
	for (size_t i = 0; rc == NP_OK && i < rank->composition->groups.count; i++) {
		const struct mem_group *group = &rank->composition->groups.item[i];
		const char *what = mem_rank_label(rank, group->label);

		rc = add_difference(ret, what, (int64_t)group->bytes, bytes_of(other, what), err);
	}
	for (size_t i = 0; rc == NP_OK && i < other->composition->groups.count; i++) {
		const struct mem_group *group = &other->composition->groups.item[i];
		const char *what = mem_rank_label(other, group->label);

		if (bytes_of(rank, what) == 0)
			rc = add_difference(ret, what, 0, (int64_t)group->bytes, err);
	}
	if (rc == NP_OK && ret->count > 0)
		qsort(ret->item, ret->count, sizeof(ret->item[0]), order_differences);
	return rc;
}

void mem_differences_release(mem_differences *differences)
{
	for (size_t i = 0; i < differences->count; i++)
		free(differences->item[i].what);
	np_vec_release(differences);
}

int64_t mem_risen(const struct mem_reached *base, const struct mem_reached *now)
{
	return base->bytes == NP_UNKNOWN || now->bytes == NP_UNKNOWN ? NP_UNKNOWN
								     : now->bytes - base->bytes;
}

static bool is_same(const struct mem_rank *a, const struct mem_rank *b)
{
	const char *role_a = a->role ? a->role : "";
	const char *role_b = b->role ? b->role : "";

	return a->rank != NP_UNKNOWN && a->rank == b->rank && a->source == b->source &&
	       a->device == b->device && strcmp(role_a, role_b) == 0;
}

static int add_pair(struct mem_comparison *comparison, const struct mem_rank *base,
		    const struct mem_rank *now, struct np_err *err)
{
	struct mem_pair *pair = np_vec_add(&comparison->pairs, err);

	if (!pair)
		return NP_E_NOMEM;
	pair->base = base;
	pair->now = now;
	return mem_differences_find(now, base, &pair->changes, err);
}

static void find_most(struct mem_comparison *comparison)
{
	int64_t most = NP_UNKNOWN;

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		const struct mem_pair *pair = &comparison->pairs.item[i];
		int64_t risen = mem_risen(&pair->base->allocated, &pair->now->allocated);

		if (comparison->most && (risen == NP_UNKNOWN || risen <= most))
			continue;
		comparison->most = pair;
		most = risen;
	}
}

static int pair_ranks(struct mem_comparison *comparison, const mem_ranks *base,
		      const mem_ranks *now, struct np_err *err)
{
	int rc = NP_OK;

	if (base->count == 1 && now->count == 1)
		return add_pair(comparison, &base->item[0], &now->item[0], err);
	for (size_t i = 0; rc == NP_OK && i < now->count; i++) {
		size_t other = 0;

		while (other < base->count && !is_same(&base->item[other], &now->item[i]))
			other++;
		if (other < base->count)
			rc = add_pair(comparison, &base->item[other], &now->item[i], err);
	}
	return rc;
}

int mem_comparison_new(const mem_ranks *base, const mem_ranks *now, struct mem_comparison **ret,
		       struct np_err *err)
{
	struct mem_comparison *comparison = calloc(1, sizeof(*comparison));
	int rc = comparison ? pair_ranks(comparison, base, now, err)
			    : np_fail_nomem(err, "a comparison");

	if (rc < 0) {
		mem_comparison_free(comparison);
		return rc;
	}
	comparison->base_alone = base->count - comparison->pairs.count;
	comparison->now_alone = now->count - comparison->pairs.count;
	find_most(comparison);
	*ret = comparison;
	return NP_OK;
}

void mem_comparison_free(struct mem_comparison *comparison)
{
	if (!comparison)
		return;
	for (size_t i = 0; i < comparison->pairs.count; i++)
		mem_differences_release(&comparison->pairs.item[i].changes);
	np_vec_release(&comparison->pairs);
	free(comparison);
}
