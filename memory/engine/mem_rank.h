/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_RANK_H
#define NP_MEM_RANK_H

#include "composition.h"
#include "mem_picture.h"
#include "memory_whatif.h"

#include "npuprof/cluster.h"

/*
 * What is known of the memory of one rank
 * =======================================
 *
 * One form for snapshots of the allocator and for the memory tables of a profile. What a source
 * cannot tell is NP_UNKNOWN (or NULL, or an empty list): a snapshot of torch_npu has no times and
 * nothing of what lies outside of PyTorch; a profile has no stacks, no segments and no requests.
 */
struct np_notes;
struct np_run;

enum mem_source {
	MEM_SNAPSHOT,
	MEM_PROFILE,
};

/* A largest value, and when it was first reached: by an event, a time, or both. */
struct mem_reached {
	int64_t bytes;
	int64_t event;
	np_ns time;
};

/* What a component of the memory management, or a module of CANN, held. */
struct mem_component {
	char *name;
	bool module; /* of CANN: "HCCL", "RUNTIME" …; they partition what the device has given */
	int64_t peak_allocated;
	int64_t peak_reserved;
	np_ns peak_time;      /* of reserved */
	int64_t at_allocated; /* at the moment that was chosen */
	int64_t at_reserved;
	int64_t growth; /* bytes per step */
};

/* What the operators of a compiled graph hold at most, by its own logical time. */
struct mem_graph {
	int64_t graph;
	char *model;   /* NULL: the whole graph is static */
	char *largest; /* operator at the peak */
	int64_t largest_bytes;
	int64_t peak;
	int64_t total; /* if nothing were used twice */
	size_t operators;
};

/* Of a curve with few points: the most within a stretch, and where the stretch ends. */
struct mem_point {
	int64_t event;
	np_ns time;
	int64_t allocated;
	int64_t reserved;
};

#define MEM_CURVE_POINTS 512

/* A request that the allocator could not serve, and what there was then. */
struct mem_oom {
	int64_t event; /* NP_UNKNOWN: it has not run out */
	int64_t wanted;
	int64_t device_free; /* of the device, outside of the allocator */
	int64_t free;        /* within reserved, where the request could have gone */
	int64_t largest;     /* piece of that */
	char *what;          /* by whom */
};

/* Was there enough, but not in one piece? */
bool mem_oom_in_pieces(const struct mem_oom *oom);

struct mem_step_use {
	char *id;
	struct mem_reached most; /* allocated */
	int64_t least;
};

/* Which moment the composition is of. */
struct mem_moment {
	enum {
		MEM_AT_PEAK, /* of allocated */
		MEM_AT_END,
		MEM_AT_STEP, /* the peak of the step with this id; else the event of this number */
		MEM_AT_EVENT,
		MEM_AT_TIME, /* ns; from the beginning of the record on if `relative` */
	} kind;
	int64_t number;
	char step[24];
	bool relative;
	bool step_only; /* "step:7" is no event, where steps are not known */
};

/* "peak", "end", "step:7", "event:120", "time:1.5s", "7"; false: none of them. */
bool mem_moment_parse(const char *text, struct mem_moment *ret);

struct mem_rank_options {
	struct mem_moment moment;
	enum mem_by by;
	const char *step_frame;  /* "file:line" or a function; NULL: none */
	const char *const *with; /* settings to foretell */
	size_t with_count;
	bool sweep;
	int64_t device_bytes; /* what a device has; NP_UNKNOWN */
};

struct mem_rank {
	enum mem_source source;
	char *path;
	int64_t rank; /* NP_UNKNOWN: nobody says */
	size_t device;
	bool several;                /* devices in the same file */
	bool gpu;                    /* written by torch for GPUs */
	char *role;                  /* "actor" …; NULL: not known */
	char *host;                  /* likewise */
	struct np_coordinates place; /* -1 where not known */
	char *component;             /* of a profile: what the peaks are of, "PTA" */

