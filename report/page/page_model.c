/* SPDX-License-Identifier: Apache-2.0 */
/* What the charts of the page show, put together from the analysis of a run. */
#include "page_model.h"

#include "npuprof/align.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"

#include <math.h>

void page_model_release(struct page_model *model)
{
	for (size_t i = 0; i < PAGE_QUANTITIES; i++)
		free(model->cells[i]);
	for (size_t i = 0; i < model->leaves.count; i++)
		free(model->leaves.item[i]);
	np_vec_release(&model->leaves);
	free(model->lanes);
	free(model->outliers);
	free(model->parts);
	np_vec_release(&model->pairs);
	free(model->part_steps);
	free(model->kept);
	np_flows_release(&model->flows);
	np_strips_release(&model->strips);
}

/* --- lanes and columns ----------------------------------------------------------------------- */

static int find_lanes(struct page_model *model, struct np_err *err)
{
	const struct np_run *run = model->analysis->run;
	NP_VEC(struct page_lane) lanes = { 0 };

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		/* Times are by device. */
		for (size_t j = 0; rank && j < rank->times.count; j++) {
			struct page_lane *lane;

			if (j > 0 && rank->times.item[j].device == rank->times.item[j - 1].device)
				continue;
			lane = np_vec_add(&lanes, err);
			if (!lane) {
				np_vec_release(&lanes);
				return NP_E_NOMEM;
			}
			*lane = (struct page_lane){ (uint32_t)i, rank->times.item[j].device };
		}
	}
	model->lanes = lanes.item;
	model->lane_count = lanes.count;
	return NP_OK;
}

static void find_columns(struct page_model *model)
{
	size_t steps = model->analysis->cluster->steps.count;
	size_t count = steps < PAGE_COLUMNS ? steps : PAGE_COLUMNS;

	for (size_t i = 0; i < count; i++) {
		size_t first = i * steps / count;

		model->columns[i] = (struct page_column){ first, (i + 1) * steps / count - first };
	}
	model->column_count = count;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* Sums that become means. */
struct cell_sums {
	const struct page_model *model;
	struct np_idmap *columns;           /* step → column */
	uint32_t *lane_of_rank;             /* the first lane of a rank */
	uint32_t (*count)[PAGE_QUANTITIES]; /* by cell */
};

static void add_to_cell(struct cell_sums *sums, enum page_quantity quantity, size_t lane,
			uint32_t column, int64_t value)
{
	size_t cell = lane * sums->model->column_count + column;
	int64_t *sum = &sums->model->cells[quantity][cell];

	if (value == NP_UNKNOWN)
		return;
	*sum = *sum == NP_UNKNOWN ? value : *sum + value;
	sums->count[cell][quantity]++;
}

static np_ns idle_of(const struct np_step_time *time)
{
	np_ns between = np_step_between(time);

	if (time->free == NP_UNKNOWN)
		return NP_UNKNOWN;
	return time->free + (between == NP_UNKNOWN ? 0 : between);
}

static void add_times(struct cell_sums *sums)
{
	const struct np_analysis *analysis = sums->model->analysis;

	for (size_t lane = 0; lane < sums->model->lane_count; lane++) {
		const struct page_lane *of = &sums->model->lanes[lane];
		const struct np_rank *rank = analysis->run->ranks[of->rank];

		for (size_t i = 0; i < rank->times.count; i++) {
			const struct np_step_time *time = &rank->times.item[i];
			uint32_t column =
				np_idmap_get(sums->columns, rank->steps.item[time->step].id);

			if (time->device != of->device || column == NP_IDMAP_NONE)
				continue;
			add_to_cell(sums, PAGE_STEP, lane, column,
				    np_step_length(time, analysis->spreads.basis));
			add_to_cell(sums, PAGE_COMPUTING, lane, column, time->computing);
			add_to_cell(sums, PAGE_IDLE, lane, column, idle_of(time));
		}
	}
}

/* The waits of a rank's operators in each step: a sum over operators, a mean over steps. */
static void add_waits(struct cell_sums *sums, size_t index, np_ns *waited)
{
	const struct np_analysis *analysis = sums->model->analysis;
	const struct np_rank *rank = analysis->run->ranks[index];

	for (size_t i = 0; i < rank->steps.count; i++)
		waited[i] = NP_UNKNOWN;
	for (size_t i = 0; i < rank->ops.count; i++) {
		uint32_t step = rank->ops.item[i].step;
		np_ns wait = analysis->waits.wait[np_align_slot(analysis->align, index, i)];

		if (step == NP_NO_STEP || wait == NP_UNKNOWN)
			continue;
		waited[step] = waited[step] == NP_UNKNOWN ? wait : waited[step] + wait;
	}
	for (size_t i = 0; i < rank->steps.count; i++) {
		uint32_t column = np_idmap_get(sums->columns, rank->steps.item[i].id);

		if (column != NP_IDMAP_NONE)
			add_to_cell(sums, PAGE_WAITED, sums->lane_of_rank[index], column,
				    waited[i]);
	}
}

static int add_all_waits(struct cell_sums *sums, struct np_err *err)
{
	const struct np_run *run = sums->model->analysis->run;
	np_ns *waited;
	size_t most = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && run->ranks[i]->steps.count > most)
			most = run->ranks[i]->steps.count;
	}
	waited = malloc((most + 1) * sizeof(*waited));
	if (!waited)
		return np_fail_nomem(err, "the page");
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && sums->lane_of_rank[i] != UINT32_MAX)
			add_waits(sums, i, waited);
	}
	free(waited);
	return NP_OK;
}

