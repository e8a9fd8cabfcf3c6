/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model FLOPs utilisation: the framework marks how many floating point
 * operations a stretch of code does (mstx domain "mfu_flops", "<flops>-<name>"),
 * its kernels say how long they took, and the device how many it could have done.
 *
 * The operations of a range are those of all of its kernels together: each gets
 * its share by time, so that the shares add up to the range. Of ranges inside each other
 * the innermost has the kernel.
 */
#include "registry.h"

#include "cluster/modes/common/modules.h"

#include "npuprof/idmap.h"
#include "npuprof/order.h"
#include "npuprof/text.h"

#include <math.h>

#define MODE "operator_mfu"

struct rated {
	uint32_t kernel; /* in the detail */
	np_ns start;
	np_ns end;
	np_str op;
	np_str name;
	np_str flops_name;
	np_str in_shapes;
	np_str out_shapes;
	double flops; /* its share */
	double per_second;
	double peak; /* NaN if not known */
};

struct mfu_result {
	NP_VEC(struct rated) list;
	struct module_rows modules;
	bool no_device;   /* the chip's figures are missing */
	bool no_types;    /* the types of the data are missing, of some ranges at least */
	bool other_types; /* some ranges work on types whose rate is not known */
	bool nested;      /* some ranges lie inside others */
};

static void release(void *result)
{
	struct mfu_result *own = result;

	np_vec_release(&own->list);
	modules_release(&own->modules);
	free(own);
}

/*
 * Operations per cycle of a cube core by type of the data: 16 × 16 × 16
 * multiplications and additions, twice as deep for bytes. A core multiplies
 * fp32 at a rate of its own that is not known from profiles, so it is not rated.
 */
static double per_cycle(const char *types)
{
	static const struct {
		const char *name;
		double ops;
	} rates[] = { { "FLOAT16", 8192 }, { "DT_FLOAT16", 8192 }, { "BF16", 8192 },
		      { "DT_BF16", 8192 }, { "INT8", 16384 },      { "DT_INT8", 16384 } };
	size_t length = types ? strcspn(types, ";") : 0;

	for (size_t i = 0; i < NP_COUNT(rates); i++) {
		if (strlen(rates[i].name) == length && memcmp(rates[i].name, types, length) == 0)
			return rates[i].ops;
	}
	return (double)NAN;
}

static double peak_of(const struct np_detail *detail, const struct np_kernel *kernel)
{
	const struct np_device_info *device = &detail->device;

	if (device->ai_cores == NP_UNKNOWN || device->aic_mhz == NP_UNKNOWN)
		return (double)NAN;
	return (double)device->ai_cores * (double)device->aic_mhz * 1e6 *
	       per_cycle(np_detail_text(detail, kernel->in_dtypes));
}

/* "1024-matmul" */
static bool parse_range(const char *message, double *ret_flops, const char **ret_name)
{
	char *end;
	double flops = strtod(message, &end);

	if (end == message || *end != '-' || !isfinite(flops) || flops < 0)
		return false;
	*ret_flops = flops;
	*ret_name = end + 1;
	return true;
}

/* --- a range --------------------------------------------------------------------------------- */

struct mfu_range {
	const struct np_mark *mark;
	double flops;
	const char *name;
};

struct mfu_work {
	struct mode_rank *rank;
	struct mfu_result *result;
	struct np_idmap *kernel_of;      /* connection → the first kernel of it */
	uint32_t *next;                  /* by kernel: the next of its connection */
	uint32_t *range;                 /* by kernel: the innermost of `ranges`; NP_NO_ROW: none */
	NP_VEC(struct mfu_range) ranges; /* in the order of the marks */
};

