/* SPDX-License-Identifier: Apache-2.0 */
/* Rules made ready to run, and a pool of them for the threads. */
#include "program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_LIMIT 200

int view_slots_init(struct view_slots *slots, const struct view_set *views, struct np_err *err)
{
	*slots = (struct view_slots){ .arena = np_arena_new() };
	if (!slots->arena)
		return np_fail_nomem(err, "views");
	for (size_t i = 0; i < views->list.count; i++) {
		struct view *view = &views->list.item[i];
		struct view_slot *slot = np_vec_add(&slots->list, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = view_slot_of(view);
		slot->name = np_arena_text(slots->arena, view->name, strlen(view->name));
		if (!slot->name)
			return np_fail_nomem(err, "views");
	}
	return NP_OK;
}

/* Put the views of a set, which has the same names, into the slots. */
static void view_slots_fill(struct view_slots *slots, const struct view_set *views)
{
	for (size_t i = 0; i < slots->list.count; i++) {
		struct view_slot *slot = &slots->list.item[i];

		/* Sets are mostly made in the same order. */
		if (i < views->list.count && strcmp(views->list.item[i].name, slot->name) == 0)
			slot->view = &views->list.item[i];
		else
			slot->view = view_set_find(views, slot->name);
	}
}

void view_slots_release(struct view_slots *slots)
{
	np_vec_release(&slots->list);
	np_arena_free(slots->arena);
	slots->arena = NULL;
}

struct view *view_slots_find(const struct view_slots *slots, const char *name)
{
	for (size_t i = 0; i < slots->list.count; i++) {
		if (strcmp(slots->list.item[i].name, name) == 0)
			return slots->list.item[i].view;
	}
	return NULL;
}

int program_new(const struct rule *rule, const struct view_slots *slots, struct program **ret,
		struct np_err *err)
{
	NP_CLEANUP(program_freep) struct program *program = calloc(1, sizeof(*program));
	int rc = NP_OK;

	if (program) {
		*program = (struct program){ .rule = rule, .slots = slots };
		program->scratch = np_arena_new();
		program->params_arena = np_arena_new();
	}
	if (!program || !program->scratch || !program->params_arena)
		return np_fail_nomem(err, "a rule");
	program->params.arena = program->params_arena;
	rc = sql_open(&program->sql, err);
	for (size_t i = 0; i < slots->list.count && rc == NP_OK; i++)
		rc = sql_add_slot(program->sql, &slots->list.item[i], err);
	if (rc == NP_OK)
		*ret = NP_STEAL(program);
	return rc;
}

static void free_statement(struct statement *statement)
{
	sql_finish(statement->stmt);
	composed_release(&statement->composed);
	free(statement);
}

static void free_table(struct made_table *table)
{
	view_close(&table->view);
	np_vec_release(&table->picked);
	rows_release(&table->rows);
	free(table);
}

void program_free(struct program *program)
{
	if (!program)
		return;
	for (size_t i = 0; i < program->statements.count; i++)
		free_statement(program->statements.item[i]);
	sql_close(program->sql);
	for (size_t i = 0; i < program->tables.count; i++)
		free_table(program->tables.item[i]);
	np_vec_release(&program->statements);
	np_vec_release(&program->tables);
	values_release(&program->params);
	np_arena_free(program->params_arena);
	np_arena_free(program->scratch);
	free(program->params_chip);
	free(program);
}

void program_freep(struct program **program)
{
	program_free(*program);
	*program = NULL;
}

struct statement *program_find(const struct program *program, const void *key)
{
	for (size_t i = 0; i < program->statements.count; i++) {
		if (program->statements.item[i]->key == key)
			return program->statements.item[i];
	}
	return NULL;
}

struct statement *program_add(struct program *program, const void *key, struct np_err *err)
{
	struct statement **slot = np_vec_add(&program->statements, err);

	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		program->statements.count--;
		(void)np_fail_nomem(err, "a statement");
		return NULL;
	}
	**slot = (struct statement){ .key = key, .composed = COMPOSED_INIT };
	return *slot;
}

struct made_table *program_table(const struct program *program, const char *name)
{
	for (size_t i = 0; i < program->tables.count; i++) {
		if (strcmp(program->tables.item[i]->slot.name, name) == 0)
			return program->tables.item[i];
	}
	return NULL;
}

static int check_columns(const char *const *names, size_t count, struct np_err *err)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcasecmp(names[i], names[j]) == 0)
				return np_fail(err, NP_E_FORMAT, "it gives two columns '%s'",
					       names[i]);
		}
	}
	return NP_OK;
}

static int begin_rows(const struct sql_stmt *stmt, struct rows *rows, struct np_err *err)
{
	const char *names[COLUMN_LIMIT];
	enum np_column_type types[COLUMN_LIMIT];
	size_t count = sql_columns(stmt);
	int rc;

	if (count > COLUMN_LIMIT)
		return np_fail(err, NP_E_FORMAT, "it gives more than %d columns", COLUMN_LIMIT);
	for (size_t i = 0; i < count; i++) {
		names[i] = sql_column_name(stmt, i);
		types[i] = sql_column_type(stmt, i);
	}
	rc = check_columns(names, count, err);
	if (rc == NP_OK)
		rc = rows_init(rows, names, types, count, err);
	rows->limited = true;
	return rc;
}

