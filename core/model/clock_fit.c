/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_private.h"

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
#define ROUNDS 50

/* Samples of one communicator in the tree, and ends in one round. */
#define MOST_SAMPLES    512
#define MOST_ROUND_ENDS ((size_t)1 << 17)

/* Rounds end when no clock moves by more than this any more: 20 ns. */
#define STILL_NS 20

/*
 * What is taken for granted before any data: ends vary by 20 µs, clocks drift by
 * no more than some 50 ppm. A line through a few close points would run anywhere.
 */
#define PRIOR_NOISE_NS 2e4
#define PRIOR_DRIFT    5e-5

/* The ranks of a host drift alike, give or take 1 ppm, until many ends say otherwise. */
#define PRIOR_HOST_DRIFT 1e-6

/* Ends further off than so many times the usual are left out of a fit, but 5 µs never are. */
#define TRIM       4
#define TRIM_LEAST 5000

struct line {
	np_ns x0; /* the middle of the rank's capture */
	np_ns y0;
	bool started; /* y0 is set */
	bool placed;
	double n;
	double sx;
	double sy;
	double sxx;
	double sxy;
	double off; /* Σ of distances from the line before */
	double limit;
	double expected; /* drift, and by how much it may differ */
	double give;
	np_ns offset;
	double drift;
};

/* Drift of the ranks of a host that are placed. */
struct mean {
	double sum;
	double count;
};

struct fit {
	const struct np_align *align;
	struct clock_samples *samples;
	struct np_clock *clock;
	struct line *lines; /* by rank */
	/* Rows of the coverage by rank. */
	uint32_t *row_first;
	uint32_t *rows;
	bool *touched; /* by communicator */
	bool *done;
	uint32_t *order; /* communicators, most instances first */
	struct mean *hosts;
};

/* --- samples ---------------------------------------------------------------------------------- */

static bool ends_together(const struct np_instance *instance)
{
	return instance->rule == NP_RULE_ALL && instance->count > 1 &&
	       !(instance->flags & NP_INSTANCE_MISMATCH);
}

static int add_sample(const struct np_align *align, const struct np_instance *instance,
		      struct clock_samples *samples, struct np_err *err)
{
	struct clock_instance *sample = np_vec_add(&samples->instances, err);

	if (!sample)
		return NP_E_NOMEM;
	sample->first = (uint32_t)samples->end.count;
	sample->count = instance->count;
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t *rank = np_vec_add(&samples->rank, err);
		np_ns *end = np_vec_add(&samples->end, err);

		if (!rank || !end)
			return NP_E_NOMEM;
		*rank = align->members[instance->first + i].rank;
		*end = np_align_op(align, instance->first + i)->end;
	}
	return NP_OK;
}

static int sample_communicator(const struct np_align *align, size_t index,
			       struct clock_samples *samples, struct np_err *err)
{
	const struct np_align_communicator *communicator = &align->communicators.item[index];
	const struct np_instance *instance = &align->instances.item[communicator->first];
	size_t usable = 0;
	size_t seen = 0;
	size_t stride;
	int rc = NP_OK;

	for (uint32_t i = 0; i < communicator->count; i++)
		usable += ends_together(&instance[i]);
	stride = usable / MOST_SAMPLES + 1;
	for (uint32_t i = 0; i < communicator->count && rc == NP_OK; i++) {
		if (ends_together(&instance[i]) && seen++ % stride == 0)
			rc = add_sample(align, &instance[i], samples, err);
	}
	return rc;
}

int clock_samples_take(const struct np_align *align, struct clock_samples *ret, struct np_err *err)
{
	size_t communicators = align->communicators.count;
	int rc = NP_OK;

	ret->communicator_first = calloc(communicators + 1, sizeof(uint32_t));
	ret->scratch = malloc((align->run->sources.count + 1) * sizeof(np_ns));
	if (!ret->communicator_first || !ret->scratch)
		rc = np_fail_nomem(err, "clocks");
	for (size_t i = 0; i < communicators && rc == NP_OK; i++) {
		rc = sample_communicator(align, i, ret, err);
		ret->communicator_first[i + 1] = (uint32_t)ret->instances.count;
	}
	if (rc < 0)
		clock_samples_release(ret);
	return rc;
}

