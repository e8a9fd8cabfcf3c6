/* SPDX-License-Identifier: Apache-2.0 */
/* The merged result as text: the steps, the communicators, and how operators and links nest. */
#include "cluster_report_export.h"

#include <assert.h>
#include <inttypes.h>

#include "core/model/vendor/analysis_out.h"
#include "core/model/vendor/communication_out.h"
#include "npuprof/temporary.h"

/* --- what the files share -------------------------------------------------------------------- */

/*
 * A tuple as Python prints it: "(0, 1)", and "(2,)" for one rank. The vendor's
 * tool prints a set in the order of its hash table, ranks 1 and 8 as "(8, 1)".
 * Here ranks ascend: a script can then find a group by its ranks, and Insight,
 * which sorts them itself, does not mind.
 */
static void add_tuple(struct np_buf *buf, const int32_t *ranks, size_t count)
{
	np_buf_add_char(buf, '(');
	for (size_t i = 0; i < count; i++)
		np_buf_printf(buf, "%s%" PRId32, i ? ", " : "", ranks[i]);
	np_buf_add(buf, count == 1 ? ",)" : ")");
}

/* The same from "(0,1)" of a table. */
static void add_tuple_of_set(struct np_buf *buf, const char *set, size_t length)
{
	bool single = !memchr(set, ',', length);

	for (size_t i = 0; i < length; i++) {
		if (single && set[i] == ')')
			np_buf_add_char(buf, ',');
		np_buf_add_char(buf, set[i]);
		if (set[i] == ',')
			np_buf_add_char(buf, ' ');
	}
}

void export_step_label(const struct text_export *export, uint32_t step, char *ret, size_t size)
{
	np_str id = np_run_steps_found(export->run, NULL) ? NP_STR_NONE
							  : export->cluster->steps.item[step];

	np_communication_step(ret, size, np_run_text(export->run, id));
}

int export_sink_begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err)
{
	(void)sink;
	(void)relation;
	(void)err;
	return NP_OK;
}

int export_sink_end(struct np_sink *sink, struct np_err *err)
{
	(void)sink;
	(void)err;
	return NP_OK;
}

/* A file without content is not written; one of an earlier run would be about that. */
static int write_or_remove(const char *path, bool any, np_file_writer *write, const void *context,
			   struct np_err *err)
{
	return any ? np_write_file(path, write, context, err) : report_remove_file(path, err);
}

/* --- cluster_step_trace_time.csv ------------------------------------------------------------- */

#define STEP_INDEX 2

/* Takes rows of ClusterStepTraceTime and gives them to `next` as the file has them. */
struct step_sink {
	struct np_sink base;
	struct np_sink *next;
	struct np_buf index;
};

/*
 * Unknown is NA, the vendor's word for the coordinates of a stage: Insight skips a
 * row that ends in an empty field. The step may be empty, it reads as 0.
 */
static int step_row(struct np_sink *base, const struct np_cell *cells, struct np_err *err)
{
	struct step_sink *sink = (struct step_sink *)base;
	struct np_cell row[NP_CLUSTER_STEP_COLUMNS];
	int rc;

	for (size_t i = 0; i < NP_COUNT(row); i++)
		row[i] = i > STEP_INDEX && cells[i].type == NP_CELL_NULL ? np_cell_text("NA")
									 : cells[i];
	if (row[STEP_INDEX].text.bytes[0] == '(') {
		np_buf_clear(&sink->index);
		add_tuple_of_set(&sink->index, row[STEP_INDEX].text.bytes,
				 row[STEP_INDEX].text.length);
		rc = np_buf_check(&sink->index, err);
		if (rc < 0)
			return rc;
		row[STEP_INDEX] = np_cell_text(sink->index.text);
	}
	return np_sink_row(sink->next, row, err);
}

static int produce_steps(const void *model, struct np_sink *sink, struct np_err *err)
{
	struct step_sink adapter = {
		.base = { .begin = export_sink_begin, .row = step_row, .end = export_sink_end },
		.next = sink,
		.index = NP_BUF_INIT,
	};
	int rc;

	assert(np_table_step_trace_time.column_count == NP_CLUSTER_STEP_COLUMNS);
	rc = np_relation_write(&np_table_step_trace_time, model, &adapter.base, err);
	np_buf_release(&adapter.index);
	return rc;
}

