/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of each paired rank, reduced to sums by kind and cell. */
#include "cmp_kernels.h"

#include "npuprof/details.h"
#include "npuprof/rank.h"

#include <math.h>
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

static int cmp_merge_new(struct cmp_side *side, struct cmp_merge **ret, struct np_err *err)
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

static void cmp_merge_free(struct cmp_merge *merge)
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

/*
 * Take the groups of the rank of a pair over into those of the side, and number those
 * of its sequence accordingly. May be called from several threads at once.
 */
static int cmp_merge_add(struct cmp_merge *merge, size_t pair, const struct cmp_grouper *grouper)
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

/* All are there: bring the groups of the side in order. `first` is the rank of the first pair. */
static int cmp_merge_finish(struct cmp_merge *merge, struct cmp_rank_kernels *first,
			    struct np_err *err)
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

/* Kernels that are alike in all that tells sorts apart, by the detail's own ids. */
struct alike {
	struct np_kernel_sort sort;
	uint32_t group;
};

struct kernels_reducer {
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

static double counter(const struct kernels_reducer *reducer, size_t kernel, uint32_t column)
{
	const struct np_detail *detail = reducer->detail;

	return column == NP_NO_ROW ? (double)NAN : detail->pmu[kernel * detail->pmu_count + column];
}

static struct np_kernel_sort sort_of(const struct kernels_reducer *reducer, size_t index)
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
static int find_group(struct kernels_reducer *reducer, size_t index, uint32_t *ret)
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

static bool is_sequence(const struct kernels_reducer *reducer, uint32_t cell)
{
	const struct np_rank *rank = reducer->grouper->rank;

	return reducer->sequence &&
	       rank->steps.item[rank->times.item[cell].step].id == reducer->sequence_step;
}

static int add_place(struct kernels_reducer *reducer, uint32_t group,
		     const struct np_kernel *kernel)
{
	struct cmp_kernel_place *place = np_vec_add(&reducer->grouper->ret->sequence, reducer->err);

	if (!place)
		return NP_E_NOMEM;
	*place = (struct cmp_kernel_place){ group, kernel->block_dim, kernel->stream };
	return NP_OK;
}

static int add_kernel(struct kernels_reducer *reducer, size_t index, uint32_t cell, np_ns owned)
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
static int walk_kernels(struct kernels_reducer *reducer)
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