static int index_kernels(struct mfu_work *work)
{
	const struct np_detail *detail = work->rank->detail;
	int rc = NP_OK;

	work->kernel_of = np_idmap_new();
	work->next = malloc((detail->kernels.count + 1) * sizeof(*work->next));
	work->range = malloc((detail->kernels.count + 1) * sizeof(*work->range));
	if (!work->kernel_of || !work->next || !work->range)
		return np_fail_nomem(work->rank->err, MODE);
	for (uint32_t i = (uint32_t)detail->kernels.count; i-- > 0 && rc == NP_OK;) {
		int64_t connection = detail->kernels.item[i].connection;

		work->next[i] = NP_NO_ROW;
		work->range[i] = NP_NO_ROW;
		if (connection == NP_UNKNOWN)
			continue;
		work->next[i] = np_idmap_get(work->kernel_of, connection);
		rc = np_idmap_set(work->kernel_of, connection, i, work->rank->err);
	}
	return rc;
}

static int add_kernel(struct mfu_work *work, uint32_t kernel, np_str op)
{
	const struct np_detail *detail = work->rank->detail;
	const struct np_kernel *from = &detail->kernels.item[kernel];
	struct rated *rated = np_vec_add(&work->result->list, work->rank->err);
	int rc;

	if (!rated)
		return NP_E_NOMEM;
	*rated = (struct rated){ .kernel = kernel, .start = from->start, .end = from->end };
	rc = mode_text(work->rank, op, &rated->op);
	if (rc == NP_OK)
		rc = mode_text(work->rank, from->name, &rated->name);
	if (rc == NP_OK)
		rc = mode_text(work->rank, from->in_shapes, &rated->in_shapes);
	if (rc == NP_OK)
		rc = mode_text(work->rank, from->out_shapes, &rated->out_shapes);
	return rc;
}

/* The first call of the framework that starts at or after a time. */
static size_t first_call(const struct np_detail *detail, np_ns time)
{
	return np_lower_bound(i, (size_t)0, detail->framework.count,
			      detail->framework.item[i].start >= time);
}

/* The kernels of all calls that start inside the range, on its thread. */
static int each_kernel(struct mfu_work *work, uint32_t range,
		       int (*take)(struct mfu_work *work, uint32_t range, uint32_t kernel,
				   np_str op))
{
	const struct np_detail *detail = work->rank->detail;
	const struct np_mark *mark = work->ranges.item[range].mark;
	int rc = NP_OK;

	for (size_t i = first_call(detail, mark->start); i < detail->framework.count && rc == NP_OK;
	     i++) {
		const struct np_framework_call *call = &detail->framework.item[i];

		if (call->start > mark->end)
			break;
		if (call->kind != NP_FRAMEWORK_OP ||
		    (mark->tid != NP_UNKNOWN && call->tid != mark->tid))
			continue;
		for (uint32_t j = 0; j < call->link_count && rc == NP_OK; j++) {
			const struct np_framework_link *link =
				&detail->links.item[call->first_link + j];
			uint32_t kernel = link->kind == NP_LEADS_TO_TASK
						  ? np_idmap_get(work->kernel_of, link->id)
						  : NP_NO_ROW;

			for (; kernel != NP_NO_ROW && rc == NP_OK; kernel = work->next[kernel])
				rc = take(work, range, kernel, call->name);
		}
	}
	return rc;
}

/* Of ranges that hold a kernel the shortest is the innermost. */
static int own_kernel(struct mfu_work *work, uint32_t range, uint32_t kernel, np_str op)
{
	const struct np_mark *own = work->ranges.item[range].mark;
	const struct np_mark *other;

	(void)op;
	if (work->range[kernel] == NP_NO_ROW) {
		work->range[kernel] = range;
		return NP_OK;
	}
	if (work->range[kernel] == range)
		return NP_OK;
	work->result->nested = true;
	other = work->ranges.item[work->range[kernel]].mark;
	if (own->end - own->start < other->end - other->start)
		work->range[kernel] = range;
	return NP_OK;
}

