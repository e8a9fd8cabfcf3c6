/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of experts, found from the sizes and the times of the exchanges alone. */
#include "experts_work.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/text.h"

#include <math.h>
#include <strings.h>

/*
 * Experts without kernels that report their tokens
 * ----------------------------------------------
 *
 * Tokens go to the experts in one alltoallv and come back in the next. The size of
 * an alltoallv is what a rank sends: on the way there what it has itself, as much
 * as everybody, and on the way back what its experts computed. So of every other
 * exchange of a step the uneven ones are those back, and what ranks did between
 * the two is the work of the experts.
 */

/* Exchanges of less than this part of the largest only report how many tokens will come. */
#define SUB_TASK_SHARE 0.01

/* Sizes that differ by less are the same. */
#define EVEN_SPREAD 0.01

struct token_exchange {
	uint32_t instance;
	uint32_t place; /* in its step */
	double total;   /* bytes of all members */
	double spread;  /* the largest less the smallest, by the mean */
};

struct exchanges {
	const struct np_align *align;
	NP_VEC(struct token_exchange) list; /* of one communicator, in the order of time */
	int64_t width;                      /* bytes that divide every size: those of a token */
};

/* A work, and its place in the step. */
struct placed_exchange {
	struct expert_work work;
	uint32_t place;
};

struct placed_works {
	NP_VEC(struct placed_exchange) list;
};

