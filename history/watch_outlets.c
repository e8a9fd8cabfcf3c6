/* SPDX-License-Identifier: Apache-2.0 */
/* Appends the lines of a watch, each once, and runs the command that is told of verdicts. */
#include "watch_outlets.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "present/watch_lines.h"

#include "npuprof/json.h"
#include "npuprof/realtime.h"

/* A command that was told of a verdict ends within this. */
#define COMMAND_NS INT64_C(60000000000)

/* And within this when the watch is asked to end. */
#define HURRY_NS INT64_C(5000000000)

/* --- what was told --------------------------------------------------------------------------- */

int watch_told_init(struct watch_told *told, struct np_err *err)
{
	*told = (struct watch_told){ .words = np_strtab_new() };
	return told->words ? NP_OK : np_fail_nomem(err, "windows");
}

void watch_told_release(struct watch_told *told)
{
	np_strtab_free(told->words);
	np_vec_release(&told->told);
	*told = (struct watch_told){ 0 };
}

/* The number of the words of a window; 0: without memory. */
static np_str words_of(struct watch_told *told, const char *window, const char *fingerprint,
		       struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf words = NP_BUF_INIT;
	np_str id = NP_STR_NONE;

	np_buf_printf(&words, "%s\n%s", window, fingerprint);
	if (np_buf_check(&words, err) < 0 ||
	    np_strtab_add(told->words, words.text, words.length, &id, err) < 0)
		return NP_STR_NONE;
	return id;
}

bool watch_is_told(const struct watch_told *told, const char *window, const char *fingerprint)
{
	/* Words are only added, which is no change of what was told. */
	struct watch_told *words = (struct watch_told *)(uintptr_t)told;
	np_str exact = words_of(words, window, fingerprint, NULL);
	np_str old = words_of(words, window, "", NULL);

	return (exact < told->told.count && told->told.item[exact]) ||
	       (old < told->told.count && told->told.item[old]);
}

int watch_note_told(struct watch_told *told, const char *window, const char *fingerprint,
		    struct np_err *err)
{
	np_str id = words_of(told, window, fingerprint, err);

	if (id == NP_STR_NONE)
		return np_fail_nomem(err, "windows");
	while (told->told.count <= id) {
		bool *slot = np_vec_add(&told->told, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = false;
	}
	told->told.item[id] = true;
	return NP_OK;
}

/* --- the file of lines ----------------------------------------------------------------------- */

static int take_line(struct watch_told *told, const char *path, const char *text, size_t length,
		     struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	int64_t run = watch_line_run(text, length);
	const char *window;
	const char *fingerprint;

	if (run == NP_UNKNOWN || np_json_parse(text, length, path, &doc, NULL) < 0 ||
	    !(window = np_json_text(np_json_member(doc, "window"))))
		return np_fail(err, NP_E_FORMAT,
			       "'%s' has other lines than those of the watch: give another --lines",
			       path);
	fingerprint = np_json_text(np_json_member(doc, "fingerprint"));
	told->last = run > told->last ? run : told->last;
	return watch_note_told(told, window, fingerprint ? fingerprint : "", err);
}

/* Whole lines behind what is known already. */
static int read_rest(struct watch_told *told, const char *path, FILE *file, struct np_err *err)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	int rc = NP_OK;
	struct stat info;

	/* A pipe or a device has no lines that could be read again. */
	if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode))
		return NP_OK;
	/* A file that became shorter is another one: it was rotated away. */
	if (info.st_size < told->read)
		told->read = 0;
	if (fseeko(file, told->read, SEEK_SET) != 0)
		return np_fail_errno(err, "read", path);
	while (rc == NP_OK && (length = getline(&line, &room, file)) > 0 &&
	       line[length - 1] == '\n') {
		rc = take_line(told, path, line, (size_t)length, err);
		told->read += rc == NP_OK ? length : 0;
	}
	free(line);
	return rc;
}

int watch_told_read(struct watch_told *told, const char *path, struct np_err *err)
{
	FILE *file = fopen(path, "re");
	int rc;

	if (!file)
		return errno == ENOENT ? NP_OK : np_fail_errno(err, "read", path);
	rc = read_rest(told, path, file, err);
	(void)fclose(file);
	return rc;
}

static bool write_all(int fd, const struct np_buf *text)
{
	size_t done = 0;

	while (done < text->length) {
		ssize_t wrote = write(fd, text->text + done, text->length - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return true;
}

/* The file is locked, and positioned for nothing. */
static int append_locked(struct watch_told *told, const char *path, FILE *file,
			 const struct np_buf *line, struct np_err *err)
{
	int fd = fileno(file);

	struct stat info;
	bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);

	/* What was not finished, by whomever, goes. */
	if (regular && (ftruncate(fd, told->read) != 0 || lseek(fd, told->read, SEEK_SET) < 0))
		return np_fail_errno(err, "write", path);
	if (!write_all(fd, line)) {
		int rc = np_fail_errno(err, "write", path);

		if (regular)
			(void)!ftruncate(fd, told->read);
		return rc;
	}
	told->read += regular ? (off_t)line->length : 0;
	return NP_OK;
}

int watch_told_append(struct watch_told *told, const char *path, const char *window,
		      const char *fingerprint, const struct np_buf *line, struct np_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	FILE *file = fd >= 0 ? fdopen(fd, "r+") : NULL;
	int rc;

	if (!file) {
		rc = np_fail_errno(err, "write", path);
		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	/* Where a file system knows no locks one watch may write the file. */
	(void)flock(fd, LOCK_EX);
	rc = read_rest(told, path, file, err);
	if (rc == NP_OK && !watch_is_told(told, window, fingerprint)) {
		rc = append_locked(told, path, file, line, err);
		if (rc == NP_OK)
			rc = watch_note_told(told, window, fingerprint, err);
	}
	if (fclose(file) != 0 && rc == NP_OK)
		rc = np_fail_errno(err, "write", path);
	return rc;
}

/* --- the command ----------------------------------------------------------------------------- */

/* Who does not read is not forced to. */
static void feed(int fd, const struct np_buf *text)
{
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)write_all(fd, text);
	(void)close(fd);
}

/* The child has a group of its own, so that what it started can be killed with it. */
static pid_t start(const char *command, int in)
{
	pid_t child = fork();

	if (child != 0) {
		if (child > 0)
			(void)setpgid(child, child);
		return child;
	}
	(void)setpgid(0, 0);
	(void)dup2(in, STDIN_FILENO);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

bool watch_run_command(const char *command, const struct np_buf *text,
		       const volatile sig_atomic_t *ending)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	np_ns began = np_steady_ns();
	np_ns hurry = 0;
	bool killed = false;
	int ends[2];
	int status = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	child = start(command, ends[0]);
	(void)close(ends[0]);
	feed(ends[1], text);
	while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
		np_ns now = np_steady_ns();

		hurry = *ending && hurry == 0 ? now : hurry;
		if (!killed && (now - began > COMMAND_NS || (hurry && now - hurry > HURRY_NS))) {
			(void)kill(-child, SIGKILL);
			killed = true;
		}
		(void)nanosleep(&moment, NULL);
	}
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
