/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a recording of the simulator into the stream that the writers of npuprof-synth take. */
#include "convert.h"
#include "join.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/npusim/raw.h"

/* Bits of the mask that decide what a level is (acl_prof.h). */
#define MASK_TASK_TIME   0x0002
#define MASK_HCCL_TRACE  0x0020
#define MASK_RUNTIME_API 0x0100

struct msp_launch *msp_add_launch(struct msp_join *join, enum msp_launch_kind kind, np_ns at)
{
	struct msp_launch *launch = np_vec_add(&join->conversion->launches, join->err);

	if (launch)
		*launch = (struct msp_launch){
			.at = at,
			.kind = (uint8_t)kind,
			.number = (uint32_t)join->conversion->launches.count,
		};
	return launch;
}

np_ns msp_launch_time(struct msp_join *join, int64_t connection, np_ns start)
{
	uint32_t call = connection == NPUSIM_NO_ID ? NP_IDMAP_NONE
						   : np_idmap_get(join->call_index, connection);

	return call == NP_IDMAP_NONE ? start : join->recording->apis.item[call].end;
}

static int by_turn(const void *a, const void *b)
{
	const struct msp_launch *x = a;
	const struct msp_launch *y = b;

	if (x->at != y->at)
		return np_order(x->at, y->at);
	if (x->kind != y->kind)
		return np_order(x->kind, y->kind);
	return np_order(x->number, y->number);
}

static int join_calls(struct msp_join *join)
{
	for (size_t i = 0; i < join->recording->apis.count; i++) {
		struct msp_launch *launch =
			msp_add_launch(join, MSP_LAUNCH_CALL, join->recording->apis.item[i].start);

		if (!launch)
			return NP_E_NOMEM;
		launch->index = (uint32_t)i;
	}
	return NP_OK;
}

/* Ids of one kind of record to its index. */
#define INDEX(join, map, list, member) \
	for (size_t i_ = 0; i_ < (join)->recording->list.count && rc == NP_OK; i_++) \
	rc = np_idmap_set((map), (join)->recording->list.item[i_].member, (uint32_t)i_, (join)->err)

static int index_records(struct msp_join *join)
{
	int rc = NP_OK;

	join->task_index = np_idmap_new();
	join->kernel_model = np_idmap_new();
	join->call_index = np_idmap_new();
	join->op_index = np_idmap_new();
	join->copy_index = np_idmap_new();
	join->pmu_index = np_idmap_new();
	join->in_op = calloc(join->recording->tasks.count + 1, sizeof(*join->in_op));
	if (!join->task_index || !join->kernel_model || !join->call_index || !join->op_index ||
	    !join->copy_index || !join->pmu_index || !join->in_op)
		return np_fail_nomem(join->err, "the recording");
	INDEX(join, join->task_index, tasks, id);
	INDEX(join, join->call_index, apis, connection);
	INDEX(join, join->op_index, ops, id);
	INDEX(join, join->copy_index, copies, task);
	return rc;
}

static void release_join(struct msp_join *join)
{
	np_idmap_free(join->task_index);
	np_idmap_free(join->kernel_model);
	np_idmap_free(join->call_index);
	np_idmap_free(join->op_index);
	np_idmap_free(join->copy_index);
	np_idmap_free(join->pmu_index);
	free(join->in_op);
}

static int join_records(struct msp_join *join)
{
	struct msp_conversion *conversion = join->conversion;
	int rc = index_records(join);

	if (rc == NP_OK)
		rc = join_calls(join);
	if (rc == NP_OK)
		rc = msp_join_ops(join);
	if (rc == NP_OK)
		rc = msp_join_tasks(join);
	if (conversion->launches.count > 0)
		qsort(conversion->launches.item, conversion->launches.count,
		      sizeof(conversion->launches.item[0]), by_turn);
	return rc;
}

/* The level whose bits are all there, as the mask decides what each record holds. */
static int64_t level_of(int64_t mask)
{
	if (!(mask & MASK_TASK_TIME) || !(mask & MASK_HCCL_TRACE))
		return 0;
	return mask & MASK_RUNTIME_API ? 2 : 1;
}

/* Which of CANN's schemas to write: NPUSIM_SCHEMA=old gives 1.0, else 1.2. */
static bool msp_wants_old_schema(void)
{
	const char *schema = getenv("NPUSIM_SCHEMA");

	return schema && strcmp(schema, "old") == 0;
}

