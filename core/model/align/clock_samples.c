/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the collectives that clocks are found from, and divides the work on them into parts. */
#include "clock_fit.h"

#include "npuprof/align.h"
#include "npuprof/order.h"

/* Samples of one communicator. */
#define MOST_SAMPLES 512

/* So few ends are done before a thread has started. */
#define FEW_ENDS 20000

/* More parts than threads, so that the last one is waited for briefly. */
#define PARTS_PER_THREAD 4
#define MOST_PARTS       64

/* --- which ------------------------------------------------------------------------------------ */

/* What a communicator gives; then where it begins. */
struct taken {
	size_t stride;
	size_t instances;
	size_t ends;
};

struct taking {
	const struct np_align *align;
	struct clock_samples *samples;
	struct taken *taken; /* by communicator */
};

static bool ends_together(const struct np_instance *instance)
{
	return instance->rule == NP_RULE_ALL && instance->count > 1 &&
	       !(instance->flags & NP_INSTANCE_MISMATCH);
}

static void count_samples(void *context, size_t index)
{
	const struct taking *taking = context;
	const struct np_align_communicator *communicator =
		&taking->align->communicators.item[index];
	const struct np_instance *instance = &taking->align->instances.item[communicator->first];
	struct taken *taken = &taking->taken[index];
	size_t usable = 0;
	size_t seen = 0;

	for (uint32_t i = 0; i < communicator->count; i++)
		usable += ends_together(&instance[i]);
	taken->stride = usable / MOST_SAMPLES + 1;
	for (uint32_t i = 0; i < communicator->count; i++) {
		if (!ends_together(&instance[i]) || seen++ % taken->stride != 0)
			continue;
		taken->instances++;
		taken->ends += instance[i].count;
	}
}

static void take_instance(const struct taking *taking, const struct np_instance *instance,
			  size_t to, size_t end)
{
	const struct np_align *align = taking->align;
	struct clock_samples *samples = taking->samples;

	samples->instances.item[to] =
		(struct clock_instance){ .first = (uint32_t)end, .count = instance->count };
	for (uint32_t i = 0; i < instance->count; i++) {
		samples->rank.item[end + i] = align->members[instance->first + i].rank;
		samples->end.item[end + i] = np_align_op(align, instance->first + i)->end;
	}
}

static void take_samples(void *context, size_t index)
{
	const struct taking *taking = context;
	const struct np_align_communicator *communicator =
		&taking->align->communicators.item[index];
	const struct np_instance *instance = &taking->align->instances.item[communicator->first];
	struct taken at = taking->taken[index];
	size_t seen = 0;

	for (uint32_t i = 0; i < communicator->count; i++) {
		if (!ends_together(&instance[i]) || seen++ % at.stride != 0)
			continue;
		take_instance(taking, &instance[i], at.instances++, at.ends);
		at.ends += instance[i].count;
	}
}

/* --- all -------------------------------------------------------------------------------------- */

/* Counts become places. */
static void place_samples(struct taking *taking)
{
	struct clock_samples *samples = taking->samples;

	for (size_t i = 0; i < taking->align->communicators.count; i++) {
		struct taken own = taking->taken[i];

		taking->taken[i].instances = samples->instances.count;
		taking->taken[i].ends = samples->end.count;
		samples->instances.count += own.instances;
		samples->end.count += own.ends;
		samples->communicator_first[i + 1] = (uint32_t)samples->instances.count;
	}
	samples->rank.count = samples->end.count;
}

static bool allocate(struct clock_samples *samples)
{
	samples->instances.capacity = samples->instances.count + 1;
	samples->instances.item =
		malloc(samples->instances.capacity * sizeof(*samples->instances.item));
	samples->rank.capacity = samples->rank.count + 1;
	samples->rank.item = malloc(samples->rank.capacity * sizeof(*samples->rank.item));
	samples->end.capacity = samples->end.count + 1;
	samples->end.item = malloc(samples->end.capacity * sizeof(*samples->end.item));
	samples->scratch = malloc((samples->parts * samples->ranks + 1) * sizeof(np_ns));
	return samples->instances.item && samples->rank.item && samples->end.item &&
	       samples->scratch;
}

static void choose_parts(struct clock_samples *samples)
{
	size_t threads = samples->workers.threads ? samples->workers.threads : np_processors();

	if (samples->end.count < FEW_ENDS)
		threads = 1;
	samples->workers.threads = threads;
	samples->parts = threads > 1 ? threads * PARTS_PER_THREAD : 1;
	if (samples->parts > MOST_PARTS)
		samples->parts = MOST_PARTS;
}

int clock_samples_take(const struct np_align *align, size_t threads, struct clock_samples *ret,
		       struct np_err *err)
{
	size_t communicators = align->communicators.count;
	struct taking taking = { .align = align, .samples = ret };
	int rc = NP_OK;

	*ret = (struct clock_samples){ .workers.threads = threads,
				       .ranks = align->run->sources.count };
	taking.taken = calloc(communicators + 1, sizeof(*taking.taken));
	ret->communicator_first = calloc(communicators + 1, sizeof(uint32_t));
	if (taking.taken && ret->communicator_first) {
		np_workers_run(&ret->workers, communicators, count_samples, &taking);
		place_samples(&taking);
		choose_parts(ret);
	}
	if (!taking.taken || !ret->communicator_first || !allocate(ret))
		rc = np_fail_nomem(err, "clocks");
	else
		np_workers_run(&ret->workers, communicators, take_samples, &taking);
	free(taking.taken);
	if (rc < 0)
		clock_samples_release(ret);
	return rc;
}

void clock_samples_release(struct clock_samples *samples)
{
	np_vec_release(&samples->instances);
	np_vec_release(&samples->rank);
	np_vec_release(&samples->end);
	free(samples->communicator_first);
	free(samples->scratch);
	samples->communicator_first = NULL;
	samples->scratch = NULL;
}

/* --- parts ------------------------------------------------------------------------------------ */

struct clock_range clock_part(const struct clock_samples *samples, size_t count, size_t part)
{
	return (struct clock_range){ count * part / samples->parts,
				     count * (part + 1) / samples->parts };
}

struct clock_range clock_ends_of(const struct clock_samples *samples,
				 const struct clock_instance *instance, struct clock_range ranks)
{
	const uint32_t *rank = samples->rank.item;
	struct clock_range ends = { instance->first, instance->first + instance->count };

	if (rank[ends.from] < ranks.from)
		ends.from = np_lower_bound(i, ends.from, ends.to, rank[i] >= ranks.from);
	if (ends.from < ends.to && rank[ends.to - 1] >= ranks.to)
		ends.to = np_lower_bound(i, ends.from, ends.to, rank[i] >= ranks.to);
	return ends;
}
