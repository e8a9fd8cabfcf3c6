/* SPDX-License-Identifier: Apache-2.0 */
/* Says in words what stands out beside the verdict: how it spread, links, memory. */
#include "cluster_report.h"

#include "npuprof/align.h"
#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/snapshot_rows.h"
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
		NP_CLEANUP(np_buf_release) struct np_buf why = NP_BUF_INIT;

		np_say(buf, i == 1 ? "through rank {1}, which " : ", then rank {1}, which ",
		       NP_SAID_INT(analysis->run->ranks[explanation->chain[i].rank]->id));
		np_verdict_put_why(&why, analysis, explanation, i);
		np_lang_put(buf, why.text);
		buf->failed |= why.failed;
	}
	if (last->communicator == UINT32_MAX)
		return;
	np_say(buf, explanation->count > 1 ? "; felt most in " : "felt most in ");
	np_verdict_put_communicator(buf, analysis, last->communicator);
}

void report_put_path(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_verdict *verdict = &analysis->verdict;

	if (verdict->named == UINT32_MAX || analysis->charges.total <= 0)
		return;
	np_say(buf, "how waiting for rank {1} spread: ",
	       NP_SAID_INT(analysis->run->ranks[verdict->named]->id));
	put_path(buf, analysis, &verdict->explanation);
	np_buf_add_char(buf, '\n');
}

/* --- links, memory --------------------------------------------------------- */

/* Less than this in a step is no leak that anybody would look for. */
#define LEAK_BYTES 1000000

/* "rank 3", or the local rank where that is all there is. */
static void put_end(struct np_buf *buf, int64_t rank)
{
	if (rank >= 0)
		np_buf_printf(buf, "rank %" PRId64, rank);
	else
		np_say(buf, "local rank {1}", NP_SAID_INT(-1 - rank));
}

static void put_link_words(struct np_buf *buf, const struct np_link_speed *link)
{
	switch (link->fault) {
	case NP_FAULT_SENDER:
		put_end(buf, link->src);
		np_say(buf, " is slow in all that it transfers to others");
		break;
	case NP_FAULT_RECEIVER:
		put_end(buf, link->dst);
		np_say(buf, " is slow in all that others transfer to it");
		break;
	case NP_FAULT_PLANE:
		np_say(buf, "plane {1} is slow on all ranks", NP_SAID_INT(link->plane));
		break;
	case NP_FAULT_LINK:
	case NP_FAULT_NONE:
		np_say(buf, "slow link from ");
		put_end(buf, link->src);
		if (link->dst == NP_UNKNOWN)
			break;
		np_say(buf, " to ");
		put_end(buf, link->dst);
		break;
	}
}

void report_put_link(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_links *links = &analysis->links;
	const struct np_link_speed *worst = np_links_worst(links);
	const char *transport = worst ? np_run_text(analysis->run, worst->transport) : NULL;

	if (!worst)
		return;
	put_link_words(buf, worst);
	if (transport && worst->expected != NP_UNKNOWN)
		np_say(buf,
		       ": {1} {2} GB/s, comparable links {3} GB/s; {4} of {5} links are slow\n",
		       NP_SAID_TEXT(transport), NP_SAID_REAL(np_link_gb_per_s(worst)),
		       NP_SAID_REAL(np_link_peers_gb_per_s(worst)), NP_SAID_INT(links->slow),
		       NP_SAID_INT(links->list.count));
	else
		np_say(buf, ", by the times of whole operators\n");
}

/* What snapshots beside the profiles say, in two lines; `npuprof memory` says the rest. */
static void put_snapshots(struct np_buf *buf, const struct np_memory *memory)
{
	const struct np_memory_rank_row *most = NULL;
	const struct np_memory_leak_row *leak = NULL;
	const struct np_memory_whatif_row *best = NULL;

	for (size_t i = 0; i < memory->ranks.count; i++) {
		const struct np_memory_rank_row *row = &memory->ranks.item[i];

		most = !most || row->peak_reserved > most->peak_reserved ? row : most;
	}
	for (size_t i = 0; i < memory->leaks.count; i++) {
		const struct np_memory_leak_row *row = &memory->leaks.item[i];

		leak = !leak || row->bytes_each_time > leak->bytes_each_time ? row : leak;
	}
	for (size_t i = 0; i < memory->whatif.count; i++) {
		const struct np_memory_whatif_row *row = &memory->whatif.item[i];

		if (row->gain != NP_UNKNOWN && row->gain > 0 && (!best || row->gain > best->gain))
			best = row;
	}
	np_say(buf, "memory snapshots of {1} ranks: rank {2} reserves most, {3} (allocated {4})\n",
	       NP_SAID_INT(memory->ranks.count), NP_SAID_INT(most->rank),
	       NP_SAID_BYTES(most->peak_reserved), NP_SAID_BYTES(most->peak_allocated));
	if (leak)
		np_say(buf, "memory of rank {1}: {2} leaves {3} each time that is never freed\n",
		       NP_SAID_INT(memory->ranks.item[leak->of].rank), NP_SAID_TEXT(leak->what),
		       NP_SAID_BYTES(leak->bytes_each_time));
	if (best && best->gain * 50 > best->peak_reserved)
		np_say(buf, "memory of rank {1}: {2} would lower peak reserved by {3}\n",
		       NP_SAID_INT(memory->ranks.item[best->of].rank), NP_SAID_TEXT(best->settings),
		       NP_SAID_BYTES(best->gain));
}

void report_put_memory(struct np_buf *buf, const struct np_analysis *analysis)
{
	struct np_memory_growth most = { LEAK_BYTES - 1, 0 };
	const struct np_run *run = analysis->run;
	const struct np_rank *where = NULL;
	np_str what = NP_STR_NONE;
	size_t growing = 0;

	if (analysis->memory)
		put_snapshots(buf, analysis->memory);
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
	np_say(buf,
	       "memory of rank {1} ({2}) grows by {3} from step to step, over {4} steps; so does that"
	       " of {5} of {6} ranks\n",
	       NP_SAID_INT(where->id), NP_SAID_TEXT(np_run_text(run, what)),
	       NP_SAID_BYTES(most.per_step), NP_SAID_INT(most.steps), NP_SAID_INT(growing),
	       NP_SAID_INT(np_run_used(run)));
}
