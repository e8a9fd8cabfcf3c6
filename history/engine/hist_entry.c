/* SPDX-License-Identifier: Apache-2.0 */
/* Takes from an analysis what is kept of a run. */
#include "hist_entry.h"

#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "npuprof/align.h"
#include "npuprof/analysis.h"
#include "npuprof/clock.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/snapshot_rows.h"
#include "npuprof/text.h"
#include "npuprof/whatif.h"

/* Times of profiles before 2001 are not of the calendar. */
#define CALENDAR INT64_C(1000000000000000000)

struct entry_work {
	const struct np_analysis *analysis;
	const struct hist_entry_words *words;
	struct hist_store *store;
	struct np_err *err;
	struct np_idmap *steps; /* step and index of a rank → its iteration in the store */
};

static const char *text_of(const struct entry_work *entry, np_str id)
{
	return np_run_text(entry->analysis->run, id);
}

/* --- the run --------------------------------------------------------------------------------- */

np_ns hist_now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_REALTIME, &time);
	return (np_ns)time.tv_sec * 1000000000 + time.tv_nsec;
}

static np_ns time_in(const struct timespec *time)
{
	return (np_ns)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* Copies may keep the time of what they are copies of, yet not when they were made. */
static np_ns newest_of(const struct np_run *run, bool arrivals)
{
	np_ns newest = NP_UNKNOWN;

	for (size_t i = 0; i < run->sources.count; i++) {
		for (size_t file = 0; file < NP_FILE_COUNT; file++) {
			const char *path = run->sources.item[i].file[file];
			struct stat info;
			np_ns changed;

			if (!path || stat(path, &info) != 0)
				continue;
			changed = time_in(&info.st_mtim);
			if (arrivals && time_in(&info.st_ctim) > changed)
				changed = time_in(&info.st_ctim);
			newest = newest == NP_UNKNOWN || changed > newest ? changed : newest;
		}
	}
	return newest;
}

np_ns hist_newest_file(const struct np_run *run)
{
	return newest_of(run, false);
}

np_ns hist_newest_change(const struct np_run *run)
{
	return newest_of(run, true);
}

static np_ns time_of(const struct entry_work *entry)
{
	const struct np_run *run = entry->analysis->run;
	np_ns first = NP_UNKNOWN;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			np_ns begin = rank->times.item[j].begin;

			if (begin != NP_UNKNOWN && begin >= CALENDAR &&
			    (first == NP_UNKNOWN || begin < first))
				first = begin;
		}
	}
	if (first == NP_UNKNOWN)
		first = hist_newest_file(run);
	return first == NP_UNKNOWN ? entry->words->now : first;
}

static int take_run(struct entry_work *entry)
{
	const struct np_analysis *analysis = entry->analysis;
	const struct np_verdict *verdict = &analysis->verdict;
	struct hist_store *store = entry->store;
	struct hist_run *run = np_vec_add(&store->runs, entry->err);
	char fix[NP_FIX_TEXT + 16] = "";
	int32_t world = np_cluster_world(analysis->cluster);
	int rc = run ? NP_OK : NP_E_NOMEM;

	if (rc < 0)
		return rc;
	if (verdict->kind == NP_VERDICT_REPAIR)
		np_fix_format(&verdict->fix, fix);
	run->captured = time_of(entry);
	run->added = entry->words->now;
	run->world = world > 0 ? world : NP_UNKNOWN;
	run->ranks = (int64_t)np_run_used(analysis->run);
	run->steps = (int64_t)analysis->breakdown.steps;
	run->step = analysis->breakdown.cells > 0 ? analysis->breakdown.mean : NP_UNKNOWN;
	const struct {
		const char *text;
		np_str *to;
	} texts[] = {
		{ analysis->fingerprint, &run->fingerprint },
		{ entry->words->job, &run->job },
		{ entry->words->dir, &run->dir },
		{ analysis->version, &run->program },
		{ np_run_device_kind(analysis->run), &run->device },
		{ np_basis_name(analysis->breakdown.basis), &run->basis },
		{ np_verdict_kind_name(verdict), &run->verdict },
		{ *fix ? fix : verdict->reason, &run->what },
		{ verdict->text, &run->sentence },
	};

	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = hist_intern(store, texts[i].text, texts[i].to, entry->err);
	return rc;
}

