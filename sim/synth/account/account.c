/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts computing and communication of a rank, for step times and the truth (account.h). */
#include "account.h"

int syn_account_task(struct syn_account *account, const struct syn_task *task, struct np_err *err)
{
	if (task->kind != SYN_TASK_KERNEL)
		return NP_OK;
	return syn_intervals_add(&account->computing, task->start_ns, task->end_ns, err);
}

int syn_account_comm(struct syn_account *account, const struct syn_comm_event *comm,
		     struct np_err *err)
{
	if (comm->op == SYN_RECEIVE)
		account->bubble_ns += comm->end_ns - comm->start_ns;
	return syn_intervals_add(&account->communication, comm->start_ns, comm->end_ns, err);
}

static void widen(const struct syn_intervals *set, np_ns *first, np_ns *last)
{
	size_t count = set->all.count;

	if (count == 0)
		return;
	if (set->all.item[0].start_ns < *first)
		*first = set->all.item[0].start_ns;
	if (set->all.item[count - 1].end_ns > *last)
		*last = set->all.item[count - 1].end_ns;
}

int syn_account_close(struct syn_account *account, np_ns host_start, struct syn_totals *ret,
		      struct np_err *err)
{
	struct syn_intervals exposed = { 0 };
	struct syn_totals totals = { .bubble_ns = account->bubble_ns, .begin_ns = NP_UNKNOWN };
	bool has_kernels = account->computing.all.count > 0;
	np_ns first = INT64_MAX;
	np_ns last = INT64_MIN;
	int rc;

	syn_intervals_join(&account->computing);
	syn_intervals_join(&account->communication);
	rc = syn_intervals_subtract(&account->communication, &account->computing, &exposed, err);
	totals.computing_ns = syn_intervals_length(&account->computing);
	totals.communication_ns = syn_intervals_length(&account->communication);
	totals.exposed_ns = syn_intervals_length(&exposed);
	totals.overlapped_ns = totals.communication_ns - totals.exposed_ns;
	widen(&account->computing, &first, &last);
	widen(&account->communication, &first, &last);
	if (last > first) {
		totals.begin_ns = first;
		totals.span_ns = last - first;
		totals.free_ns = totals.span_ns - totals.computing_ns - totals.exposed_ns;
		totals.stage_ns = totals.span_ns - totals.bubble_ns;
		totals.preparing_ns = has_kernels ? first - host_start : 0;
	}
	syn_intervals_release(&exposed);
	account->computing.all.count = 0;
	account->communication.all.count = 0;
	account->bubble_ns = 0;
	*ret = totals;
	return rc;
}

void syn_account_release(struct syn_account *account)
{
	syn_intervals_release(&account->computing);
	syn_intervals_release(&account->communication);
}
