/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/kernel_sums.h"

#include "npuprof/idmap.h"

#include <math.h>

void np_kernel_sums_free(struct np_kernel_sums *sums)
{
	if (!sums)
		return;
	np_vec_release(&sums->sorts);
	np_vec_release(&sums->sums);
	free(sums);
}

void np_kernel_sums_freep(struct np_kernel_sums **sums)
{
	np_kernel_sums_free(*sums);
	*sums = NULL;
}

/* A damaged counter must not make a sum overflow: nothing that is measured takes days. */
static double counted(double ns)
{
	return ns >= 0 && ns < 1e15 ? ns : 0;
}

np_ns np_kernel_computing(double mac, double mte2, double aiv)
{
	return (np_ns)llround(fmax(counted(mac), counted(mte2)) + counted(aiv));
}

enum np_cube np_kernel_cube(double mac, double total)
{
	if (isnan(mac) && isnan(total))
		return NP_CUBE_UNKNOWN;
	return mac > 0 || total > 0 ? NP_CUBE_YES : NP_CUBE_NO;
}

/* --- calls around others --------------------------------------------------------------------- */

int np_open_calls_init(struct np_open_calls *open, struct np_err *err)
{
	*open = (struct np_open_calls){ .top = np_idmap_new() };
	return open->top ? NP_OK : np_fail_nomem(err, "calls of the framework");
}

void np_open_calls_release(struct np_open_calls *open)
{
	np_vec_release(&open->list);
	np_idmap_free(open->top);
	open->top = NULL;
}

/* Leave a call; the list gets shorter where no other thread has one behind it. */
static size_t leave(struct np_open_calls *open, size_t place)
{
	size_t below = open->list.item[place - 1].below;

	if (place == open->list.count)
		open->list.count--;
	return below;
}

int np_open_calls_enter(struct np_open_calls *open, int64_t tid, np_ns start, np_ns end,
			uint32_t framework_op, uint32_t *ret_framework_op, struct np_err *err)
{
	uint32_t top = np_idmap_get(open->top, tid);
	size_t below = top == NP_IDMAP_NONE ? 0 : top;
	const struct np_open_call *last = below > 0 ? &open->list.item[below - 1] : NULL;
	struct np_open_call *call;

	if (last && (start < last->start || (start == last->start && end > last->end)))
		return np_fail(err, NP_E_RANGE, "calls of a thread are not in order");
	while (below > 0 && open->list.item[below - 1].end < end)
		below = leave(open, below);
	if (below > 0 && open->list.item[below - 1].framework_op != UINT32_MAX)
		framework_op = open->list.item[below - 1].framework_op;
	call = np_vec_add(&open->list, err);
	if (!call)
		return NP_E_NOMEM;
	*call = (struct np_open_call){ start, end, below, framework_op };
	*ret_framework_op = framework_op;
	return np_idmap_set(open->top, tid, (uint32_t)open->list.count, err);
}
