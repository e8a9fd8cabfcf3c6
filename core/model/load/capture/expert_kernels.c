/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of experts are gathered and reduced to what was done between two exchanges. */
#include "expert_kernels.h"

#include "npuprof/steps.h"
#include "npuprof/text.h"

/* Inputs of such a kernel that hold no tokens: weights, and the list of groups. */
#define OTHER_INPUTS 2

/* More tokens than a kernel can have: a damaged shape. */
#define MOST_TOKENS (INT64_C(1) << 40)

int expert_kernels_begin(struct expert_kernels *kernels, struct np_strtab *strings,
			 struct np_err *err)
{
	return np_strtab_add(strings, NP_EXPERT_TYPE, strlen(NP_EXPERT_TYPE), &kernels->type, err);
}

void expert_kernels_end(struct expert_kernels *kernels)
{
	np_vec_release(&kernels->list);
}

/* The next shape that is not empty, without the quotes around the whole list. */
static bool next_shape(const char **text, const char *end, const char **ret, size_t *ret_length)
{
	while (*text < end) {
		const char *begin = *text;
		size_t length = 0;

		while (begin + length < end && begin[length] != ';')
			length++;
		*text = begin + length + 1;
		while (length > 0 && (*begin == '"' || *begin == ' ')) {
			begin++;
			length--;
		}
		while (length > 0 && (begin[length - 1] == '"' || begin[length - 1] == ' '))
			length--;
		if (length > 0) {
			*ret = begin;
			*ret_length = length;
			return true;
		}
	}
	return false;
}

bool expert_tokens(const char *shapes, size_t length, int64_t *ret)
{
	const char *end = shapes + length;
	const char *text = shapes;
	const char *shape;
	size_t shape_length;
	size_t inputs = 0;
	int64_t tokens = 0;

	while (next_shape(&text, end, &shape, &shape_length))
		inputs++;
	if (inputs <= OTHER_INPUTS)
		return false;
	text = shapes;
	for (size_t i = 0; i < inputs - OTHER_INPUTS; i++) {
		size_t digits = 0;
		int64_t first;

		(void)next_shape(&text, end, &shape, &shape_length);
		while (digits < shape_length && shape[digits] != ',')
			digits++;
		if (!np_text_to_int(shape, digits, &first) || first < 0 || first > MOST_TOKENS)
			return false;
		tokens += first;
	}
	*ret = tokens;
	return true;
}

int expert_kernels_add(struct expert_kernels *kernels, const char *shapes, size_t length,
		       np_ns start, np_ns time, struct np_err *err)
{
	struct expert_kernel *kernel;
	int64_t tokens;

	if (!expert_tokens(shapes, length, &tokens))
		return NP_OK;
	kernel = np_vec_add(&kernels->list, err);
	if (!kernel)
		return NP_E_NOMEM;
	*kernel = (struct expert_kernel){ start, time, tokens };
	return NP_OK;
}

static int by_start(const void *left, const void *right)
{
	const struct expert_kernel *a = left;
	const struct expert_kernel *b = right;
	int order = np_order(a->start, b->start);

	if (!order)
		order = np_order(a->time, b->time);
	return order ? order : np_order(a->tokens, b->tokens);
}

static bool exchanges_tokens(const struct np_comm_op *op, const struct np_strtab *strings)
{
	return strcasestr(np_strtab_text(strings, op->type), "alltoall") != NULL;
}

/* The last exchange that began before a time, from where the search for an earlier time ended. */
static uint32_t exchange_before(const struct np_rank *rank, const struct np_strtab *strings,
				np_ns at, size_t *next, uint32_t last)
{
	for (; *next < rank->ops.count && rank->ops.item[*next].start <= at; (*next)++) {
		if (exchanges_tokens(&rank->ops.item[*next], strings))
			last = (uint32_t)*next;
	}
	return last;
}

int expert_kernels_reduce(struct expert_kernels *kernels, struct np_rank *rank,
			  const struct np_strtab *strings, struct np_err *err)
{
	struct np_expert_work *work = NULL;
	uint32_t op = NP_NO_OP;
	size_t next = 0;

	if (kernels->list.count == 0)
		return NP_OK;
	qsort(kernels->list.item, kernels->list.count, sizeof(kernels->list.item[0]), by_start);
	for (size_t i = 0; i < kernels->list.count; i++) {
		const struct expert_kernel *kernel = &kernels->list.item[i];
		uint32_t step = np_steps_find(rank->steps.item, rank->steps.count, kernel->start);

		op = exchange_before(rank, strings, kernel->start, &next, op);
		if (!work || work->op != op || work->step != step) {
			work = np_vec_add(&rank->experts, err);
			if (!work)
				return NP_E_NOMEM;
			work->op = op;
			work->step = step;
		}
		work->kernels++;
		work->tokens += kernel->tokens;
		work->time += kernel->time;
	}
	return NP_OK;
}
