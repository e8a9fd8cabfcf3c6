/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_RULE_PACKS_H
#define NP_ADVISOR_RULE_PACKS_H

#include <stddef.h>

/*
 * The rules that the program itself has, for where none are beside it: a program that is one file.
 * Made by the build (cmake/NpEmbedRules.cmake); ends with a row without a name.
 */
struct adv_rule_pack {
	const char *name; /* of the file it was */
	const char *text;
	size_t length;
};

extern const struct adv_rule_pack adv_rule_packs[];

#endif /* NP_ADVISOR_RULE_PACKS_H */
