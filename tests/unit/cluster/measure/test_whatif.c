/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/whatif.h"

#include "np_replay_fixture.h"

#include <math.h>

#define REDUCE "hcom_allReduce_"

static const int32_t pair[] = { 0, 1 };

static struct np_whatif_input input_of(const struct replayed *it)
{
	return (struct np_whatif_input){ .replay = it->replay, .threads = 1 };
}

/* The step with these repairs, as --fix would have them. */
static np_ns with_fixes(const struct np_whatif_input *input, const char *const *texts, size_t count)
{
	struct np_fix fixes[8];
	struct np_err err = NP_ERR_INIT;
	np_ns step = NP_UNKNOWN;

	assert_true(count <= NP_COUNT(fixes));
	for (size_t i = 0; i < count; i++)
		assert_ok(np_fix_parse(texts[i], &fixes[i], &err), err);
	assert_ok(np_whatif_together(input, fixes, count, &step, &err), err);
	return step;
}

#define WITH(input, ...) \
	with_fixes((input), (const char *const[]){ __VA_ARGS__ }, \
		   sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void assert_refused(const struct np_whatif_input *input, const char *text, const char *why)
{
	struct np_fix fix;
	struct np_err err = NP_ERR_INIT;
	np_ns step;

	assert_ok(np_fix_parse(text, &fix, &err), err);
	assert_int_equal(np_whatif_together(input, &fix, 1, &step, &err), NP_E_USAGE);
	if (!strstr(err.text, why))
		fail_msg("'%s' lacks '%s'", err.text, why);
}

/* --- texts ------------------------------------------------------------------------------------ */

static void repairs_are_written_as_they_are_read(void **state)
{
	static const char *const texts[] = {
		"rank:5",    "host:node-3", "stage:0",    "role:tp",   "optype:Flash*",
		"group:17",  "link:3-4",    "host-gaps",  "frequency", "experts",
		"hide-comm", "all",         "host:a:b:c", "between",
	};
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++) {
		char text[NP_FIX_TEXT + 16];
		struct np_fix fix;

		assert_ok(np_fix_parse(texts[i], &fix, &err), err);
		np_fix_format(&fix, text);
		assert_string_equal(text, texts[i]);
	}
}

static void what_is_no_repair_is_refused_with_what_is(void **state)
{
	char long_name[NP_FIX_TEXT + 32];
	const char *const texts[] = { "",       "rank",       "rank:",  "ranks:5",
				      ":5",     "all:",       "all:5",  "host-gaps:1",
				      "Rank:5", "hide-comm ", long_name };

	(void)state;
	memset(long_name, 'x', sizeof(long_name));
	memcpy(long_name, "host:", 5);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i < NP_COUNT(texts); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_fix fix;

		if (strcmp(texts[i], "all:") == 0)
			continue; /* nothing behind the colon is nothing said */
		assert_int_equal(np_fix_parse(texts[i], &fix, &err), NP_E_USAGE);
		assert_non_null(strstr(err.text, "use rank:R, host:NAME"));
	}
}

/*
 * Two steps of 10 ms, with 3 ms between them on rank 0 and 7 on rank 1, for which rank 0 waits
 * in the second step: steps are 13 and 17 ms apart.
 */
static void time_between_steps_is_repaired_alone_or_as_that_of_the_peers(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns second = id == 0 ? 13 * MS : 17 * MS;

		script_compute(&script, 0, 9 * MS);
		script_comm(&script, group, REDUCE, 9 * MS, 10 * MS);
		script_end(&script, "1");
		script_compute(&script, second, second + 9 * MS);
		script_comm(&script, group, REDUCE, second + 9 * MS, 27 * MS);
		script_end(&script, "2");
	}
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);

		assert_int_equal(WITH(&input, "host-gaps"), 15 * MS);
		assert_int_equal(WITH(&input, "between"), 10 * MS);
		assert_int_equal(WITH(&input, "rank:1"), 13 * MS);
		assert_int_equal(WITH(&input, "rank:0"), 15 * MS);
	}
}

/* --- ranks and hosts -------------------------------------------------------------------------- */

/* Ranks compute 8 and 4 ms, the last one twice as long; a transfer of 1 ms lies between. */
static struct np_run *slow_run(int32_t ranks)
{
	static const int32_t members[] = { 0, 1, 2, 3 };
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < ranks; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, (size_t)ranks);
		np_ns slow = id + 1 == ranks ? 2 : 1;

		script.rank->host_name = intern(run, id < ranks / 2 ? "near" : "far");
		script.rank->host_uid = script.rank->host_name;
		script_compute(&script, 0, slow * 8 * MS);
		script_comm(&script, group, REDUCE, slow * 8 * MS, 17 * MS);
		script_compute(&script, 17 * MS, (17 + slow * 4) * MS);
		script_end(&script, "1");
	}
	return run;
}

static void a_repaired_rank_is_as_its_peers(void **state)
{
	with_run *run = slow_run(4);
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	assert_int_equal(WITH(&input, "rank:3"), 13 * MS);
	/* One that is not slower than the mean of its peers stays as it is. */
	assert_int_equal(WITH(&input, "rank:0"), 25 * MS);
	assert_int_equal(WITH(&input, "rank:0", "rank:3"), 13 * MS);
}

/*
 * Ranks 2 and 3 are "far" and compute 18 ms on average, the others 12: the host as
 * a whole takes two thirds, and how its ranks differ stays.
 */
/*
 * Three ranks compute 2 ms in front of each of three operators of 1 ms, rank 1 as much more in
 * front of the first (`behind` its end: in front of the second). The step is 9 ms without: what is
 * spread over all of it would leave two thirds of that where it is.
 */
static np_ns repaired_of_extra_work(np_ns extra, bool behind, const char *fix)
{
	static const int32_t all[] = { 0, 1, 2 };
	with_run *run = np_run_new();
	np_ns first = 2 * MS + (behind ? 0 : extra);
	np_ns second = first + 3 * MS + (behind ? extra : 0);

	for (int32_t id = 0; id < 3; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", all, 3);
		np_ns more = id == 1 ? extra : 0;
		np_ns before = behind ? 0 : more;
		np_ns after = behind ? more : 0;

		script_compute(&script, 0, 2 * MS + before);
		script_comm(&script, group, REDUCE, 2 * MS + before, first + MS);
		script_compute(&script, first + MS, first + 3 * MS + after);
		script_comm(&script, group, REDUCE, first + 3 * MS + after, second + MS);
		script_compute(&script, second + MS, second + 3 * MS);
		script_comm(&script, group, REDUCE, second + 3 * MS, second + 4 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);
		const struct np_whatif_input input = input_of(&it);

		return WITH(&input, fix);
	}
}

static void work_that_peers_do_not_have_is_taken_off_where_it_is(void **state)
{
	(void)state;
	assert_int_equal(repaired_of_extra_work(3 * MS, false, "rank:1"), 9 * MS);
	assert_int_equal(repaired_of_extra_work(3 * MS, true, "rank:1"), 9 * MS);
	assert_int_equal(repaired_of_extra_work(3 * MS, true, "all"), 9 * MS);
	/* Nothing is to be repaired elsewhere. */
	assert_int_equal(repaired_of_extra_work(3 * MS, true, "rank:2"), 12 * MS);
	assert_int_equal(repaired_of_extra_work(0, false, "rank:1"), 9 * MS);
}

