/* SPDX-License-Identifier: Apache-2.0 */
/* What `npuprof memory` shows people: lines and tables. */
#include "memory_report.h"

#include "npuprof/lang.h"
#include "npuprof/page.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

/* Brief blocks are worth a line if the peak without them is less than so much of it. */
#define BRIEF_MATTERS 0.99

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* The one that the imbalance calls the neediest: of all others less is to be feared. */
static const struct mem_rank *nearest(const struct memory_report *report)
{
	const struct mem_imbalance *imbalance = report->imbalance;
	const struct mem_rank *found = NULL;

	/* Who ran out is what people came for. */
	for (size_t i = 0; i < report->ranks.count; i++) {
		const struct mem_rank *rank = &report->ranks.item[i];

		if (rank->oom.what && (!found || rank->reserved.bytes > found->reserved.bytes))
			found = rank;
	}
	if (found)
		return found;
	return imbalance->most ? imbalance->most : &report->ranks.item[0];
}

static void say_reached(struct np_buf *buf, const struct mem_rank *rank,
			const struct mem_reached *peak)
{
	if (peak->event != NP_UNKNOWN)
		np_say(buf, "{1} at event {2}", NP_SAID_BYTES(peak->bytes),
		       NP_SAID_INT(peak->event));
	else if (peak->time != NP_UNKNOWN && rank->begin != NP_UNKNOWN)
		np_say(buf, "{1} after {2}", NP_SAID_BYTES(peak->bytes),
		       NP_SAID_TIME(peak->time - rank->begin));
	else
		np_text_bytes(buf, peak->bytes);
}

static void say_limit(struct np_buf *buf, const struct memory_report *report,
		      const struct mem_rank *rank)
{
	int64_t headroom;

	if (rank->limit == NP_UNKNOWN || rank->reserved.bytes == NP_UNKNOWN) {
		np_say(buf, "; the size of the device is not known\n");
		return;
	}
	headroom = rank->limit - rank->reserved.bytes;
	if (report->device_bytes == NP_UNKNOWN) {
		np_say(buf, "; {1} below the limit at which it ran out\n", NP_SAID_BYTES(headroom));
		return;
	}
	if (rank->outside != NP_UNKNOWN)
		headroom -= rank->outside;
	np_say(buf,
	       headroom < 0 ? "; {1} above the {2} of the device"
			    : "; {1} below the {2} of the device",
	       NP_SAID_BYTES(llabs(headroom)), NP_SAID_BYTES(rank->limit));
	if (rank->outside != NP_UNKNOWN)
		np_say(buf, ", of which {1} are used beside the allocator",
		       NP_SAID_BYTES(rank->outside));
	np_buf_add_char(buf, '\n');
}

static void say_peaks(struct np_buf *buf, const struct memory_report *report,
		      const struct mem_rank *rank)
{
	NP_CLEANUP(np_buf_release) struct np_buf allocated = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf reserved = NP_BUF_INIT;
	const bool peaks = !rank->history || rank->history->count > 0;

	if (peaks) {
		say_reached(&allocated, rank, &rank->allocated);
		say_reached(&reserved, rank, &rank->reserved);
	} else {
		np_text_bytes(&allocated, rank->allocated.bytes);
		np_text_bytes(&reserved, rank->reserved.bytes);
	}
	if (rank->requested.bytes != NP_UNKNOWN)
		np_say(&allocated, " (requested {1})", NP_SAID_BYTES(rank->requested.bytes));
	mem_rank_name(rank, buf);
	if (report->imbalance->most == rank && report->ranks.count > 1)
		np_say(buf,
		       peaks ? " needs most: peak allocated {1}, peak reserved {2}"
			     : " needs most: at the dump allocated {1}, reserved {2}; peaks are not known",
		       NP_SAID_TEXT(allocated.text), NP_SAID_TEXT(reserved.text));
	else
		np_say(buf,
		       peaks ? ": peak allocated {1}, peak reserved {2}"
			     : ": at the dump allocated {1}, reserved {2}; peaks are not known",
		       NP_SAID_TEXT(allocated.text), NP_SAID_TEXT(reserved.text));
	if (peaks && rank->history && rank->history->start_ranges.count > 0)
		np_say(buf, ", since recording began");
	say_limit(buf, report, rank);
	buf->failed |= allocated.failed || reserved.failed;
}

static bool serves(const struct mem_whatif *whatif)
{
	return !whatif->withheld && whatif->replay.refused == 0 && whatif->replay.ooms > 0 &&
	       whatif->replay.ooms_served == whatif->replay.ooms;
}

/* A setting under which the request that failed would have been served: the lowest peak first. */
static const struct mem_whatif *serving(const struct mem_rank *rank)
{
	const struct mem_whatif *best = NULL;

	for (size_t i = 0; i < rank->whatif.list.count; i++) {
		const struct mem_whatif *one = &rank->whatif.list.item[i];

		if (serves(one) &&
		    (!best || one->replay.peak_reserved < best->replay.peak_reserved))
			best = one;
	}
	return best;
}

/* How many settings differ from the usual ones. */
static size_t count_settings(const struct mem_whatif *whatif)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	size_t count = 1;

	mem_replay_name(&whatif->replay.settings, &name);
	for (const char *at = name.text; at && *at; at++)
		count += *at == ',';
	return count;
}

/* So much of a peak is not worth another setting beside the first. */
#define SIMPLER_PART 100

