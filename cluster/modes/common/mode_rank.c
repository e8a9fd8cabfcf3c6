/* SPDX-License-Identifier: Apache-2.0 */
/* What modes ask of the one rank that they reduce: its texts, and when it computed. */
#include "mode.h"

int mode_new_text(struct mode_rank *rank, np_str text, np_str *ret)
{
	const struct np_strtab *from = rank->detail->strings;
	int rc;

	*ret = NP_STR_NONE;
	if (text == NP_STR_NONE)
		return NP_OK;
	rc = np_strtab_add(rank->run->strings, np_strtab_text(from, text),
			   np_strtab_length(from, text), ret, rank->err);
	rank->texts[text] = *ret;
	return rc;
}

bool mode_takes(const struct mode_rank *rank, uint32_t step)
{
	return !rank->modes->options.steps_chosen || step != NP_NO_STEP;
}

/* --- busy ------------------------------------------------------------------------------------ */

/* The sets are those of the steps, and behind them that of kernels in none. */
static size_t set_of(const struct mode_rank *rank, uint32_t step)
{
	return step == NP_NO_STEP ? rank->rank->steps.count : step;
}

static int fill_computing(struct mode_rank *rank)
{
	const struct np_detail *detail = rank->detail;
	int rc = NP_OK;

	for (size_t i = 0; i <= rank->rank->steps.count; i++) {
		rank->computing[i] = np_spans_new();
		if (!rank->computing[i])
			return np_fail_nomem(rank->err, "spans of time");
	}
	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		if (np_kernel_computes(kernel) && mode_on_device(rank->rank, kernel->device))
			rc = np_spans_add(rank->computing[set_of(rank, kernel->step)],
					  kernel->start, kernel->end, rank->err);
	}
	return rc;
}

const struct np_spans *mode_computing(struct mode_rank *rank, uint32_t step)
{
	if (!rank->computing) {
		/* An array of pointers is meant. NOLINTNEXTLINE(bugprone-sizeof-expression) */
		rank->computing = calloc(rank->rank->steps.count + 1, sizeof(*rank->computing));
		if (!rank->computing) {
			(void)np_fail_nomem(rank->err, "spans of time");
			return NULL;
		}
		if (fill_computing(rank) < 0)
			return NULL;
	}
	return rank->computing[set_of(rank, step)];
}

void mode_release_computing(struct mode_rank *rank)
{
	for (size_t i = 0; rank->computing && i <= rank->rank->steps.count; i++)
		np_spans_free(rank->computing[i]);
	free(rank->computing);
}

static int add_computing(struct mode_rank *rank, uint32_t step, struct np_spans *set)
{
	const struct np_spans *computing = mode_computing(rank, step);

	return computing ? np_spans_join(set, computing, rank->err) : NP_E_NOMEM;
}

static int add_ops(struct mode_rank *rank, uint32_t step, struct np_spans *set)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *ops = np_spans_new();
	int rc = ops ? NP_OK : np_fail_nomem(rank->err, "spans of time");

	for (size_t i = 0; i < rank->rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &rank->rank->ops.item[i];

		if (mode_on_device(rank->rank, op->device) &&
		    (step == NP_NO_STEP ? mode_takes(rank, op->step) : op->step == step))
			rc = np_spans_add(ops, op->start, op->end, rank->err);
	}
	return rc < 0 ? rc : np_spans_join(set, ops, rank->err);
}

int mode_busy(struct mode_rank *rank, uint32_t step, struct np_spans *set)
{
	int rc = NP_OK;

	if (step != NP_NO_STEP) {
		rc = add_computing(rank, step, set);
	} else {
		for (uint32_t i = 0; i < rank->rank->steps.count && rc == NP_OK; i++)
			rc = add_computing(rank, i, set);
		if (rc == NP_OK && mode_takes(rank, NP_NO_STEP))
			rc = add_computing(rank, NP_NO_STEP, set);
	}
	return rc < 0 ? rc : add_ops(rank, step, set);
}

/* --- rows ------------------------------------------------------------------------------------ */

size_t mode_next_copy(const struct np_detail *detail, size_t from)
{
	np_str other = NP_STR_NONE; /* the last type that is none */

	for (; from < detail->tasks.count; from++) {
		np_str type = detail->tasks.item[from].type;

		if (type == other || type == NP_STR_NONE)
			continue;
		if (strcmp(np_detail_text(detail, type), "MEMCPY_ASYNC") == 0)
			break;
		other = type;
	}
	return from;
}
