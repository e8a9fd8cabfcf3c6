/* SPDX-License-Identifier: Apache-2.0 */
/* Levels, versions, sizes and communicators from the metadata files of a rank. */
#include "core/model/vendor/file_names.h"
#include "derived.h"
#include "text_files.h"

#include "npuprof/arena.h"
#include "npuprof/json.h"
#include "npuprof/order.h"
#include "npuprof/parallel.h"
#include "npuprof/rank.h"

static int intern(struct np_strtab *strings, const char *text, np_str *ret, struct np_err *err)
{
	if (!text || !*text)
		return NP_OK;
	return np_strtab_add(strings, text, strlen(text), ret, err);
}

static int32_t small_integer(const struct np_json *object, const char *key)
{
	int64_t value;

	if (!np_json_integer(np_json_member(object, key), &value) || value < 0 || value > INT32_MAX)
		return 0;
	return (int32_t)value;
}

static void take_parallel(struct np_parallel *parallel, const struct np_json *args)
{
	if (np_json_type(args) != NP_JSON_OBJECT)
		return;
	parallel->known = true;
	parallel->world = small_integer(args, "world_size");
	parallel->tp = small_integer(args, "tensor_model_parallel_size");
	parallel->pp = small_integer(args, "pipeline_model_parallel_size");
	parallel->dp = small_integer(args, "data_parallel_size");
	parallel->cp = small_integer(args, "context_parallel_size");
	parallel->ep = small_integer(args, "expert_model_parallel_size");
	(void)np_json_bool(np_json_member(args, "sequence_parallel"), &parallel->sequence_parallel);
}

static int take_members(struct np_rank *rank, struct np_group *group, const struct np_json *list,
			struct np_err *err)
{
	size_t count = np_json_count(list);
	int32_t *members;

	if (np_json_type(list) != NP_JSON_ARRAY || count == 0)
		return NP_OK;
	members = np_arena_array(rank->arena, count, sizeof(members[0]));
	if (!members)
		return np_fail_nomem(err, "members of a communicator");
	group->member_count = 0;
	for (size_t i = 0; i < count; i++) {
		int64_t member;

		if (np_json_integer(np_json_item(list, i), &member) && member >= 0 &&
		    member <= INT32_MAX)
			members[group->member_count++] = (int32_t)member;
	}
	qsort(members, group->member_count, sizeof(members[0]), np_by_int32);
	/* A list without a single rank says nothing. */
	group->members = group->member_count == 0 ? NULL : members;
	return NP_OK;
}

static int take_group(struct np_rank *rank, const char *name, const struct np_json *info,
		      struct np_strtab *strings, struct np_err *err)
{
	struct np_group *group;
	int64_t group_rank;
	uint32_t index;
	int rc = np_rank_group(rank, np_group_hash(name, strlen(name)), &index, err);

	if (rc < 0)
		return rc;
	group = &rank->groups.item[index];
	rc = intern(strings, name, &group->name, err);
	if (rc == NP_OK)
		rc = intern(strings, np_json_text(np_json_member(info, "group_name")),
			    &group->pg_name, err);
	if (np_json_integer(np_json_member(info, "group_rank"), &group_rank) && group_rank >= 0 &&
	    group_rank <= INT32_MAX)
		group->group_rank = (int32_t)group_rank;
	if (rc == NP_OK)
		rc = take_members(rank, group, np_json_member(info, "global_ranks"), err);
	return rc;
}

static int take_groups(struct np_rank *rank, const struct np_json *groups,
		       struct np_strtab *strings, struct np_err *err)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(groups, &entry))
		rc = take_group(rank, entry.key, entry.value, strings, err);
	return rc;
}

/* A communicator of communication_group.json, which lists those of all ranks. */
static int take_listed_group(struct np_rank *rank, const struct np_json *info,
			     struct np_strtab *strings, struct np_err *err)
{
	const char *hash = np_json_text(np_json_member(info, "group_name"));
	struct derived load = { .rank = rank, .strings = strings, .err = err };
	struct np_group found = { 0 };
	uint32_t index = 0;
	int rc = take_members(rank, &found, np_json_member(info, "rank_set"), err);

