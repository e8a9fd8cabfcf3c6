/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of kernels that are alike, and the same packed into little memory. */
#include "npuprof/kernel_sums.h"

#include "npuprof/bytes.h"
#include "npuprof/idmap.h"

#include <math.h>

void np_kernel_sums_free(struct np_kernel_sums *sums)
{
	if (!sums)
		return;
	np_vec_release(&sums->sorts);
	np_vec_release(&sums->sums);
	free(sums);
}

void np_kernel_sums_freep(struct np_kernel_sums **sums)
{
	np_kernel_sums_free(*sums);
	*sums = NULL;
}

/* A damaged counter must not make a sum overflow: nothing that is measured takes days. */
static double counted(double ns)
{
	return ns >= 0 && ns < 1e15 ? ns : 0;
}

np_ns np_kernel_computing(double mac, double mte2, double aiv)
{
	return (np_ns)llround(fmax(counted(mac), counted(mte2)) + counted(aiv));
}

enum np_cube np_kernel_cube(double mac, double total)
{
	if (isnan(mac) && isnan(total))
		return NP_CUBE_UNKNOWN;
	return mac > 0 || total > 0 ? NP_CUBE_YES : NP_CUBE_NO;
}

/* --- calls around others --------------------------------------------------------------------- */

int np_open_calls_init(struct np_open_calls *open, struct np_err *err)
{
	*open = (struct np_open_calls){ .top = np_idmap_new() };
	return open->top ? NP_OK : np_fail_nomem(err, "calls of the framework");
}

void np_open_calls_release(struct np_open_calls *open)
{
	np_vec_release(&open->list);
	np_idmap_free(open->top);
	open->top = NULL;
}

/* Leave a call; the list gets shorter where no other thread has one behind it. */
static size_t leave(struct np_open_calls *open, size_t place)
{
	size_t below = open->list.item[place - 1].below;

	if (place == open->list.count)
		open->list.count--;
	return below;
}

int np_open_calls_enter(struct np_open_calls *open, int64_t tid, np_ns start, np_ns end,
			uint32_t framework_op, uint32_t *ret_framework_op, struct np_err *err)
{
	uint32_t top = np_idmap_get(open->top, tid);
	size_t below = top == NP_IDMAP_NONE ? 0 : top;
	const struct np_open_call *last = below > 0 ? &open->list.item[below - 1] : NULL;
	struct np_open_call *call;

	if (last && (start < last->start || (start == last->start && end > last->end)))
		return np_fail(err, NP_E_RANGE, "calls of a thread are not in order");
	while (below > 0 && open->list.item[below - 1].end < end)
		below = leave(open, below);
	if (below > 0 && open->list.item[below - 1].framework_op != UINT32_MAX)
		framework_op = open->list.item[below - 1].framework_op;
	call = np_vec_add(&open->list, err);
	if (!call)
		return NP_E_NOMEM;
	*call = (struct np_open_call){ start, end, below, framework_op };
	*ret_framework_op = framework_op;
	return np_idmap_set(open->top, tid, (uint32_t)open->list.count, err);
}

/*
 * Rows one after the other, each as differences from the one before, in numbers of
 * variable length. Most sums are of one kernel, or of the step and device of the sum
 * before: bits beside the number of the sort say so. Differences wrap around.
 */

struct np_packed_sums {
	uint8_t *bytes;
	size_t length;
	size_t sorts;
	size_t sums;
	np_str chip;
	int64_t mhz;
};

enum {
	ALONE = 1,      /* least and most are the total, and the count is 1 */
	SAME_PLACE = 2, /* step and device are those of the sum before */
	FLAG_BITS = 2,
};

void np_packed_sums_free(struct np_packed_sums *packed)
{
	if (!packed)
		return;
	free(packed->bytes);
	free(packed);
}

static int64_t difference(int64_t value, int64_t from)
{
	return (int64_t)((uint64_t)value - (uint64_t)from);
}

static int64_t plus(int64_t value, int64_t difference)
{
	return (int64_t)((uint64_t)value + (uint64_t)difference);
}

/* --- packing --------------------------------------------------------------------------------- */

static void put_sort(struct np_bytes_writer *writer, const struct np_kernel_sort *sort,
		     const struct np_kernel_sort *before)
{
	np_bytes_put_signed(writer, difference(sort->name, before->name));
	np_bytes_put_signed(writer, difference(sort->type, before->type));
	np_bytes_put_signed(writer, difference(sort->core, before->core));
	np_bytes_put_signed(writer, difference(sort->in_shapes, before->in_shapes));
	np_bytes_put_signed(writer, difference(sort->in_dtypes, before->in_dtypes));
	np_bytes_put_signed(writer, difference(sort->in_formats, before->in_formats));
	np_bytes_put_signed(writer, difference(sort->framework_op, before->framework_op));
	np_bytes_put_number(writer, (uint64_t)sort->cube << 1 | sort->framework_op_backward);
}