static int add_label(struct entry_work *entry, const char *name, size_t length, const char *value)
{
	struct hist_label *label = np_vec_add(&entry->store->labels, entry->err);
	int rc =
		label ? np_strtab_add(entry->store->strings, name, length, &label->name, entry->err)
		      : NP_E_NOMEM;

	return rc == NP_OK ? hist_intern(entry->store, value, &label->value, entry->err) : rc;
}

static int take_labels(struct entry_work *entry)
{
	int rc = entry->words->phase ? add_label(entry, "phase", 5, entry->words->phase) : NP_OK;

	for (size_t i = 0; i < entry->words->label_count && rc == NP_OK; i++) {
		const char *text = entry->words->labels[i];
		const char *equals = strchr(text, '=');

		if (!equals || equals == text)
			return np_fail(entry->err, NP_E_USAGE,
				       "--label '%s' is not NAME=VALUE, as in commit=1f3a", text);
		rc = add_label(entry, text, (size_t)(equals - text), equals + 1);
	}
	return rc;
}

/* --- figures --------------------------------------------------------------------------------- */

static int add_figure(struct entry_work *entry, const char *name, np_ns time)
{
	struct hist_figure *figure = np_vec_add(&entry->store->figures, entry->err);

	if (!figure)
		return NP_E_NOMEM;
	figure->time = time;
	return hist_intern(entry->store, name, &figure->name, entry->err);
}

/* Sums of the leaves over all cells that have a length. */
struct leaf_sum {
	np_str leaf; /* in the partition's own table */
	np_ns sum;
};

static int by_leaf(const void *left, const void *right)
{
	const struct leaf_sum *a = left;
	const struct leaf_sum *b = right;

	return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

typedef NP_VEC(struct leaf_sum) leaf_sums;

/* Every part of every cell, then those of one leaf together. */
static int gather_leaves(const struct entry_work *entry, leaf_sums *sums, size_t *ret_cells)
{
	const struct np_analysis *analysis = entry->analysis;
	const struct np_run *run = analysis->run;
	size_t cells = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t t = 0; rank && t < rank->times.count; t++) {
			const struct np_partition_cell *cell =
				np_partition_of(&analysis->partition, i, t);

			if (!cell || np_step_length(&rank->times.item[t],
						    analysis->breakdown.basis) == NP_UNKNOWN)
				continue;
			cells++;
			for (size_t p = cell->first; p < cell->first + cell->count; p++) {
				const struct np_part *part = &analysis->partition.parts.item[p];
				struct leaf_sum *sum = np_vec_add(sums, entry->err);

				if (!sum)
					return NP_E_NOMEM;
				sum->sum = part->ns;
				if (np_strtab_add(entry->store->strings, part->leaf,
						  strlen(part->leaf), &sum->leaf, entry->err) < 0)
					return NP_E_NOMEM;
			}
		}
	}
	*ret_cells = cells;
	return NP_OK;
}

static int take_leaves(struct entry_work *entry)
{
	leaf_sums sums = { 0 };
	size_t cells = 0;
	int rc = gather_leaves(entry, &sums, &cells);

	if (sums.count > 0)
		qsort(sums.item, sums.count, sizeof(*sums.item), by_leaf);
	for (size_t i = 0; i < sums.count && rc == NP_OK;) {
		np_str leaf = sums.item[i].leaf;
		np_ns sum = 0;

		for (; i < sums.count && sums.item[i].leaf == leaf; i++)
			sum += sums.item[i].sum;
		rc = add_figure(entry, hist_text(entry->store, leaf), sum / (np_ns)cells);
	}
	np_vec_release(&sums);
	return rc;
}

