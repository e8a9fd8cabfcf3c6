/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <inttypes.h>

#include "npuprof/text.h"

struct np_cell syn_milliseconds(np_ns time)
{
	return np_cell_real((double)time / 1e6);
}

struct np_cell syn_megabytes(int64_t bytes)
{
	return np_cell_real((double)bytes / 1e6);
}

double syn_rate(int64_t bytes, np_ns time)
{
	return time > 0 ? np_round((double)bytes / 1e6 / ((double)time / 1e6), 4) : 0.0;
}

void syn_step_label(int64_t step, char *text, size_t size)
{
	if (step == NP_UNKNOWN)
		(void)snprintf(text, size, "step");
	else
		(void)snprintf(text, size, "step%" PRId64, step);
}

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
		}
		link->size += transfer->size;
		link->time_ns += transfer->time_ns;
	}
	return NP_OK;
}

static int same_row(const struct syn_link *a, const struct syn_link *b)
{
	int order = strcmp(a->op_class, b->op_class);

	if (order == 0)
		order = strcmp(a->group, b->group);
	if (order == 0)
		order = (a->src > b->src) - (a->src < b->src);
	if (order == 0)
		order = (a->dst > b->dst) - (a->dst < b->dst);
	return order;
}

/* Links together, the fastest operator first. */
static int by_link_and_rate(const void *a, const void *b)
{
	const struct syn_link *x = a;
	const struct syn_link *y = b;
	int order = same_row(x, y);
	double fast = syn_rate(x->size, x->time_ns);
	double slow = syn_rate(y->size, y->time_ns);

	if (order == 0)
		order = (fast < slow) - (fast > slow);
	return order ? order : strcmp(x->op_name, y->op_name);
}

static int put_link(struct np_db_insert *insert, const struct syn_link *link, const char *suffix,
		    const char *step, struct np_err *err)
{
	char name[48];
	char src[16];
	char dst[16];

	(void)snprintf(name, sizeof(name), "%s-%s", link->op_class, suffix);
	(void)snprintf(src, sizeof(src), "%d", link->src);
	(void)snprintf(dst, sizeof(dst), "%d", link->dst);
	const struct np_cell cells[] = {
		np_cell_text(name),
		np_cell_text(link->group),
		np_cell_text(src),
		np_cell_text(dst),
		np_cell_text(link->transport),
		syn_megabytes(link->size),
		syn_milliseconds(link->time_ns),
		np_cell_real(syn_rate(link->size, link->time_ns)),
		np_cell_text(step),
		np_cell_text(link->p2p ? "p2p" : "collective"),
		np_cell_text(link->op_name),
	};

	return np_db_insert_row(insert, cells, err);
}

/* The rows of one link: `count` operators, sorted. */
static int put_link_rows(struct np_db_insert *insert, const struct syn_link *links, size_t count,
			 const char *step, struct np_err *err)
{
	struct syn_link total = links[0];
	int rc = put_link(insert, &links[0], "top1", step, err);

	if (rc == NP_OK)
		rc = put_link(insert, &links[count / 2], "middle", step, err);
	if (rc == NP_OK)
		rc = put_link(insert, &links[count - 1], "bottom1", step, err);
	if (rc == NP_OK && count >= 2)
		rc = put_link(insert, &links[count - 2], "bottom2", step, err);
	if (rc == NP_OK && count >= 3)
		rc = put_link(insert, &links[count - 3], "bottom3", step, err);
	for (size_t i = 1; i < count; i++) {
		total.size += links[i].size;
		total.time_ns += links[i].time_ns;
	}
	total.op_name[0] = '\0';
	return rc == NP_OK ? put_link(insert, &total, "total", step, err) : rc;
}

int syn_matrix_write(struct syn_matrix *matrix, const struct syn_step_event *step,
		     struct np_db_insert *insert, struct np_err *err)
{
	struct syn_link *links = matrix->links.item;
	size_t count = matrix->links.count;
	char label_text[32];
	int rc = NP_OK;

	syn_step_label(step->id, label_text, sizeof(label_text));
	if (count > 0)
		qsort(links, count, sizeof(*links), by_link_and_rate);
	for (size_t i = 0; i < count && rc == NP_OK;) {
		size_t next = i + 1;

		while (next < count && same_row(&links[i], &links[next]) == 0)
			next++;
		rc = put_link_rows(insert, &links[i], next - i, label_text, err);
		i = next;
	}
	matrix->links.count = 0;
	return rc;
}

void syn_matrix_release(struct syn_matrix *matrix)
{
	np_vec_release(&matrix->links);
}
