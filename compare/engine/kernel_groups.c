/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the kernels of a rank by class, type, core and inputs (cmp_kernels.h). */
#include "cmp_kernels.h"

#include "npuprof/rank.h"

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

		if (cmp_cell_of(grouper->side, rank, time) != SIZE_MAX)
			rc = np_idmap_set(grouper->times, time_key(rank, time->device, step), i,
					  grouper->err);
	}
	return rc;
}

int cmp_grouper_begin(struct cmp_grouper *grouper)
{
	grouper->keys = np_strtab_new();
	grouper->owner_ids = np_idmap_new();
	grouper->shares = np_idmap_new();
	grouper->texts = np_idmap_new();
	grouper->times = np_idmap_new();
	if (!grouper->keys || !grouper->owner_ids || !grouper->shares || !grouper->texts ||
	    !grouper->times)
		return np_fail_nomem(grouper->err, "kernels");
	return index_times(grouper);
}

static int by_cell(const void *left, const void *right)
{
	const struct cmp_kernel_share *a = left;
	const struct cmp_kernel_share *b = right;

	return np_order(a->cell, b->cell);
}

void cmp_grouper_end(struct cmp_grouper *grouper)
{
	struct cmp_rank_kernels *ret = grouper->ret;

	if (ret->shares.count)
		qsort(ret->shares.item, ret->shares.count, sizeof(*ret->shares.item), by_cell);
	for (size_t i = 0; i < grouper->groups.count; i++) {
		const struct cmp_rank_group *each = &grouper->groups.item[i];

		ret->classes |= 1U << each->group.class;
		ret->step_classes |= each->first_cell == UINT32_MAX ? 0 : 1U << each->group.class;
		ret->types = ret->types || each->group.type != NP_STR_NONE;
	}
	np_vec_release(&grouper->groups);
	np_vec_release(&grouper->owners);
	np_strtab_free(grouper->keys);
	np_idmap_free(grouper->owner_ids);
	np_idmap_free(grouper->shares);
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
		.op = text_of(grouper, sort->framework_op),
		.op_backward = sort->framework_op_backward,
		.cube = sort->cube,
	};

	if (traits.type && (!*traits.type || strcmp(traits.type, "N/A") == 0))
		traits.type = NULL;
	return cmp_classify(&traits);
}

static int find_owner(struct cmp_grouper *grouper, np_str type, enum cmp_class class, uint32_t *ret)
{
	int64_t id = (int64_t)type * CMP_CLASSES + class;
	struct cmp_owner *owner;

	*ret = np_idmap_get(grouper->owner_ids, id);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	owner = np_vec_add(&grouper->owners, grouper->err);
	if (!owner)
		return NP_E_NOMEM;
	owner->cell = UINT32_MAX;
	*ret = (uint32_t)(grouper->owners.count - 1);
	return np_idmap_set(grouper->owner_ids, id, *ret, grouper->err);
}

static int add_group(struct cmp_grouper *grouper, const struct cmp_group_key *key,
		     enum cmp_class class, bool cube)
{
	struct cmp_rank_group *group = np_vec_add(&grouper->groups, grouper->err);

	if (!group)
		return NP_E_NOMEM;
	group->first_cell = UINT32_MAX;
	group->group = (struct cmp_kernel_group){ .class = class,
						  .leaf_class = class,
						  .cube = cube,
						  .type = key->type,
						  .core = key->core,
						  .shapes = key->shapes,
						  .dtypes = key->dtypes,
						  .formats = key->formats };
	return find_owner(grouper, key->type, class, &group->owner);
}

int cmp_grouper_find(struct cmp_grouper *grouper, const struct np_kernel_sort *sort, uint32_t *ret)
{
	enum cmp_class class = classify(grouper, sort);
	bool cube = sort->cube == NP_CUBE_YES;
	struct cmp_group_key key = { .class_cube = (uint32_t) class * 2 + cube };
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
	if (rc == NP_OK && place > grouper->groups.count)
		rc = add_group(grouper, &key, class, cube);
	if (rc == NP_OK)
		*ret = place - 1;
	return rc;
}

/* Kernels of one type and class mostly come many in one cell. */
static int find_share(struct cmp_grouper *grouper, const struct cmp_rank_group *group,
		      uint32_t cell, struct cmp_kernel_share **ret)
{
	struct cmp_owner *owner = &grouper->owners.item[group->owner];
	int64_t id = (int64_t)group->owner << 32 | cell;
	struct cmp_kernel_share *share;
	int rc = NP_OK;

	if (owner->cell != cell) {
		owner->share = np_idmap_get(grouper->shares, id);
		owner->cell = cell;
	}
	if (owner->share == NP_IDMAP_NONE) {
		share = np_vec_add(&grouper->ret->shares, grouper->err);
		if (!share)
			return NP_E_NOMEM;
		*share = (struct cmp_kernel_share){ .cell = cell,
						    .type = group->group.type,
						    .class = group->group.class };
		owner->share = (uint32_t)(grouper->ret->shares.count - 1);
		rc = np_idmap_set(grouper->shares, id, owner->share, grouper->err);
	}
	*ret = &grouper->ret->shares.item[owner->share];
	return rc;
}

void cmp_kernel_sum_add(struct cmp_kernel_sum *sum, const struct cmp_kernel_sum *from)
{
	sum->count += from->count;
	sum->total += from->total;
	sum->owned += from->owned;
	sum->computing += from->computing;
	sum->least = from->least < sum->least ? from->least : sum->least;
	sum->most = from->most > sum->most ? from->most : sum->most;
}

int cmp_grouper_add(struct cmp_grouper *grouper, const struct cmp_kernel_cell *from)
{
	struct cmp_rank_group *group = &grouper->groups.item[from->group];
	struct cmp_kernel_share *share;
	int rc = find_share(grouper, group, from->cell, &share);

	if (rc < 0)
		return rc;
	share->owned += from->sum.owned;
	if (group->first_cell == UINT32_MAX)
		group->group.sum = from->sum;
	else
		cmp_kernel_sum_add(&group->group.sum, &from->sum);
	group->first_cell = from->cell < group->first_cell ? from->cell : group->first_cell;
	return NP_OK;
}

/* --- kernels that are summed already --------------------------------------------------------- */

static int add_sum(struct cmp_grouper *grouper, const struct np_kernel_sum *sum,
		   const uint32_t *groups)
{
	const struct cmp_kernel_cell cell = {
		.group = groups[sum->sort],
		.cell = cmp_grouper_cell(grouper, sum->device, sum->step),
		.sum = { .count = sum->count,
			 .total = sum->total,
			 .owned = sum->owned,
			 .least = sum->least,
			 .most = sum->most,
			 .computing = sum->computing },
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
