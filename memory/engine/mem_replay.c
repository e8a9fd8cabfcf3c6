/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded requests again, under the settings of the recording or others. */
#include "mem_replay.h"

#include "npuprof/lang.h"
#include "npuprof/text.h"

/* No device has as much: such a request is damage. */
#define REQUEST_MOST (UINT64_C(1) << 46)

#define PLACE_MOST (UINT64_C(1) << 62)

#define NO_RUN SIZE_MAX

/* Of the device, where garbage collection is tried. */
#define SWEEP_FRACTION 0.95
#define SWEEP_COLLECT  0.8

/* Where no block of a record is. */
#define OOM_ADDRESS UINT64_MAX

static const uint64_t large_segments[] = { 20, 32, 64, 128, 256, 512 };
static const uint64_t splits[] = { 0, 20, 32, 64, 128, 256, 512 }; /* 0: no limit */
static const uint64_t divisions[] = { 0, 2, 4, 8, 16 };
static const uint64_t pads[][2] = { { 32, MEM_NPU_ALIGN }, { 0, MEM_NPU_ALIGN }, { 0, 0 } };

/* A replay under way. */
struct mem_replay_job {
	const struct mem_history *history;
	struct mem_layout layout;
	struct mem_replay *result;
	bool verify;
	uint64_t recorded; /* reserved */
	size_t run; /* the first of the segment events that are not yet compared, or NO_RUN */
};

static bool is_growth(const struct snap_event *event)
{
	return event->action == SNAP_SEGMENT_ALLOC || event->action == SNAP_SEGMENT_MAP;
}

/* The beginning: as it was, or, if pages take the place of segments or the reverse, anew. */
static int begin(struct mem_replay_job *job, bool anew, struct np_err *err)
{
	const struct mem_history *history = job->history;
	size_t bad = 0;
	int rc = NP_OK;

	job->recorded = history->start_reserved;
	if (!anew) {
		rc = history_lay_start(history, &job->layout, &bad, err);
		return rc == NP_OK && job->layout.settings.expandable
			       ? layout_add_unmapped(&job->layout, err)
			       : rc;
	}
	job->result->approximate = history->start_ranges.count > 0;
	for (size_t i = 0; rc == NP_OK && i < history->start_blocks.count; i++) {
		const struct mem_start_block *block = &history->start_blocks.item[i];
		uint32_t key = 0;
		uint32_t number;

		for (size_t j = 0; j < history->start_ranges.count; j++) {
			const struct mem_range *range = &history->start_ranges.item[j];

			if (range->address <= block->address &&
			    block->address - range->address < range->size)
				key = range->key;
		}
		if (block->requested > REQUEST_MOST)
			continue;
		rc = layout_allocate(&job->layout, block->address, block->requested,
				     layout_key_pool(key), layout_key_stream(key), (uint32_t)i,
				     &number, err);
		if (rc == NP_OK && block->pending)
			layout_free_requested(&job->layout, number);
	}
	job->layout.grown = 0;
	return rc;
}

/* The calls that were made against the segment events since the last event of another kind. */
static void compare_calls(struct mem_replay_job *job, size_t until)
{
	struct mem_replay *result = job->result;
	size_t recorded = job->run == NO_RUN ? 0 : until - job->run;
	size_t made = job->layout.calls.count;

	for (size_t i = 0; i < recorded && i < made; i++) {
		const struct snap_event *event = &job->history->events[job->run + i];
		const struct mem_call *call = &job->layout.calls.item[i];

		result->calls_equal += call->address == event->address &&
				       call->size == event->size && call->grows == is_growth(event);
	}
	result->calls += recorded;
	result->calls_extra += made > recorded ? made - recorded : 0;
	job->layout.calls.count = 0;
	job->run = NO_RUN;
}

static void compare_reserved(struct mem_replay_job *job)
{
	uint64_t reserved = job->layout.reserved;
	uint64_t off =
		reserved > job->recorded ? reserved - job->recorded : job->recorded - reserved;

	if (off > job->result->deviation)
		job->result->deviation = off;
}

