/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a rank by their names: what torch_npu and MindSpore write, and what all share. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"

#include "npuprof/json.h"
#include "npuprof/notes.h"
#include "npuprof/text.h"

#include <sys/stat.h>

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

int discover_set_file(struct np_source_files *source, enum np_file file, const char *dir,
		      const char *name, struct np_err *err)
{
	char *path = np_join_path(dir, name);

	if (!path)
		return np_fail_nomem(err, dir);
	free(source->file[file]);
	source->file[file] = path;
	return NP_OK;
}

bool discover_readable(const struct np_source_files *source)
{
	static const enum np_file enough[] = { NP_FILE_RANK_DB, NP_FILE_ANALYSIS_DB, NP_FILE_TRACE,
					       NP_FILE_KERNELS, NP_FILE_STEP_TRACE,  NP_FILE_COMM,
					       NP_FILE_KINETO };

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

int discover_keep(struct np_run *run, struct np_source_files *source, struct np_err *err)
{
	struct np_source_files *slot = np_vec_add(&run->sources, err);

	if (!slot)
		return NP_E_NOMEM;
	measure_source(source);
	*slot = *source;
	*source = (struct np_source_files){ 0 };
	return NP_OK;
}

int discover_keep_lone(struct np_run *run, const char *dir, const char *name, enum np_kind kind,
		       enum np_file file, struct np_err *err)
{
	struct np_source_files source = { .kind = kind, .rank = -1, .device = -1 };
	int rc = discover_set_file(&source, file, dir, name, err);

	source.dir = rc == NP_OK ? strdup(source.file[file]) : NULL;
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK)
		rc = discover_keep(run, &source, err);
	np_source_files_release(&source);
	return rc;
}

/* The rank that a metadata file names inside, for those whose name does not say it. */
void discover_read_info(struct np_source_files *source)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *host;
	int64_t process;
	int64_t rank;

	if (!source->file[NP_FILE_INFO] ||
	    np_json_read_file(source->file[NP_FILE_INFO], NP_METADATA_MAX_BYTES, &doc, NULL) < 0)
		return;
	if (source->rank < 0 && np_json_integer(np_json_member(doc, "rank_id"), &rank) &&
	    rank >= 0 && rank <= INT32_MAX)
		source->rank = (int32_t)rank;
	if (np_json_integer(np_json_member(doc, "pid"), &process) && process > 0)
		source->process = process;
	host = np_json_text(np_json_member(doc, "hostUid"));
	if (!host)
		host = np_json_text(np_json_member(doc, "hostname"));
	if (host && !source->host)
		source->host = strdup(host);
}

/* --- torch_npu and MindSpore ----------------------------------------------------------------- */

int discover_metadata(const char *dir, const struct np_names *names, struct np_source_files *source,
		      struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		const char *name = names->list.item[i];
		int32_t rank;

		if (file_name_rank(name, "profiler_info", ".json", &rank) &&
		    !source->file[NP_FILE_INFO]) {
			source->rank = rank;
			rc = discover_set_file(source, NP_FILE_INFO, dir, name, err);
		} else if (strcmp(name, "profiler_metadata.json") == 0) {
			rc = discover_set_file(source, NP_FILE_METADATA, dir, name, err);
		}
	}
	if (source->rank < 0)
		discover_read_info(source);
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

/* Tables and traces are read compressed as well. */
static bool is_named(const char *name, const char *as)
{
	size_t length = strlen(as);

	return strncmp(name, as, length) == 0 &&
	       (name[length] == '\0' ||
		(strcmp(name + length, ".gz") == 0 && !np_text_ends(as, ".db")));
}

enum np_file discover_fixed_file(const char *name)
{
	for (size_t i = 0; i < NP_COUNT(fixed_names); i++) {
		if (is_named(name, fixed_names[i].name))
			return fixed_names[i].file;
	}
	return NP_FILE_COUNT;
}

/* A part of a name is one if nothing but a separator stands on either side of it. */
static const char *find_part(const char *name, const char *part, size_t length)
{
	for (const char *at = name; (at = strstr(at, part)); at++) {
		if ((at == name || strchr("_-. ", at[-1])) && strchr("_-. ", at[length]))
			return at;
	}
	return NULL;
}

enum np_file discover_find_stem(const char *name, size_t *ret_begin, size_t *ret_length,
				size_t *ret_suffix)
{
	enum np_file found = NP_FILE_COUNT;

	*ret_length = 0;
	for (size_t i = 0; i < NP_COUNT(fixed_names); i++) {
		const char *dot = strrchr(fixed_names[i].name, '.');
		size_t length = (size_t)(dot - fixed_names[i].name);
		size_t suffix = strlen(dot);
		char stem[64];
		const char *at;

		if (strcmp(dot, ".db") == 0 || length <= *ret_length)
			continue;
		(void)snprintf(stem, sizeof(stem), "%.*s", (int)length, fixed_names[i].name);
		at = find_part(name, stem, length);
		if (!at)
			continue;
		if (np_text_ends(name, ".gz"))
			suffix += strlen(".gz");
		if (strncmp(name + strlen(name) - suffix, dot, strlen(dot)) != 0)
			continue;
		*ret_begin = (size_t)(at - name);
		*ret_length = length;
		*ret_suffix = suffix;
		found = fixed_names[i].file;
	}
	return found;
}

