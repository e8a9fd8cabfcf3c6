/* SPDX-License-Identifier: Apache-2.0 */
/* Where the result of the advisor goes: formats, files, and problems on standard error. */
#include "advisor_report.h"

#include <stdlib.h>

#include "npuprof/lock.h"
#include "npuprof/temporary.h"

#include "cli/command/output.h"

void say_problems(const struct adv_problems *problems)
{
	for (size_t i = 0; i < problems->list.count; i++) {
		struct np_buf line = NP_BUF_INIT;

		adv_problem_format(&line, &problems->list.item[i]);
		(void)np_report(0, "%s", line.text);
		np_buf_release(&line);
	}
}

const char *const advisor_formats[] = {
	[ADVISOR_TABLE] = "table",
	[ADVISOR_JSON] = "json",
	[ADVISOR_CSV] = "csv",
	[ADVISOR_MD] = "md",
	[ADVISOR_SARIF] = "sarif",
	[ADVISOR_HTML] = "html",
	NULL,
};

static int print_text(const struct advisor_report *report,
		      int (*form)(const struct advisor_report *, struct np_buf *, struct np_err *),
		      FILE *stream, struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	int rc = form(report, &buf, err);

	if (rc == NP_OK && fwrite(buf.text, 1, buf.length, stream) != buf.length)
		rc = np_fail(err, NP_E_IO, "cannot write the result");
	np_buf_release(&buf);
	return rc;
}

int advisor_print(const struct advisor_report *report, enum advisor_format format, FILE *stream,
		  struct np_err *err)
{
	switch (format) {
	case ADVISOR_JSON:
		return advisor_report_json(report, stream, err);
	case ADVISOR_SARIF:
		return advisor_report_sarif(report, stream, err);
	case ADVISOR_CSV:
		return advisor_report_csv(report, stream, err);
	case ADVISOR_MD:
		return print_text(report, advisor_report_markdown, stream, err);
	case ADVISOR_TABLE:
	default:
		return print_text(report, advisor_report_screen, stream, err);
	}
}

struct output {
	const struct advisor_report *report;
	enum advisor_format format;
};

static int write_output(const void *context, FILE *stream, struct np_err *err)
{
	const struct output *output = context;

	return advisor_print(output->report, output->format, stream, err);
}

static int write_file(const struct advisor_report *report, const char *directory,
		      enum advisor_format format, struct np_err *err)
{
	const struct output output = { report, format };
	char *path;
	int rc;

	if (asprintf(&path, "%s/advisor.%s", directory, advisor_formats[format]) < 0)
		return np_fail_nomem(err, directory);
	rc = np_write_file(path, write_output, &output, err);
	free(path);
	return rc;
}

int advisor_write_files(const struct advisor_report *report, const char *directory,
			struct np_err *err)
{
	static const enum advisor_format files[] = { ADVISOR_JSON, ADVISOR_SARIF, ADVISOR_CSV,
						     ADVISOR_MD };
	int rc = np_make_output(directory, err);

	for (size_t i = 0; i < NP_COUNT(files) && rc == NP_OK; i++)
		rc = write_file(report, directory, files[i], err);
	return rc;
}
