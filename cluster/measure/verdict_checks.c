/* SPDX-License-Identifier: Apache-2.0 */
/* What a verdict rests on: that ranks can be compared, that a gain is possible, who was seen. */
#include "verdict_checks.h"

#include "npuprof/align.h"
#include "npuprof/lang.h"
#include "npuprof/text.h"

/* A reason is one sentence of English: whoever shows it finds its translation by the whole. */
#define REASON(buf, ...) np_buf_printf(buf, __VA_ARGS__)

#include <inttypes.h>
#include <math.h>

/* --- is it ready? ---------------------------------------------------------------------------- */

/* Most waiting goes back to a rank of which nothing but its operators is known. */
static bool is_unseen(const struct np_analysis *analysis, const struct np_verdict *verdict)
{
	return verdict->kind == NP_VERDICT_NONE && verdict->stands_out &&
	       analysis->partition.rank_first[verdict->first] == SIZE_MAX;
}

/*
 * Messages of ranks that were all profiled, and yet nothing tells who sent them to whom: what
 * goes from stage to stage is not known, and nobody standing out means nothing; nor does a link
 * that seems slow, for what it waited for is not known either.
 */
static void put_unmatched(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_verdict *verdict)
{
	const struct np_align *align = analysis->align;
	size_t alone = 0;

	if (verdict->kind != NP_VERDICT_NONE &&
	    !(verdict->kind == NP_VERDICT_REPAIR && verdict->fix.kind == NP_FIX_LINK))
		return;
	for (size_t i = 0; i < align->communicators.count; i++) {
		const struct np_align_communicator *each = &align->communicators.item[i];

		for (uint32_t j = 0;
		     each->observed > 1 && each->observed == each->size && j < each->count; j++)
			alone += align->instances.item[each->first + j].rule == NP_RULE_PAIR &&
				 align->instances.item[each->first + j].count == 1;
	}
	if (2 * alone > align->op_count)
		REASON(buf,
		       "messages do not say between which ranks they went: %zu of %" PRIu32
		       " communication operators found no other end",
		       alone, align->op_count);
}

/* --- is it compared with its like? ------------------------------------------------------------ */

/* Ranks that do the same run the same kernels, but for a few that were lost. */
#define OTHER_KERNELS 0.005

static double count_of(const struct np_rank *rank, np_str type)
{
	for (size_t i = 0; i < rank->kernels.count; i++) {
		if (rank->kernels.item[i].name == type)
			return (double)rank->kernels.item[i].count;
	}
	return 0;
}

/* Kernels that one of two ranks has and the other has not, of all that they have. */
static double other_kernels(const struct np_rank *one, const struct np_rank *other)
{
	double differ = 0;
	double all = 0;

	for (size_t i = 0; i < one->kernels.count; i++) {
		double count = (double)one->kernels.item[i].count;

		differ += fabs(count - count_of(other, one->kernels.item[i].name));
		all += count;
	}
	for (size_t i = 0; i < other->kernels.count; i++) {
		double count = (double)other->kernels.item[i].count;

		differ += count_of(one, other->kernels.item[i].name) == 0 ? count : 0;
		all += count;
	}
	return all > 0 ? differ / all : 0;
}

/* Does a rank run what no other one does? Where kernels were not counted it may. */
static bool works_alone(const struct np_run *run, const struct np_rank *rank)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && run->ranks[i] != rank && rank->kernels.count > 0 &&
		    other_kernels(rank, run->ranks[i]) <= OTHER_KERNELS)
			return false;
	}
	return true;
}

/*
 * Where ranks send messages and nothing tells the stages, a rank was compared with all
 * others: one that runs other kernels than they do may be of another stage.
 */
static void put_other_work(struct np_buf *buf, const struct np_analysis *analysis,
			   const struct np_verdict *verdict)
{
	for (size_t i = 0; i <= verdict->with_count; i++) {
		const struct np_fix *fix = i == 0 ? &verdict->fix : &verdict->with[i - 1];
		const struct np_rank *rank = NULL;
		int64_t id;

		if (fix->kind == NP_FIX_RANK && np_text_to_int(fix->what, strlen(fix->what), &id))
			rank = np_run_rank(analysis->run, (int32_t)id);
		if (!rank || !np_readiness_misses_stages(analysis->cluster, rank) ||
		    !works_alone(analysis->run, rank))
			continue;
		REASON(buf, "rank %" PRId32 ": %s, and nothing tells which ranks are a stage",
		       rank->id,
		       rank->kernels.count > 0 ? NP_MSG("runs other kernels than all others")
					       : NP_MSG("kernels were not counted"));
		return;
	}
}

