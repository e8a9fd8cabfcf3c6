/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <inttypes.h>

#include "intervals.h"
#include "npuprof/db.h"
#include "schema.h"
#include "strings.h"

/*
 * ascend_pytorch_profiler_<rank>.db
 */
enum table {
	T_TASK,
	T_COMPUTE,
	T_OP,
	T_SMALL,
	T_CANN,
	T_TORCH,
	T_CONNECTION,
	T_MEMCPY,
	T_STEP,
	T_PMU,
	T_OP_MEMORY,
	TABLES,
};

/* String ids of a kernel model, looked up once. */
struct model_ids {
	bool known;
	int64_t id[16];
};

struct usage {
	np_ns at_ns;
	int64_t allocated;
	int64_t reserved;
};

struct rank_db {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	struct np_db_writer *writer;
	struct np_db_insert *insert[TABLES];
	struct syn_strings *strings;
	struct model_ids models[SYN_K_COUNT];
	int64_t torch_connections;
	np_ns first_ns;
	np_ns last_ns;
	np_ns first_task_ns; /* of tasks that are not kernels: the overlap lane begins there */
	np_ns last_task_ns;
	struct syn_intervals computing;
	struct syn_intervals communication;
	NP_VEC(struct usage) usage;
};

static struct np_cell number(int64_t value)
{
	return (struct np_cell){ .type = NP_CELL_INTEGER, .integer = value };
}

static int string_id(struct rank_db *db, enum syn_space space, const char *text, int64_t *ret,
		     struct np_err *err)
{
	return syn_strings_id(db->strings, space, text, ret, err);
}

static void extend(struct rank_db *db, np_ns start, np_ns end)
{
	if (start < db->first_ns)
		db->first_ns = start;
	if (end > db->last_ns)
		db->last_ns = end;
}

static void extend_tasks(struct rank_db *db, np_ns start, np_ns end)
{
	if (start < db->first_task_ns)
		db->first_task_ns = start;
	if (end > db->last_task_ns)
		db->last_task_ns = end;
}

/* Formats and data types: `word`, once for each of the shapes in the text. */
static int repeated_id(struct rank_db *db, const char *word, const char *shapes, int64_t *ret,
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
	return rc == NP_OK ? string_id(db, SYN_CANN, text.text, ret, err) : rc;
}

static const char *core_name(enum syn_core core)
{
	static const char *const names[] = { "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC" };

	return names[core];
}

static const char *kernel_task_type(enum syn_core core)
{
	static const char *const names[] = { "KERNEL_AICORE", "KERNEL_AIVEC", "MIX_AIC" };

	return names[core];
}

/* Shapes of an expert kernel depend on its tokens. */
static int shape_id(struct rank_db *db, const char *shapes, int32_t tokens, int64_t *ret,
		    struct np_err *err)
{
	const char *hole = strstr(shapes, "%d");
	char text[128];

	if (!hole)
		return string_id(db, SYN_CANN, shapes, ret, err);
	(void)snprintf(text, sizeof(text), "%.*s%d%s", (int)(hole - shapes), shapes, tokens,
		       hole + 2);
	return string_id(db, SYN_CANN, text, ret, err);
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

static int learn_model(struct rank_db *db, const struct syn_kernel_model *model,
		       struct model_ids *ids, struct np_err *err)
{
	bool bare = db->config->level == 0;
	const struct {
		int slot;
		const char *text;
	} texts[] = {
		{ ID_TASK_TYPE, kernel_task_type(model->core) },
		{ ID_NAME, model->name },
		{ ID_CORE, bare ? "N/A" : core_name(model->core) },
		{ ID_TYPE, bare ? "N/A" : model->type },
		{ ID_IN_DTYPES, bare ? "N/A" : model->dtypes },
		{ ID_IN_SHAPES, bare ? "N/A" : model->input_shapes },
		{ ID_OUT_SHAPES, bare ? "N/A" : model->output_shapes },
		{ ID_ATTR, "N/A" },
		{ ID_STATE, bare ? "N/A" : "dynamic" },
		{ ID_HF32, bare ? "N/A" : "NO" },
		{ ID_DIM, "N/A" },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = string_id(db, SYN_CANN, texts[i].text, &ids->id[texts[i].slot], err);
	if (rc == NP_OK)
		rc = repeated_id(db, bare ? "N/A" : "ND", bare ? "" : model->input_shapes,
				 &ids->id[ID_IN_FORMATS], err);
	if (rc == NP_OK)
		rc = repeated_id(db, bare ? "N/A" : "ND", bare ? "" : model->output_shapes,
				 &ids->id[ID_OUT_FORMATS], err);
	if (rc == NP_OK)
		rc = repeated_id(db, bare ? "N/A" : "DT_BF16", bare ? "" : model->output_shapes,
				 &ids->id[ID_OUT_DTYPES], err);
	ids->known = rc == NP_OK;
	return rc;
}

static int put_task(struct rank_db *db, const struct syn_task *task, int64_t type,
		    struct np_err *err)
{
	const struct np_cell cells[] = {
		number(task->start_ns),  number(task->end_ns),      number(db->info->place.device),
		number(task->connection), number(task->id),         number(db->info->pid),
		number(type),            number(SYN_NO_ID),         number(task->stream),
		number(task->id & 0xffff), number(SYN_NO_ID),
	};

