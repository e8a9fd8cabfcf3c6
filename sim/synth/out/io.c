/* SPDX-License-Identifier: Apache-2.0 */
#include "io.h"

#include <errno.h>
#include <sys/stat.h>

#include "npuprof/buf.h"

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
