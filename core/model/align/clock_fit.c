/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks from collectives
 * -----------------------
 *
 * First a spanning tree: from the first rank on, the communicator with the most
 * instances that touches the ranks already placed places all of its others, each
 * by a line through the differences of ends. Then a few rounds in which every
 * instance takes the mean of its members' ends for its time and every rank is
 * fitted again to the times of its instances. Without the tree such rounds would
 * take thousands of turns to move hosts that are seconds apart; with it few do.
 */
#include "clock_fit.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"

/*
 * What is taken for granted before any data: ends vary by 20 µs, clocks drift by
 * no more than some 50 ppm. A line through a few close points would run anywhere.
 */
#define PRIOR_NOISE_NS 2e4
#define PRIOR_DRIFT    5e-5

/* The ranks of a host drift alike, give or take 1 ppm, until many ends say otherwise. */
#define PRIOR_HOST_DRIFT 1e-6

static void clock_clear_line(struct clock_line *line)
{
	line->n = 0;
	line->sx = 0;
	line->sy = 0;
	line->sxx = 0;
	line->sxy = 0;
	line->off = 0;
}

static void clock_solve(struct clock_line *line)
{
	double prior = (PRIOR_NOISE_NS / line->give) * (PRIOR_NOISE_NS / line->give);
	double sxx = line->sxx - line->sx * line->sx / line->n;
	double sxy = line->sxy - line->sx * line->sy / line->n;
	double at_zero;

	line->drift = (sxy + prior * line->expected) / (sxx + prior);
	at_zero = (line->sy - line->drift * line->sx) / line->n;
	line->offset = line->y0 + (np_ns)(at_zero < 0 ? at_zero - 0.5 : at_zero + 0.5);
}

static void clock_set_limit(struct clock_line *line)
{
	line->limit = line->n > 0 ? CLOCK_TRIM * line->off / line->n : (double)NP_NS_MAX;
	if (line->limit < CLOCK_TRIM_LEAST)
		line->limit = CLOCK_TRIM_LEAST;
}

static void add_up_host(const struct clock_fit *fit, uint32_t index)
{
	const struct np_clock_host *host = &fit->clock->hosts.item[index];
	struct clock_mean *mean = &fit->hosts[index];

	*mean = (struct clock_mean){ .known = true };
	for (uint32_t i = 0; i < host->ranks; i++) {
		const struct clock_line *line =
			&fit->lines[fit->clock->host_ranks[host->first + i]];

		if (!line->placed)
			continue;
		mean->sum += line->drift;
		mean->count++;
	}
}

/* What drift to expect of a rank, from the ranks of its host, which are added up once. */
static void expect_drift(const struct clock_fit *fit, uint32_t rank)
{
	uint32_t host = fit->clock->ranks[rank].host;
	struct clock_line *line = &fit->lines[rank];
	struct clock_mean *mean = host == UINT32_MAX ? NULL : &fit->hosts[host];
	bool others;

	if (mean && !mean->known)
		add_up_host(fit, host);
	/* A rank alone on its host would be held where it happens to be. */
	others = mean && mean->count > (line->placed ? 1 : 0);
	line->expected = others ? mean->sum / mean->count : 0;
	line->give = others ? PRIOR_HOST_DRIFT : PRIOR_DRIFT;
}

static void clock_expect_drifts(const struct clock_fit *fit)
{
	memset(fit->hosts, 0, (fit->clock->hosts.count + 1) * sizeof(*fit->hosts));
	for (uint32_t i = 0; i < fit->clock->rank_count; i++)
		expect_drift(fit, i);
}

/*
 * The time of an instance: the mean of the ends of its ranks that are placed and
 * not far off. Ends are late more often than early, so a median would lie before
 * the mean that lines run through, and the clocks would creep on in every round,
 * those of large communicators at another pace than those of small ones.
 */
