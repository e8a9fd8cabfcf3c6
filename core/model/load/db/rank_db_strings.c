/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/load/text/text_files.h"
#include "rank_db.h"

/* Host events with such a name load data; few databases have any. */
static int keep_loader(struct rank_db *load, int64_t id, const struct rank_db_text *text)
{
	if (!vendor_loads_data(text->bytes, text->length))
		return NP_OK;
	if (!load->loaders)
		load->loaders = np_idmap_new();
	if (!load->loaders)
		return np_fail_nomem(load->err, "STRING_IDS");
	return np_idmap_set(load->loaders, id, 1, load->err);
}

static int take_string(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text value = batch->column[STRING_VALUE].text[row];
	struct rank_db_text *text = np_vec_add(&load->texts, load->err);
	int rc;

	if (!text)
		return NP_E_NOMEM;
	text->length = value.length;
	text->bytes = np_arena_text(load->arena, value.bytes ? value.bytes : "", value.length);
	if (!text->bytes)
		return np_fail_nomem(load->err, "STRING_IDS");
	rc = keep_loader(load, batch->column[STRING_ID].integer[row], text);
	if (rc < 0)
		return rc;
	return np_idmap_set(load->text_index, batch->column[STRING_ID].integer[row],
			    (uint32_t)(load->texts.count - 1), load->err);
}

int rank_db_read_strings(struct rank_db *load)
{
	static const struct vendor_pick strings = { &vendor_string_ids, 0, 0 };
	int rc = rank_db_each(load, &strings, take_string);

	if (rc == NP_OK && load->texts.count == 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), "STRING_IDS",
			    "there are no texts: operators and kernels have no names, and the"
			    " communicators are one");
	return rc;
}

struct rank_db_text rank_db_text(struct rank_db *load, int64_t id)
{
	uint32_t index = np_idmap_get(load->text_index, id);

	return index == NP_IDMAP_NONE ? (struct rank_db_text){ "", 0 } : load->texts.item[index];
}

int rank_db_intern(struct rank_db *load, int64_t id, np_str *ret)
{
	uint32_t known = np_idmap_get(load->interned, id);
	struct rank_db_text text;
	int rc;

	if (known != NP_IDMAP_NONE) {
		*ret = known;
		return NP_OK;
	}
	text = rank_db_text(load, id);
	rc = np_strtab_add(load->strings, text.bytes, text.length, ret, load->err);
	return rc < 0 ? rc : np_idmap_set(load->interned, id, *ret, load->err);
}

static int take_value(struct rank_db *load, const char *name, struct np_scan_text value)
{
	NP_CLEANUP(np_json_freep) struct np_json *json = NULL;
	struct np_err problem = NP_ERR_INIT;
	char what[128];

	if (strcmp(name, "SCHEMA_VERSION") == 0)
		return np_strtab_add(load->strings, value.bytes, value.length,
				     &load->rank->schema_version, load->err);
	if (strcmp(name, "distributed_args") != 0 && strcmp(name, "parallel_group_info") != 0)
		return NP_OK;
	(void)snprintf(what, sizeof(what), "META_DATA %s", name);
	if (np_json_parse(value.bytes, value.length, what, &json, &problem) < 0) {
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), what, "%s", problem.text);
		return NP_OK;
	}
	return np_load_metadata_value(load->rank, name, json, load->strings, load->err);
}

static int take_metadata(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[META_NAME].text[row];
	struct np_scan_text value = batch->column[META_VALUE].text[row];

	if (!name.bytes || !value.bytes)
		return NP_OK;
	return take_value(load, name.bytes, value);
}

static int take_host(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text uid = batch->column[HOST_UID].text[row];
	struct np_scan_text name = batch->column[HOST_NAME].text[row];
	int rc = NP_OK;

	/* The first row is this host. */
	if (load->rank->host_uid != NP_STR_NONE)
		return NP_OK;
	if (uid.bytes)
		rc = np_strtab_add(load->strings, uid.bytes, uid.length, &load->rank->host_uid,
				   load->err);
	if (rc == NP_OK && name.bytes)
		rc = np_strtab_add(load->strings, name.bytes, name.length, &load->rank->host_name,
				   load->err);
	return rc;
}

int rank_db_read_metadata(struct rank_db *load)
{
	static const struct vendor_pick metadata = { &vendor_meta_data, 0, 0 };
	static const struct vendor_pick hosts = { &vendor_host_info, 0, 0 };
	int rc = rank_db_each(load, &metadata, take_metadata);

	if (rc == NP_OK)
		rc = rank_db_each(load, &hosts, take_host);
	return rc;
}
