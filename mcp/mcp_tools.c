/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of the server: questions about runs and how they are answered (mcp_tools.h). */
#include "mcp_tools.h"

#include "cli/command/common.h"
#include "cli/command/progress.h"
#include "cli/prepare/frequency.h"
#include "cli/prepare/trust_json.h"
#include "mcp/protocol/mcp_answer.h"
#include "mcp_verdict.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/cluster.h"
#include "npuprof/cluster_tables.h"
#include "npuprof/difference.h"
#include "npuprof/query.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/run_history.h"
#include "npuprof/run_info.h"
#include "npuprof/timeline_slice.h"

#include <inttypes.h>

/* Elements of lists that stand beside the one that is paged. */
#define SOME 8

/* A question in SQL may take so much. */
static const struct np_query_limits query_limits = { .time = INT64_C(10000000000),
						     .rows = 100000,
						     .bytes = INT64_C(256) << 20 };

/* --- arguments ------------------------------------------------------------------------------- */

static const char *text_of(const struct mcp_call *call, const char *key)
{
	return np_json_text(np_json_member(call->arguments, key));
}

static int64_t integer_of(const struct mcp_call *call, const char *key, int64_t preset)
{
	(void)np_json_integer(np_json_member(call->arguments, key), &preset);
	return preset;
}

/* A cursor is how many elements were shown before. */
static int cursor_of(const struct mcp_call *call, size_t *ret, struct np_err *err)
{
	const char *text = text_of(call, "cursor");
	size_t length = text ? strspn(text, "0123456789") : 0;

	*ret = 0;
	if (!text)
		return NP_OK;
	if (length == 0 || length > 12 || text[length])
		return np_fail(err, NP_E_USAGE,
			       "that is no cursor: take next_cursor of the answer before");
	for (size_t i = 0; i < length; i++)
		*ret = *ret * 10 + (size_t)(text[i] - '0');
	return NP_OK;
}

static int begin_answer(const struct mcp_call *call, struct mcp_answer *answer, struct np_buf *buf,
			struct np_err *err)
{
	size_t first;
	int rc = cursor_of(call, &first, err);

	if (rc == NP_OK)
		mcp_answer_init(answer, buf,
				(size_t)integer_of(call, "max_bytes", MCP_ANSWER_MOST) -
					MCP_ANSWER_WRAPPER,
				first);
	return rc;
}

/* --- what every answer about a run says ------------------------------------------------------ */

static void put_trust(struct np_jsonout *out, const struct np_analysis *analysis)
{
	const struct np_run *run = analysis->run;
	int32_t world = np_cluster_world(analysis->cluster);
	int64_t skipped = 0;

	for (size_t i = 0; i < run->notes.list.count; i++)
		skipped += run->notes.list.item[i].kind == NP_NOTE_SKIPPED;
	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "ranks_found", (int64_t)run->sources.count);
	np_jsonout_integer(out, "ranks_used", (int64_t)np_run_used(run));
	np_jsonout_integer(out, "world_size", world > 0 ? world : NP_UNKNOWN);
	np_jsonout_integer(out, "ops_total", analysis->align->op_count);
	np_jsonout_integer(out, "ops_matched", analysis->align->matched);
	np_jsonout_text(out, "clock", np_clock_method_name(analysis->clock->method));
	np_jsonout_integer(out, "clock_residual_p90_ns", analysis->clock->residual_p90);
	np_jsonout_text(out, "step_basis", np_basis_name(analysis->spreads.basis));
	np_jsonout_integer(out, "skipped", skipped);
	np_jsonout_end(out);
}

static void put_withheld(struct np_jsonout *out, const struct np_readiness *withheld)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "what", withheld->name);
	np_jsonout_text(out, "reason", withheld->missing);
	np_jsonout_text(out, "switch", withheld->cure);
	np_jsonout_end(out);
}

static void put_note(struct np_jsonout *out, const struct np_note *note)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "what", note->what);
	np_jsonout_integer(out, "rank", note->rank == NP_NO_RANK ? NP_UNKNOWN : note->rank);
	np_jsonout_text(out, "reason", note->reason);
	np_jsonout_end(out);
}

/* So much of an answer may say what is missing. */
#define MISSING_SHARE 5
#define NOTES_SHARE   10

/* A member that was written as JSON. */
static void add_made(struct mcp_answer *answer, const char *key, struct np_jsonout *out)
{
	answer->buf->failed = answer->buf->failed || out->buf.failed;
	mcp_answer_raw(answer, key, out->buf.text);
	np_jsonout_release(out);
}

/* A list of which so many elements are said as have room. */
struct cut_list {
	struct np_jsonout out;
	size_t room;
	int64_t total;
	int64_t said;
};

static void begin_few(struct cut_list *few, size_t room)
{
	*few = (struct cut_list){ .room = room };
	np_jsonout_init(&few->out, NULL);
	np_jsonout_array_line(&few->out, NULL);
}

/* Is the next element said? */
static bool says(struct cut_list *few)
{
	few->total++;
	if (few->said >= SOME || (few->said > 0 && few->out.buf.length > few->room))
		return false;
	few->said++;
	return true;
}

