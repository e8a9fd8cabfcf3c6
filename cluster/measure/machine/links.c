/* SPDX-License-Identifier: Apache-2.0 */
/* How fast every link is, from the payload of sub-tasks, and which are slow. */
#include "npuprof/links.h"

#include "links_faults.h"

#include "npuprof/align.h"
#include "npuprof/elementary.h"
#include "npuprof/op_times.h"
#include "npuprof/robust.h"

#include <math.h>

/* Transfers below this are about latency; a link is judged by larger ones if it has any. */
#define LINK_BULK_BYTES 65536

/* What of a transfer must be alike for its time to be compared. */
struct link_cohort {
	np_str transport;
	np_str op_class; /* where only sums by class are known, else NONE */
	uint8_t concurrency;
	bool p2p;
	bool reduces;
};

/* One row of np_rank.transfers, with its ends as global ranks. */
struct link_cell {
	int64_t src;
	int64_t dst;
	int64_t plane;
	const char *transport_text;
	struct link_cohort cohort;
	uint16_t size_class;
	uint32_t row;  /* in the list of links */
	int64_t bytes; /* of the median transfer */
	np_ns time;
	int64_t all_bytes;
	np_ns all_time;
	int64_t troubled;
	double ratio;    /* time by the fitted line of the cohort */
	double expected; /* time that comparable links take for these bytes; NaN without any */
	bool way_back;   /* comparable ones are links between the same two ranks only */
};

struct link_cells {
	NP_VEC(struct link_cell) list;
};

/* A size with fewer links than this is helped out by the sizes around it, up to an octave off. */
#define ENOUGH_LINKS 4
#define CLASSES_OFF  4

/* The median ratio of one link at one size. */
struct link_sample {
	uint16_t size_class;
	uint32_t row;
	int64_t ends[2]; /* the lower one first */
	double ratio;
};

/* What the ratios of the links at one size are compared with. */
struct median {
	double ratio;  /* NaN if only one link has any */
	bool way_back; /* all are between the same two ranks */
};

static int by_cohort(const struct link_cohort *a, const struct link_cohort *b)
{
	int order = np_order(a->transport, b->transport);

	if (!order)
		order = np_order(a->op_class, b->op_class);
	if (!order)
		order = np_order(a->concurrency, b->concurrency);
	if (!order)
		order = np_order(a->p2p, b->p2p);
	return order ? order : np_order(a->reduces, b->reduces);
}

static int by_cohort_size_row(const void *left, const void *right)
{
	const struct link_cell *a = left;
	const struct link_cell *b = right;
	int order = by_cohort(&a->cohort, &b->cohort);

	if (!order)
		order = np_order(a->size_class, b->size_class);
	return order ? order : np_order(a->row, b->row);
}

/* The end of the cells from `from` on that have the same size. */
static size_t same_size(const struct link_cell *cells, size_t count, size_t from)
{
	size_t to = from;

	while (to < count && cells[to].size_class == cells[from].size_class)
		to++;
	return to;
}

/* The median size and time of the cells of one size class. */
static struct np_point median_of(const struct link_cell *cells, size_t count, double *scratch)
{
	struct np_point point;

	for (size_t i = 0; i < count; i++)
		scratch[i] = (double)cells[i].bytes;
	point.x = np_median(scratch, count);
	for (size_t i = 0; i < count; i++)
		scratch[i] = (double)cells[i].time * point.x / (double)cells[i].bytes;
	point.y = np_median(scratch, count);
	return point;
}

/* Time by size over all links of a cohort: a start and a bandwidth. */
static int fit(const struct link_cell *cells, size_t count, double *scratch, struct np_line *ret,
	       struct np_err *err)
{
	NP_VEC(struct np_point) points = { 0 };
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		struct np_point *point = np_vec_add(&points, err);

		to = same_size(cells, count, from);
		if (point)
			*point = median_of(&cells[from], to - from, scratch);
		else
			rc = NP_E_NOMEM;
	}
	if (rc == NP_OK)
		rc = np_line_fit(points.item, points.count, ret, err);
	/* One size, or times that do not grow with it: proportional is the best guess. */
	if (rc == NP_OK && (isnan(ret->slope) || ret->slope <= 0 || ret->offset < 0)) {
		for (size_t i = 0; i < points.count; i++)
			scratch[i] = points.item[i].y / points.item[i].x;
		*ret = (struct np_line){ 0, np_median(scratch, points.count) };
	}
	np_vec_release(&points);
	return rc;
}