static void clock_time_instance(const struct clock_fit *fit, struct clock_instance *instance,
				size_t least, np_ns *scratch)
{
	size_t count = 0;
	double sum = 0;
	double near = 0;

	for (uint32_t i = 0; i < instance->count; i++) {
		const struct clock_line *line =
			&fit->lines[fit->samples->rank.item[instance->first + i]];
		np_ns end = fit->samples->end.item[instance->first + i];

		if (line->placed)
			scratch[count++] = end - clock_ahead(line, end);
	}
	instance->known = count >= least;
	if (!instance->known)
		return;
	instance->median = clock_quantile(scratch, count, 0.5);
	for (uint32_t i = 0; i < instance->count; i++) {
		const struct clock_line *line =
			&fit->lines[fit->samples->rank.item[instance->first + i]];
		np_ns end = fit->samples->end.item[instance->first + i];

		if (!line->placed || !clock_is_near(line, end, instance->median))
			continue;
		sum += (double)(end - clock_ahead(line, end) - instance->median);
		near++;
	}
	instance->time = instance->median + (near > 0 ? (np_ns)(sum / near) : 0);
}

enum pass {
	PASS_FIT,
	PASS_MEASURE,
};

/* Go over the ends of the new ranks of a communicator, to fit them or to see how well they fit. */
static void pass_new(struct clock_fit *fit, uint32_t communicator, enum pass pass)
{
	const struct clock_samples *samples = fit->samples;

	for (uint32_t i = samples->communicator_first[communicator];
	     i < samples->communicator_first[communicator + 1]; i++) {
		const struct clock_instance *instance = &samples->instances.item[i];

		for (uint32_t j = 0; instance->known && j < instance->count; j++) {
			struct clock_line *line =
				&fit->lines[samples->rank.item[instance->first + j]];
			np_ns end = samples->end.item[instance->first + j];
			double apart = clock_distance(line, end, instance->time);

			if (line->placed || apart > line->limit)
				continue;
			if (pass == PASS_FIT) {
				clock_add_point(line, end, instance->time);
			} else {
				line->n++;
				line->off += apart;
			}
		}
	}
}

static void each_new(struct clock_fit *fit, uint32_t communicator,
		     void (*call)(struct clock_line *line))
{
	const struct np_align_communicator *own = &fit->align->communicators.item[communicator];

	for (uint32_t i = 0; i < own->observed; i++) {
		struct clock_line *line =
			&fit->lines[fit->align->coverage.item[own->coverage + i].rank];

		if (!line->placed)
			call(line);
	}
}

/* Likewise, of those ranks of a communicator that are to be placed. */
static void expect_new_drifts(const struct clock_fit *fit, uint32_t communicator)
{
	const struct np_align_communicator *own = &fit->align->communicators.item[communicator];
	const struct np_coverage *rows = &fit->align->coverage.item[own->coverage];

	for (uint32_t i = 0; i < own->observed; i++) {
		uint32_t host = fit->clock->ranks[rows[i].rank].host;

		if (host != UINT32_MAX)
			fit->hosts[host].known = false;
	}
	for (uint32_t i = 0; i < own->observed; i++) {
		if (!fit->lines[rows[i].rank].placed)
			expect_drift(fit, rows[i].rank);
	}
}

static void begin_line(struct clock_line *line)
{
	clock_clear_line(line);
	line->started = false;
	line->offset = 0;
	line->drift = 0;
	line->limit = (double)NP_NS_MAX;
}

static void solve_if_met(struct clock_line *line)
{
	if (line->n > 0)
		clock_solve(line);
	clock_clear_line(line);
}

static void limit_and_clear(struct clock_line *line)
{
	clock_set_limit(line);
	clock_clear_line(line);
}

static void place(struct clock_line *line)
{
	if (line->n > 0)
		clock_solve(line);
	line->placed = line->started;
}

/* Place the ranks of a communicator by those of its ranks that are placed. */
static void expand(struct clock_fit *fit, uint32_t communicator)
{
	struct clock_samples *samples = fit->samples;

	for (uint32_t i = samples->communicator_first[communicator];
	     i < samples->communicator_first[communicator + 1]; i++)
		clock_time_instance(fit, &samples->instances.item[i], 1, clock_scratch(samples, 0));
	expect_new_drifts(fit, communicator);
	each_new(fit, communicator, begin_line);
	pass_new(fit, communicator, PASS_FIT);
	each_new(fit, communicator, solve_if_met);
	pass_new(fit, communicator, PASS_MEASURE);
	each_new(fit, communicator, limit_and_clear);
	pass_new(fit, communicator, PASS_FIT);
	each_new(fit, communicator, place);
}

static bool has_new(const struct clock_fit *fit, uint32_t communicator)
{
	const struct np_align_communicator *own = &fit->align->communicators.item[communicator];

	for (uint32_t i = 0; i < own->observed; i++) {
		if (!fit->lines[fit->align->coverage.item[own->coverage + i].rank].placed)
			return true;
	}
	return false;
}

