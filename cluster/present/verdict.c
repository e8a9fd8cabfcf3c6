/* SPDX-License-Identifier: Apache-2.0 */
/* Says in words what to make of an analysis: who or what made others wait, and what else stands
 * out. */
#include "verdict.h"

#include "npuprof/align.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* How much longer a type of operators takes if it is worth a name. */
#define MIN_RATIO 1.02

/* A rank that is late now and then is not the whole cause if all even gains so many times as much.
 */
#define MUCH_MORE 1.5

static void put_communicator(struct np_buf *buf, const struct np_analysis *analysis, uint32_t index)
{
	uint64_t hash = analysis->align->communicators.item[index].hash;
	const struct np_communicator *each = np_cluster_communicator(analysis->cluster, hash);
	const char *name = each ? np_run_text(analysis->run, each->pg_name) : NULL;

	if (name) {
		np_text_safe(buf, name, strlen(name));
		np_buf_printf(buf, " …%03" PRIu64, hash % 1000);
	} else {
		np_buf_printf(buf, "%" PRIu64, hash);
	}
}

/* "MatMulV2 +12 %, Add +11 %" */
static void put_types(struct np_buf *buf, const struct np_run *run,
		      const struct np_explanation *explanation)
{
	const char *between = ": ";

	for (size_t i = 0; i < explanation->type_count; i++) {
		const struct np_root_cause_type *type = &explanation->types[i];
		const char *name = np_run_text(run, type->type);

		if (type->ratio < MIN_RATIO || !name)
			continue;
		np_buf_add(buf, between);
		np_text_safe(buf, name, strlen(name));
		np_buf_printf(buf, " +%.0f %%", 100 * (type->ratio - 1));
		between = ", ";
	}
}

void verdict_put_why(struct np_buf *buf, const struct np_analysis *analysis,
		     const struct np_explanation *explanation, size_t index)
{
	const struct np_root_cause_link *link = &explanation->chain[index];

	if (link->waited_for != UINT32_MAX) {
		np_buf_printf(buf, "waited for rank %" PRId32 " in ",
			      analysis->run->ranks[link->waited_for]->id);
		put_communicator(buf, analysis, link->via);
		return;
	}
	switch (link->cause) {
	case NP_CAUSE_COMPUTE:
		np_buf_add(buf, "computes longer");
		put_types(buf, analysis->run, explanation);
		break;
	case NP_CAUSE_HOST:
		np_buf_add(buf, "its host launches late");
		break;
	case NP_CAUSE_COMMUNICATION:
		np_buf_add(buf, "its transfers take longer");
		break;
	case NP_CAUSE_UNKNOWN:
	case NP_CAUSES:
		np_buf_add(buf, "the profile does not tell why");
		break;
	}
}

static void put_share(struct np_buf *buf, np_ns charge, np_ns total)
{
	np_text_duration(buf, charge);
	np_buf_printf(buf, ", %.0f %% of all waiting", 100 * (double)charge / (double)total);
}

/* "; through rank 1, which waited for rank 0 in tp …428; …": how it reached the others. */
static void put_path(struct np_buf *buf, const struct np_analysis *analysis,
		     const struct np_explanation *explanation)
{
	const struct np_root_cause_link *last = &explanation->chain[explanation->count - 1];

	for (size_t i = 1; i < explanation->count; i++) {
		np_buf_printf(buf,
			      i == 1 ? "; through rank %" PRId32 ", which "
				     : ", then rank %" PRId32 ", which ",
			      analysis->run->ranks[explanation->chain[i].rank]->id);
		verdict_put_why(buf, analysis, explanation, i);
	}
	if (last->communicator != UINT32_MAX) {
		np_buf_add(buf, "; felt most in ");
		put_communicator(buf, analysis, last->communicator);
	}
}

/* The rank that is named, or the first: the one that is explained. */
static void put_culprit(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_explanation *explanation = &analysis->verdict.explanation;
	uint32_t rank = explanation->rank;
	const char *kind = np_root_cause_kind(&analysis->causes, rank);

	np_buf_printf(buf, "rank %" PRId32 " makes the others wait (",
		      analysis->run->ranks[rank]->id);
	put_share(buf, analysis->causes.ranks[rank].charge, analysis->charges.total);
	np_buf_printf(buf, "%s%s): ", kind ? ", " : "", kind ? kind : "");
	verdict_put_why(buf, analysis, explanation, 0);
	put_path(buf, analysis, explanation);
}

