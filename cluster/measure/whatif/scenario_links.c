/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers at the speed of comparable ones: of roles, communicators and links. */
#include "scenario.h"

#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/* The transfer of an instance, with what makes it like others. */
struct alike_transfer {
	np_str type;
	np_str role;
	uint32_t count;
	uint32_t instance;
	int64_t bytes;
	np_ns time;
};

static int order_alike(const struct alike_transfer *a, const struct alike_transfer *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->role != b->role)
		return a->role < b->role ? -1 : 1;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return np_order(a->bytes, b->bytes);
}

/* In the order of signed numbers. */
static uint64_t signed_key(int64_t value)
{
	return (uint64_t)value ^ (uint64_t)1 << 63;
}

static uint64_t alike_key(const struct alike_transfer *each, int key)
{
	switch (key) {
	case 0:
		return signed_key(each->time);
	case 1:
		return signed_key(each->bytes);
	case 2:
		return each->count;
	default:
		return (uint64_t)each->type << 32 | each->role;
	}
}

#define ALIKE_KEYS 4

/* Those that are alike follow each other, by time and then as they were. */
static int sort_alike(struct alike_transfer **list, size_t count, struct np_err *err)
{
	struct alike_transfer *sorted = malloc((count + 1) * sizeof(*sorted));
	struct np_keyed *space = malloc((2 * count + 1) * sizeof(*space));
	struct np_keyed *order = space;

	if (!sorted || !space) {
		free(sorted);
		free(space);
		return np_fail_nomem(err, "a repaired world");
	}
	for (size_t i = 0; i < count; i++)
		order[i].index = (uint32_t)i;
	for (int key = 0; key < ALIKE_KEYS; key++) {
		for (size_t i = 0; i < count; i++)
			order[i].key = alike_key(&(*list)[order[i].index], key);
		order = np_sort_keyed(order, order == space ? space + count : space, count);
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = (*list)[order[i].index];
	free(space);
	free(*list);
	*list = sorted;
	return NP_OK;
}

static struct alike_transfer *list_transfers(const struct np_replay *replay, size_t *ret_count,
					     struct np_err *err)
{
	const struct np_align *align = replay->align;
	struct alike_transfer *list = malloc((align->instances.count + 1) * sizeof(*list));
	size_t count = 0;

	if (!list) {
		(void)np_fail_nomem(err, "a repaired world");
		return NULL;
	}
	for (uint32_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		const struct np_communicator *communicator = np_cluster_communicator(
			replay->cluster, align->communicators.item[instance->communicator].hash);
		np_ns time = np_replay_transfer(replay, instance);

		if (time == NP_UNKNOWN || time == 0)
			continue;
		list[count++] = (struct alike_transfer){
			.type = instance->type,
			.role = communicator ? communicator->pg_name : NP_STR_NONE,
			.count = instance->count,
			.instance = i,
			.bytes = instance->bytes,
			.time = time,
		};
	}
	if (sort_alike(&list, count, err) < 0) {
		free(list);
		return NULL;
	}
	*ret_count = count;
	return list;
}

/* The median time of like transfers that are not to be repaired; NP_UNKNOWN for none. */
static np_ns median_of(const struct np_align *align, const struct alike_transfer *list,
		       size_t count, const bool *communicators)
{
	size_t sound = 0;
	size_t seen = 0;

	for (size_t i = 0; i < count; i++)
		sound += !communicators ||
			 !communicators[align->instances.item[list[i].instance].communicator];
	if (sound == 0)
		return NP_UNKNOWN;
	for (size_t i = 0; i < count; i++) {
		if (communicators &&
		    communicators[align->instances.item[list[i].instance].communicator])
			continue;
		/* They are sorted by time. */
		if (seen++ == (sound - 1) / 2)
			return list[i].time;
	}
	return NP_UNKNOWN;
}

int scenario_repair_transfers(const struct np_replay *replay, const bool *these, bool by_others,
			      struct scenario_draft *scenario, size_t *ret_repaired,
			      struct np_err *err)
{
	const struct np_align *align = replay->align;
	size_t count;
	struct alike_transfer *list = list_transfers(replay, &count, err);

	*ret_repaired = 0;
	if (!list)
		return NP_E_NOMEM;
	for (size_t from = 0, to = 0; from < count; from = to) {
		np_ns median;

		while (to < count && order_alike(&list[from], &list[to]) == 0)
			to++;
		median = median_of(align, &list[from], to - from, by_others ? these : NULL);
		for (size_t i = from; i < to && median != NP_UNKNOWN; i++) {
			uint32_t index = list[i].instance;
			float factor = (float)((double)median / (double)list[i].time);

			if (these && !these[align->instances.item[index].communicator])
				continue;
			++*ret_repaired;
			if (factor < scenario->transfer[index])
				scenario->transfer[index] = factor;
		}
	}
	free(list);
	return NP_OK;
}

/* --- communicators --------------------------------------------------------------------------- */

/*
 * A group is named by its hash, its name, or as screens do: "dp …545", and "dp" for all
 * of that role.
 */
enum group_name {
	GROUP_EXACT,
	GROUP_SHOWN,
	GROUP_ROLE,
	GROUP_NAMES,
};

static bool is_communicator(const struct np_whatif_input *input, const struct np_fix *fix,
			    enum group_name by, uint32_t index)
{
	const struct np_replay *replay = input->replay;
	uint64_t hash = replay->align->communicators.item[index].hash;
	const struct np_communicator *each = np_cluster_communicator(replay->cluster, hash);
	const char *role = each ? np_run_text(replay->align->run, each->pg_name) : NULL;
	const char *name = each ? np_run_text(replay->align->run, each->name) : NULL;
	char text[NP_FIX_TEXT + 16];

	if (fix->kind == NP_FIX_ROLE || by == GROUP_ROLE)
		return role && strcmp(role, fix->what) == 0;
	if (by == GROUP_SHOWN) {
		(void)snprintf(text, sizeof(text), "%s …%03" PRIu64, role ? role : "", hash % 1000);
		return role && strcmp(text, fix->what) == 0;
	}
	(void)snprintf(text, sizeof(text), "%" PRIu64, hash);
	return strcmp(text, fix->what) == 0 || (name && strcmp(name, fix->what) == 0);
}

int scenario_repair_communicators(const struct np_whatif_input *input, const struct np_fix *fix,
				  struct scenario_draft *scenario, struct np_err *err)
{
	size_t count = input->replay->align->communicators.count;
	bool *these = calloc(count + 1, sizeof(*these));
	size_t repaired = 0;
	bool any = false;
	bool single = fix->kind == NP_FIX_GROUP;
	int rc = these ? NP_OK : np_fail_nomem(err, "a repaired world");

	for (int by = GROUP_EXACT; by < GROUP_NAMES && rc == NP_OK && !any; by++) {
		for (uint32_t i = 0; i < count; i++) {
			these[i] = is_communicator(input, fix, (enum group_name)by, i);
			any |= these[i];
		}
		/* All of a role are measured by each other. */
		single = fix->kind == NP_FIX_GROUP && by != GROUP_ROLE;
	}
	if (rc == NP_OK && !any)
		rc = scenario_fail_unknown(input->replay, fix, err);
	if (rc == NP_OK)
		rc = scenario_repair_transfers(input->replay, these, single, scenario, &repaired,
					       err);
	if (rc == NP_OK && repaired == 0 && single)
		rc = np_fail(err, NP_E_USAGE,
			     "no other communicator is like '%s': there is nothing"
			     " to measure it by",
			     fix->what);
	free(these);
	return rc;
}

/* Instead of a rank: all that the other end transfers to others, or others to it. */
#define ANY_RANK INT64_MAX

/* Two ranks, by their ids, or one of them and ANY_RANK. */
struct link_ends {
	int64_t a;
	int64_t b;
};

static bool is_one_end(const struct link_ends *ends)
{
	return ends->a == ANY_RANK || ends->b == ANY_RANK;
}

/* Between two ranks both ways count, of a sender or receiver its own. */
static bool joins(const struct link_ends *ends, int64_t src, int64_t dst)
{
	if (is_one_end(ends))
		return ends->a == ANY_RANK ? dst == ends->b : src == ends->a;
	return (src == ends->a && dst == ends->b) || (src == ends->b && dst == ends->a);
}

static bool is_known(const struct np_link_speed *link)
{
	return link->expected != NP_UNKNOWN && link->time > 0;
}

/* How much of its time a sender or receiver would take; NaN where nothing is known. */
static double end_ratio(const struct np_links *links, const struct link_ends *ends)
{
	double expected = 0;
	double time = 0;

	for (size_t i = 0; links && i < links->list.count; i++) {
		const struct np_link_speed *link = &links->list.item[i];

		if (!joins(ends, link->src, link->dst) || !is_known(link))
			continue;
		expected += (double)link->expected;
		time += (double)link->time;
	}
	return time > 0 ? fmin(expected / time, 1) : (double)NAN;
}

/* How much of its time a link would take if it were as comparable ones; NaN where nothing is known.
 */
static double link_ratio(const struct np_links *links, const struct link_ends *ends)
{
	double worst = (double)NAN;

	if (is_one_end(ends))
		return end_ratio(links, ends);

	for (size_t i = 0; links && i < links->list.count; i++) {
		const struct np_link_speed *link = &links->list.item[i];

		if (joins(ends, link->src, link->dst) && is_known(link))
			worst = fmin(worst, (double)link->expected / (double)link->time);
	}
	return worst > 1 ? 1 : worst;
}

static const struct np_rank *rank_with(const struct np_run *run, int64_t id)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && run->ranks[i]->id == id)
			return run->ranks[i];
	}
	return NULL;
}

