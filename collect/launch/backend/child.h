/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CHILD_H
#define NP_CHILD_H

#include <sys/types.h>

#include "npuprof/err.h"
#include "npuprof/vec.h"

/*
 * The application of one rank
 * ===========================
 *
 * It runs in a process group of its own, so that what it starts can be ended
 * with it. The leader of the group is a guard: a process of ours that does
 * nothing until the launcher is gone. If that happens without a farewell
 * (mpirun kills a job a second after asking it to end), the guard waits for an open
 * profile to be saved, asks the application to end, and kills the group; each waits for half
 * the grace time at most.
 */
struct np_child {
	pid_t pid;   /* 0: not running */
	pid_t group; /* the guard, which leads the group; 0: none */
	int guard;   /* its pipe */
	bool ended;
	int status; /* as a shell reports it: exit status, or 128 + signal; once ended */
};

#define NP_CHILD_INIT ((struct np_child){ .guard = -1 })

/*
 * Start `argv` with the environment `env`, both ending with NULL. NP_E_IO if that
 * cannot be done; an application that cannot be executed ends with 127, as in a shell.
 */
int np_child_start(struct np_child *child, char *const *argv, char *const *env, int64_t grace_s,
		   struct np_err *err) NP_MUST_USE;

/* Tell the guard whether there is a profile that has to be saved. */
void np_child_has_profile(const struct np_child *child, bool open);

/* Has it ended? Never waits. Sets `ended` and `status`. */
bool np_child_poll(struct np_child *child);

/* Send a signal to the application and to all it started. */
void np_child_signal(const struct np_child *child, int number);

/* Dismiss the guard; with `kill_rest` whatever is left of the group is killed. */
void np_child_release(struct np_child *child, bool kill_rest);

/* --- its environment ------------------------------------------------------- */

struct np_env {
	NP_VEC(char *) words; /* "NAME=value" */
};

/*
 * A copy of this process's environment without our own variables and, unless `with_mpi`,
 * without what would make an MPI library in the application believe that it is a rank of
 * ours: OMPI_*, PMIX_*, PMI_*, ORTE_* …
 */
int np_env_inherit(struct np_env *env, char *const *from, bool with_mpi, struct np_err *err)
	NP_MUST_USE;
void np_env_release(struct np_env *env);

const char *np_env_get(const struct np_env *env, const char *name);
int np_env_set(struct np_env *env, const char *name, const char *value, struct np_err *err)
	NP_MUST_USE;

/* What execve() takes, ending with NULL; it lives as long as `env` is not changed. */
char *const *np_env_words(struct np_env *env, struct np_err *err);

#endif /* NP_CHILD_H */
