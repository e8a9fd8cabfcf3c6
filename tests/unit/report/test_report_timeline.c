/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a run, read back by the reader of traces. */
#include "report/timeline.h"

#include "np_synth.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"
#include "npuprof/trace.h"

/* What slices of each category sum to. */
enum {
	SUM_STEP,
	SUM_COMPUTE,
	SUM_WAIT,
	SUM_TRANSFER,
	SUM_IDLE,
	SUM_COUNT,
};

static const char *const categories[SUM_COUNT] = { "step", "compute", "wait", "transfer", "idle" };

/* The end of the last slice of a track, and how many ends of arrows point at nothing. */
struct seen {
	np_ns sums[SUM_COUNT];
	np_ns ends[64][64]; /* by process and track */
	size_t slices;
	size_t overlaps;
	size_t inexact;
	int64_t arrows; /* begun less ended */
	size_t ends_of_arrows;
};

static np_ns recorded(const struct np_trace_event *event)
{
	int64_t ns;

	return np_trace_arg_integer(event, "dur_ns", &ns) ? ns : NP_UNKNOWN;
}

static void see_slice(struct seen *seen, const struct np_trace_event *event)
{
	np_ns length = recorded(event);
	np_ns *end = &seen->ends[event->pid.value][event->tid.value];

	assert_in_range(event->pid.value, 1, 63);
	assert_in_range(event->tid.value, 1, 63);
	seen->slices++;
	seen->inexact += length != event->dur_ns;
	seen->overlaps += event->ts_ns < *end;
	*end = event->ts_ns + length;
	for (size_t i = 0; i < SUM_COUNT; i++) {
		if (np_slice_is(event->cat, categories[i]))
			seen->sums[i] += length;
	}
}

static void read_back(const char *path, struct seen *seen)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_trace_open(path, &trace, &err), err);
	for (;;) {
		assert_ok(np_trace_next(trace, &event, &err), err);
		if (!event)
			break;
		assert_false(event->bad);
		if (event->phase == 'X')
			see_slice(seen, event);
		seen->arrows += event->phase == 's';
		seen->arrows -= event->phase == 'f';
		seen->ends_of_arrows += event->phase == 's' || event->phase == 'f';
	}
}

static void write_timeline(const struct np_analysis *analysis, const char *path,
			   enum timeline_form form)
{
	const struct timeline_options how = { 0 };
	const struct timeline_file file = {
		.analysis = analysis, .how = &how, .form = form, .notes = &analysis->run->notes
	};
	struct np_err err = NP_ERR_INIT;
	FILE *stream = fopen(path, "wb");

	assert_non_null(stream);
	assert_ok(timeline_file_write(&file, stream, &err), err);
	assert_int_equal(fclose(stream), 0);
}

/* The same from the analysis. */
static void sum_analysis(const struct np_analysis *analysis, np_ns sums[SUM_COUNT])
{
	for (size_t i = 0; i < analysis->run->sources.count; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];

		for (size_t j = 0; j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			np_ns between = np_step_between(time);

			sums[SUM_STEP] += time->span;
			sums[SUM_IDLE] += time->free + (between == NP_UNKNOWN ? 0 : between);
		}
		for (size_t j = 0; j < rank->kernels.count; j++)
			sums[SUM_COMPUTE] += rank->kernels.item[j].total;
		for (size_t j = 0; j < rank->ops.count; j++) {
			const struct np_comm_op *op = &rank->ops.item[j];
			np_ns wait = analysis->waits.wait[np_align_slot(analysis->align, i, j)];

			assert_int_not_equal(wait, NP_UNKNOWN);
			sums[SUM_WAIT] += wait;
			sums[SUM_TRANSFER] += op->end - op->start - wait;
		}
	}
}

static void check_forms(const char *const *options)
{
	static const enum timeline_form forms[] = { TIMELINE_JSON, TIMELINE_JSON_GZ };
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	np_ns expected[SUM_COUNT] = { 0 };
	struct np_err err = NP_ERR_INIT;

	synth_write(below("run"), options);
	assert_ok(np_analysis_build(synth_load(below("run")), NULL, 1, &analysis, &err), err);
	sum_analysis(analysis, expected);
	for (size_t form = 0; form < NP_COUNT(forms); form++) {
		struct seen seen = { .slices = 0 };

		write_timeline(analysis, below("timeline"), forms[form]);
		read_back(below("timeline"), &seen);
		for (size_t i = 0; i < SUM_COUNT; i++)
			assert_int_equal(seen.sums[i], expected[i]);
		assert_true(seen.slices > 100);
		assert_int_equal(seen.inexact, 0);
		assert_int_equal(seen.overlaps, 0);
		assert_true(seen.ends_of_arrows > 0);
		assert_int_equal(seen.arrows, 0);
	}
}

static void sums_of_what_is_read_back_are_those_of_the_analysis(void **state)
{
	(void)state;
	check_forms((const char *const[]){ "--ranks", "4", "--tp", "2", "--pp", "2", "--dp", "1",
					   "--layers", "2", "--steps", "2", "--hosts", "2",
					   "--slow-rank", "3:1.5", "--clock-skew", "host1:3ms:20",
					   NULL });
}

static void they_are_also_of_text(void **state)
{
	(void)state;
	check_forms((const char *const[]){ "--ranks", "2", "--tp", "2", "--layers", "2", "--steps",
					   "2", "--format", "text", "--slow-rank", "1:1.5", NULL });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sums_of_what_is_read_back_are_those_of_the_analysis,
						np_fixture_setup, np_fixture_teardown),
		cmocka_unit_test_setup_teardown(they_are_also_of_text, np_fixture_setup,
						np_fixture_teardown),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
