/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <ftw.h>
#include <sys/wait.h>
#include <unistd.h>

#include "np_test.h"
#include "sim/npusim/acl_api.h"

/*
 * The profiling state machine of the simulated libraries, row by row. The state
 * belongs to a process, so every row runs in a child of its own, in an empty
 * directory.
 */

enum call {
	NOTHING, /* ends a script */
	INIT,
	INIT_EMPTY,
	INIT_NULL,
	INIT_ILLEGAL,
	INIT_WRONG_LENGTH,
	INIT_UNWRITABLE,
	START,        /* the mask in `arg`, on device 0 */
	START_NULL,   /* no configuration */
	START_OTHER,  /* the same on device 1 */
	START_METRIC, /* the metric in `arg`, with AICORE_METRICS */
	STOP,
	STOP_NULL,
	WARMUP,
	WARMUP_NULL,
	FINALIZE,
	SET_MEMORY, /* aclprofSetConfig(SYS_HARDWARE_MEM_FREQ, "50") */
	SUBSCRIBE,
	UNSUBSCRIBE,
	ACL_INIT_JSON, /* aclInit with a file that switches profiling on */
	DIRECTORIES,   /* count PROF_ directories */
};

struct step {
	enum call call;
	uint64_t arg;
	int expected;
};

struct script {
	const char *what;
	const char *env[4]; /* name, value, name, value */
	struct step steps[12];
};

#define L1 0x27
#define L0 0x801
#define OLD \
	{ \
		"NPUSIM_CANN", "old" \
	}
#define CMD \
	{ \
		"PROFILER_SAMPLECONFIG", "{}" \
	}

