/* SPDX-License-Identifier: Apache-2.0 */
/* Memory snapshots: dictionaries of the pickle become events, frames, segments and blocks. */
#include "snapshot.h"

#include "npuprof/pickle.h"

/* What a dictionary or a list became: the low bits of its number. */
enum snap_kind {
	KIND_EVENT,
	KIND_FRAME,
	KIND_STACK,
	KIND_SEGMENT,
	KIND_BLOCK,
	KIND_TRACE, /* a list of events */
	KIND_USED,  /* a list that was walked */
};

#define KIND_BITS 3

enum snap_key {
	KEY_ACTION = 1,
	KEY_ADDR,
	KEY_DEVICE_FREE,
	KEY_SIZE,
	KEY_STREAM,
	KEY_FRAMES,
	KEY_POOL_ID,
	KEY_TIME,
	KEY_NAME,
	KEY_FILE,
	KEY_LINE,
	KEY_DEVICE,
	KEY_ADDRESS,
	KEY_TOTAL_SIZE,
	KEY_SEGMENT_TYPE,
	KEY_SEGMENT_POOL,
	KEY_EXPANDABLE,
	KEY_BLOCKS,
	KEY_REQUESTED,
	KEY_STATE,
	KEY_SEGMENTS,
	KEY_TRACES,
	KEY_SETTINGS,
	KEY_STAGE,
	KEYS,
};

static const char *const key_names[KEYS] = {
	[KEY_ACTION] = "action",
	[KEY_ADDR] = "addr",
	[KEY_DEVICE_FREE] = "device_free",
	[KEY_SIZE] = "size",
	[KEY_STREAM] = "stream",
	[KEY_FRAMES] = "frames",
	[KEY_POOL_ID] = "pool_id",
	[KEY_TIME] = "time_us",
	[KEY_NAME] = "name",
	[KEY_FILE] = "filename",
	[KEY_LINE] = "line",
	[KEY_DEVICE] = "device",
	[KEY_ADDRESS] = "address",
	[KEY_TOTAL_SIZE] = "total_size",
	[KEY_SEGMENT_TYPE] = "segment_type",
	[KEY_SEGMENT_POOL] = "segment_pool_id",
	[KEY_EXPANDABLE] = "is_expandable",
	[KEY_BLOCKS] = "blocks",
	[KEY_REQUESTED] = "requested_size",
	[KEY_STATE] = "state",
	[KEY_SEGMENTS] = "segments",
	[KEY_TRACES] = "device_traces",
	[KEY_SETTINGS] = "allocator_settings",
	[KEY_STAGE] = "stage",
};

/* Texts after the keys: the ids follow from the order. */
static const char *const action_names[SNAP_ACTIONS] = {
	[SNAP_ALLOC] = "alloc",
	[SNAP_FREE_REQUESTED] = "free_requested",
	[SNAP_FREE_COMPLETED] = "free_completed",
	[SNAP_SEGMENT_ALLOC] = "segment_alloc",
	[SNAP_SEGMENT_FREE] = "segment_free",
	[SNAP_SEGMENT_MAP] = "segment_map",
	[SNAP_SEGMENT_UNMAP] = "segment_unmap",
	[SNAP_OOM] = "oom",
	[SNAP_SNAPSHOT] = "snapshot",
	[SNAP_WORKSPACE] = "workspace_snapshot",
	[SNAP_OTHER] = "(other)",
};

/* The events of a list, which follow each other. */
struct snap_trace {
	size_t first;
	size_t count;
};

struct snap_reader {
	struct snapshot *snapshot;
	const char *what;
	struct np_map frame_map;
	struct np_map stack_map;
	struct np_numbers streams;
	struct np_numbers pools;
	uint16_t last_stream;
	np_pickled last_stream_value; /* that it was read from; UINT64_MAX: none */
	uint8_t last_pool;
	uint64_t last_pool_id;
	NP_VEC(struct snap_trace) traces;
	NP_VEC(uint64_t) records; /* of the list in hand */
	/* The values of known keys of the dictionary in hand. */
	np_pickled value[KEYS];
	uint64_t has; /* bit of each key */
};

const char *snapshot_action_name(enum snap_action action)
{
	return action_names[action];
}

bool snapshot_is_of_gpu(const struct snapshot *snapshot)
{
	return snapshot->settings || snapshot->times.count > 0;
}

static uint64_t record_of(enum snap_kind kind, uint64_t number)
{
	return number << KIND_BITS | kind;
}

static enum snap_kind kind_of(uint64_t record)
{
	return (enum snap_kind)(record & ((1U << KIND_BITS) - 1));
}

static bool is_record(const struct np_pickle *pickle, np_pickled value, enum snap_kind kind)
{
	uint64_t record;

	return np_pickled_records(pickle, &value, 1, &record) == 1 && kind_of(record) == kind;
}

static size_t number_of(const struct np_pickle *pickle, np_pickled value)
{
	return (size_t)(np_pickled_record(pickle, value) >> KIND_BITS);
}

static bool has(const struct snap_reader *reader, enum snap_key key)
{
	return reader->has >> key & 1;
}

