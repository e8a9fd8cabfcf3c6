/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a rank directory: npuprof_rank.json, profiler_info and profiler_metadata.json. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/place.h"
#include "inject.h"
#include "npuprof/jsonout.h"
#include "npuprof/realtime.h"

/* <host>_<pid>_<YYYYmmddHHMMSSmmm>_ascend_pt, as torch_npu names it. */
static bool name_dir(struct np_inject *inject, np_ns now)
{
	struct np_profile_window *window = &inject->window;
	time_t seconds = (time_t)(now / 1000000000);
	char stamp[32];
	struct tm local;

	if (!localtime_r(&seconds, &local) ||
	    strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &local) == 0)
		return false;
	(void)snprintf(window->dir, sizeof(window->dir), "%s/%s_%d_%s%03d_ascend_pt", window->base,
		       inject->host, (int)getpid(), stamp, (int)(now / 1000000 % 1000));
	return true;
}

int np_rank_dir_make(struct np_inject *inject, struct np_err *err)
{
	struct np_profile_window *window = &inject->window;
	np_ns now = np_moment_now().realtime;
	int problem;

	if (np_place_make(window->base, err) < 0)
		return NP_E_IO;
	do {
		if (!name_dir(inject, now))
			return np_fail(err, NP_E_IO, "cannot tell the local time");
		if (mkdir(window->dir, 0755) == 0)
			return NP_OK;
		problem = errno;
		now += 1000000; /* a window of the same millisecond has the name */
	} while (problem == EEXIST);
	np_fail(err, NP_E_IO, "cannot make the directory '%s': %s", window->dir, strerror(problem));
	window->dir[0] = '\0';
	return NP_E_IO;
}

int64_t np_rank_dir_bytes(const char *dir)
{
	char *copy = strdup(dir);
	char *const roots[] = { copy, NULL };
	FTS *tree = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	int64_t bytes = 0;
	FTSENT *entry;

	while (tree && (entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_F)
			bytes += entry->fts_statp->st_size;
	if (tree)
		(void)fts_close(tree);
	free(copy);
	return tree ? bytes : NP_UNKNOWN;
}

bool np_rank_dir_has_profile(const char *dir)
{
	char *copy = strdup(dir);
	char *const roots[] = { copy, NULL };
	FTS *tree = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL) : NULL;
	bool found = false;
	FTSENT *entry;

	while (tree && !found && (entry = fts_read(tree)) != NULL)
		found = entry->fts_level == 1 && strncmp(entry->fts_name, "PROF_", 5) == 0;
	if (tree)
		(void)fts_close(tree);
	free(copy);
	return found;
}

static int64_t known(int64_t value)
{
	return value < 0 ? NP_UNKNOWN : value;
}

static const char *known_text(const char *text)
{
	return text[0] ? text : NULL;
}

static void write_steps(struct np_jsonout *out, const struct np_profile_window *window)
{
	np_jsonout_array(out, "steps");
	for (size_t i = 0; i < window->steps.count; i++) {
		const struct np_step_times *step = &window->steps.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "step", step->step);
		np_jsonout_integer(out, "begin_ns", step->begin);
		np_jsonout_integer(out, "end_ns", step->end);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_object(out, "window");
	np_jsonout_integer(out, "requested_first", window->first);
	np_jsonout_integer(out, "requested_end", known(window->end));
	np_jsonout_integer(out, "first_step", window->first_step);
	np_jsonout_integer(out, "last_step", window->last_step);
	np_jsonout_integer(out, "open_ns", window->opened.realtime);
	np_jsonout_integer(out, "close_ns", window->closed.realtime);
	np_jsonout_end(out);
}

static void write_ranks(struct np_jsonout *out, const char *key, const struct np_comm_info *comm)
{
	np_jsonout_array_line(out, key);
	for (uint32_t i = 0; i < comm->size; i++)
		np_jsonout_integer(out, NULL, comm->ranks[i]);
	np_jsonout_end(out);
}

