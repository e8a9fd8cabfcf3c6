/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_private.h"

#include "npuprof/align.h"

/*
 * The time of an instance: the mean of the ends of its ranks that are placed and
 * not far off. Ends are late more often than early, so a median would lie before
 * the mean that lines run through, and the clocks would creep on in every round,
 * those of large communicators at another pace than those of small ones.
 */
void clock_time_instance(const struct clock_fit *fit, struct clock_instance *instance, size_t least,
			 np_ns *scratch)
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
	clock_expect_drifts(fit);
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

static void touch(struct clock_fit *fit, uint32_t rank)
{
	for (uint32_t i = fit->row_first[rank]; i < fit->row_first[rank + 1]; i++)
		fit->touched[fit->align->coverage.item[fit->rows[i]].communicator] = true;
}

/* Gives whether there was one that was not adopted yet. */
static bool adopt_placed(struct clock_fit *fit, uint32_t communicator, uint32_t component)
{
	const struct np_align_communicator *own = &fit->align->communicators.item[communicator];
	bool adopted = false;

	for (uint32_t i = 0; i < own->observed; i++) {
		uint32_t rank = fit->align->coverage.item[own->coverage + i].rank;

		if (!fit->lines[rank].placed || fit->clock->ranks[rank].component == component)
			continue;
		fit->clock->ranks[rank].component = component;
		touch(fit, rank);
		adopted = true;
	}
	return adopted;
}

void clock_grow(struct clock_fit *fit, uint32_t root, uint32_t component)
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
		if (has_new(fit, communicator))
			expand(fit, communicator);
		/* A new rank may reach one that has more instances. */
		i = adopt_placed(fit, communicator, component) ? 0 : i + 1;
	}
}
