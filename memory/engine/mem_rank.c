/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot says of the memory of its rank: peaks, a moment of it, other settings. */
#include "mem_rank.h"

#include "npuprof/text.h"

#include <ctype.h>
#include <strings.h>
#include <unistd.h>

void mem_rank_release(struct mem_rank *rank)
{
	for (size_t i = 0; i < rank->components.count; i++)
		free(rank->components.item[i].name);
	for (size_t i = 0; i < rank->graphs.count; i++) {
		free(rank->graphs.item[i].model);
		free(rank->graphs.item[i].largest);
	}
	for (size_t i = 0; i < rank->steps.count; i++)
		free(rank->steps.item[i].id);
	np_vec_release(&rank->components);
	np_vec_release(&rank->graphs);
	np_vec_release(&rank->curve);
	np_vec_release(&rank->steps);
	free(rank->path);
	free(rank->role);
	free(rank->host);
	free(rank->component);
	free(rank->oom.what);
	free(rank->usage_problem);
	mem_picture_free(rank->picture);
	history_free(rank->history);
	composition_free(rank->composition);
	memory_whatif_release(&rank->whatif);
}

void mem_ranks_release(mem_ranks *ranks)
{
	for (size_t i = 0; i < ranks->count; i++)
		mem_rank_release(&ranks->item[i]);
	np_vec_release(ranks);
}

const char *mem_rank_label(const struct mem_rank *rank, np_str label)
{
	return np_strtab_text(rank->composition->labels, label);
}

int64_t mem_rank_requested(const struct mem_rank *rank, const struct mem_group *group)
{
	return rank->source == MEM_SNAPSHOT ? (int64_t)group->requested : NP_UNKNOWN;
}

/* What was there before has bytes, but nobody counted. */
int64_t mem_rank_blocks(const struct mem_group *group)
{
	return group->blocks > 0 ? (int64_t)group->blocks : NP_UNKNOWN;
}

int64_t mem_rank_never_freed(const struct mem_rank *rank)
{
	return rank->lives_known ? (int64_t)rank->composition->never_freed_bytes : NP_UNKNOWN;
}

void mem_rank_name(const struct mem_rank *rank, struct np_buf *buf)
{
	if (rank->rank != NP_UNKNOWN)
		np_buf_printf(buf, "rank %lld", (long long)rank->rank);
	else
		np_buf_add(buf, np_text_last_part(rank->path));
	if (rank->several)
		np_buf_printf(buf, " device %zu", rank->device);
}

/* "1.5s", "20ms", "3us", "17ns", or the ns of a clock. */
static bool read_time(const char *text, struct mem_moment *ret)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = { { "s", 9 }, { "ms", 6 }, { "us", 3 }, { "ns", 0 }, { "", 0 } };
	size_t number = strspn(text, "0123456789.");

	for (size_t i = 0; number > 0 && i < NP_COUNT(units); i++) {
		if (strcmp(text + number, units[i].name) != 0)
			continue;
		ret->kind = MEM_AT_TIME;
		ret->relative = units[i].name[0] != '\0';
		return np_text_to_scaled(text, number, units[i].shift, &ret->number) &&
		       ret->number <= NP_NS_MAX;
	}
	return false;
}

bool mem_moment_parse(const char *text, struct mem_moment *ret)
{
	static const char step[] = "step:";
	static const char event[] = "event:";
	static const char time[] = "time:";
	int64_t number;

	*ret = (struct mem_moment){ .kind = MEM_AT_PEAK };
	if (strcmp(text, "peak") == 0)
		return true;
	if (strcmp(text, "end") == 0) {
		ret->kind = MEM_AT_END;
		return true;
	}
	if (np_text_begins(text, time))
		return read_time(text + strlen(time), ret);
	ret->kind = np_text_begins(text, event) ? MEM_AT_EVENT : MEM_AT_STEP;
	if (ret->kind == MEM_AT_EVENT)
		text += strlen(event);
	ret->step_only = ret->kind == MEM_AT_STEP && np_text_begins(text, step);
	if (ret->step_only)
		text += strlen(step);
	if (!np_text_to_int(text, strlen(text), &number) || number < 0 ||
	    strlen(text) >= sizeof(ret->step))
		return false;
	ret->number = number;
	(void)snprintf(ret->step, sizeof(ret->step), "%s", text);
	return true;
}

