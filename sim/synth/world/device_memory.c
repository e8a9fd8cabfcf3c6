/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates the memory that a device holds over the steps (device_memory.h). */
#include "device_memory.h"

#include "sim/synth/plan/plants.h"

#define BASE_BYTES  (INT64_C(12) << 30)
#define LAYER_BYTES (INT64_C(96) << 20)
#define POOL_BYTES  (INT64_C(512) << 20)

void syn_memory_init(struct syn_memory *memory, const struct syn_config *config, int32_t rank)
{
	*memory = (struct syn_memory){ .allocated = BASE_BYTES };
	memory->leak = (int64_t)syn_scalar(config, SYN_LEAK, rank, 0.0);
}

void syn_memory_release(struct syn_memory *memory)
{
	np_vec_release(&memory->live);
}

static struct syn_memory_event allocate(struct syn_memory *memory, const char *name, int64_t size,
					np_ns at)
{
	memory->allocated += size;
	return (struct syn_memory_event){
		.name = name,
		.size = size,
		.allocate_ns = at,
		.release_ns = NP_UNKNOWN,
		.total_before = memory->allocated,
		.total_after = NP_UNKNOWN,
		/* The allocator takes memory in large pieces. */
		.reserved = (memory->allocated / POOL_BYTES + 1) * POOL_BYTES,
	};
}

static int enter_layer(struct syn_memory *memory, const struct syn_item *item, struct np_err *err)
{
	struct syn_live_layer *live = np_vec_add(&memory->live, err);

	if (!live)
		return NP_E_NOMEM;
	live->micro = item->micro;
	live->layer = item->layer;
	live->event = allocate(memory, "aten::empty", LAYER_BYTES, item->host_ns);
	return NP_OK;
}

static int leave_layer(struct syn_memory *memory, const struct syn_item *item,
		       syn_memory_tell *tell, void *context, struct np_err *err)
{
	for (size_t i = memory->live.count; i-- > 0;) {
		struct syn_live_layer live = memory->live.item[i];

		if (live.micro != item->micro || live.layer != item->layer)
			continue;
		memory->live.item[i] = memory->live.item[--memory->live.count];
		memory->allocated -= live.event.size;
		live.event.release_ns = item->torch_ns;
		live.event.total_after = memory->allocated;
		return tell(context, &live.event, err);
	}
	return NP_OK;
}

static bool same_layer(const struct syn_item *a, const struct syn_item *b)
{
	return a->pass == b->pass && a->layer == b->layer && a->micro == b->micro;
}

static int leak(struct syn_memory *memory, np_ns at, syn_memory_tell *tell, void *context,
		struct np_err *err)
{
	struct syn_memory_event event;

	if (memory->leak <= 0)
		return NP_OK;
	event = allocate(memory, "aten::cat", memory->leak, at);
	return tell(context, &event, err);
}

int syn_memory_step(struct syn_memory *memory, const struct syn_rank *rank, syn_memory_tell *tell,
		    void *context, struct np_err *err)
{
	const struct syn_program *program = &rank->program;
	int rc = leak(memory, rank->data_ns, tell, context, err);

	for (size_t i = 0; i < program->items.count && rc == NP_OK; i++) {
		const struct syn_item *item = &program->items.item[i];
		bool first = i == 0 || !same_layer(item, item - 1);
		bool last = i + 1 == program->items.count || !same_layer(item, item + 1);

		if (first && item->pass == SYN_PASS_FORWARD)
			rc = enter_layer(memory, item, err);
		if (rc == NP_OK && last && item->pass == SYN_PASS_BACKWARD)
			rc = leave_layer(memory, item, tell, context, err);
	}
	return rc;
}
