/* SPDX-License-Identifier: Apache-2.0 */
/* One device of a snapshot: its beginning, its curves, the life of its blocks. */
#include "history.h"

#include "npuprof/map.h"
#include "npuprof/text.h"

#define NPU_PAD UINT64_C(32)

static bool belongs(const struct mem_history *history, const struct snap_segment *segment)
{
	return segment->device == (int64_t)history->device && !segment->workspace;
}

static bool has_segments(const struct mem_history *history)
{
	for (size_t i = 0; i < history->snapshot->segments.count; i++) {
		if (belongs(history, &history->snapshot->segments.item[i]))
			return true;
	}
	return false;
}

/* Did the blocks that are known get more than their size? Then this is an NPU's allocator. */
static bool is_padded(const struct mem_history *history)
{
	const struct snapshot *snapshot = history->snapshot;

	for (size_t i = 0; i < snapshot->segments.count; i++) {
		const struct snap_segment *segment = &snapshot->segments.item[i];

		for (size_t j = 0; belongs(history, segment) && j < segment->count; j++) {
			const struct snap_block *block = &snapshot->blocks.item[segment->first + j];

			if (block->state == SNAP_ALLOCATED && block->requested > 0 &&
			    block->requested % MEM_GRANULE == 0 && block->size == block->requested)
				return false;
		}
	}
	return true;
}

/* Of how many blocks that are known these settings give the size, but for what was not worth a cut?
 */
static size_t count_sizes(const struct mem_history *history, const struct mem_settings *settings)
{
	const struct snapshot *snapshot = history->snapshot;
	size_t count = 0;

	for (size_t i = 0; i < snapshot->segments.count; i++) {
		const struct snap_segment *segment = &snapshot->segments.item[i];
		const uint64_t most =
			segment->small || segment->expandable ? MEM_GRANULE - 1 : MEM_SMALL_MOST;

		for (size_t j = 0; belongs(history, segment) && j < segment->count; j++) {
			const struct snap_block *block = &snapshot->blocks.item[segment->first + j];
			const uint64_t size = layout_round(settings, block->requested);

			count += block->state == SNAP_ALLOCATED && block->requested > 0 &&
				 block->size >= size && block->size - size <= most;
		}
	}
	return count;
}

/* Into how many parts powers of two are divided shows in the blocks, if it shows in more of them.
 */
static void find_divisions(struct mem_history *history)
{
	static const uint64_t divisions[] = { 2, 4, 8, 16 };
	struct mem_settings tried = history->settings;
	size_t most = count_sizes(history, &tried);

	for (size_t i = 0; i < NP_COUNT(divisions); i++) {
		size_t count;

		tried.divisions = divisions[i];
		count = count_sizes(history, &tried);
		if (count <= most)
			continue;
		most = count;
		history->settings.divisions = divisions[i];
	}
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b > 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Allocations of expandable segments map whole pages: what all of them are multiples of. */
static void find_page(struct mem_history *history)
{
	uint64_t page = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct snap_event *event = &history->events[i];

		if (event->action == SNAP_SEGMENT_MAP && event->size > MEM_SMALL_SEGMENT)
			page = common_divisor(event->size, page);
	}
	for (size_t i = 0; i < history->snapshot->segments.count; i++) {
		const struct snap_segment *segment = &history->snapshot->segments.item[i];

		if (belongs(history, segment) && segment->expandable && !segment->small)
			page = common_divisor(segment->size, page);
	}
	/* Of few large ones the divisor may be many pages. */
	if (page >= MEM_LARGE_SEGMENT && page <= MEM_LARGE_PAGE_MOST &&
	    page % MEM_LARGE_SEGMENT != 0)
		history->settings.large_segment = page;
}

/* A segment that was made for a request of less has the size that all such have. */
static void find_large_segment(struct mem_history *history)
{
	for (size_t i = 0; i + 1 < history->count; i++) {
		const struct snap_event *event = &history->events[i];
		const uint64_t size = layout_round(&history->settings, event[1].size);

		if (event->action != SNAP_SEGMENT_ALLOC || event[1].action != SNAP_ALLOC ||
		    size <= MEM_SMALL_MOST || size >= MEM_LARGE_FROM ||
		    event->size < MEM_LARGE_SEGMENT || event->size > MEM_LARGE_PAGE_MOST)
			continue;
		history->settings.large_segment = event->size;
		return;
	}
}

