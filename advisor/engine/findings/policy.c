/* SPDX-License-Identifier: Apache-2.0 */
/* Which findings count: suppressions, the baseline and the gate. */
#include "policy.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npuprof/pattern.h"

#define FILE_LIMIT ((size_t)16 << 20)

void adv_suppressions_release(struct adv_suppressions *suppressions)
{
	np_json_freep(&suppressions->doc);
}

static void today(char ret[11])
{
	time_t now = time(NULL);
	struct tm date;

	if (!gmtime_r(&now, &date) || strftime(ret, 11, "%Y-%m-%d", &date) == 0)
		(void)snprintf(ret, 11, "0000-00-00");
}

/* A day of the calendar that can be compared as text. */
static bool is_date(const char *text)
{
	static const char form[] = "dddd-dd-dd";
	struct tm day = { .tm_hour = 12 };
	struct tm usual;

	for (size_t i = 0; i < sizeof(form); i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !digit : text[i] != form[i])
			return false;
	}
	day.tm_year = (int)strtol(text, NULL, 10) - 1900;
	day.tm_mon = (int)strtol(text + 5, NULL, 10) - 1;
	day.tm_mday = (int)strtol(text + 8, NULL, 10);
	/* February 30 is March 2. */
	usual = day;
	return timegm(&usual) != (time_t)-1 && usual.tm_mday == day.tm_mday &&
	       usual.tm_mon == day.tm_mon;
}

/* Does every row of the evidence have a value in the column that matches? */
static int column_matches(const struct adv_finding *finding, const char *name, const char *regex,
			  bool *ret, struct np_err *err)
{
	NP_CLEANUP(np_pattern_freep) struct np_pattern *pattern = NULL;
	int rc = np_pattern_compile(regex, strlen(regex), 0, &pattern, NULL, err);
	size_t rows = 0;

	*ret = true;
	for (size_t o = 0; o < finding->outcomes.count && rc == NP_OK && *ret; o++) {
		const struct adv_rows *evidence = &finding->outcomes.item[o]->evidence;
		size_t column = adv_rows_column(evidence, name);

		for (size_t i = 0; i < adv_rows_count(evidence) && rc == NP_OK && *ret; i++) {
			struct np_buf text = NP_BUF_INIT;

			rows++;
			if (column == SIZE_MAX) {
				*ret = false;
				break;
			}
			adv_cell_format(&text, adv_rows_cell(evidence, i, column));
			rc = np_pattern_match(pattern, text.text, text.length, 0, ret, err);
			np_buf_release(&text);
		}
	}
	*ret = *ret && rows > 0;
	return rc;
}

static int covers(const struct np_json *entry, const struct adv_finding *finding, bool *ret,
		  struct np_err *err)
{
	const char *rule = np_json_text(np_json_member(entry, "rule"));
	struct np_json_entry where = NP_JSON_ENTRY_INIT;
	int rc = NP_OK;

	*ret = fnmatch(rule, finding->rule->id, 0) == 0;
	while (rc == NP_OK && *ret && np_json_next(np_json_member(entry, "where"), &where)) {
		const char *regex = np_json_text(where.value);

		if (!regex)
			return np_fail(err, NP_E_FORMAT, "the pattern of '%s' is not a text",
				       where.key);
		rc = column_matches(finding, where.key, regex, ret, err);
	}
	return rc;
}

static int check_entry(const struct np_json *entry, struct np_err *err)
{
	static const char *const keys[] = { "rule", "where", "reason", "until" };
	const char *reason = np_json_text(np_json_member(entry, "reason"));
	const char *until = np_json_text(np_json_member(entry, "until"));
	struct np_json_entry field = NP_JSON_ENTRY_INIT;

	while (np_json_next(entry, &field)) {
		size_t i = 0;

		while (i < NP_COUNT(keys) && strcmp(keys[i], field.key) != 0)
			i++;
		if (i == NP_COUNT(keys))
			return np_fail(err, NP_E_FORMAT, "unknown field '%s'", field.key);
	}
	if (!np_json_text(np_json_member(entry, "rule")))
		return np_fail(err, NP_E_FORMAT, "it names no 'rule'");
	if (!reason || !*reason)
		return np_fail(err, NP_E_FORMAT, "it has no 'reason'");
	if (np_json_member(entry, "until") && (!until || !is_date(until)))
		return np_fail(err, NP_E_FORMAT, "'until' is not a date like 2026-12-31");
	return NP_OK;
}

static int apply_entry(const struct np_json *entry, struct adv_advice *advice, size_t *ret_covered,
		       struct np_err *err)
{
	*ret_covered = 0;
	for (size_t i = 0; i < advice->findings.count; i++) {
		struct adv_finding *finding = &advice->findings.item[i];
		bool covered = false;
		int rc = covers(entry, finding, &covered, err);

		if (rc < 0)
			return rc;
		*ret_covered += covered;
		if (covered && !finding->suppressed)
			finding->suppressed = np_json_text(np_json_member(entry, "reason"));
	}
	return NP_OK;
}

