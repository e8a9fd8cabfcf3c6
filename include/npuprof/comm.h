/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMM_H
#define NP_COMM_H

#include "npuprof/err.h"

/*
 * Who does the work
 * =================
 *
 * The processes that analyse one run together. Results are stored by the index
 * of a rank, whoever computed them, so measures do not know how many there are.
 * One process alone is the serial communicator; a distributed one implements
 * the same three questions.
 */
struct np_comm {
	/* Is item `index` of `count` this process's to load? */
	bool (*owns)(const struct np_comm *comm, size_t index, size_t count);
	/*
	 * Agree on an outcome before going on: the worst code wins everywhere, with
	 * the text of the lowest process that had it. Nobody returns alone from
	 * between two agreements.
	 */
	int (*agree)(const struct np_comm *comm, int code, struct np_err *err);
	/* Does this process speak to the user and write the results? */
	bool (*presents)(const struct np_comm *comm);
};

/* One process that owns, decides and presents everything. */
extern const struct np_comm np_comm_serial;

#endif /* NP_COMM_H */
