/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the files of a rank in one directory by their names. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/json.h"
#include "npuprof/text.h"

#include <sys/stat.h>

#define MSPROF_OUTPUT "mindstudio_profiler_output"

/* The size of a file and, if it is later, the time of its last change in ms. */
static int64_t file_size(const char *path, int64_t *changed)
{
	struct stat status;
	int64_t when;

	if (!path || stat(path, &status) < 0)
		return 0;
	when = (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
	if (when > *changed)
		*changed = when;
	return (int64_t)status.st_size;
}

/* --- a source -------------------------------------------------------------------------------- */

static int set_file(struct np_source_files *source, enum np_file file, const char *dir,
		    const char *name, struct np_err *err)
{
	char *path = np_join_path(dir, name);

	if (!path)
		return np_fail_nomem(err, dir);
	free(source->file[file]);
	source->file[file] = path;
	return NP_OK;
}

static bool readable(const struct np_source_files *source)
{
	static const enum np_file enough[] = { NP_FILE_RANK_DB, NP_FILE_ANALYSIS_DB, NP_FILE_TRACE,
					       NP_FILE_KERNELS, NP_FILE_STEP_TRACE,  NP_FILE_COMM };

	for (size_t i = 0; i < NP_COUNT(enough); i++) {
		if (source->file[enough[i]])
			return true;
	}
	return false;
}

static void measure_source(struct np_source_files *source)
{
	int64_t changed = 0;

	source->bytes = 0;
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		source->bytes += file_size(source->file[i], &changed);
	for (size_t i = 0; i < source->more_traces.count; i++)
		source->bytes += file_size(source->more_traces.item[i], &changed);
	source->stamp = file_name_time(source->dir);
	if (source->stamp < 0)
		source->stamp = changed;
}

static int keep_source(struct np_run *run, struct np_source_files *source, struct np_err *err)
{
	struct np_source_files *slot = np_vec_add(&run->sources, err);

	if (!slot)
		return NP_E_NOMEM;
	measure_source(source);
	*slot = *source;
	*source = (struct np_source_files){ 0 };
	return NP_OK;
}

/* The rank that a metadata file names inside, for those whose name does not say it. */
static void read_info(struct np_source_files *source)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *host;
	int64_t rank;

	if (!source->file[NP_FILE_INFO] ||
	    np_json_read_file(source->file[NP_FILE_INFO], NP_METADATA_MAX_BYTES, &doc, NULL) < 0)
		return;
	if (source->rank < 0 && np_json_integer(np_json_member(doc, "rank_id"), &rank) &&
	    rank >= 0 && rank <= INT32_MAX)
		source->rank = (int32_t)rank;
	host = np_json_text(np_json_member(doc, "hostUid"));
	if (!host)
		host = np_json_text(np_json_member(doc, "hostname"));
	if (host && !source->host)
		source->host = strdup(host);
}

/* --- torch_npu and MindSpore ----------------------------------------------------------------- */

static int find_metadata(const char *dir, const struct np_names *names,
			 struct np_source_files *source, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		const char *name = names->list.item[i];
		int32_t rank;

		if (file_name_rank(name, "profiler_info", ".json", &rank) &&
		    !source->file[NP_FILE_INFO]) {
			source->rank = rank;
			rc = set_file(source, NP_FILE_INFO, dir, name, err);
		} else if (strcmp(name, "profiler_metadata.json") == 0) {
			rc = set_file(source, NP_FILE_METADATA, dir, name, err);
		}
	}
	if (source->rank < 0)
		read_info(source);
	return rc;
}

/* Files of an output directory whose names are fixed. */
static const struct {
	const char *name;
	enum np_file file;
} fixed_names[] = {
	{ "analysis.db", NP_FILE_ANALYSIS_DB },
	{ "communication_analyzer.db", NP_FILE_ANALYSIS_DB },
	{ "trace_view.json", NP_FILE_TRACE },
	{ "trace_view.json.gz", NP_FILE_TRACE },
	{ "kernel_details.csv", NP_FILE_KERNELS },
	{ "step_trace_time.csv", NP_FILE_STEP_TRACE },
	{ "communication.json", NP_FILE_COMM },
	{ "communication_matrix.json", NP_FILE_COMM_MATRIX },
	{ "op_statistic.csv", NP_FILE_OP_STATISTIC },
	{ "api_statistic.csv", NP_FILE_API_STATISTIC },
	{ "memory_record.csv", NP_FILE_MEMORY_RECORD },
	{ "operator_memory.csv", NP_FILE_OPERATOR_MEMORY },
	{ "npu_module_mem.csv", NP_FILE_MODULE_MEMORY },
};

