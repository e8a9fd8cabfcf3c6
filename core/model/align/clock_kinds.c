/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks to choose from: those found from the ends of collectives, those of the hosts
 * (the middle of their ranks') and those recorded; and whether the first do any better
 * than the others.
 */
#include "clock_settle.h"

#include "npuprof/align.h"

/* Ends for the comparison of clocks. */
#define MOST_ENDS ((size_t)1 << 17)

/* --- maps ------------------------------------------------------------------------------------- */

static void read_maps(const struct clock_settling *work, struct clock_map *maps)
{
	for (size_t i = 0; i < work->ranks; i++) {
		const struct np_clock_rank *rank = &work->clock->ranks[i];

		maps[i] =
			(struct clock_map){ rank->knots->local, rank->knots->offset, rank->drift };
	}
}

void settle_use(const struct clock_settling *work, const struct clock_map *maps)
{
	for (size_t i = 0; i < work->ranks; i++) {
		work->clock->knots[i] =
			(struct np_clock_knot){ .local = maps[i].local, .offset = maps[i].offset };
		work->clock->ranks[i].drift = maps[i].drift;
	}
}

/* The first rank of each component is the reference again. */
void settle_anchor(const struct clock_settling *work, struct clock_map *maps)
{
	for (size_t i = work->ranks; i-- > 0;) {
		uint32_t root = work->clock->ranks[i].component;

		if (root == NP_CLOCK_ALONE)
			continue;
		/* Roots come before the others of their components, so backwards they come last. */
		maps[i].offset -= clock_map_ahead(&maps[root], maps[i].local - maps[i].offset +
								       maps[root].offset);
		maps[i].drift -= maps[root].drift;
	}
}

struct clock_pass settle_pass(const struct clock_settling *work)
{
	return (struct clock_pass){ .align = work->align,
				    .clock = work->clock,
				    .threads = work->threads,
				    .maps = (const struct clock_map *const *)work->maps,
				    .map_count = SETTLE_KINDS };
}

/* --- hosts and recorded clocks ---------------------------------------------------------------- */

/* One clock for the ranks of a host that are of one component. */
static void set_host(struct clock_settling *work, const struct np_clock_host *host,
		     uint32_t component)
{
	const struct clock_map *fitted = work->maps[SETTLE_FITTED];
	const uint32_t *ranks = &work->clock->host_ranks[host->first];
	np_ns at = 0;
	double drift = 0;
	size_t count = 0;
	np_ns offset;

	for (uint32_t i = 0; i < host->ranks; i++) {
		if (!settle_is_of(work, ranks[i], component))
			continue;
		at = count == 0 ? fitted[ranks[i]].local : at;
		work->scratch[count++] = clock_map_ahead(&fitted[ranks[i]], at);
		drift += fitted[ranks[i]].drift;
	}
	offset = settle_middle(work, count);
	for (uint32_t i = 0; i < host->ranks; i++) {
		if (settle_is_of(work, ranks[i], component))
			work->maps[SETTLE_HOSTS][ranks[i]] =
				(struct clock_map){ at, offset, drift / (double)count };
	}
}

void settle_set_kinds(struct clock_settling *work)
{
	read_maps(work, work->maps[SETTLE_FITTED]);
	read_maps(work, work->maps[SETTLE_HOSTS]);
	for (size_t i = 0; i < work->ranks; i++)
		work->maps[SETTLE_RECORDED][i] =
			(struct clock_map){ .local = work->maps[SETTLE_FITTED][i].local };
	for (size_t i = 0; i < work->clock->hosts.count; i++) {
		const struct np_clock_host *host = &work->clock->hosts.item[i];

		for (uint32_t j = 0; j < host->ranks; j++) {
			uint32_t rank = work->clock->host_ranks[host->first + j];
			uint32_t component = work->clock->ranks[rank].component;

			if (component != NP_CLOCK_ALONE && settle_before(work, host, j) == j)
				set_host(work, host, component);
		}
	}
	settle_anchor(work, work->maps[SETTLE_HOSTS]);
}

/* --- clocks that do no better than the recorded ones ------------------------------------------ */

static void add_distances(const struct clock_settling *work, const struct clock_map *maps,
			  const struct clock_instance *instance, double *sum)
{
	const uint32_t *rank = &work->samples->rank.item[instance->first];
	const np_ns *end = &work->samples->end.item[instance->first];
	np_ns *time = clock_scratch(work->samples, 0);
	np_ns median;

	for (uint32_t i = 0; i < instance->count; i++)
		time[i] = end[i] - clock_map_ahead(&maps[rank[i]], end[i]);
	median = clock_quantile(time, instance->count, 0.5);
	if (instance->count == 2)
		median = time[0] + (time[1] - time[0]) / 2;
	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns apart = end[i] - clock_map_ahead(&maps[rank[i]], end[i]) - median;

		sum[rank[i]] += (double)(apart < 0 ? -apart : apart);
	}
}

/* How far ends lie from those of their instances, in the mean of a rank. */
static void measure_distances(const struct clock_settling *work, const struct clock_map *maps,
			      double *ret)
{
	const struct clock_samples *samples = work->samples;
	size_t stride = samples->end.count / MOST_ENDS + 1;

	memset(ret, 0, work->ranks * sizeof(*ret));
	memset(work->ends, 0, work->ranks * sizeof(*work->ends));
	for (size_t i = 0; i < samples->instances.count; i += stride) {
		const struct clock_instance *instance = &samples->instances.item[i];

		add_distances(work, maps, instance, ret);
		for (uint32_t j = 0; j < instance->count; j++)
			work->ends[samples->rank.item[instance->first + j]]++;
	}
	for (size_t i = 0; i < work->ranks; i++)
		ret[i] = work->ends[i] > 0 ? ret[i] / work->ends[i] : 0;
}

