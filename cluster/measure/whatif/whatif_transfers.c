/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include <inttypes.h>

/* The transfer of an instance, with what makes it like others. */
struct transfer {
	np_str type;
	np_str role;
	uint32_t count;
	uint32_t instance;
	int64_t bytes;
	np_ns time;
};

static int order_alike(const struct transfer *a, const struct transfer *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->role != b->role)
		return a->role < b->role ? -1 : 1;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return np_order(a->bytes, b->bytes);
}

static int by_likeness(const void *left, const void *right)
{
	const struct transfer *a = left;
	const struct transfer *b = right;
	int order = order_alike(a, b);

	if (order != 0)
		return order;
	return a->time != b->time ? np_order(a->time, b->time) : np_order(a->instance, b->instance);
}

np_ns scenario_transfer(const struct np_replay *replay, const struct np_instance *instance)
{
	np_ns last = np_replay_last_start(replay, instance);
	np_ns sum = 0;

	if (instance->count < 2)
		return NP_UNKNOWN;
	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns own = replay->ops[instance->first + i].end - last;

		sum += own > 0 ? own : 0;
	}
	return sum / instance->count;
}

static struct transfer *list_transfers(const struct np_replay *replay, size_t *ret_count,
				       struct np_err *err)
{
	const struct np_align *align = replay->align;
	struct transfer *list = malloc((align->instances.count + 1) * sizeof(*list));
	size_t count = 0;

	if (!list) {
		(void)np_fail_nomem(err, "a repaired world");
		return NULL;
	}
	for (uint32_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		const struct np_communicator *communicator = np_cluster_communicator(
			replay->cluster, align->communicators.item[instance->communicator].hash);
		np_ns time = scenario_transfer(replay, instance);

		if (time == NP_UNKNOWN || time == 0)
			continue;
		list[count++] = (struct transfer){
			.type = instance->type,
			.role = communicator ? communicator->pg_name : NP_STR_NONE,
			.count = instance->count,
			.instance = i,
			.bytes = instance->bytes,
			.time = time,
		};
	}
	qsort(list, count, sizeof(list[0]), by_likeness);
	*ret_count = count;
	return list;
}

/* The median time of like transfers that are not to be repaired; NP_UNKNOWN for none. */
static np_ns median_of(const struct np_align *align, const struct transfer *list, size_t count,
		       const bool *communicators)
{
	size_t sound = 0;
	size_t seen = 0;

	for (size_t i = 0; i < count; i++)
		sound += !communicators ||
			 !communicators[align->instances.item[list[i].instance].communicator];
	if (sound == 0)
		return NP_UNKNOWN;
	for (size_t i = 0; i < count; i++) {
		if (communicators &&
		    communicators[align->instances.item[list[i].instance].communicator])
			continue;
		/* They are sorted by time. */
		if (seen++ == (sound - 1) / 2)
			return list[i].time;
	}
	return NP_UNKNOWN;
}

int scenario_repair_transfers(const struct np_replay *replay, const bool *these, bool by_others,
			      struct scenario_draft *scenario, size_t *ret_repaired,
			      struct np_err *err)
{
	const struct np_align *align = replay->align;
	size_t count;
	struct transfer *list = list_transfers(replay, &count, err);

	*ret_repaired = 0;
	if (!list)
		return NP_E_NOMEM;
	for (size_t from = 0, to = 0; from < count; from = to) {
		np_ns median;

		while (to < count && order_alike(&list[from], &list[to]) == 0)
			to++;
		median = median_of(align, &list[from], to - from, by_others ? these : NULL);
		for (size_t i = from; i < to && median != NP_UNKNOWN; i++) {
			uint32_t index = list[i].instance;
			float factor = (float)((double)median / (double)list[i].time);

			if (these && !these[align->instances.item[index].communicator])
				continue;
			++*ret_repaired;
			if (factor < scenario->transfer[index])
				scenario->transfer[index] = factor;
		}
	}
	free(list);
	return NP_OK;
}

/* --- communicators --------------------------------------------------------------------------- */

static bool is_communicator(const struct np_whatif_input *input, const struct np_fix *fix,
			    uint32_t index)
{
	const struct np_replay *replay = input->replay;
	uint64_t hash = replay->align->communicators.item[index].hash;
	const struct np_communicator *each = np_cluster_communicator(replay->cluster, hash);
	const char *role = each ? np_run_text(replay->align->run, each->pg_name) : NULL;
	const char *name = each ? np_run_text(replay->align->run, each->name) : NULL;
	char decimal[24];

	if (fix->kind == NP_FIX_ROLE)
		return role && strcmp(role, fix->what) == 0;
	(void)snprintf(decimal, sizeof(decimal), "%" PRIu64, hash);
	return strcmp(decimal, fix->what) == 0 || (name && strcmp(name, fix->what) == 0);
}

int scenario_repair_communicators(const struct np_whatif_input *input, const struct np_fix *fix,
				  struct scenario_draft *scenario, struct np_err *err)
{
	size_t count = input->replay->align->communicators.count;
	bool *these = calloc(count + 1, sizeof(*these));
	size_t repaired = 0;
	bool any = false;
	int rc = these ? NP_OK : np_fail_nomem(err, "a repaired world");

	for (uint32_t i = 0; i < count && rc == NP_OK; i++) {
		these[i] = is_communicator(input, fix, i);
		any |= these[i];
	}
	if (rc == NP_OK && !any)
		rc = scenario_fail_unknown(input->replay, fix, err);
	if (rc == NP_OK)
		rc = scenario_repair_transfers(input->replay, these, fix->kind == NP_FIX_GROUP,
					       scenario, &repaired, err);
	if (rc == NP_OK && repaired == 0 && fix->kind == NP_FIX_GROUP)
		rc = np_fail(err, NP_E_USAGE,
			     "no other communicator is like '%s': there is nothing"
			     " to measure it by",
			     fix->what);
	free(these);
	return rc;
}
