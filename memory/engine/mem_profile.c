/* SPDX-License-Identifier: Apache-2.0 */
/* What the memory tables of a profile say of a rank: curves of components, allocations of
 * operators. */
#include "mem_growth.h"
#include "mem_rank.h"

#include "npuprof/detail.h"
#include "npuprof/map.h"
#include "npuprof/memory_growth.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

/* A block is brief if it lives for so much of the record. */
#define BRIEF_PART 100

#define WANTS (NP_DETAIL_MEMORY_OPS | NP_DETAIL_MEMORY_CURVE | NP_DETAIL_STATIC_MEMORY)

/* Names of operators of the graph engine begin so. */
static const char graph_engine[] = "cann::";

struct profile_job {
	const struct np_run *run;
	const struct np_rank *loaded;
	const struct np_detail *detail;
	const struct mem_rank_options *options;
	struct mem_rank *rank;
	np_str component; /* that peaks are of; NP_STR_NONE: totals of operators */
	np_ns begin;      /* of the record */
	np_ns end;
	NP_VEC(struct np_memory_point) points; /* of that component, by time */
};

static const char *text_of(const struct profile_job *job, np_str id)
{
	const char *text = np_detail_text(job->detail, id);

	return text ? text : "";
}

static bool is_graph_engine(const struct profile_job *job, const struct np_memory_op *op)
{
	return np_text_begins(text_of(job, op->name), graph_engine);
}

/* Does the operator allocate from the component that the peaks are of? */
static bool is_counted(const struct profile_job *job, const struct np_memory_op *op)
{
	const char *component = job->rank->component;

	if (op->alloc == NP_UNKNOWN || op->bytes <= 0)
		return false;
	if (strcmp(component, "PTA") == 0)
		return !is_graph_engine(job, op);
	return strcmp(component, "GE") != 0 || is_graph_engine(job, op);
}

static bool is_alive(const struct np_memory_op *op, np_ns at)
{
	return op->alloc <= at && (op->release == NP_UNKNOWN || op->release > at);
}

static bool is_brief(const struct profile_job *job, const struct np_memory_op *op)
{
	return op->release != NP_UNKNOWN &&
	       op->release - op->alloc <= (job->end - job->begin) / BRIEF_PART;
}

/* --- the curve that peaks are of ---------------------------------------------------------------
 */

static np_str find_component(const struct np_detail *detail, const char *wanted)
{
	for (size_t i = 0; i < detail->memory_curve.count; i++) {
		const struct np_memory_point *point = &detail->memory_curve.item[i];
		const char *name = np_detail_text(detail, point->component);

		if (!point->module && point->allocated != NP_UNKNOWN && name &&
		    strcmp(name, wanted) == 0)
			return point->component;
	}
	return NP_STR_NONE;
}

static int add_point(struct profile_job *job, const struct np_memory_point *point,
		     struct np_err *err)
{
	struct np_memory_point *added = np_vec_add(&job->points, err);

	if (!added)
		return NP_E_NOMEM;
	*added = *point;
	return NP_OK;
}

static int order_points(const void *a, const void *b)
{
	const struct np_memory_point *point_a = a;
	const struct np_memory_point *point_b = b;
	int order = np_order(point_a->time, point_b->time);

	return order ? order : np_order(point_a->allocated, point_b->allocated);
}

/* What all had when an operator allocated or released: a curve where nothing recorded one. */
static int points_of_operators(struct profile_job *job, struct np_err *err)
{
	const struct np_detail *detail = job->detail;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];
		const struct np_memory_point born = { .time = op->alloc,
						      .allocated = op->allocated_at_alloc,
						      .reserved = op->reserved_at_alloc,
						      .active = op->active_at_alloc };
		const struct np_memory_point gone = { .time = op->release,
						      .allocated = op->allocated_at_release,
						      .reserved = op->reserved_at_release,
						      .active = op->active_at_release };

		if (is_graph_engine(job, op))
			continue;
		if (born.time != NP_UNKNOWN && born.allocated != NP_UNKNOWN)
			rc = add_point(job, &born, err);
		if (rc == NP_OK && gone.time != NP_UNKNOWN && gone.allocated != NP_UNKNOWN)
			rc = add_point(job, &gone, err);
	}
	if (job->points.count > 0)
		qsort(job->points.item, job->points.count, sizeof(job->points.item[0]),
		      order_points);
	return rc;
}

