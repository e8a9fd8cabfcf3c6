/* SPDX-License-Identifier: Apache-2.0 */
/* Slow links that only the times of whole operators give away. */
#include "links_faults.h"

#include "npuprof/align.h"
#include "npuprof/elementary.h"
#include "npuprof/robust.h"

/*
 * Links from whole operators
 * --------------------------
 *
 * Communicators of one size and span that do the same with as many bytes should
 * take as long. Where some take longer, the fault is with what they have and the
 * others do not: a pair of ranks, or one rank.
 */

/* Fewer cannot say which of them is odd. */
#define SIBLINGS 3

/* Pairs of a larger communicator are too many for one of them to be the only suspect. */
#define MOST_MEMBERS 64

/* One operator of a communicator, in the median of how long its instances took. */
struct operator_entry {
	uint32_t communicator; /* index in the alignment */
	uint32_t size;
	uint32_t hosts;
	np_str type;
	int64_t bytes;
	double transit;
	double weight; /* instances */
};

/* A communicator, compared with its siblings. */
struct tested {
	const struct np_align_communicator *communicator;
	double taken;
	double expected;
	bool slow;
};

struct link_groups {
	const struct np_cluster *cluster;
	const struct np_align *align;
	const struct np_waits *waits;
	NP_VEC(struct operator_entry) entries;
	NP_VEC(struct tested) tested;
	double *scratch;
	struct np_links *links;
	struct np_err *err;
};

/* What the operator took once all were there: the shortest of its members has no more to it. */
static np_ns transit_of(const struct link_groups *groups, const struct np_instance *instance)
{
	np_ns least = NP_UNKNOWN;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns transit = np_waits_transit(groups->align, groups->waits, instance->first + i);

		if (transit != NP_UNKNOWN && (least == NP_UNKNOWN || transit < least))
			least = transit;
	}
	return least;
}

static uint32_t hosts_of(const struct np_run *run, const struct np_align_communicator *communicator)
{
	uint32_t hosts = 0;

	for (size_t i = 0; i < communicator->member_count; i++) {
		const struct np_rank *rank = np_run_rank(run, communicator->members[i]);
		bool seen = !rank;

		for (size_t j = 0; j < i && !seen; j++) {
			const struct np_rank *other = np_run_rank(run, communicator->members[j]);

			seen = other && other->host_uid == rank->host_uid;
		}
		hosts += !seen;
	}
	return hosts;
}

static int by_operator(const void *left, const void *right)
{
	const struct np_instance *a = *(const struct np_instance *const *)left;
	const struct np_instance *b = *(const struct np_instance *const *)right;
	int order = np_order(a->type, b->type);

	return order ? order : np_order(a->bytes, b->bytes);
}

static int add_entry(struct link_groups *groups, uint32_t index, uint32_t hosts,
		     const struct np_instance **instances, size_t count)
{
	const struct np_align_communicator *communicator =
		&groups->align->communicators.item[index];
	struct operator_entry *entry;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		np_ns transit = transit_of(groups, instances[i]);

		if (transit > 0)
			groups->scratch[used++] = (double)transit;
	}
	if (used == 0)
		return NP_OK;
	entry = np_vec_add(&groups->entries, groups->err);
	if (!entry)
		return NP_E_NOMEM;
	*entry = (struct operator_entry){ .communicator = index,
					  .size = communicator->size,
					  .hosts = hosts,
					  .type = instances[0]->type,
					  .bytes = instances[0]->bytes,
					  .transit = np_median(groups->scratch, used),
					  .weight = (double)used };
	return NP_OK;
}

