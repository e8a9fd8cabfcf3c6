/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on the curves of a device, its blocks at a moment, its largest blocks. */
#include "mem_picture.h"

#include "composition.h"

#include "npuprof/lang.h"

void mem_picture_free(struct mem_picture *picture)
{
	if (!picture)
		return;
	np_strtab_free(picture->labels);
	np_vec_release(&picture->marks);
	np_vec_release(&picture->map);
	np_vec_release(&picture->largest);
	free(picture);
}

void mem_picture_freep(struct mem_picture **picture)
{
	mem_picture_free(*picture);
}

static int add_mark(struct mem_picture *picture, size_t event, const char *kind, uint64_t bytes,
		    struct np_err *err)
{
	struct mem_mark *mark;

	if (picture->marks.count >= MEM_MARKS_MOST) {
		picture->marks_left_out++;
		return NP_OK;
	}
	mark = np_vec_add(&picture->marks, err);
	if (!mark)
		return NP_E_NOMEM;
	*mark = (struct mem_mark){ event, kind, bytes };
	return NP_OK;
}

/* What a run of segments that are given back has in all. */
static uint64_t released_from(const struct mem_history *history, size_t at)
{
	uint64_t sum = 0;

	for (; at < history->count && history_releases(&history->events[at]); at++)
		sum += history->events[at].size;
	return sum;
}

static int find_marks(struct mem_picture *picture, const struct mem_history *history,
		      struct np_err *err)
{
	int rc = add_mark(picture, history->allocated.at, NP_MSG("peak allocated"),
			  history->allocated.bytes, err);

	if (rc == NP_OK)
		rc = add_mark(picture, history->reserved.at, NP_MSG("peak reserved"),
			      history->reserved.bytes, err);
	for (size_t i = 0; rc == NP_OK && i < history->steps.count; i++)
		rc = add_mark(picture, history->steps.item[i].first, NP_MSG("step"),
			      history->steps.item[i].most.bytes, err);
	for (size_t i = 0; rc == NP_OK && i < history->count; i++) {
		const struct snap_event *event = &history->events[i];

		if (event->action == SNAP_OOM)
			rc = add_mark(picture, i, NP_MSG("out of memory"), event->size, err);
		else if (history_releases(event) && (i == 0 || !history_releases(event - 1)))
			rc = add_mark(picture, i, NP_MSG("released"), released_from(history, i),
				      err);
	}
	return rc;
}

