/* SPDX-License-Identifier: Apache-2.0 */
/* Sums what went over each link of a communicator, by class of operator and step. */
#include "comm_links.h"

#include "npuprof/comm_tasks.h"
#include "npuprof/text.h"

/* What one operator moved over one link; later also what the link is sorted by. */
struct op_link {
	uint32_t op;
	int32_t src;
	int32_t dst;
	const char *transport;
	int64_t bytes;
	np_ns time;
	/*
	 * The same as the vendor sums them, task by task in doubles. It sorts quotients that it
	 * has rounded to four digits, so that where they are small their last bit decides: 8
	 * bytes in 1280 ns, exactly 0.00625 GB/s, are 0.0062, and 0.0063 if two tasks of 60 and
	 * 1220 ns moved them.
	 */
	double mb;
	double ms;
	/* Set by describe(): */
	uint32_t group;
	uint32_t step;
	np_str op_class;
	const char *class_text;
	double gb_per_s;
};

struct np_op_links {
	NP_VEC(struct op_link) list;
	size_t op_begin; /* where the links of the last operator begin */
};

struct np_op_links *np_op_links_new(void)
{
	return calloc(1, sizeof(struct np_op_links));
}

void np_op_links_free(struct np_op_links *links)
{
	if (!links)
		return;
	np_vec_release(&links->list);
	free(links);
}

const char *np_link_label(uint16_t link)
{
	switch (link) {
	case NP_LINK_ON_CHIP:
		return "LOCAL";
	case NP_LINK_HCCS:
	case NP_LINK_HCCS_SW:
		return "HCCS";
	case NP_LINK_PCIE:
		return "PCIE";
	case NP_LINK_ROCE:
		return "ROCE";
	case NP_LINK_SIO:
		return "SIO";
	case NP_LINK_STANDARD_ROCE:
		return "STANDARD_ROCE";
	case NP_LINK_UB:
		return "UB";
	case NP_LINK_UBOE:
		return "UBoE";
	default:
		return "SDMA";
	}
}

int np_op_links_add(struct np_op_links *links, uint32_t op, int32_t src, int32_t dst,
		    const char *transport, int64_t bytes, np_ns time, struct np_err *err)
{
	struct op_link *link;

	/* Of unknown size it would only make the link look slow. */
	if (src == NP_NO_PEER || bytes == NP_UNKNOWN || bytes <= 0)
		return NP_OK;
	if (dst == NP_NO_PEER)
		dst = src;
	if (links->list.count > 0 && links->list.item[links->list.count - 1].op != op)
		links->op_begin = links->list.count;
	/* An operator has few links: one for each of its peers. */
	for (size_t i = links->op_begin; i < links->list.count; i++) {
		link = &links->list.item[i];
		if (link->src == src && link->dst == dst && link->transport == transport) {
			link->bytes += bytes;
			link->time += time;
			link->mb += (double)bytes / 1e6;
			link->ms += (double)time / 1e6;
			return NP_OK;
		}
	}
	link = np_vec_add(&links->list, err);
	if (!link)
		return NP_E_NOMEM;
	*link = (struct op_link){ .op = op,
				  .src = src,
				  .dst = dst,
				  .transport = transport,
				  .bytes = bytes,
				  .time = time,
				  .mb = (double)bytes / 1e6,
				  .ms = (double)time / 1e6 };
	return NP_OK;
}

/* Order of the links to which operators are summed. */
static int by_link(const struct op_link *a, const struct op_link *b)
{
	int order;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->op_class != b->op_class) {
		order = strcmp(a->class_text, b->class_text);
		if (order)
			return order;
	}
	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	return a->transport == b->transport ? 0 : strcmp(a->transport, b->transport);
}

static int by_link_and_bandwidth(const void *left, const void *right)
{
	const struct op_link *a = left;
	const struct op_link *b = right;
	int order = by_link(a, b);

	if (order)
		return order;
	if (a->gb_per_s > b->gb_per_s || a->gb_per_s < b->gb_per_s)
		return a->gb_per_s > b->gb_per_s ? -1 : 1;
	return a->op < b->op ? -1 : a->op > b->op;
}

