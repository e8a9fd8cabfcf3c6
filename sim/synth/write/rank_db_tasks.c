/* SPDX-License-Identifier: Apache-2.0 */
/* Writes tasks, kernels, operators and their sub-tasks into the database of a rank. */
#include "rank_db.h"
#include "sim/synth/account/sub_task.h"

/* Formats and data types: `word`, once for each of the shapes in the text. */
static int repeated_id(struct syn_db *db, const char *word, const char *shapes, int64_t *ret,
		       struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int rc;

	np_buf_add(&text, word);
	for (const char *c = shapes; *c; c++) {
		if (*c == ';')
			np_buf_printf(&text, ";%s", word);
	}
	rc = np_buf_check(&text, err);
	return rc == NP_OK ? syn_strings_id(db->strings, SYN_CANN, text.text, ret, err) : rc;
}

static const char *kernel_task_type(enum syn_core core)
{
	static const char *const names[] = { "KERNEL_AICORE", "KERNEL_AIVEC", "MIX_AIC" };

	return names[core];
}

/* Shapes of an expert kernel depend on its tokens, and so do those of others with --shapes. */
static int shape_id(struct syn_db *db, const char *shapes, int32_t tokens, int64_t *ret,
		    struct np_err *err)
{
	char text[128];

	syn_shape_text(shapes, tokens, text, sizeof(text));
	return syn_strings_id(db->strings, SYN_CANN, text, ret, err);
}

enum {
	ID_TASK_TYPE,
	ID_NAME,
	ID_CORE,
	ID_TYPE,
	ID_IN_FORMATS,
	ID_IN_DTYPES,
	ID_IN_SHAPES,
	ID_OUT_FORMATS,
	ID_OUT_DTYPES,
	ID_OUT_SHAPES,
	ID_ATTR,
	ID_STATE,
	ID_HF32,
	ID_DIM,
};

/* Formats, and data types of outputs: recorded, or the same for all. */
static int learn_formats(struct syn_db *db, const struct syn_kernel_model *model,
			 struct syn_model_ids *ids, struct np_err *err)
{
	const struct syn_kernel_detail *detail = syn_detail_of(db->info, model);
	bool bare = db->config->level == 0;
	bool whole = bare || detail; /* the word stands for all shapes */
	const struct {
		int slot;
		const char *word;
		const char *shapes;
	} lists[] = {
		{ ID_IN_FORMATS, detail ? detail->input_formats : "ND", model->input_shapes },
		{ ID_OUT_FORMATS, detail ? detail->output_formats : "ND", model->output_shapes },
		{ ID_OUT_DTYPES, detail ? detail->output_dtypes : "DT_BF16", model->output_shapes },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(lists) && rc == NP_OK; i++)
		rc = repeated_id(db, bare ? "N/A" : lists[i].word, whole ? "" : lists[i].shapes,
				 &ids->id[lists[i].slot], err);
	return rc;
}

static int learn_model(struct syn_db *db, const struct syn_kernel_model *model,
		       struct syn_model_ids *ids, struct np_err *err)
{
	const struct syn_kernel_detail *detail = syn_detail_of(db->info, model);
	bool bare = db->config->level == 0;
	const struct {
		int slot;
		const char *text;
	} texts[] = {
		{ ID_TASK_TYPE, kernel_task_type(model->core) },
		{ ID_NAME, model->name },
		{ ID_CORE, bare ? "N/A" : syn_kernel_core(db->info, model) },
		{ ID_TYPE, bare ? "N/A" : model->type },
		{ ID_IN_DTYPES, bare ? "N/A" : model->dtypes },
		{ ID_IN_SHAPES, bare ? "N/A" : model->input_shapes },
		{ ID_OUT_SHAPES, bare ? "N/A" : model->output_shapes },
		{ ID_ATTR, detail ? detail->attributes : "N/A" },
		{ ID_STATE, bare     ? "N/A"
			    : detail ? detail->state
				     : "dynamic" },
		{ ID_HF32, bare     ? "N/A"
			   : detail ? detail->hf32
				    : "NO" },
		{ ID_DIM, "N/A" },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = syn_strings_id(db->strings, SYN_CANN, texts[i].text, &ids->id[texts[i].slot],
				    err);
	if (rc == NP_OK)
		rc = learn_formats(db, model, ids, err);
	ids->known = rc == NP_OK;
	return rc;
}

/* A row of TASK that waits for its turn. */
struct rank_db_tasks_row {
	np_ns start_ns;
	np_ns end_ns;
	int64_t connection;
	int64_t id;
	int64_t type;
	int32_t stream;
};

static int compare_rows(const void *a, const void *b)
{
	const struct rank_db_tasks_row *x = a;
	const struct rank_db_tasks_row *y = b;

	return x->start_ns != y->start_ns ? np_order(x->start_ns, y->start_ns)
					  : np_order(x->id, y->id);
}

/* A row of TASK; `type` is a string id. */
static int syn_db_put_task(struct syn_db *db, const struct syn_task *task, int64_t type,
			   struct np_err *err)
{
	const struct rank_db_tasks_row row = { .start_ns = task->start_ns,
					       .end_ns = task->end_ns,
					       .connection = task->connection,
					       .id = task->id,
					       .type = type,
					       .stream = task->stream };

