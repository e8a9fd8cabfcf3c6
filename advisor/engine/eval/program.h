/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_PROGRAM_H
#define NP_ADVISOR_PROGRAM_H

#include "advisor/engine/rules/rule.h"
#include "advisor/engine/sql/sql.h"
#include "advisor/engine/views/views.h"

/*
 * Rules made ready to run
 * =======================
 *
 * A program is one rule on a connection of its own. What it says in SQL is
 * prepared when it first runs and stays so, since preparing takes longer than
 * running on a small rank; from rank to rank only the views in the slots change.
 * The tables that it makes (with, q, ev) are kept as rows and read as views.
 *
 * A program belongs to one thread at a time.
 */
struct view_slots {
	NP_VEC(struct view_slot) list; /* complete before the first program is made of it */
	struct np_arena *arena;        /* names */
};

/* Slots with the names and columns of a set's views. */
int view_slots_init(struct view_slots *slots, const struct view_set *views, struct np_err *err)
	NP_MUST_USE;

/* Put the views of a set, which has the same names, into the slots. */
void view_slots_fill(struct view_slots *slots, const struct view_set *views);
void view_slots_release(struct view_slots *slots);

/* The view that a name stands for now, or NULL. */
struct view *view_slots_find(const struct view_slots *slots, const char *name);

struct program;

int program_new(const struct rule *rule, const struct view_slots *slots, struct program **ret,
		struct np_err *err) NP_MUST_USE;
void program_free(struct program *program);
void program_freep(struct program **program);

#endif /* NP_ADVISOR_PROGRAM_H */