static int find_points(struct profile_job *job, struct np_err *err)
{
	static const char *const names[] = { "PTA", "PTA+GE", "GE" };
	const struct np_detail *detail = job->detail;
	const char *name = "PTA";
	int rc = NP_OK;

	for (size_t i = 0; job->component == NP_STR_NONE && i < NP_COUNT(names); i++) {
		job->component = find_component(detail, names[i]);
		name = job->component != NP_STR_NONE ? names[i] : name;
	}
	job->rank->component = strdup(name);
	if (!job->rank->component)
		return np_fail_nomem(err, "the name of a component");
	if (job->component == NP_STR_NONE)
		return points_of_operators(job, err);
	for (size_t i = 0; rc == NP_OK && i < detail->memory_curve.count; i++) {
		const struct np_memory_point *point = &detail->memory_curve.item[i];

		if (!point->module && point->component == job->component)
			rc = add_point(job, point, err);
	}
	return rc;
}

static void find_extent(struct profile_job *job)
{
	const struct np_detail *detail = job->detail;

	job->begin = INT64_MAX;
	job->end = INT64_MIN;
	for (size_t i = 0; i < detail->memory_curve.count; i++) {
		np_ns time = detail->memory_curve.item[i].time;

		job->begin = time < job->begin ? time : job->begin;
		job->end = time > job->end ? time : job->end;
	}
	for (size_t i = 0; i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		if (op->alloc != NP_UNKNOWN) {
			job->begin = op->alloc < job->begin ? op->alloc : job->begin;
			job->end = op->alloc > job->end ? op->alloc : job->end;
		}
		if (op->release != NP_UNKNOWN)
			job->end = op->release > job->end ? op->release : job->end;
	}
	if (job->begin > job->end)
		job->begin = job->end = 0;
}

static void reach(struct mem_reached *peak, int64_t bytes, np_ns time)
{
	if (bytes != NP_UNKNOWN && (peak->bytes == NP_UNKNOWN || bytes > peak->bytes))
		*peak = (struct mem_reached){ bytes, NP_UNKNOWN, time };
}

static void find_peaks(struct profile_job *job)
{
	struct mem_rank *rank = job->rank;

	for (size_t i = 0; i < job->points.count; i++) {
		const struct np_memory_point *point = &job->points.item[i];

		reach(&rank->allocated, point->allocated, point->time);
		reach(&rank->active, point->active, point->time);
		reach(&rank->reserved, point->reserved, point->time);
		if (point->allocated != NP_UNKNOWN && point->reserved != NP_UNKNOWN)
			reach(&rank->gap, point->reserved - point->allocated, point->time);
	}
}

static int keep_curve(struct profile_job *job, struct np_err *err)
{
	size_t count = job->points.count;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct np_memory_point *from = &job->points.item[i];
		size_t stretch = count <= MEM_CURVE_POINTS ? i : i * MEM_CURVE_POINTS / count;
		struct mem_point *point;

		if (stretch != last) {
			point = np_vec_add(&job->rank->curve, err);
			if (!point)
				return NP_E_NOMEM;
			*point = (struct mem_point){ NP_UNKNOWN, from->time, from->allocated,
						     from->reserved };
			last = stretch;
			continue;
		}
		point = &job->rank->curve.item[job->rank->curve.count - 1];
		point->time = from->time;
		point->allocated =
			from->allocated > point->allocated ? from->allocated : point->allocated;
		point->reserved =
			from->reserved > point->reserved ? from->reserved : point->reserved;
	}
	return NP_OK;
}

/* --- steps -------------------------------------------------------------------------------------
 */

/* The step that the host was in; SIZE_MAX for none. */
static size_t step_at(const struct profile_job *job, np_ns time)
{
	for (size_t i = 0; i < job->loaded->steps.count; i++) {
		const struct np_step *step = &job->loaded->steps.item[i];

		if (step->id != NP_STR_NONE && step->host_begin != NP_UNKNOWN &&
		    time >= step->host_begin && time < step->host_end)
			return i;
	}
	return SIZE_MAX;
}

