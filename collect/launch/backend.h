/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BACKEND_H
#define NP_BACKEND_H

#include "child.h"
#include "job.h"

/*
 * Who profiles
 * ============
 *
 *	acl     our library in the application, through AscendCL: any window, any program
 *	torch   torch_npu's dynamic_profile, asked through its own file: operators and
 *	        stacks of the framework too, for programs with a PyTorch optimizer
 *	msprof  msprof around each application: no steps, all from start to end
 *
 * The last two need no library in the application, and leave their data as they like; it is
 * found when the application has ended.
 */

/*
 * Turn "auto" into one of them, and say in `notes` what deserves a word. NP_E_USAGE for settings
 * that the chosen one cannot serve.
 */
int np_backend_choose(struct np_job *job, struct np_buf *notes, struct np_err *err) NP_MUST_USE;

/* What must be so on this host before the start; fails as a check does (check.h). */
int np_backend_check(const struct np_job *job, struct np_err *err) NP_MUST_USE;

/* Look what torch_npu or msprof left in the directory of the job of the ranks of this launcher. */
void np_backend_find(struct np_job *job);

/* --- torch (backend_torch.c) ---------------------------------------------- */

/*
 * torch_npu looks every second or two at a file in the directory that PROF_CONFIG_PATH names,
 * and follows it if it was written later than the second in which the process began. So
 * the file is written when the processes have announced themselves (log/dp_*_rank_<r>.log) and
 * two seconds more have passed, once for all ranks of a host by the first launcher on it.
 */
struct np_torch {
	char dir[NP_PLAN_PATH + NP_PLAN_JOB + 300]; /* of this host */
	bool is_writer;
	bool written;
	int announced; /* ranks, when last counted */
	np_ns since;   /* that number is the same since then */
};

int np_torch_begin(struct np_torch *torch, const struct np_job *job, struct np_env *env,
		   struct np_err *err) NP_MUST_USE;
void np_torch_attend(struct np_torch *torch, struct np_job *job);

/* The text of profiler_config.json for these ranks, as torch_npu reads it. */
void np_torch_format(const struct np_plan *plan, const char *root, const int64_t *ranks,
		     size_t count, struct np_buf *text);

/* --- msprof (backend_msprof.c) -------------------------------------------- */

/* The command line of msprof around the application, ending with NULL; the caller frees both. */
struct np_msprof_line {
	char **argv;
	struct np_buf words;
};

int np_msprof_line(const struct np_job *job, struct np_msprof_line *ret, struct np_err *err)
	NP_MUST_USE;
void np_msprof_line_release(struct np_msprof_line *line);

#endif /* NP_BACKEND_H */