/* Each kernel once, for its own range. */
static int take_kernel(struct mfu_work *work, uint32_t range, uint32_t kernel, np_str op)
{
	if (work->range[kernel] != range)
		return NP_OK;
	work->range[kernel] = NP_NO_ROW;
	return add_kernel(work, kernel, op);
}

/* The type of the data is that of the longest kernel: others may cast or clear. */
static const struct np_kernel *longest_of_range(const struct mfu_work *work, size_t first)
{
	const struct rated *longest = &work->result->list.item[first];

	for (size_t i = first; i < work->result->list.count; i++) {
		const struct rated *rated = &work->result->list.item[i];

		if (rated->end - rated->start > longest->end - longest->start)
			longest = rated;
	}
	return &work->rank->detail->kernels.item[longest->kernel];
}

static double peak_of_range(const struct mfu_work *work, size_t first)
{
	const struct np_kernel *longest = longest_of_range(work, first);
	const char *types = np_detail_text(work->rank->detail, longest->in_dtypes);

	if (!types)
		work->result->no_types = true;
	else if (isnan(per_cycle(types)))
		work->result->other_types = true;
	return peak_of(work->rank->detail, longest);
}

static int rate_range(struct mfu_work *work, uint32_t range)
{
	const char *name = work->ranges.item[range].name;
	double flops = work->ranges.item[range].flops;
	struct mfu_result *result = work->result;
	size_t first = result->list.count;
	np_ns total = 0;
	double peak;
	np_str flops_name;
	int rc = each_kernel(work, range, take_kernel);

	if (rc == NP_OK)
		rc = np_strtab_add(work->rank->run->strings, name, strlen(name), &flops_name,
				   work->rank->err);
	if (rc < 0 || result->list.count == first)
		return rc;
	peak = peak_of_range(work, first);
	for (size_t i = first; i < result->list.count; i++)
		total += result->list.item[i].end - result->list.item[i].start;
	for (size_t i = first; i < result->list.count; i++) {
		struct rated *rated = &result->list.item[i];

		rated->flops_name = flops_name;
		rated->peak = peak;
		rated->per_second = total > 0 ? flops / ((double)total * 1e-9) : (double)NAN;
		rated->flops = flops * (double)(rated->end - rated->start) / (double)total;
	}
	return NP_OK;
}

static int find_ranges(struct mfu_work *work)
{
	const struct np_detail *detail = work->rank->detail;

	for (size_t i = 0; i < detail->marks.count; i++) {
		const struct np_mark *mark = &detail->marks.item[i];
		const char *domain = np_detail_text(detail, mark->domain);
		const char *message = np_detail_text(detail, mark->message);
		struct mfu_range found = { .mark = mark };
		struct mfu_range *range;

		if (mark->kind != NP_MARK_RANGE || !domain || strcmp(domain, "mfu_flops") != 0 ||
		    !message || !mode_takes(work->rank, mark->step) ||
		    !parse_range(message, &found.flops, &found.name))
			continue;
		range = np_vec_add(&work->ranges, work->rank->err);
		if (!range)
			return NP_E_NOMEM;
		*range = found;
	}
	return NP_OK;
}

static int rate_ranges(struct mfu_work *work)
{
	int rc = index_kernels(work);

	if (rc == NP_OK)
		rc = find_ranges(work);
	for (uint32_t i = 0; i < work->ranges.count && rc == NP_OK; i++)
		rc = each_kernel(work, i, own_kernel);
	for (uint32_t i = 0; i < work->ranges.count && rc == NP_OK; i++)
		rc = rate_range(work, i);
	return rc;
}

/* --- modules --------------------------------------------------------------------------------- */

