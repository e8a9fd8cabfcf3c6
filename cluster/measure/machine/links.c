/* SPDX-License-Identifier: Apache-2.0 */
/* How fast every link is, from the payload of sub-tasks, and which are slow. */
#include "npuprof/links.h"

#include "links_faults.h"

#include "npuprof/align.h"
#include "npuprof/elementary.h"
#include "npuprof/map.h"
#include "npuprof/op_times.h"
#include "npuprof/order.h"
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

/* One row of np_rank.transfers: a run has millions. */
struct link_cell {
	int64_t bytes; /* of the median transfer */
	np_ns time;
	np_ns all_time;
	double expected; /* time that comparable links take for these bytes; NaN without any */
	uint32_t row;    /* in the list of links */
	uint32_t cohort;
	uint16_t size_class;
	bool way_back; /* comparable ones are links between the same two ranks only */
};

/* What makes a link of it. */
struct cell_ends {
	int64_t src; /* global ranks */
	int64_t dst;
	int64_t plane;
	int64_t all_bytes;
	uint32_t troubled;
};

struct link_cells {
	NP_VEC(struct link_cell) list;
	NP_VEC(struct cell_ends) ends; /* beside it, until there are links */
	/* Some are of one cohort, mostly those that follow each other. */
	NP_VEC(struct link_cohort) cohorts;
	struct np_numbers pairs;     /* transport and class of operators → number … */
	struct np_numbers cohort_of; /* … which with the rest → cohort */
	struct np_keyed *keyed;      /* twice as many as there are cells: for sorting */
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

static int by_cohort_of(const void *left, const void *right, void *context)
{
	const struct link_cohort *cohorts = context;

	return by_cohort(&cohorts[*(const uint32_t *)left], &cohorts[*(const uint32_t *)right]);
}

/* Cells of a cohort in the order of their sizes and links, and what they have beside. */
struct cohort_cells {
	struct link_cell *cells;
	const struct np_keyed *order;
	size_t count;
	double *ratios; /* by place in the order: time by the fitted line */
};

static struct link_cell *cell_at(const struct cohort_cells *cohort, size_t place)
{
	return &cohort->cells[cohort->order[place].index];
}

/* The end of the cells from `from` on that have the same size. */
static size_t same_size(const struct cohort_cells *cohort, size_t from)
{
	size_t to = from;

	while (to < cohort->count &&
	       cell_at(cohort, to)->size_class == cell_at(cohort, from)->size_class)
		to++;
	return to;
}

/* The median size and time of the cells of one size class. */
static struct np_point median_of(const struct cohort_cells *cohort, size_t from, size_t to,
				 double *scratch)
{
	struct np_point point;

	for (size_t i = from; i < to; i++)
		scratch[i - from] = (double)cell_at(cohort, i)->bytes;
	point.x = np_median(scratch, to - from);
	for (size_t i = from; i < to; i++) {
		const struct link_cell *cell = cell_at(cohort, i);

		scratch[i - from] = (double)cell->time * point.x / (double)cell->bytes;
	}
	point.y = np_median(scratch, to - from);
	return point;
}

/* Time by size over all links of a cohort: a start and a bandwidth. */
static int fit(const struct cohort_cells *cohort, double *scratch, struct np_line *ret,
	       struct np_err *err)
{
	NP_VEC(struct np_point) points = { 0 };
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < cohort->count && rc == NP_OK; from = to) {
		struct np_point *point = np_vec_add(&points, err);

		to = same_size(cohort, from);
		if (point)
			*point = median_of(cohort, from, to, scratch);
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
static size_t take_samples(const struct cohort_cells *cohort, const struct np_links *links,
			   double *scratch, struct link_sample *samples)
{
	size_t used = 0;

	for (size_t from = 0, to = 0; from < cohort->count; from = to) {
		const struct link_cell *cell = cell_at(cohort, from);
		const struct np_link_speed *link = &links->list.item[cell->row];

		while (to < cohort->count && cell_at(cohort, to)->row == cell->row &&
		       cell_at(cohort, to)->size_class == cell->size_class) {
			scratch[to - from] = cohort->ratios[to];
			to++;
		}
		samples[used++] = (struct link_sample){
			.size_class = cell->size_class,
			.row = cell->row,
			.ends = { link->src < link->dst ? link->src : link->dst,
				  link->src < link->dst ? link->dst : link->src },
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
	double *ratios;
	struct link_sample *samples;
};

static int expect_cohort(struct cohort_cells *cohort, const struct np_links *links,
			 struct link_space *space, struct np_err *err)
{
	struct np_line line;
	size_t samples;
	size_t place = 0;
	int rc = fit(cohort, space->numbers, &line, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < cohort->count; i++) {
		const struct link_cell *cell = cell_at(cohort, i);

		cohort->ratios[i] =
			(double)cell->time / (line.offset + line.slope * (double)cell->bytes);
	}
	samples = take_samples(cohort, links, space->numbers, space->samples);
	for (size_t from = 0, to = 0; from < samples; from = to) {
		struct median median;

		while (to < samples &&
		       space->samples[to].size_class == space->samples[from].size_class)
			to++;
		median = reference(space->samples, samples, from, to, space->numbers);
		for (; place < cohort->count &&
		       cell_at(cohort, place)->size_class == space->samples[from].size_class;
		     place++) {
			struct link_cell *cell = cell_at(cohort, place);

			cell->expected = median.ratio * (double)cell->time / cohort->ratios[place];
			cell->way_back = median.way_back;
		}
	}
	return NP_OK;
}

/* Number cohorts by their order. */
static int order_cohorts(struct link_cells *cells, struct np_err *err)
{
	size_t count = cells->cohorts.count;
	uint32_t *order = malloc((2 * count + 1) * sizeof(*order));
	uint32_t *place = order + count;

	if (!order)
		return np_fail_nomem(err, "links");
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	if (count > 0)
		qsort_r(order, count, sizeof(*order), by_cohort_of, cells->cohorts.item);
	for (uint32_t i = 0; i < count; i++)
		place[order[i]] = i;
	for (size_t i = 0; i < cells->list.count; i++)
		cells->list.item[i].cohort = place[cells->list.item[i].cohort];
	free(order);
	return NP_OK;
}

static uint64_t by_cohort_and_size(const struct link_cell *cell)
{
	return (uint64_t)cell->cohort << 16 | cell->size_class;
}

/* What each cell should take, from comparable ones. Cells are by link. */
static int expect_cells(struct link_cells *cells, const struct np_links *links, struct np_err *err)
{
	struct link_cell *list = cells->list.item;
	size_t count = cells->list.count;
	struct link_space space = { malloc((count + 1) * sizeof(*space.numbers)),
				    malloc((count + 1) * sizeof(*space.ratios)),
				    malloc((count + 1) * sizeof(*space.samples)) };
	const struct np_keyed *order;
	int rc = space.numbers && space.ratios && space.samples ? order_cohorts(cells, err)
								: np_fail_nomem(err, "links");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		cells->keyed[i] = (struct np_keyed){ by_cohort_and_size(&list[i]), (uint32_t)i };
	order = np_sort_keyed(cells->keyed, cells->keyed + count, rc == NP_OK ? count : 0);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		struct cohort_cells cohort = { list, &order[from], 0, space.ratios };

		while (to < count && list[order[to].index].cohort == list[order[from].index].cohort)
			to++;
		cohort.count = to - from;
		rc = expect_cohort(&cohort, links, &space, err);
	}
	free(space.numbers);
	free(space.ratios);
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

static uint32_t number_of(struct np_numbers *numbers, uint64_t key, struct np_err *err)
{
	uint32_t found = np_numbers_get(numbers, key);

	if (found != NP_MAP_NONE)
		return found;
	found = (uint32_t)numbers->list.count;
	return np_numbers_add(numbers, key, found, err) < 0 ? NP_MAP_NONE : found;
}

static uint32_t cohort_of(struct link_cells *cells, const struct link_cohort *cohort,
			  struct np_err *err)
{
	struct link_cohort *added;
	uint32_t pair;
	uint32_t found;

	if (cells->list.count > 0) {
		found = cells->list.item[cells->list.count - 1].cohort;
		if (by_cohort(&cells->cohorts.item[found], cohort) == 0)
			return found;
	}
	pair = number_of(&cells->pairs, (uint64_t)cohort->transport << 32 | cohort->op_class, err);
	if (pair == NP_MAP_NONE)
		return NP_MAP_NONE;
	found = number_of(&cells->cohort_of,
			  (uint64_t)pair << 10 | (uint64_t)cohort->concurrency << 2 |
				  (uint64_t)cohort->p2p << 1 | cohort->reduces,
			  err);
	if (found == NP_MAP_NONE || found < cells->cohorts.count)
		return found;
	added = np_vec_add(&cells->cohorts, err);
	if (!added)
		return NP_MAP_NONE;
	*added = *cohort;
	return found;
}

static int add_cell(struct link_cells *cells, struct link_cell cell, struct cell_ends ends,
		    const struct link_cohort *cohort, struct np_err *err)
{
	struct link_cell *own;
	struct cell_ends *own_ends;

	cell.cohort = cohort_of(cells, cohort, err);
	if (cell.cohort == NP_MAP_NONE)
		return NP_E_NOMEM;
	own = np_vec_add(&cells->list, err);
	own_ends = own ? np_vec_add(&cells->ends, err) : NULL;
	if (!own_ends)
		return NP_E_NOMEM;
	*own = cell;
	*own_ends = ends;
	return NP_OK;
}

static int add_transfer(const struct np_cluster *cluster, const struct np_rank *rank,
			const struct np_transfer *transfer, struct link_cells *cells,
			struct np_err *err)
{
	const struct np_communicator *communicator =
		np_cluster_communicator(cluster, rank->groups.item[transfer->group].hash);

	if (!communicator)
		return NP_OK;
	return add_cell(
		cells,
		(struct link_cell){ .size_class = transfer->size_class,
				    .bytes = transfer->middle_bytes,
				    .time = transfer->middle_time,
				    .all_time = transfer->time },
		(struct cell_ends){ .src = np_communicator_rank(communicator, transfer->src),
				    .dst = np_communicator_rank(communicator, transfer->dst),
				    .plane = transfer->plane,
				    .all_bytes = transfer->bytes,
				    .troubled = transfer->troubled },
		&(struct link_cohort){ .transport = transfer->transport,
				       .concurrency = transfer->concurrency,
				       .p2p = transfer->p2p,
				       .reduces = transfer->reduces },
		err);
}

/* A sum over a class of operators, where nothing finer was recorded. */
static int add_total(const struct np_cluster *cluster, const struct np_rank *rank,
		     const struct np_link *link, struct link_cells *cells, struct np_err *err)
{
	const struct np_communicator *communicator =
		np_cluster_communicator(cluster, rank->groups.item[link->group].hash);

	if (!communicator || link->pick != NP_LINK_TOTAL || link->src == link->dst ||
	    link->bytes <= 0 || link->time <= 0)
		return NP_OK;
	return add_cell(cells,
			(struct link_cell){ .size_class = np_transfer_class(link->bytes),
					    .bytes = link->bytes,
					    .time = link->time,
					    .all_time = link->time },
			(struct cell_ends){ .src = np_communicator_rank(communicator, link->src),
					    .dst = np_communicator_rank(communicator, link->dst),
					    .plane = NP_UNKNOWN,
					    .all_bytes = link->bytes },
			&(struct link_cohort){ .transport = link->transport,
					       .op_class = link->op_class,
					       .p2p = link->p2p },
			err);
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
	rc = np_vec_reserve(&cells->list, count, err) < 0 ||
			     np_vec_reserve(&cells->ends, count, err) < 0
		     ? NP_E_NOMEM
		     : NP_OK;

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
	if (rc < 0)
		return rc;
	cells->keyed = malloc((2 * cells->list.count + 1) * sizeof(*cells->keyed));
	return cells->keyed ? NP_OK : np_fail_nomem(err, "links");
}

/* --- links ----------------------------------------------------------------------------------- */

/* What links are sorted by, the first first. */
enum link_key {
	KEY_SOURCE,
	KEY_DESTINATION,
	KEY_TRANSPORT,
	KEY_PLANE,
	LINK_KEYS,
};

/* Numbers of a key count from the least one there is. */
struct link_keys {
	const struct link_cells *cells;
	uint32_t *transports; /* by cohort: the place of its text among all */
	uint64_t least[LINK_KEYS];
	unsigned bits[LINK_KEYS];
};

static np_str transport_of(const struct link_cells *cells, size_t index)
{
	return cells->cohorts.item[cells->list.item[index].cohort].transport;
}

/* In the order of signed numbers. */
static uint64_t plain_key(int64_t value)
{
	return (uint64_t)value ^ (uint64_t)1 << 63;
}

static uint64_t key_of(const struct link_keys *keys, enum link_key key, size_t index)
{
	const struct cell_ends *ends = &keys->cells->ends.item[index];

	switch (key) {
	case KEY_SOURCE:
		return plain_key(ends->src);
	case KEY_DESTINATION:
		return plain_key(ends->dst);
	case KEY_PLANE:
		return plain_key(ends->plane);
	case KEY_TRANSPORT:
	case LINK_KEYS:
	default:
		return keys->transports[keys->cells->list.item[index].cohort];
	}
}

static int by_transport_text(const void *left, const void *right, void *context)
{
	const struct np_strtab *strings = *(const struct np_strtab *const *)context;

	return strcmp(np_strtab_text(strings, *(const np_str *)left),
		      np_strtab_text(strings, *(const np_str *)right));
}

/* The place of the transport of each cohort among all of them, by text. */
static int order_transports(struct link_keys *keys, const struct np_strtab *strings,
			    struct np_err *err)
{
	const struct link_cells *cells = keys->cells;
	size_t count = cells->cohorts.count;
	np_str *list = malloc((count + 1) * sizeof(*list));

	keys->transports = malloc((count + 1) * sizeof(*keys->transports));
	if (!list || !keys->transports) {
		free(list);
		return np_fail_nomem(err, "links");
	}
	for (size_t i = 0; i < count; i++)
		list[i] = cells->cohorts.item[i].transport;
	if (count > 0)
		qsort_r(list, count, sizeof(*list), by_transport_text, &strings);
	for (size_t i = 0; i < count; i++) {
		const char *own = np_strtab_text(strings, cells->cohorts.item[i].transport);

		keys->transports[i] = (uint32_t)np_lower_bound(
			k, (size_t)0, count, strcmp(np_strtab_text(strings, list[k]), own) >= 0);
	}
	free(list);
	return NP_OK;
}

static void measure_keys(struct link_keys *keys)
{
	for (int key = 0; key < LINK_KEYS; key++) {
		uint64_t most = 0;

		keys->least[key] = UINT64_MAX;
		for (size_t i = 0; i < keys->cells->list.count; i++) {
			uint64_t own = key_of(keys, (enum link_key)key, i);

			most = own > most ? own : most;
			keys->least[key] = own < keys->least[key] ? own : keys->least[key];
		}
		if (most > keys->least[key])
			keys->bits[key] = 64 - (unsigned)__builtin_clzll(most - keys->least[key]);
	}
}

/* By all keys, the last one first: as many at a time as 64 bits have room for. */
static const struct np_keyed *sort_links(struct link_cells *cells, const struct link_keys *keys)
{
	size_t count = cells->list.count;
	struct np_keyed *order = cells->keyed;

	for (size_t i = 0; i < count; i++)
		order[i].index = (uint32_t)i;
	for (int end = LINK_KEYS, first; end > 0; end = first) {
		unsigned bits = keys->bits[end - 1];

		for (first = end - 1; first > 0 && bits + keys->bits[first - 1] <= 64; first--)
			bits += keys->bits[first - 1];
		for (size_t i = 0; i < count; i++) {
			uint64_t key = 0;

			for (int k = first; k < end; k++) {
				key = keys->bits[k] < 64 ? key << keys->bits[k] : 0;
				key |= key_of(keys, (enum link_key)k, order[i].index) -
				       keys->least[k];
			}
			order[i].key = key;
		}
		order = np_sort_keyed(
			order, order == cells->keyed ? cells->keyed + count : cells->keyed, count);
	}
	return order;
}

static int add_link(struct np_links *links, const struct cell_ends *ends, np_str transport,
		    struct np_err *err)
{
	struct np_link_speed *link = np_vec_add(&links->list, err);

	if (!link)
		return NP_E_NOMEM;
	*link = (struct np_link_speed){ .src = ends->src,
					.dst = ends->dst,
					.transport = transport,
					.plane = ends->plane,
					.expected = NP_UNKNOWN };
	return NP_OK;
}

static bool is_of(const struct np_link_speed *link, const struct cell_ends *ends, np_str transport)
{
	return link->src == ends->src && link->dst == ends->dst && link->transport == transport &&
	       link->plane == ends->plane;
}

/* Cells in this order, in which those of a link follow each other. */
static int make_in_order(struct link_cells *cells, const struct np_keyed *order,
			 struct np_links *links, struct np_err *err)
{
	size_t count = cells->list.count;
	struct link_cell *sorted = malloc((count + 1) * sizeof(*sorted));
	int rc = sorted ? NP_OK : np_fail_nomem(err, "links");

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		size_t from = order[i].index;
		const struct cell_ends *ends = &cells->ends.item[from];
		np_str transport = transport_of(cells, from);
		struct np_link_speed *link;

		if (i == 0 || !is_of(&links->list.item[links->list.count - 1], ends, transport))
			rc = add_link(links, ends, transport, err);
		if (rc < 0)
			break;
		link = &links->list.item[links->list.count - 1];
		link->bytes += ends->all_bytes;
		link->time += cells->list.item[from].all_time;
		link->troubled += ends->troubled;
		sorted[i] = cells->list.item[from];
		sorted[i].row = (uint32_t)(links->list.count - 1);
	}
	if (rc < 0) {
		free(sorted);
		return rc;
	}
	free(cells->list.item);
	cells->list.item = sorted;
	cells->list.capacity = count + 1;
	return NP_OK;
}

/* One link for all cells with the same ends, transport and plane. */
static int make_links(struct link_cells *cells, const struct np_strtab *strings,
		      struct np_links *links, struct np_err *err)
{
	struct link_keys keys = { .cells = cells };
	int rc = order_transports(&keys, strings, err);

	if (rc == NP_OK) {
		measure_keys(&keys);
		rc = make_in_order(cells, sort_links(cells, &keys), links, err);
	}
	free(keys.transports);
	np_vec_release(&cells->ends);
	return rc;
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

/* The cells of one link by cohort and size: so they are summed. `sorted` has room for them. */
static void sort_cells(struct link_cells *cells, size_t from, size_t count,
		       struct link_cell *sorted)
{
	struct link_cell *own = &cells->list.item[from];
	const struct np_keyed *order;

	for (size_t i = 0; i < count; i++)
		cells->keyed[i] = (struct np_keyed){ by_cohort_and_size(&own[i]), (uint32_t)i };
	order = np_sort_keyed(cells->keyed, cells->keyed + count, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = own[order[i].index];
}

static int judge_each(struct link_cells *cells, struct np_links *links, struct link_excess *excess,
		      struct np_err *err)
{
	const struct link_cell *list = cells->list.item;
	size_t count = cells->list.count;
	NP_VEC(struct link_cell) own = { 0 };
	NP_VEC(struct np_weighted) scratch = { 0 };
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		uint32_t row = list[from].row;

		while (to < count && list[to].row == row)
			to++;
		if (np_vec_reserve(&own, to - from, err) < 0 ||
		    np_vec_reserve(&scratch, to - from, err) < 0) {
			rc = NP_E_NOMEM;
			break;
		}
		sort_cells(cells, from, to - from, own.item);
		prefer_others(own.item, to - from);
		excess[row] = excess_of(own.item, to - from, scratch.item);
		links->list.item[row].expected = expected_of(own.item, to - from);
	}
	np_vec_release(&own);
	np_vec_release(&scratch);
	return rc;
}

static int judge(struct link_cells *cells, struct np_links *links, struct np_err *err)
{
	struct link_excess *excess = calloc(links->list.count + 1, sizeof(*excess));
	int rc = excess ? judge_each(cells, links, excess, err) : np_fail_nomem(err, "links");

	if (rc == NP_OK)
		rc = link_polish(links, excess, err);
	free(excess);
	return rc;
}

int np_links_measure(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, struct np_links *ret, struct np_err *err)
{
	struct link_cells cells = { 0 };
	struct np_links links = { 0 };
	int rc = gather(cluster, &cells, err);

	if (rc == NP_OK)
		rc = make_links(&cells, cluster->run->strings, &links, err);
	if (rc == NP_OK)
		rc = expect_cells(&cells, &links, err);
	if (rc == NP_OK)
		rc = judge(&cells, &links, err);
	if (rc == NP_OK && links.list.count == 0)
		rc = link_groups_test(cluster, align, waits, &links, err);
	np_vec_release(&cells.list);
	np_vec_release(&cells.ends);
	np_vec_release(&cells.cohorts);
	np_numbers_release(&cells.pairs);
	np_numbers_release(&cells.cohort_of);
	free(cells.keyed);
	if (rc < 0) {
		np_links_release(&links);
		return rc;
	}
	for (size_t i = 0; i < links.list.count; i++)
		links.slow += links.list.item[i].verdict == NP_LINK_SLOW;
	*ret = links;
	return NP_OK;
}
