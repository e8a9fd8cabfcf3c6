/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a run: what is named, what that rests on, and where none can be given. */
#include "npuprof/verdict.h"

#include "short_captures.h"
#include "verdict_checks.h"
#include "verdict_text.h"

#include "npuprof/align.h"
#include "npuprof/lang.h"
#include "npuprof/ranges.h"
#include "npuprof/run.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>

static const char *const own_names[] = {
	[NP_VERDICT_NONE] = "none",
	[NP_VERDICT_REPAIR] = NULL,
	[NP_VERDICT_NOT_PROFILED] = "not-profiled",
	[NP_VERDICT_WITHHELD] = "withheld",
};

const char *np_verdict_kind_name(const struct np_verdict *verdict)
{
	return verdict->kind == NP_VERDICT_REPAIR ? np_fix_kind_name(verdict->fix.kind)
						  : own_names[verdict->kind];
}

void np_verdict_release(struct np_verdict *verdict)
{
	np_explanation_release(&verdict->explanation);
	np_course_release(&verdict->course);
	free(verdict->what);
	free(verdict->reason);
	free(verdict->text);
}

/* --- from its parts ---------------------------------------------------------------------------
 */

/* Lines of repairs. */
static int read_with(const char *with, struct np_verdict *verdict, struct np_err *err)
{
	int rc = NP_OK;

	while (*with && rc == NP_OK) {
		size_t length = strcspn(with, "\n");
		char fix[NP_FIX_TEXT + 16];

		if (length >= sizeof(fix) || verdict->with_count == NP_COUNT(verdict->with))
			return np_fail(err, NP_E_FORMAT, "a verdict with too many repairs");
		(void)snprintf(fix, sizeof(fix), "%.*s", (int)length, with);
		rc = np_fix_parse(fix, &verdict->with[verdict->with_count++], err);
		with += length;
		with += *with == '\n';
	}
	return rc;
}

int np_verdict_read(const char *kind, const char *what, const char *with, struct np_verdict *ret,
		    struct np_err *err)
{
	char fix[NP_FIX_TEXT + 16];
	int rc;

	*ret = (struct np_verdict){ .recovered = NP_UNKNOWN,
				    .lost = NP_UNKNOWN,
				    .named = UINT32_MAX,
				    .first = UINT32_MAX,
				    .explanation = { .rank = UINT32_MAX } };
	for (size_t i = 0; i < NP_COUNT(own_names); i++) {
		if (own_names[i] && strcmp(own_names[i], kind) == 0) {
			ret->kind = (enum np_verdict_kind)i;
			return NP_OK;
		}
	}
	ret->kind = NP_VERDICT_REPAIR;
	(void)snprintf(fix, sizeof(fix), "%s%s%s", kind, what ? ":" : "", what ? what : "");
	rc = np_fix_parse(fix, &ret->fix, err);
	if (rc == NP_OK)
		rc = read_with(with ? with : "", ret, err);
	return rc == NP_E_USAGE ? np_fail(err, NP_E_FORMAT, "'%s' is no verdict", kind) : rc;
}

/* --- who is named ----------------------------------------------------------------------------- */

/* The rank that a repair names; UINT32_MAX for none. */
static uint32_t named_rank(const struct np_run *run, const struct np_fix *fix)
{
	int64_t id;
	size_t index;

	if (fix->kind != NP_FIX_RANK || !np_text_to_int(fix->what, strlen(fix->what), &id) ||
	    id < 0 || id > INT32_MAX)
		return UINT32_MAX;
	index = np_run_index(run, (int32_t)id);
	return index == SIZE_MAX || !run->ranks[index] ? UINT32_MAX : (uint32_t)index;
}

/* The rank that most waiting goes back to; UINT32_MAX for none. */
static int first_cause(const struct np_root_causes *causes, uint32_t *ret, struct np_err *err)
{
	struct np_charge_order order;
	int rc = np_root_cause_sort(causes, &order, err);

	if (rc < 0)
		return rc;
	*ret = order.count > 0 ? order.ranks[0] : UINT32_MAX;
	np_charge_order_release(&order);
	return NP_OK;
}

/* Time in which ranks probably waited for each other, unrecorded, is not their hosts'. */
static bool is_unrecorded(const struct np_analysis *analysis,
			  const struct np_whatif_verdict *repair)
{
	return (repair->fix.kind == NP_FIX_HOST_GAPS || repair->fix.kind == NP_FIX_BETWEEN) &&
	       2 * analysis->findings.unrecorded >= repair->saved;
}

/* What all devices wait for is known only where the launches of all of them are. */
static bool is_of_some(const struct np_analysis *analysis, const struct np_whatif_verdict *repair)
{
	const struct np_readiness *host = &analysis->readiness[NP_ANALYSIS_HOST];

	return repair->fix.kind == NP_FIX_HOST_GAPS && host->without > 0;
}