static int bad(const struct snap_reader *reader, struct np_err *err, const char *what,
	       enum snap_key key)
{
	return np_fail(err, NP_E_FORMAT, "'%s': %s has no usable '%s': not a memory snapshot",
		       reader->what, what, key_names[key]);
}

/* An address or a size; sizes are kept below 2^62 so that sums of two do not overflow. */
static bool get_unsigned(const struct snap_reader *reader, const struct np_pickle *pickle,
			 enum snap_key key, uint64_t *ret)
{
	int64_t small;

	if (!has(reader, key))
		return false;
	if (np_pickled_small(reader->value[key], &small) && small >= 0) {
		*ret = (uint64_t)small;
		return true;
	}
	return np_pickled_unsigned(pickle, reader->value[key], ret);
}

static bool get_size(const struct snap_reader *reader, const struct np_pickle *pickle,
		     enum snap_key key, uint64_t *ret)
{
	return get_unsigned(reader, pickle, key, ret) && *ret < UINT64_C(1) << 48;
}

static bool get_address(const struct snap_reader *reader, const struct np_pickle *pickle,
			enum snap_key key, uint64_t *ret)
{
	return get_unsigned(reader, pickle, key, ret) && *ret < UINT64_C(1) << 62;
}

static int find_stream(struct snap_reader *reader, const struct np_pickle *pickle, uint16_t *ret,
		       struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	uint64_t handle = 0;
	int64_t negative = 0;
	uint64_t *added;
	uint32_t number;

	if (!get_unsigned(reader, pickle, KEY_STREAM, &handle) && has(reader, KEY_STREAM) &&
	    np_pickled_integer(pickle, reader->value[KEY_STREAM], &negative))
		handle = (uint64_t)negative;
	if (reader->last_stream < snapshot->streams.count &&
	    snapshot->streams.item[reader->last_stream] == handle) {
		*ret = reader->last_stream;
		return NP_OK;
	}
	number = np_numbers_get(&reader->streams, handle);
	if (number == NP_MAP_NONE) {
		if (snapshot->streams.count > UINT16_MAX)
			return np_fail(err, NP_E_RANGE, "'%s': more than 65536 streams",
				       reader->what);
		number = (uint32_t)snapshot->streams.count;
		added = np_vec_add(&snapshot->streams, err);
		if (!added || np_numbers_add(&reader->streams, handle, number, err) < 0)
			return NP_E_NOMEM;
		*added = handle;
	}
	*ret = reader->last_stream = (uint16_t)number;
	reader->last_stream_value =
		has(reader, KEY_STREAM) ? reader->value[KEY_STREAM] : UINT64_MAX;
	return NP_OK;
}

/* Mostly the last one, written as it was. */
static inline int get_stream(struct snap_reader *reader, const struct np_pickle *pickle,
			     uint16_t *ret, struct np_err *err)
{
	*ret = reader->last_stream;
	return has(reader, KEY_STREAM) && reader->value[KEY_STREAM] == reader->last_stream_value
		       ? NP_OK
		       : find_stream(reader, pickle, ret, err);
}

static int find_pool(struct snap_reader *reader, const struct np_pickle *pickle, enum snap_key key,
		     uint8_t *ret, struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	int64_t first = 0;
	int64_t second = 0;
	uint64_t *added;
	uint64_t id;
	uint32_t number;

	if (has(reader, key))
		(void)np_pickled_pair(pickle, reader->value[key], &first, &second);
	id = (uint64_t)first << 32 ^ (uint64_t)second;
	if (id == reader->last_pool_id) {
		*ret = reader->last_pool;
		return NP_OK;
	}
	number = np_numbers_get(&reader->pools, id);
	if (number == NP_MAP_NONE) {
		/* The rest are as one: peaks are the same, and a replay that is not tells so. */
		if (snapshot->pools.count > UINT8_MAX) {
			*ret = UINT8_MAX;
			return NP_OK;
		}
		number = (uint32_t)snapshot->pools.count;
		added = np_vec_add(&snapshot->pools, err);
		if (!added || np_numbers_add(&reader->pools, id, number, err) < 0)
			return NP_E_NOMEM;
		*added = id;
	}
	reader->last_pool_id = id;
	*ret = reader->last_pool = (uint8_t)number;
	return NP_OK;
}

static inline int get_pool(struct snap_reader *reader, const struct np_pickle *pickle,
			   enum snap_key key, uint8_t *ret, struct np_err *err)
{
	*ret = reader->last_pool;
	return !has(reader, key) && reader->last_pool_id == 0
		       ? NP_OK
		       : find_pool(reader, pickle, key, ret, err);
}

struct frame_query {
	const struct snapshot *snapshot;
	struct snap_frame frame;
};

static bool is_frame(const void *what, uint32_t value)
{
	const struct frame_query *query = what;
	const struct snap_frame *frame = &query->snapshot->frames.item[value];

	return frame->name == query->frame.name && frame->file == query->frame.file &&
	       frame->line == query->frame.line;
}

