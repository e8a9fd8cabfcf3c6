/* SPDX-License-Identifier: Apache-2.0 */
#include "json_file.h"

#include "io.h"

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