void clock_samples_release(struct clock_samples *samples)
{
	np_vec_release(&samples->instances);
	np_vec_release(&samples->rank);
	np_vec_release(&samples->end);
	free(samples->communicator_first);
	free(samples->scratch);
	samples->communicator_first = NULL;
	samples->scratch = NULL;
}

/* --- lines ------------------------------------------------------------------------------------ */

static np_ns ahead(const struct line *line, np_ns end)
{
	double drifted = line->drift * (double)(end - line->x0);

	return line->offset + (np_ns)(drifted < 0 ? drifted - 0.5 : drifted + 0.5);
}

static void clear_line(struct line *line)
{
	line->n = 0;
	line->sx = 0;
	line->sy = 0;
	line->sxx = 0;
	line->sxy = 0;
	line->off = 0;
}

static void add_point(struct line *line, np_ns end, np_ns time)
{
	double x = (double)(end - line->x0);
	double y;

	if (!line->started)
		line->y0 = end - time;
	line->started = true;
	y = (double)(end - time - line->y0);
	line->n++;
	line->sx += x;
	line->sy += y;
	line->sxx += x * x;
	line->sxy += x * y;
}

static void solve(struct line *line)
{
	double prior = (PRIOR_NOISE_NS / line->give) * (PRIOR_NOISE_NS / line->give);
	double sxx = line->sxx - line->sx * line->sx / line->n;
	double sxy = line->sxy - line->sx * line->sy / line->n;
	double at_zero;

	line->drift = (sxy + prior * line->expected) / (sxx + prior);
	at_zero = (line->sy - line->drift * line->sx) / line->n;
	line->offset = line->y0 + (np_ns)(at_zero < 0 ? at_zero - 0.5 : at_zero + 0.5);
}

static void set_limit(struct line *line)
{
	line->limit = line->n > 0 ? TRIM * line->off / line->n : (double)NP_NS_MAX;
	if (line->limit < TRIM_LEAST)
		line->limit = TRIM_LEAST;
}

static double distance(const struct line *line, np_ns end, np_ns time)
{
	double apart = (double)(end - time - ahead(line, end));

	return apart < 0 ? -apart : apart;
}

/* What drift to expect of each rank, from the ranks of its host. */
static void expect_drifts(const struct fit *fit)
{
	const struct np_clock_rank *ranks = fit->clock->ranks;
	size_t count = fit->clock->rank_count;

	memset(fit->hosts, 0, (fit->clock->hosts.count + 1) * sizeof(*fit->hosts));
	for (size_t i = 0; i < count; i++) {
		if (!fit->lines[i].placed || ranks[i].host == UINT32_MAX)
			continue;
		fit->hosts[ranks[i].host].sum += fit->lines[i].drift;
		fit->hosts[ranks[i].host].count++;
	}
	for (size_t i = 0; i < count; i++) {
		struct line *line = &fit->lines[i];
		const struct mean *host =
			ranks[i].host == UINT32_MAX ? NULL : &fit->hosts[ranks[i].host];
		/* A rank alone on its host would be held where it happens to be. */
		bool others = host && host->count > (line->placed ? 1 : 0);

		line->expected = others ? host->sum / host->count : 0;
		line->give = others ? PRIOR_HOST_DRIFT : PRIOR_DRIFT;
	}
}

/* --- the tree --------------------------------------------------------------------------------- */

static bool is_near(const struct line *line, np_ns end, np_ns middle)
{
	return line->limit <= 0 || distance(line, end, middle) <= line->limit;
}

/*
 * The time of an instance: the mean of the ends of its ranks that are placed and
 * not far off. Ends are late more often than early, so a middle would lie before
 * the mean that lines run through, and the clocks would creep on in every round,
 * those of large communicators at another pace than those of small ones.
 */
