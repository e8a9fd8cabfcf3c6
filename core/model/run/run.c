/* SPDX-License-Identifier: Apache-2.0 */
/* A run: making and freeing it, looking up ranks, and the fingerprint of its files. */
#include "npuprof/run.h"

#include "npuprof/buf.h"
#include "npuprof/hash.h"
#include "npuprof/lang.h"
#include "npuprof/ranges.h"
#include "npuprof/rank.h"

#include <sys/stat.h>

struct np_run *np_run_new(void)
{
	struct np_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->strings = np_strtab_new();
	if (!run->strings) {
		free(run);
		return NULL;
	}
	return run;
}

const char *np_file_name(enum np_file file)
{
	static const char *const names[] = {
		[NP_FILE_RANK_DB] = "rank database",
		[NP_FILE_ANALYSIS_DB] = "analysis.db",
		[NP_FILE_TRACE] = "trace_view.json",
		[NP_FILE_KERNELS] = "kernel_details.csv",
		[NP_FILE_STEP_TRACE] = "step_trace_time.csv",
		[NP_FILE_COMM] = "communication.json",
		[NP_FILE_COMM_MATRIX] = "communication_matrix.json",
		[NP_FILE_OP_STATISTIC] = "op_statistic.csv",
		[NP_FILE_API_STATISTIC] = "api_statistic.csv",
		[NP_FILE_MEMORY_RECORD] = "memory_record.csv",
		[NP_FILE_OPERATOR_MEMORY] = "operator_memory.csv",
		[NP_FILE_MODULE_MEMORY] = "npu_module_mem.csv",
		[NP_FILE_INFO] = "profiler_info.json",
		[NP_FILE_METADATA] = "profiler_metadata.json",
		[NP_FILE_KINETO] = "trace of Kineto",
		[NP_FILE_CLUSTER_DB] = "cluster_analysis.db",
	};

	return names[file];
}

const char *np_kind_name(enum np_kind kind)
{
	static const char *const names[] = {
		[NP_KIND_PYTORCH] = "torch_npu",
		[NP_KIND_MINDSPORE] = "MindSpore",
		[NP_KIND_MSPROF] = "msprof",
		[NP_KIND_MSMONITOR] = "msMonitor",
		[NP_KIND_CLUSTER] = "cluster analysis",
		[NP_KIND_KINETO] = "Kineto",
	};

	return names[kind];
}

const char *np_rank_from_name(enum np_rank_from from)
{
	static const char *const names[NP_RANK_FROM_COUNT] = {
		[NP_RANK_FROM_NAME] = NP_MSG("from the name"),
		[NP_RANK_ASSUMED] = NP_MSG("assumed"),
		[NP_RANK_PROVISIONAL] = NP_MSG("provisional"),
	};

	return names[from];
}

void np_source_files_release(struct np_source_files *source)
{
	free(source->dir);
	free(source->phase);
	free(source->host);
	free(source->summary);
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		free(source->file[i]);
	for (size_t i = 0; i < source->more_traces.count; i++)
		free(source->more_traces.item[i]);
	np_vec_release(&source->more_traces);
}

void np_run_free(struct np_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; run->ranks && i < run->sources.count; i++)
		np_rank_free(run->ranks[i]);
	free(run->ranks);
	for (size_t i = 0; i < run->sources.count; i++)
		np_source_files_release(&run->sources.item[i]);
	np_vec_release(&run->sources);
	for (size_t i = 0; i < run->roots.count; i++)
		free(run->roots.item[i]);
	np_vec_release(&run->roots);
	for (size_t i = 0; i < run->phases.count; i++)
		free(run->phases.item[i]);
	np_vec_release(&run->phases);
	free(run->given);
	free(run->manifest);
	if (run->distributed)
		run->distributed_calls->free(run->distributed);
	np_notes_release(&run->notes);
	np_strtab_free(run->strings);
	free(run);
}

void np_run_freep(struct np_run **run)
{
	np_run_free(*run);
	*run = NULL;
}

const struct np_rank *np_run_rank(const struct np_run *run, int32_t id)
{
	for (size_t i = 0; run->ranks && i < run->sources.count; i++) {
		if (run->ranks[i] && run->ranks[i]->id == id)
			return run->ranks[i];
	}
	return NULL;
}