/* Where waiting was measured, a step without a charge has none: 0, and not unknown. */
static void add_caused(struct cell_sums *sums)
{
	const struct page_model *model = sums->model;
	const np_flow_list *flows = &model->flows.steps;
	const struct np_cluster *cluster = model->analysis->cluster;

	for (size_t i = 0; i < model->lane_count * model->column_count; i++) {
		if (model->cells[PAGE_WAITED][i] != NP_UNKNOWN)
			model->cells[PAGE_CAUSED][i] = 0;
	}
	for (size_t i = 0; i < flows->count; i++) {
		uint32_t column =
			np_idmap_get(sums->columns, cluster->steps.item[flows->item[i].of]);
		uint32_t lane = flows->item[i].rank < model->analysis->run->sources.count
					? sums->lane_of_rank[flows->item[i].rank]
					: UINT32_MAX;

		if (lane != UINT32_MAX && column != NP_IDMAP_NONE)
			add_to_cell(sums, PAGE_CAUSED, lane, column, flows->item[i].ns);
	}
	/* Steps without a charge count in the mean. */
	for (size_t i = 0; i < model->lane_count * model->column_count; i++)
		sums->count[i][PAGE_CAUSED] = sums->count[i][PAGE_WAITED];
}

/* Of components, the most that one of them held. */
static void add_memory(struct cell_sums *sums)
{
	const struct np_run *run = sums->model->analysis->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->memory_steps.count; j++) {
			const struct np_memory_step *each = &rank->memory_steps.item[j];
			uint32_t column = np_idmap_get(sums->columns, each->step);
			int64_t *cell;

			if (column == NP_IDMAP_NONE || sums->lane_of_rank[i] == UINT32_MAX ||
			    each->most == NP_UNKNOWN)
				continue;
			cell = &sums->model->cells[PAGE_MEMORY][sums->lane_of_rank[i] *
									sums->model->column_count +
								column];
			if (*cell == NP_UNKNOWN || *cell < each->most)
				*cell = each->most;
		}
	}
}

/* Cells of activity and times of a rank go together. */
static void add_frequencies(struct cell_sums *sums)
{
	const struct page_model *model = sums->model;

	for (size_t lane = 0; lane < model->lane_count && model->frequencies; lane++) {
		const struct page_lane *of = &model->lanes[lane];
		const struct np_rank *rank = model->analysis->run->ranks[of->rank];
		const double *mean = model->frequencies->ranks[of->rank].mean;

		for (size_t i = 0; mean && i < rank->activity.cells.count; i++) {
			const struct np_step_time *time = &rank->times.item[i];
			uint32_t column =
				np_idmap_get(sums->columns, rank->steps.item[time->step].id);

			if (time->device == of->device && column != NP_IDMAP_NONE &&
			    !isnan(mean[i]))
				add_to_cell(sums, PAGE_FREQUENCY, lane, column, llround(mean[i]));
		}
	}
}

static void divide(struct cell_sums *sums)
{
	const struct page_model *model = sums->model;

	for (size_t quantity = 0; quantity < PAGE_MEMORY; quantity++) {
		for (size_t i = 0; i < model->lane_count * model->column_count; i++) {
			if (sums->count[i][quantity] > 1)
				model->cells[quantity][i] /= sums->count[i][quantity];
		}
	}
}