static void put_nobody(struct np_buf *buf, const struct np_analysis *analysis, uint32_t rank)
{
	if (analysis->causes.unprofiled * 2 > analysis->charges.total) {
		np_buf_add(buf, "ranks that were not profiled made these wait: ");
		put_share(buf, analysis->causes.unprofiled, analysis->charges.total);
		return;
	}
	np_buf_add(buf, "no rank stands out");
	if (rank == UINT32_MAX)
		return;
	np_buf_printf(buf, ": the most goes back to rank %" PRId32 ", ",
		      analysis->run->ranks[rank]->id);
	put_share(buf, analysis->causes.ranks[rank].charge, analysis->charges.total);
}

/* "repairing it would save 2.05 ms of the step (15 %)", "… it and rank 7 together …" */
static void put_gain(struct np_buf *buf, const struct np_analysis *analysis,
		     const struct np_whatif_verdict *verdict)
{
	double share;

	np_buf_add(buf, "; repairing ");
	np_buf_add(buf, strchr(verdict->fix.what, '*') && verdict->fix.kind == NP_FIX_LINK ? "them"
											   : "it");
	for (size_t i = 0; i < verdict->with_count; i++) {
		const struct np_fix *fix = &verdict->with[i];

		np_buf_printf(buf, "%s%s%s", i + 1 < verdict->with_count ? ", " : " and ",
			      np_fix_kind_name(fix->kind), *fix->what ? " " : "");
		np_text_safe(buf, fix->what, strlen(fix->what));
	}
	np_buf_add(buf, verdict->with_count > 0 ? " together would save " : " would save ");
	np_text_duration(buf, verdict->saved);
	share = 100 * (double)verdict->saved / (double)analysis->whatif.step;
	np_buf_printf(buf, " of the step (%.*f %%)", share < 1 ? 1 : 0, share);
	if (verdict->with_count > 0)
		np_buf_add(buf, ", each by itself little");
}

/* "link:6-*" or "link:*-6": one end of many links. */
static bool put_slow_end(struct np_buf *buf, const struct np_fix *fix)
{
	const char *dash = strchr(fix->what, '-');

	if (fix->kind != NP_FIX_LINK || !dash || !strchr(fix->what, '*'))
		return false;
	if (dash[1] == '*')
		np_buf_printf(buf, "all links that rank %.*s sends over are slow",
			      (int)(dash - fix->what), fix->what);
	else
		np_buf_printf(buf, "all links that rank %s receives over are slow", dash + 1);
	return true;
}

static void put_other_cause(struct np_buf *buf, const struct np_whatif_verdict *verdict)
{
	static const char *const words[NP_FIX_KINDS] = {
		[NP_FIX_HOST] = "host %s is slower than the others",
		[NP_FIX_STAGE] = "stage %s of the pipeline takes longer than the others",
		[NP_FIX_ROLE] = "communicators of role %s are uneven",
		[NP_FIX_OPTYPE] = "kernels of type %s take longer on some ranks",
		[NP_FIX_GROUP] = "communicator %s is slower than others like it",
		[NP_FIX_LINK] = "the link between ranks %s is slow",
		[NP_FIX_HOST_GAPS] = "devices wait for their hosts to launch",
		[NP_FIX_EXPERTS] = "experts get uneven numbers of tokens",
	};
	const char *word = words[verdict->fix.kind] ? words[verdict->fix.kind] : "";
	const char *gap = strstr(word, "%s");

	if (put_slow_end(buf, &verdict->fix))
		return;
	np_buf_add_bytes(buf, word, gap ? (size_t)(gap - word) : strlen(word));
	if (gap) {
		np_text_safe(buf, verdict->fix.what, strlen(verdict->fix.what));
		np_buf_add(buf, gap + 2);
	}
}

/* What even ranks, stages and links would save of the step. */
static np_ns loss_of(const struct np_whatif *whatif)
{
	return whatif->ideal == NP_UNKNOWN ? 0 : whatif->step - whatif->ideal;
}