/* --- is a gain possible? --------------------------------------------------------------------- */

/* A gain that is more than is possible by less than this share of the step is rounding. */
#define TOLERANCE 0.01

/* One that is more than is possible by less than this share of itself is what is possible. */
#define ROUNDED_OFF 0.1

/* Does a repair change what this rank does? */
bool np_verdict_changes_rank(const struct np_analysis *analysis, const struct np_fix *fix,
			     uint32_t index)
{
	const struct np_rank *rank = analysis->run->ranks[index];
	const char *host = np_run_text(analysis->run, rank->host_name);
	int64_t number;

	switch (fix->kind) {
	case NP_FIX_RANK:
		return np_text_to_int(fix->what, strlen(fix->what), &number) && number == rank->id;
	case NP_FIX_HOST:
		return host && strcmp(host, fix->what) == 0;
	case NP_FIX_STAGE:
		return np_text_to_int(fix->what, strlen(fix->what), &number) && analysis->replay &&
		       number == analysis->replay->stages[index];
	case NP_FIX_LINK:
	case NP_FIX_GROUP:
	case NP_FIX_ROLE:
		return false;
	default:
		return true;
	}
}

static bool is_changed(const struct np_analysis *analysis, const struct np_verdict *verdict,
		       uint32_t index)
{
	bool changed = np_verdict_changes_rank(analysis, &verdict->fix, index);

	for (size_t i = 0; i < verdict->with_count; i++)
		changed |= np_verdict_changes_rank(analysis, &verdict->with[i], index);
	return changed;
}

/* What a rank computes in a step, by the source of its totals; 0 where it is not known. */
static np_ns computing_of(const struct np_rank *rank)
{
	np_ns sum = 0;
	np_ns count = 0;

	for (size_t i = 0; i < rank->times.count; i++) {
		if (rank->times.item[i].computing == NP_UNKNOWN)
			continue;
		sum += rank->times.item[i].computing;
		count++;
	}
	return count > 0 ? sum / count : 0;
}

/* Ranks that are left as they are get shorter by waiting less, never by computing less. */
static np_ns most_by_others(const struct np_analysis *analysis, const struct np_verdict *verdict)
{
	np_ns most = 0;

	for (uint32_t i = 0; i < analysis->run->sources.count; i++) {
		np_ns computing;

		if (!analysis->run->ranks[i] || is_changed(analysis, verdict, i))
			continue;
		computing = computing_of(analysis->run->ranks[i]);
		most = computing > most ? computing : most;
	}
	return analysis->whatif.step - most;
}

/* Of the critical path, what the repair may change. */
static bool may_shorten(const struct np_analysis *analysis, const struct np_verdict *verdict,
			const struct np_path_piece *piece)
{
	if (piece->communicator == UINT32_MAX)
		return is_changed(analysis, verdict, piece->rank);
	/* Transfers of experts are evened out with their tokens. */
	if (verdict->fix.kind != NP_FIX_RANK && verdict->fix.kind != NP_FIX_HOST &&
	    verdict->fix.kind != NP_FIX_STAGE)
		return true;
	for (size_t i = 0; i < verdict->with_count; i++) {
		if (verdict->with[i].kind != NP_FIX_RANK && verdict->with[i].kind != NP_FIX_HOST &&
		    verdict->with[i].kind != NP_FIX_STAGE)
			return true;
	}
	return false;
}

/*
 * Steps that the path is divided by: it goes through all of them, but where the step is the
 * iteration a gain is of those that have one.
 */
static size_t steps_of_path(const struct np_replay *replay)
{
	size_t steps = replay->steps > 0 ? replay->steps : 1;
	size_t each = replay->timed > 0 ? replay->iterations / replay->timed : 0;

	return each > 0 && each < steps ? each : steps;
}

static np_ns most_by_path(const struct np_analysis *analysis, const struct np_verdict *verdict)
{
	size_t steps = steps_of_path(analysis->replay);
	np_ns most = 0;

	for (size_t i = 0; i < analysis->path.pieces.count; i++) {
		const struct np_path_piece *piece = &analysis->path.pieces.item[i];

		if (may_shorten(analysis, verdict, piece))
			most += piece->ns;
	}
	return most / (np_ns)steps;
}

