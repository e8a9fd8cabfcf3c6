/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the database, summed in the pass that reads them. */
#include "rank_db.h"

#include <math.h>

/* The counters that show what a kernel is, in ns; NaN where they were not recorded. */
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
	if (np_db_has_rows(load->db, vendor_task_pmu.name)) {
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
		.name = batch->column[KERNEL_NAME].integer[row],
		.type = batch->column[KERNEL_TYPE].integer[row],
		.core = batch->column[KERNEL_CORE].integer[row],
		.in_shapes = batch->column[KERNEL_IN_SHAPES].integer[row],
		.in_dtypes = batch->column[KERNEL_IN_TYPES].integer[row],
		.in_formats = batch->column[KERNEL_IN_FORMATS].integer[row],
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
		rc = np_idmap_set(load->by_task, batch->column[KERNEL_TASK].integer[row],
				  (uint32_t)(load->gather->kernels.count - 1), load->err);
	return rc;
}

/* --- counters -------------------------------------------------------------------------------- */

static double *counter_of(struct rank_db *load, int64_t name, struct rank_db_counters *counters)
{
	struct rank_db_text text = rank_db_text(load, name);
	const char *counter = vendor_counter_name(text.bytes, strlen(text.bytes));

	if (strcmp(counter, "aic_mac_time") == 0)
		return &counters->mac;
	if (strcmp(counter, "aic_total_time") == 0)
		return &counters->total;
	if (strcmp(counter, "aic_mte2_time") == 0)
		return &counters->mte2;
	if (strcmp(counter, "aiv_total_time") == 0)
		return &counters->aiv;
	return NULL;
}

static int take_counter(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	uint32_t kernel = np_idmap_get(load->by_task, batch->column[COUNTER_TASK].integer[row]);
	double *counter;

	if (kernel == NP_IDMAP_NONE)
		return NP_OK;
	counter =
		counter_of(load, batch->column[COUNTER_NAME].integer[row], &load->counters[kernel]);
	if (counter)
		*counter = batch->column[COUNTER_VALUE].real[row];
	return NP_OK;
}

static int read_counters(struct rank_db *load)
{
	static const struct vendor_pick counters = { &vendor_task_pmu, 0, 0 };
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
	rc = rank_db_each(load, &counters, take_counter);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct gather_kernel *kernel = &load->gather->kernels.item[i];
		const struct rank_db_counters *of = &load->counters[i];

		kernel->cube = (uint8_t)np_kernel_cube(of->mac, of->total);
		load->gather->computing[i] = np_kernel_computing(of->mac, of->mte2, of->aiv);
	}
	return rc;
}

/* --- calls of the framework ------------------------------------------------------------------ */

/* What a name is, looked at once for each: its text, and whether kernels are distinguished by it.
 */
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
	int64_t tid = batch->column[TORCH_THREAD].integer[row];
	int64_t forward = batch->column[TORCH_FORWARD].integer[row];
	struct gather_call call = {
		.start = batch->column[TORCH_START].integer[row],
		.end = batch->column[TORCH_END].integer[row],
		.tid = vendor_thread(tid),
		.connections = batch->column[TORCH_CONNECTION].integer[row],
	};
	int64_t name = batch->column[TORCH_NAME].integer[row];
	bool op;
	int rc = NP_OK;

	if (rank_db_loads_data(load, name))
		rc = capture_add_loading(&load->capture, call.start, call.end);
	if (rc < 0 || load->sums_lost ||
	    !vendor_torch_is_op(batch->column[TORCH_KIND].integer[row]) ||
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

static int take_link(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	return kernel_gather_link(load->gather, batch->column[CONNECTION_ID].integer[row],
				  batch->column[CONNECTION_VALUE].integer[row]);
}

/* Where no name distinguishes kernels, no call needs to be read. */
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
	static const struct vendor_pick calls = {
		&vendor_pytorch_api,
		VENDOR_BIT(TORCH_START) | VENDOR_BIT(TORCH_END) | VENDOR_BIT(TORCH_THREAD) |
			VENDOR_BIT(TORCH_CONNECTION) | VENDOR_BIT(TORCH_NAME) |
			VENDOR_BIT(TORCH_FORWARD) | VENDOR_BIT(TORCH_KIND),
		0,
	};
	static const struct vendor_pick links = { &vendor_connection_ids, 0, 0 };
	int rc;

	if (!has_origins(load))
		return rank_db_read_loading(load);
	rc = rank_db_each(load, &calls, take_call);
	if (rc == NP_OK && load->gather->launches.count > 0 && !load->sums_lost)
		rc = rank_db_each(load, &links, take_link);
	if (rc == NP_OK || rc == NP_E_NOMEM)
		return rc;
	/* A damaged table costs the sums; what loads data is wanted all the same. */
	load->sums_lost = true;
	np_spans_free(NP_STEAL(load->capture.loading));
	return rank_db_read_loading(load);
}

/* --- the device ------------------------------------------------------------------------------ */

static int take_frequency(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns time = batch->column[FREQUENCY_TIME].integer[row];
	int64_t mhz = vendor_known(batch->column[FREQUENCY_MHZ].integer[row]);

	if (!vendor_time_ok(time, time) || mhz == NP_UNKNOWN || mhz > UINT32_MAX)
		return NP_OK;
	load->gather->mhz_sum += mhz;
	load->gather->mhz_count++;
	return NP_OK;
}

/* The chip of this rank's device; where its number is not among them, the first. */
static int take_npu(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[NPU_NAME].text[row];
	int32_t device = load->capture.devices.count ? load->capture.devices.item[0] : -1;

	if (load->gather->chip != NP_STR_NONE && batch->column[NPU_ID].integer[row] != device)
		return NP_OK;
	return vendor_intern(load->strings, name.bytes, name.length, &load->gather->chip,
			     load->err);
}

/* --- everything ------------------------------------------------------------------------------ */

static int sum_kernels(struct rank_db *load)
{
	static const struct vendor_pick frequency = {
		&vendor_aicore_freq, VENDOR_BIT(FREQUENCY_TIME) | VENDOR_BIT(FREQUENCY_MHZ), 0
	};
	static const struct vendor_pick npus = { &vendor_npu_info, 0, 0 };
	int rc = read_counters(load);

	if (rc == NP_OK)
		rc = rank_db_each(load, &frequency, take_frequency);
	if (rc == NP_OK)
		rc = rank_db_each(load, &npus, take_npu);
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
