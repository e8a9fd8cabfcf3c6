/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts rows that do not fit into memory through a temporary file (sorter.h). */
#include "sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io.h"
#include "npuprof/buf.h"

#define MEMORY    ((size_t)16 << 20) /* of items before they go to the file */
#define READ_SIZE ((size_t)128 << 10)

void syn_sorter_init(struct syn_sorter *sorter, size_t item_size, syn_compare *compare,
		     const char *dir)
{
	*sorter = (struct syn_sorter){
		.item_size = item_size, .compare = compare, .dir = dir, .fd = -1
	};
}

void syn_sorter_release(struct syn_sorter *sorter)
{
	if (sorter->fd >= 0)
		(void)close(sorter->fd);
	for (size_t i = 0; i < sorter->runs.count; i++)
		free(sorter->runs.item[i].items);
	np_vec_release(&sorter->runs);
	np_vec_release(&sorter->heap);
	free(sorter->items);
	*sorter = (struct syn_sorter){ .fd = -1 };
}

static int open_file(struct syn_sorter *sorter, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	np_buf_printf(&path, "%s/.npuprof-synth.XXXXXX", sorter->dir);
	rc = np_buf_check(&path, err);
	if (rc < 0)
		return rc;
	sorter->fd = mkostemp(path.text, O_CLOEXEC);
	if (sorter->fd < 0)
		return syn_io_fail(err, "write", path.text);
	(void)unlink(path.text);
	return NP_OK;
}

static int write_items(struct syn_sorter *sorter, struct np_err *err)
{
	const char *bytes = sorter->items;
	size_t left = sorter->count * sorter->item_size;

	while (left > 0) {
		ssize_t done = pwrite(sorter->fd, bytes, left, sorter->written);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return syn_io_fail(err, "write into", sorter->dir);
		bytes += done;
		left -= (size_t)done;
		sorter->written += done;
	}
	return NP_OK;
}

static void sort(struct syn_sorter *sorter)
{
	if (sorter->count > 0)
		qsort(sorter->items, sorter->count, sorter->item_size, sorter->compare);
}

static int spill(struct syn_sorter *sorter, struct np_err *err)
{
	struct syn_run *run;
	int rc = sorter->fd < 0 ? open_file(sorter, err) : NP_OK;

	if (rc < 0)
		return rc;
	run = np_vec_add(&sorter->runs, err);
	if (!run)
		return NP_E_NOMEM;
	run->offset = sorter->written;
	run->left = sorter->count;
	sort(sorter);
	rc = write_items(sorter, err);
	sorter->count = 0;
	return rc;
}

static int grow(struct syn_sorter *sorter, struct np_err *err)
{
	size_t capacity = sorter->capacity ? sorter->capacity * 2 : 1024;
	char *grown = realloc(sorter->items, capacity * sorter->item_size);

	if (!grown)
		return np_fail_nomem(err, "events");
	sorter->items = grown;
	sorter->capacity = capacity;
	return NP_OK;
}

int syn_sorter_add(struct syn_sorter *sorter, const void *item, struct np_err *err)
{
	int rc = NP_OK;

	if (sorter->count == sorter->capacity) {
		if (sorter->capacity * sorter->item_size < MEMORY)
			rc = grow(sorter, err);
		else
			rc = spill(sorter, err);
	}
	if (rc < 0)
		return rc;
	memcpy(sorter->items + sorter->count++ * sorter->item_size, item, sorter->item_size);
	sorter->total++;
	return NP_OK;
}

static int fill(struct syn_sorter *sorter, struct syn_run *run, struct np_err *err)
{
	size_t room = READ_SIZE / sorter->item_size;
	size_t count = run->left < room ? run->left : room;
	size_t size = count * sorter->item_size;
	size_t got = 0;

	if (!run->items)
		run->items = malloc(READ_SIZE);
	if (!run->items)
		return np_fail_nomem(err, "events");
	while (got < size) {
		ssize_t done =
			pread(sorter->fd, run->items + got, size - got, run->offset + (off_t)got);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return syn_io_fail(err, "read from", sorter->dir);
		got += (size_t)done;
	}
	run->offset += (int64_t)size;
	run->left -= count;
	run->count = count;
	run->next = 0;
	return NP_OK;
}

static const char *head_of(const struct syn_sorter *sorter, size_t place)
{
	const struct syn_run *run = &sorter->runs.item[sorter->heap.item[place]];

	return run->items + run->next * sorter->item_size;
}

static void sink_down(struct syn_sorter *sorter, size_t place)
{
	for (;;) {
		size_t child = 2 * place + 1;
		size_t moved = sorter->heap.item[place];

		if (child >= sorter->heap.count)
			return;
		if (child + 1 < sorter->heap.count &&
		    sorter->compare(head_of(sorter, child + 1), head_of(sorter, child)) < 0)
			child++;
		if (sorter->compare(head_of(sorter, place), head_of(sorter, child)) <= 0)
			return;
		sorter->heap.item[place] = sorter->heap.item[child];
		sorter->heap.item[child] = moved;
		place = child;
	}
}

int syn_sorter_begin(struct syn_sorter *sorter, struct np_err *err)
{
	if (sorter->runs.count == 0) {
		sort(sorter);
		return NP_OK;
	}
	if (sorter->count > 0 && spill(sorter, err) < 0)
		return NP_E_IO;
	free(sorter->items);
	sorter->items = NULL;
	sorter->capacity = 0;
	for (size_t i = 0; i < sorter->runs.count; i++) {
		size_t *slot = np_vec_add(&sorter->heap, err);
		int rc = slot ? fill(sorter, &sorter->runs.item[i], err) : NP_E_NOMEM;

		if (rc < 0)
			return rc;
		*slot = i;
	}
	for (size_t i = sorter->heap.count; i-- > 0;)
		sink_down(sorter, i);
	return NP_OK;
}

/* The item on top was given out: go on to the one behind it. */
static int advance(struct syn_sorter *sorter, struct np_err *err)
{
	struct syn_run *run = &sorter->runs.item[sorter->heap.item[0]];
	int rc = NP_OK;

	run->next++;
	if (run->next == run->count && run->left > 0)
		rc = fill(sorter, run, err);
	else if (run->next == run->count)
		sorter->heap.item[0] = sorter->heap.item[--sorter->heap.count];
	if (rc == NP_OK)
		sink_down(sorter, 0);
	return rc;
}

int syn_sorter_next(struct syn_sorter *sorter, const void **ret, struct np_err *err)
{
	int rc = NP_OK;

	*ret = NULL;
	if (sorter->runs.count == 0) {
		if (sorter->next < sorter->count)
			*ret = sorter->items + sorter->next++ * sorter->item_size;
		return NP_OK;
	}
	if (sorter->next++ > 0 && sorter->heap.count > 0)
		rc = advance(sorter, err);
	if (rc == NP_OK && sorter->heap.count > 0)
		*ret = head_of(sorter, 0);
	return rc;
}
