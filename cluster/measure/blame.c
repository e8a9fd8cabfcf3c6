/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/blame.h"

#include "npuprof/idmap.h"

#include <math.h>

/* A member of an instance, sorted by arrival: who waited longest came first. */
struct arrival {
	np_ns wait;
	uint32_t member;
};

static int by_arrival(const void *left, const void *right)
{
	const struct arrival *a = left;
	const struct arrival *b = right;

	if (a->wait != b->wait)
		return a->wait > b->wait ? -1 : 1;
	return (a->member > b->member) - (a->member < b->member);
}

/* Owe `cost` in equal parts; what does not divide goes to the first ones, a nanosecond each. */
static void share(const struct arrival *late, size_t count, np_ns cost, np_ns *charge)
{
	np_ns part = cost / (np_ns)count;
	np_ns rest = cost % (np_ns)count;

	for (size_t i = 0; i < count; i++)
		charge[late[i].member] += part + ((np_ns)i < rest);
}

np_ns np_blame_charge(const np_ns *wait, size_t count, np_ns floor, np_ns *charge, np_ns *ret_below,
		      struct np_err *err)
{
	struct arrival few[64];
	struct arrival *many = count > NP_COUNT(few) ? malloc(count * sizeof(*many)) : NULL;
	struct arrival *arrivals = many ? many : few;
	np_ns alike;

	if (count > NP_COUNT(few) && !many) {
		(void)np_fail_nomem(err, "charges");
		return NP_UNKNOWN;
	}
	for (size_t i = 0; i < count; i++) {
		np_ns counted = wait[i] < floor ? 0 : wait[i];

		arrivals[i] = (struct arrival){ counted, (uint32_t)i };
		*ret_below += wait[i] - counted;
		charge[i] = 0;
	}
	qsort(arrivals, count, sizeof(arrivals[0]), by_arrival);
	/* While the first m are there and the next is not, m of them wait. */
	for (size_t m = 1; m < count; m++) {
		np_ns gap = arrivals[m - 1].wait - arrivals[m].wait;

		if (gap > 0)
			share(&arrivals[m], count - m, (np_ns)m * gap, charge);
	}
	alike = count ? arrivals[count - 1].wait * (np_ns)count : 0;
	free(many);
	return alike;
}

/* --- one run --------------------------------------------------------------------------------- */

struct work {
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_waits *waits;
	struct np_blame *blame;
	struct np_err *err;
	bool missing; /* the job had more ranks than were profiled */
	NP_VEC(np_ns) wait;
	NP_VEC(np_ns) charge;
	struct np_idmap *row_index; /* of the communicator being measured: step and rank → row */
};

static int add_row(struct work *work, uint32_t communicator, np_str step, uint32_t rank, np_ns cost)
{
	struct np_blame *blame = work->blame;
	int64_t key = (int64_t)((uint64_t)step << 32 | rank);
	uint32_t known = np_idmap_get(work->row_index, key);
	struct np_blame_row *row;

	if (known != NP_IDMAP_NONE) {
		blame->rows.item[known].cost += cost;
		return NP_OK;
	}
	row = np_vec_add(&blame->rows, work->err);
	if (!row)
		return NP_E_NOMEM;
	*row = (struct np_blame_row){
		.communicator = communicator, .rank = rank, .step = step, .cost = cost
	};
	return np_idmap_set(work->row_index, key, (uint32_t)(blame->rows.count - 1), work->err);
}

/* The waits of an instance. Where one is not known, nobody can be charged for the others. */
static int collect(struct work *work, const struct np_instance *instance, bool *ret_known)
{
	np_ns sum = 0;

	work->wait.count = 0;
	work->charge.count = 0;
	*ret_known = true;
	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns *wait = np_vec_add(&work->wait, work->err);

		if (!wait || !np_vec_add(&work->charge, work->err))
			return NP_E_NOMEM;
		*wait = work->waits->wait[instance->first + i];
		if (*wait == NP_UNKNOWN)
			*ret_known = false;
		else
			sum += *wait;
	}
	work->blame->total += sum;
	if (!*ret_known)
		work->blame->unattributed += sum;
	return NP_OK;
}

/* The first member that did not wait was the last to come. */
static void count_arrivals(struct work *work, const struct np_instance *instance)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t rank = work->align->members[instance->first + i].rank;

		work->blame->ranks[rank].instances++;
		work->blame->ranks[rank].expected_last += 1.0 / instance->count;
		if (work->wait.item[i] < work->wait.item[last])
			last = i;
	}
	work->blame->ranks[work->align->members[instance->first + last].rank].last_arrivals++;
}

/* Did the job have ranks that were not profiled, as far as anything tells? */
static bool ranks_are_missing(const struct np_run *run)
{
	size_t used = 0;
	int32_t world = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (run->sources.item[i].rank >= world)
			world = run->sources.item[i].rank + 1;
		if (rank && rank->parallel.world > world)
			world = rank->parallel.world;
		used += rank != NULL;
	}
	return (size_t)world > used;
}

