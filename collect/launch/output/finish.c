/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job: the records of all ranks, what is said of them, the manifest, the export. */
#include "finish.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "collect/launch/plan/find.h"
#include "manifest.h"
#include "npuprof/text.h"

/* --- the export ------------------------------------------------------------ */

/* One rank for each file system. */
static bool is_exporter(const struct np_job *job)
{
	const struct np_job_layout_host *host =
		&job->layout.hosts[job->layout.ranks[job->rank].host];

	return job->rank == 0 || (host->leader == job->rank && !job->shared);
}

_Noreturn static void become_export(const struct np_job *job, const char *program)
{
	const char *const argv[] = {
		program,   "export", "--export-type", np_plan_export_types[job->plan.export_type],
		job->root, NULL,
	};

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* execvp() does not change what it is given. */
	(void)execvp(program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static int run_export(const struct np_job *job)
{
	char program[PATH_MAX];
	int status = 0;
	sigset_t none;
	pid_t pid;

	if (!np_find_beside("npuprof", program, sizeof(program)))
		(void)snprintf(program, sizeof(program), "npuprof");
	(void)fflush(NULL);
	/* It takes minutes, and nothing is lost if somebody has enough of it. */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	pid = fork();
	if (pid == 0)
		become_export(job, program);
	if (pid < 0)
		return 127;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * The export after the application: runs "npuprof export" on the directory of
 * the job, once for every file system that holds a part of it (rank 0's, and that of
 * each host whose first rank does not see rank 0's files). All ranks call it and wait
 * for each other without using the processor. Returns false on a rank whose
 * export failed, having said so.
 */
static bool export_together(const struct np_job *job)
{
	int status = 0;

	if (is_exporter(job))
		status = run_export(job);
	np_coord_wait(job->coord);
	if (status == 127)
		np_job_warn(
			"rank %d: there is no 'npuprof' to export with; the raw data is in '%s'",
			job->rank, job->root);
	else if (status != 0)
		np_job_warn("rank %d: the export ended with status %d; the raw data is kept",
			    job->rank, status);
	return status == 0;
}

/* Is there an exported profile in the directory of this rank? */
static bool is_exported(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *open;

	(void)snprintf(path, sizeof(path), "%.*s/ASCEND_PROFILER_OUTPUT", PATH_MAX - 64, dir);
	open = opendir(path);
	/* Nobody else reads this directory stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (open && !found && (entry = readdir(open)))
		found = entry->d_name[0] != '.';
	if (open)
		(void)closedir(open);
	return found;
}

/* --- the records ----------------------------------------------------------- */

static int by_rank(const void *left, const void *right)
{
	const struct np_record *a = left;
	const struct np_record *b = right;

	return np_order(a->rank, b->rank);
}

/* Ranks nobody has seen, between those that were: they died before they used an NPU. */
static const char *why_absent(const struct np_job *job, int rank)
{
	if (!job->finds_ranks && np_coord_lost(job->coord, rank))
		return "the connection to its launcher was lost";
	return job->finds_ranks ? "it never registered with a launcher: it ended early, or is on "
				  "a node whose launcher was lost, or uses no NPU"
				: "its launcher said nothing";
}

static struct np_record *find_record(struct np_record *records, size_t count, int64_t rank)
{
	for (size_t i = 0; i < count; i++) {
		if (records[i].rank == rank)
			return &records[i];
	}
	return NULL;
}

/* How many ranks the application has: as it says, or as the highest that was seen. */
static int count_ranks(const struct np_job *job, const struct np_record *seen, size_t count)
{
	int64_t ranks = job->finds_ranks ? 0 : job->world;

	for (size_t i = 0; job->finds_ranks && i < count; i++) {
		if (seen[i].world != NP_UNKNOWN && seen[i].world > ranks &&
		    seen[i].world < 10000000)
			ranks = seen[i].world;
		if (seen[i].rank >= ranks)
			ranks = seen[i].rank + 1;
	}
	return (int)ranks;
}

/* One record for every rank, in their order. */
static struct np_record *complete_records(struct np_job *job, struct np_record *seen, size_t count)
{
	struct np_record *records;

	job->ranks = count_ranks(job, seen, count);
	records = calloc((size_t)job->ranks + 1, sizeof(*records));
	for (int rank = 0; records && rank < job->ranks; rank++) {
		const struct np_record *found = find_record(seen, count, rank);

		if (found) {
			records[rank] = *found;
			continue;
		}
		np_record_init(&records[rank], rank, np_job_selects(job, rank));
		if (job->finds_ranks)
			records[rank].launcher = -1;
		if (records[rank].selected)
			np_record_fail(&records[rank], why_absent(job, rank));
	}
	if (records)
		qsort(records, (size_t)job->ranks, sizeof(*records), by_rank);
	return records;
}

/* What a launcher says of its ranks; what cannot be a record is none. */
static void add_records(struct np_buf *all, const struct np_buf *said, int launcher)
{
	size_t size = sizeof(struct np_record);
	int bad = said->length % size != 0 ? 1 : 0;

	for (size_t at = 0; at + size <= said->length; at += size) {
		struct np_record record;

		memcpy(&record, said->text + at, size);
		if (np_record_check(&record))
			np_buf_add_bytes(all, (const char *)&record, size);
		else
			bad++;
	}
	if (bad)
		np_job_warn("launcher %d: %d of its records are damaged and left out", launcher,
			    bad);
}

/* Rank 0 gets the records of all: job->ranks of them. Others get those of nobody. */
static struct np_record *gather_records(struct np_job *job)
{
	size_t world = (size_t)job->world;
	struct np_buf *said = calloc(world, sizeof(*said));
	NP_CLEANUP(np_buf_release) struct np_buf all = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; said && i < world; i++)
		said[i] = NP_BUF_INIT;
	if (np_coord_gather(job->coord, job->records.item,
			    job->records.count * sizeof(*job->records.item), said, &err) < 0)
		np_job_warn("%s", err.text);
	for (size_t i = 0; said && i < world; i++) {
		add_records(&all, &said[i], (int)i);
		np_buf_release(&said[i]);
	}
	free(said);
	if (job->rank != 0)
		return NULL;
	return complete_records(job, (struct np_record *)(void *)all.text,
				all.length / sizeof(struct np_record));
}

/* A rank that failed at the very end may not have been heard while the job ran. */
static int application_status(const struct np_job *job, const struct np_record *records,
			      const struct np_job_result *result)
{
	if (result->status != 0)
		return result->status;
	for (int rank = 0; rank < job->ranks; rank++) {
		if (records[rank].exit != 0 && records[rank].exit != NP_UNKNOWN) {
			np_job_warn("the application of rank %d ended with status %d", rank,
				    (int)records[rank].exit);
			return (int)records[rank].exit;
		}
	}
	return 0;
}

static int say_profiles(const struct np_job *job, const struct np_record *records)
{
	NP_CLEANUP(np_buf_release) struct np_buf size = NP_BUF_INIT;
	int64_t bytes = 0;
	int chosen = 0;
	int good = 0;
	int bad = 0;

	for (int rank = 0; rank < job->ranks; rank++) {
		const struct np_record *record = &records[rank];

		if (!record->selected && !record->opened)
			continue;
		chosen++;
		good += record->opened ? 1 : 0;
		bytes = record->opened ? np_plus(bytes, record->bytes) : bytes;
		if (!record->failure[0])
			continue;
		bad++;
		np_job_warn("rank %d: %s", rank, record->failure);
	}
	if (job->ranks == 0) {
		np_job_warn("no rank of the application used an NPU (no aclrtSetDevice), or the "
			    "library did not get into it");
		bad++;
	}
	np_text_bytes(&size, bytes);
	np_job_say(job, "profiles of %d of %d ranks (%s raw) in '%s'", good, chosen, size.text,
		   job->root);
	return bad;
}

/* Snapshots of memory, where any were asked for: how many are missing. */
static int say_snapshots(const struct np_job *job, const struct np_record *records)
{
	int wanted = 0;
	int missing = 0;

	for (int rank = 0; rank < job->ranks; rank++) {
		const struct np_record_memory *memory = &records[rank].memory;

		wanted += memory->wanted ? 1 : 0;
		if (!memory->wanted || memory->bytes != NP_UNKNOWN)
			continue;
		missing++;
		np_job_warn("rank %d: no memory snapshot: %s", rank, memory->reason);
	}
	if (wanted > 0)
		np_job_say(job, "memory snapshots of %d of %d ranks", wanted - missing, wanted);
	return missing;
}

/* Windows in directories of their own have a manifest of their own: they can be analysed alone. */
static void write_window(const struct np_job *job, const struct np_record *records, int number,
			 bool *failed)
{
	struct np_record *own = calloc((size_t)job->ranks + 1, sizeof(*own));
	struct np_job part = *job;
	struct np_err err = NP_ERR_INIT;
	bool any = false;

	(void)snprintf(part.root, sizeof(part.root), "%.*s/window-%d", (int)sizeof(part.root) - 32,
		       job->root, number);
	for (int rank = 0; own && rank < job->ranks; rank++) {
		const struct np_record_window *window = NULL;

		own[rank] = records[rank];
		own[rank].window_count = 0;
		for (uint32_t i = 0; i < records[rank].window_count; i++) {
			if (records[rank].windows[i].below &&
			    records[rank].windows[i].number == number)
				window = &records[rank].windows[i];
		}
		own[rank].opened = window != NULL;
		own[rank].selected = window != NULL;
		own[rank].dir[0] = '\0';
		if (!window) {
			own[rank].first_step = own[rank].last_step = own[rank].bytes = NP_UNKNOWN;
			own[rank].failure[0] = '\0';
			continue;
		}
		any = true;
		own[rank].window_count = 1;
		own[rank].windows[0] = *window;
		own[rank].windows[0].below = false;
		own[rank].first_step = window->first_step;
		own[rank].last_step = window->last_step;
		own[rank].bytes = window->bytes;
		(void)snprintf(own[rank].dir, sizeof(own[rank].dir), "%.*s/%s",
			       NP_RECORD_DIR - NP_RECORD_NAME - 2, part.root, window->name);
	}
	if (any && np_manifest_write(&part, own, NULL, &err) < 0) {
		np_job_warn("%s", err.text);
		*failed = true;
	}
	free(own);
}

static void write_windows(const struct np_job *job, const struct np_record *records, bool *failed)
{
	int last = 0;

	for (int rank = 0; rank < job->ranks; rank++) {
		for (uint32_t i = 0; i < records[rank].window_count; i++) {
			const struct np_record_window *window = &records[rank].windows[i];

			if (window->below && window->number > last)
				last = window->number;
		}
	}
	for (int number = 1; number <= last; number++)
		write_window(job, records, number, failed);
}

static void write_manifest(const struct np_job *job, const struct np_record *records,
			   const bool *exported, bool *failed)
{
	struct np_err err = NP_ERR_INIT;

	if (np_manifest_write(job, records, exported, &err) == NP_OK)
		return;
	np_job_warn("%s", err.text);
	*failed = true;
}

/*
 * npuprof export marks what it did in the manifest beside it. Hosts that have
 * their own files have no manifest: rank 0 asks them and writes it anew.
 */
static bool export_profiles(struct np_job *job)
{
	bool done = export_together(job);
	bool scattered = np_coord_max(job->coord, !job->shared) != 0;
	bool *exported = NULL;
	struct np_record *records;
	bool failed = false;

	if (scattered) {
		for (size_t i = 0; i < job->records.count; i++) {
			struct np_record *record = &job->records.item[i];

			record->closed = record->opened && is_exported(record->dir);
		}
		records = gather_records(job);
		exported = records ? calloc((size_t)job->ranks + 1, sizeof(*exported)) : NULL;
		for (int i = 0; exported && records && i < job->ranks; i++)
			exported[i] = records[i].opened && records[i].closed;
		if (job->rank == 0 && records)
			write_manifest(job, records, exported, &failed);
		free(records);
	}
	free(exported);
	return done && !failed;
}

int np_finish(struct np_job *job, const struct np_job_result *result)
{
	struct np_record *records = gather_records(job);
	bool failed = false;
	int status = 0;

	if (job->rank == 0 && records) {
		status = application_status(job, records, result);
		failed = say_profiles(job, records) > 0;
		failed |= say_snapshots(job, records) > 0;
		write_manifest(job, records, NULL, &failed);
		write_windows(job, records, &failed);
	} else if (job->rank == 0) {
		np_job_warn("out of memory for the records of the ranks: there is no manifest");
		failed = true;
	}
	free(records);
	if (job->plan.export == NP_EXPORT_AFTER && result->signal == 0)
		failed |= !export_profiles(job);
	failed = np_coord_max(job->coord, failed) != 0;
	status = (int)np_coord_max(job->coord, status);
	return status == 0 && failed ? NP_EXIT_PARTIAL : status;
}

void np_finish_foresee(const struct np_job *job)
{
	struct np_record *records = calloc((size_t)job->ranks + 1, sizeof(*records));
	bool failed = false;

	for (int rank = 0; records && rank < job->ranks; rank++)
		np_record_init(&records[rank], rank, np_job_selects(job, rank));
	if (records)
		write_manifest(job, records, NULL, &failed);
	free(records);
}
