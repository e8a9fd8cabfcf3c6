/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark of all commands: inputs made, cases run in turn, times taken. */
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: npuprof-bench [-n repetitions] [-s] [-i inputs] [-b build]... [-w directory]\n"
	"                     [-o result.json] [-p plot.svg] [--against COMMAND]\n"
	"\n"
	"  -n N    repetitions of every case (default 5, at most 101)\n"
	"  -s      the short suite: small inputs only\n"
	"  -i TEXT only inputs whose names begin so\n"
	"  -b DIR  build directory (default: that of this program); two are compared\n"
	"  -w DIR  where inputs are made (default: a new directory below TMPDIR)\n"
	"  --against COMMAND\n"
	"          run this line by sh, in turn with npuprof cluster, reading all bytes and a bare\n"
	"          scan: it finds the profiles in $IN and may write to $OUT. Both must answer: exit\n"
	"          with 0 or 3, and print or write something. Status 1 if one does not\n";

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "npuprof-bench: %s: %s\n", what, why);
	exit(1);
}

/* --- running ------------------------------------------------------------------------------------
 */

struct spent {
	double seconds;
	double cpu;
	double peak; /* MB */
	int status;
};

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Run a program to its end; what it prints goes to `output`, errors nowhere. */
static struct spent run(const char *const *argv, const char *output)
{
	struct rusage usage_of_child;
	struct spent spent = { 0 };
	double begin = now();
	pid_t child = fork();
	int status;

	if (child < 0)
		die("cannot start a process", strerror(errno));
	if (child == 0) {
		int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		int nothing = open("/dev/null", O_RDWR);

		if (out < 0 || nothing < 0 || dup2(out, 1) < 0 || dup2(nothing, 2) < 0)
			_exit(126);
		(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (wait4(child, &status, 0, &usage_of_child) < 0)
		die("cannot wait", strerror(errno));
	spent.seconds = now() - begin;
	spent.cpu = seconds_of(usage_of_child.ru_utime) + seconds_of(usage_of_child.ru_stime);
	spent.peak = (double)usage_of_child.ru_maxrss / 1024;
	spent.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return spent;
}

static void remove_tree(const char *path)
{
	char *const paths[] = { (char *)(uintptr_t)path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_DP)
			(void)rmdir(entry->fts_path);
		else if (entry->fts_info != FTS_D)
			(void)unlink(entry->fts_path);
	}
	if (tree)
		(void)fts_close(tree);
}

/* --- an input -----------------------------------------------------------------------------------
 */

#define MOST_FILES 2048

/* An input that stands on the disk. */
struct bed {
	const struct suite *suite;
	const struct suite_input *input;
	char in[4096];
	char out[4096];
	char cache[4096];
	char printed[4096];
	char *databases[MOST_FILES];
	size_t database_count;
	double megabytes; /* of what npuprof reads: databases, or traces */
	double rows;
};

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name);

	return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

/* Sizes, and with them the pages in the cache: everything is read once. */
static void look_at(struct bed *bed)
{
	char *const paths[] = { bed->in, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		const char *wanted = bed->input->text ? "trace_view.json" : ".db";

		if (entry->fts_info != FTS_F || !ends_with(entry->fts_name, wanted) ||
		    strcmp(entry->fts_name, "analysis.db") == 0)
			continue;
		bed->megabytes += 1e-6 * (double)entry->fts_statp->st_size;
		if (!bed->input->text && bed->database_count < MOST_FILES)
			bed->databases[bed->database_count++] = strdup(entry->fts_path);
	}
	if (tree)
		(void)fts_close(tree);
}