static int find_fixed(const char *dir, const char *name, struct np_source_files *source,
		      struct np_err *err)
{
	for (size_t i = 0; i < NP_COUNT(fixed_names); i++) {
		if (strcmp(name, fixed_names[i].name) == 0 && !source->file[fixed_names[i].file])
			return set_file(source, fixed_names[i].file, dir, name, err);
	}
	return NP_OK;
}

/* The rank database that counts: that of the rank profiler_info names, else the first. */
static const char *choose_rank_db(const struct np_names *names, int32_t expected)
{
	const char *chosen = NULL;

	for (size_t i = 0; i < names->list.count; i++) {
		enum np_kind kind;
		int32_t rank;

		if (!file_name_is_rank_db(names->list.item[i], &kind, &rank))
			continue;
		if (rank == expected && rank >= 0)
			return names->list.item[i];
		if (!chosen)
			chosen = names->list.item[i];
	}
	return chosen;
}

/* The name of the database says the rank, over what profiler_info says. */
static int take_rank_db(struct np_run *run, const char *output, const char *name, int32_t rank,
			enum np_kind kind, struct np_source_files *source, struct np_err *err)
{
	if (rank >= 0 && source->rank >= 0 && rank != source->rank)
		np_note_add(&run->notes, NP_NOTE_WARNING, rank, output, "rank",
			    "the database's name says rank %d and profiler_info says %d; the"
			    " database's name is used",
			    rank, source->rank);
	if (rank >= 0)
		source->rank = rank;
	source->kind = kind;
	return set_file(source, NP_FILE_RANK_DB, output, name, err);
}

static int find_outputs(struct np_run *run, const char *output, struct np_source_files *source,
			struct np_err *err)
{
	struct np_names names = { 0 };
	int rc = discover_names(run, output, &names, err);
	const char *chosen = choose_rank_db(&names, source->rank);

	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++) {
		const char *name = names.list.item[i];
		enum np_kind kind;
		int32_t rank;

		if (name == chosen && file_name_is_rank_db(name, &kind, &rank))
			rc = take_rank_db(run, output, name, rank, kind, source, err);
		else if (file_name_is_rank_db(name, &kind, &rank))
			np_note_add(&run->notes, NP_NOTE_SKIPPED, rank, output, "rank database",
				    "'%s' stands beside '%s'; one rank per directory is expected",
				    name, chosen);
		else
			rc = find_fixed(output, name, source, err);
	}
	np_names_release(&names);
	return rc;
}

static int take_framework_rank(struct np_run *run, const char *dir, const struct np_names *names,
			       const char *output, size_t *ret_without_data, struct np_err *err)
{
	struct np_source_files source = { .rank = -1, .device = -1 };
	int rc = find_metadata(dir, names, &source, err);

	source.kind = np_text_ends(dir, "_ascend_ms") ? NP_KIND_MINDSPORE : NP_KIND_PYTORCH;
	source.dir = strdup(dir);
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK)
		rc = find_outputs(run, output, &source, err);
	if (rc == NP_OK && readable(&source)) {
		rc = keep_source(run, &source, err);
	} else if (rc == NP_OK) {
		*ret_without_data += 1;
		np_note_add(&run->notes, NP_NOTE_SKIPPED,
			    source.rank < 0 ? NP_NO_RANK : source.rank, dir, "rank",
			    "no profile in " OUTPUT_NAME
			    ": no database, trace_view.json, kernel_details.csv,"
			    " step_trace_time.csv or communication.json");
	}
	np_source_files_release(&source);
	return rc;
}

/* --- msprof ---------------------------------------------------------------------------------- */

/* The newest file "<prefix>_<digits><suffix>" of a directory. */
static int find_newest(const char *dir, const struct np_names *names, const char *prefix,
		       const char *suffix, enum np_file file, struct np_source_files *source,
		       struct np_err *err)
{
	const char *newest = NULL;
	int64_t newest_stamp = -1;

	for (size_t i = 0; i < names->list.count; i++) {
		int64_t stamp;

		if (file_name_number(names->list.item[i], prefix, suffix, &stamp) &&
		    stamp > newest_stamp) {
			newest = names->list.item[i];
			newest_stamp = stamp;
		}
	}
	return newest ? set_file(source, file, dir, newest, err) : NP_OK;
}

