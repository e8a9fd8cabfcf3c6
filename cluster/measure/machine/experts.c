/* SPDX-License-Identifier: Apache-2.0 */
/* What uneven experts cost, by the tokens of each rank. */
#include "npuprof/experts.h"

#include "experts_work.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/text.h"

#include <math.h>
#include <strings.h>

/*
 * Experts that got no tokens
 * --------------------------
 *
 * A rank without tokens launches no kernel for them, and yet it is the one that
 * loses most. It took part in an exchange behind which others computed, and of
 * their kernels in the step it misses as many as they ran there: kernels that came
 * a little later, behind another exchange, are not missing.
 */

struct idle {
	const struct np_align *align;
	const struct expert_work *works; /* of one communicator and step, by exchange */
	size_t count;
	/* By rank: */
	uint64_t *kernels;
	uint64_t *missing; /* that others ran behind exchanges behind which it ran none */
	size_t *seen;      /* the last exchange with a work of it, counted from 1 */
	struct expert_works found;
};

/* Does the rank say which kernels it ran, and has it none of experts that do not report tokens? */
static bool tells_kernels(const struct np_align *align, uint32_t rank)
{
	const struct np_rank *own = align->run->ranks[rank];
	bool known = false;

	if (own->experts.count > 0)
		return true;
	for (size_t i = 0; i < own->kernels.count; i++) {
		const char *type = np_strtab_text(align->run->strings, own->kernels.item[i].name);

		if (strncasecmp(type, NP_EXPERT_TYPE, strlen(NP_EXPERT_TYPE)) == 0)
			return false;
		known = known || (*type && strcasecmp(type, "N/A") != 0);
	}
	return known;
}

/* The end of the works from `from` on that follow the same exchange; marks their ranks. */
static size_t same_exchange(struct idle *idle, size_t from, uint32_t *ret_most)
{
	size_t to = from;

	*ret_most = 0;
	while (to < idle->count && idle->works[to].instance == idle->works[from].instance) {
		idle->seen[idle->works[to].rank] = from + 1;
		if (idle->works[to].kernels > *ret_most)
			*ret_most = idle->works[to].kernels;
		to++;
	}
	return to;
}

/* The kernels of each rank, and those that it misses; returns the most that one has. */
static uint64_t count_kernels(struct idle *idle)
{
	const struct np_align *align = idle->align;
	const struct np_align_communicator *communicator =
		&align->communicators.item[idle->works->communicator];
	uint64_t most = 0;

	for (uint32_t i = 0; i < communicator->observed; i++) {
		uint32_t rank = align->coverage.item[communicator->coverage + i].rank;

		idle->kernels[rank] = 0;
		idle->missing[rank] = 0;
		idle->seen[rank] = 0;
	}
	for (size_t i = 0; i < idle->count; i++) {
		uint64_t *kernels = &idle->kernels[idle->works[i].rank];

		*kernels += idle->works[i].kernels;
		most = *kernels > most ? *kernels : most;
	}
	for (size_t from = 0, to = 0; from < idle->count; from = to) {
		const struct np_instance *instance =
			&align->instances.item[idle->works[from].instance];
		uint32_t there;

		to = same_exchange(idle, from, &there);
		for (uint32_t i = 0; i < instance->count; i++) {
			uint32_t rank = align->members[instance->first + i].rank;

			if (idle->seen[rank] != from + 1)
				idle->missing[rank] += there;
		}
	}
	return most;
}

static int add_idle(struct idle *idle, const struct expert_work *like,
		    const struct np_member *member, struct np_err *err)
{
	struct expert_work *work = np_vec_add(&idle->found.list, err);

	if (!work)
		return NP_E_NOMEM;
	*work = *like;
	work->rank = member->rank;
	work->op = member->op;
	work->kernels = 0;
	work->tokens = 0;
	work->time = 0;
	return NP_OK;
}

/* The works of one communicator and step. */
static int find_idle(struct idle *idle, struct np_err *err)
{
	const struct np_align *align = idle->align;
	uint64_t most = count_kernels(idle);
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < idle->count; from = to) {
		const struct expert_work *like = &idle->works[from];
		const struct np_instance *instance = &align->instances.item[like->instance];
		uint32_t there;

		to = same_exchange(idle, from, &there);
		for (uint32_t i = 0; i < instance->count && rc == NP_OK; i++) {
			const struct np_member *member = &align->members[instance->first + i];
			uint32_t rank = member->rank;

			if (idle->seen[rank] != from + 1 &&
			    idle->kernels[rank] + idle->missing[rank] <= most &&
			    tells_kernels(align, rank))
				rc = add_idle(idle, like, member, err);
		}
	}
	return rc;
}

