/* SPDX-License-Identifier: Apache-2.0 */
/* The same capture twice: somebody has copied it, so that only one of both counts. */
#include "discover_ranks.h"

#include "npuprof/notes.h"
#include "npuprof/text.h"

#include <stdio.h>

#define CHUNK ((size_t)1 << 14)

static bool same_bytes(FILE *one, FILE *other)
{
	char a[CHUNK];
	char b[CHUNK];
	size_t length;

	do {
		length = fread(a, 1, sizeof(a), one);
		if (fread(b, 1, sizeof(b), other) != length || memcmp(a, b, length) != 0)
			return false;
	} while (length == sizeof(a));
	return !ferror(one) && !ferror(other);
}

static bool same_file(const char *a, const char *b)
{
	FILE *one;
	FILE *other;
	bool same;

	if (!a || !b)
		return !a && !b;
	one = fopen(a, "re");
	other = one ? fopen(b, "re") : NULL;
	same = other && same_bytes(one, other);
	if (other)
		(void)fclose(other);
	if (one)
		(void)fclose(one);
	return same;
}

/* Names of captures hold their process and time; files are compared where all else is equal. */
static bool is_copy(const struct namings *all, size_t a, size_t b)
{
	const struct np_source_files *one = &all->run->sources.item[a];
	const struct np_source_files *other = &all->run->sources.item[b];

	/* Figures of an earlier analysis are of all ranks in one file. */
	if (one->rank < 0 || one->rank != other->rank || one->bytes != other->bytes ||
	    one->kind != other->kind || one->kind == NP_KIND_CLUSTER ||
	    strcmp(all->list[a].path, all->list[b].path) == 0 ||
	    strcmp(np_text_last_part(all->list[a].path), np_text_last_part(all->list[b].path)) != 0)
		return false;
	for (size_t i = 0; i < NP_FILE_COUNT; i++) {
		if (!same_file(one->file[i], other->file[i]))
			return false;
	}
	return true;
}

/* The one of two that stays is that whose path comes first, whatever the file system's order. */
static void drop(const struct namings *all, size_t kept, size_t dropped, bool *gone)
{
	struct np_run *run = all->run;

	if (strcmp(all->list[kept].path, all->list[dropped].path) > 0) {
		size_t other = kept;

		kept = dropped;
		dropped = other;
	}
	gone[dropped] = true;
	np_note_add(&run->notes, NP_NOTE_SKIPPED, run->sources.item[dropped].rank,
		    run->sources.item[dropped].dir, "rank", "a copy of '%s', which is used",
		    run->sources.item[kept].dir);
}

static void close_gaps(const struct namings *all, const bool *gone)
{
	struct np_run *run = all->run;
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		if (gone[i]) {
			np_source_files_release(&run->sources.item[i]);
			free(all->list[i].path);
			continue;
		}
		run->sources.item[count] = run->sources.item[i];
		all->list[count++] = all->list[i];
	}
	run->sources.count = count;
}

int discover_drop_copies(const struct namings *all, struct np_err *err)
{
	size_t count = all->run->sources.count;
	bool *gone = calloc(count + 1, sizeof(*gone));

	if (!gone)
		return np_fail_nomem(err, "captures");
	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count && !gone[i]; j++) {
			if (!gone[j] && is_copy(all, i, j))
				drop(all, i, j, gone);
		}
	}
	close_gaps(all, gone);
	free(gone);
	return NP_OK;
}
