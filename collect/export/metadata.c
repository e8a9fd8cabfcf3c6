/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators of which each rank knows only its own position, put together. */
#include "export.h"

#include "npuprof/jsonout.h"

#define METADATA_NAME "profiler_metadata.json"
#define GROUPS        "parallel_group_info"
#define MAX_JSON      ((size_t)256 << 20)
#define MAX_MEMBERS   1000000

/* The entry of a rank's record about a communicator, or NULL. */
static const struct np_json *own_entry(const struct np_export_rank *rank, const char *name)
{
	const struct np_json *list = np_json_member(rank->record, "communicators");

	for (size_t i = 0; i < np_json_count(list); i++) {
		const struct np_json *entry = np_json_item(list, i);
		const char *other = np_json_text(np_json_member(entry, "name"));

		if (other && strcmp(other, name) == 0)
			return entry;
	}
	return NULL;
}

/* Global rank by position in the communicator, from the records of all its members. */
static bool join_members(const struct np_export_rank *rank, const struct np_export_tree *tree,
			 const char *name, int64_t *members, int64_t size)
{
	int64_t found = 0;

	for (int64_t i = 0; i < size; i++)
		members[i] = NP_UNKNOWN;
	for (size_t i = 0; i < tree->ranks.count; i++) {
		const struct np_export_rank *other = &tree->ranks.item[i];
		const struct np_json *entry =
			other->job == rank->job ? own_entry(other, name) : NULL;
		int64_t position;

		if (!np_json_integer(np_json_member(entry, "group_rank"), &position) ||
		    position < 0 || position >= size || other->rank < 0)
			continue;
		found += members[position] == NP_UNKNOWN ? 1 : 0;
		members[position] = other->rank;
	}
	return found == size;
}

static void write_group(struct np_jsonout *out, const struct np_json *entry, const int64_t *members,
			int64_t size)
{
	const char *pg_name = np_json_text(np_json_member(entry, "pg_name"));
	int64_t position = NP_UNKNOWN;

	(void)np_json_integer(np_json_member(entry, "group_rank"), &position);
	np_jsonout_object_line(out, np_json_text(np_json_member(entry, "name")));
	np_jsonout_text(out, "group_name", pg_name ? pg_name : "");
	np_jsonout_integer(out, "group_rank", position);
	np_jsonout_array_line(out, "global_ranks");
	for (int64_t i = 0; i < size; i++)
		np_jsonout_integer(out, NULL, members[i]);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* Is this communicator missing, and are its members known? They are allocated then. */
static int64_t *new_group(const struct np_export_rank *rank, const struct np_export_tree *tree,
			  const struct np_json *known, const struct np_json *entry,
			  int64_t *ret_size)
{
	const char *name = np_json_text(np_json_member(entry, "name"));
	int64_t *members;

	if (!name || np_json_member(known, name) ||
	    !np_json_integer(np_json_member(entry, "size"), ret_size) || *ret_size < 1 ||
	    *ret_size > MAX_MEMBERS)
		return NULL;
	members = calloc((size_t)*ret_size, sizeof(*members));
	if (members && join_members(rank, tree, name, members, *ret_size))
		return members;
	free(members);
	return NULL;
}

struct completion {
	const struct np_export_rank *rank;
	const struct np_export_tree *tree;
	const struct np_json *metadata;
};

/* The communicators that are there and those that were put together. Gives the number of these. */
static size_t write_groups(const struct completion *completion, struct np_jsonout *out)
{
	const struct np_json *known = np_json_member(completion->metadata, GROUPS);
	const struct np_json *list = np_json_member(completion->rank->record, "communicators");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	size_t added = 0;

	np_jsonout_object(out, GROUPS);
	while (np_json_next(known, &entry))
		np_export_copy_json(out, entry.key, entry.value, true);
	for (size_t i = 0; i < np_json_count(list); i++) {
		int64_t size;
		int64_t *members = new_group(completion->rank, completion->tree, known,
					     np_json_item(list, i), &size);

		if (!members)
			continue;
		write_group(out, np_json_item(list, i), members, size);
		free(members);
		added++;
	}
	np_jsonout_end(out);
	return added;
}

static size_t write_metadata(const struct completion *completion, struct np_jsonout *out)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	size_t added;

	np_jsonout_object(out, NULL);
	while (np_json_next(completion->metadata, &entry)) {
		if (strcmp(entry.key, GROUPS) != 0)
			np_export_copy_json(out, entry.key, entry.value, false);
	}
	added = write_groups(completion, out);
	np_jsonout_end(out);
	return added;
}

static int put_text(const void *context, FILE *stream, struct np_err *err)
{
	const struct np_buf *text = context;

	if (fwrite(text->text, 1, text->length, stream) != text->length)
		return np_fail(err, NP_E_IO, "cannot write metadata");
	return NP_OK;
}

int np_export_complete_metadata(const struct np_export_rank *rank,
				const struct np_export_tree *tree, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	NP_CLEANUP(np_json_freep) struct np_json *metadata = NULL;
	struct completion completion = { .rank = rank, .tree = tree };
	struct np_jsonout out;
	size_t added = 0;
	int rc;

	np_buf_printf(&path, "%s/" METADATA_NAME, rank->dir);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = np_json_read_file(path.text, MAX_JSON, &metadata, err);
	if (rc < 0 && rc != NP_E_NOTFOUND)
		return rc;
	completion.metadata = metadata;
	np_jsonout_init(&out, NULL);
	added = write_metadata(&completion, &out);
	rc = np_jsonout_finish(&out, err);
	if (rc == NP_OK && added > 0)
		rc = np_write_file(path.text, put_text, &out.buf, err);
	np_jsonout_release(&out);
	return rc;
}
