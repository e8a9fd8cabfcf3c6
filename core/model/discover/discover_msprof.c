/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of msprof: PROF_*, what was kept of one, and the layout of old. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/notes.h"
#include "npuprof/text.h"

/* --- msprof ---------------------------------------------------------------------------------- */

/* "<prefix>_<digits><suffix>", compressed or not. */
static bool stamp_of(const char *name, const char *prefix, const char *suffix, int64_t *ret)
{
	char compressed[32];

	(void)snprintf(compressed, sizeof(compressed), "%s.gz", suffix);
	return file_name_number(name, prefix, suffix, ret) ||
	       (strcmp(suffix, ".db") != 0 && file_name_number(name, prefix, compressed, ret));
}

/* The newest file "<prefix>_<digits><suffix>" of a directory: an export can be repeated. */
static int find_newest(const char *dir, const struct np_names *names, const char *prefix,
		       const char *suffix, enum np_file file, struct np_source_files *source,
		       struct np_err *err)
{
	const char *newest = NULL;
	int64_t newest_stamp = -1;

	for (size_t i = 0; i < names->list.count; i++) {
		int64_t stamp;

		if (stamp_of(names->list.item[i], prefix, suffix, &stamp) && stamp > newest_stamp) {
			newest = names->list.item[i];
			newest_stamp = stamp;
		}
	}
	return newest && !source->file[file] ? discover_set_file(source, file, dir, newest, err)
					     : NP_OK;
}

/* msprof cuts long traces into msprof_slice_0_<stamp>.json, msprof_slice_1_… */
static int find_slices(const char *dir, const struct np_names *names,
		       struct np_source_files *source, struct np_err *err)
{
	for (size_t i = 0; i < names->list.count; i++) {
		const char *name = names->list.item[i];
		char **slot;
		int rc;

		if (!np_text_begins(name, "msprof_slice_") ||
		    (!np_text_ends(name, ".json") && !np_text_ends(name, ".json.gz")))
			continue;
		if (!source->file[NP_FILE_TRACE]) {
			rc = discover_set_file(source, NP_FILE_TRACE, dir, name, err);
			if (rc < 0)
				return rc;
			continue;
		}
		slot = np_vec_add(&source->more_traces, err);
		if (!slot || !(*slot = np_join_path(dir, name)))
			return np_fail_nomem(err, dir);
	}
	return NP_OK;
}

/* Tables are cut as well. One piece is read as the whole; of several only the trace has all. */
static int find_table_slices(struct np_run *run, const char *dir, const struct np_names *names,
			     struct np_source_files *source, struct np_err *err)
{
	const char *only = NULL;
	size_t count = 0;

	for (size_t i = 0; i < names->list.count; i++) {
		if (!np_text_begins(names->list.item[i], "op_summary_slice_"))
			continue;
		only = names->list.item[i];
		count++;
	}
	if (count == 0 || source->file[NP_FILE_KERNELS])
		return NP_OK;
	if (count == 1)
		return discover_set_file(source, NP_FILE_KERNELS, dir, only, err);
	np_note_add(&run->notes, NP_NOTE_SKIPPED, source->rank < 0 ? NP_NO_RANK : source->rank, dir,
		    "op_summary_slice_*.csv",
		    "a table of kernels in %zu pieces is not read; msprof --export=on without"
		    " limits writes it as one",
		    count);
	return NP_OK;
}

/* What msprof names by the time of the export. */
static const struct {
	const char *prefix;
	const char *suffix;
	enum np_file file;
} stamped_names[] = {
	{ "msprof", ".db", NP_FILE_RANK_DB },
	{ "msprof", ".json", NP_FILE_TRACE },
	{ "op_summary", ".csv", NP_FILE_KERNELS },
	{ "task_time", ".csv", NP_FILE_KERNELS }, /* all tasks; where kernels have no table */
	{ "op_statistic", ".csv", NP_FILE_OP_STATISTIC },
	{ "api_statistic", ".csv", NP_FILE_API_STATISTIC },
	{ "memory_record", ".csv", NP_FILE_MEMORY_RECORD },
	{ "operator_memory", ".csv", NP_FILE_OPERATOR_MEMORY },
	{ "npu_module_mem", ".csv", NP_FILE_MODULE_MEMORY },
};

enum np_file discover_stamped_file(const char *name)
{
	int64_t stamp;

	for (size_t i = 0; i < NP_COUNT(stamped_names); i++) {
		if (stamp_of(name, stamped_names[i].prefix, stamped_names[i].suffix, &stamp))
			return stamped_names[i].file;
	}
	return NP_FILE_COUNT;
}

int discover_find_exports(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_source_files *source, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++)
		rc = discover_find_fixed(dir, names->list.item[i], source, err);
	for (size_t i = 0; i < NP_COUNT(stamped_names) && rc == NP_OK; i++)
		rc = find_newest(dir, names, stamped_names[i].prefix, stamped_names[i].suffix,
				 stamped_names[i].file, source, err);
	if (rc == NP_OK)
		rc = find_slices(dir, names, source, err);
	if (rc == NP_OK)
		rc = find_table_slices(run, dir, names, source, err);
	return rc;
}

static int find_in(struct np_run *run, const char *prof, const char *child,
		   struct np_source_files *source, struct np_err *err)
{
	char *dir = np_join_path(prof, child);
	struct np_names names = { 0 };
	int rc = NP_OK;

