/* SPDX-License-Identifier: Apache-2.0 */
/* Says a verdict in words: who or what made others wait, and what that explains. */
#include "verdict_text.h"

#include "npuprof/align.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* How much longer a type of operators takes if it is worth a name. */
#define MIN_RATIO 1.02

/* A rank that is late now and then is not the whole cause if all even gains so many times as much.
 */
#define MUCH_MORE 1.5

/* A loss of less than this share of the step is no news. */
#define WORTH_SAYING 0.02

void np_verdict_put_communicator(struct np_buf *buf, const struct np_analysis *analysis,
				 uint32_t index)
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

void np_verdict_put_why(struct np_buf *buf, const struct np_analysis *analysis,
			const struct np_explanation *explanation, size_t index)
{
	const struct np_root_cause_link *link = &explanation->chain[index];

	if (link->waited_for != UINT32_MAX) {
		np_buf_printf(buf, "waited for rank %" PRId32 " in ",
			      analysis->run->ranks[link->waited_for]->id);
		np_verdict_put_communicator(buf, analysis, link->via);
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

/* The rank that is named: the one that is explained. */
static void put_culprit(struct np_buf *buf, const struct np_analysis *analysis,
			const struct np_verdict *verdict)
{
	uint32_t rank = verdict->explanation.rank;
	const char *kind = np_root_cause_kind(&analysis->causes, rank);
	const struct np_course *course = &verdict->course;

	np_buf_printf(buf, "rank %" PRId32 " makes the others wait%s%s",
		      analysis->run->ranks[rank]->id, kind ? " (" : "", kind ? kind : "");
	/* What is always there is chronic. */
	if (kind && course->kind != NP_COURSE_UNKNOWN && course->kind != NP_COURSE_CONSTANT) {
		np_buf_add(buf, ", ");
		np_course_put(buf, course);
	}
	np_buf_add(buf, kind ? "): " : ": ");
	np_verdict_put_why(buf, analysis, &verdict->explanation, 0);
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

static void put_other_cause(struct np_buf *buf, const struct np_fix *fix)
{
	static const char *const words[NP_FIX_KINDS] = {
		[NP_FIX_RANK] = "rank %s makes the others wait",
		[NP_FIX_HOST] = "host %s is slower than the others",
		[NP_FIX_STAGE] = "stage %s of the pipeline takes longer than the others",
		[NP_FIX_ROLE] = "communicators of role %s are uneven",
		[NP_FIX_OPTYPE] = "kernels of type %s take longer on some ranks",
		[NP_FIX_GROUP] = "communicator %s is slower than others like it",
		[NP_FIX_LINK] = "the link between ranks %s is slow",
		[NP_FIX_HOST_GAPS] = "devices wait for their hosts to launch",
		[NP_FIX_BETWEEN] = "devices are idle between steps",
		[NP_FIX_FREQUENCY] = "AI cores are clocked below their rated frequency",
		[NP_FIX_EXPERTS] = "experts get uneven numbers of tokens",
	};
	const char *word = words[fix->kind] ? words[fix->kind] : np_fix_kind_name(fix->kind);
	const char *gap = strstr(word, "%s");

	if (put_slow_end(buf, fix))
		return;
	np_buf_add_bytes(buf, word, gap ? (size_t)(gap - word) : strlen(word));
	if (gap) {
		np_text_safe(buf, fix->what, strlen(fix->what));
		np_buf_add(buf, gap + 2);
	}
}

/* A stage that has more kernels than others is not slow. */
static bool put_split(struct np_buf *buf, const struct np_analysis *analysis,
		      const struct np_fix *fix)
{
	for (size_t i = 0; i < analysis->whatif.rows.count; i++) {
		const struct np_whatif_row *row = &analysis->whatif.rows.item[i];

		if (!row->split || fix->kind != NP_FIX_STAGE || row->fix.kind != fix->kind ||
		    strcmp(row->fix.what, fix->what) != 0)
			continue;
		np_buf_printf(buf,
			      "the pipeline is unevenly split: stage %s has more kernels than the"
			      " others, which are as fast as theirs",
			      fix->what);
		return true;
	}
	return false;
}

/* "it", "it, rank 7 and host gaps" */
static void put_repaired(struct np_buf *buf, const struct np_verdict *verdict)
{
	np_buf_add(buf, strchr(verdict->fix.what, '*') && verdict->fix.kind == NP_FIX_LINK ? "them"
											   : "it");
	for (size_t i = 0; i < verdict->with_count; i++) {
		const struct np_fix *fix = &verdict->with[i];

		np_buf_printf(buf, "%s%s%s", i + 1 < verdict->with_count ? ", " : " and ",
			      np_fix_kind_name(fix->kind), *fix->what ? " " : "");
		np_text_safe(buf, fix->what, strlen(fix->what));
	}
}

/*
 * "; repairing it would save 2.05 ms of the step (15 %), which explains 2.05 ms of 2.1 ms
 * lost"
 */
static void put_gain(struct np_buf *buf, const struct np_analysis *analysis,
		     const struct np_verdict *verdict)
{
	double share = 100 * (double)verdict->recovered / (double)analysis->whatif.step;

	np_buf_add(buf, "; repairing ");
	put_repaired(buf, verdict);
	np_buf_add(buf, verdict->with_count > 0 ? " together would save " : " would save ");
	np_text_duration(buf, verdict->recovered);
	np_buf_printf(buf, " of the step (%.*f %%), which explains ", share < 1 ? 1 : 0, share);
	np_text_duration(buf, verdict->recovered);
	np_buf_add(buf, " of ");
	np_text_duration(buf, verdict->lost);
	np_buf_add(buf, " lost");
}

/* Work that is spread unevenly, another way in each step, makes a rank late once in a while. */
static void put_changing(struct np_buf *buf, const struct np_analysis *analysis,
			 const struct np_verdict *verdict)
{
	const char *kind = np_root_cause_kind(&analysis->causes, verdict->named);

	if (kind && strcmp(kind, "one-off") == 0 &&
	    (double)verdict->lost >= MUCH_MORE * (double)verdict->recovered)
		np_buf_printf(buf,
			      "; other ranks are late in other steps: with even ranks and links it"
			      " would be %.0f %%",
			      100 * (double)verdict->lost / (double)analysis->whatif.step);
}

static void put_nobody(struct np_buf *buf, const struct np_analysis *analysis,
		       const struct np_verdict *verdict)
{
	const struct np_whatif *whatif = &analysis->whatif;

	if (np_run_used(analysis->run) < 2) {
		np_buf_add(buf, "one rank: there is nobody to compare it with");
		return;
	}
	np_buf_add(buf, "no rank stands out");
	if (verdict->first != UINT32_MAX) {
		np_buf_printf(buf, ": the most goes back to rank %" PRId32 ", ",
			      analysis->run->ranks[verdict->first]->id);
		put_share(buf, analysis->causes.ranks[verdict->first].charge,
			  analysis->charges.total);
	}
	/* A loss that no single repair removes, but all together do. */
	if (verdict->lost != NP_UNKNOWN && whatif->step > 0 &&
	    (double)verdict->lost >= WORTH_SAYING * (double)whatif->step)
		np_buf_printf(buf,
			      "; even ranks and links would save %.0f %% of the step, but no single"
			      " repair does",
			      100 * (double)verdict->lost / (double)whatif->step);
}

/*
 * Where transfers take most of the step, slow links would be the first thing to look
 * for; that nobody can is said.
 */
static void put_transfers(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_whatif *whatif = &analysis->whatif;
	const char *cure = analysis->readiness[NP_ANALYSIS_LINKS].cure;
	np_ns hidden = 0;

	for (size_t i = 0; i < analysis->links.list.count; i++) {
		if (analysis->links.list.item[i].verdict != NP_LINK_UNKNOWN)
			return;
	}
	for (size_t i = 0; i < whatif->rows.count; i++) {
		if (whatif->rows.item[i].fix.kind == NP_FIX_HIDE_COMM)
			hidden = whatif->rows.item[i].saved;
	}
	if (whatif->step <= 0 || hidden * 2 <= whatif->step)
		return;
	np_buf_printf(buf,
		      "; transfers take %.0f %% of the step, and whether their links are slow"
		      " is not known",
		      100 * (double)hidden / (double)whatif->step);
	if (cure)
		np_buf_printf(buf, " (collect with %s)", cure);
}

void verdict_put_sentence(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_verdict *verdict)
{
	switch (verdict->kind) {
	case NP_VERDICT_REPAIR:
		if (verdict->named != UINT32_MAX)
			put_culprit(buf, analysis, verdict);
		else if (!put_split(buf, analysis, &verdict->fix))
			put_other_cause(buf, &verdict->fix);
		put_gain(buf, analysis, verdict);
		if (verdict->named != UINT32_MAX)
			put_changing(buf, analysis, verdict);
		break;
	case NP_VERDICT_NOT_PROFILED:
		np_buf_add(buf, "waiting begins in ");
		np_buf_add(buf, verdict->what);
		np_buf_add(buf, ": ranks that were not profiled were waited for, ");
		put_share(buf, analysis->causes.unprofiled, analysis->charges.total);
		break;
	case NP_VERDICT_WITHHELD:
		np_buf_printf(buf, "withheld%s%s",
			      np_text_begins(verdict->reason, "rank ") ? " for " : ": ",
			      verdict->reason);
		break;
	case NP_VERDICT_NONE:
		put_nobody(buf, analysis, verdict);
		break;
	}
	put_transfers(buf, analysis);
}
