/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a step is communication of the communicators of one parallel
 * dimension, or of several together, and how much of it computing does not hide.
 */
#include "registry.h"

#include "npuprof/arena.h"
#include "npuprof/text.h"

#include <math.h>

#define MODE "computational_op_masking"

#define DEFAULT_TYPES "dp+edp,edp,dp,ep,pp,mp,tp"
#define TYPES_MOST    64

/* One set of dimensions: "dp+edp". */
struct masked_type {
	const char *text;
	size_t length;
};

/* One step of a rank, for each type: all of its communication, and what nothing hides. */
struct step_masking {
	np_ns total[TYPES_MOST];
	np_ns exposed[TYPES_MOST];
	size_t ops[TYPES_MOST];
};

struct masking {
	struct step_masking *steps;
	const char **dimensions; /* by communicator of the rank; NULL for those without a name */
	bool unnamed;            /* some operator belongs to one of these */
};

static void release(void *result)
{
	free(((struct masking *)result)->steps);
	free(((struct masking *)result)->dimensions);
	free(result);
}

/* What is looked at, the same for all ranks. */
struct types {
	struct masked_type list[TYPES_MOST];
	size_t count;
	struct np_buf names; /* of all dimensions that operators belong to */
	bool given;          /* the sets are the user's */
};

static void unprepare(void *prepared)
{
	np_buf_release(&((struct types *)prepared)->names);
	free(prepared);
}

static void add_type(struct types *types, const char *text, size_t length)
{
	if (length > 0 && types->count < TYPES_MOST)
		types->list[types->count++] = (struct masked_type){ text, length };
}

static void add_types(struct types *types, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ",;");

		add_type(types, text, length);
		text += length + (text[length] != '\0');
	}
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

struct masked_names {
	NP_VEC(const char *) list;
};

static int add_name(struct masked_names *names, const char *name, struct np_err *err)
{
	const char **slot;

	for (size_t i = 0; i < names->list.count; i++) {
		if (strcmp(names->list.item[i], name) == 0)
			return NP_OK;
	}
	slot = np_vec_add(&names->list, err);
	if (slot)
		*slot = name;
	return slot ? NP_OK : NP_E_NOMEM;
}

/* What a communicator is for; where the rank itself does not say, as another of its ranks does. */
static const char *dimension_of(const struct np_modes *modes, const struct np_rank *rank,
				uint32_t group)
{
	const struct np_group *own = &rank->groups.item[group];
	const struct np_communicator *communicator;

	if (own->pg_name != NP_STR_NONE)
		return np_run_text(modes->run, own->pg_name);
	communicator = np_cluster_communicator(modes->cluster, own->hash);
	return communicator ? np_run_text(modes->run, communicator->pg_name) : NULL;
}

/* The dimensions of a rank's operators; most are of the communicator of the one before. */
static int add_names_of(const struct np_modes *modes, const struct np_rank *rank,
			struct masked_names *names, struct np_err *err)
{
	uint32_t last = UINT32_MAX;
	int rc = NP_OK;

	for (size_t i = 0; i < rank->ops.count && rc == NP_OK; i++) {
		uint32_t group = rank->ops.item[i].group;
		const char *name = group != last ? dimension_of(modes, rank, group) : NULL;

		if (name)
			rc = add_name(names, name, err);
		last = group;
	}
	return rc;
}

/* Names that frameworks have for dimensions and the usual ones leave out are sets of their own. */
static int add_others(const struct np_modes *modes, struct types *types,
		      const struct masked_names *names, struct np_err *err)
{
	size_t usual = types->count;

	for (size_t i = 0; i < names->list.count; i++) {
		const char *name = names->list.item[i];
		size_t length = strlen(name);
		bool known = types->given;
		const char *copy;

		np_buf_printf(&types->names, "%s%s", i ? ", " : "", name);
		for (size_t j = 0; j < usual && !known; j++)
			known = types->list[j].length == length &&
				memcmp(types->list[j].text, name, length) == 0;
		if (known)
			continue;
		copy = np_arena_text(modes->arena, name, length);
		if (!copy)
			return np_fail_nomem(err, MODE);
		add_type(types, copy, length);
	}
	return np_buf_check(&types->names, err);
}