/* `whole` is the name of how many there are, where not all are said. */
static void end_few(struct mcp_answer *answer, const char *key, const char *whole,
		    struct cut_list *few)
{
	np_jsonout_end(&few->out);
	answer->buf->failed = answer->buf->failed || few->out.buf.failed;
	mcp_answer_beside(answer, key, few->out.buf.text);
	if (few->said < few->total)
		mcp_answer_integer(answer, whole, few->total);
	np_jsonout_release(&few->out);
}

/* What the data cannot carry, and the switch that would have recorded it; then what was not used.
 */
static void put_missing(struct mcp_answer *answer, const struct np_analysis *analysis)
{
	const struct np_readiness *withheld[NP_ANALYSIS_COUNT];
	const struct np_notes *notes = &analysis->run->notes;
	size_t count = trust_withheld(analysis, withheld);
	struct cut_list few;

	begin_few(&few, answer->most / MISSING_SHARE);
	for (size_t i = 0; i < count; i++) {
		if (says(&few))
			put_withheld(&few.out, withheld[i]);
	}
	for (size_t i = 0; i < notes->list.count; i++) {
		if (notes->list.item[i].kind == NP_NOTE_SKIPPED && says(&few))
			put_note(&few.out, &notes->list.item[i]);
	}
	end_few(answer, "missing", "missing_total", &few);
}

/* What was used, and one should know all the same; no such member where there is nothing. */
static void put_notes(struct mcp_answer *answer, const struct np_analysis *analysis)
{
	const struct np_notes *notes = &analysis->run->notes;
	struct cut_list few;

	begin_few(&few, answer->most / NOTES_SHARE);
	for (size_t i = 0; i < notes->list.count; i++) {
		if (notes->list.item[i].kind == NP_NOTE_WARNING && says(&few))
			put_note(&few.out, &notes->list.item[i]);
	}
	if (few.total > 0)
		end_few(answer, "notes", "notes_total", &few);
	else
		np_jsonout_release(&few.out);
}

/* How far the analysis is to be believed. */
static void put_trust_member(struct mcp_answer *answer, const struct np_analysis *analysis)
{
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	put_trust(&out, analysis);
	add_made(answer, "trust", &out);
}

static void hear_progress(void *context, const char *what, const struct np_progress_state *state)
{
	mcp_call_progress(context, what, (int64_t)state->done, (int64_t)state->total);
}

/* The run that a call is about, its analysis, and the begin of the answer. */
static int begin(struct mcp_call *call, struct mcp_answer *answer, struct np_buf *buf,
		 struct mcp_run **ret, struct np_err *err)
{
	struct mcp_runs *runs = call->context;
	char *path = NULL;
	int rc = begin_answer(call, answer, buf, err);