static bool is_rule(const struct adv_rule_library *library, const char *glob)
{
	for (size_t i = 0; i < library->rules.count; i++) {
		if (fnmatch(glob, library->rules.item[i]->id, 0) == 0)
			return true;
	}
	return false;
}

static bool was_checked(const struct adv_advice *advice, const char *glob)
{
	for (size_t i = 0; i < advice->rules.count; i++) {
		const struct adv_rule_report *report = &advice->rules.item[i];

		if ((report->status == STATUS_FIRED || report->status == STATUS_CLEAR) &&
		    fnmatch(glob, report->rule->id, 0) == 0)
			return true;
	}
	return false;
}

/* One that covers nothing, unless its rules were not asked for or could not be checked here. */
static void note_needless(struct adv_advice *advice, const struct adv_rule_library *library,
			  const char *path, const struct np_json *entry)
{
	const char *rule = np_json_text(np_json_member(entry, "rule"));
	const char *reason = np_json_text(np_json_member(entry, "reason"));

	if (!is_rule(library, rule))
		np_note_add(&advice->notes, NP_NOTE_WARNING, NP_NO_RANK, path, "suppression",
			    "of '%s' covers no finding, no rule has this name: %s", rule, reason);
	else if (was_checked(advice, rule))
		np_note_add(&advice->notes, NP_NOTE_WARNING, NP_NO_RANK, path, "suppression",
			    "of '%s' covers no finding: %s", rule, reason);
}

/* Apply one that is in force, and note the others. */
static int apply_dated(const struct np_json *entry, const char *date, const char *path,
		       const struct adv_rule_library *library, struct adv_advice *advice,
		       struct np_err *err)
{
	const char *until = np_json_text(np_json_member(entry, "until"));
	size_t covered = 0;
	int rc;

	if (until && strcmp(until, date) < 0) {
		np_note_add(&advice->notes, NP_NOTE_WARNING, NP_NO_RANK, path, "suppression",
			    "of '%s' expired on %s: %s",
			    np_json_text(np_json_member(entry, "rule")), until,
			    np_json_text(np_json_member(entry, "reason")));
		return NP_OK;
	}
	rc = apply_entry(entry, advice, &covered, err);
	if (rc == NP_OK && covered == 0)
		note_needless(advice, library, path, entry);
	return rc;
}

/* A rule whose findings are all suppressed is. */
static void mark_rules(struct adv_advice *advice)
{
	for (size_t r = 0; r < advice->rules.count; r++) {
		struct adv_rule_report *report = &advice->rules.item[r];
		const char *reason = NULL;
		bool all = true;

		for (size_t i = 0; i < advice->findings.count; i++) {
			const struct adv_finding *finding = &advice->findings.item[i];

			if (finding->rule != report->rule)
				continue;
			all = all && finding->suppressed;
			reason = finding->suppressed;
		}
		if (report->status == STATUS_FIRED && all && reason) {
			report->status = STATUS_SUPPRESSED;
			(void)snprintf(report->reason, sizeof(report->reason), "%s", reason);
		}
	}
}

/* What is wrong with an entry, and which one it is. Always negative. */
static int wrong_entry(const struct adv_suppressions *suppressions, size_t index,
		       const struct np_err *why, struct np_err *err)
{
	return np_fail(err, why->code, "%s: suppression %zu: %s", suppressions->path, index + 1,
		       why->text);
}

int adv_suppressions_read(struct adv_suppressions *suppressions, const char *path,
			  struct np_err *err)
{
	int rc = np_json_read_file(path, FILE_LIMIT, &suppressions->doc, err);

	suppressions->path = path;
	if (rc == NP_OK && np_json_type(suppressions->doc) != NP_JSON_ARRAY)
		rc = np_fail(err, NP_E_FORMAT, "%s: suppressions are an array", path);
	for (size_t i = 0; rc == NP_OK && i < np_json_count(suppressions->doc); i++) {
		struct np_err why = NP_ERR_INIT;

		if (check_entry(np_json_item(suppressions->doc, i), &why) < 0)
			rc = wrong_entry(suppressions, i, &why, err);
	}
	return rc;
}

int adv_suppressions_apply(const struct adv_suppressions *suppressions,
			   const struct adv_rule_library *library, struct adv_advice *advice,
			   struct np_err *err)
{
	char date[11];
	int rc = NP_OK;

