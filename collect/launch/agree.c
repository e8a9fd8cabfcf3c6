/* SPDX-License-Identifier: Apache-2.0 */
/* What all launchers agree on before the start: the plan, the ranks, and that it can work. */
#include "agree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/command/launcher.h"
#include "collect/launch/backend/backend.h"
#include "collect/launch/plan/find.h"
#include "collect/place.h"
#include "collect/rank_list.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

/* --- the plan -------------------------------------------------------------- */

extern const struct np_cmd np_cmd_collect;

/* Launchers that cannot talk to each other yet all find the name that theirs gave to the job. */
static int name_after_launcher(struct np_plan *plan, struct np_err *err)
{
	struct np_launcher launcher;
	char *name;

	np_launcher_read(&launcher);
	name = np_launcher_job(&launcher);
	if (!name)
		return np_fail(err, NP_E_USAGE,
			       "%s does not name its jobs: give this one a name with --job",
			       np_launcher_name(&launcher));
	(void)snprintf(plan->job, sizeof(plan->job), "job-%.40s", name);
	free(name);
	for (char *c = plan->job; *c; c++)
		*c = strchr("@/: ", *c) ? '_' : *c;
	return NP_OK;
}

/* A name nobody else has: jobs that start in the same second have other processes. */
static int name_job(const struct np_job *job, struct np_plan *plan, struct np_err *err)
{
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];

	if (plan->job[0])
		return NP_OK;
	if (job->mode == NP_MODE_INAPP)
		return name_after_launcher(plan, err);
	(void)localtime_r(&now, &local);
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	(void)snprintf(plan->job, sizeof(plan->job), "job-%s-%d", stamp, (int)getpid());
	return NP_OK;
}

int np_agree_ranks(struct np_job *job, struct np_err *err)
{
	bool *leader;
	int rc;

	if (job->finds_ranks)
		return NP_OK;
	leader = calloc((size_t)job->world, sizeof(*leader));
	free(job->chosen);
	job->chosen = calloc((size_t)job->world, sizeof(*job->chosen));
	if (!leader || !job->chosen) {
		free(leader);
		return np_fail_nomem(err, "the ranks");
	}
	for (int i = 0; i < job->layout.host_count; i++)
		leader[job->layout.hosts[i].leader] = true;
	rc = np_rank_list_choose(job->plan.ranks, leader, job->world, job->chosen, err);
	free(leader);
	if (rc == NP_E_USAGE)
		rc = np_fail(err, rc, "--ranks: %.400s", err->text);
	return rc;
}

static int make_plan(struct np_job *job, const struct np_collect_options *options,
		     struct np_buf *text, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	int rc = np_collect_plan(options, &job->plan, &notes, err);

	np_jsonout_init(&out, NULL);
	if (rc == NP_OK)
		rc = np_backend_choose(job, &notes, err);
	if (rc < 0)
		return rc;
	for (char *line = notes.text; *line;) {
		size_t length = strcspn(line, "\n");

		np_job_say(job, "%.*s", (int)length, line);
		line += length + (line[length] == '\n' ? 1 : 0);
	}
	rc = name_job(job, &job->plan, err);
	if (rc == NP_OK)
		rc = np_agree_ranks(job, err);
	if (rc < 0)
		return rc;
	np_plan_write(&job->plan, &out, NULL);
	rc = np_jsonout_finish(&out, err);
	np_buf_add_bytes(text, out.buf.text, out.buf.length);
	return rc == NP_OK ? np_buf_check(text, err) : rc;
}

int np_agree_alone(struct np_job *job, const struct np_collect_options *options)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	int rc = make_plan(job, options, &text, &err);

	if (rc == NP_OK)
		return NP_EXIT_DONE;
	if (job->rank == 0)
		return np_cmd_usage(&np_cmd_collect, "%s", err.text);
	return rc == NP_E_NOMEM ? NP_EXIT_FAILED : NP_EXIT_USAGE;
}

