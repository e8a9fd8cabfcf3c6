/* SPDX-License-Identifier: Apache-2.0 */
/* A rank: making and freeing it, its groups, and what its enumerations are called. */
#include "npuprof/rank.h"

#include "npuprof/arena.h"
#include "npuprof/buf.h"
#include "npuprof/kernel_sums.h"
#include "npuprof/lang.h"
#include "npuprof/text.h"

#include <math.h>
#include <strings.h>

struct np_rank *np_rank_new(int32_t id, const char *path)
{
	struct np_rank *rank = calloc(1, sizeof(*rank));

	if (!rank)
		return NULL;
	rank->id = id;
	rank->device = -1;
	rank->path = strdup(path);
	rank->arena = np_arena_new();
	if (!rank->path || !rank->arena) {
		np_rank_free(rank);
		return NULL;
	}
	return rank;
}

/*
 * A rank is in a handful of communicators and has a few steps, which are looked through. Where
 * there are more than that, maps know the first of them.
 */
#define FEW 16

struct np_rank_places {
	struct np_numbers groups;
	struct np_numbers steps;
	size_t groups_placed;
	size_t steps_placed;
};

void np_rank_forget_places(struct np_rank *rank)
{
	if (!rank->places)
		return;
	np_numbers_release(&rank->places->groups);
	np_numbers_release(&rank->places->steps);
	free(rank->places);
	rank->places = NULL;
}

static int need_places(struct np_rank *rank, struct np_err *err)
{
	if (!rank->places)
		rank->places = calloc(1, sizeof(*rank->places));
	return rank->places ? NP_OK : np_fail_nomem(err, "a rank");
}

void np_rank_free(struct np_rank *rank)
{
	if (!rank)
		return;
	np_rank_forget_places(rank);
	np_vec_release(&rank->steps);
	np_vec_release(&rank->times);
	np_vec_release(&rank->whole);
	np_vec_release(&rank->groups);
	np_vec_release(&rank->ops);
	np_vec_release(&rank->vendor_times);
	np_vec_release(&rank->long_times);
	np_vec_release(&rank->bands);
	np_vec_release(&rank->links);
	free(rank->packed_rows);
	np_vec_release(&rank->transfers);
	np_vec_release(&rank->comm_steps);
	np_vec_release(&rank->kernels);
	np_vec_release(&rank->calls);
	np_vec_release(&rank->memory);
	np_vec_release(&rank->memory_steps);
	np_vec_release(&rank->experts);
	np_vec_release(&rank->counters);
	np_vec_release(&rank->unknowns);
	np_vec_release(&rank->copies);
	np_vec_release(&rank->layers);
	np_activity_release(&rank->activity);
	np_kernel_sums_free(rank->kernel_sums);
	np_packed_sums_free(rank->packed_sums);
	np_vec_release(&rank->coverage);
	np_seen_free(rank->seen);
	np_seen_free(rank->table_seen);
	np_notes_release(&rank->notes);
	np_arena_free(rank->arena);
	free(rank->path);
	free(rank);
}

void np_rank_freep(struct np_rank **rank)
{
	np_rank_free(*rank);
	*rank = NULL;
}

/* --- coverage --------------------------------------------------------------------------------- */

void np_file_coverage_put_share(struct np_buf *buf, double share)
{
	double percent = 100 * share;

	if (share < 1)
		percent = floor(percent);
	if (percent < 1)
		np_buf_add(buf, "under 1 %");
	else
		np_buf_printf(buf, "%.0f %%", percent);
}

void np_file_coverage_put_claim(struct np_buf *buf, const char *against, double share)
{
	if (isnan(share)) {
		np_buf_add(buf, "is cut short, and nothing tells how much is missing");
		return;
	}
	np_buf_add(buf, "covers ");
	np_file_coverage_put_share(buf, share);
	np_buf_add(buf, " of ");
	np_text_safe(buf, against, strlen(against));
}

void np_file_coverage_put(struct np_buf *buf, const struct np_strtab *strings,
			  const struct np_file_coverage *coverage)
{
	const char *file = np_strtab_text(strings, coverage->file);
	const char *against = np_strtab_text(strings, coverage->against);

	np_text_safe(buf, file, strlen(file));
	np_buf_add(buf, " ");
	np_file_coverage_put_claim(buf, against, coverage->share);
}

const struct np_file_coverage *np_rank_withheld(const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->coverage.count; i++) {
		if (rank->coverage.item[i].withholds)
			return &rank->coverage.item[i];
	}
	return NULL;
}

