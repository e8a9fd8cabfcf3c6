/* SPDX-License-Identifier: Apache-2.0 */
/* Writes kernel_details.csv, and op_summary_<time>.csv of msprof. */
#include <math.h>

#include "backend.h"
#include "npuprof/strtab.h"
#include "sim/synth/out/out.h"
#include "sim/synth/out/sorter.h"

/*
 * kernel_details.csv, and op_summary_<time>.csv of msprof, which has the same
 * columns under other names: kernels and operators in order of time.
 */
struct kernel_csv_row {
	np_ns start_ns;
	np_ns end_ns;
	uint32_t number;
	int32_t stream;
	int32_t tokens;
	int64_t id;
	int64_t step;
	const struct syn_pmu *pmu;
	const struct syn_kernel_model *model; /* NULL: an operator */
	const char *name;
	const char *type; /* of an operator, in the words of HCCL */
};

struct kernel_csv_table {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	bool summary; /* of msprof */
	struct syn_out out;
	struct syn_sorter rows;
	struct np_strtab *names;
	uint32_t numbers;
	int64_t steps;   /* complete ones */
	np_ns before_ns; /* end of the row before, or NP_UNKNOWN */
};

static int compare_rows(const void *a, const void *b)
{
	const struct kernel_csv_row *x = a;
	const struct kernel_csv_row *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct kernel_csv_table *table = (struct kernel_csv_table *)sink;
	const struct kernel_csv_row row = {
		.start_ns = task->start_ns,
		.end_ns = task->end_ns,
		.number = table->numbers++,
		.stream = task->stream,
		.tokens = task->tokens,
		.id = task->id,
		.step = table->config->first_step + table->steps,
		.model = task->model,
		.pmu = task->pmu,
	};

	return task->kind == SYN_TASK_KERNEL ? syn_sorter_add(&table->rows, &row, err) : NP_OK;
}

static int keep_type(struct kernel_csv_table *table, const struct syn_comm_event *comm,
		     const char **ret, struct np_err *err)
{
	char word[48];
	np_str id;
	int rc;

	(void)snprintf(word, sizeof(word), "hcom_%s_", syn_op_word(comm->op));
	rc = np_strtab_add(table->names, comm->type ? comm->type : word,
			   strlen(comm->type ? comm->type : word), &id, err);
	if (rc == NP_OK)
		*ret = np_strtab_text(table->names, id);
	return rc;
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct kernel_csv_table *table = (struct kernel_csv_table *)sink;
	struct kernel_csv_row row = {
		.start_ns = comm->start_ns,
		.end_ns = comm->end_ns,
		.number = table->numbers++,
		.step = comm->step,
	};
	np_str name;
	int rc = np_strtab_add(table->names, comm->name, strlen(comm->name), &name, err);

	if (rc < 0)
		return rc;
	row.name = np_strtab_text(table->names, name);
	rc = keep_type(table, comm, &row.type, err);
	if (rc < 0)
		return rc;
	return syn_sorter_add(&table->rows, &row, err);
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	(void)step;
	(void)err;
	((struct kernel_csv_table *)sink)->steps++;
	return NP_OK;
}

/* --- the header ---------------------------------------------------------------------------------
 */

#define PMU_COLUMNS \
	",aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us)," \
	"aic_scalar_ratio,aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio," \
	"aic_fixpipe_time(us),aic_fixpipe_ratio,aic_icache_miss_rate,aiv_time(us)," \
	"aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio," \
	"aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate," \
	"cube_utilization(%)"
#define PMU_COUNT 25

/* Only kernel_details.csv is shorter at level 0. */
static bool is_short(const struct kernel_csv_table *table)
{
	return table->config->level == 0 && !table->summary;
}

static bool has_pmu(const struct kernel_csv_table *table)
{
	return table->config->pmu && table->config->level > 0;
}

static bool has_step(const struct kernel_csv_table *table)
{
	return !table->summary && !table->config->no_steps;
}

static bool has_device(const struct kernel_csv_table *table)
{
	return table->summary || table->config->schema;
}

static void put_header(struct kernel_csv_table *table)
{
	struct syn_out *out = &table->out;
	const char *blocks = table->config->schema ? "Block Num" : "Block Dim";

	if (has_step(table))
		syn_put(out, table->info->form->maker == SYN_TORCH ? "Step Id," : "Step ID,");
	if (has_device(table))
		SYN_PUT(out, "Device_id,");
	if (is_short(table)) {
		SYN_PUT(out, "Name,Type,Accelerator Core,Start Time(us),Duration(us),"
			     "Wait Time(us),");
		syn_put(out, blocks);
	} else {
		syn_put(out, table->summary ? "Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,"
					      "Task Type,Task Start Time(us),Task Duration(us),"
					      "Task Wait Time(us),"
					    : "Model ID,Task ID,Stream ID,Name,Type,OP State,"
					      "Accelerator Core,Start Time(us),Duration(us),"
					      "Wait Time(us),");
		syn_put(out, blocks);
		SYN_PUT(out, ",Mix ");
		syn_put(out, blocks);
		SYN_PUT(out, ",HF32 Eligible,Input Shapes,Input Data Types,Input Formats,"
			     "Output Shapes,Output Data Types,Output Formats,Context ID");
	}
	if (has_pmu(table))
		SYN_PUT(out, PMU_COLUMNS);
	SYN_PUT(out, "\r\n");
}

