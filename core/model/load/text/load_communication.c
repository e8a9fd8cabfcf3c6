/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and links that the vendor derived, from communication.json and its matrix. */
#include "derived.h"
#include "text_files.h"

#include "core/model/vendor/file_names.h"
#include "npuprof/arena.h"
#include "npuprof/comm_tasks.h"
#include "npuprof/json.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/*
 * communication.json and communication_matrix.json. Both are objects of steps,
 * of "p2p" and "collective", of operators "name@hash"; what msprof writes is
 * flat, without the first two levels. Those of the result of an earlier analysis
 * are objects of sets of ranks, of steps, of operators, of ranks or links.
 */
typedef int take_op(struct derived *load, const char *name, size_t name_length,
		    const struct np_json *info, uint32_t group, uint32_t step);

static take_op take_links;

/* The communicator after the last '@'; old files have none, then the operator's number decides. */
static int group_of(struct derived *load, const char *name, size_t *ret_length, uint32_t *ret)
{
	const char *at = strrchr(name, '@');

	if (at) {
		*ret_length = (size_t)(at - name);
		return derived_group(load, at + 1, strlen(at + 1), ret);
	}
	*ret_length = strlen(name);
	return np_rank_group_of_op(load->rank, name, ret, load->err);
}

static int each_op(struct derived *load, const struct np_json *ops, uint32_t step, take_op *take)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(ops, &entry)) {
		size_t length = 0;
		uint32_t group = 0;

		if (derived_is_total(entry.key) || np_json_type(entry.value) != NP_JSON_OBJECT)
			continue;
		rc = group_of(load, entry.key, &length, &group);
		if (rc == NP_OK)
			rc = take(load, entry.key, length, entry.value, group, step);
	}
	return rc;
}

static bool is_step(const struct np_json *value)
{
	return np_json_member(value, "collective") || np_json_member(value, "p2p");
}

static int each_step(struct derived *load, const struct np_json *doc, take_op *take)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	uint32_t step = 0;
	bool flat = np_json_count(doc) > 0;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(doc, &entry)) {
		if (!is_step(entry.value))
			continue;
		flat = false;
		rc = derived_step(load, entry.key, strlen(entry.key), &step);
		if (rc == NP_OK)
			rc = each_op(load, np_json_member(entry.value, "collective"), step, take);
		if (rc == NP_OK)
			rc = each_op(load, np_json_member(entry.value, "p2p"), step, take);
	}
	if (rc < 0 || !flat)
		return rc;
	rc = derived_step(load, NULL, 0, &step);
	return rc < 0 ? rc : each_op(load, doc, step, take);
}

/* Where no list of communicators was kept, the set of ranks says who the members are. */
static int set_members(struct derived *load, const char *set, uint32_t group)
{
	struct np_group *of = &load->rank->groups.item[group];
	size_t room = strlen(set) / 2 + 1;
	int32_t *ranks;
	size_t count;

	if (of->members || set[0] != '(')
		return NP_OK;
	ranks = np_arena_array(load->rank->arena, room, sizeof(*ranks));
	if (!ranks)
		return np_fail_nomem(load->err, "members of a communicator");
	count = derived_read_set(set, ranks, room);
	if (!derived_is_member(load->rank->id, ranks, count))
		return NP_OK;
	of->members = ranks;
	of->member_count = count;
	return NP_OK;
}

static int each_merged_op(struct derived *load, const char *set, const struct np_json *ops,
			  uint32_t step, take_op *take)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	bool links = take == take_links;
	char own[16];
	int rc = NP_OK;

	(void)snprintf(own, sizeof(own), "%" PRId32, load->rank->id);
	while (rc == NP_OK && np_json_next(ops, &entry)) {
		const struct np_json *info = links ? entry.value : np_json_member(entry.value, own);
		size_t length = 0;
		uint32_t group = 0;

		if (!info || derived_is_total(entry.key))
			continue;
		rc = group_of(load, entry.key, &length, &group);
		if (rc == NP_OK)
			rc = set_members(load, set, group);
		if (rc == NP_OK)
			rc = take(load, entry.key, length, info, group, step);
	}
	return rc;
}