	today(date);
	for (size_t i = 0; rc == NP_OK && i < np_json_count(suppressions->doc); i++) {
		struct np_err why = NP_ERR_INIT;

		if (apply_dated(np_json_item(suppressions->doc, i), date, suppressions->path,
				library, advice, &why) < 0)
			rc = wrong_entry(suppressions, i, &why, err);
	}
	mark_rules(advice);
	adv_advice_total(advice);
	return rc;
}

/* Severity of a name; info for what is none. */
static enum adv_severity severity_of(const char *name)
{
	for (int i = SEVERITY_COUNT - 1; i > 0; i--) {
		if (name && strcmp(name, adv_severity_name((enum adv_severity)i)) == 0)
			return (enum adv_severity)i;
	}
	return SEVERITY_INFO;
}

/* A gain counts as worse when it is more than a tenth and half a percent of the step larger. */
static bool is_worse(const struct adv_finding *finding, const struct np_json *before)
{
	double percent;

	if (finding->severity > severity_of(np_json_text(np_json_member(before, "severity"))))
		return true;
	return np_json_real(np_json_member(before, "gain_pct"), &percent) &&
	       finding->gain_percent > percent * 1.1 + 0.5;
}

static const struct np_json *find_before(const struct np_json *findings,
					 const struct adv_finding *finding)
{
	char fingerprint[17];

	(void)snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, finding->fingerprint);
	for (size_t i = 0; i < np_json_count(findings); i++) {
		const struct np_json *one = np_json_item(findings, i);
		const char *text = np_json_text(np_json_member(one, "fingerprint"));

		if (text && strcmp(text, fingerprint) == 0)
			return one;
	}
	return NULL;
}

int adv_baseline_read(const char *path, struct np_json **ret, struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *schema;
	int rc = np_json_read_file(path, FILE_LIMIT, &doc, err);

	if (rc < 0)
		return rc;
	schema = np_json_text(np_json_member(doc, "schema"));
	if (!schema || strcmp(schema, "npuprof.advisor/1") != 0)
		return np_fail(err, NP_E_FORMAT,
			       "%s: not a result of npuprof advisor -f json (npuprof.advisor/1)",
			       path);
	*ret = NP_STEAL(doc);
	return NP_OK;
}

void adv_baseline_apply(const struct np_json *baseline, struct adv_advice *advice)
{
	const struct np_json *findings = np_json_member(baseline, "findings");

	for (size_t i = 0; i < advice->findings.count; i++) {
		struct adv_finding *finding = &advice->findings.item[i];
		const struct np_json *before = find_before(findings, finding);

		finding->baseline = !before                     ? BASELINE_NEW
				    : is_worse(finding, before) ? BASELINE_WORSE
								: BASELINE_KNOWN;
	}
}

int adv_gate_parse(const char *text, struct adv_gate *ret, struct np_err *err)
{
	static const char gain[] = "gain=";
	char *end;

	*ret = (struct adv_gate){ .set = true, .severity = severity_of(text) };
	if (ret->severity != SEVERITY_INFO)
		return NP_OK;
	if (strncmp(text, gain, sizeof(gain) - 1) == 0) {
		ret->by_gain = true;
		ret->percent = strtod(text + sizeof(gain) - 1, &end);
		if (end != text + sizeof(gain) - 1 && *end == '\0' && ret->percent >= 0 &&
		    ret->percent <= 100)
			return NP_OK;
	}
	return np_fail(err, NP_E_USAGE,
		       "'--fail-on' needs high, medium, low or gain=PERCENT, not '%s'", text);
}

static bool finding_counts(const struct adv_finding *finding)
{
	return !finding->suppressed && finding->baseline != BASELINE_KNOWN;
}

/* Gains of one group count once here, too: the largest of it comes first. */
static double gain_that_counts(const struct adv_advice *advice)
{
	double sum = 0;

	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];
		bool first = true;

		if (!finding_counts(finding) || isnan(finding->gain_percent))
			continue;
		for (size_t j = 0; j < i && finding->rule->group; j++) {
			const struct adv_finding *other = &advice->findings.item[j];

			if (finding_counts(other) && other->rule->group &&
			    strcmp(other->rule->group, finding->rule->group) == 0)
				first = false;
		}
		if (first)
			sum += finding->gain_percent;
	}
	return fmin(sum, 100);
}

size_t adv_gate_tripped(const struct adv_gate *gate, const struct adv_advice *advice)
{
	size_t count = 0;

	if (!gate->set)
		return 0;
	if (gate->by_gain)
		return gain_that_counts(advice) >= gate->percent && gate->percent > 0 ? 1 : 0;
	for (size_t i = 0; i < advice->findings.count; i++) {
		const struct adv_finding *finding = &advice->findings.item[i];

		count += finding_counts(finding) && finding->severity >= gate->severity;
	}
	return count;
}
