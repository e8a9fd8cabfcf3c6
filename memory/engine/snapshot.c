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
	KIND_USED, /* a list that was walked */
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

struct snap_reader {
	struct snapshot *snapshot;
	const char *what;
	struct np_map frame_map;
	struct np_map stack_map;
	struct np_numbers streams;
	struct np_numbers pools;
	uint16_t last_stream;
	/* The values of known keys of the dictionary in hand. */
	np_pickled value[KEYS];
	uint64_t has; /* bit of each key */
};

const char *snapshot_action_name(enum snap_action action)
{
	return action_names[action];
}

static uint64_t record_of(enum snap_kind kind, uint64_t number)
{
	return number << KIND_BITS | kind;
}

static bool is_record(const struct np_pickle *pickle, np_pickled value, enum snap_kind kind)
{
	return np_pickled_type(pickle, value) == NP_PICKLED_RECORD &&
	       (np_pickled_record(pickle, value) & ((1U << KIND_BITS) - 1)) == kind;
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
	return has(reader, key) && np_pickled_unsigned(pickle, reader->value[key], ret);
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

static int get_stream(struct snap_reader *reader, const struct np_pickle *pickle, uint16_t *ret,
		      struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	uint64_t handle = 0;
	int64_t negative = 0;
	uint64_t *added;
	uint32_t number;

	if (has(reader, KEY_STREAM) &&
	    !np_pickled_unsigned(pickle, reader->value[KEY_STREAM], &handle) &&
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
	return NP_OK;
}

static int get_pool(struct snap_reader *reader, const struct np_pickle *pickle, enum snap_key key,
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
	number = np_numbers_get(&reader->pools, id);
	if (number == NP_MAP_NONE) {
		if (snapshot->pools.count > UINT8_MAX)
			return np_fail(err, NP_E_RANGE, "'%s': more than 256 memory pools",
				       reader->what);
		number = (uint32_t)snapshot->pools.count;
		added = np_vec_add(&snapshot->pools, err);
		if (!added || np_numbers_add(&reader->pools, id, number, err) < 0)
			return NP_E_NOMEM;
		*added = id;
	}
	*ret = (uint8_t)number;
	return NP_OK;
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
	for (size_t i = 0; i < query.count; i++)
		hash = np_map_mix(hash, query.frames[i]);
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

/* The frames of the dictionary in hand: a list that becomes the number of a stack. */
static int get_stack(struct snap_reader *reader, struct np_pickle *pickle, uint32_t *ret,
		     struct np_err *err)
{
	struct snapshot *snapshot = reader->snapshot;
	size_t first = snapshot->stack_frames.count;
	const np_pickled *items;
	np_pickled list;
	size_t count;
	int rc;

	*ret = 0;
	if (!has(reader, KEY_FRAMES))
		return NP_OK;
	list = reader->value[KEY_FRAMES];
	if (is_record(pickle, list, KIND_STACK)) {
		*ret = (uint32_t)number_of(pickle, list);
		return NP_OK;
	}
	if (np_pickled_type(pickle, list) != NP_PICKLED_LIST)
		return np_pickled_type(pickle, list) == NP_PICKLED_NONE
			       ? NP_OK
			       : bad(reader, err, "an event or block", KEY_FRAMES);
	items = np_pickled_items(pickle, list, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t *frame = np_vec_add(&snapshot->stack_frames, err);

		if (!frame)
			return NP_E_NOMEM;
		if (!is_record(pickle, items[i], KIND_FRAME))
			return bad(reader, err, "a stack", KEY_FILE);
		*frame = (uint32_t)number_of(pickle, items[i]);
	}
	rc = find_stack(reader, first, ret, err);
	if (rc == NP_OK)
		np_pickled_settle(pickle, list, record_of(KIND_STACK, *ret));
	return rc;
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
	const np_pickled *items;

	if (!device)
		return NP_E_NOMEM;
	if (np_pickled_type(pickle, trace) != NP_PICKLED_LIST)
		return bad(reader, err, "the file", KEY_TRACES);
	items = np_pickled_items(pickle, trace, &device->count);
	for (size_t i = 0; i < device->count; i++) {
		if (!is_record(pickle, items[i], KIND_EVENT) ||
		    number_of(pickle, items[i]) != number_of(pickle, items[0]) + i)
			return bad(reader, err, "the history of a device", KEY_ACTION);
	}
	if (device->count > 0)
		device->first = number_of(pickle, items[0]);
	np_pickled_settle(pickle, trace, record_of(KIND_USED, 0));
	take_workspace(reader->snapshot, device);
	return NP_OK;
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
	if (rc < 0 || !has(reader, KEY_TRACES))
		return rc;
	if (np_pickled_type(pickle, reader->value[KEY_TRACES]) != NP_PICKLED_LIST)
		return bad(reader, err, "the file", KEY_TRACES);
	items = np_pickled_items(pickle, reader->value[KEY_TRACES], &count);
	for (size_t i = 0; rc == NP_OK && i < count; i++)
		rc = walk_trace(reader, pickle, items[i], err);
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

static int read_all(struct np_pickle *pickle, const char *what, struct snapshot **ret,
		    struct np_err *err)
{
	NP_CLEANUP(snapshot_freep) struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct snap_reader reader = { .snapshot = snapshot, .what = what };
	np_pickled root = 0;
	uint32_t none;
	int rc;

	if (!snapshot)
		return np_fail_nomem(err, "a snapshot");
	snapshot->texts = np_pickle_texts(pickle);
	rc = add_words(snapshot->texts, err);
	if (rc == NP_OK)
		rc = find_stack(&reader, 0, &none, err);
	if (rc == NP_OK)
		rc = np_pickle_run(pickle, take, &reader, &root, err);
	if (rc == NP_OK)
		rc = walk(&reader, pickle, root, err);
	np_map_release(&reader.frame_map);
	np_map_release(&reader.stack_map);
	np_numbers_release(&reader.streams);
	np_numbers_release(&reader.pools);
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