/* Work that is spread unevenly, another way in each step, makes a rank late once in a while. */
static void put_changing(struct np_buf *buf, const struct np_analysis *analysis, uint32_t rank,
			 const struct np_whatif_verdict *verdict)
{
	const struct np_whatif *whatif = &analysis->whatif;
	const char *kind = np_root_cause_kind(&analysis->causes, rank);

	if (!kind || strcmp(kind, "one-off") != 0 ||
	    (double)loss_of(whatif) < MUCH_MORE * (double)verdict->saved)
		return;
	np_buf_printf(buf,
		      "; other ranks are late in other steps: with even ranks and links it would be"
		      " %.0f %%",
		      100 * (double)loss_of(whatif) / (double)whatif->step);
}

/* A loss that no single repair removes, but all together do. */
static void put_spread_loss(struct np_buf *buf, const struct np_whatif *whatif)
{
	np_ns loss = loss_of(whatif);

	if (whatif->step <= 0 || (double)loss < 0.02 * (double)whatif->step)
		return;
	np_buf_printf(buf,
		      "; even ranks and links would save %.0f %% of the step, but no single"
		      " repair does",
		      100 * (double)loss / (double)whatif->step);
}

static void put_sentence(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;

	if (verdict->named != UINT32_MAX) {
		put_culprit(buf, analysis);
	} else if (verdict->repair.found) {
		put_other_cause(buf, &verdict->repair);
	} else if (!analysis->whatif.rows.count && verdict->stands_out) {
		put_culprit(buf, analysis);
		return;
	} else {
		put_nobody(buf, analysis, verdict->first);
		put_spread_loss(buf, &analysis->whatif);
	}
	if (verdict->repair.found)
		put_gain(buf, analysis, &verdict->repair);
	if (verdict->named != UINT32_MAX)
		put_changing(buf, analysis, verdict->named, &verdict->repair);
}

void verdict_put_text(struct np_buf *buf, const struct np_analysis *analysis)
{
	put_sentence(buf, analysis);
	np_buf_add_char(buf, '\n');
}

void verdict_put_json(struct np_jsonout *out, const struct np_analysis *analysis)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const struct np_whatif_verdict *repair = &analysis->verdict.repair;

	if (analysis->charges.total == 0 && !repair->found) {
		np_jsonout_null(out, "verdict");
		return;
	}
	put_sentence(&text, analysis);
	np_jsonout_object_line(out, "verdict");
	np_jsonout_text(out, "kind", repair->found ? np_fix_kind_name(repair->fix.kind) : "none");
	np_jsonout_text(out, "what", repair->found && *repair->fix.what ? repair->fix.what : NULL);
	np_jsonout_integer(out, "recovered_ns", repair->found ? repair->saved : NP_UNKNOWN);
	np_jsonout_array(out, "with");
	for (size_t i = 0; i < repair->with_count; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&repair->with[i], fix);
		np_jsonout_text(out, NULL, fix);
	}
	np_jsonout_end(out);
	np_jsonout_text(out, "text", text.text);
	np_jsonout_end(out);
}

/* --- links, pipeline, experts, memory --------------------------------------------------------- */

/* Less than this share of the steps' time is no news. */
#define WORTH_SAYING 0.02

/* Less than this in a step is no leak that anybody would look for. */
#define LEAK_BYTES 1000000

/* "rank 3", or the local rank where that is all there is. */
static void put_end(struct np_buf *buf, int64_t rank)
{
	if (rank >= 0)
		np_buf_printf(buf, "rank %" PRId64, rank);
	else
		np_buf_printf(buf, "local rank %" PRId64, -1 - rank);
}

static void put_link_words(struct np_buf *buf, const struct np_link_speed *link)
{
	switch (link->fault) {
	case NP_FAULT_SENDER:
		put_end(buf, link->src);
		np_buf_add(buf, " is slow in all that it transfers to others");
		break;
	case NP_FAULT_RECEIVER:
		put_end(buf, link->dst);
		np_buf_add(buf, " is slow in all that others transfer to it");
		break;
	case NP_FAULT_PLANE:
		np_buf_printf(buf, "plane %" PRId64 " is slow on all ranks", link->plane);
		break;
	case NP_FAULT_LINK:
	case NP_FAULT_NONE:
		np_buf_add(buf, "slow link: ");
		put_end(buf, link->src);
		if (link->dst == NP_UNKNOWN)
			break;
		np_buf_add(buf, " to ");
		put_end(buf, link->dst);
		break;
	}
}

