/* SPDX-License-Identifier: Apache-2.0 */
/* Memory snapshots: what goes into Python programs, and what it left. */
#include "memory_history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/place.h"
#include "npuprof/json.h"
#include "npuprof/text.h"
#include "torch.h"

/* Made of memory_history.py by cmake/NpEmbed.cmake. */
extern const char memory_history_py[];
extern const size_t memory_history_py_size;

/* Where snapshots are, below the directory of the job. */
#define PLACE "memory"

enum {
	LOG_BYTES = 65536, /* more is not read: a rank says a few lines */
};

/* --- before the start ----------------------------------------------------- */

/* Written beside and renamed: the launchers of a host write the same file. */
static int write_module(const char *dir, struct np_err *err)
{
	const struct np_place_bytes text = { .bytes = memory_history_py,
					     .length = memory_history_py_size };

	if (np_place_make(dir, err) < 0)
		return NP_E_IO;
	return np_place_write(dir, "sitecustomize.py", text, NP_PLACE_CONTROL, err);
}

/* A launcher of one rank has decided; ranks that are found decide themselves. */
static const char *ranks_of(const struct np_job *job)
{
	if (job->finds_ranks)
		return job->plan.memory_ranks;
	return np_job_concerns(job, job->rank, job->plan.memory_ranks) ? "all" : "";
}

static void put_plan(const struct np_job *job, const char *dir, struct np_jsonout *out)
{
	const struct np_plan *plan = &job->plan;
	char place[PATH_MAX];

	(void)snprintf(place, sizeof(place), "%.*s/" PLACE, PATH_MAX - 16, job->root);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "dir", place);
	np_jsonout_text(out, "log", dir);
	np_jsonout_text(out, "ranks", ranks_of(job));
	np_jsonout_integer(out, "start", plan->memory_start);
	np_jsonout_integer(out, "end", plan->memory_end);
	np_jsonout_text(out, "stacks", np_plan_stacks[plan->memory_stacks]);
	np_jsonout_integer(out, "entries", plan->memory_entries);
	np_jsonout_end(out);
}

static int set_path(struct np_env *env, const char *module, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	const char *others = np_env_get(env, "PYTHONPATH");
	int rc;

	if (strchr(module, ':'))
		return np_fail(err, NP_E_USAGE,
			       "'%.380s' cannot be searched by Python: a colon ends a name in "
			       "PYTHONPATH; choose another --save-path",
			       module);
	np_buf_add(&path, module);
	if (others && *others)
		np_buf_printf(&path, ":%s", others);
	rc = np_buf_check(&path, err);
	return rc == NP_OK ? np_env_set(env, "PYTHONPATH", path.text, err) : rc;
}

int np_memory_history_begin(const struct np_job *job, const char *dir, struct np_env *env,
			    struct np_err *err)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	char module[PATH_MAX];
	int rc;

	if (job->plan.memory_start < 0)
		return NP_OK;
	(void)snprintf(module, sizeof(module), "%.*s/python", PATH_MAX - 16, dir);
	rc = write_module(module, err);
	if (rc == NP_OK)
		rc = set_path(env, module, err);
	if (rc < 0)
		return rc;
	np_jsonout_init(&out, NULL);
	put_plan(job, dir, &out);
	rc = np_jsonout_finish(&out, err);
	return rc == NP_OK ? np_env_set(env, NP_MEMORY_HISTORY_ENV, out.buf.text, err) : rc;
}

/* --- what it left ----------------------------------------------------------- */

static void take_written(const struct np_job *job, struct np_record_memory *memory,
			 const struct np_json *line)
{
	const char *file = np_json_text(np_json_member(line, "file"));
	char path[PATH_MAX];
	struct stat info;
	int64_t end;

	if (!file || strchr(file, '/'))
		return;
	(void)snprintf(path, sizeof(path), "%.*s/" PLACE "/%.200s", PATH_MAX - 300, job->root,
		       file);
	if (stat(path, &info) < 0 || !S_ISREG(info.st_mode)) {
		(void)snprintf(memory->reason, sizeof(memory->reason),
			       "it was written and is gone: %.200s", path);
		return;
	}
	(void)snprintf(memory->file, sizeof(memory->file), PLACE "/%.200s", file);
	memory->bytes = (int64_t)info.st_size;
	(void)np_json_integer(np_json_member(line, "first"), &memory->first_step);
	/* A program that ends in a step has begun it. */
	if (np_json_integer(np_json_member(line, "end"), &end))
		memory->last_step = end > memory->first_step ? end - 1 : memory->first_step;
}

