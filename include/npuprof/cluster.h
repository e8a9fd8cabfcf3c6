/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLUSTER_H
#define NP_CLUSTER_H

#include "npuprof/map.h"
#include "npuprof/parallel.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * The ranks of a run seen together
 * ================================
 *
 * Steps by id, communicators by hash, pipeline stages, and the place of each
 * rank in the parallel dimensions. Built from a loaded run, which must outlive
 * it; everything behind it is read only.
 */

struct np_arena;
struct np_run;

/* A communicator over all ranks that know it. */
struct np_communicator {
	uint64_t hash;
	np_str name;            /* the communicator string; NONE when only the hash is known */
	np_str pg_name;         /* "tp", "dp" …; NONE when not known */
	const int32_t *members; /* global ranks from the metadata, ascending; NULL if not known */
	size_t member_count;
	int32_t *observed; /* profiled ranks with operators of it, ascending */
	size_t observed_count;
	size_t size;     /* members, else what the links give away; at least the observed */
	bool collective; /* it has operators of this kind */
	bool p2p;
	/*
	 * Global rank by local rank, NP_NO_RANK where neither the metadata nor a
	 * rank's link to itself says it. Of a communicator of all ranks both are equal.
	 */
	int32_t *global;
	size_t global_count;
	bool assumed; /* that it is one of all ranks: the largest, and those profiled fit */
};

/* Place in the parallel dimensions; -1 where it is not known. */
struct np_coordinates {
	int32_t tp;
	int32_t cp;
	int32_t dp;
	int32_t pp;
	int32_t ep;
};

/* Ranks that work on the same part of the model. */
struct np_stage {
	int32_t *ranks; /* ascending */
	size_t count;
};

struct np_cluster {
	const struct np_run *run;
	struct np_arena *arena;
	NP_VEC(np_str) steps;      /* ids in numeric order; NP_STR_NONE for runs without steps */
	struct np_numbers by_step; /* where they are */
	NP_VEC(struct np_communicator)
	communicators;                      /* by type, then hash as text, as Insight lists them */
	struct np_numbers by_hash;          /* of communicators: where they are */
	NP_VEC(struct np_stage) stages;     /* by smallest rank; empty without a pipeline */
	struct np_coordinates *coordinates; /* by index of the rank in the run */
	struct np_parallel parallel;        /* of the first rank that has it */
	int32_t assumed_world; /* by the largest communicator; 0 where that tells nothing */
};

int np_cluster_build(const struct np_run *run, struct np_cluster **ret, struct np_err *err)
	NP_MUST_USE;
void np_cluster_free(struct np_cluster *cluster);
void np_cluster_freep(struct np_cluster **cluster);

/* The index of a step in `steps`; SIZE_MAX for none. */
size_t np_cluster_step(const struct np_cluster *cluster, np_str step);

/* The communicator with this hash, or NULL. */
const struct np_communicator *np_cluster_communicator(const struct np_cluster *cluster,
						      uint64_t hash);

/*
 * The global rank of a local one. One that cannot be mapped is −1 − local: negative
 * numbers are no ranks, and the local one can be read back. NP_UNKNOWN for no peer.
 */
int64_t np_communicator_rank(const struct np_communicator *communicator, int32_t local);

/*
 * Local ranks are global ones in a communicator as large as the job. Where nobody says how large
 * that is, the largest communicator is taken for it if every profiled rank has the same number in
 * it. Done by np_cluster_build(); again for who learns the size later.
 */
int np_cluster_name_world(struct np_cluster *cluster, struct np_err *err) NP_MUST_USE;

/* Number of ranks of the job, known or assumed, or 0. */
int32_t np_cluster_world(const struct np_cluster *cluster);

/* Number of distinct hosts, or 0 when no rank says. */
size_t np_cluster_hosts(const struct np_cluster *cluster);

/*
 * Places in the parallel dimensions by the order in which ranks are laid out
 * (tp fastest, then cp, dp, pp), for world = tp·cp·dp·pp; or, where the
 * framework counted cp into dp, for world = tp·dp·pp. All -1 if the sizes do
 * not fit the world or the rank is not in it.
 */
struct np_coordinates np_coordinates_of(const struct np_parallel *parallel, int32_t rank);

/* Fill cluster->coordinates from the communicators' lists and the sizes (see coordinates.c). */
int np_cluster_find_places(struct np_cluster *cluster, struct np_err *err) NP_MUST_USE;

/* The number of the stage that a rank, by its id, works in; -1 for none. */
int32_t np_cluster_stage(const struct np_cluster *cluster, int32_t rank);

/*
 * The stage of the rank of this index in the run: by place in the parallel dimensions,
 * else by the stages found from communicators; -1 for none.
 */
int32_t np_cluster_stage_at(const struct np_cluster *cluster, size_t index);

/* The stages of a pipeline from its communicators (see stages.c); none without one. */
int np_cluster_find_stages(struct np_cluster *cluster, struct np_err *err) NP_MUST_USE;

#endif /* NP_CLUSTER_H */