/* What needs the fewest settings of those that do about as well as this one. */
static const struct mem_whatif *simplest(const struct mem_rank *rank, const struct mem_whatif *best)
{
	const struct mem_whatif *found = best;

	for (size_t i = 0; best && i < rank->whatif.list.count; i++) {
		const struct mem_whatif *one = &rank->whatif.list.item[i];

		if (one->withheld || one->replay.refused > 0 || serves(one) != serves(best) ||
		    (one->gain == NP_UNKNOWN || one->gain <= 0) !=
			    (best->gain == NP_UNKNOWN || best->gain <= 0) ||
		    one->replay.peak_reserved >
			    best->replay.peak_reserved + best->replay.peak_reserved / SIMPLER_PART)
			continue;
		if (count_settings(one) < count_settings(found))
			found = one;
	}
	return found;
}

static void say_oom(struct np_buf *buf, const struct mem_rank *rank)
{
	const struct mem_oom *oom = &rank->oom;

	if (!oom->what)
		return;
	np_say(buf, "ran out of memory ({1}), last at event {2}: {3} wanted {4}; ",
	       NP_SAID_INT(rank->ooms), NP_SAID_INT(oom->event), NP_SAID_MSG(oom->what),
	       NP_SAID_BYTES(oom->wanted));
	np_say(buf,
	       mem_oom_in_pieces(oom)
		       ? "the device had {1} and {2} were free within reserved, in pieces of at most "
			 "{3}: fragmentation\n"
		       : "the device had {1} and {2} were free within reserved: {4} too few\n",
	       NP_SAID_BYTES(oom->device_free), NP_SAID_BYTES(oom->free),
	       NP_SAID_BYTES(oom->largest),
	       NP_SAID_BYTES(oom->wanted - oom->free - oom->device_free));
}

/* The part that needs most, and the one that needs least. */
static void say_parts(struct np_buf *buf, const struct mem_dimension *along)
{
	const struct mem_part *most = &along->parts.item[0];
	const struct mem_part *least = most;

	for (size_t i = 1; i < along->parts.count; i++) {
		const struct mem_part *part = &along->parts.item[i];

		most = part->mean > most->mean ? part : most;
		least = part->mean < least->mean ? part : least;
	}
	np_say(buf, "; by {1}: {2} needs {3}, {4} {5}", NP_SAID_MSG(along->what),
	       NP_SAID_TEXT(most->value), NP_SAID_BYTES(most->mean), NP_SAID_TEXT(least->value),
	       NP_SAID_BYTES(least->mean));
}

static void say_differences(struct np_buf *buf, const struct mem_imbalance *imbalance)
{
	for (size_t i = 0; i < imbalance->differences.count && i < 3; i++) {
		const struct mem_difference *one = &imbalance->differences.item[i];

		if (i == 0)
			np_say(buf, "more there: ");
		np_buf_printf(buf, "%s%s %c", i > 0 ? np_lang_text(", ") : "",
			      np_lang_text(one->what), one->bytes < one->other_bytes ? '-' : '+');
		np_text_bytes(buf, llabs(one->bytes - one->other_bytes));
	}
	np_buf_add(buf, imbalance->differences.count > 0 ? "\n" : "");
}

/* "+1.2 GB" */
static void add_risen(struct np_buf *buf, int64_t bytes)
{
	if (bytes != NP_UNKNOWN)
		np_buf_add_char(buf, bytes < 0 ? '-' : '+');
	np_text_bytes(buf, bytes == NP_UNKNOWN ? bytes : llabs(bytes));
}

static void say_comparison(struct np_buf *buf, const struct memory_report *report)
{
	const struct mem_comparison *comparison = report->comparison;
	const struct mem_pair *most = comparison ? comparison->most : NULL;
	NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf allocated = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf reserved = NP_BUF_INIT;

	if (!comparison)
		return;
	if (!most) {
		np_say(buf, "no rank is in both runs\n");
		return;
	}
	mem_rank_name(most->now, &who);
	add_risen(&allocated, mem_risen(&most->base->allocated, &most->now->allocated));
	add_risen(&reserved, mem_risen(&most->base->reserved, &most->now->reserved));
	np_say(buf,
	       "against {1}: {2} ranks in both; on {3} peak allocated {4}, peak reserved {5}\n",
	       NP_SAID_TEXT(report->base), NP_SAID_INT(comparison->pairs.count),
	       NP_SAID_TEXT(who.text), NP_SAID_TEXT(allocated.text), NP_SAID_TEXT(reserved.text));
}

static void say_imbalance(struct np_buf *buf, const struct memory_report *report)
{
	const struct mem_imbalance *imbalance = report->imbalance;
	int64_t most;
	int64_t median;

	if (imbalance->count < 2)
		return;
	most = mem_imbalance_peak(imbalance, imbalance->most);
	median = mem_imbalance_peak(imbalance, imbalance->median);
	if (!mem_imbalance_matters(imbalance)) {
		np_say(buf, "{1} ranks: peaks of {2} are even, the median is {3}\n",
		       NP_SAID_INT(imbalance->count), NP_SAID_MSG(imbalance->of),
		       NP_SAID_BYTES(median));
		return;
	}
	np_say(buf, "{1} ranks: {2} more than the median", NP_SAID_INT(imbalance->count),
	       NP_SAID_BYTES(most - median));
	if (imbalance->along)
		say_parts(buf, imbalance->along);
	np_buf_add_char(buf, '\n');
	say_differences(buf, imbalance);
	np_say(buf,
	       imbalance->along
		       ? "an even split by {1} would lower the highest peak to {2}, by {3}\n"
		       : "an even split over all ranks would lower the highest peak to {2}, by "
			 "{3}\n",
	       NP_SAID_MSG(imbalance->along ? imbalance->along->what : ""),
	       NP_SAID_BYTES(imbalance->even_peak), NP_SAID_BYTES(imbalance->even_gain));
}

