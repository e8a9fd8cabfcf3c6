/* SPDX-License-Identifier: Apache-2.0 */
/* The csv files of msprof-analyze's recipes under its names, and the line of --agent. */
#include "cluster_report_vendor.h"

#include "cli/prepare/agent.h"

#include "npuprof/temporary.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* --- what the files are ---------------------------------------------------------------------- */

/* A table, the directory and the name of its file, and the titles of its columns if they differ. */
struct vendor_file {
	const char *table;
	const char *directory;
	const char *name;
	const char *header; /* separated by commas; NULL: ours, and '…Ns' is '…(Us)' */
	double unit;        /* of columns '…Ns': 1e3 is µs, 1e6 ms; 0: as they are */
	bool stamped;       /* the time is part of the name */
	const char *split;  /* a file for each value of this column; NULL for one file */
};

static const struct vendor_file files[] = {
	{ "ClusterTimeSummary", "ClusterTimeSummary", "cluster_time_summary",
	  "Rank,Step,Step Time(us),Computation(us),Communication Not Overlap Computation(us),"
	  "Communication Overlap Computation(us),Communication(us),Free(us),"
	  "Communication Wait Stage Time(us),Communication Transmit Stage Time(us),Memory(us),"
	  "Memory Not Overlap Computation Communication(us)",
	  0, true, NULL },
	{ "HcclAllRankStats", "HcclSum", "all_stats", NULL, 1e3, false, NULL },
	{ "HcclPerRankStats", "HcclSum", "rank_stats", NULL, 1e3, false, NULL },
	{ "HcclTopOpStats", "HcclSum", "top_op_stats", NULL, 1e3, false, NULL },
	{ "HcclGroupNameMap", "HcclSum", "group_name_map", NULL, 0, false, NULL },
	{ "ComputeOpAllRankStats", "ComputeOpSum", "all_stats", NULL, 1e3, false, NULL },
	{ "ComputeOpPerRankStatsByOpType", "ComputeOpSum", "rank_stats_by_optype", NULL, 1e3, false,
	  NULL },
	{ "ComputeOpPerRankStatsByOpName", "ComputeOpSum", "rank_stats_by_opname", NULL, 1e3, false,
	  NULL },
	{ "CannApiSum", "CannApiSum", "all_stats", NULL, 1e3, false, NULL },
	{ "CannApiSumRank", "CannApiSum", "rank_stats", NULL, 1e3, false, NULL },
	{ "FreeAnalysis", "FreeAnalysis", "free_analysis",
	  "Rank ID,Start Time(us),End Time(us),Duration(us),Pytorch Idle Time(us),"
	  "Cann Idle Time(us),Reason",
	  0, false, NULL },
	/* Spelt as there. */
	{ "CommunicationBottleneck", "CommunicatonBottleneckAnalysis", "communication_bottleneck",
	  "Start Time(us),End Time(us),Duration(us),Communication Op,Slow Rank ID,Fast Rank ID,"
	  "Reason",
	  0, false, NULL },
	{ "SlowRank", "SlowRankAnalysis", "rank_stats", NULL, 0, false, NULL },
	{ "SlowOpStats", "SlowRankAnalysis", "slow_op_stats", NULL, 1e3, false, NULL },
	{ "MSTXMarkStats", "MstxSum", "mark_stats", NULL, 1e6, false, NULL },
	{ "MSTXAllFrameworkStats", "MstxSum", "all_fwk_stats", NULL, 1e6, false, NULL },
	{ "MSTXAllCannStats", "MstxSum", "all_cann_stats", NULL, 1e6, false, NULL },
	{ "MSTXAllDeviceStats", "MstxSum", "all_device_stats", NULL, 1e6, false, NULL },
	{ "ComputationalOperatorMaskingLinearity", "ComputationalOpMasking",
	  "computational_operator_masking_linearity", NULL, 0, false, NULL },
	{ "ClusterCommunicationTime", "CommunicationTimeSum", "cluster_communication_time", NULL, 0,
	  false, NULL },
	{ "ClusterCommunicationBandwidth", "CommunicationTimeSum",
	  "cluster_communication_bandwidth", NULL, 0, false, NULL },
	{ "ClusterCommunicationMatrix", "CommMatrixSum", "cluster_communication_matrix", NULL, 0,
	  false, NULL },
	{ "ModuleStatistic", "ModuleStatistic", "module_statistic",
	  "Parent Module,Module,Op Name,Kernel List,Total Kernel Duration(ns),"
	  "Avg Kernel Duration(ns),Op Count,Rank ID",
	  0, false, "rankID" },
	{ "OperatorMFU", "OperatorMfu", "operator_mfu_kernel",
	  "Rank ID,Op Name,Kernel Name,Kernel Start(ns),Kernel End(ns),Kernel Duration(ns),MFU,"
	  "actual_tflops,chip_peak_tflops,flops,flops_op_name,input_shapes,output_shapes",
	  0, false, "rank_id" },
	{ "ModuleMFU", "OperatorMfu", "operator_mfu_module",
	  "Rank ID,Parent Module,Module,Op Name,Kernel List,Total Kernel Duration(ns),"
	  "Avg Kernel Duration(ns),Op Count,Avg MFU",
	  0, false, "rank_id" },
};

