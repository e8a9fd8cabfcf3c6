/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ANALYSIS_H
#define NP_ANALYSIS_H

#include "npuprof/balance.h"
#include "npuprof/breakdown.h"
#include "npuprof/charge_sums.h"
#include "npuprof/cluster.h"
#include "npuprof/comm_sums.h"
#include "npuprof/course.h"
#include "npuprof/device_time.h"
#include "npuprof/job_findings.h"
#include "npuprof/memory_growth.h"
#include "npuprof/partition.h"
#include "npuprof/pipeline.h"
#include "npuprof/readiness.h"
#include "npuprof/spread.h"
#include "npuprof/verdict.h"

/*
 * All measures of a run
 * =====================
 *
 * From a loaded run to everything that is known about it across its ranks. This is
 * the one model that tables are made of and that reports present: they look things
 * up in it and measure nothing themselves. What only some commands ask for is added
 * by a function below, called by the command before it presents.
 *
 * Read only once it is built.
 */

struct np_analysis {
	struct np_run *run;
	struct np_cluster *cluster;
	struct np_align *align; /* with the peers of messages that were found (np_align_peer()) */
	struct np_clock *clock;
	struct np_waits waits;
	struct np_charges charges;
	struct np_root_causes causes;
	struct np_charge_sums charge_sums;
	struct np_partition partition;
	struct np_comm_sums sums;   /* by communicator and step */
	struct np_comm_sums roles;  /* by role and step */
	struct np_comm_sums totals; /* by communicator, the longest first */
	struct np_links links;
	struct np_pipeline pipeline;
	struct np_experts experts;
	struct np_replay *replay; /* NULL where no operator was matched */
	struct np_whatif whatif;  /* of the likeliest repairs; empty without a replay */
	struct np_path path;
	struct np_efficiency efficiency;
	struct np_balance balance; /* by the published rule, beside the repairs */

	/* For those who read it. */
	struct np_readiness readiness[NP_ANALYSIS_COUNT];
	struct np_spreads spreads;
	struct np_breakdown breakdown;
	struct np_memory_growths memory_growths;
	struct np_charge_order order; /* ranks by what their repair saves, then by charge */
	struct np_job_findings findings;
	struct np_verdict verdict;
	/* Of each rank of `order`, with waiters; NULL until np_analysis_explain(). */
	struct np_explanation *explanations;
	struct np_course *courses; /* likewise */

	struct np_device_time *device_time; /* NULL unless a command has read it */
	struct np_memory *memory;           /* of snapshots (snapshot_rows.h); likewise */

	/* The merged database has no rows of operators (np_cluster_operator_rows()): too many. */
	bool operators_left_out;

	const char *version;  /* of the program; "" until somebody sets it */
	char fingerprint[17]; /* of the input files */
};

/*
 * Measure a loaded run on so many threads (0: one per processor). The manifest
 * may be NULL. Takes the run over, also when it fails.
 */
int np_analysis_build(struct np_run *run, const struct np_manifest *manifest, size_t threads,
		      struct np_analysis **ret, struct np_err *err) NP_MUST_USE;

/*
 * The same, but for modes alone: communicators and matched operators, and with
 * `times_only` not even clocks. All else stays empty.
 */
int np_analysis_build_for_modes(struct np_run *run, const struct np_manifest *manifest,
				bool times_only, size_t threads, struct np_analysis **ret,
				struct np_err *err) NP_MUST_USE;

/* Fill `explanations`: it takes long for many ranks, and only the JSON lists them all. */
int np_analysis_explain(struct np_analysis *analysis, size_t threads, struct np_err *err)
	NP_MUST_USE;

/* What repairs of this run are made of. */
struct np_whatif_input np_analysis_repairs(const struct np_analysis *analysis, size_t threads);
void np_analysis_free(struct np_analysis *analysis);
void np_analysis_freep(struct np_analysis **analysis);

#endif /* NP_ANALYSIS_H */
