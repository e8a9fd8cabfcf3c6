/* SPDX-License-Identifier: Apache-2.0 */
/* SARIF 2.1.0, for continuous integration and editors. */
#include <inttypes.h>

#include "npuprof/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/engine/data/frames.h"
#include "advisor_report.h"

static const char *level_of(enum adv_severity severity)
{
	switch (severity) {
	case SEVERITY_HIGH:
		return "error";
	case SEVERITY_MEDIUM:
		return "warning";
	default:
		return "note";
	}
}

/* Where it is not said, the language is American English. */
static const char *language_of(const struct advisor_report *report)
{
	return report->language == RULE_ZH ? "zh" : "en";
}

/*
 * Texts of SARIF write braces twice (3.11.5), and "[text](address)" in them is a
 * link (3.11.6): what comes from a profile must not become one.
 */
static void put_message(struct np_jsonout *out, const char *key, const char *text)
{
	struct np_buf safe = NP_BUF_INIT;

	for (; text && *text; text++) {
		np_buf_add_char(&safe, *text);
		if (*text == '{' || *text == '}')
			np_buf_add_char(&safe, *text);
		else if (text[0] == ']' && text[1] == '(')
			np_buf_add_char(&safe, ' ');
	}
	np_jsonout_object_line(out, key);
	np_jsonout_text(out, "text", safe.text ? safe.text : "");
	np_jsonout_end(out);
	np_buf_release(&safe);
}

/* Is this an address on the web, with nothing in it that addresses cannot have? */
static bool is_address(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-._~:/?#[]@!$&'()*+,;=%";

	return (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) &&
	       text[strspn(text, plain)] == '\0';
}

/* Append a name in a path: what a URI cannot hold is percent-encoded. */
static void add_segment(struct np_buf *uri, const char *name, size_t length)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-._~";

	for (size_t i = 0; i < length; i++) {
		if (name[i] && strchr(plain, name[i]))
			np_buf_add_char(uri, name[i]);
		else
			np_buf_printf(uri, "%%%02X", (unsigned char)name[i]);
	}
}

/* A path as a relative or absolute reference, without empty names and "." in it (3.10.2). */
static void put_uri(struct np_jsonout *out, const char *path, size_t length)
{
	struct np_buf uri = NP_BUF_INIT;
	bool absolute = length > 0 && path[0] == '/';
	size_t names = 0;

	np_buf_add(&uri, absolute ? "file://" : "");
	for (size_t at = 0, end; at < length; at = end + 1) {
		const char *slash = memchr(path + at, '/', length - at);

		end = slash ? (size_t)(slash - path) : length;
		if (end == at || (end == at + 1 && path[at] == '.'))
			continue;
		np_buf_add(&uri, absolute || names > 0 ? "/" : "");
		add_segment(&uri, path + at, end - at);
		names++;
	}
	if (names == 0)
		np_buf_add(&uri, absolute ? "/" : ".");
	np_jsonout_made(out, "uri", &uri);
	np_buf_release(&uri);
}

/* ".." after a link means something else to a URI than to the file system (3.10.2). */
static char *canonical_path(const char *path, size_t length)
{
	char *text = path[0] == '/' ? strndup(path, length) : NULL;
	char *found = text && strstr(text, "/..") ? realpath(text, NULL) : NULL;

	free(text);
	return found;
}

static void put_artifact(struct np_jsonout *out, const char *path, size_t length)
{
	char *canonical = canonical_path(path, length);

	np_jsonout_object_line(out, "artifactLocation");
	put_uri(out, canonical ? canonical : path, canonical ? strlen(canonical) : length);
	np_jsonout_end(out);
	free(canonical);
}

/* The user's line if a stack has it, else the profile. */
static void put_physical(struct np_jsonout *out, const struct advisor_report *report,
			 const struct adv_finding *finding)
{
	const char *stack = finding->shown->stack;
	size_t length = 0;
	size_t file = 0;
	int64_t line = 0;
	const char *frame = stack ? adv_user_frame(stack, &length) : NULL;

	np_jsonout_object(out, "physicalLocation");
	if (frame && adv_frame_position(frame, length, &file, &line)) {
		put_artifact(out, frame, file);
	} else {
		put_artifact(out, report->input, strlen(report->input));
		line = 1; /* code hosts show nothing without a line */
	}
	np_jsonout_object_line(out, "region");
	np_jsonout_integer(out, "startLine", line);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_logical(struct np_jsonout *out, const char *name, const char *kind)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "name", name);
	np_jsonout_text(out, "kind", kind);
	np_jsonout_end(out);
}

static void put_location(struct np_jsonout *out, const struct advisor_report *report,
			 const struct adv_finding *finding)
{
	struct np_buf where = NP_BUF_INIT;

	advisor_report_where(report, finding, &where);
	np_jsonout_array(out, "locations");
	np_jsonout_object(out, NULL);
	put_physical(out, report, finding);
	np_jsonout_array(out, "logicalLocations");
	put_logical(out, where.text, "module");
	if (finding->shown->op)
		put_logical(out, finding->shown->op, "function");
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_buf_release(&where);
}