static int find_steps(struct profile_job *job, struct np_err *err)
{
	for (size_t i = 0; i < job->loaded->steps.count; i++) {
		const struct np_step *from = &job->loaded->steps.item[i];
		struct mem_step_use *step;

		if (from->id == NP_STR_NONE || from->host_begin == NP_UNKNOWN)
			continue;
		step = np_vec_add(&job->rank->steps, err);
		if (!step)
			return NP_E_NOMEM;
		*step = (struct mem_step_use){ .id = strdup(np_run_text(job->run, from->id)),
					       .most = { NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN },
					       .least = NP_UNKNOWN };
		if (!step->id)
			return np_fail_nomem(err, "a step");
		for (size_t j = 0; j < job->points.count; j++) {
			const struct np_memory_point *point = &job->points.item[j];

			if (point->time < from->host_begin || point->time >= from->host_end)
				continue;
			reach(&step->most, point->allocated, point->time);
			if (point->allocated != NP_UNKNOWN &&
			    (step->least == NP_UNKNOWN || point->allocated < step->least))
				step->least = point->allocated;
		}
	}
	return NP_OK;
}

static int find_moment(const struct profile_job *job, np_ns *ret, struct np_err *err)
{
	const struct mem_moment *moment = &job->options->moment;
	const struct mem_rank *rank = job->rank;

	*ret = rank->allocated.time != NP_UNKNOWN ? rank->allocated.time : job->end;
	switch (moment->kind) {
	case MEM_AT_PEAK:
		return NP_OK;
	case MEM_AT_END:
		*ret = job->end;
		return NP_OK;
	case MEM_AT_TIME:
		*ret = moment->number + (moment->relative ? job->begin : 0);
		return NP_OK;
	case MEM_AT_EVENT:
		return np_fail(err, NP_E_NOTFOUND,
			       "a profile has no events of the allocator: --at takes peak, end, "
			       "step:N or time:T");
	case MEM_AT_STEP:
		break;
	}
	for (size_t i = 0; i < rank->steps.count; i++) {
		if (strcmp(rank->steps.item[i].id, moment->step) != 0)
			continue;
		if (rank->steps.item[i].most.time == NP_UNKNOWN)
			return np_fail(err, NP_E_NOTFOUND, "nothing is recorded in step %s",
				       moment->step);
		*ret = rank->steps.item[i].most.time;
		return NP_OK;
	}
	return np_fail(err, NP_E_NOTFOUND, "there is no step %s", moment->step);
}

/* --- components --------------------------------------------------------------------------------
 */

static struct mem_component *get_component(struct mem_rank *rank, const char *name, bool module,
					   struct np_err *err)
{
	struct mem_component *component;

	for (size_t i = 0; i < rank->components.count; i++) {
		component = &rank->components.item[i];
		if (component->module == module && strcmp(component->name, name) == 0)
			return component;
	}
	component = np_vec_add(&rank->components, err);
	if (!component)
		return NULL;
	*component = (struct mem_component){ strdup(name), module,     NP_UNKNOWN, NP_UNKNOWN,
					     NP_UNKNOWN,   NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN };
	if (component->name)
		return component;
	(void)np_fail_nomem(err, "the name of a component");
	return NULL;
}

static int order_components(const void *a, const void *b)
{
	const struct mem_component *left = a;
	const struct mem_component *right = b;

	if (left->module != right->module)
		return left->module ? 1 : -1;
	if (left->peak_reserved != right->peak_reserved)
		return left->peak_reserved < right->peak_reserved ? 1 : -1;
	return strcmp(left->name, right->name);
}

