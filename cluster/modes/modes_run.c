/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the modes that are asked for: one pass over the ranks, and then each merges what it kept. */
#include "npuprof/modes.h"

#include "registry.h"

#include "npuprof/arena.h"
#include "npuprof/buf.h"
#include "npuprof/details.h"
#include "npuprof/ranges.h"

/* --- ranks that a mode cannot use ----------------------------------------------------------------
 */

/* Sections that a loaded rank is known to have or not, so that nobody need look. */
#define KNOWN (NP_DETAIL_MARKS | NP_DETAIL_FRAMEWORK)

/* Those of them that it does not have. */
static unsigned known_to_miss(const struct np_run *run, size_t index)
{
	const struct np_source_files *source = &run->sources.item[index];
	const struct np_rank *rank = run->ranks[index];
	unsigned absent = 0;

	/* Of a trace nobody has looked for marks. */
	if (!rank || !source->file[NP_FILE_RANK_DB] || source->file[NP_FILE_TRACE] ||
	    source->file[NP_FILE_KINETO])
		return 0;
	if (!(rank->contents & NP_HAS_MARKS))
		absent |= NP_DETAIL_MARKS;
	if (!(rank->contents & NP_HAS_FRAMEWORK_CALLS))
		absent |= NP_DETAIL_FRAMEWORK;
	return absent;
}

/*
 * The sections to read of a rank for a mode; where it will not run, only those of
 * which it is not known if they are there.
 */
static unsigned missing_wants(const struct mode *mode, const struct np_run *run, size_t index)
{
	unsigned knows = mode->knows && run->ranks[index] ? mode->knows(run->ranks[index]) : 0;

	return mode->needs & known_to_miss(run, index) ? mode->needs & ~(unsigned)KNOWN
						       : mode->wants & ~knows;
}

/*
 * What a mode needs and is missing in a rank. Operators are the rank's own, and of calls
 * the profiler's sums do unless single steps are asked for.
 */
static unsigned missing_of(const struct mode *mode, const struct mode_rank *rank)
{
	unsigned absent = mode->needs & known_to_miss(rank->run, rank->index);
	unsigned sections = rank->detail ? rank->detail->has : 0;

	if (rank->rank->ops.count)
		sections |= NP_DETAIL_OPS;
	if (rank->rank->calls.count && !rank->modes->options.steps_chosen)
		sections |= NP_DETAIL_CALLS;
	/* Where one of them is absent, the other was not read. */
	if (absent)
		sections |= KNOWN & ~absent;
	return mode->needs & ~sections;
}

/* --- notes ----------------------------------------------------------------------------------- */

static const struct {
	unsigned section;
	const char *name;
	const char *way;
} sections[] = {
	{ NP_DETAIL_KERNELS, "kernels", "" },
	{ NP_DETAIL_TASKS, "tasks of the device", " (collect a trace or a database)" },
	{ NP_DETAIL_CALLS, "calls of CANN", " (collect a database, or a trace at Level1)" },
	{ NP_DETAIL_FRAMEWORK, "calls of the framework", " (profile the CPU activity too)" },
	{ NP_DETAIL_MARKS, "mstx marks", " (switch on mstx; of text the trace has them)" },
	{ NP_DETAIL_FREQUENCY, "samples of the AI core frequency", "" },
	{ NP_DETAIL_DEVICE, "information about the device", "" },
	{ NP_DETAIL_OPS, "communication operators", "" },
};

static const char *section_names(unsigned missing, struct np_buf *buf)
{
	for (size_t i = 0; i < NP_COUNT(sections); i++) {
		if (missing & sections[i].section)
			np_buf_printf(buf, "%sno %s%s", buf->length ? ", " : "", sections[i].name,
				      sections[i].way);
	}
	return buf->length ? buf->text : "what it needs is not there";
}

/* Add in which ranks just this is missing. */
static void put_missing(const struct np_run *run, const unsigned *all, unsigned missing,
			int64_t *list, struct np_buf *buf)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		if (all[i] == missing)
			list[count++] = run->ranks[i]->id;
	}
	np_ranges_format(&ranks, list, count);
	np_buf_printf(buf, "%snot for rank%s %s: %s", buf->length ? "; " : "",
		      count == 1 ? "" : "s", ranks.text, section_names(missing, &names));
}

