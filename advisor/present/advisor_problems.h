/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_PROBLEMS_H
#define NP_ADVISOR_PROBLEMS_H

#include "advisor/engine/rules/rule.h"

/* Say on standard error what is wrong with rules, a line for each. */
void say_problems(const struct problems *problems);

#endif /* NP_ADVISOR_PROBLEMS_H */
