/* SPDX-License-Identifier: Apache-2.0 */
#include "align.h"

#include "npuprof/comm_tasks.h"

const char *np_rule_name(enum np_rule rule)
{
	static const char *const names[] = {
		[NP_RULE_ALL] = "all",           [NP_RULE_FROM_ROOT] = "from root",
		[NP_RULE_TO_ROOT] = "to root",   [NP_RULE_PAIR] = "pair",
		[NP_RULE_PAIRWISE] = "pairwise",
	};

	return names[rule];
}

enum np_rule np_rule_of(const char *type)
{
	static const struct {
		const char *class;
		enum np_rule rule;
	} rules[] = {
		{ "alltoallv", NP_RULE_PAIRWISE },  { "alltoallvc", NP_RULE_PAIRWISE },
		{ "broadcast", NP_RULE_FROM_ROOT }, { "scatter", NP_RULE_FROM_ROOT },
		{ "reduce", NP_RULE_TO_ROOT },      { "gather", NP_RULE_TO_ROOT },
		{ "send", NP_RULE_PAIR },           { "receive", NP_RULE_PAIR },
		{ "batchsendrecv", NP_RULE_PAIR },
	};
	char class[64];

	(void)np_op_class(type, class, sizeof(class));
	for (size_t i = 0; i < NP_COUNT(rules); i++) {
		if (strcmp(class, rules[i].class) == 0)
			return rules[i].rule;
	}
	return NP_RULE_ALL;
}

const struct align_class *align_class(struct align_job *job, np_str type)
{
	struct align_class *found = &job->classes[type % ALIGN_CLASSES];
	char text[64];
	size_t length;

	if (found->type == type && type != NP_STR_NONE)
		return found;
	length = np_op_class(np_strtab_text(job->align->run->strings, type), text, sizeof(text));
	found->type = type;
	found->rule = np_rule_of(text);
	found->receives = strcmp(text, "receive") == 0;
	/* Each member has its own size where the name ends in v, and in a batch. */
	found->sized = found->rule != NP_RULE_PAIRWISE && strcmp(text, "batchsendrecv") != 0 &&
		       !(length > 0 && text[length - 1] == 'v');
	return found;
}