/* Is it a piece of a word, or, as in local_rank, a number within a part of the job? */
static bool is_of_part(const char *name, const char *at)
{
	static const char *const parts[] = { "local", "node", "host", "tp", "pp", "dp",
					     "cp",    "ep",   "vp",   "sp", "mp" };
	const char *end = at;
	const char *begin;

	while (end > name && (end[-1] == '_' || end[-1] == '-'))
		end--;
	begin = end;
	while (begin > name && isalpha((unsigned char)begin[-1]))
		begin--;
	if (end == at)
		return begin < end;
	for (size_t i = 0; i < NP_COUNT(parts); i++) {
		if ((size_t)(end - begin) == strlen(parts[i]) &&
		    strncasecmp(begin, parts[i], strlen(parts[i])) == 0)
			return true;
	}
	return false;
}

/* rank3, Rank_3, rank-3 in a name. */
static bool rank_in(const char *name, int64_t *ret)
{
	for (const char *at = strcasestr(name, "rank"); at; at = strcasestr(at + 1, "rank")) {
		const char *digits = at + 4 + (at[4] == '_' || at[4] == '-');
		size_t length = strspn(digits, "0123456789");

		/* Eight digits and more are a time. */
		if (length > 0 && length < 8 && !is_of_part(name, at) &&
		    np_text_to_int(digits, length, ret))
			return true;
	}
	return false;
}

/* snapshot_<Y-m-d-H-M>_<rank>.pickle */
static bool rank_of_mindspeed(const char *name, int64_t *ret)
{
	const char *at = name + strlen("snapshot_");
	size_t stamp;
	size_t dashes = 0;

	if (!np_text_begins(name, "snapshot_"))
		return false;
	stamp = strspn(at, "0123456789-");
	for (size_t i = 0; i < stamp; i++)
		dashes += at[i] == '-';
	if (dashes != 4 || at[stamp] != '_')
		return false;
	at += stamp + 1;
	stamp = strspn(at, "0123456789");
	return stamp > 0 && stamp < 8 && at[stamp] == '.' && np_text_to_int(at, stamp, ret);
}

int64_t mem_rank_in_name(const char *path)
{
	const char *name = np_text_last_part(path);
	char *above = strndup(path, (size_t)(name - path));
	int64_t rank = NP_UNKNOWN;
	bool found = rank_in(name, &rank) || rank_of_mindspeed(name, &rank);

	/* Only the directory of the file itself: those above may be of anything. */
	if (!found && above && strlen(above) > 1) {
		above[strlen(above) - 1] = '\0';
		found = rank_in(np_text_last_part(above), &rank);
	}
	free(above);
	return found ? rank : NP_UNKNOWN;
}

/* <role>_rank<N>_pid<P>.pickle, as frameworks with several roles write them. */
char *mem_rank_role(const char *path)
{
	const char *name = np_text_last_part(path);
	const char *end = strstr(name, "_rank");
	int64_t rank;

	if (!end || end == name || !rank_in(end + 1, &rank) || !strstr(end, "_pid"))
		return NULL;
	return strndup(name, (size_t)(end - name));
}

bool mem_oom_in_pieces(const struct mem_oom *oom)
{
	return oom->wanted <= oom->free + oom->device_free;
}

/* What is free for a request in the pool and on the stream that it is of. */
static void find_room(struct mem_oom *oom, const struct mem_layout *layout, uint32_t key)
{
	const struct mem_free what = { .key = key };
	struct mem_place place = mem_order_find(&layout->free, &what);
	const struct mem_free *free;

	for (; (free = mem_order_at(&layout->free, place)) && free->key == key;
	     place = mem_order_next(&layout->free, place)) {
		oom->free += (int64_t)free->size;
		oom->largest =
			(int64_t)free->size > oom->largest ? (int64_t)free->size : oom->largest;
	}
}

/*
 * The last request that failed, and what the process could have: reserved and what the device
 * still had then.
 */
