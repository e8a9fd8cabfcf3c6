/* SPDX-License-Identifier: Apache-2.0 */
#include "report_screen.h"

#include "npuprof/op_times.h"
#include "npuprof/ranges.h"
#include "npuprof/spread.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

/* Longer lists end with how many more there are and where to see them. */
#define MAX_STEPS         6
#define MAX_COMMUNICATORS 6
#define MAX_CHARGED       3

/* A screen narrower than this names the rank of the most only. */
#define WIDE 100

static const char *const quantity_titles[NP_Q_COUNT] = {
	[NP_Q_COMPUTING] = "computing", [NP_Q_EXPOSED] = "exposed comm.", [NP_Q_FREE] = "free",
	[NP_Q_BUBBLE] = "bubble",       [NP_Q_SPAN] = "step span",
};

/* "0.74…15.8 ms r5": the least in the unit of the most. */
static void put_short_spread(struct np_grid *grid, const struct np_spread *spread)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { " ns", 1 }, { " us", 1e3 }, { " ms", 1e6 }, { " s", 1e9 } };
	NP_CLEANUP(np_buf_release) struct np_buf most = NP_BUF_INIT;
	double least = (double)spread->least;

	np_text_duration(&most, spread->most);
	for (size_t i = 0; i < NP_COUNT(units); i++) {
		if (strcmp(strchrnul(most.text, ' '), units[i].name) == 0)
			least /= units[i].ns;
	}
	np_grid_printf(grid, "%.*f…%s r%" PRId32, least < 9.995 ? 2 : least < 99.95, least,
		       most.text, spread->most_rank);
}

/* "41.2 r3 … 54.1 ms r5", or the one value that all have. */
static void put_spread(struct np_grid *grid, const struct np_spread *spread, bool wide)
{
	NP_CLEANUP(np_buf_release) struct np_buf least = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf most = NP_BUF_INIT;
	const char *units[2];
	int digits;

	if (spread->ranks == 0) {
		np_grid_cell(grid, "?");
		return;
	}
	np_text_duration(&least, spread->least);
	np_text_duration(&most, spread->most);
	if (spread->least == spread->most) {
		np_grid_cell(grid, least.text);
		return;
	}
	if (!wide) {
		put_short_spread(grid, spread);
		return;
	}
	/* The unit is said once where both have the same. */
	units[0] = strchrnul(least.text, ' ');
	units[1] = strchrnul(most.text, ' ');
	digits = strcmp(units[0], units[1]) == 0 ? (int)(units[0] - least.text) : INT_MAX;
	np_grid_printf(grid, "%.*s r%" PRId32 " … %s r%" PRId32, digits, least.text,
		       spread->least_rank, most.text, spread->most_rank);
}

/* A bubble that is zero everywhere says nothing; the span takes its column. */
static bool has_bubble(const struct np_cluster *cluster)
{
	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			if (rank->times.item[j].bubble > 0)
				return true;
		}
	}
	return false;
}

static int put_step_row(struct np_grid *grid, const struct cluster_report *report, np_str step,
			bool bubble, struct np_err *err)
{
	const char *id = np_run_text(report->analysis->run, step);

	np_grid_cell(grid, id ? id : "all");
	for (int quantity = 0; quantity < NP_Q_COUNT; quantity++) {
		struct np_spread spread;
		int rc;

		if (quantity == (bubble ? NP_Q_SPAN : NP_Q_BUBBLE))
			continue;
		rc = np_spread_measure(report->analysis->cluster, step, (enum np_quantity)quantity,
				       &spread, err);
		if (rc < 0)
			return rc;
		put_spread(grid, &spread, report->width >= WIDE);
	}
	return NP_OK;
}

int section_put_steps(struct np_section *section, const struct cluster_report *report,
		      struct np_err *err)
{
	const struct np_cluster *cluster = report->analysis->cluster;
	bool bubble = has_bubble(cluster);
	struct np_grid_column columns[NP_Q_COUNT + 1] = { { "step", NP_RIGHT, false } };
	struct np_longest longest = { 0 };
	size_t count = 1;
	int rc = NP_OK;

