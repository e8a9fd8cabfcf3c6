/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_comparison.h"

#include "npuprof/idmap.h"

#include <math.h>

/* The kernels of each paired rank, reduced to sums by kind and cell while its detail is at hand. */

#define WANTS \
	(NP_DETAIL_KERNELS | NP_DETAIL_PMU | NP_DETAIL_FRAMEWORK | NP_DETAIL_LAUNCHES | \
	 NP_DETAIL_FREQUENCY | NP_DETAIL_DEVICE)

/* What tells groups apart, for the table that finds them. */
struct key {
	np_str type;
	np_str core;
	np_str shapes;
	np_str dtypes;
	np_str formats;
	uint32_t class_cube;
};

/* Kernels that are alike in all that tells groups apart, by the detail's own ids. */
struct alike {
	np_str type;
	np_str name;
	np_str core;
	np_str shapes;
	np_str dtypes;
	np_str formats;
	np_str op; /* of the framework around it; NP_STR_NONE without */
	uint32_t flags;
	uint32_t group;
};

struct reducer {
	struct comparison *comparison;
	const struct cmp_side *side;
	const struct np_rank *rank;
	const struct np_detail *detail;
	struct cmp_rank_kernels *ret;
	struct np_strtab *keys;  /* struct key as bytes → index of the group + 1 */
	struct np_idmap *places; /* id in `keys` → group */
	struct np_idmap *cells;  /* group × cell → place in ret->cells */
	struct np_idmap *memo;   /* hash of what is alike → seen */
	NP_VEC(struct alike) seen;
	np_str *texts; /* of the detail → of the comparison */
	uint32_t *cube_ops;
	np_str sequence_step; /* of which the order is kept; NP_STR_NONE for none */
	bool sequence;
	uint32_t mac; /* columns of counters */
	uint32_t aic_total;
	uint32_t mte2;
	uint32_t aiv;
	struct np_err *err;
};

static int text_of(struct reducer *reducer, np_str text, np_str *ret)
{
	const struct np_strtab *from = reducer->detail->strings;
	const char *bytes;
	int rc;

	*ret = NP_STR_NONE;
	if (text == NP_STR_NONE)
		return NP_OK;
	if (reducer->texts[text] != NP_STR_NONE) {
		*ret = reducer->texts[text];
		return NP_OK;
	}
	bytes = np_strtab_text(from, text);
	if (!*bytes || strcmp(bytes, "N/A") == 0)
		return NP_OK;
	rc = np_strtab_add(reducer->comparison->names, bytes, np_strtab_length(from, text), ret,
			   reducer->err);
	reducer->texts[text] = *ret;
	return rc;
}

static double counter(const struct reducer *reducer, size_t kernel, uint32_t column)
{
	const struct np_detail *detail = reducer->detail;

	return column == NP_NO_ROW ? (double)NAN : detail->pmu[kernel * detail->pmu_count + column];
}

static enum cmp_cube cube_by_counters(const struct reducer *reducer, size_t kernel)
{
	double mac = counter(reducer, kernel, reducer->mac);
	double total = counter(reducer, kernel, reducer->aic_total);

	if (isnan(mac) && isnan(total))
		return CMP_CUBE_UNKNOWN;
	return mac > 0 || total > 0 ? CMP_CUBE_YES : CMP_CUBE_NO;
}

static enum cmp_class classify(const struct reducer *reducer, size_t index, enum cmp_cube *ret_cube)
{
	const struct np_detail *detail = reducer->detail;
	const struct np_kernel *kernel = &detail->kernels.item[index];
	uint32_t op = reducer->cube_ops[index];
	struct cmp_kernel_traits traits = {
		.type = np_detail_text(detail, kernel->type),
		.name = np_detail_text(detail, kernel->name),
		.core = np_detail_text(detail, kernel->core),
		.cube = cube_by_counters(reducer, index),
	};

	if (traits.type && (!*traits.type || strcmp(traits.type, "N/A") == 0))
		traits.type = NULL;
	if (op != NP_NO_ROW) {
		const struct np_framework_call *call = &detail->framework.item[op];

		traits.op = np_detail_text(detail, call->name);
		traits.op_backward =
			call->fwd_thread != NP_UNKNOWN && call->fwd_thread != call->tid;
	}
	*ret_cube = traits.cube;
	return cmp_classify(&traits);
}

/* The vendor's computing part of a kernel that also communicates. */
static np_ns mc2_computing(const struct reducer *reducer, size_t kernel)
{
	double mac = counter(reducer, kernel, reducer->mac);
	double mte2 = counter(reducer, kernel, reducer->mte2);
	double aiv = counter(reducer, kernel, reducer->aiv);
	double cube = fmax(isnan(mac) ? 0 : mac, isnan(mte2) ? 0 : mte2);

	return (np_ns)llround(cube + (isnan(aiv) ? 0 : aiv));
}