static void fill_info(struct msp_conversion *conversion)
{
	const struct msp_recording *recording = conversion->recording;
	time_t seconds = (time_t)(recording->start / 1000000000);
	struct tm when = { 0 };

	syn_config_init(&conversion->config);
	conversion->config.level = level_of(recording->mask);
	conversion->config.schema = msp_wants_old_schema() ? 0 : 1;
	conversion->config.pmu = recording->counters.count > 0;
	conversion->config.marks = recording->marks.count > 0;
	conversion->config.samples = recording->samples.count > 0;
	conversion->config.no_steps = true;
	conversion->config.no_rank_id = recording->rank < 0;
	(void)localtime_r(&seconds, &when);
	(void)strftime(conversion->stamp, sizeof(conversion->stamp), "%Y%m%d%H%M%S", &when);
	conversion->recorded = (struct syn_recorded){
		.soc = msp_or_none(recording->soc),
		.session_start_ns = recording->start,
		.session_end_ns = recording->end,
		.frequencies = conversion->frequencies.item,
		.frequency_count = conversion->frequencies.count,
		.samples = conversion->samples.item,
		.sample_count = conversion->samples.count,
		.details = conversion->details.item,
	};
	conversion->info = (struct syn_rank_info){
		.config = &conversion->config,
		.groups = &conversion->groups,
		.place = { .rank = (int32_t)recording->rank, .device = (int32_t)recording->device },
		.pid = recording->pid,
		.form = &conversion->form,
		.models = conversion->models.item,
		.model_count = conversion->models.count,
		.recorded = &conversion->recorded,
		.stamp = conversion->stamp,
	};
	(void)snprintf(conversion->info.host, sizeof(conversion->info.host), "%s",
		       msp_or_none(recording->host));
	(void)snprintf(conversion->info.host_uid, sizeof(conversion->info.host_uid), "%s",
		       msp_or_none(recording->host_uid));
}

static int copy_frequencies(struct msp_conversion *conversion, struct np_err *err)
{
	for (size_t i = 0; i < conversion->recording->frequencies.count; i++) {
		const struct msp_frequency *from = &conversion->recording->frequencies.item[i];
		struct syn_frequency *to = np_vec_add(&conversion->frequencies, err);

		if (!to)
			return NP_E_NOMEM;
		*to = (struct syn_frequency){ from->at, from->mhz, from->die };
	}
	return NP_OK;
}

static int copy_samples(struct msp_conversion *conversion, struct np_err *err)
{
	static const enum syn_sample_kind kinds[] = {
		[MSP_SAMPLE_DEVICE] = SYN_SAMPLE_DEVICE,
		[MSP_SAMPLE_MODULE] = SYN_SAMPLE_MODULE,
		[MSP_SAMPLE_OP] = SYN_SAMPLE_OP,
	};

	for (size_t i = 0; i < conversion->recording->samples.count; i++) {
		const struct msp_sample *from = &conversion->recording->samples.item[i];
		struct syn_sample *to = np_vec_add(&conversion->samples, err);

		if (!to)
			return NP_E_NOMEM;
		*to = (struct syn_sample){ .kind = kinds[from->kind],
					   .at_ns = from->at,
					   .bytes = from->bytes,
					   .module = from->module,
					   .name = msp_or_none(from->name),
					   .thread = from->thread,
					   .address = from->address,
					   .total = from->total,
					   .reserved = from->reserved };
	}
	return NP_OK;
}

/* Characters that end a string of JSON: the recording is ours, so it is changed in place. */
static void make_fit(const char *text)
{
	for (size_t i = 0; text && text[i]; i++) {
		if (text[i] == '"' || text[i] == '\\' || (unsigned char)text[i] < ' ')
			((char *)(uintptr_t)text)[i] = '_';
	}
}

static void make_names_fit(struct msp_recording *recording)
{
	for (size_t i = 0; i < recording->apis.count; i++)
		make_fit(recording->apis.item[i].name);
	for (size_t i = 0; i < recording->kernels.count; i++)
		make_fit(recording->kernels.item[i].name);
	for (size_t i = 0; i < recording->ops.count; i++) {
		make_fit(recording->ops.item[i].name);
		make_fit(recording->ops.item[i].group);
	}
}

