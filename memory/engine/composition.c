/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are alive at a moment, by what they have in common; survivors and transients. */
#include "composition.h"

#include "mem_growth.h"

#include "npuprof/lang.h"
#include "npuprof/text.h"

/* A block is brief if it lives for so much of the record, or so many events. */
#define BRIEF_PART   100
#define BRIEF_EVENTS 10

const char composition_before[] = NP_MSG("before the record");
const char composition_no_stack[] = NP_MSG("<no stack>");

static bool is_users(const struct snapshot *snapshot, const struct snap_frame *frame)
{
	const char *file = np_strtab_text(snapshot->texts, frame->file);

	return np_text_ends(file, ".py") && file[0] != '<' && !strstr(file, "site-packages") &&
	       !strstr(file, "dist-packages") && !strstr(file, "lib/python3");
}

static void add_frame(struct np_buf *buf, const struct snapshot *snapshot,
		      const struct snap_frame *frame)
{
	np_buf_printf(buf, "%s:%lld:%s",
		      np_text_last_part(np_strtab_text(snapshot->texts, frame->file)),
		      (long long)frame->line, np_strtab_text(snapshot->texts, frame->name));
}

/* The file below where packages are installed, else its name. */
static void add_module(struct np_buf *buf, const char *file)
{
	static const char *const homes[] = { "site-packages/", "dist-packages/" };

	for (size_t i = 0; i < NP_COUNT(homes); i++) {
		const char *at = strstr(file, homes[i]);

		if (at) {
			np_buf_add(buf, at + strlen(homes[i]));
			return;
		}
	}
	np_buf_add(buf, np_text_last_part(file));
}

/* Frames of C++ that are how a stack was taken and how Python got there, not who asked. */
static bool is_noise(const struct snapshot *snapshot, const struct snap_frame *frame)
{
	static const char *const names[] = { "unwind::unwind",  "CapturedTraceback::gather",
					     "gather_with_cpp", "PyEval_",
					     "PyObject_",       "PyFunction_" };
	static const char *const files[] = { "core/boxing", "/Register", "/Redispatch", "ceval.c" };
	const char *name = np_strtab_text(snapshot->texts, frame->name);
	const char *file = np_strtab_text(snapshot->texts, frame->file);

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (strstr(name, names[i]))
			return true;
	}
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		if (strstr(file, files[i]))
			return true;
	}
	return false;
}

void composition_name_stack(const struct snapshot *snapshot, uint32_t number, enum mem_by by,
			    struct np_buf *buf)
{
	const struct snap_stack *recorded = &snapshot->stacks.item[number];
	struct snap_stack rest = *recorded;
	const struct snap_stack *stack = &rest;
	const uint32_t *frames;

	while (rest.count > 1 &&
	       is_noise(snapshot,
			&snapshot->frames.item[snapshot->stack_frames.item[rest.first]])) {
		rest.first++;
		rest.count--;
	}
	if (stack->count == 0) {
		np_buf_add(buf, composition_no_stack);
		return;
	}
	frames = &snapshot->stack_frames.item[stack->first];
	if (by == MEM_BY_FULL) {
		/* Outermost first, as folded stacks are. */
		for (size_t i = stack->count; i > 0; i--) {
			add_frame(buf, snapshot, &snapshot->frames.item[frames[i - 1]]);
			np_buf_add(buf, i > 1 ? ";" : "");
		}
		return;
	}
	if (by == MEM_BY_OP) {
		np_buf_add(buf,
			   np_strtab_text(snapshot->texts, snapshot->frames.item[frames[0]].name));
		return;
	}
	if (by == MEM_BY_MODULE) {
		add_module(buf,
			   np_strtab_text(snapshot->texts, snapshot->frames.item[frames[0]].file));
		return;
	}
	for (size_t i = 0; by == MEM_BY_USER && i < stack->count; i++) {
		const struct snap_frame *frame = &snapshot->frames.item[frames[i]];

		if (is_users(snapshot, frame)) {
			add_frame(buf, snapshot, frame);
			return;
		}
	}
	add_frame(buf, snapshot, &snapshot->frames.item[frames[0]]);
	if (by == MEM_BY_USER)
		np_buf_add(buf, " (library)");
}

