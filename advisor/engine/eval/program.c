/* SPDX-License-Identifier: Apache-2.0 */
/* Rules made ready to run, and a pool of them for the threads. */
#include "program.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_LIMIT 200

int adv_view_slots_init(struct adv_view_slots *slots, const struct adv_view_set *views,
			struct np_err *err)
{
	*slots = (struct adv_view_slots){ .arena = np_arena_new() };
	if (!slots->arena)
		return np_fail_nomem(err, "views");
	for (size_t i = 0; i < views->list.count; i++) {
		struct adv_view *view = &views->list.item[i];
		struct adv_view_slot *slot = np_vec_add(&slots->list, err);

		if (!slot)
			return NP_E_NOMEM;
		*slot = adv_view_slot_of(view);
		slot->name = np_arena_text(slots->arena, view->name, strlen(view->name));
		if (!slot->name)
			return np_fail_nomem(err, "views");
	}
	return NP_OK;
}

/* Put the views of a set, which has the same names, into the slots. */
static void view_slots_fill(struct adv_view_slots *slots, const struct adv_view_set *views)
{
	for (size_t i = 0; i < slots->list.count; i++) {
		struct adv_view_slot *slot = &slots->list.item[i];

		/* Sets are mostly made in the same order. */
		if (i < views->list.count && strcmp(views->list.item[i].name, slot->name) == 0)
			slot->view = &views->list.item[i];
		else
			slot->view = adv_view_set_find(views, slot->name);
	}
}

void adv_view_slots_release(struct adv_view_slots *slots)
{
	np_vec_release(&slots->list);
	np_arena_free(slots->arena);
	slots->arena = NULL;
}

struct adv_view *adv_view_slots_find(const struct adv_view_slots *slots, const char *name)
{
	for (size_t i = 0; i < slots->list.count; i++) {
		if (strcmp(slots->list.item[i].name, name) == 0)
			return slots->list.item[i].view;
	}
	return NULL;
}

int adv_program_new(const struct adv_rule *rule, const struct adv_view_slots *slots,
		    struct adv_program **ret, struct np_err *err)
{
	NP_CLEANUP(adv_program_freep) struct adv_program *program = calloc(1, sizeof(*program));
	int rc = NP_OK;

	if (program) {
		*program = (struct adv_program){ .rule = rule, .slots = slots };
		program->scratch = np_arena_new();
		program->params_arena = np_arena_new();
	}
	if (!program || !program->scratch || !program->params_arena)
		return np_fail_nomem(err, "a rule");
	program->params.arena = program->params_arena;
	rc = adv_sql_open(&program->sql, err);
	for (size_t i = 0; i < slots->list.count && rc == NP_OK; i++)
		rc = adv_sql_add_slot(program->sql, &slots->list.item[i], err);
	if (rc == NP_OK)
		*ret = NP_STEAL(program);
	return rc;
}

static void free_statement(struct adv_statement *statement)
{
	adv_sql_finish(statement->stmt);
	adv_composed_release(&statement->composed);
	free(statement);
}

static void free_table(struct adv_made_table *table)
{
	adv_view_close(&table->view);
	np_vec_release(&table->picked);
	adv_rows_release(&table->rows);
	free(table);
}

void adv_program_free(struct adv_program *program)
{
	if (!program)
		return;
	for (size_t i = 0; i < program->statements.count; i++)
		free_statement(program->statements.item[i]);
	adv_sql_close(program->sql);
	for (size_t i = 0; i < program->tables.count; i++)
		free_table(program->tables.item[i]);
	np_vec_release(&program->statements);
	np_vec_release(&program->tables);
	adv_values_release(&program->params);
	np_arena_free(program->params_arena);
	np_arena_free(program->scratch);
	free(program->params_chip);
	free(program);
}

void adv_program_freep(struct adv_program **program)
{
	adv_program_free(*program);
	*program = NULL;
}

struct adv_statement *adv_program_find(const struct adv_program *program, const void *key)
{
	for (size_t i = 0; i < program->statements.count; i++) {
		if (program->statements.item[i]->key == key)
			return program->statements.item[i];
	}
	return NULL;
}

struct adv_statement *adv_program_add(struct adv_program *program, const void *key,
				      struct np_err *err)
{
	struct adv_statement **slot = np_vec_add(&program->statements, err);

	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		program->statements.count--;
		(void)np_fail_nomem(err, "a statement");
		return NULL;
	}
	**slot = (struct adv_statement){ .key = key, .composed = COMPOSED_INIT };
	return *slot;
}

struct adv_made_table *adv_program_table(const struct adv_program *program, const char *name)
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

static int begin_rows(const struct adv_sql_stmt *stmt, struct adv_rows *rows, struct np_err *err)
{
	const char *names[COLUMN_LIMIT];
	enum np_column_type types[COLUMN_LIMIT];
	size_t count = adv_sql_columns(stmt);
	int rc;

	if (count > COLUMN_LIMIT)
		return np_fail(err, NP_E_FORMAT, "it gives more than %d columns", COLUMN_LIMIT);
	for (size_t i = 0; i < count; i++) {
		names[i] = adv_sql_column_name(stmt, i);
		types[i] = adv_sql_column_type(stmt, i);
	}
	rc = check_columns(names, count, err);
	if (rc == NP_OK)
		rc = adv_rows_init(rows, names, types, count, err);
	rows->limited = true;
	return rc;
}

/* Make a table known to the connection; it is freed if that fails. */
static int add_table(struct adv_program *program, struct adv_made_table *table, struct np_err *err)
{
	struct adv_made_table **position = np_vec_add(&program->tables, err);

	if (!position) {
		free_table(table);
		return NP_E_NOMEM;
	}
	*position = table;
	table->slot = adv_view_slot_of(&table->view);
	return adv_sql_add_slot(program->sql, &table->slot, err);
}

