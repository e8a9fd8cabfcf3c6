/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and stopping the profiler, and what every call of it returned. */
#include <inttypes.h>

#include "inject.h"

void np_profile_window_release(struct np_profile_window *window)
{
	for (size_t i = 0; i < window->warnings.count; i++)
		free(window->warnings.item[i]);
	np_vec_release(&window->warnings);
	np_vec_release(&window->codes);
	np_vec_release(&window->steps);
}

void np_profile_window_warn(struct np_profile_window *window, const char *text)
{
	char **slot = np_vec_add(&window->warnings, NULL);

	if (slot)
		*slot = strdup(text);
	/* Without memory for a warning there is nothing better to do than to go on. */
	if (slot && !*slot)
		window->warnings.count--;
}

void np_profile_window_want(struct np_inject *inject, int64_t first, int64_t end, const char *base)
{
	struct np_profile_window *window = &inject->window;

	np_profile_window_release(window);
	*window = (struct np_profile_window){
		.state = NP_WINDOW_WANTED,
		.first = first,
		.end = end,
		.first_step = NP_UNKNOWN,
		.last_step = NP_UNKNOWN,
		.opened = { NP_UNKNOWN, NP_UNKNOWN },
		.closed = { NP_UNKNOWN, NP_UNKNOWN },
	};
	(void)snprintf(window->base, sizeof(window->base), "%s",
		       base && base[0] ? base : inject->config.dir);
}

/* Keep what a call returned, and report it to the launcher if it is not good. */
static int32_t keep_code(struct np_inject *inject, const char *call, int32_t code)
{
	struct np_call_code *slot = np_vec_add(&inject->window.codes, NULL);

	if (slot)
		*slot = (struct np_call_code){ call, code, np_moment_now().realtime };
	if (code != ACL_SUCCESS)
		np_control_say(inject, NP_MSG_PROF_CODE, NP_UNKNOWN, code, call);
	return code;
}

static void save_files(struct np_inject *inject)
{
	struct np_err err = NP_ERR_INIT;

	if (!inject->window.dir[0] || np_rank_files_write(inject, &err) == NP_OK)
		return;
	np_profile_window_warn(&inject->window, err.text);
	np_control_say(inject, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN, err.text);
}

/* The window cannot be had. It is not tried again: after a failed start a second one may lie. */
static void give_up(struct np_inject *inject, int64_t code, const char *text)
{
	struct np_profile_window *window = &inject->window;

	window->state = NP_WINDOW_FAILED;
	(void)snprintf(window->reason, sizeof(window->reason), "%s", text);
	save_files(inject);
	np_control_say(inject, NP_MSG_PROF_ERROR, NP_UNKNOWN, code, window->reason);
}

static void give_up_call(struct np_inject *inject, const char *call, int32_t code)
{
	char text[300];

	(void)snprintf(text, sizeof(text), "%s returned %" PRId32 " (%s)", call, code,
		       np_acl_error_name(code));
	give_up(inject, code, text);
}

/*
 * Wait for the device. A hasty wait is limited, or left out where it cannot be: half of the
 * time there is, so that the other half remains for writing.
 */
static void synchronize(struct np_inject *inject, bool hasty)
{
	const struct np_acl *acl = &inject->acl;

	if (inject->waited)
		(void)keep_code(inject, "aclrtSynchronizeDevice", inject->waited_code);
	else if (hasty && acl->synchronize_device_timeout)
		(void)keep_code(
			inject, "aclrtSynchronizeDeviceWithTimeout",
			acl->synchronize_device_timeout((int32_t)(inject->config.grace_ms / 2)));
	else if (hasty)
		np_profile_window_warn(&inject->window,
				       "stopped without waiting for the device: this CANN "
				       "cannot wait for a limited time");
	else if (acl->synchronize_device)
		(void)keep_code(inject, "aclrtSynchronizeDevice", acl->synchronize_device());
}

static bool bind_acl(struct np_inject *inject)
{
	struct np_err err = NP_ERR_INIT;

	if (!inject->bound && np_acl_bind(&inject->acl, NP_ACL_NEXT, &err) < 0) {
		give_up(inject, NP_UNKNOWN, err.text);
		return false;
	}
	inject->bound = true;
	return true;
}