static int measure_growth(const struct profile_job *job, struct mem_component *component,
			  struct np_err *err)
{
	for (size_t i = 0; i < job->loaded->memory.count; i++) {
		const char *name = np_run_text(job->run, job->loaded->memory.item[i].component);
		bool module = np_text_begins(name, "module/");
		struct np_memory_growth growth;

		if (module != component->module ||
		    strcmp(name + (module ? strlen("module/") : 0), component->name) != 0)
			continue;
		if (np_memory_growth_measure(job->loaded, job->loaded->memory.item[i].component,
					     &growth, err) < 0)
			return NP_E_NOMEM;
		component->growth = growth.per_step;
	}
	return NP_OK;
}

static int find_components(struct profile_job *job, np_ns at, struct np_err *err)
{
	const struct np_detail *detail = job->detail;
	struct mem_rank *rank = job->rank;
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->memory_curve.count; i++) {
		const struct np_memory_point *point = &detail->memory_curve.item[i];
		struct mem_component *component =
			get_component(rank, text_of(job, point->component), point->module, err);

		if (!component)
			return NP_E_NOMEM;
		if (point->allocated > component->peak_allocated)
			component->peak_allocated = point->allocated;
		if (point->reserved > component->peak_reserved) {
			component->peak_reserved = point->reserved;
			component->peak_time = point->time;
		}
		if (point->time <= at) {
			component->at_allocated = point->allocated;
			component->at_reserved = point->reserved;
		}
	}
	/* There are dozens of modules; those that never held anything say nothing. */
	for (size_t i = 0; i < rank->components.count; i++) {
		if (rank->components.item[i].module && rank->components.item[i].peak_reserved <= 0)
			free(rank->components.item[i].name);
		else
			rank->components.item[kept++] = rank->components.item[i];
	}
	rank->components.count = kept;
	if (kept > 0)
		qsort(rank->components.item, kept, sizeof(rank->components.item[0]),
		      order_components);
	for (size_t i = 0; rc == NP_OK && i < kept; i++)
		rc = measure_growth(job, &rank->components.item[i], err);
	return rc;
}

/* What the process has beside the allocator; its workspace. */
static void find_outside(struct mem_rank *rank)
{
	for (size_t i = 0; i < rank->components.count; i++) {
		const struct mem_component *component = &rank->components.item[i];

		if (component->module)
			continue;
		if (strcmp(component->name, "APP") == 0 && component->at_reserved != NP_UNKNOWN &&
		    rank->at_reserved != NP_UNKNOWN && component->at_reserved >= rank->at_reserved)
			rank->outside = component->at_reserved - rank->at_reserved;
		if (strcmp(component->name, "WORKSPACE") == 0)
			rank->workspace = component->peak_reserved;
	}
}

/* --- groups ------------------------------------------------------------------------------------
 */

static struct mem_group *get_group(struct composition *composition, const char *name,
				   struct np_err *err)
{
	struct mem_group *group;
	np_str label;

	if (np_strtab_add(composition->labels, name, strlen(name), &label, err) < 0)
		return NULL;
	/* Groups are the first to have labels here: the ids of these are their numbers. */
	if (label <= composition->groups.count)
		return &composition->groups.item[label - 1];
	group = np_vec_add(&composition->groups, err);
	if (group)
		group->label = label;
	return group;
}

static int add_group(struct composition *composition, const char *name, int64_t bytes,
		     size_t blocks, struct np_err *err)
{
	struct mem_group *group = get_group(composition, name, err);

	if (!group)
		return NP_E_NOMEM;
	group->bytes += (uint64_t)bytes;
	group->requested += (uint64_t)bytes;
	group->blocks += blocks;
	return NP_OK;
}

static const char *group_of(const struct profile_job *job, const struct np_memory_op *op)
{
	if (job->rank->by == MEM_BY_SIZE)
		return composition_size_class((uint64_t)op->bytes);
	if (job->rank->by != MEM_BY_LIFETIME)
		return text_of(job, op->name);
	if (op->release == NP_UNKNOWN)
		return "to the end of the record";
	return is_brief(job, op) ? "freed soon" : "freed later";
}