static int take_frame(struct snap_reader *reader, const struct np_pickle *pickle, uint64_t *ret,
		      struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	struct frame_query query = { .snapshot = snapshot };
	uint64_t hash;
	uint32_t number;

	query.frame.file = np_pickled_text(reader->value[KEY_FILE]);
	if (has(reader, KEY_NAME))
		query.frame.name = np_pickled_text(reader->value[KEY_NAME]);
	if (!has(reader, KEY_LINE) ||
	    !np_pickled_integer(pickle, reader->value[KEY_LINE], &query.frame.line))
		query.frame.line = 0;
	hash = np_map_mix(np_map_mix(np_map_mix(0, query.frame.file), query.frame.name),
			  (uint64_t)query.frame.line);
	number = np_map_find(&reader->frame_map, hash, is_frame, &query);
	if (number == NP_MAP_NONE) {
		struct snap_frame *added = np_vec_add(&snapshot->frames, err);

		if (!added)
			return NP_E_NOMEM;
		*added = query.frame;
		number = (uint32_t)(snapshot->frames.count - 1);
		if (np_map_add(&reader->frame_map, hash, number, err) < 0)
			return NP_E_NOMEM;
	}
	*ret = record_of(KIND_FRAME, number);
	return NP_OK;
}

struct stack_query {
	const struct snapshot *snapshot;
	const uint32_t *frames;
	size_t count;
};

static bool is_stack(const void *what, uint32_t value)
{
	const struct stack_query *query = what;
	const struct snap_stack *stack = &query->snapshot->stacks.item[value];

	return stack->count == query->count &&
	       memcmp(&query->snapshot->stack_frames.item[stack->first], query->frames,
		      query->count * sizeof(*query->frames)) == 0;
}

/* The stack of the frames behind the last one of `stack_frames`, which stay there if it is new. */
static int find_stack(struct snap_reader *reader, size_t first, uint32_t *ret, struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	struct stack_query query = { .snapshot = snapshot,
				     .count = snapshot->stack_frames.count - first };
	uint64_t hash = query.count;
	struct snap_stack *added;

	/* The stack without frames is the first. */
	if (query.count == 0 && snapshot->stacks.count > 0) {
		*ret = 0;
		return NP_OK;
	}
	if (query.count > 0)
		query.frames = &snapshot->stack_frames.item[first];
	/* Two at a time: there are as many lists as events. */
	for (size_t i = 0; i + 1 < query.count; i += 2)
		hash = np_map_mix(hash, query.frames[i] | (uint64_t)query.frames[i + 1] << 32);
	if (query.count % 2)
		hash = np_map_mix(hash, query.frames[query.count - 1]);
	*ret = np_map_find(&reader->stack_map, hash, is_stack, &query);
	if (*ret != NP_MAP_NONE) {
		snapshot->stack_frames.count = first;
		return NP_OK;
	}
	added = np_vec_add(&snapshot->stacks, err);
	if (!added)
		return NP_E_NOMEM;
	*added = (struct snap_stack){ first, query.count };
	*ret = (uint32_t)(snapshot->stacks.count - 1);
	return np_map_add(&reader->stack_map, hash, *ret, err);
}

/* The stack of the dictionary in hand: a list of frames, which is one already. */
static int get_stack(const struct snap_reader *reader, const struct np_pickle *pickle,
		     uint32_t *ret, struct np_err *err)
{
	enum np_pickled_type type;
	np_pickled list;
	uint64_t record;
	size_t count = 0;

	*ret = 0;
	if (!has(reader, KEY_FRAMES))
		return NP_OK;
	list = reader->value[KEY_FRAMES];
	if (np_pickled_records(pickle, &list, 1, &record) == 1 && kind_of(record) == KIND_STACK) {
		*ret = (uint32_t)(record >> KIND_BITS);
		return NP_OK;
	}
	type = np_pickled_type(pickle, list);
	if (type == NP_PICKLED_LIST)
		(void)np_pickled_items(pickle, list, &count);
	return type == NP_PICKLED_NONE || (type == NP_PICKLED_LIST && count == 0)
		       ? NP_OK
		       : bad(reader, err, "an event or block", KEY_FRAMES);
}

/* Frames, innermost first, behind those of the stack `before`; UINT64_MAX: none. */
static int take_stack(struct snap_reader *reader, uint64_t before, size_t count, uint64_t *ret,
		      struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	const struct snap_stack *old =
		before == UINT64_MAX ? NULL : &snapshot->stacks.item[before >> KIND_BITS];
	size_t first = snapshot->stack_frames.count;
	size_t had = old ? old->count : 0;
	uint32_t *frames;
	uint32_t stack;

	if (np_vec_reserve(&snapshot->stack_frames, had + count, err) < 0)
		return NP_E_NOMEM;
	frames = &snapshot->stack_frames.item[first];
	if (had > 0)
		memcpy(frames, &snapshot->stack_frames.item[old->first], had * sizeof(*frames));
	for (size_t i = 0; i < count; i++) {
		if (kind_of(reader->records.item[i]) != KIND_FRAME)
			return NP_OK;
		frames[had + i] = (uint32_t)(reader->records.item[i] >> KIND_BITS);
	}
	snapshot->stack_frames.count += had + count;
	if (find_stack(reader, first, &stack, err) < 0)
		return NP_E_NOMEM;
	*ret = record_of(KIND_STACK, stack);
	return NP_OK;
}

