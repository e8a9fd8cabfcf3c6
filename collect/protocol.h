/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COLLECT_PROTOCOL_H
#define NP_COLLECT_PROTOCOL_H

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * The contract between the launcher and the injection library
 * ============================================================
 *
 * The launcher (npuprof-collect) starts the application with
 *
 *	LD_PRELOAD=libnpuprof_inject.so:$LD_PRELOAD
 *	NPUPROF_SOCK=npuprof-<uid>-<job>-<rank>   an abstract unix socket, without the leading NUL
 *	NPUPROF_CFG=<text of np_inject_config_format()>
 *	RANK_ID=<global rank>                     which CANN writes into info.json
 *
 * and listens on the socket (SOCK_SEQPACKET: one packet is one message). Every
 * process of the application that loads the library connects and says HELLO.
 * Only a process that uses AscendCL says ATTACHED; a shell that starts a shell
 * that starts python gives three HELLOs and one ATTACHED. The listener accepts
 * all of them and drops a peer whose SO_PEERCRED uid is not its own; so does the library.
 *
 * Both sides are of one installation on one machine: a message is a struct. Its size, version,
 * type and numbers are checked where it is received (np_message_check()), and nowhere else.
 *
 * The library never waits for the launcher. A message that does not fit into the
 * socket is dropped and counted (DONE says how many). Without a launcher it acts
 * on its configuration alone.
 */
#define NP_ENV_SOCKET "NPUPROF_SOCK"
#define NP_ENV_CONFIG "NPUPROF_CFG"

#define NP_PROTOCOL_VERSION 1

/* Names of files in a rank directory. */
#define NP_RANK_FILE        "npuprof_rank.json"
#define NP_RANK_FILE_SCHEMA "npuprof.rank/1"
#define NP_METADATA_FILE    "profiler_metadata.json"
/* profiler_info.json if the rank is unknown */
#define NP_INFO_FILE_FORMAT "profiler_info_%d.json"

/* What the library may count steps by, best first. NP_STEP_AUTO takes the first that is there. */
enum np_step_source {
	NP_STEP_AUTO,
	NP_STEP_EXPLICIT, /* npuprof_step(n) in the application */
	NP_STEP_MSTX,     /* an mstx message that matches the pattern */
	NP_STEP_STAMP,    /* aclprofGetStepTimestamp(start) in the application */
	NP_STEP_HCCL,     /* the period of the collectives; numbers count from its beginning */
	NP_STEP_TIME,     /* delay and duration: one step, number 0 */
	NP_STEP_SYNC,     /* the period of the host's waiting for the device; only when asked for */
	NP_STEP_TORCH,    /* torch_npu counts the steps of its optimizer; not for the library */
	NP_STEP_SOURCES,
};

/* "auto", "explicit", "mstx", "stamp", "hccl", "time", "sync", "torch" */
const char *np_step_source_name(enum np_step_source source);

/* Steps that training frameworks mark: "step 12", "ProfilerStep#12", "iteration: 12". */
#define NP_STEP_PATTERN "^(?:step|ProfilerStep#|iteration|iter)[ _#:]*(\\d+)$"

enum np_prof_level {
	NP_PROF_LEVEL_NONE,
	NP_PROF_LEVEL_0,
	NP_PROF_LEVEL_1,
	NP_PROF_LEVEL_2,
};

/* torch_npu's spelling: "Level_none", "Level0", "Level1", "Level2" */
const char *np_prof_level_name(enum np_prof_level level);

/*
 * What is to be recorded. Which bits and settings of AscendCL this means is
 * decided in the application (acl/acl_plan.h), where it is known what that
 * version of CANN can do.
 */
struct np_prof_options {
	enum np_prof_level level;
	/* torch_npu's names, such as "PipeUtilization"; "" = what the level has */
	char aic_metrics[32];
	bool l2_cache;
	bool mstx;
	bool memory;
	bool op_attr;
	bool record_shapes;
	bool sys_io;
	bool sys_interconnection;
	char host_sys[64];        /* "cpu,mem" … or "" */
	int64_t storage_limit_mb; /* ACL_PROF_STORAGE_LIMIT, at least 200; 0 = none */
};

