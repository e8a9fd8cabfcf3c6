/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forward and backward passes of a pipeline on the device, from the ranges
 * that the framework marked. Of a DualPipeV schedule, whose order is known, every
 * pass gets the number of its micro-batch. The incumbent writes the table into
 * each profile; here it is one table with a column for the rank.
 */
#include "registry.h"

#include "npuprof/text.h"

#include <stdarg.h>
#include <strings.h>

#define MODE "pp_chart"

struct pp_pass {
	np_ns start;
	np_ns end;
	np_str name;
	uint32_t step;
	int type;
};

/* Why passes of a schedule whose order is known could not be distinguished. */
enum obstacle {
	NO_OBSTACLE,
	NO_SCHEDULE, /* none where no rank has one */
	NO_STAGE,
	FEW_BATCHES,
	OTHER_COUNT,
	OBSTACLES,
};

struct passes {
	NP_VEC(struct pp_pass) list;
	enum obstacle obstacle;
};

static void release(void *result)
{
	np_vec_release(&((struct passes *)result)->list);
	free(result);
}

/* Messages are the names of functions, or a dictionary in which one stands. */
static bool is_pass(const char *message)
{
	static const char *const names[] = { "forward", "backward", "WeightGradStore.pop",
					     "WeightGradStore_pop" };

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (strcasestr(message, names[i]))
			return true;
	}
	return false;
}

static int by_start(const void *left, const void *right)
{
	const struct pp_pass *a = left;
	const struct pp_pass *b = right;

	return a->start != b->start ? np_order(a->start, b->start) : np_order(a->end, b->end);
}

static int take_marks(struct mode_rank *rank, struct passes *passes)
{
	const struct np_detail *detail = rank->detail;

	for (size_t i = 0; i < detail->marks.count; i++) {
		const struct np_mark *mark = &detail->marks.item[i];
		const char *message = np_detail_text(detail, mark->message);
		bool forward;
		struct pp_pass *pass;

		if (!message || !is_pass(message) || mark->device_start == NP_UNKNOWN ||
		    !mode_takes(rank, mark->step))
			continue;
		forward = strcasestr(message, "forward") != NULL;
		pass = np_vec_add(&passes->list, rank->err);
		if (!pass)
			return NP_E_NOMEM;
		*pass = (struct pp_pass){ .start = mark->device_start,
					  .end = mark->device_end,
					  .step = mark->step,
					  .type = forward ? 0 : 1 };
		if (np_strtab_add(rank->run->strings, forward ? "FP" : "BP", 2, &pass->name,
				  rank->err) < 0)
			return NP_E_NOMEM;
	}
	if (passes->list.count)
		qsort(passes->list.item, passes->list.count, sizeof(passes->list.item[0]),
		      by_start);
	return NP_OK;
}

/* --- DualPipeV ------------------------------------------------------------------------------- */

/* The labels of one step of one stage, in order. */
struct labels {
	struct {
		char text[32];
		int type;
	} * item;
	size_t count;
	size_t capacity;
	bool failed;
	/* The last micro-batch of each direction: 0 the way down, 1 the way back up. */
	int64_t f0;
	int64_t f1;
	int64_t b0;
	int64_t b1;
};

enum {
	WARM_UP,
	FORWARD,
	BACKWARD_WEIGHT_FORWARD,
	OVERLAP,
	BACKWARD_OVERLAP,
	BACKWARD,
	COOL_DOWN,
};

