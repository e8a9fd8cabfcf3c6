/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/run.h"

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

static void release_source(struct np_source_files *source)
{
	free(source->dir);
	free(source->rank_db);
	free(source->analysis_db);
	free(source->info_json);
	free(source->metadata_json);
}

void np_run_free(struct np_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; run->ranks && i < run->sources.count; i++)
		np_rank_free(run->ranks[i]);
	free(run->ranks);
	for (size_t i = 0; i < run->sources.count; i++)
		release_source(&run->sources.item[i]);
	np_vec_release(&run->sources);
	for (size_t i = 0; i < run->roots.count; i++)
		free(run->roots.item[i]);
	np_vec_release(&run->roots);
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

size_t np_run_used(const struct np_run *run)
{
	size_t used = 0;

	for (size_t i = 0; run->ranks && i < run->sources.count; i++)
		used += run->ranks[i] != NULL;
	return used;
}

const char *np_run_text(const struct np_run *run, np_str id)
{
	return id == NP_STR_NONE ? NULL : np_strtab_text(run->strings, id);
}

/* FNV-1a: the fingerprint guards against mistakes, not against malice. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
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
		return mix(hash, "-", 1);
	if (stat(path, &status) == 0) {
		facts[0] = (int64_t)status.st_size;
		facts[1] = (int64_t)status.st_mtim.tv_sec;
		facts[2] = (int64_t)status.st_mtim.tv_nsec;
	}
	hash = mix(hash, facts, sizeof(facts));
	path = below_root(run, path);
	return mix(hash, path, strlen(path) + 1);
}

void np_run_fingerprint(const struct np_run *run, char ret[17])
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *source = &run->sources.item[i];

		hash = mix(hash, &source->rank, sizeof(source->rank));
		hash = mix_file(hash, run, source->rank_db);
		hash = mix_file(hash, run, source->analysis_db);
		hash = mix_file(hash, run, source->info_json);
		hash = mix_file(hash, run, source->metadata_json);
	}
	(void)snprintf(ret, 17, "%016llx", (unsigned long long)hash);
}