/* Events that follow each other, and those of the trace `before`. */
static int take_trace(struct snap_reader *reader, uint64_t before, size_t count, uint64_t *ret,
		      struct np_err *err)
{
	const bool begins = before == UINT64_MAX;
	struct snap_trace trace = { .first = (size_t)(reader->records.item[0] >> KIND_BITS) };
	struct snap_trace *added;

	if (!begins)
		trace = reader->traces.item[before >> KIND_BITS];
	for (size_t i = 0; i < count; i++) {
		if (reader->records.item[i] != record_of(KIND_EVENT, trace.first + trace.count + i))
			return bad(reader, err, "the history of a device", KEY_ACTION);
	}
	trace.count += count;
	added = begins ? np_vec_add(&reader->traces, err)
		       : &reader->traces.item[before >> KIND_BITS];
	if (!added)
		return NP_E_NOMEM;
	*added = trace;
	*ret = begins ? record_of(KIND_TRACE, reader->traces.count - 1) : before;
	return NP_OK;
}

/* Lists of frames and of events are kept as stacks and traces, all others as they are. */
static int take_list(void *context, struct np_pickle *pickle, uint64_t before,
		     const np_pickled *items, size_t count, uint64_t *ret, struct np_err *err)
{
	struct snap_reader *reader = context;
	enum snap_kind first;

	reader->records.count = 0;
	if (np_vec_reserve(&reader->records, count, err) < 0)
		return NP_E_NOMEM;
	if (np_pickled_records(pickle, items, count, reader->records.item) < count)
		return NP_OK;
	first = kind_of(reader->records.item[0]);
	if (first == KIND_FRAME && (before == UINT64_MAX || kind_of(before) == KIND_STACK))
		return take_stack(reader, before, count, ret, err);
	if (first == KIND_EVENT && (before == UINT64_MAX || kind_of(before) == KIND_TRACE))
		return take_trace(reader, before, count, ret, err);
	return NP_OK;
}

static enum snap_action action_of(np_str text)
{
	return text >= KEYS && text < KEYS + SNAP_ACTIONS ? (enum snap_action)(text - KEYS)
							  : SNAP_OTHER;
}

static int add_time(struct snap_reader *reader, const struct np_pickle *pickle, struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	int64_t *added;
	int64_t time;

	if (!has(reader, KEY_TIME) || !np_pickled_integer(pickle, reader->value[KEY_TIME], &time))
		return NP_OK;
	/* Events have times; where some have none they are in order, and nothing else is known. */
	if (snapshot->times.count + 1 != snapshot->events.count)
		return NP_OK;
	added = np_vec_add(&snapshot->times, err);
	if (!added)
		return NP_E_NOMEM;
	*added = time;
	return NP_OK;
}

static int take_event(struct snap_reader *reader, struct np_pickle *pickle, uint64_t *ret,
		      struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	struct snap_event event = { 0 };
	struct snap_event *added;
	int rc;

	if (snapshot->events.count >= UINT32_MAX - 1)
		return np_fail(err, NP_E_RANGE, "'%s': more than 2^32 events", reader->what);
	event.action = (uint8_t)action_of(np_pickled_text(reader->value[KEY_ACTION]));
	if (!get_size(reader, pickle, KEY_SIZE, &event.size))
		return bad(reader, err, "an event", KEY_SIZE);
	if (!get_address(reader, pickle, event.action == SNAP_OOM ? KEY_DEVICE_FREE : KEY_ADDR,
			 &event.address) &&
	    event.action < SNAP_OOM)
		return bad(reader, err, "an event", KEY_ADDR);
	rc = get_stream(reader, pickle, &event.stream, err);
	if (rc == NP_OK)
		rc = get_pool(reader, pickle, KEY_POOL_ID, &event.pool, err);
	snapshot->pools_of_events |= has(reader, KEY_POOL_ID);
	if (rc == NP_OK)
		rc = get_stack(reader, pickle, &event.stack, err);
	if (rc < 0)
		return rc;
	added = np_vec_add(&snapshot->events, err);
	if (!added)
		return NP_E_NOMEM;
	*added = event;
	*ret = record_of(KIND_EVENT, snapshot->events.count - 1);
	return add_time(reader, pickle, err);
}

