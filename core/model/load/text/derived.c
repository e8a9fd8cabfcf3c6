/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers of the vendor's derived files share: steps, communicators, operators and links by
 * name.
 */
#include "derived.h"

#include "npuprof/comm_tasks.h"
#include "npuprof/order.h"
#include "npuprof/text.h"

#include <math.h>
#include <strings.h>

int derived_step(struct derived *load, const char *label, size_t length, uint32_t *ret)
{
	np_str id = NP_STR_NONE;
	int rc = NP_OK;

	if (length >= 4 && strncmp(label, "step", 4) == 0) {
		label += 4;
		length -= 4;
	}
	if (length > 0)
		rc = np_strtab_add(load->strings, label, length, &id, load->err);
	return rc < 0 ? rc : np_rank_step(load->rank, id, ret, load->err);
}

int derived_group(struct derived *load, const char *text, size_t length, uint32_t *ret)
{
	uint64_t hash;

	/* Some exporters write the communicator's string itself. */
	if (!np_group_number(text, length, &hash))
		hash = np_group_hash(text, length);
	return np_rank_group(load->rank, hash, ret, load->err);
}

bool derived_is_total(const char *name)
{
	return strncasecmp(name, "total", 5) == 0;
}

/* A double has quarters of a µs since 1970, and no more digits for ns: what is whole goes alone. */
np_ns derived_time(double us)
{
	double whole = floor(us);
	np_ns time = np_double_to_scaled(whole, 1);

	if (time > NP_NS_MAX / 1000 || time < -(NP_NS_MAX / 1000))
		return NP_UNKNOWN;
	return time * 1000 + np_double_to_scaled(us - whole, US_TO_NS);
}

np_ns derived_length(double value, double unit)
{
	np_ns length = np_double_to_scaled(value, unit);

	return length > NP_LONGEST_NS || length < -NP_LONGEST_NS ? NP_UNKNOWN : length;
}

np_ns derived_known_length(struct derived *load, double value, double unit)
{
	return derived_possible(load, derived_length(value, unit));
}

np_ns derived_possible(struct derived *load, np_ns length)
{
	/* What the vendor subtracts may come out a rounding below zero. */
	if (length != NP_UNKNOWN && length < 0 && length >= -NP_ROUNDING_NS)
		length = 0;
	if (length >= 0 && length <= NP_LONGEST_NS)
		return length;
	load->impossible++;
	return NP_UNKNOWN;
}

np_ns derived_stage(struct derived *load, np_ns stage, np_ns bubble)
{
	if (stage != NP_UNKNOWN && stage < 0 && bubble != NP_UNKNOWN && stage + bubble >= 0)
		return stage;
	return derived_possible(load, stage);
}

np_ns derived_preparing(struct derived *load, np_ns preparing)
{
	return preparing < 0 ? NP_UNKNOWN : derived_possible(load, preparing);
}

void derived_moved(struct derived *load, double mb, double ms, int64_t *bytes, np_ns *time)
{
	*bytes = derived_bytes(mb);
	*time = derived_length(ms, MS_TO_NS);
	load->rows++;
	if (*bytes != NP_UNKNOWN && *time >= 0)
		return;
	load->impossible++;
	*bytes = 0;
	*time = 0;
}

int64_t derived_bytes(double value)
{
	return vendor_bytes(np_double_to_scaled(value, MB_TO_B));
}

int64_t derived_count(int64_t value)
{
	return value < 0 || value > UINT32_MAX ? 0 : value;
}

int derived_add_op(struct derived *load, const char *name, size_t length, np_ns start,
		   np_ns elapsed, struct np_comm_op **ret)
{
	struct np_comm_op *op;
	int rc;

	*ret = NULL;
	/* Nobody has measured before 1970. */
	if (start < 0 || elapsed < 0 || start + elapsed > NP_NS_MAX) {
		load->ops_without_times++;
		return NP_OK;
	}
	op = np_vec_add(&load->rank->ops, load->err);
	if (!op)
		return NP_E_NOMEM;
	*op = (struct np_comm_op){ .start = start,
				   .end = start + elapsed,
				   .transfer = NP_LENGTH_UNKNOWN,
				   .bytes = NP_UNKNOWN,
				   .device = np_device_of(load->rank->device) };
	rc = np_strtab_add(load->strings, name, length, &op->name, load->err);
	if (rc == NP_OK)
		rc = np_strtab_add(load->strings, name, vendor_operator_type(name, length),
				   &op->type, load->err);
	if (rc < 0)
		return rc;
	op->p2p = np_op_is_p2p(np_strtab_text(load->strings, op->name));
	*ret = op;
	return NP_OK;
}

int derived_set_vendor_times(struct derived *load, np_ns transit, np_ns wait, np_ns sync)
{
	return np_rank_set_vendor_times(load->rank, load->rank->ops.count - 1, transit, wait, sync,
					load->err);
}

int32_t derived_end(struct derived *load, uint32_t group, int64_t end)
{
	const struct np_group *of = &load->rank->groups.item[group];

	if (!load->merged)
		return np_peer_of(end);
	for (size_t i = 0; i < of->member_count; i++) {
		if (of->members[i] == end)
			return (int32_t)i;
	}
	load->lost_ends++;
	return NP_NO_PEER;
}