/* Did somebody call empty_cache()? */
static bool is_emptied(const struct mem_history *history, const struct snap_event *event)
{
	const struct snapshot *snapshot = history->snapshot;
	const struct snap_stack *stack = &snapshot->stacks.item[event->stack];

	for (size_t i = 0; i < stack->count; i++) {
		const struct snap_frame *frame =
			&snapshot->frames.item[snapshot->stack_frames.item[stack->first + i]];

		if (strstr(np_strtab_text(snapshot->texts, frame->name), "empty_cache"))
			return true;
	}
	return false;
}

/*
 * Were segments given back because a request had failed? Under a cap the replay decides that.
 * `reserved` is what there was before. Where stacks were not recorded it is one if what follows
 * would have been too much.
 */
static bool is_of_failure(const struct mem_history *history, size_t i, uint64_t reserved,
			  uint64_t cap)
{
	bool known = history->events[i].stack > 0;

	if (is_emptied(history, &history->events[i]))
		return false;
	while (i < history->count && history_releases(&history->events[i]))
		i++;
	if (i == history->count ||
	    (!is_growth(&history->events[i]) && history->events[i].action != SNAP_OOM))
		return false;
	return known || reserved + history->events[i].size > cap;
}

/* The pools that give something back in the run of events from `i` on: nobody uses them any more.
 */
static void see_given_up(struct mem_replay_job *job, size_t i)
{
	const struct mem_history *history = job->history;

	for (; i < history->count && history_releases(&history->events[i]); i++)
		job->layout.given_up[history->events[i].pool] = true;
}

/*
 * The run of events from `i` on, as the record has it: with a limit of splitting a request that
 * fails gives back some, and all only if that was not enough.
 */
static int release_recorded(struct mem_replay_job *job, size_t i, struct np_err *err)
{
	const struct mem_history *history = job->history;
	const size_t before = job->layout.calls.count;
	size_t end = i;
	size_t at;
	bool enough = false;
	int rc = NP_OK;

	while (end < history->count && history_releases(&history->events[end]))
		end++;
	for (at = end; at < history->count && is_growth(&history->events[at]);)
		at++;
	if (job->verify && at < history->count &&
	    (history->events[at].action == SNAP_OOM ||
	     (at > end && history->events[at].action == SNAP_ALLOC)) &&
	    !is_emptied(history, &history->events[i])) {
		const struct snap_event *event = &history->events[at];
		const uint64_t size = event->action == SNAP_OOM
					      ? event->size
					      : layout_round(&job->layout.settings, event->size);

		rc = layout_release_some(
			&job->layout, size,
			layout_key(event->pool, size <= MEM_SMALL_MOST, event->stream), &enough,
			err);
		if (rc < 0 || (enough && job->layout.calls.count - before >= end - i))
			return rc;
	}
	return layout_release_cached(&job->layout, err);
}

static int see_segment(struct mem_replay_job *job, size_t i, struct np_err *err)
{
	const struct snap_event *event = &job->history->events[i];
	uint64_t before;

	if (job->run == NO_RUN)
		job->run = i;
	if (is_growth(event)) {
		job->recorded += event->size;
		if (job->verify && job->layout.place == 0 && event->address <= PLACE_MOST)
			job->layout.place = event->address;
		/* Who has given back all that is cached asks the driver, whatever came free then.
		 */
		if (job->verify && i > 0 && history_releases(event - 1) &&
		    !is_emptied(job->history, event - 1))
			job->layout.fresh = true;
		return NP_OK;
	}
	before = job->recorded;
	job->recorded -= event->size;
	if (i > 0 && history_releases(event - 1))
		return NP_OK;
	see_given_up(job, i);
	if (job->layout.settings.cap > 0 &&
	    is_of_failure(job->history, i, before, job->layout.settings.cap))
		return NP_OK;
	return release_recorded(job, i, err);
}