struct np_seen *np_seen_new(void)
{
	struct np_seen *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return NULL;
	seen->kernels = NP_UNKNOWN;
	seen->ops = NP_UNKNOWN;
	seen->kernel_count = NP_UNKNOWN;
	seen->linked = 1;
	seen->launched = 1;
	return seen;
}

void np_seen_free(struct np_seen *seen)
{
	if (!seen)
		return;
	np_vec_release(&seen->steps);
	np_numbers_release(&seen->places);
	free(seen);
}

const struct np_seen_step *np_seen_find(const struct np_seen *seen, np_str step)
{
	uint32_t place = np_numbers_get(&seen->places, step);

	return place == NP_MAP_NONE ? NULL : &seen->steps.item[place];
}

int np_seen_add(struct np_seen *seen, np_str step, np_ns computing, np_ns communication,
		struct np_err *err)
{
	uint32_t place = np_numbers_get(&seen->places, step);
	struct np_seen_step *slot;

	if (place == NP_MAP_NONE) {
		place = (uint32_t)seen->steps.count;
		slot = np_vec_add(&seen->steps, err);
		if (!slot)
			return NP_E_NOMEM;
		slot->id = step;
		if (np_numbers_add(&seen->places, step, place, err) < 0) {
			seen->steps.count--;
			return NP_E_NOMEM;
		}
	}
	slot = &seen->steps.item[place];
	slot->computing += computing == NP_UNKNOWN ? 0 : computing;
	slot->communication += communication == NP_UNKNOWN ? 0 : communication;
	return NP_OK;
}

