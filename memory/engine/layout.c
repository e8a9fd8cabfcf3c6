/* SPDX-License-Identifier: Apache-2.0 */
/* The caching allocator: blocks are cut, merged, mapped and given back by its rules. */
#include "layout.h"

/* The virtual range of expandable segments: large enough never to be full. */
#define VIRTUAL_RANGE (UINT64_C(72) << 30)

#define ADDRESS_MOST (UINT64_C(1) << 62)

#define SMALL_BIT (UINT32_C(1) << 16)

/* Nobody's own; a snapshot has it first. */
#define DEFAULT_POOL 0

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

uint32_t layout_key(uint8_t pool, bool small, uint16_t stream)
{
	return (uint32_t)pool << 17 | (small ? SMALL_BIT : 0) | stream;
}

bool layout_key_small(uint32_t key)
{
	return key & SMALL_BIT;
}

uint8_t layout_key_pool(uint32_t key)
{
	return (uint8_t)(key >> 17);
}

uint16_t layout_key_stream(uint32_t key)
{
	return (uint16_t)key;
}

uint64_t layout_round(const struct mem_settings *settings, uint64_t requested)
{
	uint64_t size = requested + settings->pad;
	uint64_t power;

	if (size < MEM_GRANULE)
		return MEM_GRANULE;
	if (settings->divisions <= 1 || size <= MEM_GRANULE * settings->divisions)
		return round_up(size, MEM_GRANULE);
	if ((size & (size - 1)) == 0)
		return size;
	power = UINT64_C(1) << (63 - __builtin_clzll(size));
	return round_up(size, power / settings->divisions);
}

uint64_t layout_page(const struct mem_settings *settings, bool small)
{
	if (small)
		return MEM_SMALL_SEGMENT;
	if (settings->page_1g)
		return MEM_GIB;
	return settings->page ? settings->page : settings->large_segment;
}

/* The table of addresses: linear probing; what follows a removed slot moves up. */

static size_t slot_of(const struct mem_table *table, uint64_t address)
{
	return (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - table->bits));
}

static uint32_t table_find(const struct mem_table *table, uint64_t address)
{
	size_t mask = ((size_t)1 << table->bits) - 1;

	if (!table->slot)
		return MEM_NONE;
	for (size_t i = slot_of(table, address); table->slot[i].block != MEM_NONE;
	     i = (i + 1) & mask) {
		if (table->slot[i].address == address)
			return table->slot[i].block;
	}
	return MEM_NONE;
}

static void table_put(struct mem_table *table, uint64_t address, uint32_t block)
{
	size_t mask = ((size_t)1 << table->bits) - 1;
	size_t i = slot_of(table, address);

	while (table->slot[i].block != MEM_NONE)
		i = (i + 1) & mask;
	table->slot[i] = (struct mem_slot){ address, block };
}

static int table_add(struct mem_table *table, uint64_t address, uint32_t block, struct np_err *err)
{
	if (!table->slot || table->count * 4 >= (size_t)3 << table->bits) {
		struct mem_table grown = { .bits = table->slot ? table->bits + 1 : 6,
					   .count = table->count };
		size_t size = (size_t)1 << grown.bits;

		grown.slot = malloc(size * sizeof(*grown.slot));
		if (!grown.slot)
			return np_fail_nomem(err, "blocks of memory");
		for (size_t i = 0; i < size; i++)
			grown.slot[i].block = MEM_NONE;
		for (size_t i = 0; table->slot && i < (size_t)1 << table->bits; i++) {
			if (table->slot[i].block != MEM_NONE)
				table_put(&grown, table->slot[i].address, table->slot[i].block);
		}
		free(table->slot);
		*table = grown;
	}
	table_put(table, address, block);
	table->count++;
	return NP_OK;
}

