/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of the history and the lines of a watch: whatever the bytes are, what is read of a
 * store holds together, and every question over it ends in an answer or a failure. The first byte
 * chooses.
 */
#include "history/engine/change_points.h"
#include "history/engine/hist_drain.h"
#include "history/engine/hist_judge.h"
#include "history/present/watch_lines.h"

#include "fuzz_file.h"

static void check(const struct hist_store *store)
{
	for (size_t i = 0; i < store->runs.count; i++) {
		const struct hist_run *run = &store->runs.item[i];

		require(run->first_rank + run->rank_count <= store->ranks.count);
		require(i == 0 || store->runs.item[i - 1].captured <= run->captured);
	}
	for (size_t i = 0; i < store->ranks.count; i++)
		require(store->ranks.item[i].run < store->runs.count);
	for (size_t i = 0; i < store->steps.count; i++)
		require(store->steps.item[i].run < store->runs.count);
	for (size_t i = 0; i < store->links.count; i++)
		require(store->links.item[i].run < store->runs.count);
	for (size_t i = 0; i < store->repairs.count; i++)
		require(store->repairs.item[i].run < store->runs.count);
}

static void ask(const struct hist_store *store)
{
	static const char *const figures[] = { "step", "computing", "rank:0", "host:a/idle" };
	const struct hist_choice choice = { 0 };
	struct hist_selection selection = { 0 };
	struct hist_judgement judgement = { 0 };
	struct hist_effects effects = { 0 };
	struct hist_drain drain = { 0 };

	if (hist_select(store, &choice, &selection, NULL) < 0)
		return;
	for (size_t i = 0; i < NP_COUNT(figures); i++) {
		struct hist_series series = { 0 };

		if (hist_series_make(store, &selection, figures[i], &series, NULL) == NP_OK)
			hist_series_release(&series);
	}
	if (hist_effects_measure(store, &selection, "step", &effects, NULL) == NP_OK)
		hist_effects_release(&effects);
	if (hist_drain_plan(store, &selection, 2, &drain, NULL) == NP_OK)
		hist_drain_release(&drain);
	if (store->runs.count == 1 &&
	    hist_judge(store, &selection, store, "step>2%", &judgement, NULL) == NP_OK)
		hist_judgement_release(&judgement);
	hist_selection_release(&selection);
}

static void say_lines(const struct hist_store *store)
{
	for (size_t i = 0; i < store->runs.count; i++) {
		const struct watch_line line = { .store = store, .run = i, .id = (int64_t)i };
		struct np_buf text = NP_BUF_INIT;

		watch_say(&text, &line);
		np_buf_clear(&text);
		watch_put_json(&text, &line);
		require(watch_line_run(text.text, text.length) == (int64_t)i);
		np_buf_release(&text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(hist_store_freep) struct hist_store *store = NULL;
	struct np_err err = NP_ERR_INIT;

	if (size == 0)
		return 0;
	if (data[0] % 2) {
		(void)watch_line_run((const char *)data + 1, size - 1);
		return 0;
	}
	if (!fuzz_write_file(data + 1, size - 1))
		return 0;
	if (hist_store_read(fuzz_path, &store, &err) < 0) {
		require(err.text[0] != '\0');
		return 0;
	}
	check(store);
	ask(store);
	say_lines(store);
	return 0;
}
