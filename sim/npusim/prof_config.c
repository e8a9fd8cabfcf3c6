/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: configurations and options. */
#include <ctype.h>

#include "npuprof/text.h"
#include "prof.h"

uint64_t prof_allowed_bits(void)
{
	return ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_AICPU |
	       ACL_PROF_L2CACHE | ACL_PROF_HCCL_TRACE | ACL_PROF_TRAINING_TRACE |
	       ACL_PROF_MSPROFTX | ACL_PROF_RUNTIME_API | ACL_PROF_GE_API_L0 |
	       ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_MEMORY | ACL_PROF_TASK_TIME_L2 |
	       ACL_PROF_OP_ATTR | ACL_PROF_TASK_TIME_L3 | ACL_PROF_GE_API_L1 | ACL_PROF_API_STATS |
	       ACL_PROF_AICORE_SHAPE | ACL_PROF_AICPU_MODEL;
}

uint64_t prof_expand(uint64_t mask)
{
	if (mask & ACL_PROF_API_STATS)
		return ACL_PROF_ACL_API | ACL_PROF_API_STATS;
	mask |= ACL_PROF_AICPU_MODEL;
	if (mask & ACL_PROF_TASK_TIME_L3)
		mask |= ACL_PROF_TASK_TIME_L2 | ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0;
	if (mask & (ACL_PROF_TASK_TIME_L2 | ACL_PROF_OP_ATTR))
		mask |= ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0;
	if (mask & ACL_PROF_TASK_TIME)
		mask |= ACL_PROF_TASK_TIME_L0;
	if (mask & ACL_PROF_TASK_TIME_L0)
		mask |= ACL_PROF_TRAINING_TRACE;
	return mask;
}

static int compare_ids(const void *a, const void *b)
{
	return np_order(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Translate the list; false if an id is out of range or given twice. */
static bool take_devices(aclprofConfig *config, const uint32_t *ids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		int32_t id = ids[i] < nsim_device_count() ? nsim_device_physical(ids[i]) : -1;

		if (id < 0)
			return false;
		config->devices[i] = (uint32_t)id;
	}
	config->count = count;
	if (count > 1)
		qsort(config->devices, count, sizeof(config->devices[0]), compare_ids);
	for (uint32_t i = 1; i < count; i++) {
		if (config->devices[i] == config->devices[i - 1])
			return false;
	}
	return true;
}

aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
				   aclprofAicoreMetrics aicoreMetrics,
				   const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig)
{
	aclprofConfig *config;
	int code;

	if (nsim_fails("aclprofCreateConfig", &code))
		return NULL;
	if (aicoreEvents || deviceNums > ACL_PROF_MAX_DEVICES || deviceNums > nsim_device_count() ||
	    (deviceNums > 0 && !deviceIdList) ||
	    (deviceNums == 0 && !(dataTypeConfig & ACL_PROF_MSPROFTX)))
		return NULL;
	config = calloc(1, sizeof(*config));
	if (!config)
		return NULL;
	config->mask = prof_expand(dataTypeConfig);
	config->metric = (int)aicoreMetrics;
	if (!take_devices(config, deviceIdList, deviceNums)) {
		free(config);
		return NULL;
	}
	return config;
}

aclError aclprofDestroyConfig(const aclprofConfig *config)
{
	NSIM_MAY_FAIL("aclprofDestroyConfig");
	if (!config)
		return ACL_ERROR_INVALID_PARAM;
	free((void *)(uintptr_t)config);
	return ACL_SUCCESS;
}

/* --- aclprofSetConfig --------------------------------------------------------------------- */

static char *options[ACL_PROF_CONFIG_MAX];

const char *prof_option(aclprofConfigType key)
{
	return options[key];
}

enum form {
	FORM_NONE, /* there is no such key */
	FORM_FREQUENCY,
	FORM_STORAGE,
	FORM_LLC,
	FORM_HOST_SYS,
	FORM_HOST_USAGE,
	FORM_TEXT,
	FORM_NTS,
};

/* What each key takes; `max` is the highest frequency in Hz. */
static const struct rule {
	enum form form;
	int64_t max;
} rules[ACL_PROF_CONFIG_MAX] = {
	[ACL_PROF_STORAGE_LIMIT] = { FORM_STORAGE, 0 },
	[ACL_PROF_SYS_HARDWARE_MEM_FREQ] = { FORM_FREQUENCY, 100 },
	[ACL_PROF_LLC_MODE] = { FORM_LLC, 0 },
	[ACL_PROF_SYS_IO_FREQ] = { FORM_FREQUENCY, 100 },
	[ACL_PROF_SYS_INTERCONNECTION_FREQ] = { FORM_FREQUENCY, 50 },
	[ACL_PROF_DVPP_FREQ] = { FORM_FREQUENCY, 100 },
	[ACL_PROF_HOST_SYS] = { FORM_HOST_SYS, 0 },
	[ACL_PROF_HOST_SYS_USAGE] = { FORM_HOST_USAGE, 0 },
	[ACL_PROF_HOST_SYS_USAGE_FREQ] = { FORM_FREQUENCY, 50 },
	[ACL_PROF_LOW_POWER_FREQ] = { FORM_FREQUENCY, 100 },
	[ACL_PROF_SYS_MEM_SERVICEFLOW] = { FORM_TEXT, 0 },
	[ACL_PROF_SYS_CPU_FREQ] = { FORM_FREQUENCY, 50 },
	[ACL_PROF_OPTYPE] = { FORM_TEXT, 0 },
	[ACL_PROF_NTS_METRICS] = { FORM_NTS, 0 },
	[ACL_PROF_PATH] = { FORM_TEXT, 0 },
};