NP_PRINTF(3, 4) static void label(struct labels *labels, int type, const char *fmt, ...)
{
	struct np_err err = NP_ERR_INIT;
	void *slot = np_vec_add(labels, &err);
	va_list arguments;

	if (!slot) {
		labels->failed = true;
		return;
	}
	va_start(arguments, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above */
	(void)vsnprintf(labels->item[labels->count - 1].text, sizeof(labels->item[0].text), fmt,
			arguments);
	va_end(arguments);
	labels->item[labels->count - 1].type = type;
}

static void logits(struct labels *labels, int type, int64_t stage)
{
	if (stage == 0)
		label(labels, type, "logits");
}

static void label_forward(struct labels *labels, int64_t stage, int64_t stages)
{
	for (int64_t i = 0; i < 2 * stages - 2 - 2 * stage; i++)
		label(labels, WARM_UP, "%lld", (long long)++labels->f0);
	for (int64_t i = 0; i <= stage; i++) {
		label(labels, FORWARD, "%lld", (long long)++labels->f0);
		label(labels, FORWARD, "%lld", (long long)++labels->f1);
	}
	for (int64_t i = 0; i < stages - stage - 1; i++) {
		logits(labels, BACKWARD_WEIGHT_FORWARD, stage);
		labels->b1++;
		label(labels, BACKWARD_WEIGHT_FORWARD, "%lldb", (long long)labels->b1);
		label(labels, BACKWARD_WEIGHT_FORWARD, "%lldw", (long long)labels->b1);
		label(labels, BACKWARD_WEIGHT_FORWARD, "%lld", (long long)++labels->f1);
	}
}

static void label_overlap(struct labels *labels, int64_t stage, int64_t stages, int64_t batches)
{
	int64_t turns = (2 * batches - 4 * stages + 2 * stage + 2) / 2;

	for (int64_t i = 0; i < turns; i++) {
		logits(labels, OVERLAP, stage);
		labels->f0++;
		labels->b1++;
		if (stage == stages - 1 && i == 0) {
			label(labels, OVERLAP, "%lldF", (long long)labels->f0);
			label(labels, OVERLAP, "%lldB", (long long)labels->b1);
		} else {
			label(labels, OVERLAP, "%lldF+%lldB", (long long)labels->f0,
			      (long long)labels->b1);
		}
		labels->f1++;
		labels->b0++;
		label(labels, OVERLAP, "%lldF+%lldB", (long long)labels->f1, (long long)labels->b0);
	}
	for (int64_t i = 0; i < stages - stage - 1; i++) {
		logits(labels, BACKWARD_OVERLAP, stage);
		label(labels, BACKWARD_OVERLAP, "%lldB", (long long)++labels->b1);
		labels->f1++;
		labels->b0++;
		label(labels, BACKWARD_OVERLAP, "%lldF+%lldB", (long long)labels->f1,
		      (long long)labels->b0);
	}
}

static void label_backward(struct labels *labels, int64_t stage, int64_t batches)
{
	bool down = false; /* the next one is of the way down */

	for (int64_t i = 0; i <= stage; i++, down = !down) {
		if (!down)
			logits(labels, BACKWARD, stage);
		label(labels, BACKWARD, "%lldB", (long long)(down ? ++labels->b0 : ++labels->b1));
	}
	while (labels->b0 < batches - 1 || labels->b1 < 2 * batches - 1) {
		if (down && labels->b0 < batches - 1)
			label(labels, COOL_DOWN, "%lldB", (long long)++labels->b0);
		else if (!down && labels->b1 < 2 * batches - 1)
			label(labels, COOL_DOWN, "%lldB", (long long)++labels->b1);
		down = !down;
	}
}

static int64_t setting(const struct np_detail *detail, const char *name)
{
	const char *text = np_detail_setting(detail, name);
	int64_t number;

	return text && np_text_to_int(text, strlen(text), &number) ? number : NP_UNKNOWN;
}

/* Passes that run into the one before are marks of the same pass. */
static void drop_overlapping(struct passes *passes)
{
	size_t kept = 0;

	for (size_t i = 0; i < passes->list.count; i++) {
		if (kept == 0 || passes->list.item[i].start >= passes->list.item[kept - 1].end)
			passes->list.item[kept++] = passes->list.item[i];
	}
	passes->list.count = kept;
}

/* Name the passes of each step; a step with another number of passes stays as it is. */
static int name_passes(struct mode_rank *rank, struct passes *passes, const struct labels *labels)
{
	int rc = NP_OK;

	for (size_t first = 0, end; first < passes->list.count && rc == NP_OK; first = end) {
		for (end = first; end < passes->list.count &&
				  passes->list.item[end].step == passes->list.item[first].step;
		     end++)
			;
		if (end - first != labels->count) {
			passes->obstacle = OTHER_COUNT;
			continue;
		}
		for (size_t i = first; i < end && rc == NP_OK; i++) {
			const char *text = labels->item[i - first].text;

			passes->list.item[i].type = labels->item[i - first].type;
			rc = np_strtab_add(rank->run->strings, text, strlen(text),
					   &passes->list.item[i].name, rank->err);
		}
	}
	return rc;
}

/* More batches than anybody runs would be damage, and many labels. */
#define BATCHES_MOST 100000

static int name_dual_pipe(struct mode_rank *rank, struct passes *passes)
{
	const char *kind = np_detail_setting(rank->detail, "pp_info.pp_type");
	int64_t batches = setting(rank->detail, "pp_info.microbatch_num");
	int64_t stages = rank->modes->cluster->parallel.pp;
	int64_t stage = rank->modes->cluster->coordinates[rank->index].pp;
	struct labels labels = { .f0 = -1, .b0 = -1 };
	int rc;

	if (passes->list.count == 0)
		return NP_OK;
	if (!kind || strcasecmp(kind, "dualpipev") != 0) {
		passes->obstacle = NO_SCHEDULE;
		return NP_OK;
	}
	if (stages < 1 || stage < 0 || stage >= stages)
		passes->obstacle = NO_STAGE;
	else if (batches == NP_UNKNOWN || batches < 2 * stages || batches > BATCHES_MOST)
		passes->obstacle = FEW_BATCHES;
	if (passes->obstacle != NO_OBSTACLE)
		return NP_OK;
	labels.f1 = labels.b1 = batches - 1;
	drop_overlapping(passes);
	label_forward(&labels, stage, stages);
	label_overlap(&labels, stage, stages, batches);
	label_backward(&labels, stage, batches);
	rc = labels.failed ? np_fail_nomem(rank->err, MODE) : name_passes(rank, passes, &labels);
	free(labels.item);
	return rc;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct passes *passes = calloc(1, sizeof(*passes));
	int rc;

	(void)prepared;
	if (!passes)
		return np_fail_nomem(rank->err, MODE);
	*ret = passes;
	rc = take_marks(rank, passes);
	return rc < 0 ? rc : name_dual_pipe(rank, passes);
}

/* --- table ----------------------------------------------------------------------------------- */

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER }, { "name", NP_TEXT },    { "startNs", NP_INTEGER },
	{ "endNs", NP_INTEGER },  { "type", NP_INTEGER },
};