static void keep_most(int64_t *most, int64_t bytes)
{
	if (bytes != NP_UNKNOWN && (*most == NP_UNKNOWN || bytes > *most))
		*most = bytes;
}

/* The highest peaks of all ranks: of snapshots, which are exact, else of the allocator's curves. */
static int take_memory(struct entry_work *entry)
{
	const struct np_run *run = entry->analysis->run;
	const struct np_memory *memory = entry->analysis->memory;
	int64_t allocated = NP_UNKNOWN;
	int64_t reserved = NP_UNKNOWN;
	int rc = NP_OK;

	for (size_t i = 0; memory && i < memory->ranks.count; i++) {
		keep_most(&allocated, memory->ranks.item[i].peak_allocated);
		keep_most(&reserved, memory->ranks.item[i].peak_reserved);
	}
	for (size_t i = 0; reserved == NP_UNKNOWN && i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->memory.count; j++) {
			const char *component = text_of(entry, rank->memory.item[j].component);

			if (!component || strcmp(component, "PTA") != 0)
				continue;
			keep_most(&allocated, rank->memory.item[j].allocated);
			keep_most(&reserved, rank->memory.item[j].reserved);
		}
	}
	if (allocated != NP_UNKNOWN)
		rc = add_figure(entry, HIST_MEMORY "allocated", allocated);
	if (rc == NP_OK && reserved != NP_UNKNOWN)
		rc = add_figure(entry, HIST_MEMORY "reserved", reserved);
	return rc;
}

static int take_figures(struct entry_work *entry)
{
	const struct np_breakdown *breakdown = &entry->analysis->breakdown;
	const struct np_verdict *verdict = &entry->analysis->verdict;
	int rc = NP_OK;

	if (breakdown->cells > 0) {
		rc = add_figure(entry, "step", breakdown->mean);
		for (int i = 0; i < NP_WHERE_KINDS && rc == NP_OK; i++)
			rc = add_figure(entry, np_where_name((enum np_where)i),
					breakdown->parts[i].mean);
	}
	if (rc == NP_OK && verdict->lost != NP_UNKNOWN)
		rc = add_figure(entry, "lost", verdict->lost);
	if (rc == NP_OK)
		rc = take_memory(entry);
	return rc == NP_OK ? take_leaves(entry) : rc;
}

/* --- ranks ----------------------------------------------------------------------------------- */

/* A sum over the steps of a rank, and of how many. */
struct step_mean {
	np_ns sum;
	int64_t count;
};

static void mean_add(struct step_mean *mean, np_ns value)
{
	if (value != NP_UNKNOWN) {
		mean->sum += value;
		mean->count++;
	}
}

static np_ns mean_of(const struct step_mean *mean)
{
	return mean->count > 0 ? mean->sum / mean->count : NP_UNKNOWN;
}

/* Waiting, transfer and idle time of a cell of the partition. */
struct rank_parts {
	struct step_mean wait;
	struct step_mean transfer;
	struct step_mean idle;
};

static void add_parts(const struct np_partition *partition, const struct np_partition_cell *cell,
		      struct rank_parts *kinds, struct hist_step *step)
{
	np_ns wait = 0;
	np_ns transfer = 0;
	np_ns idle = 0;

	for (size_t p = cell->first; p < cell->first + cell->count; p++) {
		const struct np_part *part = &partition->parts.item[p];

		if (np_text_begins(part->leaf, "comm/") && np_text_ends(part->leaf, "/wait"))
			wait = np_plus(wait, part->ns);
		else if (np_text_begins(part->leaf, "comm/") &&
			 np_text_ends(part->leaf, "/transfer"))
			transfer = np_plus(transfer, part->ns);
		else if (np_text_begins(part->leaf, "comm/"))
			wait = transfer = NP_UNKNOWN; /* nobody can tell one from the other */
		else if (np_text_begins(part->leaf, "free/") ||
			 np_text_begins(part->leaf, "between/"))
			idle += part->ns;
	}
	mean_add(&kinds->wait, wait);
	mean_add(&kinds->transfer, transfer);
	mean_add(&kinds->idle, idle);
	step->wait = wait;
	step->transfer = transfer;
	step->idle = idle;
}

