/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_kernels.h"

#include <pthread.h>

/*
 * Ranks come in the order in which threads are done with them, and the groups of a side
 * must not depend on it: each remembers where it would have come first.
 */

/* Where a group comes first, if ranks are gone through by pair and each by cell. */
struct first {
	uint32_t pair;
	uint32_t cell;
	uint32_t group; /* among those of the rank */
};

struct cmp_merge {
	struct cmp_side *side;
	struct np_strtab *keys;     /* struct cmp_group_key as bytes → side->groups + 1 */
	NP_VEC(struct first) first; /* by group */
	pthread_mutex_t lock;
};

int cmp_merge_new(struct cmp_side *side, struct cmp_merge **ret, struct np_err *err)
{
	struct cmp_merge *merge = calloc(1, sizeof(*merge));

	if (merge)
		merge->keys = np_strtab_new();
	if (!merge || !merge->keys) {
		free(merge);
		return np_fail_nomem(err, "kernels");
	}
	(void)pthread_mutex_init(&merge->lock, NULL);
	merge->side = side;
	*ret = merge;
	return NP_OK;
}

void cmp_merge_free(struct cmp_merge *merge)
{
	if (!merge)
		return;
	np_strtab_free(merge->keys);
	np_vec_release(&merge->first);
	(void)pthread_mutex_destroy(&merge->lock);
	free(merge);
}

static int in_order(const struct first *a, const struct first *b)
{
	if (a->pair != b->pair)
		return np_order(a->pair, b->pair);
	return a->cell != b->cell ? np_order(a->cell, b->cell) : np_order(a->group, b->group);
}

static int add_group(struct cmp_merge *merge, const struct cmp_kernel_group *group,
		     const struct first *first, uint32_t *ret, struct np_err *err)
{
	const struct cmp_group_key key = { .type = group->type,
					   .core = group->core,
					   .shapes = group->shapes,
					   .dtypes = group->dtypes,
					   .formats = group->formats,
					   .class_cube = (uint32_t)group->class * 2 + group->cube };
	struct cmp_kernel_group *sum;
	struct first *place;
	np_str id;
	int rc = np_strtab_add(merge->keys, (const char *)&key, sizeof(key), &id, err);

	if (rc < 0)
		return rc;
	*ret = id - 1;
	if (id <= merge->side->groups.count) {
		cmp_kernel_sum_add(&merge->side->groups.item[*ret].sum, &group->sum);
		place = &merge->first.item[*ret];
		*place = in_order(first, place) < 0 ? *first : *place;
		return NP_OK;
	}
	sum = np_vec_add(&merge->side->groups, err);
	place = np_vec_add(&merge->first, err);
	if (!sum || !place)
		return NP_E_NOMEM;
	*sum = *group;
	*place = *first;
	return NP_OK;
}

int cmp_merge_add(struct cmp_merge *merge, size_t pair, const struct cmp_grouper *grouper)
{
	struct cmp_rank_kernels *rank = grouper->ret;
	uint32_t *places = malloc((grouper->groups.count + 1) * sizeof(*places));
	int rc = places ? NP_OK : np_fail_nomem(grouper->err, "kernels");

	(void)pthread_mutex_lock(&merge->lock);
	for (uint32_t i = 0; i < grouper->groups.count && rc == NP_OK; i++) {
		const struct cmp_rank_group *each = &grouper->groups.item[i];
		const struct first first = { (uint32_t)pair, each->first_cell, i };

		if (each->first_cell != UINT32_MAX)
			rc = add_group(merge, &each->group, &first, &places[i], grouper->err);
	}
	(void)pthread_mutex_unlock(&merge->lock);
	for (size_t i = 0; i < rank->sequence.count && rc == NP_OK; i++)
		rank->sequence.item[i].group = places[rank->sequence.item[i].group];
	free(places);
	return rc;
}

/* --- order ----------------------------------------------------------------------------------- */

struct ordered {
	struct first first;
	uint32_t from;
};

static int by_first(const void *left, const void *right)
{
	return in_order(&((const struct ordered *)left)->first,
			&((const struct ordered *)right)->first);
}

int cmp_merge_finish(struct cmp_merge *merge, struct cmp_rank_kernels *first, struct np_err *err)
{
	size_t count = merge->first.count;
	struct ordered *order = malloc((count + 1) * sizeof(*order));
	struct cmp_kernel_group *groups = malloc((count + 1) * sizeof(*groups));
	uint32_t *places = malloc((count + 1) * sizeof(*places));
	int rc = order && groups && places ? NP_OK : np_fail_nomem(err, "kernels");

	for (uint32_t i = 0; i < count && rc == NP_OK; i++)
		order[i] = (struct ordered){ merge->first.item[i], i };
	if (rc == NP_OK && count > 0) {
		qsort(order, count, sizeof(*order), by_first);
		memcpy(groups, merge->side->groups.item, count * sizeof(*groups));
	}
	for (uint32_t i = 0; i < count && rc == NP_OK; i++) {
		merge->side->groups.item[i] = groups[order[i].from];
		places[order[i].from] = i;
	}
	for (size_t i = 0; i < first->sequence.count && rc == NP_OK; i++)
		first->sequence.item[i].group = places[first->sequence.item[i].group];
	free(order);
	free(groups);
	free(places);
	return rc;
}