static void a_repaired_host_is_as_the_other_hosts(void **state)
{
	with_run *run = slow_run(4);
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	assert_in_range(WITH(&input, "host:far"), 17 * MS - 2, 17 * MS + 2);
	assert_int_equal(WITH(&input, "host:near"), 25 * MS);
}

/* Two ranks on each host; in each of the steps the second host takes so many ms, the first 10. */
static bool charges_host(const np_ns *steps, size_t count)
{
	static const int32_t members[] = { 0, 1, 2, 3 };
	with_run *run = np_run_new();
	struct np_whatif whatif = { 0 };
	struct np_err err = NP_ERR_INIT;
	bool charged;

	for (int32_t id = 0; id < 4; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, 4);
		np_ns now = 0;

		script.rank->host_name = intern(run, id < 2 ? "near" : "far");
		script.rank->host_uid = script.rank->host_name;
		for (size_t i = 0; i < count; i++) {
			np_ns end = now + (steps[i] > 10 ? steps[i] : 10) * MS + 1 * MS;
			np_ns ready = now + (id < 2 ? 10 : steps[i]) * MS;
			const char name[] = { (char)('0' + (int)i), '\0' };

			script_compute(&script, now, ready);
			script_comm(&script, group, REDUCE, ready, end);
			script_end(&script, name);
			now = end;
		}
	}
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);

		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		charged = np_whatif_verdict(&whatif).found &&
			  np_whatif_verdict(&whatif).fix.kind == NP_FIX_HOST;
	}
	np_whatif_release(&whatif);
	return charged;
}

static void a_host_is_charged_for_what_lasts(void **state)
{
	(void)state;
	assert_true(charges_host((const np_ns[]){ 14, 13, 14, 15 }, 4));
	assert_false(charges_host((const np_ns[]){ 14, 8, 12, 9 }, 4));
	/* Of a single step nothing tells whether it lasts. */
	assert_true(charges_host((const np_ns[]){ 14 }, 1));
}

/* The mean of 12, 12, 12 and 24 ms is 15. */
static void with_all_repaired_every_rank_is_as_the_others(void **state)
{
	with_run *run = slow_run(4);
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_whatif whatif = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(WITH(&input, "all"), 13 * MS);
	assert_ok(np_whatif_measure(&input, &whatif, &err), err);
	assert_int_equal(whatif.ideal, 13 * MS);
	assert_int_equal(whatif.step, 25 * MS);
	assert_int_equal(whatif.observed, 25 * MS);
	assert_near(whatif.fidelity, 0, 1e-12);
	np_whatif_release(&whatif);
}

/* Where nobody is left to be measured by, nothing changes. */
static void ranks_without_peers_stay_as_they_are(void **state)
{
	with_run *run = slow_run(4);
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	for (size_t i = 0; i < 4; i++)
		run->ranks[i]->host_name = intern(run, "one");
	assert_int_equal(WITH(&input, "host:one"), 25 * MS);
}

static void names_that_are_not_there_are_refused(void **state)
{
	with_run *run = slow_run(4);
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	assert_refused(&input, "rank:17", "ranks 0-3");
	assert_refused(&input, "rank:three", "ranks 0-3");
	assert_refused(&input, "host:nowhere", "near, far");
	assert_refused(&input, "role:tp", "dp");
	assert_refused(&input, "group:18", "there is no group '18'");
	assert_refused(&input, "stage:0", "this run has 0 stages");
	assert_refused(&input, "optype:Conv*", "no kernel has a type like 'Conv*'");
	assert_refused(&input, "link:3", "such as link:3-4");
	assert_refused(&input, "link:0-9", "ranks 0-3");
	assert_refused(&input, "experts", "no rank of this run has experts");
}

/* --- kinds of work ---------------------------------------------------------------------------- */

/* Rank 1 has 10 ms of computing and 5 in which its host launches nothing, rank 0 10 and 1. */
static void waiting_for_the_host_can_be_taken_away(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns gap = id == 0 ? 1 * MS : 5 * MS;

		script_compute(&script, 0, 4 * MS);
		script_kernel(&script, 4 * MS + gap, 10 * MS + gap, true);
		script_comm(&script, group, REDUCE, 10 * MS + gap, 16 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);

		assert_int_equal(WITH(&input, "rank:1"), 12 * MS);
		assert_int_equal(WITH(&input, "host-gaps"), 11 * MS);
		assert_int_equal(WITH(&input, "host-gaps", "rank:1"), 11 * MS);
		assert_int_equal(WITH(&input, "hide-comm"), 15 * MS);
		assert_int_equal(WITH(&input, "host-gaps", "hide-comm"), 10 * MS);
	}
}

/* On rank 1 Conv takes 8 ms instead of 4 and Add 6 instead of 2; the rest is as on the others. */
static struct np_run *types_run(void)
{
	static const int32_t members[] = { 0, 1, 2 };
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 3; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, 3);
		np_ns conv = id == 1 ? 8 * MS : 4 * MS;
		np_ns add = id == 1 ? 6 * MS : 2 * MS;

		script_compute(&script, 0, conv);
		script.kernels[0].of = intern(run, "Conv2D");
		script_compute(&script, conv, conv + add);
		script.kernels[1].of = intern(run, "Add");
		script_compute(&script, conv + add, conv + add + 2 * MS);
		script_comm(&script, group, REDUCE, conv + add + 2 * MS, 17 * MS);
		script_end(&script, "1");
	}
	return run;
}

static void kernels_of_a_type_can_be_as_those_of_peers(void **state)
{
	with_run *run = types_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	assert_in_range(WITH(&input, "optype:Conv*"), 13 * MS - 2, 13 * MS + 2);
	assert_in_range(WITH(&input, "optype:Add"), 13 * MS - 2, 13 * MS + 2);
	assert_in_range(WITH(&input, "optype:*"), 9 * MS - 2, 9 * MS + 2);
	assert_int_equal(WITH(&input, "optype:MatMul"), 17 * MS);
}

/* Two types together save what each does, as other work of a rank stays. */
static void types_add_up(void **state)
{
	with_run *run = types_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	assert_in_range(WITH(&input, "optype:Conv*", "optype:Add"), 9 * MS - 2, 9 * MS + 2);
}

/* Rank 0 runs at nine tenths of its rated clock; rank 1 says only that it had been faster. */
static void computing_can_be_at_the_rated_clock(void **state)
{
	with_run *run = slow_run(2);
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	double means[] = { 900, 600 };
	struct np_frequency_rank ranks[] = {
		{ .mean = &means[0], .rated = 1000, .highest = 950 },
		{ .mean = &means[1], .rated = NP_UNKNOWN, .highest = 1200 },
	};
	const struct np_frequencies frequencies = { ranks, NP_COUNT(ranks) };
	struct np_err err = NP_ERR_INIT;
	float *factors = NULL;

	(void)state;
	assert_refused(&input, "frequency", "not read");
	assert_ok(np_whatif_frequency(it.replay, &frequencies, &factors, &err), err);
	assert_int_equal(it.replay->cells.count, 2);
	assert_true(factors[0] > 0.899F && factors[0] < 0.901F);
	assert_true(factors[1] > 0.499F && factors[1] < 0.501F);
	/* Of 16 and 8 ms of rank 1 half is left: 8 and 1 and 4. */
	input.frequency = factors;
	assert_int_equal(WITH(&input, "frequency"), 13 * MS);
	free(factors);
}