	if (rc == NP_OK)
		rc = mcp_runs_resolve(runs, text_of(call, "run"), &path, err);
	if (rc == NP_OK) {
		np_progress_listen(hear_progress, call);
		rc = mcp_runs_load(runs, path, text_of(call, "phase"), ret, err);
		np_progress_listen(NULL, NULL);
	}
	free(path);
	if (rc < 0)
		return rc;
	if (mcp_call_cancelled(call))
		return np_fail(err, NP_E_USAGE, "the request was cancelled");
	mcp_answer_text(answer, "run", (*ret)->path);
	if ((*ret)->phase)
		mcp_answer_text(answer, "phase", (*ret)->phase);
	mcp_answer_text(answer, "units", "_ns: nanoseconds, _bytes: bytes, _pct: percent");
	put_trust_member(answer, (*ret)->analysis);
	put_missing(answer, (*ret)->analysis);
	put_notes(answer, (*ret)->analysis);
	return NP_OK;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Rows of a relation become elements of the list, those of one rank only where that is asked for.
 */
struct row_sink {
	struct np_sink base;
	struct mcp_answer *answer;
	const struct np_relation *relation;
	int64_t rank; /* NP_UNKNOWN: all */
};

static int begin_rows(struct np_sink *base, const struct np_relation *relation, struct np_err *err)
{
	struct row_sink *sink = (struct row_sink *)base;

	(void)err;
	sink->relation = relation;
	mcp_answer_list(sink->answer, "rows");
	return NP_OK;
}

static void put_cell(struct np_jsonout *out, const char *key, const struct np_cell *cell)
{
	if (cell->type == NP_CELL_INTEGER)
		np_jsonout_integer(out, key, cell->integer);
	else if (cell->type == NP_CELL_REAL)
		np_jsonout_real(out, key, cell->real);
	else if (cell->type == NP_CELL_TEXT)
		np_jsonout_bytes(out, key, cell->text.bytes, cell->text.length);
	else
		np_jsonout_null(out, key);
}

static bool is_of_rank(const struct row_sink *sink, const struct np_cell *cells)
{
	for (size_t i = 0; i < sink->relation->column_count; i++) {
		if (strcasecmp(sink->relation->columns[i].name, "rank") == 0)
			return cells[i].type == NP_CELL_INTEGER && cells[i].integer == sink->rank;
	}
	return true;
}

static int put_row(struct np_sink *base, const struct np_cell *cells, struct np_err *err)
{
	struct row_sink *sink = (struct row_sink *)base;
	struct np_jsonout out;

	(void)err;
	if (sink->rank != NP_UNKNOWN && !is_of_rank(sink, cells))
		return NP_OK;
	if (!mcp_answer_wants(sink->answer)) {
		mcp_answer_item(sink->answer, "", 0);
		return NP_OK;
	}
	np_jsonout_init(&out, NULL);
	np_jsonout_object_line(&out, NULL);
	for (size_t i = 0; i < sink->relation->column_count; i++)
		put_cell(&out, sink->relation->columns[i].name, &cells[i]);
	np_jsonout_end(&out);
	mcp_answer_item(sink->answer, out.buf.text, out.buf.length);
	np_jsonout_release(&out);
	return NP_OK;
}

static int end_rows(struct np_sink *base, struct np_err *err)
{
	(void)base;
	(void)err;
	return NP_OK;
}

static struct row_sink rows_to(struct mcp_answer *answer, int64_t rank)
{
	return (struct row_sink){ .base = { begin_rows, put_row, end_rows },
				  .answer = answer,
				  .rank = rank };
}

/* Elements of an array of a document become those of the list. */
static void put_items(struct mcp_answer *answer, const char *key, const struct np_json *array,
		      bool (*wants)(const struct mcp_call *call, const struct np_json *item),
		      const struct mcp_call *call)
{
	mcp_answer_list(answer, key);
	for (size_t i = 0; i < np_json_count(array); i++) {
		const struct np_json *item = np_json_item(array, i);
		struct np_jsonout out;

		if (wants && !wants(call, item))
			continue;
		np_jsonout_init(&out, NULL);
		mcp_put_node(&out, NULL, item, 0);
		mcp_answer_item(answer, out.buf.text, out.buf.length);
		np_jsonout_release(&out);
	}
}

/* A member of a document under a name of its own, its lists cut short. */
static void put_named(struct mcp_answer *answer, const struct np_json *doc, const char *key,
		      const char *name)
{
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	mcp_put_node(&out, NULL, np_json_member(doc, key), SOME);
	mcp_answer_beside(answer, name, out.buf.text);
	np_jsonout_release(&out);
}

static void put_some(struct mcp_answer *answer, const struct np_json *doc, const char *key)
{
	put_named(answer, doc, key, key);
}

/* What a writer of documents writes, read back. */
static int make_document(const void *context,
			 int (*write)(const void *context, FILE *stream, struct np_err *err),
			 struct np_json **ret, struct np_err *err)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&bytes, &size);
	int rc = stream ? write(context, stream, err) : np_fail_nomem(err, "an answer");

	if (stream && fclose(stream) != 0 && rc == NP_OK)
		rc = np_fail_nomem(err, "an answer");
	if (rc == NP_OK)
		rc = np_json_parse(bytes, size, "an answer", ret, err);
	free(bytes);
	return rc;
}

/* --- tools ----------------------------------------------------------------------------------- */

static int list_runs(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	struct mcp_found_list found = { 0 };
	struct mcp_answer answer;
	int rc = begin_answer(call, &answer, buf, err);

	if (rc == NP_OK)
		rc = mcp_runs_find(call->context, &found, err);
	if (rc == NP_OK) {
		mcp_answer_text(&answer, "units", "_bytes: bytes of profiles");
		mcp_answer_list(&answer, "runs");
		for (size_t i = 0; i < found.list.count; i++) {
			const struct mcp_found *each = &found.list.item[i];
			NP_CLEANUP(np_buf_release) struct np_buf item = NP_BUF_INIT;

			np_buf_add(&item, "{\"run\":");
			np_jsonout_quote(&item, each->path, strlen(each->path));
			np_buf_printf(&item,
				      ",\"ranks\":%zu,\"input_bytes\":%" PRId64 ",\"phases\":%s}",
				      each->ranks, each->bytes, each->phases);
			mcp_answer_item(&answer, item.text, item.length);
		}
		rc = mcp_answer_end(&answer, err);
	}
	mcp_found_release(&found);
	return rc;
}

static int write_info(const void *context, FILE *stream, struct np_err *err)
{
	const struct mcp_run *run = context;

	return np_run_info_write(run->analysis->run, run->path, stream, err);
}

static int info(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	const char *section = text_of(call, "section");
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	int rc = begin(call, &answer, buf, &run, err);

	if (rc == NP_OK)
		rc = make_document(run, write_info, &doc, err);
	if (rc < 0)
		return rc;
	section = section ? section : "analyses";
	put_some(&answer, doc, "input");
	put_some(&answer, doc, "steps_from");
	put_items(&answer, section, np_json_member(doc, section), NULL, call);
	return mcp_answer_end(&answer, err);
}

