/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a further file says is joined to a rank
 * --------------------------------------------
 *
 * The first file that has a quantity wins. Steps, communicators and operators of
 * the other get the places that they have in the rank.
 */
#include "join_rank.h"

#include "core/model/load/capture/comm_steps.h"

#include "npuprof/activity.h"
#include "npuprof/arena.h"
#include "npuprof/idmap.h"

/* Indexes of `from` in terms of `to`: steps by id, communicators by hash. */
struct places {
	uint32_t *step;
	uint32_t *group;
};

static void release_places(struct places *places)
{
	free(places->step);
	free(places->group);
}

/* Where the steps of a rank are, by id. */
static int index_steps(const struct np_rank *rank, struct np_idmap **ret, struct np_err *err)
{
	int rc = NP_OK;

	*ret = np_idmap_new();
	if (!*ret)
		return np_fail_nomem(err, "steps");
	for (size_t i = 0; i < rank->steps.count && rc == NP_OK; i++)
		rc = np_idmap_set(*ret, rank->steps.item[i].id, (uint32_t)i, err);
	return rc;
}

static int place_step(struct np_rank *to, struct np_idmap *known, const struct np_step *step,
		      uint32_t *ret, struct np_err *err)
{
	struct np_step *slot;

	*ret = np_idmap_get(known, step->id);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	slot = np_vec_add(&to->steps, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = *step;
	*ret = (uint32_t)(to->steps.count - 1);
	return np_idmap_set(known, step->id, *ret, err);
}

/* Let `to` have all steps of `from`. */
static int add_steps_of(struct np_rank *to, const struct np_rank *from, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *known = NULL;
	uint32_t index;
	int rc = index_steps(to, &known, err);

	for (size_t i = 0; i < from->steps.count && rc == NP_OK; i++)
		rc = place_step(to, known, &from->steps.item[i], &index, err);
	return rc;
}

static int find_places(struct np_rank *to, const struct np_rank *from, bool add_steps,
		       struct places *ret, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *known = NULL;
	int rc = index_steps(to, &known, err);

	if (rc < 0)
		return rc;
	ret->step = malloc((from->steps.count + 1) * sizeof(uint32_t));
	ret->group = malloc((from->groups.count + 1) * sizeof(uint32_t));
	if (!ret->step || !ret->group)
		return np_fail_nomem(err, "a rank");
	for (size_t i = 0; i < from->steps.count && rc == NP_OK; i++) {
		/* NP_IDMAP_NONE is NP_NO_STEP */
		ret->step[i] = np_idmap_get(known, from->steps.item[i].id);
		if (add_steps)
			rc = place_step(to, known, &from->steps.item[i], &ret->step[i], err);
	}
	for (size_t i = 0; i < from->groups.count && rc == NP_OK; i++)
		rc = np_rank_group(to, from->groups.item[i].hash, &ret->group[i], err);
	return rc;
}

/* Move one array, renumbering the places of its entries; macros because C has no generic field. */
#define MOVE_STEPS(list, places) \
	for (size_t i_ = 0; i_ < (list).count; i_++) \
	(list).item[i_].step = (list).item[i_].step == NP_NO_STEP \
				       ? NP_NO_STEP \
				       : (places).step[(list).item[i_].step]
#define MOVE_GROUPS(list, places) \
	for (size_t i_ = 0; i_ < (list).count; i_++) \
	(list).item[i_].group = (places).group[(list).item[i_].group]
#define TAKE(to, from) \
	do { \
		np_vec_release(&(to)); \
		memcpy(&(to), &(from), sizeof(to)); \
		memset(&(from), 0, sizeof(from)); \
	} while (0)

static int take_times(struct np_rank *to, struct np_rank *from, struct np_err *err)
{
	struct places places = { 0 };
	int rc = find_places(to, from, true, &places, err);

	if (rc == NP_OK) {
		MOVE_STEPS(from->times, places);
		TAKE(to->times, from->times);
		TAKE(to->whole, from->whole);
		to->steps_from = from->steps_from;
		to->steps_confidence = from->steps_confidence;
		TAKE(to->copies, from->copies);
		TAKE(to->layers, from->layers);
		to->step_source = from->step_source;
		to->device = from->device;
		to->device_count = from->device_count;
	}
	release_places(&places);
	return rc;
}

/* Operators, their bandwidth and links go together: they refer to each other. */
static int take_ops(struct np_rank *to, struct np_rank *from, struct np_err *err)
{
	struct places places = { 0 };
	int rc = find_places(to, from, true, &places, err);

	if (rc == NP_OK) {
		MOVE_STEPS(from->ops, places);
		MOVE_GROUPS(from->ops, places);
		MOVE_STEPS(from->links, places);
		MOVE_GROUPS(from->links, places);
		MOVE_STEPS(from->transfers, places);
		MOVE_GROUPS(from->transfers, places);
		MOVE_STEPS(from->experts, places);
		MOVE_STEPS(from->comm_steps, places);
		MOVE_GROUPS(from->comm_steps, places);
		TAKE(to->ops, from->ops);
		TAKE(to->vendor_times, from->vendor_times);
		TAKE(to->long_times, from->long_times);
		TAKE(to->bands, from->bands);
		TAKE(to->links, from->links);
		TAKE(to->transfers, from->transfers);
		TAKE(to->experts, from->experts);
		TAKE(to->comm_steps, from->comm_steps);
		to->comm_source = from->comm_source;
		to->exposed_source = from->exposed_source;
		to->sizes_known = from->sizes_known;
	}
	release_places(&places);
	return rc;
}

/* How much of each communicator computing hides, from a reader that saw both. */
static int take_exposed(struct np_rank *to, const struct np_rank *from, struct np_err *err)
{
	struct places places = { 0 };
	int rc = find_places(to, from, false, &places, err);

	for (size_t i = 0; i < from->comm_steps.count && rc == NP_OK; i++) {
		const struct np_comm_step *source = &from->comm_steps.item[i];

		for (size_t j = 0; j < to->comm_steps.count; j++) {
			struct np_comm_step *sum = &to->comm_steps.item[j];

			if (sum->group != places.group[source->group] ||
			    sum->step != places.step[source->step] || sum->ops != source->ops ||
			    source->exposed == NP_UNKNOWN)
				continue;
			sum->exposed = source->exposed;
			sum->overlapped = source->overlapped;
			to->exposed_source = from->exposed_source;
		}
	}
	release_places(&places);
	return rc;
}

static int take_group_names(struct np_rank *to, const struct np_rank *from, struct np_err *err)
{
	struct np_numbers names = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < from->groups.count && rc == NP_OK; i++) {
		const struct np_group *group = &from->groups.item[i];

		if (group->name != NP_STR_NONE &&
		    np_numbers_get(&names, group->hash) == NP_MAP_NONE)
			rc = np_numbers_add(&names, group->hash, group->name, err);
	}
	for (size_t i = 0; i < to->groups.count && rc == NP_OK; i++) {
		struct np_group *group = &to->groups.item[i];
		uint32_t name = group->name == NP_STR_NONE ? np_numbers_get(&names, group->hash)
							   : NP_MAP_NONE;

		if (name != NP_MAP_NONE)
			group->name = name;
	}
	np_numbers_release(&names);
	return rc;
}