/* --- rows ----------------------------------------------------------------------------------------
 */

/* Newer tools write fixed digits, older ones what Python makes of a float. */
static void put_times(struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	struct syn_out *out = &table->out;
	bool fixed = table->config->schema != 0;

	syn_put_us(out, row->start_ns);
	SYN_PUT(out, "\t,");
	if (fixed)
		syn_put_us(out, row->end_ns - row->start_ns);
	else
		syn_put_us_float(out, row->end_ns - row->start_ns);
}

/* How long before it nothing ran: an integer in the first row, where there is no before. */
static void put_wait(struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	struct syn_out *out = &table->out;
	np_ns before = table->before_ns;
	np_ns wait = before == NP_UNKNOWN || before > row->start_ns ? 0 : row->start_ns - before;

	SYN_PUT(out, ",");
	if (before == NP_UNKNOWN) {
		SYN_PUT(out, "0");
	} else if (table->config->schema) {
		syn_put_us(out, wait);
		SYN_PUT(out, "000");
	} else {
		syn_put_us_float(out, wait);
	}
	table->before_ns = row->end_ns;
}

static void put_none(struct syn_out *out, int count)
{
	for (int i = 0; i < count; i++)
		SYN_PUT(out, ",N/A");
}

/* What was recorded, or `word`, once for each of the shapes. */
static void put_list(struct syn_out *out, const char *recorded, const char *word,
		     const char *shapes)
{
	SYN_PUT(out, ",");
	if (recorded) {
		syn_put_cell(out, recorded);
		return;
	}
	syn_put(out, word);
	for (const char *c = shapes; *c; c++) {
		if (*c != ';')
			continue;
		SYN_PUT(out, ";");
		syn_put(out, word);
	}
}

static void put_shapes(struct syn_out *out, const char *shapes, int32_t tokens)
{
	char text[128];

	SYN_PUT(out, ",");
	if (tokens == 0 && !strstr(shapes, "%d")) {
		syn_put_cell(out, shapes);
		return;
	}
	syn_shape_text(shapes, tokens, text, sizeof(text));
	syn_put_cell(out, text);
}

/* A time of the counters and its share of the whole. */
static void put_share(struct syn_out *out, double time, double share)
{
	SYN_PUT(out, ",");
	syn_put_us_float(out, (np_ns)llround(time * share));
	SYN_PUT(out, ",");
	syn_put_us_float(out, (np_ns)llround(share * 1000.0));
}

static void put_core(struct syn_out *out, double time, double cycles, const double *shares,
		     int count)
{
	SYN_PUT(out, ",");
	syn_put_us_float(out, (np_ns)llround(time));
	SYN_PUT(out, ",");
	syn_put_int(out, llround(cycles));
	for (int i = 0; i < count; i++)
		put_share(out, time, shares[i]);
	SYN_PUT(out, ",");
	syn_put_us_float(out, (np_ns)llround(time > 0.0 ? SYN_ICACHE_MISS_RATE * 1000.0 : 0.0));
}

static void put_pmu(struct syn_out *out, const struct kernel_csv_row *row)
{
	struct syn_pmu pmu =
		row->pmu ? *row->pmu : syn_pmu_of(row->model->core, row->end_ns - row->start_ns);
	double cube[SYN_CUBE_UNITS];
	double vector[SYN_VECTOR_UNITS];

	syn_pmu_cube(&pmu, cube);
	syn_pmu_vector(&pmu, vector);
	put_core(out, pmu.aic_time, pmu.aic_cycles, cube, SYN_CUBE_UNITS);
	put_core(out, pmu.aiv_time, pmu.aiv_cycles, vector, SYN_VECTOR_UNITS);
	syn_put(out, pmu.aic_time > 0.0 ? ",97.0" : ",0");
}

static const char *core_of(const struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	if (!row->model)
		return table->config->schema ? "COMMUNICATION" : "HCCL";
	return table->config->level == 0 ? "N/A" : syn_kernel_core(table->info, row->model);
}

