/* SPDX-License-Identifier: Apache-2.0 */
/* Sums values by key, of one rank or of several together. */
#include "grouping.h"

#include <sys/mman.h>

/*
 * Values outlive the detail of their rank by far. Between its blocks they would keep
 * the heap from being used again, so they get pages of their own,
 * all at once, as all are about to be written.
 */
static int new_values(struct grouping *grouping, size_t bytes, struct np_err *err)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (pages == MAP_FAILED)
		return np_fail_nomem(err, "values");
	grouping->values = pages;
	grouping->value_bytes = bytes;
	return NP_OK;
}

static void free_values(struct grouping *grouping)
{
	if (grouping->values)
		(void)munmap(grouping->values, grouping->value_bytes);
}

void grouping_release(struct grouping *grouping)
{
	for (size_t i = 0; i < grouping->list.count && !grouping->filled; i++)
		samples_release(&grouping->list.item[i].samples);
	np_vec_release(&grouping->list);
	free_values(grouping);
	free(grouping->summaries);
	np_map_release(&grouping->by_key);
	*grouping = (struct grouping){ 0 };
}

static bool has_key(const struct value_group *group, const np_str *key, size_t parts)
{
	for (size_t i = 0; i < parts; i++) {
		if (group->key[i] != key[i])
			return false;
	}
	return true;
}

/* A key that is looked for. */
struct wanted {
	const struct grouping *grouping;
	const np_str *key;
};

static bool is_wanted(const void *what, uint32_t index)
{
	const struct wanted *wanted = what;

	return has_key(&wanted->grouping->list.item[index], wanted->key, wanted->grouping->parts);
}

static uint64_t hash_of(const np_str *key, size_t parts)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < parts; i++)
		hash = np_map_mix(hash, key[i]);
	return hash;
}

/* The groups have other keys now. */
static int index_again(struct grouping *grouping, struct np_err *err)
{
	np_map_clear(&grouping->by_key);
	for (uint32_t i = 0; i < grouping->list.count; i++) {
		uint64_t hash = hash_of(grouping->list.item[i].key, grouping->parts);

		if (np_map_add(&grouping->by_key, hash, i, NULL) < 0)
			return np_fail_nomem(err, "groups");
	}
	return NP_OK;
}

struct value_group *grouping_find(struct grouping *grouping, const np_str *key, struct np_err *err)
{
	const struct wanted wanted = { grouping, key };
	uint64_t hash = hash_of(key, grouping->parts);
	uint32_t found = np_map_find(&grouping->by_key, hash, is_wanted, &wanted);
	struct value_group *group;

	if (found != NP_MAP_NONE)
		return &grouping->list.item[found];
	found = (uint32_t)grouping->list.count;
	if (np_vec_reserve(&grouping->list, 1, err) < 0)
		return NULL;
	if (np_map_add(&grouping->by_key, hash, found, NULL) < 0) {
		(void)np_fail_nomem(err, "groups");
		return NULL;
	}
	group = np_vec_add(&grouping->list, err);
	if (group)
		memcpy(group->key, key, grouping->parts * sizeof(*key));
	return group;
}

uint32_t *grouping_near(struct mode_rank *rank)
{
	uint32_t *near = calloc(np_strtab_count(rank->detail->strings) + 2, sizeof(*near));

	if (!near)
		(void)np_fail_nomem(rank->err, "groups");
	return near;
}

struct value_group *grouping_find_near(struct grouping *grouping, const np_str *key, uint32_t *near,
				       struct np_err *err)
{
	uint32_t last = near[key[0]];
	struct value_group *group;

	if (last != 0 && has_key(&grouping->list.item[last - 1], key, grouping->parts))
		return &grouping->list.item[last - 1];
	group = grouping_find(grouping, key, err);
	if (group)
		near[key[0]] = (uint32_t)(group - grouping->list.item) + 1;
	return group;
}

struct value_group *grouping_get(const struct grouping *grouping, const np_str *key)
{
	const struct wanted wanted = { grouping, key };
	uint32_t found =
		np_map_find(&grouping->by_key, hash_of(key, grouping->parts), is_wanted, &wanted);

	return found == NP_MAP_NONE ? NULL : &grouping->list.item[found];
}

int group_add(struct value_group *group, int64_t value, int32_t rank, struct np_err *err)
{
	if (group->samples.count == 0 || value < group->least) {
		group->least = value;
		group->least_of = rank;
	}
	if (group->samples.count == 0 || value > group->most) {
		group->most = value;
		group->most_of = rank;
	}
	return samples_add(&group->samples, value, err);
}

/* --- a rank at once -------------------------------------------------------------------------- */

