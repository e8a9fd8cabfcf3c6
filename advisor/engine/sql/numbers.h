/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_NUMBERS_H
#define NP_ADVISOR_NUMBERS_H

#include "npuprof/err.h"

/*
 * Small numbers for any 64 bits: addresses, pairs of numbers. np_idmap is for ids
 * that are mostly neighbours; these are spread all over. Not locked.
 */
struct numbers {
	uint64_t *key;
	uint32_t *value;
	size_t size; /* a power of two, or 0 */
	size_t count;
};

#define NUMBERS_NONE UINT32_MAX

void numbers_release(struct numbers *numbers);

/* The value of a key, or NUMBERS_NONE. */
uint32_t numbers_get(const struct numbers *numbers, uint64_t key);

/* Set the value of a key that has none; it must not be NUMBERS_NONE. */
int numbers_add(struct numbers *numbers, uint64_t key, uint32_t value, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_ADVISOR_NUMBERS_H */