/* Modules of CANN have all that the device gave; without them the components. */
static int group_by_module(struct profile_job *job, struct np_err *err)
{
	const struct mem_rank *rank = job->rank;
	bool modules = rank->components.count > 0 &&
		       rank->components.item[rank->components.count - 1].module;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < rank->components.count; i++) {
		const struct mem_component *component = &rank->components.item[i];
		bool sum = !component->module &&
			   (strcmp(component->name, "APP") == 0 || strchr(component->name, '+'));

		if (component->module == modules && !sum && component->at_reserved > 0)
			rc = add_group(rank->composition, component->name, component->at_reserved,
				       0, err);
	}
	return rc;
}

static int group_operators(struct profile_job *job, np_ns at, struct np_err *err)
{
	struct mem_rank *rank = job->rank;
	const struct np_detail *detail = job->detail;
	int64_t sum = 0;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		if (!is_counted(job, op) || !is_alive(op, at))
			continue;
		sum += op->bytes;
		rank->at_blocks++;
		rc = add_group(rank->composition, group_of(job, op), op->bytes, 1, err);
	}
	/* What was there before the capture has no row. */
	if (rc == NP_OK && rank->at.bytes != NP_UNKNOWN && rank->at.bytes > sum)
		rc = add_group(rank->composition, composition_before, rank->at.bytes - sum, 0, err);
	return rc;
}

/* --- survivors and transients ------------------------------------------------------------------
 */

struct op_survivors {
	np_str name;
	np_ns first;
	np_ns last;
	size_t last_step;
	struct mem_occasions occasions; /* what was alive is looked up where it matters */
	np_ns begins[MEM_LEAK_OCCASIONS];
	size_t blocks;
	uint64_t bytes;
};

struct op_survivor_list {
	NP_VEC(struct op_survivors) list;
	struct np_numbers numbers; /* name → list */
};

/* What operators of this name held at a time. */
static uint64_t held_at(const struct profile_job *job, np_str name, np_ns at)
{
	const struct np_detail *detail = job->detail;
	uint64_t held = 0;

	for (size_t i = 0; i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		if (op->name == name && is_counted(job, op) && op->alloc < at &&
		    (op->release == NP_UNKNOWN || op->release >= at))
			held += (uint64_t)op->bytes;
	}
	return held;
}

static int add_survivor(const struct profile_job *job, struct op_survivor_list *all,
			const struct np_memory_op *op, struct np_err *err)
{
	bool steps = job->rank->steps.count >= MEM_LEAK_OCCASIONS;
	size_t step = step_at(job, op->alloc);
	uint32_t number = np_numbers_get(&all->numbers, op->name);
	struct op_survivors *one = number != NP_MAP_NONE ? &all->list.item[number] : NULL;
	bool apart = !one;

	if (!one) {
		one = np_vec_add(&all->list, err);
		if (!one || np_numbers_add(&all->numbers, op->name, (uint32_t)(all->list.count - 1),
					   err) < 0)
			return NP_E_NOMEM;
		*one = (struct op_survivors){ .name = op->name, .first = op->alloc };
	} else {
		apart = steps ? step != one->last_step
			      : op->alloc - one->last > (job->end - job->begin) / MEM_OCCASION_PART;
	}
	if (apart) {
		one->begins[one->occasions.count % MEM_LEAK_OCCASIONS] = op->alloc;
		mem_occasions_add(&one->occasions, 0, one->bytes);
	}
	one->last = op->alloc;
	one->last_step = step;
	one->blocks++;
	one->bytes += (uint64_t)op->bytes;
	return NP_OK;
}

