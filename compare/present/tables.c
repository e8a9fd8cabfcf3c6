/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the tables of a comparison: waterfall, kernels, causes, structure. */
#include "tables.h"

#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/* The tables of a comparison: ns and bytes, per step. */

static struct np_cell whole(double value)
{
	return isfinite(value) ? np_cell_integer(llround(value)) : np_cell_null();
}

/* --- waterfall ------------------------------------------------------------------------------- */

static const struct np_column waterfall_columns[] = {
	{ "leaf", NP_TEXT },        { "base_ns", NP_INTEGER }, { "new_ns", NP_INTEGER },
	{ "delta_ns", NP_INTEGER }, { "verdict", NP_TEXT },    { "median_delta_ns", NP_INTEGER },
	{ "low_ns", NP_INTEGER },   { "high_ns", NP_INTEGER }, { "detectable_ns", NP_INTEGER },
	{ "p_value", NP_REAL },     { "q_value", NP_REAL },
};

static int put_waterfall(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->leaves.count && rc == NP_OK; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];
		const struct cmp_change *change = &leaf->change;
		const struct np_cell cells[] = {
			np_cell_text(leaf->path),
			np_cell_integer(change->ns[CMP_BASE]),
			np_cell_integer(change->ns[CMP_NEW]),
			np_cell_integer(change->delta),
			np_cell_text(cmp_verdict_name(change->verdict)),
			whole(change->test.median_delta),
			whole(change->test.low),
			whole(change->test.high),
			whole(change->test.detectable),
			np_cell_real(change->test.p),
			np_cell_real(change->q),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_relation waterfall = { "waterfall",
					      "the step divided into leaves, on both sides",
					      waterfall_columns, NP_COUNT(waterfall_columns),
					      put_waterfall };

/* --- classes --------------------------------------------------------------------------------- */

static const struct np_column classes_columns[] = {
	{ "class", NP_TEXT },       { "core", NP_TEXT },      { "base_ns", NP_INTEGER },
	{ "base_count", NP_REAL },  { "new_ns", NP_INTEGER }, { "new_count", NP_REAL },
	{ "delta_ns", NP_INTEGER },
};

void compare_sum_classes(const struct comparison *comparison, struct class_sum sums[][2])
{
	for (int which = 0; which < CMP_SIDES; which++) {
		const struct cmp_side *side = &comparison->sides[which];

		for (size_t i = 0; i < side->groups.count; i++) {
			const struct cmp_kernel_group *group = &side->groups.item[i];

			sums[group->class][group->cube].total[which] += group->sum.total;
			sums[group->class][group->cube].count[which] += group->sum.count;
		}
	}
}

/* Σ of the durations of kernels, by class and by the unit they use. */
static int put_classes(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
	double cells[] = { (double)comparison->sides[0].cells, (double)comparison->sides[1].cells };
	struct class_sum sums[CMP_CLASSES][2] = { 0 };
	int rc = NP_OK;

	compare_sum_classes(comparison, sums);
	for (int i = 0; i < CMP_CLASSES * 2 && rc == NP_OK; i++) {
		const struct class_sum *sum = &sums[i / 2][i % 2];
		np_ns base = llround((double)sum->total[0] / cells[0]);
		np_ns new_ = llround((double)sum->total[1] / cells[1]);
		const struct np_cell row[] = {
			np_cell_text(cmp_class_id((enum cmp_class)(i / 2))),
			np_cell_text(i % 2 ? "cube" : "vector"),
			np_cell_integer(base),
			np_cell_real((double)sum->count[0] / cells[0]),
			np_cell_integer(new_),
			np_cell_real((double)sum->count[1] / cells[1]),
			np_cell_integer(new_ - base),
		};

		if (sum->count[0] > 0 || sum->count[1] > 0)
			rc = np_sink_row(sink, row, err);
	}
	return rc;
}

static const struct np_relation classes = { "classes", "durations of kernels by class",
					    classes_columns, NP_COUNT(classes_columns),
					    put_classes };

/* --- kernels that communicate too ------------------------------------------------------------ */

static const struct np_column mc2_columns[] = {
	{ "type", NP_TEXT },
	{ "base_count", NP_REAL },
	{ "base_ns", NP_INTEGER },
	{ "base_computing_ns", NP_INTEGER },
	{ "base_communication_ns", NP_INTEGER },
	{ "new_count", NP_REAL },
	{ "new_ns", NP_INTEGER },
	{ "new_computing_ns", NP_INTEGER },
	{ "new_communication_ns", NP_INTEGER },
	{ "delta_ns", NP_INTEGER },
};

static np_ns per_cell(np_ns sum, double cells)
{
	return sum == NP_UNKNOWN ? sum : llround((double)sum / cells);
}

static int put_mc2(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
	double cells[] = { (double)comparison->sides[0].cells, (double)comparison->sides[1].cells };
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->mc2.count && rc == NP_OK; i++) {
		const struct cmp_mc2 *mc2 = &comparison->mc2.item[i];
		struct np_cell row[NP_COUNT(mc2_columns)];

		row[0] = np_cell_text(cmp_text(comparison, mc2->type));
		for (int j = 0; j < CMP_SIDES; j++) {
			struct np_cell *side = &row[1 + 4 * j];

			side[0] = np_cell_real((double)mc2->count[j] / cells[j]);
			side[1] = np_cell_integer(per_cell(mc2->total[j], cells[j]));
			side[2] = np_cell_integer(per_cell(mc2->computing[j], cells[j]));
			side[3] = np_cell_integer(per_cell(mc2->communication[j], cells[j]));
		}
		row[9] = np_cell_integer(per_cell(mc2->total[1], cells[1]) -
					 per_cell(mc2->total[0], cells[0]));
		rc = np_sink_row(sink, row, err);
	}
	return rc;
}

