/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

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
	const struct comparison *comparison = ((const struct report *)model)->comparison;
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

struct class_sum {
	np_ns total[CMP_SIDES];
	int64_t count[CMP_SIDES];
};

static void sum_classes(const struct comparison *comparison, struct class_sum sums[][2])
{
	for (int which = 0; which < CMP_SIDES; which++) {
		for (size_t i = 0; i < comparison->pairs.count; i++) {
			const struct cmp_rank_kernels *kernels =
				&comparison->sides[which]
					 .kernels[comparison->pairs.item[i].rank[which]];

			for (size_t j = 0; j < kernels->cells.count; j++) {
				const struct cmp_kernel_cell *cell = &kernels->cells.item[j];
				const struct cmp_kernel_group *group =
					&kernels->groups.item[cell->group];

				sums[group->class][group->cube].total[which] += cell->total;
				sums[group->class][group->cube].count[which] += cell->count;
			}
		}
	}
}

/* Σ of the durations of kernels, by class and by the unit they use. */
static int put_classes(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct report *)model)->comparison;
	double cells[] = { (double)comparison->sides[0].cells, (double)comparison->sides[1].cells };
	struct class_sum sums[CMP_CLASSES][2] = { 0 };
	int rc = NP_OK;

	sum_classes(comparison, sums);
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
	const struct comparison *comparison = ((const struct report *)model)->comparison;
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

/* --- communicators --------------------------------------------------------------------------- */

static const struct np_column comm_columns[] = {
	{ "name", NP_TEXT },
	{ "matched_by", NP_TEXT },
	{ "base_elapsed_ns", NP_INTEGER },
	{ "new_elapsed_ns", NP_INTEGER },
	{ "base_wait_ns", NP_INTEGER },
	{ "new_wait_ns", NP_INTEGER },
	{ "base_bytes", NP_INTEGER },
	{ "new_bytes", NP_INTEGER },
	{ "base_gb_per_s", NP_REAL },
	{ "new_gb_per_s", NP_REAL },
	{ "delta_ns", NP_INTEGER },
	{ "bytes_effect_ns", NP_INTEGER },
	{ "bandwidth_effect_ns", NP_INTEGER },
	{ "wait_effect_ns", NP_INTEGER },
	{ "overlap_effect_ns", NP_INTEGER },
};

