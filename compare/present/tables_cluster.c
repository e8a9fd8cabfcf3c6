/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the tables of ranks, communicators, links and memory of both sides. */
#include "tables.h"

#include "npuprof/rank.h"

#include <math.h>

/* Tables about the ranks of both sides and what is between them. */

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
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
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

const struct np_relation compare_communicators = {
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

	return np_cell_integer(
		llround((double)side->analysis->causes.ranks[pair->rank[which]].charge /
			(double)(steps ? steps : 1)));
}

static int put_ranks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
	int rc = NP_OK;

	for (size_t i = 0; i < comparison->pairs.count && rc == NP_OK; i++) {
		const struct cmp_pair *pair = &comparison->pairs.item[i];
		const struct np_cell cells[] = {
			np_cell_integer(cmp_rank(comparison, pair, CMP_BASE)->id),
			np_cell_integer(cmp_rank(comparison, pair, CMP_NEW)->id),
			np_cell_integer(pair->length[CMP_BASE]),
			np_cell_integer(pair->length[CMP_NEW]),
			np_cell_integer(pair->length[CMP_NEW] - pair->length[CMP_BASE]),
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

const struct np_relation compare_ranks = { "ranks", "paired ranks, with those that stand out",
					   ranks_columns, NP_COUNT(ranks_columns), put_ranks };

/* --- memory and links ------------------------------------------------------------------------ */

static const struct np_column peaks_columns[] = {
	{ "component", NP_TEXT },
	{ "base_bytes", NP_INTEGER },
	{ "new_bytes", NP_INTEGER },
	{ "delta_bytes", NP_INTEGER },
};

static int put_peaks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct cmp_memory *memory = ((const struct compare_report *)model)->memory;
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

const struct np_relation compare_peaks = { "memory_peaks", "the most that each component held",
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
	const struct comparison *comparison = ((const struct compare_report *)model)->comparison;
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

const struct np_relation compare_links = { "links", "speed of links on both sides", links_columns,
					   NP_COUNT(links_columns), put_links };
