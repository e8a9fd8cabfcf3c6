/* SPDX-License-Identifier: Apache-2.0 */
#include "links_private.h"

#include "npuprof/robust.h"

/* A size with fewer links than this is helped out by the sizes around it, up to an octave off. */
#define ENOUGH_LINKS 4
#define CLASSES_OFF  4

/* The median ratio of one link at one size. */
struct sample {
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
			   struct sample *samples)
{
	size_t used = 0;

	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && cells[to].row == cells[from].row &&
		       cells[to].size_class == cells[from].size_class) {
			scratch[to - from] = cells[to].ratio;
			to++;
		}
		samples[used++] = (struct sample){
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
static struct median reference(const struct sample *samples, size_t count, size_t from, size_t to,
			       double *scratch)
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
struct space {
	double *numbers;
	struct sample *samples;
};

static int expect_cohort(struct link_cell *cells, size_t count, struct space *space,
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

int link_cells_expect(struct link_cells *cells, struct np_err *err)
{
	struct link_cell *list = cells->list.item;
	size_t count = cells->list.count;
	struct space space = { malloc((count + 1) * sizeof(*space.numbers)),
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