	for (int quantity = 0; quantity < NP_Q_COUNT; quantity++) {
		if (quantity != (bubble ? NP_Q_SPAN : NP_Q_BUBBLE))
			columns[count++] = (struct np_grid_column){ quantity_titles[quantity],
								    NP_LEFT, false };
	}
	section->grid = np_grid_new(columns, count);
	if (!section->grid)
		return np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < cluster->steps.count && i < MAX_STEPS && rc == NP_OK; i++)
		rc = put_step_row(section->grid, report, cluster->steps.item[i], bubble, err);
	if (cluster->steps.count > MAX_STEPS)
		np_buf_printf(&section->text, "… and %zu more steps: --steps N, or -f csv\n",
			      cluster->steps.count - MAX_STEPS);
	if (rc == NP_OK)
		rc = np_longest_measure(cluster, NP_Q_COMPUTING, &longest, err);
	/* Below a percent somebody is always longest. */
	if (rc == NP_OK && longest.steps > 0 && longest.over >= 0.01)
		np_buf_printf(&section->text,
			      "rank %" PRId32 " computed longest in %zu of %zu steps, on average"
			      " %.0f %% over the middle rank\n",
			      longest.rank, longest.steps, cluster->steps.count,
			      100 * longest.over);
	return rc;
}

void report_put_ranks(struct np_buf *buf, const struct np_communicator *communicator)
{
	int64_t *ranks = malloc((communicator->observed_count + 1) * sizeof(*ranks));

	for (size_t i = 0; ranks && i < communicator->observed_count; i++)
		ranks[i] = communicator->observed[i];
	if (ranks)
		np_ranges_format(buf, ranks, communicator->observed_count);
	free(ranks);
	if (communicator->size > communicator->observed_count)
		np_buf_printf(buf, " (%zu of %zu)", communicator->observed_count,
			      communicator->size);
}

static void put_members(struct np_grid *grid, const struct np_communicator *communicator)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	report_put_ranks(&text, communicator);
	np_grid_cell(grid, text.text);
}

static void put_ratio(struct np_grid *grid, double ratio, const char *format_unknown)
{
	if (isnan(ratio))
		np_grid_cell(grid, format_unknown);
	else
		np_grid_printf(grid, "%.2f", ratio);
}

static void put_communicator(struct np_grid *grid, const struct cluster_report *report,
			     const struct np_comm_sum *total)
{
	const struct np_communicator *each = total->communicator;
	const char *name = np_run_text(report->analysis->run, each->pg_name);

	if (name)
		np_grid_printf(grid, "%s …%03" PRIu64, name, each->hash % 1000);
	else
		np_grid_printf(grid, "%" PRIu64, each->hash);
	put_members(grid, each);
	np_grid_printf(grid, "%zu", total->ops);
	np_grid_duration(grid, total->elapsed);
	np_grid_duration(grid, total->wait);
	np_grid_duration(grid, total->transit);
	np_grid_duration(grid, total->exposed);
	put_ratio(grid, np_gb_per_s(total->moved_bytes, total->moved_time), "?");
	put_ratio(grid, np_comm_compute_ratio(total), "?");
}

int section_put_communicators(struct np_section *section, const struct cluster_report *report,
			      struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "communicator", NP_LEFT, NP_CUT_MIDDLE },
		{ "ranks", NP_LEFT, true },
		{ "ops", NP_RIGHT, false },
		{ "elapsed", NP_RIGHT, false },
		{ "wait", NP_RIGHT, false },
		{ "transit", NP_RIGHT, false },
		{ "exposed", NP_RIGHT, false },
		{ "GB/s", NP_RIGHT, false },
		{ "comm/comp", NP_RIGHT, false },
	};
	struct np_comm_sums totals = { 0 };
	int rc = np_comm_sums_total(&report->analysis->sums, &totals, err);

	if (rc < 0)
		return rc;
	section->grid = np_grid_new(columns, NP_COUNT(columns));
	for (size_t i = 0; section->grid && i < totals.list.count && i < MAX_COMMUNICATORS; i++)
		put_communicator(section->grid, report, &totals.list.item[i]);
	if (totals.list.count > MAX_COMMUNICATORS)
		np_buf_printf(&section->text,
			      "… and %zu more: -f csv --table np_comm_step lists all\n",
			      totals.list.count - MAX_COMMUNICATORS);
	np_comm_sums_release(&totals);
	return section->grid ? NP_OK : np_fail_nomem(err, "the screen");
}