static void time_instance(const struct fit *fit, struct clock_instance *instance, size_t least)
{
	np_ns *scratch = fit->samples->scratch;
	size_t count = 0;
	double sum = 0;
	double near = 0;

	for (uint32_t i = 0; i < instance->count; i++) {
		const struct line *line = &fit->lines[fit->samples->rank.item[instance->first + i]];
		np_ns end = fit->samples->end.item[instance->first + i];

		if (line->placed)
			scratch[count++] = end - ahead(line, end);
	}
	instance->known = count >= least;
	if (!instance->known)
		return;
	instance->middle = clock_quantile(scratch, count, 0.5);
	for (uint32_t i = 0; i < instance->count; i++) {
		const struct line *line = &fit->lines[fit->samples->rank.item[instance->first + i]];
		np_ns end = fit->samples->end.item[instance->first + i];

		if (!line->placed || !is_near(line, end, instance->middle))
			continue;
		sum += (double)(end - ahead(line, end) - instance->middle);
		near++;
	}
	instance->time = instance->middle + (near > 0 ? (np_ns)(sum / near) : 0);
}

enum pass {
	PASS_FIT,
	PASS_MEASURE,
};

/* Go over the ends of the new ranks of a communicator, to fit them or to see how well they fit. */
static void pass_new(struct fit *fit, uint32_t communicator, enum pass pass)
{
	const struct clock_samples *samples = fit->samples;

	for (uint32_t i = samples->communicator_first[communicator];
	     i < samples->communicator_first[communicator + 1]; i++) {
		const struct clock_instance *instance = &samples->instances.item[i];

		for (uint32_t j = 0; instance->known && j < instance->count; j++) {
			struct line *line = &fit->lines[samples->rank.item[instance->first + j]];
			np_ns end = samples->end.item[instance->first + j];
			double apart = distance(line, end, instance->time);

			if (line->placed || apart > line->limit)
				continue;
			if (pass == PASS_FIT) {
				add_point(line, end, instance->time);
			} else {
				line->n++;
				line->off += apart;
			}
		}
	}
}

static void each_new(struct fit *fit, uint32_t communicator, void (*call)(struct line *line))
{
	const struct np_align_communicator *own = &fit->align->communicators.item[communicator];

	for (uint32_t i = 0; i < own->observed; i++) {
		struct line *line = &fit->lines[fit->align->coverage.item[own->coverage + i].rank];

		if (!line->placed)
			call(line);
	}
}

static void begin_line(struct line *line)
{
	clear_line(line);
	line->started = false;
	line->offset = 0;
	line->drift = 0;
	line->limit = (double)NP_NS_MAX;
}

static void solve_if_met(struct line *line)
{
	if (line->n > 0)
		solve(line);
	clear_line(line);
}

static void limit_and_clear(struct line *line)
{
	set_limit(line);
	clear_line(line);
}

static void place(struct line *line)
{
	if (line->n > 0)
		solve(line);
	line->placed = line->started;
}

/* Place the ranks of a communicator by those of its ranks that are placed. */
static void expand(struct fit *fit, uint32_t communicator)
{
	struct clock_samples *samples = fit->samples;

	for (uint32_t i = samples->communicator_first[communicator];
	     i < samples->communicator_first[communicator + 1]; i++)
		time_instance(fit, &samples->instances.item[i], 1);
	expect_drifts(fit);
	each_new(fit, communicator, begin_line);
	pass_new(fit, communicator, PASS_FIT);
	each_new(fit, communicator, solve_if_met);
	pass_new(fit, communicator, PASS_MEASURE);
	each_new(fit, communicator, limit_and_clear);
	pass_new(fit, communicator, PASS_FIT);
	each_new(fit, communicator, place);
}

static void touch(struct fit *fit, uint32_t rank)
{
	for (uint32_t i = fit->row_first[rank]; i < fit->row_first[rank + 1]; i++)
		fit->touched[fit->align->coverage.item[fit->rows[i]].communicator] = true;
}

static void adopt_placed(struct fit *fit, uint32_t communicator, uint32_t component)
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

