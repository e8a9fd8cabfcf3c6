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

/* Of a rank of which only operators are known: before an operator, and how far they reach. */
struct progress_mark {
	np_ns reached;
	struct spent_sum sum;
};

struct progress_rank {
	NP_VEC(struct progress_cell) cells; /* by device, then time */
	NP_VEC(struct spent_sum) marks;     /* at every 8th segment of a cell, within the cell */
	NP_VEC(struct spent_sum) exposed_marks;
	NP_VEC(struct progress_mark) op_marks; /* at every 8th operator; without cells */
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

/* Ask for any instance from here on. */
void common_restart(const struct common *common);

/* Charges below a microsecond are not worth an explanation, nor a place in the chain. */
#define WORTH_EXPLAINING_NS 1000

/* A member of the instance at hand. */
struct late {
	np_ns wait;     /* as far as the clocks can tell it */
	np_ns charge;   /* by its own late arrival */
	np_ns received; /* passed on to it by members that waited for it */
	double weight;  /* of what it will receive */
};

/* Looks at one instance after the other. Each thread has its own. */
struct explainer {
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_waits *waits;
	const struct progress *progress;
	const struct common *common;
	struct np_err *err;
	NP_VEC(struct late) members;
	NP_VEC(np_ns) wait;
	NP_VEC(np_ns) charge;
	NP_VEC(uint32_t) by_arrival;     /* members, the first to come first */
	double typical[SPENT_KINDS];     /* what waiters did before they came */
	const struct np_instance *since; /* … since this one; NULL: from the beginning */
	bool typical_known;
};

/* See who came when, and what each is charged. Where a wait is not known nobody is. */
int explainer_see(struct explainer *explainer, const struct np_instance *instance, bool *ret_known)
	NP_MUST_USE;

/* The least charge of the instance that is worth explaining, if so much is received beside it. */
np_ns worth_explaining(const struct explainer *explainer, const struct np_instance *instance,
		       np_ns received);

/* In place of the first share: */
#define NOTHING_MORE 254 /* it did nothing longer than those who waited */
#define NOT_COMPARED 255

/* What a member of the instance seen last did more of than those who waited for it, in shares. */
void explainer_compare(struct explainer *explainer, const struct np_instance *instance,
		       uint32_t index, uint8_t ret[SPENT_KINDS]);
void explainer_release(struct explainer *explainer);

/* The operator of a rank in an instance; UINT32_MAX for none. */
uint32_t instance_op_of(const struct np_align *align, const struct np_instance *instance,
			uint32_t rank);

#endif /* NP_ORIGIN_PRIVATE_H */
