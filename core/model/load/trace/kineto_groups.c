/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators of a trace of Kineto: members, sizes of operators, ends of messages. */
#include "core/model/vendor/hccl_types.h"
#include "kineto_load.h"

#include "npuprof/arena.h"
#include "npuprof/json.h"
#include "npuprof/order.h"
#include "npuprof/text.h"

/* Where nothing names the communicator of an operator of NCCL. */
#define UNNAMED "nccl"

/* Beyond it is damage. */
#define MOST_MEMBERS 1048576

static const char *text_of(const struct kineto_load *load, np_str text)
{
	return text == NP_STR_NONE ? "" : np_strtab_text(load->capture.strings, text);
}

static struct np_slice slice_of(const struct kineto_load *load, np_str text)
{
	const char *bytes = text_of(load, text);

	return (struct np_slice){ bytes, strlen(bytes) };
}

/* --- members --------------------------------------------------------------------------------- */

static int32_t *new_members(struct kineto_load *load, size_t count)
{
	int32_t *members = np_arena_array(load->rank->arena, count, sizeof(*members));

	if (!members)
		(void)np_fail_nomem(load->capture.err, "members of a communicator");
	return members;
}

static void set_members(struct kineto_load *load, struct np_group *group, int32_t *members,
			size_t count)
{
	qsort(members, count, sizeof(*members), np_by_int32);
	group->members = members;
	group->member_count = count;
	for (size_t i = 0; i < count; i++) {
		if (members[i] == load->rank->id)
			group->group_rank = (int32_t)i;
	}
}

static int take_list(struct kineto_load *load, struct np_group *group, const struct np_json *list)
{
	size_t count = np_json_count(list);
	int32_t *members;
	size_t used = 0;

	if (group->members || np_json_type(list) != NP_JSON_ARRAY || count == 0 ||
	    count > MOST_MEMBERS)
		return NP_OK;
	members = new_members(load, count);
	if (!members)
		return NP_E_NOMEM;
	for (size_t i = 0; i < count; i++) {
		int64_t member;

		if (np_json_integer(np_json_item(list, i), &member) && member >= 0 &&
		    member <= INT32_MAX)
			members[used++] = (int32_t)member;
	}
	if (used == count)
		set_members(load, group, members, count);
	return NP_OK;
}

/* "[0, 1, 2, 3]"; a list that was cut ("[0, 1, ..., 63]") is none. */
static int take_ranks(struct kineto_load *load, struct np_group *group, np_str ranks, int64_t size)
{
	NP_CLEANUP(np_json_freep) struct np_json *list = NULL;
	struct np_slice text = slice_of(load, ranks);

	if (group->members || text.length == 0 ||
	    np_json_parse(text.bytes, text.length, "Process Group Ranks", &list, NULL) < 0 ||
	    (size > 0 && (uint64_t)size != np_json_count(list)))
		return NP_OK;
	return take_list(load, group, list);
}

/* A communicator as large as the job has all of its ranks. */
static int take_world(struct kineto_load *load, struct np_group *group, int64_t size)
{
	int32_t *members;

	if (group->members || size == NP_UNKNOWN || size <= 0 || size > MOST_MEMBERS ||
	    size != load->world)
		return NP_OK;
	members = new_members(load, (size_t)size);
	if (!members)
		return NP_E_NOMEM;
	for (int32_t i = 0; i < size; i++)
		members[i] = i;
	set_members(load, group, members, (size_t)size);
	return NP_OK;
}

/* --- the job --------------------------------------------------------------------------------- */

/*
 * What a communicator is for: the words of Megatron and of device meshes as those of
 * MindSpeed, any other as it is; NP_STR_NONE where nothing is said.
 */
