/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CAUSE_H
#define NP_CAUSE_H

/*
 * Inside of the search for root_causes. causes.c walks over all instances, backwards
 * in time, root_cause_trace.c passes the charges of each on. What does not depend on charges passed
 * on is found ahead of it, for one block of the walk after the other and on several threads
 * (root_cause_ahead.c): who is charged what by the late arrival itself, and what each did more of
 * than those who waited for it (root_cause_explain.c), since they were last together
 * (root_cause_common.c), by sums over its activity (root_cause_progress.c).
 *
 * An operator of the run is named by its "at": the ranks' operators one after
 * the other, as in np_align.slots.
 */
#include "npuprof/activity.h"
#include "npuprof/idmap.h"
#include "npuprof/root_cause.h"

/* --- what ranks did ----------------------------------------------------------------------------
 */

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
	uint32_t op;
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

/*
 * Of a rank of which only operators are known: before an operator, how far they
 * reach, and what of that they waited and transferred. The rest is unknown.
 */
struct progress_mark {
	np_ns reached;
	np_ns wait;
	np_ns transfer;
};

struct progress_rank {
	NP_VEC(struct progress_cell) cells; /* by device, then time */
	NP_VEC(struct spent_sum) marks;     /* at every 8th segment of a cell, within the cell */
	NP_VEC(struct spent_sum) exposed_marks;
	struct progress_mark *op_marks; /* at every 8th operator; without cells */
};

struct progress {
	const struct np_align *align;
	const struct np_waits *waits;
	struct progress_rank *ranks;
	uint32_t *wait; /* by at: see progress_wait() */
};

int progress_init(struct progress *progress, const struct np_align *align,
		  const struct np_waits *waits, size_t threads, struct np_err *err) NP_MUST_USE;
void progress_release(struct progress *progress);

#define PROGRESS_UNKNOWN ((UINT32_C(1) << 30) - 1)
#define PROGRESS_LONG    (PROGRESS_UNKNOWN - 1)
/* Bits beside: no operator before it ends after it; none before it ends after it started. */
#define PROGRESS_LAST  (UINT32_C(1) << 31)
#define PROGRESS_CLEAR (UINT32_C(1) << 30)

/* What an operator waited: as in np_waits, but neighbours in time are neighbours here. */
static inline np_ns progress_wait(const struct progress *progress, uint32_t rank, uint32_t op)
{
	uint32_t wait = progress->wait[progress->align->rank_first[rank] + op] & PROGRESS_UNKNOWN;

	if (wait < PROGRESS_LONG)
		return wait;
	if (wait == PROGRESS_UNKNOWN)
		return NP_UNKNOWN;
	return progress->waits->wait[np_align_slot(progress->align, rank, op)];
}

/* Had all operators before this one ended when it started? */
static inline bool progress_is_clear(const struct progress *progress, uint32_t rank, uint32_t op)
{
	return progress->wait[progress->align->rank_first[rank] + op] & PROGRESS_CLEAR;
}

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

/* --- of progress: ranks of which only operators are known ---------------------------------------
 */

#define PROGRESS_MARK_EVERY 8

/* How much of a piece of an operator is wait: the first `wait` nanoseconds of it are. */
static inline np_ns progress_waiting(const struct progress *progress, uint32_t rank,
				     struct np_exposed piece, np_ns wait)
{
	np_ns arrival = progress->align->run->ranks[rank]->ops.item[piece.op].start + wait;

	if (arrival >= piece.end)
		return piece.end - piece.begin;
	return arrival > piece.begin ? arrival - piece.begin : 0;
}

int progress_mark_ops(const struct progress *progress, uint32_t index, struct np_err *err)
	NP_MUST_USE;

/* As progress_between() and progress_waited(). */
struct spent_sum progress_sum_of_ops(const struct progress *progress, uint32_t index,
				     uint32_t since, uint32_t until);
int progress_waited_in_ops(const struct progress *progress, uint32_t index, uint32_t since,
			   uint32_t until, waited_list *ret, struct np_err *err) NP_MUST_USE;

/* Append to a list; pieces of one operator come one after the other. */
int progress_add_waited(waited_list *list, uint32_t op, np_ns waiting, struct np_err *err)
	NP_MUST_USE;

/* --- a member of an instance --------------------------------------------------------------------
 */

/* In place of the first share: */
#define NOTHING_MORE 254 /* it did nothing longer than those who waited */
#define NOT_COMPARED 255

