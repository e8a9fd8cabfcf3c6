/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the place of a file that a command writes, and writes it there. */
#include "report_output.h"

#include "cli/command/output.h"
#include "cli/prepare/prepare.h"

#include "npuprof/dirs.h"

#include <stdio.h>

char *report_output(const struct np_common *common, const char *name)
{
	const char *given = common->output;
	const char *base;
	char *path = NULL;

	if (!given)
		return prepare_output(common, name);
	if (!common->phase_part || common->phase || strcmp(given, "-") == 0)
		return strdup(given);
	base = strrchr(given, '/') ? strrchr(given, '/') + 1 : given;
	if (asprintf(&path, "%.*s%s.%s", (int)(base - given), given, common->phase_part, base) < 0)
		return NULL;
	return path;
}

/* The output directory need not be there; what the user names must be. */
static int make_parent(const char *path, struct np_err *err)
{
	char *directory = strndup(path, (size_t)(strrchr(path, '/') - path));
	int rc = directory ? np_make_dirs(directory, err) : np_fail_nomem(err, "a directory");

	free(directory);
	return rc;
}

int report_output_write(const struct np_common *common, const char *path, np_file_writer *write,
			const void *context, struct np_err *err)
{
	int rc;

	if (strcmp(path, "-") == 0)
		return write(context, np_output_stream(), err);
	rc = common->output ? NP_OK : make_parent(path, err);
	if (rc == NP_OK)
		rc = np_write_file(path, write, context, err);
	if (rc == NP_OK && !common->quiet)
		(void)fprintf(np_output_stream(), "%s\n", path);
	return rc;
}
