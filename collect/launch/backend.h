/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BACKEND_H
#define NP_BACKEND_H

#include "job.h"

/*
 * Who profiles
 * ============
 *
 *	acl     our library in the application, through AscendCL: any window, any program
 *	torch   torch_npu's dynamic_profile, asked through its own file: operators and
 *	        stacks of the framework too, for programs with a PyTorch optimizer
 *	msprof  msprof around each application: no steps, all from start to end
 */

/*
 * Turn "auto" into one of them, and say in `notes` what deserves a word. NP_E_USAGE for settings
 * that the chosen one cannot serve.
 */
int np_backend_choose(struct np_job *job, struct np_buf *notes, struct np_err *err) NP_MUST_USE;

#endif /* NP_BACKEND_H */