static void frequency_needs_samples(void **state)
{
	with_run *run = slow_run(2);
	with_replay it = replayed_build(run);
	double none = (double)NAN;
	struct np_frequency_rank ranks[] = {
		{ .rated = 1000 },
		{ .mean = &none, .rated = 1000 },
	};
	const struct np_frequencies frequencies = { ranks, NP_COUNT(ranks) };
	struct np_err err = NP_ERR_INIT;
	float *factors = NULL;

	(void)state;
	assert_int_equal(np_whatif_frequency(it.replay, &frequencies, &factors, &err), NP_E_USAGE);
	assert_null(factors);
}

/* --- transfers -------------------------------------------------------------------------------- */

/* Three pairs compute 5 ms and exchange in 2 ms, the last one in 6; a common operator follows. */
static struct np_run *transfers_run(void)
{
	static const int32_t members[] = { 0, 1, 2, 3, 4, 5 };
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 6; id++) {
		struct script script = script_begin(run, id);
		const int32_t both[] = { id / 2 * 2, id / 2 * 2 + 1 };
		uint32_t tp = add_group(run, script.rank, 10 + (uint64_t)id / 2, "tp", both, 2);
		uint32_t dp = add_group(run, script.rank, 7, "dp", members, 6);
		np_ns done = id < 4 ? 7 * MS : 11 * MS;

		script_compute(&script, 0, 5 * MS);
		script_comm(&script, tp, REDUCE, 5 * MS, done);
		script_comm(&script, dp, REDUCE, done, 12 * MS);
		script_end(&script, "1");
	}
	return run;
}

static void transfers_can_be_as_those_of_like_communicators(void **state)
{
	with_run *run = transfers_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	assert_int_equal(WITH(&input, "role:tp"), 8 * MS);
	assert_int_equal(WITH(&input, "group:12"), 8 * MS);
	assert_int_equal(WITH(&input, "group:10"), 12 * MS);
	assert_int_equal(WITH(&input, "role:dp"), 12 * MS);
	assert_int_equal(WITH(&input, "all"), 8 * MS);
	assert_refused(&input, "group:7", "no other communicator is like '7'");
}

/* What went between these two, local to a communicator of rank 4. */
static void add_transfer(struct np_run *run, uint32_t group, int32_t src, int32_t dst, np_ns time)
{
	struct np_transfer *transfer = np_vec_add(&run->ranks[4]->transfers, NULL);

	assert_non_null(transfer);
	*transfer = (struct np_transfer){ .group = group, .src = src, .dst = dst, .time = time };
}

/* Links between ranks, each with the time that it takes and that its like do. */
static void add_slow_link(struct np_links *links, int64_t src, int64_t dst, np_ns time,
			  np_ns expected)
{
	struct np_link_speed *link = np_vec_add(&links->list, NULL);

	assert_non_null(link);
	*link = (struct np_link_speed){
		.src = src, .dst = dst, .time = time, .expected = expected, .verdict = NP_LINK_SLOW
	};
}

/*
 * The link takes three times as long as its like: 6 ms become 2. What all ranks
 * exchange goes over others.
 */
static void a_link_can_be_as_its_like(void **state)
{
	with_run *run = transfers_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_links links = { 0 };
	struct np_whatif whatif = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	add_transfer(run, 0, 0, 1, 2 * MS);
	add_transfer(run, 0, 0, 1, 4 * MS);
	add_transfer(run, 1, 4, 3, MS);
	add_slow_link(&links, 5, 4, 3000, 1000);
	input.links = &links;
	assert_in_range(WITH(&input, "link:4-5"), 8 * MS - 2, 8 * MS + 2);
	assert_in_range(WITH(&input, "link:5-4"), 8 * MS - 2, 8 * MS + 2);
	/* Of a link that nothing is known of, nothing can be repaired. */
	assert_refused(&input, "link:0-1", "nothing is known of a link between ranks 0 and 1");
	assert_ok(np_whatif_measure(&input, &whatif, &err), err);
	assert_true(np_whatif_verdict(&whatif).found);
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_LINK);
	assert_string_equal(np_whatif_verdict(&whatif).fix.what, "4-5");
	np_whatif_release(&whatif);
	np_vec_release(&links.list);
}

/* The lists of members are not needed: those who take part are known. */
/* Three pairs compute 190 ms and exchange in 5, the last one in 7; a common operator follows. */
static struct np_run *little_slower_run(void)
{
	static const int32_t members[] = { 0, 1, 2, 3, 4, 5 };
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 6; id++) {
		struct script script = script_begin(run, id);
		const int32_t both[] = { id / 2 * 2, id / 2 * 2 + 1 };
		uint32_t tp = add_group(run, script.rank, 10 + (uint64_t)id / 2, "tp", both, 2);
		uint32_t dp = add_group(run, script.rank, 7, "dp", members, 6);
		np_ns done = id < 4 ? 195 * MS : 197 * MS;

		script_compute(&script, 0, 190 * MS);
		script_comm(&script, tp, REDUCE, 190 * MS, done);
		script_comm(&script, dp, REDUCE, done, 200 * MS);
		script_end(&script, "1");
	}
	return run;
}

static struct np_whatif_verdict verdict_on_link(np_ns time, np_ns expected)
{
	with_run *run = little_slower_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_links links = { 0 };
	struct np_whatif whatif = { 0 };
	struct np_whatif_verdict verdict;
	struct np_err err = NP_ERR_INIT;

	add_transfer(run, 0, 0, 1, 7 * MS);
	add_slow_link(&links, 4, 5, time, expected);
	input.links = &links;
	assert_ok(np_whatif_measure(&input, &whatif, &err), err);
	verdict = np_whatif_verdict(&whatif);
	np_whatif_release(&whatif);
	np_vec_release(&links.list);
	return verdict;
}

/* Members that always end apart make a link look slower by a third. */
static void a_link_that_is_little_slower_than_others_must_cost_more(void **state)
{
	struct np_whatif_verdict clear = verdict_on_link(7000, 4600);

	(void)state;
	assert_true(clear.found);
	assert_int_equal(clear.fix.kind, NP_FIX_LINK);
	assert_in_range(clear.saved, 15 * MS / 10, 35 * MS / 10);
	assert_false(verdict_on_link(7000, 5000).found);
}

static void a_link_of_communicators_without_lists_can_be_as_its_like(void **state)
{
	with_run *run = transfers_run();
	struct np_links links = { 0 };

	(void)state;
	for (int32_t id = 0; id < 6; id++) {
		struct np_group *groups = run->ranks[id]->groups.item;

		groups[0].members = NULL;
		groups[0].member_count = 0;
	}
	add_transfer(run, 1, 4, 3, MS);
	add_slow_link(&links, 4, 5, 3000, 1000);
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);

		input.links = &links;
		assert_in_range(WITH(&input, "link:4-5"), 8 * MS - 2, 8 * MS + 2);
	}
	np_vec_release(&links.list);
}

/* Of the 6 ms that the operator takes, 3 go over the link: the others stay as they are. */
static void what_a_link_does_not_take_stays(void **state)
{
	with_run *run = transfers_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_links links = { 0 };

	(void)state;
	add_transfer(run, 0, 0, 1, 3 * MS);
	add_transfer(run, 1, 4, 3, MS);
	add_slow_link(&links, 4, 5, 3000, 1000);
	input.links = &links;
	assert_in_range(WITH(&input, "link:4-5"), 10 * MS - 2, 10 * MS + 2);
	np_vec_release(&links.list);
}

