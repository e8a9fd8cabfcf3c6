/* SPDX-License-Identifier: Apache-2.0 */
/* Memory snapshots: whatever is read can be played, and what is alive sums to what is allocated. */
#include "memory/engine/composition.h"
#include "memory/engine/mem_replay.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* Whatever was recorded can be replayed, or is refused. */
static void replay(const struct mem_history *history)
{
	struct mem_settings settings = history->settings;
	struct mem_replay found;
	struct mem_history *again;
	struct mem_whatif whatif;
	struct np_err err = NP_ERR_INIT;

	if (mem_replay_find(history, &found, &err) < 0)
		return;
	must(found.calls_equal <= found.calls && found.blocks_equal <= found.blocks);
	settings.expandable = !settings.expandable;
	if (mem_replay_whatif(history, &found, &settings, NP_UNKNOWN, 0, &whatif, &err) == NP_OK)
		must(whatif.replay.peak_reserved >= whatif.replay.end_reserved);
	/* A cap makes it collect garbage and give back. */
	settings = history->settings;
	settings.expandable = false;
	settings.max_split = 32 * MEM_MIB;
	settings.collect_from = 0.5;
	settings.fraction = 0.9;
	settings.page_1g = history->count % 2 == 0;
	if (mem_replay_whatif(history, &found, &settings, (int64_t)history->reserved.bytes, 0,
			      &whatif, &err) == NP_OK)
		must(whatif.replay.ooms_served <= whatif.replay.ooms);
	must(history_new(history->snapshot, history->device, &settings, NULL, &again, &err) ==
	     NP_OK);
	history_free(again);
}

static void play(const struct snapshot *snapshot)
{
	NP_CLEANUP(history_freep) struct mem_history *history = NULL;
	NP_CLEANUP(composition_freep) struct composition *composition = NULL;
	struct np_err err = NP_ERR_INIT;
	uint64_t sum = 0;

	must(history_new(snapshot, 0, NULL, NULL, &history, &err) == NP_OK);
	must(composition_new(history, history->allocated.at, MEM_BY_USER, &composition, &err) ==
	     NP_OK);
	for (size_t i = 0; i < composition->groups.count; i++)
		sum += composition->groups.item[i].bytes;
	must(history->inconsistent > 0 || history->count == 0 || sum == history->allocated.bytes);
	replay(history);
}

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(snapshot_freep) struct snapshot *snapshot = NULL;
	struct np_err err = NP_ERR_INIT;

	if (snapshot_read_bytes(data, size, "fuzz", &snapshot, &err) == NP_OK)
		play(snapshot);
	return 0;
}