/* Members that were not profiled may be what the profiled ones waited for alike. */
static void charge_the_rest(struct work *work, const struct np_instance *instance, np_ns alike)
{
	bool open = (instance->flags & NP_INSTANCE_OPEN) != 0;

	if (open ? work->missing : instance->count < instance->expected)
		work->blame->unprofiled += alike;
	else
		work->blame->unattributed += alike;
}

np_ns np_blame_floor(const struct np_clock *clock, const struct np_waits *waits,
		     const struct np_instance *instance)
{
	if (waits->estimator[instance->first] != NP_WAIT_ALIGNED ||
	    clock->residual_p90 == NP_UNKNOWN)
		return 0;
	return clock->residual_p90;
}

static int charge_instance(struct work *work, const struct np_instance *instance)
{
	np_ns below = 0;
	bool known;
	np_ns alike;
	int rc = collect(work, instance, &known);

	if (rc < 0 || !known)
		return rc;
	alike = np_blame_charge(work->wait.item, instance->count,
				np_blame_floor(work->clock, work->waits, instance),
				work->charge.item, &below, work->err);
	if (alike == NP_UNKNOWN)
		return NP_E_NOMEM;
	work->blame->unattributed += below;
	charge_the_rest(work, instance, alike);
	if (instance->count > 1)
		count_arrivals(work, instance);
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t rank = work->align->members[instance->first + i].rank;

		if (work->charge.item[i] == 0)
			continue;
		work->blame->ranks[rank].cost += work->charge.item[i];
		rc = add_row(work, instance->communicator, instance->step, rank,
			     work->charge.item[i]);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static int charge_all(struct work *work)
{
	const struct np_align *align = work->align;
	int rc = NP_OK;

	for (size_t i = 0; i < align->communicators.count; i++) {
		const struct np_align_communicator *each = &align->communicators.item[i];

		np_idmap_clear(work->row_index);
		for (uint32_t j = 0; j < each->count && rc == NP_OK; j++)
			rc = charge_instance(work, &align->instances.item[each->first + j]);
	}
	return rc;
}

/* --- steps ----------------------------------------------------------------------------------- */

static int by_step_and_rank(const void *left, const void *right)
{
	const struct np_blame_row *a = left;
	const struct np_blame_row *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Charges of one step, by rank: `rows` are of one step and sorted by rank. */
static void count_heavy_step(struct np_blame *blame, const struct np_blame_row *rows, size_t count)
{
	size_t used = 0;
	np_ns total = 0;

	for (size_t i = 0; i < blame->rank_count; i++)
		used += blame->ranks[i].instances > 0;
	for (size_t i = 0; i < count; i++)
		total += rows[i].cost;
	for (size_t from = 0, to = 0; from < count; from = to) {
		np_ns cost = 0;

		for (; to < count && rows[to].rank == rows[from].rank; to++)
			cost += rows[to].cost;
		/* Of two ranks one is always charged; of one of them twice the mean is everything.
		 */
		if ((double)cost * (double)used > 2 * (double)total || used == 2)
			blame->ranks[rows[from].rank].steps_heavy++;
	}
	blame->steps++;
}

/* In which steps each rank was charged much: once is an accident, always is a fault. */
static int count_heavy(struct np_blame *blame, struct np_err *err)
{
	size_t count = blame->rows.count;
	struct np_blame_row *rows = malloc((count + 1) * sizeof(*rows));

	if (!rows)
		return np_fail_nomem(err, "charges");
	if (count) {
		memcpy(rows, blame->rows.item, count * sizeof(*rows));
		qsort(rows, count, sizeof(rows[0]), by_step_and_rank);
	}
	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && rows[to].step == rows[from].step)
			to++;
		count_heavy_step(blame, &rows[from], to - from);
	}
	free(rows);
	return NP_OK;
}

/* --- chance ---------------------------------------------------------------------------------- */

/* Share of false alarms among the ranks that are called often last. */
#define FALSE_ALARMS 0.01

/* The chance of so many or more last arrivals, by a normal curve with half a count of slack. */
static double chance_of(const struct np_blame_rank *rank)
{
	double expected = rank->expected_last;
	double variance = expected * (1 - expected / rank->instances);

	if (rank->instances == 0 || variance <= 0)
		return 1;
	return 0.5 * erfc((rank->last_arrivals - 0.5 - expected) / sqrt(2 * variance));
}

struct chance {
	double chance;
	uint32_t rank;
};

static int by_chance(const void *left, const void *right)
{
	const struct chance *a = left;
	const struct chance *b = right;

	return (a->chance > b->chance) - (a->chance < b->chance);
}