static void put_charged(struct np_grid *grid, const struct cluster_report *report, uint32_t index)
{
	const struct np_charges *charges = &report->analysis->charges;
	const struct np_root_causes *causes = &report->analysis->causes;
	const struct np_charge_rank *charged = &charges->ranks[index];

	np_grid_printf(grid, "rank %" PRId32, report->analysis->run->ranks[index]->id);
	np_grid_duration(grid, np_whatif_saved(&report->analysis->whatif,
					       report->analysis->run->ranks[index]->id));
	np_grid_duration(grid, causes->ranks[index].charge);
	np_grid_printf(grid, "%.0f %%",
		       100 * (double)causes->ranks[index].charge / (double)charges->total);
	np_grid_cell(grid, np_cause_name(np_root_cause_main(causes, index)));
	np_grid_duration(grid, charged->charge);
	np_grid_printf(grid, "%" PRIu32 " of %" PRIu32, charged->last_arrivals, charged->instances);
	np_grid_cell(grid, np_root_cause_kind(&report->analysis->causes, index));
}

static void put_other(struct np_grid *grid, const char *who, np_ns charge, np_ns direct,
		      np_ns total)
{
	if (charge == 0)
		return;
	np_grid_cell(grid, who);
	np_grid_cell(grid, "");
	np_grid_duration(grid, charge);
	np_grid_printf(grid, "%.0f %%", 100 * (double)charge / (double)total);
	np_grid_cell(grid, "");
	np_grid_duration(grid, direct);
	np_grid_cell(grid, "");
	np_grid_cell(grid, "");
}

/* A large share of little is little, and waiting that computing hides costs nothing. */
static void put_total_wait(struct np_buf *text, const struct cluster_report *report)
{
	np_buf_add(text, "all waiting: ");
	np_text_duration(text, report->analysis->charges.total);
	np_buf_add(text, ", partly hidden by computing; exposed communication: ");
	np_text_duration(text, np_quantity_total(report->analysis->cluster, NP_Q_EXPOSED));
	np_buf_add(text, " of ");
	np_text_duration(text, np_quantity_total(report->analysis->cluster, NP_Q_SPAN));
	np_buf_add(text, " of steps\n");
}

/* The last to come is often a victim itself: beside what began with a rank stands what it was
 * charged. */
int section_put_blame(struct np_section *section, const struct cluster_report *report,
		      struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "began with", NP_LEFT, true },
		{ "repair saves", NP_RIGHT, false },
		{ "waiting of others", NP_RIGHT, false },
		{ "share", NP_RIGHT, false },
		{ "cause", NP_LEFT, true },
		{ "by arrival", NP_RIGHT, false },
		{ "came last", NP_RIGHT, false },
		{ "", NP_LEFT, false },
	};
	const struct np_charges *charges = &report->analysis->charges;
	const struct np_root_causes *causes = &report->analysis->causes;
	struct np_charge_order order = { 0 };
	int rc = np_whatif_sort(&report->analysis->whatif, report->analysis->run, causes, &order,
				err);

	section->grid = np_grid_new(columns, NP_COUNT(columns));
	if (rc == NP_OK && !section->grid)
		rc = np_fail_nomem(err, "the screen");
	for (size_t i = 0; i < order.count && i < MAX_CHARGED && rc == NP_OK; i++)
		put_charged(section->grid, report, order.ranks[i]);
	if (rc == NP_OK) {
		put_other(section->grid, "ranks not profiled", causes->unprofiled,
			  charges->unprofiled, charges->total);
		put_other(section->grid, "nobody", charges->unattributed, charges->unattributed,
			  charges->total);
		put_total_wait(&section->text, report);
	}
	np_charge_order_release(&order);
	return rc;
}
