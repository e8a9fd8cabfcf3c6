/* SPDX-License-Identifier: Apache-2.0 */
/* Warns of what makes two runs differ that is not their speed. */
#include "cmp_comparison.h"

#include "npuprof/buf.h"
#include "npuprof/ranges.h"
#include "npuprof/rank.h"

#include <inttypes.h>

/* What makes two runs differ that is not their speed. */

static void warn(struct comparison *comparison, const char *what, const char *base,
		 const char *new_)
{
	if (base && new_ && strcmp(base, new_) != 0)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "", what,
			    "differs: %s in the base, %s in the new run", base, new_);
}

static const char *text_of(const struct comparison *comparison, enum cmp_which which, np_str id)
{
	return np_run_text(comparison->sides[which].analysis->run, id);
}

static void compare_ranks(struct comparison *comparison)
{
	const struct cmp_pair *pair = &comparison->pairs.item[0];
	const struct np_rank *base = cmp_rank(comparison, pair, CMP_BASE);
	const struct np_rank *new_ = cmp_rank(comparison, pair, CMP_NEW);

	warn(comparison, "profiler level", text_of(comparison, CMP_BASE, base->level),
	     text_of(comparison, CMP_NEW, new_->level));
	warn(comparison, "CANN version", text_of(comparison, CMP_BASE, base->cann_version),
	     text_of(comparison, CMP_NEW, new_->cann_version));
	warn(comparison, "framework version",
	     text_of(comparison, CMP_BASE, base->framework_version),
	     text_of(comparison, CMP_NEW, new_->framework_version));
}

static void compare_devices(struct comparison *comparison)
{
	const struct cmp_pair *pair = &comparison->pairs.item[0];
	const struct cmp_rank_kernels *base = &comparison->sides[CMP_BASE].kernels[pair->rank[0]];
	const struct cmp_rank_kernels *new_ = &comparison->sides[CMP_NEW].kernels[pair->rank[1]];

	warn(comparison, "device", cmp_text(comparison, base->chip),
	     cmp_text(comparison, new_->chip));
	if (base->mhz != NP_UNKNOWN && new_->mhz != NP_UNKNOWN && base->mhz != new_->mhz)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "",
			    "AI core frequency",
			    "differs: %" PRId64 " MHz in the base, %" PRId64 " MHz in the new run",
			    base->mhz, new_->mhz);
}

/* What was recorded, by name: a section that one side lacks makes its leaves coarser. */
static void compare_switches(struct comparison *comparison)
{
	static const struct {
		unsigned bit;
		const char *name;
	} switches[] = {
		{ NP_HAS_MEMORY, "memory" },
		{ NP_HAS_FREQUENCY, "AI core frequency" },
		{ NP_HAS_HOST_CALLS, "calls of CANN" },
		{ NP_HAS_FRAMEWORK_CALLS, "calls of the framework" },
		{ NP_HAS_COUNTERS, "counters of the AI cores" },
		{ NP_HAS_MARKS, "mstx marks" },
	};
	const struct cmp_pair *pair = &comparison->pairs.item[0];
	unsigned base = cmp_rank(comparison, pair, CMP_BASE)->contents;
	unsigned new_ = cmp_rank(comparison, pair, CMP_NEW)->contents;

	for (size_t i = 0; i < NP_COUNT(switches); i++) {
		if (((base ^ new_) & switches[i].bit) != 0)
			np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "",
				    "profiler switches", "only the %s run recorded %s",
				    base & switches[i].bit ? "base" : "new", switches[i].name);
	}
}

static bool is_unmarked(const struct cmp_side *side)
{
	return side->steps.count == 1 && side->steps.item[0] == NP_STR_NONE;
}

const struct cmp_side *cmp_unmarked(const struct comparison *comparison)
{
	const struct cmp_side *base = &comparison->sides[CMP_BASE];
	const struct cmp_side *new_ = &comparison->sides[CMP_NEW];

	if (is_unmarked(base) == is_unmarked(new_))
		return NULL;
	return is_unmarked(base) ? base : new_;
}

static void compare_marks(struct comparison *comparison)
{
	const struct cmp_side *side = cmp_unmarked(comparison);
	enum np_steps_from base = np_run_steps_from(comparison->sides[CMP_BASE].analysis->run);
	enum np_steps_from new_ = np_run_steps_from(comparison->sides[CMP_NEW].analysis->run);

	if (side)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, side->path, "steps",
			    "none is marked: all of it is compared with a step of the other run; "
			    "collect with schedule=…, and prof.step() in the training loop");
	else if (base != new_ && base != NP_STEPS_NONE && new_ != NP_STEPS_NONE)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "", "steps",
			    "differ in kind: %s in the base, %s in the new run; --steps-from makes "
			    "them alike",
			    np_steps_noun(base, 2), np_steps_noun(new_, 2));
}