static bool is_first_with(const unsigned *missing, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (missing[i] == missing[index])
			return false;
	}
	return true;
}

/*
 * One note for a mode: which ranks it could not use, and what is missing. That is
 * in `missing`, by index; of a mode that does not look at ranks one by one it is
 * found out here.
 */
static void missing_note(struct np_modes *modes, const struct mode *mode, unsigned *missing)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_run *run = modes->run;
	int64_t *list = malloc((run->sources.count + 1) * sizeof(*list));

	for (size_t i = 0; i < run->sources.count && !mode->reduce; i++) {
		const struct mode_rank rank = {
			.modes = modes, .run = run, .rank = run->ranks[i], .index = i
		};

		if (rank.rank)
			missing[i] = missing_of(mode, &rank);
	}
	for (size_t i = 0; list && i < run->sources.count; i++) {
		if (missing[i] != 0 && is_first_with(missing, i))
			put_missing(run, missing, missing[i], list, &buf);
	}
	if (buf.length)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->roots.item[0],
			    mode->name, "%s", buf.text);
	free(list);
}

/* --- the pass ------------------------------------------------------------------------------------
 */

/* One mode while it runs. */
struct running {
	const struct mode *mode;
	void *prepared;
	void **results;    /* by index of the rank */
	unsigned *missing; /* likewise: sections that are missing */
};

struct modes_work {
	struct np_modes *modes;
	struct running list[MODES_MOST];
	size_t count;
	bool reduces;        /* some mode looks at ranks one by one */
	struct np_err *errs; /* by index of the rank */
	struct np_notes *notes;
};

static bool is_skipped(const struct running *running, size_t index)
{
	return !running->mode->reduce ||
	       (running->mode->skips && running->mode->skips(running->prepared, index));
}

/* The sections that some mode wants of this rank. */
static unsigned wanted_of(const struct modes_work *work, size_t index)
{
	unsigned wants = 0;

	for (size_t i = 0; i < work->count; i++) {
		if (!is_skipped(&work->list[i], index))
			wants |= missing_wants(work->list[i].mode, work->modes->run, index);
	}
	return wants;
}

static int reduce_rank(struct modes_work *work, struct mode_rank *rank)
{
	int rc = NP_OK;

	for (size_t i = 0; i < work->count && rc == NP_OK; i++) {
		struct running *running = &work->list[i];

		if (is_skipped(running, rank->index))
			continue;
		running->missing[rank->index] = missing_of(running->mode, rank);
		if (running->missing[rank->index] == 0)
			rc = running->mode->reduce(rank, running->prepared,
						   &running->results[rank->index]);
	}
	return rc;
}

static void work_on(void *context, size_t index)
{
	struct modes_work *work = context;
	struct np_run *run = work->modes->run;
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct mode_rank rank = { .modes = work->modes,
				  .run = run,
				  .rank = run->ranks[index],
				  .index = index,
				  .err = &work->errs[index] };
	unsigned wants = wanted_of(work, index);

	if (!rank.rank)
		return;
	if (wants != 0) {
		if (np_detail_load(run, index, wants, &detail, rank.err) < 0)
			return;
		rank.detail = detail;
		rank.texts = calloc(np_strtab_count(detail->strings) + 2, sizeof(np_str));
		if (!rank.texts)
			(void)np_fail_nomem(rank.err, "texts");
		else
			(void)!reduce_rank(work, &rank);
		np_notes_move_untold(&work->notes[index], &detail->notes, &run->notes);
	} else {
		(void)!reduce_rank(work, &rank);
	}
	mode_release_computing(&rank);
	free(rank.texts);
}

static int work_on_all(struct modes_work *work, const struct np_workers *workers,
		       struct np_err *err)
{
	const struct np_run *run = work->modes->run;
	size_t count = run->sources.count;
	struct np_detail_want *list = malloc((count + 1) * sizeof(*list));
	NP_CLEANUP(np_details_endp) struct np_details *details = NULL;
	int rc;

	if (!list)
		return np_fail_nomem(err, "the modes");
	for (size_t i = 0; i < count; i++)
		list[i] = (struct np_detail_want){ run, i, wanted_of(work, i) };
	rc = np_details_begin(list, count, workers->threads, &details, err);
	free(list);
	if (rc == NP_OK)
		np_workers_run(workers, count, work_on, work);
	return rc;
}