/* A member of an instance. */
struct late {
	np_ns wait;   /* as far as the clocks can tell it */
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

/*
 * The operator from which a member of this instance last went on together with
 * all the others: of a collective of them all, before this one, which it stood
 * still for. UINT32_MAX where there is none. It is quickest to ask for later
 * instances first.
 */
uint32_t common_before(const struct common *common, const struct np_instance *instance,
		       const struct late *late, struct common_found *found);

/* The row of a rank in the coverage of a communicator, which is by rank; UINT32_MAX for none. */
uint32_t coverage_of(const struct np_align *align, uint32_t communicator, uint32_t rank);

/* The operator of a rank in an instance; UINT32_MAX for none. */
uint32_t instance_op_of(const struct np_align *align, const struct np_instance *instance,
			uint32_t rank);

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

/* --- ahead of the walk -------------------------------------------------------------------------
 */

/* Behind the last member of a block there are so many more that may be read. */
#define AHEAD_SPARE 16

/* Some instances that follow each other in the walk. */
struct ahead_block {
	NP_VEC(struct seen) instances;
	struct late *members; /* of all of them, in their order */
	size_t room;
	uint32_t *by_communicator; /* indices of instances */
	uint32_t *first;           /* of a communicator's there; one more than there are */
};

struct ahead {
	struct explainer model; /* what explainers begin as */
	uint32_t *order;        /* instances, as the walk takes them: the latest first */
	size_t next;            /* of the order */
	struct common_found *found;
	struct ahead_block blocks[2];
	size_t buckets;        /* of communicators */
	struct np_err *errors; /* by bucket */
};

int ahead_init(struct ahead *ahead, const struct explainer *model, size_t threads,
	       struct np_err *err) NP_MUST_USE;
void ahead_release(struct ahead *ahead);

/* Choose what comes next: nothing behind the last. */
int ahead_fill(struct ahead *ahead, struct ahead_block *block, struct np_err *err) NP_MUST_USE;

/* Look at the instances of a block whose communicator is in a bucket. */
void ahead_look(struct ahead *ahead, struct ahead_block *block, size_t bucket);

/* The first failure of a bucket. */
int ahead_check(const struct ahead *ahead, struct np_err *err) NP_MUST_USE;

/* --- the walk ----------------------------------------------------------------------------------
 */

/* Parts of a row: one for each cause, one for what was passed on. */
enum {
	ROW_PASSED = NP_CAUSES,
	ROW_PARTS
};

/* How the charges of a row of np_charges.rows are explained. */
struct row_parts {
	double by[ROW_PARTS];
	double via;      /* the most that one operator took over, … */
	uint32_t via_at; /* … and which */
};

/* Where the row of a rank in a communicator was found last. */
struct row_place {
	np_str step;
	uint32_t row;
};

#define AMOUNT_PAGE 64

/* Amounts of neighbouring operators. */
struct amount_page {
	np_ns by[AMOUNT_PAGE];
	uint32_t used; /* that are not zero; … */
	uint32_t next; /* … of a page without any: the next such one */
};

/*
 * Amounts by operator. The walk leaves few behind it and few are known ahead of
 * it, so pages are used again as soon as nothing is left in them.
 */
struct amounts {
	uint32_t *page; /* of so many operators, + 1; 0 for none */
	NP_VEC(struct amount_page) pages;
	uint32_t free; /* the first page without amounts, + 1 */
};

/* What the walk has come to. */
struct tracer;

/* What began with each rank in each step. */
struct step_charges {
	struct np_idmap *index; /* step → row */
	NP_VEC(np_ns *) rows;   /* by rank */
	np_ns *now;             /* row of the instance at hand; NULL for none */
	np_str step;            /* of that row */
};

/* Costs are of this step from now on. */
int steps_enter(struct tracer *tracer, np_str step) NP_MUST_USE;

/* In which steps each rank cost much. */
void steps_count_heavy(const struct step_charges *steps, struct np_root_causes *causes);
void steps_release(struct step_charges *steps);

struct tracer {
	const struct np_align *align;
	const struct np_charges *charges;
	struct np_root_causes *causes;
	struct np_err *err;
	struct progress progress;
	struct common common;
	struct explainer explainer; /* of the walk; found for what charges passed on ask */
	struct ahead ahead;
	struct amounts passed; /* by at: charges elsewhere that waiting here caused */
	np_ns worth;           /* charges below this are not explained */
	waited_list waited;
	NP_VEC(np_ns) received; /* by member: passed on to it by members that waited for it */
	NP_VEC(double) weights;
	NP_VEC(int64_t) parts;
	struct np_idmap *edge_index;  /* rank, victim and communicator → edge */
	struct np_idmap *row_index;   /* row of coverage and step → row of charges */
	struct row_place *row_places; /* by row of coverage */
	struct row_parts *row_parts;  /* by row of charges */
	struct step_charges steps;
};

int tracer_index_rows(struct tracer *tracer) NP_MUST_USE;

/* Pass on what this instance received, and explain what its members are charged. */
int trace_instance(struct tracer *tracer, const struct seen *seen) NP_MUST_USE;

/* What was passed to instances that the walk has left behind ends with those who waited there. */
void trace_left_behind(struct tracer *tracer);

#endif /* NP_CAUSE_H */
