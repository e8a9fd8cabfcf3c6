/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_report.h"

#include "npuprof/text.h"

/* The tables of the modes, as asked for: those of the merged run come first. */

int report_list_shown(const struct cluster_report *report, struct report_list *ret,
		      struct np_err *err)
{
	const struct np_mode_table *table = report->modes->tables;
	int rc = NP_OK;

	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		const struct report_table each = { .relation = np_cluster_relations[i],
						   .model = report->analysis };

		if (np_modes_want_table(report->modes->options.modes, each.relation->name))
			rc = report_list_add(ret, &each, err);
	}
	for (; table && rc == NP_OK; table = table->next)
		rc = report_list_add(ret,
				     &(struct report_table){ .relation = &table->relation,
							     .model = table,
							     .empty = table->empty },
				     err);
	return rc;
}

int report_list_add(struct report_list *list, const struct report_table *table, struct np_err *err)
{
	struct report_table *slot = np_vec_add(&list->list, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = *table;
	return NP_OK;
}

int report_modes_screen(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
{
	struct report_list shown = { 0 };
	int rc = report_list_shown(report, &shown, err);

	for (size_t i = 0; i < shown.list.count && rc == NP_OK; i++)
		rc = report_table_screen(&shown.list.item[i], report, buf, err);
	np_vec_release(&shown.list);
	return rc;
}

/* A table without rows is its titles and the line below them. */
#define MD_TITLE_LINES 2

static size_t lines_from(const struct np_buf *buf, size_t offset)
{
	size_t lines = 0;

	for (size_t i = offset; i < buf->length; i++)
		lines += buf->text[i] == '\n';
	return lines;
}

int report_modes_markdown(const struct cluster_report *report, struct np_buf *buf,
			  struct np_err *err)
{
	struct report_list shown = { 0 };
	int rc = report_list_shown(report, &shown, err);

	for (size_t i = 0; i < shown.list.count && rc == NP_OK; i++) {
		const struct report_table *table = &shown.list.item[i];
		struct np_text_sink sink;
		size_t head;

		np_buf_printf(buf, "%s## %s\n\n%s\n\n", buf->length ? "\n" : "",
			      table->relation->name, table->relation->summary);
		head = buf->length;
		np_md_sink_init(&sink, buf, NULL);
		rc = np_relation_write(table->relation, table->model, &sink.base, err);
		if (rc == NP_OK && !buf->failed && lines_from(buf, head) <= MD_TITLE_LINES)
			np_buf_printf(buf, "\nnothing found%s%s\n", table->empty ? ": " : "",
				      table->empty ? table->empty : "");
	}
	np_vec_release(&shown.list);
	return rc;
}

/* --- JSON ------------------------------------------------------------------------------------ */

int report_put_modes(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err)
{
	struct np_jsonout_sink sink;
	struct report_list shown = { 0 };
	int rc = report_list_shown(report, &shown, err);

	np_jsonout_sink_init(&sink, out);
	if (rc == NP_OK && shown.list.count) {
		np_jsonout_object(out, "modes");
		for (size_t i = 0; i < shown.list.count && rc == NP_OK; i++)
			rc = np_relation_write(shown.list.item[i].relation,
					       shown.list.item[i].model, &sink.base, err);
		np_jsonout_end(out);
	}
	np_vec_release(&shown.list);
	return rc;
}
