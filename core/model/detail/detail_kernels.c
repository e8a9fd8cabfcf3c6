/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and their counters from kernel_details.csv, or op_summary of msprof. Its first columns
 * are known by name; those that nobody knows are counters of the AI cores, which differ with what
 * was measured. The header is therefore read before the rows.
 */
#include "core/model/vendor/text_columns.h"
#include "detail_load.h"

#include "npuprof/arena.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <math.h>

struct detail_kernel_table {
	struct detail_load *load;
	NP_VEC(struct np_csv_column) columns;
	struct detail_pmu pmu;
	NP_VEC(double) values;
	size_t rows;
	size_t bad_times;
	bool has_wait;
};

/* --- header ---------------------------------------------------------------------------------- */

static int add_counter(struct detail_kernel_table *kernels, const char *name)
{
	struct np_csv_column *column;
	uint32_t index;
	size_t before = kernels->pmu.names.count;
	int rc = detail_pmu_column(kernels->load, &kernels->pmu, name, strlen(name), &index);

	/* A second column of one name would have no place of its own. */
	if (rc < 0 || kernels->pmu.names.count == before)
		return rc;
	column = np_vec_add(&kernels->columns, kernels->load->err);
	if (!column)
		return NP_E_NOMEM;
	*column = (struct np_csv_column){ name, NP_OPTIONAL };
	return NP_OK;
}

/* The names of the first line; a header has neither quotes nor line ends inside. */
static int take_header(struct detail_kernel_table *kernels, const char *line, size_t length)
{
	struct np_arena *arena = kernels->load->detail->arena;
	int rc = NP_OK;

	while (rc == NP_OK && length > 0) {
		const char *comma = memchr(line, ',', length);
		size_t size = comma ? (size_t)(comma - line) : length;
		size_t end = size;
		char *name;

		while (end > 0 &&
		       (line[end - 1] == ' ' || line[end - 1] == '\t' || line[end - 1] == '\r'))
			end--;
		name = np_arena_text(arena, line, end);
		if (!name)
			return np_fail_nomem(kernels->load->err, "a header");
		if (vendor_kernels_is_counter(name) && !strchr(name, '|') &&
		    kernels->columns.count < NP_CSV_COLUMNS_MAX)
			rc = add_counter(kernels, name);
		line += size + (comma ? 1 : 0);
		length -= size + (comma ? 1 : 0);
	}
	return rc;
}

static int read_header(struct detail_kernel_table *kernels, const char *path,
		       struct np_err *problem)
{
	struct np_window window;
	struct np_gz *gz = NULL;
	const char *end;
	int rc = np_gz_open(path, &gz, &window, problem);

	if (rc < 0)
		return rc;
	end = memchr(window.bytes, '\n', window.length);
	if (take_header(kernels, window.bytes, end ? (size_t)(end - window.bytes) : window.length) <
	    0)
		rc = np_fail(problem, NP_E_NOMEM, "%s", kernels->load->err->text);
	np_gz_close(gz);
	return rc;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int64_t number(struct np_slice cell)
{
	int64_t value;

	return np_text_to_int(cell.bytes, cell.length, &value) ? vendor_known(value) : NP_UNKNOWN;
}

static double real(struct np_slice cell)
{
	char text[64];
	char *end;
	double value;

	if (cell.length == 0 || cell.length >= sizeof(text))
		return (double)NAN;
	memcpy(text, cell.bytes, cell.length);
	text[cell.length] = '\0';
	value = strtod(text, &end);
	return *end == '\0' ? value : (double)NAN;
}

static bool times_of(const struct np_slice *cell, np_ns *start, np_ns *end)
{
	np_ns duration;

	return vendor_time_of(cell[KERNELS_START], start) &&
	       vendor_time_of(cell[KERNELS_DURATION], &duration) && *start >= 0 && duration >= 0 &&
	       !__builtin_add_overflow(*start, duration, end);
}

static int texts_of(struct detail_load *load, const struct np_slice *cell, struct np_kernel *kernel)
{
	const struct {
		int column;
		np_str *text;
	} texts[] = {
		{ KERNELS_NAME, &kernel->name },
		{ KERNELS_TYPE, &kernel->type },
		{ KERNELS_STATE, &kernel->state },
		{ KERNELS_CORE, &kernel->core },
		{ KERNELS_IN_TYPES, &kernel->in_dtypes },
		{ KERNELS_IN_FORMATS, &kernel->in_formats },
		{ KERNELS_OUT_TYPES, &kernel->out_dtypes },
		{ KERNELS_OUT_FORMATS, &kernel->out_formats },
	};
	int rc = detail_intern_shapes(load, cell[KERNELS_IN_SHAPES].bytes,
				      cell[KERNELS_IN_SHAPES].length, &kernel->in_shapes);

	if (rc == NP_OK)
		rc = detail_intern_shapes(load, cell[KERNELS_OUT_SHAPES].bytes,
					  cell[KERNELS_OUT_SHAPES].length, &kernel->out_shapes);
	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = detail_intern(load, cell[texts[i].column].bytes, cell[texts[i].column].length,
				   texts[i].text);
	return rc;
}

/* The step that the file names, for ranks whose steps have no window. */
static uint32_t named_step(const struct detail_load *load, struct np_slice cell)
{
	for (uint32_t i = 0; i < load->rank->steps.count && cell.length > 0; i++) {
		np_str id = load->rank->steps.item[i].id;

		if (id != NP_STR_NONE && np_slice_is(cell, np_strtab_text(load->run_strings, id)))
			return i;
	}
	return NP_NO_STEP;
}

static int add_kernel(struct detail_kernel_table *kernels, const struct np_slice *cell, np_ns start,
		      np_ns end)
{
	struct np_kernel *kernel = detail_add_kernel(kernels->load);

	if (!kernel)
		return NP_E_NOMEM;
	kernel->start = start;
	kernel->end = end;
	if (!vendor_time_of(cell[KERNELS_WAIT], &kernel->wait))
		kernel->wait = NP_UNKNOWN;
	kernel->stream = number(cell[KERNELS_STREAM]);
	kernel->task_id = number(cell[KERNELS_TASK]);
	kernel->block_dim = number(cell[KERNELS_BLOCKS]);
	kernel->mix_block_dim = number(cell[KERNELS_MIX_BLOCKS]);
	kernel->device = vendor_device(number(cell[KERNELS_DEVICE]));
	kernel->step = named_step(kernels->load, cell[KERNELS_STEP]);
	return texts_of(kernels->load, cell, kernel);
}

static int take_row(struct detail_kernel_table *kernels, const struct np_slice *cell)
{
	np_ns start;
	np_ns end;
	int rc;

	kernels->rows++;
	if (!times_of(cell, &start, &end)) {
		kernels->bad_times++;
		return NP_OK;
	}
	if (vendor_is_operator(cell[KERNELS_CORE], cell[KERNELS_NAME]) ||
	    vendor_is_other_task(cell[KERNELS_CORE], cell[KERNELS_NAME]) ||
	    !detail_time_ok(kernels->load, start, end))
		return NP_OK;
	rc = add_kernel(kernels, cell, start, end);
	for (size_t i = KERNELS_COLUMNS; i < kernels->columns.count && rc == NP_OK; i++) {
		double *value = np_vec_add(&kernels->values, kernels->load->err);

		if (!value)
			return NP_E_NOMEM;
		*value = real(cell[i]) * kernels->pmu.scales.item[i - KERNELS_COLUMNS];
	}
	return rc;
}

static int read_rows(struct detail_kernel_table *kernels, const char *path, struct np_err *problem)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	int rc = np_csv_open(path, kernels->columns.item, kernels->columns.count, &csv, problem);

