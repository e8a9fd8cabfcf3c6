/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

#include <math.h>

/* Kernels of the database, summed in the pass that reads them. */

/* The counters that tell what a kernel is, in ns; NaN where they were not recorded. */
struct rank_db_counters {
	double mac;
	double total;
	double mte2;
	double aiv;
};

int rank_db_begin_sums(struct rank_db *load)
{
	if (!load->framework_op)
		return NP_OK;
	load->call_names = np_idmap_new();
	load->gather = calloc(1, sizeof(*load->gather));
	if (!load->call_names || !load->gather)
		return np_fail_nomem(load->err, "kernels");
	load->gather->err = load->err;
	if (np_db_has_rows(load->db, "TASK_PMU_INFO")) {
		load->by_task = np_idmap_new();
		if (!load->by_task)
			return np_fail_nomem(load->err, "kernels");
	}
	return kernel_gather_begin(load->gather);
}

void rank_db_end_sums(struct rank_db *load)
{
	if (load->gather)
		kernel_gather_end(load->gather);
	free(load->gather);
	free(load->counters);
	np_idmap_free(load->call_names);
	np_idmap_free(load->by_task);
}

/* --- kernels --------------------------------------------------------------------------------- */

static int fill_likeness(struct rank_db *load, const struct gather_texts *texts,
			 struct np_kernel_sort *ret)
{
	const struct {
		int64_t id;
		np_str *text;
	} plain[] = {
		{ texts->name, &ret->name },
		{ texts->type, &ret->type },
		{ texts->core, &ret->core },
		{ texts->in_dtypes, &ret->in_dtypes },
		{ texts->in_formats, &ret->in_formats },
	};
	struct rank_db_text text = rank_db_text(load, texts->in_shapes);
	int rc = vendor_intern_list(load->strings, text.bytes, text.length, ';', &ret->in_shapes,
				    load->err);

	for (size_t i = 0; i < NP_COUNT(plain) && rc == NP_OK; i++) {
		text = rank_db_text(load, plain[i].id);
		rc = vendor_intern(load->strings, text.bytes, text.length, plain[i].text,
				   load->err);
	}
	return rc;
}

int rank_db_gather_kernel(struct rank_db *load, const struct capture_task *task,
			  const struct np_batch *batch, size_t row)
{
	const struct gather_texts texts = {
		.name = batch->column[KERNEL_COL_NAME].integer[row],
		.type = batch->column[KERNEL_COL_TYPE].integer[row],
		.core = batch->column[KERNEL_COL_CORE].integer[row],
		.in_shapes = batch->column[KERNEL_COL_SHAPES].integer[row],
		.in_dtypes = batch->column[KERNEL_COL_DTYPES].integer[row],
		.in_formats = batch->column[KERNEL_COL_FORMATS].integer[row],
	};
	struct gather_kernel *kernel = np_vec_add(&load->gather->kernels, load->err);
	struct np_kernel_sort *fresh;
	int rc;

	if (!kernel)
		return NP_E_NOMEM;
	*kernel = (struct gather_kernel){ .start = task->start,
					  .end = task->end,
					  .connection = vendor_known(task->connection),
					  .stream = task->stream,
					  .id = task->id,
					  .device = task->device };
	rc = kernel_gather_likeness(load->gather, &texts, &kernel->likeness, &fresh);
	if (rc == NP_OK && fresh)
		rc = fill_likeness(load, &texts, fresh);
	if (rc == NP_OK && load->by_task)
		rc = np_idmap_set(load->by_task, batch->column[KERNEL_COL_TASK].integer[row],
				  (uint32_t)(load->gather->kernels.count - 1), load->err);
	return rc;
}

/* --- counters -------------------------------------------------------------------------------- */