/* Where no operator was matched over ranks nobody knows who waited for whom. */
static bool knows_waiting(const struct entry_work *entry)
{
	return entry->analysis->charges.ranks && entry->analysis->align->matched > 0;
}

static int64_t step_key(np_str step, size_t index)
{
	return (int64_t)((uint64_t)step << 32 | index);
}

static int add_step(struct entry_work *entry, size_t index, const struct np_step_time *time,
		    np_ns length, struct hist_step **ret)
{
	const struct np_rank *rank = entry->analysis->run->ranks[index];
	struct hist_step *step = np_vec_add(&entry->store->steps, entry->err);
	int rc = step ? np_idmap_set(entry->steps, step_key(rank->steps.item[time->step].id, index),
				     (uint32_t)(entry->store->steps.count - 1), entry->err)
		      : NP_E_NOMEM;

	*ret = step;
	if (rc < 0)
		return rc;
	step->blame = knows_waiting(entry) ? 0 : NP_UNKNOWN;
	step->rank = rank->id;
	step->length = length;
	step->computing = time->computing;
	step->wait = step->transfer = step->idle = NP_UNKNOWN;
	return hist_intern(entry->store, text_of(entry, rank->steps.item[time->step].id),
			   &step->step, entry->err);
}

static double mean_mhz(const struct np_frequencies *frequencies, const struct np_rank *rank,
		       size_t index)
{
	const struct np_frequency_rank *clocks;
	double sum = 0;
	size_t count = 0;

	if (!frequencies || index >= frequencies->count || !frequencies->ranks[index].mean)
		return (double)NAN;
	clocks = &frequencies->ranks[index];
	for (size_t i = 0; i < rank->activity.cells.count; i++) {
		if (isfinite(clocks->mean[i])) {
			sum += clocks->mean[i];
			count++;
		}
	}
	return count > 0 ? sum / (double)count : (double)NAN;
}

static int take_rank(struct entry_work *entry, size_t index,
		     const struct np_frequencies *frequencies)
{
	const struct np_analysis *analysis = entry->analysis;
	const struct np_rank *rank = analysis->run->ranks[index];
	const struct np_coordinates *place = &analysis->cluster->coordinates[index];
	struct hist_rank *one = np_vec_add(&entry->store->ranks, entry->err);
	struct rank_parts kinds = { 0 };
	struct step_mean step = { 0 };
	struct step_mean computing = { 0 };
	const char *host;
	int rc = NP_OK;

	if (!one)
		return NP_E_NOMEM;
	for (size_t t = 0; t < rank->times.count && rc == NP_OK; t++) {
		const struct np_step_time *time = &rank->times.item[t];
		const struct np_partition_cell *cell =
			np_partition_of(&analysis->partition, index, t);
		np_ns length = np_step_length(time, analysis->breakdown.basis);
		struct hist_step *kept;

		if (length == NP_UNKNOWN)
			continue;
		mean_add(&step, length);
		mean_add(&computing, time->computing);
		rc = add_step(entry, index, time, length, &kept);
		if (rc == NP_OK && cell)
			add_parts(&analysis->partition, cell, &kinds, kept);
	}
	host = text_of(entry, rank->host_name);
	*one = (struct hist_rank){
		.rank = rank->id,
		.device = rank->device,
		.stage = np_cluster_stage_at(analysis->cluster, index),
		.tp = place->tp,
		.dp = place->dp,
		.ep = place->ep,
		.step = mean_of(&step),
		.computing = mean_of(&computing),
		.wait = mean_of(&kinds.wait),
		.transfer = mean_of(&kinds.transfer),
		.idle = mean_of(&kinds.idle),
		.charge = NP_UNKNOWN,
		.mhz = mean_mhz(frequencies, rank, index),
	};
	/* Charges are of all steps, also of those without an iteration. */
	if (knows_waiting(entry) && analysis->causes.ranks && index < analysis->causes.rank_count &&
	    analysis->cluster->steps.count > 0)
		one->charge = analysis->causes.ranks[index].charge /
			      (np_ns)analysis->cluster->steps.count;
	if (rc == NP_OK)
		rc = hist_intern(entry->store, host ? host : text_of(entry, rank->host_uid),
				 &one->host, entry->err);
	return rc;
}