np_ns verdict_bounded(const struct np_analysis *analysis, const struct np_verdict *verdict)
{
	np_ns others = most_by_others(analysis, verdict);
	np_ns path = most_by_path(analysis, verdict);
	np_ns most = others < path ? others : path;
	np_ns gain = verdict->recovered;

	return gain > most && (double)(gain - most) <= ROUNDED_OFF * (double)gain ? most : gain;
}

static void put_implausible(struct np_buf *buf, const struct np_analysis *analysis,
			    const struct np_verdict *verdict)
{
	np_ns others = most_by_others(analysis, verdict);
	np_ns path = most_by_path(analysis, verdict);
	np_ns most = others < path ? others : path;
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf saved = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf all = NP_BUF_INIT;
	char fix[NP_FIX_TEXT + 16];

	if ((double)(verdict->recovered - most) <= TOLERANCE * (double)analysis->whatif.step)
		return;
	np_fix_format(&verdict->fix, fix);
	np_text_safe(&safe, fix, strlen(fix));
	np_text_duration(&saved, verdict->recovered);
	np_text_duration(&all, most > 0 ? most : 0);
	if (others < path)
		REASON(buf,
		       "repairing %s would save %s of the step, where %s is all that other ranks do not "
		       "compute",
		       safe.text, saved.text, all.text);
	else
		REASON(buf,
		       "repairing %s would save %s of the step, where %s is all that it has of the critical "
		       "path",
		       safe.text, saved.text, all.text);
	buf->failed |= safe.failed || saved.failed || all.failed;
}

/* --- who was not profiled -------------------------------------------------------------------- */

/* Less than this share of what all ranks had is no notice, … */
#define WORTH_A_NOTICE 0.01
/* … and nothing to withhold a verdict for. */
#define WORTH_WITHHOLDING 0.03
/* Of what others were waited for, a repair gains so much if it is what it goes back to. */
#define EXPLAINS_WAITING 0.6

uint32_t verdict_unprofiled(const struct np_analysis *analysis)
{
	const struct np_root_causes *causes = &analysis->causes;
	np_ns available = analysis->spreads.total[NP_Q_SPAN];
	uint32_t most = UINT32_MAX;
	np_ns longest = 0;

	/* What the others do is then not what it takes. */
	if (causes->unprofiled * 2 <= analysis->charges.total ||
	    (available != NP_UNKNOWN &&
	     (double)causes->unprofiled < WORTH_A_NOTICE * (double)available))
		return UINT32_MAX;
	for (uint32_t i = 0; i < analysis->align->communicators.count; i++) {
		np_ns sum = analysis->charges.unprofiled_in[i];

		for (size_t j = 0; j < causes->edges.count; j++) {
			const struct np_root_cause_edge *edge = &causes->edges.item[j];

			if (edge->rank == NP_ROOT_CAUSE_UNPROFILED && edge->communicator == i)
				sum += edge->charge;
		}
		if (most == UINT32_MAX || sum > longest) {
			most = i;
			longest = sum;
		}
	}
	return most;
}

/* Of what is left to the profiled ones, so much more makes it no chance. */
#define BEYOND_CHANCE 0.25

bool verdict_unprofiled_by_chance(const struct np_analysis *analysis, uint32_t communicator)
{
	const struct np_align_communicator *each =
		&analysis->align->communicators.item[communicator];
	double fair;

	if (!each->size_known || each->observed >= each->size || analysis->charges.total <= 0)
		return false;
	fair = 1 - (double)each->observed / (double)each->size;
	return (double)analysis->causes.unprofiled <=
	       (fair + BEYOND_CHANCE * (1 - fair)) * (double)analysis->charges.total;
}

/* So many ranges of members are listed. */
#define MOST_RANGES 12

/* "12 (not profiled), 13-15" */
static void put_list(struct np_buf *buf, const struct np_run *run, const int32_t *members,
		     size_t count)
{
	size_t ranges = 0;

	for (size_t i = 0, to = 0; i < count; i = to) {
		bool seen = np_run_rank(run, members[i]) != NULL;

		if (ranges++ == MOST_RANGES) {
			np_buf_add(buf, ", …");
			return;
		}
		to = i + 1;
		while (to < count && members[to] == members[to - 1] + 1 &&
		       (np_run_rank(run, members[to]) != NULL) == seen)
			to++;
		np_buf_printf(buf, "%s%" PRId32, i > 0 ? ", " : "", members[i]);
		if (to > i + 1)
			np_buf_printf(buf, "-%" PRId32, members[to - 1]);
		np_buf_add(buf, seen ? "" : " (not profiled)");
	}
}

