/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_kernels.h"

/* What tells groups apart, for the table that finds them. */
struct key {
	np_str type;
	np_str core;
	np_str shapes;
	np_str dtypes;
	np_str formats;
	uint32_t class_cube;
};

/* Ranks of one device do not always know its number. */
static int64_t time_key(const struct np_rank *rank, int32_t device, np_str step)
{
	uint32_t number = rank->device_count <= 1 ? 0 : (uint32_t)device;

	return (int64_t)((uint64_t)number << 32 | step);
}

static int index_times(struct cmp_grouper *grouper)
{
	const struct np_rank *rank = grouper->rank;
	int rc = NP_OK;

	for (uint32_t i = 0; i < rank->times.count && rc == NP_OK; i++) {
		const struct np_step_time *time = &rank->times.item[i];
		np_str step = rank->steps.item[time->step].id;

		if (cmp_step_of(grouper->side, step) != SIZE_MAX)
			rc = np_idmap_set(grouper->times, time_key(rank, time->device, step), i,
					  grouper->err);
	}
	return rc;
}

int cmp_grouper_begin(struct cmp_grouper *grouper)
{
	grouper->keys = np_strtab_new();
	grouper->cells = np_idmap_new();
	grouper->texts = np_idmap_new();
	grouper->times = np_idmap_new();
	if (!grouper->keys || !grouper->cells || !grouper->texts || !grouper->times)
		return np_fail_nomem(grouper->err, "kernels");
	return index_times(grouper);
}

static int by_cell(const void *left, const void *right)
{
	const struct cmp_kernel_cell *a = left;
	const struct cmp_kernel_cell *b = right;

	return a->cell != b->cell ? np_order(a->cell, b->cell) : np_order(a->group, b->group);
}

void cmp_grouper_end(struct cmp_grouper *grouper)
{
	if (grouper->ret->cells.count)
		qsort(grouper->ret->cells.item, grouper->ret->cells.count,
		      sizeof(*grouper->ret->cells.item), by_cell);
	np_strtab_free(grouper->keys);
	np_idmap_free(grouper->cells);
	np_idmap_free(grouper->texts);
	np_idmap_free(grouper->times);
}

uint32_t cmp_grouper_cell(struct cmp_grouper *grouper, int32_t device, np_str step)
{
	/* NP_IDMAP_NONE is UINT32_MAX */
	return np_idmap_get(grouper->times, time_key(grouper->rank, device, step));
}

int cmp_grouper_text(struct cmp_grouper *grouper, np_str text, np_str *ret)
{
	const char *bytes;
	int rc;

	*ret = NP_STR_NONE;
	if (text == NP_STR_NONE)
		return NP_OK;
	*ret = np_idmap_get(grouper->texts, text);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	*ret = NP_STR_NONE;
	bytes = np_strtab_text(grouper->strings, text);
	if (!*bytes || strcmp(bytes, "N/A") == 0)
		return NP_OK;
	rc = np_strtab_add(grouper->comparison->names, bytes,
			   np_strtab_length(grouper->strings, text), ret, grouper->err);
	return rc < 0 ? rc : np_idmap_set(grouper->texts, text, *ret, grouper->err);
}

static const char *text_of(const struct cmp_grouper *grouper, np_str text)
{
	return text == NP_STR_NONE ? NULL : np_strtab_text(grouper->strings, text);
}

static enum cmp_class classify(const struct cmp_grouper *grouper, const struct np_kernel_sort *sort)
{
	struct cmp_kernel_traits traits = {
		.type = text_of(grouper, sort->type),
		.name = text_of(grouper, sort->name),
		.core = text_of(grouper, sort->core),
		.op = text_of(grouper, sort->origin),
		.op_backward = sort->origin_backward,
		.cube = sort->cube,
	};

	if (traits.type && (!*traits.type || strcmp(traits.type, "N/A") == 0))
		traits.type = NULL;
	return cmp_classify(&traits);
}

