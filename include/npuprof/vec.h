/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VEC_H
#define NP_VEC_H

#include "npuprof/err.h"

/*
 * Growing arrays
 * ==============
 *
 * A vector is a plain struct whose fields anyone may read: `item`, `count`.
 *
 *	NP_VEC(struct thing) things = { 0 };
 *	struct thing *t = np_vec_add(&things, err);
 *	if (!t)
 *		return NP_E_NOMEM;
 *	...
 *	np_vec_release(&things);
 *
 * The new element is zeroed. Pointers to elements are valid until the next add.
 */
#define NP_VEC(type) \
	struct { \
		type *item; \
		size_t count; \
		size_t capacity; \
	}

/*
 * Return `items` with room for at least one element more than `count`, moved if
 * necessary, with that element zeroed; or NULL when out of memory, with `items`
 * still valid and still the caller's.
 */
void *np_vec_room(void *items, size_t *capacity, size_t count, size_t item_size,
		  struct np_err *err);

/* Append a zeroed element and evaluate to its address, or NULL. Inline while there is room. */
#define np_vec_add(vec, err) \
	__extension__({ \
		void *room_ = (vec)->item; \
		if ((vec)->count < (vec)->capacity) \
			memset(&(vec)->item[(vec)->count], 0, sizeof(*(vec)->item)); \
		else \
			room_ = np_vec_room((vec)->item, &(vec)->capacity, (vec)->count, \
					    sizeof(*(vec)->item), (err)); \
		if (room_) \
			(vec)->item = room_; \
		room_ ? &(vec)->item[(vec)->count++] : NULL; \
	})

/*
 * About so many elements will come: make room for them at once instead of moving
 * what is there again and again. Without the memory for it nothing changes.
 */
void *np_vec_expect_room(void *items, size_t *capacity, size_t wanted, size_t item_size);

#define np_vec_expect(vec, wanted) \
	((vec)->item = np_vec_expect_room((vec)->item, &(vec)->capacity, (wanted), \
					  sizeof(*(vec)->item)))

/* Likewise for `more` elements behind those that there are, and NULL when out of memory. */
void *np_vec_reserve_room(void *items, size_t *capacity, size_t count, size_t more,
			  size_t item_size, struct np_err *err);

/*
 * Make sure that `more` elements can be written behind the last one: NP_OK, or
 * NP_E_NOMEM with nothing changed. They are not zeroed, and counted by the caller.
 */
#define np_vec_reserve(vec, more, err) \
	__extension__({ \
		int rc_ = NP_OK; \
		if ((vec)->capacity - (vec)->count < (more)) { \
			void *room_ = \
				np_vec_reserve_room((vec)->item, &(vec)->capacity, (vec)->count, \
						    (more), sizeof(*(vec)->item), (err)); \
			if (room_) \
				(vec)->item = room_; \
			else \
				rc_ = NP_E_NOMEM; \
		} \
		rc_; \
	})

/*
 * No more elements come: give back the room for them. False when that fails, for lack
 * of memory, and nothing has changed; who can live with it need not look.
 */
void *np_vec_fit_room(void *items, size_t *capacity, size_t count, size_t item_size);

#define np_vec_fit(vec) \
	__extension__({ \
		void *room_ = np_vec_fit_room((vec)->item, &(vec)->capacity, (vec)->count, \
					      sizeof(*(vec)->item)); \
		if (room_) \
			(vec)->item = room_; \
		room_ || !(vec)->item; \
	})

/* Free the elements' array and make the vector empty again. */
#define np_vec_release(vec) \
	do { \
		free((vec)->item); \
		(vec)->item = NULL; \
		(vec)->count = 0; \
		(vec)->capacity = 0; \
	} while (0)

#endif /* NP_VEC_H */
