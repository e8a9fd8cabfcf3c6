/* SPDX-License-Identifier: Apache-2.0 */
/* Says in words what stands out beside the verdict: links, the pipeline, experts, memory. */
#include "cluster_report.h"

#include "npuprof/align.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* --- how it spread ----------------------------------------------------------------------------
 */

/* "through rank 1, which waited for rank 0 in tp …428; …": how it reached the others. */
static void put_path(struct np_buf *buf, const struct np_analysis *analysis,
		     const struct np_explanation *explanation)
{
	const struct np_root_cause_link *last = &explanation->chain[explanation->count - 1];

	for (size_t i = 1; i < explanation->count; i++) {
		np_buf_printf(buf,
			      i == 1 ? "through rank %" PRId32 ", which "
				     : ", then rank %" PRId32 ", which ",
			      analysis->run->ranks[explanation->chain[i].rank]->id);
		np_verdict_put_why(buf, analysis, explanation, i);
	}
	if (last->communicator == UINT32_MAX)
		return;
	np_buf_add(buf, explanation->count > 1 ? "; felt most in " : "felt most in ");
	np_verdict_put_communicator(buf, analysis, last->communicator);
}

void report_put_path(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;
	np_ns charge;

	if (verdict->named == UINT32_MAX || analysis->charges.total <= 0)
		return;
	charge = analysis->causes.ranks[verdict->named].charge;
	np_buf_printf(buf, "rank %" PRId32 " is charged ",
		      analysis->run->ranks[verdict->named]->id);
	np_text_duration(buf, charge);
	np_buf_printf(buf, ", %.0f %% of all waiting: ",
		      100 * (double)charge / (double)analysis->charges.total);
	put_path(buf, analysis, &verdict->explanation);
	np_buf_add_char(buf, '\n');
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
	np_ns span = analysis->spreads.total[NP_Q_STEP];
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

void report_put_parts(struct np_buf *buf, const struct np_analysis *analysis)
{
	put_link(buf, analysis);
	put_pipeline(buf, analysis);
	put_experts(buf, analysis);
	put_memory(buf, analysis);
}
