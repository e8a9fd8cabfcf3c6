/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict.h"

#include "npuprof/ranges.h"
#include "npuprof/spread.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* Operator types that are named, at most, and the least that is worth a name. */
#define MAX_TYPES 3
#define MIN_RATIO 1.02

/* A rank that is late now and then is not the whole story if all even gains so many times as much.
 */
#define MUCH_MORE 1.5

static void put_communicator(struct np_buf *buf, const struct cluster_report *report,
			     uint32_t index)
{
	uint64_t hash = report->analysis->align->communicators.item[index].hash;
	const struct np_communicator *each =
		np_cluster_communicator(report->analysis->cluster, hash);
	const char *name = each ? np_run_text(report->analysis->run, each->pg_name) : NULL;

	if (name) {
		np_text_safe(buf, name, strlen(name));
		np_buf_printf(buf, " …%03" PRIu64, hash % 1000);
	} else {
		np_buf_printf(buf, "%" PRIu64, hash);
	}
}

/* "MatMulV2 +12 %, Add +11 %" */
static int put_types(struct np_buf *buf, const struct cluster_report *report, uint32_t rank,
		     struct np_err *err)
{
	struct np_root_cause_type types[MAX_TYPES];
	const char *between = ": ";
	size_t count;
	int rc =
		np_root_cause_types(report->analysis->cluster, rank, types, MAX_TYPES, &count, err);

	for (size_t i = 0; rc == NP_OK && i < count; i++) {
		const char *name = np_run_text(report->analysis->run, types[i].type);

		if (types[i].ratio < MIN_RATIO || !name)
			continue;
		np_buf_add(buf, between);
		np_text_safe(buf, name, strlen(name));
		np_buf_printf(buf, " +%.0f %%", 100 * (types[i].ratio - 1));
		between = ", ";
	}
	return rc;
}

