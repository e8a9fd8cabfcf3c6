/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ANALYSIS_H
#define NP_ANALYSIS_H

#include "npuprof/cluster_tables.h"
#include "npuprof/whatif.h"

/*
 * All measures of a run
 * =====================
 *
 * From a loaded run to everything that is known about it across its ranks:
 * matched operators, clocks, waits, charges and their root_causes, sums, and the
 * tables made of them. What `cluster` prints and the other commands build on.
 */
struct np_analysis {
	struct np_run *run;
	struct np_cluster *cluster;
	struct np_align *align;
	struct np_clock *clock;
	struct np_waits waits;
	struct np_charges charges;
	struct np_root_causes causes;
	struct np_charge_sums charge_sums;
	struct np_partition partition;
	struct np_comm_sums sums;
	struct np_comm_sums roles;
	struct np_links links;
	struct np_pipeline pipeline;
	struct np_experts experts;
	struct np_replay *replay; /* NULL where no operator was matched */
	struct np_whatif whatif;  /* of the likeliest repairs; empty without a replay */
	struct np_path path;
	struct np_efficiency efficiency;
	struct np_cluster_tables tables; /* of all of the above */
};

/*
 * Measure a loaded run on so many threads (0: one per processor). The manifest
 * may be NULL. Takes the run over, also when it fails.
 */
int np_analysis_build(struct np_run *run, const struct np_manifest *manifest, size_t threads,
		      struct np_analysis **ret, struct np_err *err) NP_MUST_USE;

/* What repairs of this run are made of. */
struct np_whatif_input np_analysis_repairs(const struct np_analysis *analysis, size_t threads);
void np_analysis_free(struct np_analysis *analysis);
void np_analysis_freep(struct np_analysis **analysis);

#endif /* NP_ANALYSIS_H */