/* Of what is lost, and of the step: so much must a repair gain to explain what ranks that
 * were not profiled are waited for. */
#define EXPLAINS_LOST 0.6
#define EXPLAINS_STEP 0.03

/* Ranks that were not profiled come late as well where others let them go on late. */
static bool is_explained(const struct np_analysis *analysis, const struct np_whatif_verdict *repair)
{
	const struct np_whatif *whatif = &analysis->whatif;

	return repair->found && repair->fix.kind == NP_FIX_RANK && whatif->ideal != NP_UNKNOWN &&
	       (double)repair->saved >= EXPLAINS_STEP * (double)whatif->step &&
	       (double)repair->saved >= EXPLAINS_LOST * (double)(whatif->step - whatif->ideal) &&
	       verdict_explains(analysis, repair->saved, analysis->causes.unprofiled);
}

/* Is it a repair of some ranks, and not of all alike? */
static bool names_some(const struct np_whatif_verdict *repair)
{
	return repair->found && repair->fix.kind != NP_FIX_BETWEEN &&
	       repair->fix.kind != NP_FIX_HOST_GAPS;
}

static void take_repair(const struct np_analysis *analysis, struct np_verdict *verdict)
{
	const struct np_whatif *whatif = &analysis->whatif;
	const struct np_whatif_verdict repair = np_whatif_verdict(whatif);

	uint32_t absent = verdict_unprofiled(analysis);

	/* Where nobody is slow half of the ranks are the last ones half of the time. */
	if (absent != UINT32_MAX && !is_explained(analysis, &repair) &&
	    (names_some(&repair) || !verdict_unprofiled_by_chance(analysis, absent))) {
		verdict->kind = NP_VERDICT_NOT_PROFILED;
		return;
	}
	if (whatif->rows.count > 0 && whatif->ideal != NP_UNKNOWN)
		verdict->lost = whatif->step - whatif->ideal;
	if (!repair.found || is_unrecorded(analysis, &repair) || is_of_some(analysis, &repair))
		return;
	verdict->kind = NP_VERDICT_REPAIR;
	verdict->fix = repair.fix;
	verdict->recovered = repair.saved;
	/* What all ranks lose alike is not among what even ones would save. */
	if (verdict->lost < verdict->recovered)
		verdict->lost = verdict->recovered;
	for (size_t i = 0; i < repair.with_count; i++)
		verdict->with[verdict->with_count++] = repair.with[i];
	verdict->named = named_rank(analysis->run, &repair.fix);
}

/* Of the step, and of what uneven work loses: see is_by_chance(). */
#define UNEVEN_WORK  0.1
#define SHARE_OF_ONE 0.4

static double share_of_rank(const struct np_balance *balance, int32_t rank)
{
	for (size_t i = 0; i < balance->shares.count; i++) {
		const struct np_balance_share *share = &balance->shares.item[i];

		if (share->kind == NP_SHARE_RANK && share->number == rank)
			return share->recovered;
	}
	return 0;
}

/*
 * Does nothing but chance make the rank cost others so much in so many steps? Few steps tell
 * nothing of that; who explains most of what is lost is no chance.
 */
static bool is_once(const struct np_analysis *analysis, const struct np_verdict *verdict)
{
	const char *kind = np_root_cause_kind(&analysis->causes, verdict->named);

	return kind && strcmp(kind, "chronic") != 0 &&
	       (double)verdict->recovered < EXPLAINS_LOST * (double)verdict->lost;
}

/*
 * Where work is uneven, as with sequences of different lengths, some rank comes last in most
 * of a few steps by chance. It is the cause if making it alone even recovers much of that.
 */
static int is_by_chance(const struct np_analysis *analysis, const struct np_verdict *verdict,
			bool *ret, struct np_err *err)
{
	const struct np_balance *balance = &analysis->balance;
	struct np_course course = { 0 };
	int rc;

	*ret = false;
	if (verdict->kind != NP_VERDICT_REPAIR || verdict->named == UINT32_MAX ||
	    verdict->with_count > 0 || !analysis->replay || !balance->known ||
	    (double)(balance->step - balance->ideal) < UNEVEN_WORK * (double)balance->step ||
	    share_of_rank(balance, analysis->run->ranks[verdict->named]->id) >= SHARE_OF_ONE)
		return NP_OK;
	rc = np_course_measure(analysis->replay, verdict->named, &course, err);
	*ret = course.kind == NP_COURSE_RANDOM || is_once(analysis, verdict);
	np_course_release(&course);
	return rc;
}

static int drop_chance(const struct np_analysis *analysis, struct np_verdict *verdict,
		       struct np_err *err)
{
	bool chance = false;
	int rc = is_by_chance(analysis, verdict, &chance, err);