/* The one communicator of `from` with these last three digits, or NULL. */
static const struct np_group *group_ending(const struct np_rank *from, uint64_t digits)
{
	const struct np_group *found = NULL;

	for (size_t i = 0; i < from->groups.count; i++) {
		if (from->groups.item[i].hash < 1000 || from->groups.item[i].hash % 1000 != digits)
			continue;
		if (found)
			return NULL;
		found = &from->groups.item[i];
	}
	return found;
}

/*
 * Traces name a communicator by the last three digits of its hash, other files
 * by all of them. Both must get the same, whichever was read first.
 */
static void complete_hashes(struct np_rank *rank, const struct np_rank *from)
{
	for (size_t i = 0; i < rank->groups.count; i++) {
		struct np_group *group = &rank->groups.item[i];
		const struct np_group *full;

		if (group->hash >= 1000 || group->name != NP_STR_NONE)
			continue;
		full = group_ending(from, group->hash);
		if (!full)
			continue;
		group->hash = full->hash;
		np_rank_forget_places(rank);
	}
}

/* Traces of one device do not say which it is. */
static void take_device(struct np_rank *to, const struct np_rank *from)
{
	if (to->device >= 0 || from->device < 0 || to->device_count > 1)
		return;
	to->device = from->device;
	for (size_t i = 0; i < to->times.count; i++)
		to->times.item[i].device = to->device;
	for (size_t i = 0; i < to->ops.count; i++)
		to->ops.item[i].device = np_device_of(to->device);
	for (size_t i = 0; i < to->comm_steps.count; i++)
		to->comm_steps.item[i].device = to->device;
}

