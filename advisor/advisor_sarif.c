/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "advisor_report.h"
#include "frames.h"

/* SARIF 2.1.0, for continuous integration and editors. */

static const char *level_of(enum severity severity)
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

/* A path as a relative or absolute reference: what a URI cannot hold is percent-encoded. */
static void put_uri(struct np_jsonout *out, const char *path, size_t length)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-._~/";
	struct np_buf uri = NP_BUF_INIT;

	np_buf_add(&uri, length > 0 && path[0] == '/' ? "file://" : "");
	for (size_t i = 0; i < length; i++) {
		if (path[i] && strchr(plain, path[i]))
			np_buf_add_char(&uri, path[i]);
		else
			np_buf_printf(&uri, "%%%02X", (unsigned char)path[i]);
	}
	np_jsonout_text(out, "uri", uri.text);
	np_buf_release(&uri);
}

static void put_artifact(struct np_jsonout *out, const char *path, size_t length)
{
	np_jsonout_object_line(out, "artifactLocation");
	put_uri(out, path, length);
	np_jsonout_end(out);
}

/* The user's line if a stack tells it, else the profile. */
static void put_physical(struct np_jsonout *out, const struct advisor_report *report,
			 const struct finding *finding)
{
	const char *stack = finding->shown->stack;
	size_t length = 0;
	size_t file = 0;
	int64_t line = 0;
	const char *frame = stack ? user_frame(stack, &length) : NULL;

	np_jsonout_object(out, "physicalLocation");
	if (frame && frame_place(frame, length, &file, &line)) {
		put_artifact(out, frame, file);
		np_jsonout_object_line(out, "region");
		np_jsonout_integer(out, "startLine", line);
		np_jsonout_end(out);
	} else {
		put_artifact(out, report->input, strlen(report->input));
	}
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
			 const struct finding *finding)
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

static void put_result_text(struct np_jsonout *out, const struct finding *finding)
{
	const struct outcome *shown = finding->shown;
	struct np_buf text = NP_BUF_INIT;

	np_buf_add(&text, shown->message);
	for (size_t i = 0; i < shown->advice.count; i++)
		np_buf_printf(&text, "\n%s", shown->advice.item[i]);
	put_message(out, "message", text.text);
	np_buf_release(&text);
}

static const char *baseline_state(const struct finding *finding)
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

static int64_t rule_index(const struct advice *advice, const struct rule *rule)
{
	for (size_t i = 0; i < advice->rules.count; i++) {
		if (advice->rules.item[i].rule == rule)
			return (int64_t)i;
	}
	return -1;
}

static void put_properties(struct np_jsonout *out, const struct finding *finding)
{
	np_jsonout_object_line(out, "properties");
	np_jsonout_text(out, "severity", severity_name(finding->severity));
	np_jsonout_integer(out, "gain_ns", finding->gain);
	np_jsonout_real(out, "gain_pct", finding->gain_percent);
	np_jsonout_text(out, "gain_bound", bound_name(finding->bound));
	np_jsonout_real(out, "confidence", finding->shown->confidence);
	np_jsonout_end(out);
}

static void put_result(struct np_jsonout *out, const struct advisor_report *report,
		       const struct finding *finding)
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
	np_jsonout_end(out);
	if (!isnan(finding->gain_percent))
		np_jsonout_real(out, "rank", fmin(finding->gain_percent, 100));
	if (baseline_state(finding))
		np_jsonout_text(out, "baselineState", baseline_state(finding));
	if (finding->suppressed) {
		np_jsonout_array(out, "suppressions");
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "kind", "external");
		np_jsonout_text(out, "justification", finding->suppressed);
		np_jsonout_end(out);
		np_jsonout_end(out);
	}
	put_properties(out, finding);
	np_jsonout_end(out);
}

/* Each once, as SARIF wants it. */
static void put_tags(struct np_jsonout *out, const struct rule *rule)
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

static void put_rule(struct np_jsonout *out, const struct advisor_report *report,
		     const struct rule *rule)
{
	const char *title = rule_text_in(rule->title, report->language);
	const char *about = rule_text_in(rule->about, report->language);

	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "id", rule->id);
	put_message(out, "shortDescription", title);
	put_message(out, "fullDescription", about ? about : title);
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
	np_jsonout_array(out, "rules");
	for (size_t i = 0; i < report->advice->rules.count; i++)
		put_rule(out, report, report->advice->rules.item[i].rule);
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_problem(struct np_jsonout *out, const struct problem *problem)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "level", problem->warning ? "warning" : "error");
	put_message(out, "message", problem->text);
	np_jsonout_array(out, "locations");
	np_jsonout_object(out, NULL);
	np_jsonout_object(out, "physicalLocation");
	put_artifact(out, problem->file ? problem->file : "",
		     problem->file ? strlen(problem->file) : 0);
	if (problem->line > 0) {
		np_jsonout_object_line(out, "region");
		np_jsonout_integer(out, "startLine", (int64_t)problem->line);
		if (problem->column > 0)
			np_jsonout_integer(out, "startColumn", (int64_t)problem->column);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_end(out);
	if (problem->rule) {
		np_jsonout_object_line(out, "associatedRule");
		np_jsonout_text(out, "id", problem->rule);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* What is wrong with rule files, and what was not checked, as notifications of the run. */
static void put_invocation(struct np_jsonout *out, const struct advisor_report *report)
{
	const struct problems *problems = &report->library->problems;

	np_jsonout_array(out, "invocations");
	np_jsonout_object(out, NULL);
	np_jsonout_bool(out, "executionSuccessful", true);
	np_jsonout_array(out, "toolConfigurationNotifications");
	for (size_t i = 0; i < problems->list.count; i++)
		put_problem(out, &problems->list.item[i]);
	np_jsonout_end(out);
	np_jsonout_array(out, "toolExecutionNotifications");
	for (size_t i = 0; i < report->advice->rules.count; i++) {
		const struct rule_report *rule = &report->advice->rules.item[i];

		if (rule->status != STATUS_SKIPPED && rule->status != STATUS_ERROR)
			continue;
		np_jsonout_object(out, NULL);
		np_jsonout_text(out, "level", rule->status == STATUS_ERROR ? "error" : "note");
		put_message(out, "message", rule->reason);
		np_jsonout_object_line(out, "associatedRule");
		np_jsonout_text(out, "id", rule->rule->id);
		np_jsonout_end(out);
		np_jsonout_end(out);
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