/* --- all modes ------------------------------------------------------------------------------- */

static int add_running(struct modes_work *work, const struct mode *mode, struct np_err *err)
{
	struct running *running = &work->list[work->count++];
	size_t ranks = work->modes->run->sources.count;

	running->mode = mode;
	running->results = calloc(ranks + 1, sizeof(*running->results));
	running->missing = calloc(ranks + 1, sizeof(*running->missing));
	if (!running->results || !running->missing)
		return np_fail_nomem(err, mode->name);
	work->reduces |= mode->reduce != NULL;
	return mode->prepare ? mode->prepare(work->modes, &running->prepared, err) : NP_OK;
}

static int start(struct modes_work *work, struct np_err *err)
{
	const struct mode *chosen[MODES_MOST];
	size_t count = modes_chosen(work->modes->options.modes, chosen);
	size_t ranks = work->modes->run->sources.count;
	int rc = NP_OK;

	work->errs = calloc(ranks + 1, sizeof(*work->errs));
	work->notes = calloc(ranks + 1, sizeof(*work->notes));
	if (!work->errs || !work->notes)
		return np_fail_nomem(err, "the modes");
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = add_running(work, chosen[i], err);
	return rc;
}

/* A rank of which the detail cannot be had costs itself; memory costs all. */
static int check_ranks(struct modes_work *work, struct np_err *err)
{
	struct np_run *run = work->modes->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		np_notes_move(&run->notes, &work->notes[i]);
		if (work->errs[i].code == NP_OK)
			continue;
		if (work->errs[i].code == NP_E_NOMEM)
			return np_fail(err, work->errs[i].code, "%s", work->errs[i].text);
		np_note_add(&run->notes, NP_NOTE_SKIPPED, run->sources.item[i].rank,
			    run->sources.item[i].dir, "modes", "%s", work->errs[i].text);
	}
	return NP_OK;
}

static int merge(struct modes_work *work, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < work->count && rc == NP_OK; i++) {
		missing_note(work->modes, work->list[i].mode, work->list[i].missing);
		rc = work->list[i].mode->merge(work->modes, work->list[i].prepared,
					       work->list[i].results, err);
	}
	return rc;
}

static void finish(struct modes_work *work)
{
	for (size_t i = 0; i < work->count; i++) {
		struct running *running = &work->list[i];

		for (size_t j = 0; running->results && j < work->modes->run->sources.count; j++) {
			if (running->results[j] && running->mode->release)
				running->mode->release(running->results[j]);
		}
		if (running->prepared && running->mode->unprepare)
			running->mode->unprepare(running->prepared);
		free(running->results);
		free(running->missing);
	}
	free(work->errs);
	free(work->notes);
}

int np_modes_run(const struct np_modes_input *input, const struct np_modes_options *options,
		 const struct np_workers *workers, struct np_modes **ret, struct np_err *err)
{
	NP_CLEANUP(np_modes_freep) struct np_modes *modes = calloc(1, sizeof(*modes));
	struct modes_work work = { 0 };
	int rc;

	if (modes)
		modes->arena = np_arena_new();
	if (!modes || !modes->arena)
		return np_fail_nomem(err, "the modes");
	modes->run = input->run;
	modes->cluster = input->cluster;
	modes->align = input->align;
	modes->options = *options;
	work.modes = modes;
	rc = start(&work, err);
	if (rc == NP_OK && work.reduces)
		rc = work_on_all(&work, workers, err);
	if (rc == NP_OK)
		rc = check_ranks(&work, err);
	if (rc == NP_OK)
		rc = modes_note_devices(modes, err);
	if (rc == NP_OK)
		rc = modes_note_links(modes, err);
	if (rc == NP_OK)
		rc = merge(&work, err);
	finish(&work);
	modes->options.directory = NULL; /* the caller's, and not needed any more */
	if (rc == NP_OK)
		*ret = NP_STEAL(modes);
	return rc;
}

void np_modes_free(struct np_modes *modes)
{
	if (!modes)
		return;
	for (struct np_mode_table *table = modes->tables; table; table = table->next)
		free(table->cells);
	np_arena_free(modes->arena);
	free(modes);
}

void np_modes_freep(struct np_modes **modes)
{
	np_modes_free(*modes);
	*modes = NULL;
}
