/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_REPORT_H
#define NP_ADVISOR_REPORT_H

#include <stdio.h>

#include "npuprof/buf.h"
#include "npuprof/jsonout.h"

#include "advisor/engine/findings/findings.h"

/* What the advisor prints, in each of its forms. */
struct advisor_report {
	const struct adv_advice *advice;
	const struct adv_rule_library *library; /* for its problems */
	const char *input;
	const char *version;
	enum adv_rule_language language;
	size_t width;
	bool color;
	size_t evidence_rows; /* in JSON, of a finding; 0: all that its rule allows */
	bool verbose;         /* all advice, and evidence */
};

int advisor_report_screen(const struct advisor_report *report, struct np_buf *buf,
			  struct np_err *err) NP_MUST_USE;
int advisor_report_markdown(const struct advisor_report *report, struct np_buf *buf,
			    struct np_err *err) NP_MUST_USE;
/* The members "total", "findings" and "rules" of the JSON, and what is wrong with rules. */
int advisor_put_findings(struct np_jsonout *out, const struct advisor_report *report,
			 struct np_err *err) NP_MUST_USE;
int advisor_report_json(const struct advisor_report *report, FILE *stream, struct np_err *err)
	NP_MUST_USE;
int advisor_report_sarif(const struct advisor_report *report, FILE *stream, struct np_err *err)
	NP_MUST_USE;
int advisor_report_csv(const struct advisor_report *report, FILE *stream, struct np_err *err)
	NP_MUST_USE;

/* "0-3,8 (4 of 64)": append where a finding is. */
void advisor_report_where(const struct advisor_report *report, const struct adv_finding *finding,
			  struct np_buf *buf);

/* "1234567890abcdef" */
void advisor_report_fingerprint(const struct adv_finding *finding, char ret[17]);

enum advisor_format {
	ADVISOR_TABLE,
	ADVISOR_JSON,
	ADVISOR_CSV,
	ADVISOR_MD,
	ADVISOR_SARIF,
	ADVISOR_HTML, /* the page, which advisor_page.h has */
};

/* Their names, and NULL. */
extern const char *const advisor_formats[];

/* Print in a format. */
int advisor_print(const struct advisor_report *report, enum advisor_format format, FILE *stream,
		  struct np_err *err) NP_MUST_USE;

/* Write advisor.json … into a directory, which is made if it is not there. */
int advisor_write_files(const struct advisor_report *report, const char *directory,
			struct np_err *err) NP_MUST_USE;

/* Say on standard error what is wrong with rules, a line for each. */
void say_problems(const struct adv_problems *problems);

#endif /* NP_ADVISOR_REPORT_H */