		if (np_kernel_computes(kernel) && kernel->step != NP_NO_STEP)
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

static void take_frequency(struct kernels_reducer *reducer)
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

static int reduce(struct kernels_reducer *reducer)
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

/*
 * The kernels of a detail. The order of those of one step is kept too if `sequence`
 * says so.
 */
static int cmp_group_detail(struct cmp_grouper *grouper, const struct np_detail *detail,
			    bool sequence)
{
	const struct cmp_side *side = grouper->side;
	struct kernels_reducer reducer = { .grouper = grouper,
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

#define WANTS \
	(NP_DETAIL_KERNELS | NP_DETAIL_PMU | NP_DETAIL_FRAMEWORK | NP_DETAIL_LAUNCHES | \
	 NP_DETAIL_FREQUENCY | NP_DETAIL_DEVICE)

struct kernels_work {
	struct comparison *comparison;
	struct np_err *errs;    /* by job */
	struct np_notes *notes; /* likewise: on the table of kernels */
	struct cmp_merge *merges[CMP_SIDES];
};

/* Jobs are pairs of the base, then of the new side. */
static enum cmp_which side_of(const struct comparison *comparison, size_t job, size_t *ret_pair)
{
	enum cmp_which which = job < comparison->pairs.count ? CMP_BASE : CMP_NEW;

	*ret_pair = job - (which == CMP_NEW ? comparison->pairs.count : 0);
	return which;
}

/*
 * Of the first pair the order of kernels is wanted too, and so all of them; of the
 * others sums will do, where the loader made them of the tasks that gave the times.
 */
static bool has_sums(const struct np_rank *rank, size_t pair)
{
	return pair > 0 && rank->packed_sums && rank->step_source == NP_FROM_RANK_DB;
}

static int read_detail(struct cmp_grouper *grouper, size_t index, bool sequence,
		       struct np_notes *notes)
{
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	int rc = np_detail_load(grouper->side->analysis->run, index, WANTS, &detail, grouper->err);

	if (rc < 0)
		return rc;
	/* Where there is a trace the loader does not open the table of kernels, and a file may fail
	 * the second time only. */
	np_notes_move_untold(notes, &detail->notes, &grouper->side->analysis->run->notes);
	grouper->strings = detail->strings;
	rc = cmp_grouper_begin(grouper);
	return rc < 0 ? rc : cmp_group_detail(grouper, detail, sequence);
}

static int read_sums(struct cmp_grouper *grouper)
{
	NP_CLEANUP(np_kernel_sums_freep) struct np_kernel_sums *sums = NULL;
	int rc = np_kernel_sums_unpack(grouper->rank->packed_sums, &sums, grouper->err);

	if (rc == NP_OK)
		rc = cmp_grouper_begin(grouper);
	return rc < 0 ? rc : cmp_group_sums(grouper, sums);
}

static void reduce_rank(void *context, size_t job)
{
	struct kernels_work *work = context;
	struct comparison *comparison = work->comparison;
	size_t pair;
	enum cmp_which which = side_of(comparison, job, &pair);
	size_t index = comparison->pairs.item[pair].rank[which];
	struct cmp_side *side = &comparison->sides[which];
	const struct np_rank *rank = side->analysis->run->ranks[index];
	struct cmp_grouper grouper = { .comparison = comparison,
				       .side = side,
				       .rank = rank,
				       .strings = side->analysis->run->strings,
				       .ret = &side->kernels[index],
				       .err = &work->errs[job] };

	grouper.ret->mhz = NP_UNKNOWN;
	if (!has_sums(rank, pair))
		(void)!read_detail(&grouper, index, pair == 0, &work->notes[job]);
	else
		(void)!read_sums(&grouper);
	if (grouper.err->code == NP_OK)
		(void)!cmp_merge_add(work->merges[which], pair, &grouper);
	cmp_grouper_end(&grouper);
}

int cmp_begin_details(const struct comparison *comparison, unsigned wants, bool where_no_sums,
		      struct np_details **ret, struct np_err *err)
{
	size_t jobs = comparison->pairs.count * CMP_SIDES;
	struct np_detail_want *list = malloc((jobs + 1) * sizeof(*list));
	int rc;

	if (!list)
		return np_fail_nomem(err, "kernels");
	for (size_t i = 0; i < jobs; i++) {
		size_t pair;
		enum cmp_which which = side_of(comparison, i, &pair);
		const struct np_run *run = comparison->sides[which].analysis->run;
		size_t index = comparison->pairs.item[pair].rank[which];

		list[i] = (struct np_detail_want){ run, index, wants };
		if (where_no_sums && has_sums(run->ranks[index], pair))
			list[i].wants = 0;
	}
	rc = np_details_begin(list, jobs, comparison->options.workers->threads, ret, err);
	free(list);
	return rc;
}

/* What the details lack makes leaves coarser: the run notes it. */
static int end_job(struct kernels_work *work, size_t job, struct np_err *err)
{
	struct comparison *comparison = work->comparison;
	size_t pair;
	enum cmp_which which = side_of(comparison, job, &pair);
	struct np_run *run = comparison->sides[which].analysis->run;
	const struct np_rank *rank = run->ranks[comparison->pairs.item[pair].rank[which]];

	np_notes_move(&run->notes, &work->notes[job]);
	if (work->errs[job].code == NP_E_NOMEM)
		return np_fail_nomem(err, "kernels");
	if (work->errs[job].code != NP_OK)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, rank->id, rank->path, "kernels", "%s",
			    work->errs[job].text);
	return NP_OK;
}

static int begin_side(struct kernels_work *work, enum cmp_which which, struct np_err *err)
{
	struct cmp_side *side = &work->comparison->sides[which];

	side->kernels = calloc(side->analysis->run->sources.count + 1, sizeof(*side->kernels));
	return side->kernels ? cmp_merge_new(side, &work->merges[which], err)
			     : np_fail_nomem(err, "kernels");
}

static int end_side(const struct kernels_work *work, enum cmp_which which, struct np_err *err)
{
	struct cmp_side *side = &work->comparison->sides[which];
	size_t first = work->comparison->pairs.item[0].rank[which];

	return cmp_merge_finish(work->merges[which], &side->kernels[first], err);
}

int cmp_reduce_kernels(struct comparison *comparison, struct np_err *err)
{
	size_t jobs = comparison->pairs.count * CMP_SIDES;
	struct kernels_work work = { .comparison = comparison,
				     .errs = calloc(jobs + 1, sizeof(*work.errs)),
				     .notes = calloc(jobs + 1, sizeof(*work.notes)) };
	NP_CLEANUP(np_details_endp) struct np_details *details = NULL;
	int rc = work.errs && work.notes ? NP_OK : np_fail_nomem(err, "kernels");

	for (int i = 0; i < CMP_SIDES && rc == NP_OK; i++)
		rc = begin_side(&work, (enum cmp_which)i, err);
	if (rc == NP_OK)
		rc = cmp_begin_details(comparison, WANTS, true, &details, err);
	if (rc == NP_OK)
		np_workers_run(comparison->options.workers, jobs, reduce_rank, &work);
	for (size_t i = 0; i < jobs && rc == NP_OK; i++)
		rc = end_job(&work, i, err);
	for (int i = 0; i < CMP_SIDES; i++) {
		if (rc == NP_OK)
			rc = end_side(&work, (enum cmp_which)i, err);
		cmp_merge_free(work.merges[i]);
	}
	for (size_t i = 0; i < jobs && work.notes; i++)
		np_notes_release(&work.notes[i]);
	free(work.errs);
	free(work.notes);
	return rc;
}
