/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DERIVED_H
#define NP_DERIVED_H

/*
 * What the readers of the vendor's derived files share (analysis.db,
 * step_trace_time.csv, communication.json): they name steps and communicators
 * alike, in other containers.
 */

#include "core/model/vendor/task_types.h"
#include "core/model/vendor/values.h"
#include "npuprof/run.h"

#include "core/model/run/comm_links.h"

/* Units of the files: µs for steps and starts, ms for operators, MB for sizes. */
#define US_TO_NS 1e3
#define MS_TO_NS 1e6
#define MB_TO_B  1e6

struct derived {
	struct np_rank *rank;
	struct np_strtab *strings;
	struct np_err *err;
	/* Links of single operators, where the file does not sum them by class. */
	struct np_op_links *op_links;
	size_t ops_without_times; /* left out */
	size_t rows;              /* of steps, transfers and links */
	size_t impossible;        /* values of them that are there, or must be, and cannot be */
	/* A file of all ranks, of which those of `rank` are taken; ends of links are ranks of the
	 * job. */
	bool merged;
	size_t lost_ends; /* of links, that are no members of the communicator */
};

/* A point in time; NP_UNKNOWN if it cannot be one. */
np_ns derived_time(double us);

/* A length of time in the file's unit; NP_UNKNOWN if it is absurd or none. */
np_ns derived_length(double value, double unit);

/* A length that must be there and is not negative: NP_UNKNOWN, which is counted, if it cannot be.
 */
np_ns derived_known_length(struct derived *load, double value, double unit);
np_ns derived_possible(struct derived *load, np_ns length);

/*
 * The vendor subtracts receives one by one, so that a stage in which they overlap may be below
 * zero; never by more than they take.
 */
np_ns derived_stage(struct derived *load, np_ns stage, np_ns bubble);

/* The device may start before the host's mark by its clock; a step of idle time alone has none. */
np_ns derived_preparing(struct derived *load, np_ns preparing);

/*
 * What was moved, and in which time: without one of them the other makes no speed, so that both are
 * 0 where one cannot be, which is counted.
 */
void derived_moved(struct derived *load, double mb, double ms, int64_t *bytes, np_ns *time);

/* A number of MB in bytes; NP_UNKNOWN if it is negative, absurd or none. */
int64_t derived_bytes(double value);

/* How many there were; 0 if the number is negative, absurd or none. */
int64_t derived_count(int64_t value);

/*
 * The step with this label, added if it is new. Step tables say "50",
 * communication tables "step50"; no step is NULL, "" or "step".
 */
int derived_step(struct derived *load, const char *label, size_t length, uint32_t *ret) NP_MUST_USE;

/* The communicator named by its hash in decimal, by its string, or not at all (NULL). */
int derived_group(struct derived *load, const char *text, size_t length, uint32_t *ret) NP_MUST_USE;

/* Totals are sums of ours; a file may hold the vendor's beside the operators. */
bool derived_is_total(const char *name);

/*
 * Append an operator; one without times, or with impossible ones, is counted
 * and left out (*ret is NULL then).
 */
int derived_add_op(struct derived *load, const char *name, size_t length, np_ns start,
		   np_ns elapsed, struct np_comm_op **ret) NP_MUST_USE;

/* Set the vendor's times of the operator that was added last. */
int derived_set_vendor_times(struct derived *load, np_ns transit, np_ns wait, np_ns sync)
	NP_MUST_USE;

/*
 * The end of a link as the rank has it: local to the communicator. Merged files have ranks of the
 * job; one that is no member is counted.
 */
int32_t derived_end(struct derived *load, uint32_t group, int64_t end);

/* The numbers of "(0, 1, 2)", ascending; at most `room` of them. */
size_t derived_read_set(const char *text, int32_t *ranks, size_t room);

bool derived_is_member(int32_t rank, const int32_t *ranks, size_t count);

/* Say how many operators and ends of links were left out. */
void derived_note_oddities(struct derived *load, const char *path, const char *what);

/* The operator of this name, communicator and step; `hint` is where to look first. */
bool derived_find_op(const struct np_rank *rank, np_str name, uint32_t group, uint32_t step,
		     uint32_t hint, uint32_t *ret);

/* The transport of this name; false if there is none. */
bool derived_band_type(const char *name, enum np_band_type *ret);

/* Stage + bubble; in files without them computing + not overlapped + free, if those are known. */
np_ns derived_span(const struct np_step_time *time);

/* What only intervals tell of a step is not known. */
void derived_without_intervals(struct np_step_time *time);

/* 0 for what is not known, where the file's own meaning of a missing number is 0. */
int64_t derived_or_zero(int64_t value);

/* "allreduce-top1" → the pick and the length of the class before it; false for anything else. */
bool derived_split_pick(const char *name, size_t length, enum np_link_pick *pick,
			size_t *class_length);

/*
 * All rows are in: sum links of single operators, and mend the classes of those
 * that the exporter filed under the wrong one.
 */
int derived_finish_links(struct derived *load) NP_MUST_USE;

#endif /* NP_DERIVED_H */
