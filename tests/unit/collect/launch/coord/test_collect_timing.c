/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/coord/timing.h"

#include "np_random.h"
#include "np_test.h"

static void the_shortest_trip_gives_the_offset_and_half_of_it_how_wrong_it_may_be(void **state)
{
	/*
	 * The second trip is the shortest: asked at 2000, back at 2011, so the middle is
	 * 2005 and the other clock, which showed 7005, is 5000 ahead, give or take 6.
	 */
	const struct np_timing_trip trips[] = {
		{ 1000, 6100, 1100 },
		{ 2000, 7005, 2011 },
		{ 3000, 8000, 3020 },
	};
	struct np_timing_sample sample = np_timing_best(trips, 3);

	(void)state;
	assert_int_equal(sample.at, 2005);
	assert_int_equal(sample.offset, 5000);
	assert_int_equal(sample.uncertainty, 6);
}

/* Whatever the two ways take, the true offset is within the uncertainty. */
static void the_true_offset_is_within_the_uncertainty(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		np_ns truth = (np_ns)np_random_below(&random, 20000000) - 10000000;
		struct np_timing_trip trips[5];
		struct np_timing_sample sample;

		for (size_t i = 0; i < NP_COUNT(trips); i++) {
			np_ns asked = 1000000000 + (np_ns)i * 1000000;
			np_ns there = asked + (np_ns)np_random_below(&random, 90000);

			trips[i].asked = asked;
			trips[i].answered = there + truth;
			trips[i].returned = there + (np_ns)np_random_below(&random, 90000);
		}
		sample = np_timing_best(trips, NP_COUNT(trips));
		assert_true(sample.offset - truth <= sample.uncertainty);
		assert_true(truth - sample.offset <= sample.uncertainty);
	}
}

static struct np_timing_host host_of(const struct np_timing_sample *samples, size_t count)
{
	struct np_timing_host host = { 0 };

	for (size_t i = 0; i < count; i++)
		*np_vec_add(&host.samples, NULL) = samples[i];
	return host;
}

static void drift_is_the_change_of_the_offset_over_time(void **state)
{
	/* 40 µs in 2 s are 20 ppm; 2 µs of doubt are 1 ppm. */
	const struct np_timing_sample samples[] = {
		{ 1000000000, 5000000, 1000 },
		{ 2000000000, 5020000, 9000 },
		{ 3000000000, 5040000, 1000 },
	};
	struct np_timing_host host = host_of(samples, 3);
	double ppm = 0;
	double error = 0;

	(void)state;
	assert_true(np_timing_drift(&host, &ppm, &error));
	assert_near(ppm, 20, 1e-9);
	assert_near(error, 1, 1e-9);
	np_vec_release(&host.samples);
}

static void a_drift_within_the_uncertainty_is_not_claimed(void **state)
{
	const struct np_timing_sample samples[] = {
		{ 1000000000, 5000000, 1000 },
		{ 3000000000, 5002000, 1000 },
	};
	struct np_timing_host host = host_of(samples, 2);
	double ppm;
	double error;

	(void)state;
	assert_false(np_timing_drift(&host, &ppm, &error));
	host.samples.count = 1;
	assert_false(np_timing_drift(&host, &ppm, &error));
	np_vec_release(&host.samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_shortest_trip_gives_the_offset_and_half_of_it_how_wrong_it_may_be),
		cmocka_unit_test(the_true_offset_is_within_the_uncertainty),
		cmocka_unit_test(drift_is_the_change_of_the_offset_over_time),
		cmocka_unit_test(a_drift_within_the_uncertainty_is_not_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
