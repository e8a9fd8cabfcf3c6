/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_DESK_H
#define NP_ADVISOR_DESK_H

#include "program.h"

/*
 * Desks: where rules work
 * =======================
 *
 * A desk has a program of each rule. Whoever looks at a rank takes a free desk,
 * puts the views of the rank on it and gives it back afterwards, so that there are
 * as many desks as threads, and each rule is prepared once for each.
 */
struct desks;
struct desk;

struct desks *desks_new(const struct rule_library *library) NP_MUST_USE;
void desks_free(struct desks *desks);

/* A desk with these views; all sets of views have the same names until desks_clear(). */
int desks_take(struct desks *desks, const struct view_set *views, struct desk **ret,
	       struct np_err *err) NP_MUST_USE;
void desks_give_back(struct desks *desks, struct desk *desk);

/* Clear away all desks; they must have been given back. */
void desks_clear(struct desks *desks);

/* The program of a rule, by its index in the library. */
int desk_program(struct desk *desk, size_t rule, struct program **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_ADVISOR_DESK_H */