/* --- a table as such a file ------------------------------------------------------------------ */

enum {
	COLUMNS_MOST = 24,
	TITLE_MOST = 64
};

/* Takes the rows of a table, and gives them to a file with other titles and units. */
struct renaming_sink {
	struct np_sink base;
	struct np_sink *next;
	const struct vendor_file *file;
	struct np_relation relation;
	struct np_column columns[COLUMNS_MOST];
	char titles[COLUMNS_MOST][TITLE_MOST];
	bool scaled[COLUMNS_MOST];
	size_t split_column; /* SIZE_MAX for none */
	int64_t only;        /* rows with this value there */
	size_t rows;
};

static bool ends_in_ns(const char *name)
{
	size_t length = strlen(name);

	return length > 2 && strcmp(name + length - 2, "Ns") == 0;
}

/* "MeanNs" is "Mean(Us)"; a deviation without a unit is of the same. */
static void title_of(const struct vendor_file *file, const char *name, bool *ret_scaled,
		     char ret[TITLE_MOST])
{
	bool deviation = strcmp(name, "stdev") == 0;

	*ret_scaled = file->unit > 0 && (ends_in_ns(name) || deviation);
	if (*ret_scaled)
		(void)snprintf(ret, TITLE_MOST, "%.*s(%s)",
			       (int)(strlen(name) - (deviation ? 0 : 2)), name,
			       file->unit > 1e4 ? "Ms" : "Us");
	else
		(void)snprintf(ret, TITLE_MOST, "%s", name);
}

static int begin(struct np_sink *sink, const struct np_relation *from, struct np_err *err)
{
	struct renaming_sink *own = (struct renaming_sink *)sink;
	const char *header = own->file->header;

	own->relation = *from;
	own->relation.columns = own->columns;
	for (size_t i = 0; i < from->column_count && i < COLUMNS_MOST; i++) {
		if (header) {
			size_t length = strcspn(header, ",");

			(void)snprintf(own->titles[i], TITLE_MOST, "%.*s", (int)length, header);
			header += length + (header[length] == ',');
		} else {
			title_of(own->file, from->columns[i].name, &own->scaled[i], own->titles[i]);
		}
		own->columns[i] = (struct np_column){ own->titles[i], from->columns[i].type };
	}
	return own->next->begin(own->next, &own->relation, err);
}

static double number_of(const struct np_cell *cell)
{
	return cell->type == NP_CELL_INTEGER ? (double)cell->integer : cell->real;
}

static int row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct renaming_sink *own = (struct renaming_sink *)sink;
	struct np_cell changed[COLUMNS_MOST];

	if (own->split_column != SIZE_MAX && cells[own->split_column].integer != own->only)
		return NP_OK;
	for (size_t i = 0; i < own->relation.column_count; i++) {
		bool number = cells[i].type == NP_CELL_INTEGER || cells[i].type == NP_CELL_REAL;

		changed[i] = own->scaled[i] && number
				     ? np_cell_real(number_of(&cells[i]) / own->file->unit)
				     : cells[i];
	}
	own->rows++;
	return own->next->row(own->next, changed, err);
}

static int end(struct np_sink *sink, struct np_err *err)
{
	struct renaming_sink *own = (struct renaming_sink *)sink;

	return own->next->end(own->next, err);
}

struct written_file {
	const struct vendor_file *file;
	const struct report_table *table;
	size_t split_column;
	int64_t only;
};

static int write_rows(const void *context, FILE *stream, struct np_err *err)
{
	const struct written_file *written = context;
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink csv;
	struct renaming_sink sink = { .base = { begin, row, end },
				      .next = &csv.base,
				      .file = written->file,
				      .split_column = written->split_column,
				      .only = written->only };

	np_csv_sink_init(&csv, &buf, stream);
	return np_relation_write(written->table->relation, written->table->model, &sink.base, err);
}

/* --- all files ------------------------------------------------------------------------------- */

static const struct vendor_file *file_of(const char *table)
{
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		if (strcmp(files[i].table, table) == 0)
			return &files[i];
	}
	return NULL;
}

static int add_path(struct report_paths *paths, char *path, struct np_err *err)
{
	char **slot = np_vec_add(paths, err);

	if (!slot) {
		free(path);
		return NP_E_NOMEM;
	}
	*slot = path;
	return NP_OK;
}

