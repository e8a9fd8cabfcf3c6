/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks side by side: who needs most, along which dimension, because of what. */
#include "mem_imbalance.h"

#include "npuprof/text.h"

struct imbalance_job {
	struct mem_imbalance *result;
	NP_VEC(const struct mem_rank *) ranks; /* one of each, by peak */
};

int64_t mem_imbalance_peak(const struct mem_imbalance *imbalance, const struct mem_rank *rank)
{
	return strcmp(imbalance->of, "reserved") == 0 ? rank->reserved.bytes
						      : rank->allocated.bytes;
}

bool mem_imbalance_matters(const struct mem_imbalance *imbalance)
{
	int64_t median;

	if (imbalance->count < 2)
		return false;
	median = mem_imbalance_peak(imbalance, imbalance->median);
	return (double)mem_imbalance_peak(imbalance, imbalance->most) >
	       (double)median * (1 + MEM_IMBALANCE_LEAST);
}

int64_t mem_rank_growth(const struct mem_rank *rank)
{
	int64_t growth = 0;

	for (size_t i = 0; i < rank->composition->leaks.count; i++)
		growth += (int64_t)rank->composition->leaks.item[i].per_occasion;
	for (size_t i = 0; growth == 0 && rank->component && i < rank->components.count; i++) {
		const struct mem_component *component = &rank->components.item[i];

		if (!component->module && strcmp(component->name, rank->component) == 0 &&
		    component->growth != NP_UNKNOWN && component->growth > 0)
			growth = component->growth;
	}
	return growth;
}

static bool is_same(const struct mem_rank *a, const struct mem_rank *b)
{
	if (a->rank == NP_UNKNOWN || b->rank == NP_UNKNOWN)
		return a == b;
	/* Roles of one rank have their own programs, or their own time. */
	if (a->role && b->role && strcmp(a->role, b->role) != 0)
		return false;
	return a->rank == b->rank && (a->source != b->source || a->device == b->device);
}

static bool is_better(const struct imbalance_job *job, const struct mem_rank *a,
		      const struct mem_rank *b)
{
	if (a->source != b->source)
		return a->source == MEM_SNAPSHOT;
	return mem_imbalance_peak(job->result, a) > mem_imbalance_peak(job->result, b);
}

static int choose(struct imbalance_job *job, const mem_ranks *all, struct np_err *err)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct mem_rank *rank = &all->item[i];
		const struct mem_rank **kept = NULL;

		if (mem_imbalance_peak(job->result, rank) == NP_UNKNOWN)
			continue;
		/* Ranks of a run are in order, so that the same one is near. */
		for (size_t j = job->ranks.count; j > 0 && !kept; j--) {
			if (is_same(job->ranks.item[j - 1], rank))
				kept = &job->ranks.item[j - 1];
		}
		if (kept) {
			*kept = is_better(job, rank, *kept) ? rank : *kept;
			continue;
		}
		kept = np_vec_add(&job->ranks, err);
		if (!kept)
			return NP_E_NOMEM;
		*kept = rank;
	}
	return NP_OK;
}

static _Thread_local const struct mem_imbalance *order_of;

static int order_ranks(const void *a, const void *b)
{
	const struct mem_rank *left = *(const struct mem_rank *const *)a;
	const struct mem_rank *right = *(const struct mem_rank *const *)b;
	int order =
		np_order(mem_imbalance_peak(order_of, left), mem_imbalance_peak(order_of, right));

	if (order == 0)
		order = -np_order(left->rank, right->rank);
	return order ? order : -strcmp(left->path, right->path);
}

/* --- dimensions --------------------------------------------------------------------------------
 */

static const char *const dimensions[] = { "stage", "role", "tp", "cp", "dp", "ep", "host" };

/* The value of a rank in a dimension, in `buf`; false: not known. */
static bool value_of(const struct mem_rank *rank, const char *what, struct np_buf *buf)
{
	const struct {
		const char *name;
		int32_t place;
	} places[] = { { "stage", rank->place.pp },
		       { "tp", rank->place.tp },
		       { "cp", rank->place.cp },
		       { "dp", rank->place.dp },
		       { "ep", rank->place.ep } };
	const char *text = strcmp(what, "role") == 0 ? rank->role : NULL;

	if (strcmp(what, "host") == 0)
		text = rank->host;
	if (text)
		np_buf_add(buf, text);
	for (size_t i = 0; i < NP_COUNT(places); i++) {
		if (strcmp(what, places[i].name) != 0 || places[i].place < 0)
			continue;
		np_buf_printf(buf, "%d", places[i].place);
		return true;
	}
	return text != NULL;
}

static struct mem_part *get_part(struct mem_dimension *dimension, const char *value,
				 struct np_err *err)
{
	struct mem_part *part;