static bool is_brief(const struct mem_history *history, const struct mem_life *life)
{
	size_t most = history->count / BRIEF_PART;

	return life->birth != MEM_NONE && life->done != MEM_NONE &&
	       life->done - life->birth <= (most > BRIEF_EVENTS ? most : BRIEF_EVENTS);
}

const char *composition_size_class(uint64_t size)
{
	if (size <= MEM_MIB)
		return NP_MSG("up to 1 MiB");
	if (size < 10 * MEM_MIB)
		return NP_MSG("below 10 MiB");
	return size < 100 * MEM_MIB ? NP_MSG("below 100 MiB") : NP_MSG("100 MiB and more");
}

static const char *life_class(const struct mem_history *history, const struct mem_life *life)
{
	if (life->birth == MEM_NONE)
		return life->done == MEM_NONE ? NP_MSG("before the record, to its end")
					      : NP_MSG("before the record, freed in it");
	if (life->done == MEM_NONE)
		return NP_MSG("to the end of the record");
	return is_brief(history, life) ? NP_MSG("freed soon") : NP_MSG("freed later");
}

static int label_of(const struct mem_history *history, const struct mem_life *life, enum mem_by by,
		    struct np_strtab *labels, np_str *ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	if (by == MEM_BY_SIZE)
		np_buf_add(&buf, composition_size_class(life->size));
	else if (by == MEM_BY_LIFETIME)
		np_buf_add(&buf, life_class(history, life));
	else if (life->birth == MEM_NONE && life->stack == 0)
		np_buf_add(&buf, composition_before);
	else
		composition_name_stack(history->snapshot, life->stack, by, &buf);
	if (np_buf_check(&buf, err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(labels, buf.text, buf.length, ret, err);
}

/* Labels of stacks are made once each; ids of labels are small numbers in their order. */
struct labeller {
	const struct mem_history *history;
	enum mem_by by;
	struct np_strtab *labels;
	np_str *of_stack; /* NP_STR_NONE: not made yet */
};

static int labeller_get(struct labeller *labeller, const struct mem_life *life, np_str *ret,
			struct np_err *err)
{
	bool cached = labeller->by <= MEM_BY_MODULE && (life->birth != MEM_NONE || life->stack > 0);
	int rc;

	if (cached && labeller->of_stack[life->stack] != NP_STR_NONE) {
		*ret = labeller->of_stack[life->stack];
		return NP_OK;
	}
	rc = label_of(labeller->history, life, labeller->by, labeller->labels, ret, err);
	if (rc == NP_OK && cached)
		labeller->of_stack[life->stack] = *ret;
	return rc;
}

typedef NP_VEC(struct mem_group) mem_groups;

/* Add a block to the group of its label; groups are found by the id. */
static int add_to_group(mem_groups *groups, np_str label, const struct mem_life *life,
			struct np_err *err)
{
	struct mem_group *group;

	while (groups->count < label) {
		group = np_vec_add(groups, err);
		if (!group)
			return NP_E_NOMEM;
		group->label = (np_str)groups->count;
	}
	group = &groups->item[label - 1];
	group->bytes += life->size;
	group->requested += life->requested;
	group->blocks++;
	return NP_OK;
}

static _Thread_local const struct np_strtab *order_labels;

static int order_groups(const void *a, const void *b)
{
	const struct mem_group *group_a = a;
	const struct mem_group *group_b = b;

	if (group_a->bytes != group_b->bytes)
		return group_a->bytes < group_b->bytes ? 1 : -1;
	return strcmp(np_strtab_text(order_labels, group_a->label),
		      np_strtab_text(order_labels, group_b->label));
}

static int fill_groups(struct composition *composition, struct labeller *labeller, size_t at,
		       struct np_err *err)
{
	const struct mem_history *history = labeller->history;
	mem_groups groups = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < history->lives.count; i++) {
		const struct mem_life *life = &history->lives.item[i];
		np_str label;

		if (!history_alive(life, at))
			continue;
		rc = labeller_get(labeller, life, &label, err);
		if (rc == NP_OK)
			rc = add_to_group(&groups, label, life, err);
	}
	for (size_t i = 0; rc == NP_OK && i < groups.count; i++) {
		struct mem_group *group;

		if (groups.item[i].blocks == 0)
			continue;
		group = np_vec_add(&composition->groups, err);
		if (!group)
			rc = NP_E_NOMEM;
		else
			*group = groups.item[i];
	}
	np_vec_release(&groups);
	return rc;
}

static void find_survivors(struct composition *composition, const struct mem_history *history)
{
	for (size_t i = 0; i < history->lives.count; i++) {
		const struct mem_life *life = &history->lives.item[i];

		/* What contradicts other events was never given. */
		if (life->birth == MEM_NONE || life->size == 0)
			continue;
		if (life->done == MEM_NONE) {
			composition->never_freed++;
			composition->never_freed_bytes += life->size;
			composition->never_freed_requested += life->requested;
		} else if (life->size > composition->largest_freed.size) {
			composition->largest_freed = *life;
		}
	}
}

static int order_leaks(const void *a, const void *b)
{
	const struct mem_leak *leak_a = a;
	const struct mem_leak *leak_b = b;

	if (leak_a->bytes != leak_b->bytes)
		return leak_a->bytes < leak_b->bytes ? 1 : -1;
	return strcmp(np_strtab_text(order_labels, leak_a->label),
		      np_strtab_text(order_labels, leak_b->label));
}

void composition_sort(struct composition *composition)
{
	order_labels = composition->labels;
	if (composition->groups.count > 0)
		qsort(composition->groups.item, composition->groups.count,
		      sizeof(composition->groups.item[0]), order_groups);
	if (composition->leaks.count > 0)
		qsort(composition->leaks.item, composition->leaks.count,
		      sizeof(composition->leaks.item[0]), order_leaks);
}

/* Stacks of one label are one: layers that are alike keep together. */
static int add_leak(struct composition *composition, np_str label, const struct mem_growth *growth,
		    struct np_err *err)
{
	struct mem_leak *leak = NULL;

	for (size_t i = 0; !leak && i < composition->leaks.count; i++) {
		if (composition->leaks.item[i].label == label)
			leak = &composition->leaks.item[i];
	}
	if (!leak) {
		leak = np_vec_add(&composition->leaks, err);
		if (!leak)
			return NP_E_NOMEM;
		*leak = (struct mem_leak){ .label = label };
	}
	if (growth->occasions > leak->occasions)
		leak->occasions = growth->occasions;
	leak->blocks += growth->blocks;
	leak->bytes += growth->bytes;
	leak->per_occasion = leak->bytes / leak->occasions;
	return NP_OK;
}

static int find_leaks(struct composition *composition, struct labeller *labeller,
		      struct np_err *err)
{
	const struct mem_history *history = labeller->history;
	mem_growths growths = { 0 };
	int rc = mem_growth_find(history, &growths, &composition->forward_bytes, err);

	for (size_t i = 0; rc == NP_OK && i < growths.count; i++) {
		const struct mem_growth *growth = &growths.item[i];
		const struct mem_life life = { .stack = growth->stack };
		np_str label;

		if (growth->stack == 0 && history->steps.count == 0) {
			composition->nameless_bytes = growth->bytes;
			continue;
		}
		rc = labeller_get(labeller, &life, &label, err);
		if (rc == NP_OK)
			rc = add_leak(composition, label, growth, err);
	}
	np_vec_release(&growths);
	return rc;
}

/* The peak of allocated without the brief blocks of one label. */
static int find_peak_without(struct composition *composition, struct labeller *labeller,
			     struct np_err *err)
{
	const struct mem_history *history = labeller->history;
	int64_t *change = calloc(history->count + 1, sizeof(*change));
	int64_t sum = 0;
	int64_t peak;
	int rc = change ? NP_OK : np_fail_nomem(err, "a curve");

	for (size_t i = 0; rc == NP_OK && i < history->lives.count; i++) {
		const struct mem_life *life = &history->lives.item[i];
		np_str label = NP_STR_NONE;

		if (is_brief(history, life))
			rc = labeller_get(labeller, life, &label, err);
		if (label != NP_STR_NONE && label == composition->transient.label)
			continue;
		if (life->birth == MEM_NONE && life->freed != 0)
			sum += (int64_t)life->size;
		else if (life->birth != MEM_NONE)
			change[life->birth] += (int64_t)life->size;
		if (life->freed != MEM_NONE && (life->birth != MEM_NONE || life->freed != 0))
			change[life->freed] -= (int64_t)life->size;
	}
	peak = sum;
	for (size_t i = 0; rc == NP_OK && i < history->count; i++) {
		sum += change[i];
		peak = sum > peak ? sum : peak;
	}
	free(change);
	composition->peak_without = (uint64_t)peak;
	return rc;
}

static int find_transient(struct composition *composition, struct labeller *labeller,
			  struct np_err *err)
{
	const struct mem_history *history = labeller->history;
	mem_groups groups = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < history->lives.count; i++) {
		const struct mem_life *life = &history->lives.item[i];
		np_str label;

		if (!is_brief(history, life) || !history_alive(life, history->allocated.at))
			continue;
		rc = labeller_get(labeller, life, &label, err);
		if (rc == NP_OK)
			rc = add_to_group(&groups, label, life, err);
	}
	for (size_t i = 0; rc == NP_OK && i < groups.count; i++) {
		if (groups.item[i].bytes > composition->transient.bytes)
			composition->transient = groups.item[i];
	}
	np_vec_release(&groups);
	if (rc == NP_OK && composition->transient.bytes > 0)
		rc = find_peak_without(composition, labeller, err);
	return rc;
}

