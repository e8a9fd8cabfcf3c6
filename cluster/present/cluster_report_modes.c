/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the tables that modes ask for: the first rows on the screen, all of them as Markdown and
 * JSON. */
#include "cluster_report.h"

#include "npuprof/arena.h"
#include "npuprof/grid.h"
#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <math.h>

/* A table on the screen: the first rows, and where the others are. */
#define ROWS_SHOWN   15
#define TURNED_ROWS  4
#define COLUMNS_MOST 32
#define INDENT       2
#define REASON       "reason"

/* Names of which fewer characters are left are hard to distinguish: columns that say less go first.
 */
#define NAME_ENOUGH 12

/* Below this names are not cut. */
#define NAME_LEAST 8

/* --- what people see of a column ------------------------------------------------------------- */

enum look_kind {
	PLAIN,
	HIDDEN,
	DURATION,
	SINCE,  /* a point in time: what has passed since that of the first row */
	LENGTH, /* a point in time: what has passed since the column before */
};

struct look {
	enum look_kind kind;
	double ns; /* what 1 stands for */
	const char *title;
};

#define HIDE \
	{ \
		HIDDEN, 0, NULL \
	}
#define CALLED(title) \
	{ \
		PLAIN, 0, title \
	}
#define TIME(ns, title) \
	{ \
		DURATION, ns, title \
	}

/*
 * Columns have the names that the incumbent's users know; on the screen the room is
 * for what says most. Points in time say nothing to people, quartiles little.
 */