/* Texts of the detail become texts of the run; no two groups get the same ones. */
static int translate(struct mode_rank *rank, struct grouping *grouping)
{
	int rc = NP_OK;

	for (size_t i = 0; i < grouping->list.count; i++) {
		np_str *key = grouping->list.item[i].key;

		for (size_t j = 0; j < grouping->parts && rc == NP_OK; j++)
			rc = mode_text(rank, key[j], &key[j]);
	}
	return rc < 0 ? rc : index_again(grouping, rank->err);
}

struct key_order {
	const struct grouping *grouping;
	struct key_parts parts;
};

static int by_parts(const void *left, const void *right, void *context)
{
	const struct key_order *order = context;
	const struct value_group *a = &order->grouping->list.item[*(const uint32_t *)left];
	const struct value_group *b = &order->grouping->list.item[*(const uint32_t *)right];
	int difference = 0;

	/* By ids, which mean nothing, but equal ones stand together. */
	for (size_t i = 0; i < order->parts.count && difference == 0; i++)
		difference =
			np_order(a->key[order->parts.first + i], b->key[order->parts.first + i]);
	return difference ? difference
			  : np_order(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* The indexes of all groups, in the order of a function; NULL when out of memory. */
static uint32_t *sorted(const struct grouping *grouping,
			int (*compare)(const void *, const void *, void *), void *context,
			struct np_err *err)
{
	uint32_t *order = malloc((grouping->list.count + 1) * sizeof(*order));

	if (!order) {
		(void)np_fail_nomem(err, "groups");
		return NULL;
	}
	for (uint32_t i = 0; i < grouping->list.count; i++)
		order[i] = i;
	if (grouping->list.count)
		qsort_r(order, grouping->list.count, sizeof(*order), compare, context);
	return order;
}

/* Every group gets its part of the values; those that are alike in `parts` side by side. */
static int divide_values(struct grouping *grouping, struct key_parts parts, bool narrow,
			 struct np_err *err)
{
	struct key_order context = { grouping, parts };
	uint32_t *order = sorted(grouping, by_parts, &context, err);
	size_t used = 0;

	for (size_t i = 0; order && i < grouping->list.count; i++) {
		struct value_samples *samples = &grouping->list.item[order[i]].samples;

		if (narrow)
			samples->narrow = (uint32_t *)grouping->values + used;
		else
			samples->item = (int64_t *)grouping->values + used;
		samples->capacity = samples->count;
		used += samples->count;
		samples->count = 0;
	}
	free(order);
	return order ? NP_OK : NP_E_NOMEM;
}

static void put_values(struct grouping *grouping, const struct grouping_rows *rows, bool narrow)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct grouping_row *row = &rows->item[i];
		struct value_samples *samples = &grouping->list.item[row->group].samples;

		if (narrow)
			samples->narrow[samples->count++] = (uint32_t)row->value;
		else
			samples->item[samples->count++] = row->value;
		samples->sum = samples_plus(samples->sum, row->value);
	}
}

int grouping_rows_init(struct grouping_rows *rows, size_t count, struct np_err *err)
{
	*rows = (struct grouping_rows){ .item = malloc((count + 1) * sizeof(*rows->item)) };
	return rows->item ? NP_OK : np_fail_nomem(err, "values");
}

void grouping_rows_release(struct grouping_rows *rows)
{
	free(rows->item);
	rows->item = NULL;
}

int grouping_fill(struct mode_rank *rank, struct grouping *grouping, struct key_parts parts,
		  const struct grouping_rows *rows)
{
	bool narrow = rows->bits <= UINT32_MAX; /* negative ones have the highest bit */
	size_t size = narrow ? sizeof(uint32_t) : sizeof(int64_t);
	int rc = new_values(grouping, (rows->count + 1) * size, rank->err);

	grouping->filled = true;
	if (rc == NP_OK)
		rc = divide_values(grouping, parts, narrow, rank->err);
	if (rc < 0)
		return rc;
	put_values(grouping, rows, narrow);
	return translate(rank, grouping);
}

/* Groups that are alike have their values side by side: together they are one piece. */
static int add_view(struct grouping *view, const struct value_group *group, size_t first,
		    struct np_err *err)
{
	struct value_group *wide = grouping_find(view, &group->key[first], err);

	if (!wide)
		return NP_E_NOMEM;
	wide->samples.sorted = wide->samples.count == 0 && group->samples.sorted;
	if (wide->samples.count == 0 || group->samples.item < wide->samples.item)
		wide->samples.item = group->samples.item;
	if (wide->samples.count == 0 || group->samples.narrow < wide->samples.narrow)
		wide->samples.narrow = group->samples.narrow;
	wide->samples.count += group->samples.count;
	wide->samples.capacity = wide->samples.count;
	wide->samples.sum = samples_plus(wide->samples.sum, group->samples.sum);
	return NP_OK;
}

