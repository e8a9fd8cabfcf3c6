/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates the memory that a device holds over the steps (device_memory.h). */
#include "device_memory.h"

#include "sim/synth/plan/plants.h"
#include "sim/synth/plan/rng.h"

#define BASE_BYTES  (INT64_C(12) << 30)
#define BASE_PIECES 6
#define LAYER_BYTES (INT64_C(96) << 20)
#define POOL_BYTES  (INT64_C(512) << 20)

/* What the allocator adds to every request: pieces that ask for less fill their blocks. */
#define PAD 32

/* A piece while it is taken. */
struct memory_request {
	const char *name;
	int64_t size;
	np_ns at;
	enum syn_asker asker;
};

int syn_memory_init(struct syn_memory *memory, const struct syn_config *config, int32_t rank,
		    struct np_err *err)
{
	int64_t address;
	int64_t size;
	int rc = NP_OK;

	*memory = (struct syn_memory){
		.config = config, .rank = rank, .allocated = BASE_BYTES, .last = INT64_MIN
	};
	memory->leak = (int64_t)syn_scalar(config, SYN_LEAK, rank, 0.0);
	memory->fragment = (int64_t)syn_scalar(config, SYN_FRAGMENT, rank, 0.0);
	memory->table = (int64_t)syn_scalar(config, SYN_STAGE_MEMORY, rank, 0.0);
	for (int i = 0; rc == NP_OK && config->snapshot && i < BASE_PIECES; i++)
		rc = syn_caching_take(&memory->caching, BASE_BYTES / BASE_PIECES - PAD,
				      SYN_BY_NOBODY, &address, &size, err);
	syn_caching_record(&memory->caching);
	return rc;
}

void syn_memory_release(struct syn_memory *memory)
{
	np_vec_release(&memory->live);
	syn_caching_release(&memory->caching);
}

/* A snapshot has events in an order; so that tables have the same one, no two are at once. */
static np_ns settle(struct syn_memory *memory, np_ns at)
{
	if (memory->config->snapshot && at <= memory->last)
		at = memory->last + 1;
	memory->last = at;
	return at;
}

static int allocate(struct syn_memory *memory, const struct memory_request *request,
		    struct syn_live_piece *ret, struct np_err *err)
{
	int64_t size = request->size;

	if (memory->config->snapshot &&
	    syn_caching_take(&memory->caching, request->size - PAD, request->asker, &ret->address,
			     &size, err) < 0)
		return NP_E_NOMEM;
	memory->allocated += size;
	ret->event = (struct syn_memory_event){
		.name = request->name,
		.size = size,
		.allocate_ns = settle(memory, request->at),
		.release_ns = NP_UNKNOWN,
		.total_before = memory->allocated,
		.total_after = NP_UNKNOWN,
		/* The allocator takes memory in large pieces. */
		.reserved = (memory->allocated / POOL_BYTES + 1) * POOL_BYTES,
		.reserved_after = NP_UNKNOWN,
	};
	if (memory->config->snapshot)
		ret->event.reserved = memory->caching.reserved;
	return NP_OK;
}

/* Give back the piece at `i` of those that live. */
static int release(struct syn_memory *memory, size_t i, np_ns at, syn_memory_tell *tell,
		   void *context, struct np_err *err)
{
	struct syn_live_piece live = memory->live.item[i];

	memory->live.item[i] = memory->live.item[--memory->live.count];
	memory->allocated -= live.event.size;
	live.event.release_ns = settle(memory, at);
	live.event.total_after = memory->allocated;
	live.event.reserved_after = live.event.reserved;
	if (memory->config->snapshot) {
		if (syn_caching_return(&memory->caching, live.address, err) < 0)
			return NP_E_NOMEM;
		live.event.reserved_after = memory->caching.reserved;
	}
	return tell(context, &live.event, err);
}

/* Layers are not all alike where that is looked at. */
static int64_t layer_bytes(const struct syn_memory *memory, const struct syn_item *item)
{
	const struct syn_key key = { memory->config->seed, SYN_FOR_NAME, 7, item->layer, 0 };

	if (!memory->config->snapshot)
		return LAYER_BYTES;
	return LAYER_BYTES + (int64_t)(syn_bits(&key) % 4096) * 512;
}

