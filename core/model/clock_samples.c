/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_private.h"

/* Samples of one communicator. */
#define MOST_SAMPLES 512

static bool ends_together(const struct np_instance *instance)
{
	return instance->rule == NP_RULE_ALL && instance->count > 1 &&
	       !(instance->flags & NP_INSTANCE_MISMATCH);
}

static int add_sample(const struct np_align *align, const struct np_instance *instance,
		      struct clock_samples *samples, struct np_err *err)
{
	struct clock_instance *sample = np_vec_add(&samples->instances, err);

	if (!sample)
		return NP_E_NOMEM;
	sample->first = (uint32_t)samples->end.count;
	sample->count = instance->count;
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t *rank = np_vec_add(&samples->rank, err);
		np_ns *end = np_vec_add(&samples->end, err);

		if (!rank || !end)
			return NP_E_NOMEM;
		*rank = align->members[instance->first + i].rank;
		*end = np_align_op(align, instance->first + i)->end;
	}
	return NP_OK;
}

static int sample_communicator(const struct np_align *align, size_t index,
			       struct clock_samples *samples, struct np_err *err)
{
	const struct np_align_communicator *communicator = &align->communicators.item[index];
	const struct np_instance *instance = &align->instances.item[communicator->first];
	size_t usable = 0;
	size_t seen = 0;
	size_t stride;
	int rc = NP_OK;

	for (uint32_t i = 0; i < communicator->count; i++)
		usable += ends_together(&instance[i]);
	stride = usable / MOST_SAMPLES + 1;
	for (uint32_t i = 0; i < communicator->count && rc == NP_OK; i++) {
		if (ends_together(&instance[i]) && seen++ % stride == 0)
			rc = add_sample(align, &instance[i], samples, err);
	}
	return rc;
}

int clock_samples_take(const struct np_align *align, struct clock_samples *ret, struct np_err *err)
{
	size_t communicators = align->communicators.count;
	int rc = NP_OK;

	ret->communicator_first = calloc(communicators + 1, sizeof(uint32_t));
	ret->scratch = malloc((align->run->sources.count + 1) * sizeof(np_ns));
	if (!ret->communicator_first || !ret->scratch)
		rc = np_fail_nomem(err, "clocks");
	for (size_t i = 0; i < communicators && rc == NP_OK; i++) {
		rc = sample_communicator(align, i, ret, err);
		ret->communicator_first[i + 1] = (uint32_t)ret->instances.count;
	}
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