static void write_comms(struct np_jsonout *out, const struct np_inject *inject)
{
	np_jsonout_array(out, "communicators");
	for (size_t i = 0; i < inject->comms.count; i++) {
		const struct np_comm_info *comm = &inject->comms.item[i];

		np_jsonout_object(out, NULL);
		np_jsonout_text(out, "name", comm->name);
		np_jsonout_integer(out, "size", comm->size);
		np_jsonout_integer(out, "group_rank", comm->group_rank);
		np_jsonout_text(out, "pg_name", known_text(comm->pg_name));
		if (comm->ranks)
			write_ranks(out, "ranks", comm);
		else
			np_jsonout_null(out, "ranks");
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void write_codes(struct np_jsonout *out, const struct np_profile_window *window)
{
	np_jsonout_array(out, "prof_codes");
	for (size_t i = 0; i < window->codes.count; i++) {
		const struct np_call_code *code = &window->codes.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "call", code->call);
		np_jsonout_integer(out, "code", code->code);
		np_jsonout_integer(out, "at_ns", code->at);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void write_clock(struct np_jsonout *out, const struct np_profile_window *window)
{
	np_jsonout_object(out, "clock");
	np_jsonout_integer(out, "realtime_ns", window->opened.realtime);
	np_jsonout_integer(out, "monotonic_raw_ns", window->opened.monotonic_raw);
	np_jsonout_integer(out, "end_realtime_ns", window->closed.realtime);
	np_jsonout_integer(out, "end_monotonic_raw_ns", window->closed.monotonic_raw);
	np_jsonout_bool(out, "simulated", np_realtime_host() != NULL);
	np_jsonout_end(out);
	np_jsonout_array(out, "warnings");
	for (size_t i = 0; i < window->warnings.count; i++)
		np_jsonout_text(out, NULL, window->warnings.item[i]);
	np_jsonout_end(out);
}

static const char *state_name(enum np_profile_window_state state)
{
	if (state == NP_WINDOW_FAILED)
		return "failed";
	return state == NP_WINDOW_CLOSED ? "closed" : "open";
}

static void write_rank(struct np_jsonout *out, const struct np_inject *inject)
{
	const struct np_profile_window *window = &inject->window;

	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", NP_RANK_FILE_SCHEMA);
	np_jsonout_text(out, "job", inject->config.job);
	np_jsonout_integer(out, "rank", known(inject->rank));
	np_jsonout_integer(out, "world_size", known(inject->config.world_size));
	np_jsonout_text(out, "host", inject->host);
	np_jsonout_text(out, "hostUid", inject->config.host_uid);
	np_jsonout_integer(out, "pid", (int64_t)getpid());
	np_jsonout_integer(out, "device", known(inject->device));
	np_jsonout_text(out, "soc", known_text(inject->soc));
	np_jsonout_text(out, "cann_version", known_text(inject->cann_version));
	np_jsonout_text(out, "acl_version", known_text(inject->acl_version));
	np_jsonout_text(out, "state", state_name(window->state));
	np_jsonout_text(out, "reason", window->reason);
	np_jsonout_text(out, "level", np_prof_level_name(inject->config.options.level));
	np_jsonout_integer(out, "mask", (int64_t)window->plan.mask);
	np_jsonout_text(out, "aic_metrics", window->plan.metrics_name);
	np_jsonout_text(out, "step_source", np_step_source_name(inject->steps.chosen));
	np_jsonout_text(out, "step_detail", inject->step_detail);
	write_steps(out, window);
	write_comms(out, inject);
	write_codes(out, window);
	write_clock(out, window);
	np_jsonout_end(out);
}

static void write_common_config(struct np_jsonout *out, const struct np_inject *inject)
{
	const struct np_prof_options *options = &inject->config.options;

	np_jsonout_object(out, "common_config");
	np_jsonout_array_line(out, "activities");
	np_jsonout_text(out, NULL, "ProfilerActivity.NPU");
	np_jsonout_end(out);
	np_jsonout_null(out, "schedule");
	np_jsonout_bool(out, "record_shapes", options->record_shapes);
	np_jsonout_bool(out, "profile_memory", options->memory);
	np_jsonout_bool(out, "with_stack", false);
	np_jsonout_bool(out, "with_flops", false);
	np_jsonout_bool(out, "with_modules", false);
	np_jsonout_end(out);
}

static void write_experimental_config(struct np_jsonout *out, const struct np_inject *inject)
{
	const struct np_prof_options *options = &inject->config.options;

	np_jsonout_object(out, "experimental_config");
	np_jsonout_text(out, "_profiler_level", np_prof_level_name(options->level));
	np_jsonout_text(out, "_aic_metrics", np_acl_metrics_constant(inject->window.plan.metrics));
	np_jsonout_bool(out, "_l2_cache", options->l2_cache);
	np_jsonout_bool(out, "_msprof_tx", options->mstx);
	np_jsonout_bool(out, "_mstx", options->mstx);
	np_jsonout_bool(out, "_data_simplification", false);
	np_jsonout_bool(out, "record_op_args", false);
	np_jsonout_array_line(out, "_export_type");
	np_jsonout_text(out, NULL, "db");
	np_jsonout_end(out);
	np_jsonout_array_line(out, "_host_sys");
	if (options->host_sys[0])
		np_jsonout_text(out, NULL, options->host_sys);
	np_jsonout_end(out);
	np_jsonout_bool(out, "_op_attr", options->op_attr);
	np_jsonout_null(out, "_gc_detect_threshold");
	np_jsonout_bool(out, "_sys_io", options->sys_io);
	np_jsonout_bool(out, "_sys_interconnection", options->sys_interconnection);
	np_jsonout_end(out);
}

static void write_info(struct np_jsonout *out, const struct np_inject *inject)
{
	const struct np_profile_window *window = &inject->window;

	np_jsonout_object(out, NULL);
	np_jsonout_object(out, "config");
	write_common_config(out, inject);
	write_experimental_config(out, inject);
	np_jsonout_end(out);
	np_jsonout_object(out, "start_info");
	np_jsonout_bool(out, "syscnt_enable", false);
	np_jsonout_integer(out, "start_monotonic", window->opened.monotonic_raw);
	np_jsonout_end(out);
	if (window->state == NP_WINDOW_CLOSED) {
		np_jsonout_object(out, "end_info");
		np_jsonout_integer(out, "collectionTimeEnd", window->closed.realtime);
		np_jsonout_integer(out, "MonotonicTimeEnd", window->closed.monotonic_raw);
		np_jsonout_end(out);
	}
	if (inject->cann_version[0])
		np_jsonout_text(out, "cann_version", inject->cann_version);
	np_jsonout_integer(out, "rank_id", known(inject->rank));
	np_jsonout_end(out);
}

static void write_environment(struct np_jsonout *out)
{
	static const char *const names[] = {
		"ASCEND_GLOBAL_LOG_LEVEL", "HCCL_RDMA_TC",           "HCCL_RDMA_SL",
		"ACLNN_CACHE_LIMIT",       "HOST_CACHE_CAPACITY",    "ASCEND_ENHANCE_ENABLE",
		"PYTORCH_NPU_ALLOC_CONF",  "ASCEND_LAUNCH_BLOCKING", "HCCL_ALGO",
	};

	np_jsonout_object(out, "ENV_VARIABLES");
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		const char *value = getenv(names[i]);

		np_jsonout_text(out, names[i], value ? value : "");
	}
	np_jsonout_end(out);
}

static void write_metadata(struct np_jsonout *out, const struct np_inject *inject)
{
	np_jsonout_object(out, NULL);
	write_environment(out);
	np_jsonout_object(out, "parallel_group_info");
	for (size_t i = 0; i < inject->comms.count; i++) {
		const struct np_comm_info *comm = &inject->comms.item[i];

		if (!comm->ranks)
			continue;
		np_jsonout_object(out, comm->name);
		np_jsonout_text(out, "group_name", comm->pg_name);
		np_jsonout_integer(out, "group_rank", comm->group_rank);
		write_ranks(out, "global_ranks", comm);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static int write_file(const struct np_inject *inject, const char *name,
		      void (*write)(struct np_jsonout *out, const struct np_inject *inject),
		      struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, NULL);
	write(&out, inject);
	rc = np_jsonout_finish(&out, err);
	if (rc == NP_OK)
		rc = np_place_write(
			inject->window.dir, name,
			(struct np_place_bytes){ .bytes = out.buf.text, .length = out.buf.length },
			NP_PLACE_OUTPUT, err);
	np_jsonout_release(&out);
	return rc;
}

int np_rank_files_write(const struct np_inject *inject, struct np_err *err)
{
	char info[40] = "profiler_info.json";
	int rc;

	if (inject->rank >= 0)
		(void)snprintf(info, sizeof(info), NP_INFO_FILE_FORMAT, inject->rank);
	rc = write_file(inject, info, write_info, err);
	if (rc == NP_OK)
		rc = write_file(inject, NP_METADATA_FILE, write_metadata, err);
	if (rc == NP_OK)
		rc = write_file(inject, NP_RANK_FILE, write_rank, err);
	return rc;
}