static const struct np_scan_column counter_columns[] = {
	{ "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "name", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "value", NP_SCAN_REAL, NP_REQUIRED },
};

static double *counter_of(struct rank_db *load, int64_t name, struct rank_db_counters *counters)
{
	struct rank_db_text text = rank_db_text(load, name);

	if (strcmp(text.bytes, "aic_mac_time") == 0)
		return &counters->mac;
	if (strcmp(text.bytes, "aic_total_time") == 0 || strcmp(text.bytes, "aicore_time") == 0)
		return &counters->total;
	if (strcmp(text.bytes, "aic_mte2_time") == 0)
		return &counters->mte2;
	if (strcmp(text.bytes, "aiv_total_time") == 0 || strcmp(text.bytes, "aiv_time") == 0)
		return &counters->aiv;
	return NULL;
}

static int take_counter(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	uint32_t kernel = np_idmap_get(load->by_task, batch->column[0].integer[row]);
	double *counter;

	if (kernel == NP_IDMAP_NONE)
		return NP_OK;
	counter = counter_of(load, batch->column[1].integer[row], &load->counters[kernel]);
	if (counter)
		*counter = batch->column[2].real[row];
	return NP_OK;
}

static int read_counters(struct rank_db *load)
{
	size_t count = load->gather->kernels.count;
	int rc;

	if (!load->by_task || count == 0)
		return NP_OK;
	load->counters = malloc(count * sizeof(*load->counters));
	load->gather->computing = malloc(count * sizeof(*load->gather->computing));
	if (!load->counters || !load->gather->computing)
		return np_fail_nomem(load->err, "counters");
	for (size_t i = 0; i < count; i++)
		load->counters[i] = (struct rank_db_counters){ (double)NAN, (double)NAN,
							       (double)NAN, (double)NAN };
	rc = rank_db_each(load, "TASK_PMU_INFO", counter_columns, NP_COUNT(counter_columns),
			  take_counter);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct gather_kernel *kernel = &load->gather->kernels.item[i];
		const struct rank_db_counters *of = &load->counters[i];

		kernel->cube = (uint8_t)np_kernel_cube(of->mac, of->total);
		load->gather->computing[i] = np_kernel_computing(of->mac, of->mte2, of->aiv);
	}
	return rc;
}

/* --- calls of the framework ------------------------------------------------------------------ */

enum {
	CALL_START,
	CALL_END,
	CALL_THREAD,
	CALL_CONNECTION,
	CALL_NAME,
	CALL_FORWARD,
	CALL_KIND,
	CALL_COLUMNS,
};