/* clang-format off */
static const struct {
	const char *table; /* NULL for all: those of one table are in front */
	const char *column;
	struct look look;
} looks[] = {
	{ "ClusterTimeSummary", "stepTime", TIME(1e3, "stepTime") },
	{ "ClusterTimeSummary", "computation", TIME(1e3, "computing") },
	{ "ClusterTimeSummary", "communicationNotOverlapComputation", TIME(1e3, "exposed comm.") },
	{ "ClusterTimeSummary", "communicationOverlapComputation", HIDE },
	{ "ClusterTimeSummary", "communication", TIME(1e3, "comm.") },
	{ "ClusterTimeSummary", "free", TIME(1e3, "free") },
	{ "ClusterTimeSummary", "communicationWaitStageTime", TIME(1e3, "wait") },
	{ "ClusterTimeSummary", "communicationTransmitStageTime", TIME(1e3, "transmit") },
	{ "ClusterTimeSummary", "memory", HIDE },
	{ "ClusterTimeSummary", "memoryNotOverlapComputationCommunication", TIME(1e3, "copies alone") },
	{ "SlowLinkSum", "opTypeRelatedRanksDataSize", CALLED("type, ranks, bytes") },
	{ "SlowLinkSum", "StdNs", HIDE },
	{ "SlowLinkSum", "SumNs", HIDE },
	{ "SlowLinkOps", "communicationTime", TIME(1, "duration") },
	{ "SlowLinkOps", "transmitTime", TIME(1, "transmitTime") },
	{ "SlowLinkOps", "opType", HIDE },
	{ "ComputeOpPerRankStatsByOpName", "TaskType", HIDE },
	{ "ComputeOpPerRankStatsByOpName", "StdNs", HIDE },
	{ "ComputeOpPerRankStatsByOpName", "MinNs", HIDE },
	{ "CannApiSum", "timeRatio", CALLED("%") },
	{ "CannApiSumRank", "durationRatio", CALLED("%") },
	{ "FreeAnalysis", "pytorchIdleTime(us)", HIDE },
	{ "FreeAnalysis", "cannIdleTime(us)", HIDE },
	{ "EPTokensSummary", "inputShapesSummary", CALLED("tokens") },
	{ "MSTXMarkStats", "index", HIDE },
	{ "MSTXAllFrameworkStats", "StdNs", HIDE },
	{ "MSTXAllFrameworkStats", "MinNs", HIDE },
	{ "MSTXAllFrameworkStats", "MinRank", HIDE },
	{ "MSTXAllCannStats", "StdNs", HIDE },
	{ "MSTXAllCannStats", "MinNs", HIDE },
	{ "MSTXAllCannStats", "MinRank", HIDE },
	{ "MSTXAllDeviceStats", "StdNs", HIDE },
	{ "MSTXAllDeviceStats", "MinNs", HIDE },
	{ "MSTXAllDeviceStats", "MinRank", HIDE },
	{ "OperatorMFU", "flops_op_name", HIDE },
	{ "OperatorMFU", "output_shapes", HIDE },
	{ "ClusterCommunicationMatrix", "op_name", HIDE },
	{ NULL, "startTime(us)", HIDE },
	{ NULL, "endTime(us)", HIDE },
	{ NULL, "Timestamp", HIDE },
	{ NULL, "start_timestamp", HIDE },
	{ NULL, "kernel_start(ns)", HIDE },
	{ NULL, "kernel_end(ns)", HIDE },
	{ NULL, "stepStartTime", HIDE },
	{ NULL, "stepEndTime", HIDE },
	{ NULL, "Q1Ns", HIDE },
	{ NULL, "Q3Ns", HIDE },
	{ NULL, "startNs", { SINCE, 1, "start" } },
	{ NULL, "endNs", { LENGTH, 1, "duration" } },
	{ NULL, "totalTimeNs", TIME(1, "total") },
	{ NULL, "totalCount", CALLED("count") },
	{ NULL, "stdev", TIME(1, "stdev") },
	{ NULL, "totalCommunicationOperatorTime", TIME(1, "communication") },
	{ NULL, "timeRatioOfStepCommunicationOperator", CALLED("of step") },
	{ NULL, "totalTimeWithoutCommunicationBlackout", TIME(1, "not hidden") },
	{ NULL, "ratioOfUnmaskedCommunication", CALLED("of step") },
	{ NULL, "FrameworkDurationNs", TIME(1, "framework") },
	{ NULL, "FrameworkDurationRatio(%)", CALLED("%") },
	{ NULL, "CannDurationNs", TIME(1, "CANN") },
	{ NULL, "CannDurationRatio(%)", CALLED("%") },
	{ NULL, "DeviceDurationNs", TIME(1, "device") },
	{ NULL, "DeviceDurationRatio(%)", CALLED("%") },
	{ NULL, "totalKernelDuration(ns)", TIME(1, "kernels") },
	{ NULL, "avgKernelDuration(ns)", TIME(1, "average") },
	{ NULL, "total_kernel_duration(ns)", TIME(1, "kernels") },
	{ NULL, "avg_kernel_duration(ns)", TIME(1, "average") },
	{ NULL, "kernel_duration(ns)", TIME(1, "duration") },
	{ NULL, "actual_tflops", CALLED("TFLOPS") },
	{ NULL, "chip_peak_tflops", CALLED("of") },
	{ NULL, "hccl_op_name", HIDE },
	{ NULL, "elapsed_time", TIME(1e6, "elapsed") },
	{ NULL, "transit_time", TIME(1e6, "transit") },
	{ NULL, "wait_time", TIME(1e6, "wait") },
	{ NULL, "idle_time", TIME(1e6, "idle") },
	{ NULL, "synchronization_time", TIME(1e6, "sync.") },
	{ NULL, "synchronization_time_ratio", HIDE },
	{ NULL, "wait_time_ratio", CALLED("wait ratio") },
	{ NULL, "large_packet_ratio", HIDE },
	{ NULL, "total_duration", HIDE },
	{ NULL, "transit_size", CALLED("MB") },
	{ NULL, "bandwidth", CALLED("GB/s") },
	{ NULL, "package_size", CALLED("package MB") },
};
/* clang-format on */