/* Nor do files of communication alone: it is that of the rank, where it has one only. */
static void give_device(struct np_rank *rank)
{
	if (rank->device < 0 || rank->device_count > 1)
		return;
	for (size_t i = 0; i < rank->ops.count; i++) {
		if (rank->ops.item[i].device < 0)
			rank->ops.item[i].device = np_device_of(rank->device);
	}
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		if (rank->comm_steps.item[i].device < 0)
			rank->comm_steps.item[i].device = rank->device;
	}
}

/* A table of kernels has the times of operators, but nothing of what they moved. */
static bool has_better_ops(const struct np_rank *rank, const struct np_rank *fresh)
{
	return fresh->ops.count > 0 &&
	       (rank->ops.count == 0 ||
		(rank->comm_source == NP_FROM_KERNELS && fresh->comm_source == NP_FROM_TEXT));
}

/* --- activity -------------------------------------------------------------------------------- */

/*
 * Intervals may come from another file than the times and the operators that
 * are used. They are kept if both say the same.
 */

/* qsort_r's context: indexes of operators by name, then time. */
static int by_name(const void *left, const void *right, void *context)
{
	const struct np_comm_op *ops = context;
	const struct np_comm_op *a = &ops[*(const uint32_t *)left];
	const struct np_comm_op *b = &ops[*(const uint32_t *)right];

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->start != b->start ? np_order(a->start, b->start)
				    : np_order(*(const uint32_t *)left, *(const uint32_t *)right);
}

