/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_PROGRAM_POOL_H
#define NP_ADVISOR_PROGRAM_POOL_H

#include "program.h"

/*
 * Desks: where rules work
 * =======================
 *
 * A pooled has a program of each rule. Whoever looks at a rank takes a free pooled,
 * puts the views of the rank on it and gives it back afterwards, so that there are
 * as many program_pool as threads, and each rule is prepared once for each.
 */
struct program_pool;
struct pooled;

struct program_pool *program_pool_new(const struct rule_library *library) NP_MUST_USE;
void program_pool_free(struct program_pool *program_pool);

/* A pooled with these views; all sets of views have the same names until program_pool_clear(). */
int program_pool_take(struct program_pool *program_pool, const struct view_set *views,
		      struct pooled **ret, struct np_err *err) NP_MUST_USE;
void program_pool_give_back(struct program_pool *program_pool, struct pooled *pooled);

/* Clear away all program_pool; they must have been given back. */
void program_pool_clear(struct program_pool *program_pool);

/* The program of a rule, by its index in the library. */
int pooled_program(struct pooled *pooled, size_t rule, struct program **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_ADVISOR_PROGRAM_POOL_H */