static bool is_between(const char *text, size_t length, int64_t min, int64_t max)
{
	int64_t value;

	return length > 0 && isdigit((unsigned char)text[0]) &&
	       np_text_to_int(text, length, &value) && value >= min && value <= max;
}

/* "200MB"…"4294967295MB" */
static bool is_storage(const char *text)
{
	size_t length = strlen(text);

	return length > 2 && strcmp(text + length - 2, "MB") == 0 &&
	       is_between(text, length - 2, 200, UINT32_MAX);
}

/* A list of words separated by commas, each one of `words` (which ends with NULL). */
static bool is_list_of(const char *text, const char *const *words)
{
	do {
		size_t length = strcspn(text, ",");
		const char *const *word = words;

		while (*word && (strlen(*word) != length || memcmp(*word, text, length) != 0))
			word++;
		if (!*word)
			return false;
		text += length;
	} while (*text++ == ',');
	return true;
}

/* "PipeUtilization", or "Custom:" and one to ten events. */
static bool is_nts(const char *text)
{
	int events = 0;

	if (strcmp(text, "PipeUtilization") == 0)
		return true;
	if (strncmp(text, "Custom:", 7) != 0)
		return false;
	text += 7;
	do {
		size_t length = strcspn(text, ",");

		if (!is_between(text, length, 0, UINT16_MAX) || ++events > 10)
			return false;
		text += length;
	} while (*text++ == ',');
	return true;
}

static aclError check_value(aclprofConfigType key, const char *text)
{
	static const char *const host_sys[] = { "cpu", "mem", "disk", "network", "osrt", NULL };
	static const char *const usage[] = { "cpu", "mem", NULL };
	bool good = false;

	switch (rules[key].form) {
	case FORM_NONE:
		return ACL_ERROR_INVALID_PARAM;
	case FORM_FREQUENCY:
		good = is_between(text, strlen(text), 1, rules[key].max);
		break;
	case FORM_STORAGE:
		good = is_storage(text);
		break;
	case FORM_LLC:
		good = (strcmp(text, "read") == 0 || strcmp(text, "write") == 0) &&
		       options[ACL_PROF_SYS_HARDWARE_MEM_FREQ];
		break;
	case FORM_HOST_SYS:
		good = is_list_of(text, host_sys);
		break;
	case FORM_HOST_USAGE:
		good = is_list_of(text, usage);
		break;
	case FORM_TEXT:
		good = *text;
		break;
	case FORM_NTS:
		return is_nts(text) ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
	}
	return good ? ACL_SUCCESS : ACL_ERROR_INVALID_PROFILING_CONFIG;
}

aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength)
{
	aclError rc;

	NSIM_MAY_FAIL("aclprofSetConfig");
	if (!config || (int)configType <= 0 || configType >= ACL_PROF_CONFIG_MAX ||
	    configLength > ACL_PROF_MAX_CONFIG || strlen(config) != configLength)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	rc = check_value(configType, config);
	if (rc == ACL_SUCCESS && prof_mode() == PROF_API && prof_running())
		rc = ACL_ERROR_PROF_API_CONFLICT;
	if (rc == ACL_SUCCESS) {
		char *copy = strdup(config);

		if (copy) {
			free(options[configType]);
			options[configType] = copy;
		} else {
			rc = ACL_ERROR_BAD_ALLOC;
		}
	}
	nsim_unlock();
	return rc;
}

/* --- Features ----------------------------------------------------------------------------- */

/* The part behind the name is a C++ object with virtual functions, hence the pointer. */
struct feature {
	char name[64];
	void *table;
	char compatibility[16]; /* "0": it can be used */
	char version[16];
	char component[16];
	char component_version[16];
	char note[128];
};

static struct feature features[] = {
	{ "ATTR", NULL, "0", "1", "all", "all", "simulated" },
	{ "MemoryAccess", NULL, "0", "1", "all", "all", "simulated" },
	{ "AICORE_SHAPE", NULL, "0", "1", "all", "all", "simulated" },
};

static int32_t give_features(size_t *n, void **data, size_t count)
{
	if (!n || !data || *data)
		return ACL_ERROR_INVALID_PARAM;
	*n = count;
	*data = features;
	return ACL_SUCCESS;
}

/* The first form knows only the first feature. */
int32_t aclprofGetSupportedFeatures(size_t *n, void **data)
{
	NSIM_MAY_FAIL("aclprofGetSupportedFeatures");
	return give_features(n, data, 1);
}

int32_t aclprofGetSupportedFeaturesV2(size_t *n, void **data)
{
	NSIM_MAY_FAIL("aclprofGetSupportedFeaturesV2");
	return give_features(n, data, NP_COUNT(features));
}

int aclprofRegisterDeviceCallback(void)
{
	NSIM_MAY_FAIL("aclprofRegisterDeviceCallback");
	return ACL_SUCCESS;
}
