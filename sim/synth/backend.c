/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

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
