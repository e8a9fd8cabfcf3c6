/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what is in a run that another command has loaded (npuprof/run_info.h). */
#include "npuprof/run_info.h"

#include "cluster/present/info_report.h"

int np_run_info_write(const struct np_run *run, const char *input, FILE *stream, struct np_err *err)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = NULL;
	struct np_readiness analyses[NP_ANALYSIS_COUNT];
	struct info info = { .run = run, .analyses = analyses, .input = input };
	int rc = np_cluster_build(run, &cluster, err);

	info.cluster = cluster;
	if (rc == NP_OK)
		rc = np_readiness_measure(cluster, NULL, analyses, err);
	return rc == NP_OK ? info_json(&info, stream, err) : rc;
}