static bool is_there(const struct np_run *run, int64_t id)
{
	return id == ANY_RANK || rank_with(run, id);
}

/* Without a list of its members, a communicator has those that were seen to use it. */
static bool has_member(const struct np_align *align,
		       const struct np_align_communicator *communicator, int64_t rank)
{
	const struct np_coverage *seen = &align->coverage.item[communicator->coverage];
	size_t count = communicator->members ? communicator->member_count : communicator->observed;

	for (size_t i = 0; i < count; i++) {
		int32_t member = communicator->members ? communicator->members[i]
						       : align->run->ranks[seen[i].rank]->id;

		if (member == rank || rank == ANY_RANK)
			return true;
	}
	return false;
}

/* --- what a link holds up -------------------------------------------------------------------- */

/* What went over one link, or one plane of it, for one communicator in one step. */
struct use {
	np_str step;
	bool message;
	int64_t src;
	int64_t dst;
	uint32_t plane;
	np_ns time;
};

typedef NP_VEC(struct use) use_list;

static int order_links(const struct use *a, const struct use *b)
{
	int order = np_order(a->src, b->src);

	if (!order)
		order = np_order(a->dst, b->dst);
	return order ? order : np_order(a->plane, b->plane);
}

static int by_step_and_link(const void *left, const void *right)
{
	const struct use *a = left;
	const struct use *b = right;
	int order = np_order(a->step, b->step);

	if (!order)
		order = np_order(a->message, b->message);
	return order ? order : order_links(a, b);
}