static int enter_layer(struct syn_memory *memory, const struct syn_item *item, struct np_err *err)
{
	struct syn_live_piece *live = np_vec_add(&memory->live, err);

	if (!live)
		return NP_E_NOMEM;
	live->micro = item->micro;
	live->layer = item->layer;
	return allocate(memory,
			&(struct memory_request){ "aten::empty", layer_bytes(memory, item),
						  item->host_ns, SYN_BY_LAYER },
			live, err);
}

static int leave_layer(struct syn_memory *memory, const struct syn_item *item,
		       syn_memory_tell *tell, void *context, struct np_err *err)
{
	for (size_t i = memory->live.count; i-- > 0;) {
		if (memory->live.item[i].micro == item->micro &&
		    memory->live.item[i].layer == item->layer)
			return release(memory, i, item->torch_ns, tell, context, err);
	}
	return NP_OK;
}

static bool same_layer(const struct syn_item *a, const struct syn_item *b)
{
	return a->pass == b->pass && a->layer == b->layer && a->micro == b->micro;
}

/* What is never given back. */
static int keep(struct syn_memory *memory, const struct memory_request *request,
		syn_memory_tell *tell, void *context, struct np_err *err)
{
	struct syn_live_piece piece = { 0 };
	int rc;

	if (request->size <= 0)
		return NP_OK;
	rc = allocate(memory, request, &piece, err);
	return rc == NP_OK ? tell(context, &piece.event, err) : rc;
}

/* Of no layer. */
#define NO_LAYER UINT16_MAX

static int take_buffers(struct syn_memory *memory, np_ns at, struct np_err *err)
{
	int64_t size = memory->fragment + memory->fragment / 8 * (int64_t)memory->steps;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && memory->fragment > 0 && i < SYN_MEMORY_BUFFERS; i++) {
		struct syn_live_piece *live = np_vec_add(&memory->live, err);

		if (!live)
			return NP_E_NOMEM;
		live->layer = live->micro = NO_LAYER;
		rc = allocate(memory,
			      &(struct memory_request){ "aten::constant_pad_nd", size, at,
							SYN_BY_BUFFER },
			      live, err);
	}
	return rc;
}

static int return_buffers(struct syn_memory *memory, np_ns at, syn_memory_tell *tell, void *context,
			  struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = memory->live.count; rc == NP_OK && i-- > 0;) {
		if (memory->live.item[i].layer == NO_LAYER)
			rc = release(memory, i, at, tell, context, err);
	}
	return rc;
}

int syn_memory_step(struct syn_memory *memory, const struct syn_rank *rank, syn_memory_tell *tell,
		    void *context, struct np_err *err)
{
	const struct syn_program *program = &rank->program;
	const struct memory_request table = { "aten::embedding",
					      memory->steps == 0 ? memory->table : 0, rank->data_ns,
					      SYN_BY_TABLE };
	const struct memory_request leak = { "aten::cat", memory->leak, rank->data_ns,
					     SYN_BY_LEAK };
	int rc = keep(memory, &table, tell, context, err);

	if (rc == NP_OK)
		rc = keep(memory, &leak, tell, context, err);
	if (rc == NP_OK)
		rc = take_buffers(memory, rank->data_ns, err);
	for (size_t i = 0; i < program->items.count && rc == NP_OK; i++) {
		const struct syn_item *item = &program->items.item[i];
		bool first = i == 0 || !same_layer(item, item - 1);
		bool last = i + 1 == program->items.count || !same_layer(item, item + 1);

		if (first && item->pass == SYN_PASS_FORWARD)
			rc = enter_layer(memory, item, err);
		if (rc == NP_OK && last && item->pass == SYN_PASS_BACKWARD)
			rc = leave_layer(memory, item, tell, context, err);
	}
	if (rc == NP_OK)
		rc = return_buffers(memory, rank->step_end_ns, tell, context, err);
	memory->steps++;
	return rc;
}
