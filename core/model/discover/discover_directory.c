/* SPDX-License-Identifier: Apache-2.0 */
/* What a directory is, whatever its name: the output of a profiler, or files of profiles. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/buf.h"
#include "npuprof/notes.h"
#include "npuprof/text.h"

#include <strings.h>

/* --- files that stand in a directory of any name ---------------------------------------------- */

/* Some file systems know only capitals. */
static bool is_db(const char *name)
{
	size_t length = strlen(name);

	return length > 3 && strcasecmp(name + length - 3, ".db") == 0;
}

/* Databases with names of the user's own are known by their tables. */
static int take_other_dbs(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		const char *name = names->list.item[i];
		int64_t stamp;
		int32_t rank;
		enum np_kind kind;
		char *path;

		if (!is_db(name) || file_name_is_rank_db(name, &kind, &rank) ||
		    file_name_is_msmonitor(name, &stamp, &rank) ||
		    discover_fixed_file(name) != NP_FILE_COUNT ||
		    discover_stamped_file(name) != NP_FILE_COUNT)
			continue;
		path = np_join_path(dir, name);
		if (!path)
			return np_fail_nomem(err, dir);
		if (discover_is_rank_db(path))
			rc = discover_keep_lone(run, dir, name, NP_KIND_PYTORCH, NP_FILE_RANK_DB,
						err);
		free(path);
	}
	return rc;
}

static size_t count_stamped(const struct np_names *names, enum np_file file)
{
	size_t count = 0;

	for (size_t i = 0; i < names->list.count; i++)
		count += discover_stamped_file(names->list.item[i]) == file;
	return count;
}

/* Exports of msprof that somebody has moved out of their directory. */
static int take_exports(struct np_run *run, const char *dir, const struct np_names *names,
			struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_MSPROF, .rank = -1, .device = -1 };
	int rc = NP_OK;

	/* Repeated exports stand in directories of msprof; here each is a capture of its own. */
	if (count_stamped(names, NP_FILE_RANK_DB) > 1) {
		for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
			if (discover_stamped_file(names->list.item[i]) == NP_FILE_RANK_DB)
				rc = discover_keep_lone(run, dir, names->list.item[i],
							NP_KIND_MSPROF, NP_FILE_RANK_DB, err);
		}
		return rc;
	}
	rc = discover_find_exports(run, dir, names, &source, err);
	source.dir = strdup(dir);
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK && discover_readable(&source))
		rc = discover_keep(run, &source, err);
	np_source_files_release(&source);
	return rc;
}

/* Does a file stand here that a rank can be read from? */
static bool holds_framework_files(const struct np_names *names)
{
	for (size_t i = 0; i < names->list.count; i++) {
		switch (discover_fixed_file(names->list.item[i])) {
		case NP_FILE_ANALYSIS_DB:
		case NP_FILE_TRACE:
		case NP_FILE_KERNELS:
		case NP_FILE_STEP_TRACE:
		case NP_FILE_COMM:
			return true;
		default:
			break;
		}
	}
	return false;
}

static bool holds_exports(const struct np_names *names)
{
	for (size_t i = 0; i < names->list.count; i++) {
		if (np_text_begins(names->list.item[i], "msprof_slice_"))
			return true;
	}
	return count_stamped(names, NP_FILE_RANK_DB) + count_stamped(names, NP_FILE_TRACE) +
		       count_stamped(names, NP_FILE_KERNELS) >
	       0;
}

/* Files of profiles in a directory that no profiler has named. */
static int take_flat(struct np_run *run, const char *dir, const struct np_names *names,
		     size_t *ret_without_data, struct np_err *err)
{
	int rc = NP_OK;

	if (discover_count_rank_dbs(names) > 0 ||
	    (holds_framework_files(names) && !holds_exports(names)))
		rc = discover_take_framework(run, dir, names, dir, names, ret_without_data, err);
	else if (holds_exports(names))
		rc = take_exports(run, dir, names, err);
	if (rc == NP_OK)
		rc = take_other_dbs(run, dir, names, err);
	if (rc == NP_OK)
		rc = discover_take_renamed(run, dir, names, err);
	return rc == NP_OK ? discover_take_kineto(run, dir, names, err) : rc;
}

/* Statistics and memory without what they are of: they say nothing of times. */
static void note_parts(struct np_run *run, const char *dir, const struct np_names *names,
		       size_t *ret_without_data)
{
	for (size_t i = 0; i < names->list.count; i++) {
		if (discover_fixed_file(names->list.item[i]) == NP_FILE_COUNT)
			continue;
		*ret_without_data += 1;
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, dir, "rank",
			    "'%s' is only a part of a profile: without a database,"
			    " trace_view.json, kernel_details.csv, step_trace_time.csv or"
			    " communication.json beside it there are no times",
			    names->list.item[i]);
		return;
	}
}

