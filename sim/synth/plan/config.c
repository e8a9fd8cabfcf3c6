/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a configuration and derives forms, ranks and their coordinates from it (config.h). */
#include "config.h"

#include "form.h"
#include "plants.h"

#include <inttypes.h>

const struct syn_form syn_forms[] = {
	{ SYN_TORCH, .db = true },
	{ SYN_TORCH, .text = true },
	{ SYN_TORCH, .db = true, .text = true },
	{ SYN_MSPROF, .db = true },
	{ SYN_MSPROF, .text = true },
	{ SYN_MINDSPORE, .db = true },
	{ SYN_MINDSPORE, .text = true },
	{ SYN_MSMONITOR, .db = true },
	{ SYN_MSMONITOR, .lines = true },
	{ SYN_NSYS, .db = false },
	{ SYN_KINETO, .gpu = false },
	{ SYN_KINETO, .gpu = true },
};

const char *const syn_form_names[] = {
	"db",           "text",           "both",      "msprof-db",       "msprof-text",
	"mindspore-db", "mindspore-text", "msmonitor", "msmonitor-jsonl", "nsys",
	"kineto",       "kineto-gpu",     NULL
};

bool syn_has_framework(const struct syn_form *form)
{
	return form->maker == SYN_TORCH || form->maker == SYN_MINDSPORE;
}

const char *const syn_schedule_names[] = { "dp", "tp", "pp", "ep", "3d", NULL };

void syn_config_init(struct syn_config *config)
{
	*config = (struct syn_config){
		.seed = 1,
		.name_seed = 1,
		.noise = 1.0,
		.steps = 3,
		.first_step = 10,
		.layers = 8,
		.kernels = 12,
		.shapes = 1,
		.buckets = 4,
		.level = 1,
	};
}

void syn_config_release(struct syn_config *config)
{
	np_vec_release(&config->plants);
	np_vec_release(&config->form_choices);
	np_ranges_freep(&config->omit);
}

static void set_default(int64_t *value, int64_t fallback)
{
	if (*value == 0)
		*value = fallback;
}

/*
 * The dimension the schedule is named after takes the ranks that the others
 * leave, or data parallelism does if its size was given; a dimension nobody
 * mentioned has size 1.
 */
static void share_out(struct syn_config *config)
{
	int64_t *sizes[] = { &config->tp, &config->cp, &config->dp, &config->pp };
	int64_t *rest = &config->dp;
	int64_t others = 1;
	bool all_given = (config->schedule == SYN_TP && config->tp > 0) ||
			 (config->schedule == SYN_PP && config->pp > 0);

	if (config->schedule == SYN_TP && config->tp == 0)
		rest = &config->tp;
	else if (config->schedule == SYN_PP && config->pp == 0)
		rest = &config->pp;
	if (config->schedule == SYN_3D) {
		set_default(&config->tp, 2);
		set_default(&config->pp, 2);
	}
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		if (sizes[i] == rest)
			continue;
		set_default(sizes[i], 1);
		others *= *sizes[i];
	}
	if (*rest == 0) {
		set_default(&config->ranks, all_given || others > 8 ? others : 8 / others * others);
		*rest = config->ranks / others;
	}
	set_default(&config->ranks, others * *rest);
	set_default(&config->ep, config->schedule == SYN_EP ? config->dp : 1);
}

static int check_sizes(const struct syn_config *config, struct np_err *err)
{
	int64_t product = config->tp * config->cp * config->dp * config->pp;

	if (product != config->ranks)
		return np_fail(err, NP_E_USAGE,
			       "%" PRId64 " ranks are not tp %" PRId64 " x cp %" PRId64
			       " x dp %" PRId64 " x pp %" PRId64,
			       config->ranks, config->tp, config->cp, config->dp, config->pp);
	if (config->dp % config->ep != 0)
		return np_fail(err, NP_E_USAGE,
			       "dp %" PRId64 " cannot be divided into expert groups of %" PRId64,
			       config->dp, config->ep);
	if (config->layers % config->pp != 0)
		return np_fail(err, NP_E_USAGE,
			       "%" PRId64 " layers cannot be divided into %" PRId64 " stages",
			       config->layers, config->pp);
	return NP_OK;
}

static int place_hosts(struct syn_config *config, struct np_err *err)
{
	set_default(&config->hosts, (config->ranks + SYN_HOST_MAX - 1) / SYN_HOST_MAX);
	config->per_host = (config->ranks + config->hosts - 1) / config->hosts;
	if (config->hosts > config->ranks)
		return np_fail(err, NP_E_USAGE, "more hosts (%" PRId64 ") than ranks (%" PRId64 ")",
			       config->hosts, config->ranks);
	if (config->per_host > SYN_HOST_MAX)
		return np_fail(err, NP_E_USAGE,
			       "%" PRId64 " ranks on %" PRId64
			       " hosts are more than %d on one; use --hosts %" PRId64,
			       config->ranks, config->hosts, SYN_HOST_MAX,
			       (config->ranks + SYN_HOST_MAX - 1) / SYN_HOST_MAX);
	return NP_OK;
}

static int check_forms(const struct syn_config *config, struct np_err *err)
{
	for (size_t i = 0; i < config->form_choices.count; i++) {
		if (config->form_choices.item[i].rank >= config->ranks)
			return np_fail(err, NP_E_USAGE,
				       "--format-of %" PRId64 ": there are %" PRId64 " ranks",
				       config->form_choices.item[i].rank, config->ranks);
	}
	return NP_OK;
}

int syn_config_complete(struct syn_config *config, struct np_err *err)
{
	int rc;

	share_out(config);
	set_default(&config->micro_batches, config->pp > 1 ? 2 * config->pp : 1);
	rc = check_sizes(config, err);
	if (rc == NP_OK)
		rc = place_hosts(config, err);
	if (rc < 0)
		return rc;
	config->stage_layers = config->layers / config->pp;
	if (config->buckets > config->stage_layers)
		config->buckets = config->stage_layers;
	if (config->omit_text) {
		rc = np_ranges_parse(config->omit_text, &config->omit, err);
		if (rc < 0)
			return rc;
	}
	config->name_seed = config->seed;
	rc = check_forms(config, err);
	if (rc == NP_OK)
		rc = syn_layout_check(config, err);
	return rc == NP_OK ? syn_plants_check(config, err) : rc;
}

struct syn_place syn_place_of(const struct syn_config *config, int32_t rank)
{
	int32_t tp = (int32_t)config->tp;
	int32_t cp = (int32_t)config->cp;
	int32_t dp = (int32_t)config->dp;
	int32_t per_host = (int32_t)config->per_host;

	return (struct syn_place){
		.rank = rank,
		.host = rank / per_host,
		.device = rank % per_host,
		.tp = rank % tp,
		.cp = rank / tp % cp,
		.dp = rank / (tp * cp) % dp,
		.pp = rank / (tp * cp * dp),
	};
}

const struct syn_form *syn_form_of(const struct syn_config *config, int32_t rank)
{
	int64_t form = config->form;

	for (size_t i = 0; i < config->form_choices.count; i++) {
		if (config->form_choices.item[i].rank == rank)
			form = config->form_choices.item[i].form;
	}
	return &syn_forms[form];
}

bool syn_is_written(const struct syn_config *config, int32_t rank)
{
	return !config->omit || !np_ranges_has(config->omit, rank);
}
