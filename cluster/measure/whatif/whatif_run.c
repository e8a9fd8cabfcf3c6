/* SPDX-License-Identifier: Apache-2.0 */
/* Running scenarios: one with several repairs, or many with one each. */
#include "whatif_run.h"

#include "npuprof/workers.h"

static struct np_scenario as_scenario(const struct scenario_draft *draft)
{
	return (struct np_scenario){ (const float(*)[NP_WORK_KINDS])draft->work, draft->transfer };
}

int np_whatif_together(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret_step, struct np_err *err)
{
	struct scenario_draft draft = { 0 };
	struct np_replay_result result;
	int rc = scenario_init(&draft, input->replay, err);

	if (rc == NP_OK)
		rc = scenario_repair(input, fixes, count, &draft, err);
	if (rc == NP_OK) {
		const struct np_scenario scenario = as_scenario(&draft);

		rc = np_replay_run(input->replay, &scenario, &result, err);
	}
	if (rc == NP_OK)
		*ret_step = result.step;
	scenario_release(&draft);
	return rc;
}

/* --- many scenarios -----------------------------------------------------------------------------
 */

/* Each with one repair of a list: on top of some, or missing where everything else is repaired. */
struct scenarios {
	const struct np_whatif_input *input;
	const struct np_fix *base;
	size_t base_count;
	const struct scenario_draft *all; /* NULL: on top of `base` */
	const struct np_fix *fixes;
	size_t count;
	np_ns *steps;
	struct np_err *errors;
};

static int make_with(const struct scenarios *scenarios, const struct np_fix *fix,
		     struct scenario_draft *ret, struct np_err *err)
{
	struct np_fix *fixes = calloc(scenarios->base_count + 1, sizeof(*fixes));
	int rc = fixes ? NP_OK : np_fail_nomem(err, "a repaired world");

	for (size_t i = 0; i < scenarios->base_count && fixes; i++)
		fixes[i] = scenarios->base[i];
	if (rc == NP_OK) {
		fixes[scenarios->base_count] = *fix;
		rc = scenario_repair(scenarios->input, fixes, scenarios->base_count + 1, ret, err);
	}
	free(fixes);
	return rc;
}

static int make_without(const struct scenarios *scenarios, const struct np_fix *fix,
			struct scenario_draft *ret, struct np_err *err)
{
	const struct np_replay *replay = scenarios->input->replay;
	struct scenario_draft own = { 0 };
	int rc = scenario_init(&own, replay, err);

	own.others_even = true;
	if (rc == NP_OK)
		rc = scenario_repair(scenarios->input, fix, 1, &own, err);
	if (rc == NP_OK) {
		scenario_copy(ret, scenarios->all, replay);
		scenario_undo(ret, &own, replay);
	}
	scenario_release(&own);
	return rc;
}

/* As many scenarios as run side by side; those that the data do not allow are left out. */
static void run_few(void *context, size_t index)
{
	struct scenarios *all = context;
	const struct np_replay *replay = all->input->replay;
	size_t first = index * NP_REPLAY_LANES;
	struct scenario_draft drafts[NP_REPLAY_LANES] = { 0 };
	struct np_scenario scenarios[NP_REPLAY_LANES] = { 0 };
	struct np_replay_result results[NP_REPLAY_LANES];
	size_t of[NP_REPLAY_LANES];
	size_t count = 0;

	for (size_t i = first; i < first + NP_REPLAY_LANES && i < all->count; i++) {
		struct scenario_draft *draft = &drafts[count];
		struct np_err *err = &all->errors[i];
		int rc = draft->work ? NP_OK : scenario_init(draft, replay, err);

		all->steps[i] = NP_UNKNOWN;
		if (rc == NP_OK)
			rc = all->all ? make_without(all, &all->fixes[i], draft, err)
				      : make_with(all, &all->fixes[i], draft, err);
		if (rc < 0) {
			scenario_release(draft);
			*draft = (struct scenario_draft){ 0 };
			continue;
		}
		scenarios[count] = as_scenario(draft);
		of[count++] = i;
	}
	if (count > 0 &&
	    np_replay_run_many(replay, scenarios, count, results, &all->errors[of[0]]) == NP_OK) {
		for (size_t i = 0; i < count; i++)
			all->steps[of[i]] = results[i].step;
	}
	for (size_t i = 0; i < count; i++)
		scenario_release(&drafts[i]);
}

static int run_all(struct scenarios *scenarios, struct np_err *err)
{
	struct np_workers workers = { .threads = scenarios->input->threads };
	int rc = NP_OK;

	scenarios->errors = calloc(scenarios->count + 1, sizeof(*scenarios->errors));
	if (!scenarios->errors)
		return np_fail_nomem(err, "repairs");
	np_workers_run(&workers, (scenarios->count + NP_REPLAY_LANES - 1) / NP_REPLAY_LANES,
		       run_few, scenarios);
	for (size_t i = 0; i < scenarios->count && rc == NP_OK; i++) {
		if (scenarios->errors[i].code == NP_E_NOMEM)
			rc = np_fail(err, NP_E_NOMEM, "%s", scenarios->errors[i].text);
	}
	free(scenarios->errors);
	return rc;
}

int whatif_steps(const struct np_whatif_input *input, const struct np_fix *base, size_t base_count,
		 const struct np_fix *fixes, size_t count, np_ns *ret, struct np_err *err)
{
	struct scenarios scenarios = { .input = input,
				       .base = base,
				       .base_count = base_count,
				       .fixes = fixes,
				       .count = count,
				       .steps = ret };

	return run_all(&scenarios, err);
}

int whatif_steps_alone(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret, struct np_err *err)
{
	static const struct np_fix everything = { .kind = NP_FIX_ALL };
	struct scenario_draft all = { 0 };
	struct scenarios scenarios = {
		.input = input, .all = &all, .fixes = fixes, .count = count, .steps = ret
	};
	int rc = scenario_init(&all, input->replay, err);

	if (rc == NP_OK)
		rc = scenario_repair(input, &everything, 1, &all, err);
	if (rc == NP_OK)
		rc = run_all(&scenarios, err);
	scenario_release(&all);
	return rc;
}