static int each_merged_step(struct derived *load, const struct np_json *doc, take_op *take)
{
	struct np_json_entry set = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(doc, &set)) {
		struct np_json_entry entry = NP_JSON_ENTRY_INIT;

		while (rc == NP_OK && np_json_next(set.value, &entry)) {
			uint32_t step = 0;

			rc = derived_step(load, entry.key, strlen(entry.key), &step);
			if (rc == NP_OK)
				rc = each_merged_op(load, set.key, entry.value, step, take);
		}
	}
	return rc;
}

static np_ns start_of(const struct np_json *object, const char *key)
{
	double value;

	if (!np_json_real(np_json_member(object, key), &value))
		return NP_UNKNOWN;
	return derived_time(value);
}

static np_ns length_of(const struct np_json *object, const char *key)
{
	double value;

	if (!np_json_real(np_json_member(object, key), &value))
		return NP_UNKNOWN;
	return derived_length(value, MS_TO_NS);
}

/* NaN for what is not there, and for what is no number. */
static double real_of(const struct np_json *object, const char *key)
{
	double value = (double)NAN;

	(void)np_json_real(np_json_member(object, key), &value);
	return value;
}

static void moved(struct derived *load, const struct np_json *object, int64_t *bytes, np_ns *time)
{
	derived_moved(load, real_of(object, "Transit Size(MB)"),
		      real_of(object, "Transit Time(ms)"), bytes, time);
}

/* --- communication.json ---------------------------------------------------------------------- */

static int add_band(struct derived *load, const struct np_band *totals, int64_t package_bytes,
		    int64_t count, np_ns time)
{
	struct np_band *band = np_vec_add(&load->rank->bands, load->err);

	if (!band)
		return NP_E_NOMEM;
	*band = *totals;
	band->package_bytes = package_bytes;
	band->package_count = count;
	band->package_time = time;
	return NP_OK;
}

/* MB as Python prints them: "0.032768", and "4e-06" for what is small. */
static int64_t package_of(const char *key)
{
	char *end;
	double mb = strtod(key, &end);

	return end == key || *end ? 0 : derived_or_zero(derived_bytes(mb));
}

/* One transport: a row for each packet size, or one without, as the databases have it. */
static int take_transport(struct derived *load, enum np_band_type type, const struct np_json *info)
{
	const struct np_json *sizes = np_json_member(info, "Size Distribution");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct np_band totals = { .op = (uint32_t)(load->rank->ops.count - 1), .type = type };
	int rc = NP_OK;

	moved(load, info, &totals.bytes, &totals.time);
	(void)np_json_real(np_json_member(info, "Large Packet Ratio"), &totals.large_packet_ratio);
	if (totals.bytes == 0 && totals.time == 0)
		return NP_OK;
	load->rank->sizes_known = true;
	if (np_json_count(sizes) == 0)
		return add_band(load, &totals, 0, 0, 0);
	while (rc == NP_OK && np_json_next(sizes, &entry)) {
		int64_t count = 0;
		double time = 0;

		(void)np_json_integer(np_json_item(entry.value, 0), &count);
		(void)np_json_real(np_json_item(entry.value, 1), &time);
		rc = add_band(load, &totals, package_of(entry.key), derived_count(count),
			      derived_or_zero(derived_length(time, MS_TO_NS)));
	}
	return rc;
}

static int take_bandwidth(struct derived *load, const struct np_json *bandwidth)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	while (rc == NP_OK && np_json_next(bandwidth, &entry)) {
		enum np_band_type type;

		if (derived_band_type(entry.key, &type))
			rc = take_transport(load, type, entry.value);
	}
	return rc;
}

static int take_operator(struct derived *load, const char *name, size_t name_length,
			 const struct np_json *info, uint32_t group, uint32_t step)
{
	const struct np_json *time = np_json_member(info, "Communication Time Info");
	struct np_comm_op *op;
	int rc;

	if (!time)
		return NP_OK;
	rc = derived_add_op(load, name, name_length, start_of(time, "Start Timestamp(us)"),
			    length_of(time, "Elapse Time(ms)"), &op);
	if (rc < 0 || !op)
		return rc;
	op->group = group;
	op->step = step;
	rc = derived_set_vendor_times(load, length_of(time, "Transit Time(ms)"),
				      length_of(time, "Wait Time(ms)"),
				      length_of(time, "Synchronization Time(ms)"));
	if (rc < 0)
		return rc;
	load->rank->comm_source = NP_FROM_TEXT;
	return take_bandwidth(load, np_json_member(info, "Communication Bandwidth Info"));
}

