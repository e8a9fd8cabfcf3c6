/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TORCH_H
#define NP_TORCH_H

#include "child.h"
#include "collect/launch/coord/job.h"

/*
 * torch_npu's dynamic_profile
 * ===========================
 *
 * Processes of torch_npu that are started with PROF_CONFIG_PATH announce themselves by a log
 * (log/dp_<host>_<pid>_rank_<r>.log in that directory). One of a host looks every second or
 * two, or once a step if steps are longer, at profiler_config.json there, and all follow it if it
 * was written in a later second than the last one, and than the one in which they began. Each
 * then profiles `active` steps from `start_step` on, counted by its optimizer; one that has passed
 * that step says so in its log and does nothing.
 *
 * So a request needs three things: the file has to be written in a second of its own, the
 * step has to be known and far enough ahead, and who did not begin must be distinguished from who
 * did:
 *
 *  - The launcher that speaks for a host writes the file (torch_file.c), for all its ranks.
 *  - The logs say at which step a profile began and ended. Where that was long ago, one rank is
 *    asked to profile the next two steps, into a directory that is thrown away, only to learn
 *    which step it is and how long one takes.
 *  - A window is there when the log says so, or its directory has appeared; it is late when the
 *    log has a warning instead, or nothing happens (torch.c). Then it is tried again further ahead.
 *
 * torch_npu cannot be stopped.
 */
enum {
	NP_TORCH_AHEAD_S = 5, /* a request needs so long to reach everybody */
	NP_TORCH_PROBE_STEPS = 2,
	NP_TORCH_LOG_NAME = 256,
};

/* What a log has reported. */
struct np_torch_log {
	char name[NP_TORCH_LOG_NAME]; /* in log/; "" if there is none yet */
	long read;                    /* bytes of it */
	int64_t started;              /* step of the last profile; NP_UNKNOWN */
	int64_t stopped;              /* step before which it ended; NP_UNKNOWN */
	bool refused;                 /* a warning about a step */
};

enum np_torch_state {
	NP_TORCH_IDLE,
	NP_TORCH_WANTED, /* it was asked for, and nothing is to be seen of it yet */
	NP_TORCH_OPEN,
};

/* A rank of this launcher. */
struct np_torch_rank {
	int32_t rank;
	int pid;
	struct np_torch_log log;
	enum np_torch_state state;
	bool answered;
	int64_t first;  /* step that was asked for; -1: the next one */
	np_ns due;      /* when it should begin */
	np_ns appeared; /* its directory; NP_UNKNOWN */
	char base[NP_RECORD_DIR];
	char dir[NP_RECORD_DIR];
};

/* Which step it was, when, and how fast steps follow each other: steps a second × 1000. */
struct np_torch_pace {
	int64_t step; /* NP_UNKNOWN: not known */
	np_ns at;
	int64_t rate;
};

struct np_torch {
	char dir[NP_PLAN_PATH + NP_PLAN_JOB + 300]; /* of this host, or of this launcher */
	bool is_writer;
	time_t started;
	bool ready;    /* all ranks that come have come; launcher 0 knows */
	int announced; /* ranks of the host, when last counted */
	np_ns since;   /* that number is the same since then */
	np_ns looked;
	NP_VEC(struct np_torch_rank) ranks;

	struct np_buf text; /* to be written in the next second, if not empty */
	int64_t written;    /* the second of the last one */
	int64_t wait_ms;    /* the step of the last request is expected so long after it */

	struct np_torch_pace pace;
	bool probing;
	int32_t question;  /* of launcher 0, which waits for the answer */
	np_ns probe_end;   /* given up then */
	np_ns probe_start; /* when it began to profile; NP_UNKNOWN */
};

struct np_backend;
struct np_event;
struct np_message;

/* The directory of the job in which this launcher and torch_npu meet. */
void np_torch_name_dir(const struct np_job *job, char *path, size_t size);

int np_torch_begin(struct np_backend *backend, struct np_env *env, struct np_err *err) NP_MUST_USE;
void np_torch_attend(struct np_backend *backend);
bool np_torch_send(struct np_backend *backend, int32_t rank, const struct np_message *message);
void np_torch_end(struct np_backend *backend);

/* A window is asked for: write the file for all ranks of the host that it concerns. */
void np_torch_request(struct np_backend *backend, const struct np_event *event);
void np_torch_forget_request(struct np_backend *backend);

/* Answer launcher 0's question for the step with NP_EVENT_STEP, now or when it is known. */
void np_torch_ask(struct np_backend *backend, const struct np_event *event);

/* --- its shared memory ------------------------------------------------------ */

/*
 * The shared memory of torch_npu has only the hour in its name: jobs of one hour on one host
 * share it, and would follow each other's requests. A process of it, or 0.
 */
int np_torch_memory_user(void);

/* Remove what processes that were killed left of it since `started`, if nobody uses it. */
void np_torch_memory_clean(time_t started);

/* --- torch_file.c ---------------------------------------------------------- */

/* What the file asks for. */
struct np_torch_wish {
	int64_t start; /* step; -1: the next one */
	int64_t count; /* steps; -1: until the end */
	int level;     /* enum np_plan_level */
	const char *dir;
	const int64_t *ranks;
	size_t rank_count;
};

/* The text of profiler_config.json, as torch_npu reads it. */
void np_torch_format(const struct np_plan *plan, const struct np_torch_wish *wish,
		     struct np_buf *text);

/* Write what waits to be written, if this second allows it. */
void np_torch_write_due(struct np_torch *torch);

/* The ranks that have announced themselves in the directory; at most `size` of them. */
int np_torch_list_announced(const struct np_torch *torch, int64_t *ranks, int size);

/* Find the log of a rank, and read what is new in it. */
bool np_torch_log_find(const struct np_torch *torch, int32_t rank, struct np_torch_log *log,
		       int *ret_pid);
void np_torch_log_read(const struct np_torch *torch, struct np_torch_log *log);

/* Take one line of a log. */
void np_torch_log_line(struct np_torch_log *log, const char *line);

#endif /* NP_TORCH_H */