/*
 * Ranks 3 and 4 exchange 0.9 ms of the millisecond that all six take, which could
 * be 0.3: but ranks 1 and 2 need 0.6.
 */
static void a_repaired_link_is_no_faster_than_the_next_one(void **state)
{
	with_run *run = transfers_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_links links = { 0 };

	(void)state;
	add_transfer(run, 1, 4, 3, MS * 9 / 10);
	add_transfer(run, 1, 2, 1, MS * 6 / 10);
	add_transfer(run, 1, 4, 2, MS * 2 / 10);
	add_slow_link(&links, 3, 4, 3000, 1000);
	add_slow_link(&links, 2, 4, 3000, 1000);
	input.links = &links;
	assert_in_range(WITH(&input, "link:3-4"), 12 * MS - MS * 3 / 10 - 2,
			12 * MS - MS * 3 / 10 + 2);
	/* One that nobody waited for gains nothing. */
	assert_int_equal(WITH(&input, "link:2-4"), 12 * MS);
	np_vec_release(&links.list);
}

/* Two links of one operator take as long: each hides what the other costs. */
static void links_that_hide_each_other_are_repaired_together(void **state)
{
	with_run *run = transfers_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_links links = { 0 };

	(void)state;
	add_transfer(run, 1, 4, 3, MS * 9 / 10);
	add_transfer(run, 1, 2, 1, MS * 9 / 10);
	add_transfer(run, 1, 4, 2, MS * 1 / 10);
	add_slow_link(&links, 3, 4, 3000, 1000);
	add_slow_link(&links, 1, 2, 3000, 1000);
	input.links = &links;
	assert_int_equal(WITH(&input, "link:3-4"), 12 * MS);
	assert_in_range(WITH(&input, "link:3-4", "link:1-2"), 12 * MS - MS * 6 / 10 - 2,
			12 * MS - MS * 6 / 10 + 2);
	assert_in_range(WITH(&input, "link:1-2", "link:3-4"), 12 * MS - MS * 6 / 10 - 2,
			12 * MS - MS * 6 / 10 + 2);
	np_vec_release(&links.list);
}

/*
 * All that ranks 1 and 2 send to rank 3 takes 0.9 and 0.8 ms of the millisecond that
 * all six take and could be a third of it: with one of the links repaired the other
 * one is in the way, with both it is what rank 1 sends to rank 2 in 0.4 ms.
 */
static void all_links_of_a_sender_or_receiver_can_be_as_their_like(void **state)
{
	with_run *run = transfers_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_links links = { 0 };
	struct np_whatif whatif = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	add_transfer(run, 1, 1, 3, MS * 9 / 10);
	add_transfer(run, 1, 2, 3, MS * 8 / 10);
	add_transfer(run, 1, 1, 2, MS * 4 / 10);
	add_slow_link(&links, 1, 3, 3000, 1000);
	add_slow_link(&links, 2, 3, 3000, 1000);
	input.links = &links;
	assert_in_range(WITH(&input, "link:1-3"), 12 * MS - MS / 10 - 2, 12 * MS - MS / 10 + 2);
	assert_in_range(WITH(&input, "link:*-3"), 12 * MS - MS / 2 - 2, 12 * MS - MS / 2 + 2);
	/* What it receives is not what it sends. */
	assert_refused(&input, "link:3-*", "nothing is known of the links of rank 3");
	assert_refused(&input, "link:*-*", "such as link:3-4");
	assert_refused(&input, "link:*-9", "ranks 0-5");
	links.list.item[0].fault = NP_FAULT_RECEIVER;
	links.list.item[1].fault = NP_FAULT_RECEIVER;
	assert_ok(np_whatif_measure(&input, &whatif, &err), err);
	assert_true(np_whatif_verdict(&whatif).found);
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_LINK);
	assert_string_equal(np_whatif_verdict(&whatif).fix.what, "*-3");
	np_whatif_release(&whatif);
	np_vec_release(&links.list);
}

/* --- stages ----------------------------------------------------------------------------------- */

/*
 * Two pipelines of two stages: ranks 0 and 1 compute 5 ms and send, ranks 2 and 3
 * receive and compute 10 ms; the ranks of a stage exchange at its end.
 */
static struct np_run *pipeline_run(void)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 4; id++) {
		struct script script = script_begin(run, id);
		const int32_t chain[] = { id % 2, id % 2 + 2 };
		const int32_t stage[] = { id / 2 * 2, id / 2 * 2 + 1 };
		uint32_t pp = add_group(run, script.rank, 10 + (uint64_t)id % 2, "pp", chain, 2);
		uint32_t dp = add_group(run, script.rank, 20 + (uint64_t)id / 2, "dp", stage, 2);
		struct np_comm_op *op;

		script_compute(&script, 0, id < 2 ? 5 * MS : 1 * MS);
		op = script_comm(&script, pp, id < 2 ? "hcom_send_" : "hcom_receive_",
				 id < 2 ? 5 * MS : 1 * MS, 6 * MS);
		op->peer = id < 2 ? 2 : 1;
		if (id >= 2)
			script_compute(&script, 6 * MS, 15 * MS);
		script_comm(&script, dp, REDUCE, id < 2 ? 6 * MS : 15 * MS,
			    id < 2 ? 7 * MS : 16 * MS);
		script_end(&script, "1");
	}
	return run;
}

static void a_stage_can_be_as_long_as_the_others(void **state)
{
	with_run *run = pipeline_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);

	(void)state;
	assert_int_equal(it.cluster->stages.count, 2);
	assert_int_equal(WITH(&input, "stage:0"), 16 * MS);
	/* 9 of its 10 ms become 4.5. */
	assert_int_equal(WITH(&input, "stage:1"), 6 * MS + 9 * MS / 2 + 1 * MS);
	assert_refused(&input, "stage:2", "this run has 2 stages");
	assert_refused(&input, "stage:-1", "this run has 2 stages");
	/* Ranks are measured by those of their own stage: they do not differ. */
	assert_int_equal(WITH(&input, "rank:3"), 16 * MS);
}

static const struct np_whatif_row *row_of(const struct np_whatif *whatif, enum np_fix_kind kind,
					  const char *what)
{
	for (size_t i = 0; i < whatif->rows.count; i++) {
		if (whatif->rows.item[i].fix.kind == kind &&
		    strcmp(whatif->rows.item[i].fix.what, what) == 0)
			return &whatif->rows.item[i];
	}
	fail_msg("%s was not tried", what);
	return NULL;
}

/* All ranks have kernels of one type: so many in each stage, for so long together. */
static void count_kernels(struct np_run *run, const int64_t counts[2], const np_ns totals[2])
{
	for (size_t i = 0; i < 4; i++) {
		struct np_statistic *kernels = np_vec_add(&run->ranks[i]->kernels, NULL);

		assert_non_null(kernels);
		*kernels = (struct np_statistic){ .name = intern(run, "MatMulV2"),
						  .count = counts[i / 2],
						  .total = totals[i / 2] };
	}
}

