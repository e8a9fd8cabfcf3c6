/* SPDX-License-Identifier: Apache-2.0 */
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 1024

void numbers_release(struct numbers *numbers)
{
	free(numbers->key);
	free(numbers->value);
	*numbers = (struct numbers){ .key = NULL };
}

/* Where a key is, or where it would be. */
static size_t slot_of(const struct numbers *numbers, uint64_t key)
{
	size_t slot = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (numbers->size - 1);

	while (numbers->value[slot] != NUMBERS_NONE && numbers->key[slot] != key)
		slot = (slot + 1) & (numbers->size - 1);
	return slot;
}

uint32_t numbers_get(const struct numbers *numbers, uint64_t key)
{
	return numbers->size > 0 ? numbers->value[slot_of(numbers, key)] : NUMBERS_NONE;
}

static int grow(struct numbers *numbers, struct np_err *err)
{
	struct numbers larger = { .size = numbers->size ? 2 * numbers->size : FIRST_SIZE,
				  .count = numbers->count };

	larger.key = malloc(larger.size * sizeof(*larger.key));
	larger.value = malloc(larger.size * sizeof(*larger.value));
	if (!larger.key || !larger.value) {
		numbers_release(&larger);
		return np_fail_nomem(err, "numbers");
	}
	memset(larger.value, 0xff, larger.size * sizeof(*larger.value));
	for (size_t i = 0; i < numbers->size; i++) {
		size_t slot;

		if (numbers->value[i] == NUMBERS_NONE)
			continue;
		slot = slot_of(&larger, numbers->key[i]);
		larger.key[slot] = numbers->key[i];
		larger.value[slot] = numbers->value[i];
	}
	numbers_release(numbers);
	*numbers = larger;
	return NP_OK;
}

int numbers_add(struct numbers *numbers, uint64_t key, uint32_t value, struct np_err *err)
{
	size_t slot;

	if (2 * (numbers->count + 1) > numbers->size && grow(numbers, err) < 0)
		return NP_E_NOMEM;
	slot = slot_of(numbers, key);
	numbers->key[slot] = key;
	numbers->value[slot] = value;
	numbers->count++;
	return NP_OK;
}
