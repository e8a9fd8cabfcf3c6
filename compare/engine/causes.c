/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what explains the difference of the step: slow ranks and links before the waiting they
 * cause.
 */
#include "cmp_comparison.h"

#include "npuprof/buf.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/*
 * What explains the difference of the step
 * ----------------------------------------
 *
 * Waiting is a consequence: a rank that got slower by itself shows up as waiting of
 * all the others, and a slow link as transfers of those that use it. So causes are
 * looked for where ranks differ first: a rank whose own work (computing, copies,
 * the host) changed unlike that of the others, a link that is slow on one side
 * only. Then what changed on all ranks alike, leaf by leaf: the median of the ranks
 * tells, which one bad rank does not move. Waiting and transfer of a communicator
 * are named when nothing else explains as much.
 */

/* A rank stands out by this many deviations, and by this share of the step. */
#define OUTLIER_DEVIATIONS 8.0
#define OUTLIER_SHARE      0.02

/* Whether a change made the step shorter that became longer, or the other way round. */
static bool is_against(const struct cmp_change *step, np_ns ns)
{
	return step->verdict != CMP_NOISE &&
	       ((step->delta > 0 && ns < 0) || (step->delta < 0 && ns > 0));
}

static int add_cause(struct comparison *comparison, enum cmp_cause_kind kind,
		     const struct np_buf *what, const struct np_buf *text, np_ns ns,
		     struct np_err *err)
{
	struct cmp_cause *cause = np_vec_add(&comparison->causes, err);

	if (!cause)
		return NP_E_NOMEM;
	*cause = (struct cmp_cause){ kind, cmp_keep(comparison, what), cmp_keep(comparison, text),
				     ns, is_against(&comparison->step, ns) };
	return cause->what && cause->text ? NP_OK : np_fail_nomem(err, "causes");
}

static void put_signed(struct np_buf *buf, np_ns ns)
{
	np_buf_add(buf, ns < 0 ? "-" : "+");
	np_text_duration(buf, ns < 0 ? -ns : ns);
}

static void put_percent(struct np_buf *buf, double from, double to)
{
	if (from > 0)
		np_buf_printf(buf, " (%+.1f %%)", 100 * (to / from - 1));
}

/* --- ranks ----------------------------------------------------------------------------------- */

static double busy_change(const struct cmp_pair *pair)
{
	return (double)(pair->busy[CMP_NEW] - pair->busy[CMP_BASE]);
}

/* The leaf of its own that changed most on a rank, beyond the median of the ranks. */
static const struct cmp_leaf *worst_leaf(const struct comparison *comparison, size_t pair,
					 double sign)
{
	const struct cmp_leaf *worst = NULL;
	double most = 0;

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];
		double change = sign * (leaf->ranks[CMP_NEW][pair] - leaf->ranks[CMP_BASE][pair]);

		if (leaf->kind != CMP_LEAF_COMPUTE && leaf->kind != CMP_LEAF_MEMCPY &&
		    leaf->kind != CMP_LEAF_HOST)
			continue;
		if (change > most) {
			most = change;
			worst = leaf;
		}
	}
	return worst;
}

static int add_rank(struct comparison *comparison, size_t index, double excess, struct np_err *err)
{
	const struct cmp_pair *pair = &comparison->pairs.item[index];
	const struct cmp_leaf *leaf = worst_leaf(comparison, index, excess > 0 ? 1 : -1);
	NP_CLEANUP(np_buf_release) struct np_buf what = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_buf_printf(&what, "rank %" PRId32, cmp_rank(comparison, pair, CMP_NEW)->id);
	np_buf_printf(&text, "rank %" PRId32 " alone got %s: its own work ",
		      cmp_rank(comparison, pair, CMP_NEW)->id, excess > 0 ? "slower" : "faster");
	put_signed(&text, pair->busy[CMP_NEW] - pair->busy[CMP_BASE]);
	put_percent(&text, (double)pair->busy[CMP_BASE], (double)pair->busy[CMP_NEW]);
	if (leaf) {
		np_buf_printf(&text, ", most of it in %s (", leaf->path);
		put_signed(&text,
			   llround(leaf->ranks[CMP_NEW][index] - leaf->ranks[CMP_BASE][index]));
		np_buf_add(&text, ")");
	}
	return add_cause(comparison, CMP_CAUSE_RANK, &what, &text, llround(excess), err);
}

