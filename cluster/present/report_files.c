/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "npuprof/db.h"
#include "npuprof/dirs.h"
#include "npuprof/text.h"

#include <errno.h>
#include <unistd.h>

int report_make_directory(const char *path, struct np_err *err)
{
	int rc = np_make_dirs(path, err);

	return rc == NP_E_IO ? np_fail(err, rc, "%s; give another with -o", err->text) : rc;
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

/* The tables that modes ask for are in front: who asks for them wants to see them. */
static int list_all(const struct report_tables *all, struct report_list *ret, struct np_err *err)
{
	int rc = report_list_shown(all, ret, err);

	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		const struct np_relation *relation = np_cluster_relations[i];

		if (np_cluster_relation_applies(relation, all->tables) && !is_listed(ret, relation))
			rc = report_list_add(ret, relation, all->tables, NULL, err);
	}
	return rc;
}

static int write_database(const struct report_list *sources, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *writer = NULL;
	int rc = np_db_writer_open(path, &writer, err);

	for (size_t i = 0; i < sources->list.count && rc == NP_OK; i++)
		rc = np_relation_write(sources->list.item[i].relation, sources->list.item[i].model,
				       np_db_writer_sink(writer), err);
	return rc < 0 ? rc : np_db_writer_commit(NP_STEAL(writer), err);
}

int report_database(const struct report_tables *all, const char *directory, char **ret_path,
		    struct np_err *err)
{
	struct report_list sources = { 0 };
	char *path;
	int rc = report_make_directory(directory, err);

	if (rc < 0)
		return rc;
	if (asprintf(&path, "%s/cluster_analysis.db", directory) < 0)
		return np_fail_nomem(err, directory);
	rc = list_all(all, &sources, err);
	if (rc == NP_OK)
		rc = write_database(&sources, path, err);
	np_vec_release(&sources.list);
	if (rc < 0)
		free(path);
	else
		*ret_path = path;
	return rc;
}

/* --- CSV ------------------------------------------------------------------------------------- */

static int unknown_table(const struct report_list *sources, const char *name, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	NP_VEC(const char *) names = { 0 };
	const char *meant = NULL;
	const char **slot = NULL;

	for (size_t i = 0; i < sources->list.count && (slot = np_vec_add(&names, err)); i++) {
		*slot = sources->list.item[i].relation->name;
		np_buf_printf(&list, "%s%s", i ? ", " : "", *slot);
	}
	for (size_t i = 0; np_modes_table(i) && (slot = np_vec_add(&names, err)); i++)
		*slot = np_modes_table(i);
	if (slot)
		meant = np_text_closest(name, names.item, names.count);
	np_vec_release(&names);
	if (!slot)
		return NP_E_NOMEM;
	if (meant && strcmp(meant, name) != 0)
		return np_fail(err, NP_E_USAGE, "no table '%s'; did you mean '%s'?", name, meant);
	return np_fail(err, NP_E_USAGE, "no table '%s'; there are %s, and those of modes", name,
		       list.text);
}

int report_csv(const struct report_tables *all, const char *table, FILE *stream, struct np_err *err)
{
	struct report_list sources = { 0 };
	size_t at = 0;
	int rc = list_all(all, &sources, err);

	while (rc == NP_OK && table && at < sources.list.count &&
	       strcmp(sources.list.item[at].relation->name, table) != 0)
		at++;
	if (rc == NP_OK && at < sources.list.count)
		rc = np_csv_write(sources.list.item[at].relation, sources.list.item[at].model,
				  stream, err);
	else if (rc == NP_OK)
		rc = unknown_table(&sources, table, err);
	np_vec_release(&sources.list);
	return rc;
}

int report_csv_files(const struct report_tables *all, const char *directory, struct np_err *err)
{
	struct report_list sources = { 0 };
	int rc = report_make_directory(directory, err);

	if (rc == NP_OK)
		rc = list_all(all, &sources, err);
	for (size_t i = 0; i < sources.list.count && rc == NP_OK; i++)
		rc = np_csv_write_below(sources.list.item[i].relation, sources.list.item[i].model,
					directory, err);
	np_vec_release(&sources.list);
	return rc;
}