static int put_comms(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct report *)model)->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->comms.count && rc == NP_OK; i++) {
		const struct cmp_comm *comm = &comparison->comms.item[i];
		const struct cmp_comm_side *base = &comm->side[CMP_BASE];
		const struct cmp_comm_side *new_ = &comm->side[CMP_NEW];
		const struct np_cell cells[] = {
			np_cell_text(comm->name),
			np_cell_text(comm->matched_by),
			np_cell_integer(base->elapsed),
			np_cell_integer(new_->elapsed),
			np_cell_integer(base->wait),
			np_cell_integer(new_->wait),
			np_cell_integer(base->bytes),
			np_cell_integer(new_->bytes),
			np_cell_real(base->gb_per_s),
			np_cell_real(new_->gb_per_s),
			np_cell_integer(comm->delta),
			np_cell_integer(comm->bytes_effect),
			np_cell_integer(comm->bandwidth_effect),
			np_cell_integer(comm->wait_effect),
			np_cell_integer(comm->overlap_effect),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_relation communicators = {
	"communicators", "communicators matched by name, ranks or what they did", comm_columns,
	NP_COUNT(comm_columns), put_comms
};

/* --- ranks ----------------------------------------------------------------------------------- */

static const struct np_column ranks_columns[] = {
	{ "base_rank", NP_INTEGER },    { "new_rank", NP_INTEGER },
	{ "base_ns", NP_INTEGER },      { "new_ns", NP_INTEGER },
	{ "delta_ns", NP_INTEGER },     { "own_base_ns", NP_INTEGER },
	{ "own_new_ns", NP_INTEGER },   { "base_began_ns", NP_INTEGER },
	{ "new_began_ns", NP_INTEGER }, { "base_mhz", NP_INTEGER },
	{ "new_mhz", NP_INTEGER },      { "outlier", NP_INTEGER },
};

/* Waiting of others that began with the rank, per step. */
static struct np_cell began(const struct comparison *comparison, const struct cmp_pair *pair,
			    enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];
	size_t steps = side->analysis->cluster->steps.count;

	return whole((double)side->analysis->origin.ranks[pair->rank[which]].cost /
		     (double)(steps ? steps : 1));
}

static int put_ranks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct report *)model)->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->pairs.count && rc == NP_OK; i++) {
		const struct cmp_pair *pair = &comparison->pairs.item[i];
		const struct np_cell cells[] = {
			np_cell_integer(cmp_rank(comparison, pair, CMP_BASE)->id),
			np_cell_integer(cmp_rank(comparison, pair, CMP_NEW)->id),
			np_cell_integer(pair->span[CMP_BASE]),
			np_cell_integer(pair->span[CMP_NEW]),
			np_cell_integer(pair->span[CMP_NEW] - pair->span[CMP_BASE]),
			np_cell_integer(pair->busy[CMP_BASE]),
			np_cell_integer(pair->busy[CMP_NEW]),
			began(comparison, pair, CMP_BASE),
			began(comparison, pair, CMP_NEW),
			np_cell_integer(comparison->sides[0].kernels[pair->rank[0]].mhz),
			np_cell_integer(comparison->sides[1].kernels[pair->rank[1]].mhz),
			np_cell_integer(pair->outlier),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_relation ranks = { "ranks", "paired ranks, with those that stand out",
					  ranks_columns, NP_COUNT(ranks_columns), put_ranks };

/* --- structure, memory, links ---------------------------------------------------------------- */

static const struct np_column structure_columns[] = {
	{ "kind", NP_TEXT }, { "what", NP_TEXT },     { "from", NP_TEXT },
	{ "to", NP_TEXT },   { "count", NP_INTEGER },
};

static int put_structure(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct report *)model)->comparison;
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

static const struct np_column peaks_columns[] = {
	{ "component", NP_TEXT },
	{ "base_bytes", NP_INTEGER },
	{ "new_bytes", NP_INTEGER },
	{ "delta_bytes", NP_INTEGER },
};

static int put_peaks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct cmp_memory *memory = ((const struct report *)model)->memory;
	int rc = NP_OK;

	for (size_t i = 0; i < memory->list.count && rc == NP_OK; i++) {
		const struct cmp_memory_peak *peak = &memory->list.item[i];
		bool both = peak->bytes[0] != NP_UNKNOWN && peak->bytes[1] != NP_UNKNOWN;
		const struct np_cell cells[] = {
			np_cell_text(peak->component),
			np_cell_integer(peak->bytes[0]),
			np_cell_integer(peak->bytes[1]),
			both ? np_cell_integer(peak->bytes[1] - peak->bytes[0]) : np_cell_null(),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_relation peaks = { "memory_peaks", "the most that each component held",
					  peaks_columns, NP_COUNT(peaks_columns), put_peaks };

static const struct np_column links_columns[] = {
	{ "src", NP_INTEGER },        { "dst", NP_INTEGER },       { "transport", NP_TEXT },
	{ "base_gb_per_s", NP_REAL }, { "new_gb_per_s", NP_REAL }, { "base_verdict", NP_TEXT },
	{ "new_verdict", NP_TEXT },
};

static const struct np_link_speed *find_link(const struct comparison *comparison,
					     enum cmp_which which, const struct np_link_speed *like,
					     const char *transport)
{
	const struct np_analysis *analysis = comparison->sides[which].analysis;

	for (size_t i = 0; i < analysis->links.list.count; i++) {
		const struct np_link_speed *link = &analysis->links.list.item[i];
		const char *name = np_run_text(analysis->run, link->transport);

		if (link->src == like->src && link->dst == like->dst &&
		    link->plane == like->plane &&
		    strcmp(name ? name : "", transport ? transport : "") == 0)
			return link;
	}
	return NULL;
}

static int put_link(struct np_sink *sink, const struct np_link_speed *base,
		    const struct np_link_speed *new_, const char *transport, struct np_err *err)
{
	const struct np_link_speed *any = base ? base : new_;
	const struct np_cell cells[] = {
		np_cell_integer(any->src),
		np_cell_integer(any->dst),
		np_cell_text(transport),
		base ? np_cell_real(np_link_gb_per_s(base)) : np_cell_null(),
		new_ ? np_cell_real(np_link_gb_per_s(new_)) : np_cell_null(),
		np_cell_text(base ? np_link_verdict_name(base->verdict) : NULL),
		np_cell_text(new_ ? np_link_verdict_name(new_->verdict) : NULL),
	};

	return np_sink_row(sink, cells, err);
}

/* Links of both sides, then those that only the new side has. */
static int put_links(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct report *)model)->comparison;
	int rc = NP_OK;

	for (int which = 0; which < CMP_SIDES; which++) {
		const struct np_analysis *analysis = comparison->sides[which].analysis;

		for (size_t i = 0; i < analysis->links.list.count && rc == NP_OK; i++) {
			const struct np_link_speed *link = &analysis->links.list.item[i];
			const char *transport = np_run_text(analysis->run, link->transport);
			const struct np_link_speed *other = find_link(
				comparison, which == 0 ? CMP_NEW : CMP_BASE, link, transport);

			if (which == CMP_BASE)
				rc = put_link(sink, link, other, transport, err);
			else if (!other)
				rc = put_link(sink, NULL, link, transport, err);
		}
	}
	return rc;
}

static const struct np_relation links = { "links", "speed of links on both sides", links_columns,
					  NP_COUNT(links_columns), put_links };

/* --- the list -------------------------------------------------------------------------------- */

extern const struct np_relation compare_view_relations[CMP_VIEWS];

const struct np_relation *const compare_relations[] = {
	&waterfall,
	&classes,
	&kernels,
	&communicators,
	&ranks,
	&structure,
	&peaks,
	&links,
	&compare_view_relations[CMP_VIEW_KERNEL],
	&compare_view_relations[CMP_VIEW_KERNEL_TYPE],
	&compare_view_relations[CMP_VIEW_COMMUNICATION],
	&compare_view_relations[CMP_VIEW_API],
	&compare_view_relations[CMP_VIEW_OPERATOR],
	&compare_view_relations[CMP_VIEW_MODULE],
	&compare_view_relations[CMP_VIEW_MEMORY],
	NULL,
};

bool compare_relation_applies(const struct np_relation *relation, const struct report *report)
{
	enum cmp_view view = cmp_view_find(relation->name);

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