size_t derived_read_set(const char *text, int32_t *ranks, size_t room)
{
	size_t count = 0;

	while (*text && count < room) {
		size_t digits = strspn(text, "0123456789");
		int64_t rank;

		if (digits > 0 && np_text_to_int(text, digits, &rank) && rank <= INT32_MAX)
			ranks[count++] = (int32_t)rank;
		text += digits > 0 ? digits : 1;
	}
	qsort(ranks, count, sizeof(*ranks), np_by_int32);
	return count;
}

bool derived_is_member(int32_t rank, const int32_t *ranks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ranks[i] == rank)
			return true;
	}
	return false;
}

void derived_note_oddities(struct derived *load, const char *path, const char *what)
{
	if (load->lost_ends)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id, path, what,
			    "%zu ends of links are no members of their communicator",
			    load->lost_ends);
	if (load->ops_without_times)
		np_note_add(&load->rank->notes,
			    np_note_of_loss(load->ops_without_times, load->rank->ops.count),
			    load->rank->id, path, what,
			    "%zu operators without times, or with impossible ones, were left out",
			    load->ops_without_times);
	if (load->impossible)
		np_note_add(&load->rank->notes, np_note_of_loss(load->impossible, load->rows),
			    load->rank->id, path, what,
			    "%zu values of its %zu rows are impossible: they count as unknown",
			    load->impossible, load->rows);
}

bool derived_find_op(const struct np_rank *rank, np_str name, uint32_t group, uint32_t step,
		     uint32_t hint, uint32_t *ret)
{
	size_t count = rank->ops.count;

	for (size_t i = 0; i < count; i++) {
		size_t at = (hint + i) % count;
		const struct np_comm_op *op = &rank->ops.item[at];

		if (op->name == name && op->group == group && op->step == step) {
			*ret = (uint32_t)at;
			return true;
		}
	}
	return false;
}

bool derived_band_type(const char *name, enum np_band_type *ret)
{
	for (int type = 0; name && type < NP_BAND_COUNT; type++) {
		if (strcasecmp(name, np_band_name((enum np_band_type)type)) == 0) {
			*ret = (enum np_band_type)type;
			return true;
		}
	}
	return false;
}

np_ns derived_span(const struct np_step_time *time)
{
	if (time->stage != NP_UNKNOWN && time->bubble != NP_UNKNOWN)
		return time->stage + time->bubble;
	if (time->computing == NP_UNKNOWN || time->communication_not_overlapped == NP_UNKNOWN ||
	    time->free == NP_UNKNOWN)
		return NP_UNKNOWN;
	return time->computing + time->communication_not_overlapped + time->free;
}

void derived_without_intervals(struct np_step_time *time)
{
	time->e2e = NP_UNKNOWN;
	time->begin = NP_UNKNOWN;
	time->iteration = NP_UNKNOWN;
}

int64_t derived_or_zero(int64_t value)
{
	return value == NP_UNKNOWN ? 0 : value;
}

bool derived_split_pick(const char *name, size_t length, enum np_link_pick *pick,
			size_t *class_length)
{
	for (int i = 0; i < NP_LINK_PICKS; i++) {
		const char *suffix = np_link_pick_name((enum np_link_pick)i);
		size_t tail = strlen(suffix);

		if (length > tail + 1 && memcmp(name + length - tail, suffix, tail) == 0 &&
		    name[length - tail - 1] == '-') {
			*pick = (enum np_link_pick)i;
			*class_length = length - tail - 1;
			return true;
		}
	}
	return false;
}

static void mend_total(struct np_rank *rank, const struct np_link *pick, np_str op_class)
{
	for (size_t i = 0; i < rank->links.count; i++) {
		struct np_link *total = &rank->links.item[i];

		if (total->pick == NP_LINK_TOTAL && total->op_class == pick->op_class &&
		    total->group == pick->group && total->step == pick->step &&
		    total->src == pick->src && total->dst == pick->dst)
			total->op_class = op_class;
	}
}

/*
 * The exporter files reduceScatter under "reduce" and alltoallv under
 * "alltoall". The picked operators have the class; the total has none and takes
 * it from a pick of the same link.
 */
static int mend_classes(struct derived *load)
{
	struct np_rank *rank = load->rank;

	for (size_t i = 0; i < rank->links.count; i++) {
		struct np_link *link = &rank->links.item[i];
		np_str op_class;
		char text[64];
		size_t length;
		int rc;

		if (link->op_name == NP_STR_NONE)
			continue;
		length = np_op_class(np_strtab_text(load->strings, link->op_name), text,
				     sizeof(text));
		rc = np_strtab_add(load->strings, text, length, &op_class, load->err);
		if (rc < 0)
			return rc;
		if (op_class == link->op_class)
			continue;
		mend_total(rank, link, op_class);
		link->op_class = op_class;
	}
	return NP_OK;
}

int derived_finish_links(struct derived *load)
{
	int rc = mend_classes(load);

	if (rc == NP_OK && load->op_links)
		rc = np_op_links_pick(load->op_links, load->rank, load->strings, load->err);
	np_op_links_free(load->op_links);
	load->op_links = NULL;
	return rc;
}
