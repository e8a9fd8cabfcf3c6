/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries of a large job, made of those of a small one: ids shifted, clocks and starts disturbed.
 */
#include "npuprof/arena.h"
#include "npuprof/discover.h"
#include "npuprof/map.h"
#include "npuprof/rank.h"
#include "npuprof/summary.h"

#include <stdio.h>
#include <sys/stat.h>

/*
 *	npuprof-bench-parts BASE OUT TP PP RANKS PER_PART
 *
 * BASE has the summaries of all ranks of a job that npuprof-synth made (tp fastest, then dp, then
 * stages). The large job has as many of its replicas side by side as give RANKS or a few more:
 * communicators of tensors and stages are those of the replica, those of data and of all ranks
 * reach over all replicas. OUT/pNNNNN gets the summaries of PER_PART ranks each, by rank.
 */

/* Members over all replicas: the same for whoever names them. */
struct wide_list {
	const int32_t *members;
	size_t count;
};

struct copying {
	size_t tp;
	size_t pp;
	size_t ranks; /* of the small job */
	size_t dp;
	size_t replicas;
	struct np_run *base;
	struct np_arena *arena;
	struct np_numbers known; /* lists of all replicas, by hash of the communicator */
	NP_VEC(struct wide_list) lists;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "npuprof-bench-parts: %s\n", what);
	exit(1);
}

/* Repeatable, and of all that it is given. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t hash = (a + UINT64_C(0x9e3779b97f4a7c15)) ^ (b * UINT64_C(0xbf58476d1ce4e5b9));

	hash = (hash ^ hash >> 30) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 31;
}

/* Where rank `id` of the small job is in replica `replica` of the large one. */
static int32_t large_id(const struct copying *copying, int32_t id, size_t replica)
{
	size_t block = copying->dp * copying->tp;
	size_t stage = (size_t)id / block;
	size_t rest = (size_t)id % block;

	return (int32_t)(stage * block * copying->replicas + replica * block + rest);
}

static bool reaches_out(const struct copying *copying, const struct np_group *group,
			const struct np_strtab *strings)
{
	const char *name = np_strtab_text(strings, group->pg_name);

	return group->member_count == copying->ranks ||
	       (group->member_count == copying->dp && strncmp(name, "dp", 2) == 0);
}

static int by_number(const void *left, const void *right)
{
	return np_order(*(const int32_t *)left, *(const int32_t *)right);
}

static struct wide_list list_members(const struct copying *copying, struct np_arena *arena,
				     const struct np_group *group, size_t first, size_t end)
{
	size_t count = 0;
	int32_t *members =
		np_arena_array(arena, group->member_count * (end - first), sizeof(*members));

	if (!members)
		die("out of memory");
	for (size_t i = first; i < end; i++) {
		for (size_t j = 0; j < group->member_count; j++)
			members[count++] = large_id(copying, group->members[j], i);
	}
	qsort(members, count, sizeof(*members), by_number);
	return (struct wide_list){ members, count };
}

static struct wide_list wide_members(struct copying *copying, const struct np_group *group)
{
	uint32_t known = np_numbers_get(&copying->known, group->hash);
	struct wide_list *slot;

	if (known != NP_MAP_NONE)
		return copying->lists.item[known];
	slot = np_vec_add(&copying->lists, NULL);
	if (!slot || np_numbers_add(&copying->known, group->hash,
				    (uint32_t)(copying->lists.count - 1), NULL) < 0)
		die("out of memory");
	*slot = list_members(copying, copying->arena, group, 0, copying->replicas);
	return *slot;
}

static void set_members(struct copying *copying, struct np_rank *rank, struct np_group *group,
			size_t replica, bool all)
{
	struct wide_list list =
		all ? wide_members(copying, group)
		    : list_members(copying, rank->arena, group, replica, replica + 1);
	const int32_t *own =
		bsearch(&rank->id, list.members, list.count, sizeof(*list.members), by_number);

	group->members = list.members;
	group->member_count = list.count;
	if (own)
		group->group_rank = (int32_t)(own - list.members);
}

static np_str renamed(struct np_strtab *strings, np_str text, size_t replica)
{
	char name[512];
	np_str ret = NP_STR_NONE;

	if (text == NP_STR_NONE)
		return text;
	(void)snprintf(name, sizeof(name), "%s-%zu", np_strtab_text(strings, text), replica);
	if (np_strtab_add(strings, name, strlen(name), &ret, NULL) < 0)
		die("out of memory");
	return ret;
}

/* A local rank of a communicator that reaches over all replicas. */
static int32_t large_local(const struct copying *copying, const struct np_group *group, size_t old,
			   int32_t local, size_t replica)
{
	if (local < 0)
		return local;
	if (old == copying->ranks)
		return large_id(copying, local, replica);
	return group->member_count == old ? local : local + (int32_t)(replica * old);
}

static void move_groups(struct copying *copying, struct np_rank *rank, struct np_strtab *strings,
			size_t replica)
{
	size_t *old = calloc(rank->groups.count + 1, sizeof(*old));

	if (!old)
		die("out of memory");
	for (size_t i = 0; i < rank->groups.count; i++) {
		struct np_group *group = &rank->groups.item[i];
		bool all = reaches_out(copying, group, strings);

		old[i] = group->member_count;
		if (!group->members)
			die("a communicator of BASE has no members");
		set_members(copying, rank, group, replica, all);
		if (!all && replica > 0) {
			group->name = renamed(strings, group->name, replica);
			group->hash = mix(group->hash, replica) >> 1;
		}
	}
	for (size_t i = 0; i < rank->links.count; i++) {
		struct np_link *link = &rank->links.item[i];
		const struct np_group *group = &rank->groups.item[link->group];

		link->src = large_local(copying, group, old[link->group], link->src, replica);
		link->dst = large_local(copying, group, old[link->group], link->dst, replica);
	}
	for (size_t i = 0; i < rank->transfers.count; i++) {
		struct np_transfer *transfer = &rank->transfers.item[i];
		const struct np_group *group = &rank->groups.item[transfer->group];

		transfer->src =
			large_local(copying, group, old[transfer->group], transfer->src, replica);
		transfer->dst =
			large_local(copying, group, old[transfer->group], transfer->dst, replica);
	}
	free(old);
}

