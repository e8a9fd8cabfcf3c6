/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DEVICE_TIME_H
#define NP_DEVICE_TIME_H

#include "npuprof/map.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * Where the time of devices goes
 * ==============================
 *
 * Kernels by operator type and shapes of their inputs, with the unit of the AI core that
 * keeps them busy longest: what one looks at where there is nobody to compare a rank
 * with. Kernels are given one by one, in any order; the result does not depend on it.
 */

/* Units of an AI core whose counters say how much of its time they were busy. */
enum np_unit {
	NP_UNIT_CUBE,
	NP_UNIT_VECTOR,
	NP_UNIT_SCALAR,
	NP_UNIT_MTE1,
	NP_UNIT_MTE2,
	NP_UNIT_MTE3,
	NP_UNIT_FIXPIPE,
	NP_UNITS,
};

/* A unit that is busy less than this share of the time bounds nothing. */
#define NP_UNIT_BUSY 0.5

struct np_device_kernel {
	const char *type;   /* may be NULL, as the next two */
	const char *shapes; /* "32,3;64" */
	const char *core;   /* "AI_CORE" … */
	np_ns duration;
	double busy[NP_UNITS]; /* parts of 1; NaN where not recorded */
};

/* Kernels of one type, shape and core. */
struct np_device_sort {
	np_str type; /* in `strings`; NONE where it was not recorded */
	np_str shapes;
	np_str core;
	int64_t count;
	np_ns total;           /* Σ durations over devices and steps */
	np_ns counted;         /* of those with counters */
	double busy[NP_UNITS]; /* mean of those, by duration; NaN where none has the counter */
	double share;          /* of the time of all kernels */
	np_ns per_step;        /* of a device */
};

struct np_device_time {
	struct np_strtab *strings;
	NP_VEC(struct np_device_sort) list; /* by total, the longest first */
	struct np_map map;                  /* of the list, until it is finished */
	size_t cells;                       /* devices × steps that the kernels are of */
	int64_t count;
	np_ns total;
	np_ns counted;
	np_ns per_step; /* Σ of one device in one step, on average */
};

struct np_device_time *np_device_time_new(void) NP_MUST_USE;
void np_device_time_free(struct np_device_time *time);
void np_device_time_freep(struct np_device_time **time);

int np_device_time_add(struct np_device_time *time, const struct np_device_kernel *kernel,
		       struct np_err *err) NP_MUST_USE;

/* After the last kernel: of so many devices × steps. */
void np_device_time_finish(struct np_device_time *time, size_t cells);

/* The unit that is busy longest; NP_UNITS where no counter says. */
enum np_unit np_device_sort_bound(const struct np_device_sort *sort);

/* Have kernels on this core ("AI_CORE", "MIX_AIC" …, "" where unknown) counters of units? */
bool np_core_is_counted(const char *core);

/* "cube", "mte2" … */
const char *np_unit_name(enum np_unit unit);

#endif /* NP_DEVICE_TIME_H */
