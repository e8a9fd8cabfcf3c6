/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_FIXTURE_PRIVATE_H
#define NP_ADVISOR_FIXTURE_PRIVATE_H

#include "fixture.h"

struct fixture_view {
	const char *name;
	struct rows rows;
};

/* The small run of a test. */
struct fixture {
	NP_VEC(struct fixture_view) views;
	NP_VEC(int64_t) ranks;
};

/* More columns than any view has. */
#define FIXTURE_COLUMNS 128

void fixture_release(struct fixture *fixture);

/* A view by its name, or NULL. */
struct fixture_view *fixture_view(struct fixture *fixture, const char *name);

/* The rows of a view, begun with the columns that it has. */
int fixture_begin_view(struct fixture *fixture, const char *name, struct fixture_view **ret,
		       struct np_err *err) NP_MUST_USE;

/* Fill in what follows from the rest (fixture_derive.c). */
int fixture_derive(struct fixture *fixture, struct np_err *err) NP_MUST_USE;

int fixture_read(struct fixture *fixture, const struct rule *rule, const struct np_json *test,
		 struct np_err *err) NP_MUST_USE;

/* Run the rule on one rank of it, or on all with NP_NO_RANK. */
int fixture_run(const struct fixture *fixture, const struct rule *rule, const struct np_json *test,
		int32_t rank, struct result *ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_FIXTURE_PRIVATE_H */
