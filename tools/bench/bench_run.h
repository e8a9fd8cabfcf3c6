/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BENCH_RUN_H
#define NP_BENCH_RUN_H

/*
 * A large run for benchmarks, built in memory: tp 8, pp 4, the rest dp, hosts of 8
 * ranks with clocks seconds apart, messages between stages.
 */
#include "npuprof/align.h"
#include "npuprof/arena.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TP        8
#define PP        4
#define STEP_OPS  500
#define EPOCH_NS  INT64_C(1736410576000000000)
#define OP_NS     200000
#define LENGTH_NS 120000

struct bench_options {
	size_t ranks;
	size_t ops;
	size_t threads;
	size_t damaged;
	size_t repetitions;
};

struct bench_types {
	np_str reduce;
	np_str send;
	np_str receive;
	np_str steps[64];
};

static inline void die(const char *what)
{
	(void)fprintf(stderr, "%s\n", what);
	exit(1);
}

static inline double now(clockid_t which)
{
	struct timespec time;

	(void)clock_gettime(which, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Resident at the moment, in MB. */
static inline double resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages[2] = { 0, 0 };
	char line[128];

	if (file && fgets(line, sizeof(line), file)) {
		char *end;

		pages[0] = strtoull(line, &end, 10);
		pages[1] = strtoull(end, NULL, 10);
	}
	if (file)
		(void)fclose(file);
	return (double)pages[1] * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static inline double peak(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss * 1024 / 1e6;
}

static inline uint64_t draw(uint64_t a, uint64_t b)
{
	uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xbf58476d1ce4e5b9);

	z = (z ^ (z >> 30)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline np_str intern(struct np_run *run, const char *text)
{
	np_str id;

	if (np_strtab_add(run->strings, text, strlen(text), &id, NULL) < 0)
		die("out of memory");
	return id;
}

/* A communicator of `count` ranks from `first` on, `stride` apart. */
static inline uint32_t add_group(struct np_rank *rank, uint64_t hash, size_t first, size_t stride,
				 size_t count)
{
	struct np_group *group;
	int32_t *members;
	uint32_t index;

	if (np_rank_group(rank, hash, &index, NULL) < 0)
		die("out of memory");
	group = &rank->groups.item[index];
	members = np_arena_array(rank->arena, count, sizeof(int32_t));
	if (!members)
		die("out of memory");
	for (size_t i = 0; i < count; i++)
		members[i] = (int32_t)(first + i * stride);
	group->members = members;
	group->member_count = count;
	return index;
}

enum bench_group {
	TP_GROUP,
	DP_GROUP,
	PP_GROUP,
	WORLD,
	KINDS,
};

struct bench_place {
	size_t rank;
	size_t stage;
	size_t dp; /* ranks of a stage / TP */
	uint32_t group[KINDS];
};

static inline struct bench_place add_groups(struct np_rank *rank, size_t id, size_t ranks)
{
	size_t per_stage = ranks / PP;
	struct bench_place place = { .rank = id, .stage = id / per_stage, .dp = per_stage / TP };
	size_t in_stage = id % per_stage;

	place.group[TP_GROUP] = add_group(rank, 1000000 + id / TP, id / TP * TP, 1, TP);
	place.group[DP_GROUP] = add_group(rank, 2000000 + place.stage * TP + id % TP,
					  place.stage * per_stage + id % TP, TP, place.dp);
	place.group[PP_GROUP] = add_group(rank, 3000000 + in_stage, in_stage, per_stage, PP);
	place.group[WORLD] = add_group(rank, 4000000, 0, 1, ranks);
	return place;
}

static inline void fill_op(const struct bench_place *place, size_t k,
			   const struct bench_types *types, struct np_comm_op *op)
{
	enum bench_group kind = k % 50 == 49 ? WORLD : k % 50 < 25 ? TP_GROUP : DP_GROUP;
	/* In turn stages 0-1 and 2-3, then 1-2, exchange messages. */
	size_t low = k % 2 == 0 ? place->stage / 2 * 2 : 1;

	op->type = types->reduce;
	op->bytes = 1 << 20;
	if (k % 50 >= 40 && k % 50 < 49) {
		kind = TP_GROUP;
		if (place->stage == low || place->stage == low + 1) {
			kind = PP_GROUP;
			op->p2p = true;
			op->type = place->stage == low ? types->send : types->receive;
			op->peer = (uint16_t)(place->stage == low ? low + 2 : low + 1);
		}
	}
	op->group = place->group[kind];
	op->data_type = 5;
}

static inline void fill_times(size_t rank, size_t k, struct np_comm_op *op)
{
	np_ns end = EPOCH_NS + (np_ns)k * OP_NS + (np_ns)(draw(k, 7) % 40000) +
		    (np_ns)(draw(rank, k) % 20000);
	np_ns start = end - LENGTH_NS - (np_ns)(draw(rank + 1, k) % 60000);
	np_ns host = (np_ns)(rank / 8 % 7) * 1000000000;

	op->start = start + host;
	op->end = end + host;
	op->transfer = LENGTH_NS;
	op->step = (uint32_t)(k / STEP_OPS);
	op->name = op->type;
}

static inline void fill_rank(struct np_run *run, struct np_rank *rank,
			     const struct bench_options *options, const struct bench_types *types,
			     bool damaged)
{
	size_t id = (size_t)rank->id;
	struct bench_place place = add_groups(rank, id, options->ranks);
	char host[32];

	(void)snprintf(host, sizeof(host), "host%zu", id / 8);
	rank->host_uid = intern(run, host);
	for (size_t i = 0; i <= options->ops / STEP_OPS && i < NP_COUNT(types->steps); i++) {
		struct np_step *step = np_vec_add(&rank->steps, NULL);

		if (!step)
			die("out of memory");
		step->id = types->steps[i];
	}
	rank->ops.item = calloc(options->ops, sizeof(*rank->ops.item));
	if (!rank->ops.item)
		die("out of memory");
	rank->ops.capacity = options->ops;
	for (size_t k = 0; k < options->ops; k++) {
		struct np_comm_op *op = &rank->ops.item[rank->ops.count];

		if (damaged && draw(id, k + 99) % 100 == 0)
			continue;
		fill_op(&place, k, types, op);
		fill_times(id, k, op);
		rank->ops.count++;
	}
}

static inline struct np_run *make_run(const struct bench_options *options)
{
	struct np_run *run = np_run_new();
	struct bench_types types = { 0 };

	if (!run)
		die("out of memory");
	types.reduce = intern(run, "hcom_allReduce_");
	types.send = intern(run, "hcom_send_");
	types.receive = intern(run, "hcom_receive_");
	for (size_t i = 0; i < NP_COUNT(types.steps); i++) {
		char id[24];

		(void)snprintf(id, sizeof(id), "%zu", i);
		types.steps[i] = intern(run, id);
	}
	run->ranks = calloc(options->ranks, sizeof(*run->ranks));
	for (size_t i = 0; i < options->ranks; i++) {
		struct np_source_files *source = np_vec_add(&run->sources, NULL);

		if (!run->ranks || !source)
			die("out of memory");
		source->rank = (int32_t)i;
		run->ranks[i] = np_rank_new((int32_t)i, "/rank");
		if (!run->ranks[i])
			die("out of memory");
		fill_rank(run, run->ranks[i], options, &types, i < options->damaged);
	}
	return run;
}

static inline struct bench_options parse_options(int argc, char **argv, size_t repetitions)
{
	struct bench_options options = {
		.ranks = 1024, .ops = 5000, .threads = 2, .repetitions = repetitions
	};
	int option;

	while ((option = getopt(argc, argv, "r:o:j:d:n:")) != -1) {
		size_t value = strtoul(optarg ? optarg : "0", NULL, 10);

		switch (option) {
		case 'r':
			options.ranks = value;
			break;
		case 'o':
			options.ops = value;
			break;
		case 'j':
			options.threads = value;
			break;
		case 'd':
			options.damaged = value;
			break;
		case 'n':
			options.repetitions = value;
			break;
		default:
			die("usage: [-r ranks] [-o operators] [-j threads] [-d ranks] [-n times]");
		}
	}
	if (options.ranks == 0 || options.ranks % ((size_t)TP * PP) != 0)
		die("the number of ranks must be a multiple of 32");
	if (options.ops / STEP_OPS >= NP_COUNT(((struct bench_types *)NULL)->steps))
		die("too many operators");
	return options;
}

#endif /* NP_BENCH_RUN_H */
