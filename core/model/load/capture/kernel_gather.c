/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels are gathered with what launched them and summed by likeness and step. */
#include "kernel_gather.h"

#include "npuprof/steps.h"

#include <math.h>

int kernel_gather_begin(struct kernel_gather *gather)
{
	gather->keys = np_strtab_new();
	gather->launched = np_idmap_new();
	gather->framework_ops = np_idmap_new();
	if (!gather->keys || !gather->launched || !gather->framework_ops)
		return np_fail_nomem(gather->err, "kernels");
	return np_open_calls_init(&gather->open, gather->err);
}

void kernel_gather_end(struct kernel_gather *gather)
{
	np_vec_release(&gather->kernels);
	free(gather->computing);
	np_open_calls_release(&gather->open);
	np_vec_release(&gather->launches);
	np_idmap_free(gather->launched);
	np_idmap_free(gather->framework_ops);
	np_vec_release(&gather->likes);
	np_strtab_free(gather->keys);
	gather->keys = NULL;
}

/* --- likeness -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 32);
}

/* Ids of texts are small numbers, or such with a common offset. */
static size_t slot_of(const struct gather_texts *texts)
{
	uint64_t one = (uint64_t)texts->name + ((uint64_t)texts->in_shapes << 21) +
		       ((uint64_t)texts->type << 42);
	uint64_t other = (uint64_t)texts->core + ((uint64_t)texts->in_dtypes << 21) +
			 ((uint64_t)texts->in_formats << 42);

	return mix(one, other * UINT64_C(0x9e3779b97f4a7c15)) % GATHER_SLOTS;
}

static bool same_texts(const struct gather_texts *a, const struct gather_texts *b)
{
	return a->name == b->name && a->type == b->type && a->core == b->core &&
	       a->in_shapes == b->in_shapes && a->in_dtypes == b->in_dtypes &&
	       a->in_formats == b->in_formats;
}

/* Most kernels are like one before, which its slot remembers; the table knows all. */
int kernel_gather_likeness(struct kernel_gather *gather, const struct gather_texts *texts,
			   uint32_t *ret, struct np_kernel_sort **ret_new)
{
	struct gather_texts_slot *slot = &gather->slots[slot_of(texts)];
	np_str id;
	int rc;

	*ret_new = NULL;
	if (slot->likeness == 0 || !same_texts(&slot->texts, texts)) {
		rc = np_strtab_add(gather->keys, (const char *)texts, sizeof(*texts), &id,
				   gather->err);
		if (rc < 0)
			return rc;
		/* A key that is new has the number behind the last. */
		if (id > gather->likes.count) {
			*ret_new = np_vec_add(&gather->likes, gather->err);
			if (!*ret_new)
				return NP_E_NOMEM;
		}
		*slot = (struct gather_texts_slot){ *texts, id };
	}
	*ret = slot->likeness - 1;
	return NP_OK;
}

/* --- framework_ops
 * --------------------------------------------------------------------------------- */

/* Let `id` mean this launch, unless it means one that started later. */
static int mean(struct kernel_gather *gather, struct np_idmap *map, int64_t id, uint32_t launch)
{
	uint32_t known = np_idmap_get(map, id);

	if (known != NP_IDMAP_NONE &&
	    gather->launches.item[known].start > gather->launches.item[launch].start)
		return NP_OK;
	return np_idmap_set(map, id, launch, gather->err);
}

int kernel_gather_call(struct kernel_gather *gather, const struct gather_call *call)
{
	uint32_t framework_op = call->counts ? call->name << 1 | call->backward : UINT32_MAX;
	struct gather_launch *launch;
	int rc = np_open_calls_enter(&gather->open, call->tid, call->start, call->end, framework_op,
				     &framework_op, gather->err);

	if (rc < 0 || framework_op == UINT32_MAX || call->connections < 0)
		return rc;
	launch = np_vec_add(&gather->launches, gather->err);
	if (!launch)
		return NP_E_NOMEM;
	*launch = (struct gather_launch){ call->start, framework_op };
	return mean(gather, gather->launched, call->connections,
		    (uint32_t)(gather->launches.count - 1));
}

int kernel_gather_link(struct kernel_gather *gather, int64_t connections, int64_t connection)
{
	uint32_t launch = np_idmap_get(gather->launched, connections);

	return launch == NP_IDMAP_NONE ? NP_OK
				       : mean(gather, gather->framework_ops, connection, launch);
}

/* --- order ----------------------------------------------------------------------------------- */

struct gather_order {
	const struct kernel_gather *gather;
	const struct np_strtab *strings;
};

