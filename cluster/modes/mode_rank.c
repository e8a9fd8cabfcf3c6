/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

int mode_text(struct mode_rank *rank, np_str text, np_str *ret)
{
	const struct np_strtab *from = rank->detail->strings;
	int rc;

	if (text == NP_STR_NONE || rank->texts[text] != NP_STR_NONE) {
		*ret = text == NP_STR_NONE ? NP_STR_NONE : rank->texts[text];
		return NP_OK;
	}
	rc = np_strtab_add(rank->run->strings, np_strtab_text(from, text),
			   np_strtab_length(from, text), ret, rank->err);
	rank->texts[text] = *ret;
	return rc;
}

bool mode_takes(const struct mode_rank *rank, uint32_t step)
{
	return !rank->modes->options.steps_chosen || step != NP_NO_STEP;
}

static bool is_of(const struct mode_rank *rank, uint32_t wanted, uint32_t step)
{
	return wanted == NP_NO_STEP ? mode_takes(rank, step) : step == wanted;
}

static int add_op(struct mode_rank *rank, uint32_t step, const struct np_comm_op *op,
		  struct np_spans *set)
{
	return is_of(rank, step, op->step) ? np_spans_add(set, op->start, op->end, rank->err)
					   : NP_OK;
}

/* Both lists are by start: merged, every span is added behind the others. */
int mode_busy(struct mode_rank *rank, uint32_t step, bool ops, struct np_spans *set)
{
	const struct np_detail *detail = rank->detail;
	struct mode_rows rows = { 0, detail->kernels.count };
	size_t op_count = ops ? rank->rank->ops.count : 0;
	size_t op = 0;
	int rc = NP_OK;

	if (step != NP_NO_STEP)
		rows = rank->kernels[step];
	for (size_t i = rows.first; i < rows.end && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		for (; op < op_count && rank->rank->ops.item[op].start <= kernel->start &&
		       rc == NP_OK;
		     op++)
			rc = add_op(rank, step, &rank->rank->ops.item[op], set);
		if (rc == NP_OK && !kernel->schedule && is_of(rank, step, kernel->step))
			rc = np_spans_add(set, kernel->start, kernel->end, rank->err);
	}
	for (; op < op_count && rc == NP_OK; op++)
		rc = add_op(rank, step, &rank->rank->ops.item[op], set);
	return rc;
}

int mode_find_kernels(struct mode_rank *rank)
{
	const struct np_detail *detail = rank->detail;

	rank->kernels = calloc(rank->rank->steps.count + 1, sizeof(*rank->kernels));
	if (!rank->kernels)
		return np_fail_nomem(rank->err, "steps");
	for (size_t i = 0; i < detail->kernels.count; i++) {
		struct mode_rows *rows;

		if (detail->kernels.item[i].step == NP_NO_STEP)
			continue;
		rows = &rank->kernels[detail->kernels.item[i].step];
		if (rows->end == 0)
			rows->first = i;
		rows->end = i + 1;
	}
	return NP_OK;
}

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