static int prepare_cells(struct page_model *model, struct cell_sums *sums, struct np_err *err)
{
	const struct np_cluster *cluster = model->analysis->cluster;
	size_t ranks = model->analysis->run->sources.count;
	size_t count = model->lane_count * model->column_count;
	int rc = NP_OK;

	for (size_t q = 0; q < PAGE_QUANTITIES; q++) {
		model->cells[q] = malloc((count + 1) * sizeof(*model->cells[q]));
		if (!model->cells[q])
			return np_fail_nomem(err, "the page");
		for (size_t i = 0; i < count; i++)
			model->cells[q][i] = NP_UNKNOWN;
	}
	sums->count = calloc(count + 1, sizeof(*sums->count));
	sums->columns = np_idmap_new();
	sums->lane_of_rank = malloc((ranks + 1) * sizeof(*sums->lane_of_rank));
	if (!sums->count || !sums->columns || !sums->lane_of_rank)
		return np_fail_nomem(err, "the page");
	for (size_t i = 0; i < ranks; i++)
		sums->lane_of_rank[i] = UINT32_MAX;
	for (size_t i = model->lane_count; i-- > 0;)
		sums->lane_of_rank[model->lanes[i].rank] = (uint32_t)i;
	for (size_t i = 0; i < model->column_count && rc == NP_OK; i++) {
		for (size_t j = 0; j < model->columns[i].count && rc == NP_OK; j++)
			rc = np_idmap_set(sums->columns,
					  cluster->steps.item[model->columns[i].first + j],
					  (uint32_t)i, err);
	}
	return rc;
}

static int fill_cells(struct page_model *model, struct np_err *err)
{
	struct cell_sums sums = { .model = model };
	int rc = prepare_cells(model, &sums, err);

	if (rc == NP_OK) {
		add_times(&sums);
		rc = add_all_waits(&sums, err);
	}
	if (rc == NP_OK) {
		add_caused(&sums);
		add_memory(&sums);
		add_frequencies(&sums);
		divide(&sums);
	}
	free(sums.count);
	free(sums.lane_of_rank);
	np_idmap_free(sums.columns);
	return rc;
}

/* Is a value far from the median, on the bad side: above, but for the frequency? */
static bool is_outlier(enum page_quantity quantity, double value, double median, double spread)
{
	if (quantity == PAGE_FREQUENCY)
		return value < median - 6 * spread && value < 0.98 * median;
	return value > median + 6 * spread && value > 1.05 * median;
}

/* The cells of a column, of the lanes of one stage: what is far from their median. */
static void mark_column(struct page_model *model, enum page_quantity quantity, size_t column,
			int32_t stage, double *room)
{
	const struct np_cluster *cluster = model->analysis->cluster;
	size_t count = 0;
	double median;
	double spread;

	for (size_t lane = 0; lane < model->lane_count; lane++) {
		int64_t value = model->cells[quantity][lane * model->column_count + column];

		if (value != NP_UNKNOWN &&
		    np_cluster_stage_at(cluster, model->lanes[lane].rank) == stage)
			room[count++] = (double)value;
	}
	if (count < 4)
		return;
	median = np_median(room, count);
	spread = np_deviation(room, count, median);
	for (size_t lane = 0; lane < model->lane_count; lane++) {
		size_t cell = lane * model->column_count + column;
		int64_t value = model->cells[quantity][cell];

		if (value != NP_UNKNOWN && is_outlier(quantity, (double)value, median, spread) &&
		    np_cluster_stage_at(cluster, model->lanes[lane].rank) == stage)
			model->outliers[cell] |= (uint8_t)(1U << quantity);
	}
}

/* Stages of a pipeline do other work, and are not compared with each other. */
static void mark_outliers(struct page_model *model, enum page_quantity quantity, double *room)
{
	int32_t stages = 0;

	for (size_t lane = 0; lane < model->lane_count; lane++) {
		int32_t stage =
			np_cluster_stage_at(model->analysis->cluster, model->lanes[lane].rank);

		stages = stage >= stages ? stage + 1 : stages;
	}
	for (int32_t stage = -1; stage < stages; stage++) {
		for (size_t column = 0; column < model->column_count; column++)
			mark_column(model, quantity, column, stage, room);
	}
}

static int find_outliers(struct page_model *model, struct np_err *err)
{
	double *room = malloc((model->lane_count + 1) * sizeof(*room));

	model->outliers = calloc(model->lane_count * model->column_count + 1, 1);
	if (!room || !model->outliers) {
		free(room);
		return np_fail_nomem(err, "the page");
	}
	for (size_t q = 0; q < PAGE_QUANTITIES; q++)
		mark_outliers(model, (enum page_quantity)q, room);
	free(room);
	return NP_OK;
}

