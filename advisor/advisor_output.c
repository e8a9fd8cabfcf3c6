/* SPDX-License-Identifier: Apache-2.0 */
#include "advisor_report.h"

#include "npuprof/temporary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const advisor_formats[] = {
	[ADVISOR_TABLE] = "table", [ADVISOR_JSON] = "json",   [ADVISOR_CSV] = "csv",
	[ADVISOR_MD] = "md",       [ADVISOR_SARIF] = "sarif", NULL,
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

/* One file, under a temporary name until it is complete. */
static int write_file(const struct advisor_report *report, const char *directory,
		      enum advisor_format format, struct np_err *err)
{
	char *path = NULL;
	char *temporary;
	FILE *stream;
	int rc;

	if (asprintf(&path, "%s/advisor.%s", directory, advisor_formats[format]) < 0)
		return np_fail_nomem(err, directory);
	temporary = np_temporary_new(path);
	if (!temporary) {
		free(path);
		return np_fail_nomem(err, directory);
	}
	stream = fopen(temporary, "we");
	rc = stream ? advisor_print(report, format, stream, err)
		    : np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
	if (stream && fclose(stream) != 0 && rc == NP_OK)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
	if (rc == NP_OK && rename(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
	if (rc < 0 && stream)
		(void)unlink(temporary);
	np_temporary_free(temporary);
	free(path);
	return rc;
}

int advisor_write_files(const struct advisor_report *report, const char *directory,
			struct np_err *err)
{
	static const enum advisor_format files[] = { ADVISOR_JSON, ADVISOR_SARIF, ADVISOR_CSV,
						     ADVISOR_MD };
	int rc = NP_OK;

	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return np_fail(err, NP_E_IO, "cannot create '%s': %s", directory,
			       strerrordesc_np(errno));
	for (size_t i = 0; i < NP_COUNT(files) && rc == NP_OK; i++)
		rc = write_file(report, directory, files[i], err);
	return rc;
}