/* clang-format off */
static const struct script scripts[] = {
	/* The table of modes: each call in each mode, for newer and older CANN. */
	{ "init when off", { NULL }, { { INIT, 0, 0 } } },
	{ "init after init", { NULL }, { { INIT, 0, 0 }, { INIT, 0, 100002 } } },
	{ "init in command mode", CMD, { { INIT, 0, 100042 } } },
	{ "init in subscribe mode", { NULL }, { { SUBSCRIBE, 1, 0 }, { INIT, 0, 148047 } } },
	{ "start when off, newer", { NULL }, { { START, L1, 0 }, { DIRECTORIES, 0, 1 } } },
	{ "start when off, older", OLD, { { START, L1, 100043 }, { DIRECTORIES, 0, 0 } } },
	{ "stop when off, newer", { NULL }, { { STOP, L1, 0 } } },
	{ "stop when off, older", OLD, { { STOP, L1, 100043 } } },
	{ "finalize when off, newer", { NULL }, { { FINALIZE, 0, 0 } } },
	{ "finalize when off, older", OLD, { { FINALIZE, 0, 100043 } } },
	{ "a whole run", { NULL }, { { INIT, 0, 0 }, { START, L1, 0 }, { STOP, L1, 0 }, { FINALIZE, 0, 0 },
				     { DIRECTORIES, 0, 1 } } },
	{ "a whole run, older", OLD, { { INIT, 0, 0 }, { START, L1, 0 }, { STOP, L1, 0 }, { FINALIZE, 0, 0 },
				       { DIRECTORIES, 0, 1 } } },
	{ "start in command mode", CMD, { { START, L1, 100042 }, { DIRECTORIES, 0, 0 } } },
	{ "stop in command mode", CMD, { { STOP, L1, 100042 } } },
	{ "finalize in command mode", CMD, { { FINALIZE, 0, 100042 } } },
	{ "warm-up in command mode", CMD, { { WARMUP, L1, 100042 } } },
	{ "start in subscribe mode", { NULL }, { { SUBSCRIBE, 1, 0 }, { START, L1, 148047 } } },
	{ "stop in subscribe mode", { NULL }, { { SUBSCRIBE, 1, 0 }, { STOP, L1, 148047 } } },
	{ "finalize in subscribe mode", { NULL }, { { SUBSCRIBE, 1, 0 }, { FINALIZE, 0, 148047 } } },
	{ "subscribe after init", { NULL }, { { INIT, 0, 0 }, { SUBSCRIBE, 1, 148047 } } },
	{ "subscribe twice", { NULL }, { { SUBSCRIBE, 1, 0 }, { SUBSCRIBE, 1, 148046 } } },
	{ "subscribe in command mode", CMD, { { SUBSCRIBE, 1, 100042 } } },
	{ "init after unsubscribe", { NULL }, { { SUBSCRIBE, 1, 0 }, { UNSUBSCRIBE, 1, 0 }, { INIT, 0, 0 } } },
	{ "init again after finalize", { NULL }, { { INIT, 0, 0 }, { FINALIZE, 0, 0 }, { INIT, 0, 0 } } },
	{ "options when off", { NULL }, { { SET_MEMORY, 0, 0 } } },
	{ "options before start", { NULL }, { { INIT, 0, 0 }, { SET_MEMORY, 0, 0 } } },
	{ "options in command mode", CMD, { { SET_MEMORY, 0, 0 } } },
	{ "options in subscribe mode", { NULL }, { { SUBSCRIBE, 1, 0 }, { SET_MEMORY, 0, 0 } } },
	{ "acl.json makes command mode", { NULL }, { { ACL_INIT_JSON, 0, 0 }, { INIT, 0, 100042 },
						     { START, L1, 100042 } } },
	{ "dynamic profiling refuses init", { "PROFILING_MODE", "dynamic" }, { { INIT, 0, 200006 } } },
	{ "other modes do not", { "PROFILING_MODE", "true" }, { { INIT, 0, 0 } } },

	/* Paths. */
	{ "no path", { NULL }, { { INIT_NULL, 0, 100000 } } },
	{ "a length that is not the path's", { NULL }, { { INIT_WRONG_LENGTH, 0, 100000 } } },
	{ "an empty path", { NULL }, { { INIT_EMPTY, 0, 100003 }, { INIT, 0, 0 } } },
	{ "an illegal path", { NULL }, { { INIT_ILLEGAL, 0, 100003 } } },
	{ "init only records the path, start creates it", { NULL },
	  { { INIT_UNWRITABLE, 0, 0 }, { START, L1, 100003 } } },

	/* Masks. */
	{ "the same start again", { NULL }, { { INIT, 0, 0 }, { START, L1, 0 }, { START, L1, 0 },
					      { DIRECTORIES, 0, 1 } } },
	{ "another mask while running", { NULL }, { { INIT, 0, 0 }, { START, L1, 0 }, { START, L0, 100010 } } },
	{ "stop with another mask", { NULL }, { { INIT, 0, 0 }, { START, L1, 0 }, { STOP, L0, 100010 },
						{ STOP, L1, 0 } } },
	{ "a mask of nothing passes", { NULL }, { { INIT, 0, 0 }, { START, 0, 0 }, { STOP, 0, 0 } } },
	{ "an internal bit", { NULL }, { { INIT, 0, 0 }, { START, 0x400, 200007 } } },
	{ "an unknown bit", { NULL }, { { INIT, 0, 0 }, { START, 1ULL << 40, 200007 } } },
	{ "a refused mask is no repeated start", { NULL }, { { INIT, 0, 0 }, { START, 0x400, 200007 },
							     { START, L1, 0 }, { DIRECTORIES, 0, 1 } } },
	{ "expansion: L1 is L1 and L0", { NULL }, { { INIT, 0, 0 }, { START, 0x2, 0 }, { START, 0x802, 0 } } },
	{ "expansion: L2 is L2, L1 and L0", { NULL }, { { INIT, 0, 0 }, { START, 0x2000, 0 }, { START, 0x2842, 0 } } },
	{ "expansion: attributes need L1", { NULL }, { { INIT, 0, 0 }, { START, 0x4000, 0 }, { START, 0x4842, 0 } } },
	{ "expansion: L3 is all", { NULL }, { { INIT, 0, 0 }, { START, 0x8000, 0 }, { START, 0xa842, 0 } } },
	{ "expansion: L0 has the training trace", { NULL }, { { INIT, 0, 0 }, { START, 0x800, 0 }, { START, 0x840, 0 } } },
	{ "statistics override everything", { NULL }, { { INIT, 0, 0 }, { START, 0x400000027, 0 },
							{ START, 0x400000001, 0 } } },
	{ "default configuration, newer", { NULL }, { { INIT, 0, 0 }, { START_NULL, 0, 0 }, { STOP_NULL, 0, 0 } } },
	{ "stop without configuration uses the running one", { NULL },
	  { { INIT, 0, 0 }, { START, L1, 0 }, { STOP_NULL, 0, 0 }, { START, L0, 0 } } },
	{ "no configuration, older", OLD, { { INIT, 0, 0 }, { START_NULL, 0, 100000 } } },
	{ "other devices while running", { NULL }, { { INIT, 0, 0 }, { START, L1, 0 }, { START_OTHER, L1, 100010 } } },

	/* Metrics. */
	{ "pipe utilization", { NULL }, { { INIT, 0, 0 }, { START_METRIC, 1, 0 } } },
	{ "no metric", { NULL }, { { INIT, 0, 0 }, { START_METRIC, 0xff, 0 } } },
	{ "memory access on a 910B", { NULL }, { { INIT, 0, 0 }, { START_METRIC, 8, 0 } } },
	{ "memory access on a 310P", { "NPUSIM_SOC", "Ascend310P3" }, { { INIT, 0, 0 }, { START_METRIC, 8, 100000 } } },
	{ "L2 cache on a 310P", { "NPUSIM_SOC", "Ascend310P3" }, { { INIT, 0, 0 }, { START_METRIC, 6, 100000 } } },
	{ "a metric that does not exist", { NULL }, { { INIT, 0, 0 }, { START_METRIC, 9, 100000 } } },

	/* Warm-up. */
	{ "warm-up when off", { NULL }, { { WARMUP, L1, 100043 } } },
	{ "warm-up without configuration", { NULL }, { { INIT, 0, 0 }, { WARMUP_NULL, 0, 100000 } } },
	{ "warm-up becomes the collection", { NULL }, { { INIT, 0, 0 }, { WARMUP, L1, 0 }, { START, L1, 0 },
							{ STOP, L1, 0 }, { DIRECTORIES, 0, 1 } } },
	{ "warm-up after start", { NULL }, { { INIT, 0, 0 }, { START, L1, 0 }, { WARMUP, L1, 148047 } } },
	{ "start of another mask after warm-up", { NULL }, { { INIT, 0, 0 }, { WARMUP, L1, 0 }, { START, L0, 100010 } } },

	/* One directory per pair, and what a failed start leaves behind. */
	{ "one directory for each pair", { NULL },
	  { { INIT, 0, 0 }, { START, L1, 0 }, { STOP, L1, 0 }, { START, L1, 0 }, { STOP, L1, 0 }, { DIRECTORIES, 0, 2 } } },
	{ "a failed start", { "NPUSIM_FAIL", "aclprofStart:rank*:500005" }, { { INIT, 0, 0 }, { START, L1, 500005 } } },
	{ "a retry after a failed start answers 0 and collects nothing",
	  { "NPUSIM_FAIL", "aclprofStart:rank*:500005@1" },
	  { { INIT, 0, 0 }, { START, L1, 500005 }, { START, L1, 0 }, { DIRECTORIES, 0, 0 } } },
	{ "finalize does not clear the failed start", { "NPUSIM_FAIL", "aclprofStart:rank*:500005@1" },
	  { { INIT, 0, 0 }, { START, L1, 500005 }, { FINALIZE, 0, 0 }, { INIT, 0, 0 }, { START, L1, 0 },
	    { DIRECTORIES, 0, 0 } } },
	{ "stop clears the failed start", { "NPUSIM_FAIL", "aclprofStart:rank*:500005@1" },
	  { { INIT, 0, 0 }, { START, L1, 500005 }, { STOP, L1, 0 }, { START, L1, 0 }, { DIRECTORIES, 0, 1 } } },
	{ "any call can fail", { "NPUSIM_FAIL", "aclprofInit:rank*:500003,aclprofStop:rank*:200001" },
	  { { INIT, 0, 500003 }, { START, L1, 0 }, { STOP, L1, 200001 } } },
	{ "another rank does not fail", { "NPUSIM_FAIL", "aclprofInit:rank3:500003", "RANK", "2" }, { { INIT, 0, 0 } } },
	{ "the rank that is named does", { "NPUSIM_FAIL", "aclprofInit:rank3:500003", "RANK", "3" },
	  { { INIT, 0, 500003 } } },
	{ "a full disk at start", { "NPUSIM_ENOSPC_AFTER", "100" }, { { INIT, 0, 0 }, { START, L1, 100003 } } },
};
/* clang-format on */

