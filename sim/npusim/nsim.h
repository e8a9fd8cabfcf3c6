/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NSIM_H
#define NSIM_H

#include "npuprof/base.h"
#include "npuprof/realtime.h"
#include "npusim.h"

/*
 * What the stand-in libraries share (libnpusim.so)
 * ================================================
 *
 * Device time is virtual. A task starts when its stream is free and the host has
 * launched it, and ends as much later as the model says; nothing is executed, and
 * only those who synchronise sleep until that time has come. So durations are
 * exact on a loaded machine, and many ranks need few cores.
 *
 * "true" times are CLOCK_REALTIME of the machine, which all ranks share: streams
 * and collectives are computed on it. np_realtime_at() turns them into the time of
 * the simulated host when they are recorded.
 *
 * One lock protects streams, the recorder and the profiling state; functions
 * whose comment says "locked" want it held.
 */

#define NSIM_EXPORT __attribute__((visibility("default")))

NSIM_EXPORT void nsim_lock(void);
NSIM_EXPORT void nsim_unlock(void);

/* --- Time and chance ---------------------------------------------------------------------- */

NSIM_EXPORT np_ns nsim_true_ns(void);
NSIM_EXPORT void nsim_sleep_until(np_ns true_ns);

/* A number in [0, 1) that depends on the seed, the rank and these two alone. */
NSIM_EXPORT double nsim_chance(uint64_t what, uint64_t which);

/* --- Knobs: the environment, read once ---------------------------------------------------- */

struct nsim_knobs {
	int64_t rank;         /* -1 unknown */
	uint64_t seed;        /* NPUSIM_SEED */
	double jitter;        /* NPUSIM_JITTER, per cent of a kernel's time, as a fraction here */
	double slow_factor;   /* NPUSIM_SLOW_FACTOR if NPUSIM_SLOW_RANK has this rank, else 1 */
	uint32_t devices;     /* NPUSIM_DEVICES */
	const char *soc;      /* NPUSIM_SOC */
	bool old_cann;        /* NPUSIM_CANN=old */
	double hccs_gbps;     /* NPUSIM_LINK_GBPS, 10^9 bytes per second */
	double rdma_gbps;     /* NPUSIM_RDMA_GBPS */
	int64_t slow_link[2]; /* NPUSIM_SLOW_LINK=A-B:FACTOR, world ranks; -1 none */
	double slow_link_factor;
	np_ns hccl_timeout;   /* NPUSIM_HCCL_TIMEOUT_MS, of operators */
	np_ns join_timeout;   /* NPUSIM_HCCL_JOIN_MS, of communicators */
	int64_t enospc_after; /* NPUSIM_ENOSPC_AFTER; -1 never */
};

NSIM_EXPORT const struct nsim_knobs *nsim_knobs(void);

/*
 * NPUSIM_FAIL=call:rankN:code[@k],…: is this call of `call` to fail, and with which
 * code? rank* means every rank; with @k only the k-th call fails.
 */
NSIM_EXPORT bool nsim_fails(const char *call, int *code);

/* At the top of a function that returns a code. */
#define NSIM_MAY_FAIL(call) \
	do { \
		int code_; \
		if (nsim_fails(call, &code_)) \
			return code_; \
	} while (0)

/* --- Devices ------------------------------------------------------------------------------ */

/* How many devices the process may use, after ASCEND_RT_VISIBLE_DEVICES. */
NSIM_EXPORT uint32_t nsim_device_count(void);

/* The physical id of a logical one, or -1. */
NSIM_EXPORT int32_t nsim_device_physical(int64_t logical);

/* The calling thread's device (logical), or -1. */
NSIM_EXPORT int32_t nsim_device_current(void);
NSIM_EXPORT void nsim_device_use(int32_t logical);
NSIM_EXPORT void nsim_device_release(int32_t logical);

/* The devices in use, as logical ids; returns how many. */
NSIM_EXPORT uint32_t nsim_device_active(uint32_t *ids, uint32_t max);

/* Device memory in use and in total, in bytes. */
NSIM_EXPORT int64_t nsim_memory_used(void);
NSIM_EXPORT int64_t nsim_memory_total(void);
NSIM_EXPORT void nsim_memory_change(const void *address, int64_t bytes, const char *name);

/* --- Streams ------------------------------------------------------------------------------ */

struct nsim_stream;
struct nsim_op;

enum nsim_progress {
	NSIM_DONE,
	NSIM_WAITING, /* for somebody else; ask again later */
	NSIM_BROKEN,  /* it will never be done: the stream is in error */
};

/*
 * One task in a stream's queue. `run` is called (locked) when it is the first in
 * its stream and could start at `start`; it sets `*end` when it is done, and records
 * itself. `release` frees it.
 */
struct nsim_op {
	struct nsim_op *next;
	np_ns launched;
	enum nsim_progress (*run)(struct nsim_op *op, struct nsim_stream *stream, np_ns start,
				  np_ns *end);
	void (*release)(struct nsim_op *op);
	aclrtCallback callback; /* called without the lock once the op is done, if not NULL */
	void *callback_args;
};

