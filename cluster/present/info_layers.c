/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the layers that were found within found iterations: a line for ranks that are alike. */
#include "info_layers.h"

#include "npuprof/grid.h"
#include "npuprof/lang.h"
#include "npuprof/ranges.h"

#include <inttypes.h>

/* Layers of two ranks are alike if they are equally many, of equally many members. */
static bool are_alike(const struct np_rank *a, const struct np_rank *b)
{
	if (a->layers.count != b->layers.count)
		return false;
	for (size_t i = 0; i < a->layers.count; i++) {
		const struct np_layer *left = &a->layers.item[i];
		const struct np_layer *right = &b->layers.item[i];

		if (left->members != right->members || left->repeats != right->repeats ||
		    left->stretches != right->stretches || left->of != right->of ||
		    left->depth != right->depth)
			return false;
	}
	return true;
}

/* The ranks from `index` on that are like it, and one before it that is: then it was shown. */
static bool gather(const struct np_run *run, size_t index, size_t *alike, size_t *ret_count)
{
	*ret_count = 0;
	for (size_t i = 0; i < run->sources.count; i++) {
		if (!run->ranks[i] || !are_alike(run->ranks[index], run->ranks[i]))
			continue;
		if (i < index)
			return false;
		alike[(*ret_count)++] = i;
	}
	return true;
}

/* The mean over ranks; NP_UNKNOWN if one does not know it. */
static np_ns mean_time(const struct np_run *run, const size_t *alike, size_t count, size_t layer)
{
	np_ns sum = 0;

	for (size_t i = 0; i < count; i++)
		sum = np_plus(sum, run->ranks[alike[i]]->layers.item[layer].time);
	return sum == NP_UNKNOWN ? NP_UNKNOWN : sum / (np_ns)count;
}

static void put_rows(struct np_grid *grid, const struct np_run *run, const size_t *alike,
		     size_t count)
{
	const struct np_rank *rank = run->ranks[alike[0]];
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;
	int64_t *ids = malloc((count + 1) * sizeof(*ids));

	for (size_t i = 0; ids && i < count; i++)
		ids[i] = run->ranks[alike[i]]->id;
	if (ids)
		np_ranges_format(&names, ids, count);
	free(ids);
	for (size_t i = 0; i < rank->layers.count; i++) {
		const struct np_layer *layer = &rank->layers.item[i];

		np_grid_cell(grid, i == 0 && names.text ? names.text : "");
		np_grid_printf(grid, "%s%" PRIu32 " x %" PRIu32, layer->depth > 0 ? "  " : "",
			       layer->repeats, layer->members);
		np_grid_printf(grid, "%" PRIu32, layer->stretches);
		np_grid_duration(grid, mean_time(run, alike, count, i));
		np_grid_printf(grid, "%.0f %%",
			       100.0 * layer->repeats * layer->members / layer->of);
	}
}

int info_put_layers(struct np_page *page, const struct np_run *run, struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "ranks", NP_LEFT, true },       { "repeats x kernels", NP_LEFT, false },
		{ "stretches", NP_RIGHT, false }, { "time each", NP_RIGHT, false },
		{ "share", NP_RIGHT, false },
	};
	size_t *alike = malloc((run->sources.count + 1) * sizeof(*alike));
	struct np_grid *grid = NULL;

	if (!alike)
		return np_fail_nomem(err, "layers");
	for (size_t i = 0; i < run->sources.count; i++) {
		size_t count;

		if (!run->ranks[i] || run->ranks[i]->layers.count == 0 ||
		    !gather(run, i, alike, &count))
			continue;
		if (!grid) {
			grid = np_grid_new(columns, NP_COUNT(columns));
			if (!grid)
				break;
			np_page_add(
				page,
				"Layers: what repeats within iterations that were found, and within that")
				->grid = grid;
		}
		put_rows(grid, run, alike, count);
	}
	free(alike);
	return NP_OK;
}

void info_put_layers_json(struct np_jsonout *out, const struct np_rank *rank)
{
	np_jsonout_array(out, "layers");
	for (size_t i = 0; i < rank->layers.count; i++) {
		const struct np_layer *layer = &rank->layers.item[i];

		np_jsonout_object(out, NULL);
		np_jsonout_integer(out, "repeats", layer->repeats);
		np_jsonout_integer(out, "members", layer->members);
		np_jsonout_integer(out, "stretches", layer->stretches);
		np_jsonout_integer(out, "of", layer->of);
		np_jsonout_integer(out, "depth", layer->depth);
		np_jsonout_integer(out, "time_ns", layer->time);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}
