/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_RULE_SHOW_H
#define NP_ADVISOR_RULE_SHOW_H

#include "npuprof/buf.h"

#include "rule.h"

/* Append what a rule looks for, needs, counts and advises, for people. */
void adv_rule_show(struct np_buf *buf, const struct adv_rule *rule, enum adv_rule_language language,
		   size_t width);

#endif /* NP_ADVISOR_RULE_SHOW_H */
