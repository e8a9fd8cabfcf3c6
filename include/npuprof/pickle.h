/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PICKLE_H
#define NP_PICKLE_H

#include "npuprof/strtab.h"

/*
 * Pickles of plain data
 * =====================
 *
 * Reads what Python's pickle (protocols 2 to 5) and the C++ writer of PyTorch make of
 * dictionaries, lists, tuples, texts and numbers, in one pass over a file of any size, plain or
 * gzip. An opcode that would name code, call it or refer to objects from outside is refused with
 * its name and offset. Nothing is ever looked up, and no file leads to a recursion.
 *
 * A value is eight bytes. Containers are shared as the file shares them. So that millions of
 * small dictionaries need not stand in memory the user is given each one when it has its items,
 * and may keep what is in it as a record of its own, known by a number: the dictionary then is
 * that number.
 *
 *	np_pickle_open() → np_pickle_run(user) → walk from the root → np_pickle_close()
 */
struct np_pickle;

typedef uint64_t np_pickled;

enum np_pickled_type {
	NP_PICKLED_NONE,
	NP_PICKLED_BOOL,
	NP_PICKLED_INTEGER,
	NP_PICKLED_REAL,
	NP_PICKLED_TEXT, /* bytes too */
	NP_PICKLED_LIST,
	NP_PICKLED_TUPLE,
	NP_PICKLED_DICT,
	NP_PICKLED_RECORD, /* of the user */
};

/* No text is longer. */
#define NP_PICKLE_TEXT_MOST ((size_t)1 << 24)

/* Marks that may be open at a time; real files have seven. */
#define NP_PICKLE_MARKS_MOST 1000

/*
 * A dictionary with `count` pairs, key and value in turn. Sets *ret_record to a number below 2^62
 * to keep it as that; leaves it alone to have it kept as it is.
 */
typedef int np_pickle_take(void *context, struct np_pickle *pickle, const np_pickled *pairs,
			   size_t count, uint64_t *ret_record, struct np_err *err);

/*
 * Likewise `count` items that are added to a list which has none so far (`before` is UINT64_MAX),
 * or which is that record. Without a new record those of the first kind are kept as they are, and
 * those of the second are damage.
 */
typedef int np_pickle_take_list(void *context, struct np_pickle *pickle, uint64_t before,
				const np_pickled *items, size_t count, uint64_t *ret_record,
				struct np_err *err);

struct np_pickle_user {
	np_pickle_take *take;           /* NULL: dictionaries are kept */
	np_pickle_take_list *take_list; /* NULL: lists are */
	void *context;
};

int np_pickle_open(const char *path, struct np_pickle **ret, struct np_err *err) NP_MUST_USE;

/* Bytes in memory; as np_gz_open_bytes(). */
int np_pickle_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
			 struct np_pickle **ret, struct np_err *err) NP_MUST_USE;

void np_pickle_close(struct np_pickle *pickle);
void np_pickle_closep(struct np_pickle **pickle);

/* All texts of the file; who adds its own before np_pickle_run() knows their ids. */
struct np_strtab *np_pickle_texts(const struct np_pickle *pickle);

/* The same, for the caller to keep and free; the reader can only be closed after it. */
struct np_strtab *np_pickle_take_texts(struct np_pickle *pickle) NP_MUST_USE;

/* Read it all. `user` may be NULL. */
int np_pickle_run(struct np_pickle *pickle, const struct np_pickle_user *user, np_pickled *ret_root,
		  struct np_err *err) NP_MUST_USE;

/* Bytes of the file as it lies on the disk; 0: not known. */
uint64_t np_pickle_size(const struct np_pickle *pickle);

/* Bytes behind the end of the pickle that are not zero; they were not read. */
uint64_t np_pickle_trailing(const struct np_pickle *pickle);

enum np_pickled_type np_pickled_type(const struct np_pickle *pickle, np_pickled value);

/* False for another type, and for what an int64_t or a uint64_t cannot hold. */
bool np_pickled_integer(const struct np_pickle *pickle, np_pickled value, int64_t *ret);
bool np_pickled_unsigned(const struct np_pickle *pickle, np_pickled value, uint64_t *ret);
bool np_pickled_bool(np_pickled value, bool *ret);

/* A real, or an integer as one. */
bool np_pickled_real(const struct np_pickle *pickle, np_pickled value, double *ret);

/* The four low bits of a value say what it is; the others of these are the number and the id. */
#define NP_PICKLED_TAG_BITS  4
#define NP_PICKLED_TAG_SMALL 2U
#define NP_PICKLED_TAG_TEXT  6U

static inline unsigned np_pickled_tag(np_pickled value)
{
	return (unsigned)value & ((1U << NP_PICKLED_TAG_BITS) - 1);
}

/* Is it an integer of at most 60 bits, as nearly all are? */
static inline bool np_pickled_small(np_pickled value, int64_t *ret)
{
	*ret = (int64_t)value >> NP_PICKLED_TAG_BITS;
	return np_pickled_tag(value) == NP_PICKLED_TAG_SMALL;
}

/* NP_STR_NONE for another type. */
static inline np_str np_pickled_text(np_pickled value)
{
	return np_pickled_tag(value) == NP_PICKLED_TAG_TEXT ? (np_str)(value >> NP_PICKLED_TAG_BITS)
							    : NP_STR_NONE;
}

/* The items of a list, tuple or dictionary (key and value in turn: twice as many); NULL and 0 for
 * others. Valid until it changes. */
const np_pickled *np_pickled_items(const struct np_pickle *pickle, np_pickled value,
				   size_t *ret_count);

/* Two small integers in a tuple stand in the value itself; this gives them. */
bool np_pickled_pair(const struct np_pickle *pickle, np_pickled value, int64_t *ret_first,
		     int64_t *ret_second);

uint64_t np_pickled_record(const struct np_pickle *pickle, np_pickled value);

/* The records of items; how many of the first ones are some. */
size_t np_pickled_records(const struct np_pickle *pickle, const np_pickled *items, size_t count,
			  uint64_t *ret);

/* From now on the list or dictionary is a record: what it holds is forgotten. */
void np_pickled_settle(struct np_pickle *pickle, np_pickled value, uint64_t record);

#endif /* NP_PICKLE_H */