/* What each rank owes in each of its iterations, over all communicators. */
static void take_blame(struct entry_work *entry)
{
	const struct np_charges *charges = &entry->analysis->charges;

	for (size_t i = 0; i < charges->rows.count; i++) {
		const struct np_charge_row *row = &charges->rows.item[i];
		uint32_t at = np_idmap_get(entry->steps, step_key(row->step, row->rank));

		if (at != NP_IDMAP_NONE)
			entry->store->steps.item[at].blame += row->charge;
	}
}

static int take_ranks(struct entry_work *entry, const struct np_frequencies *frequencies)
{
	const struct np_run *run = entry->analysis->run;
	int rc = NP_OK;

	entry->steps = np_idmap_new();
	if (!entry->steps)
		return np_fail_nomem(entry->err, "iterations");

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = take_rank(entry, i, frequencies);
	}
	if (rc == NP_OK)
		take_blame(entry);
	np_idmap_free(entry->steps);
	entry->store->runs.item[0].rank_count = entry->store->ranks.count;
	return rc;
}

/* --- trust ----------------------------------------------------------------------------------- */

/* Versions are those of the first rank that knows them. */
static int take_versions(struct entry_work *entry, struct hist_trust *trust)
{
	const struct np_run *run = entry->analysis->run;
	int rc = NP_OK;

	trust->cann = trust->framework = NP_STR_NONE;
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (rank && trust->cann == NP_STR_NONE)
			rc = hist_intern(entry->store, text_of(entry, rank->cann_version),
					 &trust->cann, entry->err);
		if (rank && rc == NP_OK && trust->framework == NP_STR_NONE)
			rc = hist_intern(entry->store, text_of(entry, rank->framework_version),
					 &trust->framework, entry->err);
	}
	return rc;
}

static int take_trust(struct entry_work *entry)
{
	const struct np_analysis *analysis = entry->analysis;
	const struct np_run *run = analysis->run;
	struct hist_trust *trust = np_vec_add(&entry->store->trusts, entry->err);

	if (!trust)
		return NP_E_NOMEM;
	trust->ops = analysis->align->op_count;
	trust->ops_matched = analysis->align->matched;
	trust->clock_error = analysis->clock->residual_p90;
	for (size_t i = 0; i < run->sources.count; i++) {
		trust->left_out += !run->ranks[i];
		trust->partial += run->ranks[i] && run->ranks[i]->coverage.count > 0;
	}
	return take_versions(entry, trust);
}

/* --- links and repairs ----------------------------------------------------------------------- */

static int take_links(struct entry_work *entry)
{
	const struct np_links *links = &entry->analysis->links;
	int rc = NP_OK;

	for (size_t i = 0; i < links->list.count && rc == NP_OK; i++) {
		const struct np_link_speed *link = &links->list.item[i];
		struct hist_link *one;

		if (link->verdict == NP_LINK_UNKNOWN)
			continue;
		one = np_vec_add(&entry->store->links, entry->err);
		if (!one)
			return NP_E_NOMEM;
		one->src = link->src;
		one->dst = link->dst;
		one->gb_s = np_link_gb_per_s(link);
		one->peers_gb_s = np_link_peers_gb_per_s(link);
		one->slow = link->verdict == NP_LINK_SLOW;
		rc = hist_intern(entry->store, text_of(entry, link->transport), &one->transport,
				 entry->err);
	}
	return rc;
}

