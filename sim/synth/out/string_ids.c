/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers texts as the vendor's STRING_IDS does (string_ids.h). */
#include "string_ids.h"

#include "npuprof/arena.h"
#include "npuprof/vec.h"

struct text {
	const char *bytes;
	size_t length;
};

struct string_ids_space {
	NP_VEC(struct text) texts;
	uint32_t *buckets; /* index + 1 of a text, 0 if free */
	size_t bucket_count;
};

struct syn_strings {
	struct np_arena *arena;
	struct string_ids_space spaces[SYN_SPACES];
};

struct syn_strings *syn_strings_new(void)
{
	struct syn_strings *strings = calloc(1, sizeof(*strings));

	if (!strings)
		return NULL;
	strings->arena = np_arena_new();
	if (strings->arena)
		return strings;
	free(strings);
	return NULL;
}

void syn_strings_free(struct syn_strings *strings)
{
	if (!strings)
		return;
	for (int i = 0; i < SYN_SPACES; i++) {
		np_vec_release(&strings->spaces[i].texts);
		free(strings->spaces[i].buckets);
	}
	np_arena_free(strings->arena);
	free(strings);
}

static uint64_t text_hash(const char *bytes, size_t length)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
	return hash;
}

/* The bucket that holds the text, or the free one where it belongs. */
static uint32_t *find_bucket(const struct string_ids_space *space, const char *bytes, size_t length)
{
	size_t mask = space->bucket_count - 1;
	size_t at = (size_t)text_hash(bytes, length) & mask;

	while (space->buckets[at]) {
		const struct text *text = &space->texts.item[space->buckets[at] - 1];

		if (text->length == length && memcmp(text->bytes, bytes, length) == 0)
			break;
		at = (at + 1) & mask;
	}
	return &space->buckets[at];
}

static int grow(struct string_ids_space *space, struct np_err *err)
{
	size_t count = space->bucket_count ? space->bucket_count * 2 : 256;
	uint32_t *buckets;

	if (space->texts.count * 2 < space->bucket_count)
		return NP_OK;
	buckets = calloc(count, sizeof(*buckets));
	if (!buckets)
		return np_fail_nomem(err, "strings");
	free(space->buckets);
	space->buckets = buckets;
	space->bucket_count = count;
	for (size_t i = 0; i < space->texts.count; i++) {
		const struct text *text = &space->texts.item[i];

		*find_bucket(space, text->bytes, text->length) = (uint32_t)i + 1;
	}
	return NP_OK;
}

int syn_strings_id(struct syn_strings *strings, enum syn_space space, const char *text,
		   int64_t *ret, struct np_err *err)
{
	struct string_ids_space *texts = &strings->spaces[space];
	size_t length = strlen(text);
	int rc = grow(texts, err);
	uint32_t *bucket;

	if (rc < 0)
		return rc;
	bucket = find_bucket(texts, text, length);
	if (!*bucket) {
		char *copy = np_arena_text(strings->arena, text, length);
		struct text *slot = copy ? np_vec_add(&texts->texts, err) : NULL;

		if (!slot)
			return np_fail_nomem(err, "strings");
		*slot = (struct text){ copy, length };
		*bucket = (uint32_t)texts->texts.count;
	}
	*ret = ((int64_t)space << 28) + *bucket - 1;
	return NP_OK;
}

int syn_strings_write(const struct syn_strings *strings, struct np_db_writer *writer,
		      struct np_err *err)
{
	struct np_db_insert *insert;
	int rc = np_db_insert_begin(writer, "STRING_IDS", 2, &insert, err);

	for (int which = 0; which < SYN_SPACES; which++) {
		const struct string_ids_space *space = &strings->spaces[which];

		for (size_t i = 0; i < space->texts.count && rc == NP_OK; i++) {
			const struct np_cell cells[] = {
				np_cell_integer(((int64_t)which << 28) + (int64_t)i),
				np_cell_bytes(space->texts.item[i].bytes,
					      space->texts.item[i].length),
			};

			rc = np_db_insert_row(insert, cells, err);
		}
	}
	return rc;
}