static void find_settings(struct mem_history *history)
{
	const struct snapshot *snapshot = history->snapshot;
	bool gpu = snapshot_is_of_gpu(snapshot) || !is_padded(history);

	history->settings = (struct mem_settings){ .pad = gpu ? 0 : NPU_PAD,
						   .align = gpu ? 0 : MEM_NPU_ALIGN,
						   .max_split = MEM_NO_SPLIT_LIMIT,
						   .non_split_rounding = MEM_NON_SPLIT_ROOM,
						   .large_segment = MEM_LARGE_SEGMENT };
	history->settings.expandable = history->actions[SNAP_SEGMENT_MAP] > 0;
	for (size_t i = 0; i < snapshot->segments.count; i++) {
		if (belongs(history, &snapshot->segments.item[i]) &&
		    snapshot->segments.item[i].expandable)
			history->settings.expandable = true;
	}
	if (snapshot->max_split != NP_UNKNOWN)
		history->settings.max_split = (uint64_t)snapshot->max_split;
	if (snapshot->divisions == NP_UNKNOWN)
		find_divisions(history);
	else if (snapshot->divisions > 1)
		history->settings.divisions = (uint64_t)snapshot->divisions;
	if (history->settings.expandable)
		find_page(history);
	else
		find_large_segment(history);
}

/* More inconsistent events than this part: nothing can be told from them. */
#define TRUST_PART 100

bool history_is_trusted(const struct mem_history *history)
{
	return history->inconsistent * TRUST_PART <= history->count;
}

bool history_releases(const struct snap_event *event)
{
	return event->action == SNAP_SEGMENT_FREE || event->action == SNAP_SEGMENT_UNMAP;
}

static void count_actions(struct mem_history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		history->actions[history->events[i].action]++;
		history->release_runs += history_releases(&history->events[i]) &&
					 (i == 0 || !history_releases(&history->events[i - 1]));
	}
}

/*
 * The pool of a segment of which only an event is known. A small request maps one page; several
 * may be given back at once.
 */
static uint32_t event_key(const struct mem_history *history, const struct snap_event *event)
{
	bool small = event->size <= MEM_SMALL_SEGMENT;

	if (event->action == SNAP_SEGMENT_UNMAP)
		small = event->size % layout_page(&history->settings, false) != 0;
	return layout_key(event->pool, small, event->stream);
}

static struct mem_range *add_range(struct mem_history *history, uint64_t address, uint64_t size,
				   uint32_t key, bool expandable, struct np_err *err)
{
	struct mem_range *range = np_vec_add(&history->start_ranges, err);

	if (range)
		*range = (struct mem_range){ address, size, key, expandable };
	return range;
}

static void drop_range(struct mem_history *history, size_t i)
{
	history->start_ranges.item[i] = history->start_ranges.item[--history->start_ranges.count];
}

/* Undo segment_alloc or segment_map: the bytes were not there before. */
static int remove_range(struct mem_history *history, const struct snap_event *event,
			struct np_err *err)
{
	uint64_t end = event->address + event->size;

	for (size_t i = 0; i < history->start_ranges.count; i++) {
		struct mem_range range = history->start_ranges.item[i];
		uint64_t range_end = range.address + range.size;

		if (range.address > event->address || range_end < end)
			continue;
		drop_range(history, i);
		if (range.address < event->address &&
		    !add_range(history, range.address, event->address - range.address, range.key,
			       range.expandable, err))
			return NP_E_NOMEM;
		if (range_end > end &&
		    !add_range(history, end, range_end - end, range.key, range.expandable, err))
			return NP_E_NOMEM;
		return NP_OK;
	}
	return NP_OK; /* playing it will find that it cannot be */
}

/* Undo segment_free or segment_unmap. Ranges that touch are one, if they are mapped. */
static int restore_range(struct mem_history *history, const struct snap_event *event,
			 struct np_err *err)
{
	uint64_t address = event->address;
	uint64_t size = event->size;
	uint32_t key = event_key(history, event);
	bool mapped = event->action == SNAP_SEGMENT_UNMAP;

