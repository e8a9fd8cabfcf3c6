/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for dynamic_profile of torch_npu: watches its configuration and profiles as it says.
 */
#include "dynamic_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/json.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"
#include "sim/npusim/acl_api.h"

enum {
	MEMORY = 1 << 20,
	POLL_S = 2,
	PATH = 4096,
};

/* What a rank follows. */
struct request {
	int64_t start;
	int64_t active;
	bool chosen;
	uint64_t mask;
	char dir[PATH];
};

static struct {
	bool on;
	int64_t rank;
	char host[64];
	char config[PATH];
	char log[PATH];
	char memory_name[64];
	char *memory;
	_Atomic unsigned *interval; /* seconds; shared with the monitor */
	time_t tenth;               /* when step 10 began */
	pid_t monitor;              /* in the rank that made the memory */
	uint32_t seen;              /* second */
	bool wanted;
	bool running;
	int64_t step;
	int64_t stop; /* first step that is not profiled */
	struct request request;
	aclprofConfig *profile;
	mstxRangeId range;
	char dir[PATH + 256];
} dp;

static void say(const char *level, const char *fmt, ...) NP_PRINTF(2, 3);

static void say(const char *level, const char *fmt, ...)
{
	FILE *file = fopen(dp.log, "ae");
	struct timespec now;
	struct tm local;
	char stamp[32];
	va_list args;

	if (!file)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)localtime_r(&now.tv_sec, &local);
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &local);
	(void)fprintf(file, "%s,%03ld [%s] [%d] dynamic_profile.py: ", stamp, now.tv_nsec / 1000000,
		      level, (int)getpid());
	va_start(args, fmt);
	(void)vfprintf(file, fmt, args);
	va_end(args);
	(void)fputc('\n', file);
	(void)fclose(file);
}

/* --- the process that looks at the file ------------------------------------------------------ */

static void publish(uint32_t *last)
{
	struct stat info;
	char text[65536];
	size_t got;
	FILE *file;
	uint32_t second;

	if (stat(dp.config, &info) != 0)
		return;
	second = (uint32_t)info.st_mtime;
	if (second <= *last)
		return;
	file = fopen(dp.config, "re");
	got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		(void)fclose(file);
	text[got] = '\0';
	*last = second;
	memcpy(dp.memory + sizeof(second), text, got + 1);
	__sync_synchronize();
	memcpy(dp.memory, &second, sizeof(second));
}

_Noreturn static void monitor(void)
{
	uint32_t last = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		publish(&last);
		(void)sleep(atomic_load(dp.interval));
	}
}

static bool open_memory(void)
{
	time_t now = time(NULL);
	struct tm local;
	bool made = true;
	int fd;

	(void)localtime_r(&now, &local);
	(void)strftime(dp.memory_name, sizeof(dp.memory_name), "/DynamicProfileNpuShm%Y%m%d%H",
		       &local);
	fd = shm_open(dp.memory_name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 && errno == EEXIST) {
		made = false;
		fd = shm_open(dp.memory_name, O_RDWR, 0600);
	}
	if (fd < 0 || ftruncate(fd, MEMORY) != 0)
		return false;
	dp.memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (dp.memory == MAP_FAILED)
		return false;
	if (!made)
		return true;
	dp.interval = mmap(NULL, sizeof(*dp.interval), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (dp.interval == MAP_FAILED)
		return false;
	atomic_store(dp.interval, POLL_S);
	dp.monitor = fork();
	if (dp.monitor == 0)
		monitor();
	return true;
}

/* --- beginning ------------------------------------------------------------------------------- */

static void make_default(void)
{
	FILE *file = access(dp.config, F_OK) == 0 ? NULL : fopen(dp.config, "we");

	if (!file)
		return;
	(void)fputs("{\"activities\": [\"CPU\", \"NPU\"], \"prof_dir\": \"./\", \"active\": 1, "
		    "\"start_step\": 0, \"is_rank\": false, \"rank_list\": []}\n",
		    file);
	(void)fclose(file);
}

void sim_dynamic_profile_init(void)
{
	const char *dir = getenv("PROF_CONFIG_PATH");
	const char *simulated = np_realtime_host();
	char logs[PATH];

	dp.rank = np_realtime_rank();
	if (!dir || !*dir || dp.rank < 0)
		return;
	if (simulated)
		(void)snprintf(dp.host, sizeof(dp.host), "%s", simulated);
	else
		(void)gethostname(dp.host, sizeof(dp.host) - 1);
	(void)snprintf(dp.config, sizeof(dp.config), "%.*s/profiler_config.json", PATH - 100, dir);
	(void)snprintf(logs, sizeof(logs), "%.*s/log", PATH - 300, dir);
	(void)mkdir(logs, 0750);
	(void)snprintf(dp.log, sizeof(dp.log), "%.*s/dp_%s_%d_rank_%lld.log", PATH - 200, logs,
		       dp.host, (int)getpid(), (long long)dp.rank);
	make_default();
	dp.seen = (uint32_t)time(NULL);
	dp.on = open_memory();
	say("INFO", "init of rank %lld, %s", (long long)dp.rank, dp.on ? "done" : "failed");
}

/* --- following a request --------------------------------------------------------------------- */

static bool lists(const struct np_json *list, int64_t rank)
{
	int64_t one;

	for (size_t i = 0; i < np_json_count(list); i++) {
		if (np_json_integer(np_json_item(list, i), &one) && one == rank)
			return true;
	}
	return false;
}

static uint64_t mask_of(const char *level)
{
	if (level && strcmp(level, "Level1") == 0)
		return 0x27;
	return level && strcmp(level, "Level2") == 0 ? 0x12F : 0x801;
}

static bool read_request(struct request *request)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *text = dp.memory + sizeof(uint32_t);
	const char *dir;
	bool listed = false;

	if (np_json_parse(text, strnlen(text, MEMORY - 8), "config", &doc, NULL) < 0)
		return false;
	*request = (struct request){ .start = 0, .active = 1 };
	(void)np_json_integer(np_json_member(doc, "start_step"), &request->start);
	(void)np_json_integer(np_json_member(doc, "active"), &request->active);
	(void)np_json_bool(np_json_member(doc, "is_rank"), &listed);
	request->chosen = !listed || lists(np_json_member(doc, "rank_list"), dp.rank);
	dir = np_json_text(np_json_member(doc, "prof_dir"));
	(void)snprintf(request->dir, sizeof(request->dir), "%s", dir ? dir : "./");
	request->mask = mask_of(np_json_text(
		np_json_member(np_json_member(doc, "experimental_config"), "profiler_level")));
	return true;
}