/* The stream behind a handle: NULL is the default stream of the current device. Locked. */
NSIM_EXPORT struct nsim_stream *nsim_stream_of(aclrtStream handle);
NSIM_EXPORT struct nsim_stream *nsim_stream_new(int32_t device);
NSIM_EXPORT bool nsim_stream_free(struct nsim_stream *stream);
NSIM_EXPORT int32_t nsim_stream_id(const struct nsim_stream *stream);
NSIM_EXPORT int32_t nsim_stream_device(const struct nsim_stream *stream); /* physical */
NSIM_EXPORT uint32_t nsim_stream_next_task(struct nsim_stream *stream);   /* locked */

/* A stream id for tasks that no application stream shows, such as the planes of a communicator. */
NSIM_EXPORT int32_t nsim_stream_reserve_id(void);

/* Put an op at the end of a stream; it belongs to the stream now. Locked. */
NSIM_EXPORT aclError nsim_stream_push(struct nsim_stream *stream, struct nsim_op *op);

/* Wait for one stream, or with NULL for all of a device; timeout < 0 means for ever. Not locked. */
NSIM_EXPORT aclError nsim_stream_wait(struct nsim_stream *stream, int32_t device, np_ns timeout);

/* Something on it never came to an end. What waits for it never will, either. Locked. */
NSIM_EXPORT bool nsim_stream_error(const struct nsim_stream *stream);

/* Everything that was launched on it has ended. */
NSIM_EXPORT bool nsim_stream_idle(struct nsim_stream *stream);

/* --- The recorder ------------------------------------------------------------------------- */

struct nsim_session_config {
	uint64_t mask;
	int metric;
	uint32_t device_count;
	uint32_t devices[ACL_PROF_MAX_DEVICES]; /* physical */
	bool memory;                            /* SYS_HARDWARE_MEM_FREQ was set */
};

/*
 * Create a PROF directory below `path`. 0 or an AscendCL code. Nothing is recorded
 * until nsim_session_start(). Locked, as the next ones.
 */
NSIM_EXPORT aclError nsim_session_open(const char *path, const struct nsim_session_config *config);
NSIM_EXPORT void nsim_session_start(void);
/* Write what is left. ACL_ERROR_PROFILING_FAILURE if something was lost. */
NSIM_EXPORT aclError nsim_session_close(void);
NSIM_EXPORT bool nsim_session_is_open(void);

/* Is something of these bits recorded at the moment? Locked. */
NSIM_EXPORT bool nsim_records(uint64_t bits);
NSIM_EXPORT uint64_t nsim_mask(void);
NSIM_EXPORT int nsim_metric(void);

/*
 * Append a line to the slice of a device, or of the host with -1. It is dropped if
 * the session did not cover [start, end] (true times). Locked. The format ends
 * without \n; use nsim_text() for texts.
 */
NSIM_EXPORT void nsim_record(int32_t device, np_ns start, np_ns end, const char *fmt, ...)
	NP_PRINTF(4, 5);

/* Text with tabs and line ends escaped, "-" for NULL. In one of a few buffers per thread. */
NSIM_EXPORT const char *nsim_text(const char *text);

/* The text if `allowed`, else "-". */
NSIM_EXPORT const char *nsim_allowed(bool allowed, const char *text);

/* A new number for connecting calls and tasks. */
NSIM_EXPORT uint32_t nsim_connection(void);

/* A host call that began at `start` and ends now: API line, if the mask has it. Not locked. */
NSIM_EXPORT void nsim_record_call(int type, np_ns start, uint32_t connection, const char *name);

struct nsim_task {
	int32_t device;
	int32_t stream;
	uint32_t task_id;
	uint32_t connection;
	np_ns start;
	np_ns end;
	const char *type;
	np_ns whole_start; /* the operator it belongs to, for deciding whether it is covered */
	np_ns whole_end;
};

/* A TASK line; returns its id. Locked, for all that follow. */
NSIM_EXPORT int64_t nsim_record_task(const struct nsim_task *task);
NSIM_EXPORT void nsim_record_kernel(int64_t id, const struct nsim_task *task,
				    const struct npusim_kernel *kernel, uint32_t blocks);

/* MEM and MODMEM lines, if the session samples memory. */
NSIM_EXPORT void nsim_record_memory(int32_t device, np_ns now);

/* Called with the session open and closed: communicators are told to every session. */
NSIM_EXPORT void nsim_group_created(const char *name, uint32_t size, uint32_t rank,
				    const char *members);

/* --- mstx --------------------------------------------------------------------------------- */

/* Put a marker task on a stream. Locked. */
NSIM_EXPORT aclError nsim_marker_push(struct nsim_stream *stream, uint32_t connection);

/* An MSTX line. Locked. */
struct nsim_tx {
	np_ns start;
	np_ns end;
	int type;
	uint64_t range;
	uint32_t category;
	int32_t tid;
	int32_t end_tid;
	uint32_t connection;
	const char *domain;
	const char *message;
};
NSIM_EXPORT void nsim_record_tx(const struct nsim_tx *tx);

/* --- Command mode ------------------------------------------------------------------------- */

/* Hooks of libmsprofiler into the run time: after SetDevice, before the end. May be NULL. */
struct nsim_hooks {
	void (*device_set)(void);
	void (*finalize)(void);
	void (*config_file)(const char *path);
};
NSIM_EXPORT extern struct nsim_hooks nsim_hooks;

#endif /* NSIM_H */