static void a_stage_whose_kernels_take_longer_is_slow(void **state)
{
	with_run *run = pipeline_run();

	(void)state;
	count_kernels(run, (int64_t[]){ 5, 5 }, (np_ns[]){ 5 * MS, 10 * MS });
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);
		struct np_whatif whatif = { 0 };
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(WITH(&input, "stage:1"), 6 * MS + 9 * MS / 2 + 1 * MS);
		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		assert_false(row_of(&whatif, NP_FIX_STAGE, "1")->split);
		np_whatif_release(&whatif);
	}
}

/* 10 and 5 become 7.5 and 7.5: the first stage is done 2.5 ms later. */
static void a_stage_that_has_more_kernels_gives_work_to_others(void **state)
{
	with_run *run = pipeline_run();

	(void)state;
	count_kernels(run, (int64_t[]){ 5, 10 }, (np_ns[]){ 5 * MS, 10 * MS });
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);
		struct np_whatif whatif = { 0 };
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(WITH(&input, "stage:1"), 8500000 + 9 * MS * 3 / 4 + 1 * MS);
		assert_int_equal(WITH(&input, "stage:0"), 16 * MS);
		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		assert_true(row_of(&whatif, NP_FIX_STAGE, "1")->split);
		assert_false(row_of(&whatif, NP_FIX_STAGE, "0")->split);
		np_whatif_release(&whatif);
	}
}

/* --- experts ---------------------------------------------------------------------------------- */

/*
 * Tokens are exchanged, experts compute, and again: now the one has more of them,
 * now the other, so that in sum they have as many.
 */
static void tokens_can_be_spread_evenly(void **state)
{
	with_run *run = np_run_new();
	struct np_experts experts = { 0 };

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "ep", pair, 2);
		np_ns first = id == 0 ? 4 * MS : 8 * MS;
		np_ns second = 12 * MS - first;

		script_comm(&script, group, REDUCE, 0, 1 * MS);
		script_compute(&script, 1 * MS, 1 * MS + first);
		script_comm(&script, group, REDUCE, 1 * MS + first, 11 * MS);
		script_compute(&script, 11 * MS, 11 * MS + second);
		script_comm(&script, group, REDUCE, 11 * MS + second, 20 * MS);
		script_end(&script, "1");
		for (uint32_t i = 0; i < 2; i++) {
			struct np_expert_exchange *each = np_vec_add(&experts.exchanges, NULL);
			bool busy = (int32_t)i != id;

			assert_non_null(each);
			*each = (struct np_expert_exchange){ .rank = (uint32_t)id,
							     .op = i,
							     .instance = i,
							     .back = i + 1,
							     .surplus = busy ? 2 * MS : 0,
							     .even = 1 };
		}
	}
	{
		with_replay it = replayed_build_with(run, &experts);
		struct np_whatif_input input = input_of(&it);

		input.experts = &experts;
		assert_int_equal(WITH(&input, "host-gaps"), 20 * MS);
		assert_in_range(WITH(&input, "experts"), 16 * MS - 2, 16 * MS + 2);
		/* The messages, from 2, 1 and 1 ms. */
		for (size_t i = 0; i < experts.exchanges.count; i++)
			experts.exchanges.item[i].even = 0.5F;
		assert_in_range(WITH(&input, "experts"), 14 * MS - 2, 14 * MS + 2);
		assert_in_range(WITH(&input, "all"), 14 * MS - 2, 14 * MS + 2);
	}
	np_experts_release(&experts);
}

/* Rank 1 computes 4 ms longer, for tokens: who repairs it still has them. */
static void tokens_are_no_fault_of_the_rank_that_got_them(void **state)
{
	with_run *run = np_run_new();
	struct np_experts experts = { 0 };

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "ep", pair, 2);
		np_ns work = id == 0 ? 4 * MS : 8 * MS;
		struct np_expert_exchange *each = np_vec_add(&experts.exchanges, NULL);

		assert_non_null(each);
		script_comm(&script, group, REDUCE, 0, 1 * MS);
		script_compute(&script, 1 * MS, 1 * MS + work);
		script_comm(&script, group, REDUCE, 1 * MS + work, 11 * MS);
		script_end(&script, "1");
		*each = (struct np_expert_exchange){ .rank = (uint32_t)id,
						     .back = 1,
						     .surplus = id == 0 ? -2 * MS : 2 * MS,
						     .even = 1 };
	}
	{
		with_replay it = replayed_build_with(run, &experts);
		struct np_whatif_input input = input_of(&it);

		input.experts = &experts;
		assert_in_range(WITH(&input, "rank:1"), 11 * MS - 2, 11 * MS + 2);
		assert_in_range(WITH(&input, "experts"), 9 * MS - 2, 9 * MS + 2);
		assert_in_range(WITH(&input, "rank:1", "experts"), 9 * MS - 2, 9 * MS + 2);
	}
	np_experts_release(&experts);
}

/* --- one after the other ---------------------------------------------------------------------- */

/* Ranks 1 and 2 are slow, by 6 and 4 ms: repairing 2 alone gains nothing. */
static struct np_run *two_slow_run(void)
{
	static const int32_t members[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	static const np_ns ready[] = { 10, 16, 14, 10, 10, 10, 10, 10 };
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 8; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, 8);

		script_compute(&script, 0, ready[id] * MS);
		script_comm(&script, group, REDUCE, ready[id] * MS, 17 * MS);
		script_end(&script, "1");
	}
	return run;
}

static void the_curve_takes_the_best_on_top_of_those_before(void **state)
{
	with_run *run = two_slow_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_whatif_curve curve = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_whatif_greedy(&input, NP_FIX_RANK, 3, &curve, &err), err);
	assert_true(curve.list.count >= 2);
	assert_string_equal(curve.list.item[0].fix.what, "1");
	assert_int_equal(curve.list.item[0].step, 15 * MS);
	assert_int_equal(curve.list.item[0].saved, 2 * MS);
	assert_string_equal(curve.list.item[1].fix.what, "2");
	assert_true(curve.list.item[1].step < 12 * MS);
	np_vec_release(&curve.list);
}

static void what_a_rank_costs_by_itself_is_told(void **state)
{
	with_run *run = two_slow_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_whatif whatif = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	/* Six are ready after 10 ms; as the others, the two would be after 74 / 7 and 76 / 7. */
	input.both = true;
	assert_ok(np_whatif_measure(&input, &whatif, &err), err);
	for (size_t i = 0; i < whatif.rows.count; i++) {
		const struct np_whatif_row *row = &whatif.rows.item[i];

		if (row->fix.kind != NP_FIX_RANK)
			continue;
		if (strcmp(row->fix.what, "1") == 0)
			assert_int_equal(row->alone, 16 * MS - 10857143);
		else if (strcmp(row->fix.what, "2") == 0)
			assert_int_equal(row->alone, 14 * MS - 10857143);
		else
			assert_int_equal(row->alone, 0);
	}
	assert_int_equal(np_whatif_saved(&whatif, 1), 2 * MS);
	assert_int_equal(np_whatif_saved(&whatif, 2), 0);
	assert_int_equal(np_whatif_saved(&whatif, 99), NP_UNKNOWN);
	np_whatif_release(&whatif);
}