/* msprof cuts long traces into msprof_slice_0_<stamp>.json, msprof_slice_1_… */
static int find_slices(const char *dir, const struct np_names *names,
		       struct np_source_files *source, struct np_err *err)
{
	for (size_t i = 0; i < names->list.count; i++) {
		const char *name = names->list.item[i];
		char **slot;
		int rc;

		if (!np_text_begins(name, "msprof_slice_") || !np_text_ends(name, ".json"))
			continue;
		if (!source->file[NP_FILE_TRACE]) {
			rc = set_file(source, NP_FILE_TRACE, dir, name, err);
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

static int find_in(struct np_run *run, const char *prof, const char *child,
		   struct np_source_files *source, struct np_err *err)
{
	char *dir = np_join_path(prof, child);
	struct np_names names = { 0 };
	int rc = NP_OK;

	if (!dir)
		return np_fail_nomem(err, prof);
	if (!np_is_directory(dir)) {
		free(dir);
		return NP_OK;
	}
	rc = discover_names(run, dir, &names, err);
	for (size_t i = 0; i < names.list.count && rc == NP_OK; i++)
		rc = find_fixed(dir, names.list.item[i], source, err);
	if (rc == NP_OK && !source->file[NP_FILE_RANK_DB])
		rc = find_newest(dir, &names, "msprof", ".db", NP_FILE_RANK_DB, source, err);
	if (rc == NP_OK)
		rc = find_newest(dir, &names, "msprof", ".json", NP_FILE_TRACE, source, err);
	if (rc == NP_OK)
		rc = find_slices(dir, &names, source, err);
	if (rc == NP_OK)
		rc = find_newest(dir, &names, "op_summary", ".csv", NP_FILE_KERNELS, source, err);
	np_names_release(&names);
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
		rc = set_file(source, NP_FILE_INFO, dir, file, err);
		free(dir);
		if (rc < 0)
			return rc;
		source->device = (int32_t)device;
		read_info(source);
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

static int take_msprof(struct np_run *run, const char *dir, const struct np_names *names,
		       size_t *ret_without_data, struct np_err *err)
{
	struct np_source_files source = { .kind = NP_KIND_MSPROF, .rank = -1, .device = -1 };
	int rc = find_device(run, dir, names, &source, err);

	source.dir = strdup(dir);
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK)
		rc = find_newest(dir, names, "msprof", ".db", NP_FILE_RANK_DB, &source, err);
	if (rc == NP_OK)
		rc = find_in(run, dir, MSPROF_OUTPUT, &source, err);
	if (rc == NP_OK)
		rc = find_in(run, dir, "analyze", &source, err);
	if (rc == NP_OK && readable(&source)) {
		rc = keep_source(run, &source, err);
	} else if (rc == NP_OK) {
		*ret_without_data += 1;
		note_raw(run, &source);
	}
	np_source_files_release(&source);
	return rc;
}

/* --- msMonitor ------------------------------------------------------------------------------- */

static int take_msmonitor(struct np_run *run, const char *dir, const struct np_names *names,
			  struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		struct np_source_files source = { .kind = NP_KIND_MSMONITOR, .device = -1 };
		int64_t stamp;

		if (!file_name_is_msmonitor(names->list.item[i], &stamp, &source.rank))
			continue;
		rc = set_file(&source, NP_FILE_RANK_DB, dir, names->list.item[i], err);
		source.dir = rc == NP_OK ? strdup(source.file[NP_FILE_RANK_DB]) : NULL;
		if (!source.dir)
			rc = np_fail_nomem(err, dir);
		if (rc == NP_OK)
			rc = keep_source(run, &source, err);
		if (rc == NP_OK && stamp >= 0)
			run->sources.item[run->sources.count - 1].stamp = stamp;
		np_source_files_release(&source);
	}
	return rc;
}

/* --- a directory ----------------------------------------------------------------------------- */

/* A rank directory whose raw data nobody has analysed: there is nothing to read yet. */
static void note_unparsed(struct np_run *run, const char *dir, const struct np_names *names,
			  size_t *ret_without_data)
{
	struct np_source_files source = { .rank = -1 };

	if (find_metadata(dir, names, &source, NULL) == NP_OK) {
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
	rc = take_msmonitor(run, dir, names, err);
	if (rc == NP_OK && np_is_directory(output)) {
		rc = take_framework_rank(run, dir, names, output, ret_without_data, err);
		/* The raw data of a rank are no rank of their own. */
		*ret_enter = !holds_prof(names);
	} else if (rc == NP_OK && np_text_begins(name, "PROF_")) {
		rc = take_msprof(run, dir, names, ret_without_data, err);
		*ret_enter = false;
	} else if (rc == NP_OK && framework && !holds_prof(names)) {
		note_unparsed(run, dir, names, ret_without_data);
	}
	free(output);
	return rc;
}