static int add_uses(const struct np_cluster *cluster, const struct np_rank *rank, uint64_t hash,
		    use_list *ret, struct np_err *err)
{
	const struct np_communicator *communicator = np_cluster_communicator(cluster, hash);

	for (size_t i = 0; communicator && i < rank->transfers.count; i++) {
		const struct np_transfer *transfer = &rank->transfers.item[i];
		struct use *use;

		if (rank->groups.item[transfer->group].hash != hash)
			continue;
		use = np_vec_add(ret, err);
		if (!use)
			return NP_E_NOMEM;
		*use = (struct use){
			.step = transfer->step == NP_NO_STEP ? NP_STR_NONE
							     : rank->steps.item[transfer->step].id,
			.message = transfer->p2p,
			.src = np_communicator_rank(communicator, transfer->src),
			.dst = np_communicator_rank(communicator, transfer->dst),
			.plane = transfer->plane,
			.time = transfer->time,
		};
	}
	return NP_OK;
}

/* Of one communicator, sorted; one entry for each link. None where no transfers were recorded. */
static int list_uses(const struct np_replay *replay, uint32_t index, use_list *ret,
		     struct np_err *err)
{
	const struct np_run *run = replay->align->run;
	const struct np_align_communicator *communicator =
		&replay->align->communicators.item[index];
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i] && has_member(replay->align, communicator, run->ranks[i]->id))
			rc = add_uses(replay->cluster, run->ranks[i], communicator->hash, ret, err);
	}
	if (rc < 0 || ret->count == 0)
		return rc;
	qsort(ret->item, ret->count, sizeof(ret->item[0]), by_step_and_link);
	for (size_t i = 1; i < ret->count; i++) {
		if (by_step_and_link(&ret->item[kept], &ret->item[i]) == 0)
			ret->item[kept].time += ret->item[i].time;
		else
			ret->item[++kept] = ret->item[i];
	}
	ret->count = kept + 1;
	return NP_OK;
}

