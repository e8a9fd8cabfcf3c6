/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PROCS_H
#define NP_PROCS_H

#include "npuprof/err.h"

/*
 * Who does the work
 * =================
 *
 * The processes that analyse one run together. The first leads: it finds the
 * ranks, hands them out, gathers what is left of them, measures and speaks to
 * the user. The others load what they are given (np_load_serve()) until they
 * are told the end, which they always are: whoever fails says so instead of what
 * it owes, and the leader takes back what it no longer wants. Results are stored by the index of a
 * rank, whoever loaded it, so measures do not know how many there are.
 *
 * One process alone is the serial communicator. Only the first exchanges
 * messages with others, and only one thread of each process does at a time.
 */

/* How far a process is: a few words that nobody waits for. */
struct np_procs_news {
	int64_t ranks; /* done */
	int64_t bytes; /* of them */
};

#define NP_PROCS_SHORT 1024

struct np_procs {
	int rank; /* of this process; the first is 0 */
	int size;
	const char *library; /* which one they talk through, for people */
	/*
	 * Send bytes to a process; they may be changed afterwards. A message of at most
	 * NP_PROCS_SHORT bytes is on its way then, whether or not the other waits for it.
	 */
	int (*send)(const struct np_procs *procs, int to, const void *bytes, size_t length,
		    struct np_err *err);
	/*
	 * Wait for a message from a process without using up a processor; freed by the
	 * caller. One that memory does not suffice for is gone, and the next can be received.
	 */
	int (*receive)(const struct np_procs *procs, int from, void **ret, size_t *ret_length,
		       struct np_err *err);
	/*
	 * Likewise, but keep the first bytes only, padded with zeros. This needs no memory,
	 * nor does sending.
	 */
	int (*skim)(const struct np_procs *procs, int from, void *head, size_t length,
		    struct np_err *err);
	/* Is there a message of a process, so that receiving it would not wait? */
	bool (*arrived)(const struct np_procs *procs, int from);
	/* Tell the first process how far this one is. */
	void (*tell)(const struct np_procs *procs, const struct np_procs_news *news);
	/* What another process told; false when there is nothing new. */
	bool (*hear)(const struct np_procs *procs, int *ret_from, struct np_procs_news *ret);
	/* All processes come to an end. */
	void (*close)(const struct np_procs *procs);
};

/* One process that does everything. */
extern const struct np_procs np_procs_serial;

/*
 * What the library of a back-end exports under NP_PROCS_OPEN. It is loaded only
 * into a process that was started together with others, so that one alone does
 * not pay for it.
 */
typedef int np_procs_opener(const struct np_procs **ret, struct np_err *err);
#define NP_PROCS_OPEN "np_procs_mpi_open"

#endif /* NP_PROCS_H */