static void say_first_out(struct np_buf *buf, const struct memory_report *report)
{
	const struct mem_imbalance *imbalance = report->imbalance;
	NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;

	if (!imbalance->first_out || imbalance->headroom == NP_UNKNOWN)
		return;
	if (report->ranks.count < 2 && imbalance->steps_left == NP_UNKNOWN)
		return;
	/* It has already. */
	if (imbalance->first_out->oom.what)
		return;
	mem_rank_name(imbalance->first_out, &who);
	np_say(buf,
	       imbalance->headroom < 0 ? "{1} is over its limit by {2}"
				       : "{1} runs out first: it has left {2}",
	       NP_SAID_TEXT(who.text), NP_SAID_BYTES(llabs(imbalance->headroom)));
	if (imbalance->steps_left != NP_UNKNOWN)
		np_say(buf, " and takes {1} more each step: {2} steps",
		       NP_SAID_BYTES(imbalance->growth), NP_SAID_INT(imbalance->steps_left));
	np_buf_add_char(buf, '\n');
}

/* All groups together; modules have more than the allocator. */
static int64_t groups_bytes(const struct mem_rank *rank)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rank->composition->groups.count; i++)
		sum += rank->composition->groups.item[i].bytes;
	return (int64_t)sum;
}

static void say_composition(struct np_buf *buf, const struct memory_report *report,
			    const struct mem_rank *result)
{
	size_t count = result->composition->groups.count;

	if (count == 0)
		return;
	np_say(buf,
	       result->history && result->history->count == 0 ? "at the dump, by {2}: "
							      : "at {1}, by {2}: ",
	       NP_SAID_MSG(report->moment), NP_SAID_MSG(memory_by_name(result->by)));
	for (size_t i = 0; i < count && i < 3; i++) {
		const struct mem_group *group = &result->composition->groups.item[i];

		np_buf_printf(buf, "%s%s ", i > 0 ? np_lang_text(", ") : "",
			      np_lang_text(mem_rank_label(result, group->label)));
		np_text_bytes(buf, (int64_t)group->bytes);
		np_buf_printf(buf, " (%.0f%%)",
			      percent((int64_t)group->bytes, groups_bytes(result)));
	}
	np_buf_add(buf, "\n");
}

/* What the page is about has components of its profile, or those of the profile of its rank. */
static const struct mem_rank *with_components(const struct memory_report *report,
					      const struct mem_rank *rank)
{
	for (size_t i = 0; rank->components.count == 0 && i < report->ranks.count; i++) {
		const struct mem_rank *other = &report->ranks.item[i];

		if (other->rank == rank->rank && other->components.count > 0)
			return other;
	}
	return rank;
}

/* Of the allocator, and what holds it. */
static bool is_beside(const struct mem_component *component)
{
	return component->module && strcmp(component->name, "APP") != 0 &&
	       !np_text_begins(component->name, "PTA") && strcmp(component->name, "WORKSPACE") != 0;
}

/* What the device has besides: modules of CANN, the largest first, and workspaces. */
static void say_beside(struct np_buf *buf, const struct memory_report *report,
		       const struct mem_rank *rank)
{
	const struct mem_rank *of = with_components(report, rank);
	size_t said = 0;

	for (size_t i = 0; i < of->components.count && said < 3; i++) {
		const struct mem_component *component = &of->components.item[i];

		if (!is_beside(component))
			continue;
		if (said++ == 0)
			np_say(buf, "at most, beside the allocator: ");
		else
			np_buf_add(buf, np_lang_text(", "));
		np_buf_printf(buf, "%s ", component->name);
		np_text_bytes(buf, component->peak_reserved);
	}
	if (rank->workspace != NP_UNKNOWN && rank->workspace > 0) {
		if (said++ == 0)
			np_say(buf, "at most, beside the allocator: ");
		else
			np_buf_add(buf, np_lang_text(", "));
		np_say(buf, "workspace of operators {1}", NP_SAID_BYTES(rank->workspace));
	}
	np_buf_add(buf, said > 0 ? "\n" : "");
}

static void say_gaps(struct np_buf *buf, const struct mem_rank *result)
{
	if (!result->history) {
		int64_t gap = result->at_reserved - result->at.bytes;

		if (result->at_reserved == NP_UNKNOWN || result->at.bytes == NP_UNKNOWN)
			return;
		np_say(buf,
		       "free within reserved: {1} ({2}%); a profile does not tell in which "
		       "pieces\n",
		       NP_SAID_BYTES(gap), NP_SAID_REAL(percent(gap, result->at_reserved)));
		return;
	}
	np_say(buf,
	       "free within reserved: {1} ({2}%), largest piece {3}, stuck in segments in use {4}; "
	       "rounding {5}\n",
	       NP_SAID_BYTES((int64_t)result->gaps.free),
	       NP_SAID_REAL(percent((int64_t)result->gaps.free, result->at_reserved)),
	       NP_SAID_BYTES((int64_t)result->gaps.largest),
	       NP_SAID_BYTES((int64_t)result->gaps.stuck),
	       NP_SAID_BYTES(result->at.bytes - result->at_requested));
}

