/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_KERNEL_SUMS_H
#define NP_KERNEL_SUMS_H

#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * Kernels, summed while they are read
 * ===================================
 *
 * Who compares runs needs every kernel of every rank, but only as sums over those
 * that are alike. Where the load is asked for them (np_load_options.kernel_framework_op)
 * and the kernels of a rank come from its database, they are summed in the pass
 * that reads them. Other ranks have none: their kernels are in the detail
 * (detail.h), one by one, from which the same sums follow.
 *
 * Texts are ids in the table of the run; what was not recorded is NP_STR_NONE.
 */

/*
 * Is a call of the framework with this name one that kernels are told apart by?
 * Of several around the launch of a kernel the outermost is its framework_op.
 */
typedef bool np_kernel_framework_op(const char *name);

/* Does a kernel use the cube unit? By its counters alone. */
enum np_cube {
	NP_CUBE_UNKNOWN,
	NP_CUBE_NO,
	NP_CUBE_YES,
};

/* What kernels that are alike have in common. */
struct np_kernel_sort {
	np_str name;
	np_str type;
	np_str core;
	np_str in_shapes;
	np_str in_dtypes;
	np_str in_formats;
	np_str framework_op;        /* name of the call; NONE without */
	bool framework_op_backward; /* the call belongs to a backward pass, by its threads */
	enum np_cube cube;
};

/* The kernels of one sort on one device in one step. */
struct np_kernel_sum {
	uint32_t sort;
	np_str step; /* id of the step */
	int32_t device;
	int64_t count;
	np_ns total; /* Σ durations */
	np_ns owned; /* without what kernels of the device that started earlier took */
	np_ns least;
	np_ns most;
	np_ns computing; /* Σ max(aic_mac_time, aic_mte2_time) + aiv_total_time; what is not
			    recorded counts nothing */
};

struct np_kernel_sums {
	NP_VEC(struct np_kernel_sort) sorts;
	NP_VEC(struct np_kernel_sum) sums; /* by the first start of each */
	np_str chip;                       /* "Ascend910B"; NONE when not known */
	int64_t mhz;                       /* mean of the frequency samples; NP_UNKNOWN */
};

void np_kernel_sums_free(struct np_kernel_sums *sums);
void np_kernel_sums_freep(struct np_kernel_sums **sums);

/*
 * The same in a few bytes for each, for as long as nobody looks at them: of many shapes
 * there are as many sums as kernels, and those of all ranks wait for the last one.
 */
struct np_packed_sums;

int np_kernel_sums_pack(const struct np_kernel_sums *sums, struct np_packed_sums **ret,
			struct np_err *err) NP_MUST_USE;
int np_kernel_sums_unpack(const struct np_packed_sums *packed, struct np_kernel_sums **ret,
			  struct np_err *err) NP_MUST_USE;
void np_packed_sums_free(struct np_packed_sums *packed);

/* The computing part of a kernel by its counters in ns; NaN for those not recorded. */
np_ns np_kernel_computing(double mac, double mte2, double aiv);

/* Whether the cube unit was used, by the counters of its time and of all of the AI core. */
enum np_cube np_kernel_cube(double mac, double total);

/* --- calls around others --------------------------------------------------------------------- */

/*
 * Calls of the framework that are open, by thread, while those of each thread are
 * walked in the order of their starts, the longest first of those that start
 * together.
 */
struct np_open_call {
	np_ns start;
	np_ns end;
	size_t below;          /* of the same thread, + 1; 0 for none */
	uint32_t framework_op; /* of the outermost that counts, up to here; UINT32_MAX for none */
};

struct np_open_calls {
	NP_VEC(struct np_open_call) list;
	struct np_idmap *top; /* thread → the call entered last, + 1 */
};

int np_open_calls_init(struct np_open_calls *open, struct np_err *err) NP_MUST_USE;
void np_open_calls_release(struct np_open_calls *open);

/*
 * The next call of a thread, which the caller knows by `framework_op`, or UINT32_MAX if
 * kernels are not told apart by it. Gives what was said of the outermost that counts,
 * which may be this one, or UINT32_MAX. NP_E_RANGE if it is not in order.
 */
int np_open_calls_enter(struct np_open_calls *open, int64_t tid, np_ns start, np_ns end,
			uint32_t framework_op, uint32_t *ret_framework_op, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_KERNEL_SUMS_H */