static np_ns lead(const struct clock_settling *work, enum clock_kind kind, size_t rank)
{
	return clock_map_ahead(&work->maps[kind][rank], work->maps[SETTLE_FITTED][rank].local);
}

/* What the clocks found and those of a kind are apart in the middle of a component. */
static np_ns apart_of(const struct clock_settling *work, enum clock_kind kind, uint32_t component)
{
	const uint32_t *ranks = &work->members[work->first[component]];
	size_t count = work->first[component + 1] - work->first[component];

	for (size_t i = 0; i < count; i++)
		work->scratch[i] = lead(work, SETTLE_FITTED, ranks[i]) - lead(work, kind, ranks[i]);
	return settle_middle(work, count);
}

/* The ranks of each component, by its first one. */
static void list_components(struct clock_settling *work)
{
	memset(work->first, 0, (work->ranks + 2) * sizeof(*work->first));
	for (size_t i = 0; i < work->ranks; i++) {
		uint32_t component = work->clock->ranks[i].component;

		if (component != NP_CLOCK_ALONE)
			work->first[component + 2]++;
	}
	for (size_t i = 2; i < work->ranks + 2; i++)
		work->first[i] += work->first[i - 1];
	for (uint32_t i = 0; i < work->ranks; i++) {
		uint32_t component = work->clock->ranks[i].component;

		if (component != NP_CLOCK_ALONE)
			work->members[work->first[component + 1]++] = i;
	}
}

/* One or two ends always agree with a clock that was found from them. */
static bool is_better(const struct clock_settling *work, size_t rank)
{
	double ends = work->ends[rank];

	return ends < 1 || (ends > 1 && work->distance[0][rank] * ends / (ends - 1) * 2 <=
						work->distance[1][rank]);
}

/* Mark the ranks whose clocks differ from those of a kind; how many. */
static size_t mark_moved(struct clock_settling *work, enum clock_kind kind)
{
	size_t moved = 0;

	memset(work->flag, 0, work->ranks * sizeof(*work->flag));
	for (uint32_t root = 0; root < work->ranks; root++) {
		np_ns apart = apart_of(work, kind, root);

		for (uint32_t j = work->first[root]; j < work->first[root + 1]; j++) {
			uint32_t i = work->members[j];
			np_ns own = lead(work, SETTLE_FITTED, i) - lead(work, kind, i) - apart;

			work->flag[i] = own > SETTLE_SAME_NS || own < -SETTLE_SAME_NS;
			moved += work->flag[i];
		}
	}
	return moved;
}

/* Of these mark those only that were moved for nothing; how many. */
static size_t mark_idle(struct clock_settling *work, enum clock_kind kind)
{
	size_t idle = 0;

	measure_distances(work, work->maps[kind], work->distance[1]);
	for (size_t i = 0; i < work->ranks; i++) {
		work->flag[i] = work->flag[i] && !is_better(work, i);
		idle += work->flag[i];
	}
	return idle;
}

/* What the clocks of a kind are broken by at most. */
static int worst_of(const struct clock_settling *work, enum clock_kind kind, np_ns *ret,
		    struct np_err *err)
{
	struct clock_pass pass = settle_pass(work);
	struct clock_bounds bounds = { 0 };
	int rc;

	settle_use(work, work->maps[kind]);
	rc = clock_broken_bounds(&pass, &bounds, err);
	*ret = 0;
	for (size_t i = 0; i < bounds.list.count; i++) {
		if (-bounds.list.item[i].room > *ret)
			*ret = -bounds.list.item[i].room;
	}
	np_vec_release(&bounds.list);
	return rc;
}

/* Put the marked ranks back, on the clocks of a kind. */
static void put_back(struct clock_settling *work, enum clock_kind kind)
{
	for (uint32_t root = 0; root < work->ranks; root++) {
		np_ns apart = apart_of(work, kind, root);

		for (uint32_t j = work->first[root]; j < work->first[root + 1]; j++) {
			uint32_t i = work->members[j];

			if (!work->flag[i])
				continue;
			work->tried[i] = work->maps[kind][i];
			work->tried[i].offset += apart;
		}
	}
}

int settle_leave_idle(struct clock_settling *work, struct np_err *err)
{
	static const enum clock_kind kinds[] = { SETTLE_RECORDED, SETTLE_HOSTS };
	int rc = NP_OK;

	list_components(work);
	measure_distances(work, work->maps[SETTLE_FITTED], work->distance[0]);
	for (size_t i = 0; i < NP_COUNT(kinds) && rc == NP_OK; i++) {
		size_t moved = mark_moved(work, kinds[i]);
		size_t idle = moved > 0 ? mark_idle(work, kinds[i]) : 0;
		np_ns worst = 0;

		if (moved == 0)
			break;
		if (idle == 0)
			continue;
		rc = worst_of(work, kinds[i], &worst, err);
		if (rc < 0 || worst > SETTLE_SAME_NS)
			continue;
		memcpy(work->tried, work->maps[idle == moved ? kinds[i] : SETTLE_FITTED],
		       work->ranks * sizeof(*work->tried));
		if (idle < moved)
			put_back(work, kinds[i]);
		memcpy(work->maps[SETTLE_FITTED], work->tried, work->ranks * sizeof(*work->tried));
		break;
	}
	settle_use(work, work->maps[SETTLE_FITTED]);
	return rc;
}
