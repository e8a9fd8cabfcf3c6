/* SPDX-License-Identifier: Apache-2.0 */
#include "prepare.h"

#include "cmd.h"
#include "progress.h"

#include "npuprof/clock.h"
#include "npuprof/discover.h"
#include "npuprof/load.h"

static int load(struct np_run *run, const struct np_common *common, struct np_err *err)
{
	struct np_progress progress;
	const struct np_workers workers = { .threads = (size_t)common->jobs,
					    .tick = np_progress_tick,
					    .tick_context = &progress };
	int rc;

	np_progress_init(&progress, "reading ranks", common->quiet);
	rc = np_load(run, &np_comm_serial, &workers, err);
	np_progress_end(&progress);
	if (rc == NP_OK && common->steps.set)
		rc = np_run_keep_steps(run, common->steps.set, err);
	return rc;
}

int prepare_run(const struct np_common *common, const struct np_opt_list *picks,
		struct np_run **ret, struct np_err *err)
{
	const struct np_discover_options how = { .picks = picks->item,
						 .pick_count = picks->count,
						 .ranks = common->ranks.set };
	int rc;

	*ret = np_run_new();
	if (!*ret)
		return np_fail_nomem(err, "the run");
	rc = np_discover(*ret, common->dirs.item, common->dirs.count, &how, err);
	if (rc == NP_OK)
		rc = load(*ret, common, err);
	/* Ranks that the user left out are not missing. */
	if (rc == NP_OK && !common->ranks.set)
		np_run_note_missing(*ret);
	return rc;
}

int prepare_analysis(const struct np_common *common, const struct np_opt_list *picks,
		     struct np_analysis **ret, struct np_err *err)
{
	NP_CLEANUP(np_manifest_freep) struct np_manifest *manifest = NULL;
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	struct np_err problem = NP_ERR_INIT;
	int rc = prepare_run(common, picks, &run, err);

	if (rc < 0)
		return rc;
	/* Without a manifest, or with a damaged one, collectives tell the clocks. */
	if (np_load_manifest(run, &manifest, &problem) < 0 && problem.code != NP_E_NOTFOUND)
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->roots.item[0],
			    "npuprof_manifest.json", "%s", problem.text);
	rc = np_analysis_build(NP_STEAL(run), manifest, (size_t)common->jobs, ret, err);
	if (rc == NP_OK)
		(*ret)->tables.version = NP_VERSION;
	return rc;
}

int prepare_status(const struct np_run *run)
{
	return np_notes_count(&run->notes, NP_NOTE_SKIPPED) ? NP_EXIT_PARTIAL : NP_EXIT_DONE;
}
