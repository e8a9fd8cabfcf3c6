/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INJECT_H
#define NP_INJECT_H

#include <pthread.h>
#include <stdatomic.h>

#include "collect/acl/acl_bind.h"
#include "collect/acl/acl_plan.h"
#include "collect/protocol.h"
#include "npuprof/vec.h"
#include "steps.h"

/*
 * The injection library
 * =====================
 *
 * Loaded into the application with LD_PRELOAD. Its hooks (hooks_*.c) see the calls of
 * AscendCL, HCCL and mstx, pass them on, and report to the parts below that a device
 * was set, that a communicator was made, that a step begins. At the first step of
 * the window the profiler is started in the thread that reported it, at the first step behind it
 * stopped.
 *
 * The first rule is to do no harm: without NPUPROF_SOCK nothing happens at all, a
 * child of fork() is left alone, nothing waits for the launcher, and whatever goes
 * wrong with profiling is reported and then no longer attempted.
 *
 * Threads: hooks come from any thread; one thread of our own (control.c) listens to the
 * launcher. `lock` guards everything that is not atomic. AscendCL is called with the
 * lock held, and may call hooks itself: `np_inside` makes them only pass on.
 */

/* One call to AscendCL of ours and what it returned. */
struct np_call_code {
	const char *call;
	int32_t code;
	np_ns at;
};

/* A step while the window was open. */
struct np_step_times {
	int64_t step;
	np_ns begin;
	np_ns end; /* NP_UNKNOWN until it ended */
};

/* Both clocks at one moment. */
struct np_moment {
	np_ns realtime;
	np_ns monotonic_raw;
};

enum np_profile_window_state {
	NP_WINDOW_NONE,   /* nothing is to be profiled */
	NP_WINDOW_WANTED, /* from `first` on */
	NP_WINDOW_WARM,   /* aclprofWarmup() was called, one step ahead */
	NP_WINDOW_OPEN,
	NP_WINDOW_CLOSED,
	NP_WINDOW_FAILED,
};

struct np_profile_window {
	enum np_profile_window_state state;
	int64_t first; /* what was asked for: steps [first, end), end -1 = until the end */
	int64_t end;
	int64_t first_step; /* what was covered, inclusive; NP_UNKNOWN */
	int64_t last_step;
	char base[4000]; /* directory for the rank directory */
	char dir[4400];  /* the rank directory; "" until there is one */
	char reason[sizeof(((struct np_err *)NULL)->text)];
	struct np_moment opened;
	struct np_moment closed;
	struct np_acl_plan plan;
	aclprofConfig *config;
	NP_VEC(struct np_call_code) codes;
	NP_VEC(struct np_step_times) steps;
	NP_VEC(char *) warnings;
};

/* A communicator of this process. */
struct np_comm_info {
	HcclComm handle;
	char name[HCCL_COMM_NAME_BYTES];
	char given_name[HCCL_COMM_NAME_BYTES]; /* by the application; "" if HCCL made one up */
	char pg_name[HCCL_COMM_NAME_BYTES];    /* what it is for: "tp", "default_group"; or "" */
	uint32_t size;
	uint32_t group_rank;
	uint32_t *ranks; /* global ranks, `size` of them; NULL if unknown */
};

/* Work that waits for a hook to be called. */
enum np_attention {
	NP_ATTENTION_CADENCE = 1 << 0, /* the collectives are counted */
	NP_ATTENTION_DUE = 1 << 1,     /* the time window opens or closes */
	NP_ATTENTION_SYNC = 1 << 2,    /* the host's waits are counted */
};

struct np_inject {
	_Atomic bool on;            /* there is a launcher and this is not a forked child */
	_Atomic unsigned attention; /* enum np_attention: what hooks of frequent calls look at */
	_Atomic unsigned listening; /* 1 << enum np_step_source: whose word would matter */
	_Atomic uint32_t waits;     /* how often the host has waited for the device */
	_Atomic bool attached;      /* a device is known */

	pthread_mutex_t lock;
	struct np_inject_config config;
	int32_t rank; /* -1 if unknown */
	char host[256];
	bool standing_down; /* the application profiles itself, or another process of this rank is
			     */
	bool finished;      /* the process is at its end */

