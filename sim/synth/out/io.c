/* SPDX-License-Identifier: Apache-2.0 */
/* Makes directories, opens small JSON files and describes failures of the file system. */
#include "io.h"

#include "json_file.h"

#include "npuprof/buf.h"

#include <errno.h>
#include <sys/stat.h>

int syn_io_fail(struct np_err *err, const char *verb, const char *path)
{
	char reason[128];

	return np_fail(err, NP_E_IO, "cannot %s '%s': %s", verb, path,
		       strerror_r(errno, reason, sizeof(reason)));
}

int syn_make_dirs(const char *path, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf part = NP_BUF_INIT;

	for (const char *c = path; *c; c++) {
		bool ends = c[1] == '/' || c[1] == '\0';

		np_buf_add_char(&part, *c);
		if (!ends || *c == '/' || part.failed)
			continue;
		if (mkdir(part.text, 0777) != 0 && errno != EEXIST)
			return syn_io_fail(err, "make directory", part.text);
	}
	return np_buf_check(&part, err);
}

int syn_json_open(struct syn_json_file *json, const char *dir, const char *name, struct np_err *err)
{
	int rc;

	json->path = NP_BUF_INIT;
	np_buf_printf(&json->path, "%s/%s", dir, name);
	rc = np_buf_check(&json->path, err);
	json->file = rc == NP_OK ? fopen(json->path.text, "w") : NULL;
	if (rc == NP_OK && !json->file)
		rc = syn_io_fail(err, "write", json->path.text);
	if (rc == NP_OK)
		np_jsonout_init(&json->out, json->file);
	else
		np_buf_release(&json->path);
	return rc;
}

int syn_json_close(struct syn_json_file *json, struct np_err *err)
{
	int rc = np_jsonout_finish(&json->out, err);

	np_jsonout_release(&json->out);
	if (fclose(json->file) != 0 && rc == NP_OK)
		rc = syn_io_fail(err, "write", json->path.text);
	np_buf_release(&json->path);
	return rc;
}