/* Benjamini and Hochberg: of many ranks one is often last by chance alone. */
static int find_often_last(struct np_blame *blame, struct np_err *err)
{
	struct chance *chances = malloc((blame->rank_count + 1) * sizeof(*chances));
	size_t count = 0;
	size_t often = 0;

	if (!chances)
		return np_fail_nomem(err, "charges");
	for (uint32_t i = 0; i < blame->rank_count; i++) {
		if (blame->ranks[i].instances > 0)
			chances[count++] = (struct chance){ chance_of(&blame->ranks[i]), i };
	}
	qsort(chances, count, sizeof(chances[0]), by_chance);
	for (size_t i = 0; i < count; i++) {
		if (chances[i].chance <= FALSE_ALARMS * (double)(i + 1) / (double)count)
			often = i + 1;
	}
	for (size_t i = 0; i < often; i++)
		blame->ranks[chances[i].rank].often_last = true;
	free(chances);
	return NP_OK;
}

int np_blame_measure(const struct np_align *align, const struct np_clock *clock,
		     const struct np_waits *waits, struct np_blame *ret, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct np_blame blame = { .rank_count = align->run->sources.count };
	struct work work = { .align = align,
			     .clock = clock,
			     .waits = waits,
			     .blame = &blame,
			     .missing = ranks_are_missing(align->run),
			     .err = err ? err : &own };
	int rc;

	blame.ranks = calloc(blame.rank_count + 1, sizeof(*blame.ranks));
	work.row_index = np_idmap_new();
	if (blame.ranks && work.row_index)
		rc = charge_all(&work);
	else
		rc = np_fail_nomem(err, "charges");
	if (rc == NP_OK)
		rc = count_heavy(&blame, work.err);
	if (rc == NP_OK)
		rc = find_often_last(&blame, work.err);
	np_vec_release(&work.wait);
	np_vec_release(&work.charge);
	np_idmap_free(work.row_index);
	if (rc < 0) {
		np_blame_release(&blame);
		return rc;
	}
	*ret = blame;
	return NP_OK;
}

void np_blame_release(struct np_blame *blame)
{
	free(blame->ranks);
	blame->ranks = NULL;
	np_vec_release(&blame->rows);
}

/* --- order ----------------------------------------------------------------------------------- */

static int by_cost(const void *left, const void *right, void *context)
{
	const struct np_blame *blame = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (blame->ranks[a].cost != blame->ranks[b].cost)
		return blame->ranks[a].cost > blame->ranks[b].cost ? -1 : 1;
	return (a > b) - (a < b);
}

int np_blame_sort(const struct np_blame *blame, struct np_blame_order *ret, struct np_err *err)
{
	uint32_t *ranks = malloc((blame->rank_count + 1) * sizeof(*ranks));
	size_t count = 0;

	if (!ranks)
		return np_fail_nomem(err, "charges");
	for (uint32_t i = 0; i < blame->rank_count; i++) {
		if (blame->ranks[i].cost > 0)
			ranks[count++] = i;
	}
	qsort_r(ranks, count, sizeof(ranks[0]), by_cost, (void *)(uintptr_t)blame);
	*ret = (struct np_blame_order){ ranks, count };
	return NP_OK;
}

void np_blame_order_release(struct np_blame_order *order)
{
	free(order->ranks);
	order->ranks = NULL;
}

/* The chance of `least` or more hits in `tries` of probability `p`. */
static double binomial_tail(uint32_t tries, uint32_t least, double p)
{
	double tail = 0;

	for (uint32_t i = least; i <= tries; i++)
		tail += exp(lgamma(tries + 1.0) - lgamma(i + 1.0) - lgamma(tries - i + 1.0) +
			    i * log(p) + (tries - i) * log1p(-p));
	return tail;
}

/*
 * Is a rank charged heavily in more steps than chance brings to any of so many
 * ranks? Operators of one step are late together, so steps are what is counted;
 * how often the other ranks are charged heavily tells what chance does.
 */
static bool heavy_beyond_chance(const struct np_blame *blame, uint32_t rank)
{
	uint32_t own = blame->ranks[rank].steps_heavy;
	double others = 0;
	double used = 0;
	double p;

	for (size_t i = 0; i < blame->rank_count; i++) {
		used += blame->ranks[i].instances > 0;
		others += blame->ranks[i].steps_heavy;
	}
	/* One more than was seen: nothing has no chance at all. */
	p = (others - own + 1) / ((used - 1) * (double)blame->steps + 2);
	return p < 1 && used * binomial_tail((uint32_t)blame->steps, own, p) < 0.05;
}

const char *np_blame_kind(const struct np_blame *blame, uint32_t rank)
{
	const struct np_blame_rank *charged = &blame->ranks[rank];

	if (blame->steps < 2)
		return NULL;
	return charged->often_last && (size_t)charged->steps_heavy * 2 > blame->steps &&
			       heavy_beyond_chance(blame, rank)
		       ? "chronic"
		       : "one-off";
}
