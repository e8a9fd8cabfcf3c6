/* SPDX-License-Identifier: Apache-2.0 */
#include "links_private.h"

#include "npuprof/robust.h"

const char *np_link_verdict_name(enum np_link_verdict verdict)
{
	static const char *const names[] = {
		[NP_LINK_UNKNOWN] = "unknown", [NP_LINK_OK] = "ok", [NP_LINK_SLOW] = "slow"
	};

	return names[verdict];
}

const char *np_link_fault_name(enum np_link_fault fault)
{
	static const char *const names[] = { [NP_FAULT_NONE] = NULL,
					     [NP_FAULT_LINK] = "link",
					     [NP_FAULT_SENDER] = "sender",
					     [NP_FAULT_RECEIVER] = "receiver",
					     [NP_FAULT_PLANE] = "plane" };

	return names[fault];
}

double np_link_gb_per_s(const struct np_link_speed *link)
{
	return np_gb_per_s(link->bytes, link->time);
}

double np_link_peers_gb_per_s(const struct np_link_speed *link)
{
	return np_gb_per_s(link->bytes, link->expected);
}

void np_links_release(struct np_links *links)
{
	np_vec_release(&links->list);
	links->slow = 0;
}

static np_ns lost(const struct np_link_speed *link)
{
	return link->expected == NP_UNKNOWN ? 0 : link->time - link->expected;
}

const struct np_link_speed *np_links_worst(const struct np_links *links)
{
	const struct np_link_speed *worst = NULL;

	for (size_t i = 0; i < links->list.count; i++) {
		const struct np_link_speed *link = &links->list.item[i];

		if (link->verdict == NP_LINK_SLOW && (!worst || lost(link) > lost(worst)))
			worst = link;
	}
	return worst;
}

/* --- gathering ------------------------------------------------------------------------------- */

static int add_transfer(const struct np_cluster *cluster, const struct np_rank *rank,
			const struct np_transfer *transfer, struct link_cells *cells,
			struct np_err *err)
{
	const struct np_communicator *communicator =
		np_cluster_communicator(cluster, rank->groups.item[transfer->group].hash);
	struct link_cell *cell;

	if (!communicator)
		return NP_OK;
	cell = np_vec_add(&cells->list, err);
	if (!cell)
		return NP_E_NOMEM;
	*cell = (struct link_cell){
		.src = np_communicator_rank(communicator, transfer->src),
		.dst = np_communicator_rank(communicator, transfer->dst),
		.plane = transfer->plane,
		.transport_text = np_strtab_text(cluster->run->strings, transfer->transport),
		.cohort = { .transport = transfer->transport,
			    .concurrency = transfer->concurrency,
			    .p2p = transfer->p2p,
			    .reduces = transfer->reduces },
		.size_class = transfer->size_class,
		.bytes = transfer->middle_bytes,
		.time = transfer->middle_time,
		.all_bytes = transfer->bytes,
		.all_time = transfer->time,
		.troubled = transfer->troubled,
	};
	return NP_OK;
}

/* A sum over a class of operators, where nothing finer was recorded. */
static int add_total(const struct np_cluster *cluster, const struct np_rank *rank,
		     const struct np_link *link, struct link_cells *cells, struct np_err *err)
{
	const struct np_communicator *communicator =
		np_cluster_communicator(cluster, rank->groups.item[link->group].hash);
	struct link_cell *cell;

	if (!communicator || link->pick != NP_LINK_TOTAL || link->src == link->dst ||
	    link->bytes <= 0 || link->time <= 0)
		return NP_OK;
	cell = np_vec_add(&cells->list, err);
	if (!cell)
		return NP_E_NOMEM;
	*cell = (struct link_cell){
		.src = np_communicator_rank(communicator, link->src),
		.dst = np_communicator_rank(communicator, link->dst),
		.plane = NP_UNKNOWN,
		.transport_text = np_strtab_text(cluster->run->strings, link->transport),
		.cohort = { .transport = link->transport,
			    .op_class = link->op_class,
			    .p2p = link->p2p },
		.size_class = np_transfer_class(link->bytes),
		.bytes = link->bytes,
		.time = link->time,
		.all_bytes = link->bytes,
		.all_time = link->time,
	};
	return NP_OK;
}

static int gather(const struct np_cluster *cluster, struct link_cells *cells, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		if (!rank)
			continue;
		for (size_t j = 0; j < rank->transfers.count && rc == NP_OK; j++)
			rc = add_transfer(cluster, rank, &rank->transfers.item[j], cells, err);
		for (size_t j = 0; j < rank->links.count && rank->transfers.count == 0; j++) {
			if (rc == NP_OK)
				rc = add_total(cluster, rank, &rank->links.item[j], cells, err);
		}
	}
	return rc;
}

/* --- links ----------------------------------------------------------------------------------- */

static int by_link(const struct link_cell *a, const struct link_cell *b)
{
	int order = np_order(a->src, b->src);

	if (!order)
		order = np_order(a->dst, b->dst);
	if (!order)
		order = strcmp(a->transport_text, b->transport_text);
	return order ? order : np_order(a->plane, b->plane);
}

static int by_link_cell(const void *left, const void *right)
{
	return by_link(left, right);
}