static void assert_same_rows(const struct np_whatif *a, const struct np_whatif *b)
{
	assert_int_equal(a->step, b->step);
	assert_int_equal(a->ideal, b->ideal);
	assert_int_equal(a->rows.count, b->rows.count);
	for (size_t i = 0; i < a->rows.count; i++) {
		assert_int_equal(a->rows.item[i].fix.kind, b->rows.item[i].fix.kind);
		assert_string_equal(a->rows.item[i].fix.what, b->rows.item[i].fix.what);
		assert_int_equal(a->rows.item[i].step, b->rows.item[i].step);
		assert_int_equal(a->rows.item[i].alone, b->rows.item[i].alone);
		assert_int_equal(a->rows.item[i].lasting, b->rows.item[i].lasting);
		assert_int_equal(a->rows.item[i].evident, b->rows.item[i].evident);
	}
}

static void what_was_tried_before_is_not_tried_again(void **state)
{
	with_run *run = two_slow_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_whatif few = { 0 };
	struct np_whatif at_once = { 0 };
	struct np_whatif after = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	input.most = 2;
	assert_ok(np_whatif_measure(&input, &few, &err), err);
	input.most = 0;
	input.both = true;
	assert_ok(np_whatif_measure(&input, &at_once, &err), err);
	input.known = &few;
	assert_ok(np_whatif_measure(&input, &after, &err), err);
	assert_true(few.rows.count < after.rows.count);
	assert_same_rows(&after, &at_once);
	np_whatif_release(&after);
	/* Whatever it was found to be before it stays. */
	for (size_t i = 0; i < few.rows.count; i++) {
		if (few.rows.item[i].fix.kind == NP_FIX_HOST_GAPS)
			few.rows.item[i].step = 1;
	}
	assert_ok(np_whatif_measure(&input, &after, &err), err);
	assert_int_equal(after.rows.item[0].fix.kind, NP_FIX_HOST_GAPS);
	assert_int_equal(after.rows.item[0].saved, after.step - 1);
	np_whatif_release(&after);
	np_whatif_release(&at_once);
	np_whatif_release(&few);
}

/* Ranks 1 and 2 are equally slow: repairing one gains nothing, both a lot. */
static void ranks_whose_repair_saves_nothing_follow_by_what_they_cost(void **state)
{
	with_run *run = two_slow_run();
	with_replay it = replayed_build(run);
	struct np_whatif_input input = input_of(&it);
	struct np_root_cause_rank charges[] = {
		{ .charge = 1 }, { .charge = 5 }, { .charge = 30 }, { .charge = 20 }
	};
	struct np_root_causes causes = { .ranks = charges, .rank_count = NP_COUNT(charges) };
	struct np_whatif whatif = { 0 };
	struct np_charge_order order = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_whatif_measure(&input, &whatif, &err), err);
	assert_ok(np_whatif_sort(&whatif, run, &causes, &order, &err), err);
	assert_int_equal(order.count, 4);
	assert_int_equal(order.ranks[0], 1);
	assert_int_equal(order.ranks[1], 2);
	assert_int_equal(order.ranks[2], 3);
	assert_int_equal(order.ranks[3], 0);
	np_charge_order_release(&order);
	np_whatif_release(&whatif);
}

static void causes_that_hide_each_other_are_named_together(void **state)
{
	static const int32_t members[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 8; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, 8);
		np_ns ready = id == 1 || id == 2 ? 16 * MS : 10 * MS;

		script_compute(&script, 0, ready);
		script_comm(&script, group, REDUCE, ready, 17 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);
		struct np_whatif whatif = { 0 };
		struct np_whatif_verdict verdict;
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(WITH(&input, "rank:1"), 17 * MS);
		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		verdict = np_whatif_verdict(&whatif);
		assert_true(verdict.found);
		assert_int_equal(verdict.fix.kind, NP_FIX_RANK);
		assert_int_equal(verdict.with_count, 1);
		assert_int_equal(verdict.fix.what[0] + verdict.with[0].what[0], '1' + '2');
		assert_int_equal(verdict.saved, 17 * MS - WITH(&input, "rank:1", "rank:2"));
		np_whatif_release(&whatif);
	}
}

/* Four of eight compute as much longer as each other, and none gains alone, nor do two. */
static void ranks_that_hide_each_other_are_named_together(void **state)
{
	static const int32_t members[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 12; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, 12);
		np_ns ready = id >= 2 && id < 6 ? 20 * MS : 10 * MS;

		script.rank->host_name = intern(run, id < 8 ? "a" : "b");
		script.rank->host_uid = script.rank->host_name;
		script_compute(&script, 0, ready);
		script_comm(&script, group, REDUCE, ready, 21 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);
		struct np_whatif whatif = { 0 };
		struct np_whatif_verdict verdict;
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(WITH(&input, "rank:2", "rank:3", "rank:4"), 21 * MS);
		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		verdict = np_whatif_verdict(&whatif);
		assert_true(verdict.found);
		assert_int_equal(verdict.fix.kind, NP_FIX_RANK);
		assert_string_equal(verdict.fix.what, "2");
		assert_int_equal(verdict.with_count, 3);
		assert_string_equal(verdict.with[2].what, "5");
		assert_int_equal(verdict.saved,
				 21 * MS - WITH(&input, "rank:2", "rank:3", "rank:4", "rank:5"));
		np_whatif_release(&whatif);
	}
}

/*
 * Two of the four ranks of host a compute longer: the host as a whole would have to be
 * faster than the others to make up for them.
 */
static void few_ranks_of_a_host_are_named_and_not_the_host(void **state)
{
	static const int32_t members[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 8; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, 8);
		np_ns ready = id == 1 || id == 2 ? 15 * MS : 10 * MS;

		script.rank->host_name = intern(run, id < 4 ? "a" : "b");
		script.rank->host_uid = script.rank->host_name;
		script_compute(&script, 0, ready);
		script_comm(&script, group, REDUCE, ready, 16 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);
		struct np_whatif whatif = { 0 };
		struct np_whatif_verdict verdict;
		struct np_err err = NP_ERR_INIT;

		/* It gains, as each of its ranks is made faster, but not as much. */
		assert_true(WITH(&input, "host:a") < 16 * MS);
		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		verdict = np_whatif_verdict(&whatif);
		assert_true(verdict.found);
		assert_int_equal(verdict.fix.kind, NP_FIX_RANK);
		assert_int_equal(verdict.with_count, 1);
		assert_int_equal(verdict.with[0].kind, NP_FIX_RANK);
		assert_int_equal(verdict.fix.what[0] + verdict.with[0].what[0], '1' + '2');
		np_whatif_release(&whatif);
	}
}

/* --- verdict ---------------------------------------------------------------------------------- */

static void add_row(struct np_whatif *whatif, const char *fix, np_ns saved)
{
	struct np_whatif_row *row = np_vec_add(&whatif->rows, NULL);
	struct np_err err = NP_ERR_INIT;

	assert_non_null(row);
	*row = (struct np_whatif_row){
		.lasting = true, .saved = saved, .step = whatif->step - saved, .alone = NP_UNKNOWN
	};
	assert_ok(np_fix_parse(fix, &row->fix, &err), err);
}