	extend(db, task->start_ns, task->end_ns);
	return np_db_insert_row(db->insert[T_TASK], cells, err);
}

static int put_pmu(struct rank_db *db, const struct syn_task *task, struct np_err *err)
{
	double time = (double)(task->end_ns - task->start_ns) * 0.97;
	double cube = task->model->core == SYN_VECTOR ? 0.0 : 1.0;
	double vector = task->model->core == SYN_CUBE ? 0.0 : 1.0;
	const struct {
		const char *name;
		double value;
	} metrics[] = {
		{ "aic_total_time", cube * time },        { "aic_total_cycles", cube * time * 28.8 },
		{ "aic_mac_ratio", cube * 0.78 },         { "aic_mte2_ratio", cube * 0.55 },
		{ "aiv_total_time", vector * time },      { "aiv_total_cycles", vector * time * 57.6 },
		{ "aiv_vec_ratio", vector * 0.31 },       { "aiv_mte2_ratio", vector * 0.62 },
	};

	for (size_t i = 0; i < NP_COUNT(metrics); i++) {
		struct np_cell cells[3] = { number(task->id) };
		int64_t name;
		int rc = string_id(db, SYN_CANN, metrics[i].name, &name, err);

		cells[1] = number(name);
		cells[2] = np_cell_real(metrics[i].value);
		if (rc == NP_OK)
			rc = np_db_insert_row(db->insert[T_PMU], cells, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static int put_compute(struct rank_db *db, const struct syn_task *task,
		       const struct model_ids *ids, struct np_err *err)
{
	bool bare = db->config->level == 0;
	int64_t in_shapes = ids->id[ID_IN_SHAPES];
	int64_t out_shapes = ids->id[ID_OUT_SHAPES];
	int64_t blocks = bare ? 0 : (task->model->core == SYN_VECTOR ? 40 : 20);
	int rc = NP_OK;

	if (task->model->experts && !bare) {
		rc = shape_id(db, task->model->input_shapes, task->tokens, &in_shapes, err);
		if (rc == NP_OK)
			rc = shape_id(db, task->model->output_shapes, task->tokens, &out_shapes,
				      err);
	}
	if (rc < 0)
		return rc;
	/* The columns from opState on exist in schema 1.2.0 only. */
	const struct np_cell cells[] = {
		number(ids->id[ID_NAME]),
		number(task->id),
		number(blocks),
		number(bare || task->model->core != SYN_MIXED ? 0 : 40),
		number(ids->id[ID_CORE]),
		number(ids->id[ID_TYPE]),
		number(ids->id[ID_IN_FORMATS]),
		number(ids->id[ID_IN_DTYPES]),
		number(in_shapes),
		number(ids->id[ID_OUT_FORMATS]),
		number(ids->id[ID_OUT_DTYPES]),
		number(out_shapes),
		number(ids->id[ID_ATTR]),
		number(ids->id[ID_STATE]),
		number(ids->id[ID_HF32]),
		number(ids->id[ID_DIM]),
		number(ids->id[ID_DIM]),
	};

	return np_db_insert_row(db->insert[T_COMPUTE], cells, err);
}

static int put_kernel(struct rank_db *db, const struct syn_task *task, struct np_err *err)
{
	struct model_ids *ids = &db->models[task->model - syn_kernel_models];
	int rc = NP_OK;

	if (!ids->known)
		rc = learn_model(db, task->model, ids, err);
	if (rc == NP_OK)
		rc = put_task(db, task, ids->id[ID_TASK_TYPE], err);
	if (rc == NP_OK)
		rc = put_compute(db, task, ids, err);
	if (rc == NP_OK && db->insert[T_PMU])
		rc = put_pmu(db, task, err);
	if (rc == NP_OK && db->config->schema)
		rc = syn_intervals_add(&db->computing, task->start_ns, task->end_ns, err);
	return rc;
}

static int put_memcpy(struct rank_db *db, const struct syn_task *task, struct np_err *err)
{
	const struct np_cell cells[] = { number(task->id), number(task->bytes), number(1) };

	return np_db_insert_row(db->insert[T_MEMCPY], cells, err);
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	static const char *const types[] = {
		[SYN_TASK_MEMCPY] = "MEMCPY_ASYNC",
		[SYN_TASK_EVENT_RECORD] = "EVENT_RECORD",
		[SYN_TASK_EVENT_WAIT] = "EVENT_WAIT",
	};
	struct rank_db *db = (struct rank_db *)sink;
	int64_t type;
	int rc;

	if (task->kind == SYN_TASK_KERNEL)
		return put_kernel(db, task, err);
	extend_tasks(db, task->start_ns, task->end_ns);
	rc = string_id(db, SYN_CANN, types[task->kind], &type, err);
	if (rc == NP_OK)
		rc = put_task(db, task, type, err);
	if (rc == NP_OK && task->kind == SYN_TASK_MEMCPY)
		rc = put_memcpy(db, task, err);
	return rc;
}

static const char *small_name(enum syn_small_kind kind)
{
	static const char *const names[] = {
		[SYN_NOTIFY_RECORD] = "Notify_Record", [SYN_NOTIFY_WAIT] = "Notify_Wait",
		[SYN_COPY] = "Memcpy",                 [SYN_REDUCE] = "Reduce_Inline",
		[SYN_RDMA_PAYLOAD] = "RDMASend",       [SYN_RDMA_NOTIFY] = "RDMASend",
	};

	return names[kind];
}

static const char *small_task_type(enum syn_small_kind kind)
{
	switch (kind) {
	case SYN_NOTIFY_WAIT:
		return "Notify Wait";
	case SYN_COPY:
	case SYN_REDUCE:
		return "SDMA";
	case SYN_NOTIFY_RECORD:
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		break;
	}
	return "Write Value";
}

static int64_t notify_id(const struct syn_small *small)
{
	switch ((enum syn_small_kind)small->kind) {
	case SYN_NOTIFY_RECORD:
	case SYN_RDMA_NOTIFY:
		return (int64_t)small->dst << 32 | (small->plane * 8 + 4);
	case SYN_NOTIFY_WAIT:
		return small->plane * 8 + 4;
	case SYN_COPY:
	case SYN_RDMA_PAYLOAD:
		return INT64_MAX;
	case SYN_REDUCE:
		break;
	}
	return 0;
}

static int64_t transport_of(const struct syn_small *small)
{
	switch ((enum syn_small_kind)small->kind) {
	case SYN_NOTIFY_WAIT:
		return SYN_ENUM_LOCAL;
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		return SYN_ENUM_RDMA;
	case SYN_NOTIFY_RECORD:
	case SYN_COPY:
	case SYN_REDUCE:
		break;
	}
	return SYN_ENUM_SDMA;
}

static int64_t link_of(const struct syn_small *small)
{
	switch ((enum syn_small_kind)small->kind) {
	case SYN_COPY:
	case SYN_REDUCE:
		return small->on_chip ? SYN_ENUM_ON_CHIP : SYN_ENUM_HCCS;
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		return SYN_ENUM_ROCE;
	case SYN_NOTIFY_RECORD:
	case SYN_NOTIFY_WAIT:
		break;
	}
	return SYN_ENUM_INVALID;
}

static int64_t rdma_of(const struct syn_small *small)
{
	if (small->kind == SYN_RDMA_PAYLOAD)
		return SYN_ENUM_RDMA_PAYLOAD;
	return small->kind == SYN_RDMA_NOTIFY ? SYN_ENUM_RDMA_NOTIFY : SYN_ENUM_INVALID;
}

/* Ids that all tasks of one operator share. */
struct op_ids {
	int64_t name;
	int64_t group;
	int64_t dtype;
	int64_t op_id;
};

/* At level 0 CANN knows of a task that it belongs to the operator, and nothing else. */
static void bare_small(struct np_cell *cells, int64_t none)
{
	cells[2] = number(none);
	cells[3] = number(SYN_NO_ID);
	cells[5] = number(0);
	cells[6] = number(SYN_ENUM_NONE);
	cells[7] = number(SYN_NO_ID);
	cells[8] = number(SYN_NO_ID);
	cells[9] = number(SYN_ENUM_NONE);
	cells[10] = number(-1);
	cells[11] = number(SYN_ENUM_NONE);
	cells[12] = number(SYN_ENUM_NONE);
}

static int put_small(struct rank_db *db, const struct syn_small *small, const struct op_ids *op,
		     int64_t id, struct np_err *err)
{
	bool bare = db->config->level == 0;
	np_ns time = small->end_ns - small->start_ns;
	bool payload = small->kind == SYN_COPY || small->kind == SYN_REDUCE;
	int64_t dtype = small->kind == SYN_REDUCE ? op->dtype : SYN_ENUM_INVALID;
	int64_t type;
	int rc = string_id(db, SYN_CANN,
			   bare ? "N/A" : small_name((enum syn_small_kind)small->kind), &type, err);
	struct np_cell cells[] = {
		number(op->name),
		number(id),
		number(type),
		number(small->plane),
		number(op->group),
		number(notify_id(small)),
		number(rdma_of(small)),
		number(small->src),
		number(small->dst < 0 ? SYN_NO_ID : small->dst),
		number(transport_of(small)),
		number(small->kind == SYN_RDMA_NOTIFY ? 4 : small->size),
		number(dtype),
		number(link_of(small)),
		number(op->op_id),
		number(small->plane == 0 ? 1 : 0),
		np_cell_real(payload && time > 0 ? (double)small->size / (double)time * 1e9 : 0.0),
	};

	if (rc < 0)
		return rc;
	if (bare) {
		bare_small(cells, type);
		cells[14] = number(0);
		cells[15] = number(0);
	}
	return np_db_insert_row(db->insert[T_SMALL], cells, err);
}

static int put_smalls(struct rank_db *db, const struct syn_comm_event *comm,
		      const struct op_ids *op, struct np_err *err)
{
	for (size_t i = 0; i < comm->task_count; i++) {
		const struct syn_small *small = &comm->tasks[i];
		const struct syn_task task = {
			.start_ns = small->start_ns,
			.end_ns = small->end_ns,
			.stream = comm->stream + small->plane,
			.connection = comm->connection,
			.id = comm->first_id + (int64_t)i,
		};
		int64_t type;
		int rc = string_id(db, SYN_CANN,
				   small_task_type((enum syn_small_kind)small->kind), &type, err);

		extend_tasks(db, small->start_ns, small->end_ns);
		if (rc == NP_OK)
			rc = put_task(db, &task, type, err);
		if (rc == NP_OK)
			rc = put_small(db, small, op, task.id, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static int put_op(struct rank_db *db, const struct syn_comm_event *comm, const struct op_ids *op,
		  struct np_err *err)
{
	int64_t algorithm;
	int64_t type;
	char word[48];
	int rc;

	(void)snprintf(word, sizeof(word), "hcom_%s_", syn_op_word(comm->op));
	rc = string_id(db, SYN_CANN, syn_algorithm(comm->group), &algorithm, err);
	if (rc == NP_OK)
		rc = string_id(db, SYN_CANN, db->config->level == 0 ? "N/A" : word, &type, err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		number(op->name),     number(comm->start_ns),     number(comm->end_ns),
		number(comm->connection), number(op->group),      number(op->op_id),
		number(0),            number(0),                  number(op->dtype),
		number(algorithm),    number(comm->count),        number(type),
		number(db->info->place.device), number(comm->group->size),
	};

	return np_db_insert_row(db->insert[T_OP], cells, err);
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct rank_db *db = (struct rank_db *)sink;
	struct op_ids op = {
		.dtype = comm->fp32 ? SYN_ENUM_FP32 : SYN_ENUM_BFP16,
		.op_id = comm->op_id,
	};
	int rc = string_id(db, SYN_CANN, comm->name, &op.name, err);

	if (rc == NP_OK)
		rc = string_id(db, SYN_CANN, comm->group->name, &op.group, err);
	if (rc == NP_OK)
		rc = put_op(db, comm, &op, err);
	if (rc == NP_OK)
		rc = put_smalls(db, comm, &op, err);
	if (rc == NP_OK && db->config->schema)
		rc = syn_intervals_add(&db->communication, comm->start_ns, comm->end_ns, err);
	return rc;
}

static int put_torch(struct rank_db *db, const struct syn_api *api, struct np_err *err)
{
	int64_t thread = db->info->pid << 32 | db->info->pid;
	struct np_cell cells[11] = { 0 };
	char start[24];
	char end[24];
	int64_t id;
	int rc = string_id(db, SYN_FRAMEWORK, api->name, &id, err);

	(void)snprintf(start, sizeof(start), "%" PRId64, api->start_ns);
	(void)snprintf(end, sizeof(end), "%" PRId64, api->end_ns);
	cells[0] = np_cell_text(start);
	cells[1] = np_cell_text(end);
	cells[2] = number(thread);
	cells[4] = number(id);
	cells[10] = number(SYN_ENUM_TORCH_OP);
	if (rc == NP_OK && api->connection >= 0) {
		const struct np_cell link[] = { number(db->torch_connections),
						number(api->connection) };

		cells[3] = number(db->torch_connections++);
		rc = np_db_insert_row(db->insert[T_CONNECTION], link, err);
	}
	if (rc == NP_OK && api->model) {
		rc = string_id(db, SYN_FRAMEWORK, api->model->dtypes, &id, err);
		cells[7] = number(id);
	}
	if (rc == NP_OK && api->model && !api->model->experts) {
		rc = string_id(db, SYN_FRAMEWORK, api->model->input_shapes, &id, err);
		cells[8] = number(id);
	}
	return rc == NP_OK ? np_db_insert_row(db->insert[T_TORCH], cells, err) : rc;
}

static int on_api(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	static const int64_t types[] = {
		[SYN_API_ACL] = SYN_ENUM_ACL,
		[SYN_API_NODE] = SYN_ENUM_NODE,
		[SYN_API_COMM] = SYN_ENUM_COMM,
		[SYN_API_RUNTIME] = SYN_ENUM_RUNTIME,
	};
	struct rank_db *db = (struct rank_db *)sink;
	/* The thread that takes from the queue and launches. */
	int64_t thread = db->info->pid << 32 | (db->info->pid + 7);
	int64_t name;
	int rc;

	extend(db, api->start_ns, api->end_ns);
	if (api->level == SYN_API_TORCH)
		return put_torch(db, api, err);
	if (api->level == SYN_API_RUNTIME && db->config->level < 2)
		return NP_OK;
	rc = string_id(db, SYN_CANN, api->name, &name, err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		number(api->start_ns), number(api->end_ns),     number(types[api->level]),
		number(thread),        number(api->connection), number(name),
	};

	return np_db_insert_row(db->insert[T_CANN], cells, err);
}

static int note_usage(struct rank_db *db, np_ns at, int64_t allocated, int64_t reserved,
		      struct np_err *err)
{
	struct usage *usage = np_vec_add(&db->usage, err);

	if (!usage)
		return NP_E_NOMEM;
	*usage = (struct usage){ at, allocated, reserved };
	return NP_OK;
}

#define STREAM_POINTER 733279888

static int on_memory(struct syn_sink *sink, const struct syn_memory_event *memory,
		     struct np_err *err)
{
	struct rank_db *db = (struct rank_db *)sink;
	bool released = memory->release_ns != NP_UNKNOWN;
	np_ns length = released ? memory->release_ns - memory->allocate_ns : NP_UNKNOWN;
	int64_t name;
	int rc = string_id(db, SYN_MEMORY, memory->name, &name, err);
	const struct np_cell cells[] = {
		number(rc == NP_OK ? name : 0),
		number(memory->size),
		number(memory->allocate_ns),
		np_cell_integer(memory->release_ns),
		np_cell_integer(memory->release_ns),
		np_cell_integer(length),
		np_cell_integer(length),
		number(memory->total_before),
		number(memory->reserved),
		number(memory->total_before),
		np_cell_integer(memory->total_after),
		np_cell_integer(released ? memory->reserved : NP_UNKNOWN),
		np_cell_integer(memory->total_after),
		number(STREAM_POINTER),
		number(db->info->place.device),
	};

	if (rc == NP_OK)
		rc = np_db_insert_row(db->insert[T_OP_MEMORY], cells, err);
	if (rc == NP_OK)
		rc = note_usage(db, memory->allocate_ns, memory->total_before, memory->reserved,
				err);
	if (rc == NP_OK && released)
		rc = note_usage(db, memory->release_ns, memory->total_after, memory->reserved, err);
	return rc;
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct rank_db *db = (struct rank_db *)sink;
	const struct np_cell cells[] = { number(step->id), number(step->start_ns),
					 number(step->end_ns) };

	extend(db, step->start_ns, step->end_ns);
	if (step->id == NP_UNKNOWN)
		return NP_OK;
	return np_db_insert_row(db->insert[T_STEP], cells, err);
}

static int begin_tables(struct rank_db *db, struct np_err *err)
{
	bool modern = db->config->schema != 0;
	const struct {
		enum table table;
		const char *name;
		size_t columns;
	} tables[] = {
		{ T_TASK, "TASK", 11 },
		{ T_COMPUTE, "COMPUTE_TASK_INFO", modern ? 17 : 13 },
		{ T_OP, "COMMUNICATION_OP", modern ? 14 : 12 },
		{ T_SMALL, "COMMUNICATION_TASK_INFO", modern ? 16 : 14 },
		{ T_CANN, "CANN_API", 6 },
		{ T_TORCH, "PYTORCH_API", 11 },
		{ T_CONNECTION, "CONNECTION_IDS", 2 },
		{ T_MEMCPY, "MEMCPY_INFO", 3 },
		{ T_STEP, db->config->no_steps ? NULL : "STEP_TIME", 3 },
		{ T_PMU, db->config->pmu && db->config->level > 0 ? "TASK_PMU_INFO" : NULL, 3 },
		{ T_OP_MEMORY, db->config->memory ? "OP_MEMORY" : NULL, 15 },
	};

	for (size_t i = 0; i < NP_COUNT(tables); i++) {
		int rc = NP_OK;

		if (tables[i].name)
			rc = np_db_insert_begin(db->writer, tables[i].name, tables[i].columns,
						&db->insert[tables[i].table], err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static void free_db(struct rank_db *db)
{
	syn_strings_free(db->strings);
	syn_intervals_release(&db->computing);
	syn_intervals_release(&db->communication);
	np_vec_release(&db->usage);
	np_db_writer_abort(db->writer);
	free(db);
}

static int open_db(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct rank_db *db = calloc(1, sizeof(*db));
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	if (!db)
		return np_fail_nomem(err, "a database");
	db->base = (struct syn_sink){ on_api, on_task, on_comm, on_memory, on_step };
	db->info = info;
	db->config = info->config;
	db->first_ns = INT64_MAX;
	db->last_ns = INT64_MIN;
	db->first_task_ns = INT64_MAX;
	db->last_task_ns = INT64_MIN;
	db->strings = syn_strings_new();
	np_buf_printf(&path, "%s/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_%d.db", info->dir,
		      info->place.rank);
	rc = db->strings ? np_buf_check(&path, err) : np_fail_nomem(err, "strings");
	if (rc == NP_OK)
		rc = np_db_writer_open(path.text, &db->writer, err);
	if (rc == NP_OK)
		rc = syn_schema_create(db->writer, db->config, err);
	if (rc == NP_OK)
		rc = begin_tables(db, err);
	if (rc < 0) {
		free_db(db);
		return rc;
	}
	*ret = &db->base;
	return NP_OK;
}

/* Tables of a few rows, written at the end. */
static int put_row(struct rank_db *db, const char *table, const struct np_cell *cells,
		   size_t count, struct np_err *err)
{
	struct np_db_insert *insert;
	int rc = np_db_insert_begin(db->writer, table, count, &insert, err);

	return rc == NP_OK ? np_db_insert_row(insert, cells, err) : rc;
}

static int put_meta(struct rank_db *db, const char *name, const char *value, struct np_err *err)
{
	const struct np_cell cells[] = { np_cell_text(name), np_cell_text(value) };

	return put_row(db, "META_DATA", cells, 2, err);
}

static int put_json_meta(struct rank_db *db, const char *name,
			 void (*add)(const struct syn_rank_info *, struct np_buf *),
			 struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int rc;

	add(db->info, &text);
	rc = np_buf_check(&text, err);
	return rc == NP_OK ? put_meta(db, name, text.text, err) : rc;
}

static int put_metas(struct rank_db *db, struct np_err *err)
{
	bool modern = db->config->schema != 0;
	int rc = put_meta(db, "SCHEMA_VERSION_MICRO", "0", err);

	if (rc == NP_OK)
		rc = put_meta(db, "SCHEMA_VERSION_MINOR", modern ? "2" : "0", err);
	if (rc == NP_OK)
		rc = put_meta(db, "SCHEMA_VERSION_MAJOR", "1", err);
	if (rc == NP_OK)
		rc = put_meta(db, "SCHEMA_VERSION", modern ? "1.2.0" : "1.0.0", err);
	if (rc == NP_OK)
		rc = put_json_meta(db, "distributed_args", syn_distributed_args, err);
	if (rc == NP_OK)
		rc = put_json_meta(db, "ENV_VARIABLES", syn_env_variables, err);
	if (rc == NP_OK)
		rc = put_json_meta(db, "parallel_group_info", syn_parallel_group_info, err);
	return rc;
}

#define NOMINAL_MHZ 1800

static int put_frequency(struct rank_db *db, np_ns at, struct np_err *err)
{
	const struct np_cell cells[] = { number(db->info->place.device), number(at),
					 number(NOMINAL_MHZ), number(0) };

	return put_row(db, "AICORE_FREQ", cells, db->config->schema ? 4 : 3, err);
}

static int put_session(struct rank_db *db, struct np_err *err)
{
	np_ns start = db->first_ns - 1000000;
	np_ns end = db->last_ns + 1000000;
	int64_t device = db->info->place.device;
	const struct np_cell session[] = { number(start), number(end) };
	const struct np_cell npu[] = { number(device), np_cell_text("Ascend910B") };
	const struct np_cell map[] = { number(db->info->place.rank), number(device) };
	const struct np_cell host[] = { np_cell_text(db->info->host_uid),
					np_cell_text(db->info->host) };
	int rc = put_row(db, "SESSION_TIME_INFO", session, 2, err);

	if (rc == NP_OK)
		rc = put_row(db, "NPU_INFO", npu, 2, err);
	if (rc == NP_OK)
		rc = put_row(db, "RANK_DEVICE_MAP", map, 2, err);
	if (rc == NP_OK)
		rc = put_row(db, "HOST_INFO", host, 2, err);
	if (rc == NP_OK)
		rc = put_frequency(db, start, err);
	if (rc == NP_OK)
		rc = put_frequency(db, start + (end - start) / 2, err);
	if (rc == NP_OK)
		rc = put_frequency(db, end, err);
	return rc;
}

static int usage_by_time(const void *a, const void *b)
{
	const struct usage *x = a;
	const struct usage *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns > y->at_ns ? 1 : -1;
	return (x->allocated > y->allocated) - (x->allocated < y->allocated);
}

static int put_usage(struct rank_db *db, const char *component, const struct usage *usage,
		     struct np_db_insert *insert, struct np_err *err)
{
	bool app = strcmp(component, "APP") == 0;
	int64_t id;
	int rc = string_id(db, SYN_MEMORY, component, &id, err);

	if (rc < 0)
		return rc;
	/* Of the whole process only what it reserved is known. */
	const struct np_cell cells[] = {
		number(id),
		number(usage->at_ns),
		app ? np_cell_null() : number(usage->allocated),
		number(usage->reserved + (app ? INT64_C(3) << 30 : 0)),
		app ? np_cell_null() : number(usage->allocated),
		app ? np_cell_null() : number(STREAM_POINTER),
		number(db->info->place.device),
	};

	return np_db_insert_row(insert, cells, err);
}

static int put_device_memory(struct rank_db *db, const struct usage *usage,
			     struct np_db_insert *insert, struct np_err *err)
{
	int64_t type;
	int rc = string_id(db, SYN_CANN, "app", &type, err);

	if (rc < 0)
		return rc;
	const struct np_cell cells[] = { number(type), number(0),
					 number(usage->reserved + (INT64_C(2) << 30)),
					 number(usage->at_ns), number(db->info->place.device) };

	return np_db_insert_row(insert, cells, err);
}

static int put_memory(struct rank_db *db, struct np_err *err)
{
	struct np_db_insert *records;
	struct np_db_insert *device;
	int rc = np_db_insert_begin(db->writer, "MEMORY_RECORD", 7, &records, err);

	if (rc == NP_OK)
		rc = np_db_insert_begin(db->writer, "NPU_MEM", 5, &device, err);
	if (rc == NP_OK && db->usage.count > 0)
		qsort(db->usage.item, db->usage.count, sizeof(struct usage), usage_by_time);
	for (size_t i = 0; i < db->usage.count && rc == NP_OK; i++) {
		const struct usage *usage = &db->usage.item[i];

		rc = put_usage(db, "PTA", usage, records, err);
		if (rc == NP_OK)
			rc = put_usage(db, "PTA+GE", usage, records, err);
		if (rc == NP_OK && i % 8 == 0)
			rc = put_usage(db, "APP", usage, records, err);
		if (rc == NP_OK && i % 8 == 0)
			rc = put_device_memory(db, usage, device, err);
	}
	return rc;
}

static int put_lane(struct rank_db *db, const struct syn_intervals *set, int64_t type,
		    int64_t *next_id, struct np_db_insert *insert, struct np_err *err)
{
	for (size_t i = 0; i < set->all.count; i++) {
		const struct np_cell cells[] = { number((*next_id)++),
						 number(db->info->place.device),
						 number(set->all.item[i].start_ns),
						 number(set->all.item[i].end_ns), number(type) };
		int rc = np_db_insert_row(insert, cells, err);

		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

/* The overlap lane as msprof writes it since 1.2.0 (the rule is in the README of sim/). */
static int put_overlap(struct rank_db *db, struct np_err *err)
{
	struct syn_intervals busy = { 0 };
	struct syn_intervals whole = { 0 };
	struct syn_intervals rest = { 0 };
	struct np_db_insert *insert;
	int64_t id = 1;
	int rc = np_db_insert_begin(db->writer, "OVERLAP_ANALYSIS", 5, &insert, err);
	const struct syn_intervals *both[] = { &db->computing, &db->communication };

	syn_intervals_join(&db->computing);
	syn_intervals_join(&db->communication);
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < both[k]->all.count && rc == NP_OK; i++) {
			const struct syn_interval *one = &both[k]->all.item[i];

			extend_tasks(db, one->start_ns, one->end_ns);
			rc = syn_intervals_add(&busy, one->start_ns, one->end_ns, err);
		}
	}
	syn_intervals_join(&busy);
	if (rc == NP_OK && db->last_task_ns > db->first_task_ns)
		rc = syn_intervals_add(&whole, db->first_task_ns, db->last_task_ns, err);
	if (rc == NP_OK)
		rc = put_lane(db, &db->computing, 0, &id, insert, err);
	if (rc == NP_OK)
		rc = put_lane(db, &db->communication, 1, &id, insert, err);
	if (rc == NP_OK)
		rc = syn_intervals_subtract(&db->communication, &db->computing, &rest, err);
	if (rc == NP_OK)
		rc = put_lane(db, &rest, 2, &id, insert, err);
	if (rc == NP_OK)
		rc = syn_intervals_subtract(&whole, &busy, &rest, err);
	if (rc == NP_OK)
		rc = put_lane(db, &rest, 3, &id, insert, err);
	syn_intervals_release(&busy);
	syn_intervals_release(&whole);
	syn_intervals_release(&rest);
	return rc;
}

static int close_db(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct rank_db *db = (struct rank_db *)sink;

	if (rc == NP_OK)
		rc = put_metas(db, err);
	if (rc == NP_OK)
		rc = put_session(db, err);
	if (rc == NP_OK && db->config->memory)
		rc = put_memory(db, err);
	if (rc == NP_OK && db->config->schema)
		rc = put_overlap(db, err);
	if (rc == NP_OK)
		rc = syn_strings_write(db->strings, db->writer, err);
	if (rc == NP_OK)
		rc = syn_schema_index(db->writer, err);
	if (rc == NP_OK)
		rc = np_db_writer_commit(NP_STEAL(db->writer), err);
	free_db(db);
	return rc;
}

const struct syn_backend syn_rank_db = {
	.name = "db",
	.open = open_db,
	.close = close_db,
};
