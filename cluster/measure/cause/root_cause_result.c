/* SPDX-License-Identifier: Apache-2.0 */
/* What the root causes say: who stands out, why, and through whom it reached others. */
#include "npuprof/root_cause.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/elementary.h"
#include "npuprof/idmap.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"

#include <math.h>

const char *np_cause_name(enum np_cause cause)
{
	static const char *const names[] = {
		[NP_CAUSE_COMPUTE] = "compute",
		[NP_CAUSE_HOST] = "host",
		[NP_CAUSE_COMMUNICATION] = "communication",
		[NP_CAUSE_UNKNOWN] = "unknown",
	};

	return names[cause];
}

void np_root_cause_release(struct np_root_causes *causes)
{
	free(causes->ranks);
	free(causes->rows);
	np_vec_release(&causes->edges);
	causes->ranks = NULL;
	causes->rows = NULL;
}

enum np_cause np_root_cause_main(const struct np_root_causes *causes, uint32_t rank)
{
	const np_ns *by_cause = causes->ranks[rank].by_cause;
	enum np_cause most = NP_CAUSE_UNKNOWN;

	for (int i = 0; i < NP_CAUSES; i++) {
		if (by_cause[i] > by_cause[most])
			most = (enum np_cause)i;
	}
	return most;
}

/* --- chance ----------------------------------------------------------------------------------- */

static double log_factorial(double n)
{
	return np_log_gamma(n + 1);
}

/* The chance of `least` or more hits in `tries` of probability `p`. */
static double binomial_tail(size_t tries, size_t least, double p)
{
	double all = (double)tries;
	double tail = 0;

	for (size_t i = least; i <= tries; i++) {
		double hits = (double)i;

		tail += np_exp(log_factorial(all) - log_factorial(hits) -
			       log_factorial(all - hits) + hits * np_log(p) +
			       (all - hits) * np_log1p(-p));
	}
	return tail;
}

/*
 * Does a rank cost others much in more steps than chance brings to any of so many
 * ranks? Operators of one step are late together, so steps are what is counted;
 * how often the other ranks do is what chance does. Those that do in every step,
 * such as the rest of a slow stage, say nothing about chance.
 */
static bool heavy_beyond_chance(const struct np_root_causes *causes, uint32_t rank)
{
	double seen = (double)causes->ranks_seen;
	double ranks = seen - 1;
	double hits = 0;
	double p;

	for (size_t i = 0; i < causes->rank_count; i++) {
		if (i == rank)
			continue;
		if (causes->ranks[i].steps_heavy < causes->steps)
			hits += causes->ranks[i].steps_heavy;
		else
			ranks--;
	}
	/* One more than was seen: nothing has no chance at all. */
	p = (hits + 1) / (ranks * (double)causes->steps + 2);
	return p < 1 &&
	       seen * binomial_tail(causes->steps, causes->ranks[rank].steps_heavy, p) < 0.05;
}

const char *np_root_cause_kind(const struct np_root_causes *causes, uint32_t rank)
{
	if (causes->steps < 2)
		return NULL;
	return (size_t)causes->ranks[rank].steps_heavy * 2 > causes->steps &&
			       heavy_beyond_chance(causes, rank)
		       ? "chronic"
		       : "one-off";
}

/* --- which ranks ------------------------------------------------------------------------------ */

bool np_root_cause_stands_out(const struct np_root_causes *causes, uint32_t rank, np_ns available)
{
	const char *kind = np_root_cause_kind(causes, rank);
	double charge = (double)causes->ranks[rank].charge;
	double total = 0;

	for (size_t i = 0; i < causes->rank_count; i++)
		total += (double)causes->ranks[i].charge;
	return (!kind || strcmp(kind, "chronic") == 0) &&
	       charge * (double)causes->ranks_seen >= 2 * total && available > 0 &&
	       charge >= 0.005 * (double)available;
}