static uint32_t *sorted_by_name(const struct np_rank *rank)
{
	uint32_t *order = malloc((rank->ops.count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < rank->ops.count; i++)
		order[i] = i;
	if (order && rank->ops.count)
		qsort_r(order, rank->ops.count, sizeof(*order), by_name, rank->ops.item);
	return order;
}

/*
 * The operators of `from` among those of `to`: equal names, in the order of time. `ret` is freed
 * by the caller; NP_LEAF_NOBODY for one that is not there.
 */
static int pair_ops(const struct np_rank *from, const struct np_rank *to, uint32_t **ret,
		    struct np_err *err)
{
	uint32_t *place = malloc((from->ops.count + 1) * sizeof(*place));
	uint32_t *from_order = sorted_by_name(from);
	uint32_t *to_order = sorted_by_name(to);
	bool room = place && from_order && to_order;
	size_t j = 0;

	for (size_t i = 0; room && i < from->ops.count; i++) {
		np_str name = from->ops.item[from_order[i]].name;

		while (j < to->ops.count && to->ops.item[to_order[j]].name < name)
			j++;
		place[from_order[i]] = NP_LEAF_NOBODY;
		if (j < to->ops.count && to->ops.item[to_order[j]].name == name)
			place[from_order[i]] = to_order[j++];
	}
	free(from_order);
	free(to_order);
	if (room) {
		*ret = place;
		return NP_OK;
	}
	free(place);
	return np_fail_nomem(err, "communication operators");
}

/*
 * Starts in communication.json are doubles of absolute µs. Beside the activity of another file,
 * which knows them exactly, an operator would seem to end before or after what waits for it.
 */
static void use_exact_starts(const struct np_rank *from, struct np_rank *to, const uint32_t *place)
{
	for (size_t i = 0; i < from->ops.count; i++) {
		const struct np_comm_op *exact = &from->ops.item[i];
		struct np_comm_op *op = place[i] == NP_LEAF_NOBODY ? NULL : &to->ops.item[place[i]];
		np_ns off = op ? exact->start - op->start : 0;

		/* They are sorted by it. */
		if (off == 0 || llabs(off) > NP_ROUNDING_NS ||
		    (place[i] > 0 && op[-1].start > exact->start) ||
		    (place[i] + 1 < to->ops.count && op[1].start < exact->start))
			continue;
		op->start += off;
		op->end += off;
	}
}

/* `activity` names operators of `from`; make it name those of `to`. */
static int move_to_ops(struct np_activity *activity, const struct np_rank *from, struct np_rank *to,
		       struct np_err *err)
{
	uint32_t *place = NULL;
	int rc = pair_ops(from, to, &place, err);

	if (rc < 0)
		return rc;
	np_activity_move_ops(activity, place);
	use_exact_starts(from, to, place);
	free(place);
	return NP_OK;
}

/* The cell of `from` for a time of `rank`, or its number of cells. */
static uint32_t find_cell(const struct np_rank *rank, const struct np_step_time *time,
			  const struct np_rank *from)
{
	uint32_t i;

	for (i = 0; i < from->times.count; i++) {
		const struct np_step_time *other = &from->times.item[i];

		if (from->steps.item[other->step].id == rank->steps.item[time->step].id &&
		    (other->device == time->device || other->device < 0 || time->device < 0))
			break;
	}
	return i;
}

static bool about(np_ns a, np_ns b)
{
	return a - b <= NP_ROUNDING_NS && b - a <= NP_ROUNDING_NS;
}

static bool says_the_same(const struct np_step_time *a, const struct np_step_time *b)
{
	return about(a->computing, b->computing) && about(a->span, b->span) &&
	       about(a->communication, b->communication) && about(a->overlapped, b->overlapped);
}

/* What rounding took away comes back, so that the parts sum to the time. */
static void use_time(struct np_step_time *time, const struct np_step_time *exact)
{
	time->computing = exact->computing;
	time->communication = exact->communication;
	time->communication_not_overlapped = exact->communication_not_overlapped;
	time->overlapped = exact->overlapped;
	time->free = exact->free;
	time->span = exact->span;
	time->stage = exact->span - time->bubble;
	time->begin = exact->begin;
	time->iteration = exact->iteration;
	memcpy(time->between, exact->between, sizeof(time->between));
	time->trailing = exact->trailing;
}

static int adopt(struct np_rank *rank, struct np_rank *fresh, struct np_err *err)
{
	uint32_t *cells = malloc((rank->times.count + 1) * sizeof(*cells));
	size_t same = 0;
	int rc = NP_OK;

	if (!cells)
		return np_fail_nomem(err, "step times");
	for (; same < rank->times.count; same++) {
		const struct np_step_time *time = &rank->times.item[same];

		cells[same] = find_cell(rank, time, fresh);
		if (cells[same] == fresh->times.count ||
		    !says_the_same(time, &fresh->times.item[cells[same]]))
			break;
	}
	if (same == rank->times.count) {
		for (size_t i = 0; i < same; i++)
			use_time(&rank->times.item[i], &fresh->times.item[cells[i]]);
		rc = np_activity_pick(&fresh->activity, cells, same, err);
		rank->activity = fresh->activity;
		fresh->activity = (struct np_activity){ 0 };
	}
	free(cells);
	return rc;
}

/*
 * Before a file is joined to the rank: keep its activity, or that of the rank, if
 * it fits the times and operators that the rank will have then, those of the
 * file where `with_times` or `with_ops`.
 */
static int join_activity(struct np_rank *rank, struct np_rank *fresh, bool with_times,
			 bool with_ops, struct np_err *err)
{
	int rc = NP_OK;

	if (rank->activity.cells.count > 0)
		return with_ops ? move_to_ops(&rank->activity, rank, fresh, err) : NP_OK;
	if (fresh->activity.cells.count == 0)
		return NP_OK;
	if (!with_ops)
		rc = move_to_ops(&fresh->activity, fresh, rank, err);
	if (rc < 0)
		return rc;
	if (!with_times)
		return adopt(rank, fresh, err);
	rank->activity = fresh->activity;
	fresh->activity = (struct np_activity){ 0 };
	return NP_OK;
}

/* --- what operators moved --------------------------------------------------------------------- */

/* Sums again, now that it is known what was moved; what computing hides is as it was. */
static int sum_again(struct np_rank *rank, struct np_err *err)
{
	struct np_rank before = { 0 };
	int rc;

	TAKE(before.comm_steps, rank->comm_steps);
	rc = np_load_comm_steps(rank, err);
	for (size_t i = 0; i < rank->comm_steps.count && i < before.comm_steps.count; i++) {
		rank->comm_steps.item[i].exposed = before.comm_steps.item[i].exposed;
		rank->comm_steps.item[i].overlapped = before.comm_steps.item[i].overlapped;
	}
	np_vec_release(&before.comm_steps);
	return rc;
}

static int take_vendor_times(struct np_rank *to, const struct np_rank *from, const uint32_t *place,
			     struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < from->ops.count && rc == NP_OK; i++) {
		struct np_vendor_times times = np_rank_vendor_times(from, i);

		if (place[i] != NP_LEAF_NOBODY)
			rc = np_rank_set_vendor_times(to, place[i],
						      np_rank_length(from, times.transit),
						      np_rank_length(from, times.wait),
						      np_rank_length(from, times.sync), err);
	}
	return rc;
}