static void say_leak(struct np_buf *buf, const struct mem_rank *rank, const char *who,
		     const struct mem_leak *leak)
{
	np_say(buf,
	       who ? "grows on {4}: {1} leaves {2} each time, {3} times, never freed\n"
		   : "grows: {1} leaves {2} each time, {3} times, never freed\n",
	       NP_SAID_MSG(mem_rank_label(rank, leak->label)),
	       NP_SAID_BYTES((int64_t)leak->per_occasion), NP_SAID_INT(leak->occasions),
	       NP_SAID_TEXT(who));
}

/* The largest of the other ranks: it matters though they do not need most yet. */
static void say_other_leak(struct np_buf *buf, const struct memory_report *report,
			   const struct mem_rank *shown)
{
	const struct mem_rank *found = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;

	for (size_t i = 0; i < report->ranks.count; i++) {
		const struct mem_rank *rank = &report->ranks.item[i];

		if (rank != shown && rank->composition->leaks.count > 0 &&
		    (!found || rank->composition->leaks.item[0].per_occasion >
				       found->composition->leaks.item[0].per_occasion))
			found = rank;
	}
	/* All ranks of a job have the same leak, as a rule. */
	if (!found || (shown->composition->leaks.count > 0 &&
		       found->composition->leaks.item[0].per_occasion <=
			       shown->composition->leaks.item[0].per_occasion))
		return;
	mem_rank_name(found, &who);
	say_leak(buf, found, who.text, &found->composition->leaks.item[0]);
}

static void say_never_freed(struct np_buf *buf, const struct mem_rank *rank)
{
	const struct composition *composition = rank->composition;

	if (!rank->lives_known)
		return;
	if (composition->never_freed == 0)
		np_say(buf, "all that was allocated in the record was freed\n");
	else if (composition->never_freed == 1)
		np_say(buf, "never freed: one block, {1}\n",
		       NP_SAID_BYTES((int64_t)composition->never_freed_bytes));
	else
		np_say(buf,
		       composition->leaks.count > 0 ? "never freed: {1} blocks, {2}\n"
		       : composition->nameless_bytes > 0
			       ? "never freed: {1} blocks, {2}; whether {3} of it grow is not "
				 "known, as they have no stack: name a frame that begins steps "
				 "with --step-frame\n"
		       : composition->forward_bytes > 0
			       ? "never freed: {1} blocks, {2}; {4} of it are kept by calls of the "
				 "model of which none went back: activations on their way, or, where "
				 "nothing is trained, no_grad() is missing\n"
			       : "never freed: {1} blocks, {2}; none of it grows\n",
		       NP_SAID_INT(composition->never_freed),
		       NP_SAID_BYTES((int64_t)composition->never_freed_bytes),
		       NP_SAID_BYTES((int64_t)composition->nameless_bytes),
		       NP_SAID_BYTES((int64_t)composition->forward_bytes));
}

static void say_survivors(struct np_buf *buf, const struct memory_report *report,
			  const struct mem_rank *result)
{
	const struct composition *composition = result->composition;

	say_never_freed(buf, result);
	for (size_t i = 0; i < composition->leaks.count && i < 3; i++)
		say_leak(buf, result, NULL, &composition->leaks.item[i]);
	say_other_leak(buf, report, result);
	/* What hardly lowers the peak is not worth a line. */
	if (composition->transient.bytes == 0 ||
	    (double)composition->peak_without > (double)result->allocated.bytes * BRIEF_MATTERS)
		return;
	np_say(buf,
	       composition->transient.blocks == 1
		       ? "brief at the peak: {1}, one block, {3}; without it the peak would be {4}\n"
		       : "brief at the peak: {1}, {2} blocks, {3}; without them the peak would be {4}\n",
	       NP_SAID_MSG(mem_rank_label(result, composition->transient.label)),
	       NP_SAID_INT(composition->transient.blocks),
	       NP_SAID_BYTES((int64_t)composition->transient.bytes),
	       NP_SAID_BYTES((int64_t)composition->peak_without));
}

static void say_trust(struct np_buf *buf, const struct mem_rank *result)
{
	const struct mem_history *history = result->history;

	if (!history) {
		if (result->allocated.bytes == NP_UNKNOWN)
			np_say(buf, "no curve of an allocator was recorded\n");
		return;
	}
	if (history->count == 0)
		np_say(buf, "no history was recorded: only the state at the dump is known\n");
	if (history->wrong_sizes > 0)
		np_say(buf,
		       "{1} of {2} blocks at the end have another size than the settings found "
		       "give: what is allocated is approximate\n",
		       NP_SAID_INT(history->wrong_sizes), NP_SAID_INT(history->end_blocks));
	/* What a block was cut from may have been too little to be cut again. */
	if (history->start_unsure > 0)
		np_say(buf,
		       "{1} blocks from before the record may be larger than their requests tell, "
		       "by up to {2} together\n",
		       NP_SAID_INT(history->start_unsure),
		       NP_SAID_BYTES((int64_t)(history->start_unsure * MEM_SMALL_MOST)));
	if (history->inconsistent > 0)
		np_say(buf,
		       history_is_trusted(history)
			       ? "{1} of {2} events contradict others\n"
			       : "{1} of {2} events contradict others: the figures are not to be "
				 "trusted\n",
		       NP_SAID_INT(history->inconsistent), NP_SAID_INT(history->count));
}

