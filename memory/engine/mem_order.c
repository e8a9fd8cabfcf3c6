/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered set that changes with nearly every event: short runs, so that little has to move. */
#include "mem_order.h"

#define RUN_MOST 64

struct mem_run {
	size_t count;
	struct mem_free item[RUN_MOST];
};

static bool is_less(const struct mem_free *a, const struct mem_free *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	if (a->size != b->size)
		return a->size < b->size;
	return a->address < b->address;
}

void mem_order_release(struct mem_order *order)
{
	for (size_t i = 0; i < order->runs.count; i++)
		free(order->runs.item[i]);
	np_vec_release(&order->runs);
	order->count = 0;
}

/* The run that an entry belongs to: the last that does not begin behind it, else the first. */
static size_t find_run(const struct mem_order *order, const struct mem_free *what)
{
	size_t low = 0;
	size_t count = order->runs.count;

	while (count > 1) {
		size_t half = count / 2;

		if (is_less(what, &order->runs.item[low + half]->item[0])) {
			count = half;
		} else {
			low += half;
			count -= half;
		}
	}
	return low;
}

static size_t find_in(const struct mem_run *run, const struct mem_free *what)
{
	size_t low = 0;
	size_t count = run->count;

	while (count > 0) {
		size_t half = count / 2;

		if (is_less(&run->item[low + half], what)) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

/* A run behind others at `place` of the vector, with the items of `from` behind `first`. */
static int add_run(struct mem_order *order, size_t place, struct mem_run *from, size_t first,
		   struct np_err *err)
{
	struct mem_run *run = malloc(sizeof(*run));

	if (!run || !np_vec_add(&order->runs, err)) {
		free(run);
		return np_fail_nomem(err, "free blocks");
	}
	memmove(&order->runs.item[place + 1], &order->runs.item[place],
		(order->runs.count - 1 - place) * sizeof(struct mem_run *));
	order->runs.item[place] = run;
	run->count = 0;
	if (!from)
		return NP_OK;
	run->count = from->count - first;
	memcpy(run->item, &from->item[first], run->count * sizeof(run->item[0]));
	from->count = first;
	return NP_OK;
}

int mem_order_add(struct mem_order *order, struct mem_free entry, struct np_err *err)
{
	size_t place = find_run(order, &entry);
	struct mem_run *run;
	size_t at;

	if (order->runs.count == 0 && add_run(order, 0, NULL, 0, err) < 0)
		return NP_E_NOMEM;
	run = order->runs.item[place];
	if (run->count == RUN_MOST) {
		if (add_run(order, place + 1, run, RUN_MOST / 2, err) < 0)
			return NP_E_NOMEM;
		run = order->runs.item[find_run(order, &entry)];
	}
	at = find_in(run, &entry);
	memmove(&run->item[at + 1], &run->item[at], (run->count - at) * sizeof(run->item[0]));
	run->item[at] = entry;
	run->count++;
	order->count++;
	return NP_OK;
}

static void drop_run(struct mem_order *order, size_t place)
{
	free(order->runs.item[place]);
	order->runs.count--;
	memmove(&order->runs.item[place], &order->runs.item[place + 1],
		(order->runs.count - place) * sizeof(struct mem_run *));
}

void mem_order_remove(struct mem_order *order, const struct mem_free *entry)
{
	size_t place = find_run(order, entry);
	struct mem_run *run = order->runs.item[place];
	size_t at = find_in(run, entry);

	run->count--;
	order->count--;
	memmove(&run->item[at], &run->item[at + 1], (run->count - at) * sizeof(run->item[0]));
	if (run->count == 0)
		drop_run(order, place);
}

struct mem_place mem_order_find(const struct mem_order *order, const struct mem_free *what)
{
	struct mem_place place = { 0, 0 };

	if (order->runs.count == 0)
		return place;
	place.run = find_run(order, what);
	place.at = find_in(order->runs.item[place.run], what);
	if (place.at == order->runs.item[place.run]->count)
		place = (struct mem_place){ place.run + 1, 0 };
	return place;
}

const struct mem_free *mem_order_before(const struct mem_order *order, const struct mem_free *what)
{
	struct mem_place place = mem_order_find(order, what);

	if (place.at == 0) {
		if (place.run == 0)
			return NULL;
		place.run--;
		place.at = order->runs.item[place.run]->count;
	}
	return &order->runs.item[place.run]->item[place.at - 1];
}

const struct mem_free *mem_order_at(const struct mem_order *order, struct mem_place place)
{
	return place.run < order->runs.count ? &order->runs.item[place.run]->item[place.at] : NULL;
}

struct mem_place mem_order_next(const struct mem_order *order, struct mem_place place)
{
	if (++place.at == order->runs.item[place.run]->count)
		place = (struct mem_place){ place.run + 1, 0 };
	return place;
}
