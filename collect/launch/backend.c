/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/text.h"
#include "protocol.h"

/* --- which ---------------------------------------------------------------- */

/* Python, or what starts it. */
static bool is_python(const struct np_job *job)
{
	const char *slash = strrchr(job->app[0], '/');
	const char *name = slash ? slash + 1 : job->app[0];

	return strncmp(name, "python", 6) == 0 || strcmp(name, "torchrun") == 0;
}

static int check_torch(const struct np_plan *plan, struct np_err *err)
{
	if (plan->dynamic)
		return np_fail(err, NP_E_USAGE,
			       "--dynamic needs --backend acl: torch_npu does not tell which step "
			       "it is");
	if (plan->step_end < 0)
		return np_fail(err, NP_E_USAGE,
			       "--backend torch needs --step-end: torch_npu wants the number of "
			       "steps");
	return NP_OK;
}

static int check_msprof(const struct np_job *job, struct np_err *err)
{
	if (job->finds_ranks)
		return np_fail(err, NP_E_USAGE,
			       "--backend msprof needs a launcher for every rank (mpirun): around "
			       "torchrun msprof could not tell the ranks apart");
	if (job->plan.dynamic)
		return np_fail(err, NP_E_USAGE, "--dynamic needs --backend acl");
	return NP_OK;
}

int np_backend_choose(struct np_job *job, struct np_buf *notes, struct np_err *err)
{
	struct np_plan *plan = &job->plan;
	bool framework = plan->with_cpu || plan->with_stack;

	if (plan->backend == NP_BACKEND_AUTO) {
		bool torch = framework && is_python(job) && plan->step_end >= 0 && !plan->dynamic;

		plan->backend = torch ? NP_BACKEND_TORCH : NP_BACKEND_ACL;
		if (torch)
			np_buf_add(notes, "backend: torch (operators or stacks of the framework "
					  "are asked for)\n");
	}
	if (framework && plan->backend != NP_BACKEND_TORCH)
		np_buf_printf(notes,
			      "%s ignored: operators and stacks of the framework are recorded by "
			      "its own profiler only; see --backend torch\n",
			      plan->with_cpu && plan->with_stack ? "with_cpu and with_stack are"
			      : plan->with_cpu                   ? "with_cpu is"
								 : "with_stack is");
	if (plan->backend == NP_BACKEND_MSPROF && (plan->step_start > 0 || plan->step_end >= 0))
		np_buf_add(notes, "steps are ignored: msprof records all from start to end\n");
	if (plan->backend == NP_BACKEND_TORCH)
		return check_torch(plan, err);
	return plan->backend == NP_BACKEND_MSPROF ? check_msprof(job, err) : NP_OK;
}

/* --- checks --------------------------------------------------------------- */

/* Does a process of ours use torch_npu's shared memory? Its name has only the hour in it. */
static bool maps_torch_memory(const char *pid)
{
	char path[64];
	char line[512];
	bool found = false;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "/DynamicProfileNpuShm") != NULL;
	if (file)
		(void)fclose(file);
	return found;
}

static int check_torch_memory(struct np_err *err)
{
	const struct dirent *entry;
	DIR *stream = opendir("/proc");
	int rc = NP_OK;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && rc == NP_OK && (entry = readdir(stream))) {
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
		    maps_torch_memory(entry->d_name))
			rc = np_fail(
				err, NP_E_BUSY,
				"process %.20s uses /dev/shm/DynamicProfileNpuShm*: jobs of "
				"one hour on one host share it, and would follow each "
				"other's requests; wait for the next hour or use --backend acl",
				entry->d_name);
	}
	if (stream)
		(void)closedir(stream);
	return rc;
}

int np_backend_check(const struct np_job *job, struct np_err *err)
{
	if (job->plan.backend == NP_BACKEND_TORCH)
		return check_torch_memory(err);
	return NP_OK;
}

/* --- what they left ------------------------------------------------------- */

static int64_t bytes_in(const char *path)
{
	struct stat info;
	const struct dirent *entry;
	int64_t total = 0;
	DIR *stream;

	if (lstat(path, &info) < 0)
		return 0;
	if (!S_ISDIR(info.st_mode))
		return info.st_size;
	stream = opendir(path);
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		char below[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) <
		    (int)sizeof(below))
			total += bytes_in(below);
	}
	if (stream)
		(void)closedir(stream);
	return total;
}

/* What a rank directory says of itself: its rank, and whether its collection ended. */
struct left {
	int64_t rank; /* -1 */
	bool has_profile;
	bool complete;
};

static void look(const char *dir, struct left *left)
{
	const char info[] = "profiler_info_";
	const struct dirent *entry;
	DIR *stream = opendir(dir);

	*left = (struct left){ .rank = -1 };
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		const char *digits = entry->d_name + sizeof(info) - 1;
		char path[PATH_MAX];

		if (strncmp(entry->d_name, info, sizeof(info) - 1) == 0 &&
		    !np_text_to_int(digits, strcspn(digits, "."), &left->rank))
			left->rank = -1;
		if (strncmp(entry->d_name, "PROF_", 5) != 0)
			continue;
		left->has_profile = true;
		(void)snprintf(path, sizeof(path), "%.*s/%s/host/end_info", PATH_MAX - 400, dir,
			       entry->d_name);
		left->complete |= access(path, F_OK) == 0;
	}
	if (stream)
		(void)closedir(stream);
}

static void take_left(struct np_job *job, const char *dir)
{
	struct np_message message;
	struct np_record *record;
	struct left left;

	look(dir, &left);
	record = left.has_profile ? np_job_record(job, left.rank) : NULL;
	if (!record || record->launcher != job->rank || strlen(dir) >= sizeof(message.text))
		return;
	np_message_init(&message, NP_MSG_WINDOW_OPEN, record->rank);
	/* Which steps they are is known only if absolute ones were asked for. */
	message.step = job->plan.backend == NP_BACKEND_TORCH && job->plan.step_start > 0
			       ? job->plan.step_start
			       : NP_UNKNOWN;
	(void)snprintf(message.text, sizeof(message.text), "%s", dir);
	np_record_take(record, &message);
	if (!left.complete)
		return;
	message.type = NP_MSG_WINDOW_CLOSED;
	if (message.step != NP_UNKNOWN)
		message.step = job->plan.step_end - 1;
	message.value = bytes_in(dir);
	np_record_take(record, &message);
}

void np_backend_find(struct np_job *job)
{
	const char suffix[] = "_ascend_pt";
	const struct dirent *entry;
	DIR *stream;

	if (job->plan.backend == NP_BACKEND_ACL)
		return;
	stream = opendir(job->root);
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		size_t length = strlen(entry->d_name);
		char path[PATH_MAX];

		if (length <= sizeof(suffix) ||
		    strcmp(entry->d_name + length - (sizeof(suffix) - 1), suffix) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 400, job->root,
			       entry->d_name);
		take_left(job, path);
	}
	if (stream)
		(void)closedir(stream);
	for (size_t i = 0; i < job->records.count; i++) {
		struct np_record *record = &job->records.item[i];

		if (!record->selected || record->opened)
			continue;
		np_record_fail(
			record,
			job->plan.backend == NP_BACKEND_MSPROF
				? "msprof left no profile; did the application use an NPU?"
			: record->loaded
				? "torch_npu announced itself and collected nothing: the "
				  "steps were over, or no optimizer made a step (see its log)"
				: "torch_npu did not announce itself: is it imported, and "
				  "is RANK set?");
	}
}