static int take_found(const struct idle *idle, struct expert_works *works, struct np_err *err)
{
	for (size_t i = 0; i < idle->found.list.count; i++) {
		struct expert_work *work = np_vec_add(&works->list, err);

		if (!work)
			return NP_E_NOMEM;
		*work = idle->found.list.item[i];
	}
	return NP_OK;
}

/* Works of no kernel for ranks that got no tokens. `works` is sorted by exchange.
 */
static int add_all_idle(const struct np_align *align, struct expert_works *works,
			struct np_err *err)
{
	size_t ranks = align->run->sources.count + 1;
	struct idle idle = { .align = align,
			     .kernels = calloc(ranks, sizeof(*idle.kernels)),
			     .missing = calloc(ranks, sizeof(*idle.missing)),
			     .seen = calloc(ranks, sizeof(*idle.seen)) };
	bool whole = idle.kernels && idle.missing && idle.seen;
	int rc = whole ? NP_OK : np_fail_nomem(err, "experts");

	for (size_t from = 0, to = 0; from < works->list.count && rc == NP_OK; from = to) {
		const struct expert_work *first = &works->list.item[from];

		while (to < works->list.count && works->list.item[to].step == first->step &&
		       works->list.item[to].communicator == first->communicator)
			to++;
		if (first->communicator == UINT32_MAX)
			continue;
		idle.works = first;
		idle.count = to - from;
		rc = find_idle(&idle, err);
	}
	if (rc == NP_OK)
		rc = take_found(&idle, works, err);
	np_vec_release(&idle.found.list);
	free(idle.kernels);
	free(idle.missing);
	free(idle.seen);
	return rc;
}

void np_experts_release(struct np_experts *experts)
{
	np_vec_release(&experts->list);
	np_vec_release(&experts->exchanges);
}

static int add_work(const struct np_align *align, uint32_t index, const struct np_expert_work *from,
		    struct expert_works *works, struct np_err *err)
{
	const struct np_rank *rank = align->run->ranks[index];
	const char *step;
	struct expert_work *work;

	if (from->step == NP_NO_STEP)
		return NP_OK;
	step = np_strtab_text(align->run->strings, rank->steps.item[from->step].id);
	work = np_vec_add(&works->list, err);
	if (!work)
		return NP_E_NOMEM;
	*work = (struct expert_work){ .communicator = UINT32_MAX,
				      .instance = UINT32_MAX,
				      .rank = index,
				      .op = from->op,
				      .kernels = from->kernels,
				      .step = rank->steps.item[from->step].id,
				      .tokens = from->tokens,
				      .time = from->time,
				      .per_token = (double)NAN };
	(void)np_text_to_int(step, strlen(step), &work->step_number);
	if (from->op != NP_NO_OP) {
		const struct np_instance *instance =
			np_align_instance(align, np_align_slot(align, index, from->op));

		work->communicator = instance->communicator;
		work->instance = (uint32_t)(instance - align->instances.item);
	}
	return NP_OK;
}

static int by_communicator_step(const struct expert_work *a, const struct expert_work *b)
{
	int order = np_order(a->communicator, b->communicator);

	if (!order)
		order = np_order(a->step_number, b->step_number);
	return order ? order : np_order(a->step, b->step);
}

static int by_instance(const void *left, const void *right)
{
	const struct expert_work *a = left;
	const struct expert_work *b = right;
	int order = by_communicator_step(a, b);

	if (!order)
		order = np_order(a->instance, b->instance);
	return order ? order : np_order(a->rank, b->rank);
}

/* The end of the works that follow the same exchange as the first. */
static size_t end_of_exchange(const struct expert_work *works, size_t count)
{
	size_t end = 1;

	while (end < count && works[end].instance == works[0].instance)
		end++;
	return end;
}

/* How long a token takes in a kernel. */
static int time_of_token(const struct expert_work *works, size_t count, double *ret,
			 struct np_err *err)
{
	struct np_point *points = calloc(count + 1, sizeof(*points));
	struct np_line line;
	double tokens = 0;
	double time = 0;
	size_t used = 0;
	int rc;

	if (!points)
		return np_fail_nomem(err, "experts");
	for (size_t i = 0; i < count; i++) {
		if (works[i].kernels == 0)
			continue;
		points[used++] = (struct np_point){ (double)works[i].tokens / works[i].kernels,
						    (double)works[i].time / works[i].kernels };
		tokens += (double)works[i].tokens;
		time += (double)works[i].time;
	}
	rc = np_line_fit(points, used, &line, err);
	free(points);
	*ret = !isnan(line.slope) && line.slope > 0 ? line.slope : tokens > 0 ? time / tokens : 0;
	return rc;
}