	syn_db_extend(db, task->start_ns, task->end_ns);
	return syn_sorter_add(&db->tasks, &row, err);
}

void syn_db_begin_tasks(struct syn_db *db)
{
	syn_sorter_init(&db->tasks, sizeof(struct rank_db_tasks_row), compare_rows,
			db->info->output);
}

static int write_task(struct syn_db *db, const struct rank_db_tasks_row *task, struct np_err *err)
{
	const struct np_cell cells[] = {
		syn_number(task->start_ns),
		syn_number(task->end_ns),
		syn_number(db->info->place.device),
		syn_number(task->connection),
		syn_number(task->id),
		syn_number(db->info->pid),
		syn_number(task->type),
		syn_number(SYN_NO_ID),
		syn_number(task->stream),
		syn_number(task->id & 0xffff),
		syn_number(SYN_NO_ID),
	};

	return np_db_insert_row(db->insert[SYN_T_TASK], cells, err);
}

int syn_db_write_tasks(struct syn_db *db, struct np_err *err)
{
	const void *row = NULL;
	int rc = syn_sorter_begin(&db->tasks, err);

	if (rc == NP_OK)
		rc = syn_sorter_next(&db->tasks, &row, err);
	while (rc == NP_OK && row) {
		rc = write_task(db, row, err);
		if (rc == NP_OK)
			rc = syn_sorter_next(&db->tasks, &row, err);
	}
	return rc;
}

static int put_counter(struct syn_db *db, const struct syn_task *task, const char *name,
		       double value, struct np_err *err)
{
	struct np_cell cells[3] = { syn_number(task->id) };
	int64_t id;
	int rc = syn_strings_id(db->strings, SYN_CANN, name, &id, err);

	if (rc < 0)
		return rc;
	cells[1] = syn_number(id);
	cells[2] = np_cell_real(value);
	return np_db_insert_row(db->insert[SYN_T_PMU], cells, err);
}

/* Counters of one core: "aic", the whole, then the time and the share of each unit. */
static int put_core(struct syn_db *db, const struct syn_task *task, const char *core, double time,
		    double cycles, const char *const *units, const double *shares, size_t count,
		    struct np_err *err)
{
	char name[32];
	int rc;

	(void)snprintf(name, sizeof(name), "%s_total_time", core);
	rc = put_counter(db, task, name, time, err);
	(void)snprintf(name, sizeof(name), "%s_total_cycles", core);
	if (rc == NP_OK)
		rc = put_counter(db, task, name, cycles, err);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		(void)snprintf(name, sizeof(name), "%s_%s_time", core, units[i]);
		rc = put_counter(db, task, name, time * shares[i], err);
		(void)snprintf(name, sizeof(name), "%s_%s_ratio", core, units[i]);
		if (rc == NP_OK)
			rc = put_counter(db, task, name, shares[i], err);
	}
	(void)snprintf(name, sizeof(name), "%s_icache_miss_rate", core);
	if (rc == NP_OK)
		rc = put_counter(db, task, name, time > 0.0 ? SYN_ICACHE_MISS_RATE : 0.0, err);
	return rc;
}

static int put_recorded(struct syn_db *db, const struct syn_task *task, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < task->counter_count && rc == NP_OK; i++)
		rc = put_counter(db, task, task->counters[i].name, task->counters[i].value, err);
	return rc;
}

static int put_pmu(struct syn_db *db, const struct syn_task *task, struct np_err *err)
{
	struct syn_pmu pmu = syn_pmu_of(task->model->core, task->end_ns - task->start_ns);
	double cube[SYN_CUBE_UNITS];
	double vector[SYN_VECTOR_UNITS];
	int rc;

	if (db->info->recorded)
		return put_recorded(db, task, err);
	syn_pmu_cube(&pmu, cube);
	syn_pmu_vector(&pmu, vector);
	rc = put_core(db, task, "aic", pmu.aic_time, pmu.aic_cycles, syn_cube_units, cube,
		      SYN_CUBE_UNITS, err);
	if (rc == NP_OK)
		rc = put_core(db, task, "aiv", pmu.aiv_time, pmu.aiv_cycles, syn_vector_units,
			      vector, SYN_VECTOR_UNITS, err);
	return rc;
}