static aclError init_with(const char *path)
{
	return aclprofInit(path, strlen(path));
}

static aclError with_config(uint32_t device, int metric, uint64_t mask,
			    aclError (*fn)(const aclprofConfig *))
{
	aclprofConfig *config =
		aclprofCreateConfig(&device, 1, (aclprofAicoreMetrics)metric, NULL, mask);
	aclError rc = config ? fn(config) : -1;

	if (config)
		(void)aclprofDestroyConfig(config);
	return rc;
}

static int subscribe(uint32_t model)
{
	int fd = 1;
	aclprofSubscribeConfig *config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &fd);
	aclError rc = aclprofModelSubscribe(model, config);

	(void)aclprofDestroySubscribeConfig(config);
	return rc;
}

static int init_by_json(void)
{
	FILE *file = fopen("acl.json", "w");

	(void)fputs("{\"profiler\": {\"switch\": \"on\", \"output\": \".\"}}\n", file);
	(void)fclose(file);
	return aclInit("acl.json");
}

/* PROF_ directories below `path` with data in them. */
static int count_directories(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		count += strncmp(entry->d_name, "PROF_", 5) == 0;
	if (dir)
		(void)closedir(dir);
	return count;
}

static int perform(const struct step *step)
{
	switch (step->call) {
	case NOTHING:
		break;
	case INIT:
		return init_with("out");
	case INIT_EMPTY:
		return init_with("");
	case INIT_NULL:
		return aclprofInit(NULL, 3);
	case INIT_ILLEGAL:
		return init_with("a;b");
	case INIT_WRONG_LENGTH:
		return aclprofInit("out", 2);
	case INIT_UNWRITABLE:
		return init_with("/dev/null/out");
	case START:
		return with_config(0, ACL_AICORE_NONE, step->arg, aclprofStart);
	case START_NULL:
		return aclprofStart(NULL);
	case START_OTHER:
		return with_config(1, ACL_AICORE_NONE, step->arg, aclprofStart);
	case START_METRIC:
		return with_config(0, (int)step->arg, ACL_PROF_AICORE_METRICS | ACL_PROF_TASK_TIME,
				   aclprofStart);
	case STOP:
		return with_config(0, ACL_AICORE_NONE, step->arg, aclprofStop);
	case STOP_NULL:
		return aclprofStop(NULL);
	case WARMUP:
		return with_config(0, ACL_AICORE_NONE, step->arg, aclprofWarmup);
	case WARMUP_NULL:
		return aclprofWarmup(NULL);
	case FINALIZE:
		return aclprofFinalize();
	case SET_MEMORY:
		return aclprofSetConfig(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50", 2);
	case SUBSCRIBE:
		return subscribe((uint32_t)step->arg);
	case UNSUBSCRIBE:
		return aclprofModelUnSubscribe((uint32_t)step->arg);
	case ACL_INIT_JSON:
		return init_by_json();
	case DIRECTORIES:
		return count_directories("out") + count_directories(".");
	}
	return -1;
}

/* Run a script in this process and leave; the first wrong answer goes to `report`. */
static void run_script(const struct script *script, const char *where, FILE *report)
{
	for (size_t i = 0; i + 1 < NP_COUNT(script->env) && script->env[i]; i += 2)
		(void)setenv(script->env[i], script->env[i + 1], 1);
	if (chdir(where) != 0)
		_exit(2);
	for (size_t i = 0; i < NP_COUNT(script->steps) && script->steps[i].call != NOTHING; i++) {
		int got = perform(&script->steps[i]);

		if (got == script->steps[i].expected)
			continue;
		(void)fprintf(report, "step %zu gave %d, not %d", i + 1, got,
			      script->steps[i].expected);
		(void)fflush(report);
		_exit(1);
	}
	_exit(0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void check_script(const struct script *script)
{
	char where[] = "/tmp/npusim-test.XXXXXX";
	char text[256] = "";
	int ends[2];
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(where));
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_script(script, where, fdopen(ends[1], "w"));
	(void)close(ends[1]);
	if (read(ends[0], text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)nftw(where, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (status != 0)
		fail_msg("%s: %s (status %d)", script->what, text, status);
}

static void every_call_answers_as_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < NP_COUNT(scripts); i++)
		check_script(&scripts[i]);
}

/* --- aclprofCreateConfig ------------------------------------------------------------------ */

static bool makes(const uint32_t *ids, uint32_t count, uint64_t mask, const void *events)
{
	uint32_t copy[80];
	aclprofConfig *config;

	for (uint32_t i = 0; i < count && i < NP_COUNT(copy); i++)
		copy[i] = ids[i];
	config = aclprofCreateConfig(copy, count, ACL_AICORE_NONE, events, mask);
	if (config)
		assert_int_equal(aclprofDestroyConfig(config), 0);
	return config != NULL;
}

static void a_configuration_is_refused_for_devices_that_are_not_there(void **state)
{
	const uint32_t good[] = { 0, 7 };
	const uint32_t high[] = { 8 };
	const uint32_t twice[] = { 3, 3 };
	uint32_t many[66];
	int event = 0;

	(void)state;
	for (uint32_t i = 0; i < NP_COUNT(many); i++)
		many[i] = i;
	assert_true(makes(good, 2, L1, NULL));
	assert_true(makes(many, 8, L1, NULL));
	assert_false(makes(many, 9, L1, NULL)); /* there are 8 */
	assert_false(makes(high, 1, L1, NULL));
	assert_false(makes(twice, 2, L1, NULL));
	assert_false(makes(many, 65, L1, NULL));
	assert_false(makes(good, 2, L1, &event));
	assert_false(makes(good, 0, L1, NULL));
	assert_true(makes(good, 0, ACL_PROF_MSPROFTX, NULL));
	assert_int_equal(aclprofDestroyConfig(NULL), 100000);
}

/* --- aclprofSetConfig --------------------------------------------------------------------- */

static void options_are_checked_one_by_one(void **state)
{
	static const struct {
		int key;
		const char *value;
		int expected;
	} rows[] = {
		{ 0, "1", 100000 },
		{ 2, "1", 100000 },
		{ 17, "1", 100000 },
		{ 4, "read", 100010 }, /* needs key 3 */
		{ 1, "200MB", 0 },
		{ 1, "199MB", 100010 },
		{ 1, "4294967295MB", 0 },
		{ 1, "4294967296MB", 100010 },
		{ 1, "200", 100010 },
		{ 3, "1", 0 },
		{ 3, "100", 0 },
		{ 3, "0", 100010 },
		{ 3, "101", 100010 },
		{ 3, "5x", 100010 },
		{ 3, "", 100010 },
		{ 4, "read", 0 },
		{ 4, "write", 0 },
		{ 4, "both", 100010 },
		{ 5, "100", 0 },
		{ 6, "50", 0 },
		{ 6, "51", 100010 },
		{ 7, "100", 0 },
		{ 8, "cpu", 0 },
		{ 8, "cpu,mem,disk,network,osrt", 0 },
		{ 8, "cpu,gpu", 100010 },
		{ 9, "cpu,mem", 0 },
		{ 9, "disk", 100010 },
		{ 10, "50", 0 },
		{ 10, "51", 100010 },
		{ 11, "100", 0 },
		{ 13, "50", 0 },
		{ 15, "PipeUtilization", 0 },
		{ 15, "Custom:1,65535", 0 },
		{ 15, "Custom:65536", 100000 },
		{ 15, "Custom:1,2,3,4,5,6,7,8,9,10,11", 100000 },
		{ 15, "Memory", 100000 },
		{ 16, "/tmp", 0 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(rows); i++) {
		int got = aclprofSetConfig((aclprofConfigType)rows[i].key, rows[i].value,
					   strlen(rows[i].value));

		if (got != rows[i].expected)
			fail_msg("key %d, '%s': %d, not %d", rows[i].key, rows[i].value, got,
				 rows[i].expected);
	}
	assert_int_equal(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, "50", 1), 100000);
	assert_int_equal(aclprofSetConfig(ACL_PROF_SYS_IO_FREQ, NULL, 0), 100000);
}

static void a_step_object_takes_each_tag_once(void **state)
{
	aclprofStepInfo *info = aclprofCreateStepInfo();

	(void)state;
	assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_START, NULL), 0);
	assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_START, NULL), 100000);
	assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_END, NULL), 0);
	assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_END, NULL), 100000);
	aclprofDestroyStepInfo(info);
}

static void features_are_given_once_per_pointer(void **state)
{
	void *data = NULL;
	size_t count = 0;

	(void)state;
	assert_int_equal(aclprofGetSupportedFeaturesV2(&count, &data), 0);
	assert_int_equal(count, 3);
	assert_string_equal((const char *)data, "ATTR");
	assert_int_equal(aclprofGetSupportedFeaturesV2(&count, &data), 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_answers_as_the_table_says),
		cmocka_unit_test(a_configuration_is_refused_for_devices_that_are_not_there),
		cmocka_unit_test(options_are_checked_one_by_one),
		cmocka_unit_test(a_step_object_takes_each_tag_once),
		cmocka_unit_test(features_are_given_once_per_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