static int verdict(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	struct np_jsonout out;
	int rc = begin(call, &answer, buf, &run, err);

	if (rc < 0)
		return rc;
	np_jsonout_init(&out, NULL);
	mcp_put_verdict(&out, run->analysis);
	add_made(&answer, "answer", &out);
	mcp_answer_text(&answer, "ideal",
			"with even ranks, stages and links; transfers, and idle time that all "
			"ranks have, are still in it");
	np_jsonout_init(&out, NULL);
	mcp_put_machines(&out, run->analysis);
	add_made(&answer, "machines", &out);
	np_jsonout_init(&out, NULL);
	mcp_put_breakdown(&out, &run->analysis->breakdown);
	add_made(&answer, "breakdown", &out);
	np_jsonout_init(&out, NULL);
	mcp_put_next(&out, run->analysis);
	add_made(&answer, "next", &out);
	return mcp_answer_end(&answer, err);
}

static const struct np_relation *relation_of(const char *name)
{
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		if (strcmp(np_cluster_relations[i]->name, name) == 0)
			return np_cluster_relations[i];
	}
	return NULL;
}

/* Without a section: which there are. */
static int list_sections(struct mcp_answer *answer, const struct np_analysis *analysis)
{
	mcp_answer_list(answer, "sections");
	for (size_t i = 0; i < np_cluster_relation_count; i++) {
		const struct np_relation *each = np_cluster_relations[i];
		struct np_jsonout out;

		if (!np_cluster_relation_applies(each, analysis))
			continue;
		np_jsonout_init(&out, NULL);
		np_jsonout_object_line(&out, NULL);
		np_jsonout_text(&out, "section", each->name);
		np_jsonout_text(&out, "what", each->summary);
		np_jsonout_end(&out);
		mcp_answer_item(answer, out.buf.text, out.buf.length);
		np_jsonout_release(&out);
	}
	return NP_OK;
}

static int cluster_section(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	const char *section = text_of(call, "section");
	const struct np_relation *relation = section ? relation_of(section) : NULL;
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	struct row_sink sink;
	int rc;

	if (section && !relation)
		return np_fail(err, NP_E_USAGE,
			       "there is no section '%s': without one, all are listed", section);
	rc = begin(call, &answer, buf, &run, err);
	if (rc == NP_OK && !section)
		rc = list_sections(&answer, run->analysis);
	if (rc == NP_OK && section) {
		mcp_answer_text(&answer, "section", section);
		mcp_answer_text(&answer, "what", relation->summary);
		if (strncmp(section, "np_", 3) != 0)
			mcp_answer_text(
				&answer, "vendor_units",
				"this table has the vendor's: times in us or ms, sizes in MB");
		sink = rows_to(&answer, integer_of(call, "rank", NP_UNKNOWN));
		rc = np_relation_write(relation, run->analysis, &sink.base, err);
	}
	return rc == NP_OK ? mcp_answer_end(&answer, err) : rc;
}

/* What the repairs asked for leave of the step, together. */
static int put_asked(struct mcp_call *call, const struct mcp_run *run, struct mcp_answer *answer,
		     const struct np_fix *fixes, size_t count, struct np_err *err)
{
	struct mcp_runs *runs = call->context;
	struct np_whatif_input input = np_analysis_repairs(run->analysis, runs->threads);
	struct np_frequencies frequencies = { 0 };
	float *frequency = NULL;
	np_ns before = run->analysis->whatif.step;
	np_ns step = NP_UNKNOWN;
	struct np_jsonout out;
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK && !frequency; i++) {
		if (fixes[i].kind != NP_FIX_FREQUENCY)
			continue;
		rc = prepare_frequencies(run->analysis->run, runs->threads, &frequencies, err);
		if (rc == NP_OK)
			rc = np_whatif_frequency(run->analysis->replay, &frequencies, &frequency,
						 err);
	}
	input.frequency = frequency;
	input.known = &run->analysis->whatif;
	if (rc == NP_OK)
		rc = np_whatif_together(&input, fixes, count, &step, err);
	np_frequencies_release(&frequencies);
	free(frequency);
	if (rc < 0)
		return rc;
	np_jsonout_init(&out, NULL);
	np_jsonout_object_line(&out, NULL);
	np_jsonout_integer(&out, "step_before_ns", before);
	np_jsonout_integer(&out, "step_ns", step);
	np_jsonout_integer(&out, "saved_ns", before - step);
	np_jsonout_real(&out, "saved_pct",
			before > 0 ? 100.0 * (double)(before - step) / (double)before : 0);
	np_jsonout_end(&out);
	add_made(answer, "asked", &out);
	return NP_OK;
}