static const struct np_instance *instance_of(const struct exchanges *exchanges, size_t index)
{
	return &exchanges->align->instances.item[exchanges->list.item[index].instance];
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* --- exchanges of a communicator ------------------------------------------------------------- */

static bool is_exchange(const struct np_align *align, const struct np_instance *instance)
{
	const char *type = np_strtab_text(align->run->strings, instance->type);

	if (instance->count < 2 || instance->step == NP_STR_NONE || !strcasestr(type, "alltoallv"))
		return false;
	for (uint32_t i = 0; i < instance->count; i++) {
		if (np_align_op(align, instance->first + i)->bytes < 0)
			return false;
	}
	return true;
}

static int add_exchange(struct exchanges *exchanges, uint32_t index, struct np_err *err)
{
	const struct np_instance *instance = &exchanges->align->instances.item[index];
	struct token_exchange *exchange = np_vec_add(&exchanges->list, err);
	double least = HUGE_VAL;
	double most = 0;

	if (!exchange)
		return NP_E_NOMEM;
	exchange->instance = index;
	for (uint32_t i = 0; i < instance->count; i++) {
		double bytes = (double)np_align_op(exchanges->align, instance->first + i)->bytes;

		exchange->total += bytes;
		least = fmin(least, bytes);
		most = fmax(most, bytes);
	}
	if (exchange->total > 0)
		exchange->spread = (most - least) * instance->count / exchange->total;
	return NP_OK;
}

static void drop_sub_task(struct exchanges *exchanges)
{
	double most = 0;
	size_t kept = 0;

	for (size_t i = 0; i < exchanges->list.count; i++)
		most = fmax(most, exchanges->list.item[i].total);
	for (size_t i = 0; i < exchanges->list.count; i++) {
		if (exchanges->list.item[i].total > SUB_TASK_SHARE * most)
			exchanges->list.item[kept++] = exchanges->list.item[i];
	}
	exchanges->list.count = kept;
}

/* Other parallel dimensions exchange too, but evenly; those of experts may bear their name. */
static bool is_of_experts(const struct exchanges *exchanges)
{
	const struct np_align *align = exchanges->align;
	const struct np_comm_op *op;
	const struct np_rank *rank;
	const char *name;

	for (size_t i = 0; i < exchanges->list.count; i++) {
		if (exchanges->list.item[i].spread > EVEN_SPREAD)
			return true;
	}
	if (exchanges->list.count == 0)
		return false;
	rank = align->run->ranks[align->members[instance_of(exchanges, 0)->first].rank];
	op = np_align_op(align, instance_of(exchanges, 0)->first);
	name = np_strtab_text(align->run->strings, rank->groups.item[op->group].pg_name);
	return strcasecmp(name, "ep") == 0 || strcasestr(name, "exp") || strcasestr(name, "moe");
}

static int find_exchanges(struct exchanges *exchanges,
			  const struct np_align_communicator *communicator, struct np_err *err)
{
	const struct np_align *align = exchanges->align;
	int rc = NP_OK;

	exchanges->list.count = 0;
	exchanges->width = 0;
	for (uint32_t i = 0; i < communicator->count && rc == NP_OK; i++) {
		if (is_exchange(align, &align->instances.item[communicator->first + i]))
			rc = add_exchange(exchanges, communicator->first + i, err);
	}
	drop_sub_task(exchanges);
	if (!is_of_experts(exchanges))
		exchanges->list.count = 0;
	for (size_t i = 0; i < exchanges->list.count; i++) {
		const struct np_instance *instance = instance_of(exchanges, i);

		for (uint32_t j = 0; j < instance->count; j++)
			exchanges->width = common_divisor(
				exchanges->width, np_align_op(align, instance->first + j)->bytes);
	}
	return rc;
}

/* --- works ----------------------------------------------------------------------------------- */

/* The operator of a rank in an instance; NP_NO_OP if it has none. */
static uint32_t op_of(const struct np_align *align, const struct np_instance *instance,
		      uint32_t rank)
{
	for (uint32_t i = 0; instance && i < instance->count; i++) {
		if (align->members[instance->first + i].rank == rank)
			return align->members[instance->first + i].op;
	}
	return NP_NO_OP;
}

/* What the experts of a member did between the exchange there, if it is known, and the one back. */
static struct expert_work work_of(const struct exchanges *exchanges,
				  const struct np_instance *there, const struct np_instance *back,
				  uint32_t member)
{
	const struct np_align *align = exchanges->align;
	const struct np_comm_op *op = np_align_op(align, back->first + member);
	uint32_t rank = align->members[back->first + member].rank;
	struct expert_work work = {
		.communicator = back->communicator,
		.instance = UINT32_MAX,
		.rank = rank,
		.op = op_of(align, there, rank),
		.kernels = 1,
		.step = back->step,
		.tokens = exchanges->width > 0 ? op->bytes / exchanges->width : 0,
		.time = NP_UNKNOWN,
	};
	np_ns end;

	if (work.op == NP_NO_OP)
		return work;
	work.instance = (uint32_t)(there - align->instances.item);
	end = align->run->ranks[rank]->ops.item[work.op].end;
	if (op->start >= end)
		work.time = op->start - end;
	return work;
}

static int add_works(const struct exchanges *exchanges, size_t index, bool first,
		     struct placed_works *works, struct np_err *err)
{
	const struct np_instance *back = instance_of(exchanges, index);
	const struct np_instance *there = first ? NULL : instance_of(exchanges, index - 1);
	const char *step = np_strtab_text(exchanges->align->run->strings, back->step);
	int64_t number = 0;

	(void)np_text_to_int(step, strlen(step), &number);
	for (uint32_t i = 0; i < back->count; i++) {
		struct placed_exchange *placed = np_vec_add(&works->list, err);

		if (!placed)
			return NP_E_NOMEM;
		placed->place = exchanges->list.item[index].place;
		placed->work = work_of(exchanges, there, back, i);
		placed->work.step_number = number;
	}
	return NP_OK;
}

/* The exchanges back among those of one step: every other, beginning with the first or second. */
static int add_step(struct exchanges *exchanges, size_t from, size_t to, struct placed_works *works,
		    struct np_err *err)
{
	double spread[2] = { 0 };
	size_t begin;
	int rc = NP_OK;

	for (size_t i = from; i < to; i++) {
		exchanges->list.item[i].place = (uint32_t)(i - from);
		spread[(i - from) % 2] += exchanges->list.item[i].spread;
	}
	begin = from + (spread[1] >= spread[0]);
	for (size_t i = begin; i < to && rc == NP_OK; i += 2)
		rc = add_works(exchanges, i, i == from, works, err);
	return rc;
}

/* --- time of a token ------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
	const struct placed_exchange *a = left;
	const struct placed_exchange *b = right;
	int order = np_order(a->place, b->place);

	if (!order)
		order = np_order(a->work.instance, b->work.instance);
	return order ? order : np_order(a->work.rank, b->work.rank);
}

/*
 * How long a token takes, from the works at one place of all steps: forwards and
 * backwards differ. What else was done between the exchanges is the same for all.
 */
static int find_token_time(struct placed_exchange *works, size_t count, struct np_point *points,
			   struct np_err *err)
{
	struct np_line line;
	size_t used = 0;
	int rc;

	for (size_t i = 0; i < count; i++) {
		if (works[i].work.time != NP_UNKNOWN)
			points[used++] = (struct np_point){ (double)works[i].work.tokens,
							    (double)works[i].work.time };
	}
	rc = np_line_fit(points, used, &line, err);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		works[i].work.per_token = line.slope > 0 ? line.slope : 0;
	return rc;
}

static int take_works(struct placed_works *placed, struct expert_works *works, struct np_err *err)
{
	struct placed_exchange *list = placed->list.item;
	size_t count = placed->list.count;
	struct np_point *points = malloc((count + 1) * sizeof(*points));
	int rc = points ? NP_OK : np_fail_nomem(err, "experts");

	if (count > 0)
		qsort(list, count, sizeof(*list), by_place);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && list[to].place == list[from].place)
			to++;
		rc = find_token_time(&list[from], to - from, points, err);
	}
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct expert_work *work = np_vec_add(&works->list, err);

		if (work)
			*work = list[i].work;
		else
			rc = NP_E_NOMEM;
	}
	free(points);
	return rc;
}

static int add_communicator(struct exchanges *exchanges,
			    const struct np_align_communicator *communicator,
			    struct expert_works *works, struct np_err *err)
{
	struct placed_works placed = { 0 };
	int rc = find_exchanges(exchanges, communicator, err);

	for (size_t from = 0, to = 0; from < exchanges->list.count && rc == NP_OK; from = to) {
		while (to < exchanges->list.count &&
		       instance_of(exchanges, to)->step == instance_of(exchanges, from)->step)
			to++;
		rc = add_step(exchanges, from, to, &placed, err);
	}
	if (rc == NP_OK)
		rc = take_works(&placed, works, err);
	np_vec_release(&placed.list);
	return rc;
}

int experts_from_exchanges(const struct np_align *align, struct expert_works *works,
			   struct np_err *err)
{
	struct exchanges exchanges = { .align = align };
	int rc = NP_OK;

	for (size_t i = 0; i < align->communicators.count && rc == NP_OK; i++)
		rc = add_communicator(&exchanges, &align->communicators.item[i], works, err);
	np_vec_release(&exchanges.list);
	return rc;
}
