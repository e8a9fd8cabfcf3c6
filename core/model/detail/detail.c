/* SPDX-License-Identifier: Apache-2.0 */
/* A detail from all files of a rank, and the small things that all of its readers share. */
#include "npuprof/detail.h"

#include "core/model/vendor/hccl_types.h"
#include "detail_load.h"

#include "npuprof/arena.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <math.h>
#include <strings.h>

/* --- small things that all readers share ----------------------------------------------------- */

int detail_intern(struct detail_load *load, const char *text, size_t length, np_str *ret)
{
	return vendor_intern(load->detail->strings, text, length, ret, load->err);
}

int detail_intern_shapes(struct detail_load *load, const char *text, size_t length, np_str *ret)
{
	return vendor_intern_shapes(load->detail->strings, text, length, ret, load->err);
}

int detail_intern_list(struct detail_load *load, const char *text, size_t length, char separator,
		       np_str *ret)
{
	return vendor_intern_list(load->detail->strings, text, length, separator, ret, load->err);
}

static const struct {
	const char *name;
	const char *prefix;
} levels[NP_CALL_LEVELS] = {
	[NP_CALL_OTHER] = { "other", "" },
	[NP_CALL_ACL] = { "acl", "AscendCL@" },
	[NP_CALL_MODEL] = { "model", "Model@" },
	[NP_CALL_NODE] = { "node", "Node@" },
	[NP_CALL_COMMUNICATION] = { "communication", "Communication@" },
	[NP_CALL_RUNTIME] = { "runtime", "Runtime@" },
};

const char *np_call_level_name(enum np_call_level level)
{
	return levels[level].name;
}

const char *np_call_level_prefix(enum np_call_level level)
{
	return levels[level].prefix;
}

enum np_call_level detail_call_level(const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum np_call_level level;
	} spellings[] = {
		{ "acl", NP_CALL_ACL },
		{ "AscendCL", NP_CALL_ACL },
		{ "model", NP_CALL_MODEL },
		{ "node", NP_CALL_NODE },
		{ "hccl", NP_CALL_COMMUNICATION },
		{ "communication", NP_CALL_COMMUNICATION },
		{ "runtime", NP_CALL_RUNTIME },
	};

	for (size_t i = 0; i < NP_COUNT(spellings); i++) {
		if (strlen(spellings[i].name) == length &&
		    strncasecmp(spellings[i].name, name, length) == 0)
			return spellings[i].level;
	}
	return NP_CALL_OTHER;
}

struct np_kernel *detail_add_kernel(struct detail_load *load)
{
	struct np_kernel *kernel;

	if (np_vec_reserve(&load->detail->kernels, 1, load->err) < 0)
		return NULL;
	kernel = &load->detail->kernels.item[load->detail->kernels.count++];
	*kernel = (struct np_kernel){ .wait = NP_UNKNOWN,
				      .stream = NP_UNKNOWN,
				      .task_id = NP_UNKNOWN,
				      .connection = NP_UNKNOWN,
				      .block_dim = NP_UNKNOWN,
				      .mix_block_dim = NP_UNKNOWN,
				      .step = NP_NO_STEP,
				      .device = -1 };
	return kernel;
}

struct np_kernel *detail_add_kernel_of(struct detail_load *load, const struct np_device_task *task)
{
	struct np_kernel *kernel = detail_add_kernel(load);

	if (!kernel)
		return NULL;
	kernel->start = task->start;
	kernel->end = task->end;
	kernel->stream = task->stream;
	kernel->task_id = task->task_id;
	kernel->connection = task->connection;
	kernel->device = task->device;
	return kernel;
}

struct np_device_task *detail_add_task(struct detail_load *load)
{
	struct np_device_task *task;

	if (np_vec_reserve(&load->detail->tasks, 1, load->err) < 0)
		return NULL;
	task = &load->detail->tasks.item[load->detail->tasks.count++];
	*task = (struct np_device_task){ .stream = NP_UNKNOWN,
					 .task_id = NP_UNKNOWN,
					 .connection = NP_UNKNOWN,
					 .step = NP_NO_STEP,
					 .device = -1 };
	return task;
}