int verdict_put_why(struct np_buf *buf, const struct cluster_report *report,
		    const struct np_root_cause_link *link, struct np_err *err)
{
	if (link->waited_for != UINT32_MAX) {
		np_buf_printf(buf, "waited for rank %" PRId32 " in ",
			      report->analysis->run->ranks[link->waited_for]->id);
		put_communicator(buf, report, link->via);
		return NP_OK;
	}
	switch (link->cause) {
	case NP_CAUSE_COMPUTE:
		np_buf_add(buf, "computes longer");
		return put_types(buf, report, link->rank, err);
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
	return NP_OK;
}

/* The rank that most waiting goes back to; UINT32_MAX for none. */
static int first_cause(const struct cluster_report *report, uint32_t *ret, struct np_err *err)
{
	struct np_charge_order order;
	int rc = np_root_cause_sort(&report->analysis->causes, &order, err);

	if (rc < 0)
		return rc;
	*ret = order.count > 0 ? order.ranks[0] : UINT32_MAX;
	np_charge_order_release(&order);
	return NP_OK;
}

static bool stands_out(const struct cluster_report *report, uint32_t rank)
{
	return rank != UINT32_MAX &&
	       np_root_cause_stands_out(&report->analysis->causes, rank,
					np_quantity_total(report->analysis->cluster, NP_Q_SPAN));
}

static void put_share(struct np_buf *buf, np_ns charge, np_ns total)
{
	np_text_duration(buf, charge);
	np_buf_printf(buf, ", %.0f %% of all waiting", 100 * (double)charge / (double)total);
}

/* "→ rank 1 (waited for rank 0 in tp …428) → …": how it reached the others. */
static int put_path(struct np_buf *buf, const struct cluster_report *report, uint32_t rank,
		    struct np_err *err)
{
	struct np_root_cause_link chain[NP_ROOT_CAUSE_CHAIN];
	size_t count = np_root_cause_chain(&report->analysis->causes, &report->analysis->charges,
					   rank, chain);
	int rc = NP_OK;

	for (size_t i = 1; i < count && rc == NP_OK; i++) {
		np_buf_printf(buf,
			      i == 1 ? "; through rank %" PRId32 ", which "
				     : ", then rank %" PRId32 ", which ",
			      report->analysis->run->ranks[chain[i].rank]->id);
		rc = verdict_put_why(buf, report, &chain[i], err);
	}
	if (rc == NP_OK && chain[count - 1].communicator != UINT32_MAX) {
		np_buf_add(buf, "; felt most in ");
		put_communicator(buf, report, chain[count - 1].communicator);
	}
	return rc;
}

static int put_culprit(struct np_buf *buf, const struct cluster_report *report, uint32_t rank,
		       struct np_err *err)
{
	const struct np_analysis *analysis = report->analysis;
	const char *kind = np_root_cause_kind(&analysis->causes, rank);
	struct np_root_cause_link chain[NP_ROOT_CAUSE_CHAIN];
	int rc;

	(void)np_root_cause_chain(&analysis->causes, &analysis->charges, rank, chain);
	np_buf_printf(buf, "rank %" PRId32 " makes the others wait (",
		      report->analysis->run->ranks[rank]->id);
	put_share(buf, analysis->causes.ranks[rank].charge, analysis->charges.total);
	np_buf_printf(buf, "%s%s): ", kind ? ", " : "", kind ? kind : "");
	rc = verdict_put_why(buf, report, &chain[0], err);
	if (rc == NP_OK)
		rc = put_path(buf, report, rank, err);
	return rc;
}

static void put_nobody(struct np_buf *buf, const struct cluster_report *report, uint32_t rank)
{
	const struct np_analysis *analysis = report->analysis;

	if (analysis->causes.unprofiled * 2 > analysis->charges.total) {
		np_buf_add(buf, "ranks that were not profiled made these wait: ");
		put_share(buf, analysis->causes.unprofiled, analysis->charges.total);
		return;
	}
	np_buf_add(buf, "no rank stands out");
	if (rank == UINT32_MAX)
		return;
	np_buf_printf(buf, ": the most goes back to rank %" PRId32 ", ",
		      report->analysis->run->ranks[rank]->id);
	put_share(buf, analysis->causes.ranks[rank].charge, analysis->charges.total);
}

/* "repairing it would save 2.05 ms of the step (15 %)", "… it and rank 7 together …" */
static void put_gain(struct np_buf *buf, const struct cluster_report *report,
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
	share = 100 * (double)verdict->saved / (double)report->analysis->whatif.step;
	np_buf_printf(buf, " of the step (%.*f %%)", share < 1 ? 1 : 0, share);
	if (verdict->with_count > 0)
		np_buf_add(buf, ", each by itself little");
}

/* The rank that the verdict of the replay names; UINT32_MAX for none. */
static uint32_t named_rank(const struct cluster_report *report,
			   const struct np_whatif_verdict *verdict)
{
	int64_t id;

	if (!verdict->found || verdict->fix.kind != NP_FIX_RANK ||
	    !np_text_to_int(verdict->fix.what, strlen(verdict->fix.what), &id))
		return UINT32_MAX;
	for (uint32_t i = 0; i < report->analysis->run->sources.count; i++) {
		if (report->analysis->run->ranks[i] && report->analysis->run->ranks[i]->id == id)
			return i;
	}
	return UINT32_MAX;
}

/* Where most waiting is for ranks that nobody saw, what the others do is not what it takes. */
static struct np_whatif_verdict verdict_of(const struct cluster_report *report)
{
	if (report->analysis->causes.unprofiled * 2 > report->analysis->charges.total)
		return (struct np_whatif_verdict){ .found = false };
	return np_whatif_verdict(&report->analysis->whatif);
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
static void put_changing(struct np_buf *buf, const struct cluster_report *report, uint32_t rank,
			 const struct np_whatif_verdict *verdict)
{
	const struct np_whatif *whatif = &report->analysis->whatif;
	const char *kind = np_root_cause_kind(&report->analysis->causes, rank);

	if (!kind || strcmp(kind, "one-off") != 0 ||
	    (double)loss_of(whatif) < MUCH_MORE * (double)verdict->saved)
		return;
	np_buf_printf(buf,
		      "; other ranks are late in other steps: with even ranks and links it would be"
		      " %.0f %%",
		      100 * (double)loss_of(whatif) / (double)whatif->step);
}

/* A loss that no single repair removes, but all together do. */
static void put_spread_loss(struct np_buf *buf, const struct cluster_report *report)
{
	const struct np_whatif *whatif = &report->analysis->whatif;
	np_ns loss = loss_of(whatif);

	if (whatif->step <= 0 || (double)loss < 0.02 * (double)whatif->step)
		return;
	np_buf_printf(buf,
		      "; even ranks and links would save %.0f %% of the step, but no single"
		      " repair does",
		      100 * (double)loss / (double)whatif->step);
}

static int put_sentence(struct np_buf *buf, const struct cluster_report *report, struct np_err *err)
{
	struct np_whatif_verdict verdict = verdict_of(report);
	uint32_t named = named_rank(report, &verdict);
	uint32_t rank;
	int rc = first_cause(report, &rank, err);

	if (rc < 0)
		return rc;
	if (named != UINT32_MAX) {
		rc = put_culprit(buf, report, named, err);
	} else if (verdict.found) {
		put_other_cause(buf, &verdict);
	} else if (!report->analysis->whatif.rows.count && stands_out(report, rank)) {
		return put_culprit(buf, report, rank, err);
	} else {
		put_nobody(buf, report, rank);
		put_spread_loss(buf, report);
	}
	if (verdict.found)
		put_gain(buf, report, &verdict);
	if (named != UINT32_MAX)
		put_changing(buf, report, named, &verdict);
	return rc;
}

int verdict_put_text(struct np_buf *buf, const struct cluster_report *report, struct np_err *err)
{
	int rc = put_sentence(buf, report, err);

	np_buf_add_char(buf, '\n');
	return rc;
}

int verdict_put_json(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_whatif_verdict verdict = verdict_of(report);
	int rc;

	if (report->analysis->charges.total == 0 && !verdict.found) {
		np_jsonout_null(out, "verdict");
		return NP_OK;
	}
	rc = put_sentence(&text, report, err);
	if (rc < 0)
		return rc;
	np_jsonout_object_line(out, "verdict");
	np_jsonout_text(out, "kind", verdict.found ? np_fix_kind_name(verdict.fix.kind) : "none");
	np_jsonout_text(out, "what", verdict.found && *verdict.fix.what ? verdict.fix.what : NULL);
	np_jsonout_integer(out, "recovered_ns", verdict.found ? verdict.saved : NP_UNKNOWN);
	np_jsonout_array(out, "with");
	for (size_t i = 0; i < verdict.with_count; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&verdict.with[i], fix);
		np_jsonout_text(out, NULL, fix);
	}
	np_jsonout_end(out);
	np_jsonout_text(out, "text", text.text);
	np_jsonout_end(out);
	return NP_OK;
}