static void table_remove(struct mem_table *table, uint64_t address)
{
	size_t mask = ((size_t)1 << table->bits) - 1;
	size_t hole;

	if (table_find(table, address) == MEM_NONE)
		return;
	hole = slot_of(table, address);
	while (table->slot[hole].address != address)
		hole = (hole + 1) & mask;
	for (size_t i = (hole + 1) & mask; table->slot[i].block != MEM_NONE; i = (i + 1) & mask) {
		size_t home = slot_of(table, table->slot[i].address);

		/* It may move into the hole unless its home lies behind that. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			table->slot[hole] = table->slot[i];
			hole = i;
		}
	}
	table->slot[hole].block = MEM_NONE;
	table->count--;
}

void layout_init(struct mem_layout *layout, const struct mem_settings *settings)
{
	*layout = (struct mem_layout){ .settings = *settings,
				       .spare = MEM_NONE,
				       .next_address = UINT64_C(1) << 40 };
}

void layout_release(struct mem_layout *layout)
{
	np_vec_release(&layout->blocks);
	mem_order_release(&layout->free);
	mem_order_release(&layout->unmapped);
	mem_order_release(&layout->heads);
	np_vec_release(&layout->calls);
	free(layout->live.slot);
	free(layout->vacant.slot);
	layout->live = layout->vacant = (struct mem_table){ 0 };
}

uint32_t layout_find(const struct mem_layout *layout, uint64_t recorded)
{
	return table_find(&layout->live, recorded);
}

/* Free blocks are ordered by size; unmapped ones by address alone. */
static struct mem_free entry_of(const struct mem_block *block, uint32_t number)
{
	return (struct mem_free){ .size = block->state == MEM_UNMAPPED ? 0 : block->size,
				  .address = block->address,
				  .key = block->key,
				  .block = number };
}

/* A block becomes known as free or unmapped; its state is set. */
static int list(struct mem_layout *layout, uint32_t number, struct np_err *err)
{
	struct mem_block *block = &layout->blocks.item[number];

	if (block->state == MEM_UNMAPPED)
		return mem_order_add(&layout->unmapped, entry_of(block, number), err);
	block->since = layout->searches;
	if (table_add(&layout->vacant, block->address, number, err) < 0)
		return NP_E_NOMEM;
	return mem_order_add(&layout->free, entry_of(block, number), err);
}

static void unlist(struct mem_layout *layout, uint32_t number)
{
	const struct mem_block *block = &layout->blocks.item[number];
	const struct mem_free entry = entry_of(block, number);

	if (block->state == MEM_UNMAPPED) {
		mem_order_remove(&layout->unmapped, &entry);
		return;
	}
	table_remove(&layout->vacant, block->address);
	mem_order_remove(&layout->free, &entry);
}

static int new_block(struct mem_layout *layout, const struct mem_block *what, uint32_t *ret,
		     struct np_err *err)
{
	if (layout->spare != MEM_NONE) {
		*ret = layout->spare;
		layout->spare = layout->blocks.item[*ret].next;
	} else {
		if (!np_vec_add(&layout->blocks, err))
			return NP_E_NOMEM;
		*ret = (uint32_t)(layout->blocks.count - 1);
	}
	layout->blocks.item[*ret] = *what;
	return NP_OK;
}

static void drop_block(struct mem_layout *layout, uint32_t number)
{
	layout->blocks.item[number] =
		(struct mem_block){ .state = MEM_SPARE, .next = layout->spare };
	layout->spare = number;
}

/* Cut a block that is not listed behind `size` bytes: what follows is a block of its state. */
static int cut_block(struct mem_layout *layout, uint32_t number, uint64_t size, uint32_t *ret_rest,
		     struct np_err *err)
{
	struct mem_block rest = layout->blocks.item[number];
	struct mem_block *block;

	rest.address += size;
	rest.size -= size;
	rest.previous = number;
	if (new_block(layout, &rest, ret_rest, err) < 0)
		return NP_E_NOMEM;
	block = &layout->blocks.item[number];
	block->size = size;
	block->next = *ret_rest;
	if (rest.next != MEM_NONE)
		layout->blocks.item[rest.next].previous = *ret_rest;
	return NP_OK;
}

/* Make the block one with its neighbours of the same state; it is not listed, they are. */
static uint32_t merge(struct mem_layout *layout, uint32_t number)
{
	struct mem_block *blocks = layout->blocks.item;
	uint32_t next = blocks[number].next;
	uint32_t previous = blocks[number].previous;

	if (next != MEM_NONE && blocks[next].state == blocks[number].state) {
		unlist(layout, next);
		blocks[number].size += blocks[next].size;
		blocks[number].next = blocks[next].next;
		if (blocks[number].next != MEM_NONE)
			blocks[blocks[number].next].previous = number;
		drop_block(layout, next);
	}
	if (previous != MEM_NONE && blocks[previous].state == blocks[number].state) {
		unlist(layout, previous);
		blocks[previous].size += blocks[number].size;
		blocks[previous].next = blocks[number].next;
		if (blocks[previous].next != MEM_NONE)
			blocks[blocks[previous].next].previous = previous;
		drop_block(layout, number);
		number = previous;
	}
	return number;
}

static int note_call(struct mem_layout *layout, uint64_t address, uint64_t size, bool grows,
		     struct np_err *err)
{
	struct mem_call *call;

	layout->grown += grows;
	if (!layout->keep_calls)
		return NP_OK;
	call = np_vec_add(&layout->calls, err);
	if (!call)
		return NP_E_NOMEM;
	*call = (struct mem_call){ address, size, grows };
	return NP_OK;
}

static int add_head(struct mem_layout *layout, uint32_t number, struct np_err *err)
{
	const struct mem_free head = { .address = layout->blocks.item[number].address,
				       .block = number };

	return mem_order_add(&layout->heads, head, err);
}

static void remove_head(struct mem_layout *layout, uint32_t number)
{
	const struct mem_free head = { .address = layout->blocks.item[number].address };

	mem_order_remove(&layout->heads, &head);
}

/* The last block of the last segment that begins below an address, or MEM_NONE. */
static uint32_t block_below(const struct mem_layout *layout, uint64_t address)
{
	const struct mem_free what = { .address = address };
	const struct mem_free *head = mem_order_before(&layout->heads, &what);
	uint32_t number = head ? head->block : MEM_NONE;

	while (number != MEM_NONE && layout->blocks.item[number].next != MEM_NONE)
		number = layout->blocks.item[number].next;
	return number;
}

int layout_add_segment(struct mem_layout *layout, uint64_t address, uint64_t size, uint32_t key,
		       bool join, bool *ret_fits, struct np_err *err)
{
	struct mem_block block = { .address = address,
				   .size = size,
				   .base = address,
				   .previous = MEM_NONE,
				   .next = MEM_NONE,
				   .key = key,
				   .life = MEM_NONE };
	const struct mem_free what = { .address = address };
	const struct mem_free *above =
		mem_order_at(&layout->heads, mem_order_find(&layout->heads, &what));
	const struct mem_block *blocks = layout->blocks.item;
	uint32_t below = block_below(layout, address);
	uint32_t number;

	*ret_fits = size > 0 && (!above || above->address >= address + size) &&
		    (below == MEM_NONE || blocks[below].address + blocks[below].size <= address);
	if (!*ret_fits)
		return NP_OK;
	if (join && below != MEM_NONE && blocks[below].key == key &&
	    blocks[below].address + blocks[below].size == address)
		block.previous = below;
	if (join && above && above->address == address + size && blocks[above->block].key == key)
		block.next = above->block;
	if (new_block(layout, &block, &number, err) < 0)
		return NP_E_NOMEM;
	if (block.next != MEM_NONE) {
		remove_head(layout, block.next);
		layout->blocks.item[block.next].previous = number;
	}
	if (block.previous != MEM_NONE)
		layout->blocks.item[block.previous].next = number;
	else if (add_head(layout, number, err) < 0)
		return NP_E_NOMEM;
	layout->reserved += size;
	return list(layout, merge(layout, number), err);
}

/* The free block that has all of these bytes, or MEM_NONE. */
static uint32_t find_around(const struct mem_layout *layout, uint64_t address, uint64_t size)
{
	uint32_t number = table_find(&layout->vacant, address);

	if (number != MEM_NONE)
		return layout->blocks.item[number].size >= size ? number : MEM_NONE;
	/* Mostly it begins a little before, as blocks of expandable segments are aligned. */
	for (uint64_t before = MEM_GRANULE; before < MEM_NPU_ALIGN && before < address;
	     before += MEM_GRANULE) {
		number = table_find(&layout->vacant, address - before);
		if (number != MEM_NONE)
			return layout->blocks.item[number].size >= before + size ? number
										 : MEM_NONE;
	}
	for (uint32_t i = 0; i < layout->blocks.count; i++) {
		const struct mem_block *block = &layout->blocks.item[i];

		if (block->state == MEM_FREE && block->address <= address &&
		    address + size <= block->address + block->size)
			return i;
	}
	return MEM_NONE;
}

/* Cut [address, address + size) out of an unlisted block; what is before and behind is listed. */
static int cut_out(struct mem_layout *layout, uint32_t *number, uint64_t address, uint64_t size,
		   struct np_err *err)
{
	uint32_t rest;
	uint64_t before = address - layout->blocks.item[*number].address;

	if (before > 0) {
		if (cut_block(layout, *number, before, &rest, err) < 0 ||
		    list(layout, *number, err) < 0)
			return NP_E_NOMEM;
		*number = rest;
	}
	if (layout->blocks.item[*number].size > size) {
		if (cut_block(layout, *number, size, &rest, err) < 0 || list(layout, rest, err) < 0)
			return NP_E_NOMEM;
	}
	return NP_OK;
}

/* Take an unlisted block out of its segment: its neighbours become ends. */
static int take_out(struct mem_layout *layout, uint32_t number, struct np_err *err)
{
	const struct mem_block block = layout->blocks.item[number];

	if (block.previous != MEM_NONE)
		layout->blocks.item[block.previous].next = MEM_NONE;
	else
		remove_head(layout, number);
	layout->reserved -= block.size;
	drop_block(layout, number);
	if (block.next == MEM_NONE)
		return NP_OK;
	layout->blocks.item[block.next].previous = MEM_NONE;
	return add_head(layout, block.next, err);
}

int layout_remove_segment(struct mem_layout *layout, uint64_t address, uint64_t size,
			  bool *ret_fits, struct np_err *err)
{
	uint32_t number = find_around(layout, address, size);

	*ret_fits = number != MEM_NONE;
	if (!*ret_fits)
		return NP_OK;
	unlist(layout, number);
	if (cut_out(layout, &number, address, size, err) < 0)
		return NP_E_NOMEM;
	return take_out(layout, number, err);
}

static bool should_cut(const struct mem_layout *layout, const struct mem_block *block,
		       uint64_t size)
{
	uint64_t rest = block->size - size;

	if (layout_key_small(block->key) || layout->settings.expandable)
		return rest >= MEM_GRANULE;
	return size < layout->settings.max_split && rest > MEM_SMALL_MOST;
}

/* An unlisted free block is handed out. */
static int hand_out(struct mem_layout *layout, uint32_t number, uint64_t recorded,
		    uint64_t requested, uint64_t size, uint32_t life, struct np_err *err)
{
	struct mem_block *block = &layout->blocks.item[number];
	uint32_t rest;

	if (should_cut(layout, block, size)) {
		if (cut_block(layout, number, size, &rest, err) < 0 || list(layout, rest, err) < 0)
			return NP_E_NOMEM;
		block = &layout->blocks.item[number];
	}
	block->state = MEM_ALLOCATED;
	block->requested = requested;
	block->life = life;
	layout->allocated += block->size;
	layout->active += block->size;
	layout->requested += requested;
	return table_add(&layout->live, recorded, number, err);
}

int layout_follow(struct mem_layout *layout, uint64_t address, uint64_t requested, uint64_t size,
		  uint32_t life, bool *ret_fits, uint32_t *ret_block, struct np_err *err)
{
	uint64_t wanted = size ? size : layout_round(&layout->settings, requested);
	uint32_t number = find_around(layout, address, wanted);
	uint32_t rest;

	*ret_fits = number != MEM_NONE && table_find(&layout->live, address) == MEM_NONE;
	if (!*ret_fits)
		return NP_OK;
	unlist(layout, number);
	if (layout->blocks.item[number].address < address) {
		if (cut_block(layout, number, address - layout->blocks.item[number].address, &rest,
			      err) < 0 ||
		    list(layout, number, err) < 0)
			return NP_E_NOMEM;
		number = rest;
	}
	if (size && layout->blocks.item[number].size > size) {
		if (cut_block(layout, number, size, &rest, err) < 0 || list(layout, rest, err) < 0)
			return NP_E_NOMEM;
	}
	*ret_block = number;
	return hand_out(layout, number, address, requested, wanted, life, err);
}

void layout_free_requested(struct mem_layout *layout, uint32_t number)
{
	struct mem_block *block = &layout->blocks.item[number];

	block->state = MEM_PENDING;
	layout->allocated -= block->size;
	layout->requested -= block->requested;
}

int layout_free_completed(struct mem_layout *layout, uint64_t recorded, uint32_t number,
			  struct np_err *err)
{
	struct mem_block *block = &layout->blocks.item[number];

	table_remove(&layout->live, recorded);
	layout->active -= block->size;
	block->state = MEM_FREE;
	block->life = MEM_NONE;
	return list(layout, merge(layout, number), err);
}

/* An address of our own, for what the record has not. */
static int own_address(struct mem_layout *layout, uint64_t size, uint64_t unit, uint64_t *ret,
		       struct np_err *err)
{
	*ret = round_up(layout->next_address, unit);
	if (size > ADDRESS_MOST || *ret > ADDRESS_MOST - size)
		return np_fail(err, NP_E_RANGE, "more memory than there are addresses");
	layout->next_address = *ret + size;
	return NP_OK;
}

/* The size of the segment that a request makes the allocator ask for. */
static uint64_t plain_segment(const struct mem_layout *layout, uint64_t size, uint32_t key)
{
	if (layout_key_small(key))
		return MEM_SMALL_SEGMENT;
	if (layout->settings.page_1g)
		return round_up(size, MEM_GIB);
	return size < MEM_LARGE_FROM ? layout->settings.large_segment
				     : round_up(size, MEM_SMALL_SEGMENT);
}

/* A segment where the record has one, unless something is there already. */
static int add_plain(struct mem_layout *layout, uint64_t size, uint32_t key, uint32_t *ret,
		     struct np_err *err)
{
	uint64_t bytes = plain_segment(layout, size, key);
	uint64_t address = layout->place;
	bool fits = false;
	int rc = NP_OK;

	if (address > 0)
		rc = layout_add_segment(layout, address, bytes, key, false, &fits, err);
	if (rc == NP_OK && !fits) {
		rc = own_address(layout, bytes, MEM_SMALL_SEGMENT, &address, err);
		if (rc == NP_OK)
			rc = layout_add_segment(layout, address, bytes, key, false, &fits, err);
		if (rc == NP_OK && !fits)
			rc = np_fail(err, NP_E_RANGE, "a segment lies where another is");
	}
	if (rc == NP_OK)
		rc = note_call(layout, address, bytes, true, err);
	if (rc == NP_OK)
		*ret = table_find(&layout->vacant, address);
	return rc;
}

static uint64_t page_of(const struct mem_layout *layout, uint32_t key)
{
	return layout_page(&layout->settings, layout_key_small(key));
}

/* The pages that lie wholly in a block. */
static bool whole_pages(const struct mem_layout *layout, const struct mem_block *block,
			uint64_t *ret_begin, uint64_t *ret_end)
{
	uint64_t page = page_of(layout, block->key);
	/* A block of a record may lie before the base: only the distance to a page counts. */
	uint64_t before = block->address < block->base
				  ? (block->base - block->address) % page
				  : (page - (block->address - block->base) % page) % page;

	if (block->size < before || block->size - before < page)
		return false;
	*ret_begin = block->address + before;
	*ret_end = *ret_begin + (block->size - before) / page * page;
	return true;
}

/* Map whole pages for at least `size` bytes of an unmapped block; gives the free block. */
static int map_pages(struct mem_layout *layout, uint32_t number, uint64_t size, uint32_t *ret,
		     struct np_err *err)
{
	uint64_t bytes = round_up(size, page_of(layout, layout->blocks.item[number].key));
	uint32_t rest;

	unlist(layout, number);
	if (bytes < layout->blocks.item[number].size) {
		if (cut_block(layout, number, bytes, &rest, err) < 0 || list(layout, rest, err) < 0)
			return NP_E_NOMEM;
	}
	bytes = layout->blocks.item[number].size;
	layout->blocks.item[number].state = MEM_FREE;
	layout->reserved += bytes;
	if (note_call(layout, layout->blocks.item[number].address, bytes, true, err) < 0)
		return NP_E_NOMEM;
	*ret = merge(layout, number);
	return list(layout, *ret, err);
}

/* Where a run of free and unmapped bytes begins that is long enough, or MEM_NONE. */
static uint32_t find_run(const struct mem_layout *layout, uint64_t size, uint32_t key)
{
	const struct mem_block *blocks = layout->blocks.item;
	const struct mem_free what = { .key = key };
	struct mem_place place = mem_order_find(&layout->unmapped, &what);
	const struct mem_free *entry;

	for (; (entry = mem_order_at(&layout->unmapped, place)) && entry->key == key;
	     place = mem_order_next(&layout->unmapped, place)) {
		uint32_t begin = entry->block;
		uint64_t run = 0;

		if (blocks[begin].previous != MEM_NONE &&
		    blocks[blocks[begin].previous].state == MEM_FREE)
			begin = blocks[begin].previous;
		for (uint32_t at = begin;
		     at != MEM_NONE && run < size &&
		     (blocks[at].state == MEM_FREE || blocks[at].state == MEM_UNMAPPED);
		     at = blocks[at].next)
			run += blocks[at].size;
		if (run >= size)
			return begin;
	}
	return MEM_NONE;
}

static int add_expandable(struct mem_layout *layout, uint64_t size, uint32_t key, uint32_t *ret,
			  struct np_err *err)
{
	uint32_t number = find_run(layout, size, key);

	if (number == MEM_NONE) {
		struct mem_block range = { .address = layout->place,
					   .size = round_up(VIRTUAL_RANGE + size,
							    page_of(layout, key)),
					   .previous = MEM_NONE,
					   .next = MEM_NONE,
					   .key = key,
					   .life = MEM_NONE,
					   .state = MEM_UNMAPPED };

		if (range.address == 0) {
			int rc = own_address(layout, range.size, page_of(layout, key),
					     &range.address, err);

			if (rc < 0)
				return rc;
		}
		range.base = range.address;
		if (new_block(layout, &range, &number, err) < 0 || list(layout, number, err) < 0 ||
		    add_head(layout, number, err) < 0)
			return NP_E_NOMEM;
	}
	if (layout->blocks.item[number].state == MEM_UNMAPPED) {
		uint64_t most = layout->blocks.item[number].size;

		if (map_pages(layout, number, size < most ? size : most, &number, err) < 0)
			return NP_E_NOMEM;
	}
	while (layout->blocks.item[number].size < size) {
		const struct mem_block *block = &layout->blocks.item[number];
		uint64_t missing = size - block->size;
		uint64_t most = layout->blocks.item[block->next].size;

		if (map_pages(layout, block->next, missing < most ? missing : most, &number, err) <
		    0)
			return NP_E_NOMEM;
	}
	*ret = number;
	return NP_OK;
}

/* Where the next segment of the key begins behind this address, or MEM_NONE. */
static uint32_t next_segment(const struct mem_layout *layout, uint64_t address, uint32_t key)
{
	const struct mem_block *blocks = layout->blocks.item;
	uint32_t found = MEM_NONE;

	for (uint32_t i = 0; i < layout->blocks.count; i++) {
		if (blocks[i].state != MEM_SPARE && blocks[i].previous == MEM_NONE &&
		    blocks[i].key == key && blocks[i].address > address &&
		    (found == MEM_NONE || blocks[i].address < blocks[found].address))
			found = i;
	}
	return found;
}

int layout_add_unmapped(struct mem_layout *layout, struct np_err *err)
{
	size_t count = layout->blocks.count;

	for (uint32_t i = 0; i < count; i++) {
		struct mem_block block = layout->blocks.item[i];
		uint64_t end = block.address + block.size;
		uint32_t next;
		uint32_t number;

		if (block.state == MEM_SPARE || block.next != MEM_NONE || end > ADDRESS_MOST)
			continue;
		next = next_segment(layout, end, block.key);
		if (next != MEM_NONE && layout->blocks.item[next].address - end > VIRTUAL_RANGE)
			next = MEM_NONE;
		block = (struct mem_block){ .address = end,
					    .size = VIRTUAL_RANGE / page_of(layout, block.key) *
						    page_of(layout, block.key),
					    .base = block.base,
					    .previous = i,
					    .next = next,
					    .key = block.key,
					    .life = MEM_NONE,
					    .state = MEM_UNMAPPED };
		if (next != MEM_NONE)
			block.size = layout->blocks.item[next].address - end;
		if (new_block(layout, &block, &number, err) < 0)
			return NP_E_NOMEM;
		layout->blocks.item[i].next = number;
		if (next != MEM_NONE) {
			remove_head(layout, next);
			layout->blocks.item[next].previous = number;
		}
		if (list(layout, number, err) < 0)
			return NP_E_NOMEM;
	}
	return NP_OK;
}

/* What a free block could grow to. */
static uint64_t potential(const struct mem_layout *layout, uint32_t number)
{
	const struct mem_block *block = &layout->blocks.item[number];
	uint64_t size = block->size;

	if (block->next != MEM_NONE && layout->blocks.item[block->next].state == MEM_UNMAPPED)
		size += layout->blocks.item[block->next].size;
	return size;
}

static uint32_t best_fit(const struct mem_layout *layout, uint64_t size, uint32_t key)
{
	const struct mem_settings *settings = &layout->settings;
	const struct mem_free what = { .size = size, .key = key };
	struct mem_place place = mem_order_find(&layout->free, &what);
	const struct mem_free *found = mem_order_at(&layout->free, place);

	if (!found || found->key != key)
		return MEM_NONE;
	while (settings->expandable) {
		const struct mem_free *next;

		place = mem_order_next(&layout->free, place);
		next = mem_order_at(&layout->free, place);
		if (!next || next->key != key ||
		    potential(layout, next->block) >= potential(layout, found->block))
			break;
		found = next;
	}
	if (size < settings->max_split && found->size >= settings->max_split)
		return MEM_NONE;
	if (size >= settings->max_split && found->size >= size + settings->non_split_rounding)
		return MEM_NONE;
	return found->block;
}

/* Large blocks of expandable segments begin at aligned addresses where they fit. */
static int align_block(struct mem_layout *layout, uint32_t *number, uint64_t size,
		       struct np_err *err)
{
	const struct mem_settings *settings = &layout->settings;
	const struct mem_block *block = &layout->blocks.item[*number];
	uint64_t skip;
	uint32_t rest;

	if (!settings->expandable || settings->align == 0 || size < MEM_SMALL_SEGMENT)
		return NP_OK;
	skip = round_up(block->address, settings->align) - block->address;
	if (skip == 0 || block->size < skip + size)
		return NP_OK;
	if (cut_block(layout, *number, skip, &rest, err) < 0 || list(layout, *number, err) < 0)
		return NP_E_NOMEM;
	*number = rest;
	return NP_OK;
}

/* What the driver would be asked for, so that a request has room. */
static uint64_t growth_for(const struct mem_layout *layout, uint64_t size, uint32_t key)
{
	const struct mem_block *blocks = layout->blocks.item;
	uint64_t page = page_of(layout, key);
	uint64_t bytes = 0;
	uint32_t at;

	if (!layout->settings.expandable)
		return plain_segment(layout, size, key);
	at = find_run(layout, size, key);
	if (at == MEM_NONE)
		return round_up(size, page);
	while (size > 0) {
		uint64_t part = blocks[at].size;

		if (blocks[at].state == MEM_UNMAPPED) {
			part = round_up(size, page) < part ? round_up(size, page) : part;
			bytes += part;
		}
		size -= part < size ? part : size;
		at = blocks[at].next;
	}
	return bytes;
}

static bool is_allowed(const struct mem_layout *layout, uint64_t size, uint32_t key)
{
	return layout->settings.cap == 0 ||
	       layout->reserved + growth_for(layout, size, key) <= layout->settings.cap;
}

static bool is_whole(const struct mem_block *block)
{
	return block->previous == MEM_NONE && block->next == MEM_NONE;
}

static int release_whole(struct mem_layout *layout, uint32_t number, struct np_err *err)
{
	const struct mem_block *block = &layout->blocks.item[number];
	int rc = note_call(layout, block->address, block->size, false, err);

	unlist(layout, number);
	return rc < 0 ? rc : take_out(layout, number, err);
}

typedef NP_VEC(struct mem_free) mem_frees;

/* Free blocks are a list that changes when they are given back: this is what it was. */
static int copy_free(const struct mem_layout *layout, mem_frees *ret, struct np_err *err)
{
	struct mem_place place = { 0, 0 };

	*ret = (mem_frees){ 0 };
	if (np_vec_reserve(ret, layout->free.count, err) < 0)
		return NP_E_NOMEM;
	for (; mem_order_at(&layout->free, place); place = mem_order_next(&layout->free, place))
		ret->item[ret->count++] = *mem_order_at(&layout->free, place);
	return NP_OK;
}

/* Is it of those that garbage collection may give back: large, whole, of the default pool? */
static bool is_garbage(const struct mem_layout *layout, const struct mem_free *what)
{
	return !layout_key_small(what->key) && layout_key_pool(what->key) == DEFAULT_POOL &&
	       is_whole(&layout->blocks.item[what->block]);
}

static uint64_t age_of(const struct mem_layout *layout, const struct mem_free *what)
{
	return layout->searches - layout->blocks.item[what->block].since;
}

/* Those that are at least as old as the mean, until reserved is below the threshold again. */
static int collect_garbage(struct mem_layout *layout, struct np_err *err)
{
	uint64_t most = (uint64_t)(layout->settings.collect_from * (double)layout->settings.cap);
	mem_frees cached;
	bool freed = true;
	int rc;

	if (layout->settings.collect_from <= 0 || layout->reserved <= most)
		return NP_OK;
	rc = copy_free(layout, &cached, err);
	while (rc == NP_OK && freed && layout->reserved > most) {
		uint64_t ages = 0;
		size_t count = 0;

		for (size_t i = 0; i < cached.count; i++) {
			if (cached.item[i].block != MEM_NONE &&
			    is_garbage(layout, &cached.item[i])) {
				ages += age_of(layout, &cached.item[i]);
				count++;
			}
		}
		freed = false;
		for (size_t i = 0; rc == NP_OK && count > 0 && i < cached.count; i++) {
			struct mem_free *one = &cached.item[i];

			if (one->block == MEM_NONE || !is_garbage(layout, one) ||
			    age_of(layout, one) * count < ages)
				continue;
			rc = release_whole(layout, one->block, err);
			one->block = MEM_NONE;
			freed = true;
		}
	}
	np_vec_release(&cached);
	return rc;
}

int layout_release_some(struct mem_layout *layout, uint64_t size, uint32_t key, bool *ret,
			struct np_err *err)
{
	uint64_t wanted = size > layout->settings.max_split ? size : layout->settings.max_split;
	mem_frees cached;
	uint64_t gone = 0;
	int rc;

	*ret = false;
	if (layout->settings.max_split == MEM_NO_SPLIT_LIMIT)
		return NP_OK;
	rc = copy_free(layout, &cached, err);
	for (size_t i = 0; rc == NP_OK && gone == 0 && i < cached.count; i++) {
		const struct mem_free *one = &cached.item[i];

		if (one->key != key || one->size < wanted ||
		    !is_whole(&layout->blocks.item[one->block]))
			continue;
		gone = one->size;
		rc = release_whole(layout, one->block, err);
	}
	for (size_t i = gone > 0 ? 0 : cached.count; rc == NP_OK && i > 0 && gone < wanted; i--) {
		const struct mem_free *one = &cached.item[i - 1];

		if (one->key != key || one->size < layout->settings.max_split ||
		    !is_whole(&layout->blocks.item[one->block]))
			continue;
		gone += one->size;
		rc = release_whole(layout, one->block, err);
	}
	np_vec_release(&cached);
	*ret = gone >= wanted;
	return rc;
}

/* Before the driver is asked: what the allocator does where there would be too much. */
static int make_room(struct mem_layout *layout, uint64_t size, uint32_t key, struct np_err *err)
{
	bool enough = false;
	int rc = collect_garbage(layout, err);

	if (rc < 0 || is_allowed(layout, size, key))
		return rc;
	rc = layout_release_some(layout, size, key, &enough, err);
	/* The driver is not asked again where that was not enough, though it might have it now. */
	if (rc == NP_OK && !(enough && is_allowed(layout, size, key)))
		rc = layout_release_cached(layout, err);
	if (rc == NP_OK && !is_allowed(layout, size, key))
		layout->refused++;
	return rc;
}

int layout_allocate(struct mem_layout *layout, uint64_t recorded, uint64_t requested, uint8_t pool,
		    uint16_t stream, uint32_t life, uint32_t *ret_block, struct np_err *err)
{
	uint64_t size = layout_round(&layout->settings, requested);
	uint32_t key = layout_key(pool, size <= MEM_SMALL_MOST, stream);
	uint32_t number;
	int rc = NP_OK;

	layout->searches += !layout_key_small(key) && pool == DEFAULT_POOL;
	number = layout->fresh ? MEM_NONE : best_fit(layout, size, key);
	if (number == MEM_NONE && layout->settings.cap > 0)
		rc = make_room(layout, size, key, err);
	if (rc == NP_OK && number == MEM_NONE)
		rc = layout->settings.expandable ? add_expandable(layout, size, key, &number, err)
						 : add_plain(layout, size, key, &number, err);
	if (rc < 0)
		return rc;
	unlist(layout, number);
	rc = align_block(layout, &number, size, err);
	if (rc < 0)
		return rc;
	*ret_block = number;
	return hand_out(layout, number, recorded, requested, size, life, err);
}

/* Whole pages of a free block of an expandable segment are unmapped. */
static int unmap_pages(struct mem_layout *layout, uint32_t number, struct np_err *err)
{
	const struct mem_block *block = &layout->blocks.item[number];
	uint64_t begin;
	uint64_t end;

	if (!whole_pages(layout, block, &begin, &end))
		return NP_OK;
	unlist(layout, number);
	if (cut_out(layout, &number, begin, end - begin, err) < 0 ||
	    note_call(layout, begin, end - begin, false, err) < 0)
		return NP_E_NOMEM;
	layout->reserved -= end - begin;
	layout->blocks.item[number].state = MEM_UNMAPPED;
	number = merge(layout, number);
	/* A range without any page is given up. */
	if (is_whole(&layout->blocks.item[number])) {
		remove_head(layout, number);
		drop_block(layout, number);
		return NP_OK;
	}
	return list(layout, number, err);
}

/* Of one pool, the small or the large blocks; ordered as they are listed. */
static int release_part(struct mem_layout *layout, const mem_frees *cached, uint8_t pool,
			bool small, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < cached->count; i++) {
		const struct mem_free *one = &cached->item[i];

		if (layout_key_pool(one->key) != pool || layout_key_small(one->key) != small)
			continue;
		if (layout->settings.expandable)
			rc = unmap_pages(layout, one->block, err);
		else if (is_whole(&layout->blocks.item[one->block]))
			rc = release_whole(layout, one->block, err);
	}
	return rc;
}

int layout_release_cached(struct mem_layout *layout, struct np_err *err)
{
	mem_frees cached;
	int rc = copy_free(layout, &cached, err);

	if (rc == NP_OK)
		rc = release_part(layout, &cached, DEFAULT_POOL, false, err);
	if (rc == NP_OK)
		rc = release_part(layout, &cached, DEFAULT_POOL, true, err);
	for (unsigned i = DEFAULT_POOL + 1; rc == NP_OK && i <= UINT8_MAX; i++) {
		if (!layout->given_up[i])
			continue;
		rc = release_part(layout, &cached, (uint8_t)i, true, err);
		if (rc == NP_OK)
			rc = release_part(layout, &cached, (uint8_t)i, false, err);
	}
	np_vec_release(&cached);
	return rc;
}

void layout_gaps(const struct mem_layout *layout, struct layout_gaps *ret)
{
	*ret = (struct layout_gaps){ 0 };
	for (size_t i = 0; i < layout->blocks.count; i++) {
		const struct mem_block *block = &layout->blocks.item[i];
		uint64_t stuck = block->size;

		if (block->state == MEM_SPARE)
			continue;
		ret->segments += block->previous == MEM_NONE && block->state != MEM_UNMAPPED;
		if (block->state != MEM_FREE)
			continue;
		if (layout->settings.expandable) {
			uint64_t begin;
			uint64_t end;

			if (whole_pages(layout, block, &begin, &end))
				stuck -= end - begin;
		} else if (block->previous == MEM_NONE && block->next == MEM_NONE) {
			stuck = 0;
		}
		ret->free += block->size;
		ret->stuck += stuck;
		ret->stuck_blocks += stuck > 0;
		if (layout_key_small(block->key))
			ret->small += block->size;
		if (block->size > ret->largest)
			ret->largest = block->size;
	}
}
