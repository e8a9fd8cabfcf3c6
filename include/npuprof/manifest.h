/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MANIFEST_H
#define NP_MANIFEST_H

#include "npuprof/err.h"
#include "npuprof/vec.h"

/*
 * What the collector says about clocks and captures
 * =================================================
 *
 * The collector leaves a manifest at the root of a run (npuprof_manifest.json): how
 * the clocks of the hosts stood to each other, which rank ran where, how many
 * there were, and which captures are not what was asked for.
 */

struct np_run;

#define NP_MANIFEST_NAME "npuprof_manifest.json"

/* At this time of its own a clock is ahead of the common one by `offset`. */
struct np_clock_knot {
	np_ns local;
	np_ns offset;
};

struct np_manifest_host {
	char *host;
	struct np_clock_knot *knots; /* ascending; NULL without samples */
	size_t knot_count;
	double drift;
	np_ns uncertainty;
};

struct np_manifest_rank {
	int32_t rank;
	uint32_t host;  /* index in hosts */
	bool collected; /* there was a capture of it */
};

/* A capture with less in it than was asked for. */
struct np_manifest_fault {
	int32_t rank;
	bool exporting; /* the capture is whole, its export is not */
	char *dir;      /* relative to the manifest, or "" */
	char *reason;
};

struct np_manifest {
	char *path;
	NP_VEC(struct np_manifest_host) hosts;
	NP_VEC(struct np_manifest_rank) ranks;
	NP_VEC(struct np_manifest_fault) faults;
	int32_t world;          /* 0 when not stated */
	size_t unusable_clocks; /* samples of clocks that cannot be */
	size_t unusable; /* entries of ranks without a number, or of a host that it does not list */
};

/*
 * Read the manifest at the first of the run's roots that has one. NP_E_NOTFOUND
 * when none has, NP_E_FORMAT when it is damaged or of another kind.
 */
int np_load_manifest(const struct np_run *run, struct np_manifest **ret, struct np_err *err)
	NP_MUST_USE;

/*
 * Note what the manifest of a run says of captures that are incomplete, and a manifest that cannot
 * be read: the figures of such a rank are those of a part of its steps.
 */
void np_manifest_note(struct np_run *run);

void np_manifest_freep(struct np_manifest **manifest);

/* Does the manifest say that a rank was collected which is not in the run? */
bool np_manifest_lost(const struct np_run *run);

#endif /* NP_MANIFEST_H */
