/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ROOT_CAUSE_EXPLAIN_H
#define NP_ROOT_CAUSE_EXPLAIN_H

/*
 * One instance: who came when, what each member is charged by its own late arrival,
 * and what it did more of than those who waited for it since they were last together.
 *
 * An operator of the run is named by its "at": the ranks' operators one after
 * the other, as in np_align.slots.
 */
#include "root_cause_progress.h"

#include "npuprof/align.h"
#include "npuprof/charge.h"

/* --- a member of an instance --------------------------------------------------------------------
 */

/* In place of the first share: */
#define NOTHING_MORE 254 /* it did nothing longer than those who waited */
#define NOT_COMPARED 255

/* A member of an instance. */
struct late {
	np_ns wait;   /* as far as the clocks can resolve it */
	np_ns charge; /* by its own late arrival */
	uint32_t rank;
	uint32_t row; /* of the coverage: the rank in this communicator */
	uint32_t at;
	uint32_t arrival; /* not its own: which member came at this place, the first first */
	uint8_t more[SPENT_KINDS]; /* shares; see explainer_compare() */
	uint16_t back; /* with them: so many operators before, all were together; see since_of() */
};

#define BACK_NEVER 0          /* they never were */
#define BACK_FAR   UINT16_MAX /* so many or more */

static inline uint32_t op_of(const struct np_align *align, const struct late *late)
{
	return late->at - align->rank_first[late->rank];
}

/* --- where they meet ---------------------------------------------------------------------------
 */

#define COMMON_GROUPS 16

/* A rank's own numbers of the communicators that hold all ranks of one, which is among them. */
struct common_groups {
	uint32_t group[COMMON_GROUPS];
	uint32_t count;
};

struct common {
	const struct np_align *align;
	const struct progress *progress;
	struct common_groups *groups; /* by row of coverage */
};

int common_init(struct common *common, const struct np_align *align,
		const struct progress *progress, struct np_err *err) NP_MUST_USE;
void common_release(struct common *common);

/* What common_before() found last, by row of coverage. */
struct common_found {
	uint32_t op;    /* UINT32_MAX: nothing, … */
	uint32_t until; /* … before this operator */
	uint32_t count; /* … of an instance with so many members */
};

struct common_found *common_found_new(const struct np_align *align) NP_MUST_USE;

/* The row of a rank in the coverage of a communicator, which is by rank; UINT32_MAX for none. */
uint32_t coverage_of(const struct np_align *align, uint32_t communicator, uint32_t rank);

/* --- one instance ------------------------------------------------------------------------------
 */

/* Charges below a microsecond are not worth an explanation, nor a place in the chain. */
#define WORTH_EXPLAINING_NS 1000

struct seen {
	const struct np_instance *instance;
	struct late *members;
	np_ns charges; /* of all of them */
	bool known;    /* all waits are; else nobody is charged */
};

/* Looks at one instance after the other. Each thread has its own. */
struct explainer {
	const struct np_align *align;
	const struct np_clock *clock;
	const struct np_waits *waits;
	const struct progress *progress;
	const struct common *common;
	struct common_found *found;
	struct np_err *err;
	struct np_charging charging;
	NP_VEC(np_ns) charge;
	const struct seen *typical_of;   /* whose waiters… */
	double typical[SPENT_KINDS];     /* did this before they came */
	const struct np_instance *since; /* … since this one; NULL: from the beginning */
};

/* Waiters that a late rank is compared with, at most: more change the mean little. */
#define MOST_COMPARED 4

/* Of so many members every so manieth is one of them, the first to come first. */
static inline uint32_t compared_stride(uint32_t count)
{
	return (count + MOST_COMPARED - 1) / MOST_COMPARED;
}

/* See who came when, and what each is charged. */
int explainer_see(struct explainer *explainer, struct seen *seen) NP_MUST_USE;

/* The least charge of the instance that is worth explaining, if so much is received beside it. */
np_ns worth_explaining(const struct seen *seen, np_ns received);

/* What a member did more of than those who waited for it, in shares. */
void explainer_compare(struct explainer *explainer, const struct seen *seen, uint32_t index);
void explainer_release(struct explainer *explainer);

/* The operator that explainer_compare() compared a member from; UINT32_MAX: from the beginning. */
uint32_t since_of(struct explainer *explainer, const struct np_instance *instance,
		  const struct late *late);

#endif /* NP_ROOT_CAUSE_EXPLAIN_H */
