/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_kernels.h"

#include <math.h>

/* Kernels that are alike in all that tells sorts apart, by the detail's own ids. */
struct alike {
	struct np_kernel_sort sort;
	uint32_t group;
};

struct reducer {
	struct cmp_grouper *grouper;
	const struct np_detail *detail;
	struct np_idmap *memo; /* hash of a sort → seen */
	NP_VEC(struct alike) seen;
	uint32_t *cube_ops;
	np_str sequence_step; /* of which the order is kept */
	bool sequence;
	uint32_t mac; /* columns of counters */
	uint32_t aic_total;
	uint32_t mte2;
	uint32_t aiv;
	struct np_err *err;
};

static double counter(const struct reducer *reducer, size_t kernel, uint32_t column)
{
	const struct np_detail *detail = reducer->detail;

	return column == NP_NO_ROW ? (double)NAN : detail->pmu[kernel * detail->pmu_count + column];
}

static struct np_kernel_sort sort_of(const struct reducer *reducer, size_t index)
{
	const struct np_kernel *kernel = &reducer->detail->kernels.item[index];
	uint32_t op = reducer->cube_ops[index];
	const struct np_framework_call *call =
		op == NP_NO_ROW ? NULL : &reducer->detail->framework.item[op];

	return (struct np_kernel_sort){
		.name = kernel->name,
		.type = kernel->type,
		.core = kernel->core,
		.in_shapes = kernel->in_shapes,
		.in_dtypes = kernel->in_dtypes,
		.in_formats = kernel->in_formats,
		.framework_op = call ? call->name : NP_STR_NONE,
		.framework_op_backward =
			call && call->fwd_thread != NP_UNKNOWN && call->fwd_thread != call->tid,
		.cube = np_kernel_cube(counter(reducer, index, reducer->mac),
				       counter(reducer, index, reducer->aic_total)),
	};
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 32);
}

static uint64_t hash_of(const struct np_kernel_sort *sort)
{
	uint64_t hash = mix((uint64_t)sort->type << 32 | sort->name,
			    (uint64_t)sort->core << 32 | sort->in_shapes);

	hash = mix(hash, (uint64_t)sort->in_dtypes << 32 | sort->in_formats);
	return mix(hash, (uint64_t)sort->framework_op << 32 | (uint64_t)sort->cube << 1 |
				 sort->framework_op_backward);
}

static bool is_alike(const struct np_kernel_sort *a, const struct np_kernel_sort *b)
{
	return a->type == b->type && a->name == b->name && a->core == b->core &&
	       a->in_shapes == b->in_shapes && a->in_dtypes == b->in_dtypes &&
	       a->in_formats == b->in_formats && a->framework_op == b->framework_op &&
	       a->framework_op_backward == b->framework_op_backward && a->cube == b->cube;
}

/* Most kernels are like one before: texts are looked at once for each sort. */
static int find_group(struct reducer *reducer, size_t index, uint32_t *ret)
{
	const struct np_kernel_sort sort = sort_of(reducer, index);
	int64_t id = (int64_t)hash_of(&sort);
	uint32_t place = np_idmap_get(reducer->memo, id);
	struct alike *seen;
	int rc;

	if (place != NP_IDMAP_NONE && is_alike(&reducer->seen.item[place].sort, &sort)) {
		*ret = reducer->seen.item[place].group;
		return NP_OK;
	}
	rc = cmp_grouper_find(reducer->grouper, &sort, ret);
	if (rc < 0)
		return rc;
	seen = np_vec_add(&reducer->seen, reducer->err);
	if (!seen)
		return NP_E_NOMEM;
	*seen = (struct alike){ sort, *ret };
	return np_idmap_set(reducer->memo, id, (uint32_t)(reducer->seen.count - 1), reducer->err);
}

static bool is_sequence(const struct reducer *reducer, uint32_t cell)
{
	const struct np_rank *rank = reducer->grouper->rank;

	return reducer->sequence &&
	       rank->steps.item[rank->times.item[cell].step].id == reducer->sequence_step;
}