int msp_conversion_init(struct msp_conversion *conversion, struct msp_recording *recording,
			bool text, struct np_err *err)
{
	struct msp_join join = { .conversion = conversion, .recording = recording, .err = err };
	int rc;

	*conversion = (struct msp_conversion){ .recording = recording, .arena = np_arena_new() };
	conversion->form = (struct syn_form){ SYN_MSPROF, .db = !text, .text = text };
	if (text)
		make_names_fit(recording);
	rc = conversion->arena ? join_records(&join) : np_fail_nomem(err, "the recording");
	release_join(&join);
	if (rc == NP_OK)
		rc = copy_frequencies(conversion, err);
	if (rc == NP_OK)
		rc = copy_samples(conversion, err);
	if (rc == NP_OK)
		fill_info(conversion);
	return rc;
}

void msp_conversion_release(struct msp_conversion *conversion)
{
	np_vec_release(&conversion->models);
	np_vec_release(&conversion->details);
	np_vec_release(&conversion->frequencies);
	np_vec_release(&conversion->samples);
	np_vec_release(&conversion->launches);
	np_vec_release(&conversion->groups.all);
	np_arena_free(conversion->arena);
}

/* --- telling --------------------------------------------------------------------------------- */

struct teller {
	const struct msp_conversion *conversion;
	struct syn_sink *const *sinks;
	size_t count;
	int64_t next_task;
	struct np_err *err;
};

/* Call one function of all sinks that have it. */
#define TELL(teller, function, event) \
	__extension__({ \
		int told_ = NP_OK; \
		for (size_t i_ = 0; i_ < (teller)->count && told_ == NP_OK; i_++) { \
			struct syn_sink *sink_ = (teller)->sinks[i_]; \
			if (sink_->function) \
				told_ = sink_->function(sink_, (event), (teller)->err); \
		} \
		told_; \
	})

static enum syn_api_level api_level(int64_t type)
{
	switch (type) {
	case NPUSIM_API_NODE:
		return SYN_API_NODE;
	case NPUSIM_API_COMM:
		return SYN_API_COMM;
	case NPUSIM_API_RUNTIME:
		return SYN_API_RUNTIME;
	default:
		return SYN_API_ACL;
	}
}

static int tell_call(struct teller *teller, const struct msp_api *call)
{
	const struct syn_api api = { .level = api_level(call->type),
				     .name = msp_or_none(call->name),
				     .start_ns = call->start,
				     .end_ns = call->end,
				     .connection = call->connection,
				     .thread = call->thread };

	return TELL(teller, api, &api);
}

static int tell_launch(struct teller *teller, const struct msp_launch *launch)
{
	struct syn_task task;
	struct syn_comm_event comm;

	switch ((enum msp_launch_kind)launch->kind) {
	case MSP_LAUNCH_CALL:
		break;
	case MSP_LAUNCH_TASK:
		task = launch->task;
		task.id = teller->next_task++;
		return TELL(teller, task, &task);
	case MSP_LAUNCH_OP:
		comm = launch->comm;
		comm.first_id = teller->next_task;
		teller->next_task += (int64_t)comm.task_count;
		return TELL(teller, comm, &comm);
	}
	return tell_call(teller, &teller->conversion->recording->apis.item[launch->index]);
}

static int tell_mark(struct teller *teller, const struct msp_mark *from)
{
	const struct syn_mark mark = { .start_ns = from->start,
				       .end_ns = from->end,
				       .type = from->type,
				       .range = from->range,
				       .category = from->category,
				       .thread = from->thread,
				       .end_thread = from->end_thread,
				       .domain = msp_or_none(from->domain),
				       .message = msp_or_none(from->message),
				       .connection = from->connection };

	return TELL(teller, mark, &mark);
}

int msp_conversion_tell(const struct msp_conversion *conversion, struct syn_sink *const *sinks,
			size_t count, struct np_err *err)
{
	struct teller teller = { conversion, sinks, count, 0, err };
	int rc = NP_OK;

	for (size_t i = 0; i < conversion->launches.count && rc == NP_OK; i++)
		rc = tell_launch(&teller, &conversion->launches.item[i]);
	for (size_t i = 0; i < conversion->recording->marks.count && rc == NP_OK; i++)
		rc = tell_mark(&teller, &conversion->recording->marks.item[i]);
	return rc;
}
