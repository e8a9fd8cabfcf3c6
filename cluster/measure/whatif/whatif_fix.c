/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/whatif.h"

static const struct {
	const char *name;
	bool names; /* something behind a colon */
} kinds[NP_FIX_KINDS] = {
	[NP_FIX_RANK] = { "rank", true },
	[NP_FIX_HOST] = { "host", true },
	[NP_FIX_STAGE] = { "stage", true },
	[NP_FIX_ROLE] = { "role", true },
	[NP_FIX_OPTYPE] = { "optype", true },
	[NP_FIX_GROUP] = { "group", true },
	[NP_FIX_LINK] = { "link", true },
	[NP_FIX_HOST_GAPS] = { "host-gaps", false },
	[NP_FIX_FREQUENCY] = { "frequency", false },
	[NP_FIX_EXPERTS] = { "experts", false },
	[NP_FIX_HIDE_COMM] = { "hide-comm", false },
	[NP_FIX_ALL] = { "all", false },
};

const char *np_fix_kind_name(enum np_fix_kind kind)
{
	return kinds[kind].name;
}

int np_fix_parse(const char *text, struct np_fix *ret, struct np_err *err)
{
	size_t length = strcspn(text, ":");
	const char *what = text[length] == ':' ? text + length + 1 : "";

	for (int i = 0; i < NP_FIX_KINDS; i++) {
		if (strlen(kinds[i].name) != length || strncmp(text, kinds[i].name, length) != 0)
			continue;
		if (kinds[i].names != (*what != '\0') || strlen(what) >= NP_FIX_TEXT)
			break;
		ret->kind = (enum np_fix_kind)i;
		(void)snprintf(ret->what, sizeof(ret->what), "%s", what);
		return NP_OK;
	}
	return np_fail(err, NP_E_USAGE,
		       "'%s' is no repair: use rank:R, host:NAME, stage:S, role:NAME, optype:GLOB,"
		       " group:NAME, link:A-B, link:A-*, link:*-B, host-gaps, frequency, experts,"
		       " hide-comm or all",
		       text);
}

void np_fix_format(const struct np_fix *fix, char ret[NP_FIX_TEXT + 16])
{
	(void)snprintf(ret, NP_FIX_TEXT + 16, "%s%s%s", kinds[fix->kind].name,
		       kinds[fix->kind].names ? ":" : "", fix->what);
}
