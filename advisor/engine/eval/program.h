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
struct adv_view_slots {
	NP_VEC(struct adv_view_slot) list; /* complete before the first program is made of it */
	struct np_arena *arena;            /* names */
};

/* Slots with the names and columns of a set's views. */
int adv_view_slots_init(struct adv_view_slots *slots, const struct adv_view_set *views,
			struct np_err *err) NP_MUST_USE;

void adv_view_slots_release(struct adv_view_slots *slots);

/* The view that a name stands for now, or NULL. */
struct adv_view *adv_view_slots_find(const struct adv_view_slots *slots, const char *name);

/* What was composed, prepared; known by what it is made of. */
struct adv_statement {
	const void *key;
	struct adv_composed composed;
	struct adv_sql_stmt *stmt;
};

/* A table that the rule makes: the rows of one of its statements, as a view; or rows of another. */
struct adv_made_table {
	struct adv_rows rows;
	const struct adv_made_table *base; /* whose rows are picked; NULL: it has its own */
	NP_VEC(uint32_t) picked;
	struct adv_view view;
	struct adv_view_slot slot;
};

struct adv_program {
	const struct adv_rule *rule;
	const struct adv_view_slots *slots;
	struct adv_sql *sql;
	NP_VEC(struct adv_statement *) statements;
	NP_VEC(struct adv_made_table *) tables;
	struct np_arena *scratch; /* of one evaluation */

	/* Parameters depend on the chip alone, and tables among them take long to write. */
	struct np_arena *params_arena;
	struct adv_values params;
	char *params_chip;
	bool has_params;
};

struct adv_statement *adv_program_find(const struct adv_program *program, const void *key);
struct adv_statement *adv_program_add(struct adv_program *program, const void *key,
				      struct np_err *err);

/* The table of this name, or NULL if it was not made yet. */
struct adv_made_table *adv_program_table(const struct adv_program *program, const char *name);

/* Make an empty table with the columns that a statement gives. */
int adv_program_add_table(struct adv_program *program, const char *name,
			  const struct adv_sql_stmt *stmt, struct adv_made_table **ret,
			  struct np_err *err) NP_MUST_USE;

/* Make an empty table whose rows will be picked from another one, by their numbers. */
int adv_program_add_picked(struct adv_program *program, const char *name,
			   const struct adv_made_table *base, struct adv_made_table **ret,
			   struct np_err *err) NP_MUST_USE;

/* Forget its rows. */
void adv_made_table_clear(struct adv_made_table *table);

int adv_program_new(const struct adv_rule *rule, const struct adv_view_slots *slots,
		    struct adv_program **ret, struct np_err *err) NP_MUST_USE;
void adv_program_free(struct adv_program *program);
void adv_program_freep(struct adv_program **program);

/*
 * A pool of programs
 * ------------------
 *
 * A member of the pool has a program of each rule. Whoever looks at a rank takes a free
 * member, puts the views of the rank on it and gives it back afterwards, so that there
 * are as many members as threads, and each rule is prepared once for each.
 */
struct adv_program_pool;
struct adv_pooled;

struct adv_program_pool *adv_program_pool_new(const struct adv_rule_library *library) NP_MUST_USE;
void adv_program_pool_free(struct adv_program_pool *pool);

/* A member with these views; all sets of views have the same names until adv_program_pool_clear().
 */
int adv_program_pool_take(struct adv_program_pool *pool, const struct adv_view_set *views,
			  struct adv_pooled **ret, struct np_err *err) NP_MUST_USE;
void adv_program_pool_give_back(struct adv_program_pool *pool, struct adv_pooled *pooled);

/* Clear away all members; they must have been given back. */
void adv_program_pool_clear(struct adv_program_pool *pool);

/* The program of a rule, by its index in the library. */
int adv_pooled_program(struct adv_pooled *pooled, size_t rule, struct adv_program **ret,
		       struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_PROGRAM_H */
