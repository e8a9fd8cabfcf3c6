/* SPDX-License-Identifier: Apache-2.0 */
/* What tables there are, and writing them as CSV on stdout and in files. */
#include "cluster_report.h"

#include "npuprof/lock.h"
#include "npuprof/text.h"

#include <errno.h>
#include <unistd.h>

int report_make_directory(const char *path, struct np_err *err)
{
	int rc = np_make_output(path, err);

	return rc == NP_E_IO || rc == NP_E_BUSY
		       ? np_fail(err, rc, "%s; give another with -o", err->text)
		       : rc;
}

int report_remove_file(const char *path, struct np_err *err)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return np_fail(err, NP_E_IO, "cannot remove '%s', which is of an earlier run: %s",
			       path, strerror(errno));
	return NP_OK;
}

/* --- tables ---------------------------------------------------------------------------------- */

static bool is_listed(const struct report_list *list, const struct np_relation *relation)
{
	for (size_t i = 0; i < list->list.count; i++) {
		if (list->list.item[i].relation == relation)
			return true;
	}
	return false;
}

/* Times of operators and links are many rows: those of a mode that was not asked for stay out. */
static bool is_left_out(const struct np_relation *relation, const struct np_analysis *analysis,
			const struct np_modes *modes)
{
	if (np_table_is_of_operators(relation))
		return analysis->operators_left_out;
	if (relation == &np_table_communication_time ||
	    relation == &np_table_communication_bandwidth)
		return !np_modes_want_times(modes->options.modes);
	return relation == &np_table_communication_matrix &&
	       !np_modes_want_matrix(modes->options.modes);
}

/* The tables that modes ask for are in front: who asks for them wants to see them. */
int report_list_all(const struct cluster_report *report, struct report_list *ret,
		    struct np_err *err)
{
	int rc = report_list_shown(report, ret, err);

	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		const struct np_relation *relation = np_cluster_relations[i];
		const struct report_table table = {
			.relation = relation,
			.model = report->analysis,
			.left_out = is_left_out(relation, report->analysis, report->modes)
		};

		if (np_cluster_relation_applies(relation, report->analysis) &&
		    !is_listed(ret, relation))
			rc = report_list_add(ret, &table, err);
	}
	return rc;
}

static int produce_nothing(const void *model, struct np_sink *sink, struct np_err *err)
{
	(void)model;
	(void)sink;
	(void)err;
	return NP_OK;
}

struct np_relation report_written(const struct report_table *table)
{
	struct np_relation relation = *table->relation;

	if (table->left_out)
		relation.produce = produce_nothing;
	return relation;
}

/* --- CSV ------------------------------------------------------------------------------------- */

struct table_names {
	NP_VEC(const char *) list;
};

static int add_name(struct table_names *names, const char *name, struct np_err *err)
{
	const char **slot = np_vec_add(&names->list, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = name;
	return NP_OK;
}

/* There is no such table: these are listed, and those of modes may be meant, too. */
static int unknown_table(struct table_names *names, const char *name, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	const char *meant;
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count; i++)
		np_buf_printf(&list, "%s%s", i ? ", " : "", names->list.item[i]);
	for (size_t i = 0; np_modes_table(i) && rc == NP_OK; i++)
		rc = add_name(names, np_modes_table(i), err);
	if (rc == NP_OK)
		rc = np_buf_check(&list, err);
	if (rc < 0)
		return rc;
	meant = np_text_closest(name, names->list.item, names->list.count);
	if (meant && strcmp(meant, name) != 0)
		return np_fail(err, NP_E_USAGE, "no table '%s'; did you mean '%s'?", name, meant);
	return np_fail(err, NP_E_USAGE, "no table '%s'; there are %s, and those of modes", name,
		       list.text);
}

/* One that this run does not have. */
static int missing_table(const struct report_list *sources, const char *name, struct np_err *err)
{
	struct table_names names = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < sources->list.count && rc == NP_OK; i++)
		rc = add_name(&names, sources->list.item[i].relation->name, err);
	if (rc == NP_OK)
		rc = unknown_table(&names, name, err);
	np_vec_release(&names.list);
	return rc;
}