static const struct np_relation mc2 = { "mc2", "kernels that compute and communicate at once",
					mc2_columns, NP_COUNT(mc2_columns), put_mc2 };

/* --- kernels --------------------------------------------------------------------------------- */

static const struct np_column kernels_columns[] = {
	{ "leaf", NP_TEXT },
	{ "type", NP_TEXT },
	{ "shapes", NP_TEXT },
	{ "count_base", NP_REAL },
	{ "count_new", NP_REAL },
	{ "base_ns", NP_INTEGER },
	{ "new_ns", NP_INTEGER },
	{ "count_effect_ns", NP_INTEGER },
	{ "speed_effect_ns", NP_INTEGER },
	{ "mix_effect_ns", NP_INTEGER },
	{ "overlap_effect_ns", NP_INTEGER },
	{ "delta_ns", NP_INTEGER },
};

static int put_kernels(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->kernels.count && rc == NP_OK; i++) {
		const struct cmp_kernel *kernel = &comparison->kernels.item[i];
		const struct np_cell cells[] = {
			np_cell_text(comparison->leaves.item[kernel->leaf].path),
			np_cell_text(cmp_text(comparison, kernel->type)),
			np_cell_text(cmp_text(comparison, kernel->shapes)),
			np_cell_real(kernel->count[CMP_BASE]),
			np_cell_real(kernel->count[CMP_NEW]),
			np_cell_integer(kernel->ns[CMP_BASE]),
			np_cell_integer(kernel->ns[CMP_NEW]),
			np_cell_integer(kernel->count_effect),
			np_cell_integer(kernel->speed_effect),
			np_cell_integer(kernel->mix_effect),
			np_cell_integer(kernel->overlap_effect),
			np_cell_integer(kernel->delta),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_relation kernels = { "kernels",
					    "why kernels take longer: count, speed, mix, overlap",
					    kernels_columns, NP_COUNT(kernels_columns),
					    put_kernels };

/* --- structure ------------------------------------------------------------------------------- */

static const struct np_column structure_columns[] = {
	{ "kind", NP_TEXT }, { "what", NP_TEXT },     { "from", NP_TEXT },
	{ "to", NP_TEXT },   { "count", NP_INTEGER },
};

static int put_structure(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->structure.count && rc == NP_OK; i++) {
		const struct cmp_structure *each = &comparison->structure.item[i];
		const struct np_cell cells[] = {
			np_cell_text(each->kind),     np_cell_text(each->what),
			np_cell_text(each->from),     np_cell_text(each->to),
			np_cell_integer(each->count),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_relation structure = {
	"structure", "kernels that came, went, became one, or have other inputs", structure_columns,
	NP_COUNT(structure_columns), put_structure
};

/* --- the list -------------------------------------------------------------------------------- */

const struct np_relation *const compare_relations[] = {
	&waterfall,
	&classes,
	&mc2,
	&kernels,
	&compare_communicators,
	&compare_ranks,
	&structure,
	&compare_peaks,
	&compare_links,
	&compare_overall,
	&compare_view_relations[CMP_VIEW_KERNEL],
	&compare_view_relations[CMP_VIEW_KERNEL_TYPE],
	&compare_view_relations[CMP_VIEW_COMMUNICATION],
	&compare_view_relations[CMP_VIEW_API],
	&compare_view_relations[CMP_VIEW_OPERATOR],
	&compare_operator_detail,
	&compare_view_relations[CMP_VIEW_MODULE],
	&compare_module_detail,
	&compare_view_relations[CMP_VIEW_MEMORY],
	NULL,
};

enum cmp_view compare_view_of(const char *table)
{
	if (strcmp(table, compare_operator_detail.name) == 0)
		return CMP_VIEW_OPERATOR;
	return strcmp(table, compare_module_detail.name) == 0 ? CMP_VIEW_MODULE
							      : cmp_view_find(table);
}

bool compare_relation_applies(const struct np_relation *relation,
			      const struct compare_report *report)
{
	enum cmp_view view = compare_view_of(relation->name);

	if (report->no_details &&
	    (relation == &compare_operator_detail || relation == &compare_module_detail))
		return false;
	return view == CMP_VIEWS || (report->views->wanted >> view & 1) != 0;
}

int compare_find_relation(const char *name, const struct np_relation **ret, struct np_err *err)
{
	const char *names[NP_COUNT(compare_relations)];
	const char *meant;
	size_t count = 0;

	for (; compare_relations[count]; count++) {
		names[count] = compare_relations[count]->name;
		if (!name || strcmp(name, names[count]) == 0) {
			*ret = compare_relations[count];
			return NP_OK;
		}
	}
	meant = np_text_closest(name, names, count);
	return np_fail(err, NP_E_USAGE, "no table '%s'%s%s%s", name,
		       meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}