/* Ranks whose own work changed unlike that of the others: everybody waits for them. */
static int find_ranks(struct comparison *comparison, struct np_err *err)
{
	size_t count = comparison->pairs.count;
	double step = (double)comparison->step.ns[CMP_BASE];
	double *changes = malloc((count + 1) * sizeof(*changes));
	double median;
	double deviation;
	int rc = NP_OK;

	if (!changes)
		return np_fail_nomem(err, "ranks");
	for (size_t i = 0; i < count; i++)
		changes[i] = busy_change(&comparison->pairs.item[i]);
	median = np_median(changes, count);
	deviation = np_deviation(changes, count, median);
	for (size_t i = 0; i < count && count >= 3 && rc == NP_OK; i++) {
		double excess = busy_change(&comparison->pairs.item[i]) - median;

		if (fabs(excess) < OUTLIER_SHARE * step ||
		    fabs(excess) < OUTLIER_DEVIATIONS * deviation)
			continue;
		comparison->pairs.item[i].outlier = true;
		rc = add_rank(comparison, i, excess, err);
	}
	free(changes);
	return rc;
}

/* --- links ----------------------------------------------------------------------------------- */

static bool same_link(const struct np_link_speed *a, const struct np_link_speed *b)
{
	return (a->src == b->src && a->dst == b->dst) || (a->src == b->dst && a->dst == b->src);
}

static bool is_slow_in(const struct np_links *links, const struct np_link_speed *link)
{
	for (size_t i = 0; i < links->list.count; i++) {
		if (links->list.item[i].verdict == NP_LINK_SLOW &&
		    same_link(&links->list.item[i], link))
			return true;
	}
	return false;
}

/*
 * What communication costs more or less: the transfers, and the waiting for slow
 * ones where that adds to it.
 */
static np_ns comm_delta(const struct comparison *comparison)
{
	np_ns transfer = 0;
	np_ns sum = 0;

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		enum cmp_leaf_kind kind = comparison->leaves.item[i].kind;

		if (kind == CMP_LEAF_WAIT || kind == CMP_LEAF_TRANSFER || kind == CMP_LEAF_COMM)
			sum += comparison->leaves.item[i].change.delta;
		if (kind == CMP_LEAF_TRANSFER)
			transfer += comparison->leaves.item[i].change.delta;
	}
	return llabs(transfer) > llabs(sum) ? transfer : sum;
}

/* The slow link of one side that lost the most and is not slow on the other. */
static int find_link(struct comparison *comparison, enum cmp_which which, struct np_err *err)
{
	const struct np_analysis *here = comparison->sides[which].analysis;
	const struct np_analysis *there = comparison->sides[!which].analysis;
	const struct np_link_speed *link = np_links_worst(&here->links);
	NP_CLEANUP(np_buf_release) struct np_buf what = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	np_ns delta = comm_delta(comparison);
	double speed;

	if (!link || is_slow_in(&there->links, link) ||
	    (which == CMP_NEW ? delta <= 0 : delta >= 0))
		return NP_OK;
	speed = np_link_gb_per_s(link);
	if (link->fault == NP_FAULT_SENDER || link->fault == NP_FAULT_RECEIVER)
		np_buf_printf(&what, "%s %" PRId64, np_link_fault_name(link->fault),
			      link->fault == NP_FAULT_SENDER ? link->src : link->dst);
	else if (link->dst == NP_UNKNOWN)
		np_buf_printf(&what, "link %" PRId64, link->src);
	else
		np_buf_printf(&what, "link %" PRId64 "-%" PRId64,
			      link->src < link->dst ? link->src : link->dst,
			      link->src < link->dst ? link->dst : link->src);
	np_buf_printf(&text, "%s is slow%s", what.text,
		      which == CMP_NEW ? " and was not" : "er in the base, and no longer");
	if (isfinite(speed) && isfinite(np_link_peers_gb_per_s(link)))
		np_buf_printf(&text, ": %.1f GB/s, comparable links %.1f GB/s", speed,
			      np_link_peers_gb_per_s(link));
	np_buf_add(&text, "; communication ");
	put_signed(&text, delta);
	return add_cause(comparison, CMP_CAUSE_LINK, &what, &text, delta, err);
}