	for (size_t i = 0; mapped && i < history->start_ranges.count;) {
		struct mem_range range = history->start_ranges.item[i];

		if (!range.expandable ||
		    (range.address + range.size != address && address + size != range.address)) {
			i++;
			continue;
		}
		address = range.address < address ? range.address : address;
		size += range.size;
		key = range.key;
		drop_range(history, i);
		i = 0;
	}
	return add_range(history, address, size, key, mapped, err) ? NP_OK : NP_E_NOMEM;
}

static int find_start_ranges(struct mem_history *history, struct np_err *err)
{
	const struct snapshot *snapshot = history->snapshot;
	int rc = NP_OK;

	for (size_t i = 0; i < snapshot->segments.count; i++) {
		const struct snap_segment *segment = &snapshot->segments.item[i];

		if (belongs(history, segment) &&
		    !add_range(history, segment->address, segment->size,
			       layout_key(segment->pool, segment->small, segment->stream),
			       segment->expandable, err))
			return NP_E_NOMEM;
	}
	for (size_t i = history->count; rc == NP_OK && i > 0; i--) {
		const struct snap_event *event = &history->events[i - 1];

		if (event->action == SNAP_SEGMENT_ALLOC || event->action == SNAP_SEGMENT_MAP)
			rc = remove_range(history, event, err);
		else if (history_releases(event))
			rc = restore_range(history, event, err);
	}
	return rc;
}

/* What is known of an address while the record is walked. */
enum mem_seen {
	SEEN_BORN,
	SEEN_FREED, /* free_requested */
	SEEN_GONE,
};

struct walk_state {
	struct np_numbers numbers;
	NP_VEC(uint8_t) seen;
};

static int see(struct walk_state *state, uint64_t address, enum mem_seen seen, struct np_err *err)
{
	uint32_t number = np_numbers_get(&state->numbers, address);

	if (number == NP_MAP_NONE) {
		number = (uint32_t)state->seen.count;
		if (!np_vec_add(&state->seen, err) ||
		    np_numbers_add(&state->numbers, address, number, err) < 0)
			return NP_E_NOMEM;
	}
	state->seen.item[number] = (uint8_t)seen;
	return NP_OK;
}

static bool was_seen(const struct walk_state *state, uint64_t address, enum mem_seen *ret)
{
	uint32_t number = np_numbers_get(&state->numbers, address);

	if (number != NP_MAP_NONE)
		*ret = (enum mem_seen)state->seen.item[number];
	return number != NP_MAP_NONE;
}

static int add_start_block(struct mem_history *history, const struct mem_start_block *what,
			   struct np_err *err)
{
	struct mem_start_block *block = np_vec_add(&history->start_blocks, err);

	if (!block)
		return NP_E_NOMEM;
	*block = *what;
	return NP_OK;
}

/* A block that is freed without having been allocated was there before. */
static int walk_event(struct mem_history *history, struct walk_state *state,
		      const struct snap_event *event, struct np_err *err)
{
	struct mem_start_block block = { .address = event->address, .requested = event->size };
	enum mem_seen seen = SEEN_GONE;
	bool known = was_seen(state, event->address, &seen);
	int rc = NP_OK;

	switch (event->action) {
	case SNAP_ALLOC:
		return see(state, event->address, SEEN_BORN, err);
	case SNAP_FREE_REQUESTED:
		if (!known)
			rc = add_start_block(history, &block, err);
		return rc < 0 ? rc : see(state, event->address, SEEN_FREED, err);
	case SNAP_FREE_COMPLETED:
		block.pending = true;
		if (!known)
			rc = add_start_block(history, &block, err);
		return rc < 0 ? rc : see(state, event->address, SEEN_GONE, err);
	default:
		return NP_OK;
	}
}

static int add_survivors(struct mem_history *history, const struct walk_state *state,
			 struct np_err *err)
{
	const struct snapshot *snapshot = history->snapshot;

	for (size_t i = 0; i < snapshot->segments.count; i++) {
		const struct snap_segment *segment = &snapshot->segments.item[i];

		for (size_t j = 0; belongs(history, segment) && j < segment->count; j++) {
			const struct snap_block *block = &snapshot->blocks.item[segment->first + j];
			const struct mem_start_block start = { block->address, block->size,
							       block->requested, block->stack,
							       block->state == SNAP_PENDING };
			enum mem_seen seen;

			if (block->state == SNAP_INACTIVE || was_seen(state, block->address, &seen))
				continue;
			if (add_start_block(history, &start, err) < 0)
				return NP_E_NOMEM;
		}
	}
	return NP_OK;
}

