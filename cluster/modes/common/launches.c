/* SPDX-License-Identifier: Apache-2.0 */
/* Finds who launched tasks, in one pass over the calls for all that are wanted. */
#include "launches.h"

#include "npuprof/idmap.h"

static const struct launch nobody = { .dispatched = NP_UNKNOWN };

int launches_init(struct launches *launches, struct np_err *err)
{
	*launches = (struct launches){ .wanted = np_idmap_new() };
	return launches->wanted ? NP_OK : np_fail_nomem(err, "launches");
}

void launches_release(struct launches *launches)
{
	np_idmap_free(launches->wanted);
	np_vec_release(&launches->list);
}

int launches_want(struct launches *launches, int64_t connection, struct np_err *err)
{
	struct launch *launch;

	if (connection == NP_UNKNOWN || np_idmap_get(launches->wanted, connection) != NP_IDMAP_NONE)
		return NP_OK;
	launch = np_vec_add(&launches->list, err);
	if (!launch)
		return NP_E_NOMEM;
	*launch = nobody;
	launches->perhaps[connection >> 6 & 63] |= UINT64_C(1) << (connection & 63);
	return np_idmap_set(launches->wanted, connection, (uint32_t)(launches->list.count - 1),
			    err);
}

static struct launch *wanted(const struct launches *launches, int64_t connection)
{
	uint32_t at;

	if (!(launches->perhaps[connection >> 6 & 63] >> (connection & 63) & 1))
		return NULL;
	at = np_idmap_get(launches->wanted, connection);
	return at == NP_IDMAP_NONE ? NULL : &launches->list.item[at];
}

void launches_find(struct launches *launches, const struct np_detail *detail)
{
	struct launch *launch;

	for (size_t i = 0; i < detail->calls.count; i++) {
		const struct np_call *call = &detail->calls.item[i];

		launch = wanted(launches, call->connection);
		if (launch && (!launch->call || launch->call->level != NP_CALL_NODE ||
			       call->level == NP_CALL_NODE))
			launch->call = call;
	}
	for (size_t i = 0; i < detail->dispatches.count; i++) {
		const struct np_dispatch *dispatch = &detail->dispatches.item[i];

		/* NP_UNKNOWN is less than any time. */
		launch = wanted(launches, dispatch->connection);
		if (launch && dispatch->end > launch->dispatched)
			launch->dispatched = dispatch->end;
	}
}

struct launch launches_get(const struct launches *launches, int64_t connection)
{
	const struct launch *launch = wanted(launches, connection);

	return launch ? *launch : nobody;
}