/* Traces and logs of other tools, which nobody here reads from a directory. */
static void note_other(struct np_run *run, const char *path, const char *name)
{
	if (np_text_begins(name, "step_trace_raw_") && np_text_ends(name, "_detail_time.csv"))
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "capture",
			    "the layout of MindSpore before 2.3 (MindInsight) is not read; profile"
			    " with a newer MindSpore");
}

/* What cannot be read as it is, and stands where profiles would: said, with what to do. */
static void note_unread(struct np_run *run, const char *dir, const struct np_names *names)
{
	for (size_t i = 0; i < names->list.count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
		const char *name = names->list.item[i];
		char *path = np_join_path(dir, name);

		if (path && discover_is_archive(path, &line) && !np_is_directory(path))
			np_note_add(&run->notes,
				    strstr(name, "ascend") || strstr(name, "PROF_") ||
						    strstr(name, "prof")
					    ? NP_NOTE_SKIPPED
					    : NP_NOTE_WARNING,
				    NP_NO_RANK, path, "archive",
				    "archives are not read; unpack it: %s", line.text);
		else if (path && !np_is_directory(path))
			note_other(run, path, name);
		free(path);
	}
}

/* --- a directory ----------------------------------------------------------------------------- */

/* A rank directory whose raw data nobody has analysed: there is nothing to read yet. */
static void note_unparsed(struct np_run *run, const char *dir, const struct np_names *names,
			  size_t *ret_without_data)
{
	struct np_source_files source = { .rank = -1 };

	if (discover_metadata(dir, names, &source, NULL) == NP_OK) {
		*ret_without_data += 1;
		np_note_add(&run->notes, NP_NOTE_SKIPPED,
			    source.rank < 0 ? NP_NO_RANK : source.rank, dir, "rank",
			    "raw data that was not analysed: there is no " OUTPUT_NAME
			    "; run torch_npu.profiler.profiler.analyse('%s')",
			    dir);
	}
	np_source_files_release(&source);
}

static bool holds_prof(const struct np_names *names)
{
	for (size_t i = 0; i < names->list.count; i++) {
		if (np_text_begins(names->list.item[i], "PROF_"))
			return true;
	}
	return false;
}

/* Raw data beside an output directory that has nothing of a profile: those may be exported. */
static bool only_raw(struct np_run *run, const char *output, const struct np_names *names)
{
	struct np_names outputs = { 0 };
	bool found = !holds_prof(names) || discover_names(run, output, &outputs, NULL) < 0 ||
		     discover_count_rank_dbs(&outputs) > 0 || holds_framework_files(&outputs);

	np_names_release(&outputs);
	return !found;
}

/* A directory of msprof, or of what somebody has kept of one. */
static bool is_msprof(const char *dir, const char *name)
{
	char *output = np_join_path(dir, MSPROF_OUTPUT);
	bool found = np_text_begins(name, "PROF_") || (output && np_is_directory(output));

	free(output);
	return found;
}

int discover_take(struct np_run *run, const char *dir, const struct np_names *names,
		  size_t *ret_without_data, bool *ret_enter, struct np_err *err)
{
	const char *name = np_text_last_part(dir);
	char *output = np_join_path(dir, OUTPUT_NAME);
	bool framework = np_text_ends(name, "_ascend_pt") || np_text_ends(name, "_ascend_ms");
	int rc;

	if (!output)
		return np_fail_nomem(err, dir);
	*ret_enter = true;
	rc = discover_take_monitor(run, dir, names, err);
	note_unread(run, dir, names);
	if (rc == NP_OK && np_is_directory(output) && !only_raw(run, output, names)) {
		rc = discover_take_output(run, dir, names, output, ret_without_data, err);
		/* The raw data of a rank are no rank of their own. */
		*ret_enter = !holds_prof(names);
	} else if (rc == NP_OK && is_msprof(dir, name)) {
		rc = discover_take_msprof(run, dir, names, ret_without_data, err);
		*ret_enter = !np_text_begins(name, "PROF_");
	} else if (rc == NP_OK && np_text_begins(name, "device_") && discover_is_old_device(dir)) {
		discover_note_old(run, dir, ret_without_data);
		*ret_enter = false;
	} else if (rc == NP_OK) {
		size_t before = run->sources.count;

		rc = take_flat(run, dir, names, ret_without_data, err);
		if (rc == NP_OK && framework && !holds_prof(names) && run->sources.count == before)
			note_unparsed(run, dir, names, ret_without_data);
		else if (rc == NP_OK && run->sources.count == before)
			note_parts(run, dir, names, ret_without_data);
	}
	free(output);
	return rc;
}