static int order_blocks(const void *a, const void *b)
{
	const struct mem_start_block *block_a = a;
	const struct mem_start_block *block_b = b;

	return (block_a->address > block_b->address) - (block_a->address < block_b->address);
}

/* Of a block that was freed only the request is known: what the allocator would have given. */
static void find_start_sizes(struct mem_history *history)
{
	for (size_t i = 0; i < history->start_blocks.count; i++) {
		struct mem_start_block *block = &history->start_blocks.item[i];
		uint64_t limit = block->address;
		uint64_t slack;
		bool fixed = true;

		for (size_t j = 0; j < history->start_ranges.count; j++) {
			const struct mem_range *range = &history->start_ranges.item[j];

			if (range->address <= block->address &&
			    block->address < range->address + range->size) {
				limit = range->address + range->size;
				fixed = layout_key_small(range->key) || range->expandable;
			}
		}
		if (i + 1 < history->start_blocks.count && block[1].address < limit)
			limit = block[1].address;
		if (block->size > 0 || limit == block->address)
			continue;
		block->size = layout_round(&history->settings, block->requested);
		/* Beyond the limit of splitting a block is handed out as it is. */
		slack = block->size >= history->settings.max_split
				? history->settings.non_split_rounding
				: MEM_SMALL_MOST;
		if (block->size > limit - block->address ||
		    (!fixed && limit - block->address - block->size <= slack))
			block->size = limit - block->address;
		else
			history->start_unsure += !fixed;
	}
}

static int find_start_blocks(struct mem_history *history, struct np_err *err)
{
	struct walk_state state = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < history->count; i++)
		rc = walk_event(history, &state, &history->events[i], err);
	if (rc == NP_OK)
		rc = add_survivors(history, &state, err);
	np_numbers_release(&state.numbers);
	np_vec_release(&state.seen);
	if (rc == NP_OK && history->start_blocks.count > 0)
		qsort(history->start_blocks.item, history->start_blocks.count,
		      sizeof(history->start_blocks.item[0]), order_blocks);
	if (rc == NP_OK)
		find_start_sizes(history);
	return rc;
}

int history_lay_start(const struct mem_history *history, struct mem_layout *layout, size_t *ret_bad,
		      struct np_err *err)
{
	bool fits;

	for (size_t i = 0; i < history->start_ranges.count; i++) {
		const struct mem_range *range = &history->start_ranges.item[i];

		if (layout_add_segment(layout, range->address, range->size, range->key, false,
				       &fits, err) < 0)
			return NP_E_NOMEM;
		*ret_bad += !fits;
	}
	for (size_t i = 0; i < history->start_blocks.count; i++) {
		const struct mem_start_block *block = &history->start_blocks.item[i];
		uint32_t number;

		if (layout_follow(layout, block->address, block->requested, block->size,
				  (uint32_t)i, &fits, &number, err) < 0)
			return NP_E_NOMEM;
		*ret_bad += !fits;
		if (fits && block->pending)
			layout_free_requested(layout, number);
	}
	return NP_OK;
}

/* What happens to lives; NULL: nobody wants to know. */
static struct mem_life *life_of(struct mem_history *keep, const struct mem_layout *layout,
				uint32_t block)
{
	uint32_t life = layout->blocks.item[block].life;

	return keep && life < keep->lives.count ? &keep->lives.item[life] : NULL;
}

static int play_alloc(const struct mem_history *history, struct mem_history *keep,
		      struct mem_layout *layout, size_t i, uint32_t life, bool *ret_fits,
		      struct np_err *err)
{
	const struct snap_event *event = &history->events[i];
	struct mem_life *kept = NULL;
	uint32_t block;

	if (keep) {
		kept = np_vec_add(&keep->lives, err);
		if (!kept)
			return NP_E_NOMEM;
		*kept = (struct mem_life){ .requested = event->size,
					   .birth = (uint32_t)i,
					   .freed = MEM_NONE,
					   .done = MEM_NONE,
					   .stack = event->stack };
	}
	if (layout_follow(layout, event->address, event->size, 0, life, ret_fits, &block, err) < 0)
		return NP_E_NOMEM;
	if (kept && *ret_fits)
		kept->size = layout->blocks.item[block].size;
	return NP_OK;
}