/* Rank 0 makes the plan, the others read it; whoever cannot is heard by all. */
int np_agree_plan(struct np_job *job, const struct np_collect_options *options)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	int rc = NP_OK;
	int worst;

	if (job->rank == 0)
		rc = make_plan(job, options, &text, &err);
	worst = (int)np_coord_max(job->coord, rc < 0 ? -rc : 0);
	if (worst != 0) {
		if (job->rank == 0 && rc != NP_E_NOMEM)
			return np_cmd_usage(&np_cmd_collect, "%s", err.text);
		return worst == -NP_E_NOMEM ? NP_EXIT_FAILED : NP_EXIT_USAGE;
	}
	rc = np_coord_bcast(job->coord, &text, &err);
	if (rc == NP_OK && job->rank != 0) {
		rc = np_plan_read(&job->plan, text.text, text.length, &err);
		if (rc == NP_OK)
			rc = np_agree_ranks(job, &err);
	}
	if (rc < 0)
		np_job_warn("rank %d: %s", job->rank, err.text);
	return np_coord_max(job->coord, rc < 0 ? 1 : 0) ? NP_EXIT_FAILED : NP_EXIT_DONE;
}

/* --- can it work? ---------------------------------------------------------- */

/* Less than this and not even the smallest profile fits. */
#define LEAST_BYTES ((int64_t)32 * 1000 * 1000)

/* The vendor's exporter refuses paths with these. */
#define BAD_CHARACTERS "%<>|&$;'\"\\`*?\n\t"

/* Rank 0 leaves it in the directory of the job while the checks run: who sees it shares files. */
#define NONCE ".npuprof-rank0"

static int fail_path(struct np_err *err, const char *verb, const char *path)
{
	return np_fail(err, NP_E_IO, "cannot %s '%.380s': %s", verb, path, strerrordesc_np(errno));
}

static int make_dirs(const char *path, struct np_err *err)
{
	char part[NP_PLAN_PATH + NP_PLAN_JOB];
	size_t length = strlen(path);

	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			return fail_path(err, "make the directory", part);
	}
	return NP_OK;
}

/* Write and flush a file of the job, and leave it there. */
static int write_file(const struct np_job *job, const char *name, struct np_err *err)
{
	const struct np_place_bytes text = { .bytes = "npuprof\n", .length = 8, .durable = true };

	return np_place_write(job->root, name, text, NP_PLACE_CONTROL, err);
}

static void nonce_path(const struct np_job *job, char *path, size_t size)
{
	(void)snprintf(path, size, "%s/" NONCE, job->root);
}

/* Launchers that cannot talk to each other may have made the directory before rank 0. */
static bool is_waiting(const struct np_job *job)
{
	char manifest[PATH_MAX];

	(void)snprintf(manifest, sizeof(manifest), "%s/npuprof_manifest.json", job->root);
	return job->mode == NP_MODE_INAPP && errno == EEXIST && access(manifest, F_OK) < 0;
}

static int make_root(struct np_job *job, struct np_err *err)
{
	char real[PATH_MAX];
	int rc;

	if (strpbrk(job->plan.save_path, BAD_CHARACTERS))
		return np_fail(err, NP_E_USAGE,
			       "'%.300s' cannot be used: msprof accepts no paths with any of "
			       "%%<>|&$;'\"\\`*?",
			       job->plan.save_path);
	rc = make_dirs(job->plan.save_path, err);
	if (rc < 0)
		return rc;
	/* The exporter refuses links on the way as well. */
	if (!realpath(job->plan.save_path, real))
		return fail_path(err, "find", job->plan.save_path);
	rc = np_plan_set_text(job->plan.save_path, sizeof(job->plan.save_path), real, "--save-path",
			      err);
	if (rc < 0)
		return rc;
	(void)snprintf(job->root, sizeof(job->root), "%s/%s", job->plan.save_path, job->plan.job);
	if (mkdir(job->root, 0755) < 0 && !is_waiting(job)) {
		rc = errno != EEXIST ? fail_path(err, "make the directory", job->root)
				     : np_fail(err, NP_E_IO,
					       "'%.380s' is there already: another job has this "
					       "name; choose another --job",
					       job->root);
		job->root[0] = '\0'; /* it is not ours to remove */
		return rc;
	}
	rc = write_file(job, NONCE, err);
	if (rc < 0 && np_place_make(job->root, NULL) < 0)
		job->root[0] = '\0'; /* likewise */
	return rc;
}

/* Launchers that cannot talk to each other: rank 0 makes it, the others come to the same place. */
static int make_root_alone(struct np_job *job, struct np_err *err)
{
	if (job->rank == 0)
		return make_root(job, err);
	(void)snprintf(job->root, sizeof(job->root), "%s/%s", job->plan.save_path, job->plan.job);
	return NP_OK;
}