static int take_block(struct snap_reader *reader, struct np_pickle *pickle, uint64_t *ret,
		      struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	const char *state =
		np_strtab_text(snapshot->texts, np_pickled_text(reader->value[KEY_STATE]));
	struct snap_block block = { .address = UINT64_MAX };
	struct snap_block *added;
	int rc;

	if (!get_size(reader, pickle, KEY_SIZE, &block.size))
		return bad(reader, err, "a block", KEY_SIZE);
	/* Old versions have no addresses of blocks: they follow each other. */
	if (!get_address(reader, pickle, KEY_ADDRESS, &block.address))
		block.address = UINT64_MAX;
	if (!get_size(reader, pickle, KEY_REQUESTED, &block.requested))
		block.requested = block.size;
	if (strcmp(state, "active_allocated") == 0)
		block.state = SNAP_ALLOCATED;
	else if (strncmp(state, "active_", 7) == 0)
		block.state = SNAP_PENDING;
	else if (strcmp(state, "inactive") == 0)
		block.state = SNAP_INACTIVE;
	else
		return bad(reader, err, "a block", KEY_STATE);
	rc = get_stack(reader, pickle, &block.stack, err);
	if (rc < 0)
		return rc;
	added = np_vec_add(&snapshot->blocks, err);
	if (!added)
		return NP_E_NOMEM;
	*added = block;
	*ret = record_of(KIND_BLOCK, snapshot->blocks.count - 1);
	return NP_OK;
}

/* The blocks of the segment in hand, which were read just before it. */
static int get_blocks(struct snap_reader *reader, struct np_pickle *pickle,
		      struct snap_segment *segment, struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	uint64_t at = segment->address;
	const np_pickled *items;

	if (!has(reader, KEY_BLOCKS) ||
	    np_pickled_type(pickle, reader->value[KEY_BLOCKS]) != NP_PICKLED_LIST)
		return bad(reader, err, "a segment", KEY_BLOCKS);
	items = np_pickled_items(pickle, reader->value[KEY_BLOCKS], &segment->count);
	for (size_t i = 0; i < segment->count; i++) {
		struct snap_block *block;

		if (!is_record(pickle, items[i], KIND_BLOCK) ||
		    (i > 0 && number_of(pickle, items[i]) != segment->first + i))
			return bad(reader, err, "a segment", KEY_BLOCKS);
		if (i == 0)
			segment->first = number_of(pickle, items[0]);
		block = &snapshot->blocks.item[segment->first + i];
		if (block->address == UINT64_MAX)
			block->address = at;
		if (block->address != at || block->size > segment->address + segment->size - at)
			return np_fail(err, NP_E_FORMAT,
				       "'%s': the blocks of the segment at 0x%llx do not fill it",
				       reader->what, (unsigned long long)segment->address);
		at += block->size;
	}
	if (at != segment->address + segment->size)
		return np_fail(err, NP_E_FORMAT,
			       "'%s': the blocks of the segment at 0x%llx do not fill it",
			       reader->what, (unsigned long long)segment->address);
	np_pickled_settle(pickle, reader->value[KEY_BLOCKS], record_of(KIND_USED, 0));
	return NP_OK;
}

static int take_segment(struct snap_reader *reader, struct np_pickle *pickle, uint64_t *ret,
			struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	struct snap_segment segment = { 0 };
	struct snap_segment *added;
	int rc;

	if (!get_size(reader, pickle, KEY_TOTAL_SIZE, &segment.size))
		return bad(reader, err, "a segment", KEY_TOTAL_SIZE);
	if (!get_address(reader, pickle, KEY_ADDRESS, &segment.address))
		return bad(reader, err, "a segment", KEY_ADDRESS);
	if (has(reader, KEY_DEVICE) &&
	    !np_pickled_integer(pickle, reader->value[KEY_DEVICE], &segment.device))
		return bad(reader, err, "a segment", KEY_DEVICE);
	if (has(reader, KEY_SEGMENT_TYPE))
		segment.small =
			strcmp(np_strtab_text(snapshot->texts,
					      np_pickled_text(reader->value[KEY_SEGMENT_TYPE])),
			       "small") == 0;
	if (has(reader, KEY_EXPANDABLE))
		(void)np_pickled_bool(reader->value[KEY_EXPANDABLE], &segment.expandable);
	rc = get_stream(reader, pickle, &segment.stream, err);
	if (rc == NP_OK)
		rc = get_pool(reader, pickle, KEY_SEGMENT_POOL, &segment.pool, err);
	if (rc == NP_OK)
		rc = get_blocks(reader, pickle, &segment, err);
	if (rc < 0)
		return rc;
	added = np_vec_add(&snapshot->segments, err);
	if (!added)
		return NP_E_NOMEM;
	*added = segment;
	*ret = record_of(KIND_SEGMENT, snapshot->segments.count - 1);
	return NP_OK;
}

static int take_annotation(struct snap_reader *reader, const struct np_pickle *pickle,
			   struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	struct snap_annotation mark = { .name = np_pickled_text(reader->value[KEY_NAME]),
					.device = -1 };
	const char *stage =
		np_strtab_text(snapshot->texts, np_pickled_text(reader->value[KEY_STAGE]));
	struct snap_annotation *added;

	/* One that is odd is no reason to refuse the rest. */
	if (!np_pickled_integer(pickle, reader->value[KEY_TIME], &mark.time))
		return NP_OK;
	if (has(reader, KEY_DEVICE))
		(void)np_pickled_integer(pickle, reader->value[KEY_DEVICE], &mark.device);
	mark.start = strcmp(stage, "START") == 0;
	added = np_vec_add(&snapshot->annotations, err);
	if (!added)
		return NP_E_NOMEM;
	*added = mark;
	return NP_OK;
}