	if (rc == NP_OK && chance) {
		verdict->kind = NP_VERDICT_NONE;
		verdict->named = UINT32_MAX;
		verdict->recovered = NP_UNKNOWN;
	}
	return rc;
}

static int explain(const struct np_analysis *analysis, struct np_verdict *verdict,
		   struct np_err *err)
{
	uint32_t who = verdict->named != UINT32_MAX ? verdict->named : verdict->first;

	verdict->stands_out = verdict->first != UINT32_MAX &&
			      np_root_cause_stands_out(&analysis->causes, verdict->first,
						       analysis->spreads.total[NP_Q_STEP]);
	if (who == UINT32_MAX)
		return NP_OK;
	if (analysis->replay && np_course_measure(analysis->replay, who, &verdict->course, err) < 0)
		return NP_E_NOMEM;
	return np_explanation_measure(analysis->cluster, &analysis->causes, &analysis->charges, who,
				      &verdict->explanation, err);
}

static int copy(const char *text, char **ret, struct np_err *err)
{
	*ret = strdup(text);
	return *ret ? NP_OK : np_fail_nomem(err, "the verdict");
}

/* --- what is withheld ------------------------------------------------------------------------- */

/* Name nobody. */
static void say_nothing(struct np_verdict *verdict)
{
	verdict->kind = NP_VERDICT_WITHHELD;
	verdict->named = UINT32_MAX;
	verdict->recovered = NP_UNKNOWN;
	verdict->lost = NP_UNKNOWN;
	verdict->with_count = 0;
}

/* Is the rank with this id, as text, one whose files are partial? */
static bool is_partial(const struct np_run *run, const char *id, size_t length)
{
	const struct np_rank *rank;
	int64_t number;

	if (!np_text_to_int(id, length, &number) || number < INT32_MIN || number > INT32_MAX)
		return false;
	rank = np_run_rank(run, (int32_t)number);
	return rank && np_rank_withheld(rank);
}

/* Is there another rank of its stage, with whole files, that it was compared with? */
static bool has_whole_peer(const struct np_analysis *analysis, uint32_t named)
{
	const struct np_run *run = analysis->run;

	for (uint32_t i = 0; named != UINT32_MAX && i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (rank && i != named && !np_rank_withheld(rank) &&
		    rank->activity.cells.count > 0 &&
		    analysis->replay->stages[i] == analysis->replay->stages[named])
			return true;
	}
	return false;
}

/*
 * Does it rest on ranks alone whose files are whole? What hosts, stages and types of
 * operators do is measured over all of their ranks.
 */
static bool rests_on_whole_ranks(const struct np_analysis *analysis, const struct np_fix *fix)
{
	const struct np_run *run = analysis->run;
	const char *dash = strchr(fix->what, '-');

	switch (fix->kind) {
	case NP_FIX_RANK:
		return !is_partial(run, fix->what, strlen(fix->what)) &&
		       has_whole_peer(analysis, named_rank(run, fix));
	case NP_FIX_LINK:
		return dash && !is_partial(run, fix->what, (size_t)(dash - fix->what)) &&
		       !is_partial(run, dash + 1, strlen(dash + 1));
	case NP_FIX_BETWEEN:
		return true;
	default:
		return false;
	}
}

/* So many ranks are named with their files. */
#define MOST_NAMED 3

/* "rank 0: kernel_details.csv covers 25 % of step_trace_time.csv; rank 3: …" */
static void put_partial(struct np_buf *buf, const struct np_run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		const struct np_file_coverage *each = rank ? np_rank_withheld(rank) : NULL;

		if (!each || count++ >= MOST_NAMED)
			continue;
		np_buf_printf(buf, "%srank %" PRId32 ": ", count > 1 ? "; " : "", rank->id);
		np_file_coverage_put(buf, run->strings, each);
	}
	if (count > MOST_NAMED)
		np_buf_printf(buf, "; and %zu more rank%s", count - MOST_NAMED,
			      count - MOST_NAMED == 1 ? "" : "s");
}

/*
 * Is there a rank whose capture ends before its steps do? Others seem to do more than it
 * and to wait less: no comparison of steps can be trusted.
 */
static bool is_one_short(const struct np_run *run)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		const struct np_file_coverage *each = rank ? np_rank_withheld(rank) : NULL;

		if (each && short_captures_is_it(run, each))
			return true;
	}
	return false;
}

