/* SPDX-License-Identifier: Apache-2.0 */
/* The memory snapshots that lie beside the profiles of a run. */
#include "npuprof/mem_snapshots.h"

#include "mem_tables.h"

#include "npuprof/dirs.h"
#include "npuprof/notes.h"
#include "npuprof/run.h"
#include "npuprof/text.h"
#include "npuprof/workers.h"

#include <sys/stat.h>

/* Directories below directories; deeper ones are not looked into. */
#define DEPTH_MOST 8

bool np_mem_snapshots_is(const char *name)
{
	return np_text_ends(name, ".pickle") || np_text_ends(name, ".pkl") ||
	       np_text_ends(name, ".pickle.gz") || np_text_ends(name, ".pkl.gz");
}

/* The first bytes of pickles of protocol 2 to 5. */
bool np_mem_snapshots_looks(const char *path)
{
	FILE *file = fopen(path, "rb");
	unsigned char bytes[2] = { 0 };
	size_t count = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	if (file)
		(void)fclose(file);
	return count == sizeof(bytes) && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by DEPTH_MOST */
static int find(const char *root, const char *dir, unsigned depth, struct np_names *ret,
		struct np_err *err)
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
		} else if (depth < DEPTH_MOST && np_is_directory(path) &&
			   !np_leads_above(root, path)) {
			rc = find(root, path, depth + 1, ret, err);
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
	return find(dir, dir, 0, ret, err);
}

/* Bytes of files that are read at a time, at most; one is always. */
#define BYTES_AT_A_TIME ((uint64_t)4 << 30)

/* Other settings are tried for so many bytes of snapshots: a dozen replays take longer than
 * reading. */
#define SWEEP_BYTES ((uint64_t)256 << 20)

struct snapshots_pass {
	struct mem_snapshot_slot *slots;
	const struct mem_rank_options *options;
};

static void read_one(void *context, size_t index)
{
	const struct snapshots_pass *pass = context;
	struct mem_snapshot_slot *slot = &pass->slots[index];

	slot->rc = mem_rank_read(slot->path, slot->rank, pass->options, &slot->ranks,
				 &slot->trailing, &slot->err);
}

void mem_snapshots_run(struct mem_snapshot_slot *slots, size_t count,
		       const struct mem_rank_options *options, size_t threads)
{
	struct snapshots_pass pass = { slots, options };
	struct np_workers workers = { .threads = threads ? threads : np_processors() };
	uint64_t largest = 1;
	struct stat status;

	for (size_t i = 0; i < count; i++) {
		if (stat(slots[i].path, &status) == 0 && (uint64_t)status.st_size > largest)
			largest = (uint64_t)status.st_size;
	}
	if (workers.threads > BYTES_AT_A_TIME / largest)
		workers.threads =
			largest < BYTES_AT_A_TIME ? (size_t)(BYTES_AT_A_TIME / largest) : 1;
	np_workers_run(&workers, count, read_one, &pass);
}

void mem_snapshots_release(struct mem_snapshot_slot *slots, size_t count)
{
	for (size_t i = 0; slots && i < count; i++)
		mem_ranks_release(&slots[i].ranks);
	free(slots);
}

int mem_snapshot_take(struct mem_snapshot_slot *slot, mem_ranks *ret, struct np_err *err)
{
	for (size_t i = 0; i < slot->ranks.count; i++) {
		struct mem_rank *added = np_vec_add(ret, err);

		if (!added)
			return NP_E_NOMEM;
		*added = slot->ranks.item[i];
		slot->ranks.item[i] = (struct mem_rank){ 0 };
	}
	slot->ranks.count = 0;
	return NP_OK;
}

/* What was found in one file; a failure costs the file. */
static int take_slot(struct mem_snapshot_slot *slot, mem_ranks *ranks, struct np_notes *notes,
		     struct np_err *err)
{
	if (slot->rc == NP_E_NOMEM)
		return np_fail(err, slot->rc, "%s", slot->err.text);
	if (slot->rc < 0) {
		np_note_add(notes, NP_NOTE_SKIPPED, NP_NO_RANK, slot->path, "snapshot", "%s",
			    slot->err.text);
		return NP_OK;
	}
	for (size_t i = 0; i < slot->ranks.count; i++) {
		if (slot->ranks.item[i].usage_problem)
			np_note_add(notes, NP_NOTE_SKIPPED, NP_NO_RANK, slot->path, "modules", "%s",
				    slot->ranks.item[i].usage_problem);
	}
	return mem_snapshot_take(slot, ranks, err);
}

static int read_all(const struct np_names *files, size_t threads, mem_ranks *ranks,
		    struct np_notes *notes, struct np_err *err)
{
	struct mem_rank_options how = { .moment = { .kind = MEM_AT_PEAK },
					.by = MEM_BY_USER,
					.sweep = true,
					.device_bytes = NP_UNKNOWN };
	uint64_t bytes = 0;
	struct stat status;
	const size_t count = files->list.count;
	struct mem_snapshot_slot *slots = calloc(count + 1, sizeof(*slots));
	int rc = slots ? NP_OK : np_fail_nomem(err, "snapshots");

	for (size_t i = 0; rc == NP_OK && i < count; i++) {
		slots[i].path = files->list.item[i];
		slots[i].rank = mem_rank_in_name(slots[i].path);
		bytes += stat(slots[i].path, &status) == 0 ? (uint64_t)status.st_size : 0;
	}
	if (bytes > SWEEP_BYTES) {
		how.sweep = false;
		np_note_add(notes, NP_NOTE_WARNING, NP_NO_RANK, files->list.item[0], "snapshot",
			    "%llu MB of snapshots: other settings of the allocator are not tried; "
			    "npuprof memory --sweep does",
			    (unsigned long long)(bytes / 1000000));
	}
	if (rc == NP_OK)
		mem_snapshots_run(slots, count, &how, threads);
	for (size_t i = 0; rc == NP_OK && i < count; i++)
		rc = take_slot(&slots[i], ranks, notes, err);
	mem_snapshots_release(slots, count);
	return rc;
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
			  size_t threads, struct np_notes *notes, struct np_memory **ret,
			  struct np_err *err)
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
		rc = read_all(&files, threads, &ranks, notes, err);
	place_ranks(&ranks, cluster);
	return rc == NP_OK && ranks.count > 0 ? mem_tables_new(&ranks, ret, err) : rc;
}