/* Which of the known keys there are. */
static void sort_out(struct snap_reader *reader, const np_pickled *pairs, size_t count,
		     size_t *ret_unknown)
{
	reader->has = 0;
	*ret_unknown = 0;
	for (size_t i = 0; i < count; i++) {
		np_str key = np_pickled_text(pairs[2 * i]);

		if (key == NP_STR_NONE || key >= KEYS) {
			(*ret_unknown)++;
			continue;
		}
		reader->value[key] = pairs[2 * i + 1];
		reader->has |= UINT64_C(1) << key;
	}
}

static int take(void *context, struct np_pickle *pickle, const np_pickled *pairs, size_t count,
		uint64_t *ret, struct np_err *err)
{
	struct snap_reader *reader = context;
	size_t unknown;
	int rc;

	sort_out(reader, pairs, count, &unknown);
	if (has(reader, KEY_SETTINGS))
		reader->snapshot->settings = true;
	if (has(reader, KEY_ACTION))
		rc = take_event(reader, pickle, ret, err);
	else if (has(reader, KEY_FILE))
		rc = take_frame(reader, pickle, ret, err);
	else if (has(reader, KEY_TOTAL_SIZE))
		rc = take_segment(reader, pickle, ret, err);
	else if (has(reader, KEY_STATE) && has(reader, KEY_SIZE))
		rc = take_block(reader, pickle, ret, err);
	else if (has(reader, KEY_NAME) && has(reader, KEY_STAGE) && has(reader, KEY_TIME))
		return take_annotation(reader, pickle, err);
	else
		return NP_OK; /* the top, settings */
	reader->snapshot->unknown_keys += unknown;
	return rc;
}

/* Three entries per stream that the writer puts in front are no history. */
static void take_workspace(struct snapshot *snapshot, struct snap_device *device)
{
	while (device->count >= 3) {
		const struct snap_event *event = &snapshot->events.item[device->first];

		if (event[0].action != SNAP_WORKSPACE || event[1].action != SNAP_SEGMENT_ALLOC ||
		    event[2].action != SNAP_ALLOC || event[1].address != event[0].address ||
		    event[2].address != event[0].address)
			return;
		for (size_t i = 0; i < snapshot->segments.count; i++) {
			if (snapshot->segments.item[i].address == event->address)
				snapshot->segments.item[i].workspace = true;
		}
		device->workspace += event->size;
		device->first += 3;
		device->count -= 3;
	}
}

static int walk_trace(struct snap_reader *reader, struct np_pickle *pickle, np_pickled trace,
		      struct np_err *err)
{
	struct snap_device *device = np_vec_add(&reader->snapshot->devices, err);
	size_t count;

	if (!device)
		return NP_E_NOMEM;
	if (is_record(pickle, trace, KIND_TRACE)) {
		const struct snap_trace *events = &reader->traces.item[number_of(pickle, trace)];

		device->first = events->first;
		device->count = events->count;
		take_workspace(reader->snapshot, device);
		/* Of two devices with the same list only one did what is in it. */
		np_pickled_settle(pickle, trace, record_of(KIND_USED, 0));
		return NP_OK;
	}
	if (np_pickled_type(pickle, trace) != NP_PICKLED_LIST)
		return bad(reader, err, "the file", KEY_TRACES);
	(void)np_pickled_items(pickle, trace, &count);
	return count == 0 ? NP_OK : bad(reader, err, "the history of a device", KEY_ACTION);
}

static int check_segments(const struct snap_reader *reader, const struct np_pickle *pickle,
			  np_pickled list, struct np_err *err)
{
	const np_pickled *items;
	size_t count;

	if (np_pickled_type(pickle, list) != NP_PICKLED_LIST)
		return bad(reader, err, "the file", KEY_SEGMENTS);
	items = np_pickled_items(pickle, list, &count);
	for (size_t i = 0; i < count; i++) {
		if (!is_record(pickle, items[i], KIND_SEGMENT) || number_of(pickle, items[i]) != i)
			return bad(reader, err, "the file", KEY_SEGMENTS);
	}
	return count == reader->snapshot->segments.count
		       ? NP_OK
		       : bad(reader, err, "the file", KEY_SEGMENTS);
}

/* The one number that all members of a dictionary have; NP_UNKNOWN: they differ, or have none. */
static int64_t number_of_all(const struct np_pickle *pickle, np_pickled dict)
{
	int64_t number = NP_UNKNOWN;
	size_t count;
	const np_pickled *items = np_pickled_items(pickle, dict, &count);

	for (size_t i = 0; i + 1 < count; i += 2) {
		int64_t one;

		if (!np_pickled_integer(pickle, items[i + 1], &one) || (i > 0 && one != number))
			return NP_UNKNOWN;
		number = one;
	}
	return number;
}