/* The last word counts: of the processes of a rank the one that wrote a snapshot ended last. */
static void take_line(const struct np_job *job, struct np_record_memory *memory, const char *text)
{
	NP_CLEANUP(np_json_freep) struct np_json *line = NULL;
	const char *state;

	if (np_json_parse(text, strlen(text), "log", &line, NULL) < 0)
		return;
	state = np_json_text(np_json_member(line, "state"));
	if (!state || memory->bytes != NP_UNKNOWN)
		return;
	if (strcmp(state, "written") == 0)
		take_written(job, memory, line);
	else if (strcmp(state, "failed") == 0)
		(void)snprintf(memory->reason, sizeof(memory->reason), "%.400s",
			       np_json_text(np_json_member(line, "reason"))
				       ? np_json_text(np_json_member(line, "reason"))
				       : "it failed");
	else if (strcmp(state, "recording") == 0)
		(void)snprintf(memory->reason, sizeof(memory->reason),
			       "the application was ended before it could be written");
	else if (strcmp(state, "loaded") == 0 && !memory->reason[0])
		(void)snprintf(memory->reason, sizeof(memory->reason),
			       job->plan.memory_start > 0
				       ? "the step at which it begins was not reached, or no "
					 "optimizer of PyTorch made a step"
				       : "the application imported torch_npu and did not use a "
					 "device");
}

static void read_log(const struct np_job *job, const char *dir, struct np_record *record)
{
	char path[PATH_MAX];
	char *line = NULL;
	size_t size = 0;
	long left = LOG_BYTES;
	ssize_t got;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%.*s/memory_rank%d.log", PATH_MAX - 64, dir,
		       (int)record->rank);
	file = fopen(path, "re");
	record->loaded |= file != NULL;
	while (file && left > 0 && (got = getline(&line, &size, file)) > 0) {
		left -= (long)got;
		take_line(job, &record->memory, line);
	}
	free(line);
	if (file)
		(void)fclose(file);
	if (record->memory.bytes == NP_UNKNOWN && !record->memory.reason[0])
		(void)snprintf(
			record->memory.reason, sizeof(record->memory.reason),
			"torch_npu was not imported, or Python does not look into PYTHONPATH "
			"(-E, -I, -S)");
}

/* Ranks that are found by nothing but their logs. */
static void find_ranks(struct np_job *job, const char *dir)
{
	static const char prefix[] = "memory_rank";
	const struct dirent *entry;
	DIR *stream = opendir(dir);

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		const char *digits = entry->d_name + sizeof(prefix) - 1;
		int64_t rank;

		if (strncmp(entry->d_name, prefix, sizeof(prefix) - 1) == 0 &&
		    np_text_to_int(digits, strcspn(digits, "."), &rank) && rank < NP_RECORD_RANKS)
			(void)np_job_record(job, rank);
	}
	if (stream)
		(void)closedir(stream);
}

void np_memory_history_find(struct np_job *job)
{
	char dir[PATH_MAX];

	if (job->plan.memory_start < 0)
		return;
	np_torch_name_dir(job, dir, sizeof(dir));
	if (job->finds_ranks)
		find_ranks(job, dir);
	for (size_t i = 0; i < job->records.count; i++) {
		struct np_record *record = &job->records.item[i];

		read_log(job, dir, record);
		/* Ranks that are found know better who is the first of its node. */
		record->memory.wanted =
			np_job_concerns(job, record->rank, job->plan.memory_ranks) ||
			record->memory.bytes != NP_UNKNOWN;
	}
}