static int write_one(const struct written_file *written, const char *below, const char *suffix,
		     struct report_paths *paths, struct np_err *err)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s%s.csv", below, written->file->name, suffix) < 0)
		return np_fail_nomem(err, below);
	rc = np_write_file(path, write_rows, written, err);
	if (rc == NP_OK)
		return add_path(paths, path, err);
	free(path);
	return rc;
}

static size_t column_of(const struct np_relation *relation, const char *name)
{
	for (size_t i = 0; name && i < relation->column_count; i++) {
		if (strcmp(relation->columns[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

/* A file for each rank that was used. */
static int write_split(const struct cluster_report *report, struct written_file *written,
		       const char *below, struct report_paths *paths, struct np_err *err)
{
	const struct np_run *run = report->analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		char suffix[24];

		if (!run->ranks[i])
			continue;
		written->only = run->ranks[i]->id;
		(void)snprintf(suffix, sizeof(suffix), "_%" PRId64, written->only);
		rc = write_one(written, below, suffix, paths, err);
	}
	return rc;
}

static int write_table(const struct cluster_report *report, const struct report_table *table,
		       const char *directory, struct report_paths *paths, struct np_err *err)
{
	const struct vendor_file plain = { .name = table->relation->name };
	const struct vendor_file *known = file_of(table->relation->name);
	struct written_file written = { .file = known ? known : &plain, .table = table };
	NP_CLEANUP(np_buf_release) struct np_buf below = NP_BUF_INIT;
	time_t now = time(NULL);
	char suffix[24] = "";
	struct tm utc;
	int rc;

	assert(table->relation->column_count <= COLUMNS_MOST);
	np_buf_printf(&below, "%s/%s", directory, known ? known->directory : plain.name);
	rc = np_buf_check(&below, err);
	if (rc == NP_OK)
		rc = report_make_directory(below.text, err);
	if (rc < 0)
		return rc;
	written.split_column = column_of(table->relation, written.file->split);
	if (written.split_column != SIZE_MAX)
		return write_split(report, &written, below.text, paths, err);
	if (written.file->stamped)
		(void)strftime(suffix, sizeof(suffix), "_%Y%m%d%H%M%S", gmtime_r(&now, &utc));
	return write_one(&written, below.text, suffix, paths, err);
}

/* The merged run has these tables for the modes that have no name of their own. */
static bool is_about_all(const struct cluster_report *report, const char *table)
{
	return np_modes_want_report(report->modes->options.modes) &&
	       (strcmp(table, "ClusterCommunicationTime") == 0 ||
		strcmp(table, "ClusterCommunicationBandwidth") == 0 ||
		strcmp(table, "ClusterCommunicationMatrix") == 0);
}

int report_vendor_files(const struct cluster_report *report, const char *directory,
			struct report_paths *paths, struct np_err *err)
{
	struct report_list shown = { 0 };
	int rc = report_list_shown(report, &shown, err);

	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		const struct report_table table = { .relation = np_cluster_relations[i],
						    .model = report->analysis };

		if (is_about_all(report, table.relation->name))
			rc = write_table(report, &table, directory, paths, err);
	}
	for (size_t i = 0; i < shown.list.count && rc == NP_OK; i++) {
		if (!is_about_all(report, shown.list.item[i].relation->name))
			rc = write_table(report, &shown.list.item[i], directory, paths, err);
	}
	np_vec_release(&shown.list);
	return rc;
}

void report_paths_release(struct report_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->item[i]);
	np_vec_release(paths);
}

/* --- the line of --agent --------------------------------------------------------------------- */

int report_answer(const struct cluster_report *report, const struct report_paths *paths,
		  const char *phase, struct np_err *err)
{
	struct np_jsonout *out = agent_open(phase);
	struct report_list tables = { 0 };
	int rc = out ? report_list_all(report, &tables, err) : NP_OK;

	if (!out)
		return NP_OK;
	np_jsonout_text(out, "db_path", report->database);
	np_jsonout_array_line(out, "tables");
	for (size_t i = 0; i < tables.list.count; i++) {
		if (!tables.list.item[i].left_out)
			np_jsonout_text(out, NULL, tables.list.item[i].relation->name);
	}
	np_jsonout_end(out);
	if (paths->count > 0) {
		np_jsonout_array_line(out, "csv_path");
		for (size_t i = 0; i < paths->count; i++)
			np_jsonout_text(out, NULL, paths->item[i]);
		np_jsonout_end(out);
	}
	agent_close(phase);
	agent_suggest(report->analysis->verdict.text);
	agent_note(&report->analysis->run->notes);
	np_vec_release(&tables.list);
	return rc;
}