static void make_input(struct bed *bed)
{
	char program[4096];
	char ranks[16];
	char size[32];
	const char *argv[SUITE_ARGUMENTS + 16] = { program,   "-q",    "--force",
						   "-o",      bed->in, "--no-instances",
						   "--ranks", ranks };
	size_t count = 8;

	(void)snprintf(program, sizeof(program), "%s/npuprof-synth", bed->suite->builds[0]);
	(void)snprintf(ranks, sizeof(ranks), "%d", bed->input->ranks);
	(void)snprintf(size, sizeof(size), "%g", bed->input->rank_megabytes);
	for (size_t i = 0; i < SUITE_ARGUMENTS && bed->input->shape[i]; i++)
		argv[count++] = bed->input->shape[i];
	if (!bed->input->shape[0]) {
		argv[count++] = "--steps";
		argv[count++] = "4";
	}
	if (bed->input->rank_megabytes > 0) {
		argv[count++] = "--size-mb";
		argv[count++] = size;
	}
	if (bed->input->text) {
		argv[count++] = "--format";
		argv[count++] = "text";
	}
	(void)fprintf(stderr, "%s: making it ...\n", bed->input->name);
	if (run(argv, bed->printed).status != 0)
		die(bed->in, "npuprof-synth could not write it");
	look_at(bed);
}

/* --- cases --------------------------------------------------------------------------------------
 */

static const char *place(const struct bed *bed, const char *argument)
{
	if (strcmp(argument, "@in") == 0)
		return bed->in;
	if (strcmp(argument, "@out") == 0)
		return bed->out;
	return strcmp(argument, "@cache") == 0 ? bed->cache : argument;
}

static struct spent run_scan(const struct bed *bed, int build, const char *threads)
{
	const char *argv[MOST_FILES + 4];
	char program[4096];
	size_t count = 0;
	struct spent spent;
	FILE *printed;
	unsigned long long rows;

	(void)snprintf(program, sizeof(program), "%s/npuprof-bench-scan",
		       bed->suite->builds[build]);
	argv[count++] = program;
	argv[count++] = "-t";
	argv[count++] = threads;
	for (size_t i = 0; i < bed->database_count; i++)
		argv[count++] = bed->databases[i];
	argv[count] = NULL;
	spent = run(argv, bed->printed);
	printed = fopen(bed->printed, "re");
	if (printed && fscanf(printed, "%llu", &rows) == 1)
		((struct bed *)(uintptr_t)bed)->rows = (double)rows;
	if (printed)
		(void)fclose(printed);
	return spent;
}

/* What the other program writes is its own, and gone before it begins again. */
static struct spent run_shell(const struct bed *bed, const struct suite_case *one)
{
	const char *argv[] = { "sh", "-c", one->shell, NULL };

	remove_tree(bed->cache);
	(void)mkdir(bed->cache, 0777);
	(void)setenv("IN", bed->in, 1);
	(void)setenv("OUT", bed->cache, 1);
	return run(argv, bed->printed);
}

