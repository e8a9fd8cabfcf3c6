/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: subscription to models, of which only the mode is simulated. */
#include "prof.h"

static uint32_t model; /* that is subscribed to, in its mode */

struct aclprofSubscribeConfig {
	int8_t time_info;
	int metric;
};

aclprofSubscribeConfig *aclprofCreateSubscribeConfig(int8_t timeInfoSwitch,
						     aclprofAicoreMetrics metrics, void *fd)
{
	aclprofSubscribeConfig *config;
	int code;

	if (nsim_fails("aclprofCreateSubscribeConfig", &code) || !fd)
		return NULL;
	config = calloc(1, sizeof(*config));
	if (config) {
		config->time_info = timeInfoSwitch;
		config->metric = (int)metrics;
	}
	return config;
}

aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *config)
{
	NSIM_MAY_FAIL("aclprofDestroySubscribeConfig");
	if (!config)
		return ACL_ERROR_INVALID_PARAM;
	free((void *)(uintptr_t)config);
	return ACL_SUCCESS;
}

/* One model at a time: enough for the modes, which is all that is simulated of it. */
aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *config)
{
	aclError rc = ACL_SUCCESS;

	NSIM_MAY_FAIL("aclprofModelSubscribe");
	if (!config)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	switch (prof_mode()) {
	case PROF_OFF:
		prof_set_mode(PROF_SUBSCRIBE);
		model = modelId;
		break;
	case PROF_API:
		rc = ACL_ERROR_PROF_API_CONFLICT;
		break;
	case PROF_CMD:
		rc = ACL_ERROR_PROF_ALREADY_RUN;
		break;
	case PROF_SUBSCRIBE:
		rc = ACL_ERROR_PROF_REPEAT_SUBSCRIBE;
		break;
	}
	nsim_unlock();
	return rc;
}

aclError aclprofModelUnSubscribe(uint32_t modelId)
{
	aclError rc = ACL_ERROR_INVALID_PARAM;

	NSIM_MAY_FAIL("aclprofModelUnSubscribe");
	nsim_lock();
	if (prof_mode() == PROF_SUBSCRIBE && model == modelId) {
		prof_set_mode(PROF_OFF);
		rc = ACL_SUCCESS;
	}
	nsim_unlock();
	return rc;
}
