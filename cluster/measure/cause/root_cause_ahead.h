/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ROOT_CAUSE_AHEAD_H
#define NP_ROOT_CAUSE_AHEAD_H

/*
 * What does not depend on charges passed on, found ahead of the walk: for one block of
 * it after the other, and on several threads.
 */
#include "root_cause_explain.h"

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

#endif /* NP_ROOT_CAUSE_AHEAD_H */