void verdict_put_members(struct np_buf *buf, const struct np_analysis *analysis,
			 uint32_t communicator)
{
	const struct np_align_communicator *aligned =
		&analysis->align->communicators.item[communicator];
	const struct np_communicator *each =
		np_cluster_communicator(analysis->cluster, aligned->hash);
	const char *name = each ? np_run_text(analysis->run, each->pg_name) : NULL;

	if (name)
		np_text_safe(buf, name, strlen(name));
	else
		np_buf_printf(buf, "%" PRIu64, aligned->hash);
	np_buf_add(buf, " {");
	if (each && each->members) {
		put_list(buf, analysis->run, each->members, each->member_count);
	} else if (each) {
		put_list(buf, analysis->run, each->observed, each->observed_count);
		if (each->size > each->observed_count)
			np_buf_printf(buf, " and %zu not profiled",
				      each->size - each->observed_count);
	}
	np_buf_add(buf, "}");
}

/* --- was everybody profiled? ------------------------------------------------------------------ */

bool verdict_explains(const struct np_analysis *analysis, np_ns saved, np_ns waiting)
{
	size_t steps = analysis->replay ? analysis->replay->steps : 0;
	size_t ranks = np_run_used(analysis->run);

	return (double)saved * (double)(steps * ranks) >= EXPLAINS_WAITING * (double)waiting;
}

/* Where nobody says how many ranks there were, and those seen wait alike for none of them. */
static void put_unsure(struct np_buf *buf, const struct np_analysis *analysis,
		       const struct np_verdict *verdict)
{
	const struct np_charges *charges = &analysis->charges;
	np_ns available = analysis->spreads.total[NP_Q_SPAN];
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf unsure = NP_BUF_INIT;
	uint32_t most = 0;

	if (charges->unsure * 2 <= charges->total || available == NP_UNKNOWN ||
	    (double)charges->unsure < WORTH_WITHHOLDING * (double)available)
		return;
	if (verdict->kind == NP_VERDICT_REPAIR && verdict->fix.kind == NP_FIX_RANK &&
	    verdict_explains(analysis, verdict->recovered, charges->unsure))
		return;
	for (uint32_t i = 1; i < analysis->align->communicators.count; i++) {
		if (charges->unsure_in[i] > charges->unsure_in[most])
			most = i;
	}
	verdict_put_members(&members, analysis, most);
	np_text_duration(&unsure, charges->unsure);
	REASON(buf,
	       "nothing tells how many ranks %s has, and those profiled wait %s for none of them, %.0f %% of "
	       "all waiting",
	       members.text, unsure.text, 100.0 * (double)charges->unsure / (double)charges->total);
	buf->failed |= members.failed || unsure.failed;
}

/* So much of the step communication must show for what others do to matter. */
#define MATTERS 0.1

/* One rank of a job: what it would gain it may then wait for others. */
static void put_alone(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_breakdown *breakdown = &analysis->breakdown;
	double shows = breakdown->parts[NP_WHERE_WAIT].share +
		       breakdown->parts[NP_WHERE_TRANSFER].share +
		       breakdown->parts[NP_WHERE_COMMUNICATION].share;

	if (shows > MATTERS)
		REASON(buf,
		       "one rank alone was profiled, whose communication shows for %.0f %% of"
		       " the step: what it waits for there is not known",
		       100 * shows);
}

void verdict_put_missing(struct np_buf *buf, const struct np_analysis *analysis,
			 const struct np_verdict *verdict)
{
	const struct np_readiness *readiness = &analysis->readiness[NP_ANALYSIS_VERDICT];
	size_t used = np_run_used(analysis->run);

	/* Of one there is nothing to compare, nor is anything missing. */
	if (used < 2) {
		if (verdict->kind == NP_VERDICT_REPAIR)
			put_alone(buf, analysis);
		return;
	}
	if (readiness->without == used)
		np_buf_add(buf, readiness->missing);
	else if (is_unseen(analysis, verdict))
		REASON(buf, "rank %" PRId32 ": no intervals of kernels: totals alone",
		       analysis->run->ranks[verdict->first]->id);
	else if (verdict->kind == NP_VERDICT_REPAIR)
		put_other_work(buf, analysis, verdict);
	if (buf->length == 0 && verdict->kind == NP_VERDICT_REPAIR)
		put_implausible(buf, analysis, verdict);
	if (buf->length == 0)
		put_unmatched(buf, analysis, verdict);
	if (buf->length == 0)
		put_unsure(buf, analysis, verdict);
}
