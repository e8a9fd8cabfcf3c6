/* SPDX-License-Identifier: Apache-2.0 */
#include "advisor_session.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "cli/prepare/prepare.h"

#include "npuprof/discover.h"

#include "advisor/engine/findings/merged.h"
#include "advisor/engine/rules/locate.h"

/* Does one of the comma-separated globs in the list fit? */
static bool fits(const struct np_opt_list *list, const char *text, bool *ret_exact)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *part = list->item[i];

		while (*part) {
			size_t length = strcspn(part, ",");
			char *glob = strndup(part, length);
			bool found = glob && fnmatch(glob, text, 0) == 0;

			if (found && ret_exact)
				*ret_exact = *ret_exact || strcmp(glob, text) == 0;
			free(glob);
			if (found)
				return true;
			part += length;
			part += *part == ',';
		}
	}
	return false;
}

bool session_wants(void *context, const struct rule *rule)
{
	const struct advisor_options *options = context;
	bool exact = false;

	if (options->wanted.count > 0 && !fits(&options->wanted, rule->id, &exact))
		return false;
	if (options->dimensions.count > 0 && !fits(&options->dimensions, rule->dimension, NULL))
		return false;
	return rule->enabled || exact;
}

/* At least one rule must be left. */
static int check_choice(const struct rule_library *library, struct advisor_options *options,
			struct np_err *err)
{
	for (size_t i = 0; i < library->rules.count; i++) {
		if (session_wants(options, library->rules.item[i]))
			return NP_OK;
	}
	if (options->wanted.count == 1 && options->dimensions.count == 0)
		return rule_library_missing(library, options->wanted.item[0], err);
	if (options->wanted.count > 0 || options->dimensions.count > 0)
		return np_fail(err, NP_E_USAGE,
			       "no rule fits --rule and --dimension; see npuprof rules list");
	return np_fail(err, NP_E_NOTFOUND,
		       "there are no rules beside the program; name some with --rules DIR");
}

int session_read_rules(struct session *session, struct np_err *err)
{
	struct rule_library *library = session->library;
	struct advisor_options *options = session->options;
	int rc = rules_read_all(library, options->rules.item, options->rules.count, err);

	for (size_t i = 0; i < options->sets.count && rc == NP_OK; i++)
		rc = rule_library_set(library, options->sets.item[i], err);
	return rc == NP_OK ? check_choice(library, options, err) : rc;
}

void session_release(struct session *session)
{
	advice_free(session->advice);
	suppressions_release(&session->suppressions);
	graphs_release(&session->graphs);
	np_analysis_free(session->base);
	np_analysis_free(session->analysis);
	free(session->merged);
	rule_library_free(session->library);
}

static int load_base(struct session *session, struct np_err *err)
{
	struct np_common common = session->options->common;
	const char *directory[] = { session->options->base };

	if (!session->options->base)
		return NP_OK;
	common.dirs = (struct np_opt_list){ .item = directory, .count = 1 };
	return prepare_analysis(&common, &session->options->picks, &session->base, err);
}

/* The merged database beside the input, if it is of these very files. */
static char *find_merged(const struct np_common *common)
{
	static const struct np_discover_options all = { .picks = NULL };
	NP_CLEANUP(np_run_freep) struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	char *path = NULL;

	/* A choice of ranks or steps is not what was merged. */
	if (!run || common->dirs.count != 1 || common->ranks.set || common->steps.set ||
	    np_discover(run, common->dirs.item, 1, &all, &err) < 0)
		return NULL;
	if (asprintf(&path, "%s/cluster_analysis_output/cluster_analysis.db",
		     common->dirs.item[0]) < 0)
		return NULL;
	if (!merged_is_fresh(path, run, NP_VERSION)) {
		free(path);
		return NULL;
	}
	return path;
}

/* With a fresh merged database the ranks are loaded, and nothing is measured again. */
static int load_merged(struct session *session, const struct np_common *common, struct np_err *err)
{
	int rc;

	session->analysis = calloc(1, sizeof(*session->analysis));
	if (!session->analysis)
		return np_fail_nomem(err, "the run");
	rc = prepare_run(common, &session->options->picks, &session->analysis->run, err);
	if (rc == NP_OK)
		rc = np_cluster_build(session->analysis->run, &session->analysis->cluster, err);
	return rc;
}

int session_load(struct session *session, struct np_err *err)
{
	static const char *here[] = { "." };
	struct advisor_options *options = session->options;
	struct np_common common = options->common;
	int rc;

	if (common.dirs.count == 0)
		common.dirs = (struct np_opt_list){ .item = here, .count = NP_COUNT(here) };
	if (options->picks.count == 0)
		session->merged = find_merged(&common);
	rc = session->merged ? load_merged(session, &common, err) : NP_OK;
	/* It turned out not to be whole. */
	if (rc == NP_OK && session->merged &&
	    !merged_is_whole(session->merged, session->analysis->cluster)) {
		np_analysis_free(NP_STEAL(session->analysis));
		free(NP_STEAL(session->merged));
	}
	if (rc == NP_OK && !session->merged)
		rc = prepare_analysis(&common, &options->picks, &session->analysis, err);
	if (rc == NP_OK && session->merged && common.verbose > 0)
		(void)np_report(0, "the merged tables of '%s' are fresh", session->merged);
	if (rc == NP_OK)
		rc = load_base(session, err);
	for (size_t i = 0; i < options->graphs.count && rc == NP_OK; i++)
		rc = graph_read(&session->graphs, options->graphs.item[i], err);
	return rc;
}

int session_run_rules(struct session *session, struct np_err *err)
{
	struct advisor_options *options = session->options;
	struct np_progress progress;
	const struct advise_options how = {
		.library = session->library,
		.wants = session_wants,
		.context = options,
		.language = (enum rule_language)options->language,
		.workers = { .threads = (size_t)options->common.jobs,
			     .tick = np_progress_tick,
			     .tick_context = &progress },
		.merged = session->merged,
		.base = session->base,
		.graph_nodes = session->graphs.nodes.columns ? &session->graphs.nodes : NULL,
		.graph_edges = session->graphs.edges.columns ? &session->graphs.edges : NULL,
	};
	int rc;

	np_progress_init(&progress, "applying rules", options->common.quiet);
	rc = advise(session->analysis, &how, &session->advice, err);
	np_progress_end(&progress);
	return rc;
}

int session_apply_policies(struct session *session, struct np_err *err)
{
	static const char usual[] = "npuprof-suppress.json";
	const char *suppress = session->options->suppress;
	int rc = NP_OK;

	if (!suppress && access(usual, R_OK) == 0)
		suppress = usual;
	if (suppress)
		rc = suppressions_apply(&session->suppressions, suppress, session->library,
					session->advice, err);
	if (rc == NP_OK && session->options->baseline)
		rc = baseline_apply(session->options->baseline, session->advice, err);
	return rc;
}

bool session_is_partial(const struct session *session)
{
	const struct advice *advice = session->advice;

	for (size_t i = 0; i < advice->rules.count; i++) {
		if (advice->rules.item[i].status == STATUS_ERROR)
			return true;
	}
	return session->library->problems.errors > 0 ||
	       np_notes_count(&session->analysis->run->notes, NP_NOTE_SKIPPED) > 0 ||
	       np_notes_count(&advice->notes, NP_NOTE_SKIPPED) > 0;
}