	np_ns begin; /* of the record */
	struct mem_reached allocated;
	struct mem_reached active;
	struct mem_reached reserved;
	struct mem_reached requested;
	struct mem_reached gap; /* reserved − allocated */
	int64_t ooms;
	struct mem_oom oom; /* the last */
	int64_t workspace;  /* of operators of CANN, beside the caching allocator */
	int64_t limit;      /* bytes that the process can have */
	int64_t outside;    /* what the process reserves beside the allocator, at the peak */

	enum mem_by by; /* what the groups are by, which may not be what was wanted */
	struct mem_reached at;
	int64_t at_requested;
	int64_t at_reserved;
	int64_t at_blocks;
	struct layout_gaps gaps; /* of snapshots */
	bool lives_known;        /* what was allocated and freed is */
	struct composition *composition;
	struct mem_picture *picture; /* of snapshots, else NULL */
	struct mem_history *history; /* of snapshots, without its events; else NULL */
	struct memory_whatif whatif;

	NP_VEC(struct mem_component) components; /* modules last, the largest first */
	char *usage_problem; /* why the table of modules beside a snapshot could not be used */
	NP_VEC(struct mem_graph) graphs;
	NP_VEC(struct mem_point) curve;
	NP_VEC(struct mem_step_use) steps;
	bool tripped; /* the gate; set by who judges */
};

void mem_rank_release(struct mem_rank *rank);

typedef NP_VEC(struct mem_rank) mem_ranks;
void mem_ranks_release(mem_ranks *ranks);

/* "rank 3", or the name of the file where nobody says. */
void mem_rank_name(const struct mem_rank *rank, struct np_buf *buf);
const char *mem_rank_label(const struct mem_rank *rank, np_str label);

/* Of a group: NP_UNKNOWN where the source does not tell. */
int64_t mem_rank_requested(const struct mem_rank *rank, const struct mem_group *group);
int64_t mem_rank_blocks(const struct mem_group *group);
int64_t mem_rank_never_freed(const struct mem_rank *rank); /* bytes */

/*
 * Add what a snapshot has, a rank for each device that it used. `*ret_trailing` are bytes behind
 * its end that were not read.
 */
int mem_rank_read(const char *path, int64_t number, const struct mem_rank_options *options,
		  mem_ranks *ret, uint64_t *ret_trailing, struct np_err *err) NP_MUST_USE;

/* One of several snapshots that are read side by side: who reads them fills in the first two. */
struct mem_snapshot_slot {
	const char *path;
	int64_t rank;
	mem_ranks ranks; /* to be moved, or released */
	uint64_t trailing;
	struct np_err err;
	int rc;
};

/*
 * Read them on so many threads (0: one per processor), or on fewer where files are large: one takes
 * up to its own size in memory. What is found does not depend on it.
 */
void mem_snapshots_run(struct mem_snapshot_slot *slots, size_t count,
		       const struct mem_rank_options *options, size_t threads);
void mem_snapshots_release(struct mem_snapshot_slot *slots, size_t count);

/* Move the ranks of a slot behind others. */
int mem_snapshot_take(struct mem_snapshot_slot *slot, mem_ranks *ret, struct np_err *err)
	NP_MUST_USE;

/*
 * What the modules of the device had, from the table beside a snapshot, if there is one that is of
 * its dump. One that cannot be read is a problem of its own.
 */
int mem_rank_read_usage(struct mem_rank *rank, bool at_end, struct np_err *err) NP_MUST_USE;

/* The memory tables of the rank at `index` of a run that is loaded; nothing is added without any.
 */
int mem_rank_profile(const struct np_run *run, size_t index, const struct mem_rank_options *options,
		     mem_ranks *ret, struct np_notes *notes, struct np_err *err) NP_MUST_USE;

/* The rank that a name of a snapshot says, NP_UNKNOWN for none; its role (to free), or NULL. */
int64_t mem_rank_in_name(const char *path);
char *mem_rank_role(const char *path);

#endif /* NP_MEM_RANK_H */