int grouping_view(const struct grouping *from, struct key_parts parts, struct grouping *ret,
		  struct np_err *err)
{
	int rc = NP_OK;

	*ret = (struct grouping){ .parts = parts.count, .filled = true };
	for (size_t i = 0; i < from->list.count && rc == NP_OK; i++)
		rc = add_view(ret, &from->list.item[i], parts.first, err);
	return rc;
}

/* --- in order -------------------------------------------------------------------------------- */

struct text_order {
	const struct np_modes *modes;
	const struct grouping *grouping;
};

static int by_key(const void *left, const void *right, void *context)
{
	const struct text_order *order = context;
	const struct value_group *a = &order->grouping->list.item[*(const uint32_t *)left];
	const struct value_group *b = &order->grouping->list.item[*(const uint32_t *)right];
	int difference = 0;

	for (size_t i = 0; i < order->grouping->parts && difference == 0; i++)
		difference = strcmp(mode_name(order->modes, a->key[i]),
				    mode_name(order->modes, b->key[i]));
	return difference;
}

static int by_sum(const void *left, const void *right, void *context)
{
	const struct text_order *order = context;
	const struct value_group *a = &order->grouping->list.item[*(const uint32_t *)left];
	const struct value_group *b = &order->grouping->list.item[*(const uint32_t *)right];

	if (a->samples.sum != b->samples.sum)
		return np_order(b->samples.sum, a->samples.sum);
	return by_key(left, right, context);
}

uint32_t *grouping_by_key(const struct np_modes *modes, const struct grouping *grouping,
			  struct np_err *err)
{
	struct text_order context = { modes, grouping };

	return sorted(grouping, by_key, &context, err);
}

int grouping_each(const struct np_modes *modes, const struct grouping *grouping, grouping_put *put,
		  void *context, struct np_err *err)
{
	struct text_order texts = { modes, grouping };
	uint32_t *order = sorted(grouping, by_sum, &texts, err);
	int rc = order ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < grouping->list.count && rc == NP_OK; i++)
		rc = put(context, grouping->list.item[order[i]].key, &grouping->summaries[order[i]],
			 err);
	free(order);
	return rc;
}

int grouping_describe(struct grouping *grouping, struct np_err *err)
{
	grouping->summaries = calloc(grouping->list.count + 1, sizeof(*grouping->summaries));
	if (!grouping->summaries)
		return np_fail_nomem(err, "groups");
	for (size_t i = 0; i < grouping->list.count; i++)
		grouping->summaries[i] = samples_describe(&grouping->list.item[i].samples);
	return NP_OK;
}

/* --- over all ranks -------------------------------------------------------------------------- */

/* The keys of all with their sums, but without values. */
static int unite(struct grouping *ret, struct grouping *const *list, size_t count,
		 struct np_err *err)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; list[i] && j < list[i]->list.count; j++) {
			const struct value_group *from = &list[i]->list.item[j];
			struct value_group *group = grouping_find(ret, from->key, err);

			if (!group)
				return NP_E_NOMEM;
			group->samples.sum = samples_plus(group->samples.sum, from->samples.sum);
		}
	}
	return NP_OK;
}

static struct summary pool(struct grouping *const *list, size_t count, const np_str *key,
			   struct described *found)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const struct value_group *group = list[i] ? grouping_get(list[i], key) : NULL;

		if (group)
			found[used++] = (struct described){
				&group->samples, &list[i]->summaries[group - list[i]->list.item]
			};
	}
	return samples_describe_pooled(found, used);
}

int grouping_each_pooled(const struct np_modes *modes, struct grouping *const *list, size_t count,
			 size_t parts, grouping_put *put, void *context, struct np_err *err)
{
	struct described *found = malloc((count + 1) * sizeof(*found));
	struct grouping all = { .parts = parts };
	int rc = found ? NP_OK : np_fail_nomem(err, "groups");

	if (rc == NP_OK)
		rc = unite(&all, list, count, err);
	if (rc == NP_OK)
		rc = grouping_describe(&all, err);
	for (size_t i = 0; i < all.list.count && rc == NP_OK; i++)
		all.summaries[i] = pool(list, count, all.list.item[i].key, found);
	if (rc == NP_OK)
		rc = grouping_each(modes, &all, put, context, err);
	grouping_release(&all);
	free(found);
	return rc;
}