static bool has_file(const char *path)
{
	char *const paths[] = { (char *)(uintptr_t)path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	bool found = false;
	FTSENT *entry;

	while (tree && !found && (entry = fts_read(tree)))
		found = entry->fts_info == FTS_F && entry->fts_statp->st_size > 0;
	if (tree)
		(void)fts_close(tree);
	return found;
}

static struct spent run_case(const struct bed *bed, const struct suite_case *one, const char *mode,
			     int build)
{
	const char *argv[SUITE_ARGUMENTS + 8];
	char program[4096];
	char processes[16];
	size_t count = 0;

	if (one->scan)
		return run_scan(bed, build, one->arguments[0]);
	if (one->shell)
		return run_shell(bed, one);
	(void)snprintf(program, sizeof(program), "%s/npuprof", bed->suite->builds[build]);
	(void)snprintf(processes, sizeof(processes), "%d", one->processes);
	if (one->processes > 0) {
		argv[count++] = "mpirun";
		argv[count++] = "--oversubscribe";
		argv[count++] = "-n";
		argv[count++] = processes;
	}
	argv[count++] = program;
	for (size_t i = 0; i < SUITE_ARGUMENTS && one->arguments[i]; i++)
		argv[count++] = place(bed, one->arguments[i]);
	if (mode) {
		argv[count++] = "-m";
		argv[count++] = mode;
	}
	argv[count] = NULL;
	return run(argv, bed->printed);
}

struct turn {
	const struct suite_case *one;
	const char *mode;
	struct suite_result *result;
};

static struct suite_result *add_result(struct suite *suite, const struct bed *bed, const char *name,
				       const char *mode, int build)
{
	struct suite_result *results =
		realloc(suite->results, (suite->result_count + 1) * sizeof(*suite->results));

	if (!results)
		die("results", "out of memory");
	suite->results = results;
	results += suite->result_count++;
	*results = (struct suite_result){ .input = bed->input, .build = build };
	(void)snprintf(results->name, sizeof(results->name), "%s%s%s", name, mode ? " -m " : "",
		       mode ? mode : "");
	return results;
}

static bool applies(const struct suite_case *one, const struct suite_input *input)
{
	if (one->scan && input->text)
		return false;
	return one->any_input || (input->commands && one->threads > 1) ||
	       input->ranks * input->rank_megabytes <= 400;
}

/* Which cases are run over this input, by every build in turn. */
static size_t plan(struct suite *suite, const struct bed *bed, struct turn *turns)
{
	static const struct suite_case mode_case = {
		.arguments = { "cluster", "@in", "-o", "@out", "-j", "2" }, .threads = 2
	};
	size_t first = suite->result_count;
	size_t count = 0;

	for (size_t i = 0; suite->against && i < SUITE_AGAINST; i++) {
		if (!applies(&suite_against[i], bed->input))
			continue;
		turns[count++] = (struct turn){ .one = &suite_against[i] };
		(void)add_result(suite, bed, suite_against[i].name, NULL, 0);
	}
	for (size_t i = 0; !suite->against && i < suite_case_count; i++) {
		for (int build = 0; build < suite->build_count; build++) {
			if (!applies(&suite_cases[i], bed->input))
				continue;
			turns[count++] = (struct turn){ .one = &suite_cases[i] };
			(void)add_result(suite, bed, suite_cases[i].name, NULL, build);
		}
	}
	for (size_t i = 0; !suite->against && bed->input->modes && suite_modes[i].name; i++) {
		for (int build = 0; build < suite->build_count; build++) {
			turns[count++] =
				(struct turn){ .one = &mode_case, .mode = suite_modes[i].modes };
			(void)add_result(suite, bed, "cluster -j 2", suite_modes[i].name, build);
		}
	}
	for (size_t i = 0; i < count; i++)
		turns[i].result = &suite->results[first + i];
	return count;
}

/* The median of the ratios to the scan of the same repetition. */
static void find_ratios(const struct turn *turns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct suite_result *result = turns[i].result;
		double ratios[SUITE_REPETITIONS];
		double cpu[SUITE_REPETITIONS];

		for (size_t j = 0; j < count; j++) {
			const struct suite_result *scan = turns[j].result;

			if (!turns[j].one->scan || turns[j].one->threads != turns[i].one->threads ||
			    scan->build != result->build)
				continue;
			for (size_t k = 0; k < result->count; k++) {
				ratios[k] = result->seconds[k] / scan->seconds[k];
				cpu[k] = result->cpu[k] / scan->cpu[k];
			}
			result->ratio = suite_median(ratios, result->count);
			result->cpu_ratio = suite_median(cpu, result->count);
		}
	}
}

static void take(struct turn *turn, struct spent spent)
{
	struct suite_result *result = turn->result;

	result->seconds[result->count] = spent.seconds;
	result->cpu[result->count] = spent.cpu;
	result->peak[result->count++] = spent.peak;
	result->status = spent.status;
}

static void measure_input(struct suite *suite, const struct suite_input *input)
{
	static struct turn turns[256];
	static struct bed bed;
	size_t count;

	bed = (struct bed){ .suite = suite, .input = input };
	(void)snprintf(bed.in, sizeof(bed.in), "%s/in", suite->directory);
	(void)snprintf(bed.out, sizeof(bed.out), "%s/out", suite->directory);
	(void)snprintf(bed.cache, sizeof(bed.cache), "%s/cache", suite->directory);
	(void)snprintf(bed.printed, sizeof(bed.printed), "%s/printed", suite->directory);
	make_input(&bed);
	count = plan(suite, &bed, turns);
	/* The first round fills the page cache and the cache of summaries. */
	for (size_t round = 0; round <= suite->repetitions; round++) {
		(void)fprintf(stderr, "%s: round %zu of %zu\n", input->name, round,
			      suite->repetitions);
		for (size_t i = 0; i < count; i++) {
			struct spent spent =
				run_case(&bed, turns[i].one, turns[i].mode, turns[i].result->build);

			if (round > 0)
				take(&turns[i], spent);
			turns[i].result->silent =
				!has_file(bed.printed) &&
				!has_file(turns[i].one->other ? bed.cache : bed.out);
		}
	}
	for (size_t i = 0; i < count; i++) {
		turns[i].result->megabytes = bed.megabytes;
		turns[i].result->rows = bed.rows;
	}
	find_ratios(turns, count);
	remove_tree(bed.in);
	remove_tree(bed.out);
	remove_tree(bed.cache);
	(void)unlink(bed.printed);
	for (size_t i = 0; i < bed.database_count; i++)
		free(bed.databases[i]);
}