static int see_alloc(struct mem_replay_job *job, const struct snap_event *event, struct np_err *err)
{
	uint32_t number;
	int rc;

	/* What contradicts other events was not played in the record either. */
	if (layout_find(&job->layout, event->address) != MEM_NONE || event->size > REQUEST_MOST)
		return NP_OK;
	rc = layout_allocate(&job->layout, event->address, event->size, event->pool, event->stream,
			     MEM_NONE, &number, err);
	if (rc < 0)
		return rc;
	job->result->blocks++;
	job->result->blocks_equal += job->layout.blocks.item[number].address == event->address;
	return NP_OK;
}

static int see_free(struct mem_replay_job *job, const struct snap_event *event, struct np_err *err)
{
	uint32_t number = layout_find(&job->layout, event->address);

	if (number == MEM_NONE)
		return NP_OK;
	if (job->layout.blocks.item[number].state == MEM_ALLOCATED)
		layout_free_requested(&job->layout, number);
	if (event->action == SNAP_FREE_REQUESTED)
		return NP_OK;
	return layout_free_completed(&job->layout, event->address, number, err);
}

static void keep_peak(struct mem_replay_job *job)
{
	if (job->layout.reserved <= job->result->peak_reserved)
		return;
	job->result->peak_reserved = job->layout.reserved;
	job->result->peak_gap = job->layout.reserved - job->layout.allocated;
}

/*
 * A request that failed in the record, where the cap is known: would it get its memory? It goes at
 * once, as the record has no end of it; what it made the allocator reserve stays.
 */
static int see_oom(struct mem_replay_job *job, const struct snap_event *event, struct np_err *err)
{
	uint64_t pad = job->layout.settings.pad;
	size_t refused = job->layout.refused;
	uint32_t number;
	int rc;

	if (job->layout.settings.cap == 0 || event->size > REQUEST_MOST || event->size < pad ||
	    layout_find(&job->layout, OOM_ADDRESS) != MEM_NONE)
		return NP_OK;
	job->result->ooms++;
	rc = layout_allocate(&job->layout, OOM_ADDRESS, event->size - pad, event->pool,
			     event->stream, MEM_NONE, &number, err);
	if (rc < 0)
		return rc;
	job->result->ooms_served += job->layout.refused == refused;
	/* One that fails again reserves nothing. */
	if (job->layout.refused == refused)
		keep_peak(job);
	layout_free_requested(&job->layout, number);
	rc = layout_free_completed(&job->layout, OOM_ADDRESS, number, err);
	if (rc == NP_OK && job->layout.refused > refused) {
		job->layout.refused = refused;
		rc = layout_release_cached(&job->layout, err);
	}
	return rc;
}

static int replay_event(struct mem_replay_job *job, size_t i, struct np_err *err)
{
	const struct snap_event *event = &job->history->events[i];
	int rc = NP_OK;

	if (is_growth(event) || history_releases(event))
		return see_segment(job, i, err);
	if (event->action == SNAP_ALLOC)
		rc = see_alloc(job, event, err);
	else if (event->action == SNAP_FREE_REQUESTED || event->action == SNAP_FREE_COMPLETED)
		rc = see_free(job, event, err);
	else if (event->action == SNAP_OOM)
		rc = see_oom(job, event, err);
	if (job->layout.refused > job->result->refused) {
		job->result->refused_at = job->result->refused == 0 ? i : job->result->refused_at;
		job->result->refused = job->layout.refused;
	}
	job->layout.place = 0;
	job->layout.fresh = false;
	compare_calls(job, i);
	compare_reserved(job);
	keep_peak(job);
	return rc;
}

static size_t wrong_calls(const struct mem_replay *replay)
{
	return replay->calls - replay->calls_equal + replay->calls_extra;
}

/* `most_wrong`: of a comparison that is lost nobody wants to know by how much. */
static int replay(const struct mem_history *history, const struct mem_settings *settings,
		  bool verify, bool anew, size_t most_wrong, struct mem_replay *ret,
		  struct np_err *err)
{
	struct mem_replay_job job = {
		.history = history, .result = ret, .verify = verify, .run = NO_RUN
	};
	int rc;