/* "saves 33.6 MB", or what else becomes of the peak. */
static void add_gain(struct np_buf *buf, const struct mem_whatif *whatif)
{
	if (whatif->withheld) {
		np_say(buf, "{1}", NP_SAID_MSG(whatif->withheld));
	} else if (whatif->replay.refused > 0) {
		np_say(buf, "runs out at event {1}", NP_SAID_INT(whatif->replay.refused_at));
	} else if (whatif->gain == NP_UNKNOWN) {
		np_say(buf, "within the error");
	} else if (whatif->gain == 0) {
		np_say(buf, "the same");
	} else {
		np_say(buf, whatif->gain > 0 ? "saves {1}" : "costs {1}",
		       NP_SAID_BYTES(llabs(whatif->gain)));
	}
}

static const struct mem_whatif *best_whatif(const struct memory_whatif *whatif)
{
	const struct mem_whatif *best = NULL;

	for (size_t i = 0; i < whatif->list.count; i++) {
		const struct mem_whatif *one = &whatif->list.item[i];

		if (one->gain != NP_UNKNOWN && one->gain > 0 && one->replay.refused == 0 &&
		    (!best || one->gain > best->gain))
			best = one;
	}
	return best;
}

static void say_whatif(struct np_buf *buf, const struct mem_rank *result)
{
	const struct memory_whatif *whatif = &result->whatif;
	const struct mem_whatif *best = best_whatif(whatif);
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf gain = NP_BUF_INIT;

	if (!result->history)
		return;
	if (whatif->withheld) {
		if (!whatif->wanted)
			return;
		np_say(buf, "other settings: withheld, {1}\n", NP_SAID_MSG(whatif->withheld));
		return;
	}
	mem_replay_name(&whatif->found.settings, &name);
	np_say(buf,
	       "replay with the settings found ({1}): {2} of {3} segment events and {4} of {5} "
	       "addresses of blocks equal, reserved is off by at most {6}\n",
	       NP_SAID_TEXT(name.text), NP_SAID_INT(whatif->found.calls_equal),
	       NP_SAID_INT(whatif->found.calls), NP_SAID_INT(whatif->found.blocks_equal),
	       NP_SAID_INT(whatif->found.blocks), NP_SAID_BYTES((int64_t)whatif->found.deviation));
	buf->failed |= name.failed;
	if (!whatif->wanted)
		return;
	if (whatif->now_known)
		np_say(buf,
		       whatif->now.refused > 0
			       ? "as it is it would run out at event {1} where the device has {2}\n"
			       : "where the device has {2} it would do as it is, at {3}\n",
		       NP_SAID_INT(whatif->now.refused_at), NP_SAID_BYTES(result->limit),
		       NP_SAID_BYTES((int64_t)whatif->now.peak_reserved));
	if (!best) {
		np_say(buf, "none of the other settings would lower the peak for sure\n");
		return;
	}
	np_buf_clear(&name);
	mem_replay_name(&best->replay.settings, &name);
	add_gain(&gain, best);
	np_say(buf, "lowest peak reserved: {1} with {2}, {3}",
	       NP_SAID_BYTES((int64_t)best->replay.peak_reserved), NP_SAID_TEXT(name.text),
	       NP_SAID_TEXT(gain.text));
	if (best->replay.approximate)
		np_say(buf, " (the beginning is made anew)");
	np_buf_add_char(buf, '\n');
	buf->failed |= name.failed || gain.failed;
}

/* The rank that another setting would help most, where that is not the one that is shown. */
static void say_other_whatif(struct np_buf *buf, const struct memory_report *report,
			     const struct mem_rank *shown)
{
	const struct mem_whatif *most = best_whatif(&shown->whatif);
	const struct mem_rank *found = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf who = NP_BUF_INIT;

	for (size_t i = 0; i < report->ranks.count; i++) {
		const struct mem_whatif *best = best_whatif(&report->ranks.item[i].whatif);

		if (!best || (most && best->gain <= most->gain))
			continue;
		most = best;
		found = &report->ranks.item[i];
	}
	if (!found)
		return;
	mem_replay_name(&most->replay.settings, &name);
	mem_rank_name(found, &who);
	np_say(buf, "on {1} {2} would lower peak reserved to {3}, by {4}\n", NP_SAID_TEXT(who.text),
	       NP_SAID_TEXT(name.text), NP_SAID_BYTES((int64_t)most->replay.peak_reserved),
	       NP_SAID_BYTES(most->gain));
	buf->failed |= name.failed || who.failed;
}

static void put_number(struct np_grid *grid, int64_t number)
{
	if (number == NP_UNKNOWN)
		np_grid_cell(grid, "?");
	else
		np_grid_printf(grid, "%lld", (long long)number);
}

static int64_t known(const struct mem_whatif *whatif, uint64_t figure)
{
	return whatif->withheld ? NP_UNKNOWN : (int64_t)figure;
}

/* Free bytes are worth another setting, and a setting worth a line, from these parts on. */
#define GAP_MATTERS  10
#define GAIN_MATTERS 3

/* A leak that has not filled as much again after so many steps can wait. */
#define GROWTH_STEPS 1000

static bool growth_matters(const struct mem_rank *rank)
{
	const struct composition *composition = rank->composition;

	return composition->leaks.count > 0 && (int64_t)composition->leaks.item[0].per_occasion >=
						       rank->allocated.bytes / GROWTH_STEPS;
}

/* Without what was left behind the request that failed would have had its memory. */
static bool leak_ran_out(const struct mem_rank *rank)
{
	return rank->oom.what && growth_matters(rank) &&
	       (int64_t)rank->composition->leaks.item[0].bytes >= rank->oom.wanted;
}

