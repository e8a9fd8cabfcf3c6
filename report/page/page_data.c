/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the page as JSON: what is drawn, in columns, so that a thousand ranks stay small. */
#include "page_model.h"

#include "cli/prepare/input_json.h"
#include "cli/prepare/trust_json.h"
#include "cli/prepare/verdict_json.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/cluster_tables.h"
#include "npuprof/op_times.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <inttypes.h>
#include <math.h>

/* Communicators with a list of operators, operators in each, and types of kernels on a card. */
#define LISTED_COMMUNICATORS 16
#define LISTED_OPERATORS     8
#define LISTED_TYPES         16

/* --- ranks ----------------------------------------------------------------------------------- */

/* A column of the lanes: one number each. */
typedef int64_t lane_value(const struct page_model *model, const struct page_lane *lane);

static int64_t known(int32_t value)
{
	return value < 0 ? NP_UNKNOWN : value;
}

static const struct np_coordinates *place_of(const struct page_model *model,
					     const struct page_lane *lane)
{
	return &model->analysis->cluster->coordinates[lane->rank];
}

static int64_t lane_rank(const struct page_model *model, const struct page_lane *lane)
{
	return model->analysis->run->ranks[lane->rank]->id;
}

static int64_t lane_device(const struct page_model *model, const struct page_lane *lane)
{
	(void)model;
	return known(lane->device);
}

static int64_t lane_dp(const struct page_model *model, const struct page_lane *lane)
{
	return known(place_of(model, lane)->dp);
}

static int64_t lane_pp(const struct page_model *model, const struct page_lane *lane)
{
	return known(np_cluster_stage_at(model->analysis->cluster, lane->rank));
}

static int64_t lane_tp(const struct page_model *model, const struct page_lane *lane)
{
	return known(place_of(model, lane)->tp);
}

static int64_t lane_cp(const struct page_model *model, const struct page_lane *lane)
{
	return known(place_of(model, lane)->cp);
}

static int64_t lane_ep(const struct page_model *model, const struct page_lane *lane)
{
	return known(place_of(model, lane)->ep);
}

static int64_t lane_cost(const struct page_model *model, const struct page_lane *lane)
{
	/* Who shared no operator with others cannot have kept anybody waiting, as far as is known.
	 */
	if (model->analysis->charges.ranks[lane->rank].instances == 0)
		return NP_UNKNOWN;
	return model->analysis->causes.ranks[lane->rank].charge;
}

static int64_t lane_saved(const struct page_model *model, const struct page_lane *lane)
{
	return np_whatif_saved(&model->analysis->whatif,
			       model->analysis->run->ranks[lane->rank]->id);
}

static int64_t lane_reserved(const struct page_model *model, const struct page_lane *lane)
{
	const struct np_rank *rank = model->analysis->run->ranks[lane->rank];
	int64_t most = NP_UNKNOWN;

	for (size_t i = 0; i < rank->memory.count; i++) {
		if (rank->memory.item[i].reserved != NP_UNKNOWN &&
		    (most == NP_UNKNOWN || rank->memory.item[i].reserved > most))
			most = rank->memory.item[i].reserved;
	}
	return most;
}

static int64_t lane_rated(const struct page_model *model, const struct page_lane *lane)
{
	return model->frequencies ? model->frequencies->ranks[lane->rank].rated : NP_UNKNOWN;
}

static const struct {
	const char *name;
	lane_value *value;
} lane_columns[] = {
	{ "rank", lane_rank },
	{ "device", lane_device },
	{ "dp", lane_dp },
	{ "pp", lane_pp },
	{ "tp", lane_tp },
	{ "cp", lane_cp },
	{ "ep", lane_ep },
	{ "cost_ns", lane_cost },
	{ "recovered_ns", lane_saved },
	{ "reserved_bytes", lane_reserved },
	{ "rated_mhz", lane_rated },
};

static void put_hosts(struct np_jsonout *out, const struct page_model *model)
{
	const struct np_run *run = model->analysis->run;

	np_jsonout_array_line(out, "host");
	for (size_t i = 0; i < model->lane_count; i++)
		np_jsonout_text(out, NULL,
				np_run_text(run, run->ranks[model->lanes[i].rank]->host_name));
	np_jsonout_end(out);
}