static void shift(np_ns *time, np_ns by)
{
	if (*time != NP_UNKNOWN)
		*time += by;
}

/* The clock of the host is off by up to a second, and operators start up to 200 ns later. */
static void disturb(struct np_rank *rank)
{
	uint64_t host = mix((uint64_t)rank->host_uid, 1);
	np_ns by = (np_ns)(host % 1000000000);

	for (size_t i = 0; i < rank->steps.count; i++) {
		shift(&rank->steps.item[i].host_begin, by);
		shift(&rank->steps.item[i].host_end, by);
		shift(&rank->steps.item[i].begin, by);
		shift(&rank->steps.item[i].end, by);
	}
	for (size_t i = 0; i < rank->times.count; i++)
		shift(&rank->times.item[i].begin, by);
	for (size_t i = 0; i < rank->ops.count; i++) {
		struct np_comm_op *op = &rank->ops.item[i];
		np_ns later = (np_ns)(mix((uint64_t)rank->id, i) % 200);

		if (op->start == NP_UNKNOWN || op->end == NP_UNKNOWN)
			continue;
		if (op->end - op->start > 1000 &&
		    (i + 1 == rank->ops.count || op[1].start - op->start > 1000))
			op->start += later;
		op->start += by;
		op->end += by;
	}
	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		shift(&rank->activity.cells.item[i].begin, by);
		shift(&rank->activity.cells.item[i].end, by);
	}
	for (size_t i = 0; i < rank->activity.segments.count; i++)
		shift(&rank->activity.segments.item[i].begin, by);
	for (size_t i = 0; i < rank->activity.exposed.count; i++) {
		shift(&rank->activity.exposed.item[i].begin, by);
		shift(&rank->activity.exposed.item[i].end, by);
	}
}

static void copy_rank(struct copying *copying, int32_t id, const char *directory)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *strings = np_strtab_new();
	size_t block = copying->dp * copying->tp;
	size_t stage = (size_t)id / (block * copying->replicas);
	size_t replica = (size_t)id / block % copying->replicas;
	size_t from = stage * block + (size_t)id % block;
	struct np_summary summary = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_rank *rank;
	char *path;

	if (!strings ||
	    np_summary_read_source(&copying->base->sources.item[from], strings, &summary, &err) <
		    0 ||
	    !summary.rank)
		die(err.text);
	rank = summary.rank;
	rank->id = id;
	rank->host_uid = renamed(strings, rank->host_uid, replica);
	rank->host_name = renamed(strings, rank->host_name, replica);
	rank->parallel.world *= (int32_t)copying->replicas;
	rank->parallel.dp *= (int32_t)copying->replicas;
	move_groups(copying, rank, strings, replica);
	disturb(rank);
	summary.source.rank = id;
	summary.source.fingerprint = mix(summary.source.fingerprint, replica);
	if (asprintf(&path, "%s-%zu", summary.source.dir, replica) < 0)
		die("out of memory");
	free(summary.source.dir);
	summary.source.dir = path;
	free(rank->path);
	rank->path = strdup(path);
	path = np_summary_path(directory, &summary.source);
	if (!path || !rank->path || np_summary_write_file(path, &summary, strings, &err) < 0)
		die(path ? err.text : "out of memory");
	free(path);
	np_summary_release(&summary);
}

static size_t number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || value == 0)
		die("TP, PP, RANKS and PER_PART are whole numbers above 0");
	return value;
}

int main(int argc, char **argv)
{
	const struct np_discover_options how = { 0 };
	struct copying copying = { .base = np_run_new(), .arena = np_arena_new() };
	struct np_err err = NP_ERR_INIT;
	size_t wanted;
	size_t total;
	size_t each;

	if (argc != 7)
		die("usage: npuprof-bench-parts BASE OUT TP PP RANKS PER_PART");
	if (!copying.base || !copying.arena ||
	    np_summary_discover(copying.base, &(const char *){ argv[1] }, 1, &how, &err) < 0)
		die(err.text);
	copying.tp = number(argv[3]);
	copying.pp = number(argv[4]);
	wanted = number(argv[5]);
	each = number(argv[6]);
	copying.ranks = copying.base->sources.count;
	copying.dp = copying.ranks / copying.tp / copying.pp;
	if (copying.dp * copying.tp * copying.pp != copying.ranks)
		die("BASE has not dp times TP times PP ranks");
	copying.replicas = (wanted + copying.ranks - 1) / copying.ranks;
	total = copying.replicas * copying.ranks;
	(void)mkdir(argv[2], 0777);
	for (size_t i = 0; i < total; i++) {
		char directory[4096];

		(void)snprintf(directory, sizeof(directory), "%s/p%05zu", argv[2], i / each);
		if (i % each == 0)
			(void)mkdir(directory, 0777);
		copy_rank(&copying, (int32_t)i, directory);
	}
	(void)printf("%zu ranks in %zu directories\n", total, (total + each - 1) / each);
	np_vec_release(&copying.lists);
	np_numbers_release(&copying.known);
	np_arena_free(copying.arena);
	np_run_free(copying.base);
	return 0;
}
