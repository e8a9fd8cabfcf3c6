/* SPDX-License-Identifier: Apache-2.0 */
/* The memory snapshots that lie beside the profiles of a run. */
#include "npuprof/mem_snapshots.h"

#include "mem_tables.h"

#include "npuprof/dirs.h"
#include "npuprof/notes.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

/* Directories below directories; deeper ones are not looked into. */
#define DEPTH_MOST 8

bool np_mem_snapshots_is(const char *name)
{
	return np_text_ends(name, ".pickle") || np_text_ends(name, ".pkl") ||
	       np_text_ends(name, ".pickle.gz") || np_text_ends(name, ".pkl.gz");
}

static int find(const char *dir, unsigned depth, struct np_names *ret, struct np_err *err)
{
	struct np_names names = { 0 };
	int rc = np_names_read(dir, &names, err);

	for (size_t i = 0; rc == NP_OK && i < names.list.count; i++) {
		char *path = np_join_path(dir, names.list.item[i]);
		char **added = NULL;

		if (!path) {
			rc = np_fail_nomem(err, "the name of a snapshot");
		} else if (np_mem_snapshots_is(path) && !np_is_directory(path)) {
			added = np_vec_add(&ret->list, err);
			rc = added ? NP_OK : NP_E_NOMEM;
		} else if (depth < DEPTH_MOST && np_is_directory(path)) {
			rc = find(path, depth + 1, ret, err);
		}
		if (added)
			*added = path;
		else
			free(path);
	}
	np_names_release(&names);
	return rc;
}

int np_mem_snapshots_find(const char *dir, struct np_names *ret, struct np_err *err)
{
	return find(dir, 0, ret, err);
}

static int read_all(const struct np_names *files, mem_ranks *ranks, struct np_notes *notes,
		    struct np_err *err)
{
	const struct mem_rank_options how = { .moment = { .kind = MEM_AT_PEAK },
					      .by = MEM_BY_USER,
					      .sweep = true,
					      .device_bytes = NP_UNKNOWN };

	for (size_t i = 0; i < files->list.count; i++) {
		const char *path = files->list.item[i];
		struct np_err problem = NP_ERR_INIT;
		uint64_t trailing;
		int rc = mem_rank_read(path, mem_rank_in_name(path), &how, ranks, &trailing,
				       &problem);

		if (rc == NP_E_NOMEM)
			return np_fail(err, rc, "%s", problem.text);
		if (rc < 0)
			np_note_add(notes, NP_NOTE_SKIPPED, NP_NO_RANK, path, "snapshot", "%s",
				    problem.text);
	}
	return NP_OK;
}

static void place_ranks(mem_ranks *ranks, const struct np_cluster *cluster)
{
	for (size_t i = 0; i < ranks->count; i++) {
		struct mem_rank *rank = &ranks->item[i];
		size_t index = rank->rank >= 0 && rank->rank <= INT32_MAX
				       ? np_run_index(cluster->run, (int32_t)rank->rank)
				       : SIZE_MAX;

		if (index == SIZE_MAX)
			continue;
		rank->place = cluster->coordinates[index];
		if (rank->place.pp < 0)
			rank->place.pp = np_cluster_stage_at(cluster, index);
	}
}

int np_mem_snapshots_read(const char *const *dirs, size_t count, const struct np_cluster *cluster,
			  struct np_notes *notes, struct np_memory **ret, struct np_err *err)
{
	NP_CLEANUP(np_names_release) struct np_names files = { 0 };
	NP_CLEANUP(mem_ranks_release) mem_ranks ranks = { 0 };
	int rc = NP_OK;

	*ret = NULL;
	for (size_t i = 0; rc == NP_OK && i < count; i++) {
		if (np_is_directory(dirs[i]))
			rc = np_mem_snapshots_find(dirs[i], &files, err);
	}
	/* A directory that cannot be read was noted by who looked for profiles. */
	if (rc < 0 && rc != NP_E_NOMEM)
		rc = NP_OK;
	if (rc == NP_OK)
		rc = read_all(&files, &ranks, notes, err);
	place_ranks(&ranks, cluster);
	return rc == NP_OK && ranks.count > 0 ? mem_tables_new(&ranks, ret, err) : rc;
}