static int take_repairs(struct entry_work *entry)
{
	const struct np_whatif *whatif = &entry->analysis->whatif;
	int rc = NP_OK;

	for (size_t i = 0; i < whatif->rows.count && rc == NP_OK; i++) {
		struct hist_repair *one = np_vec_add(&entry->store->repairs, entry->err);
		char fix[NP_FIX_TEXT + 16];

		if (!one)
			return NP_E_NOMEM;
		np_fix_format(&whatif->rows.item[i].fix, fix);
		one->saved = whatif->rows.item[i].saved;
		rc = hist_intern(entry->store, fix, &one->repair, entry->err);
	}
	return rc;
}

/* So many machines are repaired together, in all ways. */
#define TOGETHER 5

/* Those whose repair gains less alone are not tried with others. */
#define TOGETHER_LEAST 0.001

/* The ranks and hosts to try together: those that hide each other, then by their gain. */
static size_t choose_together(const struct np_whatif *whatif, struct np_fix ret[TOGETHER])
{
	size_t count = 0;

	for (size_t i = 0; i < whatif->team_count + whatif->rows.count && count < TOGETHER; i++) {
		const struct np_whatif_row *row =
			i < whatif->team_count ? NULL : &whatif->rows.item[i - whatif->team_count];
		const struct np_fix *fix = row ? &row->fix : &whatif->team[i];
		bool known = (fix->kind != NP_FIX_RANK && fix->kind != NP_FIX_HOST) ||
			     (row && (double)row->saved < TOGETHER_LEAST * (double)whatif->step);

		for (size_t j = 0; j < count && !known; j++)
			known = ret[j].kind == fix->kind && strcmp(ret[j].what, fix->what) == 0;
		if (!known)
			ret[count++] = *fix;
	}
	return count;
}

static int take_set(struct entry_work *entry, const struct np_whatif_input *input,
		    const struct np_fix *fixes, size_t count)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct hist_repair *one = np_vec_add(&entry->store->repairs, entry->err);
	np_ns step;
	int rc = one ? np_whatif_together(input, fixes, count, &step, entry->err) : NP_E_NOMEM;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&fixes[i], fix);
		np_buf_printf(&text, "%s%s", i > 0 ? HIST_AND : "", fix);
	}
	one->saved = entry->analysis->whatif.step - step;
	rc = np_buf_check(&text, entry->err);
	return rc == NP_OK ? hist_intern(entry->store, text.text, &one->repair, entry->err) : rc;
}

/* What several machines gain together is not the sum of what each gains. */
static int take_together(struct entry_work *entry)
{
	struct np_fix fixes[TOGETHER];
	size_t count = choose_together(&entry->analysis->whatif, fixes);
	const struct np_whatif_input input = np_analysis_repairs(entry->analysis, 1);
	int rc = NP_OK;

	for (unsigned set = 1; set < 1U << count && rc == NP_OK; set++) {
		struct np_fix chosen[TOGETHER];
		size_t members = 0;

		for (unsigned i = 0; i < count; i++) {
			if (set & 1U << i)
				chosen[members++] = fixes[i];
		}
		if (members > 1)
			rc = take_set(entry, &input, chosen, members);
	}
	return rc;
}

int hist_entry_make(const struct np_analysis *analysis, const struct np_frequencies *frequencies,
		    const struct hist_entry_words *words, struct hist_store **ret,
		    struct np_err *err)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = hist_store_new(err);
	struct entry_work entry = { analysis, words, store, err, NULL };
	int rc = store ? take_run(&entry) : NP_E_NOMEM;

	if (rc == NP_OK)
		rc = take_labels(&entry);
	if (rc == NP_OK)
		rc = take_figures(&entry);
	if (rc == NP_OK)
		rc = take_ranks(&entry, frequencies);
	if (rc == NP_OK)
		rc = take_trust(&entry);
	if (rc == NP_OK)
		rc = take_links(&entry);
	if (rc == NP_OK)
		rc = take_repairs(&entry);
	if (rc == NP_OK)
		rc = take_together(&entry);
	if (rc < 0)
		return rc;
	*ret = store;
	store = NULL;
	return NP_OK;
}
