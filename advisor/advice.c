/* SPDX-License-Identifier: Apache-2.0 */
/* Applies all rules to a run for another command, and writes what they found as JSON. */
#include "npuprof/advice.h"

#include "advisor/engine/advise.h"
#include "advisor/engine/rules/rule.h"
#include "advisor/engine/sql/sql.h"
#include "advisor/present/advisor_report.h"

void np_advice_set_up(void)
{
	adv_sql_set_up();
}

static bool is_enabled(const void *context, const struct adv_rule *rule)
{
	(void)context;
	return rule->enabled;
}

static int advise(struct np_jsonout *out, const struct np_analysis *analysis,
		  const struct np_advice_options *options, const struct adv_rule_library *library,
		  struct np_err *err)
{
	const struct adv_advise_options how = {
		.library = library,
		.wants = is_enabled,
		.language = options->chinese ? RULE_ZH : RULE_EN,
		.workers = options->workers,
	};
	struct adv_advice *advice = NULL;
	int rc = adv_advise(analysis, &how, &advice, err);

	if (rc == NP_OK)
		rc = advisor_put_findings(
			out,
			&(struct advisor_report){ .advice = advice,
						  .library = library,
						  .evidence_rows = options->evidence_rows,
						  .language = how.language },
			err);
	adv_advice_free(advice);
	return rc;
}

int np_advice_put(struct np_jsonout *out, const struct np_analysis *analysis,
		  const struct np_advice_options *options, struct np_err *err)
{
	struct adv_rule_library *library = adv_rule_library_new();
	int rc = library ? adv_rules_read_all(library, NULL, 0, err) : np_fail_nomem(err, "rules");

	if (rc == NP_OK)
		rc = advise(out, analysis, options, library, err);
	if (library)
		adv_rule_library_free(library);
	return rc;
}
