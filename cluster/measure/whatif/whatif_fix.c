/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs as texts: how they are written and read, and what there is to name. */
#include "npuprof/whatif.h"

#include "scenario.h"

#include "npuprof/align.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

#include <inttypes.h>

static const struct {
	const char *name;
	bool names; /* something behind a colon */
} kinds[NP_FIX_KINDS] = {
	[NP_FIX_RANK] = { "rank", true },        [NP_FIX_HOST] = { "host", true },
	[NP_FIX_STAGE] = { "stage", true },      [NP_FIX_ROLE] = { "role", true },
	[NP_FIX_OPTYPE] = { "optype", true },    [NP_FIX_GROUP] = { "group", true },
	[NP_FIX_LINK] = { "link", true },        [NP_FIX_HOST_GAPS] = { "host-gaps", false },
	[NP_FIX_BETWEEN] = { "between", false }, [NP_FIX_FREQUENCY] = { "frequency", false },
	[NP_FIX_EXPERTS] = { "experts", false }, [NP_FIX_HIDE_COMM] = { "hide-comm", false },
	[NP_FIX_ALL] = { "all", false },
};

const char *np_fix_kind_name(enum np_fix_kind kind)
{
	return kinds[kind].name;
}

const char *np_fix_words(enum np_fix_kind kind)
{
	static const char *const words[NP_FIX_KINDS] = {
		[NP_FIX_HOST_GAPS] = "late launches of hosts",
		[NP_FIX_BETWEEN] = "the idle time between steps",
		[NP_FIX_FREQUENCY] = "the frequency of AI cores",
		[NP_FIX_EXPERTS] = "uneven experts",
	};

	return words[kind];
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
		       " group:NAME, link:A-B, link:A-*, link:*-B, host-gaps, between, frequency,"
		       " experts, hide-comm or all",
		       text);
}

void np_fix_format(const struct np_fix *fix, char ret[NP_FIX_TEXT + 16])
{
	(void)snprintf(ret, NP_FIX_TEXT + 16, "%s%s%s", kinds[fix->kind].name,
		       kinds[fix->kind].names ? ":" : "", fix->what);
}

/* Names that are listed, at most. */
#define MAX_NAMES 8

static void put_ranks(struct np_buf *buf, const struct np_run *run, struct np_err *err)
{
	NP_VEC(int64_t) ids = { 0 };

	for (size_t i = 0; i < run->sources.count; i++) {
		int64_t *id = run->ranks[i] ? np_vec_add(&ids, err) : NULL;

		if (id)
			*id = run->ranks[i]->id;
	}
	np_buf_add(buf, "ranks ");
	np_ranges_format(buf, ids.item, ids.count);
	np_vec_release(&ids);
}

/* A list of names without repetitions. */
struct fix_names {
	const char *list[MAX_NAMES];
	size_t count;
	size_t more;
};

static void see_name(struct fix_names *names, const char *name)
{
	for (size_t i = 0; name && i < names->count; i++) {
		if (strcmp(names->list[i], name) == 0)
			return;
	}
	if (name && names->count < MAX_NAMES)
		names->list[names->count++] = name;
	else if (name)
		names->more++;
}

static void put_names(struct np_buf *buf, const struct fix_names *names)
{
	if (names->count == 0)
		np_buf_add(buf, "none with a name");
	for (size_t i = 0; i < names->count; i++) {
		np_buf_add(buf, i > 0 ? ", " : "");
		np_text_safe(buf, names->list[i], strlen(names->list[i]));
	}
	if (names->more > 0)
		np_buf_add(buf, " and more");
}

int scenario_fail_unknown(const struct np_replay *replay, const struct np_fix *fix,
			  struct np_err *err)
{
	const struct np_cluster *cluster = replay->cluster;
	const struct np_run *run = cluster->run;
	NP_CLEANUP(np_buf_release) struct np_buf there = NP_BUF_INIT;
	struct fix_names names = { 0 };

	for (size_t i = 0; i < run->sources.count && fix->kind == NP_FIX_HOST; i++)
		see_name(&names, run->ranks[i] ? np_run_text(run, run->ranks[i]->host_name) : NULL);
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];

		if (fix->kind == NP_FIX_ROLE || fix->kind == NP_FIX_GROUP)
			see_name(&names, np_run_text(run, each->pg_name));
		if (fix->kind == NP_FIX_GROUP)
			see_name(&names, np_run_text(run, each->name));
	}
	if (fix->kind == NP_FIX_RANK || fix->kind == NP_FIX_LINK)
		put_ranks(&there, run, err);
	else
		put_names(&there, &names);
	return np_fail(err, NP_E_USAGE, "there is no %s '%s' in this run, which has %s",
		       np_fix_kind_name(fix->kind), fix->what, there.text ? there.text : "none");
}