static int put_compute(struct syn_db *db, const struct syn_task *task,
		       const struct syn_model_ids *ids, struct np_err *err)
{
	bool bare = db->config->level == 0;
	int64_t in_shapes = ids->id[ID_IN_SHAPES];
	int64_t out_shapes = ids->id[ID_OUT_SHAPES];
	int64_t blocks = bare ? 0 : syn_kernel_blocks(db->info, task->model);
	int rc = NP_OK;

	if ((task->model->experts || task->tokens > 0) && !bare) {
		rc = shape_id(db, task->model->input_shapes, task->tokens, &in_shapes, err);
		if (rc == NP_OK)
			rc = shape_id(db, task->model->output_shapes, task->tokens, &out_shapes,
				      err);
	}
	if (rc < 0)
		return rc;
	/* The columns from opState on exist in schema 1.2.0 only. */
	const struct np_cell cells[] = {
		syn_number(ids->id[ID_NAME]),
		syn_number(task->id),
		syn_number(blocks),
		syn_number(bare ? 0 : syn_kernel_mix_blocks(db->info, task->model)),
		syn_number(ids->id[ID_CORE]),
		syn_number(ids->id[ID_TYPE]),
		syn_number(ids->id[ID_IN_FORMATS]),
		syn_number(ids->id[ID_IN_DTYPES]),
		syn_number(in_shapes),
		syn_number(ids->id[ID_OUT_FORMATS]),
		syn_number(ids->id[ID_OUT_DTYPES]),
		syn_number(out_shapes),
		syn_number(ids->id[ID_ATTR]),
		syn_number(ids->id[ID_STATE]),
		syn_number(ids->id[ID_HF32]),
		syn_number(ids->id[ID_DIM]),
		syn_number(ids->id[ID_DIM]),
	};

	return np_db_insert_row(db->insert[SYN_T_COMPUTE], cells, err);
}

static int put_kernel(struct syn_db *db, const struct syn_task *task, struct np_err *err)
{
	struct syn_model_ids *ids = &db->models[task->model - db->info->models];
	int rc = NP_OK;

	if (!ids->known)
		rc = learn_model(db, task->model, ids, err);
	if (rc == NP_OK)
		rc = syn_db_put_task(db, task, ids->id[ID_TASK_TYPE], err);
	if (rc == NP_OK)
		rc = put_compute(db, task, ids, err);
	if (rc == NP_OK && db->insert[SYN_T_PMU])
		rc = put_pmu(db, task, err);
	return rc;
}

static int put_memcpy(struct syn_db *db, const struct syn_task *task, struct np_err *err)
{
	const struct np_cell cells[] = { syn_number(task->id), syn_number(task->bytes),
					 syn_number(task->direction) };

	return np_db_insert_row(db->insert[SYN_T_MEMCPY], cells, err);
}

int syn_db_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	static const char *const types[] = {
		[SYN_TASK_MEMCPY] = "MEMCPY_ASYNC",
		[SYN_TASK_EVENT_RECORD] = "EVENT_RECORD",
		[SYN_TASK_EVENT_WAIT] = "EVENT_WAIT",
		[SYN_TASK_MARKER] = "STARS_COMMON",
	};
	struct syn_db *db = (struct syn_db *)sink;
	int64_t type;
	int rc = NP_OK;

	if (db->config->schema)
		rc = syn_overlap_task(&db->overlap, task, err);
	if (rc < 0)
		return rc;
	if (task->kind == SYN_TASK_KERNEL)
		return put_kernel(db, task, err);
	rc = syn_strings_id(db->strings, SYN_CANN, types[task->kind], &type, err);
	if (rc == NP_OK)
		rc = syn_db_put_task(db, task, type, err);
	if (rc == NP_OK && task->kind == SYN_TASK_MEMCPY && task->bytes != NP_UNKNOWN)
		rc = put_memcpy(db, task, err);
	return rc;
}

/* Ids that all tasks of one operator share. */
struct op_ids {
	int64_t name;
	int64_t group;
	uint8_t data_type;
	int64_t op_id;
};

/* At level 0 CANN knows of a task that it belongs to the operator, and nothing else. */
static void bare_sub_task(struct np_cell *cells, int64_t none)
{
	cells[2] = syn_number(none);
	cells[3] = syn_number(SYN_NO_ID);
	cells[5] = syn_number(0);
	cells[6] = syn_number(SYN_ENUM_NONE);
	cells[7] = syn_number(SYN_NO_ID);
	cells[8] = syn_number(SYN_NO_ID);
	cells[9] = syn_number(SYN_ENUM_NONE);
	cells[10] = syn_number(-1);
	cells[11] = syn_number(SYN_ENUM_NONE);
	cells[12] = syn_number(SYN_ENUM_NONE);
}

