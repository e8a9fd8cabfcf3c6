/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FIXTURE_H
#define NP_FIXTURE_H

/*
 * Inputs of tests, built from text in a temporary directory of the test's own:
 *
 *	cmocka_unit_test_setup_teardown(a_sentence, np_fixture_setup, np_fixture_teardown)
 *
 * Paths come from below("rank%d/x.db", 3); they stay valid for the next few calls.
 */
#include "np_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/buf.h"
#include "npuprof/notes.h"

static char np_fixture_root[64];

/* What a property test is at, told when the test ends in the middle of it. */
static char np_fixture_doing[64];

/* A path below the temporary directory. */
__attribute__((unused)) NP_PRINTF(1, 2) static const char *below(const char *fmt, ...)
{
	static char ring[8][4096];
	static unsigned at;
	char *path = ring[at++ % NP_COUNT(ring)];
	int length = snprintf(path, sizeof(ring[0]), "%s/", np_fixture_root);
	va_list arguments;

	va_start(arguments, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above */
	length += vsnprintf(path + length, sizeof(ring[0]) - (size_t)length, fmt, arguments);
	va_end(arguments);
	assert_true((size_t)length < sizeof(ring[0]));
	return path;
}

/* Names in a directory, sorted and without "." and ".."; -1 if it cannot be read. */
static inline int np_fixture_names(const char *dir, struct dirent ***ret)
{
	int count = scandir(dir, ret, NULL, alphasort);
	int kept = 0;

	for (int i = 0; i < count; i++) {
		if (strcmp((*ret)[i]->d_name, ".") == 0 || strcmp((*ret)[i]->d_name, "..") == 0)
			free((*ret)[i]);
		else
			(*ret)[kept++] = (*ret)[i];
	}
	return count < 0 ? -1 : kept;
}

static inline void np_fixture_remove(const char *path)
{
	struct dirent **names;
	struct stat status;
	int count;

	if (lstat(path, &status) < 0)
		return;
	if (!S_ISDIR(status.st_mode)) {
		(void)unlink(path);
		return;
	}
	(void)chmod(path, 0700);
	count = np_fixture_names(path, &names);
	for (int i = 0; i < count; i++) {
		char *child;

		if (asprintf(&child, "%s/%s", path, names[i]->d_name) >= 0) {
			np_fixture_remove(child);
			free(child);
		}
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	(void)rmdir(path);
}

static inline int np_fixture_setup(void **state)
{
	(void)state;
	(void)snprintf(np_fixture_root, sizeof(np_fixture_root), "/tmp/np-test-XXXXXX");
	return mkdtemp(np_fixture_root) ? 0 : -1;
}

static inline int np_fixture_teardown(void **state)
{
	(void)state;
	if (*np_fixture_doing)
		print_error("it ended at %s\n", np_fixture_doing);
	*np_fixture_doing = '\0';
	np_fixture_remove(np_fixture_root);
	return 0;
}

#define with_fixture(test) \
	cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)

/* Make a directory and those above it. */
static inline void make_dirs(const char *path)
{
	char copy[4096];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(copy, 0755);
		*slash = '/';
	}
	if (mkdir(copy, 0755) < 0)
		assert_int_equal(errno, EEXIST);
}

static inline void make_dirs_above(const char *path)
{
	char copy[4096];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	*strrchr(copy, '/') = '\0';
	make_dirs(copy);
}

/* Write a file, making the directories above it. */
static inline void write_bytes(const char *path, const void *bytes, size_t length)
{
	FILE *file;

	make_dirs_above(path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

/* The content of a file; freed by the caller. */
static inline char *read_bytes(const char *path, size_t *ret_length)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	char *bytes;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	*ret_length = (size_t)status.st_size;
	bytes = malloc(*ret_length + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *ret_length, file), *ret_length);
	bytes[*ret_length] = '\0';
	assert_int_equal(fclose(file), 0);
	return bytes;
}

/* First in tests that take a column out of a table: SQLite before 3.35 cannot. */
static inline void skip_unless_columns_drop(void)
{
	if (sqlite3_libversion_number() < 3035000)
		skip();
}

/* Run SQL on an open database. */
static inline void run_sql_on(sqlite3 *handle, const char *sql)
{
	char *message = NULL;

	if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
}

static inline sqlite3 *open_sqlite(const char *path)
{
	sqlite3 *handle = NULL;

	make_dirs_above(path);
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	/* Nobody needs them after a crash, and waiting for the disk takes most of a test's time. */
	run_sql_on(handle, "PRAGMA synchronous=OFF");
	return handle;
}

