/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast tables are scanned:
 *
 *	npuprof-bench-scan [-n repetitions] <database>...
 *	npuprof-bench-scan -t threads <database>...
 *
 * Three ways over the columns that npuprof reads: SQLite alone, tuned (immutable,
 * no mutex, mapped file), which is the "bare tuned scan" of the budgets; np_scan
 * stepping SQLite; np_scan reading pages. The ways take turns, so that a noisy
 * machine is noisy for all of them; medians are printed. With two threads each
 * scans every database given, on a connection of its own. With -t the databases
 * are scanned once by SQLite alone, divided over so many threads, and the number
 * of rows is printed: what a suite compares commands with.
 */
#include "core/format/scan/scan_private.h"

#include "npuprof/workers.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_REPETITIONS 101
#define MAX_THREADS     2

struct table {
	const char *name;
	const char *columns[NP_SCAN_COLUMNS];
};

static const struct table tables[] = {
	{ "TASK", { "startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType" } },
	{ "COMPUTE_TASK_INFO", { "globalTaskId" } },
	{ "COMMUNICATION_OP",
	  { "opName", "startNs", "endNs", "connectionId", "groupName", "opId", "dataType", "count",
	    "opType" } },
	{ "COMMUNICATION_TASK_INFO",
	  { "globalTaskId", "taskType", "planeId", "rdmaType", "srcRank", "dstRank",
	    "transportType", "size", "linkType", "opId" } },
	{ "CANN_API", { "startNs", "endNs", "type", "connectionId" } },
};

enum way {
	BARE,
	ROWS,
	PAGES,
	WAYS,
};

static const char *const way_names[WAYS] = { "bare SQLite", "np_scan, SQLite", "np_scan, pages" };

/* What one thread is to do, and what came of it. */
struct job {
	char **paths;
	size_t path_count;
	const struct table *table; /* NULL: all of them */
	enum way way;
	uint64_t rows;
	int64_t sum; /* of all values, so that they are all read; equal for all ways */
};

static void die(const char *what)
{
	(void)fprintf(stderr, "npuprof-bench-scan: %s\n", what);
	exit(1);
}

static size_t column_count(const struct table *table)
{
	size_t count = 0;

	while (count < NP_SCAN_COLUMNS && table->columns[count])
		count++;
	return count;
}

static void add(int64_t *sum, int64_t value)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

static sqlite3 *open_bare(const char *path)
{
	char *uri = sqlite3_mprintf("file:%s?immutable=1", path);
	sqlite3 *handle = NULL;

	if (!uri ||
	    sqlite3_open_v2(uri, &handle,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(handle, "PRAGMA mmap_size=1073741824", NULL, NULL, NULL) != SQLITE_OK)
		die(path);
	sqlite3_free(uri);
	return handle;
}

static void scan_bare(struct job *job, sqlite3 *handle, const struct table *table)
{
	int count = (int)column_count(table);
	sqlite3_stmt *statement = NULL;
	char sql[1024] = "SELECT ";
	size_t used = strlen(sql);

	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%s%s", i ? "," : "",
					 table->columns[i]);
	(void)snprintf(sql + used, sizeof(sql) - used, " FROM %s NOT INDEXED", table->name);
	if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(handle));
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < count; i++)
			add(&job->sum, sqlite3_column_int64(statement, i));
		job->rows++;
	}
	(void)sqlite3_finalize(statement);
}

static void scan_np(struct job *job, struct np_db *db, const struct table *table)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_scan_column columns[NP_SCAN_COLUMNS];
	size_t count = column_count(table);
	enum np_scan_engine engine = job->way == ROWS ? NP_SCAN_BY_SQLITE : NP_SCAN_BY_ANY;
	struct np_batch batch = { .rows = 1 };
	struct np_err err = NP_ERR_INIT;

	for (size_t i = 0; i < count; i++)
		columns[i] =
			(struct np_scan_column){ table->columns[i], NP_SCAN_INTEGER, NP_REQUIRED };
	if (np_scan_open_with(db, table->name, columns, count, engine, &scan, &err) < 0)
		die(err.text);
	if (np_scan_reads_pages(scan) != (job->way == PAGES))
		die("not the engine that was to be measured");
	while (batch.rows > 0) {
		if (np_scan_next(scan, &batch, &err) < 0)
			die(err.text);
		for (size_t i = 0; i < count; i++) {
			for (size_t row = 0; row < batch.rows; row++)
				add(&job->sum, batch.column[i].integer[row]);
		}
		job->rows += batch.rows;
	}
}

static void scan_file(struct job *job, const char *path)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct np_err err = NP_ERR_INIT;
	sqlite3 *handle = NULL;

	if (job->way == BARE)
		handle = open_bare(path);
	else if (np_db_open(path, &db, &err) < 0)
		die(err.text);
	for (size_t i = 0; i < NP_COUNT(tables); i++) {
		if (job->table && job->table != &tables[i])
			continue;
		if (handle)
			scan_bare(job, handle, &tables[i]);
		else
			scan_np(job, db, &tables[i]);
	}
	(void)sqlite3_close(handle);
}

