/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ORIGIN_PRIVATE_H
#define NP_ORIGIN_PRIVATE_H

#include "npuprof/activity.h"
#include "npuprof/origin.h"

/* What a rank can spend time on before it arrives. */
enum spent {
	SPENT_COMPUTE,
	SPENT_HOST,
	SPENT_TRANSFER,
	SPENT_UNKNOWN,
	SPENT_WAIT,
	SPENT_KINDS,
};

struct spent_sum {
	np_ns by[SPENT_KINDS];
};

/* An operator in which a rank waited. */
struct waited {
	uint32_t slot;
	np_ns ns;
};

/*
 * What each rank had done by any moment: sums from the beginning of its record,
 * kept for every so many segments, so that a window is the difference of two.
 */
struct progress_cell {
	np_ns begin;
	np_ns end;
	uint32_t cell; /* index in np_activity.cells */
	uint32_t first_mark;
	uint32_t first_exposed_mark;
	struct spent_sum before; /* at begin */
};

struct progress_rank {
	NP_VEC(struct progress_cell) cells; /* by device, then time */
	NP_VEC(struct spent_sum) marks;     /* at every 32nd segment of a cell, within the cell */
	NP_VEC(struct spent_sum) exposed_marks;
};

struct progress {
	const struct np_align *align;
	const struct np_waits *waits;
	struct progress_rank *ranks;
};

int progress_init(struct progress *progress, const struct np_align *align,
		  const struct np_waits *waits, struct np_err *err) NP_MUST_USE;
void progress_release(struct progress *progress);

/*
 * What a rank (by index) did from the end of its operator `since` (UINT32_MAX:
 * from the beginning) to the start of its operator `until`.
 */
struct spent_sum progress_between(const struct progress *progress, uint32_t rank, uint32_t since,
				  uint32_t until);

/* The operators in which it waited in that time. */
typedef NP_VEC(struct waited) waited_list;
int progress_waited(const struct progress *progress, uint32_t rank, uint32_t since, uint32_t until,
		    waited_list *ret, struct np_err *err) NP_MUST_USE;

/*
 * Did the rank stand still until the operator ended? Then it went on from a known
 * place of its program, where all others went on too.
 */
bool progress_blocked(const struct progress *progress, uint32_t rank, uint32_t op);

/* Where ranks meet: which communicators hold all ranks of another, itself included. */
struct common {
	const struct np_align *align;
	const struct progress *progress;
	NP_VEC(uint32_t) outer; /* by communicator */
	uint32_t *first;        /* of a communicator's; one more than there are communicators */
	uint32_t *found;        /* by row of coverage: what common_before() found last */
	uint32_t *instance;     /* by slot */
};

static inline const struct np_instance *instance_of(const struct common *common, uint32_t slot)
{
	return &common->align->instances.item[common->instance[slot]];
}

#define COMMON_NOT_YET (UINT32_MAX - 1)

int common_init(struct common *common, const struct np_align *align,
		const struct progress *progress, struct np_err *err) NP_MUST_USE;
void common_release(struct common *common);

/*
 * The operator of a member of this instance from which it last went on together
 * with all the others: of a collective of them all, before this one, which it
 * stood still for. UINT32_MAX where there is none. Ask for later instances first.
 */
uint32_t common_before(const struct common *common, const struct np_instance *instance,
		       const struct np_member *member);

/* The operator of a rank in an instance; UINT32_MAX for none. */
uint32_t instance_op_of(const struct np_align *align, const struct np_instance *instance,
			uint32_t rank);

#endif /* NP_ORIGIN_PRIVATE_H */
