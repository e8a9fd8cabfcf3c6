/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels summed by type and shape, with the unit that keeps them busy longest. */
#include "npuprof/device_time.h"

#include <math.h>

struct np_device_time *np_device_time_new(void)
{
	struct np_device_time *time = calloc(1, sizeof(*time));

	if (time)
		time->strings = np_strtab_new();
	if (time && !time->strings) {
		free(time);
		return NULL;
	}
	return time;
}

void np_device_time_free(struct np_device_time *time)
{
	if (!time)
		return;
	np_map_release(&time->map);
	np_vec_release(&time->list);
	np_strtab_free(time->strings);
	free(time);
}

void np_device_time_freep(struct np_device_time **time)
{
	np_device_time_free(*time);
}

const char *np_unit_name(enum np_unit unit)
{
	static const char *const names[NP_UNITS] = {
		[NP_UNIT_CUBE] = "cube",       [NP_UNIT_VECTOR] = "vector",
		[NP_UNIT_SCALAR] = "scalar",   [NP_UNIT_MTE1] = "mte1",
		[NP_UNIT_MTE2] = "mte2",       [NP_UNIT_MTE3] = "mte3",
		[NP_UNIT_FIXPIPE] = "fixpipe",
	};

	return unit < NP_UNITS ? names[unit] : NULL;
}

bool np_core_is_counted(const char *core)
{
	static const char *const counted[] = { "", "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC",
					       "MIX_AIV" };

	for (size_t i = 0; i < NP_COUNT(counted); i++) {
		if (strcmp(core, counted[i]) == 0)
			return true;
	}
	return false;
}

static int intern(struct np_device_time *time, const char *text, np_str *ret, struct np_err *err)
{
	*ret = NP_STR_NONE;
	return text ? np_strtab_add(time->strings, text, strlen(text), ret, err) : NP_OK;
}

/* What a sort is looked up by. */
struct wanted_sort {
	const struct np_device_time *time;
	np_str type;
	np_str shapes;
	np_str core;
};

static bool is_sort(const void *what, uint32_t value)
{
	const struct wanted_sort *wanted = what;
	const struct np_device_sort *sort = &wanted->time->list.item[value];

	return sort->type == wanted->type && sort->shapes == wanted->shapes &&
	       sort->core == wanted->core;
}

static struct np_device_sort *find_sort(struct np_device_time *time, np_str type, np_str shapes,
					np_str core, struct np_err *err)
{
	const struct wanted_sort wanted = { time, type, shapes, core };
	uint64_t hash = np_map_mix(np_map_mix(np_map_mix(0, type), shapes), core);
	uint32_t found = np_map_find(&time->map, hash, is_sort, &wanted);
	struct np_device_sort *sort;

	if (found != NP_MAP_NONE)
		return &time->list.item[found];
	if (np_map_add(&time->map, hash, (uint32_t)time->list.count, err) < 0)
		return NULL;
	sort = np_vec_add(&time->list, err);
	if (sort)
		*sort = (struct np_device_sort){ .type = type, .shapes = shapes, .core = core };
	return sort;
}

int np_device_time_add(struct np_device_time *time, const struct np_device_kernel *kernel,
		       struct np_err *err)
{
	struct np_device_sort *sort = NULL;
	np_str type;
	np_str shapes;
	np_str core;
	bool counted = false;
	int rc = intern(time, kernel->type, &type, err);

	if (rc == NP_OK)
		rc = intern(time, kernel->shapes, &shapes, err);
	if (rc == NP_OK)
		rc = intern(time, kernel->core, &core, err);
	if (rc == NP_OK)
		sort = find_sort(time, type, shapes, core, err);
	if (!sort)
		return rc < 0 ? rc : NP_E_NOMEM;
	sort->count++;
	sort->total += kernel->duration;
	for (int i = 0; i < NP_UNITS; i++) {
		if (isnan(kernel->busy[i]))
			continue;
		sort->busy[i] += kernel->busy[i] * (double)kernel->duration;
		counted = true;
	}
	sort->counted += counted ? kernel->duration : 0;
	return NP_OK;
}

static int text_order(const struct np_device_time *time, np_str a, np_str b)
{
	return strcmp(np_strtab_text(time->strings, a), np_strtab_text(time->strings, b));
}

static int longest_first(const void *left, const void *right, void *context)
{
	const struct np_device_sort *a = left;
	const struct np_device_sort *b = right;
	int order = np_order(b->total, a->total);

	/* Ids depend on the order in which kernels came. */
	if (order == 0)
		order = text_order(context, a->type, b->type);
	if (order == 0)
		order = text_order(context, a->shapes, b->shapes);
	return order ? order : text_order(context, a->core, b->core);
}

void np_device_time_finish(struct np_device_time *time, size_t cells)
{
	time->cells = cells;
	for (size_t i = 0; i < time->list.count; i++) {
		time->total += time->list.item[i].total;
		time->counted += time->list.item[i].counted;
		time->count += time->list.item[i].count;
	}
	for (size_t i = 0; i < time->list.count; i++) {
		struct np_device_sort *sort = &time->list.item[i];

		sort->share =
			time->total > 0 ? (double)sort->total / (double)time->total : (double)NAN;
		sort->per_step = cells > 0 ? sort->total / (np_ns)cells : NP_UNKNOWN;
		for (int j = 0; j < NP_UNITS; j++)
			sort->busy[j] = sort->counted > 0 ? sort->busy[j] / (double)sort->counted
							  : (double)NAN;
	}
	time->per_step = cells > 0 ? time->total / (np_ns)cells : NP_UNKNOWN;
	if (time->list.count > 0)
		qsort_r(time->list.item, time->list.count, sizeof(time->list.item[0]),
			longest_first, time);
}

enum np_unit np_device_sort_bound(const struct np_device_sort *sort)
{
	enum np_unit bound = NP_UNITS;

	for (int i = 0; i < NP_UNITS; i++) {
		if (sort->busy[i] > 0 && (bound == NP_UNITS || sort->busy[i] > sort->busy[bound]))
			bound = (enum np_unit)i;
	}
	return bound;
}
