/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SAMPLES_H
#define NP_SAMPLES_H

/* Values of which quantiles are wanted. */

#include "npuprof/err.h"
#include "npuprof/relation.h"
#include "npuprof/vec.h"

/*
 * Values of which quantiles are wanted: all are kept, so that these are exact.
 * Those of a rank at once, grouping_fill(), take half the room where they are short
 * enough, which durations below 4 s are: then they are in `narrow`.
 */
struct value_samples {
	int64_t *item;
	uint32_t *narrow;
	size_t count;
	size_t capacity;
	int64_t sum;
	bool sorted;
};

struct summary {
	size_t count;
	double mean;
	double std;            /* of a sample (n - 1); NaN for one value */
	double population_std; /* (n) */
	double squares;        /* Σ (x - mean)² */
	int64_t min;
	double q1;
	double median;
	double q3;
	int64_t max;
	int64_t sum;
};

int samples_add(struct value_samples *samples, int64_t value, struct np_err *err) NP_MUST_USE;
void samples_release(struct value_samples *samples);

/* Sums of damaged times may not fit: then they are as large as can be. */
int64_t samples_plus(int64_t a, int64_t b);

/* Of values that are not there, only their sum and extremes: no quantiles, no deviation. */
struct summary samples_known_by_sum(size_t count, int64_t sum, int64_t least, int64_t most);

/* Sorts them. Quantiles are interpolated linearly at (n - 1)q. */
struct summary samples_describe(struct value_samples *samples);

/* Values that were described. */
struct described {
	const struct value_samples *samples;
	const struct summary *summary;
};

/*
 * The same of all of these together, exact as well, without putting them together;
 * without quantiles where values are not there.
 */
struct summary samples_describe_pooled(const struct described *list, size_t count);

/* The columns of a description and its cells. */
#define DESCRIBE_COLUMNS \
	{ "Count", NP_INTEGER }, { "MeanNs", NP_REAL }, { "StdNs", NP_REAL }, \
		{ "MinNs", NP_REAL }, { "Q1Ns", NP_REAL }, { "MedianNs", NP_REAL }, \
		{ "Q3Ns", NP_REAL }, { "MaxNs", NP_REAL }, \
	{ \
		"SumNs", NP_REAL \
	}
#define DESCRIBE_CELLS 9

void describe_cells(const struct summary *summary, struct np_cell *cells);

#endif /* NP_SAMPLES_H */
