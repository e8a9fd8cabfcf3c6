/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/blame.h"

#include "npuprof/idmap.h"

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
	struct arrival *arrivals = malloc((count + 1) * sizeof(*arrivals));
	np_ns alike;

	if (!arrivals) {
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
	free(arrivals);
	return alike;
}

/* --- one run --------------------------------------------------------------------------------- */

struct work {
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_waits *waits;
	struct np_blame *blame;
	struct np_err *err;
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
		if (work->wait.item[i] < work->wait.item[last])
			last = i;
	}
	work->blame->ranks[work->align->members[instance->first + last].rank].last_arrivals++;
}

/* Members that were not profiled may be what the profiled ones waited for alike. */
static void charge_the_rest(struct work *work, const struct np_instance *instance, np_ns alike)
{
	if (instance->count < instance->expected || (instance->flags & NP_INSTANCE_OPEN))
		work->blame->unprofiled += alike;
	else
		work->blame->unattributed += alike;
}

static np_ns floor_of(const struct work *work, const struct np_instance *instance)
{
	if (work->waits->estimator[instance->first] != NP_WAIT_ALIGNED ||
	    work->clock->residual_p90 == NP_UNKNOWN)
		return 0;
	return work->clock->residual_p90;
}

static int charge_instance(struct work *work, const struct np_instance *instance)
{
	np_ns below = 0;
	bool known;
	np_ns alike;
	int rc = collect(work, instance, &known);

	if (rc < 0 || !known)
		return rc;
	alike = np_blame_charge(work->wait.item, instance->count, floor_of(work, instance),
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

/* In which steps each rank was charged most: once is an accident, always is a fault. */
static int count_worst(struct np_blame *blame, struct np_err *err)
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
		np_ns most = 0;
		uint32_t worst = rows[from].rank;

		while (to < count && rows[to].step == rows[from].step) {
			uint32_t rank = rows[to].rank;
			np_ns cost = 0;

			for (; to < count && rows[to].step == rows[from].step &&
			       rows[to].rank == rank;
			     to++)
				cost += rows[to].cost;
			if (cost > most) {
				most = cost;
				worst = rank;
			}
		}
		blame->ranks[worst].steps_worst++;
		blame->steps++;
	}
	free(rows);
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
			     .err = err ? err : &own };
	int rc;

	blame.ranks = calloc(blame.rank_count + 1, sizeof(*blame.ranks));
	work.row_index = np_idmap_new();
	if (blame.ranks && work.row_index)
		rc = charge_all(&work);
	else
		rc = np_fail_nomem(err, "charges");
	if (rc == NP_OK)
		rc = count_worst(&blame, work.err);
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

const char *np_blame_kind(const struct np_blame *blame, uint32_t rank)
{
	if (blame->steps < 2)
		return NULL;
	return (size_t)blame->ranks[rank].steps_worst * 2 > blame->steps ? "chronic" : "one-off";
}