/* --- what can be reached: communicators, that with the most instances on top ------------------ */

static void sink(struct clock_fit *fit, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		uint32_t moved = fit->reached[at];

		if (child >= fit->reached_count)
			return;
		if (child + 1 < fit->reached_count && fit->reached[child + 1] < fit->reached[child])
			child++;
		if (moved <= fit->reached[child])
			return;
		fit->reached[at] = fit->reached[child];
		fit->reached[child] = moved;
		at = child;
	}
}

static void reach(struct clock_fit *fit, uint32_t communicator)
{
	size_t at = fit->reached_count++;
	uint32_t place = fit->place[communicator];

	for (; at > 0 && fit->reached[(at - 1) / 2] > place; at = (at - 1) / 2)
		fit->reached[at] = fit->reached[(at - 1) / 2];
	fit->reached[at] = place;
}

static uint32_t take_reached(struct clock_fit *fit)
{
	uint32_t place = fit->reached[0];

	fit->reached[0] = fit->reached[--fit->reached_count];
	sink(fit, 0);
	return fit->order[place];
}

static void touch(struct clock_fit *fit, uint32_t rank)
{
	for (uint32_t i = fit->row_first[rank]; i < fit->row_first[rank + 1]; i++) {
		uint32_t communicator = fit->align->coverage.item[fit->rows[i]].communicator;

		if (fit->touched[communicator])
			continue;
		fit->touched[communicator] = true;
		reach(fit, communicator);
	}
}

static void adopt_placed(struct clock_fit *fit, uint32_t communicator, uint32_t component)
{
	const struct np_align_communicator *own = &fit->align->communicators.item[communicator];

	for (uint32_t i = 0; i < own->observed; i++) {
		uint32_t rank = fit->align->coverage.item[own->coverage + i].rank;

		if (!fit->lines[rank].placed || fit->clock->ranks[rank].component == component)
			continue;
		fit->clock->ranks[rank].component = component;
		touch(fit, rank);
	}
}

/* Place everything that can be reached from one rank. */
static void clock_grow(struct clock_fit *fit, uint32_t root, uint32_t component)
{
	fit->lines[root].placed = true;
	fit->clock->ranks[root].component = component;
	touch(fit, root);
	while (fit->reached_count > 0) {
		uint32_t communicator = take_reached(fit);

		if (has_new(fit, communicator))
			expand(fit, communicator);
		adopt_placed(fit, communicator, component);
	}
}

#define ROUNDS 50

/* Ends in one round. */
#define MOST_ROUND_ENDS ((size_t)1 << 17)

/* Rounds end when no clock moves by more than this any more: 20 ns. */
#define STILL_NS 20

/* --- rounds ----------------------------------------------------------------------------------- */

/* One pass of the workers over every so manieth instance. */
struct round {
	const struct clock_fit *fit;
	size_t stride;
};

static void time_part(void *context, size_t part)
{
	const struct round *round = context;
	const struct clock_samples *samples = round->fit->samples;
	size_t count = (samples->instances.count + round->stride - 1) / round->stride;
	struct clock_range range = clock_part(samples, count, part);

	for (size_t i = range.from; i < range.to; i++)
		clock_time_instance(round->fit, &samples->instances.item[i * round->stride], 2,
				    clock_scratch(samples, part));
}

static double move_line(struct clock_line *line)
{
	np_ns offset = line->offset;
	double moved;

	if (line->n < 1)
		return 0;
	clock_solve(line);
	clock_set_limit(line);
	moved = (double)(line->offset - offset);
	return moved < 0 ? -moved : moved;
}

static void add_points(const struct clock_fit *fit, const struct clock_instance *instance,
		       struct clock_range ends)
{
	const struct clock_samples *samples = fit->samples;

	for (size_t i = ends.from; i < ends.to; i++) {
		struct clock_line *line = &fit->lines[samples->rank.item[i]];
		np_ns end = samples->end.item[i];

		if (!line->placed || !clock_is_near(line, end, instance->median))
			continue;
		clock_add_point(line, end, instance->time);
		line->off += clock_distance(line, end, instance->time);
	}
}

