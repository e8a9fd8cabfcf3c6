/* SPDX-License-Identifier: Apache-2.0 */
/* The mean step of a device: how much of it is computing, waiting, transfer, copies and idle. */
#include "npuprof/breakdown.h"

#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

/* Sums over the cells that count. */
struct where_sums {
	np_ns step;
	np_ns parts[NP_WHERE_KINDS];
	np_ns idle[NP_BETWEEN_KINDS];
	np_ns between;
};

const char *np_where_name(enum np_where where)
{
	static const char *const names[NP_WHERE_KINDS] = {
		[NP_WHERE_COMPUTING] = "computing", [NP_WHERE_WAIT] = "wait",
		[NP_WHERE_TRANSFER] = "transfer",   [NP_WHERE_COMMUNICATION] = "communication",
		[NP_WHERE_COPY] = "copy",           [NP_WHERE_IDLE] = "idle",
	};

	return names[where];
}

const char *np_idle_name(enum np_between cause)
{
	return strchr(np_between_leaf(cause), '/') + 1;
}

/* "free/host" and "between/host" have the same cause. */
static enum np_between idle_cause(const char *leaf)
{
	const char *name = strchr(leaf, '/') + 1;

	for (int i = 0; i < NP_BETWEEN_KINDS; i++) {
		if (strcmp(name, np_idle_name((enum np_between)i)) == 0)
			return (enum np_between)i;
	}
	return NP_BETWEEN_UNKNOWN;
}

static enum np_where where_of(const char *leaf)
{
	if (np_text_begins(leaf, "compute/"))
		return NP_WHERE_COMPUTING;
	if (np_text_begins(leaf, "free/") || np_text_begins(leaf, "between/"))
		return NP_WHERE_IDLE;
	if (!np_text_begins(leaf, "comm/"))
		return NP_WHERE_COPY;
	if (np_text_ends(leaf, "/wait"))
		return NP_WHERE_WAIT;
	return np_text_ends(leaf, "/transfer") ? NP_WHERE_TRANSFER : NP_WHERE_COMMUNICATION;
}

static void add_parts(const struct np_partition *partition, const struct np_partition_cell *cell,
		      struct where_sums *sums)
{
	for (size_t i = 0; i < cell->count; i++) {
		const struct np_part *part = &partition->parts.item[cell->first + i];
		enum np_where where = where_of(part->leaf);

		sums->parts[where] += part->ns;
		if (where == NP_WHERE_IDLE)
			sums->idle[idle_cause(part->leaf)] += part->ns;
		if (np_text_begins(part->leaf, "between/"))
			sums->between += part->ns;
	}
}

static np_ns known(np_ns time)
{
	return time == NP_UNKNOWN ? 0 : time;
}

/* Of a rank without intervals. */
static void add_times(const struct np_step_time *time, struct where_sums *sums)
{
	np_ns between = known(np_step_between(time));

	sums->parts[NP_WHERE_COMPUTING] += known(time->computing);
	sums->parts[NP_WHERE_COMMUNICATION] += known(time->communication_not_overlapped);
	sums->parts[NP_WHERE_IDLE] += known(time->free) + between;
	sums->idle[NP_BETWEEN_UNKNOWN] += known(time->free);
	for (int i = 0; i < NP_BETWEEN_KINDS && between > 0; i++)
		sums->idle[i] += time->between[i];
	sums->between += between;
}

static int add_rank(const struct np_cluster *cluster, const struct np_partition *partition,
		    size_t index, struct np_idmap *seen, struct np_breakdown *breakdown,
		    struct where_sums *sums, struct np_err *err)
{
	const struct np_rank *rank = cluster->run->ranks[index];
	const struct np_step_time *last = NULL;
	int rc = NP_OK;

	for (size_t i = 0; i < rank->times.count && rc == NP_OK; i++) {
		const struct np_step_time *time = &rank->times.item[i];
		const struct np_partition_cell *cell = np_partition_of(partition, index, i);
		np_ns length = np_step_length(time, breakdown->basis);
		np_str step = rank->steps.item[time->step].id;

		if (length == NP_UNKNOWN || length <= 0)
			continue;
		/* Times are ordered by device. */
		breakdown->devices += !last || time->device != last->device;
		last = time;
		breakdown->cells++;
		sums->step += length;
		if (cell)
			add_parts(partition, cell, sums);
		else
			add_times(time, sums);
		if (np_idmap_get(seen, step) == NP_IDMAP_NONE) {
			breakdown->steps++;
			rc = np_idmap_set(seen, step, 1, err);
		}
	}
	return rc;
}

static struct np_where_part part_of(np_ns sum, const struct where_sums *sums, size_t cells)
{
	return (struct np_where_part){ .mean = sum / (np_ns)cells,
				       .share = (double)sum / (double)sums->step };
}

int np_breakdown_measure(const struct np_cluster *cluster, const struct np_partition *partition,
			 struct np_breakdown *ret, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *seen = np_idmap_new();
	struct np_breakdown breakdown = { .basis = np_run_basis(cluster->run) };
	struct where_sums sums = { 0 };
	int rc = seen ? NP_OK : np_fail_nomem(err, "the parts of steps");

	for (size_t i = 0; i < cluster->run->sources.count && rc == NP_OK; i++) {
		if (cluster->run->ranks[i])
			rc = add_rank(cluster, partition, i, seen, &breakdown, &sums, err);
	}
	if (rc < 0)
		return rc;
	*ret = breakdown;
	if (breakdown.cells == 0)
		return NP_OK;
	ret->mean = sums.step / (np_ns)breakdown.cells;
	for (int i = 0; i < NP_WHERE_KINDS; i++)
		ret->parts[i] = part_of(sums.parts[i], &sums, breakdown.cells);
	for (int i = 0; i < NP_BETWEEN_KINDS; i++)
		ret->idle[i] = part_of(sums.idle[i], &sums, breakdown.cells);
	ret->between = part_of(sums.between, &sums, breakdown.cells);
	return NP_OK;
}