static void look(int64_t step)
{
	uint32_t second;

	memcpy(&second, dp.memory, sizeof(second));
	if (second <= dp.seen)
		return;
	dp.seen = second;
	dp.wanted = false;
	if (!read_request(&dp.request) || !dp.request.chosen)
		return;
	if (dp.request.start == -1)
		dp.request.start = step + 1;
	dp.wanted = dp.request.start >= step;
	if (dp.wanted)
		say("INFO", "start_step %lld, active %lld", (long long)dp.request.start,
		    (long long)dp.request.active);
	else
		say("WARNING", "start_step %lld is less than the current step",
		    (long long)dp.request.start);
}

/* After the tenth step the file is looked at once a step, at least every second. */
static void adapt_interval(int64_t step)
{
	time_t now = time(NULL);
	int64_t took;

	if (step == 10)
		dp.tenth = now;
	if (step != 11 || !dp.interval)
		return;
	took = (int64_t)(now - dp.tenth);
	atomic_store(dp.interval, (unsigned)(took < 1 ? 1 : took > 50 ? 50 : took));
}

static void write_info(void)
{
	char path[PATH + 512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/profiler_info_%lld.json", dp.dir,
		       (long long)dp.rank);
	file = fopen(path, "we");
	if (!file)
		return;
	(void)fprintf(file, "{\"rank_id\": %lld, \"torch_npu_version\": \"simulated\"}\n",
		      (long long)dp.rank);
	(void)fclose(file);
}

static void begin(int64_t step)
{
	struct timespec now;
	struct tm local;
	char stamp[32];
	uint32_t devices[1];
	int32_t device;

	dp.wanted = false;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)localtime_r(&now.tv_sec, &local);
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &local);
	(void)snprintf(dp.dir, sizeof(dp.dir), "%s/%s_%d_%s%03ld_ascend_pt", dp.request.dir,
		       dp.host, (int)getpid(), stamp, now.tv_nsec / 1000000);
	(void)mkdir(dp.request.dir, 0750);
	(void)mkdir(dp.dir, 0750);
	if (aclrtGetDevice(&device) != 0 || aclprofInit(dp.dir, strlen(dp.dir)) != 0)
		return;
	devices[0] = (uint32_t)device;
	dp.profile =
		aclprofCreateConfig(devices, 1, ACL_AICORE_PIPE_UTILIZATION, NULL, dp.request.mask);
	dp.running = dp.profile && aclprofStart(dp.profile) == 0;
	dp.stop = step + dp.request.active;
	write_info();
	say("INFO", "Start Dynamic Profiler at %lld step.", (long long)step);
}

static void end(int64_t step)
{
	(void)aclrtSynchronizeDevice();
	(void)aclprofStop(dp.profile);
	(void)aclprofDestroyConfig(dp.profile);
	(void)aclprofFinalize();
	dp.profile = NULL;
	dp.running = false;
	say("INFO", "Stop Dynamic Profiler at %lld step.", (long long)step);
}

void sim_dynamic_profile_step(int64_t step)
{
	char name[32];

	if (!dp.on)
		return;
	if (dp.range)
		mstxRangeEnd(dp.range);
	dp.range = 0;
	dp.step = step;
	adapt_interval(step);
	if (dp.running && step >= dp.stop)
		end(step);
	look(step);
	if (dp.wanted && !dp.running && step == dp.request.start)
		begin(step);
	if (!dp.running)
		return;
	(void)snprintf(name, sizeof(name), "step %lld", (long long)step);
	dp.range = mstxRangeStartA(name, NULL);
}

void sim_dynamic_profile_end(void)
{
	if (!dp.on)
		return;
	if (dp.running)
		end(dp.step + 1);
	if (dp.monitor > 0) {
		(void)kill(dp.monitor, SIGKILL);
		(void)shm_unlink(dp.memory_name);
	}
	dp.on = false;
}