static int rate_modules(struct mfu_work *work)
{
	const struct np_detail *detail = work->rank->detail;
	double *figures;
	int rc;

	if (!modules_marked(detail, "Module") || work->result->list.count == 0)
		return NP_OK;
	figures = malloc((detail->kernels.count + 1) * sizeof(*figures));
	if (!figures)
		return np_fail_nomem(work->rank->err, MODE);
	for (size_t i = 0; i < detail->kernels.count; i++)
		figures[i] = (double)NAN;
	for (size_t i = 0; i < work->result->list.count; i++) {
		const struct rated *rated = &work->result->list.item[i];

		figures[rated->kernel] = rated->per_second / rated->peak;
	}
	rc = modules_measure(work->rank, figures, &work->result->modules);
	free(figures);
	return rc;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct mfu_work work = { .rank = rank, .result = calloc(1, sizeof(struct mfu_result)) };
	int rc;

	(void)prepared;
	if (!work.result)
		return np_fail_nomem(rank->err, MODE);
	*ret = work.result;
	work.result->no_device = rank->detail->device.ai_cores == NP_UNKNOWN ||
				 rank->detail->device.aic_mhz == NP_UNKNOWN;
	rc = rate_ranges(&work);
	if (rc == NP_OK)
		rc = rate_modules(&work);
	np_idmap_free(work.kernel_of);
	np_vec_release(&work.ranges);
	free(work.range);
	free(work.next);
	return rc;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct np_column columns[] = {
	{ "rank_id", NP_INTEGER },
	{ "op_name", NP_TEXT },
	{ "kernel_name", NP_TEXT },
	{ "kernel_start(ns)", NP_INTEGER },
	{ "kernel_end(ns)", NP_INTEGER },
	{ "kernel_duration(ns)", NP_INTEGER },
	{ "mfu", NP_REAL },
	{ "actual_tflops", NP_REAL },
	{ "chip_peak_tflops", NP_REAL },
	{ "flops", NP_REAL },
	{ "flops_op_name", NP_TEXT },
	{ "input_shapes", NP_TEXT },
	{ "output_shapes", NP_TEXT },
};

static const struct np_column module_columns[] = {
	{ "rank_id", NP_INTEGER },
	{ "parent_module", NP_TEXT },
	{ "module", NP_TEXT },
	{ "op_name", NP_TEXT },
	{ "kernel_list", NP_TEXT },
	{ "total_kernel_duration(ns)", NP_INTEGER },
	{ "avg_kernel_duration(ns)", NP_REAL },
	{ "op_count", NP_INTEGER },
	{ "avg_mfu", NP_TEXT },
};

_Static_assert(NP_COUNT(module_columns) == 1 + MODULE_CELLS + 1, "a cell for each column");

static double rounded(double value, int digits)
{
	return isfinite(value) ? np_round(value, digits) : (double)NAN;
}

static int put_rated(struct np_modes *modes, struct np_mode_table *table, int32_t rank,
		     const struct rated *rated, struct np_err *err)
{
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(rank),
				mode_name_cell(modes, rated->op),
				mode_name_cell(modes, rated->name),
				np_cell_integer(rated->start),
				np_cell_integer(rated->end),
				np_cell_integer(rated->end - rated->start),
				np_cell_real(rounded(rated->per_second / rated->peak, 4)),
				np_cell_real(rounded(rated->per_second / 1e12, 2)),
				np_cell_real(rounded(rated->peak / 1e12, 2)),
				np_cell_real(rated->flops),
				mode_name_cell(modes, rated->flops_name),
				mode_name_cell(modes, rated->in_shapes),
				mode_name_cell(modes, rated->out_shapes),
			},
			err);
}

/* "5.47%,45%": the mean of each kernel; "N/A" for one that is not rated. */
static bool put_figures(struct np_buf *buf, const struct module_row *row)
{
	bool any = false;

	for (size_t i = 0; i < row->kernel_count; i++) {
		double mean = row->figures[i] / (double)row->count;

		np_buf_add(buf, i ? "," : "");
		any |= isfinite(mean);
		if (isfinite(mean))
			np_buf_printf(buf, "%.4g%%", np_round(100 * mean, 2));
		else
			np_buf_add(buf, "N/A");
	}
	return any;
}