/* What all had just before a time; NP_UNKNOWN: nobody knows. */
static int64_t total_before(const struct profile_job *job, np_ns time)
{
	size_t low = 0;
	size_t count = job->points.count;

	while (count > 0) {
		size_t half = count / 2;

		if (job->points.item[low + half].time < time) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	while (low > 0 && job->points.item[low - 1].allocated == NP_UNKNOWN)
		low--;
	return low > 0 ? job->points.item[low - 1].allocated : NP_UNKNOWN;
}

/*
 * What is kept may take the place of what was there before the capture, which has no row when it is
 * released: then all together do not grow, between no two of the last occasions.
 */
static bool is_replacing(const struct profile_job *job, const struct op_survivors *one)
{
	for (size_t i = 0; i < MEM_LEAK_OCCASIONS; i++) {
		for (size_t j = 0; j < MEM_LEAK_OCCASIONS; j++) {
			int64_t before = total_before(job, one->begins[i]);
			int64_t after = total_before(job, one->begins[j]);

			if (one->begins[i] >= one->begins[j])
				continue;
			if (before == NP_UNKNOWN || after == NP_UNKNOWN ||
			    after - before >
				    (int64_t)(one->occasions.kept[j] - one->occasions.kept[i]) / 2)
				return false;
		}
	}
	return true;
}

static bool grows(const struct profile_job *job, const struct op_survivors *one)
{
	struct mem_occasions occasions = one->occasions;

	if (!mem_occasions_last(&occasions, one->first, one->last, job->begin, job->end))
		return false;
	for (size_t i = 0; i < MEM_LEAK_OCCASIONS; i++)
		occasions.live[i] = held_at(job, one->name, one->begins[i]);
	return mem_occasions_grow(&occasions) && !is_replacing(job, one);
}

static int find_leaks(const struct profile_job *job, const struct op_survivor_list *all,
		      struct np_err *err)
{
	struct composition *composition = job->rank->composition;

	for (size_t i = 0; i < all->list.count; i++) {
		const struct op_survivors *one = &all->list.item[i];
		const char *name = text_of(job, one->name);
		struct mem_leak *leak;
		np_str label;

		if (!grows(job, one))
			continue;
		if (np_strtab_add(composition->labels, name, strlen(name), &label, err) < 0)
			return NP_E_NOMEM;
		leak = np_vec_add(&composition->leaks, err);
		if (!leak)
			return NP_E_NOMEM;
		*leak = (struct mem_leak){ label, one->occasions.count, one->blocks, one->bytes,
					   one->bytes / one->occasions.count };
	}
	return NP_OK;
}

static int find_survivors(const struct profile_job *job, struct np_err *err)
{
	struct composition *composition = job->rank->composition;
	const struct np_detail *detail = job->detail;
	struct op_survivor_list all = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		if (!is_counted(job, op) || op->release != NP_UNKNOWN)
			continue;
		composition->never_freed++;
		composition->never_freed_bytes += (uint64_t)op->bytes;
		composition->never_freed_requested += (uint64_t)op->bytes;
		rc = add_survivor(job, &all, op, err);
	}
	if (rc == NP_OK)
		rc = find_leaks(job, &all, err);
	np_vec_release(&all.list);
	np_numbers_release(&all.numbers);
	return rc;
}

/* By how much the brief blocks of one operator change what is allocated, and when. */
struct brief_change {
	np_ns time;
	int64_t bytes;
};

static int order_changes(const void *a, const void *b)
{
	const struct brief_change *left = a;
	const struct brief_change *right = b;
	int order = np_order(left->time, right->time);

	return order ? order : np_order(left->bytes, right->bytes);
}

/* The peak of the curve less the brief blocks of one operator that are there. */
static int find_peak_without(struct profile_job *job, np_str name, struct np_err *err)
{
	const struct np_detail *detail = job->detail;
	NP_VEC(struct brief_change) changes = { 0 };
	int64_t held = 0;
	int64_t peak = 0;
	size_t next = 0;

	for (size_t i = 0; i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		if (op->name != name || !is_counted(job, op) || !is_brief(job, op))
			continue;
		if (np_vec_reserve(&changes, 2, err) < 0) {
			np_vec_release(&changes);
			return NP_E_NOMEM;
		}
		changes.item[changes.count++] = (struct brief_change){ op->alloc, op->bytes };
		changes.item[changes.count++] = (struct brief_change){ op->release, -op->bytes };
	}
	if (changes.count > 0)
		qsort(changes.item, changes.count, sizeof(changes.item[0]), order_changes);
	for (size_t i = 0; i < job->points.count; i++) {
		const struct np_memory_point *point = &job->points.item[i];

		for (; next < changes.count && changes.item[next].time <= point->time; next++)
			held += changes.item[next].bytes;
		if (point->allocated != NP_UNKNOWN && point->allocated - held > peak)
			peak = point->allocated - held;
	}
	np_vec_release(&changes);
	job->rank->composition->peak_without = (uint64_t)peak;
	return NP_OK;
}