static void put_result_text(struct np_jsonout *out, const struct adv_finding *finding)
{
	const struct adv_outcome *shown = finding->shown;
	struct np_buf text = NP_BUF_INIT;

	np_buf_add(&text, shown->message);
	for (size_t i = 0; i < shown->advice.count; i++)
		np_buf_printf(&text, "\n%s", shown->advice.item[i]);
	put_message(out, "message", text.text);
	np_buf_release(&text);
}

static const char *baseline_state(const struct adv_finding *finding)
{
	switch (finding->baseline) {
	case BASELINE_NEW:
		return "new";
	case BASELINE_WORSE:
		return "updated";
	case BASELINE_KNOWN:
		return "unchanged";
	default:
		return NULL;
	}
}

static int64_t rule_index(const struct adv_advice *advice, const struct adv_rule *rule)
{
	for (size_t i = 0; i < advice->rules.count; i++) {
		if (advice->rules.item[i].rule == rule)
			return (int64_t)i;
	}
	return -1;
}

static void put_properties(struct np_jsonout *out, const struct adv_finding *finding)
{
	np_jsonout_object_line(out, "properties");
	np_jsonout_text(out, "severity", adv_severity_name(finding->severity));
	np_jsonout_integer(out, "gain_ns", finding->gain);
	np_jsonout_real(out, "gain_pct", finding->gain_percent);
	np_jsonout_text(out, "gain_bound", adv_bound_name(finding->bound));
	np_jsonout_real(out, "confidence", finding->shown->confidence);
	np_jsonout_end(out);
}

/* Also of those that are not suppressed: all results of a run have the list, or none (3.27.23). */
static void put_suppressions(struct np_jsonout *out, const struct adv_finding *finding)
{
	np_jsonout_array(out, "suppressions");
	if (finding->suppressed) {
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "kind", "external");
		np_jsonout_text(out, "justification", finding->suppressed);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_result(struct np_jsonout *out, const struct advisor_report *report,
		       const struct adv_finding *finding)
{
	char fingerprint[17];

	advisor_report_fingerprint(finding, fingerprint);
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "ruleId", finding->rule->id);
	np_jsonout_integer(out, "ruleIndex", rule_index(report->advice, finding->rule));
	np_jsonout_text(out, "level", level_of(finding->severity));
	put_result_text(out, finding);
	put_location(out, report, finding);
	np_jsonout_object_line(out, "partialFingerprints");
	np_jsonout_text(out, "npuprof/v1", fingerprint);
	/* The only one that GitHub reads. */
	np_jsonout_text(out, "primaryLocationLineHash", fingerprint);
	np_jsonout_end(out);
	if (!isnan(finding->gain_percent))
		np_jsonout_real(out, "rank", fmin(finding->gain_percent, 100));
	if (baseline_state(finding))
		np_jsonout_text(out, "baselineState", baseline_state(finding));
	put_suppressions(out, finding);
	put_properties(out, finding);
	np_jsonout_end(out);
}

/* Each once, as SARIF wants it. */
static void put_tags(struct np_jsonout *out, const struct adv_rule *rule)
{
	np_jsonout_array_line(out, "tags");
	np_jsonout_text(out, NULL, rule->dimension);
	for (size_t i = 0; i < rule->tags.count; i++) {
		bool known = strcmp(rule->tags.item[i], rule->dimension) == 0;

		for (size_t j = 0; j < i && !known; j++)
			known = strcmp(rule->tags.item[i], rule->tags.item[j]) == 0;
		if (!known)
			np_jsonout_text(out, NULL, rule->tags.item[i]);
	}
	np_jsonout_end(out);
}

/* What code hosts show beside a finding: the description, and where there is more. */
static void put_help(struct np_jsonout *out, const struct adv_rule *rule, const char *about)
{
	struct np_buf text = NP_BUF_INIT;

	np_buf_add(&text, about);
	for (size_t i = 0; i < rule->docs.count; i++) {
		if (is_address(rule->docs.item[i]))
			np_buf_printf(&text, "\n%s", rule->docs.item[i]);
	}
	put_message(out, "help", text.text);
	np_buf_release(&text);
}