/* --- what changed on all ranks --------------------------------------------------------------- */

/* The median of the ranks' changes of a leaf. */
static double common_change(const struct comparison *comparison, const struct cmp_leaf *leaf,
			    double *room)
{
	for (size_t i = 0; i < comparison->pairs.count; i++)
		room[i] = leaf->ranks[CMP_NEW][i] - leaf->ranks[CMP_BASE][i];
	return np_median(room, comparison->pairs.count);
}

struct effects {
	double count[CMP_SIDES];
	np_ns by_count;
	np_ns by_speed;
	np_ns by_mix;
	bool removed; /* kernels of some shape went away */
};

static struct effects sum_effects(const struct comparison *comparison, size_t leaf)
{
	struct effects sum = { 0 };

	for (size_t i = 0; i < comparison->kernels.count; i++) {
		const struct cmp_kernel *kernel = &comparison->kernels.item[i];

		if (kernel->leaf != leaf)
			continue;
		sum.count[CMP_BASE] += kernel->count[CMP_BASE];
		sum.count[CMP_NEW] += kernel->count[CMP_NEW];
		sum.by_count += kernel->count_effect;
		sum.by_speed += kernel->speed_effect;
		sum.by_mix += kernel->mix_effect;
		sum.removed =
			sum.removed || (kernel->count[CMP_BASE] > 0 && kernel->count[CMP_NEW] <= 0);
	}
	return sum;
}

static void tell_kernels(const struct comparison *comparison, size_t index, struct np_buf *text)
{
	const struct cmp_leaf *leaf = &comparison->leaves.item[index];
	const char *type = cmp_text(comparison, leaf->type);
	struct effects sum = sum_effects(comparison, index);
	np_ns count = sum.by_count < 0 ? -sum.by_count : sum.by_count;
	np_ns speed = sum.by_speed < 0 ? -sum.by_speed : sum.by_speed;
	np_ns shapes = sum.by_mix < 0 ? -sum.by_mix : sum.by_mix;

	np_buf_printf(text, "%s (%s) ", type ? type : "kernels", cmp_class_title(leaf->class));
	put_signed(text, leaf->change.delta);
	put_percent(text, (double)leaf->change.ns[CMP_BASE], (double)leaf->change.ns[CMP_NEW]);
	/* Shapes that only came are more kernels; the others stayed what they were. */
	if (shapes > 0 && !sum.removed && sum.count[CMP_NEW] > sum.count[CMP_BASE]) {
		count += shapes;
		shapes = 0;
	}
	if (count >= speed && count >= shapes && count > 0)
		np_buf_printf(text, ": %.4g instead of %.4g kernels per step", sum.count[CMP_NEW],
			      sum.count[CMP_BASE]);
	else if (shapes > speed)
		np_buf_add(text, ": its inputs have other shapes");
	else if (speed > 0)
		np_buf_printf(text, ": each kernel takes %s", sum.by_speed > 0 ? "longer" : "less");
}

static int add_leaf(struct comparison *comparison, size_t index, double common, struct np_err *err)
{
	const struct cmp_leaf *leaf = &comparison->leaves.item[index];
	const char *type = cmp_text(comparison, leaf->type);
	NP_CLEANUP(np_buf_release) struct np_buf what = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	enum cmp_cause_kind kind = cmp_is_between(leaf->path)       ? CMP_CAUSE_BETWEEN
				   : leaf->kind == CMP_LEAF_COMPUTE ? CMP_CAUSE_KERNELS
				   : leaf->kind == CMP_LEAF_HOST    ? CMP_CAUSE_HOST
				   : leaf->comm != SIZE_MAX         ? CMP_CAUSE_COMM
								    : CMP_CAUSE_OTHER;

	np_buf_add(&what, kind == CMP_CAUSE_KERNELS && type ? type : leaf->path);
	if (kind == CMP_CAUSE_KERNELS) {
		tell_kernels(comparison, index, &text);
	} else {
		np_buf_printf(&text, "%s ", leaf->path);
		put_signed(&text, leaf->change.delta);
		put_percent(&text, (double)leaf->change.ns[CMP_BASE],
			    (double)leaf->change.ns[CMP_NEW]);
	}
	if (kind == CMP_CAUSE_BETWEEN)
		np_buf_printf(&text, ": the devices idle %s between two steps",
			      leaf->change.delta > 0 ? "longer" : "less");
	return add_cause(comparison, kind, &what, &text, llround(common), err);
}

