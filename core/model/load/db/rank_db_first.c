/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a rank database before its tasks: texts, metadata, hosts and steps. */
#include "rank_db.h"

#include "core/model/load/text/text_files.h"

#include "npuprof/arena.h"

/* --- texts and metadata ----------------------------------------------------------------------- */

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

/* Likewise names of kernels that are the work of a communication operator. */
static int keep_serving(struct rank_db *load, int64_t id, const struct rank_db_text *text)
{
	if (!vendor_is_communication_kernel((struct np_slice){ text->bytes, text->length }))
		return NP_OK;
	if (!load->serving)
		load->serving = np_idset_new();
	if (!load->serving)
		return np_fail_nomem(load->err, "STRING_IDS");
	return np_idset_add(load->serving, id, load->err);
}

/* Likewise names of ranges that are to be steps. */
static int keep_range(struct rank_db *load, int64_t id, const struct rank_db_text *text)
{
	bool is_range;
	int rc = capture_is_range(&load->capture, text->bytes, text->length, &is_range);

	if (rc < 0 || !is_range)
		return rc;
	if (!load->ranges)
		load->ranges = np_idmap_new();
	if (!load->ranges)
		return np_fail_nomem(load->err, "STRING_IDS");
	return np_idmap_set(load->ranges, id, 1, load->err);
}

#define MOST_STEP_DIGITS 18

/* "step 12" of torch_npu's dynamic profiler. */
static const char step_word[] = "step ";

/* Likewise marks that are steps, where no others are. */
static int keep_step_mark(struct rank_db *load, int64_t id, const struct rank_db_text *text)
{
	size_t word = strlen(step_word);

	if (text->length <= word || text->length > word + MOST_STEP_DIGITS ||
	    memcmp(text->bytes, step_word, word) != 0 ||
	    strspn(text->bytes + word, "0123456789") != text->length - word)
		return NP_OK;
	if (!load->step_marks)
		load->step_marks = np_idset_new();
	if (!load->step_marks)
		return np_fail_nomem(load->err, "STRING_IDS");
	return np_idset_add(load->step_marks, id, load->err);
}

/* Has the id another text already? */
static bool is_other_text(const struct rank_db *load, int64_t id, const struct rank_db_text *text)
{
	uint32_t index = np_idmap_get(load->text_index, id);
	const struct rank_db_text *known = &load->texts.item[index == NP_IDMAP_NONE ? 0 : index];

	return index != NP_IDMAP_NONE && (known->length != text->length ||
					  memcmp(known->bytes, text->bytes, text->length) != 0);
}

static int take_string(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text value = batch->column[STRING_VALUE].text[row];
	struct rank_db_text *text;
	char *bytes;
	int rc;

	/* NULL is no text: who uses it will miss it. */
	if (!value.bytes)
		return NP_OK;
	text = np_vec_add(&load->texts, load->err);
	if (!text)
		return NP_E_NOMEM;
	text->length = value.length;
	bytes = np_arena_text(load->arena, value.bytes, value.length);
	if (!bytes)
		return np_fail_nomem(load->err, "STRING_IDS");
	/* A name would end there, and be that of others that begin alike. */
	for (char *nul = memchr(bytes, '\0', value.length); nul;
	     nul = memchr(nul, '\0', value.length - (size_t)(nul - bytes)))
		*nul = '?';
	text->bytes = bytes;
	load->texts_twice += is_other_text(load, batch->column[STRING_ID].integer[row], text);
	rc = keep_loader(load, batch->column[STRING_ID].integer[row], text);
	if (rc == NP_OK)
		rc = keep_serving(load, batch->column[STRING_ID].integer[row], text);
	if (rc == NP_OK)
		rc = keep_range(load, batch->column[STRING_ID].integer[row], text);
	if (rc == NP_OK)
		rc = keep_step_mark(load, batch->column[STRING_ID].integer[row], text);
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
	if (rc == NP_OK && load->texts_twice > 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), "STRING_IDS",
			    "%zu ids have more than one text: names may be those of others",
			    load->texts_twice);
	return rc;
}

