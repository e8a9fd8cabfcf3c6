/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include "counters.h"

#include "npuprof/map.h"

#include <math.h>

/*
 * Kernels that are alike, as one row. Most rules about kernels ask for sums over
 * kernels of one type and shape; there are hundreds of these where there are
 * tens of thousands of kernels, and they are found once for all rules.
 */
#define ENTRY(name, type) { #name, type },
#define KEY_PARTS         14

/* clang-format off */
#define GROUP_COLUMNS(X) \
	X(rank, NP_INTEGER) X(id, NP_INTEGER) X(in_step, NP_INTEGER) X(name, NP_TEXT) \
	X(op_type, NP_TEXT) X(core, NP_TEXT) X(state, NP_TEXT) X(block_dim, NP_INTEGER) \
	X(mix_block_dim, NP_INTEGER) X(in_shapes, NP_TEXT) X(in_dtypes, NP_TEXT) \
	X(in_formats, NP_TEXT) X(out_shapes, NP_TEXT) X(out_dtypes, NP_TEXT) \
	X(out_formats, NP_TEXT) X(for_comm, NP_INTEGER) X(n, NP_INTEGER) X(dur_ns, NP_INTEGER) \
	X(min_ns, NP_INTEGER) X(max_ns, NP_INTEGER) X(wait_ns, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) GROUP_##name,
#define COUNTER(name)      GROUP_##name,
enum {
	GROUP_COLUMNS(NUMBER) GROUP_FIRST_COUNTER,
	GROUP_BEFORE_COUNTERS = GROUP_FIRST_COUNTER - 1,
	COUNTERS(COUNTER) GROUP_COUNT
};
#undef NUMBER
#undef COUNTER

#define COUNTER(name) { #name, NP_REAL },
static const struct np_column group_columns[] = { GROUP_COLUMNS(ENTRY) COUNTERS(COUNTER) };
#undef COUNTER

const struct view_description view_kernel_group = {
	.name = "v_kernel_group",
	.columns = group_columns,
	.column_count = GROUP_COUNT,
	.scope = VIEW_RANK,
	.typical = 2000,
	.what = "kernels of one name, type, core, state, block numbers, shapes, types and formats "
		"as one row: their number n, sums, means of counters; id is of the first",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};

struct group {
	uint32_t first; /* kernel */
	bool in_step;
	int64_t count;
	np_ns sum;
	np_ns least;
	np_ns most;
	np_ns wait;
};

struct groups {
	NP_VEC(struct group) list;
	struct np_map by_key; /* → list */
	double *sums;         /* of counters, by group */
	uint32_t *known;      /* kernels that have a value, by group and counter */
	size_t capacity;      /* groups there is room for in both */
	size_t counters;
	uint32_t column[GROUP_COUNT]; /* of the detail's counters */
};

static void close_groups(struct view *view)
{
	struct groups *groups = view->state;

	if (!groups)
		return;
	np_vec_release(&groups->list);
	np_map_release(&groups->by_key);
	free(groups->sums);
	free(groups->known);
	free(groups);
}

/* The texts and numbers that must be equal, in one array. */
static void key_of(const struct np_kernel *kernel, int64_t key[KEY_PARTS])
{
	const int64_t values[KEY_PARTS] = {
		kernel->name,       kernel->type,
		kernel->core,       kernel->state,
		kernel->block_dim,  kernel->mix_block_dim,
		kernel->in_shapes,  kernel->in_dtypes,
		kernel->in_formats, kernel->out_shapes,
		kernel->out_dtypes, kernel->out_formats,
		kernel->schedule,   kernel->step != NP_NO_STEP,
	};

	memcpy(key, values, sizeof(values));
}

static bool equal(const struct np_kernel *a, const struct np_kernel *b)
{
	int64_t x[KEY_PARTS];
	int64_t y[KEY_PARTS];

	key_of(a, x);
	key_of(b, y);
	return memcmp(x, y, sizeof(x)) == 0;
}

/* A kernel whose group is looked for. */
struct wanted {
	const struct group *groups;
	const struct np_kernel *kernels;
	const struct np_kernel *kernel;
};

static bool is_wanted(const void *what, uint32_t group)
{
	const struct wanted *wanted = what;

	return equal(&wanted->kernels[wanted->groups[group].first], wanted->kernel);
}

static uint64_t hash_of(const struct np_kernel *kernel)
{
	uint64_t hash = 0;
	int64_t key[KEY_PARTS];

	key_of(kernel, key);
	for (size_t i = 0; i < NP_COUNT(key); i++)
		hash = np_map_mix(hash, (uint64_t)key[i]);
	return hash;
}

static bool grow(struct groups *groups)
{
	size_t capacity = groups->capacity ? 2 * groups->capacity : 64;
	size_t values = capacity * (groups->counters + 1);
	double *sums = realloc(groups->sums, values * sizeof(*sums));
	uint32_t *known;

	if (!sums)
		return false;
	groups->sums = sums;
	known = realloc(groups->known, values * sizeof(*known));
	if (!known)
		return false;
	groups->known = known;
	groups->capacity = capacity;
	return true;
}