static bool has_coordinates(const struct np_cluster *cluster)
{
	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_coordinates *at = &cluster->coordinates[i];

		if (at->dp >= 0 || at->pp >= 0 || at->tp >= 0)
			return true;
	}
	return false;
}

static int write_steps(const void *context, FILE *stream, struct np_err *err)
{
	const struct text_export *export = context;
	const struct np_relation relation = {
		.name = NP_CLUSTER_STEP_TRACE_FILE,
		.columns = np_cluster_step_columns,
		.column_count =
			NP_CLUSTER_STEP_COLUMNS -
			(has_coordinates(export->cluster) ? 0 : NP_CLUSTER_STEP_COORDINATES),
		.produce = produce_steps,
	};

	return np_csv_write(&relation, export->analysis, stream, err);
}

static int export_steps(const struct text_export *export, const char *path, struct np_err *err)
{
	bool any = false;

	for (size_t i = 0; i < export->run->sources.count; i++)
		any |= export->run->ranks[i] && export->run->ranks[i]->times.count > 0;
	return write_or_remove(path, any, write_steps, export, err);
}

/* --- communication_group.json ---------------------------------------------------------------- */

static void put_ranks(struct np_jsonout *out, const char *key, const int32_t *ranks, size_t count)
{
	np_jsonout_array_line(out, key);
	for (size_t i = 0; i < count; i++)
		np_jsonout_integer(out, NULL, ranks[i]);
	np_jsonout_end(out);
}

/* A communicator with operators of both kinds is in both lists. */
static void put_observed(struct np_jsonout *out, const struct np_cluster *cluster, bool p2p)
{
	np_jsonout_array(out, np_communication_kind(p2p));
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];

		if (p2p ? each->p2p : each->collective)
			put_ranks(out, NULL, each->observed, each->observed_count);
	}
	np_jsonout_end(out);
}

/* Listed once, whatever kinds of operators it has: Insight counts what is listed twice twice. */
static void put_group(struct np_jsonout *out, const struct np_run *run,
		      const struct np_communicator *each)
{
	char hash[24];

	(void)snprintf(hash, sizeof(hash), "%" PRIu64, each->hash);
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "type", np_communication_kind(!each->collective));
	put_ranks(out, "rank_set", each->members ? each->members : each->observed,
		  each->members ? each->member_count : each->observed_count);
	np_jsonout_text(out, "group_name", hash);
	np_jsonout_text(out, "group_id", np_strtab_text(run->strings, each->name));
	np_jsonout_text(out, "pg_name", np_strtab_text(run->strings, each->pg_name));
	np_jsonout_end(out);
}

static int write_groups(const void *context, FILE *stream, struct np_err *err)
{
	const struct text_export *export = context;
	const struct np_cluster *cluster = export->cluster;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	put_observed(&out, cluster, false);
	put_observed(&out, cluster, true);
	np_jsonout_array(&out, "comm_group_parallel_info");
	for (size_t i = 0; i < cluster->communicators.count; i++)
		put_group(&out, export->run, &cluster->communicators.item[i]);
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

/* A run without communicators says so with empty lists, as theirs does. */
static int export_groups(const struct text_export *export, const char *path, struct np_err *err)
{
	return np_write_file(path, write_groups, export, err);
}

/* --- nesting by ranks and step --------------------------------------------------------------- */

static const struct export_position *position_of(const struct export_entries *entries, size_t i)
{
	return (const void *)((const char *)entries->item + i * entries->size);
}

int export_by_position(const struct export_position *a, const struct export_position *b)
{
	int order = np_order(a->key, b->key);

	if (!order)
		order = np_order(a->step, b->step);
	return order ? order : np_order(a->communicator, b->communicator);
}

static int put_steps(struct np_jsonout *out, const struct export_entries *entries, size_t from,
		     size_t to, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t next = from; from < to && rc == NP_OK; from = next) {
		uint32_t step = position_of(entries, from)->step;
		char label[64];

		while (next < to && position_of(entries, next)->step == step)
			next++;
		export_step_label(entries->export, step, label, sizeof(label));
		np_jsonout_object(out, label);
		rc = entries->put_step(out, entries, from, next, err);
		np_jsonout_end(out);
	}
	return rc;
}

