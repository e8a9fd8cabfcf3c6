/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JOB_LAYOUT_H
#define NP_JOB_LAYOUT_H

#include "coord.h"

/*
 * Which rank is on which host
 *
 * Hosts are numbered in the order of their first rank, which is the one that
 * speaks for the host ("leader"). A simulated host (npuprof/realtime.h) counts as
 * one of its own.
 */
enum {
	NP_HOST_NAME = 256,
	NP_HOST_UID = 32,
};

struct np_job_layout_rank {
	int host;  /* index */
	int local; /* number among the ranks of the host */
};

struct np_job_layout_host {
	char name[NP_HOST_NAME];
	char uid[NP_HOST_UID];
	int leader; /* its first rank */
	int ranks;
};

struct np_job_layout {
	int world;
	int host_count;
	struct np_job_layout_rank *ranks; /* [world] */
	struct np_job_layout_host *hosts; /* [host_count] */
	char first_address[NP_HOST_NAME]; /* where rank 0 can be reached */
	bool simulated;                   /* some host is */
};

/* Ask every rank; all get the same answer. */
int np_job_layout_make(struct np_job_layout *layout, struct np_coord *coord, struct np_err *err)
	NP_MUST_USE;

/* As if all ranks were on this host: as long as they cannot be asked. */
int np_job_layout_alone(struct np_job_layout *layout, int world, struct np_err *err) NP_MUST_USE;
void np_job_layout_release(struct np_job_layout *layout);

/* What one rank says of its host: name, identity, the machine it really is, and whether simulated.
 */
struct np_job_layout_word {
	char name[NP_HOST_NAME];
	char uid[NP_HOST_UID];
	char machine[NP_HOST_NAME];
	bool simulated;
};

/* What this launcher says. */
void np_job_layout_describe(struct np_job_layout_word *word);

/* Are these the same hosts, in the same order? */
bool np_job_layout_same_hosts(const struct np_job_layout *layout,
			      const struct np_job_layout *other);

/* Number hosts and ranks from what all ranks said. */
int np_job_layout_number(struct np_job_layout *layout, const struct np_job_layout_word *words,
			 int world, struct np_err *err) NP_MUST_USE;

#endif /* NP_JOB_LAYOUT_H */
