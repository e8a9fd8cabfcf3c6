/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are not mailed, and what stands for them. */
#include "page_aliases.h"

#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/snapshot_rows.h"

static int add_alias(struct page_aliases *aliases, const char *name, const char *kind,
		     size_t number, struct np_err *err)
{
	struct page_alias *alias;

	if (!name || strlen(name) < 2)
		return NP_OK;
	for (size_t i = 0; i < aliases->list.count; i++) {
		if (strcmp(aliases->list.item[i].name, name) == 0)
			return NP_OK;
	}
	alias = np_vec_add(&aliases->list, err);
	if (!alias)
		return NP_E_NOMEM;
	alias->name = name;
	(void)snprintf(alias->instead, sizeof(alias->instead), "%s-%zu", kind, number);
	return NP_OK;
}

static int by_length(const void *left, const void *right)
{
	const struct page_alias *a = left;
	const struct page_alias *b = right;
	size_t length[] = { strlen(a->name), strlen(b->name) };

	if (length[0] != length[1])
		return length[0] < length[1] ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Stacks name files and functions of the user; what stands for none does not. */
static int add_stack(struct page_aliases *aliases, const char *what, struct np_err *err)
{
	if (!what || *what == '<' || strcmp(what, "before the record") == 0)
		return NP_OK;
	return add_alias(aliases, what, "stack", aliases->list.count, err);
}

static int add_memory(struct page_aliases *aliases, const struct np_memory *memory,
		      struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->ranks.count; i++) {
		const char *file = memory->ranks.item[i].file;
		const char *last = file ? strrchr(file, '/') : NULL;

		rc = add_alias(aliases, file, "snapshot", i, err);
		if (rc == NP_OK && last)
			rc = add_alias(aliases, last + 1, "snapshot", i, err);
		if (rc == NP_OK)
			rc = add_stack(aliases, memory->ranks.item[i].out_of_memory, err);
	}
	for (size_t i = 0; rc == NP_OK && i < memory->groups.count; i++)
		rc = add_stack(aliases, memory->groups.item[i].what, err);
	for (size_t i = 0; rc == NP_OK && i < memory->leaks.count; i++)
		rc = add_stack(aliases, memory->leaks.item[i].what, err);
	for (size_t i = 0; rc == NP_OK && i < memory->largest.count; i++)
		rc = add_stack(aliases, memory->largest.item[i].what, err);
	for (size_t i = 0; rc == NP_OK && i < memory->blocks.count; i++)
		rc = add_stack(aliases, memory->blocks.item[i].what, err);
	return rc;
}

int page_aliases_find(const struct np_run *run, const struct np_memory *memory, const char *input,
		      const char *base, struct page_aliases *ret, struct np_err *err)
{
	size_t hosts = 0;
	int rc = add_alias(ret, input, "run", 0, err);

	if (rc == NP_OK)
		rc = add_alias(ret, base, "base", 0, err);
	if (rc == NP_OK && memory)
		rc = add_memory(ret, memory, err);
	for (size_t i = 0; i < run->roots.count && rc == NP_OK; i++)
		rc = add_alias(ret, run->roots.item[i], "run", i, err);
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_source_files *source = &run->sources.item[i];
		const char *last = source->dir ? strrchr(source->dir, '/') : NULL;
		size_t before = ret->list.count;

		rc = add_alias(ret, source->dir, "capture", i, err);
		if (rc == NP_OK && last)
			rc = add_alias(ret, last + 1, "capture", i, err);
		before = ret->list.count;
		if (rc == NP_OK && run->ranks[i])
			rc = add_alias(ret, np_run_text(run, run->ranks[i]->host_name), "host",
				       hosts, err);
		hosts += ret->list.count > before;
		if (rc == NP_OK)
			rc = add_alias(ret, source->host, "host", hosts, err);
	}
	if (ret->list.count > 0)
		qsort(ret->list.item, ret->list.count, sizeof(*ret->list.item), by_length);
	return rc;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The alias of what stands at `text`, as a word of its own; NULL for none. */
static const struct page_alias *alias_at(const struct page_aliases *aliases, const char *text,
					 char before)
{
	for (size_t i = 0; i < aliases->list.count; i++) {
		const struct page_alias *alias = &aliases->list.item[i];
		size_t length = strlen(alias->name);

		if (strncmp(text, alias->name, length) == 0 && !is_word(text[length]) &&
		    !is_word(before))
			return alias;
	}
	return NULL;
}

/*
 * Length of a path that begins here, 0 for none: calls in evidence name files of the user. A
 * leaf such as comm/dp/wait is none, as it does not begin with a slash; the address of a document
 * is none either. The last part stays.
 */
static size_t path_length(const char *at, const char *text)
{
	size_t length = strcspn(at, " \"\\,;:()<>'");
	const char *last = memrchr(at, '/', length);
	char before = at > text ? at[-1] : ' ';

	if (*at != '/' || !is_word(at[1]) || last == at || is_word(before) ||
	    strchr(":.*_-)", before) || (before == '/' && at - text > 1 && at[-2] == ':'))
		return 0;
	return (size_t)(last - at);
}

void page_aliases_put(struct np_buf *buf, const struct page_aliases *aliases, const char *text,
		      size_t length)
{
	const char *end = text + length;

	for (const char *at = text; at < end;) {
		char before = at > text ? at[-1] : ' ';
		const struct page_alias *alias = alias_at(aliases, at, before);
		size_t path = alias ? 0 : path_length(at, text);

		if (alias)
			np_buf_add(buf, alias->instead);
		else if (path > 0)
			np_buf_add(buf, "\u2026");
		else
			np_buf_add_char(buf, *at);
		at += alias ? strlen(alias->name) : path > 0 ? path : 1;
	}
}

void page_aliases_release(struct page_aliases *aliases)
{
	np_vec_release(&aliases->list);
}
