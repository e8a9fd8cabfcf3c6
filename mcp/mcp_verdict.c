/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the answer of the tool verdict together (mcp_verdict.h). */
#include "mcp_verdict.h"

#include "cli/prepare/verdict_json.h"

#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/text.h"
#include "npuprof/verdict.h"

/* Findings about the job, and ranks of what is named. */
#define SOME 8

/* Where a rank ran; nothing where that is not known. */
static void put_machine(struct np_jsonout *out, const struct np_analysis *analysis, int64_t id)
{
	for (size_t i = 0; i < analysis->run->sources.count; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];

		if (!rank || rank->id != id)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "rank", id);
		np_jsonout_text(out, "host", np_run_text(analysis->run, rank->host_name));
		np_jsonout_integer(out, "device", rank->device < 0 ? NP_UNKNOWN : rank->device);
		np_jsonout_end(out);
	}
}

/* The ranks that a repair names, with their machines: one, or both ends of a link. */
static void put_ranks_of(struct np_jsonout *out, const struct np_analysis *analysis,
			 const struct np_fix *fix)
{
	const char *dash = fix->kind == NP_FIX_LINK ? strchr(fix->what, '-') : NULL;
	size_t first = dash ? (size_t)(dash - fix->what) : strlen(fix->what);
	int64_t id;

	if (fix->kind != NP_FIX_RANK && !dash)
		return;
	if (np_text_to_int(fix->what, first, &id))
		put_machine(out, analysis, id);
	if (dash && np_text_to_int(dash + 1, strlen(dash + 1), &id))
		put_machine(out, analysis, id);
}

void mcp_put_machines(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;

	np_jsonout_array_line(out, NULL);
	for (size_t i = 0; verdict->kind == NP_VERDICT_REPAIR && i <= verdict->with_count; i++)
		put_ranks_of(out, analysis, i == 0 ? &verdict->fix : &verdict->with[i - 1]);
	np_jsonout_end(out);
}

/* The mean step, as the replay has it. */
static void put_step(struct np_jsonout *out, const struct np_analysis *analysis)
{
	bool replayed = analysis->replay != NULL;

	np_jsonout_object_line(out, "step");
	np_jsonout_integer(out, "observed_ns", replayed ? analysis->whatif.observed : NP_UNKNOWN);
	np_jsonout_integer(out, "replayed_ns", replayed ? analysis->whatif.step : NP_UNKNOWN);
	np_jsonout_integer(out, "ideal_ns", replayed ? analysis->whatif.ideal : NP_UNKNOWN);
	np_jsonout_end(out);
}

void mcp_put_breakdown(struct np_jsonout *out, const struct np_breakdown *where)
{
	if (where->cells == 0) {
		np_jsonout_null(out, NULL);
		return;
	}
	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "step_ns", where->mean);
	for (int i = 0; i < NP_WHERE_KINDS; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

		if (where->parts[i].mean == 0)
			continue;
		np_buf_printf(&name, "%s_ns", np_where_name((enum np_where)i));
		np_jsonout_integer(out, name.text, where->parts[i].mean);
	}
	np_jsonout_end(out);
}

void mcp_put_verdict(struct np_jsonout *out, const struct np_analysis *analysis)
{
	np_jsonout_object_line(out, NULL);
	put_verdict_json(out, &analysis->verdict);
	put_step(out, analysis);
	np_jsonout_array_line(out, "job_findings");
	for (size_t i = 0; i < analysis->findings.list.count && i < SOME; i++)
		np_jsonout_text(out, NULL, analysis->findings.list.item[i].detail);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* --- what to ask next ------------------------------------------------------------------------ */

static void begin_tool(struct np_jsonout *out, const char *tool, const char *why)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "tool", tool);
	np_jsonout_text(out, "why", why);
	np_jsonout_object_line(out, "arguments");
}

static void end_tool(struct np_jsonout *out)
{
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* A tool with at most one argument. */
static void put_tool(struct np_jsonout *out, const char *tool, const char *why, const char *key,
		     const char *value)
{
	begin_tool(out, tool, why);
	if (key)
		np_jsonout_text(out, key, value);
	end_tool(out);
}

/* A repair, and those that it gains only together with. */
static void put_whatif(struct np_jsonout *out, const char *why, const struct np_fix *fix,
		       const struct np_fix *with, size_t count)
{
	begin_tool(out, "whatif", why);
	np_jsonout_array_line(out, "fixes");
	for (size_t i = 0; i <= count; i++) {
		char text[NP_FIX_TEXT + 16];

		np_fix_format(i == 0 ? fix : &with[i - 1], text);
		np_jsonout_text(out, NULL, text);
	}
	np_jsonout_end(out);
	end_tool(out);
}

/* The slice that shows what a repair is about. */
static void put_slice(struct np_jsonout *out, const struct np_fix *fix)
{
	switch (fix->kind) {
	case NP_FIX_BETWEEN:
	case NP_FIX_HOST_GAPS:
		put_tool(out, "timeline_slice", "the idle time, by cause", "category", "idle");
		break;
	case NP_FIX_LINK:
	case NP_FIX_ROLE:
	case NP_FIX_GROUP:
		put_tool(out, "timeline_slice", "the transfers", "category", "transfer");
		break;
	default:
		put_tool(out, "timeline_slice", "the operators in which the others waited",
			 "category", "wait");
		break;
	}
}

void mcp_put_next(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;

	np_jsonout_array_line(out, NULL);
	switch (verdict->kind) {
	case NP_VERDICT_REPAIR:
		put_whatif(out, "what the repair gains", &verdict->fix, verdict->with,
			   verdict->with_count);
		if (np_verdict_has_larger(analysis))
			put_whatif(out, "what the larger transfer costs",
				   &(struct np_fix){ .kind = NP_FIX_HIDE_COMM }, NULL, 0);
		put_slice(out, &verdict->fix);
		put_tool(out, "findings", "what to change", NULL, NULL);
		break;
	case NP_VERDICT_NONE:
		if (analysis->replay)
			put_tool(out, "whatif", "what each single repair would save", NULL, NULL);
		put_tool(out, "findings", "what to change", NULL, NULL);
		break;
	case NP_VERDICT_NOT_PROFILED:
	case NP_VERDICT_WITHHELD:
		put_tool(out, "info", "what is missing, and the switch that records it", "section",
			 "analyses");
		put_tool(out, "findings", "what is known", NULL, NULL);
		break;
	}
	np_jsonout_end(out);
}