/* The rank's largest debtor: who passed most on to it; NULL for none. */
static const struct np_root_cause_edge *edge_to(const struct np_root_causes *causes, uint32_t rank)
{
	const struct np_root_cause_edge *most = NULL;

	for (size_t i = 0; i < causes->edges.count; i++) {
		const struct np_root_cause_edge *edge = &causes->edges.item[i];

		if (edge->rank == rank && (!most || edge->charge > most->charge))
			most = edge;
	}
	return most;
}

static int by_charge(const void *left, const void *right, void *context)
{
	const struct np_root_causes *causes = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (causes->ranks[a].charge != causes->ranks[b].charge)
		return causes->ranks[a].charge > causes->ranks[b].charge ? -1 : 1;
	return (a > b) - (a < b);
}

int np_root_cause_sort(const struct np_root_causes *causes, struct np_charge_order *ret,
		       struct np_err *err)
{
	uint32_t *ranks = malloc((causes->rank_count + 1) * sizeof(*ranks));
	size_t count = 0;

	if (!ranks)
		return np_fail_nomem(err, "origins of waiting");
	for (uint32_t i = 0; i < causes->rank_count; i++) {
		if (causes->ranks[i].charge > 0)
			ranks[count++] = i;
	}
	qsort_r(ranks, count, sizeof(ranks[0]), by_charge, (void *)(uintptr_t)causes);
	*ret = (struct np_charge_order){ ranks, count };
	return NP_OK;
}

/* --- the chain ---------------------------------------------------------------------------------
 */

/* The communicator in which a rank is charged most; UINT32_MAX for none. Rows are by communicator.
 */
static uint32_t worst_communicator(const struct np_charges *charges, uint32_t rank)
{
	uint32_t worst = UINT32_MAX;
	np_ns most = 0;
	np_ns charge = 0;

	for (size_t i = 0; i < charges->rows.count; i++) {
		const struct np_charge_row *row = &charges->rows.item[i];

		if (i > 0 && row->communicator != row[-1].communicator)
			charge = 0;
		if (row->rank == rank)
			charge += row->charge;
		if (charge > most) {
			most = charge;
			worst = row->communicator;
		}
	}
	return worst;
}

static bool is_in(const struct np_root_cause_link *chain, size_t count, uint32_t rank)
{
	for (size_t i = 0; i < count; i++) {
		if (chain[i].rank == rank)
			return true;
	}
	return false;
}

size_t np_root_cause_chain(const struct np_root_causes *causes, const struct np_charges *charges,
			   uint32_t rank, struct np_root_cause_link ret[NP_ROOT_CAUSE_CHAIN])
{
	size_t count = 1;

	ret[0] = (struct np_root_cause_link){ .rank = rank,
					      .cause = np_root_cause_main(causes, rank),
					      .waited_for = UINT32_MAX,
					      .via = UINT32_MAX,
					      .communicator = worst_communicator(charges, rank),
					      .charge = causes->ranks[rank].charge };
	while (count < NP_ROOT_CAUSE_CHAIN) {
		const struct np_root_cause_edge *edge = edge_to(causes, ret[count - 1].rank);

		if (!edge || edge->charge * 10 < ret[0].charge || is_in(ret, count, edge->victim))
			break;
		ret[count] = (struct np_root_cause_link){
			.rank = edge->victim,
			.cause = NP_CAUSE_COMMUNICATION,
			.waited_for = edge->rank,
			.via = edge->communicator,
			.communicator = worst_communicator(charges, edge->victim),
			.charge = edge->charge,
		};
		count++;
	}
	return count;
}

/* --- operator types ----------------------------------------------------------------------------
 */

/* Time per step that a rank spends on each type. */
struct type_times {
	struct np_idmap *index; /* type → index */
	NP_VEC(np_str) type;
	NP_VEC(np_ns) time; /* by type, then rank: `width` of them */
	size_t width;
};

static int add_time(struct type_times *times, size_t column, np_str type, np_ns time,
		    struct np_err *err)
{
	uint32_t index = np_idmap_get(times->index, (int64_t)type);

