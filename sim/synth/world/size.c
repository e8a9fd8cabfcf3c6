/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how large the files of a run will be (size.h). */
#include "size.h"

#include "program.h"

/*
 * Bytes per kernel, with its launch and torch operator, and per task of an
 * operator, measured on files of this program.
 */
static double trace_bytes_per_kernel(const struct syn_config *config)
{
	double bytes = config->level == 0 ? 850.0 : 1370.0;

	if (config->level == 2)
		bytes += 271.0;
	if (syn_has_framework(&syn_forms[config->form]))
		bytes += 1216.0;
	return bytes;
}

static double bytes_per_kernel(const struct syn_config *config)
{
	double bytes = 281.0;

	if (syn_forms[config->form].text)
		return trace_bytes_per_kernel(config);
	if (syn_forms[config->form].maker == SYN_KINETO)
		return syn_forms[config->form].gpu ? 1032.0 : 911.0;

	if (config->schema)
		bytes += 65.0;
	if (config->level == 2)
		bytes += 41.0;
	if (config->pmu && config->level > 0)
		bytes += 417.0;
	return bytes;
}

static double bytes_per_sub_task(const struct syn_config *config)
{
	if (syn_forms[config->form].text)
		return config->level == 0 ? 274.0 : 716.0;
	return 150.0;
}

static double sub_tasks_of(const struct syn_groups *groups, const struct syn_item *item)
{
	const struct syn_group *group = &groups->all.item[item->group];
	double planes = group->size < 8 ? group->size - 1 : 7;

	if (syn_op_is_p2p((enum syn_op)item->op))
		return 6.0;
	if (!group->one_host && item->op != SYN_ALL_TO_ALL_V)
		return item->op == SYN_ALL_REDUCE ? 34.0 : 20.0;
	return 4.0 + planes * (item->op == SYN_ALL_REDUCE ? 10.0 : 5.0);
}

int syn_size_fit(struct syn_config *config, struct np_err *err)
{
	struct syn_program program = { 0 };
	struct syn_groups groups = { 0 };
	double kernels = 0.0;
	double others = 0.0;
	double sub_tasks = 0.0;
	double room;
	int rc;

	if (config->size_mb <= 0.0)
		return NP_OK;
	rc = syn_groups_init(&groups, config, err);
	if (rc == NP_OK)
		rc = syn_program_build(&program, config, &groups, 0, 0, err);
	for (size_t i = 0; i < program.items.count; i++) {
		const struct syn_item *item = &program.items.item[i];

		if (item->kind == SYN_COMM)
			sub_tasks += sub_tasks_of(&groups, item);
		else if (item->pass == SYN_PASS_OTHER)
			others += 1.0;
		else
			kernels += 1.0;
	}
	room = config->size_mb * 1e6 / (double)config->steps -
	       sub_tasks * bytes_per_sub_task(config) - others * bytes_per_kernel(config);
	if (rc == NP_OK && kernels > 0.0)
		config->kernels = (int64_t)((double)config->kernels * room /
					    (kernels * bytes_per_kernel(config)));
	if (config->kernels < 2)
		config->kernels = 2;
	syn_program_release(&program);
	syn_groups_release(&groups);
	return rc;
}
