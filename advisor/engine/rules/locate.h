/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_LOCATE_H
#define NP_ADVISOR_LOCATE_H

#include "rule.h"

/*
 * Where rules come from: NPUPROF_RULES if it is set, else the rules that came
 * with the program, which lie beside it (in a build tree) or in
 * ../share/npuprof/rules; and, after them, the directories and files that the
 * user names.
 */
int rules_read_all(struct rule_library *library, const char *const *more, size_t count,
		   struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_LOCATE_H */