static int find_oom(struct mem_rank *rank, struct np_err *err)
{
	const struct mem_history *history = rank->history;

	rank->oom.event = NP_UNKNOWN;
	for (size_t i = history->count; i > 0; i--) {
		const struct snap_event *event = &history->events[i - 1];
		NP_CLEANUP(np_buf_release) struct np_buf what = NP_BUF_INIT;
		struct mem_layout layout;
		int rc;

		if (event->action != SNAP_OOM)
			continue;
		rc = history_state(history, i - 1, &layout, err);
		rank->oom = (struct mem_oom){ .event = (int64_t)i - 1,
					      .wanted = (int64_t)event->size,
					      .device_free = (int64_t)event->address };
		find_room(&rank->oom, &layout,
			  layout_key(event->pool, event->size <= MEM_SMALL_MOST, event->stream));
		if (rank->limit == NP_UNKNOWN)
			rank->limit = (int64_t)layout.reserved + rank->oom.device_free;
		layout_release(&layout);
		composition_name_stack(history->snapshot, event->stack, MEM_BY_USER, &what);
		rank->oom.what = what.failed ? NULL : strdup(what.text);
		if (rc == NP_OK && !rank->oom.what)
			rc = np_fail_nomem(err, "a request");
		return rc;
	}
	return NP_OK;
}

/* In ns, of an event; NP_UNKNOWN where the file has none. */
static np_ns time_of(const struct mem_history *history, size_t event)
{
	const struct snapshot *snapshot = history->snapshot;
	int64_t time;

	if (event >= history->count || snapshot->times.count == 0)
		return NP_UNKNOWN;
	time = snapshot->times.item[(size_t)(history->events - snapshot->events.item) + event];
	return time >= 0 && time <= NP_NS_MAX / 1000 ? time * 1000 : NP_UNKNOWN;
}

static struct mem_reached reached(const struct mem_history *history, const struct mem_peak *peak)
{
	return (struct mem_reached){ (int64_t)peak->bytes, (int64_t)peak->at,
				     time_of(history, peak->at) };
}

static int find_moment(const struct mem_history *history, const struct mem_moment *moment,
		       size_t *ret, struct np_err *err)
{
	np_ns time = moment->number;

	*ret = history->allocated.at;
	if (moment->kind == MEM_AT_PEAK || history->count == 0)
		return NP_OK;
	*ret = history->count - 1;
	if (moment->kind == MEM_AT_END)
		return NP_OK;
	if (moment->kind == MEM_AT_TIME) {
		if (time_of(history, 0) == NP_UNKNOWN)
			return np_fail(err, NP_E_NOTFOUND,
				       "its events have no times: --at takes peak, end or event:N");
		time += moment->relative ? time_of(history, 0) : 0;
		while (*ret > 0 && time_of(history, *ret) > time)
			--*ret;
		return NP_OK;
	}
	for (size_t i = 0; moment->kind == MEM_AT_STEP && i < history->steps.count; i++) {
		if (strcmp(history->steps.item[i].id, moment->step) != 0)
			continue;
		*ret = history->steps.item[i].most.at;
		return NP_OK;
	}
	if (moment->kind == MEM_AT_STEP && history->steps.count > 0)
		return np_fail(err, NP_E_NOTFOUND, "there is no step %s; steps are %s to %s",
			       moment->step, history->steps.item[0].id,
			       history->steps.item[history->steps.count - 1].id);
	if (moment->step_only)
		return np_fail(
			err, NP_E_NOTFOUND,
			"its steps are not known: name a frame with --step-frame, or an event as "
			"--at event:%s",
			moment->step);
	if (moment->number >= (int64_t)history->count)
		return np_fail(err, NP_E_RANGE, "there are only %zu events", history->count);
	*ret = (size_t)moment->number;
	return NP_OK;
}

static int measure_moment(struct mem_rank *rank, const struct mem_rank_options *options,
			  struct np_err *err)
{
	struct mem_layout layout;
	size_t at;
	int rc = find_moment(rank->history, &options->moment, &at, err);

	if (rc < 0)
		return rc;
	rc = history_state(rank->history, at, &layout, err);
	rank->at = (struct mem_reached){ (int64_t)layout.allocated, (int64_t)at,
					 time_of(rank->history, at) };
	rank->at_requested = (int64_t)layout.requested;
	rank->at_reserved = (int64_t)layout.reserved;
	layout_gaps(&layout, &rank->gaps);
	if (rc == NP_OK)
		rc = mem_picture_new(rank->history, &layout, &rank->picture, err);
	layout_release(&layout);
	if (rc == NP_OK)
		rc = composition_new(rank->history, at, options->by, &rank->composition, err);
	for (size_t i = 0; rc == NP_OK && i < rank->composition->groups.count; i++)
		rank->at_blocks += (int64_t)rank->composition->groups.item[i].blocks;
	return rc;
}

