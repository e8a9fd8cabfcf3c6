/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "npuprof/jsonout.h"
#include "npuprof/text.h"
#include "rank_list.h"

enum {
	/* A file of the second in which a worker began is not followed. */
	SETTLE_S = 2,
	/* Where nobody says how many ranks there are, no more come after so long. */
	QUIET_S = 4,
	MOST_RANKS = 4096,
};

#define CONFIG_NAME "profiler_config.json"

static np_ns steady(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (np_ns)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const struct np_layout_host *host_of(const struct np_job *job)
{
	return &job->layout.hosts[job->layout.ranks[job->rank].host];
}

int np_torch_begin(struct np_torch *torch, const struct np_job *job, struct np_env *env,
		   struct np_err *err)
{
	char parent[NP_PLAN_PATH + NP_PLAN_JOB + 16];

	*torch = (struct np_torch){ .is_writer = host_of(job)->leader == job->rank,
				    .since = steady() };
	(void)snprintf(parent, sizeof(parent), "%s/.torch", job->root);
	(void)snprintf(torch->dir, sizeof(torch->dir), "%s/%.200s", parent, host_of(job)->name);
	if ((mkdir(parent, 0750) < 0 && errno != EEXIST) ||
	    (mkdir(torch->dir, 0750) < 0 && errno != EEXIST))
		return np_fail(err, NP_E_IO, "cannot make the directory '%.380s': %s", torch->dir,
			       strerrordesc_np(errno));
	return np_env_set(env, "PROF_CONFIG_PATH", torch->dir, err);
}

/* The rank in "dp_<host>_<pid>_rank_<r>.log", or -1. */
static int64_t announced_rank(const char *name)
{
	const char *at = strstr(name, "_rank_");
	int64_t rank;

	if (strncmp(name, "dp_", 3) != 0 || !at)
		return -1;
	at += 6;
	return np_text_to_int(at, strcspn(at, "."), &rank) && rank >= 0 ? rank : -1;
}

/* The ranks that have announced themselves on this host. */
static int list_announced(const struct np_torch *torch, int64_t *ranks)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	int count = 0;
	DIR *stream;

	(void)snprintf(path, sizeof(path), "%.*s/log", PATH_MAX - 16, torch->dir);
	stream = opendir(path);
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream)) && count < MOST_RANKS) {
		int64_t rank = announced_rank(entry->d_name);

		if (rank >= 0)
			ranks[count++] = rank;
	}
	if (stream)
		(void)closedir(stream);
	return count;
}

static const char *level_of(const struct np_plan *plan)
{
	static const char *const names[] = { "Level0", "Level1", "Level2" };

	return names[plan->level];
}

static void put_experimental(struct np_jsonout *out, const struct np_plan *plan)
{
	np_jsonout_object(out, "experimental_config");
	np_jsonout_text(out, "profiler_level", level_of(plan));
	np_jsonout_text(out, "aic_metrics",
			plan->level == NP_LEVEL_0 ? "AiCoreNone"
						  : np_plan_metrics[plan->aic_metrics]);
	np_jsonout_bool(out, "l2_cache", false);
	np_jsonout_bool(out, "op_attr", false);
	np_jsonout_null(out, "gc_detect_threshold");
	np_jsonout_bool(out, "data_simplification", plan->data_simplification);
	np_jsonout_bool(out, "record_op_args", false);
	np_jsonout_array_line(out, "export_type");
	np_jsonout_text(out, NULL, np_plan_export_types[plan->export_type]);
	np_jsonout_end(out);
	np_jsonout_bool(out, "msprof_tx", false);
	np_jsonout_bool(out, "mstx", false);
	np_jsonout_end(out);
}

