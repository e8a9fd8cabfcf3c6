/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include "npuprof/idmap.h"

static const struct origin nobody = { .dispatched = NP_UNKNOWN };

int origins_init(struct origins *origins, struct np_err *err)
{
	*origins = (struct origins){ .wanted = np_idmap_new() };
	return origins->wanted ? NP_OK : np_fail_nomem(err, "launches");
}

void origins_release(struct origins *origins)
{
	np_idmap_free(origins->wanted);
	np_vec_release(&origins->list);
}

int origins_want(struct origins *origins, int64_t connection, struct np_err *err)
{
	struct origin *origin;

	if (connection == NP_UNKNOWN || np_idmap_get(origins->wanted, connection) != NP_IDMAP_NONE)
		return NP_OK;
	origin = np_vec_add(&origins->list, err);
	if (!origin)
		return NP_E_NOMEM;
	*origin = nobody;
	origins->perhaps[connection >> 6 & 63] |= UINT64_C(1) << (connection & 63);
	return np_idmap_set(origins->wanted, connection, (uint32_t)(origins->list.count - 1), err);
}

static struct origin *wanted(const struct origins *origins, int64_t connection)
{
	uint32_t at;

	if (!(origins->perhaps[connection >> 6 & 63] >> (connection & 63) & 1))
		return NULL;
	at = np_idmap_get(origins->wanted, connection);
	return at == NP_IDMAP_NONE ? NULL : &origins->list.item[at];
}

void origins_find(struct origins *origins, const struct np_detail *detail)
{
	struct origin *origin;

	for (size_t i = 0; i < detail->calls.count; i++) {
		const struct np_call *call = &detail->calls.item[i];

		origin = wanted(origins, call->connection);
		if (origin && (!origin->call || origin->call->level != NP_CALL_NODE ||
			       call->level == NP_CALL_NODE))
			origin->call = call;
	}
	for (size_t i = 0; i < detail->dispatches.count; i++) {
		const struct np_dispatch *dispatch = &detail->dispatches.item[i];

		/* NP_UNKNOWN is less than any time. */
		origin = wanted(origins, dispatch->connection);
		if (origin && dispatch->end > origin->dispatched)
			origin->dispatched = dispatch->end;
	}
}

struct origin origins_get(const struct origins *origins, int64_t connection)
{
	const struct origin *origin = wanted(origins, connection);

	return origin ? *origin : nobody;
}
