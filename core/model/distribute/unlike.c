/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of one run that have other tables or files than the rest. */
#include "unlike.h"

#include "core/model/vendor/tables.h"
#include "npuprof/contents.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* Files that are read; what describes a rank may lie elsewhere. A database has what text files
 * have. */
static const struct {
	enum np_file file;
	bool in_database;
} compared_files[] = {
	{ NP_FILE_RANK_DB, false },      { NP_FILE_ANALYSIS_DB, false },
	{ NP_FILE_TRACE, true },         { NP_FILE_KERNELS, true },
	{ NP_FILE_STEP_TRACE, true },    { NP_FILE_COMM, true },
	{ NP_FILE_COMM_MATRIX, true },   { NP_FILE_MEMORY_RECORD, true },
	{ NP_FILE_MODULE_MEMORY, true },
};

/* What some rank has, by the tool that laid out its files. */
struct unlike_kinds {
	unsigned tables[NP_KIND_COUNT];
	bool file[NP_KIND_COUNT][NP_COUNT(compared_files)];
};

static void gather(const struct np_run *run, struct unlike_kinds *ret)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *source = &run->sources.item[i];

		if (!run->ranks[i])
			continue;
		ret->tables[source->kind] |= run->ranks[i]->contents >> NP_CONTENTS_TABLES;
		for (size_t j = 0; j < NP_COUNT(compared_files); j++)
			ret->file[source->kind][j] |= source->file[compared_files[j].file] != NULL;
	}
}

/* Without these other figures are of a part, or mean something else; what else is missing is
 * missing alone. */
static bool bears_figures(size_t table)
{
	return vendor_compared[table] == &vendor_task ||
	       vendor_compared[table] == &vendor_compute_task ||
	       vendor_compared[table] == &vendor_communication_op ||
	       vendor_compared[table] == &vendor_cann_api ||
	       vendor_compared[table] == &vendor_step_time;
}

static bool has_sub_tasks(const struct np_rank *rank)
{
	for (size_t i = 0; i < VENDOR_COMPARED; i++) {
		if (vendor_compared[i] == &vendor_communication_task)
			return rank->contents >> NP_CONTENTS_TABLES & 1U << i;
	}
	return false;
}

static void note_tables(struct np_rank *rank, const char *path, unsigned others)
{
	unsigned mine = rank->contents >> NP_CONTENTS_TABLES;

	/* A database that could not be read has none of them, and that is said. */
	if (mine == 0)
		return;
	for (size_t i = 0; i < VENDOR_COMPARED; i++) {
		if ((others & ~mine) & (1U << i))
			np_note_add(&rank->notes,
				    bears_figures(i) ? NP_NOTE_SKIPPED : NP_NOTE_WARNING, rank->id,
				    path, vendor_compared[i]->name,
				    "it has no rows, though it has on other ranks");
	}
}

static void note_files(struct np_rank *rank, const struct np_source_files *source,
		       const bool *others)
{
	for (size_t i = 0; i < NP_COUNT(compared_files); i++) {
		enum np_file file = compared_files[i].file;

		if (!others[i] || source->file[file] ||
		    (compared_files[i].in_database && source->file[NP_FILE_RANK_DB]))
			continue;
		np_note_add(&rank->notes, NP_NOTE_WARNING, rank->id, source->dir,
			    np_file_name(file), "it is not there, though other ranks have one");
	}
}

void unlike_note(struct np_run *run)
{
	struct unlike_kinds kinds = { 0 };
	bool sizes = np_run_has(run, NP_DATA_SIZES);

	gather(run, &kinds);
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_source_files *source = &run->sources.item[i];
		const char *path = source->file[NP_FILE_RANK_DB];

		if (!run->ranks[i])
			continue;
		if (path)
			note_tables(run->ranks[i], path, kinds.tables[source->kind]);
		note_files(run->ranks[i], source, kinds.file[source->kind]);
		/* Sub-tasks that are there and say nothing. */
		if (sizes && has_sub_tasks(run->ranks[i]) &&
		    !np_rank_has(run->ranks[i], NP_DATA_SIZES) &&
		    np_rank_has(run->ranks[i], NP_DATA_OPERATORS))
			np_note_add(
				&run->ranks[i]->notes, NP_NOTE_SKIPPED, run->ranks[i]->id,
				source->dir, "sizes of transfers",
				"there are none, though other ranks have them: what communicators"
				" moved is of the others alone");
	}
}