int np_check_make_root(struct np_job *job, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf root = NP_BUF_INIT;
	int rc = NP_OK;

	if (job->mode == NP_MODE_INAPP)
		return make_root_alone(job, err);
	if (job->rank == 0)
		rc = make_root(job, err);
	/* An empty path is how the others hear that there is none. */
	if (rc == NP_OK)
		np_buf_add(&root, job->root);
	if (np_coord_bcast(job->coord, &root, err) < 0)
		return NP_E_NOMEM;
	if (job->rank != 0)
		(void)snprintf(job->root, sizeof(job->root), "%s", root.text);
	if (rc == NP_OK && root.length == 0)
		return np_fail(err, NP_E_IO, "rank 0 has no directory");
	return rc;
}

/* Rank 0, when everybody has looked for it. */
static void remove_nonce(const struct np_job *job)
{
	char nonce[PATH_MAX];

	nonce_path(job, nonce, sizeof(nonce));
	if (job->rank == 0 && job->root[0])
		(void)unlink(nonce);
}

void np_check_remove_root(const struct np_job *job)
{
	if (job->root[0])
		(void)rmdir(job->root);
}

/* Will the ranks of an MPI program find each other? */
static void check_mpi(const struct np_job *job, const char *name, enum np_mpi_family family,
		      struct np_buf *doubts)
{
	struct np_launcher launcher;

	np_launcher_read(&launcher);
	if (family == NP_MPI_NONE || launcher.kind == NP_LAUNCHER_NONE)
		return;
	if (job->mode == NP_MODE_MPI)
		np_buf_printf(
			doubts,
			"'%.200s' is linked with MPI: every rank of it will believe to be alone; "
			"use --coord %s\n",
			name, family == NP_MPI_MPICH ? "inapp" : "helper");
	else if ((launcher.kind == NP_LAUNCHER_OPENMPI && family != NP_MPI_OPENMPI) ||
		 (launcher.kind == NP_LAUNCHER_PMI && family != NP_MPI_MPICH))
		np_buf_printf(doubts,
			      "'%.200s' is linked with %s, but %s started it: every rank of it may "
			      "believe to be alone\n",
			      name, family == NP_MPI_MPICH ? "MPICH" : "Open MPI",
			      np_launcher_name(&launcher));
}

/* Can the application be executed? */
static int check_application(const struct np_job *job, struct np_buf *doubts, struct np_err *err)
{
	const char *name = job->app[0];
	char file[PATH_MAX];

	if (!np_find_program(name, file, sizeof(file)))
		return strchr(name, '/')
			       ? np_fail(err, NP_E_NOTFOUND, "cannot execute '%.380s': %s", name,
					 strerrordesc_np(errno))
			       : np_fail(err, NP_E_NOTFOUND,
					 "there is no application '%.300s' in PATH", name);
	check_mpi(job, name, np_find_mpi(file), doubts);
	return NP_OK;
}

static int check_directory(struct np_job *job, struct np_err *err)
{
	char name[64];
	char probe[PATH_MAX];
	char nonce[PATH_MAX];
	int rc;

	rc = make_dirs(job->root, err);
	if (rc < 0)
		return rc;
	nonce_path(job, nonce, sizeof(nonce));
	job->shared = access(nonce, F_OK) == 0;
	(void)snprintf(name, sizeof(name), ".npuprof-probe-%d", job->rank);
	(void)snprintf(probe, sizeof(probe), "%s/%s", job->root, name);
	rc = write_file(job, name, err);
	if (rc == NP_OK)
		(void)unlink(probe);
	return rc;
}

static int check_space(const struct np_job *job, struct np_buf *doubts, struct np_err *err)
{
	const struct np_plan *plan = &job->plan;
	int64_t steps = plan->step_end < 0 || plan->dynamic ? 1 : plan->step_end - plan->step_start;
	int64_t guess = np_job_guess(plan) * np_job_chosen(job) * steps;
	struct statvfs info;
	int64_t available;

	if (statvfs(job->root, &info) < 0)
		return fail_path(err, "ask for free space in", job->root);
	available = (int64_t)(info.f_bavail * info.f_frsize);
	if (available < LEAST_BYTES)
		return np_fail(err, NP_E_IO, "only %" PRId64 " MB are free in '%.380s'",
			       available / 1000000, job->root);
	if (available < guess)
		np_buf_printf(doubts,
			      "%" PRId64 " MB are free in '%s'; the profile may need %" PRId64
			      " MB (a guess)\n",
			      available / 1000000, job->root, guess / 1000000);
	if (statvfs("/dev/shm", &info) == 0 &&
	    (int64_t)(info.f_bavail * info.f_frsize) < LEAST_BYTES)
		np_buf_add(doubts, "/dev/shm is nearly full\n");
	return NP_OK;
}

