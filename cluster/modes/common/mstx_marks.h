/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MSTX_MARKS_H
#define NP_MSTX_MARKS_H

/*
 * Times between marks "X_start" and "X_stop" of a thread, and of ranges, on the
 * three layers where a mark is seen: framework, CANN and device.
 */

#include "mode.h"

enum mstx_layer {
	MSTX_FRAMEWORK,
	MSTX_CANN,
	MSTX_DEVICE,
	MSTX_LAYERS,
};

/* One pair of marks, or one range. */
struct mstx_mark {
	np_str name;
	np_str step;             /* id; NP_STR_NONE outside of steps */
	np_ns time[MSTX_LAYERS]; /* NP_UNKNOWN where the mark was not seen */
	np_ns start;
};

struct mstx_marks {
	NP_VEC(struct mstx_mark) list;
	size_t unpaired; /* that lack their start or stop */
};

/*
 * The marks and ranges of a rank by step and name; several of one name in a step
 * are told apart by a number. `ret` is zeroed before, and released after a failure, too.
 */
int mstx_marks_read(struct mode_rank *rank, struct mstx_marks *ret) NP_MUST_USE;
void mstx_marks_release(struct mstx_marks *marks);

#endif /* NP_MSTX_MARKS_H */