/* Has any rank passes whose order is known? */
static bool any_schedule(const struct np_modes *modes, void *const *ranks)
{
	for (size_t i = 0; i < modes->run->sources.count; i++) {
		const struct passes *passes = ranks[i];

		if (passes && passes->list.count > 0 && passes->obstacle != NO_SCHEDULE)
			return true;
	}
	return false;
}

static int note_obstacles(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	static const char *const reasons[OBSTACLES] = {
		[NO_SCHEDULE] =
			"DualPipeV is not in their metadata as in that of others (pp_info): "
			"passes are not numbered",
		[NO_STAGE] = "DualPipeV, but their stage is not known (distributed_args in "
			     "profiler_metadata.json): passes are not numbered",
		[FEW_BATCHES] = "DualPipeV needs at least two micro-batches for each stage "
				"(microbatch_num of pp_info): passes are not numbered",
		[OTHER_COUNT] = "steps with more or fewer passes than DualPipeV has: these are "
				"not numbered",
	};
	size_t count = modes->run->sources.count;
	bool *which = calloc(count + 1, sizeof(*which));

	if (!which)
		return np_fail_nomem(err, MODE);
	for (enum obstacle obstacle = any_schedule(modes, ranks) ? NO_SCHEDULE : NO_STAGE;
	     obstacle < OBSTACLES; obstacle++) {
		for (size_t i = 0; i < count; i++) {
			const struct passes *passes = ranks[i];

			which[i] = passes && passes->obstacle == obstacle;
		}
		mode_note(modes, NP_NOTE_WARNING, MODE, which, reasons[obstacle]);
	}
	free(which);
	return NP_OK;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "StepTaskInfo", "forward and backward passes on the device",
			   columns, err);
	int rc = table ? note_obstacles(modes, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK)
		table->empty = "no ranges named forward or backward with a device part";
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct passes *passes = ranks[i];

		for (size_t j = 0; passes && j < passes->list.count && rc == NP_OK; j++) {
			const struct pp_pass *pass = &passes->list.item[j];

			rc = mode_row(modes, table,
				      (const struct np_cell[NP_COUNT(columns)]){
					      np_cell_integer(mode_rank_id(modes, i)),
					      mode_name_cell(modes, pass->name),
					      np_cell_integer(pass->start),
					      np_cell_integer(pass->end),
					      np_cell_integer(pass->type) },
				      err);
		}
	}
	return rc < 0 ? rc : mode_note_absent(modes, MODE, table, "rankId", ranks, err);
}

const struct mode mode_pp_chart = {
	.name = MODE,
	.summary = "forward and backward passes of a pipeline, from mstx ranges",
	.wants = NP_DETAIL_MARKS | NP_DETAIL_ENVIRONMENT,
	.needs = NP_DETAIL_MARKS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
