/* SPDX-License-Identifier: Apache-2.0 */
/* Who profiles: the choice, what must be there for it, and whom a message is for while the job
 * runs. */
#include "backend.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/launch/output/tree.h"
#include "collect/launch/plan/find.h"
#include "collect/protocol.h"
#include "memory_history.h"
#include "msprof.h"
#include "npuprof/text.h"
#include "processes.h"
#include "torch.h"

/* --- what there is --------------------------------------------------------- */

enum {
	PATIENCE_MS = 20000, /* python on a busy file system */
	NAP_MS = 10,
};

/* Found, and not imported: that would take seconds and a device. */
#define QUESTION \
	"import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('torch_npu') else 3)"

_Noreturn static void ask_python(const char *python)
{
	int nothing = open("/dev/null", O_RDWR);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(nothing, fd);
	(void)execlp(python, python, "-c", QUESTION, (char *)NULL);
	_exit(127);
}

static bool can_import(const char *python)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		ask_python(python);
	for (int i = 0; pid > 0 && i < PATIENCE_MS / NAP_MS; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		(void)usleep(NAP_MS * 1000);
	}
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return false;
}

/* An ELF program that names nobody to load libraries for it. */
static bool is_static(const char *name)
{
	char path[PATH_MAX];
	Elf64_Ehdr head;
	Elf64_Phdr part;
	bool loads = true;
	FILE *file = np_find_program(name, path, sizeof(path)) ? fopen(path, "re") : NULL;

	if (!file)
		return false;
	if (fread(&head, sizeof(head), 1, file) == 1 &&
	    memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    head.e_phentsize == sizeof(part) && fseek(file, (long)head.e_phoff, SEEK_SET) == 0) {
		loads = false;
		for (int i = 0; i < head.e_phnum && !loads; i++)
			loads = fread(&part, sizeof(part), 1, file) != 1 ||
				part.p_type == PT_INTERP;
	}
	(void)fclose(file);
	return !loads;
}

static void np_backend_probe(char *const *app, struct np_backend_signs *ret)
{
	bool is_python = strncmp(np_text_last_part(app[0]), "python", 6) == 0;
	struct np_err err = NP_ERR_INIT;
	char path[PATH_MAX];
	bool simulated;

	*ret = (struct np_backend_signs){
		.is_python = is_python || strcmp(np_text_last_part(app[0]), "torchrun") == 0,
		.is_static = is_static(app[0]),
		.has_ascendcl = np_find_ascendcl(app[0], &simulated, &err) == NP_OK,
		.has_msprof = np_find_program("msprof", path, sizeof(path)),
	};
	if (ret->is_python)
		ret->has_torch_npu = can_import(is_python ? app[0] : "python3");
}

/* --- which ---------------------------------------------------------------- */

static int check_msprof(const struct np_job *job, struct np_err *err)
{
	if (job->finds_ranks && !job->plan.dynamic)
		return np_fail(
			err, NP_E_USAGE,
			"--backend msprof needs a launcher for every rank (mpirun): around "
			"torchrun msprof could not tell the ranks apart; use --dynamic, with "
			"which it is attached to every rank");
	return NP_OK;
}

/* Settings that torch_npu cannot serve, by name; NULL: there are none. */
static const char *needs_library(const struct np_plan *plan)
{
	if (plan->step_source != NP_STEP_AUTO)
		return "--step-source";
	if (strcmp(plan->step_mstx, NP_STEP_PATTERN) != 0)
		return "--step-mstx";
	return plan->max_size ? "--max-size" : NULL;
}

enum np_plan_backend np_backend_decide(const struct np_job *job,
				       const struct np_backend_signs *signs,
				       const char **ret_reason)
{
	const struct np_plan *plan = &job->plan;

	if (signs->is_python && signs->has_torch_npu && !needs_library(plan)) {
		*ret_reason = "python, which can import torch_npu";
		return NP_BACKEND_TORCH;
	}
	if (signs->is_static && signs->has_msprof && (plan->dynamic || !job->finds_ranks)) {
		*ret_reason =
			"a static program, into which no library can be loaded; msprof is in PATH";
		return NP_BACKEND_MSPROF;
	}
	if (!signs->has_ascendcl)
		*ret_reason = signs->has_msprof
				      ? "AscendCL is not found; msprof is, see --backend msprof"
				      : "neither AscendCL nor msprof is found";
	else if (!signs->is_python)
		*ret_reason = "AscendCL is found, and it is no python program";
	else
		*ret_reason =
			signs->has_torch_npu
				? "AscendCL is found; torch_npu cannot serve what is asked for"
				: "AscendCL is found, and python cannot import torch_npu";
	return NP_BACKEND_ACL;
}