/* --- leaves ---------------------------------------------------------------------------------- */

/* A leaf of the partition and what all lanes spent on it; where it is drawn. */
struct leaf_total {
	const char *leaf;
	np_ns ns;
	uint32_t as; /* index in page_model.leaves */
};

struct leaf_totals {
	NP_VEC(struct leaf_total) list;
};

static struct leaf_total *total_of(struct leaf_totals *totals, const char *leaf, struct np_err *err)
{
	struct leaf_total *total;

	/* The leaves of a partition are interned. */
	for (size_t i = 0; i < totals->list.count; i++) {
		if (totals->list.item[i].leaf == leaf)
			return &totals->list.item[i];
	}
	total = np_vec_add(&totals->list, err);
	if (total)
		total->leaf = leaf;
	return total;
}

/* Does this step of a lane enter its mean? */
static const struct np_partition_cell *cell_of(const struct page_model *model,
					       const struct page_lane *lane, size_t time)
{
	const struct np_analysis *analysis = model->analysis;
	const struct np_step_time *of = &analysis->run->ranks[lane->rank]->times.item[time];

	if (of->device != lane->device || np_step_length(of, analysis->spreads.basis) == NP_UNKNOWN)
		return NULL;
	return np_partition_of(&analysis->partition, lane->rank, time);
}

typedef int part_visitor(void *context, size_t lane, const struct np_part *part,
			 struct np_err *err);

static int visit_parts(struct page_model *model, part_visitor *visit, void *context,
		       struct np_err *err)
{
	const struct np_analysis *analysis = model->analysis;
	int rc = NP_OK;

	for (size_t lane = 0; lane < model->lane_count && rc == NP_OK; lane++) {
		size_t times = analysis->run->ranks[model->lanes[lane].rank]->times.count;

		model->part_steps[lane] = 0;
		for (size_t i = 0; i < times && rc == NP_OK; i++) {
			const struct np_partition_cell *cell =
				cell_of(model, &model->lanes[lane], i);

			model->part_steps[lane] += cell != NULL;
			for (size_t j = 0; cell && j < cell->count && rc == NP_OK; j++)
				rc = visit(context, lane,
					   &analysis->partition.parts.item[cell->first + j], err);
		}
	}
	return rc;
}

static int add_total(void *context, size_t lane, const struct np_part *part, struct np_err *err)
{
	struct leaf_total *total = total_of(context, part->leaf, err);

	(void)lane;
	if (!total)
		return NP_E_NOMEM;
	total->ns += part->ns;
	return NP_OK;
}

static int by_total(const void *left, const void *right)
{
	const struct leaf_total *a = left;
	const struct leaf_total *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->leaf, b->leaf);
}

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int add_leaf(struct page_model *model, const char *leaf, uint32_t *ret, struct np_err *err)
{
	char **name;

	for (size_t i = 0; i < model->leaves.count; i++) {
		if (strcmp(model->leaves.item[i], leaf) == 0) {
			*ret = (uint32_t)i;
			return NP_OK;
		}
	}
	name = np_vec_add(&model->leaves, err);
	if (!name)
		return NP_E_NOMEM;
	*name = strdup(leaf);
	if (!*name)
		return np_fail_nomem(err, "the page");
	*ret = (uint32_t)(model->leaves.count - 1);
	return NP_OK;
}

/* Of many types of kernels, and of many communicators, the longest have a leaf of their own. */
static int choose_leaves(struct page_model *model, struct leaf_totals *totals, struct np_err *err)
{
	static const char *const kinds[] = { "compute/", "comm/", "memcpy", "free/", "between/" };
	int rc = NP_OK;

	if (totals->list.count > 0)
		qsort(totals->list.item, totals->list.count, sizeof(*totals->list.item), by_total);
	for (size_t kind = 0; kind < NP_COUNT(kinds) && rc == NP_OK; kind++) {
		size_t most = kind == 0 ? PAGE_TYPES : kind == 1 ? 2 * PAGE_ROLES : SIZE_MAX;
		size_t seen = 0;

		for (size_t i = 0; i < totals->list.count && rc == NP_OK; i++) {
			struct leaf_total *each = &totals->list.item[i];
			const char *leaf = each->leaf;

			if (!begins(leaf, kinds[kind]))
				continue;
			if (seen++ >= most && kind == 0)
				leaf = "compute/(other types)";
			else if (seen > most)
				leaf = strstr(each->leaf, "/wait") ? "comm/(others)/wait"
								   : "comm/(others)/transfer";
			rc = add_leaf(model, leaf, &each->as, err);
		}
	}
	return rc;
}

