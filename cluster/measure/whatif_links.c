/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include "npuprof/cluster_tables.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/* Two ranks, by their ids. */
struct ends {
	int64_t a;
	int64_t b;
};

static bool joins(const struct ends *ends, int64_t src, int64_t dst)
{
	return (src == ends->a && dst == ends->b) || (src == ends->b && dst == ends->a);
}

/* How much of its time a link would take if it were as its like; NaN where nothing tells. */
static double link_ratio(const struct np_links *links, const struct ends *ends)
{
	double worst = (double)NAN;

	for (size_t i = 0; links && i < links->list.count; i++) {
		const struct np_link_speed *link = &links->list.item[i];

		if (joins(ends, link->src, link->dst) && link->expected != NP_UNKNOWN &&
		    link->time > 0)
			worst = fmin(worst, (double)link->expected / (double)link->time);
	}
	return worst > 1 ? 1 : worst;
}

static const struct np_rank *rank_with(const struct np_run *run, int64_t id)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && run->ranks[i]->id == id)
			return run->ranks[i];
	}
	return NULL;
}

static bool has_member(const struct np_align_communicator *communicator, int64_t rank)
{
	for (size_t i = 0; communicator->members && i < communicator->member_count; i++) {
		if (communicator->members[i] == rank)
			return true;
	}
	return false;
}

/* Does the rank tell of transfers of this communicator; and of one between these two? */
static void see_transfers(const struct np_cluster *cluster, const struct np_rank *rank,
			  uint64_t hash, const struct ends *ends, bool *told, bool *joined)
{
	const struct np_communicator *communicator = np_cluster_communicator(cluster, hash);

	for (size_t i = 0; communicator && i < rank->transfers.count; i++) {
		const struct np_transfer *transfer = &rank->transfers.item[i];

		if (rank->groups.item[transfer->group].hash != hash)
			continue;
		*told = true;
		*joined |= joins(ends, np_matrix_rank(communicator, transfer->src),
				 np_matrix_rank(communicator, transfer->dst));
	}
}

/* Does data of this communicator go over the link? Where no transfers are known, it may. */
static bool uses_link(const struct np_replay *replay, uint32_t index, const struct ends *ends)
{
	const struct np_align_communicator *communicator =
		&replay->align->communicators.item[index];
	const struct np_rank *both[] = { rank_with(replay->align->run, ends->a),
					 rank_with(replay->align->run, ends->b) };
	bool told = false;
	bool joined = false;

	if (!has_member(communicator, ends->a) || !has_member(communicator, ends->b))
		return false;
	for (size_t i = 0; i < NP_COUNT(both); i++) {
		if (both[i])
			see_transfers(replay->cluster, both[i], communicator->hash, ends, &told,
				      &joined);
	}
	return joined || !told;
}

/* A message goes over the link of its two ends alone. */
static bool is_between(const struct np_align *align, const struct np_instance *instance,
		       const struct ends *ends)
{
	bool found[2] = { false, false };

	for (uint32_t i = 0; i < instance->count; i++) {
		int32_t rank = align->run->ranks[align->members[instance->first + i].rank]->id;

		found[0] |= rank == ends->a;
		found[1] |= rank == ends->b;
	}
	return found[0] && found[1];
}

static int lower_transfers(const struct np_replay *replay, const struct ends *ends, double ratio,
			   struct world_draft *world, struct np_err *err)
{
	const struct np_align *align = replay->align;
	bool *these = calloc(align->communicators.count + 1, sizeof(*these));

	if (!these)
		return np_fail_nomem(err, "a repaired world");
	for (uint32_t i = 0; i < align->communicators.count; i++)
		these[i] = uses_link(replay, i, ends);
	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];

		if (these[instance->communicator] &&
		    (instance->rule != NP_RULE_PAIR || is_between(align, instance, ends)))
			world_lower(&world->transfer[i], ratio);
	}
	free(these);
	return NP_OK;
}

int world_repair_link(const struct np_whatif_input *input, const struct np_fix *fix,
		      struct world_draft *world, struct np_err *err)
{
	const struct np_run *run = input->replay->align->run;
	const char *dash = strchr(fix->what, '-');
	struct ends ends;
	double ratio;

	if (!dash || !np_text_to_int(fix->what, (size_t)(dash - fix->what), &ends.a) ||
	    !np_text_to_int(dash + 1, strlen(dash + 1), &ends.b))
		return np_fail(err, NP_E_USAGE, "'link:%s' is not two ranks, such as link:3-4",
			       fix->what);
	if (!rank_with(run, ends.a) || !rank_with(run, ends.b))
		return world_fail_unknown(input->replay, fix, err);
	ratio = link_ratio(input->links, &ends);
	if (isnan(ratio))
		return np_fail(err, NP_E_USAGE,
			       "nothing is known of a link between ranks %" PRId64 " and %" PRId64,
			       ends.a, ends.b);
	return lower_transfers(input->replay, &ends, ratio, world, err);
}