	for (size_t i = 0; i < dimension->parts.count; i++) {
		if (strcmp(dimension->parts.item[i].value, value) == 0)
			return &dimension->parts.item[i];
	}
	part = np_vec_add(&dimension->parts, err);
	if (!part)
		return NULL;
	*part = (struct mem_part){ .value = strdup(value), .least = INT64_MAX, .most = -1 };
	if (part->value)
		return part;
	(void)np_fail_nomem(err, "a part of the ranks");
	return NULL;
}

static void release_dimension(struct mem_dimension *dimension)
{
	for (size_t i = 0; i < dimension->parts.count; i++)
		free(dimension->parts.item[i].value);
	np_vec_release(&dimension->parts);
}

static int order_parts(const void *a, const void *b)
{
	const struct mem_part *left = a;
	const struct mem_part *right = b;
	int64_t number_a;
	int64_t number_b;

	if (np_text_to_int(left->value, strlen(left->value), &number_a) &&
	    np_text_to_int(right->value, strlen(right->value), &number_b))
		return np_order(number_a, number_b);
	return strcmp(left->value, right->value);
}

/* Σ of squares around the means of the parts, against that around the mean of all. */
static void measure_dimension(const struct imbalance_job *job, struct mem_dimension *dimension,
			      const double *sums)
{
	double sum = 0;
	double all = 0;
	double within = 0;
	double mean;

	for (size_t i = 0; i < dimension->parts.count; i++) {
		struct mem_part *part = &dimension->parts.item[i];

		part->mean = (int64_t)(sums[i] / (double)part->ranks);
		sum += sums[i];
	}
	mean = sum / (double)job->ranks.count;
	for (size_t i = 0; i < job->ranks.count; i++) {
		const struct mem_rank *rank = job->ranks.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf value = NP_BUF_INIT;
		double peak = (double)mem_imbalance_peak(job->result, rank);

		(void)value_of(rank, dimension->what, &value);
		all += (peak - mean) * (peak - mean);
		for (size_t j = 0; j < dimension->parts.count; j++) {
			double own = (double)dimension->parts.item[j].mean;

			if (strcmp(dimension->parts.item[j].value, value.text) == 0)
				within += (peak - own) * (peak - own);
		}
	}
	dimension->explained = all > 0 ? 1 - within / all : 0;
	/* Parts of any kind explain some: as much as chance would is taken off. */
	if (all > 0 && job->ranks.count > dimension->parts.count)
		dimension->explained =
			1 - within / (double)(job->ranks.count - dimension->parts.count) /
				    (all / (double)(job->ranks.count - 1));
	if (dimension->explained < 0)
		dimension->explained = 0;
}

/* *ret_any: at least two values, each rank has one, and some value has several ranks. */
static int fill_dimension(const struct imbalance_job *job, struct mem_dimension *dimension,
			  bool *ret_any, struct np_err *err)
{
	double *sums = calloc(job->ranks.count, sizeof(*sums));
	bool known = sums != NULL;
	int rc = sums ? NP_OK : np_fail_nomem(err, "parts of the ranks");

	for (size_t i = 0; rc == NP_OK && known && i < job->ranks.count; i++) {
		const struct mem_rank *rank = job->ranks.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf value = NP_BUF_INIT;
		int64_t peak = mem_imbalance_peak(job->result, rank);
		struct mem_part *part;

		known = value_of(rank, dimension->what, &value);
		if (!known)
			break;
		part = get_part(dimension, value.text, err);
		if (!part) {
			rc = NP_E_NOMEM;
			break;
		}
		part->ranks++;
		part->least = peak < part->least ? peak : part->least;
		part->most_rank = peak >= part->most ? rank->rank : part->most_rank;
		part->most = peak > part->most ? peak : part->most;
		sums[part - dimension->parts.item] += (double)peak;
	}
	*ret_any = rc == NP_OK && known && dimension->parts.count > 1;
	if (*ret_any)
		measure_dimension(job, dimension, sums);
	free(sums);
	return rc;
}

/* Where every rank is a part of its own anything is explained: that says nothing, unless the
 * stages are all there is. */
static bool may_name(const struct imbalance_job *job, const struct mem_dimension *dimension)
{
	return dimension->parts.count < job->ranks.count || strcmp(dimension->what, "stage") == 0;
}