	if (index == NP_IDMAP_NONE) {
		np_str *added = np_vec_add(&times->type, err);
		int rc;

		if (!added)
			return NP_E_NOMEM;
		*added = type;
		index = (uint32_t)times->type.count - 1;
		rc = np_idmap_set(times->index, (int64_t)type, index, err);
		if (rc < 0)
			return rc;
		for (size_t i = 0; i < times->width; i++) {
			if (!np_vec_add(&times->time, err))
				return NP_E_NOMEM;
		}
	}
	times->time.item[index * times->width + column] += time;
	return NP_OK;
}

static int add_rank(struct type_times *times, size_t column, const struct np_rank *rank,
		    struct np_err *err)
{
	const struct np_activity *activity = &rank->activity;
	size_t steps = activity->cells.count;
	int rc = NP_OK;

	for (size_t i = 0; i < activity->shares.count && rc == NP_OK; i++) {
		const struct np_share *share = &activity->shares.item[i];

		if (np_leaf_kind(share->leaf) == NP_LEAF_COMPUTE)
			rc = add_time(times, column, np_leaf_of(share->leaf), share->ns, err);
	}
	for (size_t i = 0; i < times->type.count && steps > 0 && rc == NP_OK; i++)
		times->time.item[i * times->width + column] /= (np_ns)steps;
	return rc;
}

/* Ranks of another stage than that of the rank do other work. */
static bool is_peer(const struct np_cluster *cluster, uint32_t rank, int32_t stage, uint32_t other)
{
	const struct np_rank *each = cluster->run->ranks[other];

	if (!each || rank == other || each->activity.shares.count == 0)
		return false;
	return stage < 0 || stage == np_cluster_stage(cluster, each->id);
}

static int largest_first(const void *left, const void *right)
{
	const struct np_root_cause_type *a = left;
	const struct np_root_cause_type *b = right;

	return np_order(b->excess, a->excess);
}

/* The rank is in column 0, its peers follow. */
static size_t find_excess(struct type_times *times, struct np_root_cause_type *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < times->type.count; i++) {
		np_ns *row = &times->time.item[i * times->width];
		np_ns median;

		qsort(row + 1, times->width - 1, sizeof(*row), np_by_int64);
		median = row[1 + (times->width - 2) / 2];
		if (row[0] > median)
			ret[count++] = (struct np_root_cause_type){
				times->type.item[i], row[0] - median,
				median > 0 ? (double)row[0] / (double)median : (double)INFINITY
			};
	}
	qsort(ret, count, sizeof(*ret), largest_first);
	return count;
}

static int gather(const struct np_cluster *cluster, uint32_t rank, struct type_times *times,
		  struct np_err *err)
{
	const struct np_run *run = cluster->run;
	int32_t stage = np_cluster_stage(cluster, run->ranks[rank]->id);
	size_t column = 1;
	int rc;

	times->width = 1;
	for (uint32_t i = 0; i < run->sources.count; i++)
		times->width += is_peer(cluster, rank, stage, i);
	if (times->width < 2)
		return NP_OK;
	rc = add_rank(times, 0, run->ranks[rank], err);
	for (uint32_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (is_peer(cluster, rank, stage, i))
			rc = add_rank(times, column++, run->ranks[i], err);
	}
	return rc;
}

int np_root_cause_types(const struct np_cluster *cluster, uint32_t rank,
			struct np_root_cause_type *ret, size_t most, size_t *ret_count,
			struct np_err *err)
{
	struct type_times times = { .index = np_idmap_new() };
	struct np_root_cause_type *found = NULL;
	size_t count = 0;
	int rc = times.index ? gather(cluster, rank, &times, err) : np_fail_nomem(err, "types");

