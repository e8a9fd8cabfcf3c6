/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what the allocator of a rank did as a memory snapshot of torch_npu: a pickle. */
#include "backend.h"

#include "sim/synth/out/io.h"
#include "sim/synth/out/out.h"

/* The handle of the stream that everything ran on. */
#define STREAM INT64_C(187651234567)

/* Texts and lists of frames are written once, and then referred to. */
#define TEXTS_MOST 64

struct pickle_out {
	struct syn_out out;
	const char *texts[TEXTS_MOST]; /* by number in the memo, NULL for other things */
	size_t remembered;
	size_t stacks[SYN_ASKERS]; /* number in the memo + 1; 0: not written yet */
};

struct snapshot_sink {
	struct syn_sink base;
	const struct syn_rank_info *info;
};

struct snapshot_frame {
	const char *name;
	const char *file;
	int64_t line;
};

/* Innermost first; the rest of each is the same. */
static const struct snapshot_frame own_frames[SYN_ASKERS][2] = {
	[SYN_BY_LAYER] = { { "linear", "/usr/lib/python3.10/site-packages/torch/nn/functional.py",
			     125 },
			   { "forward", "/workspace/model.py", 42 } },
	[SYN_BY_LEAK] = { { "cat", "/usr/lib/python3.10/site-packages/torch/functional.py", 88 },
			  { "remember", "/workspace/metrics.py", 17 } },
	[SYN_BY_BUFFER] = { { "pad", "/usr/lib/python3.10/site-packages/torch/nn/functional.py",
			      4552 },
			    { "load_batch", "/workspace/data.py", 23 } },
	[SYN_BY_TABLE] = { { "zeros", "/usr/lib/python3.10/site-packages/torch/functional.py", 61 },
			   { "build_table", "/workspace/vocab.py", 31 } },
};

static const struct snapshot_frame outer_frames[] = {
	{ "train_step", "/workspace/train.py", 57 },
	{ "main", "/workspace/train.py", 90 },
};

static void put_number(struct pickle_out *pickle, uint64_t number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		syn_put_char(&pickle->out, (char)(number >> (8 * i) & 0xff));
}

static void put_integer(struct pickle_out *pickle, int64_t value)
{
	if (value >= 0 && value < 256) {
		syn_put_char(&pickle->out, 'K');
		put_number(pickle, (uint64_t)value, 1);
	} else if (value >= INT32_MIN && value <= INT32_MAX) {
		syn_put_char(&pickle->out, 'J');
		put_number(pickle, (uint64_t)value, 4);
	} else {
		SYN_PUT(&pickle->out, "\x8a\x08");
		put_number(pickle, (uint64_t)value, 8);
	}
}

static void put_memo(struct pickle_out *pickle, size_t number)
{
	syn_put_char(&pickle->out, number < 256 ? 'h' : 'j');
	put_number(pickle, number, number < 256 ? 1 : 4);
}

/* What was written last gets the next number. */
static size_t remember(struct pickle_out *pickle)
{
	SYN_PUT(&pickle->out, "\x94");
	return pickle->remembered++;
}

static void put_text(struct pickle_out *pickle, const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < pickle->remembered && i < TEXTS_MOST; i++) {
		if (pickle->texts[i] && strcmp(pickle->texts[i], text) == 0) {
			put_memo(pickle, i);
			return;
		}
	}
	SYN_PUT(&pickle->out, "\x8c");
	put_number(pickle, length, 1);
	syn_put_bytes(&pickle->out, text, length);
	if (pickle->remembered < TEXTS_MOST)
		pickle->texts[pickle->remembered] = text;
	(void)remember(pickle);
}

static void put_member(struct pickle_out *pickle, const char *key, int64_t value)
{
	put_text(pickle, key);
	put_integer(pickle, value);
}

static void put_word(struct pickle_out *pickle, const char *key, const char *word)
{
	put_text(pickle, key);
	put_text(pickle, word);
}

static void put_frame(struct pickle_out *pickle, const struct snapshot_frame *frame)
{
	SYN_PUT(&pickle->out, "}(");
	put_word(pickle, "name", frame->name);
	put_word(pickle, "filename", frame->file);
	put_member(pickle, "line", frame->line);
	SYN_PUT(&pickle->out, "u");
}

static void put_frames(struct pickle_out *pickle, enum syn_asker asker)
{
	put_text(pickle, "frames");
	if (pickle->stacks[asker] > 0) {
		put_memo(pickle, pickle->stacks[asker] - 1);
		return;
	}
	SYN_PUT(&pickle->out, "]");
	pickle->stacks[asker] = remember(pickle) + 1;
	if (asker == SYN_BY_NOBODY)
		return;
	SYN_PUT(&pickle->out, "(");
	for (size_t i = 0; i < NP_COUNT(own_frames[asker]); i++)
		put_frame(pickle, &own_frames[asker][i]);
	for (size_t i = 0; i < NP_COUNT(outer_frames); i++)
		put_frame(pickle, &outer_frames[i]);
	SYN_PUT(&pickle->out, "e");
}

static void put_pool(struct pickle_out *pickle)
{
	put_text(pickle, "segment_pool_id");
	put_integer(pickle, 0);
	put_integer(pickle, 0);
	SYN_PUT(&pickle->out, "\x86");
}