static void put_sum(struct np_bytes_writer *writer, const struct np_kernel_sum *sum,
		    const struct np_kernel_sum *before)
{
	bool alone = sum->count == 1 && sum->least == sum->total && sum->most == sum->total;
	bool same = sum->step == before->step && sum->device == before->device;

	np_bytes_put_signed(writer, difference(sum->sort, before->sort) * (1 << FLAG_BITS) +
					    (alone ? ALONE : 0) + (same ? SAME_PLACE : 0));
	if (!same) {
		np_bytes_put_number(writer, sum->step);
		np_bytes_put_signed(writer, sum->device);
	}
	np_bytes_put_signed(writer, sum->total);
	np_bytes_put_signed(writer, difference(sum->total, sum->owned));
	np_bytes_put_signed(writer, sum->computing);
	if (alone)
		return;
	np_bytes_put_signed(writer, sum->count);
	np_bytes_put_signed(writer, sum->least);
	np_bytes_put_signed(writer, sum->most);
}

int np_kernel_sums_pack(const struct np_kernel_sums *sums, struct np_packed_sums **ret,
			struct np_err *err)
{
	struct np_packed_sums *packed = calloc(1, sizeof(*packed));
	const struct np_kernel_sort no_sort = { 0 };
	const struct np_kernel_sum no_sum = { 0 };
	struct np_bytes_writer writer = { .failed = !packed };

	for (size_t i = 0; i < sums->sorts.count; i++)
		put_sort(&writer, &sums->sorts.item[i], i ? &sums->sorts.item[i - 1] : &no_sort);
	for (size_t i = 0; i < sums->sums.count; i++)
		put_sum(&writer, &sums->sums.item[i], i ? &sums->sums.item[i - 1] : &no_sum);
	if (writer.failed) {
		np_bytes_release(&writer.bytes);
		free(packed);
		return np_fail_nomem(err, "kernels");
	}
	(void)np_vec_fit(&writer.bytes);
	*packed = (struct np_packed_sums){ .bytes = writer.bytes.item,
					   .length = writer.bytes.count,
					   .sorts = sums->sorts.count,
					   .sums = sums->sums.count,
					   .chip = sums->chip,
					   .mhz = sums->mhz };
	*ret = packed;
	return NP_OK;
}

/* --- unpacking ------------------------------------------------------------------------------- */

static np_str get_text(struct np_bytes_reader *reader, np_str before)
{
	return (np_str)plus(before, np_bytes_get_signed(reader));
}

static void get_sort(struct np_bytes_reader *reader, const struct np_kernel_sort *before,
		     struct np_kernel_sort *ret)
{
	uint64_t flags;

	ret->name = get_text(reader, before->name);
	ret->type = get_text(reader, before->type);
	ret->core = get_text(reader, before->core);
	ret->in_shapes = get_text(reader, before->in_shapes);
	ret->in_dtypes = get_text(reader, before->in_dtypes);
	ret->in_formats = get_text(reader, before->in_formats);
	ret->framework_op = get_text(reader, before->framework_op);
	flags = np_bytes_get_number(reader);
	ret->framework_op_backward = flags & 1;
	ret->cube = (enum np_cube)(flags >> 1);
}

static void get_sum(struct np_bytes_reader *reader, const struct np_kernel_sum *before,
		    struct np_kernel_sum *ret)
{
	int64_t head = np_bytes_get_signed(reader);
	unsigned flags = (unsigned)head & (ALONE | SAME_PLACE);

	ret->sort = (uint32_t)plus(before->sort, (head - (int64_t)flags) / (1 << FLAG_BITS));
	ret->step = before->step;
	ret->device = before->device;
	if (!(flags & SAME_PLACE)) {
		ret->step = (np_str)np_bytes_get_number(reader);
		ret->device = (int32_t)np_bytes_get_signed(reader);
	}
	ret->total = np_bytes_get_signed(reader);
	ret->owned = difference(ret->total, np_bytes_get_signed(reader));
	ret->computing = np_bytes_get_signed(reader);
	ret->count = flags & ALONE ? 1 : np_bytes_get_signed(reader);
	ret->least = flags & ALONE ? ret->total : np_bytes_get_signed(reader);
	ret->most = flags & ALONE ? ret->total : np_bytes_get_signed(reader);
}

int np_kernel_sums_unpack(const struct np_packed_sums *packed, struct np_kernel_sums **ret,
			  struct np_err *err)
{
	struct np_bytes_reader reader = { .at = packed->bytes,
					  .end = packed->bytes + packed->length };
	const struct np_kernel_sort no_sort = { 0 };
	const struct np_kernel_sum no_sum = { 0 };
	struct np_kernel_sums *sums = calloc(1, sizeof(*sums));

	if (sums) {
		sums->sorts.item = calloc(packed->sorts + 1, sizeof(*sums->sorts.item));
		sums->sums.item = calloc(packed->sums + 1, sizeof(*sums->sums.item));
	}
	if (!sums || !sums->sorts.item || !sums->sums.item) {
		np_kernel_sums_free(sums);
		return np_fail_nomem(err, "kernels");
	}
	sums->sorts.count = sums->sorts.capacity = packed->sorts;
	sums->sums.count = sums->sums.capacity = packed->sums;
	for (size_t i = 0; i < packed->sorts; i++)
		get_sort(&reader, i ? &sums->sorts.item[i - 1] : &no_sort, &sums->sorts.item[i]);
	for (size_t i = 0; i < packed->sums; i++)
		get_sum(&reader, i ? &sums->sums.item[i - 1] : &no_sum, &sums->sums.item[i]);
	sums->chip = packed->chip;
	sums->mhz = packed->mhz;
	*ret = sums;
	return NP_OK;
}