struct np_framework_call *detail_add_framework(struct detail_load *load)
{
	struct np_framework_call *call;

	if (np_vec_reserve(&load->detail->framework, 1, load->err) < 0)
		return NULL;
	call = &load->detail->framework.item[load->detail->framework.count++];
	*call = (struct np_framework_call){ .tid = NP_UNKNOWN,
					    .sequence = NP_UNKNOWN,
					    .fwd_thread = NP_UNKNOWN,
					    .step = NP_NO_STEP };
	return call;
}

struct np_mark *detail_add_mark(struct detail_load *load)
{
	struct np_mark *mark = np_vec_add(&load->detail->marks, load->err);

	if (mark)
		*mark = (struct np_mark){ .device_start = NP_UNKNOWN,
					  .device_end = NP_UNKNOWN,
					  .framework_start = NP_UNKNOWN,
					  .framework_end = NP_UNKNOWN,
					  .tid = NP_UNKNOWN,
					  .connection = NP_UNKNOWN,
					  .step = NP_NO_STEP };
	return mark;
}

struct np_sub_task *detail_add_sub_task(struct detail_load *load)
{
	struct np_sub_task *sub_task = np_vec_add(&load->detail->sub_tasks, load->err);

	if (sub_task)
		*sub_task = (struct np_sub_task){ .bytes = NP_UNKNOWN,
						  .plane = NP_UNKNOWN,
						  .src = NP_UNKNOWN,
						  .dst = NP_UNKNOWN,
						  .notify_id = NP_UNKNOWN,
						  .stream = NP_UNKNOWN,
						  .task_id = NP_UNKNOWN,
						  .bandwidth = (double)NAN,
						  .op = NP_NO_ROW };
	return sub_task;
}

struct np_sub_task *detail_add_sub_task_of(struct detail_load *load,
					   const struct np_device_task *task)
{
	struct np_sub_task *sub_task = detail_add_sub_task(load);

	if (!sub_task)
		return NULL;
	sub_task->start = task->start;
	sub_task->end = task->end;
	sub_task->stream = task->stream;
	sub_task->task_id = task->task_id;
	return sub_task;
}

void detail_note(struct detail_load *load, const char *path, const char *what, const char *reason)
{
	np_note_add(&load->detail->notes, NP_NOTE_SKIPPED, load->rank->id, path, what, "%s",
		    reason);
}

void detail_note_impossible(struct detail_load *load, const char *path, const char *what,
			    size_t values, size_t rows)
{
	if (values > 0)
		np_note_add(&load->detail->notes, np_note_of_loss(values, rows), load->rank->id,
			    path, what,
			    "%zu values of its %zu rows are impossible: they count as unknown",
			    values, rows);
}

/* --- operators -------------------------------------------------------------------------------- */

/*
 * The operators of a detail are those of the rank, so that the two never
 * disagree about what there was; the files only add columns.
 */
static int copy_text(struct detail_load *load, np_str from, np_str *ret)
{
	*ret = NP_STR_NONE;
	if (from == NP_STR_NONE)
		return NP_OK;
	return np_strtab_add(load->detail->strings, np_strtab_text(load->run_strings, from),
			     np_strtab_length(load->run_strings, from), ret, load->err);
}

static int copy_data_type(struct detail_load *load, uint8_t kept, np_str *ret)
{
	const char *name = hccl_type_name(kept);

	return detail_intern(load, name, strlen(name), ret);
}