static void put_link(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_links *links = &analysis->links;
	const struct np_link_speed *worst = np_links_worst(links);
	const char *transport = worst ? np_run_text(analysis->run, worst->transport) : NULL;

	if (!worst)
		return;
	put_link_words(buf, worst);
	if (transport && worst->expected != NP_UNKNOWN)
		np_buf_printf(buf, ", %s %.1f GB/s, its like %.1f; %zu of %zu links are slow\n",
			      transport, np_link_gb_per_s(worst), np_link_peers_gb_per_s(worst),
			      links->slow, links->list.count);
	else
		np_buf_add(buf, ", by the times of whole operators\n");
}

static void put_pipeline(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_pipeline *pipeline = &analysis->pipeline;
	struct np_pipeline_time sum = { 0 };
	bool marked = false;
	double span;

	for (size_t i = 0; i < pipeline->list.count; i++) {
		const struct np_pipeline_time *time = &pipeline->list.item[i];

		sum.span += time->span;
		sum.ideal += time->ideal;
		sum.excess += time->excess;
		sum.imbalance += time->imbalance;
		sum.transfer += time->transfer;
		sum.host += time->host;
		/* Of several steps in one, each has a warm-up that looks like waiting in between.
		 */
		marked = marked || time->step != NP_STR_NONE;
	}
	span = (double)sum.span / 100;
	if (sum.span == 0 || (double)sum.excess < WORTH_SAYING * (double)sum.span)
		return;
	np_buf_printf(buf,
		      "pipeline of %" PRId32 " stages: %.0f %% idle, %.0f %% if even; steady"
		      " waiting %.0f %%, transfer %.0f %%, host %.0f %%%s\n",
		      pipeline->stages, (double)(sum.ideal + sum.excess) / span,
		      (double)sum.ideal / span, (double)sum.imbalance / span,
		      (double)sum.transfer / span, (double)sum.host / span,
		      marked ? "" : ", if all of it is one step: none is marked");
}

static void put_experts(struct np_buf *buf, const struct np_analysis *analysis)
{
	np_ns span = analysis->spreads.total[NP_Q_SPAN];
	const struct np_expert_total *total = &analysis->experts.total;

	if (total->ranks == 0 || total->lost == NP_UNKNOWN || span == NP_UNKNOWN ||
	    (double)total->lost < WORTH_SAYING * (double)span)
		return;
	np_buf_add(buf, "uneven experts cost ");
	np_text_duration(buf, total->lost / (np_ns)(total->ranks * total->steps));
	np_buf_printf(buf,
		      " of a rank's step, %.0f %%; rank %" PRId32 " got %.0f %% more tokens than"
		      " the mean\n",
		      100 * (double)total->lost / (double)span,
		      analysis->run->ranks[total->busiest]->id, 100 * total->over);
}

static void put_memory(struct np_buf *buf, const struct np_analysis *analysis)
{
	struct np_memory_growth most = { LEAK_BYTES - 1, 0 };
	const struct np_run *run = analysis->run;
	const struct np_rank *where = NULL;
	np_str what = NP_STR_NONE;
	size_t growing = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		bool grows = false;

		for (size_t j = 0; rank && j < rank->memory.count; j++) {
			struct np_memory_growth growth = analysis->memory_growths.of_rank[i][j];

			grows = grows || growth.per_step >= LEAK_BYTES;
			if (growth.per_step <= most.per_step)
				continue;
			most = growth;
			where = rank;
			what = rank->memory.item[j].component;
		}
		growing += grows;
	}
	if (!where)
		return;
	np_buf_printf(buf, "memory of rank %" PRId32 " (", where->id);
	np_buf_add(buf, np_run_text(run, what));
	np_buf_add(buf, ") grows by ");
	np_text_bytes(buf, most.per_step);
	np_buf_printf(buf, " from step to step, over %zu steps (%zu rank%s grow%s)\n", most.steps,
		      growing, growing == 1 ? "" : "s", growing == 1 ? "s" : "");
}

void verdict_put_parts(struct np_buf *buf, const struct np_analysis *analysis)
{
	put_link(buf, analysis);
	put_pipeline(buf, analysis);
	put_experts(buf, analysis);
	put_memory(buf, analysis);
}