/* AscendCL can be used by one profiler at a time. */
static int check_profilers(const struct np_job *job, struct np_buf *doubts, struct np_err *err)
{
	static const char *const names[] = { "PROFILING_MODE", "PROFILER_SAMPLECONFIG" };
	/* What makes an application wait for msprof is what its windows on request need. */
	bool waits = job->plan.backend == NP_BACKEND_MSPROF && job->plan.dynamic;

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment */
		const char *value = getenv(names[i]);

		if (value && !(waits && i == 0 && strcmp(value, "dynamic") == 0))
			return np_fail(
				err, NP_E_USAGE,
				"%s is set: another profiler owns AscendCL (it would "
				"answer 100042 or 200006); unset it, or use --backend msprof "
				"--dynamic with PROFILING_MODE=dynamic",
				names[i]);
	}
	for (char *const *word = job->app; *word; word++) {
		if (strcmp(*word, "--profile") == 0 || strncmp(*word, "--profile-", 10) == 0) {
			np_buf_printf(doubts,
				      "the application is given '%.60s': two profilers at once "
				      "conflict (100002)\n",
				      *word);
			break;
		}
	}
	return NP_OK;
}

/* What follows the application needs msprof, which is better missed now than then. */
static void check_export(const struct np_job *job, struct np_buf *doubts)
{
	char path[PATH_MAX];

	if (job->plan.export == NP_EXPORT_AFTER && job->rank == 0 &&
	    !np_find_program("msprof", path, sizeof(path)))
		np_buf_add(
			doubts,
			"--export after: there is no msprof in PATH, so that the raw data will "
			"not be exported: source CANN's set_env.sh, or run 'npuprof export' where "
			"there is one\n");
}

/* Variables that are kept must say what is true. */
static int check_environment(const struct np_job *job, struct np_err *err)
{
	const struct {
		const char *name;
		int64_t value;
	} facts[] = {
		{ "RANK", job->rank },
		{ "WORLD_SIZE", job->world },
	};

	/* Ranks that are found get their numbers from who starts them. */
	if (job->finds_ranks)
		return NP_OK;
	for (size_t i = 0; i < NP_COUNT(facts) && !job->plan.force_env; i++) {
		const char *text = getenv(facts[i].name); /* NOLINT(concurrency-mt-unsafe) */
		int64_t value;

		if (text &&
		    (!np_text_to_int(text, strlen(text), &value) || value != facts[i].value))
			return np_fail(err, NP_E_USAGE,
				       "%s is '%.40s' in the environment, and %" PRId64
				       " here; unset it or use --force-env",
				       facts[i].name, text, facts[i].value);
	}
	return NP_OK;
}

int np_check_rank(struct np_job *job, const char *inject, struct np_buf *doubts, struct np_err *err)
{
	int rc = check_application(job, doubts, err);

	job->simulated = job->layout.simulated;
	if (rc == NP_OK)
		rc = check_environment(job, err);
	if (rc == NP_OK && job->plan.enable)
		rc = check_profilers(job, doubts, err);
	if (rc < 0 || !job->plan.enable)
		return rc;
	rc = np_backend_check(job, err);
	if (rc < 0)
		return rc;
	if (!inject)
		return np_fail(err, NP_E_NOTFOUND,
			       "libnpuprof_inject.so is not where it was installed");
	if (inject[strcspn(inject, " :")])
		return np_fail(err, NP_E_USAGE,
			       "'%s' cannot be loaded into the application: the loader takes a "
			       "blank or a colon in LD_PRELOAD for the end of a name; install "
			       "npuprof elsewhere",
			       inject);
	check_export(job, doubts);
	rc = check_directory(job, err);
	if (rc == NP_OK && (job->finds_ranks || job->chosen[job->rank] || job->plan.dynamic)) {
		bool simulated = false;

		rc = check_space(job, doubts, err);
		if (rc == NP_OK)
			rc = np_find_ascendcl(job->app[0], &simulated, err);
		/* torch_npu and msprof find it by themselves; we need not. */
		if (rc == NP_E_NOTFOUND && job->plan.backend != NP_BACKEND_ACL) {
			np_buf_printf(doubts, "%s\n", err->text);
			rc = NP_OK;
		}
		job->simulated |= simulated;
	}
	return rc;
}

