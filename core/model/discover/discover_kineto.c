/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of PyTorch's own profiler: one file for each rank, in a directory of any name. */
#include "discover_files.h"

#include "core/model/vendor/file_names.h"
#include "core/model/vendor/kineto.h"
#include "core/model/vendor/nsys.h"
#include "core/model/vendor/trace_lanes.h"

#include "npuprof/json.h"
#include "npuprof/notes.h"
#include "npuprof/text.h"

static bool is_json(const char *name)
{
	return np_text_ends(name, ".json") || np_text_ends(name, ".json.gz");
}

/* What nsys exports; whether it is one is known by its content. */
static bool is_nsys(const char *name)
{
	return np_text_ends(name, ".sqlite");
}

/* What torch.profiler, vLLM and SGLang call their traces. */
static bool is_named(const char *name)
{
	return np_text_ends(name, ".trace.json") || np_text_ends(name, ".trace.json.gz");
}

int discover_is_kineto(const char *path, bool *ret, struct np_err *err)
{
	*ret = is_named(path) || (is_nsys(path) && nsys_is(path));
	return *ret || is_nsys(path) ? NP_OK : kineto_is(path, ret, err);
}

static int add_trace(struct np_run *run, const char *dir, const char *name, struct np_err *err)
{
	return discover_keep_lone(run, dir, name, NP_KIND_KINETO, NP_FILE_KINETO, err);
}

/* A file of another tool that has a name of its own. */
static bool is_other(const char *name)
{
	return discover_fixed_file(name) != NP_FILE_COUNT ||
	       discover_stamped_file(name) != NP_FILE_COUNT ||
	       discover_renamed(name, &(struct renamed_file){ 0 }) ||
	       np_text_begins(name, "profiler_info") || np_text_begins(name, "profiler_metadata");
}

/* Is it JSON of another tool, or damaged? */
static bool is_of_others(const char *path)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;

	return np_json_read_file(path, NP_METADATA_MAX_BYTES, &doc, NULL) == NP_OK;
}

/* What a file of the directory is. */
enum found {
	FOUND_OTHER,
	FOUND_TRACE,
	FOUND_NPU_TRACE, /* of torch_npu, under another name */
	FOUND_DAMAGED,   /* what cannot be read, and may be a trace */
};

static int look_at(const char *dir, const char *name, enum found *ret, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	char *path = np_join_path(dir, name);
	bool kineto = false;
	int rc;

	*ret = FOUND_OTHER;
	if (!path)
		return np_fail_nomem(err, dir);
	if (is_nsys(path))
		kineto = nsys_is(path);
	rc = np_is_directory(path) || is_nsys(path) ? NP_OK : kineto_is(path, &kineto, &problem);
	if (rc == NP_E_NOMEM)
		(void)np_fail(err, rc, "%s", problem.text);
	else if (rc < 0 && (is_named(name) || !is_of_others(path)))
		*ret = FOUND_DAMAGED;
	else if (rc == NP_OK && !kineto && !is_nsys(path) && !np_is_directory(path) &&
		 trace_is_of_npu(path))
		*ret = FOUND_NPU_TRACE;
	else if (rc == NP_OK && (kineto || (is_named(name) && !np_is_directory(path))))
		*ret = FOUND_TRACE;
	free(path);
	return rc == NP_E_NOMEM ? rc : NP_OK;
}

/* Damage that no rank will tell, because a rank is not known of it. */
static int note_damage(struct np_run *run, const char *dir, const char *name, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	char *path = np_join_path(dir, name);
	bool kineto;

	if (!path)
		return np_fail_nomem(err, dir);
	if (kineto_is(path, &kineto, &problem) < 0)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "trace", "%s",
			    problem.text);
	free(path);
	return NP_OK;
}

/* Where there is no other trace, one with such a name is a rank, which tells why it cannot be read.
 */
static int take_damaged(struct np_run *run, const char *dir, const char *name, bool among,
			struct np_err *err)
{
	if (among)
		return note_damage(run, dir, name, err);
	return is_named(name) ? add_trace(run, dir, name, err) : NP_OK;
}

int discover_take_kineto(struct np_run *run, const char *dir, const struct np_names *names,
			 struct np_err *err)
{
	enum found *found = calloc(names->list.count + 1, sizeof(*found));
	size_t before = run->sources.count;
	bool among;
	int rc = found ? NP_OK : np_fail_nomem(err, dir);

	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		const char *name = names->list.item[i];

		if ((is_json(name) || is_nsys(name)) && !is_other(name))
			rc = look_at(dir, name, &found[i], err);
		if (rc == NP_OK && found[i] == FOUND_TRACE)
			rc = add_trace(run, dir, name, err);
		else if (rc == NP_OK && found[i] == FOUND_NPU_TRACE)
			rc = discover_keep_lone(run, dir, name, NP_KIND_PYTORCH, NP_FILE_TRACE,
						err);
	}
	among = run->sources.count > before;
	for (size_t i = 0; i < names->list.count && rc == NP_OK; i++) {
		if (found[i] == FOUND_DAMAGED)
			rc = take_damaged(run, dir, names->list.item[i], among, err);
	}
	free(found);
	return rc;
}

/* --- ranks ----------------------------------------------------------------------------------- */

void discover_read_kineto(struct np_source_files *source)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	NP_CLEANUP(np_json_freep) struct np_json *info = NULL;
	struct np_slice text;
	int64_t rank;

	if (!source->file[NP_FILE_KINETO] ||
	    np_trace_open(source->file[NP_FILE_KINETO], &trace, NULL) < 0)
		return;
	text = np_trace_info(trace)->distributed_info;
	if (text.length == 0 ||
	    np_json_parse(text.bytes, text.length, "distributedInfo", &info, NULL) < 0)
		return;
	if (np_json_integer(np_json_member(info, "rank"), &rank) && rank >= 0 && rank <= INT32_MAX)
		source->rank = (int32_t)rank;
}