/* Nothing is said against a rank whose files are partial, nor on grounds of it. */
static int withhold(const struct np_analysis *analysis, struct np_verdict *verdict,
		    struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf partial = NP_BUF_INIT;
	bool stays = verdict->kind == NP_VERDICT_REPAIR &&
		     rests_on_whole_ranks(analysis, &verdict->fix) && !is_one_short(analysis->run);
	int rc;

	put_partial(&partial, analysis->run);
	rc = np_buf_check(&partial, err);
	if (rc < 0 || partial.length == 0)
		return rc;
	rc = copy(partial.text, &verdict->reason, err);
	for (size_t i = 0; i < verdict->with_count; i++)
		stays = stays && rests_on_whole_ranks(analysis, &verdict->with[i]);
	if (stays)
		return rc;
	say_nothing(verdict);
	return rc;
}

/* What the data do not carry is not said. */
static int check(const struct np_analysis *analysis, struct np_verdict *verdict, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;
	int rc;

	/* That files are partial is reason enough. */
	if (verdict->kind == NP_VERDICT_WITHHELD)
		return NP_OK;
	if (verdict->kind == NP_VERDICT_REPAIR && analysis->replay)
		verdict->recovered = verdict_bounded(analysis, verdict);
	verdict_put_missing(&reason, analysis, verdict);
	rc = np_buf_check(&reason, err);
	if (rc < 0 || reason.length == 0)
		return rc;
	say_nothing(verdict);
	return verdict->reason ? NP_OK : copy(reason.text, &verdict->reason, err);
}

/* Ranks whose profile is there and could not be read: the sentence is not about them. */
static void put_unread(struct np_buf *buf, const struct np_analysis *analysis)
{
	const struct np_run *run = analysis->run;
	int64_t *ranks = malloc((run->sources.count + 1) * sizeof(*ranks));
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	size_t count = 0;

	for (size_t i = 0; ranks && i < run->sources.count; i++) {
		if (!run->ranks[i])
			ranks[count++] = run->sources.item[i].rank;
	}
	if (count > 0)
		np_ranges_format(&list, ranks, count);
	buf->failed |= !ranks || list.failed;
	if (count > 0)
		np_say(buf,
		       count == 1 ? "; rank {1} could not be read and is not counted"
				  : "; ranks {1} could not be read and are not counted",
		       NP_SAID_TEXT(list.text));
	free(ranks);
}

static void put_all(struct np_buf *buf, const struct np_analysis *analysis,
		    const struct np_verdict *verdict)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;

	/* What can be said nevertheless comes after it. */
	if (verdict->reason && verdict->kind != NP_VERDICT_WITHHELD) {
		np_lang_put(&reason, verdict->reason);
		np_say(buf, "withheld for {1}\n", NP_SAID_TEXT(reason.text));
	}
	verdict_put_sentence(buf, analysis, verdict);
	put_unread(buf, analysis);
	buf->failed |= reason.failed;
}

void np_verdict_say(struct np_buf *buf, const struct np_analysis *analysis)
{
	if (np_lang() == NP_LANG_EN)
		np_buf_add(buf, analysis->verdict.text);
	else
		put_all(buf, analysis, &analysis->verdict);
}

static int write_text(const struct np_analysis *analysis, struct np_verdict *verdict,
		      struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	enum np_lang lang = np_lang_set(NP_LANG_EN);
	int rc = NP_OK;

	if (verdict->kind == NP_VERDICT_REPAIR && *verdict->fix.what) {
		rc = copy(verdict->fix.what, &verdict->what, err);
	} else if (verdict->kind == NP_VERDICT_NOT_PROFILED) {
		verdict_put_members(&text, analysis, verdict_unprofiled(analysis));
		rc = copy(text.text, &verdict->what, err);
		np_buf_clear(&text);
	}
	put_all(&text, analysis, verdict);
	(void)np_lang_set(lang);
	if (rc == NP_OK)
		rc = np_buf_check(&text, err);
	return rc == NP_OK ? copy(text.text, &verdict->text, err) : rc;
}

int np_verdict_measure(const struct np_analysis *analysis, struct np_verdict *ret,
		       struct np_err *err)
{
	struct np_verdict verdict = { .recovered = NP_UNKNOWN,
				      .lost = NP_UNKNOWN,
				      .named = UINT32_MAX,
				      .first = UINT32_MAX,
				      .explanation = { .rank = UINT32_MAX } };
	int rc = first_cause(&analysis->causes, &verdict.first, err);

	take_repair(analysis, &verdict);
	if (rc == NP_OK)
		rc = drop_chance(analysis, &verdict, err);
	if (rc == NP_OK)
		rc = withhold(analysis, &verdict, err);
	if (rc == NP_OK)
		rc = explain(analysis, &verdict, err);
	if (rc == NP_OK)
		rc = check(analysis, &verdict, err);
	if (rc == NP_OK)
		rc = write_text(analysis, &verdict, err);
	if (rc < 0) {
		np_verdict_release(&verdict);
		return rc;
	}
	*ret = verdict;
	return NP_OK;
}
