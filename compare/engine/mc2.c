/* SPDX-License-Identifier: Apache-2.0 */
/* Splits kernels that compute and communicate at once (MC2) into the two, as the vendor does. */
#include "cmp_comparison.h"

#include "npuprof/order.h"
#include "npuprof/rank.h"

#include <strings.h>

/*
 * Kernels that compute and communicate at once (MC2) take part in computing with all
 * of their time; what of it was which is told beside it, as the vendor defines it:
 *
 *	computing       max(aic_mac_time, aic_mte2_time) + aiv_time, of their counters;
 *	communication   from the end of a task of the communication core to the end of the
 *	                next, in pairs, of those that end while the kernel runs.
 *
 * The two may overlap, and need not sum to the kernel's time.
 */
struct measurer {
	struct comparison *comparison;
	struct np_idmap *rows; /* type → comparison->mc2 */
	enum cmp_which which;
	struct np_err *err;
};

static struct cmp_mc2 *row_of(struct measurer *measurer, np_str type)
{
	struct comparison *comparison = measurer->comparison;
	uint32_t index = np_idmap_get(measurer->rows, type);
	struct cmp_mc2 *row;

	if (index != NP_IDMAP_NONE)
		return &comparison->mc2.item[index];
	row = np_vec_add(&comparison->mc2, measurer->err);
	if (!row || np_idmap_set(measurer->rows, type, (uint32_t)(comparison->mc2.count - 1),
				 measurer->err) < 0)
		return NULL;
	row->type = type;
	row->communication[CMP_BASE] = row->communication[CMP_NEW] = NP_UNKNOWN;
	return row;
}

/* --- their time and computing ---------------------------------------------------------------- */

static int add_groups(struct measurer *measurer)
{
	const struct cmp_side *side = &measurer->comparison->sides[measurer->which];

	for (size_t i = 0; i < side->groups.count; i++) {
		const struct cmp_kernel_group *group = &side->groups.item[i];
		struct cmp_mc2 *row;

		if (group->class != CMP_MC2)
			continue;
		row = row_of(measurer, group->type);
		if (!row)
			return NP_E_NOMEM;
		row->count[measurer->which] += group->sum.count;
		row->total[measurer->which] += group->sum.total;
		row->computing[measurer->which] += group->sum.computing;
	}
	return NP_OK;
}

/* --- communication --------------------------------------------------------------------------- */

struct mc2_ends {
	NP_VEC(np_ns) list; /* of tasks of the communication core, ascending */
};

static int find_ends(const struct np_detail *detail, struct mc2_ends *ends, struct np_err *err)
{
	for (size_t i = 0; i < detail->tasks.count; i++) {
		const char *type = np_detail_text(detail, detail->tasks.item[i].type);
		np_ns *end;

		if (!type || strncasecmp(type, "C_CORE", strlen("C_CORE")) != 0)
			continue;
		end = np_vec_add(&ends->list, err);
		if (!end)
			return NP_E_NOMEM;
		*end = detail->tasks.item[i].end;
	}
	if (ends->list.count)
		qsort(ends->list.item, ends->list.count, sizeof(*ends->list.item), np_by_int64);
	return NP_OK;
}

static np_ns communication_in(const struct mc2_ends *ends, np_ns start, np_ns end)
{
	size_t low = 0;
	size_t high = ends->list.count;
	np_ns sum = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ends->list.item[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low + 1 < ends->list.count && ends->list.item[low + 1] <= end; low += 2)
		sum += ends->list.item[low + 1] - ends->list.item[low];
	return sum;
}

/* Is it a kernel of a chosen step that is told by its type and name alone to be one of these? */
static bool is_mc2(const struct cmp_side *side, const struct np_detail *detail,
		   const struct np_kernel *kernel)
{
	const struct cmp_kernel_traits traits = {
		.type = np_detail_text(detail, kernel->type),
		.name = np_detail_text(detail, kernel->name),
	};

	return np_kernel_computes(kernel) && cmp_has_cell(side, detail->rank, kernel->step) &&
	       cmp_classify(&traits) == CMP_MC2;
}

static int add_communication(struct measurer *measurer, const struct np_detail *detail,
			     const struct mc2_ends *ends)
{
	struct comparison *comparison = measurer->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		const char *type = np_detail_text(detail, kernel->type);
		np_str id = NP_STR_NONE;
		struct cmp_mc2 *row;
		np_ns *sum;

		if (!is_mc2(&comparison->sides[measurer->which], detail, kernel))
			continue;
		if (type)
			rc = np_strtab_add(comparison->names, type, strlen(type), &id,
					   measurer->err);
		row = rc < 0 ? NULL : row_of(measurer, id);
		if (!row)
			return NP_E_NOMEM;
		sum = &row->communication[measurer->which];
		*sum = (*sum == NP_UNKNOWN ? 0 : *sum) +
		       communication_in(ends, kernel->start, kernel->end);
	}
	return rc;
}

static int read_communication(struct measurer *measurer, size_t rank)
{
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct mc2_ends ends = { 0 };
	int rc = np_detail_load(measurer->comparison->sides[measurer->which].analysis->run, rank,
				NP_DETAIL_KERNELS | NP_DETAIL_TASKS, &detail, measurer->err);

	/* What could not be read has been told: it stays unknown. */
	if (rc < 0)
		return rc == NP_E_NOMEM ? rc : NP_OK;
	rc = find_ends(detail, &ends, measurer->err);
	if (rc == NP_OK && ends.list.count > 0)
		rc = add_communication(measurer, detail, &ends);
	np_vec_release(&ends.list);
	return rc;
}

/* --- everything ------------------------------------------------------------------------------ */

struct named {
	struct cmp_mc2 row;
	const char *type;
};

static int by_type(const void *left, const void *right)
{
	return strcmp(((const struct named *)left)->type, ((const struct named *)right)->type);
}

static int sort_rows(struct comparison *comparison, struct np_err *err)
{
	size_t count = comparison->mc2.count;
	struct named *rows = malloc((count + 1) * sizeof(*rows));

	if (!rows)
		return np_fail_nomem(err, "kernels");
	for (size_t i = 0; i < count; i++) {
		const char *type = cmp_text(comparison, comparison->mc2.item[i].type);

		rows[i] = (struct named){ comparison->mc2.item[i], type ? type : "" };
	}
	qsort(rows, count, sizeof(*rows), by_type);
	for (size_t i = 0; i < count; i++)
		comparison->mc2.item[i] = rows[i].row;
	free(rows);
	return NP_OK;
}

int cmp_measure_mc2(struct comparison *comparison, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *rows = np_idmap_new();
	struct measurer measurer = { .comparison = comparison, .rows = rows, .err = err };
	int rc = rows ? NP_OK : np_fail_nomem(err, "kernels");

	for (int which = 0; which < CMP_SIDES && rc == NP_OK; which++) {
		measurer.which = (enum cmp_which)which;
		rc = add_groups(&measurer);
		for (size_t i = 0; i < comparison->pairs.count && rc == NP_OK; i++) {
			size_t rank = comparison->pairs.item[i].rank[which];

			if (comparison->sides[which].kernels[rank].step_classes & 1U << CMP_MC2)
				rc = read_communication(&measurer, rank);
		}
	}
	return rc < 0 || comparison->mc2.count == 0 ? rc : sort_rows(comparison, err);
}
