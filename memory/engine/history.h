/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_HISTORY_H
#define NP_MEMORY_HISTORY_H

#include "layout.h"
#include "snapshot.h"

/*
 * What one device of a snapshot did: the state at the beginning, which the file does not have and
 * which follows from its end and its events; curves; the life of every block.
 */
struct mem_life {
	uint64_t size;
	uint64_t requested;
	uint32_t birth; /* event; MEM_NONE: before the record */
	uint32_t freed; /* event of free_requested; MEM_NONE: alive at the end */
	uint32_t done;  /* event of free_completed */
	uint32_t stack;
};

/* A largest value, and the first event that reached it. */
struct mem_peak {
	uint64_t bytes;
	size_t at;
};

struct mem_start_block {
	uint64_t address;
	uint64_t size; /* 0: not known, only what was requested */
	uint64_t requested;
	uint32_t stack;
	bool pending;
};

struct mem_range {
	uint64_t address;
	uint64_t size;
	uint32_t key;
	bool expandable;
};

/* A step of the program, from its first event on; what was allocated in it at most and at least. */
struct mem_history_step {
	char id[24];
	size_t first;
	struct mem_peak most;
	uint64_t least;
};

/* Curves with few points: the most within a stretch of events. */
struct mem_history_point {
	size_t last; /* event */
	uint64_t allocated;
	uint64_t reserved;
};

#define MEM_HISTORY_POINTS 512

struct mem_history {
	const struct snapshot *snapshot;
	const struct snap_event *events;
	size_t count;
	size_t device;
	struct mem_settings settings; /* of the recording, as far as they show */
	size_t actions[SNAP_ACTIONS];
	size_t release_runs; /* runs of segments given back */
	NP_VEC(struct mem_range) start_ranges;
	NP_VEC(struct mem_start_block) start_blocks; /* by address */
	uint64_t start_reserved;
	uint64_t start_allocated;
	uint64_t start_requested;
	size_t start_unsure;           /* blocks that may be larger than what was requested gives */
	NP_VEC(struct mem_life) lives; /* those from before first */
	struct mem_peak allocated;
	struct mem_peak active;
	struct mem_peak reserved;
	struct mem_peak requested;
	struct mem_peak gap; /* reserved − allocated */
	uint64_t end_allocated;
	uint64_t end_reserved;
	uint64_t end_requested;
	struct layout_gaps end_gaps;
	size_t inconsistent;                   /* events that cannot be */
	size_t end_blocks;                     /* in use at the end, as the file has them */
	size_t wrong_sizes;                    /* those of which the rules give another size */
	NP_VEC(struct mem_history_step) steps; /* empty: not known */
	NP_VEC(struct mem_history_point) curve;
	size_t curve_stretch; /* that its last point is of */
};

/*
 * `settings`: those of the recording, which the sizes of blocks follow from; NULL: the usual ones,
 * as far as the file does not show others.
 * `step_frame`, "file:line" or a function, opens a step with each first of its allocations; NULL:
 * steps are those that the profiler left as annotations, or are not known.
 */
int history_new(const struct snapshot *snapshot, size_t device, const struct mem_settings *settings,
		const char *step_frame, struct mem_history **ret, struct np_err *err) NP_MUST_USE;
void history_free(struct mem_history *history);
void history_freep(struct mem_history **history);

/*
 * Lay the beginning as it was into an empty layout, and count what cannot be. Numbers of lives are
 * those of start blocks.
 */
int history_lay_start(const struct mem_history *history, struct mem_layout *layout, size_t *ret_bad,
		      struct np_err *err) NP_MUST_USE;

/* Do few events contradict others? */
bool history_is_trusted(const struct mem_history *history);

/* Is a segment, or are pages of one, given back? */
bool history_releases(const struct snap_event *event);

/* The allocator as it was after event `at`. Release it. */
int history_state(const struct mem_history *history, size_t at, struct mem_layout *ret,
		  struct np_err *err) NP_MUST_USE;

/* The number of the step that an event is in; SIZE_MAX before the first. */
size_t history_step_at(const struct mem_history *history, size_t event);

/* Is the block allocated after event `at`? */
bool history_alive(const struct mem_life *life, size_t at);

#endif /* NP_MEMORY_HISTORY_H */
