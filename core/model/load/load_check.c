/* SPDX-License-Identifier: Apache-2.0 */
/* What was derived is compared with what the vendor's files say, and differences are noted. */
#include "join_rank.h"

#include <inttypes.h>

/* Differences of one table: how many there are, and the first in words. */
struct differences {
	size_t count;
	char first[256];
	/* What the file had when it was made, and what of it is not there any more. */
	np_ns whole;
	np_ns gone;
};

static void differ(struct differences *found, const char *quantity, const char *where, int64_t file,
		   int64_t derived, const char *unit)
{
	if (found->count++ == 0)
		(void)snprintf(found->first, sizeof(found->first),
			       "%s of %s: %" PRId64 " %s here, %" PRId64 " %s there", quantity,
			       where, file, unit, derived, unit);
}

static void compare_times(struct differences *found, const char *quantity, const char *where,
			  np_ns file, np_ns derived)
{
	if (file == NP_UNKNOWN || derived == NP_UNKNOWN)
		return;
	if (file - derived > NP_ROUNDING_NS || derived - file > NP_ROUNDING_NS)
		differ(found, quantity, where, file, derived, "ns");
}

static void note(struct np_rank *rank, const char *path, const char *table, enum np_source used,
		 const struct differences *found)
{
	enum np_note_kind kind = NP_NOTE_WARNING;

	if (found->count == 0)
		return;
	/* A trace may have its times rounded; a database has not. */
	if (used == NP_FROM_RANK_DB)
		kind = np_note_of_loss((size_t)found->gone, (size_t)found->whole);
	np_note_add(&rank->notes, kind, rank->id, path, table,
		    "%zu %s with the %s, which is used; %s", found->count,
		    found->count == 1 ? "value disagrees" : "values disagree", np_source_name(used),
		    found->first);
}

static const struct np_step_time *find_time(const struct np_rank *rank, np_str step, int32_t device)
{
	for (size_t i = 0; i < rank->times.count; i++) {
		const struct np_step_time *time = &rank->times.item[i];

		if (rank->steps.item[time->step].id == step &&
		    (time->device == device || device < 0))
			return time;
	}
	return NULL;
}

/*
 * The vendor made its table of the rows of the rank: where that has more work than there is now,
 * rows are gone. Less is another matter: it counts less of some.
 */
static void count_gone(struct differences *found, np_ns file, np_ns derived)
{
	if (file == NP_UNKNOWN || derived == NP_UNKNOWN || file < 0)
		return;
	found->whole += file;
	if (file - derived > NP_ROUNDING_NS)
		found->gone += file - derived;
}

/* Step times of databases count kernels of operators as computing, which then hides these. */
static bool counts_serving(const struct np_rank *rank, const struct np_step_time *file,
			   const struct np_step_time *derived)
{
	return file->computing != NP_UNKNOWN && derived->computing != NP_UNKNOWN &&
	       file->computing > derived->computing &&
	       file->computing - derived->computing <= rank->serving;
}

static void check_computing(struct differences *found, const char *where,
			    const struct np_step_time *file, const struct np_step_time *derived)
{
	count_gone(found, file->computing, derived->computing);
	compare_times(found, "computing", where, file->computing, derived->computing);
	compare_times(found, "communication_not_overlapped", where,
		      file->communication_not_overlapped, derived->communication_not_overlapped);
	compare_times(found, "overlapped", where, file->overlapped, derived->overlapped);
}

static void check_step(struct differences *found, const char *where, const struct np_rank *rank,
		       enum np_form form, const struct np_step_time *file,
		       const struct np_step_time *derived)
{
	np_ns trailing = np_step_trailing(derived, form);

	count_gone(found, file->communication, derived->communication);
	if (!counts_serving(rank, file, derived))
		check_computing(found, where, file, derived);
	compare_times(found, "communication", where, file->communication, derived->communication);
	compare_times(found, "free", where, file->free, np_plus(derived->free, trailing));
	compare_times(found, "stage", where, file->stage, np_plus(derived->stage, trailing));
	compare_times(found, "bubble", where, file->bubble, derived->bubble);
	compare_times(found, "preparing", where, file->preparing, derived->preparing);
}

/*
 * Where the windows of two steps met, the vendor counts what lies in both
 * twice; ours differ by design, and there is nothing to report.
 */
static void check_steps(struct np_rank *rank, const struct np_rank *file, const char *path,
			const struct np_strtab *strings)
{
	struct differences found = { 0 };

	for (size_t i = 0; i < file->times.count; i++) {
		const struct np_step_time *time = &file->times.item[i];
		np_str id = file->steps.item[time->step].id;
		const struct np_step_time *derived = find_time(rank, id, time->device);
		char where[64];

		if (!derived || rank->steps.item[derived->step].cut)
			continue;
		(void)snprintf(where, sizeof(where), "step %s",
			       id == NP_STR_NONE ? "(none)" : np_strtab_text(strings, id));
		check_step(&found, where, rank, np_rank_form(file), time, derived);
	}
	note(rank, path, "StepTraceTime", rank->step_source, &found);
}

/*
 * An operator's key in both files. Sorted so, equal operators stand side by
 * side; by the text, for what is found first is shown.
 */
struct op_key {
	uint64_t group;
	const char *name;
	const struct np_comm_op *op;
	size_t band; /* first band of it */
};

static int compare_keys(const struct op_key *a, const struct op_key *b)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->name == b->name ? 0 : strcmp(a->name, b->name);
}

static int by_key(const void *left, const void *right)
{
	const struct op_key *a = left;
	const struct op_key *b = right;
	int order = compare_keys(a, b);

	if (order)
		return order;
	return (a->op->start > b->op->start) - (a->op->start < b->op->start);
}

