/* SPDX-License-Identifier: Apache-2.0 */
#include "desk.h"

#include <pthread.h>
#include <stdlib.h>

struct desk {
	const struct rule_library *library;
	struct view_slots slots;
	struct program **programs; /* by rule; made when they are wanted */
};

struct desks {
	const struct rule_library *library;
	pthread_mutex_t lock;
	NP_VEC(struct desk *) idle;
};

struct desks *desks_new(const struct rule_library *library)
{
	struct desks *desks = calloc(1, sizeof(*desks));

	if (!desks)
		return NULL;
	desks->library = library;
	if (pthread_mutex_init(&desks->lock, NULL) != 0) {
		free(desks);
		return NULL;
	}
	return desks;
}

static void free_desk(struct desk *desk)
{
	if (!desk)
		return;
	for (size_t i = 0; desk->programs && i < desk->library->rules.count; i++)
		program_free(desk->programs[i]);
	free(desk->programs);
	view_slots_release(&desk->slots);
	free(desk);
}

void desks_clear(struct desks *desks)
{
	for (size_t i = 0; i < desks->idle.count; i++)
		free_desk(desks->idle.item[i]);
	desks->idle.count = 0;
}

void desks_free(struct desks *desks)
{
	if (!desks)
		return;
	desks_clear(desks);
	np_vec_release(&desks->idle);
	(void)pthread_mutex_destroy(&desks->lock);
	free(desks);
}

static int new_desk(const struct desks *desks, const struct view_set *views, struct desk **ret,
		    struct np_err *err)
{
	struct desk *desk = calloc(1, sizeof(*desk));
	int rc;

	if (!desk)
		return np_fail_nomem(err, "rules");
	desk->library = desks->library;
	desk->programs = calloc(desk->library->rules.count + 1, sizeof(struct program *));
	rc = desk->programs ? view_slots_init(&desk->slots, views, err)
			    : np_fail_nomem(err, "rules");
	if (rc < 0)
		free_desk(desk);
	else
		*ret = desk;
	return rc;
}

int desks_take(struct desks *desks, const struct view_set *views, struct desk **ret,
	       struct np_err *err)
{
	struct desk *desk = NULL;

	(void)pthread_mutex_lock(&desks->lock);
	if (desks->idle.count > 0)
		desk = desks->idle.item[--desks->idle.count];
	(void)pthread_mutex_unlock(&desks->lock);
	if (!desk)
		return new_desk(desks, views, ret, err);
	view_slots_fill(&desk->slots, views);
	*ret = desk;
	return NP_OK;
}

void desks_give_back(struct desks *desks, struct desk *desk)
{
	struct desk **place;

	(void)pthread_mutex_lock(&desks->lock);
	place = np_vec_add(&desks->idle, NULL);
	if (place)
		*place = desk;
	(void)pthread_mutex_unlock(&desks->lock);
	if (!place)
		free_desk(desk);
}

int desk_program(struct desk *desk, size_t rule, struct program **ret, struct np_err *err)
{
	int rc = NP_OK;

	if (!desk->programs[rule])
		rc = program_new(desk->library->rules.item[rule], &desk->slots,
				 &desk->programs[rule], err);
	*ret = desk->programs[rule];
	return rc;
}