static int by_kernel(const void *left, const void *right, void *context)
{
	const struct gather_order *order = context;
	const struct gather_kernel *a = &order->gather->kernels.item[*(const uint32_t *)left];
	const struct gather_kernel *b = &order->gather->kernels.item[*(const uint32_t *)right];
	const struct np_kernel_sort *likes = order->gather->likes.item;

	if (a->start != b->start)
		return np_order(a->start, b->start);
	if (a->end != b->end)
		return np_order(a->end, b->end);
	if (a->stream != b->stream)
		return np_order(a->stream, b->stream);
	if (a->id != b->id)
		return np_order(a->id, b->id);
	return a->likeness == b->likeness
		       ? 0
		       : strcmp(np_strtab_text(order->strings, likes[a->likeness].name),
				np_strtab_text(order->strings, likes[b->likeness].name));
}

/*
 * 0, 1, 2 … sorted by `compare`; NULL when out of memory. Files are mostly in order
 * already, and looking is cheaper than sorting.
 */
static uint32_t *sorted_order(size_t count, int (*compare)(const void *, const void *, void *),
			      struct gather_order *context)
{
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	bool sorted = true;

	for (uint32_t i = 0; order && i < count; i++) {
		order[i] = i;
		sorted = sorted && (i == 0 || compare(&order[i - 1], &order[i], context) <= 0);
	}
	if (order && !sorted)
		qsort_r(order, count, sizeof(*order), compare, context);
	return order;
}

/* --- sums ------------------------------------------------------------------------------------ */

/* What distinguishes sorts. */
struct sort_key {
	uint32_t likeness;
	uint32_t framework_op; /* as of a gather_launch; UINT32_MAX for none */
	uint32_t cube;
};

struct sort_slot {
	struct sort_key key;
	uint32_t sort; /* + 1; 0: empty */
};

/* The sum that the last kernel of a sort was added to. */
struct last_sum {
	uint32_t cell;
	uint32_t sum;
};

struct reducer {
	struct kernel_gather *gather;
	const struct np_rank *rank;
	const int32_t *devices;
	struct np_kernel_sums *ret;
	struct np_strtab *keys;  /* struct sort_key as bytes → sorts + 1 */
	struct np_idmap *places; /* cell and sort → ret->sums */
	struct sort_slot slots[GATHER_SLOTS];
	NP_VEC(struct last_sum) last; /* by sort */
	NP_VEC(np_ns) until;          /* by cell: the end of what was there */
	uint32_t step;                /* of the last kernel, with its window */
	struct np_span window;
};

static bool same_key(const struct sort_key *a, const struct sort_key *b)
{
	return a->likeness == b->likeness && a->framework_op == b->framework_op &&
	       a->cube == b->cube;
}

static int add_sort(struct reducer *reducer, const struct sort_key *key)
{
	struct np_kernel_sort *sort = np_vec_add(&reducer->ret->sorts, reducer->gather->err);
	struct last_sum *last = np_vec_add(&reducer->last, reducer->gather->err);

	if (!sort || !last)
		return NP_E_NOMEM;
	last->cell = UINT32_MAX;
	*sort = reducer->gather->likes.item[key->likeness];
	sort->cube = (enum np_cube)key->cube;
	if (key->framework_op != UINT32_MAX) {
		sort->framework_op = key->framework_op >> 1;
		sort->framework_op_backward = key->framework_op & 1;
	}
	return NP_OK;
}

static int find_sort(struct reducer *reducer, const struct gather_kernel *kernel, uint32_t *ret)
{
	const struct kernel_gather *gather = reducer->gather;
	uint32_t launch = kernel->connection == NP_UNKNOWN
				  ? NP_IDMAP_NONE
				  : np_idmap_get(gather->framework_ops, kernel->connection);
	const struct sort_key key = { .likeness = kernel->likeness,
				      .framework_op =
					      launch == NP_IDMAP_NONE
						      ? UINT32_MAX
						      : gather->launches.item[launch].framework_op,
				      .cube = kernel->cube };
	uint64_t hash = mix(mix(key.likeness, key.framework_op), key.cube);
	struct sort_slot *slot = &reducer->slots[hash % GATHER_SLOTS];
	np_str id;
	int rc;

	if (slot->sort == 0 || !same_key(&slot->key, &key)) {
		rc = np_strtab_add(reducer->keys, (const char *)&key, sizeof(key), &id,
				   reducer->gather->err);
		if (rc == NP_OK && id > reducer->ret->sorts.count)
			rc = add_sort(reducer, &key);
		if (rc < 0)
			return rc;
		*slot = (struct sort_slot){ key, id };
	}
	*ret = slot->sort - 1;
	return NP_OK;
}

static int look_up_sum(struct reducer *reducer, const struct gather_kernel *kernel, uint32_t sort,
		       uint32_t cell, uint32_t *ret)
{
	int64_t id = (int64_t)cell << 32 | sort;
	struct np_kernel_sum *sum;

	*ret = np_idmap_get(reducer->places, id);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	sum = np_vec_add(&reducer->ret->sums, reducer->gather->err);
	if (!sum)
		return NP_E_NOMEM;
	*sum = (struct np_kernel_sum){ .sort = sort,
				       .step = reducer->rank->steps.item[reducer->step].id,
				       .device = reducer->devices[kernel->device],
				       .least = kernel->end - kernel->start };
	*ret = (uint32_t)(reducer->ret->sums.count - 1);
	return np_idmap_set(reducer->places, id, *ret, reducer->gather->err);
}

