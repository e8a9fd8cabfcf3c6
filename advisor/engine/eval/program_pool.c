/* SPDX-License-Identifier: Apache-2.0 */
#include "program_pool.h"

#include <pthread.h>
#include <stdlib.h>

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