static int set_class(struct op_link *link, const struct np_comm_op *op, struct np_strtab *strings,
		     struct np_err *err)
{
	char text[64];
	size_t length = np_op_class(np_strtab_text(strings, op->name), text, sizeof(text));
	int rc = np_strtab_add(strings, text, length, &link->op_class, err);

	if (rc == NP_OK)
		link->class_text = np_strtab_text(strings, link->op_class);
	return rc;
}

/* `before` is the link before it, mostly of the same operator; NULL for none. */
static int describe(struct op_link *link, const struct op_link *before, const struct np_rank *rank,
		    struct np_strtab *strings, struct np_err *err)
{
	const struct np_comm_op *op = &rank->ops.item[link->op];
	int rc = NP_OK;

	if (before && before->op == link->op) {
		link->op_class = before->op_class;
		link->class_text = before->class_text;
	} else {
		rc = set_class(link, op, strings, err);
	}
	if (rc < 0)
		return rc;
	link->group = op->group;
	/* The vendor, whose picks these are, does not know iterations that were found. */
	link->step = np_steps_are_ours(rank->steps_from) ? 0 : op->step;
	link->gb_per_s = link->time > 0 ? np_round(link->mb / link->ms, 4) : 0;
	return NP_OK;
}

static int add_pick(struct np_rank *rank, const struct op_link *link, enum np_link_pick pick,
		    np_str transport, struct np_err *err)
{
	const struct np_comm_op *op = &rank->ops.item[link->op];
	struct np_link *row = np_vec_add(&rank->links, err);

	if (!row)
		return NP_E_NOMEM;
	*row = (struct np_link){ .group = link->group,
				 .step = link->step,
				 .op_class = link->op_class,
				 .pick = pick,
				 .src = link->src,
				 .dst = link->dst,
				 .transport = transport,
				 .bytes = link->bytes,
				 .time = link->time,
				 .op_name = pick == NP_LINK_TOTAL ? NP_STR_NONE : op->name,
				 .p2p = op->p2p };
	return NP_OK;
}

/* The picks of one link: its operators sorted from the best bandwidth to the worst. */
static int pick_link(struct np_rank *rank, const struct op_link *ops, size_t count,
		     struct np_strtab *strings, struct np_err *err)
{
	const size_t at[] = { [NP_LINK_TOP1] = 0,
			      [NP_LINK_MIDDLE] = count / 2,
			      [NP_LINK_BOTTOM1] = count - 1,
			      [NP_LINK_BOTTOM2] = count - 2,
			      [NP_LINK_BOTTOM3] = count - 3 };
	struct op_link total = ops[0];
	np_str transport;
	int rc = np_strtab_add(strings, ops->transport, strlen(ops->transport), &transport, err);

	for (size_t i = 0; i < NP_COUNT(at) && rc == NP_OK; i++) {
		/* The third from the end exists from three operators on. */
		if (at[i] < count)
			rc = add_pick(rank, &ops[at[i]], (enum np_link_pick)i, transport, err);
	}
	for (size_t i = 1; i < count; i++) {
		total.bytes += ops[i].bytes;
		total.time += ops[i].time;
	}
	return rc < 0 ? rc : add_pick(rank, &total, NP_LINK_TOTAL, transport, err);
}

int np_op_links_pick(struct np_op_links *links, struct np_rank *rank, struct np_strtab *strings,
		     struct np_err *err)
{
	struct op_link *list = links->list.item;
	size_t count = links->list.count;
	int rc;

	for (size_t i = 0; i < count; i++) {
		rc = describe(&list[i], i > 0 ? &list[i - 1] : NULL, rank, strings, err);
		if (rc < 0)
			return rc;
	}
	if (count)
		qsort(list, count, sizeof(list[0]), by_link_and_bandwidth);
	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && by_link(&list[from], &list[to]) == 0)
			to++;
		rc = pick_link(rank, &list[from], to - from, strings, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}