/* What torch writes of its settings; what it calls otherwise is not known. */
static void walk_settings(struct snapshot *snapshot, const struct np_pickle *pickle,
			  np_pickled settings)
{
	size_t count;
	const np_pickled *items = np_pickled_items(pickle, settings, &count);

	if (np_pickled_type(pickle, settings) != NP_PICKLED_DICT)
		return;
	for (size_t i = 0; i + 1 < count; i += 2) {
		const char *name = np_strtab_text(snapshot->texts, np_pickled_text(items[i]));
		int64_t number;

		if (strcmp(name, "max_split_size") == 0 &&
		    np_pickled_integer(pickle, items[i + 1], &number) && number > 0)
			snapshot->max_split = number;
		else if (strcmp(name, "roundup_power2_divisions") == 0)
			snapshot->divisions = number_of_all(pickle, items[i + 1]);
	}
}

/* The top: a dictionary, or of old versions the list of segments alone. */
static int walk(struct snap_reader *reader, struct np_pickle *pickle, np_pickled root,
		struct np_err *err)
{
	const np_pickled *items;
	size_t count;
	size_t unknown;
	int rc;

	if (np_pickled_type(pickle, root) == NP_PICKLED_LIST)
		return check_segments(reader, pickle, root, err);
	if (np_pickled_type(pickle, root) != NP_PICKLED_DICT)
		return bad(reader, err, "the file", KEY_SEGMENTS);
	items = np_pickled_items(pickle, root, &count);
	sort_out(reader, items, count / 2, &unknown);
	if (!has(reader, KEY_SEGMENTS))
		return bad(reader, err, "the file", KEY_SEGMENTS);
	rc = check_segments(reader, pickle, reader->value[KEY_SEGMENTS], err);
	if (rc == NP_OK && has(reader, KEY_SETTINGS))
		walk_settings(reader->snapshot, pickle, reader->value[KEY_SETTINGS]);
	if (rc < 0 || !has(reader, KEY_TRACES))
		return rc;
	if (np_pickled_type(pickle, reader->value[KEY_TRACES]) != NP_PICKLED_LIST)
		return bad(reader, err, "the file", KEY_TRACES);
	items = np_pickled_items(pickle, reader->value[KEY_TRACES], &count);
	for (size_t i = 0; rc == NP_OK && i < count; i++)
		rc = walk_trace(reader, pickle, items[i], err);
	return rc;
}

struct owned_range {
	uint64_t address;
	uint64_t end;
	uint8_t pool; /* that has it; 0: nobody's own, as before the segment was made */
};

