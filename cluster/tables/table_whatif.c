/* SPDX-License-Identifier: Apache-2.0 */
/* What repairs would gain, and the critical path. */
#include "tables.h"

#include "npuprof/align.h"
#include "npuprof/contents.h"

#include <inttypes.h>

void np_path_leaf(const struct np_analysis *analysis, const struct np_path_piece *piece, char *ret,
		  size_t size)
{
	static const char *const works[NP_WORK_KINDS] = {
		[NP_WORK_COMPUTE] = "compute",
		[NP_WORK_HOST] = "free/host",
		[NP_WORK_OTHER] = "free/other",
		[NP_WORK_BETWEEN] = "between",
	};
	const struct np_communicator *communicator;
	const char *name = "unknown";
	uint64_t hash;

	if (piece->communicator == UINT32_MAX) {
		const struct np_rank *rank = analysis->run->ranks[piece->rank];
		/* Without calls of the host nothing tells why a device is idle. */
		bool known = piece->work != NP_WORK_OTHER || np_rank_has(rank, NP_DATA_LAUNCHES);

		if (rank->activity.cells.count > 0)
			name = known ? works[piece->work] : "free/unknown";
		(void)snprintf(ret, size, "%s", name);
		return;
	}
	hash = analysis->align->communicators.item[piece->communicator].hash;
	communicator = np_cluster_communicator(analysis->cluster, hash);
	name = communicator ? np_run_text(analysis->run, communicator->pg_name) : NULL;
	if (name)
		(void)snprintf(ret, size, "comm/%s/transfer", name);
	else
		(void)snprintf(ret, size, "comm/%" PRIu64 "/transfer", hash);
}

static const struct np_column whatif_columns[] = {
	{ "fix", NP_TEXT },
	{ "step_ns", NP_INTEGER },
	{ "saved_ns", NP_INTEGER },
};

static int produce_whatif(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->whatif.rows.count && rc == NP_OK; i++) {
		const struct np_whatif_row *row = &analysis->whatif.rows.item[i];
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&row->fix, fix);
		rc = np_sink_row(sink,
				 (struct np_cell[]){ np_cell_text(fix), np_cell_integer(row->step),
						     np_cell_integer(row->saved) },
				 err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_whatif, "np_whatif",
		"what single repairs would make of the step, in ns, by a replay", whatif_columns,
		produce_whatif);

static const struct np_column path_columns[] = {
	{ "step", NP_TEXT }, { "seq", NP_INTEGER }, { "rank", NP_INTEGER },
	{ "leaf", NP_TEXT }, { "ns", NP_INTEGER },
};

static int produce_path(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->path.pieces.count && rc == NP_OK; i++) {
		const struct np_path_piece *piece = &analysis->path.pieces.item[i];
		char leaf[256];

		np_path_leaf(analysis, piece, leaf, sizeof(leaf));
		rc = np_sink_row(sink,
				 (struct np_cell[]){ np_cell_text(np_run_text(run, piece->step)),
						     np_cell_integer((int64_t)i),
						     np_cell_integer(run->ranks[piece->rank]->id),
						     np_cell_text(leaf),
						     np_cell_integer(piece->ns) },
				 err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_critical_path, "np_critical_path",
		"what nothing could have shortened but itself, in the order of time, in ns",
		path_columns, produce_path);