/*
 * All an application's process needs to know. The launcher fills it, starting
 * from NP_INJECT_CONFIG_INIT, and formats it; the library parses it. Texts that
 * do not fit are an error of np_inject_config_format().
 */
struct np_inject_config {
	char job[64];
	int32_t rank;       /* global; -1: the process finds it in its environment */
	int32_t world_size; /* -1 = unknown */
	char host[256];     /* "" = gethostname() */
	char host_uid[64];
	bool selected;      /* false: count steps, profile nothing unless START comes */
	char ranks[1024];   /* not "": a list (rank_list.h) that says who is selected */
	char dir[4000];     /* absolute; the rank directory is made in it when a window opens */
	int64_t step_start; /* first step of the window */
	int64_t step_end;   /* first step after it; -1 = until the application ends */
	bool warmup;        /* aclprofWarmup() one step earlier, where it exists */
	enum np_step_source source;
	char pattern[512];   /* PCRE2; group 1 is the step; without a group matches are counted */
	int64_t delay_ms;    /* NP_STEP_TIME: from the first aclrtSetDevice() */
	int64_t duration_ms; /* NP_STEP_TIME: -1 = until the application ends */
	int64_t grace_ms;    /* from STOP, or the end, until the profile must be closed */
	struct np_prof_options options;
};

#define NP_INJECT_CONFIG_INIT \
	((struct np_inject_config){ .rank = -1, \
				    .world_size = -1, \
				    .step_end = -1, \
				    .pattern = NP_STEP_PATTERN, \
				    .duration_ms = -1, \
				    .grace_ms = 10000, \
				    .options = { .level = NP_PROF_LEVEL_1 } })

/* Text for NPUPROF_CFG: "key=value" lines. */
int np_inject_config_format(const struct np_inject_config *config, struct np_buf *ret,
			    struct np_err *err) NP_MUST_USE;

/* An unknown key, a missing value or a number out of range is refused. */
int np_inject_config_parse(const char *text, struct np_inject_config *ret, struct np_err *err)
	NP_MUST_USE;

/*
 * Messages
 * --------
 *
 * `time` is np_realtime_ns() of the sender. What is not mentioned is NP_UNKNOWN
 * or "".
 *
 * From the library to the launcher:
 *
 * HELLO           the library is loaded. value: NP_PROTOCOL_VERSION; text: path of the program
 * ATTACHED        the first aclrtSetDevice(). value: device; step: size of the world, if the
 *                 environment names it; text: name of the chip
 * SOURCE          steps are counted by value (enum np_step_source); text: detail
 * STEP            `step` begins. value: enum np_step_source. At most 50 of them a second
 * WINDOW_OPEN     step: the first step covered; value: the mask; text: the rank directory
 * WINDOW_CLOSED   step: the last step covered, inclusive; value: bytes; text: the rank directory
 * PROF_CODE       a call returned other than 0. value: the code; text: name of the call
 * PROF_ERROR      no window, or a damaged one. value: the code, if a call is the reason;
 *                 text: one line for people
 * SELF_PROFILING  the application profiles itself and the library stands down; text: the call
 * BYTES           value: bytes in the rank directory; step: how many steps are complete in it.
 *                 Once a second while a window is open, and after its first step
 * COMM            a communicator. step: rank in it; value: its size; text: "<name>\n<pg_name>".
 *                 Every rank reports it, selected or not, so that the members can be put together
 * ACCEPTED        answer to START; step: as asked for, or the next step
 * TOO_LATE        answer to START; step: the step that has begun already
 * REFUSED         answer to START; text: why there will be no window
 * RENDEZVOUS      of the library in MPI programs: text: where launcher 0 is (mpi_address.h); value:
 *                 how many ranks the world of MPI has
 * PONG            answer to PING with its step and value
 * DONE            the process ends; value: messages dropped on the way; text: why
 *
 * From the launcher to the library, which reads them after ATTACHED:
 *
 * STOP            step -1: close the window now, from the library's own thread.
 *                 Otherwise the window ends before this step
 * START           open a window at `step` (-1: the next one) for `value` steps (-1: until
 *                 STOP); text: where to make the rank directory, "" = the configured place, and
 *                 after a line break the number of the level (enum np_prof_level), if another
 * CANCEL          no window in this place (text) after all; one that is open ends now
 * PING
 */