static int play_free(struct mem_history *keep, struct mem_layout *layout,
		     const struct snap_event *event, size_t i, bool *ret_fits, struct np_err *err)
{
	uint32_t block = layout_find(layout, event->address);
	struct mem_life *life;

	*ret_fits = block != MEM_NONE && (event->action == SNAP_FREE_COMPLETED ||
					  layout->blocks.item[block].state == MEM_ALLOCATED);
	if (!*ret_fits)
		return NP_OK;
	life = life_of(keep, layout, block);
	if (layout->blocks.item[block].state == MEM_ALLOCATED) {
		layout_free_requested(layout, block);
		if (life)
			life->freed = (uint32_t)i;
	}
	if (event->action == SNAP_FREE_REQUESTED)
		return NP_OK;
	if (life)
		life->done = (uint32_t)i;
	return layout_free_completed(layout, event->address, block, err);
}

static void reach(struct mem_peak *peak, uint64_t bytes, size_t at)
{
	if (bytes > peak->bytes)
		*peak = (struct mem_peak){ bytes, at };
}

static void keep_peaks(struct mem_history *keep, const struct mem_layout *layout, size_t at)
{
	reach(&keep->allocated, layout->allocated, at);
	reach(&keep->active, layout->active, at);
	reach(&keep->reserved, layout->reserved, at);
	reach(&keep->requested, layout->requested, at);
	reach(&keep->gap, layout->reserved - layout->allocated, at);
}

/* The same for the stretch of the curve, and for the step, that the event is in. */
static int keep_curves(struct mem_history *keep, const struct mem_layout *layout, size_t at,
		       struct np_err *err)
{
	size_t wanted = at * MEM_HISTORY_POINTS / keep->count;
	size_t step = history_step_at(keep, at);
	struct mem_history_point *point = NULL;

	if (keep->count <= MEM_HISTORY_POINTS)
		wanted = at;
	if (keep->curve.count > 0 && keep->curve_stretch == wanted)
		point = &keep->curve.item[keep->curve.count - 1];
	else
		point = np_vec_add(&keep->curve, err);
	if (!point)
		return NP_E_NOMEM;
	keep->curve_stretch = wanted;
	point->last = at;
	point->allocated =
		layout->allocated > point->allocated ? layout->allocated : point->allocated;
	point->reserved = layout->reserved > point->reserved ? layout->reserved : point->reserved;
	if (step == SIZE_MAX)
		return NP_OK;
	reach(&keep->steps.item[step].most, layout->allocated, at);
	if (layout->allocated < keep->steps.item[step].least)
		keep->steps.item[step].least = layout->allocated;
	return NP_OK;
}

/* The record up to event `until`, from the beginning that is laid; `keep` gets peaks and lives. */
static int play(const struct mem_history *history, struct mem_history *keep,
		struct mem_layout *layout, size_t until, struct np_err *err)
{
	uint32_t life = (uint32_t)history->start_blocks.count;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < until; i++) {
		const struct snap_event *event = &history->events[i];
		bool fits = true;

		switch (event->action) {
		case SNAP_ALLOC:
			rc = play_alloc(history, keep, layout, i, life++, &fits, err);
			break;
		case SNAP_FREE_REQUESTED:
		case SNAP_FREE_COMPLETED:
			rc = play_free(keep, layout, event, i, &fits, err);
			break;
		case SNAP_SEGMENT_ALLOC:
		case SNAP_SEGMENT_MAP:
			rc = layout_add_segment(layout, event->address, event->size,
						event_key(history, event),
						event->action == SNAP_SEGMENT_MAP, &fits, err);
			break;
		case SNAP_SEGMENT_FREE:
		case SNAP_SEGMENT_UNMAP:
			rc = layout_remove_segment(layout, event->address, event->size, &fits, err);
			break;
		default:
			break;
		}
		if (keep) {
			keep->inconsistent += !fits;
			keep_peaks(keep, layout, i);
			if (rc == NP_OK)
				rc = keep_curves(keep, layout, i, err);
		}
	}
	return rc;
}