static int name_purpose(struct kineto_load *load, const char *text, np_str *ret)
{
	static const char *const words[][2] = {
		{ "TENSOR_MODEL_PARALLEL_GROUP", "tp" },
		{ "PIPELINE_MODEL_PARALLEL_GROUP", "pp" },
		{ "DATA_PARALLEL_GROUP", "dp" },
		{ "DATA_PARALLEL_GROUP_WITH_CP", "dp_cp" },
		{ "CONTEXT_PARALLEL_GROUP", "cp" },
		{ "EXPERT_MODEL_PARALLEL_GROUP", "ep" },
		{ "MODEL_PARALLEL_GROUP", "mp" },
		{ "EMBEDDING_GROUP", "embd" },
		{ "mesh_tp", "tp" },
		{ "mesh_pp", "pp" },
		{ "mesh_dp", "dp" },
		{ "mesh_cp", "cp" },
		{ "mesh_ep", "ep" },
	};

	if (!text || !*text || strcmp(text, "undefined") == 0)
		return NP_OK;
	for (size_t i = 0; i < NP_COUNT(words); i++) {
		if (strcmp(text, words[i][0]) == 0)
			text = words[i][1];
	}
	return np_strtab_add(load->capture.strings, text, strlen(text), ret, load->capture.err);
}

static int take_config(struct kineto_load *load, const struct np_json *config)
{
	const char *name = np_json_text(np_json_member(config, "pg_name"));
	const char *description = np_json_text(np_json_member(config, "pg_desc"));
	struct np_group *group;
	uint32_t index;
	int rc;

	if (!name)
		return NP_OK;
	rc = np_rank_group(load->rank, np_group_hash(name, strlen(name)), &index,
			   load->capture.err);
	if (rc < 0)
		return rc;
	group = &load->rank->groups.item[index];
	rc = np_strtab_add(load->capture.strings, name, strlen(name), &group->name,
			   load->capture.err);
	if (rc == NP_OK)
		rc = name_purpose(load, description, &group->pg_name);
	return rc < 0 ? rc : take_list(load, group, np_json_member(config, "ranks"));
}

/* The rank's own number is known since the files were found; a replica may number its own. */
int kineto_read_job(struct kineto_load *load, struct np_slice distributed_info)
{
	NP_CLEANUP(np_json_freep) struct np_json *info = NULL;
	const struct np_json *groups;
	const char *backend;
	int64_t rank = -1;
	int rc = NP_OK;

	load->world = NP_UNKNOWN;
	if (distributed_info.length == 0)
		return NP_OK;
	if (np_json_parse(distributed_info.bytes, distributed_info.length, "distributedInfo", &info,
			  NULL) < 0) {
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id, load->capture.path,
			    "distributedInfo", "it is no JSON: members of groups are not known");
		return NP_OK;
	}
	backend = np_json_text(np_json_member(info, "backend"));
	load->is_npu |= backend && strstr(backend, "hccl");
	load->is_gpu |= backend && strstr(backend, "nccl");
	if (np_json_integer(np_json_member(info, "rank"), &rank) && rank != load->rank->id)
		return NP_OK;
	if (np_json_integer(np_json_member(info, "world_size"), &load->world) &&
	    load->world > load->rank->id && load->world <= MOST_MEMBERS)
		load->rank->parallel.world = (int32_t)load->world;
	groups = np_json_member(info, "pg_config");
	for (size_t i = 0; i < np_json_count(groups) && rc == NP_OK; i++)
		rc = take_config(load, np_json_item(groups, i));
	return rc;
}

/* --- operators ------------------------------------------------------------------------------- */

/* Is something said that tells more than the kernel's name? */
static bool says_something(const struct kineto_record *record)
{
	return record->collective != NP_STR_NONE || record->group != NP_STR_NONE;
}

static const struct kineto_record *record_of(const struct kineto_load *load,
					     const struct kineto_op *op)
{
	uint32_t found;

	if (op->record != NP_IDMAP_NONE && says_something(&load->records.item[op->record]))
		return &load->records.item[op->record];
	found = op->external == NP_UNKNOWN ? NP_IDMAP_NONE
					   : np_idmap_get(load->record_of, op->external);
	return found == NP_IDMAP_NONE ? NULL : &load->records.item[found];
}

