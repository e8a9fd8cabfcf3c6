/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a file that tables share, near and on another machine. */
#include "core/format/scan/scan_private.h"
#include "core/format/scan/scan_window.h"

#include "np_test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PAGE 4096U
#define ROWS 20000

static char directory[64];
static char path[96];
static bool far_away;

/* In place of that of the library: the file is where the test says. */
int fstatfs(int fd, struct statfs *ret)
{
	int rc = (int)syscall(SYS_fstatfs, fd, ret);

	if (far_away)
		ret->f_type = 0x6969;
	return rc;
}

/* Two tables whose pages alternate. */
static void write_tables(void)
{
	sqlite3 *handle = NULL;

	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			handle,
			"PRAGMA page_size=4096; PRAGMA journal_mode=OFF;"
			"CREATE TABLE A(x INT, y INT, z INT); CREATE TABLE B(x INT, y INT, z INT); BEGIN",
			NULL, NULL, NULL),
		SQLITE_OK);
	for (int i = 0; i < ROWS / 100; i++) {
		char sql[400];

		(void)snprintf(
			sql, sizeof(sql),
			"WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
			"INSERT INTO A SELECT i, i * 1000000007, -i FROM n;"
			"INSERT INTO B SELECT x + 1, y + 1, z FROM A WHERE x >= %d",
			i * 100, i * 100 + 99, i * 100);
		assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	}
	assert_int_equal(sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(handle);
}

static int make_file(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof(directory), "/tmp/npuprof-window-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/a.db", directory);
	write_tables();
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	far_away = false;
	(void)unlink(path);
	return rmdir(directory);
}

static struct np_db *open_db(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	assert_ok(np_db_open(path, &db, &err), err);
	return db;
}

static uint32_t wants_all(const struct np_window_reader *reader, uint32_t first, uint32_t count)
{
	(void)reader;
	(void)first;
	return count;
}

static struct np_window_reader join(struct np_db *db, int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return (struct np_window_reader){ .db = db,
					  .fd = fd,
					  .page_size = PAGE,
					  .page_count = (uint32_t)(status.st_size / PAGE),
					  .padding = 64,
					  .wanted = wants_all };
}

static void begin(struct np_window_reader *reader)
{
	struct np_err err = NP_ERR_INIT;
	struct stat status;

	assert_int_equal(fstat(reader->fd, &status), 0);
	assert_ok(np_windows_join(reader, &status, &err), err);
}

static struct np_window_piece *hold(struct np_window_reader *reader, struct np_window_piece *held,
				    uint32_t page, uint32_t run)
{
	struct np_err err = NP_ERR_INIT;
	struct np_window_piece *window = NULL;

	assert_ok(np_windows_hold(reader, held, page, run, &window, &err), err);
	assert_true(np_window_has(window, page));
	return window;
}

static void assert_page(const struct np_window_reader *reader, const struct np_window_piece *window,
			uint32_t page)
{
	uint8_t bytes[PAGE];

	assert_int_equal(pread(reader->fd, bytes, PAGE, (off_t)(page - 1) * PAGE), PAGE);
	assert_memory_equal(np_window_page(reader, window, page), bytes, PAGE);
}

static void near_only_what_is_wanted_is_read(void **state)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = open_db();
	struct np_window_reader reader = join(db, open(path, O_RDONLY | O_CLOEXEC));
	struct np_window_piece *window;

	(void)state;
	begin(&reader);
	assert_false(reader.far);
	window = hold(&reader, NULL, 5, 3);
	assert_int_equal(window->first, 5);
	assert_int_equal(window->count, 3);
	assert_page(&reader, window, 7);
	np_windows_let_go(window);
	np_windows_leave(&reader);
	(void)close(reader.fd);
}

