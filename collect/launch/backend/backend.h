/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BACKEND_H
#define NP_BACKEND_H

#include "attach.h"
#include "channel.h"
#include "child.h"
#include "collect/launch/coord/job.h"
#include "torch.h"

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
 * (torch.h, attach.h). Who runs the job (session.h) is known here by a few calls only.
 */

/*
 * Turn "auto" into one of them, and say in `notes` which and why, and what else deserves a word.
 * NP_E_USAGE for settings that the chosen one cannot serve.
 */
int np_backend_choose(struct np_job *job, struct np_buf *notes, struct np_err *err) NP_MUST_USE;

/* What "auto" looks at, found out once on rank 0. */
struct np_backend_signs {
	bool is_python;     /* python, or torchrun */
	bool has_torch_npu; /* it can import torch_npu */
	bool is_static;     /* no library can be loaded into it */
	bool has_ascendcl;
	bool has_msprof;
};

/* The choice of "auto", with its reason; `job` says what is asked for. */
enum np_plan_backend np_backend_decide(const struct np_job *job,
				       const struct np_backend_signs *signs,
				       const char **ret_reason);

/* What must be so on this host before the start; fails as a check does (agree.h). */
int np_backend_check(const struct np_job *job, struct np_err *err) NP_MUST_USE;

/* Does our library go into the application: to profile, or to report its steps? */
bool np_backend_has_library(const struct np_job *job);

/* Look what torch_npu or msprof left in the directory of the job of the ranks of this launcher. */
void np_backend_find(struct np_job *job);

/* --- while the job runs ---------------------------------------------------- */

struct np_session;

/* What a back-end asks of the session that runs it. */
struct np_backend_session {
	struct np_session *self;

	/* A rank says something: back-ends speak for ranks that have no library of ours. */
	void (*take)(struct np_session *self, const struct np_message *message);

	/* An event for launcher 0. */
	void (*send_first)(struct np_session *self, const struct np_event *event);

	/* Steps a second × 1000 of the ranks of this launcher, -1: unknown. */
	int64_t (*step_rate)(const struct np_session *self);

	/* Is the application of this launcher gone? */
	bool (*has_left)(const struct np_session *self);
};

/* The back-end of one launcher: who it is of, what it asks, and what each of them keeps. */
struct np_backend {
	struct np_job *job;
	struct np_backend_session session;
	struct np_channel channel;   /* to our library in the application */
	struct np_torch torch;       /* --backend torch */
	struct np_attached attached; /* --backend msprof --dynamic */
};

/* Before the application starts: its environment. */
int np_backend_begin(struct np_backend *backend, struct np_env *env, struct np_err *err)
	NP_MUST_USE;

/* To be called often. */
void np_backend_attend(struct np_backend *backend);

/* Send a message to who profiles this rank, or every rank of this launcher; false: there is nobody.
 */
bool np_backend_send(struct np_backend *backend, int32_t rank, const struct np_message *message);
void np_backend_send_all(struct np_backend *backend, const struct np_message *message);

/* The application is gone: end what was started beside it. */
void np_backend_end(struct np_backend *backend);

/* All applications of the job are gone: remove what killed ones may have left outside of it. */
void np_backend_clean(struct np_backend *backend);

#endif /* NP_BACKEND_H */
