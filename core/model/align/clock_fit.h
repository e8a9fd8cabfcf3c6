/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLOCK_FIT_H
#define NP_CLOCK_FIT_H

/*
 * Inside of the clocks: clock.c reports, with residuals; clock_fit.c finds clocks
 * from collectives, which clock_samples.c picks.
 *
 * Threads share the work so that floating point comes to the same on any number
 * of them: an instance belongs to one part of the work, and so does a rank, whose
 * sums are over the instances in their order.
 */
#include "npuprof/clock.h"
#include "npuprof/workers.h"

/* An instance whose members end together, and when that was on the common clock. */
struct clock_instance {
	uint32_t first; /* of its ends */
	uint32_t count;
	bool known;   /* at least two of its ranks are on the common clock */
	np_ns median; /* of its ends: what far ones are told by */
	np_ns time;   /* mean of those that are not far */
};

/*
 * Ends of collectives, spread over the run: enough for the fit, few enough that
 * it does not cost what the matching does.
 */
struct clock_samples {
	NP_VEC(struct clock_instance) instances; /* by communicator */
	uint32_t *communicator_first;            /* instance; one more than there are */
	NP_VEC(uint32_t) rank;                   /* of each end; those of an instance ascend */
	NP_VEC(np_ns) end;
	struct np_workers workers;
	size_t parts; /* of the work: see clock_part() */
	size_t ranks;
	np_ns *scratch; /* for each part as many values as ranks */
};

int clock_samples_take(const struct np_align *align, size_t threads, struct clock_samples *ret,
		       struct np_err *err) NP_MUST_USE;
void clock_samples_release(struct clock_samples *samples);

/* A part of so many instances or ranks. */
struct clock_range {
	size_t from;
	size_t to;
};

struct clock_range clock_part(const struct clock_samples *samples, size_t count, size_t part);

static inline np_ns *clock_scratch(const struct clock_samples *samples, size_t part)
{
	return &samples->scratch[part * samples->ranks];
}

/* The ends of an instance that are of these ranks. */
struct clock_range clock_ends_of(const struct clock_samples *samples,
				 const struct clock_instance *instance, struct clock_range ranks);

/* Fit all ranks; sets knots, drift, component and method. */
int clock_fit(const struct np_align *align, struct clock_samples *samples, struct np_clock *clock,
	      struct np_err *err) NP_MUST_USE;

/* The lower median of the values, which are reordered; count > 0. */
np_ns clock_quantile(np_ns *values, size_t count, double share);

/* --- of the fit ---------------------------------------------------------------------------------
 */

/* Ends further off than so many times the usual are left out of a fit, but 5 µs never are. */
#define CLOCK_TRIM       4
#define CLOCK_TRIM_LEAST 5000

/* What a rank's clock is ahead, as a line through the differences of ends. */
struct clock_line {
	np_ns x0; /* the median of the rank's capture */
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
struct clock_mean {
	double sum;
	double count;
	bool known;
};

struct clock_fit {
	const struct np_align *align;
	struct clock_samples *samples;
	struct np_clock *clock;
	struct clock_line *lines; /* by rank */
	/* Rows of the coverage by rank. */
	uint32_t *row_first;
	uint32_t *rows;
	bool *touched;     /* by communicator */
	uint32_t *order;   /* communicators, most instances first */
	uint32_t *place;   /* of a communicator in that */
	uint32_t *reached; /* places of those that touch what is placed: a heap */
	size_t reached_count;
	struct clock_mean *hosts;
};

/* What the clock of the line is ahead at a time of its own. */
static inline np_ns clock_ahead(const struct clock_line *line, np_ns end)
{
	double drifted = line->drift * (double)(end - line->x0);

	return line->offset + (np_ns)(drifted < 0 ? drifted - 0.5 : drifted + 0.5);
}

/* How far an end lies from where the line expects it, if the instance ended at `time`. */
static inline double clock_distance(const struct clock_line *line, np_ns end, np_ns time)
{
	double apart = (double)(end - time - clock_ahead(line, end));

	return apart < 0 ? -apart : apart;
}

static inline bool clock_is_near(const struct clock_line *line, np_ns end, np_ns median)
{
	return line->limit <= 0 || clock_distance(line, end, median) <= line->limit;
}

static inline void clock_add_point(struct clock_line *line, np_ns end, np_ns time)
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

#endif /* NP_CLOCK_FIT_H */
