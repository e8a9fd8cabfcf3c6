/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DETAIL_LOAD_H
#define NP_DETAIL_LOAD_H

/*
 * How a detail is filled: readers, one for each kind of file, append to its
 * sections in any order and say in `has` which of them they could fill;
 * detail_finish() puts everything into the order and the form that detail.h
 * promises. A reader looks at `wants`, which shrinks as sections are found.
 */

#include "core/model/vendor/task_types.h"
#include "core/model/vendor/values.h"

#include "npuprof/csv.h"
#include "npuprof/db.h"
#include "npuprof/detail.h"
#include "npuprof/idmap.h"
#include "npuprof/json.h"
#include "npuprof/map.h"
#include "npuprof/text.h"

struct detail_load {
	struct np_detail *detail;
	const struct np_rank *rank;
	const struct np_source_files *source;
	const struct np_strtab *run_strings;
	unsigned wants; /* sections nobody has found yet */
	struct np_err *err;
	unsigned asked;         /* sections the user wants; the others are let go at the end */
	bool waits_known;       /* the file has the vendor's wait of each kernel */
	bool db_used;           /* tasks and calls came from the database: no text repeats them */
	bool kernels_from_text; /* their connections are in the trace */
	struct np_span session; /* times that rows can have */
	size_t impossible_times;
	size_t impossible_values;   /* of the text file that is being read */
	size_t times;               /* that were looked at */
	struct np_numbers settings; /* their names */
};

/* Sections that are rows of the framework, or columns of them: who fills one fills all. */
#define DETAIL_OF_FRAMEWORK \
	(NP_DETAIL_FRAMEWORK | NP_DETAIL_PYTHON | NP_DETAIL_STACKS | NP_DETAIL_INPUTS | \
	 NP_DETAIL_DEPTH)

/* A little of the same, read by itself where nobody wants the rows. */
#define DETAIL_OF_FRAMEWORK_IN_BRIEF (NP_DETAIL_DISPATCHES | NP_DETAIL_OPERATORS)

static inline bool detail_wants(const struct detail_load *load, unsigned sections)
{
	return (load->wants & sections) != 0;
}

/* The section was found, even if it is empty: nobody else is asked. */
static inline void detail_found(struct detail_load *load, unsigned sections)
{
	load->detail->has |= sections & load->wants;
	load->wants &= ~sections;
}

/* Is it a time that can be computed with, and does it not run backwards? Counts those that are not.
 */
static inline bool detail_time_ok(struct detail_load *load, np_ns start, np_ns end)
{
	load->times++;
	if (vendor_time_ok(start, end) && start >= load->session.begin && end <= load->session.end)
		return true;
	load->impossible_times++;
	return false;
}

/* The same in the detail's own table. */
int detail_intern(struct detail_load *load, const char *text, size_t length, np_str *ret)
	NP_MUST_USE;

/* Shapes without the quotes that files put around them. */
int detail_intern_shapes(struct detail_load *load, const char *text, size_t length, np_str *ret)
	NP_MUST_USE;

/* Lists of the framework: ";\r\n" becomes `separator`, line ends and quotes vanish. */
int detail_intern_list(struct detail_load *load, const char *text, size_t length, char separator,
		       np_str *ret) NP_MUST_USE;

/* The levels of calls by name, in any of their spellings: "acl", "AscendCL", "Hccl" … */
enum np_call_level detail_call_level(const char *name, size_t length);

/* New rows: zeroed, with everything unknown. NULL when out of memory. */
struct np_kernel *detail_add_kernel(struct detail_load *load);
struct np_device_task *detail_add_task(struct detail_load *load);
struct np_framework_call *detail_add_framework(struct detail_load *load);
struct np_mark *detail_add_mark(struct detail_load *load);
struct np_sub_task *detail_add_sub_task(struct detail_load *load);

/* A kernel, or a sub-task, with the times and numbers of the task that it is. */
struct np_kernel *detail_add_kernel_of(struct detail_load *load, const struct np_device_task *task);
struct np_sub_task *detail_add_sub_task_of(struct detail_load *load,
					   const struct np_device_task *task);

/* Note a file or table that could not be used. */
void detail_note(struct detail_load *load, const char *path, const char *what, const char *reason);

/* Note how many values of a file, or a table, cannot be; none is nothing to say. */
void detail_note_impossible(struct detail_load *load, const char *path, const char *what,
			    size_t values, size_t rows);

/* The operator of the rank with this start and name, or NP_NO_ROW. */
uint32_t detail_find_op(const struct detail_load *load, np_ns start, np_str name);

/* detail_pmu.c: counters while they are read. */
struct detail_pmu {
	NP_VEC(np_str) names;
	NP_VEC(double) scales; /* from the file's unit to ours */
	size_t room;           /* columns there is room for, while not all of them are known */
};

/* The column of a counter by its name in a file, added if it is new. */
int detail_pmu_column(struct detail_load *load, struct detail_pmu *pmu, const char *name,
		      size_t length, uint32_t *ret) NP_MUST_USE;

/*
 * Where all kernels are known, but columns are found with their values: make room
 * for all columns so far, and some more. Value c of kernel k is pmu[k * room + c].
 */
int detail_pmu_reserve(struct detail_load *load, struct detail_pmu *pmu) NP_MUST_USE;

/* All columns are known now: their names are kept, and values lie as in np_detail. */
int detail_pmu_finish(struct detail_load *load, const struct detail_pmu *pmu) NP_MUST_USE;
void detail_pmu_release(struct detail_pmu *pmu);

/* Readers. Each returns NP_OK unless memory runs out; what cannot be read is noted. */
int detail_read_db(struct detail_load *load) NP_MUST_USE;
int detail_read_trace(struct detail_load *load) NP_MUST_USE;
int detail_read_kineto(struct detail_load *load) NP_MUST_USE;
int detail_read_kernels(struct detail_load *load) NP_MUST_USE;
int detail_read_memory(struct detail_load *load) NP_MUST_USE;
int detail_read_settings(struct detail_load *load) NP_MUST_USE;

/* One setting, or the members of an object as settings of their own. */
int detail_add_setting(struct detail_load *load, const char *prefix, const char *name,
		       const struct np_json *value) NP_MUST_USE;
int detail_add_setting_text(struct detail_load *load, const char *name, const char *value,
			    size_t length) NP_MUST_USE;

/* detail_timed.c: long lists of rows that begin with their start; equal ones stay in order. */
struct detail_timed {
	char *items;
	size_t count;
	size_t size;
	int (*compare)(const void *, const void *, void *); /* by start first */
	void *context;
};

/* detail_order.c: every section in its order, and links found from their calls. */
int detail_sort(struct detail_load *load) NP_MUST_USE;

/*
 * Rows of detail->framework by thread, start and, of those that start together, the
 * innermost last, to be freed by the caller; NULL when out of memory.
 */
uint32_t *detail_order_calls(const struct np_detail *detail);

/* detail_finish.c: steps, order, depth, waits. */
int detail_finish(struct detail_load *load) NP_MUST_USE;

#endif /* NP_DETAIL_LOAD_H */
