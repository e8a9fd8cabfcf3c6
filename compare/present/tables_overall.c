/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the table of the step by what users of msprof-analyze know: computing, communication,
 * free. */
#include "tables.h"

#include <math.h>

/*
 * Each nanosecond of the step once: computing, communication that nothing hides, and the rest.
 * Below computing are durations of kernels by class, which may overlap.
 */
static const struct np_column overall_columns[] = {
	{ "Index", NP_TEXT },
	{ "Base Duration(ms)", NP_REAL },
	{ "Base Duration Ratio", NP_REAL },
	{ "Base Number", NP_REAL },
	{ "Comparison Duration(ms)", NP_REAL },
	{ "Comparison Duration Ratio", NP_REAL },
	{ "Comparison Number", NP_REAL },
	{ "Diff Duration(ms)", NP_REAL },
	{ "Diff Ratio", NP_REAL },
};

/* Of a row on both sides, in ns and kernels per step. */
struct amount {
	double ns[CMP_SIDES];
	double count[CMP_SIDES];
};

struct overall {
	const struct comparison *comparison;
	struct np_sink *sink;
	struct np_err *err;
	struct class_sum sums[CMP_CLASSES][2];
	double step[CMP_SIDES];
};

/* A row, unless both sides have nothing. */
static int put(struct overall *overall, int level, const char *label, const struct amount *amount,
	       bool counted)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	struct np_cell cells[NP_COUNT(overall_columns)];
	int rc;

	if (amount->ns[CMP_BASE] <= 0 && amount->ns[CMP_NEW] <= 0)
		return NP_OK;
	np_buf_add_repeated(&name, ' ', 2 * (size_t)level);
	np_buf_add(&name, label);
	rc = np_buf_check(&name, overall->err);
	if (rc < 0)
		return rc;
	cells[0] = np_cell_text(name.text);
	for (int i = 0; i < CMP_SIDES; i++) {
		struct np_cell *side = &cells[1 + 3 * i];

		side[0] = np_cell_real(amount->ns[i] / 1e6);
		side[1] = np_cell_real(amount->ns[i] / overall->step[i]);
		side[2] = counted ? np_cell_real(amount->count[i]) : np_cell_text("/");
	}
	cells[7] = np_cell_real((amount->ns[CMP_NEW] - amount->ns[CMP_BASE]) / 1e6);
	cells[8] = compare_ratio(amount->ns[CMP_BASE], amount->ns[CMP_NEW]);
	return np_sink_row(overall->sink, cells, overall->err);
}

/* Kernels of a class, on the cube unit, on others, or on either. */
static void add_class(const struct overall *overall, enum cmp_class class, bool vector, bool cube,
		      struct amount *ret)
{
	for (int core = 0; core < 2; core++) {
		const struct class_sum *sum = &overall->sums[class][core];

		for (int i = 0; i < CMP_SIDES && (core ? cube : vector); i++) {
			double cells = (double)overall->comparison->sides[i].cells;

			ret->ns[i] += (double)sum->total[i] / cells;
			ret->count[i] += (double)sum->count[i] / cells;
		}
	}
}

/* A class, and below it what of it uses the cube unit. */
static int put_class(struct overall *overall, enum cmp_class class)
{
	static const char *const cores[] = { "Cube", "Vector" };
	struct amount all = { 0 };
	int rc;

	add_class(overall, class, true, true, &all);
	rc = put(overall, 1, cmp_class_title(class), &all, true);
	for (int i = 0; i < 2 && rc == NP_OK; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
		struct amount one = { 0 };

		add_class(overall, class, i == 1, i == 0, &one);
		np_buf_printf(&label, "%s (%s)", cmp_class_title(class), cores[i]);
		rc = np_buf_check(&label, overall->err);
		if (rc == NP_OK)
			rc = put(overall, 2, label.text, &one, true);
	}
	return rc;
}

