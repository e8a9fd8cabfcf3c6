/* SPDX-License-Identifier: Apache-2.0 */
/* Says a verdict in words: who or what made others wait, and what that explains. */
#include "verdict_text.h"

#include "verdict_checks.h"

#include "npuprof/align.h"
#include "npuprof/lang.h"
#include "npuprof/ranges.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/* How much longer a type of operators takes if it is worth a name. */
#define MIN_RATIO 1.02

/* A type that peers do not run is named if it takes so much of what the first does. */
#define LEAST_OWN 0.1

/* A rank that is late now and then is not the whole cause if all even gains so many times as much.
 */
#define MUCH_MORE 1.5

/* A loss of less than this share of the step is no news. */
#define WORTH_SAYING 0.02

/* Below this share of the step it does not matter who is waited for. */
#define LITTLE_WAITING 0.02

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

/* "MatMulV2 +12 %, Add +11 %"; "Unique +900 us" where peers run none. */
static void put_types(struct np_buf *buf, const struct np_run *run,
		      const struct np_explanation *explanation)
{
	const char *between = ": ";

	for (size_t i = 0; i < explanation->type_count; i++) {
		const struct np_root_cause_type *type = &explanation->types[i];
		const char *name = np_run_text(run, type->type);

		if (type->ratio < MIN_RATIO || !name ||
		    (isinf(type->ratio) &&
		     (double)type->excess < LEAST_OWN * (double)explanation->types[0].excess))
			continue;
		np_buf_add(buf, between);
		np_text_safe(buf, name, strlen(name));
		if (isinf(type->ratio)) {
			np_buf_add(buf, " +");
			np_text_duration(buf, type->excess);
		} else {
			np_buf_printf(buf, " +%.0f %%", 100 * (type->ratio - 1));
		}
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

/* Those that the verdict names together, where all of them are ranks: "2, 5 and 7". */
static bool put_team(struct np_buf *buf, const struct np_verdict *verdict)
{
	if (verdict->with_count == 0)
		return false;
	for (size_t i = 0; i < verdict->with_count; i++) {
		if (verdict->with[i].kind != NP_FIX_RANK)
			return false;
	}
	np_buf_add(buf, verdict->fix.what);
	for (size_t i = 0; i < verdict->with_count; i++)
		np_say(buf, i + 1 < verdict->with_count ? ", {1}" : " and {1}",
		       NP_SAID_TEXT(verdict->with[i].what));
	return true;
}

/* "chronic", "chronic, every 5th step": how often it is late; "" where that is not known. */
static void put_how_often(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_verdict *verdict)
{
	const char *kind = np_root_cause_kind(&analysis->causes, verdict->explanation.rank);
	const struct np_course *course = &verdict->course;

	if (!kind)
		return;
	/* What is always there is chronic. */
	if (course->kind != NP_COURSE_UNKNOWN && course->kind != NP_COURSE_CONSTANT) {
		NP_CLEANUP(np_buf_release) struct np_buf english = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf when = NP_BUF_INIT;

		np_course_put(&english, course);
		np_lang_put(&when, english.text);
		np_say(buf, " ({1}, {2})", NP_SAID_TEXT(np_lang_text(kind)),
		       NP_SAID_TEXT(when.text));
		buf->failed |= english.failed || when.failed;
	} else {
		np_say(buf, " ({1})", NP_SAID_TEXT(np_lang_text(kind)));
	}
}

/* The rank that is named: the one that is explained. */
static void put_culprit(struct np_buf *buf, const struct np_analysis *analysis,
			const struct np_verdict *verdict)
{
	NP_CLEANUP(np_buf_release) struct np_buf often = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf team = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf why = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;
	int32_t rank = analysis->run->ranks[verdict->explanation.rank]->id;

	put_how_often(&often, analysis, verdict);
	np_verdict_put_why(&reason, analysis, &verdict->explanation, 0);
	np_lang_put(&why, reason.text);
	if (put_team(&team, verdict))
		np_say(buf, "ranks {1} make the others wait; rank {2}{3}: {4}",
		       NP_SAID_TEXT(team.text), NP_SAID_INT(rank), NP_SAID_TEXT(often.text),
		       NP_SAID_TEXT(why.text));
	else
		np_say(buf, "rank {1} makes the others wait{2}: {3}", NP_SAID_INT(rank),
		       NP_SAID_TEXT(often.text), NP_SAID_TEXT(why.text));
	buf->failed |= often.failed || team.failed || why.failed || reason.failed;
}

/* "link:6-*" or "link:*-6": one end of many links. */
static bool put_slow_end(struct np_buf *buf, const struct np_fix *fix)
{
	const char *dash = strchr(fix->what, '-');

	if (fix->kind != NP_FIX_LINK || !dash || !strchr(fix->what, '*'))
		return false;
	if (dash[1] == '*')
		np_say(buf, "all links that rank {1} sends over are slow",
		       NP_SAID_INT(strtol(fix->what, NULL, 10)));
	else
		np_say(buf, "all links that rank {1} receives over are slow",
		       NP_SAID_TEXT(dash + 1));
	return true;
}

/* How slow, against comparable links, where that was measured. */
static void put_speed(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_link_speed *worst = np_links_worst(&analysis->links);
	const char *transport = worst ? np_run_text(analysis->run, worst->transport) : NULL;

	if (transport && worst->expected != NP_UNKNOWN)
		np_say(buf, ": {1} {2} GB/s, comparable links {3} GB/s", NP_SAID_TEXT(transport),
		       NP_SAID_REAL(np_link_gb_per_s(worst)),
		       NP_SAID_REAL(np_link_peers_gb_per_s(worst)));
}

/* What the devices waited for between steps, where one thing is most of it. */
static void put_between_cause(struct np_buf *buf, const struct np_analysis *analysis)
{
	static const char *const words[NP_BETWEEN_KINDS] = {
		[NP_BETWEEN_DATALOADER] = ": the data loader takes {1} of it",
		[NP_BETWEEN_HOST] = ": the host launches late in {1} of it",
	};
	np_ns total = analysis->spreads.total[NP_Q_BETWEEN];

	for (int i = 0; i < NP_BETWEEN_KINDS && total > 0; i++) {
		double share = (double)analysis->spreads.between[i] / (double)total;

		if (words[i] && share > 0.5)
			np_say(buf, words[i], NP_SAID_SHARE(share));
	}
}

/* A list of ranks that is longer than this is a number of ranks. */
#define MAX_RANK_LIST 40

void np_verdict_put_ranks(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_fix *fix)
{
	const struct np_run *run = analysis->run;
	int64_t *ranks = malloc((run->sources.count + 1) * sizeof(*ranks));
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	size_t count = 0;

	for (uint32_t i = 0; ranks && i < run->sources.count; i++) {
		if (run->ranks[i] && np_verdict_changes_rank(analysis, fix, i))
			ranks[count++] = run->ranks[i]->id;
	}
	if (count > 0)
		np_ranges_format(&list, ranks, count);
	buf->failed |= !ranks || list.failed;
	if (count > 0 && list.length > MAX_RANK_LIST)
		np_say(buf, "{1} ranks", NP_SAID_INT(count));
	else if (count > 0)
		np_say(buf, count == 1 ? "rank {1}" : "ranks {1}", NP_SAID_TEXT(list.text));
	free(ranks);
}

/* Why most of the waiting for the ranks of a host was caused. */
static void put_host_why(struct np_buf *buf, const struct np_analysis *analysis, const char *host)
{
	static const char *const words[NP_CAUSES] = {
		[NP_CAUSE_COMPUTE] = ": its ranks compute longer",
		[NP_CAUSE_HOST] = ": it launches late",
		[NP_CAUSE_COMMUNICATION] = ": its transfers take longer",
	};
	np_ns charges[NP_CAUSES] = { 0 };
	np_ns total = 0;

	for (uint32_t i = 0; i < analysis->run->sources.count && analysis->causes.ranks; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];
		const char *name = rank ? np_run_text(analysis->run, rank->host_name) : NULL;

		if (!name || strcmp(name, host) != 0)
			continue;
		charges[np_root_cause_main(&analysis->causes, i)] +=
			analysis->causes.ranks[i].charge;
		total += analysis->causes.ranks[i].charge;
	}
	for (int i = 0; i < NP_CAUSES; i++) {
		if (words[i] && charges[i] * 2 > total)
			np_say(buf, words[i]);
	}
}

static void put_other_cause(struct np_buf *buf, const struct np_analysis *analysis,
			    const struct np_fix *fix)
{
	static const char *const words[NP_FIX_KINDS] = {
		[NP_FIX_RANK] = "rank {1} makes the others wait",
		[NP_FIX_HOST] = "host {1} ({2}) is slower than the others",
		[NP_FIX_STAGE] = "stage {1} of the pipeline ({2}) takes longer than the others",
		[NP_FIX_ROLE] = "communicators of role {1} are uneven",
		[NP_FIX_OPTYPE] = "kernels of type {1} take longer on some ranks",
		[NP_FIX_GROUP] = "communicator {1} is slower than others like it",
		[NP_FIX_LINK] = "the link between ranks {1} is slow",
		[NP_FIX_HOST_GAPS] = "devices wait for their hosts to launch",
		[NP_FIX_BETWEEN] = "devices are idle between steps",
		[NP_FIX_FREQUENCY] = "AI cores are clocked below their rated frequency",
		[NP_FIX_EXPERTS] = "experts get uneven numbers of tokens",
	};
	const char *word = words[fix->kind] ? words[fix->kind] : np_fix_kind_name(fix->kind);
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;

	if (put_slow_end(buf, fix))
		return;
	if (fix->kind == NP_FIX_HOST || fix->kind == NP_FIX_STAGE)
		np_verdict_put_ranks(&ranks, analysis, fix);
	np_say(buf, word, NP_SAID_TEXT(fix->what), NP_SAID_TEXT(ranks.text));
	buf->failed |= ranks.failed;
	if (fix->kind == NP_FIX_HOST)
		put_host_why(buf, analysis, fix->what);
	if (fix->kind == NP_FIX_LINK)
		put_speed(buf, analysis);
	if (fix->kind == NP_FIX_BETWEEN)
		put_between_cause(buf, analysis);
}

/* A stage that has more kernels than others is not slow. */
static bool put_split(struct np_buf *buf, const struct np_analysis *analysis,
		      const struct np_fix *fix)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;

	for (size_t i = 0; i < analysis->whatif.rows.count; i++) {
		const struct np_whatif_row *row = &analysis->whatif.rows.item[i];

		if (!row->split || fix->kind != NP_FIX_STAGE || row->fix.kind != fix->kind ||
		    strcmp(row->fix.what, fix->what) != 0)
			continue;
		np_verdict_put_ranks(&ranks, analysis, fix);
		np_say(buf,
		       "the pipeline is unevenly split: stage {1} ({2}) has more kernels than the"
		       " others, which are as fast as theirs",
		       NP_SAID_TEXT(fix->what), NP_SAID_TEXT(ranks.text));
		buf->failed |= ranks.failed;
		return true;
	}
	return false;
}