/* What a narrow screen does without, those that say least first. */
static const struct {
	const char *table; /* NULL for all */
	const char *column;
} spares[] = {
	{ "ClusterCommunicationMatrix", "transit_time" }, /* MB and GB/s are there */
	{ "P2PPairing", "groupName" },                    /* opConnectionId begins with it */
	{ "SlowOpStats", "SumNs" },
	{ NULL, "synchronization_time" },
	{ NULL, "StdNs" },
	{ NULL, "stdev" },
	{ NULL, "MinRank" },
	{ NULL, "minRank" },
	{ "SlowOpStats", "MeanNs" },
	{ NULL, "MedianNs" },
	{ NULL, "med" },
	{ NULL, "MinNs" },
	{ NULL, "min" },
	{ NULL, "TaskType" },
};

/* Units that stand at the end of a column's name. */
static const struct {
	const char *suffix;
	double ns;
} units[] = { { "Ns", 1 }, { "(ns)", 1 }, { "(us)", 1e3 } };

/* How a column is shown; a title that the name alone gives lies in `buffer`. */
struct title {
	char text[64];
};

static struct look look_of(const struct np_relation *relation, size_t column, struct title *buffer)
{
	const char *name = relation->columns[column].name;
	size_t length = strlen(name);
	struct look look = { PLAIN, 0, buffer->text };

	for (size_t i = 0; i < NP_COUNT(looks); i++) {
		if (strcmp(looks[i].column, name) == 0 &&
		    (!looks[i].table || strcmp(looks[i].table, relation->name) == 0))
			return looks[i].look;
	}
	for (size_t i = 0; i < NP_COUNT(units) && look.kind == PLAIN; i++) {
		size_t tail = strlen(units[i].suffix);

		if (length > tail && strcmp(name + length - tail, units[i].suffix) == 0) {
			look = (struct look){ DURATION, units[i].ns, buffer->text };
			length -= tail;
		}
	}
	(void)snprintf(buffer->text, sizeof(buffer->text), "%.*s", (int)length, name);
	return look;
}

/* --- the first rows of a table --------------------------------------------------------------- */

struct excerpt {
	struct np_sink base;
	const struct np_relation *relation;
	struct np_arena *arena;
	struct np_cell *cells;
	size_t rows;  /* kept */
	size_t total; /* there are */
	size_t name;  /* the column that distinguishes totals from single operators; SIZE_MAX: none
		       */
	size_t most;  /* the column by which rows come first, not the order; SIZE_MAX: none */
	struct look looks[COLUMNS_MOST];
	struct title titles[COLUMNS_MOST];
	size_t columns;
	size_t reason; /* the column of reasons, which may be long; SIZE_MAX: none */
};

static const struct np_cell *cell_of(const struct excerpt *excerpt, size_t row, size_t column)
{
	return &excerpt->cells[row * excerpt->columns + column];
}

static int begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err)
{
	struct excerpt *excerpt = (struct excerpt *)sink;

	excerpt->relation = relation;
	excerpt->name = excerpt->most = excerpt->reason = SIZE_MAX;
	excerpt->columns =
		relation->column_count < COLUMNS_MOST ? relation->column_count : COLUMNS_MOST;
	for (size_t i = 0; i < excerpt->columns; i++) {
		excerpt->looks[i] = look_of(relation, i, &excerpt->titles[i]);
		if (strcmp(relation->columns[i].name, "hccl_op_name") == 0)
			excerpt->name = i;
		if (strcmp(relation->columns[i].name, REASON) == 0)
			excerpt->reason = i;
		if (strcmp(relation->name, "FreeAnalysis") == 0 &&
		    strcmp(relation->columns[i].name, "duration(us)") == 0)
			excerpt->most = i;
	}
	excerpt->cells = np_arena_array(excerpt->arena, (ROWS_SHOWN + 1) * excerpt->columns + 1,
					sizeof(*excerpt->cells));
	return excerpt->cells ? NP_OK : np_fail_nomem(err, relation->name);
}