int kineto_group(struct kineto_load *load, const struct kineto_op *from, uint32_t *ret)
{
	const struct kineto_record *record = record_of(load, from);
	const char *name = record ? text_of(load, record->group) : "";
	struct np_group *group;
	int rc;

	if (!*name)
		return np_rank_group(load->rank, np_group_hash(UNNAMED, strlen(UNNAMED)), ret,
				     load->capture.err);
	rc = np_rank_group(load->rank, np_group_hash(name, strlen(name)), ret, load->capture.err);
	if (rc < 0)
		return rc;
	group = &load->rank->groups.item[*ret];
	group->name = record->group;
	/* Not every operator of a group has its description. */
	rc = name_purpose(load, text_of(load, record->description), &group->pg_name);
	if (rc == NP_OK)
		rc = take_ranks(load, group, record->ranks, record->group_size);
	return rc < 0 ? rc : take_world(load, group, record->group_size);
}

/* What HCCL counts: what a rank puts in, but what it receives of a scattered sum or of a message.
 */
static int64_t elements(const struct kineto_record *record, const char *type)
{
	bool receives = strcmp(type, "hcom_reduceScatter_") == 0 ||
			strcmp(type, "hcom_receive_") == 0 || strcmp(type, "hcom_scatter_") == 0;
	int64_t first = receives ? record->received : record->sent;
	int64_t second = receives ? record->sent : record->received;

	return first != NP_UNKNOWN && first > 0 ? first : second;
}

static int32_t local_rank(const struct np_group *group, int64_t rank)
{
	for (size_t i = 0; i < group->member_count; i++) {
		if (group->members[i] == rank)
			return (int32_t)i;
	}
	return -1;
}

static void meet(struct kineto_load *load, const struct kineto_record *record,
		 struct np_comm_op *op)
{
	const struct np_group *group = &load->rank->groups.item[op->group];
	int64_t other = record->source == load->rank->id ? record->target : record->source;

	if (op->p2p && other != NP_UNKNOWN && group->members)
		np_comm_op_meet(op, group->group_rank, group->group_rank, local_rank(group, other));
}

/* "hcom_allReduce__123_0_1" has a type; others have the name of what does the same in HCCL. */
static int name_op(struct kineto_load *load, const struct kineto_op *from,
		   const struct kineto_record *record, struct np_comm_op *op)
{
	struct np_slice name = slice_of(load, from->name);
	const char *type = NULL;
	int rc;

	if (kineto_begins(name, "hcom_")) {
		op->name = from->name;
		return np_strtab_add(load->capture.strings, name.bytes,
				     vendor_operator_type(name.bytes, name.length), &op->type,
				     load->capture.err);
	}
	if (record && record->collective != NP_STR_NONE)
		type = kineto_operator(slice_of(load, record->collective));
	if (!type)
		type = kineto_operator(name);
	if (!type)
		type = "hcom_other_";
	rc = np_strtab_add(load->capture.strings, type, strlen(type), &op->type, load->capture.err);
	op->name = op->type;
	return rc;
}

int kineto_describe(struct kineto_load *load, const struct kineto_op *from, uint32_t index)
{
	const struct kineto_record *record = record_of(load, from);
	struct np_comm_op *op = &load->rank->ops.item[index];
	int rc = name_op(load, from, record, op);

	if (rc < 0)
		return rc;
	op->p2p = np_op_is_p2p(text_of(load, op->type));
	if (!record)
		return NP_OK;
	op->data_type = record->data_type & 31U;
	if (record->data_type)
		op->bytes = hccl_bytes(elements(record, text_of(load, op->type)),
				       record->data_type - 1);
	meet(load, record, op);
	return NP_OK;
}