size_t np_run_index(const struct np_run *run, int32_t id)
{
	size_t low = 0;
	size_t high = run->sources.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (run->sources.item[middle].rank < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < run->sources.count && run->sources.item[low].rank == id ? low : SIZE_MAX;
}

const char *np_run_device_kind(const struct np_run *run)
{
	const char *kind = NULL;

	for (size_t i = 0; i < run->sources.count; i++) {
		const char *each = run->ranks[i] ? np_rank_device_kind(run->ranks[i]) : kind;

		if (kind && strcmp(each, kind) != 0)
			return "mixed";
		kind = each;
	}
	return kind ? kind : "NPU";
}

size_t np_run_used(const struct np_run *run)
{
	size_t used = 0;

	for (size_t i = 0; run->ranks && i < run->sources.count; i++)
		used += run->ranks[i] != NULL;
	return used;
}

/* The size of the job as the first rank that knows it says; 0 when none does. */
static int32_t world_size(const struct np_run *run)
{
	for (size_t i = 0; run->ranks && i < run->sources.count; i++) {
		if (run->ranks[i] && run->ranks[i]->parallel.world > 0)
			return run->ranks[i]->parallel.world;
	}
	return 0;
}

void np_run_note_missing(struct np_run *run, bool collected)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	int32_t world = world_size(run);
	int64_t *missing = malloc(((size_t)world + 1) * sizeof(*missing));
	size_t count = 0;
	size_t next = 0;

	/* Sources are sorted by rank. */
	for (int32_t rank = 0; missing && rank < world; rank++) {
		while (next < run->sources.count && run->sources.item[next].rank < rank)
			next++;
		if (next == run->sources.count || run->sources.item[next].rank != rank)
			missing[count++] = rank;
	}
	if (missing && count > 0) {
		np_ranges_format(&list, missing, count);
		np_note_add(&run->notes, collected ? NP_NOTE_SKIPPED : NP_NOTE_WARNING, NP_NO_RANK,
			    run->roots.item[0], "ranks",
			    "%zu of the %d ranks of the job have no profile here: %s", count, world,
			    list.text);
	}
	free(missing);
}

const char *np_run_text(const struct np_run *run, np_str id)
{
	return id == NP_STR_NONE ? NULL : np_strtab_text(run->strings, id);
}

/* The part of a path below the root it was found in: where the root is does not matter. */
static const char *below_root(const struct np_run *run, const char *path)
{
	size_t longest = 0;

	for (size_t i = 0; i < run->roots.count; i++) {
		size_t length = strlen(run->roots.item[i]);

		if (length > longest && strncmp(path, run->roots.item[i], length) == 0 &&
		    (path[length] == '/' || run->roots.item[i][length - 1] == '/'))
			longest = length;
	}
	return path + longest;
}

static uint64_t mix_file(uint64_t hash, const struct np_run *run, const char *path)
{
	struct stat status;
	int64_t facts[3] = { -1, 0, 0 };

	if (!path)
		return np_hash(hash, "-", 1);
	if (stat(path, &status) == 0) {
		facts[0] = (int64_t)status.st_size;
		facts[1] = (int64_t)status.st_mtim.tv_sec;
		facts[2] = (int64_t)status.st_mtim.tv_nsec;
	}
	hash = np_hash(hash, facts, sizeof(facts));
	path = below_root(run, path);
	return np_hash(hash, path, strlen(path) + 1);
}

uint64_t np_source_fingerprint(const struct np_run *run, const struct np_source_files *source)
{
	uint64_t hash = NP_HASH_START;

	if (source->fingerprint)
		return source->fingerprint;
	hash = np_hash(hash, &source->rank, sizeof(source->rank));
	for (size_t i = 0; i < NP_FILE_COUNT; i++)
		hash = mix_file(hash, run, source->file[i]);
	for (size_t i = 0; i < source->more_traces.count; i++)
		hash = mix_file(hash, run, source->more_traces.item[i]);
	return hash ? hash : 1;
}

void np_run_fingerprint(const struct np_run *run, char ret[17])
{
	uint64_t hash = NP_HASH_START;

	for (size_t i = 0; i < run->sources.count; i++) {
		uint64_t part = np_source_fingerprint(run, &run->sources.item[i]);

		hash = np_hash(hash, &part, sizeof(part));
	}
	(void)snprintf(ret, 17, "%016llx", (unsigned long long)hash);
}