/*
 * Communicators with the same ranks stand under one key. The vendor's older
 * tools had one key "p2p" for all that is point to point; now these have the
 * key of their ranks as well, and Insight reads both.
 */
static int put_keys(struct np_jsonout *out, const struct export_entries *entries,
		    struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < entries->count && rc == NP_OK; from = to) {
		const struct export_position *first = position_of(entries, from);
		const struct np_communicator *each =
			&entries->export->cluster->communicators.item[first->communicator];

		while (to < entries->count && position_of(entries, to)->key == first->key)
			to++;
		np_buf_clear(&label);
		add_tuple(&label, each->observed, each->observed_count);
		np_jsonout_object(out, label.text);
		rc = put_steps(out, entries, from, to, err);
		np_jsonout_end(out);
	}
	return rc == NP_OK ? np_buf_check(&label, err) : rc;
}

static int write_entries(const void *context, FILE *stream, struct np_err *err)
{
	const struct export_entries *entries = context;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	rc = put_keys(&out, entries, err);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

int export_write_entries(const struct export_entries *entries, const char *path, struct np_err *err)
{
	return write_or_remove(path, entries->count > 0, write_entries, entries, err);
}

uint32_t export_communicator(const struct text_export *export, uint64_t hash)
{
	const struct np_communicator *found = np_cluster_communicator(export->cluster, hash);

	return found ? (uint32_t)(found - export->cluster->communicators.item) : EXPORT_NONE;
}

void export_open_op(struct np_jsonout *out, const struct text_export *export, struct np_buf *buf,
		    const char *name, uint32_t nth, uint32_t communicator)
{
	np_communication_key(buf, name, nth,
			     export->cluster->communicators.item[communicator].hash);
	np_jsonout_object(out, buf->text);
}

/* --- all files ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*write)(const struct text_export *export, const char *path, struct np_err *err);
} files[] = {
	{ NP_CLUSTER_STEP_TRACE_FILE, export_steps },
	{ NP_GROUP_FILE, export_groups },
	{ NP_CLUSTER_COMMUNICATION_FILE, export_ops },
	{ NP_CLUSTER_MATRIX_FILE, export_links },
};

static int by_ranks(const void *left, const void *right, void *context)
{
	const struct np_communicator *list = context;
	const struct np_communicator *a = &list[*(const uint32_t *)left];
	const struct np_communicator *b = &list[*(const uint32_t *)right];
	size_t common =
		a->observed_count < b->observed_count ? a->observed_count : b->observed_count;

	for (size_t i = 0; i < common; i++) {
		if (a->observed[i] != b->observed[i])
			return np_order(a->observed[i], b->observed[i]);
	}
	return np_order((int64_t)a->observed_count, (int64_t)b->observed_count);
}

/* Number the distinct sets of ranks in ascending order. */
static int find_keys(struct text_export *export, struct np_err *err)
{
	struct np_communicator *list = export->cluster->communicators.item;
	size_t count = export->cluster->communicators.count;
	uint32_t *order = calloc(count + 1, sizeof(*order));

	export->keys = calloc(count + 1, sizeof(*export->keys));
	if (!order || !export->keys) {
		free(order);
		return np_fail_nomem(err, "communicators");
	}
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(order[0]), by_ranks, list);
	for (size_t i = 1; i < count; i++)
		export->keys[order[i]] = export->keys[order[i - 1]] +
					 (by_ranks(&order[i - 1], &order[i], list) != 0);
	free(order);
	return NP_OK;
}

int report_text_files(const struct cluster_report *report, const char *directory,
		      struct np_err *err)
{
	struct text_export export = {
		.analysis = report->analysis,
		.times = np_modes_want_times(report->modes->options.modes),
		.links = np_modes_want_matrix(report->modes->options.modes),
		.cluster = report->analysis->cluster,
		.run = report->analysis->run,
	};
	int rc = report_make_directory(directory, err);

	if (rc == NP_OK)
		rc = find_keys(&export, err);
	for (size_t i = 0; i < NP_COUNT(files) && rc == NP_OK; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", directory, files[i].name) < 0) {
			rc = np_fail_nomem(err, directory);
			break;
		}
		rc = files[i].write(&export, path, err);
		free(path);
	}
	free(export.keys);
	return rc;
}
