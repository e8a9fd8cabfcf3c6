/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_communication_matrix.json: the rows of the table, under their communicators. */
#include "cluster_report_export.h"

#include <assert.h>
#include <math.h>

#include "core/model/vendor/communication_out.h"

/* Columns of ClusterCommunicationMatrix. */
enum {
	STEP,
	NAME,
	GROUP,
	SRC,
	DST,
	SIZE,
	TIME,
	BANDWIDTH,
	TRANSPORT,
	OP_NAME,
	COLUMNS,
};

/* A row of the matrix. Texts are kept in links.names. */
struct link_entry {
	struct export_position at; /* first: see struct export_entries */
	size_t row;
	np_str name;
	np_str transport;
	np_str op_name;
	struct np_cell src;
	struct np_cell dst;
	struct np_cell size;
	struct np_cell time;
	struct np_cell bandwidth;
};

struct link_entries {
	struct np_sink sink;
	const struct text_export *export;
	/* Of the last row: those of one communicator and step come together. */
	struct export_position at;
	char group[24];
	char step[64];
	struct np_strtab *names;
	NP_VEC(struct link_entry) list;
};

static int keep_text(struct link_entries *links, const struct np_cell *cell, np_str *ret,
		     struct np_err *err)
{
	if (cell->type != NP_CELL_TEXT) {
		*ret = NP_STR_NONE;
		return NP_OK;
	}
	return np_strtab_add(links->names, cell->text.bytes, cell->text.length, ret, err);
}

static bool same(const char *text, const struct np_cell *cell)
{
	return strlen(text) == cell->text.length &&
	       memcmp(text, cell->text.bytes, cell->text.length) == 0;
}

static void enter_communicator(struct link_entries *links, const struct np_cell *group)
{
	(void)snprintf(links->group, sizeof(links->group), "%.*s", (int)group->text.length,
		       group->text.bytes);
	links->at.communicator =
		export_communicator(links->export, strtoull(links->group, NULL, 10));
	links->at.key = links->export->keys[links->at.communicator];
}

static void enter_step(struct link_entries *links, const struct np_cell *step)
{
	uint32_t i = 0;

	do
		export_step_label(links->export, i, links->step, sizeof(links->step));
	while (!same(links->step, step) && ++i < links->export->cluster->steps.count);
	links->at.step = i;
}

static int add_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct link_entries *links = (struct link_entries *)sink;
	struct link_entry *entry = np_vec_add(&links->list, err);
	int rc;

	if (!entry)
		return NP_E_NOMEM;
	if (!same(links->group, &cells[GROUP]))
		enter_communicator(links, &cells[GROUP]);
	if (!same(links->step, &cells[STEP]))
		enter_step(links, &cells[STEP]);
	*entry = (struct link_entry){
		.at = links->at,
		.row = links->list.count,
		.src = cells[SRC],
		.dst = cells[DST],
		.size = cells[SIZE],
		.time = cells[TIME],
		.bandwidth = cells[BANDWIDTH],
	};
	rc = keep_text(links, &cells[NAME], &entry->name, err);
	if (rc == NP_OK)
		rc = keep_text(links, &cells[TRANSPORT], &entry->transport, err);
	if (rc == NP_OK)
		rc = keep_text(links, &cells[OP_NAME], &entry->op_name, err);
	return rc;
}

static int by_link(const void *left, const void *right)
{
	const struct link_entry *a = left;
	const struct link_entry *b = right;
	int order = export_by_position(&a->at, &b->at);

	return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* An end without a global rank is below 0 as in the database: "0--3" is from rank 0 to local 2. */
static void add_end(struct np_buf *buf, const struct np_cell *end)
{
	if (end->type == NP_CELL_REAL)
		np_integer_format(buf, (int64_t)end->real);
	else
		np_buf_add(buf, "null");
}

static double number(const struct np_cell *cell)
{
	return cell->type == NP_CELL_REAL ? cell->real : (double)NAN;
}

static void put_link(struct np_jsonout *out, const struct link_entries *links,
		     const struct link_entry *entry, struct np_buf *label)
{
	np_buf_clear(label);
	add_end(label, &entry->src);
	np_buf_add_char(label, '-');
	add_end(label, &entry->dst);
	np_matrix_put_cluster_link(
		out, &(struct np_matrix_link){
			     .ends = label->text,
			     .transport = entry->transport == NP_STR_NONE
						  ? NULL
						  : np_strtab_text(links->names, entry->transport),
			     .megabytes = number(&entry->size),
			     .milliseconds = number(&entry->time),
			     .gb_per_s = number(&entry->bandwidth),
			     .op_name = np_strtab_text(links->names, entry->op_name),
		     });
}

static int put_step(struct np_jsonout *out, const struct export_entries *entries, size_t from,
		    size_t to, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
	const struct link_entries *links = entries->context;
	const struct link_entry *item = entries->item;

	while (from < to) {
		const struct link_entry *first = &item[from];

		export_open_op(out, links->export, &label,
			       np_strtab_text(links->names, first->name), 0,
			       first->at.communicator);
		for (; from < to && item[from].name == first->name &&
		       item[from].at.communicator == first->at.communicator;
		     from++)
			put_link(out, links, &item[from], &label);
		np_jsonout_end(out);
	}
	return np_buf_check(&label, err);
}

static int write(const struct link_entries *links, const char *path, struct np_err *err)
{
	const struct export_entries entries = { .export = links->export,
						.item = links->list.item,
						.size = sizeof(struct link_entry),
						.count = links->list.count,
						.put_step = put_step,
						.context = links };

	return export_write_entries(&entries, path, err);
}

int export_links(const struct text_export *export, const char *path, struct np_err *err)
{
	struct link_entries links = {
		.sink = { .begin = export_sink_begin, .row = add_row, .end = export_sink_end },
		.export = export,
		.names = np_strtab_new(),
	};
	int rc = links.names ? NP_OK : np_fail_nomem(err, "links");

	assert(np_table_communication_matrix.column_count == COLUMNS);
	if (rc == NP_OK && export->links)
		rc = np_relation_write(&np_table_communication_matrix, export->analysis,
				       &links.sink, err);
	if (rc == NP_OK && links.list.count)
		qsort(links.list.item, links.list.count, sizeof(links.list.item[0]), by_link);
	if (rc == NP_OK)
		rc = write(&links, path, err);
	np_vec_release(&links.list);
	np_strtab_free(links.names);
	return rc;
}