static int put_sub_task(struct syn_db *db, const struct syn_sub_task *sub_task,
			const struct op_ids *op, int64_t id, struct np_err *err)
{
	bool bare = db->config->level == 0;
	int64_t type = 0;
	int rc = syn_strings_id(db->strings, SYN_CANN,
				bare ? "N/A"
				     : syn_sub_task_name((enum syn_sub_task_kind)sub_task->kind),
				&type, err);
	struct np_cell cells[] = {
		syn_number(op->name),
		syn_number(id),
		syn_number(type),
		syn_number(sub_task->plane),
		syn_number(op->group),
		syn_number(syn_sub_task_notify_id(sub_task)),
		syn_number(syn_sub_task_rdma_type(sub_task)),
		syn_number(sub_task->src),
		syn_number(sub_task->dst < 0 ? SYN_NO_ID : sub_task->dst),
		syn_number(syn_sub_task_transport(sub_task)),
		syn_number(syn_sub_task_size(sub_task)),
		syn_number(syn_sub_task_data_type(sub_task, op->data_type)),
		syn_number(syn_sub_task_link(sub_task)),
		syn_number(op->op_id),
		syn_number(sub_task->plane == 0 ? 1 : 0),
		np_cell_real(syn_sub_task_bandwidth(sub_task)),
	};

	if (rc < 0)
		return rc;
	if (bare) {
		bare_sub_task(cells, type);
		cells[14] = syn_number(0);
		cells[15] = syn_number(0);
	}
	return np_db_insert_row(db->insert[SYN_T_SUB_TASK], cells, err);
}

static int put_sub_tasks(struct syn_db *db, const struct syn_comm_event *comm,
			 const struct op_ids *op, struct np_err *err)
{
	for (size_t i = 0; i < comm->task_count; i++) {
		const struct syn_sub_task *sub_task = &comm->tasks[i];
		const struct syn_task task = {
			.start_ns = sub_task->start_ns,
			.end_ns = sub_task->end_ns,
			.stream = comm->streams ? comm->streams[i] : comm->stream + sub_task->plane,
			.connection = comm->connection,
			.id = comm->first_id + (int64_t)i,
		};
		int64_t type = 0;
		int rc = syn_strings_id(
			db->strings, SYN_CANN,
			syn_sub_task_task_type((enum syn_sub_task_kind)sub_task->kind), &type, err);

		if (rc == NP_OK)
			rc = syn_db_put_task(db, &task, type, err);
		if (rc == NP_OK)
			rc = put_sub_task(db, sub_task, op, task.id, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static int put_op(struct syn_db *db, const struct syn_comm_event *comm, const struct op_ids *op,
		  struct np_err *err)
{
	int64_t algorithm = 0;
	int64_t type = 0;
	char word[48];
	int rc;

	(void)snprintf(word, sizeof(word), "hcom_%s_", syn_op_word(comm->op));
	rc = syn_strings_id(db->strings, SYN_CANN,
			    comm->algorithm ? comm->algorithm : syn_algorithm(comm->group),
			    &algorithm, err);
	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN,
				    db->config->level == 0 ? "N/A"
				    : comm->type           ? comm->type
							   : word,
				    &type, err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		syn_number(op->name),
		syn_number(comm->start_ns),
		syn_number(comm->end_ns),
		syn_number(comm->connection),
		syn_number(op->group),
		syn_number(op->op_id),
		syn_number(0),
		syn_number(0),
		syn_number(comm->count == NP_UNKNOWN ? SYN_ENUM_NONE : op->data_type),
		syn_number(algorithm),
		np_cell_integer(comm->count),
		syn_number(type),
		syn_number(db->info->place.device),
		syn_number(comm->group->size),
	};

	return np_db_insert_row(db->insert[SYN_T_OP], cells, err);
}

int syn_db_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct syn_db *db = (struct syn_db *)sink;
	struct op_ids op = {
		.data_type = comm->data_type,
		.op_id = comm->op_id,
	};
	int rc = syn_strings_id(db->strings, SYN_CANN, comm->name, &op.name, err);

	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN, comm->group->name, &op.group, err);
	if (rc == NP_OK)
		rc = put_op(db, comm, &op, err);
	if (rc == NP_OK)
		rc = db->config->engine == SYN_ENGINE_STARS ? put_sub_tasks(db, comm, &op, err)
							    : syn_db_engine(db, comm, err);
	if (rc == NP_OK && db->config->schema)
		rc = syn_overlap_comm(&db->overlap, comm, err);
	return rc;
}