/* A name that somebody uses and nobody has written down; each is counted once. */
static void miss(struct rank_db *load, int64_t id)
{
	if (vendor_known(id) == NP_UNKNOWN || id == VENDOR_NO_ENUM || id == VENDOR_NO_ENUM + 1 ||
	    load->texts.count == 0)
		return;
	if (!load->nameless)
		load->nameless = np_idset_new();
	if (!load->nameless || np_idset_has(load->nameless, id))
		return;
	if (np_idset_add(load->nameless, id, NULL) == NP_OK)
		load->nameless_count++;
}

struct rank_db_text rank_db_text(struct rank_db *load, int64_t id)
{
	uint32_t index = np_idmap_get(load->text_index, id);

	if (index == NP_IDMAP_NONE)
		miss(load, id);
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

static int take_session(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	vendor_session_times(batch->column[SESSION_START].integer[row],
			     batch->column[SESSION_END].integer[row], &load->session);
	return NP_OK;
}

int rank_db_read_metadata(struct rank_db *load)
{
	static const struct vendor_pick session = { &vendor_session, 0, 0 };
	static const struct vendor_pick metadata = { &vendor_meta_data, 0, 0 };
	static const struct vendor_pick hosts = { &vendor_host_info, 0, 0 };
	int rc = rank_db_try_each(load, &metadata, take_metadata);

	if (rc == NP_OK)
		rc = rank_db_try_each(load, &hosts, take_host);
	load->session = VENDOR_ANY_TIME;
	if (rc == NP_OK)
		rc = rank_db_try_each(load, &session, take_session);
	return rc;
}

/* --- steps ------------------------------------------------------------------------------------ */

static int take_step(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text text = batch->column[STEP_ROW_ID].text[row];
	np_ns begin = batch->column[STEP_ROW_START].integer[row];
	np_ns end = batch->column[STEP_ROW_END].integer[row];
	np_str id;
	int rc;

	/* Steps are counted. */
	if (!text.bytes || text.length == 0 || text.length > MOST_STEP_DIGITS ||
	    strspn(text.bytes, "0123456789") != text.length || !rank_db_time_ok(load, begin, end)) {
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), "STEP_TIME",
			    "a step without id or with impossible times");
		return NP_OK;
	}
	rc = np_strtab_add(load->strings, text.bytes, text.length, &id, load->err);
	return rc < 0 ? rc : capture_add_step(&load->capture, id, begin, end);
}

static int take_framework_call(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_step *step = &load->rank->steps.item[0];
	np_ns start = batch->column[TORCH_START].integer[row];

	if (vendor_time_ok(start, start) &&
	    (step->host_begin == NP_UNKNOWN || start < step->host_begin))
		step->host_begin = start;
	return NP_OK;
}

/* Without steps everything is one, which begins for the host at the first call of the framework. */
static int add_pseudo_step(struct rank_db *load)
{
	static const struct vendor_pick starts = { &vendor_pytorch_api, VENDOR_BIT(TORCH_START),
						   0 };
	int rc = capture_add_step(&load->capture, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);

	if (rc < 0)
		return rc;
	return rank_db_try_each(load, &starts, take_framework_call);
}

bool rank_db_loads_data(const struct rank_db *load, int64_t name)
{
	return load->loaders && np_idmap_get(load->loaders, name) != NP_IDMAP_NONE;
}

static bool loads_data(const struct rank_db *load, const struct np_batch *names, size_t row)
{
	return rank_db_loads_data(load, names->column[TORCH_NAME].integer[row]);
}

/* Names that are there and load nothing, by their last bits: few are in nearly all rows. */
#define OTHER_NAMES 256U

