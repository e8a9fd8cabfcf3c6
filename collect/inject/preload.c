/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first and the last moment of the library in a process, and the function that
 * applications call.
 */
#include "preload.h"

#include <unistd.h>

#include "hooks.h"

struct np_inject np_inject;

/* npuprof_step.h has the declaration for applications. */
NP_HOOK void npuprof_step(int64_t step);

void npuprof_step(int64_t step)
{
	if (step >= 0 && np_hook_active())
		np_inject_step(&np_inject, NP_STEP_EXPLICIT, step, "npuprof_step()");
}

/* A child of fork() is a helper: the launcher's line is not its own. */
static void in_child(void)
{
	atomic_store(&np_inject.on, false);
	atomic_store(&np_inject.attention, 0);
	np_control_forget();
}

static void at_exit(void)
{
	if (atomic_load(&np_inject.on))
		np_inject_finish(&np_inject);
}

static pthread_once_t exit_watched = PTHREAD_ONCE_INIT;

static void watch_exit(void)
{
	(void)atexit(at_exit);
}

void np_preload_watch_exit(void)
{
	(void)pthread_once(&exit_watched, watch_exit);
}

static void say_hello(void)
{
	char program[4000] = "";
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[length > 0 ? length : 0] = '\0';
	np_control_say(&np_inject, NP_MSG_HELLO, NP_UNKNOWN, NP_PROTOCOL_VERSION, program);
}

/* CANN writes RANK_ID, and nothing else, into the profile; launchers such as torchrun set RANK. */
static void report_cann(void)
{
	char rank[16];

	(void)snprintf(rank, sizeof(rank), "%d", (int)np_inject.rank);
	if (np_inject.rank >= 0)
		(void)setenv("RANK_ID", rank, 0); /* NOLINT(concurrency-mt-unsafe) */
}

/*
 * Wake up only for a launcher. A configuration that cannot be read is reported to it, and the
 * application runs as if we were not there.
 */
__attribute__((constructor)) static void loaded(void)
{
	struct np_inject_config config = NP_INJECT_CONFIG_INIT;
	/* Before main() there is one thread. NOLINTBEGIN(concurrency-mt-unsafe) */
	const char *name = getenv(NP_ENV_SOCKET);
	const char *text = getenv(NP_ENV_CONFIG);
	/* NOLINTEND(concurrency-mt-unsafe) */
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (!name || !name[0])
		return;
	np_inject.rank = -1;
	np_control_connect(name);
	rc = np_inject_config_parse(text ? text : "", &config, &err);
	if (rc == NP_OK)
		rc = np_preload_set_pattern(config.pattern, &err);
	if (rc < 0) {
		np_control_say(&np_inject, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN, err.text);
		return;
	}
	if (pthread_atfork(NULL, NULL, in_child) != 0)
		return;
	np_inject_init(&np_inject, &config);
	report_cann();
	say_hello();
}
