/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: entries in blocks that never move, ids by the hash of their text. */
#include "npuprof/strtab.h"

#include <pthread.h>
#include <stdatomic.h>

#include "npuprof/arena.h"
#include "npuprof/map.h"

/*
 * Entries live in blocks that never move; block k holds 2^(k + FIRST_BITS) of
 * them, so that a short directory of fixed size reaches every id. Whoever holds
 * an id got it, directly or from another thread, after its entry was written:
 * reading an entry therefore takes no lock. Everything else is under the lock.
 */
#define FIRST_BITS 10
#define BLOCKS     (33 - FIRST_BITS)

struct entry {
	const char *text;
	size_t length;
};

struct kept_list {
	np_str runs;
	const int32_t *numbers;
	size_t count;
};

struct np_strtab {
	struct entry *block[BLOCKS];
	pthread_mutex_t lock;
	atomic_size_t count; /* written under the lock, read without it */
	struct np_arena *texts;
	struct np_map ids; /* hash of a text → its id */
	/* Lists: the runs of each are a text. */
	struct np_map list_of; /* its id → where it is in `lists` */
	NP_VEC(struct kept_list) lists;
};

/* Where an id lives: ids are counted from 2^FIRST_BITS on, the top bit names the block. */
struct entry_place {
	size_t block;
	size_t index;
};

static struct entry_place place_of(np_str id)
{
	uint64_t n = (uint64_t)id + (1U << FIRST_BITS);
	unsigned top = 63U - (unsigned)__builtin_clzll(n);

	return (struct entry_place){ .block = top - FIRST_BITS, .index = n - (UINT64_C(1) << top) };
}

static const struct entry *entry_of(const struct np_strtab *table, np_str id)
{
	struct entry_place place = place_of(id);

	return &table->block[place.block][place.index];
}

struct np_strtab *np_strtab_new(void)
{
	struct np_strtab *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	if (pthread_mutex_init(&table->lock, NULL) != 0) {
		free(table);
		return NULL;
	}
	table->texts = np_arena_new();
	table->block[0] = calloc((size_t)1 << FIRST_BITS, sizeof(*table->block[0]));
	if (!table->texts || !table->block[0]) {
		np_strtab_free(table);
		return NULL;
	}
	table->block[0][NP_STR_NONE].text = "";
	return table;
}

void np_strtab_free(struct np_strtab *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < BLOCKS; i++)
		free(table->block[i]);
	np_map_release(&table->ids);
	np_map_release(&table->list_of);
	np_vec_release(&table->lists);
	np_arena_free(table->texts);
	(void)pthread_mutex_destroy(&table->lock);
	free(table);
}

void np_strtab_freep(struct np_strtab **table)
{
	np_strtab_free(*table);
	*table = NULL;
}

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = length;
	uint64_t word = 0;

	for (; length >= sizeof(word); length -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = np_map_mix(hash, word);
	}
	word = 0;
	if (length > 0)
		memcpy(&word, text, length);
	return np_map_mix(hash, word);
}

/* A text that is looked for. */
struct wanted_text {
	const struct np_strtab *table;
	const char *text;
	size_t length;
};

static bool is_wanted(const void *what, np_str id)
{
	const struct wanted_text *wanted = what;
	const struct entry *entry = entry_of(wanted->table, id);

	return entry->length == wanted->length &&
	       (wanted->length == 0 || memcmp(entry->text, wanted->text, wanted->length) == 0);
}

static bool reserve_entry(struct np_strtab *table, np_str id)
{
	size_t block = place_of(id).block;

	if (!table->block[block])
		table->block[block] =
			calloc((size_t)1 << (block + FIRST_BITS), sizeof(*table->block[block]));
	return table->block[block] != NULL;
}