/* A repair of a link, for one communicator. */
struct repair {
	const struct np_links *links;
	const struct np_replay *replay;
	const struct link_ends *ends;
	double ratio; /* of its time that the link would take */
	uint32_t communicator;
	struct scenario_draft *scenario;
};

/* How much of its time a link takes with this repair, and with those before it. */
static double left_of(const struct repair *repair, const struct use *use)
{
	const struct scenario_draft *scenario = repair->scenario;
	const struct link_ends own = { use->src, use->dst };
	double left = joins(repair->ends, use->src, use->dst) ? repair->ratio : 1;

	for (size_t i = 0; i < scenario->links.count; i++) {
		const struct scenario_link *link = &scenario->links.item[i];
		const struct link_ends ends = { link->a, link->b };

		if (joins(&ends, use->src, use->dst))
			left = fmin(left, link->ratio);
	}
	for (size_t i = 0; scenario->others_even && i < repair->links->list.count; i++) {
		const struct np_link_speed *link = &repair->links->list.item[i];

		if (link->verdict == NP_LINK_SLOW && joins(&own, link->src, link->dst) &&
		    is_known(link))
			left = fmin(left, (double)link->expected / (double)link->time);
	}
	return left;
}

/*
 * What the communicator saves in a step whose links are these. A collective is done
 * when the slowest of its links is: the repaired one holds it up no more than the
 * next one does.
 */
static double saved_by(const struct repair *repair, const struct use *uses, size_t count)
{
	double before = 0;
	double after = 0;
	double messages = 0;
	bool concerned = false;

	for (size_t i = 0; i < count; i++) {
		double time = (double)uses[i].time;

		before = fmax(before, time);
		after = fmax(after, time * left_of(repair, &uses[i]));
		if (joins(repair->ends, uses[i].src, uses[i].dst)) {
			messages += time * (1 - repair->ratio);
			concerned = true;
		}
	}
	if (uses[0].message)
		return messages;
	return concerned ? before - after : 0;
}

/* A message goes over the link of its two ends alone; which of them sends it is not distinguished.
 */
static bool is_between(const struct np_align *align, const struct np_instance *instance,
		       const struct link_ends *ends)
{
	bool found[2] = { ends->a == ANY_RANK, ends->b == ANY_RANK };

	for (uint32_t i = 0; i < instance->count; i++) {
		int32_t rank = align->run->ranks[align->members[instance->first + i].rank]->id;

		found[0] |= rank == ends->a;
		found[1] |= rank == ends->b;
	}
	return found[0] && found[1];
}

/* Does data of the instance go over the link, as far as is known of its communicator? */
static bool may_use(const struct repair *repair, const struct np_instance *instance)
{
	return instance->rule != NP_RULE_PAIR ||
	       is_between(repair->replay->align, instance, repair->ends);
}

/* All transfers of a step get shorter by the same share. */
static void save_in_step(const struct repair *repair, np_str step, bool messages, double saved)
{
	const struct np_align *align = repair->replay->align;
	const struct np_align_communicator *each = &align->communicators.item[repair->communicator];
	double total = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = each->first; i < each->first + each->count; i++) {
			const struct np_instance *instance = &align->instances.item[i];
			np_ns time = instance->step == step
					     ? np_replay_transfer(repair->replay, instance)
					     : NP_UNKNOWN;

			if (time == NP_UNKNOWN || (instance->rule == NP_RULE_PAIR) != messages ||
			    !may_use(repair, instance))
				continue;
			if (pass == 0)
				total += (double)time;
			else if (total > 0)
				scenario_lower(&repair->scenario->transfer[i], 1 - saved / total);
		}
	}
}

/* Where only whole operators are known, all of them get shorter. */
static void lower_all(const struct repair *repair)
{
	const struct np_align *align = repair->replay->align;
	const struct np_align_communicator *each = &align->communicators.item[repair->communicator];

	for (uint32_t i = each->first; i < each->first + each->count; i++) {
		if (may_use(repair, &align->instances.item[i]))
			scenario_lower(&repair->scenario->transfer[i], repair->ratio);
	}
}

