/* SPDX-License-Identifier: Apache-2.0 */
/* Which end, plane or link a slow transfer is due to, by median polish. */
#include "links_faults.h"

#include "npuprof/elementary.h"
#include "npuprof/idmap.h"
#include "npuprof/robust.h"

#define ROUNDS 10

/* A plane is more than a few links that happen to use it. */
#define PLANE_SOURCES 3

enum axis {
	BY_SOURCE,
	BY_DESTINATION,
	BY_PLANE,
	AXES,
};

/* A link in the polish: its excess is what its source, destination and plane share, and the rest.
 */
struct polish_entry {
	size_t link;
	int64_t key[AXES];
	double excess;
	bool way_back;
	double effect[AXES];
	double rest;
};

struct polish {
	struct np_links *links;
	struct polish_entry *entries;
	size_t count;
	uint32_t *order[AXES]; /* entries sorted along each axis */
	double *scratch;
	size_t *bad; /* links with an end that long transfers have shown to be bad */
	size_t bad_count;
};

static int by_source(const void *left, const void *right, void *context)
{
	const struct polish_entry *a =
		&((const struct polish_entry *)context)[*(const uint32_t *)left];
	const struct polish_entry *b =
		&((const struct polish_entry *)context)[*(const uint32_t *)right];
	int order = np_order(a->key[BY_SOURCE], b->key[BY_SOURCE]);

	return order ? order : np_order(a->key[BY_DESTINATION], b->key[BY_DESTINATION]);
}

static int by_destination(const void *left, const void *right, void *context)
{
	const struct polish_entry *a =
		&((const struct polish_entry *)context)[*(const uint32_t *)left];
	const struct polish_entry *b =
		&((const struct polish_entry *)context)[*(const uint32_t *)right];
	int order = np_order(a->key[BY_DESTINATION], b->key[BY_DESTINATION]);

	return order ? order : np_order(a->key[BY_SOURCE], b->key[BY_SOURCE]);
}

static int by_plane(const void *left, const void *right, void *context)
{
	const struct polish_entry *a =
		&((const struct polish_entry *)context)[*(const uint32_t *)left];
	const struct polish_entry *b =
		&((const struct polish_entry *)context)[*(const uint32_t *)right];
	int order = np_order(a->key[BY_PLANE], b->key[BY_PLANE]);

	return order ? order : np_order(a->key[BY_SOURCE], b->key[BY_SOURCE]);
}

/* Along each axis: how it is sorted, and how many different others make an effect. */
static const struct {
	int (*order)(const void *left, const void *right, void *context);
	enum axis other;
	size_t others;
} axes[AXES] = {
	[BY_SOURCE] = { by_source, BY_DESTINATION, 2 },
	[BY_DESTINATION] = { by_destination, BY_SOURCE, 2 },
	[BY_PLANE] = { by_plane, BY_SOURCE, PLANE_SOURCES },
};

/* Move what the entries of one source, destination or plane have in common to its effect. */
static void share(struct polish *polish, enum axis axis, size_t from, size_t to)
{
	const uint32_t *order = polish->order[axis];
	size_t others = 0;
	double median;

	for (size_t i = from; i < to; i++) {
		const struct polish_entry *entry = &polish->entries[order[i]];

		polish->scratch[i - from] = entry->rest;
		others += i == from || entry->key[axes[axis].other] !=
					       polish->entries[order[i - 1]].key[axes[axis].other];
	}
	/* A single link could as well be slow itself. */
	if (others < axes[axis].others)
		return;
	median = np_median(polish->scratch, to - from);
	for (size_t i = from; i < to; i++) {
		polish->entries[order[i]].effect[axis] += median;
		polish->entries[order[i]].rest -= median;
	}
}

static void sweep(struct polish *polish, enum axis axis)
{
	const uint32_t *order = polish->order[axis];

	for (size_t from = 0, to = 0; from < polish->count; from = to) {
		int64_t key = polish->entries[order[from]].key[axis];

		while (to < polish->count && polish->entries[order[to]].key[axis] == key)
			to++;
		if (key != NP_UNKNOWN)
			share(polish, axis, from, to);
	}
}