/* Give a new text its id. The table changes only once all memory is there. */
static int add_new(struct np_strtab *table, const char *text, size_t length, uint64_t hash,
		   np_str *ret, struct np_err *err)
{
	size_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
	np_str id = (np_str)(count + 1);
	struct entry_place place = place_of(id);
	const char *copy;

	/* The last id would be what a map has for none. */
	if (count >= UINT32_MAX - 1)
		return np_fail(err, NP_E_RANGE, "more than %zu different texts", count);
	if (!reserve_entry(table, id))
		return np_fail_nomem(err, "the string table");
	copy = np_arena_text(table->texts, text, length);
	if (!copy || np_map_add(&table->ids, hash, id, NULL) < 0)
		return np_fail_nomem(err, "the string table");

	table->block[place.block][place.index] = (struct entry){ .text = copy, .length = length };
	atomic_store_explicit(&table->count, count + 1, memory_order_relaxed);
	*ret = id;
	return NP_OK;
}

int np_strtab_add(struct np_strtab *table, const char *text, size_t length, np_str *ret,
		  struct np_err *err)
{
	const struct wanted_text wanted = { table, text, length };
	uint64_t hash;
	np_str id;
	int rc = NP_OK;

	/* No object is that large: a length gone wrong must not be hashed. */
	if (length > PTRDIFF_MAX)
		return np_fail_nomem(err, "the string table");
	hash = hash_of(text, length);

	(void)pthread_mutex_lock(&table->lock);
	id = np_map_find(&table->ids, hash, is_wanted, &wanted);
	if (id != NP_MAP_NONE)
		*ret = id;
	else
		rc = add_new(table, text, length, hash, ret, err);
	(void)pthread_mutex_unlock(&table->lock);
	return rc;
}

/* --- lists -------------------------------------------------------------------------------------
 */

struct wanted_list {
	const struct np_strtab *table;
	np_str runs;
};

static bool is_wanted_list(const void *what, uint32_t index)
{
	const struct wanted_list *wanted = what;

	return wanted->table->lists.item[index].runs == wanted->runs;
}

static void spell_out(const struct np_list_run *runs, size_t count, int32_t *to)
{
	for (size_t i = 0; i < count; i++) {
		int64_t number = runs[i].first;

		for (uint32_t j = 0; j < runs[i].count; j++, number += runs[i].step)
			*to++ = (int32_t)number;
	}
}

static int add_list(struct np_strtab *table, np_str id, const struct np_list_run *runs,
		    size_t count, uint32_t *ret, struct np_err *err)
{
	struct kept_list *list = np_vec_add(&table->lists, NULL);
	size_t numbers = 0;
	int32_t *to;

	for (size_t i = 0; i < count; i++)
		numbers += runs[i].count;
	to = list ? np_arena_array(table->texts, numbers + 1, sizeof(*to)) : NULL;
	*ret = (uint32_t)(table->lists.count - 1);
	if (!to || np_map_add(&table->list_of, id, *ret, NULL) < 0) {
		table->lists.count -= list != NULL;
		return np_fail_nomem(err, "a list of numbers");
	}
	spell_out(runs, count, to);
	*list = (struct kept_list){ .runs = id, .numbers = to, .count = numbers };
	return NP_OK;
}

int np_strtab_list(struct np_strtab *table, const struct np_list_run *runs, size_t count,
		   const int32_t **ret, size_t *ret_count, struct np_err *err)
{
	struct wanted_list wanted = { .table = table };
	uint32_t index;
	int rc = np_strtab_add(table, (const char *)runs, count * sizeof(*runs), &wanted.runs, err);

	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(&table->lock);
	index = np_map_find(&table->list_of, wanted.runs, is_wanted_list, &wanted);
	if (index == NP_MAP_NONE)
		rc = add_list(table, wanted.runs, runs, count, &index, err);
	if (rc == NP_OK) {
		*ret = table->lists.item[index].numbers;
		*ret_count = table->lists.item[index].count;
	}
	(void)pthread_mutex_unlock(&table->lock);
	return rc;
}

const char *np_strtab_text(const struct np_strtab *table, np_str id)
{
	return entry_of(table, id)->text;
}

size_t np_strtab_length(const struct np_strtab *table, np_str id)
{
	return entry_of(table, id)->length;
}

size_t np_strtab_count(const struct np_strtab *table)
{
	return atomic_load_explicit(&table->count, memory_order_relaxed);
}