static bool has_link(const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->causes.count; i++) {
		if (comparison->causes.item[i].kind == CMP_CAUSE_LINK)
			return true;
	}
	return false;
}

/*
 * Waiting and the idle rest follow from something else, and so do transfers where
 * a link is to charges: they count only for what nothing else explains, a quarter of
 * what they are.
 */
static double worth(const struct comparison *comparison, const struct cmp_leaf *leaf)
{
	switch (leaf->kind) {
	case CMP_LEAF_WAIT:
	case CMP_LEAF_FREE:
		return 0.25;
	case CMP_LEAF_TRANSFER:
		return has_link(comparison) ? 0.25 : 1;
	case CMP_LEAF_COMPUTE:
	case CMP_LEAF_COMM:
	case CMP_LEAF_MEMCPY:
	case CMP_LEAF_HOST:
	case CMP_LEAF_BETWEEN:
	default:
		return 1;
	}
}

static int find_leaves(struct comparison *comparison, struct np_err *err)
{
	double *room = malloc((comparison->pairs.count + 1) * sizeof(*room));
	int rc = room ? NP_OK : np_fail_nomem(err, "causes");

	for (size_t i = 0; i < comparison->leaves.count && rc == NP_OK; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];
		double common = common_change(comparison, leaf, room) * worth(comparison, leaf);

		if (llround(common) != 0 && leaf->change.verdict != CMP_NOISE)
			rc = add_leaf(comparison, i, common, err);
	}
	free(room);
	return rc;
}

/*
 * The step has changed for certain and none of its parts has by itself: the one that
 * changed most the same way is where to look.
 */
static int find_most_likely(struct comparison *comparison, struct np_err *err)
{
	const struct cmp_change *step = &comparison->step;
	size_t likely = SIZE_MAX;
	double most = 0;

	if (comparison->causes.count > 0 ||
	    (step->verdict != CMP_REGRESSION && step->verdict != CMP_IMPROVEMENT))
		return NP_OK;
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];
		double change = (double)leaf->change.delta * (step->delta > 0 ? 1 : -1) *
				worth(comparison, leaf);

		if (change > most) {
			most = change;
			likely = i;
		}
	}
	return likely == SIZE_MAX
		       ? NP_OK
		       : add_leaf(comparison, likely, step->delta > 0 ? most : -most, err);
}

/* --- everything ------------------------------------------------------------------------------ */

static int by_size(const void *left, const void *right)
{
	const struct cmp_cause *a = left;
	const struct cmp_cause *b = right;
	np_ns x = a->ns < 0 ? -a->ns : a->ns;
	np_ns y = b->ns < 0 ? -b->ns : b->ns;
	int order = a->against != b->against ? (int)a->against - (int)b->against : np_order(y, x);

	return order ? order : strcmp(a->what, b->what);
}

int cmp_find_causes(struct comparison *comparison, struct np_err *err)
{
	int rc = find_ranks(comparison, err);

	if (rc == NP_OK)
		rc = find_link(comparison, CMP_NEW, err);
	if (rc == NP_OK)
		rc = find_link(comparison, CMP_BASE, err);
	if (rc == NP_OK)
		rc = find_leaves(comparison, err);
	if (rc == NP_OK)
		rc = find_most_likely(comparison, err);
	if (comparison->causes.count)
		qsort(comparison->causes.item, comparison->causes.count, sizeof(struct cmp_cause),
		      by_size);
	return rc;
}