struct part_sums {
	struct page_model *model;
	struct leaf_totals *totals;
};

static int add_part(void *context, size_t lane, const struct np_part *part, struct np_err *err)
{
	struct part_sums *sums = context;
	const struct leaf_total *total = total_of(sums->totals, part->leaf, err);

	if (!total)
		return NP_E_NOMEM;
	sums->model->parts[lane * sums->model->leaves.count + total->as] += part->ns;
	return NP_OK;
}

static int fill_parts(struct page_model *model, struct np_err *err)
{
	struct leaf_totals totals = { 0 };
	struct part_sums sums = { model, &totals };
	int rc;

	model->part_steps = calloc(model->lane_count + 1, sizeof(*model->part_steps));
	rc = model->part_steps ? visit_parts(model, add_total, &totals, err)
			       : np_fail_nomem(err, "the page");
	if (rc == NP_OK)
		rc = choose_leaves(model, &totals, err);
	if (rc == NP_OK) {
		model->parts =
			calloc(model->lane_count * model->leaves.count + 1, sizeof(*model->parts));
		rc = model->parts ? visit_parts(model, add_part, &sums, err)
				  : np_fail_nomem(err, "the page");
	}
	np_vec_release(&totals.list);
	return rc;
}

/* --- pairs ----------------------------------------------------------------------------------- */

/* The ranks with the largest sums, at most so many: their places in `ret`, by rank. */
struct top_ranks {
	np_ns *sums;     /* by index in the run */
	uint32_t *place; /* likewise; UINT32_MAX for those that are not among them */
	uint32_t ranks[PAGE_VICTIMS];
	size_t count;
};

static int find_top(const np_flow_list *flows, size_t ranks, size_t most, struct top_ranks *ret,
		    struct np_err *err)
{
	ret->sums = calloc(ranks + 1, sizeof(*ret->sums));
	ret->place = malloc((ranks + 1) * sizeof(*ret->place));
	if (!ret->sums || !ret->place)
		return np_fail_nomem(err, "the page");
	for (size_t i = 0; i < ranks; i++)
		ret->place[i] = UINT32_MAX;
	for (size_t i = 0; i < flows->count; i++) {
		if (flows->item[i].rank < ranks)
			ret->sums[flows->item[i].rank] += flows->item[i].ns;
	}
	while (ret->count < most) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < ranks; i++) {
			if (ret->place[i] == UINT32_MAX && ret->sums[i] > 0 &&
			    (best == UINT32_MAX || ret->sums[i] > ret->sums[best]))
				best = i;
		}
		if (best == UINT32_MAX)
			break;
		ret->place[best] = (uint32_t)ret->count;
		ret->ranks[ret->count++] = best;
	}
	return NP_OK;
}

/* What the waits of a communicator, [first, last), owe to one of its causes. */
static void add_pairs(const struct np_flow *cause, const struct np_flow *first,
		      const struct np_flow *last, const struct top_ranks *victims, double *row)
{
	double all = 0;

	/* Who is the cause waits for others. */
	for (const struct np_flow *each = first; each < last; each++)
		all += each->rank == cause->rank ? 0 : (double)each->ns;
	for (const struct np_flow *each = first; each < last && all > 0; each++) {
		uint32_t place = victims->place[each->rank];

		if (place != UINT32_MAX && each->rank != cause->rank)
			row[place] += (double)cause->ns * (double)each->ns / all;
	}
}

static int keep_pairs(struct page_model *model, const struct top_ranks *causes,
		      const struct top_ranks *victims, double (*sums)[PAGE_VICTIMS],
		      struct np_err *err)
{
	for (size_t i = 0; i < causes->count; i++) {
		for (size_t j = 0; j < victims->count; j++) {
			struct page_pair *pair;

			if (sums[i][j] < 1)
				continue;
			pair = np_vec_add(&model->pairs, err);
			if (!pair)
				return NP_E_NOMEM;
			*pair = (struct page_pair){ causes->ranks[i], victims->ranks[j],
						    llround(sums[i][j]) };
		}
	}
	return NP_OK;
}