static int keep_curves(struct mem_rank *rank, struct np_err *err)
{
	const struct mem_history *history = rank->history;

	for (size_t i = 0; i < history->curve.count; i++) {
		const struct mem_history_point *from = &history->curve.item[i];
		struct mem_point *point = np_vec_add(&rank->curve, err);

		if (!point)
			return NP_E_NOMEM;
		*point = (struct mem_point){ (int64_t)from->last, time_of(history, from->last),
					     (int64_t)from->allocated, (int64_t)from->reserved };
	}
	for (size_t i = 0; i < history->steps.count; i++) {
		const struct mem_history_step *from = &history->steps.item[i];
		struct mem_step_use *step = np_vec_add(&rank->steps, err);

		if (!step)
			return NP_E_NOMEM;
		*step = (struct mem_step_use){ .id = strdup(from->id),
					       .most = reached(history, &from->most),
					       .least = from->least == UINT64_MAX
								? NP_UNKNOWN
								: (int64_t)from->least };
		if (!step->id)
			return np_fail_nomem(err, "a step");
	}
	return NP_OK;
}

static int measure(struct mem_rank *rank, const struct mem_rank_options *options,
		   struct np_err *err)
{
	const struct mem_history *history = rank->history;
	int rc = measure_moment(rank, options, err);

	rank->by = options->by;
	rank->lives_known = history->count > 0 && history_is_trusted(history);
	rank->begin = time_of(history, 0);
	rank->allocated = reached(history, &history->allocated);
	rank->active = reached(history, &history->active);
	rank->reserved = reached(history, &history->reserved);
	rank->requested = reached(history, &history->requested);
	rank->gap = reached(history, &history->gap);
	rank->ooms = (int64_t)history->actions[SNAP_OOM];
	rank->limit = options->device_bytes;
	if (rc == NP_OK)
		rc = find_oom(rank, err);
	/* Who ran out of memory wants to know what would help. */
	if (rc == NP_OK)
		rc = memory_whatif_run(history, options->with, options->with_count,
				       options->sweep || rank->ooms > 0, rank->limit, &rank->whatif,
				       err);
	return rc == NP_OK ? keep_curves(rank, err) : rc;
}

/* Do sizes of blocks differ under the two? */
static bool sizes_differ(const struct mem_settings *a, const struct mem_settings *b)
{
	return a->pad != b->pad || a->divisions != b->divisions || a->max_split != b->max_split ||
	       a->expandable != b->expandable || layout_page(a, false) != layout_page(b, false);
}

/* Is `a` a record that contradicts itself less, or whose blocks have their sizes more often? */
static bool is_sounder(const struct mem_history *a, const struct mem_history *b)
{
	return a->inconsistent < b->inconsistent ||
	       (a->inconsistent == b->inconsistent && a->wrong_sizes < b->wrong_sizes);
}

/*
 * Where blocks do not fit with what is taken for the settings, because there were too few of them
 * to tell, others may.
 */
static int find_sound(const struct snapshot *snapshot, struct mem_rank *rank,
		      const struct mem_rank_options *options, struct np_err *err)
{
	static const uint64_t divisions[] = { 0, 2, 4, 8, 16 };
	int rc = NP_OK;

	for (size_t i = 0;
	     rc == NP_OK && rank->history->inconsistent > 0 && i < NP_COUNT(divisions); i++) {
		NP_CLEANUP(history_freep) struct mem_history *other = NULL;
		struct mem_settings settings = rank->history->settings;

		settings.divisions = divisions[i];
		rc = history_new(snapshot, rank->device, &settings, options->step_frame, &other,
				 err);
		if (rc < 0 || !is_sounder(other, rank->history))
			continue;
		history_free(rank->history);
		rank->history = NP_STEAL(other);
	}
	return rc;
}

/*
 * The history under the settings of the recording. They are not in the file, and what blocks were
 * given depends on them: the usual ones are replayed, and where others come nearer to the record
 * it is made once more, if they reproduce all of it or more of the blocks at its end.
 */