static int find_dimensions(struct imbalance_job *job, struct np_err *err)
{
	struct mem_imbalance *result = job->result;

	for (size_t i = 0; i < NP_COUNT(dimensions); i++) {
		struct mem_dimension dimension = { .what = dimensions[i] };
		struct mem_dimension *added = NULL;
		bool any = false;
		int rc = fill_dimension(job, &dimension, &any, err);

		if (any) {
			qsort(dimension.parts.item, dimension.parts.count,
			      sizeof(dimension.parts.item[0]), order_parts);
			added = np_vec_add(&result->dimensions, err);
			rc = added ? NP_OK : NP_E_NOMEM;
		}
		if (!added)
			release_dimension(&dimension);
		if (rc < 0)
			return rc;
		if (added)
			*added = dimension;
	}
	for (size_t i = 0; i < result->dimensions.count; i++) {
		const struct mem_dimension *dimension = &result->dimensions.item[i];

		if (dimension->explained >= MEM_EXPLAINED_LEAST && may_name(job, dimension) &&
		    (!result->along || dimension->explained > result->along->explained + 0.01))
			result->along = dimension;
	}
	return NP_OK;
}

/* --- who runs out, and what would help ----------------------------------------------------------
 */

static void find_first_out(const struct imbalance_job *job)
{
	struct mem_imbalance *result = job->result;

	result->headroom = result->steps_left = NP_UNKNOWN;
	for (size_t i = 0; i < job->ranks.count; i++) {
		const struct mem_rank *rank = job->ranks.item[i];
		int64_t growth = mem_rank_growth(rank);
		int64_t headroom = NP_UNKNOWN;
		int64_t steps = NP_UNKNOWN;

		if (rank->limit != NP_UNKNOWN && rank->reserved.bytes != NP_UNKNOWN) {
			headroom = rank->limit - rank->reserved.bytes;
			if (rank->outside != NP_UNKNOWN)
				headroom -= rank->outside;
			steps = growth > 0 && headroom > 0 ? headroom / growth : NP_UNKNOWN;
		}
		/* Fewer steps, else less headroom, else the higher peak, by which they are sorted.
		 */
		if (result->first_out && (steps == NP_UNKNOWN ? result->steps_left != NP_UNKNOWN
							      : result->steps_left != NP_UNKNOWN &&
									result->steps_left < steps))
			continue;
		if (result->first_out && steps == NP_UNKNOWN && headroom != NP_UNKNOWN &&
		    result->headroom != NP_UNKNOWN && result->headroom < headroom)
			continue;
		result->first_out = rank;
		result->growth = growth;
		result->headroom = headroom;
		result->steps_left = steps;
	}
}

static void find_even(const struct imbalance_job *job)
{
	struct mem_imbalance *result = job->result;
	const struct mem_dimension *along = result->along;
	size_t count = along ? along->parts.count : job->ranks.count;
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)(along ? along->parts.item[i].most
				      : mem_imbalance_peak(result, job->ranks.item[i]));
	result->even_peak = (int64_t)(sum / (double)count);
	result->even_gain = mem_imbalance_peak(result, result->most) - result->even_peak;
}

static int compare_ranks(struct imbalance_job *job, struct np_err *err)
{
	struct mem_imbalance *result = job->result;
	size_t count = job->ranks.count;
	int rc;

	result->count = count;
	if (count == 0)
		return NP_OK;
	order_of = result;
	qsort(job->ranks.item, count, sizeof(job->ranks.item[0]), order_ranks);
	result->least = job->ranks.item[0];
	result->median = job->ranks.item[(count - 1) / 2];
	result->most = job->ranks.item[count - 1];
	find_first_out(job);
	if (count < 2)
		return NP_OK;
	rc = find_dimensions(job, err);
	if (rc == NP_OK)
		rc = mem_differences_find(result->most, result->median, &result->differences, err);
	find_even(job);
	return rc;
}

int mem_imbalance_new(const mem_ranks *ranks, struct mem_imbalance **ret, struct np_err *err)
{
	struct mem_imbalance *result = calloc(1, sizeof(*result));
	struct imbalance_job job = { .result = result };
	int rc;

	if (!result)
		return np_fail_nomem(err, "ranks side by side");
	result->of = "reserved";
	for (size_t i = 0; i < ranks->count; i++) {
		if (ranks->item[i].reserved.bytes == NP_UNKNOWN &&
		    ranks->item[i].allocated.bytes != NP_UNKNOWN)
			result->of = "allocated";
	}
	rc = choose(&job, ranks, err);
	if (rc == NP_OK)
		rc = compare_ranks(&job, err);
	np_vec_release(&job.ranks);
	if (rc == NP_OK)
		*ret = result;
	else
		mem_imbalance_free(result);
	return rc;
}

void mem_imbalance_free(struct mem_imbalance *imbalance)
{
	if (!imbalance)
		return;
	for (size_t i = 0; i < imbalance->dimensions.count; i++)
		release_dimension(&imbalance->dimensions.item[i]);
	np_vec_release(&imbalance->dimensions);
	mem_differences_release(&imbalance->differences);
	free(imbalance);
}