static void put_rule(struct np_jsonout *out, const struct advisor_report *report,
		     const struct adv_rule *rule)
{
	const char *title = adv_rule_text_in(rule->title, report->language);
	const char *about = adv_rule_text_in(rule->about, report->language);

	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "id", rule->id);
	put_message(out, "shortDescription", title);
	put_message(out, "fullDescription", about ? about : title);
	put_help(out, rule, about ? about : title);
	if (rule->docs.count > 0 && is_address(rule->docs.item[0]))
		np_jsonout_text(out, "helpUri", rule->docs.item[0]);
	np_jsonout_object_line(out, "defaultConfiguration");
	np_jsonout_text(out, "level", level_of(rule->otherwise));
	np_jsonout_end(out);
	np_jsonout_object_line(out, "properties");
	put_tags(out, rule);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_tool(struct np_jsonout *out, const struct advisor_report *report)
{
	np_jsonout_object(out, "tool");
	np_jsonout_object(out, "driver");
	np_jsonout_text(out, "name", "npuprof");
	np_jsonout_text(out, "version", report->version);
	np_jsonout_text(out, "language", language_of(report));
	np_jsonout_array(out, "rules");
	for (size_t i = 0; i < report->advice->rules.count; i++)
		put_rule(out, report, report->advice->rules.item[i].rule);
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* The place of a notification; its line and column are 0 where they are not known. */
static void put_place(struct np_jsonout *out, const char *file, size_t line, size_t column)
{
	np_jsonout_array(out, "locations");
	np_jsonout_object(out, NULL);
	np_jsonout_object(out, "physicalLocation");
	put_artifact(out, file, strlen(file));
	if (line > 0) {
		np_jsonout_object_line(out, "region");
		np_jsonout_integer(out, "startLine", (int64_t)line);
		if (column > 0)
			np_jsonout_integer(out, "startColumn", (int64_t)column);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_problem(struct np_jsonout *out, const struct adv_problem *problem)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "level", problem->warning ? "warning" : "error");
	put_message(out, "message", problem->text);
	if (problem->file)
		put_place(out, problem->file, problem->line, problem->column);
	if (problem->rule) {
		np_jsonout_object_line(out, "associatedRule");
		np_jsonout_text(out, "id", problem->rule);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* What could not be used: with level "error" the whole run would count as failed. */
static void put_notes(struct np_jsonout *out, const struct np_notes *notes)
{
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];
		struct np_buf text = NP_BUF_INIT;

		if (note->rank != NP_NO_RANK)
			np_buf_printf(&text, "rank %" PRId32 ": ", note->rank);
		if (note->rank == NP_NO_RANK || strcmp(note->what, "rank") != 0)
			np_buf_printf(&text, "%s: ", note->what);
		np_buf_add(&text, note->reason);
		np_jsonout_object(out, NULL);
		np_jsonout_text(out, "level", note->kind == NP_NOTE_SKIPPED ? "warning" : "note");
		put_message(out, "message", text.text);
		if (*note->path)
			put_place(out, note->path, 0, 0);
		np_jsonout_end(out);
		np_buf_release(&text);
	}
}

static void put_rule_status(struct np_jsonout *out, const struct adv_rule_report *rule)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "level", rule->status == STATUS_ERROR ? "error" : "note");
	put_message(out, "message", rule->reason);
	np_jsonout_object_line(out, "associatedRule");
	np_jsonout_text(out, "id", rule->rule->id);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* A run with a notification of level "error" counts as failed (3.20.21, 3.20.22). */
static bool is_successful(const struct advisor_report *report)
{
	for (size_t i = 0; i < report->advice->rules.count; i++) {
		if (report->advice->rules.item[i].status == STATUS_ERROR)
			return false;
	}
	return report->library->problems.errors == 0;
}

/* What is wrong with rule files, what could not be used and what was not checked. */
static void put_invocation(struct np_jsonout *out, const struct advisor_report *report)
{
	const struct adv_advice *advice = report->advice;
	const struct adv_problems *problems = &report->library->problems;

	np_jsonout_array(out, "invocations");
	np_jsonout_object(out, NULL);
	np_jsonout_bool(out, "executionSuccessful", is_successful(report));
	np_jsonout_array(out, "toolConfigurationNotifications");
	for (size_t i = 0; i < problems->list.count; i++)
		put_problem(out, &problems->list.item[i]);
	np_jsonout_end(out);
	np_jsonout_array(out, "toolExecutionNotifications");
	put_notes(out, &advice->analysis->run->notes);
	put_notes(out, &advice->notes);
	for (size_t i = 0; i < advice->rules.count; i++) {
		const struct adv_rule_report *rule = &advice->rules.item[i];

		if (rule->status == STATUS_SKIPPED || rule->status == STATUS_ERROR)
			put_rule_status(out, rule);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

int advisor_report_sarif(const struct advisor_report *report, FILE *stream, struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	np_jsonout_text(&out, "version", "2.1.0");
	np_jsonout_array(&out, "runs");
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "language", language_of(report));
	np_jsonout_text(&out, "columnKind", "unicodeCodePoints"); /* of rule files */
	put_tool(&out, report);
	put_invocation(&out, report);
	np_jsonout_array(&out, "results");
	for (size_t i = 0; i < report->advice->findings.count; i++)
		put_result(&out, report, &report->advice->findings.item[i]);
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}