	bool bound; /* `acl` can be used */
	struct np_acl acl;
	int32_t device; /* -1 until known */
	char soc[64];
	char cann_version[256]; /* of the package; "" if it does not tell */
	char acl_version[32];   /* of the interface */

	struct np_steps steps;
	char step_detail[160];
	np_ns last_step_told; /* to the launcher, on the monotonic clock */
	struct np_profile_window window;
	NP_VEC(struct np_comm_info) comms;

	bool waited; /* the device is idle at this step: `waited_code` is what waiting returned */
	int32_t waited_code;

	np_ns due_open; /* of a time window, on the monotonic clock; NP_UNKNOWN if none */
	np_ns due_close;
};

/* The one instance; tests have their own. */
extern struct np_inject np_inject;

/* Above zero while this thread is inside the library: calls of hooks are not the application's. */
extern _Thread_local int np_inside __attribute__((tls_model("initial-exec")));

void np_inject_init(struct np_inject *inject, const struct np_inject_config *config);
void np_inject_release(struct np_inject *inject);

/*
 * inject.c: the life of the process.
 */

/* aclrtSetDevice() succeeded. */
void np_inject_device_set(struct np_inject *inject, int32_t device);

/* AscendCL, or a device (any if -1), goes away: close the window while it can be done. */
void np_inject_ending(struct np_inject *inject, int32_t device, const char *why);

/* The application calls a function that profiles: leave the field to it. */
void np_inject_self_profiling(struct np_inject *inject, const char *call);

/* A communicator was made; `ranks`: its members as ranks of `parent`, NULL if not known. */
void np_inject_communicator(struct np_inject *inject, const struct np_comm_info *info,
			    HcclComm parent, const uint32_t *ranks);

/* A source says that a step begins; `number` NP_UNKNOWN to count. */
void np_inject_step(struct np_inject *inject, enum np_step_source source, int64_t number,
		    const char *detail);

/* Do what has fallen due, if it has and nobody is at it. Our own thread has no device yet. */
void np_inject_attend(struct np_inject *inject, bool own_thread);

/* The period of the collectives is no more: the window that was counted by it ends. */
void np_inject_cadence_lost(struct np_inject *inject);

/* The process exits. Nothing is profiled from here on. */
void np_inject_finish(struct np_inject *inject);

/* The launcher said something. */
void np_inject_message(struct np_inject *inject, const struct np_message *message);

/*
 * window.c: starting and stopping the profiler. With the lock held.
 */

/* Plan a window over steps [first, end); `base` NULL: the configured directory. */
void np_profile_window_want(struct np_inject *inject, int64_t first, int64_t end, const char *base);

/* Would np_profile_window_step() open or close the window? */
bool np_profile_window_turns(const struct np_inject *inject, int64_t step);

/* A step begins: open or close the window if this is the step for it. */
void np_profile_window_step(struct np_inject *inject, int64_t step);

/* Close it if it is open. `hasty`: the application may hang, do not wait for the device long. */
void np_profile_window_close(struct np_inject *inject, const char *reason, bool hasty);

void np_profile_window_warn(struct np_profile_window *window, const char *text);
void np_profile_window_release(struct np_profile_window *window);

/* rank_files.c: what stands beside PROF_* in the rank directory. */
int np_rank_dir_make(struct np_inject *inject, struct np_err *err) NP_MUST_USE;
int np_rank_files_write(const struct np_inject *inject, struct np_err *err) NP_MUST_USE;
int64_t np_rank_dir_bytes(const char *dir);    /* of all files in it; NP_UNKNOWN */
bool np_rank_dir_has_profile(const char *dir); /* a PROF_* directory */

/* control.c: the launcher's end of the line, and our own thread. */
void np_control_connect(const char *name);
void np_control_forget(void); /* in a forked child */

/*
 * Make this process the one that is profiled for its rank: false if another process
 * of the rank is.
 */
bool np_control_claim(const struct np_inject *inject);
void np_control_start(struct np_inject *inject);
void np_control_say(const struct np_inject *inject, enum np_message_type type, int64_t step,
		    int64_t value, const char *text);
int64_t np_control_dropped(void);

struct np_moment np_moment_now(void);
np_ns np_monotonic_ns(void);

#endif /* NP_INJECT_H */