/* "it", "it, rank 7 and host gaps" */
static void put_repaired(struct np_buf *buf, const struct np_verdict *verdict)
{
	np_say(buf,
	       strchr(verdict->fix.what, '*') && verdict->fix.kind == NP_FIX_LINK ? "them" : "it");
	for (size_t i = 0; i < verdict->with_count; i++) {
		const struct np_fix *fix = &verdict->with[i];

		np_say(buf, i + 1 < verdict->with_count ? ", " : " and ");
		if (np_fix_words(fix->kind))
			np_say(buf, np_fix_words(fix->kind));
		else
			np_say(buf, "{1} {2}",
			       NP_SAID_TEXT(np_lang_text(np_fix_kind_name(fix->kind))),
			       NP_SAID_TEXT(fix->what));
	}
}

/*
 * "; repairing it would save 2.05 ms of the step (15 %), which explains 2.05 ms of 2.1 ms
 * lost to uneven ranks, stages and links"
 */
static void put_gain(struct np_buf *buf, const struct np_analysis *analysis,
		     const struct np_verdict *verdict)
{
	NP_CLEANUP(np_buf_release) struct np_buf what = NP_BUF_INIT;

	/* What all ranks lose alike is no part of that. */
	bool uneven = verdict->with_count > 0 || !np_fix_words(verdict->fix.kind) ||
		      verdict->fix.kind == NP_FIX_EXPERTS;

	put_repaired(&what, verdict);
	np_say(buf,
	       verdict->with_count > 0
		       ? "; repairing {1} together would save {2} of the step ({3}), which explains"
			 " {2} of {4} lost to uneven ranks, stages and links"
	       : uneven ? "; repairing {1} would save {2} of the step ({3}), which explains {2} of"
			  " {4} lost to uneven ranks, stages and links"
			: "; repairing {1} would save {2} of the step ({3})",
	       NP_SAID_TEXT(what.text), NP_SAID_TIME(verdict->recovered),
	       NP_SAID_SHARE((double)verdict->recovered / (double)analysis->whatif.step),
	       NP_SAID_TIME(verdict->lost));
	buf->failed |= what.failed;
}