static int find_pairs(struct page_model *model, struct np_err *err)
{
	const np_flow_list *causes = &model->flows.causes;
	const np_flow_list *waits = &model->flows.waits;
	size_t ranks = model->analysis->run->sources.count;
	double sums[PAGE_CAUSES][PAGE_VICTIMS] = { 0 };
	struct top_ranks top_causes = { 0 };
	struct top_ranks top_victims = { 0 };
	size_t first = 0;
	int rc = find_top(causes, ranks, PAGE_CAUSES, &top_causes, err);

	if (rc == NP_OK)
		rc = find_top(waits, ranks, PAGE_VICTIMS, &top_victims, err);
	for (size_t i = 0; i < causes->count && rc == NP_OK; i++) {
		const struct np_flow *cause = &causes->item[i];
		size_t last;

		while (first < waits->count && waits->item[first].of < cause->of)
			first++;
		for (last = first; last < waits->count && waits->item[last].of == cause->of;)
			last++;
		if (cause->rank < ranks && top_causes.place[cause->rank] != UINT32_MAX)
			add_pairs(cause, &waits->item[first], &waits->item[last], &top_victims,
				  sums[top_causes.place[cause->rank]]);
	}
	model->kept = calloc(ranks + 1, sizeof(*model->kept));
	if (rc == NP_OK && !model->kept)
		rc = np_fail_nomem(err, "the page");
	for (size_t i = 0; i < top_causes.count && rc == NP_OK; i++)
		model->kept[top_causes.ranks[i]] |= PAGE_CAUSE;
	for (size_t i = 0; i < top_victims.count && rc == NP_OK; i++)
		model->kept[top_victims.ranks[i]] |= PAGE_VICTIM;
	if (rc == NP_OK)
		rc = keep_pairs(model, &top_causes, &top_victims, sums, err);
	free(top_causes.sums);
	free(top_causes.place);
	free(top_victims.sums);
	free(top_victims.place);
	return rc;
}

/* --- repairs --------------------------------------------------------------------------------- */

/* The best repairs of single causes, and the step with every subset of them. */
static int try_subsets(struct page_model *model, size_t threads, struct np_err *err)
{
	const struct np_whatif *whatif = &model->analysis->whatif;
	const struct np_whatif_input input = np_analysis_repairs(model->analysis, threads);
	int rc = NP_OK;

	for (size_t i = 0; i < whatif->rows.count && model->fix_count < PAGE_REPAIRS; i++) {
		const struct np_whatif_row *row = &whatif->rows.item[i];

		/* These are no causes but bounds. */
		if (row->fix.kind == NP_FIX_ALL || row->fix.kind == NP_FIX_HIDE_COMM ||
		    row->saved <= 0)
			continue;
		model->subsets[1U << model->fix_count] = row->step;
		model->fixes[model->fix_count++] = row->fix;
	}
	model->subsets[0] = whatif->step;
	for (unsigned set = 1; set < 1U << model->fix_count && rc == NP_OK; set++) {
		struct np_fix fixes[PAGE_REPAIRS];
		size_t count = 0;

		for (unsigned i = 0; i < model->fix_count; i++) {
			if (set & 1U << i)
				fixes[count++] = model->fixes[i];
		}
		if (count > 1)
			rc = np_whatif_together(&input, fixes, count, &model->subsets[set], err);
	}
	return rc;
}

/* --- all ------------------------------------------------------------------------------------- */

int page_model_build(const struct np_analysis *analysis, const struct np_run_page_options *options,
		     struct page_model *ret, struct np_err *err)
{
	struct page_model model = { .analysis = analysis, .frequencies = options->frequencies };
	int rc = find_lanes(&model, err);

	find_columns(&model);
	if (rc == NP_OK)
		rc = np_flows_measure(analysis->cluster, analysis->align, &analysis->waits,
				      &analysis->charges, &analysis->causes, &model.flows, err);
	if (rc == NP_OK)
		rc = fill_cells(&model, err);
	if (rc == NP_OK)
		rc = find_outliers(&model, err);
	if (rc == NP_OK)
		rc = find_pairs(&model, err);
	if (rc == NP_OK)
		rc = fill_parts(&model, err);
	if (rc == NP_OK)
		rc = np_pipeline_strips(analysis->cluster, analysis->align, &analysis->waits,
					&analysis->pipeline, analysis->verdict.named, &model.strips,
					err);
	if (rc == NP_OK && analysis->replay)
		rc = try_subsets(&model, options->threads, err);
	if (rc == NP_OK)
		*ret = model;
	else
		page_model_release(&model);
	return rc;
}
