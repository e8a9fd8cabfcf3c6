/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a database as Nsight Systems exports one: the same job, had it run on GPUs. */
#include "backend.h"

#include "npuprof/db.h"
#include "npuprof/strtab.h"
#include "sim/synth/account/sub_task.h"

/* Ids of StringIds: those of names of kernels and operators follow. */
enum {
	TEXT_LAUNCH = 1,
	TEXT_FIRST,
};

struct nsys_db {
	struct syn_sink base;
	const struct syn_rank_info *info;
	struct np_db_writer *writer;
	struct np_db_insert *texts;
	struct np_db_insert *kernels;
	struct np_db_insert *calls;
	struct np_db_insert *copies;
	struct np_db_insert *ranges;
	struct np_strtab *names;
};

static const char schema[] =
	"CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL,"
	" deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,"
	" demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL,"
	" globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL,"
	" deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER);"
	"CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,"
	" text TEXT, globalTid INTEGER, textId INTEGER);";

/* The id of a text, which is written with the first that has it. */
static int id_of(struct nsys_db *nsys, const char *text, int64_t *ret, struct np_err *err)
{
	size_t before = np_strtab_count(nsys->names);
	np_str id;
	int rc = np_strtab_add(nsys->names, text, strlen(text), &id, err);

	*ret = TEXT_FIRST + (int64_t)id;
	if (rc < 0 || np_strtab_count(nsys->names) == before)
		return rc;
	return np_db_insert_row(
		nsys->texts, (const struct np_cell[]){ np_cell_integer(*ret), np_cell_text(text) },
		err);
}

static int put_kernel(struct nsys_db *nsys, const char *name, np_ns start, np_ns end,
		      int64_t stream, int64_t connection, struct np_err *err)
{
	int64_t id;
	int rc = id_of(nsys, name, &id, err);

	return rc < 0 ? rc
		      : np_db_insert_row(nsys->kernels,
					 (const struct np_cell[]){
						 np_cell_integer(start),
						 np_cell_integer(end),
						 np_cell_integer(nsys->info->place.device),
						 np_cell_integer(stream),
						 np_cell_integer(connection),
						 np_cell_integer(id),
						 np_cell_integer(id),
					 },
					 err);
}

/* Calls that launch; of the framework, operators are ranges. */
static int on_api(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	struct nsys_db *nsys = (struct nsys_db *)sink;
	int64_t thread = nsys->info->pid + 7;

	if (api->level != SYN_API_NODE)
		return NP_OK;
	return np_db_insert_row(nsys->calls,
				(const struct np_cell[]){
					np_cell_integer(api->start_ns),
					np_cell_integer(api->end_ns),
					np_cell_integer(thread),
					np_cell_integer(api->connection),
					np_cell_integer(TEXT_LAUNCH),
				},
				err);
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct nsys_db *nsys = (struct nsys_db *)sink;

	if (task->kind == SYN_TASK_KERNEL)
		return put_kernel(nsys, task->model->name, task->start_ns, task->end_ns,
				  task->stream, task->connection, err);
	if (task->kind != SYN_TASK_MEMCPY)
		return NP_OK;
	return np_db_insert_row(nsys->copies,
				(const struct np_cell[]){
					np_cell_integer(task->start_ns),
					np_cell_integer(task->end_ns),
					np_cell_integer(nsys->info->place.device),
					np_cell_integer(task->stream),
					np_cell_integer(task->connection),
				},
				err);
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	char name[96];

	(void)snprintf(name, sizeof(name), "ncclDevKernel_%s_RING_LL", syn_op_word(comm->op));
	return put_kernel((struct nsys_db *)sink, name, comm->start_ns, comm->end_ns, comm->stream,
			  comm->connection, err);
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct nsys_db *nsys = (struct nsys_db *)sink;
	char name[48];

	if (step->id == NP_UNKNOWN)
		return NP_OK;
	(void)snprintf(name, sizeof(name), "ProfilerStep#%lld", (long long)step->id);
	return np_db_insert_row(nsys->ranges,
				(const struct np_cell[]){
					np_cell_integer(step->start_ns),
					np_cell_integer(step->end_ns),
					np_cell_integer(59), /* push and pop */
					np_cell_text(name),
					np_cell_integer(nsys->info->pid),
					np_cell_null(),
				},
				err);
}

static int begin(struct nsys_db *nsys, struct np_err *err)
{
	const struct {
		const char *table;
		size_t columns;
		struct np_db_insert **insert;
	} tables[] = {
		{ "StringIds", 2, &nsys->texts },
		{ "CUPTI_ACTIVITY_KIND_KERNEL", 7, &nsys->kernels },
		{ "CUPTI_ACTIVITY_KIND_RUNTIME", 5, &nsys->calls },
		{ "CUPTI_ACTIVITY_KIND_MEMCPY", 5, &nsys->copies },
		{ "NVTX_EVENTS", 6, &nsys->ranges },
	};
	int rc = np_db_writer_exec(nsys->writer, schema, err);

	for (size_t i = 0; i < NP_COUNT(tables) && rc == NP_OK; i++)
		rc = np_db_insert_begin(nsys->writer, tables[i].table, tables[i].columns,
					tables[i].insert, err);
	if (rc == NP_OK)
		rc = np_db_insert_row(nsys->texts,
				      (const struct np_cell[]){ np_cell_integer(TEXT_LAUNCH),
								np_cell_text("cudaLaunchKernel") },
				      err);
	return rc;
}

static int close_db(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct nsys_db *nsys = (struct nsys_db *)sink;

	if (rc == NP_OK)
		rc = np_db_writer_commit(nsys->writer, err);
	else if (nsys->writer)
		np_db_writer_abort(nsys->writer);
	np_strtab_free(nsys->names);
	free(nsys);
	return rc;
}

static int open_db(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct nsys_db *nsys = calloc(1, sizeof(*nsys));
	int rc;

	if (!nsys)
		return np_fail_nomem(err, "a database");
	nsys->base = (struct syn_sink){
		.api = on_api, .task = on_task, .comm = on_comm, .step = on_step
	};
	nsys->info = info;
	nsys->names = np_strtab_new();
	syn_rank_db_path(info, &path);
	rc = nsys->names ? np_buf_check(&path, err) : np_fail_nomem(err, "names");
	if (rc == NP_OK)
		rc = np_db_writer_open(path.text, &nsys->writer, err);
	if (rc == NP_OK)
		rc = begin(nsys, err);
	if (rc < 0)
		return close_db(&nsys->base, rc, err);
	*ret = &nsys->base;
	return NP_OK;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->maker == SYN_NSYS;
}

const struct syn_backend syn_nsys = {
	.name = "nsys",
	.is_wanted = is_wanted,
	.open = open_db,
	.close = close_db,
};