static bool make_plan(struct np_inject *inject)
{
	const struct np_prof_options *options = &inject->config.options;
	struct np_profile_window *window = &inject->window;
	struct np_err err = NP_ERR_INIT;
	bool ask = options->op_attr || options->record_shapes ||
		   strcmp(options->aic_metrics, "MemoryAccess") == 0;
	char text[240];

	if (np_acl_plan(options, ask ? np_acl_features(&inject->acl) : 0, &window->plan, &err) <
	    0) {
		give_up(inject, NP_UNKNOWN, err.text);
		return false;
	}
	if (window->plan.dropped[0]) {
		(void)snprintf(text, sizeof(text), "not recorded: %s", window->plan.dropped);
		np_profile_window_warn(window, text);
	}
	return true;
}

/* A setting that is refused costs what it would have recorded, not the window. */
static void apply_settings(struct np_inject *inject)
{
	const struct np_acl_plan *plan = &inject->window.plan;
	char text[160];

	for (size_t i = 0; i < plan->setting_count; i++) {
		const struct np_acl_setting *setting = &plan->settings[i];

		if (!inject->acl.prof_set_config)
			(void)snprintf(text, sizeof(text),
				       "%s=%s: this CANN has no aclprofSetConfig", setting->name,
				       setting->value);
		else if (keep_code(inject, "aclprofSetConfig",
				   inject->acl.prof_set_config(setting->key, setting->value,
							       strlen(setting->value))) !=
			 ACL_SUCCESS)
			(void)snprintf(text, sizeof(text), "%s=%s was refused", setting->name,
				       setting->value);
		else
			continue;
		np_profile_window_warn(&inject->window, text);
	}
}

/* aclprofInit() up to the configuration: what warming up and starting both need. */
static bool prepare(struct np_inject *inject)
{
	struct np_profile_window *window = &inject->window;
	const struct np_acl *acl = &inject->acl;
	struct np_err err = NP_ERR_INIT;
	uint32_t device;
	int32_t current;
	int32_t code;

	if (!bind_acl(inject) || !make_plan(inject))
		return false;
	if (np_rank_dir_make(inject, &err) < 0) {
		give_up(inject, NP_UNKNOWN, err.text);
		return false;
	}
	code = keep_code(inject, "aclprofInit", acl->prof_init(window->dir, strlen(window->dir)));
	if (code != ACL_SUCCESS) {
		give_up_call(inject, "aclprofInit", code);
		return false;
	}
	apply_settings(inject);
	if (acl->get_device && acl->get_device(&current) == ACL_SUCCESS)
		inject->device = current;
	device = (uint32_t)inject->device;
	window->config =
		acl->prof_create_config(&device, 1, window->plan.metrics, NULL, window->plan.mask);
	if (window->config)
		return true;
	(void)keep_code(inject, "aclprofFinalize", acl->prof_finalize());
	give_up(inject, NP_UNKNOWN, "aclprofCreateConfig refused the device or the mask");
	return false;
}

static void dispose(struct np_inject *inject)
{
	struct np_profile_window *window = &inject->window;
	const struct np_acl *acl = &inject->acl;

	if (window->config)
		(void)keep_code(inject, "aclprofDestroyConfig",
				acl->prof_destroy_config(window->config));
	window->config = NULL;
	(void)keep_code(inject, "aclprofFinalize", acl->prof_finalize());
}

static void warm_up(struct np_inject *inject)
{
	struct np_profile_window *window = &inject->window;
	int32_t code;

	if (!bind_acl(inject))
		return;
	if (!inject->acl.prof_warmup) {
		np_profile_window_warn(window, "no warm-up: this CANN has no aclprofWarmup");
		inject->config.warmup = false;
		return;
	}
	if (!prepare(inject))
		return;
	window->state = NP_WINDOW_WARM;
	code = keep_code(inject, "aclprofWarmup", inject->acl.prof_warmup(window->config));
	if (code == ACL_SUCCESS)
		return;
	dispose(inject);
	give_up_call(inject, "aclprofWarmup", code);
}

static void begin_step(struct np_profile_window *window, int64_t step, np_ns at)
{
	struct np_step_times *slot = np_vec_add(&window->steps, NULL);

	if (slot)
		*slot = (struct np_step_times){ step, at, NP_UNKNOWN };
	window->last_step = step;
}

static void end_step(struct np_profile_window *window, np_ns at)
{
	if (window->steps.count > 0)
		window->steps.item[window->steps.count - 1].end = at;
}