/* --- communication_matrix.json --------------------------------------------------------------- */

/* "0-7"; of merged links those count that begin at the rank. */
static bool split_link(struct derived *load, const char *text, struct np_link *link)
{
	const char *dash = strchr(text, '-');
	int64_t ends[2];

	if (!dash || !np_text_to_int(text, (size_t)(dash - text), &ends[0]) ||
	    !np_text_to_int(dash + 1, strlen(dash + 1), &ends[1]) ||
	    (load->merged && ends[0] != load->rank->id))
		return false;
	link->src = derived_end(load, link->group, ends[0]);
	link->dst = derived_end(load, link->group, ends[1]);
	return true;
}

static int intern(struct derived *load, const char *text, np_str *ret)
{
	if (!text || !*text)
		return NP_OK;
	return np_strtab_add(load->strings, text, strlen(text), ret, load->err);
}

static int take_class_link(struct derived *load, const struct np_link *row,
			   const struct np_json *info)
{
	struct np_link *link = np_vec_add(&load->rank->links, load->err);
	int rc;

	if (!link)
		return NP_E_NOMEM;
	*link = *row;
	rc = intern(load, np_json_text(np_json_member(info, "Transport Type")), &link->transport);
	if (rc == NP_OK)
		rc = intern(load, np_json_text(np_json_member(info, "Op Name")), &link->op_name);
	link->p2p = link->op_name != NP_STR_NONE &&
		    np_op_is_p2p(np_strtab_text(load->strings, link->op_name));
	return rc;
}

static int take_op_link(struct derived *load, uint32_t op, const struct np_link *row,
			const struct np_json *info)
{
	np_str transport = NP_STR_NONE;
	int rc = intern(load, np_json_text(np_json_member(info, "Transport Type")), &transport);

	if (rc < 0)
		return rc;
	if (!load->op_links)
		load->op_links = np_op_links_new();
	if (!load->op_links)
		return np_fail_nomem(load->err, "links");
	return np_op_links_add(load->op_links, op, row->src, row->dst,
			       np_strtab_text(load->strings, transport), row->bytes, row->time,
			       load->err);
}

static int take_links(struct derived *load, const char *name, size_t name_length,
		      const struct np_json *links, uint32_t group, uint32_t step)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct np_link row = { .group = group, .step = step };
	size_t class_length = 0;
	np_str name_id = NP_STR_NONE;
	uint32_t op = 0;
	bool by_class = derived_split_pick(name, name_length, &row.pick, &class_length);
	int rc = by_class ? np_strtab_add(load->strings, name, class_length, &row.op_class,
					  load->err)
			  : np_strtab_add(load->strings, name, name_length, &name_id, load->err);

	if (rc < 0 || (!by_class && !derived_find_op(load->rank, name_id, group, step, 0, &op)))
		return rc;
	while (rc == NP_OK && np_json_next(links, &entry)) {
		if (!split_link(load, entry.key, &row))
			continue;
		moved(load, entry.value, &row.bytes, &row.time);
		rc = by_class ? take_class_link(load, &row, entry.value)
			      : take_op_link(load, op, &row, entry.value);
	}
	return rc;
}

static int read_document(struct derived *load, const char *path, take_op *take)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	int rc = np_json_read_file(path, NP_DERIVED_MAX_BYTES, &doc, load->err);

	if (rc < 0)
		return rc;
	if (np_json_type(doc) != NP_JSON_OBJECT)
		return np_fail(load->err, NP_E_FORMAT,
			       "'%s' is no table of operators: it is JSON of another kind", path);
	return load->merged ? each_merged_step(load, doc, take) : each_step(load, doc, take);
}

int np_load_communication(struct np_rank *rank, const char *path, const char *matrix_path,
			  bool merged, struct np_strtab *strings, struct np_err *err)
{
	struct derived load = { .rank = rank, .strings = strings, .err = err, .merged = merged };
	int rc = NP_OK;

	if (path)
		rc = read_document(&load, path, take_operator);
	if (rc == NP_OK && matrix_path)
		rc = read_document(&load, matrix_path, take_links);
	if (rc == NP_OK)
		rc = derived_finish_links(&load);
	np_op_links_free(load.op_links);
	derived_note_oddities(&load, path ? path : matrix_path, np_file_name(NP_FILE_COMM));
	return rc;
}
