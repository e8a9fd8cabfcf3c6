/* SPDX-License-Identifier: Apache-2.0 */
/* The files of torch_npu's dynamic_profile: the request that is written, the logs that are read. */
#include <dirent.h>
#include <limits.h>

#include "collect/place.h"
#include "npuprof/jsonout.h"
#include "npuprof/text.h"
#include "torch.h"

#define CONFIG_NAME "profiler_config.json"

/* --- the request ---------------------------------------------------------- */

static void put_experimental(struct np_jsonout *out, const struct np_plan *plan, int level)
{
	static const char *const levels[] = { "Level0", "Level1", "Level2" };

	np_jsonout_object(out, "experimental_config");
	np_jsonout_text(out, "profiler_level", levels[level]);
	np_jsonout_text(out, "aic_metrics",
			level == NP_LEVEL_0 ? "AiCoreNone" : np_plan_metrics[plan->aic_metrics]);
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

void np_torch_format(const struct np_plan *plan, const struct np_torch_wish *wish,
		     struct np_buf *text)
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
	np_jsonout_text(&out, "prof_dir", wish->dir);
	np_jsonout_bool(&out, "analyse", false);
	np_jsonout_bool(&out, "async_mode", false);
	np_jsonout_bool(&out, "record_shapes", plan->record_shapes);
	np_jsonout_bool(&out, "profile_memory", plan->with_memory);
	np_jsonout_bool(&out, "with_stack", plan->with_stack);
	np_jsonout_bool(&out, "with_flops", false);
	np_jsonout_bool(&out, "with_modules", false);
	/* A profile that is still open when the process exits is closed by torch_npu. */
	np_jsonout_integer(&out, "active", wish->count < 0 ? NP_PLAN_LAST_STEP : wish->count);
	np_jsonout_integer(&out, "warmup", 0);
	np_jsonout_integer(&out, "start_step", wish->start);
	np_jsonout_bool(&out, "is_rank", true);
	np_jsonout_array_line(&out, "rank_list");
	for (size_t i = 0; i < wish->rank_count; i++)
		np_jsonout_integer(&out, NULL, wish->ranks[i]);
	np_jsonout_end(&out);
	np_jsonout_object(&out, "metadata");
	np_jsonout_end(&out);
	put_experimental(&out, plan, wish->level);
	np_jsonout_end(&out);
	if (np_jsonout_finish(&out, &err) == NP_OK)
		np_buf_add_bytes(text, out.buf.text, out.buf.length);
}

/* Its time is that of this host's clock, with which torch_npu compares it. */
void np_torch_write_due(struct np_torch *torch)
{
	const struct np_place_bytes text = { .bytes = torch->text.text,
					     .length = torch->text.length,
					     .local_time = true };
	int64_t now = (int64_t)time(NULL);
	struct np_err err = NP_ERR_INIT;

	if (torch->text.length == 0 || now <= torch->written)
		return;
	if (np_place_write(torch->dir, CONFIG_NAME, text, NP_PLACE_CONTROL, &err) < 0)
		np_job_warn("%s", err.text);
	torch->written = now;
	np_buf_clear(&torch->text);
}

/* --- the logs ------------------------------------------------------------- */

/* The number that ends here, in "dp_<host>_<pid>_rank_<r>.log"; -1. */
static int64_t number_before(const char *name, const char *end)
{
	const char *begin = end;
	int64_t value;

	while (begin > name && begin[-1] >= '0' && begin[-1] <= '9')
		begin--;
	return np_text_to_int(begin, (size_t)(end - begin), &value) ? value : -1;
}

/* The rank in the name of a log, or -1; its process as well. */
static int64_t announced_rank(const char *name, int *ret_pid)
{
	const char *at = strstr(name, "_rank_");
	int64_t rank;

	if (strncmp(name, "dp_", 3) != 0 || !at)
		return -1;
	*ret_pid = (int)number_before(name, at);
	at += 6;
	return np_text_to_int(at, strcspn(at, "."), &rank) && rank >= 0 &&
			       strcmp(at + strcspn(at, "."), ".log") == 0
		       ? rank
		       : -1;
}

static DIR *open_logs(const struct np_torch *torch)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.*s/log", PATH_MAX - 16, torch->dir);
	return opendir(path);
}

int np_torch_list_announced(const struct np_torch *torch, int64_t *ranks, int size)
{
	const struct dirent *entry;
	DIR *stream = open_logs(torch);
	int count = 0;
	int pid;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && count < size && (entry = readdir(stream))) {
		int64_t rank = announced_rank(entry->d_name, &pid);

		if (rank >= 0)
			ranks[count++] = rank;
	}
	if (stream)
		(void)closedir(stream);
	return count;
}

bool np_torch_log_find(const struct np_torch *torch, int32_t rank, struct np_torch_log *log,
		       int *ret_pid)
{
	const struct dirent *entry;
	DIR *stream = open_logs(torch);
	bool found = false;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && !found && (entry = readdir(stream))) {
		found = announced_rank(entry->d_name, ret_pid) == rank;
		if (found)
			*log = (struct np_torch_log){ .started = NP_UNKNOWN,
						      .stopped = NP_UNKNOWN };
		if (found)
			(void)snprintf(log->name, sizeof(log->name), "%s", entry->d_name);
	}
	if (stream)
		(void)closedir(stream);
	return found;
}

static bool take_number(const char *line, const char *words, int64_t *ret)
{
	const char *at = strstr(line, words);

	if (!at)
		return false;
	at += strlen(words);
	return np_text_to_int(at, strspn(at, "0123456789"), ret);
}

void np_torch_log_line(struct np_torch_log *log, const char *line)
{
	int64_t step;

	if (take_number(line, "Start Dynamic Profiler at ", &step)) {
		log->started = step;
		log->stopped = NP_UNKNOWN;
	} else if (take_number(line, "Stop Dynamic Profiler at ", &step)) {
		log->stopped = step;
	} else if (strstr(line, "[WARNING]") && strstr(line, "step")) {
		log->refused = true;
	}
}

void np_torch_log_read(const struct np_torch *torch, struct np_torch_log *log)
{
	char path[PATH_MAX];
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%.*s/log/%s", PATH_MAX - 300, torch->dir, log->name);
	file = fopen(path, "re");
	if (!file)
		return;
	/* A log that has become shorter was begun anew. */
	if (fseek(file, 0, SEEK_END) == 0 && ftell(file) < log->read)
		log->read = 0;
	if (fseek(file, log->read, SEEK_SET) == 0) {
		/* A line that is not complete is read again. */
		while (getline(&line, &size, file) > 0 && strchr(line, '\n')) {
			np_torch_log_line(log, line);
			log->read = ftell(file);
		}
	}
	free(line);
	(void)fclose(file);
}