static void put_causes(struct np_jsonout *out, const struct page_model *model)
{
	const struct np_root_causes *causes = &model->analysis->causes;

	np_jsonout_array_line(out, "cause");
	for (size_t i = 0; i < model->lane_count; i++) {
		uint32_t rank = model->lanes[i].rank;

		np_jsonout_text(out, NULL,
				causes->ranks[rank].charge > 0
					? np_cause_name(np_root_cause_main(causes, rank))
					: NULL);
	}
	np_jsonout_end(out);
}

static void put_lanes(struct np_jsonout *out, const struct page_model *model)
{
	np_jsonout_object(out, "lanes");
	for (size_t c = 0; c < NP_COUNT(lane_columns); c++) {
		np_jsonout_array_line(out, lane_columns[c].name);
		for (size_t i = 0; i < model->lane_count; i++)
			np_jsonout_integer(out, NULL,
					   lane_columns[c].value(model, &model->lanes[i]));
		np_jsonout_end(out);
	}
	put_hosts(out, model);
	put_causes(out, model);
	np_jsonout_end(out);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void put_columns(struct np_jsonout *out, const struct page_model *model)
{
	const struct np_cluster *cluster = model->analysis->cluster;

	np_jsonout_array(out, "columns");
	for (size_t i = 0; i < model->column_count; i++) {
		const struct page_column *column = &model->columns[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "first",
				np_run_text(cluster->run, cluster->steps.item[column->first]));
		np_jsonout_text(
			out, "last",
			np_run_text(cluster->run,
				    cluster->steps.item[column->first + column->count - 1]));
		np_jsonout_integer(out, "steps", (int64_t)column->count);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_cells(struct np_jsonout *out, const struct page_model *model)
{
	static const char *const names[PAGE_QUANTITIES] = {
		[PAGE_STEP] = "step_ns",        [PAGE_COMPUTING] = "computing_ns",
		[PAGE_CAUSED] = "caused_ns",    [PAGE_WAITED] = "waited_ns",
		[PAGE_IDLE] = "idle_ns",        [PAGE_FREQUENCY] = "frequency_mhz",
		[PAGE_MEMORY] = "memory_bytes",
	};

	np_jsonout_object(out, "outliers");
	for (size_t q = 0; q < PAGE_QUANTITIES; q++) {
		np_jsonout_array_line(out, names[q]);
		for (size_t i = 0; i < model->lane_count * model->column_count; i++) {
			if (model->outliers[i] & 1U << q)
				np_jsonout_integer(out, NULL, (int64_t)i);
		}
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_object(out, "cells");
	for (size_t q = 0; q < PAGE_QUANTITIES; q++) {
		np_jsonout_array(out, names[q]);
		for (size_t lane = 0; lane < model->lane_count; lane++) {
			np_jsonout_array_line(out, NULL);
			for (size_t i = 0; i < model->column_count; i++)
				np_jsonout_integer(out, NULL,
						   model->cells[q][lane * model->column_count + i]);
			np_jsonout_end(out);
		}
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_parts(struct np_jsonout *out, const struct page_model *model)
{
	size_t leaves = model->leaves.count;

	np_jsonout_array_line(out, "leaves");
	for (size_t i = 0; i < leaves; i++)
		np_jsonout_text(out, NULL, model->leaves.item[i]);
	np_jsonout_end(out);
	np_jsonout_array_line(out, "part_steps");
	for (size_t i = 0; i < model->lane_count; i++)
		np_jsonout_integer(out, NULL, (int64_t)model->part_steps[i]);
	np_jsonout_end(out);
	np_jsonout_array(out, "parts");
	for (size_t lane = 0; lane < model->lane_count; lane++) {
		np_jsonout_array_line(out, NULL);
		for (size_t i = 0; i < leaves; i++)
			np_jsonout_integer(out, NULL, model->parts[lane * leaves + i]);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* --- kernels --------------------------------------------------------------------------------- */

struct type_total {
	np_str name;
	np_ns total;
};

/* Numbers of texts depend on which rank was read first: compare the texts. */
static int by_text(const struct np_run *run, np_str a, np_str b)
{
	const char *left = np_run_text(run, a);
	const char *right = np_run_text(run, b);

	return strcmp(left ? left : "", right ? right : "");
}

static int by_type_total(const void *left, const void *right, void *run)
{
	const struct type_total *a = left;
	const struct type_total *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return by_text(run, a->name, b->name);
}

static np_ns time_of_type(const struct np_rank *rank, np_str type)
{
	np_ns sum = rank->kernels.count > 0 ? 0 : NP_UNKNOWN;

	for (size_t i = 0; i < rank->kernels.count; i++)
		sum += rank->kernels.item[i].name == type ? rank->kernels.item[i].total : 0;
	return sum;
}

static int find_types(struct np_run *run, struct type_total ret[LISTED_TYPES], size_t *ret_count,
		      struct np_err *err)
{
	NP_VEC(struct type_total) all = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		/* The longest of each rank stand first. */
		for (size_t j = 0; rank && j < rank->kernels.count && j < LISTED_TYPES; j++) {
			const struct np_statistic *each = &rank->kernels.item[j];
			struct type_total *total = NULL;

			for (size_t k = 0; k < all.count && !total; k++)
				total = all.item[k].name == each->name ? &all.item[k] : NULL;
			if (!total)
				total = np_vec_add(&all, err);
			if (!total) {
				rc = NP_E_NOMEM;
				break;
			}
			total->name = each->name;
			total->total += each->total;
		}
	}
	if (all.count > 0)
		qsort_r(all.item, all.count, sizeof(*all.item), by_type_total, run);
	*ret_count = all.count < LISTED_TYPES ? all.count : LISTED_TYPES;
	for (size_t i = 0; i < *ret_count; i++)
		ret[i] = all.item[i];
	np_vec_release(&all);
	return rc;
}

/* What the median lane spends on each type. */
static int put_medians(struct np_jsonout *out, const struct page_model *model,
		       const struct type_total *types, size_t count, struct np_err *err)
{
	const struct np_run *run = model->analysis->run;
	np_ns *times = malloc((model->lane_count + 1) * sizeof(*times));

	if (!times)
		return np_fail_nomem(err, "the page");
	np_jsonout_array_line(out, "median_ns");
	for (size_t i = 0; i < count; i++) {
		size_t known_count = 0;

		for (size_t lane = 0; lane < model->lane_count; lane++) {
			np_ns time =
				time_of_type(run->ranks[model->lanes[lane].rank], types[i].name);

			if (time != NP_UNKNOWN)
				times[known_count++] = time;
		}
		qsort(times, known_count, sizeof(*times), np_by_int64);
		np_jsonout_integer(out, NULL,
				   known_count > 0 ? times[(known_count - 1) / 2] : NP_UNKNOWN);
	}
	np_jsonout_end(out);
	free(times);
	return NP_OK;
}

static int put_kernels(struct np_jsonout *out, const struct page_model *model, struct np_err *err)
{
	struct np_run *run = model->analysis->run;
	struct type_total types[LISTED_TYPES];
	size_t count;
	int rc = find_types(run, types, &count, err);

	if (rc < 0)
		return rc;
	np_jsonout_object(out, "kernels");
	np_jsonout_array_line(out, "types");
	for (size_t i = 0; i < count; i++)
		np_jsonout_text(out, NULL, np_run_text(run, types[i].name));
	np_jsonout_end(out);
	rc = put_medians(out, model, types, count, err);
	np_jsonout_array(out, "total_ns");
	for (size_t lane = 0; lane < model->lane_count; lane++) {
		np_jsonout_array_line(out, NULL);
		for (size_t i = 0; i < count; i++)
			np_jsonout_integer(
				out, NULL,
				time_of_type(run->ranks[model->lanes[lane].rank], types[i].name));
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
	return rc;
}

/* --- communicators --------------------------------------------------------------------------- */

static void put_communicator(struct np_jsonout *out, const struct page_model *model, uint32_t index)
{
	const struct np_analysis *analysis = model->analysis;
	const struct np_align_communicator *aligned = &analysis->align->communicators.item[index];
	const struct np_communicator *each =
		np_cluster_communicator(analysis->cluster, aligned->hash);
	const struct np_comm_sum *sum = NULL;
	char hash[24];

	for (size_t i = 0; i < analysis->totals.list.count && each && !sum; i++) {
		if (analysis->totals.list.item[i].communicator == each)
			sum = &analysis->totals.list.item[i];
	}
	(void)snprintf(hash, sizeof(hash), "%" PRIu64, aligned->hash);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "group", hash);
	np_jsonout_text(out, "pg_name", each ? np_run_text(analysis->run, each->pg_name) : NULL);
	np_jsonout_integer(out, "size", each ? (int64_t)each->size : NP_UNKNOWN);
	np_jsonout_integer(out, "observed", each ? (int64_t)each->observed_count : NP_UNKNOWN);
	np_jsonout_integer(out, "ops", sum ? (int64_t)sum->ops : NP_UNKNOWN);
	np_jsonout_integer(out, "elapsed_ns", sum ? sum->elapsed : NP_UNKNOWN);
	np_jsonout_integer(out, "wait_ns", sum ? sum->wait : NP_UNKNOWN);
	np_jsonout_integer(out, "transit_ns", sum ? sum->transit : NP_UNKNOWN);
	np_jsonout_integer(out, "exposed_ns", sum ? sum->exposed : NP_UNKNOWN);
	np_jsonout_real(out, "gb_per_s",
			sum ? np_gb_per_s(sum->moved_bytes, sum->moved_time) : (double)NAN);
	np_jsonout_end(out);
}

/* What stands for a rank in a flow: null is not profiled; beside them: */
#define FLOW_NOBODY -1 /* nobody that is known */
#define FLOW_OTHERS -2 /* ranks with little of all, and of a communicator each */

/* [communicator, rank, ns] */
static void put_flow_row(struct np_jsonout *out, uint32_t of, int64_t rank, np_ns ns)
{
	np_jsonout_array_line(out, NULL);
	np_jsonout_integer(out, NULL, of);
	np_jsonout_integer(out, NULL, rank);
	np_jsonout_integer(out, NULL, ns);
	np_jsonout_end(out);
}

static int64_t flow_rank(const struct page_model *model, const struct np_flow *flow)
{
	if (flow->rank == NP_FLOW_UNPROFILED)
		return NP_UNKNOWN;
	return flow->rank == NP_FLOW_UNATTRIBUTED ? FLOW_NOBODY
						  : model->analysis->run->ranks[flow->rank]->id;
}

/* The rows of one communicator, [first, last). */
static void put_flow_of(struct np_jsonout *out, const struct page_model *model,
			const struct np_flow *first, const struct np_flow *last, unsigned as)
{
	np_ns total = 0;
	np_ns others = 0;

	for (const struct np_flow *each = first; each < last; each++)
		total += each->ns;
	for (const struct np_flow *each = first; each < last; each++) {
		int64_t rank = flow_rank(model, each);

		if (rank >= 0 && each->ns < total / 100 && !(model->kept[each->rank] & as))
			others += each->ns;
		else
			put_flow_row(out, each->of, rank, each->ns);
	}
	if (others > 0)
		put_flow_row(out, first->of, FLOW_OTHERS, others);
}

static void put_flow(struct np_jsonout *out, const char *key, const struct page_model *model,
		     const np_flow_list *list, unsigned as)
{
	np_jsonout_array(out, key);
	for (size_t i = 0, end; i < list->count; i = end) {
		for (end = i; end < list->count && list->item[end].of == list->item[i].of;)
			end++;
		put_flow_of(out, model, &list->item[i], list->item + end, as);
	}
	np_jsonout_end(out);
}

/* The operators that were waited in longest: [communicator, type, step, last rank, waited, took] */
struct listed_operator {
	const struct np_instance *instance;
	np_ns waited;
	np_ns took;
	uint32_t last;
};

static struct listed_operator measure_instance(const struct np_analysis *analysis,
					       const struct np_instance *instance)
{
	struct listed_operator all = { .instance = instance, .last = UINT32_MAX };
	np_ns least = NP_NS_MAX;

	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;
		const struct np_comm_op *op = np_align_op(analysis->align, slot);
		np_ns wait = analysis->waits.wait[slot];

		all.took = op->end - op->start > all.took ? op->end - op->start : all.took;
		if (wait == NP_UNKNOWN)
			continue;
		all.waited += wait;
		if (wait < least) {
			least = wait;
			all.last = analysis->align->members[slot].rank;
		}
	}
	return all;
}

static void insert_operator(struct listed_operator *list, size_t *count,
			    struct listed_operator each)
{
	size_t at = *count;

	while (at > 0 && list[at - 1].waited < each.waited)
		at--;
	if (at >= LISTED_OPERATORS)
		return;
	if (*count < LISTED_OPERATORS)
		(*count)++;
	memmove(&list[at + 1], &list[at], (*count - at - 1) * sizeof(*list));
	list[at] = each;
}

static void put_operators_of(struct np_jsonout *out, const struct page_model *model, uint32_t index)
{
	const struct np_analysis *analysis = model->analysis;
	const struct np_align_communicator *of = &analysis->align->communicators.item[index];
	struct listed_operator list[LISTED_OPERATORS + 1];
	size_t count = 0;

	for (uint32_t i = 0; i < of->count; i++) {
		struct listed_operator each =
			measure_instance(analysis, &analysis->align->instances.item[of->first + i]);

		if (each.waited > 0)
			insert_operator(list, &count, each);
	}
	for (size_t i = 0; i < count; i++) {
		np_jsonout_array_line(out, NULL);
		np_jsonout_integer(out, NULL, index);
		np_jsonout_text(out, NULL, np_run_text(analysis->run, list[i].instance->type));
		np_jsonout_text(out, NULL, np_run_text(analysis->run, list[i].instance->step));
		np_jsonout_integer(out, NULL,
				   list[i].last == UINT32_MAX
					   ? NP_UNKNOWN
					   : analysis->run->ranks[list[i].last]->id);
		np_jsonout_integer(out, NULL, list[i].waited);
		np_jsonout_integer(out, NULL, list[i].took);
		np_jsonout_end(out);
	}
}

struct waited_communicator {
	uint32_t index;
	np_ns waited;
};

static int by_waited(const void *left, const void *right)
{
	const struct waited_communicator *a = left;
	const struct waited_communicator *b = right;

	if (a->waited != b->waited)
		return a->waited < b->waited ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static int put_operators(struct np_jsonout *out, const struct page_model *model, struct np_err *err)
{
	size_t count = model->analysis->align->communicators.count;
	struct waited_communicator *order = calloc(count + 1, sizeof(*order));

	if (!order)
		return np_fail_nomem(err, "the page");
	for (size_t i = 0; i < count; i++)
		order[i].index = (uint32_t)i;
	for (size_t i = 0; i < model->flows.waits.count; i++)
		order[model->flows.waits.item[i].of].waited += model->flows.waits.item[i].ns;
	qsort(order, count, sizeof(*order), by_waited);
	np_jsonout_array(out, "operators");
	for (size_t i = 0; i < count && i < LISTED_COMMUNICATORS; i++)
		put_operators_of(out, model, order[i].index);
	np_jsonout_end(out);
	free(order);
	return NP_OK;
}

/* Who made whom wait: [cause, victim, ns], by rank. */
static void put_pairs(struct np_jsonout *out, const struct page_model *model)
{
	np_jsonout_array(out, "pairs");
	for (size_t i = 0; i < model->pairs.count; i++) {
		const struct page_pair *pair = &model->pairs.item[i];

		np_jsonout_array_line(out, NULL);
		np_jsonout_integer(out, NULL, model->analysis->run->ranks[pair->cause]->id);
		np_jsonout_integer(out, NULL, model->analysis->run->ranks[pair->victim]->id);
		np_jsonout_integer(out, NULL, pair->ns);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static int put_communicators(struct np_jsonout *out, const struct page_model *model,
			     struct np_err *err)
{
	np_jsonout_array(out, "communicators");
	for (uint32_t i = 0; i < model->analysis->align->communicators.count; i++)
		put_communicator(out, model, i);
	np_jsonout_end(out);
	np_jsonout_object(out, "flows");
	put_flow(out, "causes", model, &model->flows.causes, PAGE_CAUSE);
	put_flow(out, "waits", model, &model->flows.waits, PAGE_VICTIM);
	put_pairs(out, model);
	np_jsonout_end(out);
	return put_operators(out, model, err);
}

/* --- links ----------------------------------------------------------------------------------- */

/* The lane of a link's end, as a host or a rank; NP_UNKNOWN for one that is not known. */
static int64_t end_of_link(const struct page_model *model, int64_t rank, bool hosts)
{
	const struct np_run *run = model->analysis->run;
	size_t index = rank < 0 || rank > INT32_MAX ? SIZE_MAX : np_run_index(run, (int32_t)rank);

	if (!hosts)
		return rank < 0 ? NP_UNKNOWN : rank;
	if (index == SIZE_MAX || !run->ranks[index])
		return NP_UNKNOWN;
	for (size_t i = 0; i < model->lane_count; i++) {
		if (run->ranks[model->lanes[i].rank]->host_name == run->ranks[index]->host_name)
			return (int64_t)i;
	}
	return NP_UNKNOWN;
}

/* Links between two ends over one transport: all planes together. */
struct folded_link {
	int64_t src;
	int64_t dst;
	np_str transport;
	int64_t bytes;
	np_ns time;
	np_ns expected;
	enum np_link_verdict verdict;
	enum np_link_fault fault;
};

static int by_ends(const void *left, const void *right, void *run)
{
	const struct folded_link *a = left;
	const struct folded_link *b = right;

	if (a->transport != b->transport)
		return by_text(run, a->transport, b->transport);
	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	return (a->dst > b->dst) - (a->dst < b->dst);
}

static void add_known(int64_t *sum, int64_t value)
{
	*sum = *sum == NP_UNKNOWN || value == NP_UNKNOWN ? NP_UNKNOWN : *sum + value;
}

static size_t fold(struct folded_link *links, size_t count, struct np_run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct folded_link *last = kept > 0 ? &links[kept - 1] : NULL;

		if (!last || by_ends(last, &links[i], run) != 0) {
			links[kept++] = links[i];
			continue;
		}
		add_known(&last->bytes, links[i].bytes);
		add_known(&last->time, links[i].time);
		add_known(&last->expected, links[i].expected);
		if (links[i].verdict > last->verdict) {
			last->verdict = links[i].verdict;
			last->fault = links[i].fault;
		}
	}
	return kept;
}

static void put_link(struct np_jsonout *out, const struct np_run *run,
		     const struct folded_link *link)
{
	np_jsonout_array_line(out, NULL);
	np_jsonout_integer(out, NULL, link->src);
	np_jsonout_integer(out, NULL, link->dst);
	np_jsonout_text(out, NULL, np_run_text(run, link->transport));
	np_jsonout_integer(out, NULL, link->bytes);
	np_jsonout_integer(out, NULL, link->time);
	np_jsonout_integer(out, NULL, link->expected);
	np_jsonout_text(out, NULL, np_link_verdict_name(link->verdict));
	np_jsonout_text(out, NULL, np_link_fault_name(link->fault));
	np_jsonout_end(out);
}

static int put_links(struct np_jsonout *out, const struct page_model *model, struct np_err *err)
{
	const struct np_links *links = &model->analysis->links;
	bool hosts = model->lane_count > PAGE_LANES_LINKS;
	struct folded_link *folded = calloc(links->list.count + 1, sizeof(*folded));
	int64_t left_out = 0; /* an end of them is not known */
	size_t count = 0;

	if (!folded)
		return np_fail_nomem(err, "the page");
	for (size_t i = 0; i < links->list.count; i++) {
		const struct np_link_speed *each = &links->list.item[i];
		int64_t src = end_of_link(model, each->src, hosts);
		int64_t dst = end_of_link(model, each->dst, hosts);

		if (src == NP_UNKNOWN || dst == NP_UNKNOWN)
			left_out++;
		else
			folded[count++] =
				(struct folded_link){ src,           dst,        each->transport,
						      each->bytes,   each->time, each->expected,
						      each->verdict, each->fault };
	}
	qsort_r(folded, count, sizeof(*folded), by_ends, model->analysis->run);
	count = fold(folded, count, model->analysis->run);
	np_jsonout_object(out, "links");
	np_jsonout_text(out, "ends", hosts ? "host" : "rank");
	np_jsonout_integer(out, "left_out", left_out);
	np_jsonout_array(out, "rows");
	for (size_t i = 0; i < count; i++)
		put_link(out, model->analysis->run, &folded[i]);
	np_jsonout_end(out);
	np_jsonout_end(out);
	free(folded);
	return NP_OK;
}

/* --- pipeline, repairs ----------------------------------------------------------------------- */

/* Slices are relative to the first of all, on the common clock: [begin, length, kind]. */
static void put_strips(struct np_jsonout *out, const struct page_model *model)
{
	const struct np_analysis *analysis = model->analysis;
	np_ns first = NP_NS_MAX;

	for (size_t i = 0; i < model->strips.list.count; i++) {
		const struct np_strip *strip = &model->strips.list.item[i];
		np_ns begin = strip->slices.count > 0 ? np_clock_time(analysis->clock, strip->rank,
								      strip->slices.item[0].begin)
						      : NP_NS_MAX;

		first = begin < first ? begin : first;
	}
	np_jsonout_array(out, "strips");
	for (size_t i = 0; i < model->strips.list.count; i++) {
		const struct np_strip *strip = &model->strips.list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "rank", analysis->run->ranks[strip->rank]->id);
		np_jsonout_integer(out, "stage", strip->stage);
		np_jsonout_text(out, "step", np_run_text(analysis->run, strip->step));
		np_jsonout_array_line(out, "slices");
		for (size_t j = 0; j < strip->slices.count; j++) {
			const struct np_strip_slice *slice = &strip->slices.item[j];

			np_jsonout_array_line(out, NULL);
			np_jsonout_integer(
				out, NULL,
				np_clock_time(analysis->clock, strip->rank, slice->begin) - first);
			np_jsonout_integer(out, NULL, slice->end - slice->begin);
			np_jsonout_text(out, NULL, np_strip_kind_name(slice->kind));
			np_jsonout_end(out);
		}
		np_jsonout_end(out);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* What the ranks of the strips did in that step; np_pipeline has the rest. */
static void put_pipeline(struct np_jsonout *out, const struct page_model *model)
{
	const struct np_pipeline *pipeline = &model->analysis->pipeline;

	np_jsonout_array(out, "pipeline");
	for (size_t s = 0; s < model->strips.list.count; s++) {
		const struct np_strip *strip = &model->strips.list.item[s];

		for (size_t i = 0; i < pipeline->list.count; i++) {
			const struct np_pipeline_time *row = &pipeline->list.item[i];

			if (row->rank != strip->rank || row->step != strip->step)
				continue;
			np_jsonout_object_line(out, NULL);
			np_jsonout_integer(out, "rank", model->analysis->run->ranks[row->rank]->id);
			np_jsonout_integer(out, "stage", row->stage);
			np_jsonout_integer(out, "useful_ns", row->useful);
			np_jsonout_integer(out, "other_comm_ns", row->other_comm);
			np_jsonout_integer(out, "warmup_ns", row->warmup);
			np_jsonout_integer(out, "imbalance_ns", row->imbalance);
			np_jsonout_integer(out, "transfer_ns", row->transfer);
			np_jsonout_integer(out, "host_ns", row->host);
			np_jsonout_integer(out, "tail_ns", row->tail);
			np_jsonout_integer(out, "ideal_ns", row->ideal);
			np_jsonout_end(out);
		}
	}
	np_jsonout_end(out);
}

/* Tokens of each rank over all steps and communicators, and what uneven ones cost it. */
static int put_experts(struct np_jsonout *out, const struct np_analysis *analysis,
		       struct np_err *err)
{
	size_t ranks = analysis->run->sources.count;
	int64_t *tokens = malloc((ranks + 1) * sizeof(*tokens));
	np_ns *lost = malloc((ranks + 1) * sizeof(*lost));
	int rc;

	for (size_t i = 0; tokens && lost && i < ranks; i++)
		tokens[i] = lost[i] = NP_UNKNOWN;
	for (size_t i = 0; tokens && lost && i < analysis->experts.list.count; i++) {
		const struct np_expert_load *each = &analysis->experts.list.item[i];

		tokens[each->rank] =
			(tokens[each->rank] == NP_UNKNOWN ? 0 : tokens[each->rank]) + each->tokens;
		if (each->lost != NP_UNKNOWN)
			lost[each->rank] = (lost[each->rank] == NP_UNKNOWN ? 0 : lost[each->rank]) +
					   each->lost;
	}
	np_jsonout_array(out, "experts");
	for (size_t i = 0; tokens && lost && i < ranks; i++) {
		if (tokens[i] == NP_UNKNOWN)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "rank", analysis->run->ranks[i]->id);
		np_jsonout_integer(out, "tokens", tokens[i]);
		np_jsonout_integer(out, "lost_ns", lost[i]);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	rc = tokens && lost ? NP_OK : np_fail_nomem(err, "the page");
	free(tokens);
	free(lost);
	return rc;
}

static void put_repairs(struct np_jsonout *out, const struct page_model *model)
{
	const struct np_whatif *whatif = &model->analysis->whatif;

	np_jsonout_object(out, "repairs");
	np_jsonout_integer(out, "step_ns", model->analysis->replay ? whatif->step : NP_UNKNOWN);
	np_jsonout_integer(out, "ideal_ns", model->analysis->replay ? whatif->ideal : NP_UNKNOWN);
	np_jsonout_real(out, "fidelity", model->analysis->replay ? whatif->fidelity : (double)NAN);
	np_jsonout_array(out, "rows");
	for (size_t i = 0; i < whatif->rows.count && i < 24; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&row->fix, fix);
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "fix", fix);
		np_jsonout_integer(out, "step_ns", row->step);
		np_jsonout_integer(out, "saved_ns", row->saved);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_array_line(out, "combine");
	for (size_t i = 0; i < model->fix_count; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&model->fixes[i], fix);
		np_jsonout_text(out, NULL, fix);
	}
	np_jsonout_end(out);
	np_jsonout_array_line(out, "subsets");
	for (unsigned i = 0; model->fix_count > 0 && i < 1U << model->fix_count; i++)
		np_jsonout_integer(out, NULL, model->subsets[i]);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_job_findings(struct np_jsonout *out, const struct np_analysis *analysis)
{
	np_jsonout_array(out, "job_findings");
	for (size_t i = 0; i < analysis->findings.list.count; i++) {
		const struct np_job_finding *each = &analysis->findings.list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "what", np_job_finding_name(each->kind));
		np_jsonout_text(out, "detail", each->detail);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* --- all ------------------------------------------------------------------------------------- */

/* The sentences of the page in the language of the reader, each under itself. */
static void put_said(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_notes *notes = &analysis->run->notes;

	np_jsonout_object(out, "said");
	put_said_json(out, analysis->verdict.text);
	for (size_t i = 0; i < analysis->findings.list.count; i++)
		put_said_json(out, analysis->findings.list.item[i].detail);
	for (size_t i = 0; i < notes->list.count; i++)
		put_said_json(out, notes->list.item[i].reason);
	for (size_t i = 0; i < NP_ANALYSIS_COUNT; i++) {
		if (analysis->readiness[i].ready)
			continue;
		put_said_json(out, analysis->readiness[i].name);
		put_said_json(out, analysis->readiness[i].missing);
		put_said_json(out, analysis->readiness[i].cure);
	}
	np_jsonout_end(out);
}

int page_put_data(struct np_jsonout *out, const struct page_model *model,
		  const struct np_run_page_options *options, struct np_err *err)
{
	const struct np_analysis *analysis = model->analysis;
	int rc;

	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", "npuprof.page/1");
	np_jsonout_text(out, "version", analysis->version);
	np_jsonout_text(out, "phase", options->phase);
	np_jsonout_text(out, "first", options->first);
	np_jsonout_text(out, "timeline", options->timeline);
	np_jsonout_bool(out, "anonymous", options->anonymous);
	put_input_json(out, analysis->run, analysis->cluster, options->input, NULL);
	put_verdict_json(out, &analysis->verdict);
	put_trust_json(out, analysis);
	put_said(out, analysis);
	np_jsonout_text(out, "step_basis", np_basis_name(analysis->spreads.basis));
	put_lanes(out, model);
	put_columns(out, model);
	put_cells(out, model);
	put_parts(out, model);
	rc = put_kernels(out, model, err);
	if (rc == NP_OK)
		rc = put_communicators(out, model, err);
	if (rc == NP_OK)
		rc = put_links(out, model, err);
	put_strips(out, model);
	put_repairs(out, model);
	put_job_findings(out, analysis);
	put_pipeline(out, model);
	if (rc == NP_OK)
		rc = put_experts(out, analysis, err);
	if (rc == NP_OK)
		rc = np_jsonout_relation(out, "memory", &np_table_memory, analysis, NULL, 0, err);
	if (rc == NP_OK)
		rc = page_put_snapshots(out, analysis->memory, options->anonymous, err);
	if (rc == NP_OK && options->put_more)
		rc = options->put_more(out, options->context, err);
	np_jsonout_end(out);
	return rc;
}
