/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_JSON_FILE_H
#define SYN_JSON_FILE_H

#include <stdio.h>

#include "npuprof/jsonout.h"

/* A JSON document on its way into a file. */
struct syn_json_file {
	struct np_jsonout out;
	FILE *file;
	struct np_buf path;
};

int syn_json_open(struct syn_json_file *json, const char *dir, const char *name, struct np_err *err)
	NP_MUST_USE;

/* Complete the file and release everything, also after a failure. */
int syn_json_close(struct syn_json_file *json, struct np_err *err) NP_MUST_USE;

#endif /* SYN_JSON_FILE_H */