/* Is the row one of those that people want to see first? */
static bool comes_first(const struct excerpt *excerpt, const struct np_cell *cells)
{
	static const char total[] = "Total Op Info";

	return excerpt->name == SIZE_MAX ||
	       (cells[excerpt->name].type == NP_CELL_TEXT &&
		cells[excerpt->name].text.length == strlen(total) &&
		memcmp(cells[excerpt->name].text.bytes, total, strlen(total)) == 0);
}

/* Where the row goes: behind those that are kept, or before those that have less. */
static size_t place_of(const struct excerpt *excerpt, const struct np_cell *cells)
{
	size_t place = excerpt->rows;

	if (excerpt->most == SIZE_MAX || cells[excerpt->most].type != NP_CELL_REAL)
		return place;
	while (place > 0 &&
	       cell_of(excerpt, place - 1, excerpt->most)->real < cells[excerpt->most].real)
		place--;
	return place;
}

static int keep_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct excerpt *excerpt = (struct excerpt *)sink;
	size_t place = place_of(excerpt, cells);
	struct np_cell *row = &excerpt->cells[place * excerpt->columns];

	excerpt->total++;
	if (place == ROWS_SHOWN || !comes_first(excerpt, cells))
		return NP_OK;
	memmove(row + excerpt->columns, row,
		(excerpt->rows - place) * excerpt->columns * sizeof(*row));
	for (size_t i = 0; i < excerpt->columns; i++) {
		row[i] = cells[i];
		if (cells[i].type != NP_CELL_TEXT)
			continue;
		row[i].text.bytes =
			np_arena_text(excerpt->arena, cells[i].text.bytes, cells[i].text.length);
		if (!row[i].text.bytes)
			return np_fail_nomem(err, excerpt->relation->name);
	}
	if (excerpt->rows < ROWS_SHOWN)
		excerpt->rows++;
	return NP_OK;
}

static int end(struct np_sink *sink, struct np_err *err)
{
	(void)sink;
	(void)err;
	return NP_OK;
}

/* --- the grid -------------------------------------------------------------------------------- */

static void put_number(struct np_grid *grid, double value)
{
	if (value == rint(value) && fabs(value) < 1e15)
		np_grid_printf(grid, "%.0f", value);
	else
		np_grid_printf(grid, fabs(value) >= 1000 ? "%.1f" : "%.4g", value);
}

static void put_cell(struct np_grid *grid, const struct excerpt *excerpt, size_t row, size_t column)
{
	const struct np_cell *cell = cell_of(excerpt, row, column);
	const struct look *look = &excerpt->looks[column];
	const struct np_cell *from = cell;

	if (look->kind == SINCE)
		from = cell_of(excerpt, 0, column);
	if (look->kind == LENGTH)
		from = cell - 1;
	if (cell->type == NP_CELL_NULL || from->type == NP_CELL_NULL)
		np_grid_cell(grid, "");
	else if (cell->type == NP_CELL_TEXT)
		np_grid_cell(grid, cell->text.bytes);
	else if (look->kind == SINCE || look->kind == LENGTH)
		np_grid_duration(grid, np_plus(cell->integer, -from->integer));
	else if (look->kind == DURATION)
		np_grid_duration(grid, np_double_to_scaled(cell->type == NP_CELL_REAL
								   ? cell->real
								   : (double)cell->integer,
							   look->ns));
	else if (cell->type == NP_CELL_REAL)
		put_number(grid, cell->real);
	else
		np_grid_printf(grid, "%lld", (long long)cell->integer);
}

/* Rows below each other, but for the column `without`. */
static struct np_grid *upright(const struct excerpt *excerpt, size_t without)
{
	struct np_grid_column columns[COLUMNS_MOST];
	size_t width = 0;
	struct np_grid *grid;