/* Make a table known to the connection; it is freed if that fails. */
static int add_table(struct program *program, struct made_table *table, struct np_err *err)
{
	struct made_table **position = np_vec_add(&program->tables, err);

	if (!position) {
		free_table(table);
		return NP_E_NOMEM;
	}
	*position = table;
	table->slot = view_slot_of(&table->view);
	return sql_add_slot(program->sql, &table->slot, err);
}

int program_add_table(struct program *program, const char *name, const struct sql_stmt *stmt,
		      struct made_table **ret, struct np_err *err)
{
	struct made_table *table = calloc(1, sizeof(*table));
	int rc = table ? begin_rows(stmt, &table->rows, err) : np_fail_nomem(err, "a table");

	if (rc < 0) {
		free(table);
		return rc;
	}
	view_of_rows(&table->view, name, &table->rows);
	*ret = table;
	return add_table(program, table, err);
}

static int open_picked(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = ((const struct made_table *)view->data)->picked.count;
	return NP_OK;
}

static struct np_cell picked_cell(const struct view *view, size_t row, size_t column)
{
	const struct made_table *table = view->data;

	return *rows_cell(&table->base->rows, table->picked.item[row], column);
}

int program_add_picked(struct program *program, const char *name, const struct made_table *base,
		       struct made_table **ret, struct np_err *err)
{
	struct made_table *table = calloc(1, sizeof(*table));

	if (!table)
		return np_fail_nomem(err, "a table");
	table->base = base;
	table->view = (struct view){ .name = name,
				     .columns = base->view.columns,
				     .column_count = base->view.column_count,
				     .present = true,
				     .data = table,
				     .open = open_picked,
				     .cell = picked_cell };
	*ret = table;
	return add_table(program, table, err);
}

void made_table_clear(struct made_table *table)
{
	view_close(&table->view);
	table->picked.count = 0;
	if (!table->base)
		rows_clear(&table->rows);
}

struct pooled {
	const struct rule_library *library;
	struct view_slots slots;
	struct program **programs; /* by rule; made when they are wanted */
};

struct program_pool {
	const struct rule_library *library;
	pthread_mutex_t lock;
	NP_VEC(struct pooled *) idle;
};

struct program_pool *program_pool_new(const struct rule_library *library)
{
	struct program_pool *program_pool = calloc(1, sizeof(*program_pool));

	if (!program_pool)
		return NULL;
	program_pool->library = library;
	if (pthread_mutex_init(&program_pool->lock, NULL) != 0) {
		free(program_pool);
		return NULL;
	}
	return program_pool;
}

static void free_pooled(struct pooled *pooled)
{
	if (!pooled)
		return;
	for (size_t i = 0; pooled->programs && i < pooled->library->rules.count; i++)
		program_free(pooled->programs[i]);
	free(pooled->programs);
	view_slots_release(&pooled->slots);
	free(pooled);
}

void program_pool_clear(struct program_pool *program_pool)
{
	for (size_t i = 0; i < program_pool->idle.count; i++)
		free_pooled(program_pool->idle.item[i]);
	program_pool->idle.count = 0;
}

void program_pool_free(struct program_pool *program_pool)
{
	if (!program_pool)
		return;
	program_pool_clear(program_pool);
	np_vec_release(&program_pool->idle);
	(void)pthread_mutex_destroy(&program_pool->lock);
	free(program_pool);
}

static int new_pooled(const struct program_pool *program_pool, const struct view_set *views,
		      struct pooled **ret, struct np_err *err)
{
	struct pooled *pooled = calloc(1, sizeof(*pooled));
	int rc;

	if (!pooled)
		return np_fail_nomem(err, "rules");
	pooled->library = program_pool->library;
	pooled->programs = calloc(pooled->library->rules.count + 1, sizeof(struct program *));
	rc = pooled->programs ? view_slots_init(&pooled->slots, views, err)
			      : np_fail_nomem(err, "rules");
	if (rc < 0)
		free_pooled(pooled);
	else
		*ret = pooled;
	return rc;
}

int program_pool_take(struct program_pool *program_pool, const struct view_set *views,
		      struct pooled **ret, struct np_err *err)
{
	struct pooled *pooled = NULL;

	(void)pthread_mutex_lock(&program_pool->lock);
	if (program_pool->idle.count > 0)
		pooled = program_pool->idle.item[--program_pool->idle.count];
	(void)pthread_mutex_unlock(&program_pool->lock);
	if (!pooled)
		return new_pooled(program_pool, views, ret, err);
	view_slots_fill(&pooled->slots, views);
	*ret = pooled;
	return NP_OK;
}

void program_pool_give_back(struct program_pool *program_pool, struct pooled *pooled)
{
	struct pooled **position;

	(void)pthread_mutex_lock(&program_pool->lock);
	position = np_vec_add(&program_pool->idle, NULL);
	if (position)
		*position = pooled;
	(void)pthread_mutex_unlock(&program_pool->lock);
	if (!position)
		free_pooled(pooled);
}

int pooled_program(struct pooled *pooled, size_t rule, struct program **ret, struct np_err *err)
{
	int rc = NP_OK;

	if (!pooled->programs[rule])
		rc = program_new(pooled->library->rules.item[rule], &pooled->slots,
				 &pooled->programs[rule], err);
	*ret = pooled->programs[rule];
	return rc;
}