static int add_group(struct cmp_grouper *grouper, const struct key *key, enum cmp_class class,
		     bool cube)
{
	struct cmp_kernel_group *group = np_vec_add(&grouper->ret->groups, grouper->err);

	if (!group)
		return NP_E_NOMEM;
	*group = (struct cmp_kernel_group){ .class = class,
					    .leaf_class = class,
					    .cube = cube,
					    .type = key->type,
					    .core = key->core,
					    .shapes = key->shapes,
					    .dtypes = key->dtypes,
					    .formats = key->formats };
	return NP_OK;
}

int cmp_grouper_find(struct cmp_grouper *grouper, const struct np_kernel_sort *sort, uint32_t *ret)
{
	enum cmp_class class = classify(grouper, sort);
	bool cube = sort->cube == NP_CUBE_YES;
	struct key key = { .class_cube = (uint32_t) class * 2 + cube };
	const struct {
		np_str from;
		np_str *to;
	} texts[] = {
		{ sort->type, &key.type },          { sort->core, &key.core },
		{ sort->in_shapes, &key.shapes },   { sort->in_dtypes, &key.dtypes },
		{ sort->in_formats, &key.formats },
	};
	np_str place;
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = cmp_grouper_text(grouper, texts[i].from, texts[i].to);
	if (rc == NP_OK)
		rc = np_strtab_add(grouper->keys, (const char *)&key, sizeof(key), &place,
				   grouper->err);
	/* A key that is new has the number behind the last. */
	if (rc == NP_OK && place > grouper->ret->groups.count)
		rc = add_group(grouper, &key, class, cube);
	if (rc == NP_OK)
		*ret = place - 1;
	return rc;
}

int cmp_grouper_add(struct cmp_grouper *grouper, const struct cmp_kernel_cell *from)
{
	int64_t id = (int64_t)from->group << 32 | from->cell;
	uint32_t place = np_idmap_get(grouper->cells, id);
	struct cmp_kernel_cell *sum;

	if (place == NP_IDMAP_NONE) {
		sum = np_vec_add(&grouper->ret->cells, grouper->err);
		if (!sum)
			return NP_E_NOMEM;
		*sum = *from;
		return np_idmap_set(grouper->cells, id, (uint32_t)(grouper->ret->cells.count - 1),
				    grouper->err);
	}
	sum = &grouper->ret->cells.item[place];
	sum->count += from->count;
	sum->total += from->total;
	sum->owned += from->owned;
	sum->computing += from->computing;
	sum->least = from->least < sum->least ? from->least : sum->least;
	sum->most = from->most > sum->most ? from->most : sum->most;
	return NP_OK;
}

/* --- kernels that are summed already --------------------------------------------------------- */

static int add_sum(struct cmp_grouper *grouper, const struct np_kernel_sum *sum,
		   const uint32_t *groups)
{
	const struct cmp_kernel_cell cell = {
		.group = groups[sum->sort],
		.cell = cmp_grouper_cell(grouper, sum->device, sum->step),
		.count = sum->count,
		.total = sum->total,
		.owned = sum->owned,
		.least = sum->least,
		.most = sum->most,
		.computing = sum->computing,
	};

	return cell.cell == UINT32_MAX ? NP_OK : cmp_grouper_add(grouper, &cell);
}

int cmp_group_sums(struct cmp_grouper *grouper, const struct np_kernel_sums *sums)
{
	uint32_t *groups = malloc((sums->sorts.count + 1) * sizeof(*groups));
	int rc = groups ? NP_OK : np_fail_nomem(grouper->err, "kernels");

	for (size_t i = 0; i < sums->sorts.count && rc == NP_OK; i++)
		rc = cmp_grouper_find(grouper, &sums->sorts.item[i], &groups[i]);
	for (size_t i = 0; i < sums->sums.count && rc == NP_OK; i++)
		rc = add_sum(grouper, &sums->sums.item[i], groups);
	if (rc == NP_OK)
		rc = cmp_grouper_text(grouper, sums->chip, &grouper->ret->chip);
	grouper->ret->mhz = sums->mhz;
	free(groups);
	return rc;
}
