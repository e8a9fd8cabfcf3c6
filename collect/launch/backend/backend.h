/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BACKEND_H
#define NP_BACKEND_H

#include "attach_note.h"
#include "child.h"
#include "collect/launch/coord/job.h"

/*
 * Who profiles
 * ============
 *
 *	acl     our library in the application, through AscendCL: any window, any program
 *	torch   torch_npu's dynamic_profile, asked through its own file: operators and
 *	        stacks of the framework too, for programs with a PyTorch optimizer
 *	msprof  msprof around each application: no steps, all from start to end; or, with
 *	        --dynamic, msprof attached to the process of each rank while a window is wanted
 *
 * The rest of the launcher talks to all of them in one language, that of protocol.h: it sends
 * START, STOP and CANCEL to a rank and hears ACCEPTED, TOO_LATE, WINDOW_OPEN … of it. With acl
 * that is the library's socket; for the others the launcher plays the library's part itself
 * (torch.h, backend_attach.c).
 */

/*
 * Turn "auto" into one of them, and say in `notes` which and why, and what else deserves a word.
 * NP_E_USAGE for settings that the chosen one cannot serve.
 */
int np_backend_choose(struct np_job *job, struct np_buf *notes, struct np_err *err) NP_MUST_USE;

/* What "auto" looks at, found out once on rank 0 (backend_probe.c). */
struct np_backend_signs {
	bool is_python;     /* python, or torchrun */
	bool has_torch_npu; /* it can import torch_npu */
	bool is_static;     /* no library can be loaded into it */
	bool has_ascendcl;
	bool has_msprof;
};

void np_backend_probe(char *const *app, struct np_backend_signs *ret);

/* The choice of "auto", with its reason; `job` tells what is asked for. */
enum np_plan_backend np_backend_decide(const struct np_job *job,
				       const struct np_backend_signs *signs,
				       const char **ret_reason);

/* What must be so on this host before the start; fails as a check does (check.h). */
int np_backend_check(const struct np_job *job, struct np_err *err) NP_MUST_USE;

/* Does our library go into the application: to profile, or to tell of its steps? */
bool np_backend_has_library(const struct np_job *job);

/* Look what torch_npu or msprof left in the directory of the job of the ranks of this launcher. */
void np_backend_find(struct np_job *job);

/* --- while the job runs (backend_run.c) ------------------------------------ */

struct np_session;
struct np_event;
struct np_message;

/* Before the application starts: its environment. */
int np_backend_begin(struct np_session *session, struct np_env *env, struct np_err *err)
	NP_MUST_USE;

/* To be called often. */
void np_backend_attend(struct np_session *session);

/* Send a message to who profiles this rank, or every rank of this launcher; false: there is nobody.
 */
bool np_backend_tell(struct np_session *session, int32_t rank, const struct np_message *message);
void np_backend_tell_all(struct np_session *session, const struct np_message *message);

/* The application is gone: end what was started beside it. */
void np_backend_end(struct np_session *session);

/* All applications of the job are gone: remove what killed ones may have left outside of it. */
void np_backend_clean(struct np_session *session);

/* --- msprof (backend_msprof.c) -------------------------------------------- */

/* A command line of msprof, ending with NULL. */
struct np_msprof_line {
	char **argv;
	struct np_buf words;
	char dir[NP_RECORD_DIR]; /* the rank directory it writes to, which was made */
};

/* Around the application of this launcher. */
int np_msprof_line(const struct np_job *job, struct np_msprof_line *ret, struct np_err *err)
	NP_MUST_USE;

/* Attached to process `pid` of a rank, for a window below `base` at this level. */
int np_msprof_attach_line(const struct np_job *job, int32_t rank, int pid, const char *base,
			  int level, struct np_msprof_line *ret, struct np_err *err) NP_MUST_USE;
void np_msprof_line_release(struct np_msprof_line *line);

/* Where an application that was started with PROFILING_MODE=dynamic listens for msprof. */
bool np_msprof_socket(int pid, char *path, size_t size);

/* --- msprof attached (backend_attach.c) ------------------------------------ */

enum np_attach_state {
	NP_ATTACH_STARTING,  /* msprof was told to start */
	NP_ATTACH_RECORDING, /* it records, and the first step of the window has not begun */
	NP_ATTACH_OPEN,
	NP_ATTACH_STOPPING, /* it was told to stop and to quit */
};

/* One window of one rank. */
struct np_attach {
	int32_t rank;
	enum np_attach_state state;
	pid_t msprof;
	int input;     /* its standard input */
	int64_t first; /* steps [first, end); NP_UNKNOWN: any, -1: until STOP */
	int64_t end;
	bool answered;
	bool opened;
	int64_t last;    /* step that is complete, once it stops */
	np_ns deadline;  /* of the state */
	np_ns bytes_due; /* tell how much was written */
	char dir[NP_RECORD_DIR];
	NP_VEC(struct np_attach_step) steps; /* that began since it records */
};

struct np_attached {
	NP_VEC(struct np_attach *) windows;
	NP_VEC(struct np_attach_comm) comms;
};

/* What the library in a rank says. */
void np_attach_hear(struct np_session *session, const struct np_message *message);

bool np_attach_tell(struct np_session *session, int32_t rank, const struct np_message *message);
void np_attach_attend(struct np_session *session);
void np_attach_end(struct np_session *session);

#endif /* NP_BACKEND_H */