int adv_program_add_table(struct adv_program *program, const char *name,
			  const struct adv_sql_stmt *stmt, struct adv_made_table **ret,
			  struct np_err *err)
{
	struct adv_made_table *table = calloc(1, sizeof(*table));
	int rc = table ? begin_rows(stmt, &table->rows, err) : np_fail_nomem(err, "a table");

	if (rc < 0) {
		free(table);
		return rc;
	}
	adv_view_of_rows(&table->view, name, &table->rows);
	*ret = table;
	return add_table(program, table, err);
}

static int open_picked(struct adv_view *view, struct np_err *err)
{
	(void)err;
	view->rows = ((const struct adv_made_table *)view->data)->picked.count;
	return NP_OK;
}

static struct np_cell picked_cell(const struct adv_view *view, size_t row, size_t column)
{
	const struct adv_made_table *table = view->data;

	return *adv_rows_cell(&table->base->rows, table->picked.item[row], column);
}

int adv_program_add_picked(struct adv_program *program, const char *name,
			   const struct adv_made_table *base, struct adv_made_table **ret,
			   struct np_err *err)
{
	struct adv_made_table *table = calloc(1, sizeof(*table));

	if (!table)
		return np_fail_nomem(err, "a table");
	table->base = base;
	table->view = (struct adv_view){ .name = name,
					 .columns = base->view.columns,
					 .column_count = base->view.column_count,
					 .present = true,
					 .data = table,
					 .open = open_picked,
					 .cell = picked_cell };
	*ret = table;
	return add_table(program, table, err);
}

void adv_made_table_clear(struct adv_made_table *table)
{
	adv_view_close(&table->view);
	table->picked.count = 0;
	if (!table->base)
		adv_rows_clear(&table->rows);
}

struct adv_pooled {
	const struct adv_rule_library *library;
	struct adv_view_slots slots;
	struct adv_program **programs; /* by rule; made when they are wanted */
};

struct adv_program_pool {
	const struct adv_rule_library *library;
	pthread_mutex_t lock;
	NP_VEC(struct adv_pooled *) idle;
	size_t taken; /* and not given back yet */
};

struct adv_program_pool *adv_program_pool_new(const struct adv_rule_library *library)
{
	struct adv_program_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->library = library;
	if (pthread_mutex_init(&pool->lock, NULL) != 0) {
		free(pool);
		return NULL;
	}
	return pool;
}

static void free_pooled(struct adv_pooled *pooled)
{
	if (!pooled)
		return;
	for (size_t i = 0; pooled->programs && i < pooled->library->rules.count; i++)
		adv_program_free(pooled->programs[i]);
	free(pooled->programs);
	adv_view_slots_release(&pooled->slots);
	free(pooled);
}

void adv_program_pool_clear(struct adv_program_pool *pool)
{
	assert(pool->taken == 0);
	for (size_t i = 0; i < pool->idle.count; i++)
		free_pooled(pool->idle.item[i]);
	pool->idle.count = 0;
}

void adv_program_pool_free(struct adv_program_pool *pool)
{
	if (!pool)
		return;
	adv_program_pool_clear(pool);
	np_vec_release(&pool->idle);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static int new_pooled(const struct adv_program_pool *pool, const struct adv_view_set *views,
		      struct adv_pooled **ret, struct np_err *err)
{
	struct adv_pooled *pooled = calloc(1, sizeof(*pooled));
	int rc;

	if (!pooled)
		return np_fail_nomem(err, "rules");
	pooled->library = pool->library;
	pooled->programs = calloc(pooled->library->rules.count + 1, sizeof(struct adv_program *));
	rc = pooled->programs ? adv_view_slots_init(&pooled->slots, views, err)
			      : np_fail_nomem(err, "rules");
	if (rc < 0)
		free_pooled(pooled);
	else
		*ret = pooled;
	return rc;
}

int adv_program_pool_take(struct adv_program_pool *pool, const struct adv_view_set *views,
			  struct adv_pooled **ret, struct np_err *err)
{
	struct adv_pooled *pooled = NULL;
	int rc = NP_OK;

	(void)pthread_mutex_lock(&pool->lock);
	pool->taken++;
	if (pool->idle.count > 0)
		pooled = pool->idle.item[--pool->idle.count];
	(void)pthread_mutex_unlock(&pool->lock);
	if (pooled)
		view_slots_fill(&pooled->slots, views);
	else
		rc = new_pooled(pool, views, &pooled, err);
	if (rc == NP_OK)
		*ret = pooled;
	if (rc < 0) {
		(void)pthread_mutex_lock(&pool->lock);
		pool->taken--;
		(void)pthread_mutex_unlock(&pool->lock);
	}
	return rc;
}

void adv_program_pool_give_back(struct adv_program_pool *pool, struct adv_pooled *pooled)
{
	struct adv_pooled **position;

	(void)pthread_mutex_lock(&pool->lock);
	pool->taken--;
	position = np_vec_add(&pool->idle, NULL);
	if (position)
		*position = pooled;
	(void)pthread_mutex_unlock(&pool->lock);
	if (!position)
		free_pooled(pooled);
}

int adv_pooled_program(struct adv_pooled *pooled, size_t rule, struct adv_program **ret,
		       struct np_err *err)
{
	int rc = NP_OK;

	if (!pooled->programs[rule])
		rc = adv_program_new(pooled->library->rules.item[rule], &pooled->slots,
				     &pooled->programs[rule], err);
	*ret = pooled->programs[rule];
	return rc;
}
