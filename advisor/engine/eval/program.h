/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_PROGRAM_H
#define NP_ADVISOR_PROGRAM_H

#include "compose.h"

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

void view_slots_release(struct view_slots *slots);

/* The view that a name stands for now, or NULL. */
struct view *view_slots_find(const struct view_slots *slots, const char *name);

/* What was composed, prepared; known by what it is made of. */
struct statement {
	const void *key;
	struct composed composed;
	struct sql_stmt *stmt;
};

/* A table that the rule makes: the rows of one of its statements, as a view; or rows of another. */
struct made_table {
	struct rows rows;
	const struct made_table *base; /* whose rows are picked; NULL: it has its own */
	NP_VEC(uint32_t) picked;
	struct view view;
	struct view_slot slot;
};

struct program {
	const struct rule *rule;
	const struct view_slots *slots;
	struct sql *sql;
	NP_VEC(struct statement *) statements;
	NP_VEC(struct made_table *) tables;
	struct np_arena *scratch; /* of one evaluation */

	/* Parameters depend on the chip alone, and tables among them take long to write. */
	struct np_arena *params_arena;
	struct values params;
	char *params_chip;
	bool has_params;
};

struct statement *program_find(const struct program *program, const void *key);
struct statement *program_add(struct program *program, const void *key, struct np_err *err);

/* The table of this name, or NULL if it was not made yet. */
struct made_table *program_table(const struct program *program, const char *name);

/* Make an empty table with the columns that a statement gives. */
int program_add_table(struct program *program, const char *name, const struct sql_stmt *stmt,
		      struct made_table **ret, struct np_err *err) NP_MUST_USE;

/* Make an empty table whose rows will be picked from another one, by their numbers. */
int program_add_picked(struct program *program, const char *name, const struct made_table *base,
		       struct made_table **ret, struct np_err *err) NP_MUST_USE;

/* Forget its rows. */
void made_table_clear(struct made_table *table);

int program_new(const struct rule *rule, const struct view_slots *slots, struct program **ret,
		struct np_err *err) NP_MUST_USE;
void program_free(struct program *program);
void program_freep(struct program **program);

/*
 * A pool of programs
 * ------------------
 *
 * A member of the pool has a program of each rule. Whoever looks at a rank takes a free
 * member, puts the views of the rank on it and gives it back afterwards, so that there
 * are as many members as threads, and each rule is prepared once for each.
 */
struct program_pool;
struct pooled;

struct program_pool *program_pool_new(const struct rule_library *library) NP_MUST_USE;
void program_pool_free(struct program_pool *program_pool);

/* A member with these views; all sets of views have the same names until program_pool_clear(). */
int program_pool_take(struct program_pool *program_pool, const struct view_set *views,
		      struct pooled **ret, struct np_err *err) NP_MUST_USE;
void program_pool_give_back(struct program_pool *program_pool, struct pooled *pooled);

/* Clear away all members; they must have been given back. */
void program_pool_clear(struct program_pool *program_pool);

/* The program of a rule, by its index in the library. */
int pooled_program(struct pooled *pooled, size_t rule, struct program **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_ADVISOR_PROGRAM_H */