struct other_names {
	int64_t id[OTHER_NAMES]; /* NP_UNKNOWN for none */
};

/* The first row whose name loads data, or the number of rows; names that are missing count. */
static size_t first_loading(struct rank_db *load, const struct np_batch *names,
			    struct other_names *others)
{
	size_t first = names->rows;

	for (size_t i = 0; i < names->rows; i++) {
		int64_t name = names->column[TORCH_NAME].integer[i];
		int64_t *other = &others->id[(uint64_t)name % OTHER_NAMES];

		if (*other == name && name != NP_UNKNOWN)
			continue;
		if (np_idmap_get(load->text_index, name) == NP_IDMAP_NONE)
			miss(load, name);
		else if (!rank_db_loads_data(load, name))
			*other = name;
		if (first == names->rows && rank_db_loads_data(load, name))
			first = i;
	}
	return first;
}

static int take_loading(struct rank_db *load, const struct np_batch *names, size_t first,
			struct np_scan *times)
{
	struct np_batch batch;
	int rc = np_scan_next(times, &batch, load->err);

	for (size_t i = first; rc == NP_OK && i < names->rows && i < batch.rows; i++) {
		if (!loads_data(load, names, i))
			continue;
		if (!vendor_time_ok(batch.column[TORCH_START].integer[i],
				    batch.column[TORCH_END].integer[i]))
			rank_db_doubt(load, &vendor_pytorch_api);
		else
			rc = capture_add_loading(&load->capture,
						 batch.column[TORCH_START].integer[i],
						 batch.column[TORCH_END].integer[i]);
	}
	return rc;
}

/*
 * Of this table's very many rows a few are wanted, and its times are text: the
 * names are read first, and the times of the batches in which there is one.
 */
int rank_db_read_loading(struct rank_db *load)
{
	static const struct vendor_pick of_names = { &vendor_pytorch_api, VENDOR_BIT(TORCH_NAME),
						     VENDOR_BIT(TORCH_NAME) };
	static const struct vendor_pick of_times = {
		&vendor_pytorch_api, VENDOR_BIT(TORCH_START) | VENDOR_BIT(TORCH_END), 0
	};
	NP_CLEANUP(np_scan_closep) struct np_scan *names = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *times = NULL;
	struct other_names others;
	struct np_batch batch;
	size_t first;
	int rc;

	for (size_t i = 0; i < OTHER_NAMES; i++)
		others.id[i] = NP_UNKNOWN;
	if (!load->loaders || !np_db_has_table(load->db, vendor_pytorch_api.name))
		return NP_OK;
	rc = vendor_scan_open(load->db, &of_names, &names, load->err);
	if (rc == NP_OK)
		rc = vendor_scan_open(load->db, &of_times, &times, load->err);
	while (rc == NP_OK) {
		rc = np_scan_next(names, &batch, load->err);
		if (rc == NP_OK)
			rank_db_look(load, &of_names, names, &batch);
		if (rc < 0 || batch.rows == 0)
			break;
		first = first_loading(load, &batch, &others);
		if (first == batch.rows)
			continue;
		rc = np_scan_follow(times, names, load->err);
		if (rc == NP_OK)
			rc = take_loading(load, &batch, first, times);
	}
	return rank_db_try(load, &vendor_pytorch_api, rc);
}

static int take_range(struct rank_db *load, int64_t name, np_ns begin, np_ns end)
{
	struct rank_db_text text;

	if (np_idmap_get(load->ranges, name) == NP_IDMAP_NONE)
		return NP_OK;
	text = rank_db_text(load, name);
	return capture_add_range(&load->capture, text.bytes, text.length, begin, end);
}

static int take_mark(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	return take_range(load, batch->column[MARK_MESSAGE].integer[row],
			  batch->column[MARK_START].integer[row],
			  batch->column[MARK_END].integer[row]);
}