static int put_module(struct np_modes *modes, struct np_mode_table *table, int32_t rank,
		      const struct module_row *row, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf figures = NP_BUF_INIT;
	struct np_cell cells[1 + MODULE_CELLS + 1];

	if (!put_figures(&figures, row))
		return NP_OK;
	cells[0] = np_cell_integer(rank);
	modules_cells(modes, row, cells + 1);
	cells[1 + MODULE_CELLS] = np_cell_text(figures.text);
	return mode_row(modes, table, cells, err);
}

static bool missing_device(const struct mfu_result *result)
{
	return result->no_device && result->list.count > 0;
}

static bool missing_types(const struct mfu_result *result)
{
	return result->no_types;
}

static bool has_nested(const struct mfu_result *result)
{
	return result->nested;
}

static bool has_other_types(const struct mfu_result *result)
{
	return result->other_types;
}

/* Ranks with rates but no peak to compare them with. */
static int note_unrated(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	static const struct {
		enum np_note_kind kind;
		bool (*holds)(const struct mfu_result *result);
		const char *reason;
	} notes[] = {
		{ NP_NOTE_SKIPPED, missing_device,
		  "the number of AI cores and their clock are not known (device_N/info.json.N of"
		  " the raw data tells): kernels are not rated against the chip" },
		{ NP_NOTE_SKIPPED, missing_types,
		  "the types of the data are not known (profiler_level=Level1): kernels are not"
		  " rated against the chip" },
		{ NP_NOTE_WARNING, has_nested,
		  "ranges lie inside others: a kernel counts for the innermost of them only" },
		{ NP_NOTE_WARNING, has_other_types,
		  "the chip's rate is known for FLOAT16, BF16 and INT8: kernels of other types are"
		  " not rated against it" },
	};
	size_t count = modes->run->sources.count;
	bool *which = calloc(count + 1, sizeof(*which));

	if (!which)
		return np_fail_nomem(err, MODE);
	for (size_t i = 0; i < NP_COUNT(notes); i++) {
		for (size_t j = 0; j < count; j++)
			which[j] = ranks[j] && notes[i].holds(ranks[j]);
		mode_note(modes, notes[i].kind, MODE, which, notes[i].reason);
	}
	free(which);
	return NP_OK;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "OperatorMFU", "how much of the chip's peak kernels reach",
			   columns, err);
	struct np_mode_table *module_table = MODE_TABLE(
		modes, MODE, "ModuleMFU", "the same by module of the model", module_columns, err);
	int rc = table && module_table ? note_unrated(modes, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK) {
		table->empty = "no kernels of ranges \"<flops>-<name>\" of the domain mfu_flops";
		module_table->empty = "no rated kernels in ranges of the domain Module";
	}
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct mfu_result *result = ranks[i];

		if (!result)
			continue;
		for (size_t j = 0; j < result->list.count && rc == NP_OK; j++)
			rc = put_rated(modes, table, mode_rank_id(modes, i), &result->list.item[j],
				       err);
		for (size_t j = 0; j < result->modules.list.count && rc == NP_OK; j++)
			rc = put_module(modes, module_table, mode_rank_id(modes, i),
					&result->modules.list.item[j], err);
	}
	return rc < 0 ? rc : mode_note_absent(modes, MODE, table, "rank_id", ranks, err);
}

const struct mode mode_operator_mfu = {
	.name = MODE,
	.summary = "how much of the chip's peak kernels reach, from mstx ranges",
	.devices = MODE_DEVICES_APART,
	.wants = NP_DETAIL_MARKS | NP_DETAIL_FRAMEWORK | NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES |
		 NP_DETAIL_OPS | NP_DETAIL_DEVICE,
	.needs = NP_DETAIL_MARKS | NP_DETAIL_FRAMEWORK | NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