/* Is most of it kept by calls of a model of which none went back? */
static bool forward_holds(const struct mem_rank *rank)
{
	return rank->composition->forward_bytes > 0 &&
	       (int64_t)rank->composition->forward_bytes >= rank->allocated.bytes / 2;
}

/* What puts off running out of memory; NULL: nothing does. */
static void say_until_then(struct np_buf *buf, const char *setting)
{
	if (setting)
		np_say(buf, "until then {1} would have served the request that failed\n",
		       NP_SAID_TEXT(setting));
}

/* The largest of what fills the memory, or how to know more of it. */
static void say_look(struct np_buf *buf, const struct mem_rank *rank)
{
	const struct mem_group *largest;
	const char *what;

	if (rank->composition->groups.count == 0 || rank->by == MEM_BY_SIZE ||
	    rank->by == MEM_BY_LIFETIME)
		return;
	largest = &rank->composition->groups.item[0];
	what = mem_rank_label(rank, largest->label);
	if (strcmp(what, composition_before) == 0)
		np_say(buf,
		       "do next: record a snapshot from the beginning of the program on "
		       "(npuprof-collect --memory-snapshot 0:2): {1} were there before\n",
		       NP_SAID_BYTES((int64_t)largest->bytes));
	else if (strcmp(what, composition_no_stack) == 0)
		np_say(buf,
		       "do next: record the stacks of C++ too (npuprof-collect --memory-stacks "
		       "all): {1} have no stack\n",
		       NP_SAID_BYTES((int64_t)largest->bytes));
	else
		np_say(buf, "do next: look at {1}, which holds {2}\n", NP_SAID_MSG(what),
		       NP_SAID_BYTES((int64_t)largest->bytes));
}

static void add_setting(struct np_buf *buf, const struct mem_rank *rank,
			const struct mem_whatif *whatif)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

	mem_replay_name(&whatif->replay.settings, &name);
	/* The user may have set nothing but what is no more than the usual. */
	np_buf_printf(buf, "PYTORCH_%s_ALLOC_CONF=%s", rank->gpu ? "CUDA" : "NPU", name.text);
	buf->failed |= name.failed;
}

/* What would change most for this rank, the surest first. */
static void say_next(struct np_buf *buf, const struct memory_report *report,
		     const struct mem_rank *rank)
{
	const struct composition *composition = rank->composition;
	const struct mem_whatif *best = simplest(rank, best_whatif(&rank->whatif));
	const struct mem_whatif *server = simplest(rank, serving(rank));
	const struct mem_imbalance *imbalance = report->imbalance;
	NP_CLEANUP(np_buf_release) struct np_buf setting = NP_BUF_INIT;

	if (server || best)
		add_setting(&setting, rank, server ? server : best);
	if (server && !leak_ran_out(rank) && !forward_holds(rank)) {
		np_say(buf, "do next: set {1}; the request that failed would have been served\n",
		       NP_SAID_TEXT(setting.text));
	} else if (growth_matters(rank)) {
		np_say(buf, "do next: find out why {1} keeps what it allocates\n",
		       NP_SAID_MSG(mem_rank_label(rank, composition->leaks.item[0].label)));
		say_until_then(buf, server ? setting.text : NULL);
	} else if (forward_holds(rank)) {
		np_say(buf,
		       "do next: call the model within no_grad() where nothing is trained, or have "
		       "fewer batches on their way: they keep {1}\n",
		       NP_SAID_BYTES((int64_t)composition->forward_bytes));
		say_until_then(buf, server ? setting.text : NULL);
	} else if (best && !rank->oom.what &&
		   percent(best->gain, rank->reserved.bytes) >= GAIN_MATTERS) {
		np_say(buf, "do next: set {1}; it saves {2}\n", NP_SAID_TEXT(setting.text),
		       NP_SAID_BYTES(best->gain));
	} else if (mem_imbalance_matters(imbalance) && imbalance->along &&
		   imbalance->differences.count > 0) {
		np_say(buf, "do next: split {1} more evenly by {2}; it saves {3}\n",
		       NP_SAID_MSG(imbalance->differences.item[0].what),
		       NP_SAID_MSG(imbalance->along->what), NP_SAID_BYTES(imbalance->even_gain));
	} else if (rank->history && !rank->whatif.wanted && !rank->whatif.withheld &&
		   percent((int64_t)rank->gaps.free, rank->at_reserved) >= GAP_MATTERS) {
		np_say(buf,
		       "do next: try other settings of the allocator with --sweep; {1} of what "
		       "is reserved are free\n",
		       NP_SAID_BYTES((int64_t)rank->gaps.free));
	} else {
		say_look(buf, rank);
	}
	buf->failed |= setting.failed;
}

/* From this width on settings, which are there to be copied, leave room for the last column. */
#define WIDE_PAGE 116