int discover_find_fixed(const char *dir, const char *name, struct np_source_files *source,
			struct np_err *err)
{
	enum np_file file = discover_fixed_file(name);

	if (file == NP_FILE_COUNT || source->file[file])
		return NP_OK;
	return discover_set_file(source, file, dir, name, err);
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

/* profiler_info was written by who profiled; a database can be renamed by anybody. */
static int take_rank_db(struct np_run *run, const char *output, const char *name, int32_t rank,
			enum np_kind kind, struct np_source_files *source, struct np_err *err)
{
	if (rank >= 0 && source->rank >= 0 && rank != source->rank)
		np_note_add(&run->notes, NP_NOTE_WARNING, source->rank, output, "rank",
			    "the database's name says rank %d and profiler_info says %d;"
			    " profiler_info is used",
			    rank, source->rank);
	if (source->rank < 0)
		source->rank = rank;
	source->kind = kind;
	return discover_set_file(source, NP_FILE_RANK_DB, output, name, err);
}

/* Databases of several ranks in one directory: each is a rank of its own. */
static int take_rank_dbs(struct np_run *run, const char *dir, const struct np_names *names,
			 struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		struct np_source_files source = { .rank = -1, .device = -1 };
		const char *name = names->list.item[i];

		if (!file_name_is_rank_db(name, &source.kind, &source.rank))
			continue;
		rc = discover_set_file(&source, NP_FILE_RANK_DB, dir, name, err);
		source.dir = rc == NP_OK ? strdup(source.file[NP_FILE_RANK_DB]) : NULL;
		if (!source.dir)
			rc = np_fail_nomem(err, dir);
		if (rc == NP_OK)
			rc = discover_keep(run, &source, err);
		np_source_files_release(&source);
	}
	return rc;
}

size_t discover_count_rank_dbs(const struct np_names *names)
{
	size_t count = 0;

	for (size_t i = 0; i < names->list.count; i++) {
		enum np_kind kind;
		int32_t rank;

		count += file_name_is_rank_db(names->list.item[i], &kind, &rank);
	}
	return count;
}

/* What stands beside databases of several ranks belongs to one of them, and nobody says to which.
 */
static void note_strays(struct np_run *run, const char *dir, const struct np_names *names)
{
	for (size_t i = 0; i < names->list.count; i++) {
		if (discover_fixed_file(names->list.item[i]) != NP_FILE_COUNT)
			np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, dir,
				    names->list.item[i],
				    "it stands beside the databases of several ranks, and nothing"
				    " says to which it belongs");
	}
}

static int find_outputs(struct np_run *run, const char *output, const struct np_names *names,
			struct np_source_files *source, struct np_err *err)
{
	const char *chosen = choose_rank_db(names, source->rank);
	int rc = NP_OK;

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		const char *name = names->list.item[i];
		enum np_kind kind;
		int32_t rank;

		if (name == chosen && file_name_is_rank_db(name, &kind, &rank))
			rc = take_rank_db(run, output, name, rank, kind, source, err);
		else if (file_name_is_rank_db(name, &kind, &rank))
			np_note_add(&run->notes, NP_NOTE_SKIPPED, rank < 0 ? NP_NO_RANK : rank,
				    output, "rank database",
				    "'%s' stands beside '%s', which is of the rank that"
				    " profiler_info names",
				    name, chosen);
		else if (!chosen && file_name_was_rank_db(name))
			np_note_add(&run->notes, NP_NOTE_SKIPPED,
				    source->rank < 0 ? NP_NO_RANK : source->rank, output,
				    "rank database",
				    "'%s' has a name from which no rank can be read", name);
		else
			rc = discover_find_fixed(output, name, source, err);
	}
	return rc;
}

int discover_take_framework(struct np_run *run, const char *dir, const struct np_names *names,
			    const char *output, const struct np_names *outputs,
			    size_t *ret_without_data, struct np_err *err)
{
	struct np_source_files source = { .rank = -1, .device = -1 };
	int rc = discover_metadata(dir, names, &source, err);

	if (rc == NP_OK && source.rank < 0 && discover_count_rank_dbs(outputs) > 1) {
		np_source_files_release(&source);
		note_strays(run, output, outputs);
		return take_rank_dbs(run, output, outputs, err);
	}
	source.kind = np_text_ends(dir, "_ascend_ms") ? NP_KIND_MINDSPORE : NP_KIND_PYTORCH;
	source.dir = strdup(dir);
	if (!source.dir)
		rc = np_fail_nomem(err, dir);
	if (rc == NP_OK)
		rc = find_outputs(run, output, outputs, &source, err);
	if (rc == NP_OK && discover_readable(&source)) {
		rc = discover_keep(run, &source, err);
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

int discover_take_output(struct np_run *run, const char *dir, const struct np_names *names,
			 const char *output, size_t *ret_without_data, struct np_err *err)
{
	struct np_names outputs = { 0 };
	int rc = discover_names(run, output, &outputs, err);

	if (rc == NP_OK)
		rc = discover_take_framework(run, dir, names, output, &outputs, ret_without_data,
					     err);
	np_names_release(&outputs);
	return rc;
}