	for (size_t i = 0; i < excerpt->columns; i++) {
		bool text = excerpt->relation->columns[i].type == NP_TEXT;
		enum np_grid_cut how = i == excerpt->reason ? NP_CUT_END : NP_CUT_MIDDLE;

		if (excerpt->looks[i].kind == HIDDEN || i == without)
			continue;
		columns[width++] = (struct np_grid_column){ .title = excerpt->looks[i].title,
							    .align = text ? NP_LEFT : NP_RIGHT,
							    .may_shrink = text ? how : NP_UNCUT };
	}
	grid = np_grid_new(columns, width);
	for (size_t i = 0; grid && i < excerpt->rows; i++) {
		for (size_t j = 0; j < excerpt->columns; j++) {
			if (excerpt->looks[j].kind != HIDDEN && j != without)
				put_cell(grid, excerpt, i, j);
		}
	}
	return grid;
}

/* A table whose titles alone are wider than the screen: columns below each other. */
static struct np_grid *turned(const struct excerpt *excerpt, size_t rows)
{
	struct np_grid_column columns[TURNED_ROWS + 1] = { { .title = "" } };
	struct np_grid *grid;

	for (size_t i = 0; i < rows; i++)
		columns[i + 1] = (struct np_grid_column){ .title = "",
							  .align = NP_RIGHT,
							  .may_shrink = NP_CUT_MIDDLE };
	grid = np_grid_new(columns, rows + 1);
	for (size_t j = 0; grid && j < excerpt->columns; j++) {
		if (excerpt->looks[j].kind == HIDDEN)
			continue;
		np_grid_cell(grid, excerpt->looks[j].title);
		for (size_t i = 0; i < rows; i++)
			put_cell(grid, excerpt, i, j);
	}
	return grid;
}

/* What the titles need. */
static size_t title_width(const struct excerpt *excerpt)
{
	size_t width = 2;

	for (size_t i = 0; i < excerpt->columns; i++) {
		if (excerpt->looks[i].kind != HIDDEN)
			width += strlen(excerpt->looks[i].title) + 2;
	}
	return width;
}

/* Hide the column that says least; false if all that are left are wanted. */
static bool hide_spare(struct excerpt *excerpt)
{
	for (size_t i = 0; i < NP_COUNT(spares); i++) {
		if (spares[i].table && strcmp(spares[i].table, excerpt->relation->name) != 0)
			continue;
		for (size_t j = 0; j < excerpt->columns; j++) {
			if (excerpt->looks[j].kind == HIDDEN ||
			    strcmp(excerpt->relation->columns[j].name, spares[i].column) != 0)
				continue;
			excerpt->looks[j].kind = HIDDEN;
			return true;
		}
	}
	return false;
}

/* As many columns below each other as the screen is wide enough for; NULL without memory. */
static struct np_grid *fitting(struct excerpt *excerpt, size_t width)
{
	struct np_grid *grid = upright(excerpt, SIZE_MAX);

	while (grid && !np_grid_fits(grid, INDENT, width, NAME_ENOUGH) && hide_spare(excerpt)) {
		np_grid_free(grid);
		grid = upright(excerpt, SIZE_MAX);
	}
	return grid;
}

/* --- reasons --------------------------------------------------------------------------------- */

static size_t text_length(const struct np_cell *cell)
{
	return cell->type == NP_CELL_TEXT ? cell->text.length : 0;
}

/* Beside the other columns there is no room for the longest reason. */
static bool reasons_are_long(const struct excerpt *excerpt, size_t width)
{
	size_t longest = 0;

	for (size_t i = 0; excerpt->reason != SIZE_MAX && i < excerpt->rows; i++) {
		size_t length = text_length(cell_of(excerpt, i, excerpt->reason));

		longest = length > longest ? length : longest;
	}
	return longest + title_width(excerpt) > width + strlen(REASON);
}