/* Uneven ranks may be the smaller part of what can be had: exposed transfer that takes most of the
 * step is said beside them. */
static bool has_larger(const struct np_analysis *analysis, const struct np_verdict *verdict)
{
	const struct np_where_part *transfer = &analysis->breakdown.parts[NP_WHERE_TRANSFER];

	return verdict->kind == NP_VERDICT_REPAIR && analysis->breakdown.cells > 0 &&
	       transfer->share > 0.5 && verdict->fix.kind != NP_FIX_LINK &&
	       verdict->fix.kind != NP_FIX_HIDE_COMM && 2 * verdict->recovered < transfer->mean;
}

bool np_verdict_has_larger(const struct np_analysis *analysis)
{
	return has_larger(analysis, &analysis->verdict);
}

static void put_larger(struct np_buf *buf, const struct np_analysis *analysis,
		       const struct np_verdict *verdict)
{
	const struct np_where_part *transfer = &analysis->breakdown.parts[NP_WHERE_TRANSFER];

	if (has_larger(analysis, verdict))
		np_say(buf,
		       "; larger than that: transfer that no computing hides takes {1} of the step ({2})",
		       NP_SAID_TIME(transfer->mean), NP_SAID_SHARE(transfer->share));
}

/* Work that is spread unevenly, another way in each step, makes a rank late once in a while. */
static void put_changing(struct np_buf *buf, const struct np_analysis *analysis,
			 const struct np_verdict *verdict)
{
	const char *kind = np_root_cause_kind(&analysis->causes, verdict->named);

	if (kind && strcmp(kind, "one-off") == 0 &&
	    (double)verdict->lost >= MUCH_MORE * (double)verdict->recovered)
		np_say(buf,
		       "; other ranks are late in other steps: with even ranks and links it would be"
		       " {1}",
		       NP_SAID_SHARE((double)verdict->lost / (double)analysis->whatif.step));
}