static int take_bands(struct np_rank *to, const struct np_rank *from, const uint32_t *place,
		      struct np_err *err)
{
	for (size_t i = 0; i < from->bands.count; i++) {
		const struct np_band *band = &from->bands.item[i];
		struct np_band *slot;

		if (place[band->op] == NP_LEAF_NOBODY)
			continue;
		slot = np_vec_add(&to->bands, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = *band;
		slot->op = place[band->op];
	}
	np_load_sort_bands(to);
	return NP_OK;
}

static int take_links(struct np_rank *to, struct np_rank *from, struct np_err *err)
{
	struct places places = { 0 };
	int rc = find_places(to, from, false, &places, err);

	if (rc == NP_OK) {
		MOVE_STEPS(from->links, places);
		MOVE_GROUPS(from->links, places);
		TAKE(to->links, from->links);
	}
	release_places(&places);
	return rc;
}

/*
 * A trace without planes, or a database without sub-tasks, has operators and not what they
 * moved: that is taken from the file that has it, operator by operator.
 */
static int take_moved(struct np_rank *rank, struct np_rank *fresh, struct np_err *err)
{
	uint32_t *place = NULL;
	int rc;

	if (rank->sizes_known || rank->bands.count > 0 || rank->ops.count == 0 ||
	    fresh->bands.count == 0)
		return NP_OK;
	rc = pair_ops(fresh, rank, &place, err);
	if (rc == NP_OK)
		rc = take_bands(rank, fresh, place, err);
	if (rc == NP_OK && rank->vendor_times.count == 0)
		rc = take_vendor_times(rank, fresh, place, err);
	free(place);
	rank->sizes_known = rank->bands.count > 0;
	if (rc == NP_OK && rank->links.count == 0)
		rc = take_links(rank, fresh, err);
	return rc == NP_OK && rank->sizes_known ? sum_again(rank, err) : rc;
}

/* --- iterations that were found --------------------------------------------------------------- */

/* The step in whose window an operator starts. */
static uint32_t step_at(const struct np_rank *rank, np_ns start)
{
	for (size_t i = 0; i < rank->steps.count; i++) {
		if (start >= rank->steps.item[i].begin && start < rank->steps.item[i].end)
			return (uint32_t)i;
	}
	return NP_NO_STEP;
}

/* Operators that `rank` has as well are where it has them: its starts are exact. */
static int restep_ops(const struct np_rank *rank, struct np_rank *fresh, struct np_err *err)
{
	uint32_t *place = NULL;
	int rc = pair_ops(fresh, rank, &place, err);

	for (size_t i = 0; i < fresh->ops.count && rc == NP_OK; i++) {
		struct np_comm_op *op = &fresh->ops.item[i];

		op->step = place[i] == NP_LEAF_NOBODY ? step_at(rank, op->start)
						      : rank->ops.item[place[i]].step;
	}
	free(place);
	return rc;
}

/*
 * What the vendor derived knows no iterations but those that are marked, and has all in one step.
 * Where iterations were found in the table of kernels its operators belong to these; sums over
 * links, which no operator tells apart, belong to none.
 */
static int use_found_iterations(const struct np_rank *rank, struct np_rank *fresh,
				struct np_err *err)
{
	int rc;