static int name_life(struct mem_picture *picture, const struct mem_history *history,
		     const struct mem_life *life, np_str *ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	if (life->birth == MEM_NONE && life->stack == 0)
		np_buf_add(&buf, "before the record");
	else
		composition_name_stack(history->snapshot, life->stack, MEM_BY_USER, &buf);
	if (np_buf_check(&buf, err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(picture->labels, buf.text, buf.length, ret, err);
}

static const char *state_name(enum mem_state state)
{
	if (state == MEM_FREE)
		return NP_MSG("free");
	return state == MEM_PENDING ? NP_MSG("pending") : NP_MSG("allocated");
}

struct map_order {
	uint64_t address;
	uint32_t block;
};

static int order_map(const void *a, const void *b)
{
	const struct map_order *map_a = a;
	const struct map_order *map_b = b;

	return (map_a->address > map_b->address) - (map_a->address < map_b->address);
}

/* One more piece, or more of the last one where there are too many to tell apart. */
static int add_piece(struct mem_picture *picture, const struct mem_history *history,
		     const struct mem_block *block, uint64_t segment, bool crowded,
		     struct np_err *err)
{
	struct mem_map_piece *last =
		picture->map.count > 0 ? &picture->map.item[picture->map.count - 1] : NULL;
	struct mem_map_piece piece = { .segment = segment,
				       .address = block->address,
				       .size = block->size,
				       .state = state_name((enum mem_state)block->state),
				       .blocks = 1 };
	int rc = NP_OK;

	/* Small blocks side by side: their states are told apart, their stacks are not. */
	if (crowded && last && last->segment == segment && strcmp(last->state, piece.state) == 0) {
		last->size += piece.size;
		last->blocks++;
		last->what = NP_STR_NONE;
		return NP_OK;
	}
	if (picture->map.count >= MEM_MAP_MOST) {
		last->size += last->segment == segment ? piece.size : 0;
		return NP_OK;
	}
	if (block->state != MEM_FREE && block->life < history->lives.count)
		rc = name_life(picture, history, &history->lives.item[block->life], &piece.what,
			       err);
	last = rc == NP_OK ? np_vec_add(&picture->map, err) : NULL;
	if (rc == NP_OK && !last)
		rc = NP_E_NOMEM;
	if (rc == NP_OK)
		*last = piece;
	return rc;
}

static int find_map(struct mem_picture *picture, const struct mem_history *history,
		    const struct mem_layout *layout, struct np_err *err)
{
	NP_VEC(struct map_order) order = { 0 };
	uint64_t segment = 0;
	int rc = NP_OK;

	for (uint32_t i = 0; rc == NP_OK && i < layout->blocks.count; i++) {
		const struct mem_block *block = &layout->blocks.item[i];
		struct map_order *one;

		if (block->state == MEM_SPARE || block->state == MEM_UNMAPPED)
			continue;
		one = np_vec_add(&order, err);
		if (!one)
			rc = NP_E_NOMEM;
		else
			*one = (struct map_order){ block->address, i };
	}
	if (rc == NP_OK && order.count > 0)
		qsort(order.item, order.count, sizeof(order.item[0]), order_map);
	for (size_t i = 0; rc == NP_OK && i < order.count; i++) {
		const struct mem_block *block = &layout->blocks.item[order.item[i].block];

		if (block->previous == MEM_NONE ||
		    layout->blocks.item[block->previous].state == MEM_UNMAPPED)
			segment = block->address;
		rc = add_piece(picture, history, block, segment,
			       order.count > MEM_MAP_MOST && layout_key_small(block->key), err);
	}
	np_vec_release(&order);
	return rc;
}

/* The smallest of a heap is its first. */
static void sift_down(uint32_t *heap, size_t count, size_t at, const struct mem_life *lives)
{
	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		uint32_t held = heap[at];

		if (child + 1 < count && lives[heap[child + 1]].size < lives[heap[child]].size)
			child++;
		if (lives[held].size <= lives[heap[child]].size)
			return;
		heap[at] = heap[child];
		heap[child] = held;
		at = child;
	}
}

static int order_numbers(const void *a, const void *b)
{
	const uint32_t *number_a = a;
	const uint32_t *number_b = b;

	return (*number_a > *number_b) - (*number_a < *number_b);
}

static int find_largest(struct mem_picture *picture, const struct mem_history *history,
			struct np_err *err)
{
	const struct mem_life *lives = history->lives.item;
	uint32_t heap[MEM_LARGEST];
	size_t count = 0;
	int rc = NP_OK;

	for (uint32_t i = 0; i < history->lives.count; i++) {
		if (lives[i].size == 0)
			continue;
		if (count < MEM_LARGEST) {
			heap[count++] = i;
			for (size_t at = count / 2; count == MEM_LARGEST && at > 0; at--)
				sift_down(heap, count, at - 1, lives);
		} else if (lives[i].size > lives[heap[0]].size) {
			heap[0] = i;
			sift_down(heap, count, 0, lives);
		}
	}
	/* Lives are numbered in the order of birth. */
	qsort(heap, count, sizeof(heap[0]), order_numbers);
	for (size_t i = 0; rc == NP_OK && i < count; i++) {
		const struct mem_life *life = &lives[heap[i]];
		struct mem_picture_life *added = np_vec_add(&picture->largest, err);

		if (!added)
			return NP_E_NOMEM;
		*added = (struct mem_picture_life){ .size = life->size,
						    .birth = life->birth,
						    .freed = life->freed };
		rc = name_life(picture, history, life, &added->what, err);
	}
	return rc;
}

int mem_picture_new(const struct mem_history *history, const struct mem_layout *layout,
		    struct mem_picture **ret, struct np_err *err)
{
	NP_CLEANUP(mem_picture_freep) struct mem_picture *picture = calloc(1, sizeof(*picture));
	int rc;

	if (picture)
		picture->labels = np_strtab_new();
	if (!picture || !picture->labels)
		return np_fail_nomem(err, "a picture of memory");
	rc = find_marks(picture, history, err);
	if (rc == NP_OK)
		rc = find_map(picture, history, layout, err);
	if (rc == NP_OK)
		rc = find_largest(picture, history, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(picture);
	return rc;
}