static int lower_communicator(const struct repair *repair, struct np_err *err)
{
	use_list uses = { 0 };
	int rc = list_uses(repair->replay, repair->communicator, &uses, err);

	if (rc == NP_OK && uses.count == 0)
		lower_all(repair);
	for (size_t from = 0, to = 0; from < uses.count && rc == NP_OK; from = to) {
		double saved;

		while (to < uses.count && uses.item[to].step == uses.item[from].step &&
		       uses.item[to].message == uses.item[from].message)
			to++;
		saved = saved_by(repair, &uses.item[from], to - from);
		if (saved > 0)
			save_in_step(repair, uses.item[from].step, uses.item[from].message, saved);
	}
	np_vec_release(&uses);
	return rc;
}

static int lower_transfers(const struct np_whatif_input *input, const struct link_ends *ends,
			   double ratio, struct scenario_draft *scenario, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct repair repair = { .links = input->links,
				 .replay = replay,
				 .ends = ends,
				 .ratio = ratio,
				 .scenario = scenario };
	struct scenario_link *repaired;
	int rc = NP_OK;

	for (uint32_t i = 0; i < replay->align->communicators.count && rc == NP_OK; i++) {
		const struct np_align_communicator *each = &replay->align->communicators.item[i];

		repair.communicator = i;
		if (has_member(replay->align, each, ends->a) &&
		    has_member(replay->align, each, ends->b))
			rc = lower_communicator(&repair, err);
	}
	repaired = rc == NP_OK ? np_vec_add(&scenario->links, err) : NULL;
	if (rc < 0 || !repaired)
		return rc < 0 ? rc : NP_E_NOMEM;
	*repaired = (struct scenario_link){ ends->a, ends->b, ratio };
	return NP_OK;
}

static bool read_end(const char *text, size_t length, int64_t *ret)
{
	if (length == 1 && *text == '*') {
		*ret = ANY_RANK;
		return true;
	}
	return np_text_to_int(text, length, ret) && *ret != ANY_RANK;
}

void whatif_name_link(const struct np_link_speed *link, struct np_fix *ret)
{
	bool sender = link->fault == NP_FAULT_SENDER;

	ret->kind = NP_FIX_LINK;
	if (sender || link->fault == NP_FAULT_RECEIVER)
		(void)snprintf(ret->what, sizeof(ret->what),
			       sender ? "%" PRId64 "-*" : "*-%" PRId64,
			       sender ? link->src : link->dst);
	else
		(void)snprintf(ret->what, sizeof(ret->what), "%" PRId64 "-%" PRId64,
			       link->src < link->dst ? link->src : link->dst,
			       link->src < link->dst ? link->dst : link->src);
}

int scenario_repair_link(const struct np_whatif_input *input, const struct np_fix *fix,
			 struct scenario_draft *scenario, struct np_err *err)
{
	const struct np_run *run = input->replay->align->run;
	const char *dash = strchr(fix->what, '-');
	struct link_ends ends;
	double ratio;

	if (!dash || !read_end(fix->what, (size_t)(dash - fix->what), &ends.a) ||
	    !read_end(dash + 1, strlen(dash + 1), &ends.b) || ends.a == ends.b)
		return np_fail(
			err, NP_E_USAGE,
			"'link:%s' is neither two ranks, such as link:3-4, nor all links that"
			" one sends or receives over, such as link:3-* or link:*-3",
			fix->what);
	if (!is_there(run, ends.a) || !is_there(run, ends.b))
		return scenario_fail_unknown(input->replay, fix, err);
	ratio = link_ratio(input->links, &ends);
	if (isnan(ratio) && is_one_end(&ends))
		return np_fail(err, NP_E_USAGE, "nothing is known of the links of rank %" PRId64,
			       ends.a == ANY_RANK ? ends.b : ends.a);
	if (isnan(ratio))
		return np_fail(err, NP_E_USAGE,
			       "nothing is known of a link between ranks %" PRId64 " and %" PRId64,
			       ends.a, ends.b);
	return lower_transfers(input, &ends, ratio, scenario, err);
}
