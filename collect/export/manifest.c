/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the export of each rank, into npuprof_manifest.json. */
#include "export.h"

#include "npuprof/jsonout.h"
#include "npuprof/text.h"

#define MANIFEST_NAME "npuprof_manifest.json"
#define MAX_JSON      ((size_t)256 << 20)

struct manifest_update {
	const struct np_json *manifest;
	const struct np_export_job *job;
	const struct np_export_tree *tree;
};

/* The rank that an entry of the manifest is about; NULL if it was not worked on. */
static const struct np_export_rank *rank_of(const struct manifest_update *update,
					    const struct np_json *entry)
{
	const char *dir = np_json_text(np_json_member(entry, "dir"));
	int64_t number = -1;

	(void)np_json_integer(np_json_member(entry, "rank"), &number);
	for (size_t i = 0; i < update->tree->chosen; i++) {
		const struct np_export_rank *rank = &update->tree->ranks.item[i];

		if (rank->job != update->job || rank->state == NP_EXPORT_STOPPED)
			continue;
		if (dir && *dir ? strcmp(np_text_last_part(dir), np_text_last_part(rank->dir)) == 0
				: number >= 0 && rank->rank == number)
			return rank;
	}
	return NULL;
}

static void write_rank(const struct manifest_update *update, const struct np_json *entry,
		       struct np_jsonout *out)
{
	const struct np_export_rank *rank = rank_of(update, entry);
	struct np_json_entry member = NP_JSON_ENTRY_INIT;
	bool failed = rank && rank->state == NP_EXPORT_FAILED;
	bool stated = false;

	np_jsonout_object_line(out, NULL);
	while (np_json_next(entry, &member)) {
		bool state = strcmp(member.key, "state") == 0;

		/* One that is there says why an earlier export failed. That of collecting stays. */
		if (rank && strcmp(member.key, "export_reason") == 0)
			continue;
		if (rank && state)
			np_jsonout_text(out, "state", failed ? "failed" : "exported");
		else
			np_export_copy_json(out, member.key, member.value, true);
		stated = stated || state;
	}
	if (rank && !stated)
		np_jsonout_text(out, "state", failed ? "failed" : "exported");
	if (rank)
		np_jsonout_text(out, "export_reason", failed ? rank->err.text : NULL);
	np_jsonout_end(out);
}

static int write_manifest(const void *context, FILE *stream, struct np_err *err)
{
	const struct manifest_update *update = context;
	struct np_json_entry member = NP_JSON_ENTRY_INIT;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	while (np_json_next(update->manifest, &member)) {
		if (strcmp(member.key, "ranks") != 0 ||
		    np_json_type(member.value) != NP_JSON_ARRAY) {
			np_export_copy_json(&out, member.key, member.value, false);
			continue;
		}
		np_jsonout_array(&out, "ranks");
		for (size_t i = 0; i < np_json_count(member.value); i++)
			write_rank(update, np_json_item(member.value, i), &out);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

int np_export_update_manifest(const struct np_export_job *job, const struct np_export_tree *tree,
			      struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *manifest = NULL;
	struct manifest_update update = { .job = job, .tree = tree };
	char *path = np_join_path(job->dir, MANIFEST_NAME);
	int rc = path ? NP_OK : np_fail_nomem(err, job->dir);

	/* Read again: an export of another node may have written it in the meantime. */
	if (rc == NP_OK)
		rc = np_json_read_file(path, MAX_JSON, &manifest, err);
	update.manifest = manifest;
	if (rc == NP_OK)
		rc = np_write_file(path, write_manifest, &update, err);
	free(path);
	return rc;
}
