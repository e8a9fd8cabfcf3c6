/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of the AI cores. A chip runs at its rated clock; when it has nothing to
 * do it may fall to its idle clock. Anything else slows kernels down. The rated
 * clock is that of the device's information or, where this was not recorded, the
 * highest that any rank of the same chip shows; the idle clock is the lowest.
 */
#include "registry.h"

#define MODE "freq_analysis"

#define CLOCKS_MOST 64

/* The distinct clocks of a rank, ascending. */
struct clocks {
	int64_t mhz[CLOCKS_MOST];
	size_t count;
	int64_t rated; /* NP_UNKNOWN if not known */
	np_str chip;
};

static void add_clock(struct clocks *clocks, int64_t mhz)
{
	size_t at = 0;

	while (at < clocks->count && clocks->mhz[at] < mhz)
		at++;
	if ((at < clocks->count && clocks->mhz[at] == mhz) || clocks->count == CLOCKS_MOST)
		return;
	memmove(&clocks->mhz[at + 1], &clocks->mhz[at], (clocks->count - at) * sizeof(mhz));
	clocks->mhz[at] = mhz;
	clocks->count++;
}

/* A clock runs until the next sample of its device. */
static np_ns runs_until(const struct np_detail *detail, size_t index)
{
	for (size_t i = index + 1; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].device == detail->frequency.item[index].device)
			return detail->frequency.item[i].time;
	}
	return NP_NS_MAX;
}

/* Did the clock run in one of the steps that are looked at? */
static bool is_taken(const struct mode_rank *rank, size_t index)
{
	const struct np_frequency *sample = &rank->detail->frequency.item[index];
	np_ns end;

	if (!rank->modes->options.steps_chosen)
		return true;
	end = runs_until(rank->detail, index);
	for (size_t i = 0; i < rank->rank->steps.count; i++) {
		const struct np_step *step = &rank->rank->steps.item[i];

		if (step->begin == NP_UNKNOWN || step->end == NP_UNKNOWN ||
		    (sample->time < step->end && end > step->begin))
			return true;
	}
	return false;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	const struct np_detail *detail = rank->detail;
	struct clocks *clocks = calloc(1, sizeof(*clocks));

	(void)prepared;
	if (!clocks)
		return np_fail_nomem(rank->err, MODE);
	*ret = clocks;
	clocks->rated = detail->device.aic_mhz;
	for (size_t i = 0; i < detail->frequency.count; i++) {
		if (detail->frequency.item[i].mhz != NP_UNKNOWN && is_taken(rank, i))
			add_clock(clocks, detail->frequency.item[i].mhz);
	}
	return mode_text(rank, detail->device.chip, &clocks->chip);
}

/* The rated clock of a rank's chip, and its idle clock as far as ranks show one. */
static int64_t rated_clock(const struct np_modes *modes, void *const *ranks,
			   const struct clocks *own)
{
	int64_t highest = own->rated;

	for (size_t i = 0; i < modes->run->sources.count && own->rated == NP_UNKNOWN; i++) {
		const struct clocks *clocks = ranks[i];

		if (!clocks || clocks->chip != own->chip || clocks->count == 0)
			continue;
		if (clocks->rated != NP_UNKNOWN)
			return clocks->rated;
		if (clocks->mhz[clocks->count - 1] > highest)
			highest = clocks->mhz[clocks->count - 1];
	}
	return highest;
}

static int64_t idle_clock(const struct np_modes *modes, void *const *ranks,
			  const struct clocks *own, int64_t rated)
{
	int64_t lowest = rated;

	for (size_t i = 0; i < modes->run->sources.count; i++) {
		const struct clocks *clocks = ranks[i];

		if (clocks && clocks->chip == own->chip && clocks->count > 0 &&
		    clocks->mhz[0] < lowest)
			lowest = clocks->mhz[0];
	}
	/* Half the rated clock or less is where chips rest; above it they are throttled. */
	return lowest * 2 <= rated ? lowest : NP_UNKNOWN;
}

enum verdict {
	AT_RATED,
	WITH_IDLE,
	ABNORMAL,
};

static enum verdict judge(const struct clocks *clocks, int64_t rated, int64_t idle)
{
	bool rests = false;

	for (size_t i = 0; i < clocks->count; i++) {
		if (clocks->mhz[i] == idle && idle != NP_UNKNOWN)
			rests = true;
		else if (clocks->mhz[i] != rated)
			return ABNORMAL;
	}
	return rests ? WITH_IDLE : AT_RATED;
}

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER },
	{ "aicoreFrequency", NP_TEXT },
};

static int put(struct np_modes *modes, struct np_mode_table *table, int32_t rank,
	       const struct clocks *clocks, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;

	for (size_t i = 0; i < clocks->count; i++)
		np_buf_printf(&list, "%s%lld", i ? ", " : "[", (long long)clocks->mhz[i]);
	np_buf_add_char(&list, ']');
	return mode_row(modes, table,
			(const struct np_cell[NP_COUNT(columns)]){ np_cell_integer(rank),
								   np_cell_text(list.text) },
			err);
}

/* Before the first sample the clock is not known. */
static bool is_untold(const void *result)
{
	return ((const struct clocks *)result)->count == 0;
}

static int note_untold(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	return mode_note_results(
		modes, MODE, ranks, is_untold,
		modes->options.steps_chosen
			? "no sample tells the AI core frequency in the steps that were chosen"
			: "no sample tells the AI core frequency",
		err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *resting =
		MODE_TABLE(modes, MODE, "FreeFrequencyRanks",
			   "ranks whose AI cores rested at times", columns, err);
	struct np_mode_table *abnormal = MODE_TABLE(
		modes, MODE, "AbnormalFrequencyRanks",
		"ranks whose AI cores ran at another clock than the rated one", columns, err);
	int rc = resting && abnormal ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct clocks *clocks = ranks[i];
		int64_t rated;
		enum verdict verdict;

		if (!clocks || clocks->count == 0)
			continue;
		abnormal->empty = "AI cores ran at the rated clock of their chip, or rested";
		rated = rated_clock(modes, ranks, clocks);
		verdict = judge(clocks, rated, idle_clock(modes, ranks, clocks, rated));
		if (verdict != AT_RATED)
			rc = put(modes, verdict == WITH_IDLE ? resting : abnormal,
				 mode_rank_id(modes, i), clocks, err);
	}
	return rc < 0 ? rc : note_untold(modes, ranks, err);
}

const struct mode mode_freq_analysis = {
	.name = MODE,
	.summary = "ranks whose AI cores do not run at their rated clock",
	.wants = NP_DETAIL_FREQUENCY | NP_DETAIL_DEVICE,
	.needs = NP_DETAIL_FREQUENCY,
	.reduce = reduce,
	.merge = merge,
	.release = free,
};
