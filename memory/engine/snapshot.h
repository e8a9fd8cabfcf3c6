/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_SNAPSHOT_H
#define NP_MEMORY_SNAPSHOT_H

#include "npuprof/map.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * A memory snapshot of torch_npu or torch: what the caching allocator of each device did, in
 * order, and what it had at the end.
 */
enum snap_action {
	SNAP_ALLOC,
	SNAP_FREE_REQUESTED,
	SNAP_FREE_COMPLETED,
	SNAP_SEGMENT_ALLOC,
	SNAP_SEGMENT_FREE,
	SNAP_SEGMENT_MAP,
	SNAP_SEGMENT_UNMAP,
	SNAP_OOM, /* address: what the device had left */
	SNAP_SNAPSHOT,
	SNAP_WORKSPACE,
	SNAP_OTHER, /* unknown to us: changes nothing */
	SNAP_ACTIONS,
};

/* 24 bytes: there may be tens of millions. */
struct snap_event {
	uint64_t address;
	uint64_t size; /* requested bytes of blocks, all of segments */
	uint32_t stack;
	uint16_t stream; /* number in `streams` */
	uint8_t action;
	uint8_t pool; /* number in `pools` */
};

enum snap_state {
	SNAP_INACTIVE,
	SNAP_ALLOCATED,
	SNAP_PENDING,
};

struct snap_block {
	uint64_t address;
	uint64_t size;
	uint64_t requested;
	uint32_t stack;
	enum snap_state state;
};

struct snap_segment {
	uint64_t address;
	uint64_t size;
	int64_t device;
	uint16_t stream;
	uint8_t pool;
	bool small;
	bool expandable;
	bool workspace;
	size_t first; /* of its blocks */
	size_t count;
};

struct snap_frame {
	np_str name;
	np_str file;
	int64_t line;
};

/* Innermost frame first. Stack 0 has none. */
struct snap_stack {
	size_t first;
	size_t count;
};

/* A range that the program named; torch_npu writes none. */
struct snap_annotation {
	np_str name;
	int64_t time;   /* µs */
	int64_t device; /* -1: not said */
	bool start;
};

struct snap_device {
	size_t first; /* of its events, without those of the workspace */
	size_t count;
	uint64_t workspace; /* bytes at the time of the dump */
};

struct snapshot {
	struct np_strtab *texts;
	NP_VEC(struct snap_event) events;
	NP_VEC(int64_t) times; /* in µs, of each event; empty: none is known */
	NP_VEC(struct snap_segment) segments;
	NP_VEC(struct snap_block) blocks;
	NP_VEC(struct snap_frame) frames;
	NP_VEC(uint32_t) stack_frames;
	NP_VEC(struct snap_stack) stacks;
	NP_VEC(struct snap_device) devices;
	NP_VEC(struct snap_annotation) annotations; /* as in the file */
	NP_VEC(uint64_t) streams;                   /* handles, in order */
	NP_VEC(uint64_t) pools;                     /* the first is nobody's own */
	uint64_t trailing;                          /* bytes behind the end of the pickle */
	size_t unknown_keys;                        /* members of records that nobody knows */
	bool settings;        /* the file has allocator_settings: written by torch for GPUs */
	bool pools_of_events; /* events have the pool that they are of */
	int64_t max_split;    /* of these settings, bytes; NP_UNKNOWN: none, or not in the file */
	int64_t divisions;    /* of powers of two, the same for all sizes; likewise */
};

int snapshot_read(const char *path, struct snapshot **ret, struct np_err *err) NP_MUST_USE;
int snapshot_read_bytes(const void *bytes, size_t length, const char *what, struct snapshot **ret,
			struct np_err *err) NP_MUST_USE;
void snapshot_free(struct snapshot *snapshot);
void snapshot_freep(struct snapshot **snapshot);

/* Was it written by torch, for GPUs? torch_npu writes neither times nor its settings. */
bool snapshot_is_of_gpu(const struct snapshot *snapshot);

const char *snapshot_action_name(enum snap_action action);

#endif /* NP_MEMORY_SNAPSHOT_H */