/* The operators of a communicator whose members wait for each other, by type and bytes. */
static int add_communicator(struct link_groups *groups, uint32_t index)
{
	const struct np_align_communicator *communicator =
		&groups->align->communicators.item[index];
	/* An array of pointers is meant. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	const struct np_instance **list = malloc((communicator->count + 1) * sizeof(*list));
	uint32_t hosts = hosts_of(groups->cluster->run, communicator);
	size_t count = 0;
	int rc = list ? NP_OK : np_fail_nomem(groups->err, "links");

	for (uint32_t i = 0; list && i < communicator->count; i++) {
		const struct np_instance *instance =
			&groups->align->instances.item[communicator->first + i];

		if (instance->rule == NP_RULE_ALL && np_instance_complete(instance) &&
		    instance->count > 1 && instance->bytes != NP_UNKNOWN)
			list[count++] = instance;
	}
	if (rc == NP_OK && count > 0) /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
		qsort(list, count, sizeof(*list), by_operator);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && by_operator(&list[from], &list[to]) == 0)
			to++;
		rc = add_entry(groups, index, hosts, &list[from], to - from);
	}
	free(list);
	return rc;
}

static int by_kind(const struct operator_entry *a, const struct operator_entry *b)
{
	int order = np_order(a->type, b->type);

	if (!order)
		order = np_order(a->bytes, b->bytes);
	if (!order)
		order = np_order(a->size, b->size);
	return order ? order : np_order(a->hosts, b->hosts);
}

static int by_kind_entry(const void *left, const void *right)
{
	int order = by_kind(left, right);

	return order ? order
		     : np_order(((const struct operator_entry *)left)->communicator,
				((const struct operator_entry *)right)->communicator);
}

static struct tested *tested_of(struct link_groups *groups, uint32_t index)
{
	const struct np_align_communicator *communicator =
		&groups->align->communicators.item[index];
	struct tested *tested;

	for (size_t i = 0; i < groups->tested.count; i++) {
		if (groups->tested.item[i].communicator == communicator)
			return &groups->tested.item[i];
	}
	tested = np_vec_add(&groups->tested, groups->err);
	if (tested)
		tested->communicator = communicator;
	return tested;
}

static int compare_siblings(struct link_groups *groups, const struct operator_entry *entries,
			    size_t count)
{
	double median;

	if (count < SIBLINGS)
		return NP_OK;
	for (size_t i = 0; i < count; i++)
		groups->scratch[i] = entries[i].transit;
	median = np_median(groups->scratch, count);
	for (size_t i = 0; i < count; i++) {
		struct tested *tested = tested_of(groups, entries[i].communicator);

		if (!tested)
			return NP_E_NOMEM;
		tested->taken += entries[i].transit * entries[i].weight;
		tested->expected += median * entries[i].weight;
	}
	return NP_OK;
}

static int compare(struct link_groups *groups)
{
	struct operator_entry *list = groups->entries.item;
	size_t count = groups->entries.count;
	int rc = NP_OK;

	if (count > 0)
		qsort(list, count, sizeof(*list), by_kind_entry);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && by_kind(&list[from], &list[to]) == 0)
			to++;
		rc = compare_siblings(groups, &list[from], to - from);
	}
	return rc;
}

static size_t mark_slow(struct link_groups *groups)
{
	size_t count = groups->tested.count;
	double limit = np_log(LINK_SLOW);
	double deviation;
	size_t slow = 0;

	for (size_t i = 0; i < count; i++)
		groups->scratch[i] =
			np_log(groups->tested.item[i].taken / groups->tested.item[i].expected);
	deviation = np_deviation(groups->scratch, count, 0);
	if (limit < LINK_DEVIATIONS * deviation)
		limit = LINK_DEVIATIONS * deviation;
	for (size_t i = 0; i < count; i++) {
		struct tested *tested = &groups->tested.item[i];

		tested->slow = np_log(tested->taken / tested->expected) >= limit;
		slow += tested->slow;
	}
	return slow;
}

static bool has_member(const struct np_align_communicator *communicator, int32_t rank)
{
	for (size_t i = 0; i < communicator->member_count; i++) {
		if (communicator->members[i] == rank)
			return true;
	}
	return false;
}

/* In how many of the slow, or of the sound, communicators both ranks are. */
static size_t communicators_with(const struct link_groups *groups, int32_t a, int32_t b, bool slow)
{
	size_t count = 0;

	for (size_t i = 0; i < groups->tested.count; i++) {
		const struct tested *each = &groups->tested.item[i];

		count += each->slow == slow && has_member(each->communicator, a) &&
			 has_member(each->communicator, b);
	}
	return count;
}

static int name_suspect(struct link_groups *groups, int32_t a, int64_t b)
{
	struct np_link_speed *link;

	for (size_t i = 0; i < groups->links->list.count; i++) {
		if (groups->links->list.item[i].src == a && groups->links->list.item[i].dst == b)
			return NP_OK;
	}
	link = np_vec_add(&groups->links->list, groups->err);
	if (!link)
		return NP_E_NOMEM;
	*link = (struct np_link_speed){ .src = a,
					.dst = b,
					.plane = NP_UNKNOWN,
					.bytes = NP_UNKNOWN,
					.time = NP_UNKNOWN,
					.expected = NP_UNKNOWN,
					.verdict = NP_LINK_SLOW,
					.fault = b == NP_UNKNOWN ? NP_FAULT_NONE : NP_FAULT_LINK };
	return NP_OK;
}

/* The suspects of one slow communicator: in most slow ones, in no sound one. */
struct link_suspects {
	int32_t a;
	int32_t b;
	size_t pairs;
	size_t most; /* slow communicators that a suspect is in */
};

static struct link_suspects suspects_of(const struct link_groups *groups,
					const struct np_align_communicator *communicator,
					bool ranks)
{
	const int32_t *members = communicator->members;
	struct link_suspects suspects = { 0 };

	for (size_t i = 0; i < communicator->member_count; i++) {
		size_t end = ranks ? i + 1 : communicator->member_count;

		for (size_t j = ranks ? i : i + 1; j < end; j++) {
			size_t slow = communicators_with(groups, members[i], members[j], true);

			if (communicators_with(groups, members[i], members[j], false) > 0 ||
			    slow < suspects.most)
				continue;
			if (slow > suspects.most)
				suspects.pairs = 0;
			suspects.most = slow;
			suspects.pairs++;
			suspects.a = members[i];
			suspects.b = members[j];
		}
	}
	return suspects;
}

static int name_suspects(struct link_groups *groups)
{
	int rc = NP_OK;

	for (size_t i = 0; i < groups->tested.count && rc == NP_OK; i++) {
		const struct tested *tested = &groups->tested.item[i];
		struct link_suspects suspects;

		if (!tested->slow || !tested->communicator->members ||
		    tested->communicator->member_count > MOST_MEMBERS)
			continue;
		/* A rank in several slow communicators explains more than a pair does. */
		suspects = suspects_of(groups, tested->communicator, true);
		if (suspects.pairs == 1 && suspects.most > 1) {
			rc = name_suspect(groups, suspects.a, NP_UNKNOWN);
			continue;
		}
		suspects = suspects_of(groups, tested->communicator, false);
		if (suspects.pairs == 1)
			rc = name_suspect(groups, suspects.a, suspects.b);
	}
	return rc;
}

int link_groups_test(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, struct np_links *links, struct np_err *err)
{
	struct link_groups groups = {
		.cluster = cluster, .align = align, .waits = waits, .links = links, .err = err
	};
	size_t room = align->instances.count + align->communicators.count + 1;
	int rc = NP_OK;

	groups.scratch = malloc(room * sizeof(*groups.scratch));
	if (!groups.scratch)
		return np_fail_nomem(err, "links");
	for (size_t i = 0; i < align->communicators.count && rc == NP_OK; i++)
		rc = add_communicator(&groups, (uint32_t)i);
	if (rc == NP_OK)
		rc = compare(&groups);
	if (rc == NP_OK && mark_slow(&groups) > 0)
		rc = name_suspects(&groups);
	np_vec_release(&groups.entries);
	np_vec_release(&groups.tested);
	free(groups.scratch);
	return rc;
}
