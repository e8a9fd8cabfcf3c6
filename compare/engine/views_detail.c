/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_views.h"

#include "npuprof/buf.h"

#include <ctype.h>
#include <strings.h>

/* --- memory ---------------------------------------------------------------------------------- */

/* Allocations have no step of their own: the host was in one when it asked. */
static bool in_step(const struct cmp_view_rank *rank, np_ns time)
{
	for (size_t i = 0; i < rank->rank->steps.count; i++) {
		const struct np_step *step = &rank->rank->steps.item[i];

		if (cmp_step_of(rank->side, step->id) == SIZE_MAX)
			continue;
		if (step->host_begin == NP_UNKNOWN ||
		    (time >= step->host_begin && time < step->host_end))
			return true;
	}
	return false;
}

int cmp_view_memory(struct cmp_view_rank *rank)
{
	const struct np_detail *detail = rank->detail;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->memory_ops.count && rc == NP_OK; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];
		const char *name = np_detail_text(detail, op->name);
		struct cmp_tally tally = { .count = 1, .bytes = op->bytes, .least = NP_UNKNOWN };

		if (!name || op->bytes == NP_UNKNOWN || !in_step(rank, op->alloc))
			continue;
		if (op->release != NP_UNKNOWN)
			tally.total = tally.least = tally.most = op->release - op->alloc;
		rc = cmp_view_add(rank, CMP_VIEW_MEMORY, name, NULL, &tally);
	}
	return rc;
}

/* --- communication --------------------------------------------------------------------------- */

/* "hcom_allReduce__123_0_1" and "hcom_allReduce_" are of class "allreduce". */
static void class_of(const char *name, struct np_buf *buf)
{
	size_t length;

	if (strncasecmp(name, "hcom_", strlen("hcom_")) == 0)
		name += strlen("hcom_");
	length = strcspn(name, "_");
	for (size_t i = 0; i < length; i++)
		np_buf_add_char(buf, (char)tolower((unsigned char)name[i]));
}

/* By the type of an operator or, where it was not recorded (Level0), by its name. */
static void class_of_op(const struct np_detail *detail, const struct np_detail_op *op,
			struct np_buf *buf)
{
	const char *type = np_detail_text(detail, op->type);
	const char *name = np_detail_text(detail, op->name);

	if (type && strcmp(type, "N/A") != 0)
		name = type;
	if (name)
		class_of(name, buf);
}

static int add_op(struct cmp_view_rank *rank, const struct np_detail_op *op)
{
	NP_CLEANUP(np_buf_release) struct np_buf class = NP_BUF_INIT;
	np_ns time = op->end - op->start;
	const struct cmp_tally tally = { .count = 1, .total = time, .least = time, .most = time };

	class_of_op(rank->detail, op, &class);
	return class.length ? cmp_view_add(rank, CMP_VIEW_COMMUNICATION, class.text, NULL, &tally)
			    : NP_OK;
}

static int add_sub_task(struct cmp_view_rank *rank, const struct np_sub_task *task)
{
	NP_CLEANUP(np_buf_release) struct np_buf class = NP_BUF_INIT;
	const struct np_detail *detail = rank->detail;
	NP_CLEANUP(np_buf_release) struct np_buf type = NP_BUF_INIT;
	const struct np_detail_op *op;
	np_ns time = task->end - task->start;
	const struct cmp_tally tally = { .count = 1, .total = time, .least = time, .most = time };

	/* "Notify Wait" of Level0 is "Notify_Wait" otherwise. */
	for (const char *at = np_detail_text(detail, task->type); at && *at; at++)
		np_buf_add_char(&type, *at == ' ' ? '_' : *at);
	if (task->op == NP_NO_ROW || type.length == 0)
		return NP_OK;
	op = &detail->ops.item[task->op];
	if (!cmp_view_takes(rank, op->step))
		return NP_OK;
	class_of_op(detail, op, &class);
	return class.length
		       ? cmp_view_add(rank, CMP_VIEW_COMMUNICATION, class.text, type.text, &tally)
		       : NP_OK;
}

int cmp_view_communication(struct cmp_view_rank *rank)
{
	const struct np_detail *detail = rank->detail;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->ops.count && rc == NP_OK; i++) {
		if (cmp_view_takes(rank, detail->ops.item[i].step))
			rc = add_op(rank, &detail->ops.item[i]);
	}
	for (size_t i = 0; i < detail->sub_tasks.count && rc == NP_OK; i++)
		rc = add_sub_task(rank, &detail->sub_tasks.item[i]);
	return rc;
}