	if (rc < 0 || !hash || !derived_is_member(rank->id, found.members, found.member_count))
		return rc;
	rc = derived_group(&load, hash, strlen(hash), &index);
	if (rc < 0)
		return rc;
	rank->groups.item[index].members = found.members;
	rank->groups.item[index].member_count = found.member_count;
	rc = intern(strings, np_json_text(np_json_member(info, "group_id")),
		    &rank->groups.item[index].name, err);
	if (rc == NP_OK)
		rc = intern(strings, np_json_text(np_json_member(info, "pg_name")),
			    &rank->groups.item[index].pg_name, err);
	return rc;
}

static int take_listed_groups(struct np_rank *rank, const struct np_json *list,
			      struct np_strtab *strings, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < np_json_count(list) && rc == NP_OK; i++)
		rc = take_listed_group(rank, np_json_item(list, i), strings, err);
	return rc;
}

int np_load_metadata_value(struct np_rank *rank, const char *name, const struct np_json *value,
			   struct np_strtab *strings, struct np_err *err)
{
	if (strcmp(name, "distributed_args") == 0)
		take_parallel(&rank->parallel, value);
	else if (strcmp(name, "parallel_group_info") == 0)
		return take_groups(rank, value, strings, err);
	else if (strcmp(name, "comm_group_parallel_info") == 0)
		return take_listed_groups(rank, value, strings, err);
	return NP_OK;
}

static int take_metadata(struct np_rank *rank, const struct np_json *doc, struct np_strtab *strings,
			 struct np_err *err)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(doc, &entry))
		rc = np_load_metadata_value(rank, entry.key, entry.value, strings, err);
	return rc;
}

static int take_info(struct np_rank *rank, const struct np_json *doc, struct np_strtab *strings,
		     struct np_err *err)
{
	const struct np_json *config = np_json_member(doc, "config");
	const struct np_json *experimental = np_json_member(config, "experimental_config");
	int rc = intern(strings, np_json_text(np_json_member(experimental, "_profiler_level")),
			&rank->level, err);

	if (rc == NP_OK)
		rc = intern(strings, np_json_text(np_json_member(doc, "cann_version")),
			    &rank->cann_version, err);
	if (rc == NP_OK)
		rc = intern(strings, np_json_text(np_json_member(doc, "torch_npu_version")),
			    &rank->framework_version, err);
	return rc;
}

/* Metadata names things; a rank is usable without it, so damage is a note and not a failure. */
static int read_document(struct np_rank *rank, const char *path, const char *what,
			 struct np_json **ret, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;

	if (!path)
		return NP_OK;
	if (np_json_read_file(path, NP_METADATA_MAX_BYTES, ret, &problem) == NP_OK) {
		if (np_json_type(*ret) == NP_JSON_OBJECT)
			return NP_OK;
		(void)np_fail(&problem, NP_E_FORMAT, "'%s' is no JSON object", path);
	}
	if (problem.code == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	np_note_add(&rank->notes, NP_NOTE_SKIPPED, rank->id, path, what, "%s", problem.text);
	return NP_OK;
}

int np_load_metadata(struct np_rank *rank, const struct np_source_files *source,
		     struct np_strtab *strings, struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *info = NULL;
	NP_CLEANUP(np_json_freep) struct np_json *metadata = NULL;
	int rc = read_document(rank, source->file[NP_FILE_INFO], "profiler_info", &info, err);

	if (rc == NP_OK)
		rc = take_info(rank, info, strings, err);
	if (rc == NP_OK)
		rc = read_document(rank, source->file[NP_FILE_METADATA], "profiler_metadata",
				   &metadata, err);
	if (rc == NP_OK)
		rc = take_metadata(rank, metadata, strings, err);
	return rc;
}