	if (rc == NP_OK) {
		found = malloc((times.type.count + 1) * sizeof(*found));
		rc = found ? NP_OK : np_fail_nomem(err, "types");
	}
	if (rc == NP_OK && times.type.count > 0)
		count = find_excess(&times, found);
	for (size_t i = 0; i < count && i < most; i++)
		ret[i] = found[i];
	if (rc == NP_OK)
		*ret_count = count < most ? count : most;
	free(found);
	np_vec_release(&times.type);
	np_vec_release(&times.time);
	np_idmap_free(times.index);
	return rc;
}

/* --- waiters -----------------------------------------------------------------------------------
 */

/* How long each member had waited when `late` came. */
static void add_waiters(const struct np_align *align, const struct np_waits *waits,
			const struct np_instance *instance, uint32_t late, np_ns floor,
			np_ns *by_rank)
{
	np_ns own = waits->wait[instance->first + late];

	if (own == NP_UNKNOWN)
		return;
	own = own < floor ? 0 : own;
	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns wait = waits->wait[instance->first + i];

		if (wait != NP_UNKNOWN && wait >= floor && wait > own)
			by_rank[align->members[instance->first + i].rank] += wait - own;
	}
}

static uint32_t member_index(const struct np_align *align, const struct np_instance *instance,
			     uint32_t rank)
{
	for (uint32_t i = 0; i < instance->count; i++) {
		if (align->members[instance->first + i].rank == rank)
			return i;
	}
	return UINT32_MAX;
}

int np_root_cause_waiters(const struct np_align *align, const struct np_clock *clock,
			  const struct np_waits *waits, uint32_t rank, uint32_t communicator,
			  struct np_root_cause_waiters *ret, struct np_err *err)
{
	const struct np_align_communicator *each = &align->communicators.item[communicator];
	size_t count = align->run->sources.count;
	np_ns *by_rank = calloc(count + 1, sizeof(*by_rank));
	int rc = by_rank ? NP_OK : np_fail_nomem(err, "waiters");

	for (uint32_t i = 0; by_rank && i < each->count; i++) {
		const struct np_instance *instance = &align->instances.item[each->first + i];
		uint32_t late = member_index(align, instance, rank);

		if (late != UINT32_MAX)
			add_waiters(align, waits, instance, late,
				    np_charge_floor(clock, waits, instance), by_rank);
	}
	for (uint32_t i = 0; i < count && rc == NP_OK; i++) {
		struct np_root_cause_waiter *waiter;

		if (by_rank[i] == 0)
			continue;
		waiter = np_vec_add(&ret->list, err);
		if (!waiter)
			rc = NP_E_NOMEM;
		else
			*waiter = (struct np_root_cause_waiter){ i, by_rank[i] };
	}
	free(by_rank);
	return rc;
}

/* --- all of it ---------------------------------------------------------------------------------
 */

int np_explanation_measure(const struct np_cluster *cluster, const struct np_root_causes *causes,
			   const struct np_charges *charges, uint32_t rank,
			   struct np_explanation *ret, struct np_err *err)
{
	struct np_explanation explanation = { .rank = rank };
	int rc = NP_OK;

	explanation.count = np_root_cause_chain(causes, charges, rank, explanation.chain);
	if (explanation.chain[0].cause == NP_CAUSE_COMPUTE)
		rc = np_root_cause_types(cluster, rank, explanation.types, NP_ROOT_CAUSE_TYPES,
					 &explanation.type_count, err);
	if (rc == NP_OK)
		*ret = explanation;
	return rc;
}

int np_explanation_add_waiters(const struct np_align *align, const struct np_clock *clock,
			       const struct np_waits *waits, struct np_explanation *explanation,
			       struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < explanation->count && rc == NP_OK; i++) {
		const struct np_root_cause_link *link = &explanation->chain[i];

		if (link->communicator != UINT32_MAX)
			rc = np_root_cause_waiters(align, clock, waits, link->rank,
						   link->communicator, &explanation->waiters[i],
						   err);
	}
	return rc;
}

void np_explanation_release(struct np_explanation *explanation)
{
	for (size_t i = 0; i < NP_ROOT_CAUSE_CHAIN; i++)
		np_vec_release(&explanation->waiters[i].list);
}