static bool is_table(const char *name)
{
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		if (strcmp(np_cluster_relations[i]->name, name) == 0)
			return true;
	}
	return np_modes_of_table(name) != 0;
}

int report_check_table(const char *name, uint64_t modes, struct np_err *err)
{
	struct table_names names = { 0 };
	int rc = NP_OK;

	if (is_table(name))
		return NP_OK;
	/* As they are listed: what modes ask for first. */
	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		if (np_modes_want_table(modes, np_cluster_relations[i]->name))
			rc = add_name(&names, np_cluster_relations[i]->name, err);
	}
	for (size_t i = 0; np_modes_table(i) && rc == NP_OK; i++) {
		if (np_modes_of_table(np_modes_table(i)) & modes)
			rc = add_name(&names, np_modes_table(i), err);
	}
	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		if (!np_modes_want_table(modes, np_cluster_relations[i]->name))
			rc = add_name(&names, np_cluster_relations[i]->name, err);
	}
	if (rc == NP_OK)
		rc = unknown_table(&names, name, err);
	np_vec_release(&names.list);
	return rc;
}

/* Give the table of this name, or the first, to `write`. */
static int with_table(const struct cluster_report *report, const char *table,
		      int (*write)(const struct np_relation *relation, const void *model,
				   void *context, struct np_err *err),
		      void *context, struct np_err *err)
{
	struct report_list sources = { 0 };
	size_t at = 0;
	int rc = report_list_all(report, &sources, err);

	while (rc == NP_OK && table && at < sources.list.count &&
	       strcmp(sources.list.item[at].relation->name, table) != 0)
		at++;
	if (rc == NP_OK && at < sources.list.count) {
		const struct np_relation relation = report_written(&sources.list.item[at]);

		rc = write(&relation, sources.list.item[at].model, context, err);
	} else if (rc == NP_OK) {
		rc = missing_table(&sources, table, err);
	}
	np_vec_release(&sources.list);
	return rc;
}

static int write_csv(const struct np_relation *relation, const void *model, void *context,
		     struct np_err *err)
{
	return np_csv_write(relation, model, context, err);
}

int report_csv(const struct cluster_report *report, const char *table, FILE *stream,
	       struct np_err *err)
{
	return with_table(report, table, write_csv, stream, err);
}

/* Where a table is printed for people. */
struct printed_table {
	const struct cluster_report *report;
	struct np_buf *buf;
};

static int write_screen(const struct np_relation *relation, const void *model, void *context,
			struct np_err *err)
{
	const struct printed_table *printed = context;

	return np_relation_screen(relation, model, printed->buf, printed->report->width,
				  printed->report->color, err);
}

static int write_markdown(const struct np_relation *relation, const void *model, void *context,
			  struct np_err *err)
{
	const struct printed_table *printed = context;
	struct np_text_sink sink;

	np_md_sink_init(&sink, printed->buf, NULL);
	return np_relation_write(relation, model, &sink.base, err);
}

int report_table(const struct cluster_report *report, const char *table, bool markdown,
		 struct np_buf *buf, struct np_err *err)
{
	struct printed_table printed = { report, buf };

	return with_table(report, table, markdown ? write_markdown : write_screen, &printed, err);
}

int report_csv_files(const struct cluster_report *report, const char *directory, struct np_err *err)
{
	struct report_list sources = { 0 };
	int rc = report_make_directory(directory, err);

	if (rc == NP_OK)
		rc = report_list_all(report, &sources, err);
	for (size_t i = 0; i < sources.list.count && rc == NP_OK; i++) {
		const struct np_relation relation = report_written(&sources.list.item[i]);

		rc = np_csv_write_below(&relation, sources.list.item[i].model, directory, err);
	}
	np_vec_release(&sources.list);
	return rc;
}