static int keep_start(struct mem_history *history, const struct mem_layout *layout,
		      struct np_err *err)
{
	history->start_reserved = layout->reserved;
	history->start_allocated = layout->allocated;
	history->start_requested = layout->requested;
	keep_peaks(history, layout, 0);
	for (size_t i = 0; i < history->start_blocks.count; i++) {
		const struct mem_start_block *block = &history->start_blocks.item[i];
		struct mem_life *life = np_vec_add(&history->lives, err);

		if (!life)
			return NP_E_NOMEM;
		*life = (struct mem_life){ .size = block->size,
					   .requested = block->requested,
					   .birth = MEM_NONE,
					   .freed = block->pending ? 0 : MEM_NONE,
					   .done = MEM_NONE,
					   .stack = block->stack };
	}
	return NP_OK;
}

size_t history_step_at(const struct mem_history *history, size_t event)
{
	size_t low = 0;
	size_t count = history->steps.count;

	while (count > 0) {
		size_t half = count / 2;

		if (history->steps.item[low + half].first <= event) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low > 0 ? low - 1 : SIZE_MAX;
}

static int add_step(struct mem_history *history, const char *id, size_t first, struct np_err *err)
{
	struct mem_history_step *step = np_vec_add(&history->steps, err);

	if (!step)
		return NP_E_NOMEM;
	*step = (struct mem_history_step){ .first = first, .least = UINT64_MAX };
	(void)snprintf(step->id, sizeof(step->id), "%s", id);
	return NP_OK;
}

/* What the profiler of PyTorch calls a step. */
static const char step_mark[] = "ProfilerStep#";

static int find_marked_steps(struct mem_history *history, struct np_err *err)
{
	const struct snapshot *snapshot = history->snapshot;
	const int64_t *times;
	int64_t latest = INT64_MIN; /* of the events that were passed */
	int64_t last = INT64_MIN;   /* of all */
	size_t first = 0;
	int rc = NP_OK;

	if (snapshot->times.count == 0 || history->count == 0)
		return NP_OK;
	times = &snapshot->times.item[history->events - snapshot->events.item];
	for (size_t i = 0; i < history->count; i++)
		last = times[i] > last ? times[i] : last;
	for (size_t i = 0; rc == NP_OK && i < snapshot->annotations.count; i++) {
		const struct snap_annotation *mark = &snapshot->annotations.item[i];
		const char *name = np_strtab_text(snapshot->texts, mark->name);

		if (!mark->start || !np_text_begins(name, step_mark) ||
		    (mark->device >= 0 && mark->device != (int64_t)history->device))
			continue;
		/* One that begins no later than the one before, or in which nothing happened, is
		 * none. */
		if (mark->time <= latest || mark->time > last)
			continue;
		while (times[first] < mark->time)
			first++;
		rc = add_step(history, name + strlen(step_mark), first, err);
		latest = times[first++];
	}
	return rc;
}

/* "train.py:11", "train.py:11:step" or "step"? */
static bool is_frame(const struct snapshot *snapshot, const struct snap_frame *frame,
		     const char *wanted)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const char *name = np_strtab_text(snapshot->texts, frame->name);

	if (strcmp(name, wanted) == 0)
		return true;
	np_buf_printf(&text, "%s:%lld",
		      np_text_last_part(np_strtab_text(snapshot->texts, frame->file)),
		      (long long)frame->line);
	if (strcmp(text.text, wanted) == 0)
		return true;
	np_buf_printf(&text, ":%s", name);
	return strcmp(text.text, wanted) == 0;
}

static int find_framed_steps(struct mem_history *history, const char *wanted, struct np_err *err)
{
	const struct snapshot *snapshot = history->snapshot;
	bool *has = calloc(snapshot->stacks.count + 1, sizeof(*has));
	bool inside = false;
	int rc = has ? NP_OK : np_fail_nomem(err, "stacks");

	for (size_t i = 0; rc == NP_OK && i < snapshot->stacks.count; i++) {
		const struct snap_stack *stack = &snapshot->stacks.item[i];

		for (size_t j = 0; !has[i] && j < stack->count; j++)
			has[i] = is_frame(
				snapshot,
				&snapshot->frames
					 .item[snapshot->stack_frames.item[stack->first + j]],
				wanted);
	}
	for (size_t i = 0; rc == NP_OK && i < history->count; i++) {
		const struct snap_event *event = &history->events[i];
		char id[24];

		/* What has no stack may be of the backward pass of the same step. */
		if (event->action != SNAP_ALLOC || event->stack == 0)
			continue;
		(void)snprintf(id, sizeof(id), "%zu", history->steps.count);
		if (has[event->stack] && !inside)
			rc = add_step(history, id, i, err);
		inside = has[event->stack];
	}
	free(has);
	return rc;
}