static int prepare(struct np_modes *modes, void **ret, struct np_err *err)
{
	struct types *types = calloc(1, sizeof(*types));
	struct masked_names names = { 0 };
	int rc = NP_OK;

	if (!types)
		return np_fail_nomem(err, MODE);
	*ret = types;
	types->names = NP_BUF_INIT;
	types->given = modes->options.parallel_types != NULL;
	add_types(types, types->given ? modes->options.parallel_types : DEFAULT_TYPES);
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (modes->run->ranks[i])
			rc = add_names_of(modes, modes->run->ranks[i], &names, err);
	}
	if (names.list.count)
		qsort(names.list.item, names.list.count, sizeof(names.list.item[0]), by_text);
	if (rc == NP_OK)
		rc = add_others(modes, types, &names, err);
	np_vec_release(&names.list);
	return rc;
}

/* Is the dimension one of the set? */
static bool holds(struct masked_type type, const char *name)
{
	size_t length = strlen(name);

	for (size_t at = 0; at < type.length;) {
		size_t part = strcspn(type.text + at, "+,;");

		if (at + part > type.length)
			part = type.length - at;
		if (part == length && memcmp(type.text + at, name, length) == 0)
			return true;
		at += part + 1;
	}
	return false;
}

static int measure(struct mode_rank *rank, uint32_t step, struct masked_type type,
		   const struct np_spans *computing, const struct masking *masking, size_t at)
{
	struct step_masking *ret = &masking->steps[step];
	NP_CLEANUP(np_spans_freep) struct np_spans *set = np_spans_new();
	int rc = set ? NP_OK : np_fail_nomem(rank->err, MODE);

	for (size_t i = 0; i < rank->rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &rank->rank->ops.item[i];
		const char *name = masking->dimensions[op->group];

		if (op->step != step || !name || !holds(type, name) ||
		    !mode_on_device(rank->rank, op->device))
			continue;
		ret->ops[at]++;
		rc = np_spans_add(set, op->start, op->end, rank->err);
	}
	if (rc == NP_OK && ret->ops[at] > 0) {
		ret->total[at] = np_spans_total(set);
		ret->exposed[at] = ret->total[at] - np_spans_overlap(set, computing);
	}
	return rc;
}

static int reduce_step(struct mode_rank *rank, uint32_t step, const struct types *types,
		       const struct masking *masking)
{
	const struct np_spans *computing = mode_computing(rank, step);
	int rc = computing ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < types->count && rc == NP_OK; i++)
		rc = measure(rank, step, types->list[i], computing, masking, i);
	return rc;
}