void np_torch_format(const struct np_plan *plan, const char *root, const int64_t *ranks,
		     size_t count, struct np_buf *text)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	struct np_err err = NP_ERR_INIT;

	np_jsonout_init(&out, NULL);
	np_jsonout_object(&out, NULL);
	np_jsonout_array_line(&out, "activities");
	if (plan->with_cpu)
		np_jsonout_text(&out, NULL, "CPU");
	np_jsonout_text(&out, NULL, "NPU");
	np_jsonout_end(&out);
	np_jsonout_text(&out, "prof_dir", root);
	np_jsonout_bool(&out, "analyse", false);
	np_jsonout_bool(&out, "async_mode", false);
	np_jsonout_bool(&out, "record_shapes", plan->record_shapes);
	np_jsonout_bool(&out, "profile_memory", plan->with_memory);
	np_jsonout_bool(&out, "with_stack", plan->with_stack);
	np_jsonout_bool(&out, "with_flops", false);
	np_jsonout_bool(&out, "with_modules", false);
	np_jsonout_integer(&out, "active", plan->step_end - plan->step_start);
	np_jsonout_integer(&out, "warmup", 0);
	/* From the first step on is from now on: the first ones are over by the time it is read. */
	np_jsonout_integer(&out, "start_step", plan->step_start > 0 ? plan->step_start : -1);
	np_jsonout_bool(&out, "is_rank", true);
	np_jsonout_array_line(&out, "rank_list");
	for (size_t i = 0; i < count; i++)
		np_jsonout_integer(&out, NULL, ranks[i]);
	np_jsonout_end(&out);
	np_jsonout_object(&out, "metadata");
	np_jsonout_end(&out);
	put_experimental(&out, plan);
	np_jsonout_end(&out);
	if (np_jsonout_finish(&out, &err) == NP_OK)
		np_buf_add_bytes(text, out.buf.text, out.buf.length);
}

/* Written beside and renamed, so that nobody reads half of it. */
static bool write_config(const struct np_torch *torch, const struct np_buf *text)
{
	char path[PATH_MAX];
	char temporary[PATH_MAX];
	bool written = false;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%.*s/" CONFIG_NAME, PATH_MAX - 64, torch->dir);
	(void)snprintf(temporary, sizeof(temporary), "%.*s/." CONFIG_NAME, PATH_MAX - 64,
		       torch->dir);
	file = fopen(temporary, "we");
	if (file) {
		written = fwrite(text->text, 1, text->length, file) == text->length;
		written = fclose(file) == 0 && written;
	}
	return written && rename(temporary, path) == 0;
}

/* Tell the chosen ones of those that have announced themselves. */
static void request(struct np_torch *torch, struct np_job *job, const int64_t *ranks, int count)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int64_t chosen[MOST_RANKS];
	size_t chosen_count = 0;

	for (int i = 0; i < count; i++) {
		if (np_job_selects(job, ranks[i]))
			chosen[chosen_count++] = ranks[i];
	}
	torch->written = true;
	if (chosen_count == 0)
		return;
	np_torch_format(&job->plan, job->root, chosen, chosen_count, &text);
	if (!write_config(torch, &text))
		np_job_warn("rank %d: cannot write '%s/" CONFIG_NAME "': %s", job->rank, torch->dir,
			    strerrordesc_np(errno));
	else if (job->plan.step_start > 0)
		np_job_say(job, "torch_npu was asked for %lld steps from step %lld on",
			   (long long)(job->plan.step_end - job->plan.step_start),
			   (long long)job->plan.step_start);
	else
		np_job_say(job, "torch_npu was asked for the next %lld steps",
			   (long long)job->plan.step_end);
}

void np_torch_attend(struct np_torch *torch, struct np_job *job)
{
	int64_t ranks[MOST_RANKS];
	int count = list_announced(torch, ranks);
	np_ns quiet;

	for (int i = 0; i < count; i++) {
		struct np_record *record = np_job_record(job, ranks[i]);

		if (record)
			record->loaded = record->attached = true;
	}
	if (count != torch->announced) {
		torch->announced = count;
		torch->since = steady();
	}
	if (!torch->is_writer || torch->written || count == 0)
		return;
	quiet = (steady() - torch->since) / 1000000000;
	if (quiet >= QUIET_S ||
	    (!job->finds_ranks && count >= host_of(job)->ranks && quiet >= SETTLE_S))
		request(torch, job, ranks, count);
}
