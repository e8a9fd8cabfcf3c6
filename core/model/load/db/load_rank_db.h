/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_RANK_DB_H
#define NP_LOAD_RANK_DB_H

/*
 * The reader of the rank database, the best of all files; its parts are in rank_db.h.
 */

#include "npuprof/kernel_sums.h"
#include "npuprof/run.h"

enum np_rank_db_way {
	NP_RANK_DB_AT_ONCE,
	NP_RANK_DB_IN_PARTS,
	NP_RANK_DB_TIMES, /* in parts, and only what NP_LOAD_TIMES is about */
};

/*
 * The rank database: everything is derived from its tasks and operators. In parts
 * it needs little memory, but fails with NP_E_RANGE where the order of the tables
 * does not allow it. What is wrong with the file is reported best without. Kernels
 * are summed if `framework_op` is not NULL, which takes every task with its connection
 * until its kernel is read (rank_db_gather_kernel()): never in parts. Nor
 * is it where steps are not its marks: iterations are found in all that ran.
 */
int np_load_rank_db(struct np_rank *rank, const char *path, enum np_rank_db_way way,
		    const struct np_steps_choice *steps, np_kernel_framework_op *framework_op,
		    struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

/*
 * Its operators, communicators and contents alone: no task is read, so that there are neither steps
 * nor times. NP_E_NOTFOUND where that is not enough to know them: operators are marked, several
 * devices are in one database, or nothing says how many.
 */
int np_load_rank_db_operators(struct np_rank *rank, const char *path, struct np_strtab *strings,
			      struct np_err *err) NP_MUST_USE;

#endif /* NP_LOAD_RANK_DB_H */