static void *run_job(void *argument)
{
	struct job *job = argument;

	job->rows = 0;
	job->sum = 0;
	for (size_t i = 0; i < job->path_count; i++)
		scan_file(job, job->paths[i]);
	return NULL;
}

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds for `threads` times the job at once. */
static double measure(const struct job *job, size_t threads, struct job *ret)
{
	pthread_t thread[MAX_THREADS];
	struct job jobs[MAX_THREADS];
	double begin = now();

	for (size_t i = 0; i < threads; i++) {
		jobs[i] = *job;
		if (i > 0 && pthread_create(&thread[i], NULL, run_job, &jobs[i]) != 0)
			die("cannot start a thread");
	}
	(void)run_job(&jobs[0]);
	for (size_t i = 1; i < threads; i++)
		(void)pthread_join(thread[i], NULL);
	*ret = jobs[0];
	return now() - begin;
}

static int ascending(const void *left, const void *right)
{
	const double *a = left;
	const double *b = right;

	return (*a > *b) - (*a < *b);
}

static void compare_ways(struct job job, size_t threads, size_t repetitions, double megabytes)
{
	double seconds[WAYS][MAX_REPETITIONS];
	struct job done[WAYS];

	for (size_t i = 0; i < repetitions; i++) {
		for (job.way = 0; job.way < WAYS; job.way++)
			seconds[job.way][i] = measure(&job, threads, &done[job.way]);
	}
	for (size_t way = 0; way < WAYS; way++) {
		double median;

		if (done[way].sum != done[BARE].sum || done[way].rows != done[BARE].rows)
			die("the ways do not agree");
		qsort(seconds[way], repetitions, sizeof(double), ascending);
		median = seconds[way][repetitions / 2];
		qsort(seconds[BARE], repetitions, sizeof(double), ascending);
		printf("%-24s %zu  %-16s %9.3f ms  [%.3f %.3f]  %7.2f Mrow/s",
		       job.table ? job.table->name : "all", threads, way_names[way], 1e3 * median,
		       1e3 * seconds[way][repetitions / 4], 1e3 * seconds[way][repetitions * 3 / 4],
		       1e-6 * (double)(done[way].rows * threads) / median);
		if (!job.table)
			printf("  %6.0f MB/s of file", megabytes * (double)threads / median);
		printf("  x%.2f\n", seconds[BARE][repetitions / 2] / median);
	}
}

static void scan_once(void *context, size_t index)
{
	struct job *job = (struct job *)context + index;

	job->rows = 0;
	scan_file(job, job->paths[index]);
}

static int scan_divided(char **paths, size_t count, size_t threads)
{
	const struct np_workers workers = { .threads = threads };
	struct job *jobs = calloc(count, sizeof(*jobs));
	uint64_t rows = 0;

	if (!jobs)
		die("out of memory");
	for (size_t i = 0; i < count; i++)
		jobs[i] = (struct job){ .paths = paths, .way = BARE };
	np_workers_run(&workers, count, scan_once, jobs);
	for (size_t i = 0; i < count; i++)
		rows += jobs[i].rows;
	printf("%llu\n", (unsigned long long)rows);
	free(jobs);
	return 0;
}

int main(int argc, char **argv)
{
	struct job job = { 0 };
	size_t repetitions = 21;
	size_t divided = 0;
	double megabytes = 0;
	int option;

	while ((option = getopt(argc, argv, "n:t:")) != -1) {
		if (option == 'n')
			repetitions = (size_t)strtoul(optarg, NULL, 10);
		else if (option == 't')
			divided = (size_t)strtoul(optarg, NULL, 10);
		else
			die("usage: npuprof-bench-scan [-n repetitions | -t threads] <database>...");
	}
	if (divided > 0 && optind < argc)
		return scan_divided(argv + optind, (size_t)(argc - optind), divided);
	if (optind == argc || repetitions == 0 || repetitions > MAX_REPETITIONS)
		die("usage: npuprof-bench-scan [-n 1..101] <database>...");
	job.paths = argv + optind;
	job.path_count = (size_t)(argc - optind);
	for (size_t i = 0; i < job.path_count; i++) {
		struct stat status;

		if (stat(job.paths[i], &status) < 0)
			die(job.paths[i]);
		megabytes += 1e-6 * (double)status.st_size;
	}
	printf("median [quartiles]; the last figure is against bare SQLite\n");
	for (size_t threads = 1; threads <= MAX_THREADS; threads++) {
		for (size_t i = 0; i <= NP_COUNT(tables); i++) {
			job.table = i < NP_COUNT(tables) ? &tables[i] : NULL;
			compare_ways(job, threads, repetitions, megabytes);
		}
	}
	return 0;
}