	if (!dir)
		return np_fail_nomem(err, prof);
	if (np_is_directory(dir)) {
		rc = discover_names(run, dir, &names, err);
		if (rc == NP_OK)
			rc = discover_find_exports(run, dir, &names, source, err);
		np_names_release(&names);
	}
	free(dir);
	return rc;
}

/* device_N/info.json.N says the device, and the rank if the job had set RANK_ID. */
static int find_device(struct np_run *run, const char *prof, const struct np_names *names,
		       struct np_source_files *source, struct np_err *err)
{
	for (size_t i = 0; i < names->list.count; i++) {
		const char *name = names->list.item[i];
		char file[64];
		int64_t device;
		char *dir;
		int rc;

		if (!np_text_begins(name, "device_") ||
		    !np_text_to_int(name + 7, strlen(name + 7), &device) || device < 0 ||
		    device > INT32_MAX)
			continue;
		dir = np_join_path(prof, name);
		if (!dir)
			return np_fail_nomem(err, prof);
		(void)snprintf(file, sizeof(file), "info.json.%lld", (long long)device);
		rc = discover_set_file(source, NP_FILE_INFO, dir, file, err);
		free(dir);
		if (rc < 0)
			return rc;
		source->device = (int32_t)device;
		discover_read_info(source);
		return NP_OK;
	}
	(void)run;
	return NP_OK;
}

/* What a collector left in a rank directory is for npuprof export. */
static void note_raw(struct np_run *run, const struct np_source_files *source)
{
	const char *slash = strrchr(source->dir, '/');
	int parent = slash ? (int)(slash - source->dir) : 0;
	int32_t rank = source->rank < 0 ? NP_NO_RANK : source->rank;

	if (parent > 10 && strncmp(source->dir + parent - 10, "_ascend_pt", 10) == 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, rank, source->dir, "rank",
			    "raw data that was not exported; run npuprof export %.*s", parent,
			    source->dir);
	else
		np_note_add(&run->notes, NP_NOTE_SKIPPED, rank, source->dir, "rank",
			    "raw data that was not exported; run msprof --export=on --output=%s"
			    " and msprof --analyze=on --output=%s",
			    source->dir, source->dir);
}

/* Before 2024 msprof wrote a file per device, model and iteration below each device. */
bool discover_is_old_device(const char *dir)
{
	static const char *const parts[] = { "timeline", "summary" };
	bool found = false;

	for (size_t i = 0; i < NP_COUNT(parts) && !found; i++) {
		char *part = np_join_path(dir, parts[i]);

		found = part && np_is_directory(part);
		free(part);
	}
	return found;
}

static bool holds_old_device(const char *prof, const struct np_names *names)
{
	bool found = false;

	for (size_t i = 0; i < names->list.count && !found; i++) {
		char *device = np_text_begins(names->list.item[i], "device_")
				       ? np_join_path(prof, names->list.item[i])
				       : NULL;

		found = device && discover_is_old_device(device);
		free(device);
	}
	return found;
}

void discover_note_old(struct np_run *run, const char *dir, size_t *ret_without_data)
{
	*ret_without_data += 1;
	np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, dir, "capture",
		    "the layout of msprof before 2024 (device_N/timeline, device_N/summary) is not"
		    " read; export its raw data with a newer CANN: msprof --export=on --output=%s",
		    dir);
}

/* The raw data of a framework's capture: profiler_info above them says the rank. */
static int read_parent(struct np_run *run, const char *dir, struct np_source_files *source,
		       struct np_err *err)
{
	struct np_source_files above = { .rank = -1, .device = -1 };
	struct np_names names = { 0 };
	const char *slash = strrchr(dir, '/');
	char *parent = slash && slash > dir ? strndup(dir, (size_t)(slash - dir)) : strdup(".");
	int rc = parent ? NP_OK : np_fail_nomem(err, dir);

	if (rc == NP_OK &&
	    (np_text_ends(parent, "_ascend_pt") || np_text_ends(parent, "_ascend_ms")))
		rc = discover_names(run, parent, &names, err);
	if (rc == NP_OK)
		rc = discover_metadata(parent, &names, &above, err);
	if (rc == NP_OK && source->rank < 0)
		source->rank = above.rank;
	if (rc == NP_OK && !source->file[NP_FILE_METADATA])
		source->file[NP_FILE_METADATA] = NP_STEAL(above.file[NP_FILE_METADATA]);
	np_source_files_release(&above);
	np_names_release(&names);
	free(parent);
	return rc;
}

int discover_take_msprof(struct np_run *run, const char *dir, const struct np_names *names,
			 size_t *ret_without_data, struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_MSPROF, .rank = -1, .device = -1 };
	int rc = find_device(run, dir, names, &source, err);

	source.dir = strdup(dir);
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK)
		rc = read_parent(run, dir, &source, err);
	if (rc == NP_OK)
		rc = find_newest(dir, names, "msprof", ".db", NP_FILE_RANK_DB, &source, err);
	if (rc == NP_OK)
		rc = find_in(run, dir, MSPROF_OUTPUT, &source, err);
	if (rc == NP_OK)
		rc = find_in(run, dir, "analyze", &source, err);
	if (rc == NP_OK && discover_readable(&source)) {
		rc = discover_keep(run, &source, err);
	} else if (rc == NP_OK && holds_old_device(dir, names)) {
		discover_note_old(run, dir, ret_without_data);
	} else if (rc == NP_OK) {
		*ret_without_data += 1;
		note_raw(run, &source);
	}
	np_source_files_release(&source);
	return rc;
}