/*
 * Exchanges of the forward and of the backward pass have other kernels behind them. Where so many
 * ranks differ by so much of their mean, those of an exchange tell by themselves how long a token
 * takes there; fewer could not do without one that is slow.
 */
#define OWN_RANKS  4
#define OWN_SPREAD 0.2

static bool tells_by_itself(const struct expert_work *works, size_t count)
{
	double least = (double)INFINITY;
	double most = 0;
	double sum = 0;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (works[i].kernels == 0)
			continue;
		least = fmin(least, (double)works[i].tokens);
		most = fmax(most, (double)works[i].tokens);
		sum += (double)works[i].tokens;
		used++;
	}
	return used >= OWN_RANKS && most - least > OWN_SPREAD * sum / (double)used;
}

/* The rank's row in the communicator and step of the last row, added if it is new. */
static struct np_expert_load *load_of(struct np_experts *experts, size_t first,
				      const struct expert_work *work, struct np_err *err)
{
	struct np_expert_load *load;

	for (size_t i = first; i < experts->list.count; i++) {
		if (experts->list.item[i].rank == work->rank)
			return &experts->list.item[i];
	}
	load = np_vec_add(&experts->list, err);
	if (load)
		*load = (struct np_expert_load){ .communicator = work->communicator,
						 .step = work->step,
						 .rank = work->rank,
						 .lost = NP_UNKNOWN };
	return load;
}

/* The next instance of the communicator in which the rank takes part. */
static uint32_t instance_after(const struct np_align *align, const struct expert_work *work)
{
	const struct np_rank *rank = align->run->ranks[work->rank];

	for (uint32_t i = work->op + 1; i < rank->ops.count; i++) {
		if (rank->ops.item[i].group == rank->ops.item[work->op].group)
			return (uint32_t)(np_align_instance(align,
							    np_align_slot(align, work->rank, i)) -
					  align->instances.item);
	}
	return UINT32_MAX;
}

/* What would be different if each of these ranks got the mean of all tokens. */
static int even_out(struct np_experts *experts, const struct np_align *align,
		    const struct expert_work *works, size_t count, int64_t most, double per_token,
		    struct np_err *err)
{
	double mean = 0;

	for (size_t i = 0; i < count; i++)
		mean += (double)works[i].tokens / (double)count;
	for (size_t i = 0; i < count; i++) {
		struct np_expert_exchange *exchange = np_vec_add(&experts->exchanges, err);
		double beyond = (double)works[i].tokens - mean;

		if (!exchange)
			return NP_E_NOMEM;
		*exchange = (struct np_expert_exchange){
			.rank = works[i].rank,
			.op = works[i].op,
			.instance = works[i].instance,
			.back = instance_after(align, &works[i]),
			.surplus = llround(per_token * beyond),
			.even = most > 0 ? (float)(mean / (double)most) : 1,
		};
	}
	return NP_OK;
}

/* One exchange: the tokens that the busiest rank had beyond each of the others. */
static int add_exchange(struct np_experts *experts, const struct np_align *align, size_t first,
			const struct expert_work *works, size_t count, double per_token,
			struct np_err *err)
{
	int64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = works[i].tokens > most ? works[i].tokens : most;
	if (count > 1 && works[0].instance != UINT32_MAX &&
	    even_out(experts, align, works, count, most, per_token, err) < 0)
		return NP_E_NOMEM;
	for (size_t i = 0; i < count; i++) {
		struct np_expert_load *load = load_of(experts, first, &works[i], err);

		if (!load)
			return NP_E_NOMEM;
		load->tokens += works[i].tokens;
		if (count < 2 || works[i].instance == UINT32_MAX)
			continue;
		if (load->lost == NP_UNKNOWN)
			load->lost = 0;
		load->lost += llround(per_token * (double)(most - works[i].tokens));
	}
	return NP_OK;
}

static int by_rank(const void *left, const void *right)
{
	const struct np_expert_load *a = left;
	const struct np_expert_load *b = right;

	return np_order(a->rank, b->rank);
}