static struct group *find_group(struct groups *groups, const struct np_detail *detail,
				uint32_t kernel, struct np_err *err)
{
	const struct np_kernel *kernels = detail->kernels.item;
	const struct wanted wanted = { groups->list.item, kernels, &kernels[kernel] };
	uint64_t hash = hash_of(&kernels[kernel]);
	uint32_t found = np_map_find(&groups->by_key, hash, is_wanted, &wanted);
	struct group *group;

	if (found != NP_MAP_NONE)
		return &groups->list.item[found];
	if (groups->list.count == groups->capacity && !grow(groups)) {
		(void)np_fail_nomem(err, "kernels");
		return NULL;
	}
	group = np_vec_add(&groups->list, err);
	if (!group ||
	    np_map_add(&groups->by_key, hash, (uint32_t)(groups->list.count - 1), err) < 0)
		return NULL;
	*group = (struct group){ .first = kernel,
				 .in_step = kernels[kernel].step != NP_NO_STEP,
				 .least = NP_NS_MAX };
	memset(&groups->sums[(groups->list.count - 1) * groups->counters], 0,
	       groups->counters * sizeof(*groups->sums));
	memset(&groups->known[(groups->list.count - 1) * groups->counters], 0,
	       groups->counters * sizeof(*groups->known));
	return group;
}

static void add_kernel(struct groups *groups, const struct np_detail *detail, struct group *group,
		       size_t index)
{
	const struct np_kernel *kernel = &detail->kernels.item[index];
	size_t base = (size_t)(group - groups->list.item) * groups->counters;
	np_ns length = kernel->end - kernel->start;

	group->count++;
	group->sum += length;
	group->least = length < group->least ? length : group->least;
	group->most = length > group->most ? length : group->most;
	group->wait = np_plus(group->wait, kernel->wait);
	for (size_t i = 0; i < groups->counters; i++) {
		double value = detail->pmu[index * groups->counters + i];

		if (isnan(value))
			continue;
		groups->sums[base + i] += value;
		groups->known[base + i]++;
	}
}

static int open_groups(struct view *view, struct np_err *err)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	struct groups *groups = calloc(1, sizeof(*groups));

	view->state = groups;
	if (!groups)
		return np_fail_nomem(err, "kernels");
	groups->counters = detail->pmu ? detail->pmu_count : 0;
	for (size_t i = GROUP_FIRST_COUNTER; i < GROUP_COUNT; i++)
		groups->column[i] = np_detail_counter(detail, group_columns[i].name);
	for (size_t i = 0; i < detail->kernels.count; i++) {
		struct group *group = find_group(groups, detail, (uint32_t)i, err);

		if (!group)
			return NP_E_NOMEM;
		add_kernel(groups, detail, group, i);
	}
	view->rows = groups->list.count;
	return NP_OK;
}

static struct np_cell counter_cell(const struct groups *groups, size_t row, size_t column)
{
	uint32_t counter = groups->column[column];
	size_t at = row * groups->counters + counter;

	if (counter == NP_NO_ROW || groups->counters == 0 || groups->known[at] == 0)
		return np_cell_null();
	return np_cell_real(groups->sums[at] / groups->known[at]);
}

static struct np_cell group_cell(const struct view *view, size_t row, size_t column)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;
	const struct groups *groups = view->state;
	const struct group *group = &groups->list.item[row];
	const struct np_kernel *kernel = &detail->kernels.item[group->first];

	switch (column) {
	case GROUP_rank:
		return np_cell_integer(detail->id);
	case GROUP_id:
		return np_cell_integer(group->first);
	case GROUP_in_step:
		return np_cell_integer(group->in_step);
	case GROUP_name:
		return view_text(detail, kernel->name);
	case GROUP_op_type:
		return view_text(detail, kernel->type);
	case GROUP_core:
		return view_text(detail, kernel->core);
	case GROUP_state:
		return view_text(detail, kernel->state);
	case GROUP_block_dim:
		return np_cell_integer(kernel->block_dim);
	case GROUP_mix_block_dim:
		return np_cell_integer(kernel->mix_block_dim);
	case GROUP_in_shapes:
		return view_text(detail, kernel->in_shapes);
	case GROUP_in_dtypes:
		return view_text(detail, kernel->in_dtypes);
	case GROUP_in_formats:
		return view_text(detail, kernel->in_formats);
	case GROUP_out_shapes:
		return view_text(detail, kernel->out_shapes);
	case GROUP_out_dtypes:
		return view_text(detail, kernel->out_dtypes);
	case GROUP_out_formats:
		return view_text(detail, kernel->out_formats);
	case GROUP_for_comm:
		return np_cell_integer(kernel->schedule);
	case GROUP_n:
		return np_cell_integer(group->count);
	case GROUP_dur_ns:
		return np_cell_integer(group->sum);
	case GROUP_min_ns:
		return np_cell_integer(group->least);
	case GROUP_max_ns:
		return np_cell_integer(group->most);
	case GROUP_wait_ns:
		return np_cell_integer(group->wait);
	default:
		return counter_cell(groups, row, column);
	}
}

static bool group_known(const struct view *view, size_t column)
{
	if (!view->opened)
		return true;
	for (size_t i = 0; i < view->rows; i++) {
		if (group_cell(view, i, column).type != NP_CELL_NULL)
			return true;
	}
	return view->rows == 0;
}

void view_make_kernel_group(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_kernel_group.name,
			       .columns = group_columns,
			       .column_count = GROUP_COUNT,
			       .present = (source->detail->has & NP_DETAIL_KERNELS) != 0,
			       .data = source,
			       .open = open_groups,
			       .close = close_groups,
			       .cell = group_cell,
			       .known = group_known };
}
