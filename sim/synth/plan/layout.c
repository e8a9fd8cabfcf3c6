/* SPDX-License-Identifier: Apache-2.0 */
/* How captures lie in directories (layout.h). */
#include "layout.h"

#include "config.h"

static const char *const one_part[] = { "", NULL };
static const char *const windows[] = { "", "", NULL };
static const char *const roles[] = { "actor_update", "ref_compute_log_prob", "rollout", NULL };
static const char *const steps_and_roles[] = { "1/actor_update", "1/rollout", "2/actor_update",
					       "2/rollout", NULL };

const struct syn_layout syn_layouts[] = {
	{ SYN_PLACE_USUAL, one_part },        { SYN_PLACE_FLAT, one_part },
	{ SYN_PLACE_VLLM, one_part },         { SYN_PLACE_USUAL, roles },
	{ SYN_PLACE_USUAL, steps_and_roles }, { SYN_PLACE_USUAL, windows },
	{ SYN_PLACE_OUTPUTS, one_part },      { SYN_PLACE_FILES, one_part },
	{ SYN_PLACE_SGLANG, one_part },       { SYN_PLACE_SGLANG, windows },
};

const char *const syn_layout_names[] = { "usual",      "flat",          "vllm",    "verl",
					 "verl-steps", "windows",       "outputs", "files",
					 "sglang",     "sglang-stages", NULL };

const struct syn_layout *syn_layout_of(const struct syn_config *config)
{
	return &syn_layouts[config->layout];
}

bool syn_has_metadata(const struct syn_config *config)
{
	return syn_layout_of(config)->placing == SYN_PLACE_USUAL;
}

bool syn_knows_rank(const struct syn_config *config)
{
	enum syn_placing placing = syn_layout_of(config)->placing;

	return !config->no_rank_id && placing != SYN_PLACE_VLLM && placing != SYN_PLACE_SGLANG;
}

int syn_layout_check(const struct syn_config *config, struct np_err *err)
{
	enum syn_placing placing = syn_layout_of(config)->placing;
	bool special = placing != SYN_PLACE_USUAL;

	/* Names of servers count stages before replicas, jobs that train the other way round. */
	if ((placing == SYN_PLACE_VLLM || placing == SYN_PLACE_SGLANG) && config->dp > 1 &&
	    config->pp > 1)
		return np_fail(err, NP_E_USAGE, "--layout %s goes with --dp or --pp, not with both",
			       syn_layout_names[config->layout]);
	for (int32_t rank = 0; rank < config->ranks && special; rank++) {
		const struct syn_form *form = syn_form_of(config, rank);
		bool framework = syn_has_framework(form);

		if (placing == SYN_PLACE_FLAT && !(framework && form->db && !form->text))
			return np_fail(err, NP_E_USAGE,
				       "--layout flat goes with --format db and mindspore-db");
		if (placing == SYN_PLACE_VLLM && form->maker != SYN_TORCH)
			return np_fail(err, NP_E_USAGE,
				       "--layout vllm goes with --format db, text and both");
		if (placing == SYN_PLACE_SGLANG && form->maker != SYN_TORCH &&
		    form->maker != SYN_KINETO)
			return np_fail(err, NP_E_USAGE,
				       "--layout sglang goes with --format db, text, both, kineto"
				       " and kineto-gpu");
		if (form->maker != SYN_KINETO && syn_layout_of(config)->parts == windows &&
		    placing == SYN_PLACE_SGLANG)
			return np_fail(err, NP_E_USAGE,
				       "--layout sglang-stages goes with --format kineto and"
				       " kineto-gpu");
		if (form->maker == SYN_MSMONITOR || form->maker == SYN_NSYS ||
		    (form->maker == SYN_MSPROF && !form->text))
			return np_fail(err, NP_E_USAGE,
				       "--layout %s goes with forms that have output directories",
				       syn_layout_names[config->layout]);
	}
	return NP_OK;
}