static void compare_worlds(struct comparison *comparison)
{
	int32_t base = np_cluster_world(comparison->sides[CMP_BASE].analysis->cluster);
	int32_t new_ = np_cluster_world(comparison->sides[CMP_NEW].analysis->cluster);

	if (base > 0 && new_ > 0 && base != new_)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "", "world size",
			    "differs: %" PRId32 " in the base, %" PRId32 " in the new run; ranks "
			    "are paired by %s",
			    base, new_, comparison->paired_by);
	else if (strcmp(comparison->paired_by, "order") == 0 && comparison->pairs.count > 1)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "", "ranks",
			    "the runs have no rank id in common: paired in their order "
			    "(--map-ranks chooses)");
}

/* What one run calls waiting the other calls transfer. */
static void compare_estimators(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->comms.count; i++) {
		const struct cmp_comm *each = &comparison->comms.item[i];
		bool base = each->side[CMP_BASE].incomplete;

		if (!each->unlike)
			continue;
		if (base == each->side[CMP_NEW].incomplete)
			np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "",
				    "wait and transfer",
				    "of %s are compared as a whole: one run tells them apart by "
				    "sub-tasks alone",
				    each->name);
		else if (base)
			np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "",
				    "wait and transfer",
				    "of %s are compared as a whole: not all of its members were "
				    "profiled in the base",
				    each->name);
		else
			np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "",
				    "wait and transfer",
				    "of %s are compared as a whole: not all of its members were "
				    "profiled in the new run",
				    each->name);
	}
}

/* Kernels with other inputs: another batch, perhaps, and then other work. */
static void compare_shapes(struct comparison *comparison)
{
	int64_t kernels = 0;
	const char *type = NULL;

	for (size_t i = 0; i < comparison->structure.count; i++) {
		const struct cmp_structure *each = &comparison->structure.item[i];

		if (strcmp(each->kind, "shape") != 0)
			continue;
		kernels += each->count;
		type = type ? type : each->what;
	}
	if (kernels > 0)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "", "shapes",
			    "%" PRId64 " kernels of a step have inputs of other shapes (%s first): "
			    "is it the same batch and model?",
			    kernels, type);
}

static void compare_partitions(struct comparison *comparison)
{
	for (int i = 0; i < CMP_SIDES; i++) {
		const struct np_analysis *analysis = comparison->sides[i].analysis;
		size_t without = 0;

		for (size_t j = 0; j < comparison->pairs.count; j++) {
			size_t rank = comparison->pairs.item[j].rank[i];

			without += analysis->partition.rank_first[rank] == SIZE_MAX;
		}
		if (without > 0)
			np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK,
				    comparison->sides[i].path, "partition",
				    "%zu of %zu ranks have totals and no intervals: their time is "
				    "in the leaves called unknown",
				    without, comparison->pairs.count);
	}
}

static void tell_coarse(struct comparison *comparison)
{
	if (comparison->gpu_and_npu)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "", "device",
			    comparison->gpu_operators
				    ? "one run is of a GPU: kernels are compared by the operators "
				      "that launched them and the unit they use"
				    : "one run is of a GPU: kernels are compared by the unit they "
				      "use");
	else if (comparison->coarse)
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, "",
			    "operator types",
			    "only one run recorded them: kernels are compared by the classes that "
			    "both can tell (collect both at Level1)");
}

/* Ranks whose kernels have no types, while those of others have. */
static void tell_untyped(struct comparison *comparison, enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	int64_t *ids = malloc((comparison->pairs.count + 1) * sizeof(*ids));
	size_t count = 0;

	for (size_t i = 0; ids && i < comparison->pairs.count; i++) {
		const struct cmp_pair *pair = &comparison->pairs.item[i];
		const struct cmp_rank_kernels *kernels = &side->kernels[pair->rank[which]];

		if (kernels->classes && !kernels->types)
			ids[count++] = cmp_rank(comparison, pair, which)->id;
	}
	if (count > 0 && count < comparison->pairs.count) {
		np_ranges_format(&list, ids, count);
		np_note_add(&comparison->warnings, NP_NOTE_WARNING, NP_NO_RANK, side->path,
			    "operator types",
			    "not recorded of rank%s %s (kernel_details.csv has them): their "
			    "kernels are of an unknown type",
			    count == 1 ? "" : "s", list.text);
	}
	free(ids);
}

void cmp_check_comparable(struct comparison *comparison)
{
	compare_marks(comparison);
	tell_coarse(comparison);
	tell_untyped(comparison, CMP_BASE);
	tell_untyped(comparison, CMP_NEW);
	compare_ranks(comparison);
	compare_devices(comparison);
	compare_worlds(comparison);
	compare_switches(comparison);
	compare_estimators(comparison);
	compare_shapes(comparison);
	compare_partitions(comparison);
}
