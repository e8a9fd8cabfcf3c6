/* SPDX-License-Identifier: Apache-2.0 */
/* Operators are sorted by time and summed by communicator and step. */
#include "comm_steps.h"

/* qsort_r's context for sorting operators or their indexes. */
struct sorting {
	const struct np_comm_op *ops;
	const struct np_strtab *strings;
};

static int by_time(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	const struct np_comm_op *a = &sorting->ops[*(const uint32_t *)left];
	const struct np_comm_op *b = &sorting->ops[*(const uint32_t *)right];
	int order = np_order(a->start, b->start);

	if (!order)
		order = np_order(a->end, b->end);
	if (!order)
		order = np_order(a->group, b->group);
	if (!order)
		order = strcmp(np_strtab_text(sorting->strings, a->name),
			       np_strtab_text(sorting->strings, b->name));
	return order ? order : np_order(*(const uint32_t *)left, *(const uint32_t *)right);
}

static uint32_t *indexes(size_t count)
{
	uint32_t *index = malloc((count ? count : 1) * sizeof(*index));

	for (size_t i = 0; index && i < count; i++)
		index[i] = (uint32_t)i;
	return index;
}

static int by_op(const void *left, const void *right)
{
	const struct np_band *a = left;
	const struct np_band *b = right;
	int order = np_order(a->op, b->op);

	if (!order)
		order = np_order(a->type, b->type);
	return order ? order : np_order(b->package_bytes, a->package_bytes);
}

/* The vendor's times stand beside the operators. */
static int order_vendor_times(struct np_rank *rank, const uint32_t *order, struct np_err *err)
{
	size_t count = rank->ops.count;
	struct np_vendor_times *sorted;

	if (rank->vendor_times.count == 0)
		return NP_OK;
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return np_fail_nomem(err, "communication operators");
	for (size_t i = 0; i < count; i++)
		sorted[i] = np_rank_vendor_times(rank, order[i]);
	free(rank->vendor_times.item);
	rank->vendor_times.item = sorted;
	rank->vendor_times.count = count;
	rank->vendor_times.capacity = count;
	return NP_OK;
}

static int apply_order(struct np_rank *rank, const uint32_t *order, struct np_err *err)
{
	size_t count = rank->ops.count;
	struct np_comm_op *sorted = malloc(count * sizeof(*sorted));
	uint32_t *place = malloc(count * sizeof(*place));
	int rc = sorted && place ? order_vendor_times(rank, order, err)
				 : np_fail_nomem(err, "communication operators");

	if (rc < 0) {
		free(sorted);
		free(place);
		return rc;
	}
	for (size_t i = 0; i < count; i++) {
		sorted[i] = rank->ops.item[order[i]];
		place[order[i]] = (uint32_t)i;
	}
	for (size_t i = 0; i < rank->bands.count; i++)
		rank->bands.item[i].op = place[rank->bands.item[i].op];
	free(rank->ops.item);
	rank->ops.item = sorted;
	rank->ops.capacity = count;
	free(place);
	return NP_OK;
}

void np_load_sort_bands(struct np_rank *rank)
{
	if (rank->bands.count)
		qsort(rank->bands.item, rank->bands.count, sizeof(rank->bands.item[0]), by_op);
}

int np_load_sort_ops(struct np_rank *rank, const struct np_strtab *strings, uint32_t **ret_order,
		     struct np_err *err)
{
	struct sorting sorting = { .ops = rank->ops.item, .strings = strings };
	size_t count = rank->ops.count;
	uint32_t *order = indexes(count);
	int rc = NP_OK;

	if (!order)
		return np_fail_nomem(err, "communication operators");
	if (count) {
		qsort_r(order, count, sizeof(order[0]), by_time, &sorting);
		rc = apply_order(rank, order, err);
	}
	np_load_sort_bands(rank);
	if (rc == NP_OK && ret_order)
		*ret_order = NP_STEAL(order);
	free(order);
	return rc;
}

