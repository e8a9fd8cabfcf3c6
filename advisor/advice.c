/* SPDX-License-Identifier: Apache-2.0 */
/* Applies all rules to a run for another command, and writes what they found as JSON. */
#include "npuprof/advice.h"

#include "advisor/engine/advise.h"
#include "advisor/engine/rules/rule.h"
#include "advisor/engine/rules/rule_show.h"
#include "advisor/engine/sql/sql.h"
#include "advisor/present/advisor_report.h"
#include "advisor_page.h"

#include "npuprof/lang.h"
#include "npuprof/run.h"

struct np_advice {
	struct adv_rule_library *library;
	struct adv_advice *advice;
	enum adv_rule_language language;
	size_t evidence_rows;
};

void np_advice_set_up(void)
{
	adv_sql_set_up();
}

static bool is_enabled(const void *context, const struct adv_rule *rule)
{
	(void)context;
	return rule->enabled;
}

static int advise(const struct np_analysis *analysis, const struct np_advice_options *options,
		  struct np_advice *advice, struct np_err *err)
{
	struct advisor_looking looking = { analysis->run, options->frequencies };
	struct adv_advise_options how = {
		.library = advice->library,
		.wants = is_enabled,
		.language = advice->language,
		.workers = options->workers,
	};
	int rc = NP_OK;

	if (options->frequencies)
		rc = advisor_look_for_page(&looking, &how, err);
	return rc < 0 ? rc : adv_advise(analysis, &how, &advice->advice, err);
}

int np_advice_new(const struct np_analysis *analysis, const struct np_advice_options *options,
		  struct np_advice **ret, struct np_err *err)
{
	struct np_advice *advice = calloc(1, sizeof(*advice));
	int rc;

	if (!advice)
		return np_fail_nomem(err, "the advice");
	advice->language = options->chinese ? RULE_ZH : RULE_EN;
	advice->evidence_rows = options->evidence_rows;
	advice->library = adv_rule_library_new();
	rc = advice->library ? adv_rules_read_all(advice->library, NULL, 0, err)
			     : np_fail_nomem(err, "rules");
	if (rc == NP_OK)
		rc = advise(analysis, options, advice, err);
	if (rc == NP_OK)
		np_notes_move_untold(&analysis->run->notes, &advice->advice->notes,
				     &analysis->run->notes);
	if (rc == NP_OK)
		*ret = advice;
	else
		np_advice_free(advice);
	return rc;
}

void np_advice_free(struct np_advice *advice)
{
	if (!advice)
		return;
	adv_advice_free(advice->advice);
	if (advice->library)
		adv_rule_library_free(advice->library);
	free(advice);
}

int np_advice_put(struct np_jsonout *out, const struct np_advice *advice, struct np_err *err)
{
	return advisor_put_findings(
		out,
		&(struct advisor_report){ .advice = advice->advice,
					  .library = advice->library,
					  .evidence_rows = advice->evidence_rows,
					  .language = advice->language },
		err);
}

int np_advice_explain(const char *id, size_t width, struct np_buf *ret, struct np_err *err)
{
	NP_CLEANUP(adv_rule_library_freep)
	struct adv_rule_library *library = adv_rule_library_new();
	const struct adv_rule *rule;
	int rc = library ? adv_rules_read_all(library, NULL, 0, err) : np_fail_nomem(err, "rules");

	if (rc < 0)
		return rc;
	for (size_t i = 0; !id && i < library->rules.count; i++)
		np_buf_printf(ret, "%s\n", library->rules.item[i]->id);
	if (!id)
		return np_buf_check(ret, err);
	rule = adv_rule_library_find(library, id);
	if (!rule)
		return adv_rule_library_missing(library, id, err);
	adv_rule_show(ret, rule, np_lang() == NP_LANG_ZH ? RULE_ZH : RULE_EN, width);
	return np_buf_check(ret, err);
}
