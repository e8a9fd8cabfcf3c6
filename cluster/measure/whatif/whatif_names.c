/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include "npuprof/ranges.h"
#include "npuprof/text.h"

#include <inttypes.h>

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
struct names {
	const char *list[MAX_NAMES];
	size_t count;
	size_t more;
};

static void see_name(struct names *names, const char *name)
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

static void put_names(struct np_buf *buf, const struct names *names)
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
	struct names names = { 0 };

	for (size_t i = 0; i < run->sources.count && fix->kind == NP_FIX_HOST; i++)
		see_name(&names, run->ranks[i] ? np_run_text(run, run->ranks[i]->host_name) : NULL);
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];

		if (fix->kind == NP_FIX_ROLE || fix->kind == NP_FIX_GROUP)
			see_name(&names, np_run_text(run, fix->kind == NP_FIX_ROLE ? each->pg_name
										   : each->name));
	}
	if (fix->kind == NP_FIX_RANK || fix->kind == NP_FIX_LINK)
		put_ranks(&there, run, err);
	else
		put_names(&there, &names);
	return np_fail(err, NP_E_USAGE, "there is no %s '%s' in this run, which has %s",
		       np_fix_kind_name(fix->kind), fix->what, there.text ? there.text : "none");
}
