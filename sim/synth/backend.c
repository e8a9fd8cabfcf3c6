/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

#include <errno.h>
#include <sys/stat.h>

const struct syn_backend *const syn_backends[] = {
	&syn_rank_db,
	&syn_analysis_db,
	&syn_metadata,
};

const size_t syn_backend_count = NP_COUNT(syn_backends);

void syn_rank_dir(const struct syn_rank_info *info, struct np_buf *buf)
{
	np_buf_printf(buf, "%s_%d_202501090816%02d%03d_ascend_pt", info->host, (int)info->pid,
		      16 + info->place.host % 40, info->place.rank % 1000);
}

int syn_make_dirs(const char *path, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf part = NP_BUF_INIT;

	for (const char *c = path; *c; c++) {
		np_buf_add_char(&part, *c);
		if (c == path || (c[1] != '/' && c[1] != '\0') || np_buf_check(&part, err) < 0)
			continue;
		if (mkdir(part.text, 0777) != 0 && errno != EEXIST)
			return np_fail(err, NP_E_IO, "cannot make directory '%s': %s", part.text,
				       strerror(errno));
	}
	return np_buf_check(&part, err);
}