static int whatif(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	const struct np_json *words = np_json_member(call->arguments, "fixes");
	NP_VEC(struct np_fix) fixes = { 0 };
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	struct row_sink sink;
	int rc = NP_OK;

	/* A repair that cannot be is refused before anything is read. */
	for (size_t i = 0; i < np_json_count(words) && rc == NP_OK; i++) {
		struct np_fix *fix = np_vec_add(&fixes, err);

		rc = fix ? np_fix_parse(np_json_text(np_json_item(words, i)), fix, err)
			 : NP_E_NOMEM;
	}
	if (rc == NP_OK)
		rc = begin(call, &answer, buf, &run, err);
	if (rc == NP_OK && !run->analysis->replay)
		rc = np_fail(err, NP_E_NOTFOUND,
			     "nothing to replay: no communication operator was matched over ranks");
	if (rc == NP_OK)
		mcp_answer_text(
			&answer, "what",
			"a repair takes what its peers take; all: every rank, stage and link even; "
			"role: the transfers of its communicators; hide-comm: no transfer shows, a "
			"bound that no repair reaches; gains do not add up: ask for several fixes");
	if (rc == NP_OK && fixes.count > 0)
		rc = put_asked(call, run, &answer, fixes.item, fixes.count, err);
	if (rc == NP_OK) {
		sink = rows_to(&answer, NP_UNKNOWN);
		rc = np_relation_write(relation_of("np_whatif"), run->analysis, &sink.base, err);
	}
	np_vec_release(&fixes);
	return rc == NP_OK ? mcp_answer_end(&answer, err) : rc;
}

static bool is_wanted_finding(const struct mcp_call *call, const struct np_json *item)
{
	const char *rule = text_of(call, "rule");
	const char *severity = text_of(call, "severity");
	const char *its_rule = np_json_text(np_json_member(item, "rule"));
	const char *its_severity = np_json_text(np_json_member(item, "severity"));

	return (!rule || (its_rule && strcmp(rule, its_rule) == 0)) &&
	       (!severity || (its_severity && strcmp(severity, its_severity) == 0));
}

/* The document of the advisor: total, findings, rules. */
static int read_advice(const struct np_advice *advice, struct np_json **ret, struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, NULL);
	np_jsonout_object_line(&out, NULL);
	rc = np_advice_put(&out, advice, err);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_json_parse(out.buf.text, out.buf.length, "an answer", ret, err);
	np_jsonout_release(&out);
	return rc;
}

/* Rows of evidence of each finding; all are shown of those of one rule. */
#define EVIDENCE 3

/* Not more than the first rows; rows_total says how many there are. */
static void put_evidence(struct np_jsonout *out, const struct np_json *evidence, size_t most)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	np_jsonout_object_line(out, "evidence");
	while (np_json_next(evidence, &entry)) {
		bool rows = strcmp(entry.key, "rows") == 0;

		if (!rows) {
			mcp_put_node(out, entry.key, entry.value, 0);
			continue;
		}
		np_jsonout_array_line(out, entry.key);
		for (size_t i = 0; i < np_json_count(entry.value) && i < most; i++)
			mcp_put_node(out, NULL, np_json_item(entry.value, i), 0);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_finding(struct np_jsonout *out, const struct np_json *finding, size_t most)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	np_jsonout_object_line(out, NULL);
	while (np_json_next(finding, &entry)) {
		if (strcmp(entry.key, "evidence") == 0 &&
		    np_json_type(entry.value) == NP_JSON_OBJECT)
			put_evidence(out, entry.value, most);
		else
			mcp_put_node(out, entry.key, entry.value, 0);
	}
	np_jsonout_end(out);
}

static int findings(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	struct mcp_runs *runs = call->context;
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const struct np_advice *advice = NULL;
	const struct np_json *list;
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	int rc = begin(call, &answer, buf, &run, err);

	if (rc == NP_OK)
		rc = mcp_run_advice(run, runs->threads, &advice, err);
	if (rc == NP_OK)
		rc = read_advice(advice, &doc, err);
	if (rc < 0)
		return rc;
	put_named(&answer, doc, "total", "gains"); /* total is how many there are */
	list = np_json_member(doc, "findings");
	mcp_answer_list(&answer, "findings");
	for (size_t i = 0; i < np_json_count(list); i++) {
		const struct np_json *item = np_json_item(list, i);
		struct np_jsonout out;

		if (!is_wanted_finding(call, item))
			continue;
		np_jsonout_init(&out, NULL);
		put_finding(&out, item, text_of(call, "rule") ? SIZE_MAX : EVIDENCE);
		mcp_answer_item(&answer, out.buf.text, out.buf.length);
		np_jsonout_release(&out);
	}
	return mcp_answer_end(&answer, err);
}

static int explain_rule(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	const char *rule = text_of(call, "rule");
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct mcp_answer answer;
	int rc = begin_answer(call, &answer, buf, err);

	if (rc == NP_OK)
		rc = np_advice_explain(rule, 100, &text, err);
	if (rc < 0)
		return rc;
	if (rule)
		mcp_answer_text(&answer, "rule", rule);
	/* Line by line, so that it has pages as well. */
	mcp_answer_list(&answer, rule ? "explanation" : "rules");
	for (char *line = text.text, *end; *line; line = end + 1) {
		NP_CLEANUP(np_buf_release) struct np_buf item = NP_BUF_INIT;

		end = strchrnul(line, '\n');
		np_jsonout_quote(&item, line, (size_t)(end - line));
		mcp_answer_item(&answer, item.text, item.length);
		if (!*end)
			break;
	}
	return mcp_answer_end(&answer, err);
}