/* All exchanges of a communicator in a step. */
static int add_step(struct np_experts *experts, const struct np_align *align,
		    const struct expert_work *works, size_t count, struct np_err *err)
{
	size_t first = experts->list.count;
	double usual = 0;
	int rc = isnan(works->per_token) ? time_of_token(works, count, &usual, err) : NP_OK;

	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		double per_token = works[from].per_token;

		to = from + end_of_exchange(&works[from], count - from);
		if (isnan(per_token) && tells_by_itself(&works[from], to - from))
			rc = time_of_token(&works[from], to - from, &per_token, err);
		else if (isnan(per_token))
			per_token = usual;
		if (rc == NP_OK)
			rc = add_exchange(experts, align, first, &works[from], to - from, per_token,
					  err);
	}
	if (rc == NP_OK)
		qsort(&experts->list.item[first], experts->list.count - first,
		      sizeof(experts->list.item[0]), by_rank);
	return rc;
}

static void sort_by_instance(struct expert_works *works)
{
	if (works->list.count > 0)
		qsort(works->list.item, works->list.count, sizeof(works->list.item[0]),
		      by_instance);
}

/* Tokens by rank over all steps, NP_UNKNOWN for ranks without experts; NULL when out of memory. */
static int64_t *tokens_by_rank(const struct np_experts *experts, size_t *ret_count)
{
	int64_t *tokens;
	size_t count = 0;

	for (size_t i = 0; i < experts->list.count; i++)
		count = experts->list.item[i].rank >= count ? experts->list.item[i].rank + 1
							    : count;
	tokens = malloc((count + 1) * sizeof(*tokens));
	for (size_t i = 0; tokens && i < count; i++)
		tokens[i] = NP_UNKNOWN;
	for (size_t i = 0; tokens && i < experts->list.count; i++) {
		int64_t *own = &tokens[experts->list.item[i].rank];

		*own = (*own == NP_UNKNOWN ? 0 : *own) + experts->list.item[i].tokens;
	}
	*ret_count = count;
	return tokens;
}

static int find_total(const struct np_experts *experts, struct np_expert_total *ret,
		      struct np_err *err)
{
	struct np_expert_total total = { .lost = NP_UNKNOWN };
	const struct np_expert_load *list = experts->list.item;
	size_t count;
	int64_t *tokens = tokens_by_rank(experts, &count);
	int64_t all = 0;

	if (!tokens)
		return np_fail_nomem(err, "experts");
	for (size_t i = 0; i < experts->list.count; i++) {
		/* Every communicator has the same steps: those of the first are counted. */
		if (list[i].communicator == list[0].communicator)
			total.steps += i == 0 || list[i].step != list[i - 1].step;
		if (list[i].lost != NP_UNKNOWN)
			total.lost = (total.lost == NP_UNKNOWN ? 0 : total.lost) + list[i].lost;
	}
	for (size_t i = 0; i < count; i++) {
		if (tokens[i] == NP_UNKNOWN)
			continue;
		all += tokens[i];
		total.ranks++;
		if (total.ranks == 1 || tokens[i] > tokens[total.busiest])
			total.busiest = (uint32_t)i;
	}
	if (all > 0)
		total.over = (double)tokens[total.busiest] * (double)total.ranks / (double)all - 1;
	free(tokens);
	*ret = all > 0 ? total : (struct np_expert_total){ .lost = NP_UNKNOWN };
	return NP_OK;
}

int np_experts_measure(const struct np_align *align, struct np_experts *ret, struct np_err *err)
{
	struct np_experts experts = { 0 };
	struct expert_works works = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < align->run->sources.count; i++) {
		const struct np_rank *rank = align->run->ranks[i];

		for (size_t j = 0; rank && j < rank->experts.count && rc == NP_OK; j++)
			rc = add_work(align, (uint32_t)i, &rank->experts.item[j], &works, err);
	}
	if (rc == NP_OK && works.list.count == 0) {
		experts.from_exchanges = true;
		rc = experts_from_exchanges(align, &works, err);
	}
	sort_by_instance(&works);
	if (rc == NP_OK && !experts.from_exchanges) {
		rc = add_all_idle(align, &works, err);
		sort_by_instance(&works);
	}
	for (size_t from = 0, to = 0; from < works.list.count && rc == NP_OK; from = to) {
		while (to < works.list.count &&
		       by_communicator_step(&works.list.item[from], &works.list.item[to]) == 0)
			to++;
		rc = add_step(&experts, align, &works.list.item[from], to - from, err);
	}
	np_vec_release(&works.list);
	if (rc == NP_OK)
		rc = find_total(&experts, &experts.total, err);
	if (rc < 0) {
		np_experts_release(&experts);
		return rc;
	}
	*ret = experts;
	return NP_OK;
}

const char *np_experts_source(const struct np_experts *experts)
{
	return experts->from_exchanges ? "exchanges" : "kernels";
}