static int add_link(struct np_links *links, const struct link_cell *cell, struct np_err *err)
{
	struct np_link_speed *link = np_vec_add(&links->list, err);

	if (!link)
		return NP_E_NOMEM;
	*link = (struct np_link_speed){ .src = cell->src,
					.dst = cell->dst,
					.transport = cell->cohort.transport,
					.plane = cell->plane,
					.expected = NP_UNKNOWN };
	return NP_OK;
}

/* One link for all cells with the same ends, transport and plane. */
static int make_links(struct link_cells *cells, struct np_links *links, struct np_err *err)
{
	struct link_cell *list = cells->list.item;
	int rc = NP_OK;

	if (cells->list.count > 0)
		qsort(list, cells->list.count, sizeof(*list), by_link_cell);
	for (size_t i = 0; i < cells->list.count && rc == NP_OK; i++) {
		struct np_link_speed *link;

		if (i == 0 || by_link(&list[i - 1], &list[i]) != 0)
			rc = add_link(links, &list[i], err);
		if (rc < 0)
			return rc;
		list[i].row = (uint32_t)(links->list.count - 1);
		link = &links->list.item[list[i].row];
		link->bytes += list[i].all_bytes;
		link->time += list[i].all_time;
		link->troubled += list[i].troubled;
	}
	return rc;
}

static int by_row(const void *left, const void *right)
{
	const struct link_cell *a = left;
	const struct link_cell *b = right;

	return np_order(a->row, b->row);
}

/*
 * Where some cells of a link have other links to compare with, those that have but
 * its way back tell nothing more: a slow link is busy still when the next transfer
 * begins, both ways, and no other link is.
 */
static void prefer_others(struct link_cell *cells, size_t count)
{
	for (int bulk = 0; bulk < 2; bulk++) {
		bool others = false;

		for (size_t i = 0; i < count; i++)
			others = others || (!isnan(cells[i].expected) && !cells[i].way_back &&
					    (cells[i].bytes >= LINK_BULK_BYTES) == bulk);
		for (size_t i = 0; i < count && others; i++) {
			if (cells[i].way_back && (cells[i].bytes >= LINK_BULK_BYTES) == bulk)
				cells[i].expected = (double)NAN;
		}
	}
}

/* Of the cells of one link: how much longer they take than their like. */
static struct link_excess excess_of(const struct link_cell *cells, size_t count,
				    struct np_weighted *scratch)
{
	struct link_excess excess = { .way_back = true };
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (!isnan(cells[i].expected) && cells[i].bytes >= LINK_BULK_BYTES)
			excess.bulk = true;
	}
	for (size_t i = 0; i < count; i++) {
		if (isnan(cells[i].expected) || (excess.bulk && cells[i].bytes < LINK_BULK_BYTES))
			continue;
		excess.way_back = excess.way_back && cells[i].way_back;
		scratch[used++] =
			(struct np_weighted){ log((double)cells[i].time / cells[i].expected),
					      (double)cells[i].all_time };
	}
	excess.known = used > 0;
	excess.value = np_median_weighted(scratch, used);
	return excess;
}

/* What the whole link would have taken if it were like its like, by those cells that have any. */
static np_ns expected_of(const struct link_cell *cells, size_t count)
{
	double all = 0;
	double known = 0;
	double expected = 0;

	for (size_t i = 0; i < count; i++) {
		double time = (double)cells[i].all_time;

		all += time;
		if (isnan(cells[i].expected))
			continue;
		known += time;
		expected += time * cells[i].expected / (double)cells[i].time;
	}
	return known > 0 ? (np_ns)llround(expected * all / known) : NP_UNKNOWN;
}

static int judge(struct link_cells *cells, struct np_links *links, struct np_err *err)
{
	struct link_cell *list = cells->list.item;
	size_t count = cells->list.count;
	struct link_excess *excess = calloc(links->list.count + 1, sizeof(*excess));
	struct np_weighted *scratch = malloc((count + 1) * sizeof(*scratch));
	int rc;

	if (!excess || !scratch) {
		free(excess);
		free(scratch);
		return np_fail_nomem(err, "links");
	}
	if (count > 0)
		qsort(list, count, sizeof(*list), by_row);
	for (size_t from = 0, to = 0; from < count; from = to) {
		uint32_t row = list[from].row;

		while (to < count && list[to].row == row)
			to++;
		prefer_others(&list[from], to - from);
		excess[row] = excess_of(&list[from], to - from, scratch);
		links->list.item[row].expected = expected_of(&list[from], to - from);
	}
	rc = link_polish(links, excess, err);
	free(excess);
	free(scratch);
	return rc;
}

int np_links_measure(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, struct np_links *ret, struct np_err *err)
{
	struct link_cells cells = { 0 };
	struct np_links links = { 0 };
	int rc = gather(cluster, &cells, err);

	if (rc == NP_OK)
		rc = make_links(&cells, &links, err);
	if (rc == NP_OK)
		rc = link_cells_expect(&cells, err);
	if (rc == NP_OK)
		rc = judge(&cells, &links, err);
	if (rc == NP_OK && links.list.count == 0)
		rc = link_groups_test(cluster, align, waits, &links, err);
	np_vec_release(&cells.list);
	if (rc < 0) {
		np_links_release(&links);
		return rc;
	}
	for (size_t i = 0; i < links.list.count; i++)
		links.slow += links.list.item[i].verdict == NP_LINK_SLOW;
	*ret = links;
	return NP_OK;
}