/* Annotations of the user are calls of the framework like others. */
static int take_annotation(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	if (batch->column[TORCH_KIND].integer[row] == VENDOR_TORCH_QUEUE)
		return NP_OK;
	return take_range(load, batch->column[TORCH_NAME].integer[row],
			  batch->column[TORCH_START].integer[row],
			  batch->column[TORCH_END].integer[row]);
}

static int read_ranges(struct rank_db *load)
{
	static const struct vendor_pick marks = { &vendor_mstx_events,
						  VENDOR_BIT(MARK_START) | VENDOR_BIT(MARK_END) |
							  VENDOR_BIT(MARK_MESSAGE),
						  0 };
	static const struct vendor_pick calls = { &vendor_pytorch_api,
						  VENDOR_BIT(TORCH_START) | VENDOR_BIT(TORCH_END) |
							  VENDOR_BIT(TORCH_NAME) |
							  VENDOR_BIT(TORCH_KIND),
						  0 };
	int rc = load->ranges ? rank_db_try_each(load, &marks, take_mark) : NP_OK;

	if (rc == NP_OK && load->ranges)
		rc = rank_db_try_each(load, &calls, take_annotation);
	return rc < 0 ? rc : capture_steps_of_ranges(&load->capture);
}

static bool is_known_step(const struct np_rank *rank, np_str id)
{
	for (size_t i = 0; i < rank->steps.count; i++) {
		if (rank->steps.item[i].id == id)
			return true;
	}
	return false;
}

/* Each thread may mark the step: the first of them is it. */
static int take_step_mark(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	int64_t message = batch->column[MARK_MESSAGE].integer[row];
	np_ns begin = batch->column[MARK_START].integer[row];
	np_ns end = batch->column[MARK_END].integer[row];
	struct rank_db_text text;
	np_str id;
	int rc;

	if (!np_idset_has(load->step_marks, message) || !vendor_time_ok(begin, end) || begin >= end)
		return NP_OK;
	text = rank_db_text(load, message);
	rc = np_strtab_add(load->strings, text.bytes + strlen(step_word),
			   text.length - strlen(step_word), &id, load->err);
	if (rc < 0 || is_known_step(load->rank, id))
		return rc;
	return capture_add_step(&load->capture, id, begin, end);
}

/* msMonitor has no table of steps. */
static int read_step_marks(struct rank_db *load)
{
	static const struct vendor_pick marks = { &vendor_mstx_events,
						  VENDOR_BIT(MARK_START) | VENDOR_BIT(MARK_END) |
							  VENDOR_BIT(MARK_MESSAGE),
						  0 };

	return rank_db_try_each(load, &marks, take_step_mark);
}

int rank_db_read_steps(struct rank_db *load)
{
	static const struct vendor_pick steps = { &vendor_step_time, 0, 0 };
	const struct np_steps_choice *choice = &load->capture.choice;
	int rc = np_steps_read_marks(choice) ? rank_db_each(load, &steps, take_step) : NP_OK;

	/* Some of the steps are worse than none: iterations can be found. */
	if (rc < 0)
		load->rank->steps.count = 0;
	rc = rank_db_try(load, &vendor_step_time, rc);
	if (rc == NP_OK && np_steps_read_marks(choice) && load->rank->steps.count == 0 &&
	    load->step_marks)
		rc = read_step_marks(load);
	if (rc == NP_OK && choice->want == NP_WANT_RANGE)
		rc = read_ranges(load);
	load->find_steps = load->rank->steps.count == 0 && np_steps_may_find(choice);
	if (rc == NP_OK && load->rank->steps.count == 0)
		rc = add_pseudo_step(load);
	if (rc == NP_OK)
		rc = capture_sort_steps(&load->capture);
	if (rc < 0)
		return rc;
	if (load->capture.times_only)
		return NP_OK;
	/* Both look through the calls of the framework. */
	return load->gather ? rank_db_gather_calls(load) : rank_db_read_loading(load);
}
