/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the communication matrix of a rank by the vendor's rules (matrix.h). */
#include "matrix.h"

#include <inttypes.h>

const char *const syn_pick_names[] = { "top1", "middle", "bottom1", "bottom2", "bottom3", "total" };

/* The word the vendor finds in the operator's name; reduceScatter is taken for a reduce. */
static const char *matrix_class(enum syn_op op)
{
	static const char *const names[] = {
		[SYN_ALL_REDUCE] = "allreduce",
		[SYN_REDUCE_SCATTER] = "reduce",
		[SYN_ALL_GATHER] = "allgather",
		[SYN_ALL_TO_ALL_V] = "alltoall",
		[SYN_SEND] = "send",
		[SYN_RECEIVE] = "receive",
		[SYN_BATCH_SEND_RECV] = "batchsendrecv",
		[SYN_BROADCAST] = "broadcast",
		[SYN_REDUCE_TO_ROOT] = "reduce",
		[SYN_SCATTER] = "scatter",
		[SYN_ALL_TO_ALL] = "alltoall",
		[SYN_OTHER_OP] = "invalid",
	};

	return names[op];
}

int syn_matrix_note(struct syn_matrix *matrix, const struct syn_comm_event *comm,
		    const struct syn_transfers *transfers, struct np_err *err)
{
	size_t first = matrix->links.count;

	for (size_t i = 0; i < transfers->all.count; i++) {
		const struct syn_transfer *transfer = &transfers->all.item[i];
		struct syn_link *link = NULL;

		for (size_t k = first; k < matrix->links.count && !link; k++) {
			struct syn_link *one = &matrix->links.item[k];

			if (one->src == transfer->src && one->dst == transfer->dst)
				link = one;
		}
		if (!link) {
			link = np_vec_add(&matrix->links, err);
			if (!link)
				return NP_E_NOMEM;
			link->op_class = matrix_class(comm->op);
			link->transport = transfer->local  ? "LOCAL"
					  : transfer->rdma ? "RDMA"
							   : "HCCS";
			(void)snprintf(link->op_name, sizeof(link->op_name), "%s", comm->name);
			(void)snprintf(link->group, sizeof(link->group), "%" PRIu64,
				       comm->group->hash);
			link->p2p = syn_op_is_p2p(comm->op);
			link->src = transfer->src;
			link->dst = transfer->dst;
			link->number = matrix->links.count;
		}
		link->size += transfer->size;
		link->time_ns += transfer->time_ns;
	}
	return NP_OK;
}

static int compare_classes(const struct syn_link *a, const struct syn_link *b)
{
	int order = strcmp(a->op_class, b->op_class);

	return order ? order : strcmp(a->group, b->group);
}

static int compare_links(const struct syn_link *a, const struct syn_link *b)
{
	int order = compare_classes(a, b);

	if (order == 0)
		order = (a->src > b->src) - (a->src < b->src);
	if (order == 0)
		order = (a->dst > b->dst) - (a->dst < b->dst);
	return order;
}

static int by_link_and_rate(const void *a, const void *b)
{
	const struct syn_link *x = a;
	const struct syn_link *y = b;
	int order = compare_links(x, y);
	double fast = syn_rate(x->size, x->time_ns);
	double slow = syn_rate(y->size, y->time_ns);

	if (order == 0)
		order = (fast < slow) - (fast > slow);
	/* As the vendor's sort, which leaves equal ones in their order. */
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

void syn_matrix_sort(struct syn_matrix *matrix)
{
	if (matrix->links.count > 0)
		qsort(matrix->links.item, matrix->links.count, sizeof(struct syn_link),
		      by_link_and_rate);
}

static size_t end_of(const struct syn_matrix *matrix, size_t first,
		     int (*compare)(const struct syn_link *, const struct syn_link *))
{
	const struct syn_link *links = matrix->links.item;
	size_t end = first + 1;

	while (end < matrix->links.count && compare(&links[first], &links[end]) == 0)
		end++;
	return end;
}

size_t syn_matrix_link_end(const struct syn_matrix *matrix, size_t first)
{
	return end_of(matrix, first, compare_links);
}

size_t syn_matrix_class_end(const struct syn_matrix *matrix, size_t first)
{
	return end_of(matrix, first, compare_classes);
}

static struct syn_link total_of(const struct syn_link *links, size_t count)
{
	struct syn_link total = links[0];

	for (size_t i = 1; i < count; i++) {
		total.size += links[i].size;
		total.time_ns += links[i].time_ns;
	}
	total.op_name[0] = '\0';
	return total;
}

bool syn_matrix_pick(const struct syn_matrix *matrix, size_t first, size_t end, enum syn_pick pick,
		     struct syn_link *ret)
{
	const struct syn_link *links = &matrix->links.item[first];
	size_t count = end - first;
	size_t from_end = pick >= SYN_PICK_BOTTOM1 ? (size_t)(pick - SYN_PICK_BOTTOM1) + 1 : 1;

	switch (pick) {
	case SYN_PICK_TOP1:
		*ret = links[0];
		return true;
	case SYN_PICK_MIDDLE:
		*ret = links[count / 2];
		return true;
	case SYN_PICK_BOTTOM1:
	case SYN_PICK_BOTTOM2:
	case SYN_PICK_BOTTOM3:
		if (count >= from_end)
			*ret = links[count - from_end];
		return count >= from_end;
	case SYN_PICK_TOTAL:
	case SYN_PICKS:
		break;
	}
	*ret = total_of(links, count);
	return true;
}

void syn_matrix_release(struct syn_matrix *matrix)
{
	np_vec_release(&matrix->links);
}
