/* SPDX-License-Identifier: Apache-2.0 */
#include "missing.h"

#include "npuprof/buf.h"
#include "npuprof/ranges.h"

/* Sections of which the loaded rank tells if it has them, so that nobody need look. */
#define KNOWN (NP_DETAIL_MARKS | NP_DETAIL_FRAMEWORK)

/* Those of them that it does not have. */
static unsigned known_to_miss(const struct np_run *run, size_t index)
{
	const struct np_source_files *source = &run->sources.item[index];
	const struct np_rank *rank = run->ranks[index];
	unsigned absent = 0;

	/* Of a trace nobody has looked for marks. */
	if (!rank || !source->file[NP_FILE_RANK_DB] || source->file[NP_FILE_TRACE] ||
	    source->file[NP_FILE_GPU_TRACE])
		return 0;
	if (!(rank->contents & NP_HAS_MARKS))
		absent |= NP_DETAIL_MARKS;
	if (!(rank->contents & NP_HAS_FRAMEWORK_CALLS))
		absent |= NP_DETAIL_FRAMEWORK;
	return absent;
}

unsigned missing_wants(const struct mode *mode, const struct np_run *run, size_t index)
{
	return mode->needs & known_to_miss(run, index) ? mode->needs & ~(unsigned)KNOWN
						       : mode->wants;
}

unsigned missing_of(const struct mode *mode, const struct mode_rank *rank)
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

/* Add which ranks lack just this. */
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

void missing_note(struct np_modes *modes, const struct mode *mode, unsigned *missing)
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