static int find_transient(struct profile_job *job, struct np_err *err)
{
	struct composition *composition = job->rank->composition;
	const struct np_detail *detail = job->detail;
	np_ns at = job->rank->allocated.time;
	NP_CLEANUP(composition_freep) struct composition *brief = composition_empty();
	np_str name = NP_STR_NONE;

	if (!brief)
		return np_fail_nomem(err, "brief blocks");
	for (size_t i = 0; at != NP_UNKNOWN && i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		if (is_counted(job, op) && is_brief(job, op) && is_alive(op, at) &&
		    add_group(brief, text_of(job, op->name), op->bytes, 1, err) < 0)
			return NP_E_NOMEM;
	}
	composition_sort(brief);
	if (brief->groups.count == 0)
		return NP_OK;
	composition->transient = brief->groups.item[0];
	for (size_t i = 0; i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];
		const char *wanted = np_strtab_text(brief->labels, brief->groups.item[0].label);

		if (name == NP_STR_NONE && strcmp(text_of(job, op->name), wanted) == 0)
			name = op->name;
	}
	if (find_peak_without(job, name, err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(composition->labels, text_of(job, name), strlen(text_of(job, name)),
			     &composition->transient.label, err);
}

/* --- compiled graphs ---------------------------------------------------------------------------
 */

/* What is held at the node where most is: nodes at which something begins are looked at. */
static void measure_graph(const struct np_static_memory *rows, size_t count,
			  struct mem_graph *graph, const struct np_static_memory **ret_largest)
{
	for (size_t i = 0; i < count; i++) {
		const struct np_static_memory *largest = NULL;
		int64_t held = 0;

		if (i > 0 && rows[i].begin == rows[i - 1].begin)
			continue;
		for (size_t j = 0; j < count && rows[j].begin <= rows[i].begin; j++) {
			if (rows[j].end < rows[i].begin || rows[j].bytes <= 0)
				continue;
			held += rows[j].bytes;
			if (!largest || rows[j].bytes > largest->bytes)
				largest = &rows[j];
		}
		if (held > graph->peak) {
			graph->peak = held;
			*ret_largest = largest;
		}
	}
}

static int add_graph(struct profile_job *job, const struct np_static_memory *rows, size_t count,
		     struct np_err *err)
{
	const struct np_static_memory *largest = NULL;
	const char *model = text_of(job, rows->model);
	struct mem_graph *graph = np_vec_add(&job->rank->graphs, err);

	if (!graph)
		return NP_E_NOMEM;
	graph->graph = rows->graph;
	graph->operators = count;
	for (size_t i = 0; i < count; i++)
		graph->total += rows[i].bytes > 0 ? rows[i].bytes : 0;
	measure_graph(rows, count, graph, &largest);
	if (*model && strcmp(model, "0") != 0) {
		graph->model = strdup(model);
		if (!graph->model)
			return np_fail_nomem(err, "a graph");
	}
	if (!largest)
		return NP_OK;
	graph->largest_bytes = largest->bytes;
	graph->largest = strdup(text_of(job, largest->name));
	return graph->largest ? NP_OK : np_fail_nomem(err, "a graph");
}

/* Rows are by graph, model, then begin. */
static int find_graphs(struct profile_job *job, struct np_err *err)
{
	const struct np_detail *detail = job->detail;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < detail->static_memory.count;) {
		const struct np_static_memory *first = &detail->static_memory.item[i];
		size_t count = 1;

		while (i + count < detail->static_memory.count &&
		       first[count].graph == first->graph && first[count].model == first->model)
			count++;
		rc = add_graph(job, first, count, err);
		i += count;
	}
	return rc;
}

/* --- all of it ---------------------------------------------------------------------------------
 */

