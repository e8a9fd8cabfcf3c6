/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof cluster`: merge the profiles of all ranks, and show and write what was found. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "cli/prepare/single_card.h"
#include "cluster/present/cluster_report_archive.h"

#include "npuprof/text.h"

#include <inttypes.h>

struct cluster_options {
	struct np_common common;
	uint64_t modes; /* bits of np_mode_names */
	int64_t top;
	const char *rank; /* NULL for the first */
	int64_t rank_id;  /* of it; NP_UNKNOWN for the first */
	bool exclude_op_name;
	const char *parallel_types;
	const char *table;
	struct np_opt_list picks;
	const char *base;
	int export; /* enum export */
	bool no_db;
	bool add; /* no option: the database is there, but for the tables of the modes */
	int64_t db_rows;
};

enum export {
	EXPORT_DB,
	EXPORT_TEXT,
};

static const char *const exports[] = {
	[EXPORT_DB] = "db",
	[EXPORT_TEXT] = "text",
	NULL,
};

static void offer_tables(struct np_buf *words)
{
	for (size_t i = 0; i < np_cluster_relation_count; i++)
		np_buf_printf(words, " %s", np_cluster_relations[i]->name);
	for (size_t i = 0; np_modes_table(i); i++)
		np_buf_printf(words, " %s", np_modes_table(i));
}

static const struct np_opt own_options[] = {
	{
		.letter = 'm',
		.name = "mode",
		.kind = NP_OPT_CHOICES,
		.offset = offsetof(struct cluster_options, modes),
		.value = "MODE[,MODE...]",
		.help = "compute these parts, or further tables",
		.choices = np_mode_names,
		.preset = "all",
	},
	{
		.name = "top-num",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct cluster_options, top),
		.value = "N",
		.help = "rows of a mode that lists the longest or the most",
		.preset_words = "the mode's own",
		.low = 1,
		.high = 1000000,
	},
	{
		.name = "rank-id",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct cluster_options, rank),
		.value = "RANK",
		.help = "the rank whose operators communication_bottleneck looks at",
		.preset_words = "the first",
	},
	{
		.name = "exclude-op-name",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct cluster_options, exclude_op_name),
		.help = "leave out the table by name of compute_op_sum",
	},
	{
		.name = "parallel-types",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct cluster_options, parallel_types),
		.value = "A[+B][,C...]",
		.help = "parallel dimensions of computational_op_masking",
		.preset_words = "dp+edp,edp,dp,ep,pp,mp,tp and every other name",
	},
	{
		.name = "table",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct cluster_options, table),
		.value = "NAME",
		.offer = offer_tables,
		.help = "print this table, all of its rows, instead of the report; with -f csv or md as such",
		.preset_words = "the first",
	},
	{
		.name = "pick",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct cluster_options, picks),
		.value = "PATH",
		.help = "use this directory where several hold the same rank; may be repeated",
	},
	{
		.name = "base",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct cluster_options, base),
		.value = "DIR",
		.help = "the run that cluster_time_compare_summary compares with",
	},
	{
		.name = "export-type",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct cluster_options, export),
		.value = "FORM",
		.help = "write the merged result as a database, or as text files beside it too",
		.choices = exports,
		.preset = "db",
	},
	{
		.name = "no-db",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct cluster_options, no_db),
		.help = "write no merged database",
	},
	{
		.name = "db-rows",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct cluster_options, db_rows),
		.value = "N",
		.help = "leave np_instance and np_wait out of the merged database where they would "
			"have more rows; tables that MindStudio Insight reads are always whole",
		.preset = "2000000",
		.low = 0,
		.high = INT64_MAX,
	},
};

static const struct np_opt_group groups[] = {
	{ "Analysis", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_INPUT(struct cluster_options, common),
	NP_GROUP_OUTPUT(struct cluster_options, common),
	NP_GROUP_RUNNING(struct cluster_options, common),
	NP_GROUP_VENDOR(struct cluster_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_DIRS(struct cluster_options, common);

static int cmd_cluster(int argc, const char *const *argv);

const struct np_cmd np_cmd_cluster = {
	.name = "cluster",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR...",
	.summary =
		"merge the profiles of all ranks: steps, communicators, waits, stragglers, links",
	.about =
		"Reads the profile of every rank found below DIR, shows where the time of each step "
		"went and which ranks made the others wait, and writes the merged database "
		"cluster_analysis_output/cluster_analysis.db. The inputs are not changed.",
	.run = cmd_cluster,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
	.distributed = true,
};

static int run_modes(const struct cluster_options *options, uint64_t modes,
		     const struct np_mode_table *base, struct np_analysis *analysis,
		     struct np_modes **ret, struct np_err *err)
{
	struct np_progress progress;
	const struct np_workers workers = { .threads = (size_t)options->common.jobs,
					    .tick = np_progress_tick,
					    .tick_context = &progress };
	const struct np_modes_input input = { .run = analysis->run,
					      .cluster = analysis->cluster,
					      .align = analysis->align };
	char *directory = prepare_output(&options->common, NULL);
	const struct np_modes_options how = { .modes = modes,
					      .base_summary = base,
					      .top = options->top,
					      .rank = options->rank_id,
					      .exclude_op_name = options->exclude_op_name,
					      .parallel_types = options->parallel_types,
					      .steps_chosen = analysis->run->steps_chosen ||
							      options->common.steps.set,
					      .directory = directory };
	int rc = directory ? NP_OK : np_fail_nomem(err, "the output directory");

	np_progress_init(&progress, "running modes", options->common.quiet);
	if (rc == NP_OK)
		rc = np_modes_run(&input, &how, &workers, ret, err);
	np_progress_end(&progress);
	free(directory);
	return rc;
}

/* The other run, of which only one table is wanted. */
static int analyse_base(const struct cluster_options *options, struct np_modes **ret,
			struct np_analysis **ret_analysis, struct np_err *err)
{
	const char *directory[] = { options->base };
	struct np_common common = options->common;
	int rc;

	common.dirs = (struct np_opt_list){ .item = directory, .count = 1 };
	common.phase_if_any = true;
	rc = prepare_analysis(&common, &options->picks, ret_analysis, err);
	return rc < 0 ? rc
		      : run_modes(options, np_modes_of_table("ClusterTimeSummary"), NULL,
				  *ret_analysis, ret, err);
}

/* How much has to be known where the rest of the database is there, or not wanted. */
static enum np_modes_need need_of(const struct cluster_options *options)
{
	const struct np_common *common = &options->common;
	bool other_files = options->export == EXPORT_TEXT || common->agent ||
			   (common->format == NP_OUTPUT_CSV && common->output);
	bool other_rows = common->format == NP_OUTPUT_JSON ||
			  (options->table && np_modes_of_table(options->table) == 0);
	enum np_modes_need need = np_modes_need(options->modes);

	if (other_files || other_rows)
		return NP_MODES_ALL;
	/* Which step an operator or a kernel is in is known when all of the rank is. */
	if (need < NP_MODES_RANKS &&
	    (common->steps.set || common->skip_steps > 0 || common->steps_from ||
	     common->from_summaries || common->cache))
		need = NP_MODES_RANKS;
	return need;
}

/* Is all but the tables of the modes in the merged database already? */
static bool is_there(const struct cluster_options *options, const struct np_run *run)
{
	char *path = prepare_output(&options->common, "cluster_analysis.db");
	bool fresh = path && !options->common.steps.set && options->common.skip_steps == 0 &&
		     !options->common.from_summaries && report_is_fresh(path, run, NP_VERSION);

	free(path);
	return fresh;
}

/* Tables have links and packets, and text files again with each operator. */
static enum np_load_rows rows_of(const struct cluster_options *options)
{
	static const char *const tables[] = { "ClusterCommunicationTime",
					      "ClusterCommunicationBandwidth",
					      "ClusterCommunicationMatrix" };
	bool shown = !options->no_db || options->table || options->common.format == NP_OUTPUT_CSV;

	if (options->export == EXPORT_TEXT)
		return NP_ROWS_WHOLE;
	for (size_t i = 0; i < NP_COUNT(tables); i++)
		shown = shown || np_modes_want_table(options->modes, tables[i]);
	return shown ? NP_ROWS_PACKED : NP_ROWS_COUNTED;
}

/*
 * A mode alone needs little of a run, if nothing else is to be written: then only that is loaded
 * and measured.
 */
static int prepare(struct cluster_options *options, struct np_analysis **ret, struct np_err *err)
{
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	struct np_common common = options->common;
	enum np_modes_need need = need_of(options);
	int rc = prepare_found(&common, &options->picks, &run, err);

	if (rc < 0)
		return rc;
	if (need != NP_MODES_ALL && !options->no_db) {
		options->add = is_there(options, run);
		need = options->add ? need : NP_MODES_ALL;
	}
	common.load_part = need == NP_MODES_OPERATORS ? NP_LOAD_OPERATORS
			   : need == NP_MODES_TIMES   ? NP_LOAD_TIMES
						      : NP_LOAD_WHOLE;
	common.load_rows = rows_of(options);
	rc = prepare_loaded(&common, run, err);
	if (rc < 0)
		return rc;
	return need == NP_MODES_ALL ? prepare_measures(&common, NP_STEAL(run), ret, err)
				    : prepare_for_modes(&common, NP_STEAL(run), ret, err);
}

static int analyse(struct cluster_options *options, struct np_analysis **ret,
		   struct np_modes **ret_modes, struct np_err *err)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *other = NULL;
	NP_CLEANUP(np_modes_freep) struct np_modes *base = NULL;
	int rc = prepare(options, ret, err);

	if (rc == NP_OK && np_modes_want_report(options->modes))
		rc = prepare_device_time(*ret, (size_t)options->common.jobs, err);
	if (rc == NP_OK && np_modes_compare(options->modes))
		rc = analyse_base(options, &base, &other, err);
	if (rc == NP_OK)
		rc = run_modes(options, options->modes, base ? base->tables : NULL, *ret, ret_modes,
			       err);
	if (rc == NP_OK)
		np_timings_lap(&(*ret)->run->timings, NP_TIMED_TABLES);
	return rc;
}

/* What is shown by itself, and then the tables of the modes. */
static int put_page(const struct cluster_report *report, const struct cluster_options *options,
		    struct np_buf *buf, struct np_err *err)
{
	bool markdown = options->common.format == NP_OUTPUT_MD;
	int rc = NP_OK;

	if (np_modes_want_report(options->modes))
		rc = markdown ? report_markdown(report, buf, err) : report_screen(report, buf, err);
	if (rc == NP_OK)
		rc = markdown ? report_modes_markdown(report, buf, err)
			      : report_modes_screen(report, buf, err);
	return rc;
}

/* The result on stdout. */
static int print(const struct cluster_report *report, const struct cluster_options *options,
		 struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	int rc;

	switch ((enum np_output_format)options->common.format) {
	case NP_OUTPUT_JSON:
		return report_json(report, np_output_stream(), err);
	case NP_OUTPUT_CSV:
		return options->common.output
			       ? NP_OK
			       : report_csv(report, options->table, np_output_stream(), err);
	case NP_OUTPUT_MD:
	case NP_OUTPUT_TABLE:
	default:
		rc = options->table
			     ? report_table(report, options->table,
					    options->common.format == NP_OUTPUT_MD, &buf, err)
			     : put_page(report, options, &buf, err);
		break;
	}
	if (rc == NP_OK)
		return np_output_release(&buf) == 0 ? NP_OK : np_fail(err, NP_E_IO, "%s", "");
	np_buf_release(&buf);
	return rc;
}

/* The screen of a mode alone shows its tables, and no notes. */
static void say_notes(const struct np_analysis *analysis, const struct cluster_options *options)
{
	if (!np_modes_want_report(options->modes) || !np_common_page(&options->common))
		prepare_say_notes(&options->common, &analysis->run->notes, np_mode_summary);
}

/* Tables of ours that grow with operators are left out where they would be what takes longest. */
static void limit_rows(struct np_analysis *analysis, const struct cluster_options *options)
{
	size_t rows = np_cluster_operator_rows(analysis);

	if (options->no_db || options->add || (int64_t)rows <= options->db_rows)
		return;
	analysis->operators_left_out = true;
	np_note_add(&analysis->run->notes, NP_NOTE_WARNING, NP_NO_RANK,
		    analysis->run->roots.item[0], "np_wait",
		    "%zu rows of matched operators are more than --db-rows %" PRId64
		    ": np_instance and np_wait are left out of the database",
		    rows, options->db_rows);
}

static int begin_files(const struct cluster_report *report, const struct cluster_options *options,
		       struct report_archive **ret, struct np_err *err)
{
	bool text = options->export == EXPORT_TEXT;
	char *directory = prepare_output(&options->common, NULL);
	const struct report_archive_options what = {
		.directory = directory,
		.database = !options->no_db,
		.add = options->add,
		.csv = options->common.format == NP_OUTPUT_CSV && options->common.output,
		.text = text,
		.vendor = text && options->common.vendor_files,
	};
	int rc = directory ? report_archive_begin(report, &what, ret, err)
			   : np_fail_nomem(err, "the output directory");

	free(directory);
	return rc;
}

/* Wait until all is written; what cannot be does not take away what can be printed. */
static void end_files(struct report_archive *archive, struct cluster_report *report, int *status)
{
	struct np_err problem = NP_ERR_INIT;

	if (!archive ||
	    report_archive_wait(archive, &report->analysis->run->timings, &problem) >= 0)
		return;
	report->database = NULL;
	*status = np_report(np_exit_unwritten(&problem), "%s", problem.text);
}

/* The result on stdout, and what can only be said behind it. */
static int print_all(struct cluster_report *report, const struct cluster_options *options,
		     struct np_timings *timings, struct np_err *err)
{
	struct np_thread_time time;
	int rc;

	np_timings_begin_beside(&time);
	rc = print(report, options, err);
	(void)fflush(np_output_stream()); /* np_output_end() says what hinders it */
	np_timings_end_beside(&time);
	np_timings_add_beside(timings, NP_TIMED_PRINT, &time);
	return rc;
}

/*
 * A page is printed while the files are written: it says what is to be known of them before.
 * Who reads another form may go on to the files, so they are there first.
 */
static int present(struct np_analysis *analysis, const struct np_modes *modes,
		   const struct cluster_options *options)
{
	static const struct report_paths no_paths;
	NP_CLEANUP(report_archive_freep) struct report_archive *archive = NULL;
	struct np_run *run = analysis->run;
	bool early = options->common.format == NP_OUTPUT_TABLE;
	struct np_err err = NP_ERR_INIT;
	struct cluster_report report = {
		.analysis = analysis,
		.modes = modes,
		.input = prepare_input(&options->common, run),
		.dirs = options->common.dirs.item,
		.dir_count = options->common.dirs.count,
		.phase = options->common.phase_part,
		.from_summaries = options->common.from_summaries,
		.width = np_output_width(stdout),
		.color = np_common_color(&options->common, stdout),
		.verbose = options->common.verbose > 0,
	};
	int status = prepare_status(&options->common, run);
	int rc = NP_OK;

	limit_rows(analysis, options);
	if (options->common.format == NP_OUTPUT_JSON)
		rc = np_analysis_explain(analysis, (size_t)options->common.jobs, &err);
	if (begin_files(&report, options, &archive, &err) < 0)
		status = np_report(np_exit_unwritten(&err), "%s", err.text);
	report.database = archive ? report_archive_database(archive) : NULL;
	say_notes(analysis, options);
	if (!early)
		end_files(archive, &report, &status);
	if (rc == NP_OK)
		rc = print_all(&report, options, &run->timings, &err);
	if (early)
		end_files(archive, &report, &status);
	if (rc == NP_OK)
		rc = report_answer(&report, archive ? report_archive_paths(archive) : &no_paths,
				   options->common.phase_part, &err);
	if (rc < 0)
		status = err.code == NP_E_USAGE ? np_cmd_usage(&np_cmd_cluster, "%s", err.text)
						: np_report(NP_EXIT_FAILED, "%s", err.text);
	if (np_modes_compare(options->modes) && options->common.format == NP_OUTPUT_TABLE)
		(void)fprintf(np_output_stream(),
			      "\n'npuprof compare %s %s' explains the difference\n", options->base,
			      options->common.dirs.item[0]);
	prepare_say_timings(&options->common, &run->timings);
	return status;
}

/* What needs no data is refused before any is read. */
static int check_options(struct cluster_options *options, struct np_err *err)
{
	const char *rank = options->rank;

	options->rank_id = NP_UNKNOWN;
	if (rank &&
	    (!np_text_to_int(rank, strlen(rank), &options->rank_id) || options->rank_id < 0))
		return np_fail(err, NP_E_USAGE, "'%s' is no rank", rank);
	if (np_modes_compare(options->modes) && !options->base)
		return np_fail(err, NP_E_USAGE,
			       "mode 'cluster_time_compare_summary' compares with the run that "
			       "--base names");
	if (!np_modes_compare(options->modes) && options->base)
		return np_fail(err, NP_E_USAGE,
			       "--base is for -m cluster_time_compare_summary; 'npuprof compare %s "
			       "DIR' compares everything",
			       options->base);
	if (!options->table || options->common.format == NP_OUTPUT_JSON ||
	    (options->common.format == NP_OUTPUT_CSV && options->common.output))
		return NP_OK;
	return report_check_table(options->table, options->modes, err);
}

static int cluster(void *context)
{
	struct cluster_options *options = context;
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	NP_CLEANUP(np_modes_freep) struct np_modes *modes = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = check_options(options, &err);

	if (rc == NP_OK)
		rc = analyse(options, &analysis, &modes, &err);
	if (rc == NP_OK)
		return present(analysis, modes, options);
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_cluster, "%s", err.text);
	return np_report(NP_EXIT_FAILED, "%s", err.text);
}

/* The value of -m in an argument, which may be the next one; NULL if it is another option. */
static const char *mode_value(int argc, const char *const *argv, int at)
{
	static const char name[] = "--mode=";

	if (strcmp(argv[at], "-m") == 0 || strcmp(argv[at], "--mode") == 0)
		return at + 1 < argc ? argv[at + 1] : NULL;
	if (strncmp(argv[at], name, strlen(name)) == 0)
		return argv[at] + strlen(name);
	return strncmp(argv[at], "-m", 2) == 0 ? argv[at] + 2 : NULL;
}

/* Modes of the incumbent that are none here are no typing errors: say what to use instead. */
static bool asks_for_another_command(int argc, const char *const *argv, int *ret_status)
{
	for (int i = 0; i < argc; i++) {
		const char *value = mode_value(argc, argv, i);
		const char *instead = value ? np_modes_elsewhere(value) : NULL;

		if (instead) {
			*ret_status =
				np_cmd_usage(&np_cmd_cluster, "mode '%s': %s", value, instead);
			return true;
		}
	}
	return false;
}

static int cmd_cluster(int argc, const char *const *argv)
{
	struct cluster_options options = { 0 };
	int status;

	if (asks_for_another_command(argc, argv, &status))
		return status;
	if (np_cmd_options(&np_cmd_cluster, argc, argv, &options, &status)) {
		options.common.snapshots = true;
		if (options.table && options.common.format != NP_OUTPUT_JSON)
			options.modes |= np_modes_of_table(options.table);
		status = phases_run(&(struct phases_job){ .command = &np_cmd_cluster,
							  .schema = "npuprof.cluster/1",
							  .common = &options.common,
							  .picks = &options.picks,
							  .run = cluster,
							  .options = &options });
	}
	np_opt_release(&np_cmd_cluster.options, &options);
	return status;
}
