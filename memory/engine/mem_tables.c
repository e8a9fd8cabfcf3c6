/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of ranks as plain rows, for tables, pages and rules. */
#include "mem_tables.h"

#include "npuprof/arena.h"

/* While rows are added: the first failure is kept. */
struct rows_job {
	struct np_memory *memory;
	size_t of;
	int rc;
	struct np_err *err;
};

static const char *keep(struct rows_job *job, const char *text)
{
	const char *kept = text ? np_arena_text(job->memory->arena, text, strlen(text)) : NULL;

	if (text && !kept && job->rc == NP_OK)
		job->rc = np_fail_nomem(job->err, "rows of memory");
	return kept;
}

/* A row behind those that are there, or nothing if memory runs out. */
#define ADD_ROW(job, rows, ...) \
	do { \
		__typeof__((rows)->item) row_ = np_vec_add((rows), (job)->err); \
		if (row_) \
			*row_ = (__typeof__(*row_))__VA_ARGS__; \
		else \
			(job)->rc = NP_E_NOMEM; \
	} while (0)

static int64_t place(int32_t where)
{
	return where < 0 ? NP_UNKNOWN : where;
}

static void add_rank(struct rows_job *job, const struct mem_rank *rank)
{
	bool gaps = rank->history != NULL;

	ADD_ROW(job, &job->memory->ranks,
		{ .file = keep(job, rank->path),
		  .rank = rank->rank,
		  .device = (int64_t)rank->device,
		  .source = rank->source == MEM_SNAPSHOT ? "snapshot" : "profile",
		  .role = keep(job, rank->role),
		  .host = keep(job, rank->host),
		  .pp = place(rank->place.pp),
		  .tp = place(rank->place.tp),
		  .cp = place(rank->place.cp),
		  .dp = place(rank->place.dp),
		  .ep = place(rank->place.ep),
		  .peak_allocated = rank->allocated.bytes,
		  .peak_reserved = rank->reserved.bytes,
		  .peak_requested = rank->requested.bytes,
		  .largest_gap = rank->gap.bytes,
		  .free = gaps ? (int64_t)rank->gaps.free : NP_UNKNOWN,
		  .largest_free = gaps ? (int64_t)rank->gaps.largest : NP_UNKNOWN,
		  .stuck = gaps ? (int64_t)rank->gaps.stuck : NP_UNKNOWN,
		  .never_freed = mem_rank_never_freed(rank),
		  .workspace = rank->workspace,
		  .outside = rank->outside,
		  .limit = rank->limit,
		  .ooms = rank->ooms,
		  .events = rank->history ? (int64_t)rank->history->count : NP_UNKNOWN,
		  .allocated = rank->at.bytes,
		  .reserved = rank->at_reserved,
		  .out_of_memory = keep(job, rank->oom.what),
		  .wanted = rank->oom.what ? rank->oom.wanted : NP_UNKNOWN });
}

static void add_composition(struct rows_job *job, const struct mem_rank *rank)
{
	const struct composition *composition = rank->composition;

	for (size_t i = 0; i < composition->groups.count; i++) {
		const struct mem_group *group = &composition->groups.item[i];

		ADD_ROW(job, &job->memory->groups,
			{ job->of, rank->at.event, keep(job, mem_rank_label(rank, group->label)),
			  (int64_t)group->bytes, mem_rank_requested(rank, group),
			  mem_rank_blocks(group) });
	}
	for (size_t i = 0; i < composition->leaks.count; i++) {
		const struct mem_leak *leak = &composition->leaks.item[i];

		ADD_ROW(job, &job->memory->leaks,
			{ job->of, keep(job, mem_rank_label(rank, leak->label)),
			  (int64_t)leak->occasions, (int64_t)leak->blocks, (int64_t)leak->bytes,
			  (int64_t)leak->per_occasion });
	}
}

static void add_curves(struct rows_job *job, const struct mem_rank *rank)
{
	for (size_t i = 0; i < rank->components.count; i++) {
		const struct mem_component *component = &rank->components.item[i];

		ADD_ROW(job, &job->memory->components,
			{ job->of, keep(job, component->name), component->module,
			  component->peak_allocated, component->peak_reserved,
			  component->at_allocated, component->at_reserved, component->growth });
	}
	for (size_t i = 0; i < rank->curve.count; i++) {
		const struct mem_point *point = &rank->curve.item[i];

		ADD_ROW(job, &job->memory->curve,
			{ job->of, point->event, point->time, point->allocated, point->reserved });
	}
}

static void add_whatif(struct rows_job *job, const struct mem_rank *rank)
{
	for (size_t i = 0; i < rank->whatif.list.count; i++) {
		const struct mem_whatif *one = &rank->whatif.list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

		if (one->withheld)
			continue;
		mem_replay_name(&one->replay.settings, &name);
		if (job->rc == NP_OK)
			job->rc = np_buf_check(&name, job->err);
		ADD_ROW(job, &job->memory->whatif,
			{ job->of, keep(job, name.text), (int64_t)one->replay.peak_reserved,
			  (int64_t)one->error, one->gain, (int64_t)one->replay.grown });
	}
}

static int64_t event_of(uint32_t event)
{
	return event == MEM_NONE ? NP_UNKNOWN : event;
}

static void add_picture(struct rows_job *job, const struct mem_picture *picture)
{
	for (size_t i = 0; i < picture->marks.count; i++) {
		const struct mem_mark *mark = &picture->marks.item[i];

		ADD_ROW(job, &job->memory->marks,
			{ job->of, (int64_t)mark->event, mark->kind, (int64_t)mark->bytes });
	}
	for (size_t i = 0; i < picture->map.count; i++) {
		const struct mem_map_piece *piece = &picture->map.item[i];

		ADD_ROW(job, &job->memory->blocks,
			{ job->of, (int64_t)piece->segment, (int64_t)piece->address,
			  (int64_t)piece->size, piece->state,
			  piece->what == NP_STR_NONE
				  ? NULL
				  : keep(job, np_strtab_text(picture->labels, piece->what)),
			  (int64_t)piece->blocks });
	}
	for (size_t i = 0; i < picture->largest.count; i++) {
		const struct mem_picture_life *life = &picture->largest.item[i];

		ADD_ROW(job, &job->memory->largest,
			{ job->of, event_of(life->birth), event_of(life->freed),
			  (int64_t)life->size,
			  keep(job, np_strtab_text(picture->labels, life->what)) });
	}
}

int mem_tables_new(const mem_ranks *ranks, struct np_memory **ret, struct np_err *err)
{
	NP_CLEANUP(np_memory_freep) struct np_memory *memory = calloc(1, sizeof(*memory));
	struct rows_job job = { .memory = memory, .err = err };

	if (memory)
		memory->arena = np_arena_new();
	if (!memory || !memory->arena)
		return np_fail_nomem(err, "rows of memory");
	for (size_t i = 0; job.rc == NP_OK && i < ranks->count; i++) {
		job.of = i;
		add_rank(&job, &ranks->item[i]);
		add_composition(&job, &ranks->item[i]);
		add_curves(&job, &ranks->item[i]);
		add_whatif(&job, &ranks->item[i]);
		if (ranks->item[i].picture)
			add_picture(&job, ranks->item[i].picture);
	}
	if (job.rc == NP_OK)
		*ret = NP_STEAL(memory);
	return job.rc;
}