static struct np_grid *whatif_grid(const struct memory_report *report,
				   const struct mem_rank *result)
{
	static const struct np_grid_column columns[] = {
		{ "settings", NP_LEFT, NP_CUT_MIDDLE }, { "peak reserved", NP_RIGHT, NP_UNCUT },
		{ "against now", NP_LEFT, NP_UNCUT },   { "error", NP_RIGHT, NP_UNCUT },
		{ "free at peak", NP_RIGHT, NP_UNCUT }, { "driver calls", NP_RIGHT, NP_UNCUT },
		{ "end reserved", NP_RIGHT, NP_UNCUT },
	};
	const bool wide = report->width >= WIDE_PAGE;
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns) - !wide);

	for (size_t i = 0; grid && i < result->whatif.list.count; i++) {
		const struct mem_whatif *whatif = &result->whatif.list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf gain = NP_BUF_INIT;

		mem_replay_name(&whatif->replay.settings, &name);
		/* Who ran out wants to know this of each. */
		if (!whatif->withheld && whatif->replay.refused == 0 &&
		    whatif->replay.ooms_served < whatif->replay.ooms)
			np_say(&gain, "fails again");
		else
			add_gain(&gain, whatif);
		np_grid_cell(grid, name.text);
		np_grid_bytes(grid, known(whatif, whatif->replay.peak_reserved));
		np_grid_cell(grid, gain.text);
		np_grid_bytes(grid, known(whatif, whatif->error));
		np_grid_bytes(grid, known(whatif, whatif->replay.peak_gap));
		put_number(grid, known(whatif, whatif->replay.grown));
		if (wide)
			np_grid_bytes(grid, known(whatif, whatif->replay.end_reserved));
	}
	return grid;
}

/* The name of its file, with that of the directory where another file is called the same. */
static const char *short_path(const struct memory_report *report, const struct mem_rank *rank)
{
	const char *name = np_text_last_part(rank->path);
	bool alone = true;

	for (size_t i = 0; alone && i < report->ranks.count; i++) {
		const char *path = report->ranks.item[i].path;

		alone = strcmp(path, rank->path) == 0 || strcmp(np_text_last_part(path), name) != 0;
	}
	for (int parts = alone ? 0 : 1; parts > 0 && name > rank->path; parts--) {
		name--;
		while (name > rank->path && name[-1] != '/')
			name--;
	}
	return name;
}

static struct np_grid *ranks_grid(const struct memory_report *report)
{
	static const struct np_grid_column columns[] = {
		{ "rank", NP_RIGHT, NP_UNCUT },          { "file", NP_LEFT, NP_CUT_MIDDLE },
		{ "device", NP_RIGHT, NP_UNCUT },        { "peak allocated", NP_RIGHT, NP_UNCUT },
		{ "peak reserved", NP_RIGHT, NP_UNCUT }, { "largest gap", NP_RIGHT, NP_UNCUT },
		{ "never freed", NP_RIGHT, NP_UNCUT },   { "out of memory", NP_RIGHT, NP_UNCUT },
		{ "role", NP_LEFT, NP_CUT_MIDDLE }, /* the last: few have any */
	};
	struct np_grid *grid;
	bool roles = false;

	for (size_t i = 0; i < report->ranks.count; i++)
		roles |= report->ranks.item[i].role != NULL;
	grid = np_grid_new(columns, NP_COUNT(columns) - !roles);
	for (size_t i = 0; grid && i < report->ranks.count; i++) {
		const struct mem_rank *rank = &report->ranks.item[i];

		put_number(grid, rank->rank);
		np_grid_cell(grid, short_path(report, rank));
		np_grid_printf(grid, "%zu", rank->device);
		np_grid_bytes(grid, rank->allocated.bytes);
		np_grid_bytes(grid, rank->reserved.bytes);
		np_grid_bytes(grid, rank->gap.bytes);
		np_grid_bytes(grid, mem_rank_never_freed(rank));
		put_number(grid, rank->ooms);
		if (roles)
			np_grid_cell(grid, rank->role ? rank->role : "");
	}
	return grid;
}

static struct np_grid *changes_grid(const struct memory_report *report)
{
	static const struct np_grid_column columns[] = {
		{ "what", NP_LEFT, NP_CUT_MIDDLE },
		{ "before", NP_RIGHT, NP_UNCUT },
		{ "now", NP_RIGHT, NP_UNCUT },
		{ "change", NP_RIGHT, NP_UNCUT },
	};
	const struct mem_pair *most = report->comparison->most;
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < most->changes.count && i < report->top; i++) {
		const struct mem_difference *change = &most->changes.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf risen = NP_BUF_INIT;

		add_risen(&risen, change->bytes - change->other_bytes);
		np_grid_cell(grid, np_lang_text(change->what));
		np_grid_bytes(grid, change->other_bytes);
		np_grid_bytes(grid, change->bytes);
		np_grid_cell(grid, risen.text);
	}
	return grid;
}

static struct np_grid *parts_grid(const struct mem_dimension *along)
{
	const struct np_grid_column columns[] = {
		{ along->what, NP_LEFT, NP_CUT_MIDDLE }, { "ranks", NP_RIGHT, NP_UNCUT },
		{ "least", NP_RIGHT, NP_UNCUT },         { "mean", NP_RIGHT, NP_UNCUT },
		{ "most", NP_RIGHT, NP_UNCUT },          { "of rank", NP_RIGHT, NP_UNCUT },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < along->parts.count; i++) {
		const struct mem_part *part = &along->parts.item[i];

		np_grid_cell(grid, part->value);
		np_grid_printf(grid, "%zu", part->ranks);
		np_grid_bytes(grid, part->least);
		np_grid_bytes(grid, part->mean);
		np_grid_bytes(grid, part->most);
		put_number(grid, part->most_rank);
	}
	return grid;
}

static void put_component(struct np_grid *grid, const struct mem_component *component)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

	np_say(&name, component->module ? "module {1}" : "{1}", NP_SAID_TEXT(component->name));
	np_grid_cell(grid, name.text);
}