	*ret = (struct mem_replay){ .settings = *settings };
	layout_init(&job.layout, settings);
	rc = begin(&job, anew, err);
	keep_peak(&job);
	job.layout.keep_calls = true;
	job.layout.refused = 0;
	for (size_t i = 0; rc == NP_OK && i < history->count && wrong_calls(ret) <= most_wrong; i++)
		rc = replay_event(&job, i, err);
	compare_calls(&job, history->count);
	compare_reserved(&job);
	ret->end_reserved = job.layout.reserved;
	ret->grown = job.layout.grown;
	layout_release(&job.layout);
	return rc;
}

/* Pages do not fit where segments were, nor where pages of another size were. */
static bool begins_anew(const struct mem_history *history, const struct mem_settings *settings)
{
	return settings->expandable != history->settings.expandable ||
	       (settings->expandable &&
		layout_page(settings, false) != layout_page(&history->settings, false));
}

int mem_replay_run(const struct mem_history *history, const struct mem_settings *settings,
		   enum mem_replay_how how, struct mem_replay *ret, struct np_err *err)
{
	return replay(history, settings, how == REPLAY_VERIFY, begins_anew(history, settings),
		      SIZE_MAX, ret, err);
}

bool mem_replay_exact(const struct mem_replay *replay)
{
	return replay->calls_equal == replay->calls && replay->calls_extra == 0 &&
	       replay->deviation == 0;
}

/* Is `a` nearer to the record? */
static bool is_nearer(const struct mem_replay *a, const struct mem_replay *b)
{
	size_t wrong_a = wrong_calls(a);
	size_t wrong_b = wrong_calls(b);

	if (wrong_a != wrong_b)
		return wrong_a < wrong_b;
	if (a->deviation != b->deviation)
		return a->deviation < b->deviation;
	return a->blocks_equal > b->blocks_equal;
}

static int try_settings(const struct mem_history *history, const struct mem_settings *settings,
			struct mem_replay *best, struct np_err *err)
{
	struct mem_replay tried;
	int rc = replay(history, settings, true, begins_anew(history, settings), wrong_calls(best),
			&tried, err);

	if (rc == NP_OK && !tried.approximate && is_nearer(&tried, best))
		*best = tried;
	return rc;
}

static uint64_t split_of(uint64_t mib)
{
	return mib > 0 ? mib * MEM_MIB : MEM_NO_SPLIT_LIMIT;
}

/* Each setting in turn, the others as in the best so far. */
static int try_each(const struct mem_history *history, struct mem_replay *best, struct np_err *err)
{
	struct mem_settings settings = best->settings;
	int rc = NP_OK;

	/* What is not cut changes most of all that follows. The allocator refuses it with pages. */
	for (size_t i = 0; rc == NP_OK && !settings.expandable && i < NP_COUNT(splits); i++) {
		settings.max_split = split_of(splits[i]);
		rc = try_settings(history, &settings, best, err);
	}
	settings = best->settings;
	for (size_t i = 0; rc == NP_OK && i < NP_COUNT(large_segments); i++) {
		settings.large_segment = large_segments[i] * MEM_MIB;
		rc = try_settings(history, &settings, best, err);
	}
	settings = best->settings;
	for (size_t i = 0; rc == NP_OK && i < NP_COUNT(divisions); i++) {
		settings.divisions = divisions[i];
		rc = try_settings(history, &settings, best, err);
	}
	settings = best->settings;
	/* GPUs pad nothing, and align nothing; nor do the newest NPUs pad. */
	for (size_t i = 0; rc == NP_OK && i < NP_COUNT(pads); i++) {
		settings.pad = pads[i][0];
		settings.align = pads[i][1];
		rc = try_settings(history, &settings, best, err);
	}
	return rc;
}