/* Runs too short for one: so many in a row. */
static void measure_start(struct suite *suite)
{
	static const struct suite_input nothing = { .name = "start-up" };
	enum {
		ROW = 20
	};

	for (int build = 0; build < suite->build_count; build++) {
		const struct bed bed = { .suite = suite, .input = &nothing };
		struct suite_result *result = add_result(suite, &bed, "npuprof -V", NULL, build);
		char program[4096];
		const char *argv[] = { program, "-V", NULL };

		(void)snprintf(program, sizeof(program), "%s/npuprof", suite->builds[build]);
		for (size_t i = 0; i < suite->repetitions; i++) {
			struct spent sum = { 0 };

			for (int j = 0; j < ROW; j++) {
				struct spent spent = run(argv, "/dev/null");

				sum.seconds += spent.seconds / ROW;
				sum.cpu += spent.cpu / ROW;
				sum.peak = spent.peak;
			}
			take(&(struct turn){ .result = result }, sum);
		}
	}
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static double load_average(void)
{
	double load[1] = { 0 };

	(void)getloadavg(load, 1);
	return load[0];
}

static char *own_directory(void)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[length < 0 ? 0 : length] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return path;
}

static bool is_wanted(const struct suite *suite, const struct suite_input *input)
{
	if (suite->only)
		return strncmp(input->name, suite->only, strlen(suite->only)) == 0;
	return input->small || !suite->small;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "against", required_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 },
	};
	struct suite suite = { .repetitions = 5 };
	const char *json = NULL;
	const char *plot = NULL;
	char temporary[] = "/tmp/npuprof-bench.XXXXXX";
	bool written = true;
	int option;

	while ((option = getopt_long(argc, argv, "n:si:b:w:o:p:h", long_options, NULL)) != -1) {
		if (option == 'n')
			suite.repetitions = strtoul(optarg, NULL, 10);
		else if (option == 's')
			suite.small = true;
		else if (option == 'i')
			suite.only = optarg;
		else if (option == 'b' && suite.build_count < SUITE_BUILDS)
			suite.builds[suite.build_count++] = optarg;
		else if (option == 'w')
			suite.directory = optarg;
		else if (option == 'o')
			json = optarg;
		else if (option == 'p')
			plot = optarg;
		else if (option == 'a')
			suite.against = optarg;
		else
			return fputs(usage, option == 'h' ? stdout : stderr) < 0 || option != 'h';
	}
	if (optind < argc || suite.repetitions < 1 || suite.repetitions > SUITE_REPETITIONS) {
		(void)fputs(usage, stderr);
		return 2;
	}
	if (suite.build_count == 0)
		suite.builds[suite.build_count++] = own_directory();
	if (!suite.directory && !(suite.directory = mkdtemp(temporary)))
		die(temporary, strerror(errno));
	(void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
	(void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
	suite.load_before = load_average();
	if (suite.against)
		suite_against[SUITE_AGAINST - 1].shell = suite.against;
	else
		measure_start(&suite);
	for (size_t i = 0; i < suite_input_count; i++) {
		if (is_wanted(&suite, &suite_inputs[i]))
			measure_input(&suite, &suite_inputs[i]);
	}
	suite.load_after = load_average();
	suite_print(&suite);
	if (suite.against)
		written = suite_print_against(&suite);
	if (json)
		written = suite_write_json(&suite, json) && written;
	if (plot)
		written = suite_write_svg(&suite, plot) && written;
	(void)rmdir(temporary);
	free(suite.results);
	return written ? 0 : 1;
}