/* Nobody to compare with: what the device does most beside computing, or that it computes. */
static void put_alone(struct np_buf *buf, const struct np_analysis *analysis)
{
	static const char *const causes[NP_BETWEEN_KINDS] = {
		[NP_BETWEEN_DATALOADER] = ", most of that for the data loader",
		[NP_BETWEEN_HOST] = ", most of that because the host had not launched",
		[NP_BETWEEN_OTHER] = ", most of that with work launched that had not started",
		[NP_BETWEEN_UNKNOWN] = "; why is not known",
	};
	const struct np_breakdown *where = &analysis->breakdown;
	double idle = where->parts[NP_WHERE_IDLE].share;

	np_say(buf, "one rank: there is nobody to compare it with");
	if (where->cells == 0)
		return;
	np_say(buf, "; the device computes {1} of the time and is idle {2}",
	       NP_SAID_SHARE(where->parts[NP_WHERE_COMPUTING].share), NP_SAID_SHARE(idle));
	for (int i = 0; i < NP_BETWEEN_KINDS && idle >= WORTH_SAYING; i++) {
		if (where->idle[i].share * 2 > idle)
			np_say(buf, causes[i]);
	}
}

static void put_nobody(struct np_buf *buf, const struct np_analysis *analysis,
		       const struct np_verdict *verdict)
{
	const struct np_whatif *whatif = &analysis->whatif;

	if (np_run_used(analysis->run) < 2) {
		put_alone(buf, analysis);
		return;
	}
	np_say(buf, "no rank stands out");
	if (analysis->breakdown.cells > 0 && verdict->first != UINT32_MAX &&
	    analysis->breakdown.parts[NP_WHERE_COMMUNICATION].share < LITTLE_WAITING &&
	    analysis->breakdown.parts[NP_WHERE_WAIT].share < LITTLE_WAITING) {
		np_say(buf, ": waiting for other ranks takes {1} of the step",
		       NP_SAID_SHARE(analysis->breakdown.parts[NP_WHERE_WAIT].share));
	} else if (verdict->first != UINT32_MAX) {
		np_ns charge = analysis->causes.ranks[verdict->first].charge;
		np_ns absent = analysis->causes.unprofiled;

		if (absent > charge)
			np_say(buf,
			       ": the most goes back to ranks that were not profiled, {1}, {2} of"
			       " all waiting",
			       NP_SAID_TIME(absent),
			       NP_SAID_SHARE((double)absent / (double)analysis->charges.total));
		else
			np_say(buf, ": the most goes back to rank {1}, {2}, {3} of all waiting",
			       NP_SAID_INT(analysis->run->ranks[verdict->first]->id),
			       NP_SAID_TIME(charge),
			       NP_SAID_SHARE((double)charge / (double)analysis->charges.total));
	}
	/* A loss that no single repair removes, but all together do. */
	if (verdict->lost != NP_UNKNOWN && whatif->step > 0 &&
	    (double)verdict->lost >= WORTH_SAYING * (double)whatif->step)
		np_say(buf,
		       "; even ranks and links would save {1} of the step, but no single repair does",
		       NP_SAID_SHARE((double)verdict->lost / (double)whatif->step));
}