/* One row for a class alone. */
static int put_plain(struct overall *overall, int level, enum cmp_class class, const char *label)
{
	struct amount all = { 0 };

	add_class(overall, class, true, true, &all);
	return put(overall, level, label, &all, true);
}

static int put_vector(struct overall *overall)
{
	struct amount all = { 0 };
	int rc;

	add_class(overall, CMP_VECTOR_TRANS, true, true, &all);
	add_class(overall, CMP_VECTOR, true, true, &all);
	rc = put(overall, 1, "Vector", &all, true);
	if (rc == NP_OK)
		rc = put_plain(overall, 2, CMP_VECTOR_TRANS, "Vector (Trans)");
	return rc < 0 ? rc : put_plain(overall, 2, CMP_VECTOR, "Vector (No Trans)");
}

/* Kernels that communicate too: each type with its parts. */
static int put_mc2(struct overall *overall)
{
	const struct comparison *comparison = overall->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->mc2.count && rc == NP_OK; i++) {
		const struct cmp_mc2 *mc2 = &comparison->mc2.item[i];
		struct amount parts[3] = { 0 };

		for (int j = 0; j < CMP_SIDES; j++) {
			double cells = (double)comparison->sides[j].cells;

			parts[0].ns[j] = (double)mc2->total[j] / cells;
			parts[1].ns[j] = (double)mc2->computing[j] / cells;
			if (mc2->communication[j] != NP_UNKNOWN)
				parts[2].ns[j] = (double)mc2->communication[j] / cells;
			for (int k = 0; k < 3; k++)
				parts[k].count[j] = (double)mc2->count[j] / cells;
		}
		rc = put(overall, 1, cmp_text(comparison, mc2->type), &parts[0], true);
		if (rc == NP_OK)
			rc = put(overall, 2, "Computing", &parts[1], true);
		if (rc == NP_OK)
			rc = put(overall, 2, "Communication", &parts[2], true);
	}
	return rc;
}

static bool is_listed(enum cmp_class class)
{
	return class != CMP_MC2 && class != CMP_OTHER && class != CMP_UNKNOWN_CLASS;
}

/* What is computed and in no row above. */
static int put_rest(struct overall *overall, const struct amount *computing)
{
	struct amount listed = { 0 };
	struct amount rest = { 0 };

	for (int i = 0; i < CMP_CLASSES; i++) {
		if (is_listed((enum cmp_class)i) || i == CMP_MC2)
			add_class(overall, (enum cmp_class)i, true, true, &listed);
	}
	for (int i = 0; i < CMP_SIDES; i++)
		rest.ns[i] = fmax(0, computing->ns[i] - listed.ns[i]);
	return put(overall, 1, "Other", &rest, false);
}

/* The leaves of these kinds together, of one communicator or of all. */
static struct amount leaves_of(const struct comparison *comparison, unsigned kinds, size_t comm)
{
	struct amount sum = { 0 };

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		if (!(kinds & 1U << leaf->kind) || (comm != SIZE_MAX && leaf->comm != comm))
			continue;
		for (int j = 0; j < CMP_SIDES; j++)
			sum.ns[j] += (double)leaf->change.ns[j];
	}
	return sum;
}

#define COMPUTE (1U << CMP_LEAF_COMPUTE)
#define WAITING (1U << CMP_LEAF_WAIT)
#define MOVING  (1U << CMP_LEAF_TRANSFER)
#define COMM    (WAITING | MOVING | 1U << CMP_LEAF_COMM)
#define COPIES  (1U << CMP_LEAF_MEMCPY)
#define IDLE    (1U << CMP_LEAF_HOST | 1U << CMP_LEAF_FREE | 1U << CMP_LEAF_BETWEEN)

