/* SPDX-License-Identifier: Apache-2.0 */
/* Writes truth.json: what was planted, and what a right analysis must find (truth.h). */
#include "truth.h"

#include <inttypes.h>

#include "sim/synth/out/json_file.h"

static int note_tokens(struct syn_truth *truth, int64_t tokens, struct np_err *err)
{
	size_t count = truth->works.count;

	if ((truth->exchanged || count == truth->first_work) && !np_vec_add(&truth->works, err))
		return NP_E_NOMEM;
	truth->exchanged = false;
	truth->works.item[truth->works.count - 1].tokens += tokens;
	return NP_OK;
}

static int note_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct syn_truth *truth = (struct syn_truth *)sink;
	int rc = syn_account_task(&truth->account, task, err);

	if (rc == NP_OK && task->kind == SYN_TASK_KERNEL && task->model->experts)
		rc = note_tokens(truth, task->tokens, err);
	return rc;
}

static int note_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct syn_truth *truth = (struct syn_truth *)sink;
	int rc = syn_account_comm(&truth->account, comm, err);

	if (comm->op == SYN_ALL_TO_ALL_V)
		truth->exchanged = true;
	if (rc == NP_OK)
		rc = syn_bubble_comm(&truth->bubble, truth->config, &truth->place, comm, err);
	return rc;
}

static int note_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct syn_truth *truth = (struct syn_truth *)sink;
	struct syn_truth_step *slot = np_vec_add(&truth->steps, err);

	if (!slot)
		return NP_E_NOMEM;
	slot->id = step->id;
	slot->start_ns = step->start_ns;
	slot->end_ns = step->end_ns;
	slot->first_work = truth->first_work;
	truth->first_work = truth->works.count;
	syn_intervals_join(&truth->account.computing);
	syn_bubble_close(&truth->bubble, &truth->account.computing, &slot->bubble);
	return syn_account_close(&truth->account, step->start_ns, &slot->totals, err);
}

static int note_caching(struct syn_sink *sink, const struct syn_caching *caching,
			struct np_err *err)
{
	struct syn_truth *truth = (struct syn_truth *)sink;

	(void)err;
	truth->peak_allocated = caching->most_allocated;
	truth->peak_reserved = caching->most_reserved;
	return NP_OK;
}

void syn_truth_init(struct syn_truth *truth, const struct syn_config *config, int32_t rank)
{
	*truth = (struct syn_truth){ .config = config, .place = syn_place_of(config, rank) };
	truth->base.task = note_task;
	truth->base.comm = note_comm;
	truth->base.step = note_step;
	truth->base.caching = note_caching;
	truth->peak_allocated = truth->peak_reserved = NP_UNKNOWN;
}

void syn_truth_release(struct syn_truth *truth)
{
	syn_account_release(&truth->account);
	syn_bubble_release(&truth->bubble);
	np_vec_release(&truth->steps);
	np_vec_release(&truth->works);
}

static void put_config(struct np_jsonout *out, const struct syn_config *config)
{
	np_jsonout_object(out, "config");
	np_jsonout_text(out, "schedule", syn_schedule_names[config->schedule]);
	np_jsonout_integer(out, "ranks", config->ranks);
	np_jsonout_integer(out, "hosts", config->hosts);
	np_jsonout_integer(out, "ranks_per_host", config->per_host);
	np_jsonout_integer(out, "steps", config->steps);
	np_jsonout_integer(out, "first_step", config->first_step);
	np_jsonout_integer(out, "tp", config->tp);
	np_jsonout_integer(out, "cp", config->cp);
	np_jsonout_integer(out, "dp", config->dp);
	np_jsonout_integer(out, "pp", config->pp);
	np_jsonout_integer(out, "ep", config->ep);
	np_jsonout_integer(out, "micro_batches", config->micro_batches);
	np_jsonout_integer(out, "layers", config->layers);
	np_jsonout_integer(out, "kernels_per_layer", config->kernels);
	np_jsonout_integer(out, "buckets", config->buckets);
	np_jsonout_text(out, "p2p", config->batched_p2p ? "batch" : "sendrecv");
	np_jsonout_text(out, "grads", config->shard_grads ? "scatter" : "allreduce");
	np_jsonout_integer(out, "level", config->level);
	np_jsonout_text(out, "schema", config->schema ? "1.2.0" : "1.0.0");
	np_jsonout_bool(out, "step_marks", !config->no_steps);
	np_jsonout_end(out);
}