static int look_up_group(struct reducer *reducer, size_t index, uint32_t *ret)
{
	const struct np_kernel *kernel = &reducer->detail->kernels.item[index];
	enum cmp_cube cube;
	enum cmp_class class = classify(reducer, index, &cube);
	struct key key = { .class_cube = (uint32_t) class * 2 + (cube == CMP_CUBE_YES) };
	struct cmp_kernel_group *group;
	np_str place;
	int rc = text_of(reducer, kernel->type, &key.type);

	if (rc == NP_OK)
		rc = text_of(reducer, kernel->core, &key.core);
	if (rc == NP_OK)
		rc = text_of(reducer, kernel->in_shapes, &key.shapes);
	if (rc == NP_OK)
		rc = text_of(reducer, kernel->in_dtypes, &key.dtypes);
	if (rc == NP_OK)
		rc = text_of(reducer, kernel->in_formats, &key.formats);
	if (rc == NP_OK)
		rc = np_strtab_add(reducer->keys, (const char *)&key, sizeof(key), &place,
				   reducer->err);
	if (rc < 0)
		return rc;
	*ret = np_idmap_get(reducer->places, place);
	if (*ret == NP_IDMAP_NONE) {
		group = np_vec_add(&reducer->ret->groups, reducer->err);
		if (!group)
			return NP_E_NOMEM;
		*group = (struct cmp_kernel_group){ .class = class,
						    .leaf_class = class,
						    .cube = cube == CMP_CUBE_YES,
						    .type = key.type,
						    .core = key.core,
						    .shapes = key.shapes,
						    .dtypes = key.dtypes,
						    .formats = key.formats,
						    .block_dim = kernel->block_dim,
						    .first = kernel->start };
		*ret = (uint32_t)(reducer->ret->groups.count - 1);
		rc = np_idmap_set(reducer->places, place, *ret, reducer->err);
	}
	return rc;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 32);
}

static uint64_t hash_of(const struct alike *alike)
{
	uint64_t hash = mix((uint64_t)alike->type << 32 | alike->name,
			    (uint64_t)alike->core << 32 | alike->shapes);

	hash = mix(hash, (uint64_t)alike->dtypes << 32 | alike->formats);
	return mix(hash, (uint64_t)alike->op << 32 | alike->flags);
}

static bool is_alike(const struct alike *a, const struct alike *b)
{
	return a->type == b->type && a->name == b->name && a->core == b->core &&
	       a->shapes == b->shapes && a->dtypes == b->dtypes && a->formats == b->formats &&
	       a->op == b->op && a->flags == b->flags;
}

/* Most kernels are like one before: texts are looked at once for each sort. */
static int find_group(struct reducer *reducer, size_t index, uint32_t *ret)
{
	const struct np_detail *detail = reducer->detail;
	const struct np_kernel *kernel = &detail->kernels.item[index];
	uint32_t op = reducer->cube_ops[index];
	const struct np_framework_call *call = op == NP_NO_ROW ? NULL : &detail->framework.item[op];
	bool backward = call && call->fwd_thread != NP_UNKNOWN && call->fwd_thread != call->tid;
	struct alike alike = { .type = kernel->type,
			       .name = kernel->name,
			       .core = kernel->core,
			       .shapes = kernel->in_shapes,
			       .dtypes = kernel->in_dtypes,
			       .formats = kernel->in_formats,
			       .op = call ? call->name : NP_STR_NONE,
			       .flags = (uint32_t)cube_by_counters(reducer, index) * 2 + backward };
	int64_t id = (int64_t)hash_of(&alike);
	uint32_t place = np_idmap_get(reducer->memo, id);
	struct alike *seen;
	int rc;

	if (place != NP_IDMAP_NONE && is_alike(&reducer->seen.item[place], &alike)) {
		*ret = reducer->seen.item[place].group;
	} else {
		rc = look_up_group(reducer, index, ret);
		if (rc < 0)
			return rc;
		alike.group = *ret;
		seen = np_vec_add(&reducer->seen, reducer->err);
		if (!seen)
			return NP_E_NOMEM;
		*seen = alike;
		rc = np_idmap_set(reducer->memo, id, (uint32_t)(reducer->seen.count - 1),
				  reducer->err);
		if (rc < 0)
			return rc;
	}
	if (reducer->ret->groups.item[*ret].class == CMP_MC2)
		reducer->ret->groups.item[*ret].mc2_computing += mc2_computing(reducer, index);
	return NP_OK;
}