int np_rank_shorten(struct np_rank *rank, np_ns length, np_length *ret, struct np_err *err)
{
	np_ns *slot;

	if (length == NP_UNKNOWN || (length >= 0 && length < NP_LENGTH_LONG)) {
		*ret = length == NP_UNKNOWN ? NP_LENGTH_UNKNOWN : (np_length)length;
		return NP_OK;
	}
	slot = np_vec_add(&rank->long_times, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = length;
	*ret = NP_LENGTH_LONG + (np_length)(rank->long_times.count - 1);
	return NP_OK;
}

int np_rank_set_vendor_times(struct np_rank *rank, size_t op, np_ns transit, np_ns wait, np_ns sync,
			     struct np_err *err)
{
	struct np_vendor_times *times;
	int rc;

	while (rank->vendor_times.count <= op) {
		struct np_vendor_times none = np_rank_vendor_times(rank, SIZE_MAX);

		times = np_vec_add(&rank->vendor_times, err);
		if (!times)
			return NP_E_NOMEM;
		*times = none;
	}
	times = &rank->vendor_times.item[op];
	rc = np_rank_shorten(rank, transit, &times->transit, err);
	if (rc == NP_OK)
		rc = np_rank_shorten(rank, wait, &times->wait, err);
	if (rc == NP_OK)
		rc = np_rank_shorten(rank, sync, &times->sync, err);
	return rc;
}

bool np_group_number(const char *name, size_t length, uint64_t *ret)
{
	uint64_t number = 0;

	for (size_t i = 0; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(name[i] - '0');
	}
	*ret = number;
	return length > 0;
}

/* Two 32-bit polynomial hashes side by side, by the multipliers the vendor's tools use. */
uint64_t np_group_hash(const char *name, size_t length)
{
	uint32_t high = 0;
	uint32_t low = 0;
	uint64_t hash;

	if (length >= NP_GROUP_HASH_DIGITS && np_group_number(name, length, &hash))
		return hash;
	for (size_t i = 0; i < length; i++) {
		high = high * 29 + (unsigned char)name[i];
		low = low * 131 + (unsigned char)name[i];
	}
	return (uint64_t)high << 32 | low;
}

/* NP_MAP_NONE where there is none. */
static int find_group(struct np_rank *rank, uint64_t hash, uint32_t *ret, struct np_err *err)
{
	struct np_rank_places *places;

	*ret = NP_MAP_NONE;
	for (size_t i = 0; i < rank->groups.count && i < FEW; i++) {
		if (rank->groups.item[i].hash == hash) {
			*ret = (uint32_t)i;
			return NP_OK;
		}
	}
	if (rank->groups.count <= FEW)
		return NP_OK;
	if (need_places(rank, err) < 0)
		return NP_E_NOMEM;
	places = rank->places;
	while (places->groups_placed < rank->groups.count) {
		uint64_t key = rank->groups.item[places->groups_placed].hash;

		if (np_numbers_get(&places->groups, key) == NP_MAP_NONE &&
		    np_numbers_add(&places->groups, key, (uint32_t)places->groups_placed, err) < 0)
			return NP_E_NOMEM;
		places->groups_placed++;
	}
	*ret = np_numbers_get(&places->groups, hash);
	return NP_OK;
}

static int find_step(struct np_rank *rank, np_str id, uint32_t *ret, struct np_err *err)
{
	struct np_rank_places *places;

	*ret = NP_MAP_NONE;
	for (size_t i = 0; i < rank->steps.count && i < FEW; i++) {
		if (rank->steps.item[i].id == id) {
			*ret = (uint32_t)i;
			return NP_OK;
		}
	}
	if (rank->steps.count <= FEW)
		return NP_OK;
	if (need_places(rank, err) < 0)
		return NP_E_NOMEM;
	places = rank->places;
	while (places->steps_placed < rank->steps.count) {
		np_str key = rank->steps.item[places->steps_placed].id;

		if (np_numbers_get(&places->steps, key) == NP_MAP_NONE &&
		    np_numbers_add(&places->steps, key, (uint32_t)places->steps_placed, err) < 0)
			return NP_E_NOMEM;
		places->steps_placed++;
	}
	*ret = np_numbers_get(&places->steps, id);
	return NP_OK;
}

int np_rank_step(struct np_rank *rank, np_str id, uint32_t *ret, struct np_err *err)
{
	struct np_step *step;
	int rc = find_step(rank, id, ret, err);

	if (rc < 0 || *ret != NP_MAP_NONE)
		return rc;
	step = np_vec_add(&rank->steps, err);
	if (!step)
		return NP_E_NOMEM;
	*step = (struct np_step){ .id = id,
				  .host_begin = NP_UNKNOWN,
				  .host_end = NP_UNKNOWN,
				  .begin = NP_UNKNOWN,
				  .end = NP_UNKNOWN };
	*ret = (uint32_t)(rank->steps.count - 1);
	return NP_OK;
}

int np_rank_group(struct np_rank *rank, uint64_t hash, uint32_t *ret, struct np_err *err)
{
	struct np_group *group;
	int rc = find_group(rank, hash, ret, err);

	if (rc < 0 || *ret != NP_MAP_NONE)
		return rc;
	if (rank->groups.count >= NP_RANK_GROUPS)
		return np_fail(err, NP_E_FORMAT, "a rank in more than %d communicators",
			       NP_RANK_GROUPS);
	group = np_vec_add(&rank->groups, err);
	if (!group)
		return NP_E_NOMEM;
	group->hash = hash;
	group->group_rank = -1;
	*ret = (uint32_t)(rank->groups.count - 1);
	return NP_OK;
}

int np_rank_group_of_op(struct np_rank *rank, const char *op_name, uint32_t *ret,
			struct np_err *err)
{
	const char *number = strstr(op_name, "__");
	uint64_t digits = number ? strtoull(number + 2, NULL, 10) : 0;
	size_t found = 0;

	for (size_t i = 0; i < rank->groups.count; i++) {
		if (rank->groups.item[i].hash % 1000 != digits || rank->groups.item[i].hash < 1000)
			continue;
		*ret = (uint32_t)i;
		found++;
	}
	return found == 1 ? NP_OK : np_rank_group(rank, digits, ret, err);
}

bool np_op_is_p2p(const char *name)
{
	static const char *const prefixes[] = { "hcom_send", "hcom_receive", "hcom_batchsendrecv" };

	for (size_t i = 0; i < NP_COUNT(prefixes); i++) {
		if (strncasecmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

const char *np_band_name(enum np_band_type type)
{
	static const char *const names[] = { "HCCS", "PCIE", "SDMA", "RDMA", "SIO" };

	return names[type];
}

const char *np_link_pick_name(enum np_link_pick pick)
{
	static const char *const names[] = { "top1",    "middle",  "bottom1",
					     "bottom2", "bottom3", "total" };

	return names[pick];
}

const char *np_source_name(enum np_source source)
{
	static const char *const names[] = {
		[NP_FROM_NOTHING] = NP_MSG("nothing"),
		[NP_FROM_RANK_DB] = NP_MSG("rank database"),
		[NP_FROM_ANALYSIS_DB] = "analysis.db",
		[NP_FROM_TRACE] = "trace",
		[NP_FROM_KERNELS] = NP_MSG("kernel table"),
		[NP_FROM_TEXT] = NP_MSG("step_trace_time.csv and communication.json"),
		[NP_FROM_MARKS] = NP_MSG("mstx marks"),
	};

	return names[source];
}