static enum np_link_fault fault_of(const struct polish_entry *entry)
{
	static const enum np_link_fault faults[AXES] = { [BY_SOURCE] = NP_FAULT_SENDER,
							 [BY_DESTINATION] = NP_FAULT_RECEIVER,
							 [BY_PLANE] = NP_FAULT_PLANE };
	enum np_link_fault fault = NP_FAULT_LINK;
	double most = entry->rest;

	for (int axis = 0; axis < AXES; axis++) {
		if (entry->effect[axis] > most) {
			most = entry->effect[axis];
			fault = faults[axis];
		}
	}
	return fault;
}

static void decide(struct polish *polish, bool bulk)
{
	double deviation;

	for (size_t i = 0; i < polish->count; i++)
		polish->scratch[i] = polish->entries[i].rest;
	deviation = np_deviation(polish->scratch, polish->count, 0);
	for (size_t i = 0; i < polish->count; i++) {
		const struct polish_entry *entry = &polish->entries[i];
		struct np_link_speed *link = &polish->links->list.item[entry->link];
		double limit = np_log(bulk ? LINK_SLOW : LINK_SLOW_SHORT);

		if (link->troubled > 0)
			limit = np_log(LINK_SLOW_TROUBLED);
		if (limit < LINK_DEVIATIONS * deviation)
			limit = LINK_DEVIATIONS * deviation;
		/* To be as slow as the way back says nothing. */
		link->verdict = entry->way_back ? NP_LINK_UNKNOWN : NP_LINK_OK;
		link->fault = NP_FAULT_NONE;
		if (entry->excess >= limit) {
			link->verdict = NP_LINK_SLOW;
			link->fault = fault_of(entry);
		}
	}
}

/* The links of one transport, judged by long transfers or by short ones. */
static void run(struct polish *polish, bool bulk)
{
	for (int axis = 0; axis < AXES; axis++) {
		for (size_t i = 0; i < polish->count; i++)
			polish->order[axis][i] = (uint32_t)i;
		qsort_r(polish->order[axis], polish->count, sizeof(uint32_t), axes[axis].order,
			polish->entries);
	}
	for (int i = 0; i < ROUNDS; i++) {
		for (int axis = 0; axis < AXES; axis++)
			sweep(polish, (enum axis)axis);
	}
	decide(polish, bulk);
}

/* Is the end of one link, found to be bad, an end of another? */
static bool shares_end(const struct np_link_speed *bad, const struct np_link_speed *link)
{
	return bad->fault == NP_FAULT_SENDER ? bad->src == link->src : bad->dst == link->dst;
}

/* One link for each sender and receiver that long transfers have shown to be bad. */
static void find_bad_ends(struct polish *polish)
{
	const struct np_link_speed *links = polish->links->list.item;

	polish->bad_count = 0;
	for (size_t i = 0; i < polish->count; i++) {
		const struct np_link_speed *link = &links[polish->entries[i].link];
		bool known = link->verdict != NP_LINK_SLOW ||
			     (link->fault != NP_FAULT_SENDER && link->fault != NP_FAULT_RECEIVER);

		for (size_t j = 0; j < polish->bad_count && !known; j++)
			known = links[polish->bad[j]].fault == link->fault &&
				shares_end(&links[polish->bad[j]], link);
		if (!known)
			polish->bad[polish->bad_count++] = polish->entries[i].link;
	}
}

/* Short transfers have few links of their own: what their ends are is not found out twice. */
static void apply_bad_ends(struct polish *polish)
{
	const struct np_link_speed *links = polish->links->list.item;

	for (size_t i = 0; i < polish->count; i++) {
		struct polish_entry *entry = &polish->entries[i];

		for (size_t j = 0; j < polish->bad_count && entry->rest > 0; j++) {
			const struct np_link_speed *bad = &links[polish->bad[j]];
			enum axis axis = bad->fault == NP_FAULT_SENDER ? BY_SOURCE : BY_DESTINATION;

			if (!shares_end(bad, &links[entry->link]))
				continue;
			entry->effect[axis] = entry->rest;
			entry->rest = 0;
		}
	}
}

