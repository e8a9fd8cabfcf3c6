/* SPDX-License-Identifier: Apache-2.0 */
/* The rank database read into a detail: texts, names of numbers, and the order of its tables. */
#include "detail_db.h"

#include "npuprof/arena.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

static int scan_rows(struct detail_db *db, const struct vendor_pick *pick, struct np_scan *scan,
		     detail_take *take, struct np_err *problem)
{
	struct np_batch batch;
	size_t impossible = 0;
	size_t rows = 0;
	int rc = NP_OK;

	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, problem);
		if (rc < 0)
			return rc;
		impossible += batch.rows ? vendor_impossible(pick, scan, &batch)
					 : vendor_mistyped(pick, scan);
		if (batch.rows == 0)
			break;
		rows += batch.rows;
		db->about = np_scan_about(scan);
		for (size_t i = 0; i < batch.rows; i++) {
			if (take(db, &batch, i) < 0)
				return np_fail(problem, NP_E_NOMEM, "%s", db->err->text);
		}
	}
	detail_note_impossible(db->load, np_db_path(db->db), pick->table->name, impossible, rows);
	return NP_OK;
}

int detail_each(struct detail_db *db, const struct vendor_pick *pick, detail_take *take)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err problem = NP_ERR_INIT;
	int rc = vendor_scan_open(db->db, pick, &scan, &problem);

	if (rc == NP_E_NOTFOUND)
		return NP_OK;
	if (rc == NP_OK)
		rc = scan_rows(db, pick, scan, take, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(db->err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		detail_note(db->load, np_db_path(db->db), pick->table->name, problem.text);
	return NP_OK;
}

/* --- strings --------------------------------------------------------------------------------- */

static int keep_text(struct detail_db *db, struct np_idmap *index, int64_t id,
		     struct np_scan_text value)
{
	struct detail_text *text = np_vec_add(&db->texts, db->err);

	if (!text)
		return NP_E_NOMEM;
	text->length = value.bytes ? value.length : 0;
	text->bytes = np_arena_text(db->arena, value.bytes ? value.bytes : "", text->length);
	if (!text->bytes)
		return np_fail_nomem(db->err, "texts");
	return np_idmap_set(index, id, (uint32_t)(db->texts.count - 1), db->err);
}

static int take_string(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	return keep_text(db, db->text_index, batch->column[STRING_ID].integer[row],
			 batch->column[STRING_VALUE].text[row]);
}

static struct detail_text *text_in(struct detail_db *db, struct np_idmap *index, int64_t id)
{
	uint32_t at = np_idmap_get(index, id);

	return at == NP_IDMAP_NONE ? NULL : &db->texts.item[at];
}

/* Does it stand for something, and not for nothing? */
static bool is_number(int64_t id)
{
	return vendor_known(id) != NP_UNKNOWN && id != VENDOR_NO_ENUM && id != VENDOR_NO_ENUM + 1;
}

/* Each is counted once. */
void detail_miss(struct detail_db *db, int64_t id)
{
	if (!is_number(id) || np_idset_has(db->nameless, id))
		return;
	if (np_idset_add(db->nameless, id, NULL) == NP_OK)
		db->nameless_count++;
}

struct detail_text detail_text_of(struct detail_db *db, int64_t id)
{
	const struct detail_text *text = detail_find_text(db, id);

	return text ? *text : (struct detail_text){ .bytes = "" };
}

int detail_intern_first(struct detail_db *db, struct detail_text *text, np_str *ret)
{
	int rc;

	*ret = NP_STR_NONE;
	if (!text)
		return NP_OK;
	rc = detail_intern(db->load, text->bytes, text->length, &text->id);
	*ret = text->id;
	return rc;
}

int detail_intern_plain(struct detail_db *db, struct detail_text *text, np_str *ret)
{
	int rc;

	*ret = NP_STR_NONE;
	if (!text)
		return NP_OK;
	rc = detail_intern_list(db->load, text->bytes, text->length, ';', ret);
	text->plain = *ret;
	return rc;
}

static int take_enum(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	return keep_text(db, db->enums[db->reading_enum], batch->column[ENUM_ID].integer[row],
			 batch->column[ENUM_NAME].text[row]);
}

static const struct vendor_pick enum_tables[DETAIL_ENUMS] = {
	[DETAIL_DATA_TYPES] = { &vendor_enum_data_type, 0, 0 },
	[DETAIL_LINKS] = { &vendor_enum_link, 0, 0 },
	[DETAIL_TRANSPORTS] = { &vendor_enum_transport, 0, 0 },
	[DETAIL_RDMA_TYPES] = { &vendor_enum_rdma, 0, 0 },
	[DETAIL_API_TYPES] = { &vendor_enum_api, 0, 0 },
	[DETAIL_MODULES] = { &vendor_enum_module, 0, 0 },
};

static int read_enums(struct detail_db *db)
{
	int rc = NP_OK;

	for (size_t i = 0; i < DETAIL_ENUMS && rc == NP_OK; i++) {
		db->reading_enum = i;
		rc = detail_each(db, &enum_tables[i], take_enum);
	}
	return rc;
}

/* Numbers and texts that rows use, and no table has. */
static void note_nameless(struct detail_db *db, const char *path)
{
	static const char reason[] = "%zu names that other tables use are not in it";
	struct np_notes *notes = &db->detail->notes;

	if (db->nameless_count > 0)
		np_note_add(notes, np_note_of_loss(db->nameless_count, db->texts.count),
			    db->load->rank->id, path, vendor_string_ids.name, reason,
			    db->nameless_count);
	for (size_t i = 0; i < DETAIL_ENUMS; i++) {
		if (db->unnamed[i] > 0)
			np_note_add(notes, NP_NOTE_WARNING, db->load->rank->id, path,
				    enum_tables[i].table->name, reason, db->unnamed[i]);
	}
}

struct detail_text *detail_find_enum(struct detail_db *db, enum detail_enums table, int64_t id)
{
	struct detail_text *text = text_in(db, db->enums[table], id);

	db->unnamed[table] += !text && is_number(id);
	return text;
}

int detail_enum(struct detail_db *db, enum detail_enums table, int64_t id, np_str *ret)
{
	return detail_intern_text(db, detail_find_enum(db, table, id), ret);
}

/* --- everything ------------------------------------------------------------------------------ */

static int start(struct detail_db *db)
{
	db->arena = np_arena_new();
	db->text_index = np_idmap_new();
	db->task_index = np_idmap_new();
	db->kernel_index = np_idmap_new();
	db->op_index = np_idmap_new();
	db->task_of = np_idmap_new();
	db->counter_index = np_idmap_new();
	db->launched = np_idset_new();
	db->stacks = np_idmap_new();
	db->nameless = np_idset_new();
	db->kernel_texts = calloc(DETAIL_KERNEL_SLOTS, sizeof(*db->kernel_texts));
	if (!db->arena || !db->text_index || !db->task_index || !db->kernel_index ||
	    !db->op_index || !db->task_of || !db->counter_index || !db->launched || !db->stacks ||
	    !db->nameless || !db->kernel_texts)
		return np_fail_nomem(db->err, "a rank");
	for (size_t i = 0; i < DETAIL_ENUMS; i++) {
		db->enums[i] = np_idmap_new();
		if (!db->enums[i])
			return np_fail_nomem(db->err, "a rank");
	}
	return NP_OK;
}

static void finish(struct detail_db *db)
{
	np_idmap_free(db->text_index);
	np_idmap_free(db->task_index);
	np_idmap_free(db->kernel_index);
	np_idmap_free(db->op_index);
	np_idmap_free(db->task_of);
	np_idmap_free(db->counter_index);
	for (size_t i = 0; i < DETAIL_ENUMS; i++)
		np_idmap_free(db->enums[i]);
	np_idset_free(db->launched);
	np_idmap_free(db->stacks);
	np_idset_free(db->nameless);
	free(db->kernel_texts);
	np_vec_release(&db->texts);
	np_vec_release(&db->chains);
	np_vec_release(&db->rows);
	np_buf_release(&db->frames);
	detail_pmu_release(&db->pmu);
	np_arena_free(db->arena);
}

static int take_session(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	vendor_session_times(batch->column[SESSION_START].integer[row],
			     batch->column[SESSION_END].integer[row], &db->load->session);
	return NP_OK;
}

static int read_tables(struct detail_db *db)
{
	int rc = start(db);

	if (rc == NP_OK)
		rc = detail_each(db, &(const struct vendor_pick){ &vendor_session, 0, 0 },
				 take_session);
	if (rc == NP_OK)
		rc = detail_each(db, &(const struct vendor_pick){ &vendor_string_ids, 0, 0 },
				 take_string);
	if (rc == NP_OK)
		rc = read_enums(db);
	if (rc == NP_OK)
		rc = detail_db_read_device(db);
	if (rc == NP_OK)
		rc = detail_db_read_host(db);
	if (rc == NP_OK)
		rc = detail_db_read_rest(db);
	return rc;
}

int detail_read_db(struct detail_load *load)
{
	NP_CLEANUP(np_db_closep) struct np_db *handle = NULL;
	struct detail_db db = {
		.load = load, .detail = load->detail, .err = load->err, .frames = NP_BUF_INIT
	};
	const char *path = load->source->file[NP_FILE_RANK_DB];
	struct np_err problem = NP_ERR_INIT;
	int rc = np_db_open(path, &handle, &problem);

	if (rc == NP_E_NOMEM)
		return np_fail(load->err, rc, "%s", problem.text);
	if (rc < 0) {
		detail_note(load, path, np_file_name(NP_FILE_RANK_DB), problem.text);
		return NP_OK;
	}
	db.db = handle;
	load->db_used = np_db_has_rows(handle, vendor_task.name);
	rc = read_tables(&db);
	/* What comes from other files was recorded at another time, perhaps. */
	load->session = VENDOR_ANY_TIME;
	if (rc == NP_OK && np_db_answered(handle, &problem) < 0)
		detail_note(load, path, np_file_name(NP_FILE_RANK_DB), problem.text);
	if (rc == NP_OK)
		note_nameless(&db, path);
	finish(&db);
	return rc;
}
