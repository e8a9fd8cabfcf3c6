/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SECRET_H
#define NP_SECRET_H

#include <limits.h>

#include "collect/launch/plan/options.h"
#include "proof.h"

/*
 * Where launchers that only know an address (--rdzv) have the secret of their job from
 * ====================================================================================
 *
 *	NPUPROF_TOKEN   in the environment of all of them, 16 characters or more
 *	else            a file ".npuprof-secret-<job>" in the directory of --save-path, which all
 *	                see: launcher 0 makes it, readable for its user only, with 128 random bits,
 *	                and removes it when all have come
 *
 * It is never on a command line, which every user of a host can read. Without a --job there is no
 *name for the file, and without either of the two the job is refused.
 */
struct np_secret {
	char path[PATH_MAX]; /* of the file; "": there is none */
	bool made;           /* by this launcher */
};

#define NP_SECRET_INIT ((struct np_secret){ .path = "" })

/*
 * The secret of this job, as text. Launchers other than 0 wait for the file for `seconds`.
 * NP_E_USAGE, with the ways to give one, if there is none; NP_E_IO if the file cannot be made, does
 * not come, or is not one that only this user can have written and read.
 */
int np_secret_find(struct np_secret *secret, const struct np_collect_options *options, int rank,
		   int seconds, char token[NP_PROOF_TOKEN], struct np_err *err) NP_MUST_USE;

/* What a file of a secret has; false if it is not there, or not one of this user alone. */
bool np_secret_read(const char *path, char token[NP_PROOF_TOKEN]);

/* Remove the file, if it was made here. */
void np_secret_forget(struct np_secret *secret);

#endif /* NP_SECRET_H */