static int measure_moment(struct profile_job *job, struct np_err *err)
{
	struct mem_rank *rank = job->rank;
	np_ns at;
	int rc = find_moment(job, &at, err);

	if (rc < 0)
		return rc;
	rank->at.time = at;
	for (size_t i = 0; i < job->points.count && job->points.item[i].time <= at; i++) {
		rank->at.bytes = job->points.item[i].allocated;
		rank->at_reserved = job->points.item[i].reserved;
	}
	/* Of several at the peak the first that reached it. */
	if (job->options->moment.kind == MEM_AT_PEAK && rank->allocated.bytes != NP_UNKNOWN)
		rank->at.bytes = rank->allocated.bytes;
	rank->composition = composition_empty();
	if (!rank->composition)
		return np_fail_nomem(err, "what fills the memory");
	rc = find_components(job, at, err);
	find_outside(rank);
	rank->by = job->options->by < MEM_BY_OP ? MEM_BY_OP : job->options->by;
	if (rc == NP_OK)
		rc = rank->by == MEM_BY_MODULE ? group_by_module(job, err)
					       : group_operators(job, at, err);
	if (rc == NP_OK)
		rc = find_survivors(job, err);
	if (rc == NP_OK)
		rc = find_transient(job, err);
	composition_sort(rank->composition);
	return rc;
}

/* As the rank knows it, else as its memory does. */
static void find_device(struct profile_job *job)
{
	const struct np_detail *detail = job->detail;
	int32_t device = job->loaded->device;

	for (size_t i = 0; device < 0 && i < detail->memory_curve.count; i++)
		device = detail->memory_curve.item[i].device;
	for (size_t i = 0; device < 0 && i < detail->memory_ops.count; i++)
		device = detail->memory_ops.item[i].device;
	job->rank->device = device >= 0 ? (size_t)device : 0;
}

static int measure(struct profile_job *job, struct np_err *err)
{
	const struct mem_rank_options *options = job->options;
	int rc = find_points(job, err);

	find_extent(job);
	find_device(job);
	job->rank->begin = job->begin;
	find_peaks(job);
	if (rc == NP_OK)
		rc = find_steps(job, err);
	if (rc == NP_OK)
		rc = measure_moment(job, err);
	if (rc == NP_OK)
		rc = keep_curve(job, err);
	if (rc == NP_OK)
		rc = find_graphs(job, err);
	job->rank->whatif.wanted = options->with_count > 0 || options->sweep;
	job->rank->whatif.withheld = "a profile does not say what the allocator was asked for";
	return rc;
}

int mem_rank_profile(const struct np_run *run, size_t index, const struct mem_rank_options *options,
		     mem_ranks *ret, struct np_notes *notes, struct np_err *err)
{
	static const struct mem_reached unknown = { NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN };
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	const struct np_source_files *source = &run->sources.item[index];
	struct mem_rank rank = { .source = MEM_PROFILE,
				 .rank = source->rank,
				 .allocated = unknown,
				 .active = unknown,
				 .reserved = unknown,
				 .requested = unknown,
				 .gap = unknown,
				 .at = unknown,
				 .at_requested = NP_UNKNOWN,
				 .at_reserved = NP_UNKNOWN,
				 .ooms = NP_UNKNOWN,
				 .workspace = NP_UNKNOWN,
				 .outside = NP_UNKNOWN,
				 .limit = options->device_bytes,
				 .place = { -1, -1, -1, -1, -1 } };
	struct profile_job job = {
		.run = run, .loaded = run->ranks[index], .options = options, .rank = &rank
	};
	struct mem_rank *added;
	int rc = np_detail_load(run, index, WANTS, &detail, err);

	if (rc < 0)
		return rc;
	np_notes_move_untold(notes, &detail->notes, &run->notes);
	if (!(detail->has & WANTS))
		return NP_OK;
	job.detail = detail;
	rank.lives_known = detail->has & NP_DETAIL_MEMORY_OPS;
	rank.path = strdup(source->dir);
	rank.role = source->phase ? strdup(source->phase) : NULL;
	rank.host = source->host ? strdup(source->host) : NULL;
	rc = rank.path ? measure(&job, err) : np_fail_nomem(err, "a rank");
	np_vec_release(&job.points);
	added = rc == NP_OK ? np_vec_add(ret, err) : NULL;
	if (added) {
		*added = rank;
		return NP_OK;
	}
	mem_rank_release(&rank);
	return rc < 0 ? rc : NP_E_NOMEM;
}