/* Everything that can be reached from one rank. */
static void grow(struct fit *fit, uint32_t root, uint32_t component)
{
	size_t count = fit->align->communicators.count;

	fit->lines[root].placed = true;
	fit->clock->ranks[root].component = component;
	touch(fit, root);
	for (size_t i = 0; i < count;) {
		uint32_t communicator = fit->order[i];

		if (!fit->touched[communicator] || fit->done[communicator]) {
			i++;
			continue;
		}
		fit->done[communicator] = true;
		expand(fit, communicator);
		adopt_placed(fit, communicator, component);
		/* It may have reached one that has more instances. */
		i = 0;
	}
}

static size_t samples_of(const struct fit *fit, uint32_t communicator)
{
	return fit->samples->communicator_first[communicator + 1] -
	       fit->samples->communicator_first[communicator];
}

static int by_samples(const void *left, const void *right, void *context)
{
	const struct fit *fit = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	size_t samples[2] = { samples_of(fit, a), samples_of(fit, b) };

	if (samples[0] != samples[1])
		return samples[0] > samples[1] ? -1 : 1;
	return (a > b) - (a < b);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void time_instances(const struct fit *fit, size_t stride)
{
	for (size_t i = 0; i < fit->samples->instances.count; i += stride)
		time_instance(fit, &fit->samples->instances.item[i], 2);
}

static double move_line(struct line *line)
{
	np_ns offset = line->offset;
	double moved;

	if (line->n < 1)
		return 0;
	solve(line);
	set_limit(line);
	moved = (double)(line->offset - offset);
	return moved < 0 ? -moved : moved;
}

/* Fit every rank to the times of its instances; how far the clocks moved at most. */
static double refit(const struct fit *fit, size_t stride)
{
	const struct clock_samples *samples = fit->samples;
	double most = 0;

	for (size_t i = 0; i < fit->clock->rank_count; i++)
		clear_line(&fit->lines[i]);
	for (size_t i = 0; i < samples->instances.count; i += stride) {
		const struct clock_instance *instance = &samples->instances.item[i];

		for (uint32_t j = 0; instance->known && j < instance->count; j++) {
			struct line *line = &fit->lines[samples->rank.item[instance->first + j]];
			np_ns end = samples->end.item[instance->first + j];

			if (!line->placed || !is_near(line, end, instance->middle))
				continue;
			add_point(line, end, instance->time);
			line->off += distance(line, end, instance->time);
		}
	}
	for (size_t i = 0; i < fit->clock->rank_count; i++) {
		double moved = move_line(&fit->lines[i]);

		most = moved > most ? moved : most;
	}
	return most;
}

static void refine(const struct fit *fit)
{
	size_t stride = fit->samples->end.count / MOST_ROUND_ENDS + 1;

	/* The root of the tree has not been measured yet. */
	for (size_t i = 0; i < fit->clock->rank_count; i++) {
		if (fit->lines[i].limit <= 0)
			fit->lines[i].limit = (double)NP_NS_MAX;
	}
	for (int round = 0; round < ROUNDS; round++) {
		time_instances(fit, stride);
		expect_drifts(fit);
		if (refit(fit, stride) < STILL_NS)
			break;
	}
	if (stride == 1)
		return;
	time_instances(fit, 1);
	(void)refit(fit, 1);
}

/* --- ranks of one host ------------------------------------------------------------------------ */

/*
 * The ranks of a host are driven by one oscillator. Those whose drift agrees,
 * given how well it is known over their capture, get the same.
 */
static bool drift_agrees(const struct line *line, double drift)
{
	double sxx = line->n > 1 ? line->sxx - line->sx * line->sx / line->n : 0;
	double apart = line->drift - drift;
	double noise = line->limit / TRIM;

	/* Four standard errors of the slope; |noise| is a mean distance, hence 1.25. */
	return apart * apart * sxx <= 16 * 1.25 * 1.25 * noise * noise;
}

static void share_drift(const struct fit *fit, uint32_t host)
{
	double sum = 0;
	double weight = 0;
	double middle;

	for (int pass = 0; pass < 2; pass++) {
		middle = weight > 0 ? sum / weight : 0;
		sum = 0;
		weight = 0;
		for (size_t i = 0; i < fit->clock->rank_count; i++) {
			const struct line *line = &fit->lines[i];

			if (fit->clock->ranks[i].host != host || line->n < 2 ||
			    (pass > 0 && !drift_agrees(line, middle)))
				continue;
			sum += line->drift * line->sxx;
			weight += line->sxx;
		}
	}
	middle = weight > 0 ? sum / weight : 0;
	for (size_t i = 0; i < fit->clock->rank_count; i++) {
		struct line *line = &fit->lines[i];
		double at_zero;

		if (fit->clock->ranks[i].host != host || line->n < 2 || !drift_agrees(line, middle))
			continue;
		line->drift = middle;
		at_zero = (line->sy - middle * line->sx) / line->n;
		line->offset = line->y0 + (np_ns)(at_zero < 0 ? at_zero - 0.5 : at_zero + 0.5);
	}
}

/* Ranks of a host in different components have nothing to do with each other. */
static bool is_of_one_component(const struct np_clock *clock, uint32_t host)
{
	uint32_t component = NP_CLOCK_ALONE;

	for (size_t i = 0; i < clock->rank_count; i++) {
		if (clock->ranks[i].host != host)
			continue;
		if (component != NP_CLOCK_ALONE && clock->ranks[i].component != component)
			return false;
		component = clock->ranks[i].component;
	}
	return component != NP_CLOCK_ALONE;
}

/* --- everything ------------------------------------------------------------------------------- */

static int prepare(struct fit *fit, struct np_err *err)
{
	const struct np_align *align = fit->align;
	size_t ranks = fit->clock->rank_count;
	size_t communicators = align->communicators.count;

	fit->lines = calloc(ranks + 1, sizeof(*fit->lines));
	fit->row_first = calloc(ranks + 2, sizeof(*fit->row_first));
	fit->rows = malloc((align->coverage.count + 1) * sizeof(*fit->rows));
	fit->touched = calloc(communicators + 1, sizeof(*fit->touched));
	fit->done = calloc(communicators + 1, sizeof(*fit->done));
	fit->order = malloc((communicators + 1) * sizeof(*fit->order));
	fit->hosts = calloc(fit->clock->hosts.count + 1, sizeof(*fit->hosts));
	if (!fit->hosts || !fit->lines || !fit->row_first || !fit->rows || !fit->touched ||
	    !fit->done || !fit->order)
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
	return NP_OK;
}

/* Rounds move all clocks a little; the first rank of each component is the reference again. */
static void anchor(struct fit *fit)
{
	for (size_t i = 0; i < fit->clock->rank_count; i++) {
		uint32_t root = fit->clock->ranks[i].component;
		struct np_clock_knot *knot = &fit->clock->knots[i];
		const struct line *line = &fit->lines[i];

		fit->clock->ranks[i].knots = knot;
		fit->clock->ranks[i].knot_count = 1;
		if (root == NP_CLOCK_ALONE)
			continue;
		knot->local = line->x0;
		knot->offset =
			line->offset -
			ahead(&fit->lines[root], line->x0 - line->offset + fit->lines[root].offset);
		fit->clock->ranks[i].drift = line->drift - fit->lines[root].drift;
	}
}

int clock_fit(const struct np_align *align, struct clock_samples *samples, struct np_clock *clock,
	      struct np_err *err)
{
	struct fit fit = { .align = align, .samples = samples, .clock = clock };
	int rc = prepare(&fit, err);

	if (rc == NP_OK) {
		for (size_t i = 0; i < clock->rank_count; i++) {
			if (!fit.lines[i].placed && fit.row_first[i] < fit.row_first[i + 1])
				grow(&fit, (uint32_t)i, (uint32_t)i);
		}
		refine(&fit);
		for (uint32_t i = 0; i < clock->hosts.count; i++) {
			if (is_of_one_component(clock, i))
				share_drift(&fit, i);
		}
		anchor(&fit);
	}
	free(fit.lines);
	free(fit.row_first);
	free(fit.rows);
	free(fit.touched);
	free(fit.done);
	free(fit.order);
	free(fit.hosts);
	return rc;
}