static int read_difference(const struct np_difference *difference, struct np_json **ret,
			   struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, NULL);
	np_jsonout_object_line(&out, NULL);
	np_difference_put(&out, difference);
	np_jsonout_end(&out);
	rc = np_json_parse(out.buf.text, out.buf.length, "an answer", ret, err);
	np_jsonout_release(&out);
	return rc;
}

static int put_comparison(struct mcp_call *call, struct mcp_answer *answer, struct mcp_run *run,
			  const char *base, struct np_err *err)
{
	struct mcp_runs *runs = call->context;
	const struct np_common common = { .jobs = (int64_t)runs->threads,
					  .quiet = true,
					  .phase = run->phase };
	const struct np_difference_options how = { .base = base,
						   .input = run->path,
						   .fail_on = text_of(call, "fail_on"),
						   .common = &common };
	const char *section = text_of(call, "section");
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_difference *difference = NULL;
	const struct np_json *object;
	int rc = np_difference_new(run->analysis, &how, &difference, err);

	if (rc == NP_OK)
		rc = read_difference(difference, &doc, err);
	np_difference_free(difference);
	if (rc < 0)
		return rc;
	section = section ? section : "waterfall";
	object = np_json_member(doc, "difference");
	mcp_answer_text(answer, "base", base);
	put_some(answer, object, "verdict");
	put_some(answer, object, "step");
	if (strcmp(section, "causes") != 0)
		put_some(answer, object, "causes");
	put_some(answer, object, "warnings");
	if (np_json_member(object, "gate"))
		put_some(answer, object, "gate");
	put_items(answer, section, np_json_member(object, section), NULL, call);
	return NP_OK;
}

static int compare(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	const char *fail_on = text_of(call, "fail_on");
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	char *base = NULL;
	int rc = fail_on ? np_difference_check(fail_on, err) : NP_OK;

	if (rc == NP_OK)
		rc = mcp_runs_resolve(call->context, text_of(call, "base"), &base, err);
	if (rc == NP_OK)
		rc = mcp_runs_check(call->context, base, err);
	if (rc == NP_OK)
		rc = begin(call, &answer, buf, &run, err);
	if (rc == NP_OK)
		rc = put_comparison(call, &answer, run, base, err);
	free(base);
	return rc == NP_OK ? mcp_answer_end(&answer, err) : rc;
}

static int query(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	struct row_sink sink;
	int rc = begin(call, &answer, buf, &run, err);

	if (rc < 0)
		return rc;
	sink = rows_to(&answer, NP_UNKNOWN);
	rc = np_query_run(run->analysis, text_of(call, "sql"), &query_limits, &sink.base, err);
	return rc == NP_OK ? mcp_answer_end(&answer, err) : rc;
}

static bool is_wanted_event(const struct mcp_call *call, const struct np_json *event)
{
	const char *category = text_of(call, "category");
	const char *its_category = np_json_text(np_json_member(event, "cat"));
	const char *phase = np_json_text(np_json_member(event, "ph"));
	int64_t least = integer_of(call, "min_ns", 0);
	int64_t length = 0;

	(void)np_json_integer(np_json_member(np_json_member(event, "args"), "dur_ns"), &length);
	return phase && strcmp(phase, "M") != 0 && length >= least &&
	       (!category || (its_category && strcmp(category, its_category) == 0));
}

/* Whose an event is: its pid, by number. */
static void put_processes(struct mcp_answer *answer, const struct np_json *events)
{
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	np_jsonout_object_line(&out, NULL);
	for (size_t i = 0; i < np_json_count(events); i++) {
		const struct np_json *event = np_json_item(events, i);
		const char *name = np_json_text(np_json_member(event, "name"));
		int64_t pid = 0;
		char key[24];

		if (!name || strcmp(name, "process_name") != 0 ||
		    !np_json_integer(np_json_member(event, "pid"), &pid))
			continue;
		(void)snprintf(key, sizeof(key), "%" PRId64, pid);
		np_jsonout_text(
			&out, key,
			np_json_text(np_json_member(np_json_member(event, "args"), "name")));
	}
	np_jsonout_end(&out);
	mcp_answer_beside(answer, "processes", out.buf.text);
	np_jsonout_release(&out);
}

/* A slice in the making, and what of it could not be drawn. */
struct mcp_slice {
	const struct np_analysis *analysis;
	struct np_notes *notes;
};

static int write_slice(const void *context, FILE *stream, struct np_err *err)
{
	const struct mcp_slice *slice = context;

	return np_timeline_slice_write(slice->analysis, stream, slice->notes, err);
}

static void put_undrawn(struct mcp_answer *answer, const struct np_notes *notes)
{
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	np_jsonout_array_line(&out, NULL);
	np_jsonout_notes(&out, notes, NP_NOTE_SKIPPED);
	np_jsonout_end(&out);
	mcp_answer_beside(answer, "not_drawn", out.buf.text);
	np_jsonout_release(&out);
}