static void far_a_piece_is_read_as_a_whole_and_shared(void **state)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = open_db();
	struct np_window_reader reader = join(db, open(path, O_RDONLY | O_CLOEXEC));
	struct np_window_reader other = reader;
	struct np_window_piece *window;
	struct np_window_piece *shared;
	struct np_window_piece *later = NULL;

	(void)state;
	far_away = true;
	begin(&reader);
	begin(&other);
	far_away = false;
	assert_true(reader.far);
	window = hold(&reader, NULL, 5, 1);
	assert_int_equal(window->count, np_windows_most(&reader));
	shared = hold(&other, NULL, 20, 1);
	assert_ptr_equal(window, shared);
	assert_int_equal(window->holders, 2);
	np_windows_let_go(shared);
	/* What is held stays, whatever else is read. */
	for (uint32_t page = 1; page <= reader.page_count; page += 3)
		later = hold(&other, later, page, 1);
	assert_int_equal(window->first, 5);
	for (uint32_t page = 5; page < 5 + window->count; page++)
		assert_page(&reader, window, page);
	np_windows_let_go(later);
	np_windows_let_go(window);
	np_windows_leave(&other);
	np_windows_leave(&reader);
	(void)close(reader.fd);
}

static void a_page_behind_the_end_is_not_found(void **state)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = open_db();
	struct np_window_reader reader = join(db, open(path, O_RDONLY | O_CLOEXEC));
	struct np_err err = NP_ERR_INIT;
	struct np_window_piece *window = NULL;

	(void)state;
	begin(&reader);
	reader.page_count += 10;
	assert_int_equal(np_windows_hold(&reader, NULL, reader.page_count, 1, &window, &err),
			 NP_E_NOTFOUND);
	assert_null(window);
	/* A piece that reaches over it has what there is. */
	window = hold(&reader, NULL, reader.page_count - 11, 8);
	assert_int_equal(window->count, 2);
	np_windows_let_go(window);
	np_windows_leave(&reader);
	(void)close(reader.fd);
}

/* The sums of both tables, read side by side. */
static int64_t read_both(void)
{
	static const struct np_scan_column columns[] = { { "x", NP_SCAN_INTEGER, NP_REQUIRED },
							 { "y", NP_SCAN_INTEGER, NP_REQUIRED } };
	NP_CLEANUP(np_db_closep) struct np_db *db = open_db();
	NP_CLEANUP(np_scan_closep) struct np_scan *a = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *b = NULL;
	struct np_err err = NP_ERR_INIT;
	size_t rows = 0;
	int64_t sum = 0;

	assert_ok(np_scan_open(db, "A", columns, 2, &a, &err), err);
	assert_ok(np_scan_open(db, "B", columns, 2, &b, &err), err);
	for (bool more = true; more;) {
		struct np_scan *const scans[] = { a, b };

		more = false;
		for (size_t s = 0; s < 2; s++) {
			struct np_batch batch;

			assert_ok(np_scan_next(scans[s], &batch, &err), err);
			for (size_t i = 0; i < batch.rows; i++)
				sum += (int64_t)(s + 1) *
				       (batch.column[0].integer[i] ^ batch.column[1].integer[i]);
			rows += batch.rows;
			more = more || batch.rows > 0;
		}
	}
	assert_int_equal(rows, 2 * ROWS);
	return sum;
}

static void near_and_far_the_rows_are_the_same(void **state)
{
	int64_t near = read_both();

	(void)state;
	far_away = true;
	assert_true(read_both() == near);
	far_away = false;
}

static void file_systems_of_other_machines_are_known(void **state)
{
	(void)state;
	assert_true(np_windows_is_far(0x6969));
	assert_true(np_windows_is_far((int64_t)(int32_t)0xff534d42));
	assert_false(np_windows_is_far(0xef53));
	assert_false(np_windows_is_far(0x01021994));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(near_only_what_is_wanted_is_read, make_file,
						remove_file),
		cmocka_unit_test_setup_teardown(far_a_piece_is_read_as_a_whole_and_shared,
						make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_page_behind_the_end_is_not_found, make_file,
						remove_file),
		cmocka_unit_test_setup_teardown(near_and_far_the_rows_are_the_same, make_file,
						remove_file),
		cmocka_unit_test(file_systems_of_other_machines_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