static int find_history(const struct snapshot *snapshot, struct mem_rank *rank,
			const struct mem_rank_options *options, struct np_err *err)
{
	NP_CLEANUP(history_freep) struct mem_history *better = NULL;
	struct mem_replay again;
	int rc =
		history_new(snapshot, rank->device, NULL, options->step_frame, &rank->history, err);

	if (rc == NP_OK)
		rc = find_sound(snapshot, rank, options, err);
	if (rc == NP_OK)
		rc = memory_whatif_find(rank->history, &rank->whatif, err);
	if (rc < 0 || rank->whatif.withheld ||
	    !sizes_differ(&rank->whatif.found.settings, &rank->history->settings))
		return rc;
	rc = history_new(snapshot, rank->device, &rank->whatif.found.settings, options->step_frame,
			 &better, err);
	if (rc == NP_OK && (better->wrong_sizes > rank->history->wrong_sizes ||
			    better->inconsistent > rank->history->inconsistent ||
			    (!mem_replay_exact(&rank->whatif.found) &&
			     better->wrong_sizes == rank->history->wrong_sizes)))
		return mem_replay_run(rank->history, &rank->history->settings, REPLAY_VERIFY,
				      &rank->whatif.found, err);
	if (rc == NP_OK)
		rc = mem_replay_run(better, &better->settings, REPLAY_VERIFY, &again, err);
	if (rc < 0)
		return rc;
	rank->whatif.found = again;
	history_free(rank->history);
	rank->history = NP_STEAL(better);
	return NP_OK;
}

static int add_device(const char *path, const struct snapshot *snapshot, size_t device,
		      int64_t number, const struct mem_rank_options *options, mem_ranks *ret,
		      struct np_err *err)
{
	struct mem_rank rank = { .source = MEM_SNAPSHOT,
				 .device = device,
				 .rank = number,
				 .gpu = snapshot_is_of_gpu(snapshot),
				 .outside = NP_UNKNOWN,
				 .place = { -1, -1, -1, -1, -1 } };
	struct mem_rank *added;
	int rc = find_history(snapshot, &rank, options, err);

	if (device < snapshot->devices.count)
		rank.workspace = (int64_t)snapshot->devices.item[device].workspace;
	if (rc == NP_OK)
		rc = measure(&rank, options, err);
	rank.path = strdup(path);
	rank.role = mem_rank_role(path);
	if (rc == NP_OK && rank.path)
		rc = mem_rank_read_usage(&rank, options->moment.kind == MEM_AT_END, err);
	added = rc == NP_OK && rank.path ? np_vec_add(ret, err) : NULL;
	if (added) {
		/* The snapshot goes; what was needed of it is here. */
		rank.history->snapshot = NULL;
		rank.history->events = NULL;
		np_vec_release(&rank.history->lives);
		*added = rank;
		return NP_OK;
	}
	mem_rank_release(&rank);
	return rc < 0 ? rc : np_fail_nomem(err, "a rank");
}

/* Has anything happened on this device? */
static bool is_used(const struct snapshot *snapshot, size_t device)
{
	if (device < snapshot->devices.count && snapshot->devices.item[device].count > 0)
		return true;
	for (size_t i = 0; i < snapshot->segments.count; i++) {
		if (snapshot->segments.item[i].device == (int64_t)device)
			return true;
	}
	return false;
}

int mem_rank_read(const char *path, int64_t number, const struct mem_rank_options *options,
		  mem_ranks *ret, uint64_t *ret_trailing, struct np_err *err)
{
	NP_CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	size_t devices = 0;
	size_t used = 0;
	int rc = snapshot_read(path, &snapshot, err);

	/* One that is empty is there. */
	if (rc == NP_E_NOTFOUND && access(path, F_OK) == 0)
		return NP_E_FORMAT;
	if (rc < 0)
		return rc;
	*ret_trailing = snapshot->trailing;
	devices = snapshot->devices.count;
	for (size_t i = 0; i < snapshot->segments.count; i++) {
		int64_t device = snapshot->segments.item[i].device;

		if (device >= 0 && device < UINT16_MAX && (size_t)device >= devices)
			devices = (size_t)device + 1;
	}
	for (size_t i = 0; rc == NP_OK && i < devices; i++) {
		if (!is_used(snapshot, i))
			continue;
		used++;
		rc = add_device(path, snapshot, i, number, options, ret, err);
	}
	for (size_t i = 0; used > 1 && i < used && i < ret->count; i++)
		ret->item[ret->count - 1 - i].several = true;
	if (rc == NP_OK && used == 0)
		return np_fail(err, NP_E_FORMAT, "'%s' has no memory and no events", path);
	return rc;
}
