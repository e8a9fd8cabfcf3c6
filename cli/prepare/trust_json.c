/* SPDX-License-Identifier: Apache-2.0 */
/* Writes how far the results of a run can be believed as JSON. */
#include "trust_json.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <inttypes.h>

size_t trust_withheld(const struct np_analysis *analysis,
		      const struct np_readiness *ret[NP_ANALYSIS_COUNT])
{
	static const enum np_answer reported[] = { NP_ANALYSIS_COMMUNICATORS, NP_ANALYSIS_EXPOSED,
						   NP_ANALYSIS_WAIT, NP_ANALYSIS_LINKS,
						   NP_ANALYSIS_PIPELINE };
	const struct np_readiness *host = &analysis->readiness[NP_ANALYSIS_HOST];
	size_t count = 0;

	for (size_t i = 0; i < NP_COUNT(reported); i++) {
		if (!analysis->readiness[reported[i]].ready)
			ret[count++] = &analysis->readiness[reported[i]];
	}
	/* Where nobody has it the time is called unknown; where some have, they are compared. */
	if (!host->ready && host->without < np_run_used(analysis->run))
		ret[count++] = host;
	return count;
}

static void put_clock(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_clock *clock = analysis->clock;

	np_jsonout_object_line(out, "clock");
	np_jsonout_text(out, "method", np_clock_method_name(clock->method));
	np_jsonout_integer(out, "hosts", (int64_t)clock->hosts.count);
	np_jsonout_integer(out, "residual_p50_ns", clock->residual_p50);
	np_jsonout_integer(out, "residual_p90_ns", clock->residual_p90);
	np_jsonout_integer(out, "violation_max_ns", clock->violation_max);
	np_jsonout_integer(out, "violations", (int64_t)clock->violations);
	np_jsonout_array(out, "ranks_off");
	for (size_t i = 0; i < clock->rank_count; i++) {
		if (analysis->run->ranks[i] && clock->ranks[i].off)
			np_jsonout_integer(out, NULL, analysis->run->ranks[i]->id);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_estimators(struct np_jsonout *out, const struct np_waits *waits)
{
	np_jsonout_object_line(out, "estimators");
	np_jsonout_integer(out, "aligned", (int64_t)waits->ops[NP_WAIT_ALIGNED]);
	np_jsonout_integer(out, "clock_free", (int64_t)waits->ops[NP_WAIT_CLOCK_FREE]);
	np_jsonout_integer(out, "tasks", (int64_t)waits->ops[NP_WAIT_TASKS]);
	np_jsonout_integer(out, "agreement_p50_ns", waits->agreement_p50);
	np_jsonout_integer(out, "agreement_p90_ns", waits->agreement_p90);
	np_jsonout_end(out);
}

static void put_withheld(struct np_jsonout *out, const struct np_readiness *readiness)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "what", readiness->name);
	np_jsonout_text(out, "reason", readiness->missing);
	np_jsonout_text(out, "switch", readiness->cure);
	np_jsonout_end(out);
}

/* Files of ranks that are not whole. */
static void put_coverage(struct np_jsonout *out, const struct np_run *run)
{
	np_jsonout_array(out, "coverage");
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->coverage.count; j++) {
			const struct np_file_coverage *each = &rank->coverage.item[j];

			np_jsonout_object_line(out, NULL);
			np_jsonout_integer(out, "rank", rank->id);
			np_jsonout_text(out, "file", np_run_text(run, each->file));
			np_jsonout_text(out, "against", np_run_text(run, each->against));
			np_jsonout_real(out, "share", each->share);
			np_jsonout_end(out);
		}
	}
	np_jsonout_end(out);
}

static void put_withheld_ranks(struct np_jsonout *out, const struct np_run *run)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		const struct np_file_coverage *each = rank ? np_rank_withheld(rank) : NULL;
		NP_CLEANUP(np_buf_release) struct np_buf what = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;

		if (!each)
			continue;
		np_buf_printf(&what, "verdict on rank %" PRId32, rank->id);
		np_file_coverage_put(&reason, run->strings, each);
		np_jsonout_object_line(out, NULL);
		np_jsonout_made(out, "what", &what);
		np_jsonout_made(out, "reason", &reason);
		np_jsonout_text(out, "switch", NP_FILE_COVERAGE_CURE);
		np_jsonout_end(out);
	}
}

void put_trust_json(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_readiness *partition = &analysis->readiness[NP_ANALYSIS_PARTITION];
	const struct np_readiness *withheld[NP_ANALYSIS_COUNT];
	size_t count = trust_withheld(analysis, withheld);

	np_jsonout_object(out, "trust");
	np_jsonout_integer(out, "ops_total", analysis->align->op_count);
	np_jsonout_integer(out, "ops_matched", analysis->align->matched);
	put_clock(out, analysis);
	put_estimators(out, &analysis->waits);
	np_jsonout_array(out, "withheld");
	for (size_t i = 0; i < count; i++)
		put_withheld(out, withheld[i]);
	if (!partition->ready)
		put_withheld(out, partition);
	put_withheld_ranks(out, analysis->run);
	np_jsonout_end(out);
	put_coverage(out, analysis->run);
	np_jsonout_end(out);
}
