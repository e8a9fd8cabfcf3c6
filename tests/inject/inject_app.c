/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop of a few lines, to be started with the injection library preloaded:
 *
 *	inject_app [option]... STEPS
 *
 *	--mark=npuprof|mstx|stamp|none    how steps are told
 *	--self=N         profile itself at step N
 *	--fork=N         fork a helper that calls everything there is, at step N
 *	--no-finalize    leave without aclFinalize
 *	--late-device    aclrtSetDevice after step 2
 *	--pause=MS       in every step
 *	--until=PATTERN  further steps until there is a file with such a name, for a minute at most
 *	--loops          a loop over layers in every step
 */
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "npuprof_step.h"
#include "sim/npusim/acl_api.h"

static struct {
	const char *mark;
	const char *until;
	long self;
	long fork;
	bool finalize;
	bool late_device;
	bool loops;
	useconds_t pause_us;
	long steps;
} args = { .mark = "none", .self = -1, .fork = -1, .finalize = true };

static void *world;
static void *pair;

static void need(const char *call, int code)
{
	if (code == 0)
		return;
	fprintf(stderr, "%s returned %d\n", call, code);
	exit(9);
}

static long value_of(const char *argument)
{
	return strtol(strchr(argument, '=') + 1, NULL, 10);
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--mark=", 7) == 0)
			args.mark = argv[i] + 7;
		else if (strncmp(argv[i], "--self=", 7) == 0)
			args.self = value_of(argv[i]);
		else if (strncmp(argv[i], "--fork=", 7) == 0)
			args.fork = value_of(argv[i]);
		else if (strncmp(argv[i], "--pause=", 8) == 0)
			args.pause_us = (useconds_t)value_of(argv[i]) * 1000;
		else if (strncmp(argv[i], "--until=", 8) == 0)
			args.until = argv[i] + 8;
		else if (strcmp(argv[i], "--no-finalize") == 0)
			args.finalize = false;
		else if (strcmp(argv[i], "--late-device") == 0)
			args.late_device = true;
		else if (strcmp(argv[i], "--loops") == 0)
			args.loops = true;
		else
			args.steps = strtol(argv[i], NULL, 10);
	}
}

static void mark(long step)
{
	char text[40];

	if (strcmp(args.mark, "npuprof") == 0) {
		npuprof_mark_step(step);
	} else if (strcmp(args.mark, "mstx") == 0) {
		(void)snprintf(text, sizeof(text), "step %ld", step);
		mstxMarkA("something else", NULL);
		mstxRangeEnd(mstxRangeStartA(text, NULL));
	} else if (strcmp(args.mark, "stamp") == 0) {
		aclprofStepInfo *info = aclprofCreateStepInfo();

		(void)aclprofGetStepTimestamp(info, ACL_STEP_START, NULL);
		aclprofDestroyStepInfo(info);
	}
}

/* What torch_npu does when a script uses its profiler. */
static void profile_itself(void)
{
	uint32_t device = 0;
	const char *path = "/tmp";
	aclprofConfig *config;

	need("aclprofInit", aclprofInit(path, strlen(path)));
	config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API);
	need("aclprofCreateConfig", config == NULL);
	need("aclprofDestroyConfig", aclprofDestroyConfig(config));
	need("aclprofFinalize", aclprofFinalize());
}

static void fork_helper(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		npuprof_mark_step(1000000);
		mark(1000001);
		(void)HcclAllReduce(NULL, NULL, 1, 4, 0, world, NULL);
		exit(0); /* handlers of the parent and all */
	}
	need("waitpid", waitpid(child, &status, 0) != child || status != 0);
}

static void train(long step, aclrtStream stream)
{
	if (step == args.fork)
		fork_helper();
	if (step == args.self)
		profile_itself();
	for (int i = 0; i < (args.loops ? 20 : 0); i++)
		need("HcclAllGather", HcclAllGather(NULL, NULL, 4096, 4, pair, stream));
	need("HcclAllReduce", HcclAllReduce(NULL, NULL, 1024, 4, 0, pair, stream));
	need("HcclAllReduce", HcclAllReduce(NULL, NULL, 2048, 4, 0, world, stream));
	need("HcclAllReduce", HcclAllReduce(NULL, NULL, 1, 4, 0, world, stream));
	if (args.pause_us > 0)
		(void)usleep(args.pause_us);
	if (stream)
		need("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
}

/* Is this step to be done? */
static bool goes_on(long step)
{
	static time_t end;
	glob_t found;
	bool there;

	if (step < args.steps || !args.until)
		return step < args.steps;
	end = end ? end : time(NULL) + 60;
	there = glob(args.until, 0, NULL, &found) == 0;
	if (there)
		globfree(&found);
	return !there && time(NULL) < end;
}

#ifdef INJECT_PLUGIN
#define main inject_app_main /* for inject_host */
__attribute__((visibility("default"))) int main(int argc, char **argv);
#endif

int main(int argc, char **argv)
{
	uint32_t members[] = { 0, 1 };
	aclrtStream stream = NULL;

	parse(argc, argv);
	need("aclInit", aclInit(NULL));
	need("HcclCommInitRootInfo", HcclCommInitRootInfo(4, NULL, 1, &world));
	need("HcclCreateSubCommConfig",
	     HcclCreateSubCommConfig(&world, 2, members, 7, 1, NULL, &pair));
	for (long step = 0; goes_on(step); step++) {
		if (!stream && (!args.late_device || step == 3)) {
			need("aclrtSetDevice", aclrtSetDevice(1));
			need("aclrtCreateStream", aclrtCreateStream(&stream));
		}
		mark(step);
		train(step, stream);
	}
	if (args.finalize) {
		need("aclrtDestroyStream", aclrtDestroyStream(stream));
		need("aclrtResetDevice", aclrtResetDevice(1));
		need("aclFinalize", aclFinalize());
	}
	puts("trained");
	return 0;
}