static void the_most_specific_of_the_best_repairs_is_the_verdict(void **state)
{
	struct np_whatif whatif = { .step = 1000, .ideal = 800 };

	(void)state;
	add_row(&whatif, "hide-comm", 500);
	add_row(&whatif, "all", 200);
	add_row(&whatif, "host:a", 150);
	add_row(&whatif, "stage:1", 140);
	add_row(&whatif, "rank:5", 140);
	add_row(&whatif, "rank:6", 20);
	assert_true(np_whatif_verdict(&whatif).found);
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_RANK);
	assert_string_equal(np_whatif_verdict(&whatif).fix.what, "5");
	assert_int_equal(np_whatif_verdict(&whatif).saved, 140);
	np_whatif_release(&whatif);
}

static void what_changes_the_whole_program_is_no_verdict(void **state)
{
	struct np_whatif whatif = { .step = 1000, .ideal = 800 };

	(void)state;
	add_row(&whatif, "hide-comm", 500);
	add_row(&whatif, "all", 200);
	add_row(&whatif, "rank:5", 5);
	assert_false(np_whatif_verdict(&whatif).found);
	np_whatif_release(&whatif);
}

static void a_gain_that_the_replay_may_be_wrong_by_is_no_verdict(void **state)
{
	struct np_whatif whatif = { .step = 1000, .ideal = 800, .fidelity = 0.2 };

	(void)state;
	add_row(&whatif, "rank:5", 100);
	assert_false(np_whatif_verdict(&whatif).found);
	whatif.fidelity = 0.05;
	assert_true(np_whatif_verdict(&whatif).found);
	np_whatif_release(&whatif);
}

static void what_evidently_takes_too_long_is_named_for_less(void **state)
{
	struct np_whatif whatif = { .step = 100000, .ideal = 99000 };

	(void)state;
	add_row(&whatif, "stage:1", 1500);
	add_row(&whatif, "rank:5", 100);
	assert_false(np_whatif_verdict(&whatif).found);
	whatif.rows.item[1].evident = true;
	assert_true(np_whatif_verdict(&whatif).found);
	assert_string_equal(np_whatif_verdict(&whatif).fix.what, "5");
	/* But not for what the replay may be wrong by, and not where something else costs more. */
	whatif.fidelity = 0.002;
	assert_false(np_whatif_verdict(&whatif).found);
	whatif.fidelity = 0;
	whatif.rows.item[0].evident = true;
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_STAGE);
	np_whatif_release(&whatif);
}

static void a_rank_that_is_late_now_and_then_must_cost_more(void **state)
{
	struct np_whatif whatif = { .step = 1000, .ideal = 970 };

	(void)state;
	add_row(&whatif, "rank:5", 20);
	assert_false(np_whatif_verdict(&whatif).found);
	whatif.rows.item[0].steady = true;
	assert_true(np_whatif_verdict(&whatif).found);
	whatif.rows.item[0].steady = false;
	whatif.rows.item[0].saved = 40;
	assert_true(np_whatif_verdict(&whatif).found);
	np_whatif_release(&whatif);
}

static void set_team(struct np_whatif *whatif, const char *first, const char *second, np_ns saved)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_fix_parse(first, &whatif->team[0], &err), err);
	assert_ok(np_fix_parse(second, &whatif->team[1], &err), err);
	whatif->team_count = 2;
	whatif->team_step = whatif->step - saved;
}

/* A host that is slow as a whole gains what a few of its ranks do. */
static void a_team_is_named_unless_a_whole_explains_as_much(void **state)
{
	struct np_whatif whatif = { .step = 1000, .ideal = 800 };

	(void)state;
	add_row(&whatif, "host:a", 150);
	add_row(&whatif, "rank:5", 20);
	set_team(&whatif, "rank:5", "rank:6", 160);
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_HOST);
	set_team(&whatif, "rank:5", "rank:6", 190);
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_RANK);
	assert_int_equal(np_whatif_verdict(&whatif).with_count, 1);
	assert_int_equal(np_whatif_verdict(&whatif).saved, 190);
	np_whatif_release(&whatif);
}

/* Without any waiting for hosts all ranks gain, also those that are as fast as others. */
static void a_team_is_named_before_what_all_ranks_have_in_common(void **state)
{
	struct np_whatif whatif = { .step = 1000, .ideal = 800 };

	(void)state;
	add_row(&whatif, "host-gaps", 220);
	set_team(&whatif, "rank:5", "rank:6", 190);
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_RANK);
	set_team(&whatif, "rank:5", "rank:6", 140);
	assert_int_equal(np_whatif_verdict(&whatif).fix.kind, NP_FIX_HOST_GAPS);
	np_whatif_release(&whatif);
}

/* Rank 1 computes 12 ms instead of 10 in every step, rank 2 16 ms in one of them. */
static void a_rank_that_is_longer_than_its_peers_in_every_step_is_evident(void **state)
{
	static const int32_t members[] = { 0, 1, 2, 3, 4 };
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 5; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", members, 5);

		for (int step = 0; step < 4; step++) {
			np_ns begin = step * 20 * MS;
			np_ns ready = begin + (id == 1 ? 12 : id == 2 && step == 2 ? 16 : 10) * MS;
			const char *const ids[] = { "1", "2", "3", "4" };

			script_compute(&script, begin, ready);
			script_comm(&script, group, REDUCE, ready, begin + 17 * MS);
			script_end(&script, ids[step]);
		}
	}
	{
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);
		struct np_whatif whatif = { 0 };
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		assert_true(row_of(&whatif, NP_FIX_RANK, "1")->evident);
		assert_false(row_of(&whatif, NP_FIX_RANK, "2")->evident);
		assert_false(row_of(&whatif, NP_FIX_RANK, "0")->evident);
		np_whatif_release(&whatif);
	}
}

/*
 * Four kinds of kernels, all of them twice as long in stage 1; then only one of
 * them, as the head of a model makes it.
 */
static void a_stage_is_evident_that_is_longer_for_most_kinds_of_kernels(void **state)
{
	static const char *const types[] = { "MatMul", "Add", "Softmax", "Norm" };

	(void)state;
	for (int head = 0; head < 2; head++) {
		with_run *run = pipeline_run();

		for (size_t i = 0; i < 4; i++) {
			struct np_activity *activity = &run->ranks[i]->activity;
			size_t kinds = NP_COUNT(types);
			NP_VEC(struct np_share) shares = { 0 };

			activity->shares.count = 0;
			for (size_t j = 0; j < activity->segments.count; j++) {
				activity->segments.item[j].first = (uint32_t)shares.count;
				for (size_t k = 0; j == 0 && k < kinds; k++) {
					bool twice = i >= 2 && (!head || k == 0);

					*np_vec_add(&shares, NULL) = (struct np_share){
						np_leaf_make(NP_LEAF_COMPUTE,
							     intern(run, types[k])),
						(uint32_t)(twice ? 2 * MS : MS)
					};
				}
			}
			free(activity->shares.item);
			memcpy(&activity->shares, &shares, sizeof(shares));
		}
		{
			with_replay it = replayed_build(run);
			struct np_whatif_input input = input_of(&it);
			struct np_whatif whatif = { 0 };
			struct np_err err = NP_ERR_INIT;

			assert_ok(np_whatif_measure(&input, &whatif, &err), err);
			assert_int_equal(row_of(&whatif, NP_FIX_STAGE, "1")->evident, !head);
			assert_false(row_of(&whatif, NP_FIX_STAGE, "0")->evident);
			np_whatif_release(&whatif);
		}
	}
}

/* --- efficiency ------------------------------------------------------------------------------- */

