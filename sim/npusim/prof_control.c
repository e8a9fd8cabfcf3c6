/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: the modes and the control functions. */
#include <limits.h>
#include <unistd.h>

#include "npuprof/text.h"
#include "prof.h"
#include "raw.h"

static struct {
	enum prof_mode mode;
	bool asked_environment;
	char path[ACL_PROF_MAX_PATH + 1];
	/*
	 * What the last start asked for. Set before anything is tried and cleared by a
	 * stop only: after a failed start the same start again answers 0 and collects
	 * nothing. So does CANN.
	 */
	bool repeat;
	struct aclprofConfig started;
	bool warm;
	bool collecting; /* a PROF directory is open */
} prof;

/* The text of a key of flat JSON such as {"result_dir":"x"}; for our own messages, not for any
 * JSON. */
static bool json_text(const char *json, const char *key, char *value, size_t size)
{
	char quoted[64];
	const char *at;

	(void)snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	at = strstr(json, quoted);
	if (!at)
		return false;
	at += strlen(quoted);
	at += strspn(at, " \t\r\n:");
	if (*at != '"')
		return false;
	(void)snprintf(value, size, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
	return true;
}

enum prof_mode prof_mode(void)
{
	if (!prof.asked_environment) {
		prof.asked_environment = true;
		if (getenv("PROFILER_SAMPLECONFIG"))
			prof.mode = PROF_CMD;
	}
	return prof.mode;
}

void prof_set_mode(enum prof_mode mode)
{
	prof.mode = mode;
}

bool prof_running(void)
{
	return prof.collecting;
}

aclError prof_conflict(void)
{
	switch (prof_mode()) {
	case PROF_CMD:
		return ACL_ERROR_PROF_ALREADY_RUN;
	case PROF_SUBSCRIBE:
		return ACL_ERROR_PROF_API_CONFLICT;
	case PROF_OFF:
	case PROF_API:
		break;
	}
	return ACL_SUCCESS;
}

/* --- Init and finalize -------------------------------------------------------------------- */

static bool is_legal_path(const char *path)
{
	return *path && !strpbrk(path, "%<>|&$;'\"\\\n");
}

static aclError init(const char *path)
{
	aclError rc;

	if (prof_is_dynamic())
		return ACL_ERROR_FEATURE_UNSUPPORTED;
	rc = prof_conflict();
	if (rc != ACL_SUCCESS)
		return rc;
	if (prof.mode == PROF_API)
		return ACL_ERROR_REPEAT_INITIALIZE;
	if (!is_legal_path(path))
		return ACL_ERROR_INVALID_FILE;
	(void)snprintf(prof.path, sizeof(prof.path), "%s", path);
	prof.mode = PROF_API;
	return ACL_SUCCESS;
}

aclError aclprofInit(const char *profilerResultPath, size_t length)
{
	aclError rc;

	NSIM_MAY_FAIL("aclprofInit");
	if (!profilerResultPath || length > ACL_PROF_MAX_PATH ||
	    strlen(profilerResultPath) != length)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	rc = init(profilerResultPath);
	nsim_unlock();
	return rc;
}

/* What stop and finalize answer before anything was initialised. */
static aclError not_run(void)
{
	return nsim_knobs()->old_cann ? ACL_ERROR_PROF_NOT_RUN : ACL_SUCCESS;
}

static aclError finalize(void)
{
	aclError rc = prof_conflict();

	if (rc != ACL_SUCCESS)
		return rc;
	if (prof.mode == PROF_OFF)
		return not_run();
	if (prof.collecting)
		rc = nsim_session_close();
	prof.collecting = false;
	prof.warm = false;
	prof.mode = PROF_OFF;
	return rc;
}

aclError aclprofFinalize(void)
{
	aclError rc;

	NSIM_MAY_FAIL("aclprofFinalize");
	nsim_lock();
	rc = finalize();
	nsim_unlock();
	return rc;
}

/* --- Start, warm-up and stop -------------------------------------------------------------- */

static bool same_config(const struct aclprofConfig *a, const struct aclprofConfig *b)
{
	return a->mask == b->mask && a->count == b->count &&
	       memcmp(a->devices, b->devices, a->count * sizeof(a->devices[0])) == 0;
}

static bool metric_is_supported(int metric)
{
	bool small_soc = strstr(nsim_knobs()->soc, "310P") != NULL;

	if (metric == ACL_AICORE_NONE)
		return true;
	return metric >= 0 &&
	       metric <= (small_soc ? ACL_AICORE_MEMORY_UB : ACL_AICORE_MEMORY_ACCESS);
}

static aclError check_config(const struct aclprofConfig *config)
{
	if (config->mask == 0)
		return ACL_ERROR_INVALID_PROFILING_CONFIG;
	if (config->mask & ~prof_allowed_bits())
		return ACL_ERROR_PROF_MODULES_UNSUPPORTED;
	if ((config->mask & ACL_PROF_AICORE_METRICS) && !metric_is_supported(config->metric))
		return ACL_ERROR_INVALID_PARAM;
	return ACL_SUCCESS;
}

/* Newer CANN takes NULL for the devices in use and a usual mask. */
static void default_config(struct aclprofConfig *config)
{
	uint32_t ids[ACL_PROF_MAX_DEVICES];

	*config = (struct aclprofConfig){
		.mask = ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0 |
			ACL_PROF_AICORE_METRICS | ACL_PROF_AICPU_MODEL,
		.metric = ACL_AICORE_PIPE_UTILIZATION,
	};
	config->count = nsim_device_active(ids, ACL_PROF_MAX_DEVICES);
	for (uint32_t i = 0; i < config->count; i++)
		config->devices[i] = (uint32_t)nsim_device_physical(ids[i]);
}

/* Open the directory of a collection. */
static aclError open_session(const struct aclprofConfig *config)
{
	struct nsim_session_config session = {
		.mask = config->mask,
		.metric =
			(config->mask & ACL_PROF_AICORE_METRICS) ? config->metric : ACL_AICORE_NONE,
		.device_count = config->count,
		.memory = prof_option(ACL_PROF_SYS_HARDWARE_MEM_FREQ) != NULL,
	};
	char root[PATH_MAX], here[PATH_MAX] = "";
	int length;
	aclError rc;

	memcpy(session.devices, config->devices, sizeof(session.devices));
	if (prof.path[0] != '/' && !getcwd(here, sizeof(here)))
		here[0] = '\0';
	length = snprintf(root, sizeof(root), "%s%s%s", here, here[0] ? "/" : "", prof.path);
	if (length < 0 || (size_t)length >= sizeof(root))
		return ACL_ERROR_INVALID_FILE;
	rc = nsim_session_open(root, &session);
	prof.collecting = rc == ACL_SUCCESS;
	return rc;
}

static aclError begin(const struct aclprofConfig *config, bool warmup)
{
	aclError rc = check_config(config);
	int code;

	if (rc != ACL_SUCCESS)
		return rc;
	if (prof.repeat) {
		if (!same_config(&prof.started, config))
			return ACL_ERROR_INVALID_PROFILING_CONFIG;
		if (prof.warm && !warmup) {
			prof.warm = false;
			nsim_session_start();
		}
		return ACL_SUCCESS;
	}
	prof.repeat = true;
	prof.started = *config;
	if (nsim_fails(warmup ? "aclprofWarmup" : "aclprofStart", &code))
		return code;
	rc = open_session(config);
	if (rc != ACL_SUCCESS)
		return rc;
	prof.warm = warmup;
	if (!warmup)
		nsim_session_start();
	return ACL_SUCCESS;
}

/* Newer CANN starts without aclprofInit, in ACL_PROF_PATH or here. */
static aclError init_by_itself(void)
{
	const char *path = prof_option(ACL_PROF_PATH);

	return nsim_knobs()->old_cann ? ACL_ERROR_PROF_NOT_RUN : init(path ? path : "./");
}

static aclError start(const aclprofConfig *config)
{
	struct aclprofConfig standard;
	aclError rc = prof_conflict();

	if (rc == ACL_SUCCESS && !config && nsim_knobs()->old_cann)
		rc = ACL_ERROR_INVALID_PARAM;
	if (rc == ACL_SUCCESS && prof.mode == PROF_OFF)
		rc = init_by_itself();
	if (rc != ACL_SUCCESS)
		return rc;
	if (!config) {
		default_config(&standard);
		config = &standard;
	}
	return begin(config, false);
}

aclError aclprofStart(const aclprofConfig *config)
{
	aclError rc;

	nsim_lock();
	rc = start(config);
	nsim_unlock();
	return rc;
}

static aclError warm_up(const aclprofConfig *config)
{
	aclError rc = prof_conflict();

	if (rc != ACL_SUCCESS)
		return rc;
	if (prof.mode == PROF_OFF)
		return ACL_ERROR_PROF_NOT_RUN;
	if (prof.collecting && !prof.warm)
		return ACL_ERROR_PROF_API_CONFLICT;
	return begin(config, true);
}

aclError aclprofWarmup(const aclprofConfig *config)
{
	aclError rc;

	if (!config)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	rc = warm_up(config);
	nsim_unlock();
	return rc;
}

static aclError stop(const aclprofConfig *config)
{
	aclError rc = prof_conflict();

	if (rc != ACL_SUCCESS)
		return rc;
	if (prof.mode == PROF_OFF)
		return not_run();
	if (!config && nsim_knobs()->old_cann)
		return ACL_ERROR_INVALID_PARAM;
	if (!prof.repeat || (config && config->mask != prof.started.mask))
		return ACL_ERROR_INVALID_PROFILING_CONFIG;
	if (prof.collecting)
		rc = nsim_session_close();
	prof.collecting = false;
	prof.warm = false;
	if (rc == ACL_SUCCESS)
		prof.repeat = false;
	return rc;
}

aclError aclprofStop(const aclprofConfig *config)
{
	aclError rc;

	NSIM_MAY_FAIL("aclprofStop");
	nsim_lock();
	rc = stop(config);
	nsim_unlock();
	return rc;
}

/* --- Command mode ------------------------------------------------------------------------- */

/* Begin what msprof asks for (raw.h). Locked. */
static bool command_starts(const char *json)
{
	struct aclprofConfig config;
	char text[32];
	int64_t mask = NPUSIM_DEFAULT_MASK;

	if (prof.collecting || !json_text(json, "result_dir", prof.path, sizeof(prof.path)))
		return false;
	if (json_text(json, "npusim_mask", text, sizeof(text)))
		(void)np_text_to_int(text, strlen(text), &mask);
	default_config(&config);
	config.mask = prof_expand((uint64_t)mask);
	if (open_session(&config) != ACL_SUCCESS)
		return false;
	nsim_session_start();
	return true;
}

/* Locked. */
static bool command_stops(void)
{
	bool complete = prof.collecting && nsim_session_close() == ACL_SUCCESS;

	prof.collecting = false;
	return complete;
}

enum dyn_status prof_command_start(const char *json)
{
	uint32_t devices[ACL_PROF_MAX_DEVICES];
	enum dyn_status status = DYN_FAILED;

	nsim_lock();
	if (prof.collecting)
		status = DYN_ALREADY_STARTED;
	else if (nsim_device_active(devices, ACL_PROF_MAX_DEVICES) == 0)
		status = DYN_NO_DEVICE;
	else if (command_starts(json))
		status = DYN_OK;
	nsim_unlock();
	return status;
}

enum dyn_status prof_command_stop(void)
{
	enum dyn_status status = DYN_NOT_STARTED;

	nsim_lock();
	if (prof.collecting)
		status = command_stops() ? DYN_OK : DYN_FAILED;
	nsim_unlock();
	return status;
}

/* The first device of a process that msprof started, or may want to talk to. */
static void command_begins(void)
{
	const char *json = getenv("PROFILER_SAMPLECONFIG");

	nsim_lock();
	if (prof_mode() == PROF_CMD && json)
		(void)command_starts(json);
	nsim_unlock();
	prof_dynamic_begin();
}

static void command_ends(void)
{
	prof_dynamic_end();
	nsim_lock();
	if (prof_mode() == PROF_CMD)
		(void)command_stops();
	nsim_unlock();
}

/* aclInit with a file whose object "profiler" is switched on. */
static void config_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char text[65536];
	char value[16];
	size_t length;
	const char *profiler;

	if (!file)
		return;
	length = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[length] = '\0';
	profiler = strstr(text, "\"profiler\"");
	nsim_lock();
	if (profiler && json_text(profiler, "switch", value, sizeof(value)) &&
	    strcmp(value, "on") == 0 && prof_mode() == PROF_OFF)
		prof.mode = PROF_CMD;
	nsim_unlock();
}

__attribute__((constructor)) static void hook(void)
{
	nsim_hooks = (struct nsim_hooks){
		.device_set = command_begins,
		.finalize = command_ends,
		.config_file = config_file,
	};
}