static int add_place(struct reducer *reducer, uint32_t group, const struct np_kernel *kernel)
{
	struct cmp_kernel_place *place = np_vec_add(&reducer->grouper->ret->sequence, reducer->err);

	if (!place)
		return NP_E_NOMEM;
	*place = (struct cmp_kernel_place){ group, kernel->block_dim, kernel->stream };
	return NP_OK;
}

static int add_kernel(struct reducer *reducer, size_t index, uint32_t cell, np_ns owned)
{
	const struct np_kernel *kernel = &reducer->detail->kernels.item[index];
	np_ns time = kernel->end - kernel->start;
	struct cmp_kernel_cell one = {
		.cell = cell,
		.sum = { .count = 1,
			 .total = time,
			 .owned = owned,
			 .least = time,
			 .most = time,
			 .computing = np_kernel_computing(counter(reducer, index, reducer->mac),
							  counter(reducer, index, reducer->mte2),
							  counter(reducer, index, reducer->aiv)) },
	};
	int rc = find_group(reducer, index, &one.group);

	if (rc == NP_OK && is_sequence(reducer, cell))
		rc = add_place(reducer, one.group, kernel);
	return rc < 0 ? rc : cmp_grouper_add(reducer->grouper, &one);
}

/* Kernels come by start: of those that run at once the first has the time, and then the next. */
static int walk_kernels(struct reducer *reducer)
{
	const struct np_detail *detail = reducer->detail;
	const struct np_rank *rank = reducer->grouper->rank;
	np_ns *until = malloc((rank->times.count + 1) * sizeof(*until));
	int rc = until ? NP_OK : np_fail_nomem(reducer->err, "kernels");

	for (size_t i = 0; until && i < rank->times.count; i++)
		until[i] = INT64_MIN;
	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		uint32_t cell = UINT32_MAX;
		np_ns begin;

		if (!kernel->schedule && kernel->step != NP_NO_STEP)
			cell = cmp_grouper_cell(reducer->grouper, kernel->device,
						rank->steps.item[kernel->step].id);
		if (cell == UINT32_MAX)
			continue;
		begin = kernel->start > until[cell] ? kernel->start : until[cell];
		rc = add_kernel(reducer, i, cell, kernel->end > begin ? kernel->end - begin : 0);
		until[cell] = kernel->end > until[cell] ? kernel->end : until[cell];
	}
	free(until);
	return rc;
}

static void take_frequency(struct reducer *reducer)
{
	const struct np_detail *detail = reducer->detail;
	size_t count = 0;
	double sum = 0;

	for (size_t i = 0; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].mhz == NP_UNKNOWN)
			continue;
		sum += (double)detail->frequency.item[i].mhz;
		count++;
	}
	if (count > 0)
		reducer->grouper->ret->mhz = llround(sum / (double)count);
}

static int reduce(struct reducer *reducer)
{
	const struct np_detail *detail = reducer->detail;
	int rc;

	reducer->memo = np_idmap_new();
	if (!reducer->memo)
		return np_fail_nomem(reducer->err, "kernels");
	reducer->mac = np_detail_counter(detail, "aic_mac_time");
	reducer->aic_total = np_detail_counter(detail, "aic_total_time");
	reducer->mte2 = np_detail_counter(detail, "aic_mte2_time");
	reducer->aiv = np_detail_counter(detail, "aiv_total_time");
	rc = cmp_find_cube_ops(detail, &reducer->cube_ops, reducer->err);
	if (rc == NP_OK)
		rc = cmp_grouper_text(reducer->grouper, detail->device.chip,
				      &reducer->grouper->ret->chip);
	take_frequency(reducer);
	return rc < 0 ? rc : walk_kernels(reducer);
}

int cmp_group_detail(struct cmp_grouper *grouper, const struct np_detail *detail, bool sequence)
{
	const struct cmp_side *side = grouper->side;
	struct reducer reducer = { .grouper = grouper,
				   .detail = detail,
				   .sequence = sequence,
				   .sequence_step = side->steps.item[side->steps.count / 2],
				   .err = grouper->err };
	int rc = reduce(&reducer);

	np_idmap_free(reducer.memo);
	np_vec_release(&reducer.seen);
	free(reducer.cube_ops);
	return rc;
}