/* Transfers of less than this share of the step hide no waiting that matters. */
#define HIDES_WAITING 0.03

/*
 * Nothing tells how many ranks the job or a communicator has, nor what operators waited for:
 * those that were profiled may be few of many.
 */
static bool is_anybody_missing(const struct np_analysis *analysis)
{
	size_t tasks = 0;
	size_t open = 0;

	for (uint32_t i = 0; i < analysis->align->communicators.count; i++) {
		const struct np_align_communicator *each = &analysis->align->communicators.item[i];

		open += !each->size_known && each->observed > 1;
	}
	for (size_t i = 0; i < analysis->run->sources.count; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];

		for (size_t j = 0; rank && j < rank->comm_steps.count; j++)
			tasks += rank->comm_steps.item[j].transfer != NP_UNKNOWN;
	}
	return np_cluster_world(analysis->cluster) <= 0 && open > 0 && tasks == 0;
}

/*
 * Where a member was not profiled, and no tasks of operators tell when it came, waiting for it
 * looks like transfer.
 */
static bool may_hide_waiting(const struct np_analysis *analysis, np_ns transfers,
			     const struct np_verdict *verdict)
{
	if (verdict->kind == NP_VERDICT_NONE && transfers * 4 > analysis->whatif.step &&
	    is_anybody_missing(analysis))
		return true;
	if (analysis->readiness[NP_ANALYSIS_WAIT].ready ||
	    (double)transfers <= HIDES_WAITING * (double)analysis->whatif.step ||
	    (verdict->kind != NP_VERDICT_REPAIR && verdict->kind != NP_VERDICT_NONE))
		return false;
	/* What is named matters more. */
	if (verdict->kind == NP_VERDICT_REPAIR && transfers <= verdict->recovered)
		return false;
	for (uint32_t i = 0; i < analysis->align->communicators.count; i++) {
		const struct np_communicator *each = np_cluster_communicator(
			analysis->cluster, analysis->align->communicators.item[i].hash);

		if (each && each->observed_count > 1 && each->observed_count < each->size)
			return true;
	}
	return false;
}

/* What of the mean step is exposed transfer, or communication that may be. */
static np_ns exposed_transfer(const struct np_analysis *analysis)
{
	const struct np_where_part *parts = analysis->breakdown.parts;

	return analysis->breakdown.cells > 0
		       ? parts[NP_WHERE_TRANSFER].mean + parts[NP_WHERE_COMMUNICATION].mean
		       : INT64_MAX;
}

/* What of the mean step is exposed communication that nothing divides. */
static np_ns undivided(const struct np_analysis *analysis)
{
	return analysis->breakdown.cells > 0
		       ? analysis->breakdown.parts[NP_WHERE_COMMUNICATION].mean
		       : 0;
}

/*
 * Where transfers take most of the step, slow links would be the first thing to look
 * for; that nobody can is said.
 */