static void choose_automatically(struct np_job *job, struct np_buf *notes)
{
	struct np_backend_signs signs;
	const char *reason;

	np_backend_probe(job->app, &signs);
	job->plan.backend = (int)np_backend_decide(job, &signs, &reason);
	np_buf_printf(notes, "backend: %s (%s)\n", np_plan_backends[job->plan.backend], reason);
}

static void note_ignored(const struct np_plan *plan, struct np_buf *notes)
{
	bool framework = plan->with_cpu || plan->with_stack;

	if (framework && plan->backend != NP_BACKEND_TORCH)
		np_buf_printf(notes,
			      "%s ignored: operators and stacks of the framework are recorded by "
			      "its own profiler only; see --backend torch\n",
			      plan->with_cpu && plan->with_stack ? "with_cpu and with_stack are"
			      : plan->with_cpu                   ? "with_cpu is"
								 : "with_stack is");
	if (plan->backend == NP_BACKEND_MSPROF && !plan->dynamic &&
	    (plan->step_start > 0 || plan->step_end >= 0))
		np_buf_add(notes, "steps are ignored: msprof records all from start to end\n");
	if (plan->backend == NP_BACKEND_TORCH && needs_library(plan))
		np_buf_printf(notes, "%s is ignored: torch_npu decides itself; see --backend acl\n",
			      needs_library(plan));
}

int np_backend_choose(struct np_job *job, struct np_buf *notes, struct np_err *err)
{
	struct np_plan *plan = &job->plan;

	if (plan->backend == NP_BACKEND_AUTO && plan->enable)
		choose_automatically(job, notes);
	if (plan->enable)
		note_ignored(plan, notes);
	if (plan->enable && plan->memory_start >= 0 && plan->backend != NP_BACKEND_TORCH)
		return np_fail(err, NP_E_USAGE,
			       "memory snapshots are written by torch_npu: --memory-snapshot (or "
			       "memory_profile of a file) needs --backend torch, not %s",
			       np_plan_backends[plan->backend]);
	return plan->backend == NP_BACKEND_MSPROF ? check_msprof(job, err) : NP_OK;
}

/* --- checks --------------------------------------------------------------- */

static int check_torch_memory(struct np_err *err)
{
	int user = np_torch_memory_user();

	if (user == 0)
		return NP_OK;
	return np_fail(
		err, NP_E_BUSY,
		"process %d uses /dev/shm/DynamicProfileNpuShm*: jobs of one hour on one host "
		"share it, and would follow each other's requests; wait for the next hour or "
		"use --backend acl",
		user);
}

/* Applications and msprof meet in the home directory of their user. */
static int check_home(struct np_err *err)
{
	char path[PATH_MAX];
	char *slash;

	if (!np_msprof_socket(INT_MAX, path, sizeof(path)))
		return np_fail(err, NP_E_NOTFOUND,
			       "the system knows no home directory of user %d, where msprof meets "
			       "the application: add an entry to /etc/passwd, or use --backend acl",
			       (int)getuid());
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return np_fail(err, NP_E_RANGE, "'%.200s' is too long for the name of a socket",
			       path);
	slash = strrchr(path, '/');
	*slash = '\0';
	if (access(path, W_OK | X_OK) < 0)
		return np_fail(err, NP_E_IO,
			       "cannot write to '%.300s', where msprof meets the application: %s; "
			       "use --backend acl",
			       path, strerrordesc_np(errno));
	return NP_OK;
}

static int check_msprof_here(const struct np_job *job, struct np_err *err)
{
	char path[PATH_MAX];

	if (!np_find_program("msprof", path, sizeof(path)))
		return np_fail(err, NP_E_NOTFOUND,
			       "there is no msprof in PATH: source CANN's set_env.sh, or use "
			       "--backend acl");
	if (job->pids) {
		int rc = np_processes_check(job->pids, err);

		if (rc < 0)
			return rc;
	}
	return job->plan.dynamic ? check_home(err) : NP_OK;
}

int np_backend_check(const struct np_job *job, struct np_err *err)
{
	if (job->plan.backend == NP_BACKEND_TORCH)
		return check_torch_memory(err);
	return job->plan.backend == NP_BACKEND_MSPROF ? check_msprof_here(job, err) : NP_OK;
}

/* --- what they left ------------------------------------------------------- */

/* What a rank directory says of itself: its rank, and whether its collection ended. */
struct rank_left {
	int64_t rank; /* -1 */
	bool has_profile;
	bool complete;
};