static void refit_part(void *context, size_t part)
{
	const struct round *round = context;
	const struct clock_fit *fit = round->fit;
	const struct clock_samples *samples = fit->samples;
	struct clock_range ranks = clock_part(samples, samples->ranks, part);

	for (size_t i = ranks.from; i < ranks.to; i++)
		clock_clear_line(&fit->lines[i]);
	for (size_t i = 0; i < samples->instances.count; i += round->stride) {
		const struct clock_instance *instance = &samples->instances.item[i];

		if (instance->known)
			add_points(fit, instance, clock_ends_of(samples, instance, ranks));
	}
}

/* Fit every rank to the times of its instances; how far the clocks moved at most. */
static double refit(const struct clock_fit *fit, struct round *round)
{
	double most = 0;

	np_workers_run(&fit->samples->workers, fit->samples->parts, refit_part, round);
	for (size_t i = 0; i < fit->clock->rank_count; i++) {
		double moved = move_line(&fit->lines[i]);

		most = moved > most ? moved : most;
	}
	return most;
}

static void time_instances(const struct clock_fit *fit, struct round *round)
{
	np_workers_run(&fit->samples->workers, fit->samples->parts, time_part, round);
}

static void refine(const struct clock_fit *fit)
{
	struct round some = { fit, fit->samples->end.count / MOST_ROUND_ENDS + 1 };
	struct round all = { fit, 1 };

	/* The root of the tree has not been measured yet. */
	for (size_t i = 0; i < fit->clock->rank_count; i++) {
		if (fit->lines[i].limit <= 0)
			fit->lines[i].limit = (double)NP_NS_MAX;
	}
	for (int round = 0; round < ROUNDS; round++) {
		time_instances(fit, &some);
		clock_expect_drifts(fit);
		if (refit(fit, &some) < STILL_NS)
			break;
	}
	if (some.stride == 1)
		return;
	time_instances(fit, &all);
	(void)refit(fit, &all);
}

/* --- ranks of one host ------------------------------------------------------------------------ */

/*
 * The ranks of a host are driven by one oscillator. Those whose drift agrees,
 * given how well it is known over their capture, get the same.
 */
static bool drift_agrees(const struct clock_line *line, double drift)
{
	double sxx = line->n > 1 ? line->sxx - line->sx * line->sx / line->n : 0;
	double apart = line->drift - drift;
	double noise = line->limit / CLOCK_TRIM;

	/* Four standard errors of the slope; |noise| is a mean distance, hence 1.25. */
	return apart * apart * sxx <= 16 * 1.25 * 1.25 * noise * noise;
}

static void share_drift(const struct clock_fit *fit, const struct np_clock_host *host)
{
	const uint32_t *ranks = &fit->clock->host_ranks[host->first];
	double sum = 0;
	double weight = 0;
	double median;

	for (int pass = 0; pass < 2; pass++) {
		median = weight > 0 ? sum / weight : 0;
		sum = 0;
		weight = 0;
		for (uint32_t i = 0; i < host->ranks; i++) {
			const struct clock_line *line = &fit->lines[ranks[i]];

			if (line->n < 2 || (pass > 0 && !drift_agrees(line, median)))
				continue;
			sum += line->drift * line->sxx;
			weight += line->sxx;
		}
	}
	median = weight > 0 ? sum / weight : 0;
	for (uint32_t i = 0; i < host->ranks; i++) {
		struct clock_line *line = &fit->lines[ranks[i]];
		double at_zero;

		if (line->n < 2 || !drift_agrees(line, median))
			continue;
		line->drift = median;
		at_zero = (line->sy - median * line->sx) / line->n;
		line->offset = line->y0 + (np_ns)(at_zero < 0 ? at_zero - 0.5 : at_zero + 0.5);
	}
}

/* Ranks of a host in different components have nothing to do with each other. */
static bool is_of_one_component(const struct np_clock *clock, const struct np_clock_host *host)
{
	uint32_t component = NP_CLOCK_ALONE;

	for (uint32_t i = 0; i < host->ranks; i++) {
		uint32_t own = clock->ranks[clock->host_ranks[host->first + i]].component;

		if (component != NP_CLOCK_ALONE && own != component)
			return false;
		component = own;
	}
	return component != NP_CLOCK_ALONE;
}

/* --- everything ------------------------------------------------------------------------------- */

static size_t samples_of(const struct clock_fit *fit, uint32_t communicator)
{
	return fit->samples->communicator_first[communicator + 1] -
	       fit->samples->communicator_first[communicator];
}