static void put_transfers(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_verdict *verdict)
{
	const struct np_whatif *whatif = &analysis->whatif;
	const char *cure = analysis->readiness[NP_ANALYSIS_LINKS].cure;
	np_ns hidden = 0;
	np_ns perhaps;

	/* Without intervals of kernels on any rank nobody computes in the replay, and its step is
	 * no step. */
	if (analysis->efficiency.most <= 0)
		return;
	for (size_t i = 0; i < whatif->rows.count; i++) {
		if (whatif->rows.item[i].fix.kind == NP_FIX_HIDE_COMM)
			hidden = whatif->rows.item[i].saved;
	}
	perhaps = undivided(analysis) > hidden ? undivided(analysis) : hidden;
	if (may_hide_waiting(analysis, perhaps, verdict)) {
		np_say(buf,
		       "; transfers take {1} of the step, and how much of that is waiting for"
		       " ranks that were not profiled is not known",
		       NP_SAID_SHARE((double)perhaps / (double)whatif->step));
		return;
	}
	for (size_t i = 0; i < analysis->links.list.count; i++) {
		if (analysis->links.list.item[i].verdict != NP_LINK_UNKNOWN)
			return;
	}
	/* Waiting for ranks that nobody knows of is transfer to the replay, and none to who
	 * divides the step. */
	if (hidden > exposed_transfer(analysis))
		hidden = exposed_transfer(analysis);
	if (whatif->step <= 0 || hidden * 2 <= whatif->step)
		return;
	np_say(buf,
	       "; transfers take {1} of the step, and whether their links are slow is not known",
	       NP_SAID_SHARE((double)hidden / (double)whatif->step));
	if (cure)
		np_say(buf, " (collect with {1})", NP_SAID_TEXT(cure));
}

/* Ranks of which no operator found one of another; how many are listed. */
static size_t list_silent(const struct np_analysis *analysis, bool *heard, int64_t *ret)
{
	const struct np_align *align = analysis->align;
	const struct np_run *run = analysis->run;
	size_t count = 0;

	for (size_t i = 0; i < align->coverage.count; i++) {
		const struct np_coverage *row = &align->coverage.item[i];

		heard[row->rank] |= row->matched > 0 &&
				    align->communicators.item[row->communicator].observed > 1;
	}
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && !heard[i])
			ret[count++] = run->ranks[i]->id;
	}
	return count;
}

/* Who is waited for may be there, with operators that are not. */
static void put_silent(struct np_buf *buf, const struct np_analysis *analysis)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	size_t ranks = analysis->run->sources.count;
	int64_t *silent = malloc((ranks + 1) * sizeof(*silent));
	bool *heard = calloc(ranks + 1, sizeof(*heard));
	size_t count = 0;

	if (silent && heard) {
		count = list_silent(analysis, heard, silent);
		np_ranges_format(&list, silent, count);
	}
	buf->failed |= list.failed || !silent || !heard;
	free(silent);
	free(heard);
	if (count > 0)
		np_say(buf, "; among them may be rank {1}, whose operators match nobody's",
		       NP_SAID_TEXT(list.text));
}

void verdict_put_sentence(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_verdict *verdict)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;

	switch (verdict->kind) {
	case NP_VERDICT_REPAIR:
		if (verdict->named != UINT32_MAX)
			put_culprit(buf, analysis, verdict);
		else if (!put_split(buf, analysis, &verdict->fix))
			put_other_cause(buf, analysis, &verdict->fix);
		put_gain(buf, analysis, verdict);
		if (verdict->named != UINT32_MAX)
			put_changing(buf, analysis, verdict);
		put_larger(buf, analysis, verdict);
		break;
	case NP_VERDICT_NOT_PROFILED:
		np_lang_put(&reason, verdict->what);
		np_say(buf,
		       "ranks that were not profiled make the others wait: {1} of all waiting, which"
		       " begins in {2}",
		       NP_SAID_SHARE((double)analysis->causes.unprofiled /
				     (double)analysis->charges.total),
		       NP_SAID_TEXT(reason.text));
		put_silent(buf, analysis);
		if (analysis->breakdown.cells > 0 &&
		    analysis->breakdown.parts[NP_WHERE_WAIT].mean > 0)
			np_say(buf, "; waiting takes {1} of the step ({2})",
			       NP_SAID_TIME(analysis->breakdown.parts[NP_WHERE_WAIT].mean),
			       NP_SAID_SHARE(analysis->breakdown.parts[NP_WHERE_WAIT].share));
		break;
	case NP_VERDICT_WITHHELD:
		np_lang_put(&reason, verdict->reason);
		np_say(buf,
		       np_text_begins(verdict->reason, "rank ") ? "withheld for {1}"
								: "withheld: {1}",
		       NP_SAID_TEXT(reason.text));
		buf->failed |= reason.failed;
		break;
	case NP_VERDICT_NONE:
		put_nobody(buf, analysis, verdict);
		break;
	}
	put_transfers(buf, analysis, verdict);
}