/* The file has the segments, and the sizes of blocks that are in use, at its end. */
static void check_end(struct mem_history *history, const struct mem_layout *layout)
{
	const struct snapshot *snapshot = history->snapshot;
	uint64_t reserved = 0;

	for (size_t i = 0; i < snapshot->segments.count; i++) {
		const struct snap_segment *segment = &snapshot->segments.item[i];

		reserved += belongs(history, segment) ? segment->size : 0;
		for (size_t j = 0; belongs(history, segment) && j < segment->count; j++) {
			const struct snap_block *block = &snapshot->blocks.item[segment->first + j];
			uint32_t number;

			if (block->state == SNAP_INACTIVE)
				continue;
			history->end_blocks++;
			number = layout_find(layout, block->address);
			history->wrong_sizes += number == MEM_NONE ||
						layout->blocks.item[number].size != block->size;
		}
	}
	history->inconsistent += reserved != layout->reserved;
}

int history_new(const struct snapshot *snapshot, size_t device, const struct mem_settings *settings,
		const char *step_frame, struct mem_history **ret, struct np_err *err)
{
	NP_CLEANUP(history_freep) struct mem_history *history = calloc(1, sizeof(*history));
	struct mem_layout layout;
	int rc;

	if (!history)
		return np_fail_nomem(err, "a history of memory");
	history->snapshot = snapshot;
	history->device = device;
	if (device < snapshot->devices.count && snapshot->devices.item[device].count > 0) {
		history->events = &snapshot->events.item[snapshot->devices.item[device].first];
		history->count = snapshot->devices.item[device].count;
	}
	/* Who records the state alone keeps the last event. */
	if (history->count == 1 && has_segments(history))
		history->count = 0;
	count_actions(history);
	if (settings)
		history->settings = *settings;
	else
		find_settings(history);
	layout_init(&layout, &history->settings);
	rc = step_frame ? find_framed_steps(history, step_frame, err)
			: find_marked_steps(history, err);
	if (rc == NP_OK)
		rc = find_start_ranges(history, err);
	if (rc == NP_OK)
		rc = find_start_blocks(history, err);
	if (rc == NP_OK)
		rc = history_lay_start(history, &layout, &history->inconsistent, err);
	if (rc == NP_OK)
		rc = keep_start(history, &layout, err);
	if (rc == NP_OK)
		rc = play(history, history, &layout, history->count, err);
	history->end_allocated = layout.allocated;
	history->end_reserved = layout.reserved;
	history->end_requested = layout.requested;
	layout_gaps(&layout, &history->end_gaps);
	if (rc == NP_OK)
		check_end(history, &layout);
	/* One that frees what cannot have been there contradicts both. */
	if (history->inconsistent > history->count && history->count > 0)
		history->inconsistent = history->count;
	layout_release(&layout);
	if (rc == NP_OK)
		*ret = NP_STEAL(history);
	return rc;
}

void history_free(struct mem_history *history)
{
	if (!history)
		return;
	np_vec_release(&history->start_ranges);
	np_vec_release(&history->start_blocks);
	np_vec_release(&history->lives);
	np_vec_release(&history->steps);
	np_vec_release(&history->curve);
	free(history);
}

void history_freep(struct mem_history **history)
{
	history_free(*history);
}

int history_state(const struct mem_history *history, size_t at, struct mem_layout *ret,
		  struct np_err *err)
{
	size_t until = at < history->count ? at + 1 : history->count;
	size_t bad = 0;
	int rc;

	layout_init(ret, &history->settings);
	rc = history_lay_start(history, ret, &bad, err);
	return rc < 0 ? rc : play(history, NULL, ret, until, err);
}

bool history_alive(const struct mem_life *life, size_t at)
{
	return (life->birth == MEM_NONE || life->birth <= at) &&
	       (life->freed == MEM_NONE || life->freed > at);
}