/* Run SQL on a database, which is made if it is not there. */
static inline void run_sql(const char *path, const char *sql)
{
	sqlite3 *handle = open_sqlite(path);

	run_sql_on(handle, sql);
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* The whole number that a query on a database gives. */
static inline int64_t ask_sql(const char *path, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *handle = open_sqlite(path);
	int64_t answer;

	if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	answer = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
	return answer;
}

static inline void np_snapshot_file(struct np_buf *buf, const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t length;
	char *bytes = read_bytes(path, &length);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	free(bytes);
	np_buf_printf(buf, " %zu %016llx", length, (unsigned long long)hash);
}

static inline void np_snapshot_add(struct np_buf *buf, const char *dir)
{
	struct dirent **names;
	int count = np_fixture_names(dir, &names);

	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		struct stat status;
		char *path;

		assert_true(asprintf(&path, "%s/%s", dir, names[i]->d_name) > 0);
		assert_int_equal(lstat(path, &status), 0);
		np_buf_printf(buf, "%s %o %lld %lld.%09ld", path, (unsigned)status.st_mode,
			      (long long)status.st_ino, (long long)status.st_mtim.tv_sec,
			      status.st_mtim.tv_nsec);
		if (S_ISREG(status.st_mode))
			np_snapshot_file(buf, path);
		np_buf_add(buf, "\n");
		if (S_ISDIR(status.st_mode))
			np_snapshot_add(buf, path);
		free(path);
		free(names[i]);
	}
	free(names);
}

/* Names, times of change and content of everything below a directory; freed by the caller. */
static inline char *snapshot(const char *dir)
{
	struct np_buf buf = NP_BUF_INIT;

	np_snapshot_add(&buf, dir);
	np_buf_add(&buf, "");
	assert_int_equal(np_buf_check(&buf, NULL), NP_OK);
	return buf.length ? buf.text : strdup("");
}

/* Nothing below the directory changed since the snapshot, which is freed. */
static inline void assert_untouched(const char *dir, char *before)
{
	char *after = snapshot(dir);

	assert_string_equal(after, before);
	free(after);
	free(before);
}

/* Number of entries in a directory. */
static inline int entries_in(const char *dir)
{
	struct dirent **names;
	int count = np_fixture_names(dir, &names);

	for (int i = 0; i < count; i++)
		free(names[i]);
	if (count >= 0)
		free(names);
	return count;
}

/* The first note about `what` whose reason holds `words`; NULL without one. */
static inline const struct np_note *find_note(const struct np_notes *notes, const char *what,
					      const char *words)
{
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];

		if (strcmp(note->what, what) == 0 && strstr(note->reason, words))
			return note;
	}
	return NULL;
}

static inline void np_fixture_print_notes(const struct np_notes *notes)
{
	for (size_t i = 0; i < notes->list.count; i++)
		print_message("note: %s: %s: %s\n", notes->list.item[i].path,
			      notes->list.item[i].what, notes->list.item[i].reason);
}

/* There is a note of this kind about `what` that holds `words`. */
static inline void assert_noted(const struct np_notes *notes, enum np_note_kind kind,
				const char *what, const char *words)
{
	const struct np_note *note = find_note(notes, what, words);

	if (!note || note->kind != kind) {
		np_fixture_print_notes(notes);
		fail_msg("no such note about %s: %s", what, words);
	}
}

static inline void assert_no_notes(const struct np_notes *notes)
{
	np_fixture_print_notes(notes);
	assert_int_equal(notes->list.count, 0);
}

static inline void assert_holds(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" does not hold \"%s\"", text, words);
}

/* A failure told in one line: no line ends, no full stop, lower case. */
static inline void assert_one_line(const struct np_err *err)
{
	size_t length = strlen(err->text);

	assert_true(length > 0);
	assert_null(strchr(err->text, '\n'));
	assert_true(err->text[length - 1] != '.');
}

/* The directory of recorded profiles, or NULL: then say so and skip(). */
static inline const char *recorded_profiles(const char *name)
{
	static char path[4096];
	const char *shared = getenv("NPUPROF_SHARED");
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/data/%s", shared ? shared : "", name);
	if (shared && stat(path, &status) == 0)
		return path;
	print_message("skipped: no recorded profiles at %s (set NPUPROF_SHARED)\n", path);
	return NULL;
}

#endif /* NP_FIXTURE_H */