static const struct np_scan_column call_columns[CALL_COLUMNS] = {
	[CALL_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[CALL_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[CALL_THREAD] = { "globalTid", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CALL_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CALL_NAME] = { "name", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CALL_FORWARD] = { "fwdThreadId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[CALL_KIND] = { "type", NP_SCAN_INTEGER, NP_OPTIONAL },
};

/* What a name is, looked at once for each: its text, and whether kernels are told apart by it. */
static int name_call(struct rank_db *load, int64_t name, bool *ret_op, struct gather_call *call)
{
	uint32_t known = np_idmap_get(load->call_names, name);
	struct rank_db_text text;
	np_str id = NP_STR_NONE;
	int rc = NP_OK;

	if (known == NP_IDMAP_NONE) {
		text = rank_db_text(load, name);
		rc = vendor_intern(load->strings, text.bytes, text.length, &id, load->err);
		known = vendor_is_step(text.bytes) ? 0 : 1;
		if (known && load->framework_op(text.bytes))
			known = 2;
		known |= id << 2;
		if (rc == NP_OK)
			rc = np_idmap_set(load->call_names, name, known, load->err);
	}
	*ret_op = (known & 3) != 0;
	call->counts = (known & 3) == 2;
	call->name = known >> 2;
	return rc;
}

static int take_call(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	int64_t tid = batch->column[CALL_THREAD].integer[row];
	int64_t forward = batch->column[CALL_FORWARD].integer[row];
	struct gather_call call = {
		.start = batch->column[CALL_START].integer[row],
		.end = batch->column[CALL_END].integer[row],
		.tid = vendor_thread(tid),
		.connections = batch->column[CALL_CONNECTION].integer[row],
	};
	int64_t name = batch->column[CALL_NAME].integer[row];
	bool op;
	int rc = NP_OK;

	if (rank_db_loads_data(load, name))
		rc = capture_add_loading(&load->capture, call.start, call.end);
	if (rc < 0 || load->sums_lost ||
	    !vendor_torch_is_op(batch->column[CALL_KIND].integer[row]) ||
	    !vendor_time_ok(call.start, call.end))
		return rc;
	rc = name_call(load, name, &op, &call);
	if (rc < 0 || !op)
		return rc;
	forward = vendor_known(forward);
	call.backward = forward != NP_UNKNOWN && forward != 0 && forward != call.tid;
	rc = kernel_gather_call(load->gather, &call);
	/* In another order than expected: the detail will sort them. */
	load->sums_lost = rc == NP_E_RANGE;
	return load->sums_lost ? NP_OK : rc;
}

static const struct np_scan_column link_columns[] = {
	{ "id", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "connectionId", NP_SCAN_INTEGER, NP_REQUIRED },
};

static int take_link(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	return kernel_gather_link(load->gather, batch->column[0].integer[row],
				  batch->column[1].integer[row]);
}

/* Where no name tells kernels apart, no call needs to be read. */
static bool has_origins(const struct rank_db *load)
{
	for (size_t i = 0; i < load->texts.count; i++) {
		if (load->framework_op(load->texts.item[i].bytes))
			return true;
	}
	return false;
}

int rank_db_gather_calls(struct rank_db *load)
{
	int rc;

	if (!has_origins(load))
		return rank_db_read_loading(load);
	rc = rank_db_each(load, "PYTORCH_API", call_columns, CALL_COLUMNS, take_call);
	if (rc == NP_OK && load->gather->launches.count > 0 && !load->sums_lost)
		rc = rank_db_each(load, "CONNECTION_IDS", link_columns, NP_COUNT(link_columns),
				  take_link);
	if (rc == NP_OK || rc == NP_E_NOMEM)
		return rc;
	/* A damaged table costs the sums; what loads data is wanted all the same. */
	load->sums_lost = true;
	np_spans_free(NP_STEAL(load->capture.loading));
	return rank_db_read_loading(load);
}

/* --- the device ------------------------------------------------------------------------------ */

static const struct np_scan_column frequency_columns[] = {
	{ "timestampNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "freq", NP_SCAN_INTEGER, NP_REQUIRED },
};

static int take_frequency(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[0].integer[row];
	int64_t mhz = vendor_known(batch->column[1].integer[row]);

	if (!vendor_time_ok(time, time) || mhz == NP_UNKNOWN || mhz > UINT32_MAX)
		return NP_OK;
	load->gather->mhz_sum += mhz;
	load->gather->mhz_count++;
	return NP_OK;
}

static const struct np_scan_column npu_columns[] = {
	{ "id", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "name", NP_SCAN_TEXT, NP_REQUIRED },
};

/* The chip of this rank's device; where its number is not among them, the first. */
static int take_npu(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[1].text[row];
	int32_t device = load->capture.devices.count ? load->capture.devices.item[0] : -1;

	if (load->gather->chip != NP_STR_NONE && batch->column[0].integer[row] != device)
		return NP_OK;
	return vendor_intern(load->strings, name.bytes, name.length, &load->gather->chip,
			     load->err);
}

/* --- everything ------------------------------------------------------------------------------ */

static int sum_kernels(struct rank_db *load)
{
	int rc = read_counters(load);

	if (rc == NP_OK)
		rc = rank_db_each(load, "AICORE_FREQ", frequency_columns,
				  NP_COUNT(frequency_columns), take_frequency);
	if (rc == NP_OK)
		rc = rank_db_each(load, "NPU_INFO", npu_columns, NP_COUNT(npu_columns), take_npu);
	if (rc == NP_OK)
		rc = kernel_gather_reduce(load->gather, load->strings, load->capture.devices.item,
					  load->rank);
	return rc;
}

/*
 * A damaged table, or one in an order that nobody expects, costs the sums and not
 * the rank: who wants them reads the detail.
 */
int rank_db_sum_kernels(struct rank_db *load)
{
	int rc = load->sums_lost ? NP_OK : sum_kernels(load);

	return rc == NP_E_NOMEM ? rc : NP_OK;
}