static void put_block(struct pickle_out *pickle, const struct syn_caching_block *block)
{
	SYN_PUT(&pickle->out, "}(");
	put_member(pickle, "address", block->address);
	put_member(pickle, "size", block->size);
	put_member(pickle, "requested_size", block->wanted);
	put_word(pickle, "state", block->wanted > 0 ? "active_allocated" : "inactive");
	put_frames(pickle, block->wanted > 0 && block->recorded ? block->asker : SYN_BY_NOBODY);
	SYN_PUT(&pickle->out, "u");
}

static void put_segment(struct pickle_out *pickle, const struct syn_rank_info *info,
			const struct syn_caching *caching, size_t number)
{
	const struct syn_caching_segment *segment = &caching->segments.item[number];
	int64_t used = 0;
	int64_t requested = 0;

	for (size_t i = 0; i < caching->blocks.count; i++) {
		const struct syn_caching_block *block = &caching->blocks.item[i];

		if (block->segment != number || block->wanted == 0)
			continue;
		used += block->size;
		requested += block->wanted;
	}
	SYN_PUT(&pickle->out, "}(");
	put_member(pickle, "device", info->place.device);
	put_member(pickle, "address", segment->address);
	put_member(pickle, "total_size", segment->size);
	put_member(pickle, "allocated_size", used);
	put_member(pickle, "active_size", used);
	put_member(pickle, "requested_size", requested);
	put_member(pickle, "stream", STREAM);
	put_word(pickle, "segment_type", segment->small ? "small" : "large");
	put_pool(pickle);
	put_text(pickle, "is_expandable");
	SYN_PUT(&pickle->out, "\x89");
	put_frames(pickle, SYN_BY_NOBODY);
	put_text(pickle, "blocks");
	SYN_PUT(&pickle->out, "](");
	for (size_t i = 0; i < caching->blocks.count; i++) {
		if (caching->blocks.item[i].segment == number)
			put_block(pickle, &caching->blocks.item[i]);
	}
	SYN_PUT(&pickle->out, "eu");
}

static void put_event(struct pickle_out *pickle, const char *action,
		      const struct syn_caching_event *event)
{
	SYN_PUT(&pickle->out, "}(");
	put_word(pickle, "action", action);
	put_member(pickle, "addr", event->address);
	put_member(pickle, "size", event->bytes);
	put_member(pickle, "stream", STREAM);
	put_frames(pickle, event->asker);
	SYN_PUT(&pickle->out, "u");
}

/* Devices before this one were not used by the process. */
static void put_traces(struct pickle_out *pickle, const struct syn_rank_info *info,
		       const struct syn_caching *caching)
{
	SYN_PUT(&pickle->out, "](");
	for (int32_t i = 0; i < info->place.device; i++)
		SYN_PUT(&pickle->out, "]");
	SYN_PUT(&pickle->out, "](");
	for (size_t i = 0; i < caching->events.count; i++) {
		const struct syn_caching_event *event = &caching->events.item[i];

		switch (event->action) {
		case SYN_CACHING_SEGMENT:
			put_event(pickle, "segment_alloc", event);
			break;
		case SYN_CACHING_TAKE:
			put_event(pickle, "alloc", event);
			break;
		case SYN_CACHING_RETURN:
			put_event(pickle, "free_requested", event);
			put_event(pickle, "free_completed", event);
			break;
		}
	}
	SYN_PUT(&pickle->out, "ee");
}

static void put_snapshot(struct pickle_out *pickle, const struct syn_rank_info *info,
			 const struct syn_caching *caching)
{
	SYN_PUT(&pickle->out, "\x80\x04}(");
	put_text(pickle, "segments");
	SYN_PUT(&pickle->out, "](");
	for (size_t i = 0; i < caching->segments.count; i++)
		put_segment(pickle, info, caching, i);
	SYN_PUT(&pickle->out, "e");
	put_text(pickle, "device_traces");
	put_traces(pickle, info, caching);
	SYN_PUT(&pickle->out, "u.");
}

static int on_caching(struct syn_sink *sink, const struct syn_caching *caching, struct np_err *err)
{
	const struct syn_rank_info *info = ((struct snapshot_sink *)sink)->info;
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct pickle_out pickle = { .out = SYN_OUT_INIT };
	int rc;

	np_buf_printf(&path, "%s/memory_snapshot", info->config->out);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_make_dirs(path.text, err);
	np_buf_printf(&path, "/snapshot_2025-01-09-08-16_%d.pickle", info->place.rank);
	if (rc == NP_OK)
		rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&pickle.out, path.text, false, err);
	if (rc < 0)
		return rc;
	put_snapshot(&pickle, info, caching);
	return syn_out_close(&pickle.out, NP_OK, err);
}

static int open_snapshot(const struct syn_rank_info *info, struct syn_sink **ret,
			 struct np_err *err)
{
	struct snapshot_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return np_fail_nomem(err, "a snapshot");
	sink->base.caching = on_caching;
	sink->info = info;
	*ret = &sink->base;
	return NP_OK;
}

static int close_snapshot(struct syn_sink *sink, int rc, struct np_err *err)
{
	(void)err;
	free(sink);
	return rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->config->snapshot;
}

const struct syn_backend syn_memory_snapshot = {
	.name = "snapshot",
	.is_wanted = is_wanted,
	.open = open_snapshot,
	.close = close_snapshot,
};