static struct op_key *sorted_ops(const struct np_rank *rank, const struct np_strtab *strings)
{
	struct op_key *keys = malloc((rank->ops.count + 1) * sizeof(*keys));
	size_t band = 0;

	if (!keys)
		return NULL;
	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		while (band < rank->bands.count && rank->bands.item[band].op < i)
			band++;
		keys[i] = (struct op_key){ rank->groups.item[op->group].hash,
					   np_strtab_text(strings, op->name), op, band };
	}
	qsort(keys, rank->ops.count, sizeof(keys[0]), by_key);
	return keys;
}

/* Bytes and time that an operator moved over one transport. */
static bool band_total(const struct np_rank *rank, const struct op_key *key, enum np_band_type type,
		       int64_t *bytes, np_ns *time)
{
	uint32_t op = (uint32_t)(key->op - rank->ops.item);

	for (size_t i = key->band; i < rank->bands.count && rank->bands.item[i].op == op; i++) {
		if (rank->bands.item[i].type == type) {
			*bytes = rank->bands.item[i].bytes;
			*time = rank->bands.item[i].time;
			return true;
		}
	}
	return false;
}

static void check_bands(struct differences *found, const char *where, const struct np_rank *file,
			const struct op_key *in_file, const struct np_rank *rank,
			const struct op_key *derived)
{
	for (int type = 0; type < NP_BAND_COUNT; type++) {
		int64_t bytes[2];
		np_ns time[2];

		if (!band_total(file, in_file, (enum np_band_type)type, &bytes[0], &time[0]) ||
		    !band_total(rank, derived, (enum np_band_type)type, &bytes[1], &time[1]))
			continue;
		if (bytes[0] != bytes[1])
			differ(found, "transit_size", where, bytes[0], bytes[1], "bytes");
		compare_times(found, "transit_time", where, time[0], time[1]);
	}
}

static void check_op(struct differences *found, const char *where, const struct np_rank *file,
		     const struct np_comm_op *in_file, const struct np_rank *rank,
		     const struct np_comm_op *derived)
{
	struct np_vendor_times read =
		np_rank_vendor_times(file, (size_t)(in_file - file->ops.item));
	struct np_vendor_times own = np_rank_vendor_times(rank, (size_t)(derived - rank->ops.item));

	compare_times(found, "elapse_time", where, in_file->end - in_file->start,
		      derived->end - derived->start);
	compare_times(found, "transit_time", where, np_rank_length(file, read.transit),
		      np_rank_length(rank, own.transit));
	compare_times(found, "wait_time", where, np_rank_length(file, read.wait),
		      np_rank_length(rank, own.wait));
	compare_times(found, "synchronization_time", where, np_rank_length(file, read.sync),
		      np_rank_length(rank, own.sync));
}

static void check_ops(struct np_rank *rank, const struct np_rank *file, const char *path,
		      const struct np_strtab *strings)
{
	struct op_key *derived = sorted_ops(rank, strings);
	struct op_key *in_file = sorted_ops(file, strings);
	struct differences times = { 0 };
	struct differences bands = { 0 };
	size_t j = 0;

	for (size_t i = 0; derived && in_file && i < file->ops.count; i++) {
		const char *where = in_file[i].name;

		while (j < rank->ops.count && compare_keys(&derived[j], &in_file[i]) < 0)
			j++;
		if (j == rank->ops.count)
			break;
		if (compare_keys(&derived[j], &in_file[i]) != 0)
			continue;
		check_op(&times, where, file, in_file[i].op, rank, derived[j].op);
		check_bands(&bands, where, file, &in_file[i], rank, &derived[j]);
		j++;
	}
	/* What was not compared may be a note that is missing. */
	if (!derived || !in_file)
		rank->notes.lost = true;
	free(derived);
	free(in_file);
	note(rank, path, "CommAnalyzerTime", rank->comm_source, &times);
	note(rank, path, "CommAnalyzerBandwidth", rank->comm_source, &bands);
}

/* All links of a communicator together: classes of operators have other names in the file. */
static void sum_links(const struct np_rank *rank, uint64_t group, int64_t *bytes, np_ns *time)
{
	*bytes = 0;
	*time = 0;
	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[i];

		if (link->pick != NP_LINK_TOTAL || rank->groups.item[link->group].hash != group)
			continue;
		*bytes += link->bytes;
		*time += link->time;
	}
}

static void check_links(struct np_rank *rank, const struct np_rank *file, const char *path)
{
	struct differences found = { 0 };

	for (size_t i = 0; i < file->groups.count; i++) {
		uint64_t group = file->groups.item[i].hash;
		int64_t bytes[2];
		np_ns time[2];
		char where[64];

		sum_links(file, group, &bytes[0], &time[0]);
		sum_links(rank, group, &bytes[1], &time[1]);
		if (bytes[0] == 0 || bytes[1] == 0)
			continue;
		(void)snprintf(where, sizeof(where), "communicator %" PRIu64, group);
		if (bytes[0] != bytes[1])
			differ(&found, "transit_size", where, bytes[0], bytes[1], "bytes");
		/* A sum over many links: each may be off by the rounding of its own. */
		if (time[0] - time[1] > (np_ns)rank->links.count + NP_ROUNDING_NS ||
		    time[1] - time[0] > (np_ns)rank->links.count + NP_ROUNDING_NS)
			differ(&found, "transit_time", where, time[0], time[1], "ns");
	}
	note(rank, path, "CommAnalyzerMatrix", rank->comm_source, &found);
}

void np_load_check(struct np_rank *rank, const struct np_rank *file, const char *path,
		   const struct np_strtab *strings)
{
	check_steps(rank, file, path, strings);
	check_ops(rank, file, path, strings);
	check_links(rank, file, path);
}