/* The ranks that say the same as this one, if it is the first of them. */
static size_t alike(const struct np_job *job, const struct np_buf *said, int rank, int64_t *ret)
{
	size_t count = 0;

	for (int other = 0; other < job->world; other++) {
		if (strcmp(said[other].text, said[rank].text) != 0)
			continue;
		if (other < rank)
			return 0;
		ret[count++] = other;
	}
	return count;
}

/* Ranks that say the same are named together. */
static void say_failures(const struct np_job *job, const struct np_buf *said)
{
	int64_t *ranks = calloc((unsigned int)job->world, sizeof(*ranks));
	size_t failed = 0;

	for (int rank = 0; ranks && rank < job->world; rank++) {
		NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
		size_t count = said[rank].length ? alike(job, said, rank, ranks) : 0;

		if (count == 0)
			continue;
		failed += count;
		np_ranges_format(&list, ranks, count);
		np_job_warn("rank%s %s on %s%s: %s", count > 1 ? "s" : "", list.text,
			    job->layout.hosts[job->layout.ranks[rank].host].name,
			    count > 1 ? " …" : "", said[rank].text);
	}
	free(ranks);
	if (failed)
		np_job_warn("nothing was started: the checks failed on %zu of %d ranks", failed,
			    job->world);
}

/* Every doubt once, with the first rank that has it. */
static void say_doubts(const struct np_job *job, struct np_buf *said)
{
	for (int rank = 0; rank < job->world; rank++) {
		bool heard = false;

		for (int before = 0; before < rank && !heard; before++)
			heard = strcmp(said[before].text, said[rank].text) == 0;
		if (!said[rank].length || heard)
			continue;
		for (char *line = said[rank].text; *line;) {
			size_t length = strcspn(line, "\n");

			np_job_say(job, "warning: rank %d: %.*s", rank, (int)length, line);
			line += length + (line[length] == '\n' ? 1 : 0);
		}
	}
}

bool np_check_alone(struct np_job *job, int rc, const struct np_err *why, struct np_buf *doubts)
{
	if (rc == NP_OK && job->rank == 0 && doubts->length)
		np_job_say(job, "warning: %.*s", (int)strcspn(doubts->text, "\n"), doubts->text);
	if (rc < 0)
		np_job_warn("rank %d: %s", job->rank, why->text);
	remove_nonce(job);
	return rc == NP_OK;
}

bool np_check_agree(struct np_job *job, int rc, const struct np_err *why, struct np_buf *doubts)
{
	struct np_buf *failures = calloc((size_t)job->world, sizeof(*failures));
	struct np_buf *others = calloc((size_t)job->world, sizeof(*others));
	struct np_err err = NP_ERR_INIT;
	int simulated;
	int gathered;
	bool failed;

	for (int i = 0; failures && others && i < job->world; i++) {
		failures[i] = NP_BUF_INIT;
		others[i] = NP_BUF_INIT;
	}
	gathered = np_coord_gather(job->coord, why->text, rc < 0 ? strlen(why->text) : 0, failures,
				   &err);
	if (gathered == NP_OK)
		gathered = np_coord_gather(job->coord, doubts->text, doubts->length, others, &err);
	if (job->rank == 0 && gathered == NP_OK) {
		say_doubts(job, others);
		say_failures(job, failures);
	} else if (gathered < 0) {
		np_job_warn("%s", err.text);
	}
	for (int i = 0; failures && others && i < job->world; i++) {
		np_buf_release(&failures[i]);
		np_buf_release(&others[i]);
	}
	free(failures);
	free(others);
	simulated = (int)np_coord_max(job->coord, job->simulated);
	job->simulated = simulated != 0;
	failed = np_coord_max(job->coord, rc < 0 || gathered < 0 ? 1 : 0) != 0;
	remove_nonce(job);
	return !failed;
}