static int copy_op(struct detail_load *load, const struct np_comm_op *from)
{
	const struct np_group *group = &load->rank->groups.item[from->group];
	struct np_detail_op *op = np_vec_add(&load->detail->ops, load->err);
	int rc;

	if (!op)
		return NP_E_NOMEM;
	*op = (struct np_detail_op){ .start = from->start,
				     .end = from->end,
				     .op_id = NP_UNKNOWN,
				     .connection = NP_UNKNOWN,
				     .count = NP_UNKNOWN,
				     .bytes = from->bytes,
				     .relay = NP_UNKNOWN,
				     .retry = NP_UNKNOWN,
				     .group_hash = group->hash,
				     .group = from->group,
				     .step = from->step,
				     .device = from->device,
				     .p2p = from->p2p };
	rc = copy_text(load, from->name, &op->name);
	if (rc == NP_OK)
		rc = copy_text(load, from->type, &op->type);
	if (rc == NP_OK)
		rc = copy_text(load, group->name, &op->group_name);
	if (rc == NP_OK)
		rc = copy_data_type(load, from->data_type, &op->data_type);
	return rc;
}

/* detail_ops.c: operators from the rank, to be completed by readers. */
static int detail_copy_ops(struct detail_load *load)
{
	int rc = NP_OK;

	/* Tasks are distinguished by the operators they belong to. */
	if (!detail_wants(load, NP_DETAIL_OPS | NP_DETAIL_TASKS | NP_DETAIL_SUB_TASKS |
					NP_DETAIL_KERNELS))
		return NP_OK;
	for (size_t i = 0; i < load->rank->ops.count && rc == NP_OK; i++)
		rc = copy_op(load, &load->rank->ops.item[i]);
	if (load->rank->ops.count > 0)
		load->detail->has |= load->asked & NP_DETAIL_OPS;
	return rc;
}