enum np_message_type {
	NP_MSG_HELLO = 1,
	NP_MSG_ATTACHED,
	NP_MSG_SOURCE,
	NP_MSG_STEP,
	NP_MSG_WINDOW_OPEN,
	NP_MSG_WINDOW_CLOSED,
	NP_MSG_PROF_CODE,
	NP_MSG_PROF_ERROR,
	NP_MSG_SELF_PROFILING,
	NP_MSG_BYTES,
	NP_MSG_COMM,
	NP_MSG_ACCEPTED,
	NP_MSG_TOO_LATE,
	NP_MSG_PONG,
	NP_MSG_DONE,
	NP_MSG_REFUSED,
	NP_MSG_RENDEZVOUS,
	NP_MSG_STOP = 64,
	NP_MSG_START,
	NP_MSG_PING,
	NP_MSG_CANCEL,
};

#define NP_MESSAGE_TEXT 4096

/* No job has so many; what counts or lists ranks may rely on it. */
#define NP_MOST_RANKS (1 << 24)

struct np_message {
	uint32_t version; /* NP_PROTOCOL_VERSION */
	uint32_t type;    /* enum np_message_type */
	int64_t step;
	int64_t value;
	np_ns time;
	int32_t pid;
	int32_t rank;
	char text[NP_MESSAGE_TEXT];
};

/* A message of this process at this moment with everything unknown. */
void np_message_init(struct np_message *message, enum np_message_type type, int32_t rank);

/* Send one message, or false if it cannot be done at once. Never waits, never raises SIGPIPE. */
bool np_message_send(int fd, const struct np_message *message);

/*
 * Is what was received (into *message, `size` bytes) a message of this protocol, with numbers that
 * its type can have? Ends its text.
 */
bool np_message_check(struct np_message *message, size_t size);

/*
 * Take one message if there is one: 1, 0 (nothing now), or -1 when the peer is
 * gone. Packets that are no messages are skipped.
 */
int np_message_receive(int fd, struct np_message *ret);

/*
 * Sockets. Both are non-blocking and closed on exec. The listener is of the
 * launcher; np_protocol_accept() returns -1 if nobody of this uid is there.
 */
int np_protocol_listen(const char *name, struct np_err *err);
int np_protocol_accept(int listener);
int np_protocol_connect(const char *name);

/*
 * npuprof_rank.json (npuprof.rank/1)
 * ----------------------------------
 *
 * One for each window, in its rank directory. It is written when the window opens
 * ("state": "open") and replaced when it closes:
 *
 * { "schema", "job", "rank"|null, "world_size"|null, "host", "hostUid", "pid",
 *   "device"|null, "soc"|null, "cann_version"|null, "acl_version"|null,
 *   "state": "open"|"closed"|"failed", "reason": why it closed or failed,
 *   "level": "Level1", "mask": decimal, "aic_metrics": "PipeUtilization",
 *   "step_source": "mstx", "step_detail": text,
 *   "steps": [{ "step", "begin_ns", "end_ns"|null }],
 *   "window": { "requested_first", "requested_end"|null, "first_step"|null,
 *               "last_step"|null (inclusive), "open_ns"|null, "close_ns"|null },
 *   "communicators": [{ "name", "size", "group_rank", "pg_name"|null, "ranks": [global]|null }],
 *   "prof_codes": [{ "call", "code", "at_ns" }],
 *   "clock": { "realtime_ns", "monotonic_raw_ns", "end_realtime_ns"|null,
 *              "end_monotonic_raw_ns"|null, "simulated": bool },
 *   "warnings": [text] }
 *
 * Times are np_realtime_ns() of that host. The first step begins when aclprofStart()
 * had returned, the last one ends when the device had finished its work; in between a
 * step begins where the one before ends. "ranks" is null where a process cannot know
 * them: who has the files of all ranks joins communicators of one name by group_rank.
 *
 * profiler_info_<rank>.json and profiler_metadata.json stand beside it, as torch_npu
 * writes them; parallel_group_info has the communicators whose members are known.
 */

#endif /* NP_COLLECT_PROTOCOL_H */