static int name_communicators(const struct mode_rank *rank, struct masking *masking)
{
	size_t count = rank->rank->groups.count;

	/* An array of pointers is meant. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	masking->dimensions = calloc(count + 1, sizeof(*masking->dimensions));
	if (!masking->dimensions)
		return np_fail_nomem(rank->err, MODE);
	for (uint32_t i = 0; i < count; i++)
		masking->dimensions[i] = dimension_of(rank->modes, rank->rank, i);
	for (size_t i = 0; i < rank->rank->ops.count; i++)
		masking->unnamed |= !masking->dimensions[rank->rank->ops.item[i].group];
	return NP_OK;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct masking *masking = calloc(1, sizeof(*masking));
	int rc;

	if (!masking)
		return np_fail_nomem(rank->err, MODE);
	*ret = masking;
	masking->steps = calloc(rank->rank->steps.count + 1, sizeof(*masking->steps));
	if (!masking->steps)
		return np_fail_nomem(rank->err, MODE);
	rc = name_communicators(rank, masking);
	for (uint32_t i = 0; i < rank->rank->steps.count && rc == NP_OK; i++)
		rc = reduce_step(rank, i, prepared, masking);
	return rc;
}

/* --- table ----------------------------------------------------------------------------------- */

static const struct np_column columns[] = {
	{ "rankId", NP_INTEGER },
	{ "stepId", NP_INTEGER },
	{ "parallelType", NP_TEXT },
	{ "stepStartTime", NP_INTEGER },
	{ "stepEndTime", NP_INTEGER },
	{ "totalCommunicationOperatorTime", NP_INTEGER },
	{ "timeRatioOfStepCommunicationOperator", NP_REAL },
	{ "totalTimeWithoutCommunicationBlackout", NP_INTEGER },
	{ "ratioOfUnmaskedCommunication", NP_REAL },
};

/*
 * The length of the host's step, or where none was marked, or it is not known when it
 * was, of what the device did in it; NaN if that is not known either.
 */
static double length_of(const struct np_rank *rank, uint32_t step, np_ns *begin, np_ns *end)
{
	const struct np_step *at = &rank->steps.item[step];

	if (at->host_begin != NP_UNKNOWN && at->host_end != NP_UNKNOWN) {
		*begin = at->host_begin;
		*end = at->host_end;
		return *end > *begin ? (double)(*end - *begin) : (double)NAN;
	}
	for (size_t i = 0; i < rank->times.count; i++) {
		np_ns span = rank->times.item[i].span;

		if (rank->times.item[i].step != step || span == NP_UNKNOWN ||
		    !mode_on_device(rank, rank->times.item[i].device))
			continue;
		if (at->begin != NP_UNKNOWN) {
			*begin = at->begin;
			*end = at->begin + span;
		}
		return span > 0 ? (double)span : (double)NAN;
	}
	return (double)NAN;
}

static int put(struct np_modes *modes, struct np_mode_table *table, const struct types *types,
	       size_t index, uint32_t step, const struct step_masking *masking, struct np_err *err)
{
	const struct np_rank *rank = modes->run->ranks[index];
	np_ns begin = NP_UNKNOWN;
	np_ns end = NP_UNKNOWN;
	double length = length_of(rank, step, &begin, &end);
	int rc = NP_OK;

	for (size_t i = 0; i < types->count && rc == NP_OK; i++) {
		if (masking->ops[i] == 0)
			continue;
		rc = mode_row(
			modes, table,
			(const struct np_cell[NP_COUNT(columns)]){
				np_cell_integer(rank->id),
				mode_step_cell(modes, rank->steps.item[step].id),
				np_cell_bytes(types->list[i].text, types->list[i].length),
				np_cell_integer(begin),
				np_cell_integer(end),
				np_cell_integer(masking->total[i]),
				np_cell_real(np_round((double)masking->total[i] / length, 5)),
				np_cell_integer(masking->exposed[i]),
				np_cell_real(np_round((double)masking->exposed[i] / length, 5)),
			},
			err);
	}
	return rc;
}

#define WHERE_NAMED " (they are named in parallel_group_info of profiler_metadata.json)"

static bool has_unnamed(const void *result)
{
	return ((const struct masking *)result)->unnamed;
}

/* Ranks of which something is left out. */
static int note_unnamed(struct np_modes *modes, void *const *ranks, struct np_err *err)
{
	return mode_note_results(
		modes, MODE, ranks, has_unnamed,
		"operators of communicators without a name are left out" WHERE_NAMED, err);
}

/* Sets that no communicator is of: no error where they are the usual ones. */
static void note_unknown(struct np_modes *modes, const struct types *types, const bool *found)
{
	NP_CLEANUP(np_buf_release) struct np_buf unknown = NP_BUF_INIT;

	for (size_t i = 0; i < types->count && types->given; i++) {
		if (!found[i])
			np_buf_printf(&unknown, "%s%.*s", unknown.length ? ", " : "",
				      (int)types->list[i].length, types->list[i].text);
	}
	if (types->names.length == 0)
		np_note_add(&modes->run->notes, NP_NOTE_SKIPPED, NP_NO_RANK,
			    modes->run->roots.item[0], MODE,
			    "no operator belongs to a communicator with a name" WHERE_NAMED);
	else if (unknown.length)
		np_note_add(&modes->run->notes, NP_NOTE_SKIPPED, NP_NO_RANK,
			    modes->run->roots.item[0], MODE,
			    "no operator belongs to a communicator named %s; there are %s",
			    unknown.text, types->names.text);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "ComputationalOperatorMaskingLinearity",
			   "communication by parallel dimension, hidden or not", columns, err);
	const struct types *types = prepared;
	bool found[TYPES_MOST] = { false };
	bool any = false;
	int rc = table ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct masking *masking = ranks[i];

		if (!masking)
			continue;
		any = true;
		for (uint32_t j = 0; j < modes->run->ranks[i]->steps.count && rc == NP_OK; j++) {
			for (size_t k = 0; k < types->count; k++)
				found[k] |= masking->steps[j].ops[k] > 0;
			rc = put(modes, table, types, i, j, &masking->steps[j], err);
		}
	}
	if (rc == NP_OK && any)
		note_unknown(modes, types, found);
	if (rc == NP_OK && types->names.length > 0)
		rc = note_unnamed(modes, ranks, err);
	return rc;
}

const struct mode mode_computational_op_masking = {
	.name = MODE,
	.summary = "communication by parallel dimension that computing does not hide",
	.devices = MODE_DEVICES_FIRST,
	.wants = NP_DETAIL_KERNELS,
	.needs = NP_DETAIL_KERNELS | NP_DETAIL_OPS,
	.prepare = prepare,
	.reduce = reduce,
	.merge = merge,
	.release = release,
	.unprepare = unprepare,
};