static int timeline_slice(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_notes notes = { 0 };
	struct mcp_slice slice = { .notes = &notes };
	struct mcp_run *run = NULL;
	struct mcp_answer answer;
	int rc = begin(call, &answer, buf, &run, err);

	if (rc == NP_OK) {
		slice.analysis = run->analysis;
		rc = make_document(&slice, write_slice, &doc, err);
	}
	if (rc == NP_OK && notes.list.count > 0)
		put_undrawn(&answer, &notes);
	np_notes_release(&notes);
	if (rc < 0)
		return rc;
	mcp_answer_text(
		&answer, "what",
		"events of Chrome's trace viewer: ts and dur in us, args.dur_ns exact, pid as in "
		"processes; the whole file: npuprof timeline --slice");
	put_processes(&answer, doc);
	put_items(&answer, "events", doc, is_wanted_event, call);
	return mcp_answer_end(&answer, err);
}

static int write_history(const void *context, FILE *stream, struct np_err *err)
{
	return np_history_write(context, stream, err);
}

static int history(struct mcp_call *call, struct np_buf *buf, struct np_err *err)
{
	static const struct {
		const char *action;
		const char *list;
	} lists[] = { { "list", "runs" },
		      { "trend", "series" },
		      { "effects", "effects" },
		      { "advise", "machines" },
		      { "judge", "figures" } };
	const struct mcp_runs *runs = call->context;
	const char *action = text_of(call, "action");
	struct np_history_look look = { .store = runs->store,
					.action = action ? action : "list",
					.figure = text_of(call, "figure"),
					.job = text_of(call, "job"),
					.last = integer_of(call, "last", 0),
					.fail_on = text_of(call, "fail_on") };
	bool judges = strcmp(look.action, "judge") == 0;
	struct mcp_run *run = NULL;
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	const char *list = NULL;
	struct mcp_answer answer;
	int rc;

	if (!look.store || !*look.store)
		return np_fail(err, NP_E_NOTFOUND,
			       "no earlier runs are known: the server was started without a store "
			       "(npuprof mcp --store FILE)");
	rc = judges ? begin(call, &answer, buf, &run, err) : begin_answer(call, &answer, buf, err);
	if (rc == NP_OK && judges) {
		look.run = run->path;
		look.analysis = run->analysis;
	}
	if (rc == NP_OK)
		rc = make_document(&look, write_history, &doc, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < NP_COUNT(lists); i++)
		list = strcmp(lists[i].action, look.action) == 0 ? lists[i].list : list;
	if (!judges)
		mcp_answer_text(
			&answer, "units",
			"_ns: nanoseconds of a step, captured_ns: since 1970; share, margin, "
			"spread, gain_*: 0.05 is 5 percent; chance, error_rate: probabilities");
	while (np_json_next(doc, &entry)) {
		if (strcmp(entry.key, list) != 0)
			put_some(&answer, doc, entry.key);
	}
	put_items(&answer, list, np_json_member(doc, list), NULL, call);
	return mcp_answer_end(&answer, err);
}

/* --- the catalogue --------------------------------------------------------------------------- */

#define TEXT(name, what)    "\"" name "\":{\"type\":\"string\",\"description\":\"" what "\"}"
#define CHOICE(name, words) "\"" name "\":{\"type\":\"string\",\"enum\":[" words "]}"
#define RUN \
	TEXT("run", \
	     "path of a run, as list_runs gives it; may be left out where only one directory " \
	     "may be read and it is a run") \
	"," TEXT("phase", "of a job with several phases: which")
#define PAGE \
	TEXT("cursor", "next_cursor of the answer before, to go on") \
	"," \
	"\"max_bytes\":{\"type\":\"integer\",\"minimum\":2000,\"maximum\":200000," \
	"\"description\":\"how long the answer may be; 8000 by default\"}"
#define SCHEMA(properties, required) \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required \
	"],\"additionalProperties\":false}"