/* One sample for each link and size; returns how many. */
static size_t take_samples(const struct link_cell *cells, size_t count, double *scratch,
			   struct link_sample *samples)
{
	size_t used = 0;

	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && cells[to].row == cells[from].row &&
		       cells[to].size_class == cells[from].size_class) {
			scratch[to - from] = cells[to].ratio;
			to++;
		}
		samples[used++] = (struct link_sample){
			.size_class = cells[from].size_class,
			.row = cells[from].row,
			.ends = { cells[from].src < cells[from].dst ? cells[from].src
								    : cells[from].dst,
				  cells[from].src < cells[from].dst ? cells[from].dst
								    : cells[from].src },
			.ratio = np_median(scratch, to - from),
		};
	}
	return used;
}

/*
 * The median ratio of the links at one size, [from, to) of the samples, or of
 * those around it too where they are few.
 */
static struct median reference(const struct link_sample *samples, size_t count, size_t from,
			       size_t to, double *scratch)
{
	uint16_t class = samples[from].size_class;
	struct median median = { .way_back = true };
	bool several = false;

	for (int off = 1; to - from < ENOUGH_LINKS && off <= CLASSES_OFF; off++) {
		while (from > 0 && samples[from - 1].size_class + off >= class)
			from--;
		while (to < count && samples[to].size_class <= class + off)
			to++;
	}
	for (size_t i = from; i < to; i++) {
		scratch[i - from] = samples[i].ratio;
		several = several || samples[i].row != samples[from].row;
		median.way_back = median.way_back && samples[i].ends[0] == samples[from].ends[0] &&
				  samples[i].ends[1] == samples[from].ends[1];
	}
	median.ratio = several ? np_median(scratch, to - from) : (double)NAN;
	return median;
}

/* Work space for one cohort, large enough for all. */
struct link_space {
	double *numbers;
	struct link_sample *samples;
};

static int expect_cohort(struct link_cell *cells, size_t count, struct link_space *space,
			 struct np_err *err)
{
	struct np_line line;
	size_t samples;
	size_t cell = 0;
	int rc = fit(cells, count, space->numbers, &line, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		cells[i].ratio =
			(double)cells[i].time / (line.offset + line.slope * (double)cells[i].bytes);
	samples = take_samples(cells, count, space->numbers, space->samples);
	for (size_t from = 0, to = 0; from < samples; from = to) {
		struct median median;

		while (to < samples &&
		       space->samples[to].size_class == space->samples[from].size_class)
			to++;
		median = reference(space->samples, samples, from, to, space->numbers);
		for (; cell < count && cells[cell].size_class == space->samples[from].size_class;
		     cell++) {
			cells[cell].expected =
				median.ratio * (double)cells[cell].time / cells[cell].ratio;
			cells[cell].way_back = median.way_back;
		}
	}
	return NP_OK;
}

/* What each cell should take, from comparable ones. */
static int expect_cells(struct link_cells *cells, struct np_err *err)
{
	struct link_cell *list = cells->list.item;
	size_t count = cells->list.count;
	struct link_space space = { malloc((count + 1) * sizeof(*space.numbers)),
				    malloc((count + 1) * sizeof(*space.samples)) };
	int rc = NP_OK;

	if (!space.numbers || !space.samples) {
		free(space.numbers);
		free(space.samples);
		return np_fail_nomem(err, "links");
	}
	if (count > 0)
		qsort(list, count, sizeof(*list), by_cohort_size_row);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && by_cohort(&list[from].cohort, &list[to].cohort) == 0)
			to++;
		rc = expect_cohort(&list[from], to - from, &space, err);
	}
	free(space.numbers);
	free(space.samples);
	return rc;
}

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
	size_t count = 0;
	int rc;

	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		if (rank)
			count += rank->transfers.count ? rank->transfers.count : rank->links.count;
	}
	rc = np_vec_reserve(&cells->list, count, err) < 0 ? NP_E_NOMEM : NP_OK;

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
 * its way back say nothing more: a slow link is busy still when the next transfer
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

/* Of the cells of one link: how much longer they take than comparable ones. */
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
			(struct np_weighted){ np_log((double)cells[i].time / cells[i].expected),
					      (double)cells[i].all_time };
	}
	excess.known = used > 0;
	excess.value = np_median_weighted(scratch, used);
	return excess;
}

/* What the whole link would have taken if it were like comparable ones, by those cells that have
 * any. */
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
		rc = expect_cells(&cells, err);
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