static struct np_grid *components_grid(const struct memory_report *report,
				       const struct mem_rank *rank)
{
	static const struct np_grid_column columns[] = {
		{ "component", NP_LEFT, NP_CUT_MIDDLE },  { "peak allocated", NP_RIGHT, NP_UNCUT },
		{ "peak reserved", NP_RIGHT, NP_UNCUT },  { "reserved then", NP_RIGHT, NP_UNCUT },
		{ "grows per step", NP_RIGHT, NP_UNCUT },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < rank->components.count && i < report->top; i++) {
		const struct mem_component *component = &rank->components.item[i];

		put_component(grid, component);
		np_grid_bytes(grid, component->peak_allocated);
		np_grid_bytes(grid, component->peak_reserved);
		np_grid_bytes(grid, component->at_reserved);
		np_grid_bytes(grid, component->growth);
	}
	return grid;
}

static struct np_grid *graphs_grid(const struct memory_report *report, const struct mem_rank *rank)
{
	static const struct np_grid_column columns[] = {
		{ "graph", NP_RIGHT, NP_UNCUT },         { "part", NP_LEFT, NP_CUT_MIDDLE },
		{ "operators", NP_RIGHT, NP_UNCUT },     { "peak", NP_RIGHT, NP_UNCUT },
		{ "without reuse", NP_RIGHT, NP_UNCUT }, { "largest then", NP_LEFT, NP_CUT_MIDDLE },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < rank->graphs.count && i < report->top; i++) {
		const struct mem_graph *graph = &rank->graphs.item[i];

		put_number(grid, graph->graph);
		np_grid_cell(grid, graph->model ? graph->model : np_lang_text("all of it"));
		np_grid_printf(grid, "%zu", graph->operators);
		np_grid_bytes(grid, graph->peak);
		np_grid_bytes(grid, graph->total);
		np_grid_cell(grid, graph->largest ? graph->largest : "?");
	}
	return grid;
}

static struct np_grid *groups_grid(const struct memory_report *report,
				   const struct mem_rank *result)
{
	static const struct np_grid_column columns[] = {
		{ "what", NP_LEFT, NP_CUT_MIDDLE },
		{ "allocated", NP_RIGHT, NP_UNCUT },
		{ "share", NP_RIGHT, NP_UNCUT },
		{ "blocks", NP_RIGHT, NP_UNCUT },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < result->composition->groups.count && i < report->top; i++) {
		const struct mem_group *group = &result->composition->groups.item[i];

		np_grid_cell(grid, np_lang_text(mem_rank_label(result, group->label)));
		np_grid_bytes(grid, (int64_t)group->bytes);
		np_grid_printf(grid, "%.1f%%",
			       percent((int64_t)group->bytes, groups_bytes(result)));
		put_number(grid, mem_rank_blocks(group));
	}
	return grid;
}

static void say_all(struct np_buf *lines, const struct memory_report *report,
		    const struct mem_rank *rank)
{
	say_peaks(lines, report, rank);
	say_oom(lines, rank);
	say_next(lines, report, rank);
	say_comparison(lines, report);
	say_imbalance(lines, report);
	say_first_out(lines, report);
	say_composition(lines, report, rank);
	say_beside(lines, report, rank);
	say_gaps(lines, rank);
	say_survivors(lines, report, rank);
	say_whatif(lines, rank);
	say_other_whatif(lines, report, rank);
	say_trust(lines, rank);
}

/* A section with a table; false: no memory. */
static bool add_table(struct np_page *page, const char *title, struct np_grid *grid)
{
	np_page_add(page, title)->grid = grid;
	return grid != NULL;
}

static bool add_tables(struct np_page *page, const struct memory_report *report,
		       const struct mem_rank *rank)
{
	const struct mem_imbalance *imbalance = report->imbalance;
	const struct mem_rank *components = with_components(report, rank);
	bool done = add_table(page, "Ranks", ranks_grid(report));

	if (done && report->comparison && report->comparison->most)
		done = add_table(page, "What was added", changes_grid(report));
	if (done && imbalance->along && mem_imbalance_matters(imbalance))
		done = add_table(page, "Peaks by part of the job", parts_grid(imbalance->along));
	if (done)
		done = add_table(page, "What fills it", groups_grid(report, rank));
	if (done && components->components.count > 0)
		done = add_table(page, "Components", components_grid(report, components));
	if (done && components->graphs.count > 0)
		done = add_table(page, "Compiled graphs", graphs_grid(report, components));
	if (done && rank->whatif.list.count > 0)
		done = add_table(page, "Other settings of the allocator",
				 whatif_grid(report, rank));
	return done;
}

int memory_report_page(const struct memory_report *report, bool markdown, struct np_buf *buf,
		       struct np_err *err)
{
	const struct mem_rank *rank = nearest(report);
	NP_CLEANUP(np_page_release) struct np_page page = { 0 };
	NP_CLEANUP(np_buf_release) struct np_buf lines = NP_BUF_INIT;
	struct np_section *section = np_page_add(&page, "Memory");

	say_all(&lines, report, rank);
	if (np_buf_check(&lines, err) < 0)
		return NP_E_NOMEM;
	/* Names of files and functions are foreign. */
	for (const char *line = lines.text; *line;) {
		size_t length = strcspn(line, "\n");

		np_text_safe(&section->text, line, length);
		np_buf_add_char(&section->text, '\n');
		line += length + (line[length] == '\n');
	}
	if (!add_tables(&page, report, rank))
		return np_fail_nomem(err, "a page");
	return markdown ? np_page_write_markdown(&page, buf, err)
			: np_page_write(&page, buf, report->width, report->color, err);
}