static void select_entries(struct polish *polish, const struct link_excess *excess,
			   np_str transport, bool bulk)
{
	polish->count = 0;
	for (size_t i = 0; i < polish->links->list.count; i++) {
		const struct np_link_speed *link = &polish->links->list.item[i];

		if (!excess[i].known || excess[i].bulk != bulk || link->transport != transport)
			continue;
		polish->entries[polish->count++] =
			(struct polish_entry){ .link = i,
					       .key = { link->src, link->dst, link->plane },
					       .excess = excess[i].value,
					       .way_back = excess[i].way_back,
					       .rest = excess[i].value };
	}
}

/* The first link of each transport stands for it. */
static bool is_first(const struct np_links *links, size_t index)
{
	for (size_t i = index; i-- > 0;) {
		if (links->list.item[i].transport == links->list.item[index].transport)
			return false;
	}
	return true;
}

/* --- over transports ------------------------------------------------------------------------- */

/* Is another rank at the other end of a link of the same transport that shares this end? */
static bool has_others(const struct np_links *links, const struct np_link_speed *link, bool sender)
{
	for (size_t i = 0; i < links->list.count; i++) {
		const struct np_link_speed *each = &links->list.item[i];

		if (each->transport == link->transport &&
		    (sender ? each->src == link->src && each->dst != link->dst
			    : each->dst == link->dst && each->src != link->src))
			return true;
	}
	return false;
}

/*
 * The only link that an end has of one transport says nothing about the end; but if
 * it is slow, and the end is bad in another transport, that is why.
 */
static int join_transports(struct np_links *links, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *senders = np_idmap_new();
	NP_CLEANUP(np_idmap_freep) struct np_idmap *receivers = np_idmap_new();
	int rc = senders && receivers ? NP_OK : np_fail_nomem(err, "links");

	for (size_t i = 0; i < links->list.count && rc == NP_OK; i++) {
		const struct np_link_speed *link = &links->list.item[i];

		if (link->fault == NP_FAULT_SENDER)
			rc = np_idmap_set(senders, link->src, 1, err);
		else if (link->fault == NP_FAULT_RECEIVER)
			rc = np_idmap_set(receivers, link->dst, 1, err);
	}
	for (size_t i = 0; i < links->list.count && rc == NP_OK; i++) {
		struct np_link_speed *link = &links->list.item[i];

		if (link->fault != NP_FAULT_LINK)
			continue;
		if (np_idmap_get(senders, link->src) != NP_IDMAP_NONE &&
		    !has_others(links, link, true))
			link->fault = NP_FAULT_SENDER;
		else if (np_idmap_get(receivers, link->dst) != NP_IDMAP_NONE &&
			 !has_others(links, link, false))
			link->fault = NP_FAULT_RECEIVER;
	}
	return rc;
}

int link_polish(struct np_links *links, const struct link_excess *excess, struct np_err *err)
{
	size_t count = links->list.count;
	struct polish polish = { .links = links,
				 .entries = calloc(count + 1, sizeof(struct polish_entry)),
				 .scratch = malloc((count + 1) * sizeof(double)),
				 .bad = malloc((count + 1) * sizeof(size_t)) };
	bool whole = polish.entries && polish.scratch && polish.bad;

	for (int axis = 0; axis < AXES; axis++) {
		polish.order[axis] = malloc((count + 1) * sizeof(uint32_t));
		whole = whole && polish.order[axis];
	}
	for (size_t i = 0; i < count && whole; i++) {
		if (!is_first(links, i))
			continue;
		select_entries(&polish, excess, links->list.item[i].transport, true);
		run(&polish, true);
		find_bad_ends(&polish);
		select_entries(&polish, excess, links->list.item[i].transport, false);
		apply_bad_ends(&polish);
		run(&polish, false);
	}
	for (int axis = 0; axis < AXES; axis++)
		free(polish.order[axis]);
	free(polish.entries);
	free(polish.scratch);
	free(polish.bad);
	return whole ? join_transports(links, err) : np_fail_nomem(err, "links");
}