uint32_t detail_find_op(const struct detail_load *load, np_ns start, np_str name)
{
	const struct np_detail *detail = load->detail;
	size_t low = 0;
	size_t high = detail->ops.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (detail->ops.item[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < detail->ops.count && detail->ops.item[low].start == start; low++) {
		if (detail->ops.item[low].name == name)
			return (uint32_t)low;
	}
	return NP_NO_ROW;
}

/* --- loading --------------------------------------------------------------------------------- */

struct np_detail *np_detail_new(const struct np_rank *rank)
{
	struct np_detail *detail = calloc(1, sizeof(*detail));

	if (!detail)
		return NULL;
	detail->rank = rank;
	detail->id = rank->id;
	detail->device = (struct np_device_info){ .ai_cores = NP_UNKNOWN,
						  .vector_cores = NP_UNKNOWN,
						  .aic_mhz = NP_UNKNOWN,
						  .aiv_mhz = NP_UNKNOWN };
	detail->strings = np_strtab_new();
	detail->arena = np_arena_new();
	if (!detail->strings || !detail->arena) {
		np_detail_free(detail);
		return NULL;
	}
	return detail;
}

/* Sections that are needed to fill others. */
static unsigned complete(unsigned wants)
{
	if (wants & NP_DETAIL_PMU)
		wants |= NP_DETAIL_KERNELS;
	if (wants & NP_DETAIL_LAUNCHES)
		wants |= NP_DETAIL_KERNELS;
	if (wants & NP_DETAIL_SUB_TASKS)
		wants |= NP_DETAIL_OPS;
	if (wants & DETAIL_OF_FRAMEWORK)
		wants |= NP_DETAIL_FRAMEWORK;
	return wants;
}

static int read_everything(struct detail_load *load)
{
	int rc = detail_copy_ops(load);

	if (rc == NP_OK && load->source->file[NP_FILE_RANK_DB])
		rc = detail_read_db(load);
	if (rc == NP_OK && !load->db_used && load->source->file[NP_FILE_KERNELS])
		rc = detail_read_kernels(load);
	/* Rows of msMonitor's lines are not listed. */
	if (rc == NP_OK && !load->db_used && load->source->file[NP_FILE_TRACE] &&
	    load->source->kind != NP_KIND_MSMONITOR)
		rc = detail_read_trace(load);
	if (rc == NP_OK && load->source->file[NP_FILE_KINETO])
		rc = detail_read_kineto(load);
	if (rc == NP_OK)
		rc = detail_read_memory(load);
	if (rc == NP_OK)
		rc = detail_read_settings(load);
	if (rc == NP_OK)
		rc = detail_finish(load);
	return rc;
}

static void see_serving(struct np_detail *detail)
{
	for (size_t i = 0; i < detail->kernels.count; i++) {
		struct np_kernel *kernel = &detail->kernels.item[i];
		const char *name = np_detail_text(detail, kernel->name);

		kernel->serves = name && vendor_is_communication_kernel(
						 (struct np_slice){ name, strlen(name) });
	}
}

static void note_oddities(struct detail_load *load)
{
	if (load->impossible_times)
		np_note_add(&load->detail->notes,
			    np_note_of_loss(load->impossible_times, load->times), load->rank->id,
			    load->rank->path, "rows", "%zu have impossible times and were left out",
			    load->impossible_times);
}

int np_detail_load(const struct np_run *run, size_t index, unsigned wants, struct np_detail **ret,
		   struct np_err *err)
{
	const struct np_rank *rank = run->ranks ? run->ranks[index] : NULL;
	struct np_err own = NP_ERR_INIT;
	struct detail_load load = {
		.rank = rank,
		.source = &run->sources.item[index],
		.run_strings = run->strings,
		.wants = complete(wants),
		.session = VENDOR_ANY_TIME,
		.asked = complete(wants),
		.err = err ? err : &own,
	};
	int rc;

	if (!rank)
		return np_fail(load.err, NP_E_NOTFOUND, "rank %d was not loaded",
			       load.source->rank);
	if (run->distributed && run->distributed_calls->detail_comes(run, index, wants))
		return run->distributed_calls->take_detail(run, index, ret, load.err);
	load.detail = np_detail_new(rank);
	if (!load.detail)
		return np_fail_nomem(load.err, rank->path);
	rc = read_everything(&load);
	np_numbers_release(&load.settings);
	if (rc < 0) {
		np_detail_free(load.detail);
		return rc;
	}
	see_serving(load.detail);
	note_oddities(&load);
	*ret = load.detail;
	return NP_OK;
}

void np_detail_free(struct np_detail *detail)
{
	if (!detail)
		return;
	np_vec_release(&detail->kernels);
	np_vec_release(&detail->tasks);
	np_vec_release(&detail->calls);
	np_vec_release(&detail->framework);
	np_vec_release(&detail->links);
	np_vec_release(&detail->dispatches);
	np_vec_release(&detail->operators);
	np_vec_release(&detail->marks);
	np_vec_release(&detail->ops);
	np_vec_release(&detail->sub_tasks);
	np_vec_release(&detail->frequency);
	np_vec_release(&detail->gc);
	np_vec_release(&detail->memory_ops);
	np_vec_release(&detail->memory_curve);
	np_vec_release(&detail->memory_events);
	np_vec_release(&detail->static_memory);
	np_vec_release(&detail->settings);
	free(detail->pmu);
	np_notes_release(&detail->notes);
	np_arena_free(detail->arena);
	np_strtab_free(detail->strings);
	free(detail);
}

void np_detail_freep(struct np_detail **detail)
{
	np_detail_free(*detail);
	*detail = NULL;
}

/* --- asking ---------------------------------------------------------------------------------- */

const char *np_detail_text(const struct np_detail *detail, np_str id)
{
	return id == NP_STR_NONE ? NULL : np_strtab_text(detail->strings, id);
}

const char *np_detail_setting(const struct np_detail *detail, const char *name)
{
	for (size_t i = 0; i < detail->settings.count; i++) {
		const struct np_setting *setting = &detail->settings.item[i];

		if (strcmp(np_strtab_text(detail->strings, setting->name), name) == 0)
			return np_strtab_text(detail->strings, setting->value);
	}
	return NULL;
}

uint32_t np_detail_counter(const struct np_detail *detail, const char *name)
{
	for (uint32_t i = 0; i < detail->pmu_count; i++) {
		if (strcmp(np_strtab_text(detail->strings, detail->pmu_names[i]), name) == 0)
			return i;
	}
	return NP_NO_ROW;
}