/* The columns behind the times. */
static void put_rest(struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	const struct syn_kernel_model *model = row->model;
	const struct syn_kernel_detail *detail = model ? syn_detail_of(table->info, model) : NULL;
	struct syn_out *out = &table->out;

	if (table->config->level == 0 || !model) {
		SYN_PUT(out, ",0");
		if (!is_short(table))
			put_none(out, 9 + (has_pmu(table) ? PMU_COUNT : 0));
		return;
	}
	SYN_PUT(out, ",");
	syn_put_int(out, syn_kernel_blocks(table->info, model));
	SYN_PUT(out, ",");
	syn_put_int(out, syn_kernel_mix_blocks(table->info, model));
	SYN_PUT(out, ",");
	syn_put(out, detail ? detail->hf32 : "NO");
	put_shapes(out, model->input_shapes, row->tokens);
	SYN_PUT(out, ",");
	syn_put_cell(out, model->dtypes);
	put_list(out, detail ? detail->input_formats : NULL, "ND", model->input_shapes);
	put_shapes(out, model->output_shapes, row->tokens);
	put_list(out, detail ? detail->output_dtypes : NULL, "DT_BF16", model->output_shapes);
	put_list(out, detail ? detail->output_formats : NULL, "ND", model->output_shapes);
	syn_put(out, model->core == SYN_MIXED ? ",0" : ",N/A");
	if (has_pmu(table))
		put_pmu(out, row);
}

static void put_ids(struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	struct syn_out *out = &table->out;

	if (is_short(table))
		return;
	SYN_PUT(out, "4294967295,");
	if (row->model) {
		syn_put_int(out, row->id & 0xffff);
		SYN_PUT(out, ",");
		syn_put_int(out, row->stream);
		SYN_PUT(out, ",");
	} else {
		SYN_PUT(out, "N/A,N/A,");
	}
}

static void put_state(struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	const struct syn_kernel_detail *detail =
		row->model ? syn_detail_of(table->info, row->model) : NULL;
	bool known = row->model && table->config->level > 0;

	SYN_PUT(&table->out, ",");
	syn_put(&table->out, !known ? "N/A" : detail ? detail->state : "dynamic");
}

static void put_type(struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	struct syn_out *out = &table->out;

	if (table->config->level == 0) {
		SYN_PUT(out, "N/A");
	} else if (row->model) {
		syn_put_cell(out, row->model->type);
	} else {
		syn_put_cell(out, row->type);
	}
	if (!is_short(table))
		put_state(table, row);
}

static void put_row(struct kernel_csv_table *table, const struct kernel_csv_row *row)
{
	struct syn_out *out = &table->out;

	if (has_step(table)) {
		syn_put_int(out, row->step);
		SYN_PUT(out, ",");
	}
	if (has_device(table)) {
		syn_put_int(out, table->info->place.device);
		SYN_PUT(out, ",");
	}
	put_ids(table, row);
	syn_put_cell(out, row->model ? row->model->name : row->name);
	SYN_PUT(out, ",");
	put_type(table, row);
	SYN_PUT(out, ",");
	syn_put(out, core_of(table, row));
	SYN_PUT(out, ",");
	put_times(table, row);
	put_wait(table, row);
	put_rest(table, row);
	SYN_PUT(out, "\r\n");
}

static int finish(struct kernel_csv_table *table, struct np_err *err)
{
	const void *row;
	int rc = syn_sorter_begin(&table->rows, err);

	put_header(table);
	if (rc == NP_OK)
		rc = syn_sorter_next(&table->rows, &row, err);
	while (rc == NP_OK && row) {
		put_row(table, row);
		rc = syn_sorter_next(&table->rows, &row, err);
	}
	return rc;
}

static int free_table(struct kernel_csv_table *table, int rc, struct np_err *err)
{
	rc = syn_out_close(&table->out, rc, err);
	syn_sorter_release(&table->rows);
	np_strtab_free(table->names);
	free(table);
	return rc;
}

static int open_table(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct kernel_csv_table *table = calloc(1, sizeof(*table));
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	if (!table)
		return np_fail_nomem(err, "a table of kernels");
	table->base = (struct syn_sink){ .task = on_task, .comm = on_comm, .step = on_step };
	table->info = info;
	table->config = info->config;
	table->summary = info->form->maker == SYN_MSPROF;
	table->before_ns = NP_UNKNOWN;
	table->out = SYN_OUT_INIT;
	table->names = np_strtab_new();
	syn_sorter_init(&table->rows, sizeof(struct kernel_csv_row), compare_rows, info->output);
	syn_text_path(info, table->summary ? "op_summary" : "kernel_details", ".csv", &path);
	rc = table->names ? np_buf_check(&path, err) : np_fail_nomem(err, "names");
	if (rc == NP_OK)
		rc = syn_out_open(&table->out, path.text, false, err);
	if (rc < 0)
		return free_table(table, rc, err);
	*ret = &table->base;
	return NP_OK;
}

static int close_table(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct kernel_csv_table *table = (struct kernel_csv_table *)sink;

	if (rc == NP_OK)
		rc = finish(table, err);
	return free_table(table, rc, err);
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->text;
}

const struct syn_backend syn_kernel_csv = {
	.name = "kernels",
	.is_wanted = is_wanted,
	.open = open_table,
	.close = close_table,
};
