/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_PROGRAM_PRIVATE_H
#define NP_ADVISOR_PROGRAM_PRIVATE_H

#include "compose.h"
#include "program.h"

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

#endif /* NP_ADVISOR_PROGRAM_PRIVATE_H */