const struct mcp_tool mcp_tools[] = {
	{ "list_runs", "List runs",
	  "The runs (directories of profiles of one job) that can be asked about, found without reading "
	  "profiles. Begin here.",
	  SCHEMA(PAGE, ""), list_runs },
	{ "info", "What a run holds",
	  "Ranks, communicators, and for each analysis whether the data can feed it or which switch of the "
	  "profiler would have recorded what is missing.",
	  SCHEMA(RUN "," CHOICE("section", "\"analyses\",\"ranks\",\"groups\"") "," PAGE, ""),
	  info },
	{ "verdict", "Why is it slow",
	  "One sentence of who or what makes the job slow, why, and what its repair would save of the step; "
	  "withheld where the data cannot carry it. With the machines of the ranks that are named, where the "
	  "step goes, and what to ask next.",
	  SCHEMA(RUN "," PAGE, ""), verdict },
	{ "cluster_section", "A table of the analysis",
	  "Rows of one table of the merged run: steps, waits, charges, links, pipeline, critical path ... "
	  "Without section: which there are.",
	  SCHEMA(RUN "," TEXT(
			 "section",
			 "name of the table") ","
					      "\"rank\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"only rows of this rank\"}," PAGE,
		 ""),
	  cluster_section },
	{ "whatif", "What would a repair save",
	  "Replays the run with causes repaired. fixes are repaired together: rank:5, host:H, stage:S, "
	  "role:tp, optype:GLOB, group:NAME, link:A-B, host-gaps, between, frequency, experts, hide-comm, "
	  "all. Without fixes: what each single one would save.",
	  SCHEMA(RUN ",\"fixes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}," PAGE, ""),
	  whatif },
	{ "findings", "Tuning recommendations",
	  "What the rules find, with evidence, advice and gain, the largest first. With rule: all of its "
	  "evidence.",
	  SCHEMA(RUN "," TEXT("rule", "only of the rule with this id") "," CHOICE(
			 "severity", "\"high\",\"medium\",\"low\",\"info\"") "," PAGE,
		 ""),
	  findings },
	{ "explain_rule", "What a rule looks for",
	  "What a rule looks for, needs, counts and advises. Without rule: the ids of all.",
	  SCHEMA(TEXT("rule", "id, as findings give it") "," PAGE, ""), explain_rule },
	{ "compare", "What changed",
	  "Where the difference between two runs comes from: parts that sum to the difference of the step, "
	  "to the nanosecond. With fail_on (step>2%,comm>5%) also whether the gate trips.",
	  SCHEMA(RUN "," TEXT("base", "path of the run to compare with") "," CHOICE(
			 "section",
			 "\"waterfall\",\"ranks\",\"causes\"") "," TEXT("fail_on",
									"conditions of a gate") "," PAGE,
		 "\"base\""),
	  compare },
	{ "query", "SQL over the tables",
	  "One SELECT (SQLite) over the tables that cluster_section lists and the views of rules, read-only, "
	  "at most 10 s and 100000 rows.",
	  SCHEMA(RUN "," TEXT("sql", "the statement") "," PAGE, "\"sql\""), query },
	{ "timeline_slice", "The moment that shows it",
	  "Events of the ranks and the step that show the verdict, on one clock: kernels, operators as wait "
	  "and transfer, idle time by cause, arrows.",
	  SCHEMA(RUN "," CHOICE(
			 "category",
			 "\"step\",\"compute\",\"wait\",\"transfer\",\"idle\"") ","
										"\"min_ns\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"only events at least as "
										"long\"}," PAGE,
		 ""),
	  timeline_slice },
	{ "history", "Runs over time",
	  "What npuprof history keeps of earlier runs: list; trend (the course of a figure and when it changed); "
	  "effects (what roles and what machines cause); advise (which hosts or devices to drain first); judge (is "
	  "run as usual, against those of its job; with fail_on also whether the gate trips).",
	  SCHEMA(RUN
		 "," TEXT("fail_on", "conditions of a gate for judge, as step>2%") "," CHOICE("action", "\"list\",\"trend\",\"effects\",\"advise\",\"judge\"") "," TEXT(
			 "figure",
			 "of trend and effects: step, computing, comm/NAME/wait, rank:R/computing ...") "," TEXT("job",
														 "whose runs; the job of the newest run by default") ","
																				     "\"last\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"only the newest so many "
																				     "runs\"}," PAGE,
		 ""),
	  history },
};
const size_t mcp_tool_count = NP_COUNT(mcp_tools);

const char mcp_instructions[] =
	"npuprof analyses profiles of jobs on clusters of Ascend NPUs. list_runs says which runs there are; "
	"verdict says why one is slow and what a repair would save; whatif, cluster_section, findings and "
	"timeline_slice show why; compare explains the difference of two runs. Times are whole nanoseconds; "
	"null is unknown, never zero. trust and missing say what the data cannot carry: what is withheld is "
	"not to be guessed. Lists have pages: go on with next_cursor. Profiles are only read.";

static const char guide[] =
	"# npuprof for agents\n\n"
	"1. `list_runs`: take `run` of one of them; every other tool wants it.\n"
	"2. `verdict`: who or what makes the step long, and `recovered_ns`, what its repair saves; `next` says what to ask then. Kinds `withheld` "
	"and `not-profiled` are answers: say what is missing and the switch that records it.\n"
	"3. `whatif` with `fixes` such as `[\"rank:5\"]`: the step with that repaired. Several are repaired together.\n"
	"4. `findings`: what to change, with evidence; `explain_rule` for what a rule means.\n"
	"5. `cluster_section` without a section lists tables; `query` asks them in SQL, e.g. "
	"`SELECT rank, sum(ns) FROM np_partition WHERE leaf LIKE 'free/%' GROUP BY rank ORDER BY 2 DESC LIMIT 5`.\n"
	"6. `timeline_slice` with `category` `wait` and `min_ns`: the operators in which the others waited.\n"
	"7. `compare` with `base`: parts that sum to the difference, to the nanosecond.\n\n"
	"Figures: `_ns` nanoseconds per step unless the table says otherwise, `_bytes` bytes, `_pct` percent; null is "
	"unknown. A gain is what the replay of the whole job saves, not the sum of waits.\n";

const struct mcp_resource mcp_resources[] = {
	{ "npuprof://guide", "guide", "How to ask",
	  "From a symptom to the tool and back, and what figures mean", "text/markdown", guide },
};
const size_t mcp_resource_count = NP_COUNT(mcp_resources);
