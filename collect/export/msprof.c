/* SPDX-License-Identifier: Apache-2.0 */
/* Raw data to databases and text: msprof is run, and what it wrote is found. */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/db.h"
#include "npuprof/text.h"

/* Stands in PROF_* while msprof runs: what it left behind if this is there is half done. */
#define AT_WORK ".npuprof_export"

#define TEXT_DIR "mindstudio_profiler_output"

static np_ns change_time(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return 0;
	return (np_ns)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

static void keep_newest(np_ns *newest, np_ns time)
{
	if (time > *newest)
		*newest = time;
}

/* --- the raw data ---------------------------------------------------------------------------- */

/* The newest file of a directory, and whether there is any. */
static bool newest_in(const char *dir, np_ns *newest)
{
	NP_CLEANUP(np_names_release) struct np_names names = { 0 };
	bool any = false;

	if (np_export_list(dir, &names, NULL) < 0)
		return false;
	for (size_t i = 0; i < names.list.count; i++) {
		char *path = np_join_path(dir, names.list.item[i]);

		if (path && np_export_is_file(path)) {
			keep_newest(newest, change_time(path));
			any = true;
		}
		free(path);
	}
	return any;
}

/* Below host/ and device_N/: what the collection wrote itself; sqlite/ there is msprof's. */
static bool raw_newest(const char *prof, np_ns *newest)
{
	NP_CLEANUP(np_names_release) struct np_names names = { 0 };
	bool any = false;

	if (np_export_list(prof, &names, NULL) < 0)
		return false;
	for (size_t i = 0; i < names.list.count; i++) {
		const char *name = names.list.item[i];
		char *side;
		char *data;

		if (strcmp(name, "host") != 0 && !np_text_begins(name, "device_"))
			continue;
		side = np_join_path(prof, name);
		data = side ? np_join_path(side, "data") : NULL;
		if (side)
			(void)newest_in(side, newest);
		if (data && newest_in(data, newest))
			any = true;
		free(data);
		free(side);
	}
	return any;
}

np_ns np_export_raw_time(const struct np_export_rank *rank)
{
	static const char *const beside[] = { "npuprof_rank.json", "profiler_metadata.json" };
	np_ns newest = 0;

	(void)raw_newest(rank->prof, &newest);
	for (size_t i = 0; i < NP_COUNT(beside); i++) {
		char *path = np_join_path(rank->dir, beside[i]);

		if (path)
			keep_newest(&newest, change_time(path));
		free(path);
	}
	return newest;
}

/* Without end_info the collection was cut: the process was killed, or the disk was full. */
static void note_if_cut(struct np_export_rank *rank, const char *prof)
{
	char *path = np_join_path(prof, "host/end_info");

	if (path && !np_export_is_file(path))
		np_note_add(&rank->notes, NP_NOTE_WARNING, rank->rank, prof, "raw data",
			    "the collection did not end properly (no end_info); what there is was"
			    " exported");
	free(path);
}

/* --- what msprof made of them ---------------------------------------------------------------- */

/* Is it "<stem>_<digits><suffix>"? */
static bool is_stamped(const char *name, const char *stem, const char *suffix)
{
	size_t length = strlen(stem);

	return np_text_begins(name, stem) && name[length] == '_' &&
	       strcmp(name + length + 1 + strspn(name + length + 1, "0123456789"), suffix) == 0;
}

/* Names end in a time, so the last is the newest. */
static char *newest_db_in(const char *dir)
{
	NP_CLEANUP(np_names_release) struct np_names names = { 0 };

	if (np_export_list(dir, &names, NULL) < 0)
		return NULL;
	for (size_t i = names.list.count; i-- > 0;) {
		if (is_stamped(names.list.item[i], "msprof", ".db"))
			return np_join_path(dir, names.list.item[i]);
	}
	return NULL;
}

char *np_export_msprof_db(const char *prof)
{
	char *output = np_join_path(prof, TEXT_DIR);
	char *path = newest_db_in(prof);

	if (!path && output)
		path = newest_db_in(output);
	free(output);
	return path;
}

char *np_export_msprof_text(const char *prof, const char *stem, const char *suffix)
{
	NP_CLEANUP(np_names_release) struct np_names names = { 0 };
	char *dir = np_join_path(prof, TEXT_DIR);
	char *path = NULL;

	if (dir && np_export_list(dir, &names, NULL) < 0)
		np_names_release(&names);
	for (size_t i = names.list.count; i-- > 0 && !path;) {
		if (is_stamped(names.list.item[i], stem, suffix))
			path = np_join_path(dir, names.list.item[i]);
	}
	free(dir);
	return path;
}

static int add_path(struct np_names *names, char *path, struct np_err *err)
{
	char **slot = np_vec_add(&names->list, err);

	if (slot)
		*slot = path;
	else
		free(path);
	return slot ? NP_OK : NP_E_NOMEM;
}

int np_export_msprof_trace(const char *prof, struct np_names *ret, struct np_err *err)
{
	char *path = np_export_msprof_text(prof, "msprof", ".json");
	int rc = NP_OK;

	if (path)
		return add_path(ret, path, err);
	for (unsigned slice = 0; rc == NP_OK; slice++) {
		char stem[48];

		(void)snprintf(stem, sizeof(stem), "msprof_slice_%u", slice);
		path = np_export_msprof_text(prof, stem, ".json");
		if (!path)
			break;
		rc = add_path(ret, path, err);
	}
	return rc;
}

static void remove_in(const char *dir, const char *name)
{
	char *path = np_join_path(dir, name);

	if (path)
		np_remove_tree(path);
	free(path);
}

static void remove_databases(const char *prof)
{
	char *path;

	while ((path = newest_db_in(prof))) {
		int rc = unlink(path);

		free(path);
		if (rc < 0)
			return;
	}
}

void np_export_remove_msprof(const struct np_export_rank *rank)
{
	static const char *const dirs[] = { TEXT_DIR, "mindstudio_profiler_log", "analyze" };

	remove_databases(rank->prof);
	for (size_t i = 0; i < NP_COUNT(dirs); i++)
		remove_in(rank->prof, dirs[i]);
}

/* Was msprof stopped in the middle? */
static bool is_broken(const char *prof)
{
	char *marker = np_join_path(prof, AT_WORK);
	bool broken = marker && access(marker, F_OK) == 0;

	free(marker);
	return broken;
}

/* Is the database, or the last of the text files, newer than the raw data? */
static bool is_done(const char *prof, enum np_export_type type, np_ns raw_time)
{
	np_ns newest = 0;
	char *path = type == NP_EXPORT_DB ? np_export_msprof_db(prof)
					  : np_export_msprof_text(prof, "op_summary", ".csv");

	if (path)
		newest = change_time(path);
	free(path);
	return newest > raw_time;
}

/* --- running it ------------------------------------------------------------------------------ */

static int run(const struct np_export_options *options, const char *prof, const char *action,
	       enum np_export_type type, int log, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf output = NP_BUF_INIT;
	const char *argv[] = { options->msprof, action,
			       type == NP_EXPORT_DB ? "--type=db" : "--type=text", NULL, NULL };
	/* msprof refuses symbolic links. */
	char *path = realpath(prof, NULL);
	int rc;

	np_buf_printf(&output, "--output=%s", path ? path : prof);
	free(path);
	rc = np_buf_check(&output, err);
	argv[3] = output.text;
	return rc == NP_OK ? np_export_child(argv, log, options->timeout_s, err) : rc;
}

static int set_marker(const char *prof, bool at_work, struct np_err *err)
{
	char *path = np_join_path(prof, AT_WORK);
	int fd = -1;
	int rc = NP_OK;

	if (!path)
		return np_fail_nomem(err, prof);
	if (at_work)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	else if (unlink(path) < 0 && errno != ENOENT)
		rc = np_fail(err, NP_E_IO, "cannot remove '%s': %s", path, strerror(errno));
	if (at_work && fd < 0)
		rc = np_fail(err, NP_E_IO, "cannot write into '%s': %s", prof, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	free(path);
	return rc;
}

int np_export_msprof(struct np_export_rank *rank, const struct np_export_options *options,
		     enum np_export_type type, int log, struct np_err *err)
{
	const char *prof = rank->prof;
	struct np_err problem = NP_ERR_INIT;
	np_ns raw_time = 0;
	int rc;

	if (!raw_newest(prof, &raw_time))
		return np_fail(err, NP_E_NOTFOUND, "'%s' holds no raw data", prof);
	note_if_cut(rank, prof);
	if (is_broken(prof))
		np_export_remove_msprof(rank);
	else if (is_done(prof, type, raw_time))
		return NP_OK;
	rc = set_marker(prof, true, err);
	if (rc == NP_OK)
		rc = run(options, prof, "--export=on", type, log, err);
	if (rc == NP_OK)
		rc = set_marker(prof, false, err);
	if (rc < 0)
		return rc;
	/* Times of communication are derived again below, so this one may fail. */
	if (run(options, prof, "--analyze=on", type, log, &problem) < 0)
		np_note_add(&rank->notes, NP_NOTE_WARNING, rank->rank, prof, "analysis",
			    "msprof could not analyse it (%s); npuprof's own analysis is used",
			    problem.text);
	return np_export_was_stopped() ? np_fail(err, NP_E_IO, "stopped") : NP_OK;
}