static int order_ranges(const void *a, const void *b)
{
	const struct owned_range *left = a;
	const struct owned_range *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static struct owned_range *find_owned(struct owned_range *ranges, size_t count, uint64_t address)
{
	size_t low = 0;

	while (count > 0) {
		size_t half = count / 2;

		if (ranges[low + half].address <= address) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low > 0 && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

/*
 * Where events do not say what pool they are of, those within a segment of a pool are of that: from
 * when the segment was made on.
 */
static int find_pools(struct snapshot *snapshot, size_t device, struct np_err *err)
{
	const struct snap_device *events = &snapshot->devices.item[device];
	NP_VEC(struct owned_range) ranges = { 0 };

	for (size_t i = 0; i < snapshot->segments.count; i++) {
		const struct snap_segment *segment = &snapshot->segments.item[i];
		struct owned_range *added;

		if (segment->pool == 0 || segment->device != (int64_t)device)
			continue;
		added = np_vec_add(&ranges, err);
		if (!added) {
			np_vec_release(&ranges);
			return NP_E_NOMEM;
		}
		*added = (struct owned_range){ segment->address, segment->address + segment->size,
					       segment->pool };
	}
	if (ranges.count > 0)
		qsort(ranges.item, ranges.count, sizeof(ranges.item[0]), order_ranges);
	for (size_t i = events->count; ranges.count > 0 && i > 0; i--) {
		struct snap_event *event = &snapshot->events.item[events->first + i - 1];
		struct owned_range *range = NULL;

		if (event->action < SNAP_OOM)
			range = find_owned(ranges.item, ranges.count, event->address);
		if (!range)
			continue;
		event->pool = range->pool;
		if (event->action == SNAP_SEGMENT_ALLOC)
			range->pool = 0;
	}
	np_vec_release(&ranges);
	return NP_OK;
}

/* The pool that is nobody's own is the first, whatever the first event is of. */
static int add_default_pool(struct snap_reader *reader, struct np_err *err)
{
	uint64_t *added = np_vec_add(&reader->snapshot->pools, err);

	if (!added)
		return NP_E_NOMEM;
	*added = 0;
	return np_numbers_add(&reader->pools, 0, 0, err);
}

struct numbered_stream {
	uint64_t handle;
	uint16_t number;
};

static int order_handles(const void *a, const void *b)
{
	const struct numbered_stream *left = a;
	const struct numbered_stream *right = b;

	return (left->handle > right->handle) - (left->handle < right->handle);
}

/* The allocator goes through its free blocks in the order of their streams' handles. */
static int order_streams(struct snapshot *snapshot, struct np_err *err)
{
	const size_t count = snapshot->streams.count;
	NP_VEC(struct numbered_stream) streams = { 0 };
	NP_VEC(uint16_t) places = { 0 };
	bool ordered = true;
	int rc = NP_OK;

	for (size_t i = 1; i < count; i++)
		ordered &= snapshot->streams.item[i - 1] < snapshot->streams.item[i];
	if (ordered)
		return NP_OK;
	if (np_vec_reserve(&streams, count, err) < 0 || np_vec_reserve(&places, count, err) < 0)
		rc = NP_E_NOMEM;
	for (size_t i = 0; rc == NP_OK && i < count; i++)
		streams.item[i] =
			(struct numbered_stream){ snapshot->streams.item[i], (uint16_t)i };
	if (rc == NP_OK)
		qsort(streams.item, count, sizeof(streams.item[0]), order_handles);
	for (size_t i = 0; rc == NP_OK && i < count; i++) {
		snapshot->streams.item[i] = streams.item[i].handle;
		places.item[streams.item[i].number] = (uint16_t)i;
	}
	for (size_t i = 0; rc == NP_OK && i < snapshot->events.count; i++)
		snapshot->events.item[i].stream = places.item[snapshot->events.item[i].stream];
	for (size_t i = 0; rc == NP_OK && i < snapshot->segments.count; i++)
		snapshot->segments.item[i].stream = places.item[snapshot->segments.item[i].stream];
	np_vec_release(&streams);
	np_vec_release(&places);
	return rc;
}

/* The ids of keys and actions are their places. */
static int add_words(struct np_strtab *texts, struct np_err *err)
{
	np_str id;
	int rc = NP_OK;

	for (size_t i = 1; rc == NP_OK && i < KEYS; i++)
		rc = np_strtab_add(texts, key_names[i], strlen(key_names[i]), &id, err);
	for (size_t i = 0; rc == NP_OK && i < SNAP_ACTIONS; i++)
		rc = np_strtab_add(texts, action_names[i], strlen(action_names[i]), &id, err);
	return rc;
}

/* An event of a file has so many bytes, about. */
#define BYTES_OF_EVENT 64

static int read_all(struct np_pickle *pickle, const char *what, struct snapshot **ret,
		    struct np_err *err)
{
	NP_CLEANUP(snapshot_freep) struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct snap_reader reader = { .snapshot = snapshot,
				      .what = what,
				      .last_stream_value = UINT64_MAX };
	const struct np_pickle_user user = { take, take_list, &reader };
	np_pickled root = 0;
	uint32_t none;
	int rc;

	if (!snapshot)
		return np_fail_nomem(err, "a snapshot");
	snapshot->max_split = snapshot->divisions = NP_UNKNOWN;
	snapshot->texts = np_pickle_texts(pickle);
	rc = add_words(snapshot->texts, err);
	if (rc == NP_OK)
		rc = find_stack(&reader, 0, &none, err);
	if (rc == NP_OK)
		rc = add_default_pool(&reader, err);
	np_vec_expect(&snapshot->events, np_pickle_size(pickle) / BYTES_OF_EVENT);
	if (rc == NP_OK)
		rc = np_pickle_run(pickle, &user, &root, err);
	if (rc == NP_OK)
		rc = walk(&reader, pickle, root, err);
	if (rc == NP_OK)
		rc = order_streams(snapshot, err);
	for (size_t i = 0; rc == NP_OK && !snapshot->pools_of_events && i < snapshot->devices.count;
	     i++)
		rc = find_pools(snapshot, i, err);
	np_map_release(&reader.frame_map);
	np_map_release(&reader.stack_map);
	np_numbers_release(&reader.streams);
	np_numbers_release(&reader.pools);
	np_vec_release(&reader.traces);
	np_vec_release(&reader.records);
	if (rc == NP_OK && snapshot->times.count != snapshot->events.count)
		snapshot->times.count = 0;
	snapshot->trailing = np_pickle_trailing(pickle);
	snapshot->texts = rc == NP_OK ? np_pickle_take_texts(pickle) : NULL;
	if (rc == NP_OK)
		*ret = NP_STEAL(snapshot);
	return rc;
}

int snapshot_read(const char *path, struct snapshot **ret, struct np_err *err)
{
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	int rc = np_pickle_open(path, &pickle, err);

	return rc < 0 ? rc : read_all(pickle, path, ret, err);
}

int snapshot_read_bytes(const void *bytes, size_t length, const char *what, struct snapshot **ret,
			struct np_err *err)
{
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	int rc = np_pickle_open_bytes(bytes, length, what, 0, &pickle, err);

	return rc < 0 ? rc : read_all(pickle, what, ret, err);
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	np_vec_release(&snapshot->events);
	np_vec_release(&snapshot->times);
	np_vec_release(&snapshot->segments);
	np_vec_release(&snapshot->blocks);
	np_vec_release(&snapshot->frames);
	np_vec_release(&snapshot->stack_frames);
	np_vec_release(&snapshot->stacks);
	np_vec_release(&snapshot->devices);
	np_vec_release(&snapshot->annotations);
	np_vec_release(&snapshot->streams);
	np_vec_release(&snapshot->pools);
	np_strtab_free(snapshot->texts);
	free(snapshot);
}

void snapshot_freep(struct snapshot **snapshot)
{
	snapshot_free(*snapshot);
}