static void put_noise(struct np_jsonout *out, const struct syn_config *config)
{
	np_jsonout_object(out, "noise");
	np_jsonout_real(out, "scale", config->noise);
	np_jsonout_real(out, "kernel_sigma", 0.05 * config->noise);
	np_jsonout_real(out, "step_sigma", 0.01 * config->noise);
	np_jsonout_real(out, "host_sigma", 0.15 * config->noise);
	np_jsonout_real(out, "link_sigma", 0.03 * config->noise);
	np_jsonout_real(out, "end_mean_ns", 10000.0 * config->noise);
	np_jsonout_end(out);
}

static void put_plant(struct np_jsonout *out, const struct syn_plant *plant)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "plant", plant->kind->name);
	np_jsonout_text(out, "argument", plant->argument);
	if (plant->rank >= 0)
		np_jsonout_integer(out, "rank", plant->rank);
	if (plant->peer >= 0)
		np_jsonout_integer(out, "peer", plant->peer);
	if (plant->stage >= 0)
		np_jsonout_integer(out, "stage", plant->stage);
	if (plant->host >= 0)
		np_jsonout_integer(out, "host", plant->host);
	if (plant->every > 1)
		np_jsonout_integer(out, "every", plant->every);
	if (plant->factor != 1.0)
		np_jsonout_real(out, "factor", plant->factor);
	if (plant->amount != 0.0)
		np_jsonout_real(out, "amount", plant->amount);
	if (plant->kind->clock_applies) {
		np_jsonout_integer(out, "offset_ns", plant->offset_ns);
		np_jsonout_real(out, "drift_ppm", plant->drift_ppm);
	}
	np_jsonout_end(out);
}

static void put_hash(struct np_jsonout *out, const char *key, uint64_t hash)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, hash);
	np_jsonout_text(out, key, text);
}