	while (rc == NP_OK) {
		rc = np_csv_next(csv, &row, problem);
		if (rc < 0 || !row)
			break;
		if (take_row(kernels, row->cell) < 0)
			rc = np_fail(problem, NP_E_NOMEM, "%s", kernels->load->err->text);
	}
	if (rc == NP_OK)
		kernels->has_wait = np_csv_has(csv, KERNELS_WAIT);
	if (rc == NP_OK && kernels->rows > 0 && kernels->bad_times == kernels->rows)
		rc = np_fail(problem, NP_E_FORMAT,
			     "no row has a usable time (was it saved by a spreadsheet?)");
	else if (rc == NP_OK && kernels->bad_times > 0)
		np_note_add(&kernels->load->detail->notes,
			    np_note_of_loss(kernels->bad_times, kernels->rows),
			    kernels->load->rank->id, path, "kernels",
			    "%zu of %zu rows have no usable time and were left out",
			    kernels->bad_times, kernels->rows);
	else if (rc == NP_OK)
		detail_note_impossible(kernels->load, path, "kernels",
				       np_csv_tally(csv)->short_rows, kernels->rows);
	return rc;
}

static int read_file(struct detail_kernel_table *kernels, const char *path, struct np_err *problem)
{
	int rc = NP_OK;

	for (size_t i = 0; i < KERNELS_COLUMNS; i++) {
		struct np_csv_column *column = np_vec_add(&kernels->columns, problem);

		if (!column)
			return NP_E_NOMEM;
		*column = vendor_kernels[i];
	}
	if (detail_wants(kernels->load, NP_DETAIL_PMU))
		rc = read_header(kernels, path, problem);
	return rc < 0 ? rc : read_rows(kernels, path, problem);
}

/* The values stand in the order of the rows already. */
static int keep_counters(struct detail_kernel_table *kernels)
{
	struct np_detail *detail = kernels->load->detail;
	size_t count = kernels->pmu.names.count;

	if (count == 0 || detail->kernels.count == 0)
		return NP_OK;
	detail->pmu_names = np_arena_array(detail->arena, count, sizeof(np_str));
	if (!detail->pmu_names)
		return np_fail_nomem(kernels->load->err, "counters");
	memcpy(detail->pmu_names, kernels->pmu.names.item, count * sizeof(np_str));
	detail->pmu_count = count;
	detail->pmu = kernels->values.item;
	kernels->values.item = NULL;
	detail_found(kernels->load, NP_DETAIL_PMU);
	return NP_OK;
}

int detail_read_kernels(struct detail_load *load)
{
	struct detail_kernel_table kernels = { .load = load };
	const char *path = load->source->file[NP_FILE_KERNELS];
	struct np_err problem = NP_ERR_INIT;
	int rc = NP_OK;

	if (!detail_wants(load, NP_DETAIL_KERNELS))
		return NP_OK;
	rc = read_file(&kernels, path, &problem);
	if (rc < 0 && rc != NP_E_NOMEM) {
		detail_note(load, path, np_file_name(NP_FILE_KERNELS), problem.text);
		/* Half a file would be worse than the trace, or than saying so. */
		load->detail->kernels.count = 0;
		rc = NP_OK;
	} else if (rc == NP_E_NOMEM) {
		(void)np_fail(load->err, rc, "%s", problem.text);
	} else {
		load->waits_known = kernels.has_wait;
		load->kernels_from_text = true;
		rc = keep_counters(&kernels);
		if (load->detail->kernels.count > 0)
			detail_found(load, NP_DETAIL_KERNELS);
	}
	detail_pmu_release(&kernels.pmu);
	np_vec_release(&kernels.columns);
	np_vec_release(&kernels.values);
	return rc;
}