/* The cell of a kernel: the time of its device and step, if that step was chosen. */
static uint32_t cell_of(const struct reducer *reducer, const struct np_kernel *kernel)
{
	const struct np_rank *rank = reducer->rank;

	for (uint32_t i = 0; kernel->step != NP_NO_STEP && i < rank->times.count; i++) {
		const struct np_step_time *time = &rank->times.item[i];

		if (time->step == kernel->step &&
		    (time->device == kernel->device || rank->device_count <= 1))
			return cmp_step_of(reducer->side, rank->steps.item[time->step].id) ==
					       SIZE_MAX
				       ? UINT32_MAX
				       : i;
	}
	return UINT32_MAX;
}

static bool is_sequence(const struct reducer *reducer, uint32_t cell)
{
	const struct np_rank *rank = reducer->rank;

	return reducer->sequence &&
	       rank->steps.item[rank->times.item[cell].step].id == reducer->sequence_step;
}

static int add_place(struct reducer *reducer, uint32_t group, int64_t block_dim)
{
	struct cmp_kernel_place *place = np_vec_add(&reducer->ret->sequence, reducer->err);

	if (!place)
		return NP_E_NOMEM;
	*place = (struct cmp_kernel_place){ group, block_dim };
	return NP_OK;
}

static int add_kernel(struct reducer *reducer, size_t index, uint32_t cell, np_ns owned)
{
	const struct np_kernel *kernel = &reducer->detail->kernels.item[index];
	np_ns time = kernel->end - kernel->start;
	struct cmp_kernel_cell *sum;
	uint32_t group;
	uint32_t place;
	int64_t id;
	int rc = find_group(reducer, index, &group);

	if (rc < 0)
		return rc;
	id = (int64_t)group << 32 | cell;
	place = np_idmap_get(reducer->cells, id);
	if (place == NP_IDMAP_NONE) {
		sum = np_vec_add(&reducer->ret->cells, reducer->err);
		if (!sum)
			return NP_E_NOMEM;
		*sum = (struct cmp_kernel_cell){
			.group = group, .cell = cell, .least = time, .most = time
		};
		place = (uint32_t)(reducer->ret->cells.count - 1);
		rc = np_idmap_set(reducer->cells, id, place, reducer->err);
	}
	sum = &reducer->ret->cells.item[place];
	if (rc == NP_OK && is_sequence(reducer, cell))
		rc = add_place(reducer, group, kernel->block_dim);
	sum->count++;
	sum->total += time;
	sum->owned += owned;
	sum->least = time < sum->least ? time : sum->least;
	sum->most = time > sum->most ? time : sum->most;
	return rc;
}

/* Kernels come by start: of those that run at once the first has the time, and then the next. */
static int walk_kernels(struct reducer *reducer)
{
	const struct np_detail *detail = reducer->detail;
	np_ns *until = malloc((reducer->rank->times.count + 1) * sizeof(*until));
	uint32_t last_step = NP_NO_STEP;
	int32_t last_device = -2;
	uint32_t cell = UINT32_MAX;
	int rc = until ? NP_OK : np_fail_nomem(reducer->err, "kernels");

	for (size_t i = 0; until && i < reducer->rank->times.count; i++)
		until[i] = INT64_MIN;
	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		np_ns begin;

		if (kernel->schedule)
			continue;
		if (kernel->step != last_step || kernel->device != last_device) {
			cell = cell_of(reducer, kernel);
			last_step = kernel->step;
			last_device = kernel->device;
		}
		if (cell == UINT32_MAX)
			continue;
		begin = kernel->start > until[cell] ? kernel->start : until[cell];
		rc = add_kernel(reducer, i, cell, kernel->end > begin ? kernel->end - begin : 0);
		until[cell] = kernel->end > until[cell] ? kernel->end : until[cell];
	}
	free(until);
	return rc;
}

static void take_device(struct reducer *reducer)
{
	const struct np_detail *detail = reducer->detail;
	double sum = 0;

	reducer->ret->has = detail->has;
	reducer->ret->mhz = NP_UNKNOWN;
	for (size_t i = 0; i < detail->frequency.count; i++)
		sum += (double)detail->frequency.item[i].mhz;
	if (detail->frequency.count > 0)
		reducer->ret->mhz = llround(sum / (double)detail->frequency.count);
}

static int by_cell(const void *left, const void *right)
{
	const struct cmp_kernel_cell *a = left;
	const struct cmp_kernel_cell *b = right;

	return a->cell != b->cell ? np_order(a->cell, b->cell) : np_order(a->group, b->group);
}