static int find_sum(struct reducer *reducer, const struct gather_kernel *kernel, uint32_t cell,
		    struct np_kernel_sum **ret)
{
	struct last_sum *last;
	uint32_t sort;
	int rc = find_sort(reducer, kernel, &sort);

	if (rc < 0)
		return rc;
	last = &reducer->last.item[sort];
	if (last->cell != cell) {
		rc = look_up_sum(reducer, kernel, sort, cell, &last->sum);
		last->cell = cell;
	}
	*ret = rc < 0 ? NULL : &reducer->ret->sums.item[last->sum];
	return rc;
}

/* When the kernels of a cell so far have ended. */
static np_ns *until_of(struct reducer *reducer, uint32_t cell)
{
	while (reducer->until.count <= cell) {
		np_ns *until = np_vec_add(&reducer->until, reducer->gather->err);

		if (!until)
			return NULL;
		*until = INT64_MIN;
	}
	return &reducer->until.item[cell];
}

/* Kernels come by start, so that most are of the step of the one before. */
static uint32_t step_of(struct reducer *reducer, np_ns start)
{
	const struct np_rank *rank = reducer->rank;

	if (start >= reducer->window.begin && start < reducer->window.end)
		return reducer->step;
	reducer->step = np_steps_find(rank->steps.item, rank->steps.count, start);
	reducer->window = (struct np_span){ 0, 0 };
	if (reducer->step != NP_NO_STEP)
		reducer->window = (struct np_span){ rank->steps.item[reducer->step].begin,
						    rank->steps.item[reducer->step].end };
	return reducer->step;
}

/* Of those that run at once the first has the time, and then the next. */
static int add_kernel(struct reducer *reducer, uint32_t index)
{
	const struct gather_kernel *kernel = &reducer->gather->kernels.item[index];
	uint32_t step = step_of(reducer, kernel->start);
	uint32_t cell = kernel->device * (uint32_t)reducer->rank->steps.count + step;
	np_ns time = kernel->end - kernel->start;
	struct np_kernel_sum *sum;
	np_ns *until;
	np_ns begin;
	int rc;

	if (step == NP_NO_STEP)
		return NP_OK;
	rc = find_sum(reducer, kernel, cell, &sum);
	until = rc < 0 ? NULL : until_of(reducer, cell);
	if (!until)
		return NP_E_NOMEM;
	begin = kernel->start > *until ? kernel->start : *until;
	sum->count++;
	sum->total += time;
	sum->owned += kernel->end > begin ? kernel->end - begin : 0;
	sum->least = time < sum->least ? time : sum->least;
	sum->most = time > sum->most ? time : sum->most;
	sum->computing += reducer->gather->computing ? reducer->gather->computing[index] : 0;
	*until = kernel->end > *until ? kernel->end : *until;
	return NP_OK;
}

static int sum_up(struct reducer *reducer, struct gather_order *context)
{
	const struct kernel_gather *gather = reducer->gather;
	uint32_t *order = sorted_order(gather->kernels.count, by_kernel, context);
	int rc = order ? NP_OK : np_fail_nomem(gather->err, "kernels");

	reducer->ret->chip = gather->chip;
	reducer->ret->mhz = gather->mhz_count == 0
				    ? NP_UNKNOWN
				    : llround((double)gather->mhz_sum / (double)gather->mhz_count);
	for (size_t i = 0; i < gather->kernels.count && rc == NP_OK; i++)
		rc = add_kernel(reducer, order[i]);
	free(order);
	return rc;
}

static int reduce(struct reducer *reducer, struct gather_order *context)
{
	reducer->ret = calloc(1, sizeof(*reducer->ret));
	reducer->keys = np_strtab_new();
	reducer->places = np_idmap_new();
	if (!reducer->ret || !reducer->keys || !reducer->places)
		return np_fail_nomem(reducer->gather->err, "kernels");
	return sum_up(reducer, context);
}

int kernel_gather_reduce(struct kernel_gather *gather, const struct np_strtab *strings,
			 const int32_t *devices, struct np_rank *rank)
{
	struct gather_order order = { gather, strings };
	struct reducer *reducer;
	int rc;

	if (!np_steps_have_windows(rank->steps.item, rank->steps.count))
		return NP_OK;
	reducer = calloc(1, sizeof(*reducer));
	if (!reducer)
		return np_fail_nomem(gather->err, "kernels");
	reducer->gather = gather;
	reducer->rank = rank;
	reducer->devices = devices;
	rc = reduce(reducer, &order);
	if (rc == NP_OK)
		rank->kernel_sums = NP_STEAL(reducer->ret);
	np_kernel_sums_free(reducer->ret);
	np_strtab_free(reducer->keys);
	np_idmap_free(reducer->places);
	np_vec_release(&reducer->last);
	np_vec_release(&reducer->until);
	free(reducer);
	return rc;
}
