/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SESSION_ENVIRONMENT_H
#define NP_SESSION_ENVIRONMENT_H

#include "collect/launch/backend/child.h"
#include "collect/launch/coord/job.h"

/*
 * The environment of this rank's application: what was inherited without MPI's
 * variables, RANK and its relatives where they are not set (with force_env: always), and, if
 * there is a library to inject, what protocol.h asks for.
 */
int np_session_environment(struct np_env *env, const struct np_job *job, const char *inject,
			   const char *socket, const char *master_port, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_SESSION_ENVIRONMENT_H */