/* Each row, and below it the reason on lines of its own. */
static int put_reasons(const struct excerpt *excerpt, struct np_buf *buf, size_t width, bool color,
		       struct np_err *err)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = upright(excerpt, excerpt->reason);
	NP_CLEANUP(np_buf_release) struct np_buf lines = NP_BUF_INIT;
	int rc = grid ? np_grid_write(grid, &lines, INDENT, width, color, err)
		      : np_fail_nomem(err, excerpt->relation->name);
	const char *at = lines.text;

	for (size_t i = 0; rc == NP_OK && *at; i++) {
		size_t length = strcspn(at, "\n") + 1;

		np_buf_add_bytes(buf, at, length);
		at += length;
		if (i > 0 && text_length(cell_of(excerpt, i - 1, excerpt->reason)))
			np_text_lines(buf, cell_of(excerpt, i - 1, excerpt->reason)->text.bytes, 6,
				      0, width, false);
	}
	return rc;
}

/* --- a table --------------------------------------------------------------------------------- */

static int put_rows(struct excerpt *excerpt, struct np_buf *buf, size_t *ret_shown,
		    const struct cluster_report *report, struct np_err *err)
{
	bool turn = title_width(excerpt) > report->width;
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = NULL;

	if (!turn && reasons_are_long(excerpt, report->width)) {
		*ret_shown = excerpt->rows;
		return put_reasons(excerpt, buf, report->width, report->color, err);
	}
	if (!turn) {
		grid = fitting(excerpt, report->width);
		turn = grid && !np_grid_fits(grid, INDENT, report->width, NAME_LEAST);
	}
	*ret_shown = turn && excerpt->rows > TURNED_ROWS ? TURNED_ROWS : excerpt->rows;
	if (turn) {
		np_grid_free(grid);
		grid = turned(excerpt, *ret_shown);
	}
	return grid ? np_grid_write(grid, buf, INDENT, report->width, report->color, err)
		    : np_fail_nomem(err, excerpt->relation->name);
}

/* What a table shows, without its units: here every figure has its own. */
static size_t summary_length(const char *summary)
{
	static const char *const said[] = { ", in ms", ", in µs", ", in MB, ms and GB/s" };
	size_t length = strlen(summary);

	for (size_t i = 0; i < NP_COUNT(said); i++) {
		size_t tail = strlen(said[i]);

		if (length > tail && strcmp(summary + length - tail, said[i]) == 0)
			return length - tail;
	}
	return length;
}

/* "NAME: what it shows" */
static void put_head(const struct report_table *table, struct np_buf *buf, size_t width)
{
	NP_CLEANUP(np_buf_release) struct np_buf head = NP_BUF_INIT;
	const char *summary = table->relation->summary;

	size_t length = summary_length(summary);
	const char *said = np_lang_text(summary);
	const char *unit = strstr(said, "（");

	if (said != summary)
		length = unit && summary[length] ? (size_t)(unit - said) : strlen(said);
	np_say(&head, "{1}: ", NP_SAID_TEXT(table->relation->name));
	np_buf_add_bytes(&head, said, length);
	np_buf_add(buf, buf->length ? "\n" : "");
	np_text_wrap(buf, head.text, 2, width);
}

static void put_nothing(struct np_buf *buf, const struct report_table *table)
{
	if (table->empty)
		np_say(buf, "nothing found: {1}", NP_SAID_MSG(table->empty));
	else
		np_say(buf, "nothing found");
}

static void put_empty(const struct report_table *table, struct np_buf *buf, size_t width)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	put_nothing(&text, table);
	np_text_lines(buf, text.text, 2, 0, width, false);
}

static int put_table(const struct report_table *table, const struct cluster_report *report,
		     struct np_buf *buf, struct np_err *err)
{
	struct excerpt excerpt = { .base = { begin, keep_row, end }, .arena = np_arena_new() };
	size_t shown = 0;
	int rc = excerpt.arena
			 ? np_relation_write(table->relation, table->model, &excerpt.base, err)
			 : np_fail_nomem(err, table->relation->name);