static void factors_multiply_to_the_share_of_computing(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_cluster cluster;
		struct np_efficiency each = { 0 };
		struct np_err err = NP_ERR_INIT;

		random_cluster_draw(&cluster, seed);
		with_run *run = simulate(&cluster, as_it_was, 1);
		with_replay it = replayed_build(run);

		assert_ok(np_efficiency_measure(it.replay, &each, &err), err);
		assert_true(each.mean > 0 && each.mean <= each.most);
		assert_true(each.most <= each.without_both);
		assert_true(each.without_both <= each.without_host);
		assert_true(each.without_host <= each.step);
		assert_near((double)each.mean / (double)each.most * (double)each.most /
				    (double)each.without_both * (double)each.without_both /
				    (double)each.without_host * (double)each.without_host /
				    (double)each.step,
			    (double)each.mean / (double)each.step, 1e-12);
		assert_int_equal((each.most - each.mean) + (each.without_both - each.most) +
					 (each.without_host - each.without_both) +
					 (each.step - each.without_host),
				 each.step - each.mean);
	}
}

/* --- properties ------------------------------------------------------------------------------- */

static const char *const single[] = { "rank:0",    "rank:1",    "rank:2",
				      "rank:3",    "role:tp",   "role:dp",
				      "host-gaps", "hide-comm", "optype:MatMul" };

static np_ns with_subset(const struct np_whatif_input *input, unsigned subset)
{
	struct np_fix fixes[NP_COUNT(single)];
	struct np_err err = NP_ERR_INIT;
	size_t count = 0;
	np_ns step;

	for (size_t i = 0; i < NP_COUNT(single); i++) {
		if (subset >> i & 1)
			assert_ok(np_fix_parse(single[i], &fixes[count++], &err), err);
	}
	assert_ok(np_whatif_together(input, fixes, count, &step, &err), err);
	return step;
}

static void repairing_nothing_is_what_was_observed(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_cluster cluster;

		random_cluster_draw(&cluster, seed);
		with_run *run = simulate(&cluster, as_it_was, 1);
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);

		assert_int_equal(with_subset(&input, 0), it.replay->observed_step);
	}
}

static void a_set_of_repairs_gains_no_less_than_any_part_of_it(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_cluster cluster;
		uint64_t chance = seed;

		random_cluster_draw(&cluster, seed);
		with_run *run = simulate(&cluster, as_it_was, 1);
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);

		for (size_t i = 0; i < 20; i++) {
			unsigned set = (unsigned)np_random_below(&chance, 1U << NP_COUNT(single));
			unsigned part = set & (unsigned)np_random(&chance);

			assert_true(with_subset(&input, set) <= with_subset(&input, part));
		}
	}
}

static void repairing_everything_is_the_ideal(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_cluster cluster;
		struct np_whatif whatif = { 0 };
		struct np_err err = NP_ERR_INIT;

		random_cluster_draw(&cluster, seed);
		with_run *run = simulate(&cluster, as_it_was, 1);
		with_replay it = replayed_build(run);
		struct np_whatif_input input = input_of(&it);

		assert_ok(np_whatif_measure(&input, &whatif, &err), err);
		assert_int_equal(whatif.ideal, WITH(&input, "all"));
		assert_int_equal(WITH(&input, "all", "role:tp", "role:dp"), whatif.ideal);
		assert_true(whatif.ideal <= whatif.step);
		for (size_t i = 1; i < whatif.rows.count; i++)
			assert_true(whatif.rows.item[i - 1].saved >= whatif.rows.item[i].saved);
		np_whatif_release(&whatif);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repairs_are_written_as_they_are_read),
		cmocka_unit_test(what_is_no_repair_is_refused_with_what_is),
		cmocka_unit_test(time_between_steps_is_repaired_alone_or_as_that_of_the_peers),
		cmocka_unit_test(a_repaired_rank_is_as_its_peers),
		cmocka_unit_test(work_that_peers_do_not_have_is_taken_off_where_it_is),
		cmocka_unit_test(a_repaired_host_is_as_the_other_hosts),
		cmocka_unit_test(a_host_is_charged_for_what_lasts),
		cmocka_unit_test(with_all_repaired_every_rank_is_as_the_others),
		cmocka_unit_test(ranks_without_peers_stay_as_they_are),
		cmocka_unit_test(names_that_are_not_there_are_refused),
		cmocka_unit_test(waiting_for_the_host_can_be_taken_away),
		cmocka_unit_test(kernels_of_a_type_can_be_as_those_of_peers),
		cmocka_unit_test(types_add_up),
		cmocka_unit_test(computing_can_be_at_the_rated_clock),
		cmocka_unit_test(frequency_needs_samples),
		cmocka_unit_test(transfers_can_be_as_those_of_like_communicators),
		cmocka_unit_test(a_link_can_be_as_its_like),
		cmocka_unit_test(a_link_that_is_little_slower_than_others_must_cost_more),
		cmocka_unit_test(a_link_of_communicators_without_lists_can_be_as_its_like),
		cmocka_unit_test(what_a_link_does_not_take_stays),
		cmocka_unit_test(a_repaired_link_is_no_faster_than_the_next_one),
		cmocka_unit_test(links_that_hide_each_other_are_repaired_together),
		cmocka_unit_test(all_links_of_a_sender_or_receiver_can_be_as_their_like),
		cmocka_unit_test(a_stage_can_be_as_long_as_the_others),
		cmocka_unit_test(a_stage_whose_kernels_take_longer_is_slow),
		cmocka_unit_test(a_stage_that_has_more_kernels_gives_work_to_others),
		cmocka_unit_test(tokens_can_be_spread_evenly),
		cmocka_unit_test(tokens_are_no_fault_of_the_rank_that_got_them),
		cmocka_unit_test(the_curve_takes_the_best_on_top_of_those_before),
		cmocka_unit_test(what_a_rank_costs_by_itself_is_told),
		cmocka_unit_test(what_was_tried_before_is_not_tried_again),
		cmocka_unit_test(ranks_whose_repair_saves_nothing_follow_by_what_they_cost),
		cmocka_unit_test(causes_that_hide_each_other_are_named_together),
		cmocka_unit_test(few_ranks_of_a_host_are_named_and_not_the_host),
		cmocka_unit_test(ranks_that_hide_each_other_are_named_together),
		cmocka_unit_test(a_rank_that_is_late_now_and_then_must_cost_more),
		cmocka_unit_test(a_team_is_named_unless_a_whole_explains_as_much),
		cmocka_unit_test(a_team_is_named_before_what_all_ranks_have_in_common),
		cmocka_unit_test(the_most_specific_of_the_best_repairs_is_the_verdict),
		cmocka_unit_test(what_changes_the_whole_program_is_no_verdict),
		cmocka_unit_test(a_gain_that_the_replay_may_be_wrong_by_is_no_verdict),
		cmocka_unit_test(what_evidently_takes_too_long_is_named_for_less),
		cmocka_unit_test(a_rank_that_is_longer_than_its_peers_in_every_step_is_evident),
		cmocka_unit_test(a_stage_is_evident_that_is_longer_for_most_kinds_of_kernels),
		cmocka_unit_test(factors_multiply_to_the_share_of_computing),
		cmocka_unit_test(repairing_nothing_is_what_was_observed),
		cmocka_unit_test(a_set_of_repairs_gains_no_less_than_any_part_of_it),
		cmocka_unit_test(repairing_everything_is_the_ideal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