static void open_window(struct np_inject *inject, int64_t step)
{
	struct np_profile_window *window = &inject->window;
	const struct np_acl *acl;
	int32_t code;

	if (!np_control_claim(inject)) {
		give_up(inject, NP_UNKNOWN, "another process of this rank is profiled");
		return;
	}
	if (!bind_acl(inject))
		return;
	acl = &inject->acl;
	synchronize(inject, false);
	if (window->state != NP_WINDOW_WARM && !prepare(inject))
		return;
	code = keep_code(inject, "aclprofStart", acl->prof_start(window->config));
	if (code != ACL_SUCCESS) {
		/* A failed start leaves a mark that only a stop takes away. */
		(void)keep_code(inject, "aclprofStop", acl->prof_stop(window->config));
		dispose(inject);
		give_up_call(inject, "aclprofStart", code);
		return;
	}
	if (acl->prof_register_device_callback)
		(void)keep_code(inject, "aclprofRegisterDeviceCallback",
				acl->prof_register_device_callback());
	window->state = NP_WINDOW_OPEN;
	window->opened = np_moment_now();
	window->first_step = step;
	inject->steps.settled = true;
	begin_step(window, step, window->opened.realtime);
	save_files(inject);
	np_control_say(inject, NP_MSG_WINDOW_OPEN, step, (int64_t)window->plan.mask, window->dir);
}

void np_profile_window_close(struct np_inject *inject, const char *reason, bool hasty)
{
	struct np_profile_window *window = &inject->window;
	int32_t code;

	if (window->state == NP_WINDOW_WARM) {
		(void)keep_code(inject, "aclprofStop", inject->acl.prof_stop(window->config));
		dispose(inject);
		give_up(inject, NP_UNKNOWN, reason);
		return;
	}
	if (window->state != NP_WINDOW_OPEN)
		return;
	synchronize(inject, hasty);
	window->closed = np_moment_now();
	end_step(window, window->closed.realtime);
	code = keep_code(inject, "aclprofStop", inject->acl.prof_stop(window->config));
	dispose(inject);
	window->state = NP_WINDOW_CLOSED;
	(void)snprintf(window->reason, sizeof(window->reason), "%s", reason);
	if (code != ACL_SUCCESS) {
		give_up_call(inject, "aclprofStop", code);
		return;
	}
	if (!np_rank_dir_has_profile(window->dir)) {
		give_up(inject, NP_UNKNOWN,
			"the profiler was started and stopped, but wrote nothing");
		return;
	}
	save_files(inject);
	np_control_say(inject, NP_MSG_WINDOW_CLOSED, window->last_step,
		       np_rank_dir_bytes(window->dir), window->dir);
}

/* The window was planned for steps that are over. */
static void miss_window(struct np_inject *inject, int64_t step)
{
	struct np_profile_window *window = &inject->window;
	char text[200];

	(void)snprintf(text, sizeof(text),
		       "step %" PRId64 " is the first seen with a device; the window ends before "
		       "step %" PRId64,
		       step, window->end);
	if (window->state == NP_WINDOW_WARM)
		np_profile_window_close(inject, text, false);
	else
		give_up(inject, NP_UNKNOWN, text);
}

static bool is_within(const struct np_profile_window *window, int64_t step)
{
	return step >= window->first && (window->end < 0 || step < window->end);
}

bool np_profile_window_turns(const struct np_inject *inject, int64_t step)
{
	const struct np_profile_window *window = &inject->window;

	if (window->state == NP_WINDOW_OPEN)
		return !is_within(window, step);
	return (window->state == NP_WINDOW_WANTED || window->state == NP_WINDOW_WARM) &&
	       inject->device >= 0 && is_within(window, step);
}

void np_profile_window_step(struct np_inject *inject, int64_t step)
{
	struct np_profile_window *window = &inject->window;
	bool within = is_within(window, step);
	np_ns now = np_moment_now().realtime;
	char text[80];

	if (window->state == NP_WINDOW_OPEN) {
		if (within) {
			end_step(window, now);
			begin_step(window, step, now);
			/* The launcher wants to know early how much a step is. */
			if (window->steps.count == 2)
				np_control_say(inject, NP_MSG_BYTES, 1,
					       np_rank_dir_bytes(window->dir), "");
			return;
		}
		(void)snprintf(text, sizeof(text), "step %" PRId64 " began", step);
		np_profile_window_close(inject, text, false);
	} else if (window->state == NP_WINDOW_WANTED || window->state == NP_WINDOW_WARM) {
		if (window->end >= 0 && step >= window->end)
			miss_window(inject, step);
		else if (inject->device >= 0 && within)
			open_window(inject, step);
		else if (inject->device >= 0 && inject->config.warmup &&
			 window->state == NP_WINDOW_WANTED && step == window->first - 1)
			warm_up(inject);
	}
}