	if (rank->steps_from != NP_STEPS_PERIOD || fresh->steps.count != 1 ||
	    fresh->steps.item[0].id != NP_STR_NONE)
		return NP_OK;
	rc = restep_ops(rank, fresh, err);
	for (size_t i = 0; i < fresh->links.count; i++)
		fresh->links.item[i].step = NP_NO_STEP;
	fresh->steps.count = 0;
	if (rc == NP_OK)
		rc = add_steps_of(fresh, rank, err);
	fresh->comm_steps.count = 0;
	return rc < 0 ? rc : np_load_comm_steps(fresh, err);
}

/* --- everything ------------------------------------------------------------------------------ */

static int join_measures(struct np_rank *rank, struct np_rank *fresh, const char *path,
			 const struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *kernels = NULL;
	bool times = rank->times.count == 0 && fresh->times.count > 0;
	bool ops = has_better_ops(rank, fresh);
	int rc;

	np_load_check(rank, fresh, path, strings);
	take_device(rank, fresh);
	rc = ops ? use_found_iterations(rank, fresh, err) : NP_OK;
	if (rc == NP_OK)
		rc = join_activity(rank, fresh, times, ops, err);
	if (rc == NP_OK && times)
		rc = take_times(rank, fresh, err);
	if (rc == NP_OK && ops) {
		/* Keep what computing hides: only the kernels show it. */
		kernels = np_rank_new(rank->id, rank->path);
		if (!kernels)
			return np_fail_nomem(err, path);
		kernels->exposed_source = rank->exposed_source;
		TAKE(kernels->comm_steps, rank->comm_steps);
		rc = take_ops(rank, fresh, err);
		for (size_t i = 0; i < rank->groups.count && rc == NP_OK; i++) {
			uint32_t index;

			rc = np_rank_group(kernels, rank->groups.item[i].hash, &index, err);
		}
		if (rc == NP_OK)
			rc = add_steps_of(kernels, rank, err);
		if (rc == NP_OK)
			rc = take_exposed(rank, kernels, err);
	} else if (rc == NP_OK) {
		rc = take_moved(rank, fresh, err);
	}
	if (rc == NP_OK && rank->exposed_source == NP_FROM_NOTHING)
		rc = take_exposed(rank, fresh, err);
	give_device(rank);
	if (rc == NP_OK)
		rc = take_group_names(rank, fresh, err);
	np_notes_move(&rank->notes, &fresh->notes);
	return rc;
}

static void adopt_metadata(struct np_rank *rank, struct np_rank *fresh)
{
	if (!rank->parallel.known)
		rank->parallel = fresh->parallel;
	if (rank->host_uid == NP_STR_NONE) {
		rank->host_uid = fresh->host_uid;
		rank->host_name = fresh->host_name;
	}
	if (rank->schema_version == NP_STR_NONE)
		rank->schema_version = fresh->schema_version;
	if (rank->level == NP_STR_NONE)
		rank->level = fresh->level;
	rank->contents |= fresh->contents;
	if (!rank->kernel_sums)
		rank->kernel_sums = NP_STEAL(fresh->kernel_sums);
	if (rank->kernels.count == 0)
		TAKE(rank->kernels, fresh->kernels);
	if (rank->calls.count == 0)
		TAKE(rank->calls, fresh->calls);
	if (rank->collections == 0) {
		rank->collections = fresh->collections;
		rank->collection_time = fresh->collection_time;
	}
	if (rank->memory.count == 0) {
		TAKE(rank->memory, fresh->memory);
		TAKE(rank->memory_steps, fresh->memory_steps);
	}
	if (rank->counters.count == 0)
		TAKE(rank->counters, fresh->counters);
	if (rank->unknowns.count == 0)
		TAKE(rank->unknowns, fresh->unknowns);
}

/* Members that a file brought live in its own arena: copy those that are new. */
static int adopt_members(struct np_rank *rank, const struct np_rank *fresh, struct np_err *err)
{
	for (size_t i = 0; i < fresh->groups.count; i++) {
		const struct np_group *from = &fresh->groups.item[i];
		struct np_group *group;
		int32_t *members;
		uint32_t index;
		int rc = np_rank_group(rank, from->hash, &index, err);

		if (rc < 0)
			return rc;
		group = &rank->groups.item[index];
		if (group->pg_name == NP_STR_NONE)
			group->pg_name = from->pg_name;
		if (group->members || !from->members)
			continue;
		members = np_arena_array(rank->arena, from->member_count, sizeof(int32_t));
		if (!members)
			return np_fail_nomem(err, "members of a communicator");
		memcpy(members, from->members, from->member_count * sizeof(int32_t));
		group->members = members;
		group->member_count = from->member_count;
		group->group_rank = from->group_rank;
	}
	return NP_OK;
}

int np_load_join(struct np_rank *rank, struct np_rank *fresh, const char *path,
		 const struct np_strtab *strings, struct np_err *err)
{
	int rc;

	adopt_metadata(rank, fresh);
	complete_hashes(rank, fresh);
	complete_hashes(fresh, rank);
	rc = adopt_members(rank, fresh, err);
	return rc < 0 ? rc : join_measures(rank, fresh, path, strings, err);
}