struct composition *composition_empty(void)
{
	struct composition *composition = calloc(1, sizeof(*composition));

	if (composition)
		composition->labels = np_strtab_new();
	if (composition && !composition->labels) {
		free(composition);
		return NULL;
	}
	return composition;
}

int composition_new(const struct mem_history *history, size_t at, enum mem_by by,
		    struct composition **ret, struct np_err *err)
{
	NP_CLEANUP(composition_freep)
	struct composition *composition = composition_empty();
	struct labeller labeller = { .history = history, .by = by };
	int rc = NP_OK;

	labeller.of_stack = calloc(history->snapshot->stacks.count, sizeof(*labeller.of_stack));
	if (!composition || !labeller.of_stack)
		rc = np_fail_nomem(err, "what fills the memory");
	if (rc == NP_OK) {
		labeller.labels = composition->labels;
		find_survivors(composition, history);
		rc = fill_groups(composition, &labeller, at, err);
	}
	/* Leaks and transients are named by the user's frame, whatever groups are by. */
	if (rc == NP_OK && by != MEM_BY_USER) {
		labeller.by = MEM_BY_USER;
		memset(labeller.of_stack, 0,
		       history->snapshot->stacks.count * sizeof(*labeller.of_stack));
	}
	/* Where frees may be missing nobody is said to keep what he allocates. */
	if (rc == NP_OK && history_is_trusted(history))
		rc = find_leaks(composition, &labeller, err);
	if (rc == NP_OK)
		rc = find_transient(composition, &labeller, err);
	free(labeller.of_stack);
	if (rc < 0)
		return rc;
	composition_sort(composition);
	*ret = NP_STEAL(composition);
	return NP_OK;
}

void composition_free(struct composition *composition)
{
	if (!composition)
		return;
	np_vec_release(&composition->groups);
	np_vec_release(&composition->leaks);
	np_strtab_free(composition->labels);
	free(composition);
}

void composition_freep(struct composition **composition)
{
	composition_free(*composition);
}