static int reduce(struct reducer *reducer)
{
	const struct np_detail *detail = reducer->detail;
	int rc;

	reducer->keys = np_strtab_new();
	reducer->places = np_idmap_new();
	reducer->cells = np_idmap_new();
	reducer->memo = np_idmap_new();
	reducer->texts = calloc(np_strtab_count(detail->strings) + 2, sizeof(*reducer->texts));
	reducer->mac = np_detail_counter(detail, "aic_mac_time");
	reducer->aic_total = np_detail_counter(detail, "aic_total_time");
	reducer->mte2 = np_detail_counter(detail, "aic_mte2_time");
	/* Databases call it aiv_total_time, text files aiv_time. */
	reducer->aiv = np_detail_counter(detail, "aiv_total_time");
	if (reducer->aiv == NP_NO_ROW)
		reducer->aiv = np_detail_counter(detail, "aiv_time");
	if (!reducer->keys || !reducer->places || !reducer->cells || !reducer->memo ||
	    !reducer->texts)
		return np_fail_nomem(reducer->err, "kernels");
	rc = cmp_find_cube_ops(detail, &reducer->cube_ops, reducer->err);
	if (rc == NP_OK)
		rc = text_of(reducer, detail->device.chip, &reducer->ret->chip);
	take_device(reducer);
	if (rc == NP_OK)
		rc = walk_kernels(reducer);
	if (reducer->ret->cells.count)
		qsort(reducer->ret->cells.item, reducer->ret->cells.count,
		      sizeof(*reducer->ret->cells.item), by_cell);
	return rc;
}

struct work {
	struct comparison *comparison;
	struct np_err *errs; /* by job */
	struct np_notes *notes;
};

/* Jobs are pairs of the base, then of the new side. */
static void reduce_rank(void *context, size_t job)
{
	struct work *work = context;
	struct comparison *comparison = work->comparison;
	enum cmp_which which = job < comparison->pairs.count ? CMP_BASE : CMP_NEW;
	size_t pair = job - (which == CMP_NEW ? comparison->pairs.count : 0);
	size_t index = comparison->pairs.item[pair].rank[which];
	struct cmp_side *side = &comparison->sides[which];
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct reducer reducer = { .comparison = comparison,
				   .side = side,
				   .rank = side->analysis->run->ranks[index],
				   .ret = &side->kernels[index],
				   .err = &work->errs[job] };

	reducer.ret->mhz = NP_UNKNOWN;
	reducer.sequence = pair == 0;
	reducer.sequence_step = side->steps.item[side->steps.count / 2];
	if (np_detail_load(side->analysis->run, index, WANTS, &detail, reducer.err) < 0)
		return;
	reducer.detail = detail;
	(void)!reduce(&reducer);
	np_notes_move(&work->notes[job], &detail->notes);
	np_strtab_free(reducer.keys);
	np_idmap_free(reducer.places);
	np_idmap_free(reducer.cells);
	np_idmap_free(reducer.memo);
	np_vec_release(&reducer.seen);
	free(reducer.texts);
	free(reducer.cube_ops);
}

/* What the details lack makes leaves coarser: the run notes it. */
static int end_job(struct work *work, size_t job, struct np_err *err)
{
	struct comparison *comparison = work->comparison;
	enum cmp_which which = job < comparison->pairs.count ? CMP_BASE : CMP_NEW;
	size_t pair = job - (which == CMP_NEW ? comparison->pairs.count : 0);
	struct np_run *run = comparison->sides[which].analysis->run;
	const struct np_rank *rank = run->ranks[comparison->pairs.item[pair].rank[which]];

	if (work->errs[job].code == NP_E_NOMEM)
		return np_fail_nomem(err, "kernels");
	if (work->errs[job].code != NP_OK)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, rank->id, rank->path, "kernels", "%s",
			    work->errs[job].text);
	return NP_OK;
}

int cmp_reduce_kernels(struct comparison *comparison, struct np_err *err)
{
	size_t jobs = comparison->pairs.count * CMP_SIDES;
	struct work work = { .comparison = comparison,
			     .errs = calloc(jobs + 1, sizeof(*work.errs)),
			     .notes = calloc(jobs + 1, sizeof(*work.notes)) };
	int rc = work.errs && work.notes ? NP_OK : np_fail_nomem(err, "kernels");

	for (int i = 0; i < CMP_SIDES && rc == NP_OK; i++) {
		struct cmp_side *side = &comparison->sides[i];

		side->kernels =
			calloc(side->analysis->run->sources.count + 1, sizeof(*side->kernels));
		if (!side->kernels)
			rc = np_fail_nomem(err, "kernels");
	}
	if (rc == NP_OK)
		np_workers_run(comparison->options.workers, jobs, reduce_rank, &work);
	for (size_t i = 0; i < jobs && rc == NP_OK; i++)
		rc = end_job(&work, i, err);
	/* The loader has told about the files once; the notes of details would repeat it. */
	for (size_t i = 0; work.notes && i < jobs; i++)
		np_notes_release(&work.notes[i]);
	free(work.errs);
	free(work.notes);
	return rc;
}