	put_head(table, buf, report->width);
	if (rc == NP_OK && excerpt.rows > 0)
		rc = put_rows(&excerpt, buf, &shown, report, err);
	else if (rc == NP_OK)
		put_empty(table, buf, report->width);
	if (excerpt.total > shown)
		np_say(buf,
		       excerpt.total - shown == 1 ? "  and {1} more row: -f csv --table {2}\n"
						  : "  and {1} more rows: -f csv --table {2}\n",
		       NP_SAID_INT(excerpt.total - shown), NP_SAID_TEXT(table->relation->name));
	np_arena_free(excerpt.arena);
	return rc;
}

/* --- lists of tables: those of the merged run come before those of modes ---------------------- */

int report_list_add(struct report_list *list, const struct report_table *table, struct np_err *err)
{
	struct report_table *slot = np_vec_add(&list->list, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = *table;
	return NP_OK;
}

int report_list_shown(const struct cluster_report *report, struct report_list *ret,
		      struct np_err *err)
{
	const struct np_mode_table *table = report->modes->tables;
	int rc = NP_OK;

	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++) {
		const struct report_table each = { .relation = np_cluster_relations[i],
						   .model = report->analysis };

		if (np_modes_want_table(report->modes->options.modes, each.relation->name))
			rc = report_list_add(ret, &each, err);
	}
	for (; table && rc == NP_OK; table = table->next)
		rc = report_list_add(ret,
				     &(struct report_table){ .relation = &table->relation,
							     .model = table,
							     .empty = table->empty },
				     err);
	return rc;
}

/* --- all forms ------------------------------------------------------------------------------- */

int report_modes_screen(const struct cluster_report *report, struct np_buf *buf, struct np_err *err)
{
	struct report_list shown = { 0 };
	int rc = report_list_shown(report, &shown, err);

	for (size_t i = 0; i < shown.list.count && rc == NP_OK; i++)
		rc = put_table(&shown.list.item[i], report, buf, err);
	np_vec_release(&shown.list);
	return rc;
}

/* A table without rows is its titles and the line below them. */
#define MD_TITLE_LINES 2

static size_t lines_from(const struct np_buf *buf, size_t offset)
{
	size_t lines = 0;

	for (size_t i = offset; i < buf->length; i++)
		lines += buf->text[i] == '\n';
	return lines;
}

int report_modes_markdown(const struct cluster_report *report, struct np_buf *buf,
			  struct np_err *err)
{
	struct report_list shown = { 0 };
	int rc = report_list_shown(report, &shown, err);

	for (size_t i = 0; i < shown.list.count && rc == NP_OK; i++) {
		const struct report_table *table = &shown.list.item[i];
		struct np_text_sink sink;
		size_t head;

		np_buf_printf(buf, "%s## %s\n\n%s\n\n", buf->length ? "\n" : "",
			      table->relation->name, np_lang_text(table->relation->summary));
		head = buf->length;
		np_md_sink_init(&sink, buf, NULL);
		rc = np_relation_write(table->relation, table->model, &sink.base, err);
		if (rc == NP_OK && !buf->failed && lines_from(buf, head) <= MD_TITLE_LINES) {
			np_buf_add_char(buf, '\n');
			put_nothing(buf, table);
			np_buf_add_char(buf, '\n');
		}
	}
	np_vec_release(&shown.list);
	return rc;
}

/* --- JSON ------------------------------------------------------------------------------------ */

int report_put_modes(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err)
{
	struct np_jsonout_sink sink;
	struct report_list shown = { 0 };
	int rc = report_list_shown(report, &shown, err);

	np_jsonout_sink_init(&sink, out);
	if (rc == NP_OK && shown.list.count) {
		np_jsonout_object(out, "modes");
		for (size_t i = 0; i < shown.list.count && rc == NP_OK; i++)
			rc = np_relation_write(shown.list.item[i].relation,
					       shown.list.item[i].model, &sink.base, err);
		np_jsonout_end(out);
	}
	np_vec_release(&shown.list);
	return rc;
}