static void look(const char *dir, struct rank_left *left)
{
	const char info[] = "profiler_info_";
	const struct dirent *entry;
	DIR *stream = opendir(dir);

	*left = (struct rank_left){ .rank = -1,
				    .has_profile = np_tree_has(dir, "PROF_"),
				    .complete = np_tree_is_complete(dir) };
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		const char *digits = entry->d_name + sizeof(info) - 1;

		if (strncmp(entry->d_name, info, sizeof(info) - 1) == 0 &&
		    !np_text_to_int(digits, strcspn(digits, "."), &left->rank))
			left->rank = -1;
	}
	if (stream)
		(void)closedir(stream);
}

static void take_left(struct np_job *job, const char *dir)
{
	struct np_message message;
	struct np_record *record;
	struct rank_left left;

	look(dir, &left);
	record = left.has_profile ? np_job_record(job, left.rank) : NULL;
	if (!record || record->launcher != job->rank || strlen(dir) >= sizeof(message.text))
		return;
	np_message_init(&message, NP_MSG_WINDOW_OPEN, record->rank);
	(void)snprintf(message.text, sizeof(message.text), "%s", dir);
	np_record_take(record, &message);
	if (!left.complete)
		return;
	message.type = NP_MSG_WINDOW_CLOSED;
	message.value = np_tree_bytes(dir);
	np_record_take(record, &message);
}

/* Ranks without a window that were to have one. */
static void explain_torch(struct np_job *job)
{
	for (size_t i = 0; i < job->records.count; i++) {
		struct np_record *record = &job->records.item[i];

		if (!record->selected || record->opened || (job->plan.dynamic && record->loaded))
			continue;
		np_record_fail(
			record,
			record->loaded
				? "torch_npu announced itself and collected nothing: the "
				  "steps were over, or no optimizer made a step (see its log)"
				: "torch_npu did not announce itself: is it imported, and "
				  "is RANK set?");
	}
}

void np_backend_find(struct np_job *job)
{
	const char suffix[] = "_ascend_pt";
	const struct dirent *entry;
	DIR *stream;

	if (job->plan.backend == NP_BACKEND_TORCH) {
		np_memory_history_find(job);
		explain_torch(job);
	}
	if (job->plan.backend != NP_BACKEND_MSPROF || job->plan.dynamic)
		return; /* windows were reported */
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

		if (record->selected && !record->opened)
			np_record_fail(record,
				       "msprof left no profile; did the application use an NPU?");
	}
}

/* --- while the job runs ---------------------------------------------------- */

static bool is_attaching(const struct np_plan *plan)
{
	return plan->backend == NP_BACKEND_MSPROF && plan->dynamic;
}

bool np_backend_has_library(const struct np_job *job)
{
	return job->plan.backend == NP_BACKEND_ACL || (is_attaching(&job->plan) && !job->pids);
}

int np_backend_begin(struct np_backend *backend, struct np_env *env, struct np_err *err)
{
	const struct np_job *job = backend->job;

	if (job->plan.backend == NP_BACKEND_TORCH)
		return np_torch_begin(backend, env, err);
	if (job->pids)
		np_processes_announce(backend, job->pids);
	else if (is_attaching(&job->plan))
		return np_env_set(env, "PROFILING_MODE", "dynamic", err);
	return NP_OK;
}

void np_backend_attend(struct np_backend *backend)
{
	const struct np_plan *plan = &backend->job->plan;

	if (!plan->enable)
		return;
	if (plan->backend == NP_BACKEND_TORCH)
		np_torch_attend(backend);
	else if (is_attaching(plan))
		np_attach_attend(backend);
}

bool np_backend_send(struct np_backend *backend, int32_t rank, const struct np_message *message)
{
	if (backend->job->plan.backend == NP_BACKEND_TORCH)
		return np_torch_send(backend, rank, message);
	if (is_attaching(&backend->job->plan))
		return np_attach_send(backend, rank, message);
	return np_channel_send_rank(&backend->channel, rank, message);
}

void np_backend_send_all(struct np_backend *backend, const struct np_message *message)
{
	const struct np_job *job = backend->job;

	if (job->plan.backend == NP_BACKEND_ACL) {
		np_channel_send(&backend->channel, message);
		return;
	}
	for (size_t i = 0; i < job->records.count; i++)
		(void)np_backend_send(backend, job->records.item[i].rank, message);
	if (job->plan.backend == NP_BACKEND_TORCH)
		np_torch_forget_request(backend);
}

void np_backend_end(struct np_backend *backend)
{
	const struct np_plan *plan = &backend->job->plan;

	if (plan->enable && plan->backend == NP_BACKEND_TORCH)
		np_torch_end(backend);
	else if (plan->enable && is_attaching(plan))
		np_attach_end(backend);
}

void np_backend_clean(struct np_backend *backend)
{
	const struct np_plan *plan = &backend->job->plan;

	if (plan->enable && plan->backend == NP_BACKEND_TORCH && backend->torch.is_writer)
		np_torch_memory_clean(backend->torch.started);
}
