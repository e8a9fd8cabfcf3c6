/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the database of a rank: opens it, walks over the stream, closes it (rank_db.h). */
#include "rank_db.h"

#include <inttypes.h>

void syn_db_extend(struct syn_db *db, np_ns start, np_ns end)
{
	if (start < db->first_ns)
		db->first_ns = start;
	if (end > db->last_ns)
		db->last_ns = end;
}

static int put_torch(struct syn_db *db, const struct syn_api *api, struct np_err *err)
{
	int64_t thread = db->info->pid << 32 | db->info->pid;
	struct np_cell cells[11] = { 0 };
	char start[24];
	char end[24];
	int64_t id;
	int rc = syn_strings_id(db->strings, SYN_FRAMEWORK, api->name, &id, err);

	(void)snprintf(start, sizeof(start), "%" PRId64, api->start_ns);
	(void)snprintf(end, sizeof(end), "%" PRId64, api->end_ns);
	cells[0] = np_cell_text(start);
	cells[1] = np_cell_text(end);
	cells[2] = syn_number(thread);
	cells[4] = syn_number(id);
	cells[10] = syn_number(SYN_ENUM_TORCH_OP);
	if (rc == NP_OK && api->connection >= 0) {
		const struct np_cell link[] = { syn_number(db->torch_connections),
						syn_number(api->connection) };

		cells[3] = syn_number(db->torch_connections++);
		rc = np_db_insert_row(db->insert[SYN_T_CONNECTION], link, err);
	}
	if (rc == NP_OK && api->model) {
		rc = syn_strings_id(db->strings, SYN_FRAMEWORK, api->model->dtypes, &id, err);
		cells[7] = syn_number(id);
	}
	if (rc == NP_OK && api->model && !api->model->experts) {
		rc = syn_strings_id(db->strings, SYN_FRAMEWORK, api->model->input_shapes, &id, err);
		cells[8] = syn_number(id);
	}
	return rc == NP_OK ? np_db_insert_row(db->insert[SYN_T_TORCH], cells, err) : rc;
}

static int on_api(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	static const int64_t types[] = {
		[SYN_API_ACL] = SYN_ENUM_ACL,
		[SYN_API_NODE] = SYN_ENUM_NODE,
		[SYN_API_COMM] = SYN_ENUM_COMM,
		[SYN_API_RUNTIME] = SYN_ENUM_RUNTIME,
	};
	struct syn_db *db = (struct syn_db *)sink;
	/* The thread that takes from the queue and launches. */
	int64_t thread = db->info->pid << 32 | (api->thread ? api->thread : db->info->pid + 7);
	int64_t name;
	int rc;

	syn_db_extend(db, api->start_ns, api->end_ns);
	if (api->level == SYN_API_TORCH)
		return db->torch ? put_torch(db, api, err) : NP_OK;
	if (api->level == SYN_API_RUNTIME && db->config->level < 2)
		return NP_OK;
	rc = syn_strings_id(db->strings, SYN_CANN, api->name, &name, err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		syn_number(api->start_ns),     syn_number(api->end_ns),
		syn_number(types[api->level]), syn_number(thread),
		syn_number(api->connection),   syn_number(name),
	};

	return np_db_insert_row(db->insert[SYN_T_CANN], cells, err);
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct syn_db *db = (struct syn_db *)sink;
	const struct np_cell cells[] = { syn_number(step->id), syn_number(step->start_ns),
					 syn_number(step->end_ns) };

	syn_db_extend(db, step->start_ns, step->end_ns);
	if (step->id == NP_UNKNOWN || !db->torch)
		return NP_OK;
	return np_db_insert_row(db->insert[SYN_T_STEP], cells, err);
}

static int begin_tables(struct syn_db *db, struct np_err *err)
{
	bool modern = db->config->schema != 0;
	const struct {
		enum syn_table table;
		const char *name;
		size_t columns;
	} tables[] = {
		{ SYN_T_TASK, "TASK", 11 },
		{ SYN_T_COMPUTE, "COMPUTE_TASK_INFO", modern ? 17 : 13 },
		{ SYN_T_OP, "COMMUNICATION_OP", modern ? 14 : 12 },
		{ SYN_T_SUB_TASK, "COMMUNICATION_TASK_INFO", modern ? 16 : 14 },
		{ SYN_T_CANN, "CANN_API", 6 },
		{ SYN_T_TORCH, db->torch ? "PYTORCH_API" : NULL, 11 },
		{ SYN_T_CONNECTION, db->torch ? "CONNECTION_IDS" : NULL, 2 },
		{ SYN_T_MEMCPY, "MEMCPY_INFO", 3 },
		{ SYN_T_STEP, db->torch && !db->config->no_steps ? "STEP_TIME" : NULL, 3 },
		{ SYN_T_PMU, db->config->pmu && db->config->level > 0 ? "TASK_PMU_INFO" : NULL, 3 },
		{ SYN_T_OP_MEMORY, db->torch && db->config->memory ? "OP_MEMORY" : NULL, 15 },
		{ SYN_T_MARK, db->config->marks ? "MSTX_EVENTS" : NULL, 10 },
		{ SYN_T_CCU, db->config->engine == SYN_ENGINE_CCU ? "CCU" : NULL, 6 },
		{ SYN_T_DPU, db->config->engine == SYN_ENGINE_DPU ? "DPU_TASK" : NULL, 9 },
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

static void free_db(struct syn_db *db)
{
	syn_strings_free(db->strings);
	syn_overlap_release(&db->overlap);
	syn_sorter_release(&db->tasks);
	np_vec_release(&db->usage);
	free(db->models);
	np_db_writer_abort(db->writer);
	free(db);
}

static int open_db(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct syn_db *db = calloc(1, sizeof(*db));
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	if (!db)
		return np_fail_nomem(err, "a database");
	db->base = (struct syn_sink){ .api = on_api,
				      .task = syn_db_task,
				      .comm = syn_db_comm,
				      .memory = syn_db_memory,
				      .step = on_step,
				      .mark = syn_db_mark };
	db->info = info;
	db->config = info->config;
	db->torch = info->form->maker == SYN_TORCH;
	db->first_ns = INT64_MAX;
	db->last_ns = INT64_MIN;
	syn_overlap_init(&db->overlap);
	syn_db_begin_tasks(db);
	db->strings = syn_strings_new();
	db->models = calloc(info->model_count + 1, sizeof(*db->models));
	syn_rank_db_path(info, &path);
	rc = db->strings && db->models ? np_buf_check(&path, err) : np_fail_nomem(err, "strings");
	if (rc == NP_OK)
		rc = np_db_writer_open(path.text, &db->writer, err);
	if (rc == NP_OK)
		rc = syn_schema_create(db->writer, db->config, db->torch, err);
	if (rc == NP_OK)
		rc = begin_tables(db, err);
	if (rc < 0) {
		free_db(db);
		return rc;
	}
	*ret = &db->base;
	return NP_OK;
}

static int close_db(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct syn_db *db = (struct syn_db *)sink;

	if (rc == NP_OK)
		rc = syn_db_write_tasks(db, err);
	if (rc == NP_OK)
		rc = syn_db_finish(db, err);
	if (rc == NP_OK)
		rc = syn_schema_index(db->writer, err);
	if (rc == NP_OK)
		rc = np_db_writer_commit(NP_STEAL(db->writer), err);
	free_db(db);
	return rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->db;
}

const struct syn_backend syn_rank_db = {
	.name = "db",
	.is_wanted = is_wanted,
	.open = open_db,
	.close = close_db,
};
