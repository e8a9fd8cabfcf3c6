/* SPDX-License-Identifier: Apache-2.0 */
/* Files that somebody has gathered in one directory: the rank is in their names, or in numbers. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/text.h"

#include <ctype.h>

/* A time that msprof adds to names has so many digits. */
#define STAMP_DIGITS 14

static bool separates(char c)
{
	return c == '\0' || strchr("_-. ", c) != NULL;
}

/* Without separators at both ends. */
static struct np_slice trimmed(const char *text, size_t length)
{
	while (length > 0 && separates(text[0])) {
		text++;
		length--;
	}
	while (length > 0 && separates(text[length - 1]))
		length--;
	return (struct np_slice){ text, length };
}

static bool is_number(struct np_slice text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (!isdigit((unsigned char)text.bytes[i]))
			return false;
	}
	return text.length > 0;
}

bool discover_renamed(const char *name, struct renamed_file *ret)
{
	size_t length = strlen(name);
	size_t begin;
	size_t stem;
	size_t suffix;

	ret->file = NP_FILE_COUNT;
	if (length > NP_RENAMED_MOST || discover_is_result(name) ||
	    np_text_begins(name, "cluster_") || np_text_begins(name, "communication_group") ||
	    discover_fixed_file(name) != NP_FILE_COUNT ||
	    discover_stamped_file(name) != NP_FILE_COUNT)
		return false;
	ret->file = discover_find_stem(name, &begin, &stem, &suffix);
	if (ret->file == NP_FILE_COUNT)
		return false;
	ret->before = trimmed(name, begin);
	ret->behind = trimmed(name + begin + stem, length - suffix - begin - stem);
	/* Exports of msprof have a time behind their names. */
	if (ret->before.length == 0 && is_number(ret->behind) && ret->behind.length >= STAMP_DIGITS)
		ret->file = NP_FILE_COUNT;
	return ret->file != NP_FILE_COUNT;
}

static bool same_text(struct np_slice a, struct np_slice b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

bool discover_same_renamed(const struct renamed_file *a, const struct renamed_file *b)
{
	return same_text(a->before, b->before) && same_text(a->behind, b->behind);
}

/* All files of the directory that have the same words around their names are of one rank. */
static int take_group(struct np_run *run, const char *dir, const struct np_names *names,
		      const struct renamed_file *list, bool *taken, size_t first,
		      struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_PYTORCH, .rank = -1, .device = -1 };
	int rc = NP_OK;

	for (size_t i = first; i < names->list.count && rc == NP_OK; i++) {
		if (list[i].file == NP_FILE_COUNT || taken[i] ||
		    !discover_same_renamed(&list[first], &list[i]) || source.file[list[i].file])
			continue;
		taken[i] = true;
		rc = discover_set_file(&source, list[i].file, dir, names->list.item[i], err);
	}
	if (rc == NP_OK && discover_readable(&source)) {
		source.dir = np_join_path(dir, names->list.item[first]);
		rc = source.dir ? discover_keep(run, &source, err) : np_fail_nomem(err, dir);
	}
	np_source_files_release(&source);
	return rc;
}

int discover_take_renamed(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_err *err)
{
	struct renamed_file *list = calloc(names->list.count + 1, sizeof(*list));
	bool *taken = calloc(names->list.count + 1, sizeof(*taken));
	int rc = list && taken ? NP_OK : np_fail_nomem(err, dir);

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++)
		(void)discover_renamed(names->list.item[i], &list[i]);
	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		if (list[i].file != NP_FILE_COUNT && !taken[i])
			rc = take_group(run, dir, names, list, taken, i, err);
	}
	free(list);
	free(taken);
	return rc;
}

/* --- numbers --------------------------------------------------------------------------------- */

/* The number that a text ends with, or begins with; -1 for none. */
static int32_t number_in(struct np_slice text)
{
	size_t from = text.length;
	size_t to = 0;
	int64_t number;

	while (from > 0 && isdigit((unsigned char)text.bytes[from - 1]))
		from--;
	while (to < text.length && isdigit((unsigned char)text.bytes[to]))
		to++;
	if (from < text.length)
		text = (struct np_slice){ text.bytes + from, text.length - from };
	else
		text.length = to;
	if (text.length == 0 || text.length > 6 ||
	    !np_text_to_int(text.bytes, text.length, &number))
		return -1;
	return (int32_t)number;
}

/* trace_3.json.gz, 3.json, 3_trace_view.json */
static int32_t number_of_file(const char *name)
{
	struct renamed_file parts;

	if (!discover_renamed(name, &parts))
		return number_in((struct np_slice){ name, strcspn(name, ".") });
	return number_in(parts.behind.length > 0 ? parts.behind : parts.before);
}

/* 3, device_3: a number, or one behind a word for what has a number. run3 is no rank. */
static int32_t number_of_dir(const char *name)
{
	static const char *const words[] = { "",       "device", "dev",     "card",      "npu",
					     "worker", "proc",   "process", "local_rank" };
	size_t length = strlen(name);
	size_t digits = length;

	while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
		digits--;
	for (size_t i = 0; i < NP_COUNT(words); i++) {
		size_t word = strlen(words[i]);
		size_t gap = word > 0 && digits == word + 1 && separates(name[word]) ? 1 : 0;

		if (strncasecmp(name, words[i], word) == 0 && digits == word + gap)
			return number_in((struct np_slice){ name + digits, length - digits });
	}
	return -1;
}

static bool is_file(const struct np_source_files *source)
{
	for (size_t i = 0; i < NP_FILE_COUNT; i++) {
		if (source->file[i] && strcmp(source->file[i], source->dir) == 0)
			return true;
	}
	return false;
}

static int32_t number_of(const struct np_source_files *source)
{
	const char *name = np_text_last_part(source->dir);

	return is_file(source) ? number_of_file(name) : number_of_dir(name);
}

/* Are all of them without a rank, and without a host and device that would say which is which? */
static bool are_unranked(const struct np_run *run)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *each = &run->sources.item[i];

		if (each->rank >= 0 || (each->kind != NP_KIND_KINETO && each->device >= 0))
			return false;
	}
	return run->sources.count > 1;
}

int discover_count_names(struct np_run *run, struct np_err *err)
{
	size_t count = run->sources.count;
	bool counted = are_unranked(run);
	bool *seen = counted ? calloc(count + 1, sizeof(*seen)) : NULL;

	if (counted && !seen)
		return np_fail_nomem(err, "ranks");
	for (size_t i = 0; i < count && counted; i++) {
		int32_t number = number_of(&run->sources.item[i]);

		counted = number >= 0 && (size_t)number < count && !seen[number];
		if (counted)
			seen[number] = true;
	}
	free(seen);
	for (size_t i = 0; i < count && counted; i++) {
		run->sources.item[i].rank = number_of(&run->sources.item[i]);
		run->sources.item[i].rank_from = NP_RANK_FROM_NAME;
	}
	return NP_OK;
}