static int put_computing(struct overall *overall)
{
	static const enum cmp_class split[] = { CMP_FLASH_FORWARD, CMP_FLASH_BACKWARD,
						CMP_CONV_FORWARD, CMP_CONV_BACKWARD, CMP_MATMUL };
	struct amount all = leaves_of(overall->comparison, COMPUTE, SIZE_MAX);
	struct amount kernels = { 0 };
	int rc;

	for (int i = 0; i < CMP_CLASSES; i++) {
		if (is_listed((enum cmp_class)i))
			add_class(overall, (enum cmp_class)i, true, true, &kernels);
	}
	memcpy(all.count, kernels.count, sizeof(all.count));
	rc = put(overall, 0, "Computing Time", &all, true);
	if (rc == NP_OK)
		rc = put_mc2(overall);
	for (size_t i = 0; i < NP_COUNT(split) && rc == NP_OK; i++)
		rc = put_class(overall, split[i]);
	if (rc == NP_OK)
		rc = put_plain(overall, 1, CMP_PAGED_ATTENTION, "Page Attention");
	if (rc == NP_OK)
		rc = put_vector(overall);
	if (rc == NP_OK)
		rc = put_plain(overall, 1, CMP_CUBE, "Cube");
	if (rc == NP_OK)
		rc = put_plain(overall, 1, CMP_TENSOR_MOVE, "SDMA (Tensor Move)");
	return rc < 0 ? rc : put_rest(overall, &all);
}

/* A communicator: named ones first speak of their group, others have the name of the vendor. */
static int put_comm(struct overall *overall, size_t index)
{
	const struct comparison *comparison = overall->comparison;
	const struct cmp_comm *comm = &comparison->comms.item[index];
	bool named = comm->matched_by && strcmp(comm->matched_by, "pg_name") == 0;
	NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
	struct amount all = leaves_of(comparison, COMM, index);
	struct amount waiting = leaves_of(comparison, WAITING, index);
	struct amount moving = leaves_of(comparison, MOVING, index);
	int rc;

	np_buf_printf(&label, "%s%s", comm->name, named ? ": Communication" : "");
	rc = np_buf_check(&label, overall->err);
	if (rc == NP_OK)
		rc = put(overall, 1, label.text, &all, false);
	if (rc == NP_OK)
		rc = put(overall, 2, "Wait", &waiting, false);
	return rc < 0 ? rc : put(overall, 2, "Transmit", &moving, false);
}

static int put_communication(struct overall *overall)
{
	const struct comparison *comparison = overall->comparison;
	struct amount all = leaves_of(comparison, COMM, SIZE_MAX);
	int rc = put(overall, 0, "Uncovered Communication Time", &all, false);

	for (size_t i = 0; i < comparison->comms.count && rc == NP_OK; i++)
		rc = put_comm(overall, i);
	return rc;
}

static int put_free(struct overall *overall)
{
	struct amount all = leaves_of(overall->comparison, COPIES | IDLE, SIZE_MAX);
	struct amount copies = leaves_of(overall->comparison, COPIES, SIZE_MAX);
	struct amount idle = leaves_of(overall->comparison, IDLE, SIZE_MAX);
	int rc = put(overall, 0, "Free Time", &all, false);

	if (rc == NP_OK)
		rc = put(overall, 1, "SDMA", &copies, false);
	return rc < 0 ? rc : put(overall, 1, "Free", &idle, false);
}

static int put_overall(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
	struct overall overall = { .comparison = comparison, .sink = sink, .err = err };
	struct amount step = { 0 };
	int rc;

	for (int i = 0; i < CMP_SIDES; i++)
		overall.step[i] = step.ns[i] = (double)comparison->step.ns[i];
	/* Nothing is a share of nothing. */
	if (step.ns[CMP_BASE] <= 0 || step.ns[CMP_NEW] <= 0)
		return NP_OK;
	compare_sum_classes(comparison, overall.sums);
	rc = put_computing(&overall);
	if (rc == NP_OK)
		rc = put_communication(&overall);
	if (rc == NP_OK)
		rc = put_free(&overall);
	return rc < 0 ? rc : put(&overall, 0, "E2E Time", &step, false);
}

const struct np_relation compare_overall = { "overall",
					     "the step by computing, communication and free time",
					     overall_columns, NP_COUNT(overall_columns),
					     put_overall };