int mem_replay_find(const struct mem_history *history, struct mem_replay *ret, struct np_err *err)
{
	int rc = mem_replay_run(history, &history->settings, REPLAY_VERIFY, ret, err);
	struct mem_replay usual = *ret;
	bool better = true;

	while (rc == NP_OK && better && !mem_replay_exact(ret)) {
		struct mem_replay before = *ret;

		rc = try_each(history, ret, err);
		better = is_nearer(ret, &before);
	}
	/* What reproduces hardly anything has not been found. */
	if (rc == NP_OK && 2 * wrong_calls(ret) > ret->calls)
		*ret = usual;
	return rc;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

int mem_replay_whatif(const struct mem_history *history, const struct mem_replay *found,
		      const struct mem_settings *settings, int64_t device, uint64_t now,
		      struct mem_whatif *ret, struct np_err *err)
{
	struct mem_settings capped = *settings;
	struct mem_replay anew;
	int rc;

	*ret = (struct mem_whatif){ .replay.settings = *settings, .gain = NP_UNKNOWN };
	if (settings->fraction > 0 && device == NP_UNKNOWN) {
		ret->withheld = NP_MSG("what the device has is not known; give --device-memory");
		return NP_OK;
	}
	if (device != NP_UNKNOWN)
		capped.cap = (uint64_t)((double)device *
					(settings->fraction > 0 ? settings->fraction : 1));
	rc = mem_replay_run(history, &capped, REPLAY_FORETELL, &ret->replay, err);
	ret->error = found->deviation;
	/* What a beginning that is made anew does to a peak that is known. */
	if (rc == NP_OK && ret->replay.approximate && !found->approximate) {
		rc = replay(history, &found->settings, false, true, SIZE_MAX, &anew, err);
		ret->error += distance(anew.peak_reserved, history->reserved.bytes);
	}
	if (rc < 0)
		return rc;
	ret->gain = (int64_t)now - (int64_t)ret->replay.peak_reserved;
	if (ret->gain != 0 && (uint64_t)llabs(ret->gain) <= ret->error)
		ret->gain = NP_UNKNOWN;
	return NP_OK;
}

static int refuse(const char *key, const char *value, const char *why, struct np_err *err)
{
	return np_fail(err, NP_E_USAGE, "--with %s:%s: %s", key, value, why);
}

static int set_flag(struct mem_settings *settings, const char *key, const char *value,
		    struct np_err *err)
{
	bool yes = strcmp(value, "True") == 0 || strcmp(value, "true") == 0;

	if (!yes && strcmp(value, "False") != 0 && strcmp(value, "false") != 0)
		return refuse(key, value, "neither True nor False", err);
	settings->expandable = yes;
	return NP_OK;
}

static int set_page(struct mem_settings *settings, const char *key, const char *value,
		    struct np_err *err)
{
	if (strcmp(value, "1g") != 0)
		return refuse(key, value, "only 1g", err);
	settings->page_1g = true;
	return NP_OK;
}

/* A part of 1. */
static int set_part(struct mem_settings *settings, const char *key, const char *value,
		    struct np_err *err)
{
	bool collects = strcmp(key, "garbage_collection_threshold") == 0;
	char *end;
	double part = strtod(value, &end);

	if (end == value || *end || !(part > 0) || !(collects ? part < 1 : part <= 1))
		return refuse(key, value, "a number above 0 and below 1", err);
	*(collects ? &settings->collect_from : &settings->fraction) = part;
	return NP_OK;
}

/* Whole numbers: in which unit they are, which can be, and where they go. */
struct number_setting {
	const char *key;
	const char *why;
	int64_t least;
	int64_t most;
	int64_t multiple;
	uint64_t unit;
	size_t offset;
};

static int set_number(struct mem_settings *settings, const char *key, const char *value,
		      struct np_err *err)
{
	static const struct number_setting numbers[] = {
		{ "max_split_size_mb", "at least 20", 20, 1 << 20, 1, MEM_MIB,
		  offsetof(struct mem_settings, max_split) },
		{ "max_non_split_rounding_mb", "a number that can be", 0, 1 << 20, 1, MEM_MIB,
		  offsetof(struct mem_settings, non_split_rounding) },
		{ "large_segment_size_mb", "an even number, at least 20", 20, 1 << 20, 2, MEM_MIB,
		  offsetof(struct mem_settings, large_segment) },
		{ "segment_size_mb", "an even number from 20 to 512", 20, 512, 2, MEM_MIB,
		  offsetof(struct mem_settings, page) },
		{ "roundup_power2_divisions", "a power of two up to 64", 0, 64, 1, 1,
		  offsetof(struct mem_settings, divisions) },
		{ "base_addr_aligned_kb", "at most 16", 0, 16, 1, 1024,
		  offsetof(struct mem_settings, align) },
	};
	int64_t number;

	if (!np_text_to_int(value, strlen(value), &number) || number < 0 || number > 1 << 20)
		return refuse(key, value, "not a number that can be", err);
	for (size_t i = 0; i < NP_COUNT(numbers); i++) {
		const struct number_setting *one = &numbers[i];

		if (strcmp(one->key, key) != 0)
			continue;
		if (number < one->least || number > one->most || number % one->multiple != 0 ||
		    (one->unit == 1 && (number & (number - 1)) != 0))
			return refuse(key, value, one->why, err);
		*(uint64_t *)((char *)settings + one->offset) = (uint64_t)number * one->unit;
	}
	return NP_OK;
}

static int set(struct mem_settings *settings, const char *key, const char *value,
	       struct np_err *err)
{
	static const char *const keys[] = {
		"expandable_segments",         "page_size",         "garbage_collection_threshold",
		"per_process_memory_fraction", "max_split_size_mb", "max_non_split_rounding_mb",
		"large_segment_size_mb",       "segment_size_mb",   "roundup_power2_divisions",
		"base_addr_aligned_kb",
	};
	const char *close = np_text_closest(key, keys, NP_COUNT(keys));

	if (!close || strcmp(close, key) != 0)
		return np_fail(err, NP_E_USAGE, "--with %s: no setting that can be replayed%s%s%s",
			       key, close ? "; did you mean " : "", close ? close : "",
			       close ? "?" : "");
	if (strcmp(key, keys[0]) == 0)
		return set_flag(settings, key, value, err);
	if (strcmp(key, keys[1]) == 0)
		return set_page(settings, key, value, err);
	if (strcmp(key, keys[2]) == 0 || strcmp(key, keys[3]) == 0)
		return set_part(settings, key, value, err);
	return set_number(settings, key, value, err);
}

/* What the allocator does not take together. */
static int check_together(const struct mem_settings *settings, bool split, const char *text,
			  struct np_err *err)
{
	if (settings->expandable && (split || settings->collect_from > 0))
		return np_fail(err, NP_E_USAGE,
			       "--with %s: the allocator refuses expandable_segments together with "
			       "%s",
			       text, split ? "max_split_size_mb" : "garbage_collection_threshold");
	if (settings->collect_from > 0 && !(settings->fraction > 0 && settings->fraction < 1))
		return np_fail(err, NP_E_USAGE,
			       "--with %s: garbage is only collected where the process may have a "
			       "part of the device; add per_process_memory_fraction:0.95",
			       text);
	return NP_OK;
}

int mem_replay_parse(const char *text, struct mem_settings *settings, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf copy = NP_BUF_INIT;
	bool split = strstr(text, "max_split_size_mb:") != NULL;
	char *rest = NULL;
	int rc = NP_OK;

	np_buf_add(&copy, text);
	if (np_buf_check(&copy, err) < 0)
		return NP_E_NOMEM;
	if (!*text)
		return np_fail(err, NP_E_USAGE,
			       "--with takes settings such as "
			       "expandable_segments:True");
	for (char *part = strtok_r(copy.text, ",", &rest); rc == NP_OK && part;
	     part = strtok_r(NULL, ",", &rest)) {
		char *colon = strchr(part, ':');

		if (!colon)
			return np_fail(err, NP_E_USAGE,
				       "--with %s: a setting is key:value, as in "
				       "expandable_segments:True",
				       part);
		*colon = '\0';
		rc = set(settings, part, colon + 1, err);
	}
	/* Of the recording only what goes with what is named stays. */
	if ((split || settings->collect_from > 0) && !strstr(text, "expandable_segments:"))
		settings->expandable = false;
	if (settings->expandable && !split)
		settings->max_split = MEM_NO_SPLIT_LIMIT;
	return rc < 0 ? rc : check_together(settings, split, text, err);
}

static void name_one(struct np_buf *buf, size_t begin, const char *key, uint64_t value)
{
	np_buf_printf(buf, "%s%s:%llu", buf->length > begin ? "," : "", key,
		      (unsigned long long)value);
}

void mem_replay_name(const struct mem_settings *settings, struct np_buf *buf)
{
	size_t begin = buf->length;

	if (settings->expandable)
		np_buf_add(buf, "expandable_segments:True");
	if (settings->max_split != MEM_NO_SPLIT_LIMIT)
		name_one(buf, begin, "max_split_size_mb", settings->max_split / MEM_MIB);
	if (settings->non_split_rounding != MEM_NON_SPLIT_ROOM)
		name_one(buf, begin, "max_non_split_rounding_mb",
			 settings->non_split_rounding / MEM_MIB);
	if (settings->large_segment != MEM_LARGE_SEGMENT)
		name_one(buf, begin, "large_segment_size_mb", settings->large_segment / MEM_MIB);
	if (settings->page > 0 && settings->page != settings->large_segment)
		name_one(buf, begin, "segment_size_mb", settings->page / MEM_MIB);
	if (settings->page_1g)
		np_buf_printf(buf, "%spage_size:1g", buf->length > begin ? "," : "");
	if (settings->collect_from > 0)
		np_buf_printf(buf, "%sgarbage_collection_threshold:%g",
			      buf->length > begin ? "," : "", settings->collect_from);
	if (settings->fraction > 0)
		np_buf_printf(buf, "%sper_process_memory_fraction:%g",
			      buf->length > begin ? "," : "", settings->fraction);
	if (settings->divisions > 0)
		name_one(buf, begin, "roundup_power2_divisions", settings->divisions);
	if (settings->align != (settings->pad > 0 ? MEM_NPU_ALIGN : 0))
		name_one(buf, begin, "base_addr_aligned_kb", settings->align / 1024);
	if (buf->length == begin)
		np_buf_add(buf, "default");
}

size_t mem_replay_sweep(const struct mem_settings *recorded, bool gpu, int64_t device,
			struct mem_settings ret[MEM_SWEEP_MOST])
{
	static const uint64_t segments[] = { 20, 64, 128 };
	static const uint64_t cuts[] = { 0, 20, 64, 128, 256 };
	size_t count = 0;
	struct mem_settings base = *recorded;

	base.max_split = MEM_NO_SPLIT_LIMIT;
	base.divisions = 0;
	base.page = 0;
	base.page_1g = false;
	for (size_t i = 0; i < (gpu ? 1 : NP_COUNT(segments)); i++) {
		base.large_segment = segments[i] * MEM_MIB;
		base.expandable = true;
		ret[count++] = base;
		base.expandable = false;
		if (i > 0)
			ret[count++] = base;
	}
	base.large_segment = MEM_LARGE_SEGMENT;
	for (size_t i = 0; i < NP_COUNT(cuts); i++) {
		base.max_split = split_of(cuts[i]);
		ret[count++] = base;
	}
	base.max_split = MEM_NO_SPLIT_LIMIT;
	/* Only where it is known when the process has too much. */
	if (device != NP_UNKNOWN) {
		base.collect_from = SWEEP_COLLECT;
		base.fraction = SWEEP_FRACTION;
		ret[count++] = base;
	}
	base.collect_from = base.fraction = 0;
	base.divisions = 4;
	ret[count++] = base;
	return count;
}