/* Most samples first. */
static int by_samples(const void *left, const void *right, void *context)
{
	const struct clock_fit *fit = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	size_t samples[2] = { samples_of(fit, a), samples_of(fit, b) };

	if (samples[0] != samples[1])
		return samples[0] > samples[1] ? -1 : 1;
	return (a > b) - (a < b);
}

static int prepare(struct clock_fit *fit, struct np_err *err)
{
	const struct np_align *align = fit->align;
	size_t ranks = fit->clock->rank_count;
	size_t communicators = align->communicators.count;

	fit->lines = calloc(ranks + 1, sizeof(*fit->lines));
	fit->row_first = calloc(ranks + 2, sizeof(*fit->row_first));
	fit->rows = malloc((align->coverage.count + 1) * sizeof(*fit->rows));
	fit->touched = calloc(communicators + 1, sizeof(*fit->touched));
	fit->reached = malloc((communicators + 1) * sizeof(*fit->reached));
	fit->place = malloc((communicators + 1) * sizeof(*fit->place));
	fit->order = malloc((communicators + 1) * sizeof(*fit->order));
	fit->hosts = calloc(fit->clock->hosts.count + 1, sizeof(*fit->hosts));
	if (!fit->hosts || !fit->lines || !fit->row_first || !fit->rows || !fit->touched ||
	    !fit->reached || !fit->place || !fit->order)
		return np_fail_nomem(err, "clocks");
	for (size_t i = 0; i < align->coverage.count; i++)
		fit->row_first[align->coverage.item[i].rank + 2]++;
	for (size_t i = 2; i < ranks + 2; i++)
		fit->row_first[i] += fit->row_first[i - 1];
	for (size_t i = 0; i < align->coverage.count; i++)
		fit->rows[fit->row_first[align->coverage.item[i].rank + 1]++] = (uint32_t)i;
	for (size_t i = 0; i < ranks; i++) {
		const struct np_rank *rank = align->run->ranks[i];
		np_ns first = rank && rank->ops.count ? rank->ops.item[0].start : 0;
		np_ns last = rank && rank->ops.count ? rank->ops.item[rank->ops.count - 1].end : 0;

		fit->lines[i].x0 = first + (last - first) / 2;
	}
	for (size_t i = 0; i < communicators; i++)
		fit->order[i] = (uint32_t)i;
	if (communicators > 0)
		qsort_r(fit->order, communicators, sizeof(*fit->order), by_samples, fit);
	for (size_t i = 0; i < communicators; i++)
		fit->place[fit->order[i]] = (uint32_t)i;
	return NP_OK;
}

/* Rounds move all clocks a little; the first rank of each component is the reference again. */
static void anchor(struct clock_fit *fit)
{
	for (size_t i = 0; i < fit->clock->rank_count; i++) {
		uint32_t root = fit->clock->ranks[i].component;
		struct np_clock_knot *knot = &fit->clock->knots[i];
		const struct clock_line *line = &fit->lines[i];

		fit->clock->ranks[i].knots = knot;
		fit->clock->ranks[i].knot_count = 1;
		if (root == NP_CLOCK_ALONE)
			continue;
		knot->local = line->x0;
		knot->offset = line->offset -
			       clock_ahead(&fit->lines[root],
					   line->x0 - line->offset + fit->lines[root].offset);
		fit->clock->ranks[i].drift = line->drift - fit->lines[root].drift;
	}
}

int clock_fit(const struct np_align *align, struct clock_samples *samples, struct np_clock *clock,
	      struct np_err *err)
{
	struct clock_fit fit = { .align = align, .samples = samples, .clock = clock };
	int rc = prepare(&fit, err);

	if (rc == NP_OK) {
		for (size_t i = 0; i < clock->rank_count; i++) {
			if (!fit.lines[i].placed && fit.row_first[i] < fit.row_first[i + 1])
				clock_grow(&fit, (uint32_t)i, (uint32_t)i);
		}
		refine(&fit);
		for (size_t i = 0; i < clock->hosts.count; i++) {
			if (is_of_one_component(clock, &clock->hosts.item[i]))
				share_drift(&fit, &clock->hosts.item[i]);
		}
		anchor(&fit);
	}
	free(fit.lines);
	free(fit.row_first);
	free(fit.rows);
	free(fit.touched);
	free(fit.reached);
	free(fit.place);
	free(fit.order);
	free(fit.hosts);
	return rc;
}