/* Operators outside every step come last: they are in no sum. */
static int by_communicator(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	uint32_t i = *(const uint32_t *)left;
	uint32_t j = *(const uint32_t *)right;
	const struct np_comm_op *a = &sorting->ops[i];
	const struct np_comm_op *b = &sorting->ops[j];
	int order = np_order(a->step == NP_NO_STEP, b->step == NP_NO_STEP);

	if (!order)
		order = np_order(a->group, b->group);
	if (!order)
		order = np_order(a->step, b->step);
	if (!order)
		order = np_order(a->device, b->device);
	return order ? order : np_order(i, j);
}

static bool same_sum(const struct np_comm_step *sum, const struct np_comm_op *op)
{
	return sum->group == op->group && sum->step == op->step && sum->device == op->device;
}

/* What the operator moved: the SDMA row sums all but RDMA, and rows of one transport repeat it. */
static void add_moved(const struct np_rank *rank, size_t *band, uint32_t op,
		      struct np_comm_step *sum)
{
	const struct np_band *bands = rank->bands.item;
	size_t i = *band;

	for (; i < rank->bands.count && bands[i].op == op; i++) {
		bool repeats = i > 0 && bands[i - 1].op == op && bands[i - 1].type == bands[i].type;

		if (repeats || (bands[i].type != NP_BAND_SDMA && bands[i].type != NP_BAND_RDMA))
			continue;
		sum->moved_bytes += bands[i].bytes;
		sum->moved_time += bands[i].time;
	}
	*band = i;
}

/* The first band of each operator; bands are sorted by operator. */
static size_t *band_starts(const struct np_rank *rank)
{
	size_t *starts = malloc((rank->ops.count + 1) * sizeof(*starts));
	size_t band = 0;

	for (size_t op = 0; starts && op <= rank->ops.count; op++) {
		while (band < rank->bands.count && rank->bands.item[band].op < op)
			band++;
		starts[op] = band;
	}
	return starts;
}

static int sum_ops(struct np_rank *rank, const uint32_t *order, size_t *bands, struct np_err *err)
{
	struct np_comm_step *sum = NULL;

	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[order[i]];

		if (op->step == NP_NO_STEP)
			break;
		if (!sum || !same_sum(sum, op)) {
			sum = np_vec_add(&rank->comm_steps, err);
			if (!sum)
				return NP_E_NOMEM;
			*sum = (struct np_comm_step){ .group = op->group,
						      .step = op->step,
						      .device = op->device,
						      .exposed = NP_UNKNOWN,
						      .overlapped = NP_UNKNOWN };
		}
		sum->ops++;
		sum->bytes = np_plus(sum->bytes, op->bytes);
		sum->elapsed += op->end - op->start;
		sum->transfer = np_plus(sum->transfer, np_rank_length(rank, op->transfer));
		add_moved(rank, &bands[order[i]], order[i], sum);
	}
	for (size_t i = 0; !rank->sizes_known && i < rank->comm_steps.count; i++) {
		rank->comm_steps.item[i].moved_bytes = NP_UNKNOWN;
		rank->comm_steps.item[i].moved_time = NP_UNKNOWN;
	}
	return NP_OK;
}

int np_load_comm_steps(struct np_rank *rank, struct np_err *err)
{
	struct sorting sorting = { .ops = rank->ops.item };
	uint32_t *order = indexes(rank->ops.count);
	size_t *bands = band_starts(rank);
	int rc = NP_OK;

	if (!order || !bands)
		rc = np_fail_nomem(err, "communicators");
	if (rc == NP_OK && rank->ops.count)
		qsort_r(order, rank->ops.count, sizeof(order[0]), by_communicator, &sorting);
	if (rc == NP_OK)
		rc = sum_ops(rank, order, bands, err);
	free(bands);
	free(order);
	return rc;
}