static void put_groups(struct np_jsonout *out, const struct syn_groups *groups)
{
	np_jsonout_array(out, "groups");
	for (size_t i = 0; i < groups->all.count; i++) {
		const struct syn_group *group = &groups->all.item[i];

		np_jsonout_object_line(out, NULL);
		put_hash(out, "group", group->hash);
		np_jsonout_text(out, "name", group->name);
		np_jsonout_text(out, "pg_name", group->pg_name);
		np_jsonout_array_line(out, "ranks");
		for (int32_t k = 0; k < group->size; k++)
			np_jsonout_integer(out, NULL, group->ranks[k]);
		np_jsonout_end(out);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_bubble(struct np_jsonout *out, const struct syn_bubble *bubble)
{
	np_jsonout_object_line(out, "pipeline");
	np_jsonout_integer(out, "useful_ns", bubble->useful_ns);
	np_jsonout_integer(out, "other_comm_ns", bubble->other_comm_ns);
	np_jsonout_integer(out, "warmup_ns", bubble->warmup_ns);
	np_jsonout_integer(out, "imbalance_ns", bubble->imbalance_ns);
	np_jsonout_integer(out, "transfer_ns", bubble->transfer_ns);
	np_jsonout_integer(out, "host_ns", bubble->host_ns);
	np_jsonout_integer(out, "tail_ns", bubble->tail_ns);
	np_jsonout_end(out);
}

/* From the first start in a step to that in the next; the last step has none. */
static np_ns iteration_of(const struct syn_truth *truth, size_t index)
{
	const struct syn_truth_step *step = &truth->steps.item[index];

	if (index + 1 >= truth->steps.count || step[1].id != step->id + 1 ||
	    step->totals.begin_ns == NP_UNKNOWN || step[1].totals.begin_ns == NP_UNKNOWN)
		return NP_UNKNOWN;
	return step[1].totals.begin_ns - step->totals.begin_ns;
}

static void put_step(struct np_jsonout *out, const struct syn_truth *truth, size_t index,
		     bool pipeline)
{
	const struct syn_truth_step *step = &truth->steps.item[index];
	np_ns iteration = iteration_of(truth, index);
	const struct syn_totals *totals = &step->totals;
	char id[24];

	(void)snprintf(id, sizeof(id), "%" PRId64, step->id);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "step", step->id == NP_UNKNOWN ? NULL : id);
	np_jsonout_integer(out, "computing_ns", totals->computing_ns);
	np_jsonout_integer(out, "communication_ns", totals->communication_ns);
	np_jsonout_integer(out, "communication_not_overlapped_ns", totals->exposed_ns);
	np_jsonout_integer(out, "overlapped_ns", totals->overlapped_ns);
	np_jsonout_integer(out, "free_ns", totals->free_ns);
	np_jsonout_integer(out, "bubble_ns", totals->bubble_ns);
	np_jsonout_integer(out, "stage_ns", totals->stage_ns);
	np_jsonout_integer(out, "preparing_ns", totals->preparing_ns);
	np_jsonout_integer(out, "span_ns", totals->span_ns);
	np_jsonout_integer(out, "iteration_ns", iteration);
	np_jsonout_integer(out, "between_ns",
			   iteration == NP_UNKNOWN ? NP_UNKNOWN : iteration - totals->span_ns);
	np_jsonout_integer(out, "host_step_ns",
			   step->id == NP_UNKNOWN ? NP_UNKNOWN : step->end_ns - step->start_ns);
	if (pipeline)
		put_bubble(out, &step->bubble);
	np_jsonout_end(out);
}

static void put_rank(struct np_jsonout *out, const struct syn_timeline *timeline, int32_t rank,
		     const struct syn_truth *truth)
{
	struct syn_rank_info info = syn_rank_info_of(timeline, rank);

	np_jsonout_object(out, NULL);
	np_jsonout_integer(out, "rank", rank);
	np_jsonout_text(out, "host", info.host);
	np_jsonout_integer(out, "device", info.place.device);
	np_jsonout_integer(out, "tp", info.place.tp);
	np_jsonout_integer(out, "cp", info.place.cp);
	np_jsonout_integer(out, "dp", info.place.dp);
	np_jsonout_integer(out, "pp", info.place.pp);
	np_jsonout_bool(out, "written", syn_is_written(timeline->config, rank));
	np_jsonout_integer(out, "clock_offset_ns", info.clock.offset_ns);
	np_jsonout_real(out, "clock_drift_ppm", info.clock.drift_ppm);
	if (truth->peak_allocated != NP_UNKNOWN) {
		np_jsonout_integer(out, "peak_allocated_bytes", truth->peak_allocated);
		np_jsonout_integer(out, "peak_reserved_bytes", truth->peak_reserved);
	}
	np_jsonout_array(out, "steps");
	for (size_t i = 0; i < truth->steps.count; i++)
		put_step(out, truth, i, timeline->config->pp > 1);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* Tokens that a rank's experts got in the k-th exchange of a step; 0 beyond the last. */
static int64_t tokens_in(const struct syn_truth *truth, size_t step, size_t k)
{
	size_t end = step + 1 < truth->steps.count ? truth->steps.item[step + 1].first_work
						   : truth->works.count;
	size_t index;

	if (step >= truth->steps.count)
		return 0;
	index = truth->steps.item[step].first_work + k;
	return index < end ? truth->works.item[index].tokens : 0;
}

static int64_t most_tokens(const struct syn_group *group, const struct syn_truth *truths,
			   size_t step, size_t k)
{
	int64_t most = 0;

	for (int32_t i = 0; i < group->size; i++) {
		int64_t tokens = tokens_in(&truths[group->ranks[i]], step, k);

		most = tokens > most ? tokens : most;
	}
	return most;
}

/* A rank's experts in a step: their tokens, and what the busiest of the group had beyond them. */
static void put_expert(struct np_jsonout *out, const struct syn_timeline *timeline,
		       const struct syn_group *group, int32_t rank, const struct syn_truth *truths,
		       size_t step)
{
	const struct syn_truth *truth = &truths[rank];
	const struct syn_config *config = timeline->config;
	double work = syn_work_factor(config, &truth->place, (int64_t)step);
	size_t exchanges = truth->works.count;
	int64_t tokens = 0;
	int64_t fewer = 0;
	char id[24];

	for (size_t k = 0; k < exchanges; k++) {
		int64_t own = tokens_in(truth, step, k);

		tokens += own;
		fewer += own > 0 ? most_tokens(group, truths, step, k) - own : 0;
	}
	(void)snprintf(id, sizeof(id), "%" PRId64, truth->steps.item[step].id);
	np_jsonout_object_line(out, NULL);
	put_hash(out, "group", group->hash);
	np_jsonout_text(out, "step", truth->steps.item[step].id == NP_UNKNOWN ? NULL : id);
	np_jsonout_integer(out, "rank", rank);
	np_jsonout_integer(out, "tokens", tokens);
	np_jsonout_integer(out, "lost_ns",
			   (int64_t)((double)fewer * SYN_NS_PER_TOKEN * work / (double)config->tp));
	np_jsonout_end(out);
}

static void put_experts(struct np_jsonout *out, const struct syn_timeline *timeline,
			const struct syn_truth *truths)
{
	np_jsonout_array(out, "experts");
	for (int32_t rank = 0; rank < timeline->config->ranks; rank++) {
		int32_t group = syn_group_of(&timeline->groups, rank, SYN_ROLE_EXP);

		for (size_t step = 0; group >= 0 && step < truths[rank].steps.count; step++)
			put_expert(out, timeline, &timeline->groups.all.item[group], rank, truths,
				   step);
	}
	np_jsonout_end(out);
}

/* How many members began before this one: 0 for the first, members - 1 for the last. */
static int32_t arrival_order(const struct syn_slot *slots, int32_t count, int32_t index)
{
	int32_t earlier = 0;

	for (int32_t i = 0; i < count; i++) {
		bool before = slots[i].start_ns < slots[index].start_ns ||
			      (slots[i].start_ns == slots[index].start_ns && i < index);

		earlier += before ? 1 : 0;
	}
	return earlier;
}

static const char *instance_op(const struct syn_instance *instance)
{
	if (instance->op == SYN_SEND || instance->op == SYN_RECEIVE)
		return "send/receive";
	return syn_op_word((enum syn_op)instance->op);
}

static void put_members(struct np_jsonout *out, const struct syn_timeline *timeline,
			const struct syn_instance *instance)
{
	const struct syn_slot *slots = &timeline->slots[instance->first_slot];

	np_jsonout_array(out, "members");
	for (int32_t i = 0; i < instance->members; i++) {
		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "rank", syn_member_rank(timeline, instance, i));
		np_jsonout_integer(out, "start_ns", slots[i].start_ns);
		np_jsonout_integer(out, "end_ns", slots[i].end_ns);
		np_jsonout_integer(out, "wait_ns", instance->arrival_ns - slots[i].start_ns);
		np_jsonout_integer(out, "arrival", arrival_order(slots, instance->members, i));
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_instance(struct np_jsonout *out, const struct syn_timeline *timeline,
			 const struct syn_instance *instance, int64_t id)
{
	const struct syn_group *group = &timeline->groups.all.item[instance->group];
	bool equal = instance->op != SYN_ALL_TO_ALL_V || !instance->combine;
	char step[24];

	(void)snprintf(step, sizeof(step), "%" PRId64,
		       timeline->config->first_step + instance->step);
	np_jsonout_object(out, NULL);
	np_jsonout_integer(out, "id", id);
	put_hash(out, "group", group->hash);
	np_jsonout_text(out, "group_name", group->name);
	np_jsonout_text(out, "pg_name", group->pg_name);
	np_jsonout_text(out, "op", instance_op(instance));
	np_jsonout_integer(out, "bytes", equal ? instance->bytes : NP_UNKNOWN);
	np_jsonout_text(out, "step", step);
	np_jsonout_integer(out, "last_arrival_ns", instance->arrival_ns);
	np_jsonout_integer(out, "transfer_ns", instance->transfer_ns);
	put_members(out, timeline, instance);
	np_jsonout_end(out);
}

static void put_instances(struct np_jsonout *out, const struct syn_timeline *timeline)
{
	size_t count = timeline->per_step * (size_t)timeline->config->steps;

	np_jsonout_array(out, "instances");
	for (size_t i = 0; i < count; i++) {
		if (timeline->instances[i].members > 0)
			put_instance(out, timeline, &timeline->instances[i], (int64_t)i);
	}
	np_jsonout_end(out);
}

int syn_truth_write(const struct syn_timeline *timeline, const struct syn_truth *truths,
		    struct np_err *err)
{
	const struct syn_config *config = timeline->config;
	struct syn_json_file json;
	struct np_jsonout *out = &json.out;
	int rc = syn_json_open(&json, config->out, "truth.json", err);

	if (rc < 0)
		return rc;
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", "npuprof.truth/1");
	np_jsonout_bool(out, "simulated", true);
	np_jsonout_integer(out, "seed", (int64_t)config->seed);
	np_jsonout_integer(out, "epoch_ns", SYN_EPOCH_NS);
	put_config(out, config);
	put_noise(out, config);
	np_jsonout_array(out, "planted");
	for (size_t i = 0; i < config->plants.count; i++)
		put_plant(out, &config->plants.item[i]);
	np_jsonout_end(out);
	put_groups(out, &timeline->groups);
	np_jsonout_array(out, "ranks");
	for (int32_t rank = 0; rank < config->ranks; rank++)
		put_rank(out, timeline, rank, &truths[rank]);
	np_jsonout_end(out);
	put_experts(out, timeline, truths);
	if (!config->no_instances)
		put_instances(out, timeline);
	np_jsonout_end(out);
	return syn_json_close(&json, err);
}
