/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of msprof, and where it meets an application. */
#include "msprof.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/place.h"

/* A rank directory as torch_npu names it, so that all tools find what msprof puts into it. */
static int make_dir(const struct np_job *job, int32_t rank, int pid, const char *base, char *dir,
		    struct np_err *err)
{
	const struct np_job_layout_host *host =
		&job->layout.hosts[job->layout.ranks[job->rank].host];
	struct timespec now;
	struct tm local;
	char stamp[32];
	char name[64];
	char info[64];
	struct np_place_bytes text = { .bytes = info };

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)localtime_r(&now.tv_sec, &local);
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &local);
	(void)snprintf(dir, NP_RECORD_DIR, "%.*s/%.200s_%d_%s%03ld_ascend_pt", PATH_MAX - 400, base,
		       host->name, pid, stamp, now.tv_nsec / 1000000);
	if (np_place_make(base, err) < 0)
		return NP_E_IO;
	if (mkdir(dir, 0755) < 0)
		return np_fail(err, NP_E_IO, "cannot make the directory '%.380s': %s", dir,
			       strerrordesc_np(errno));
	(void)snprintf(name, sizeof(name), NP_INFO_FILE_FORMAT, (int)rank);
	text.length = (size_t)snprintf(info, sizeof(info), "{\"rank_id\": %d}\n", (int)rank);
	return np_place_write(dir, name, text, NP_PLACE_OUTPUT, err);
}

/* A word, with NUL after it. */
static void add_word(struct np_buf *words, size_t *count, const char *word)
{
	np_buf_add(words, word);
	np_buf_add_char(words, '\0');
	(*count)++;
}

/* What is recorded; the words that say so are the same around an application and beside it. */
static void add_options(const struct np_plan *plan, int level, const char *dir,
			struct np_buf *words, size_t *count)
{
	static const char *const tasks[] = { "--task-time=l0", "--task-time=l1", "--task-time=l1" };
	char option[PATH_MAX + 16];

	(void)snprintf(option, sizeof(option), "--output=%s", dir);
	add_word(words, count, option);
	add_word(words, count, "--ascendcl=on");
	add_word(words, count, tasks[level]);
	if (level != NP_LEVEL_0 && plan->aic_metrics != NP_METRICS_NONE) {
		(void)snprintf(option, sizeof(option), "--aic-metrics=%s",
			       np_plan_metrics[plan->aic_metrics]);
		add_word(words, count, "--ai-core=on");
		add_word(words, count, option);
	}
	if (level == NP_LEVEL_2) {
		add_word(words, count, "--runtime-api=on");
		add_word(words, count, "--aicpu=on");
	}
	if (plan->with_memory) {
		add_word(words, count, "--task-memory=on");
		add_word(words, count, "--sys-hardware-mem=on");
	}
	if (plan->max_size) {
		(void)snprintf(option, sizeof(option), "--storage-limit=%" PRId64 "MB",
			       plan->max_size < 200 ? 200 : plan->max_size);
		add_word(words, count, option);
	}
}

static int make_argv(struct np_msprof_line *line, size_t count, struct np_err *err)
{
	char *at = line->words.text;
	int rc = np_buf_check(&line->words, err);

	line->argv = calloc(count + 1, sizeof(*line->argv));
	if (rc < 0 || !line->argv)
		return np_fail_nomem(err, "the command line of msprof");
	for (size_t i = 0; i < count; i++) {
		line->argv[i] = at;
		at += strlen(at) + 1;
	}
	return NP_OK;
}

int np_msprof_line(const struct np_job *job, struct np_msprof_line *ret, struct np_err *err)
{
	size_t count = 0;
	int rc;

	*ret = (struct np_msprof_line){ .words = NP_BUF_INIT };
	rc = make_dir(job, job->rank, (int)getpid(), job->root, ret->dir, err);
	if (rc < 0)
		return rc;
	add_word(&ret->words, &count, "msprof");
	add_options(&job->plan, job->plan.level, ret->dir, &ret->words, &count);
	add_word(&ret->words, &count, "--type=db");
	for (char *const *word = job->app; *word; word++)
		add_word(&ret->words, &count, *word);
	return make_argv(ret, count, err);
}

int np_msprof_attach_line(const struct np_job *job, int32_t rank, int pid, const char *base,
			  int level, struct np_msprof_line *ret, struct np_err *err)
{
	char option[32];
	size_t count = 0;
	int rc;

	*ret = (struct np_msprof_line){ .words = NP_BUF_INIT };
	rc = make_dir(job, rank, pid, base, ret->dir, err);
	if (rc < 0)
		return rc;
	(void)snprintf(option, sizeof(option), "--pid=%d", pid);
	add_word(&ret->words, &count, "msprof");
	add_word(&ret->words, &count, "--dynamic=on");
	add_word(&ret->words, &count, option);
	add_options(&job->plan, level, ret->dir, &ret->words, &count);
	return make_argv(ret, count, err);
}

void np_msprof_line_release(struct np_msprof_line *line)
{
	free(line->argv);
	np_buf_release(&line->words);
}

bool np_msprof_socket(int pid, char *path, size_t size)
{
	struct passwd entry;
	struct passwd *found = NULL;
	char text[4096];
	int length;

	/* As CANN does: where the system says, whatever $HOME is. */
	if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) != 0 || !found)
		return false;
	length = snprintf(path, size, "%s/dynamic_profiling_socket_%d", found->pw_dir, pid);
	return length > 0 && (size_t)length < size;
}
