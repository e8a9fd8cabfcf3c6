/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of kernels while they are read: columns are found with their values. */
#include "detail_load.h"

#include "npuprof/arena.h"

#include <math.h>

/* Columns there is room for at first; databases of real runs have 28 counters. */
#define FIRST_ROOM 32

/*
 * Files name counters alike, but for the unit that text puts behind the name
 * and two that have other names there. Times of the database are in ns already.
 */
static size_t canonical(const char *name, size_t length, char *ret, size_t size, double *scale)
{
	static const char unit[] = "(us)";
	const size_t unit_length = sizeof(unit) - 1;
	const char *known;

	*scale = 1;
	if (length > unit_length && memcmp(name + length - unit_length, unit, unit_length) == 0) {
		length -= unit_length;
		*scale = 1000;
	}
	known = vendor_counter_name(name, length);
	if (known != name) {
		name = known;
		length = strlen(known);
	}
	if (length >= size)
		length = size - 1;
	memcpy(ret, name, length);
	ret[length] = '\0';
	return length;
}

int detail_pmu_column(struct detail_load *load, struct detail_pmu *pmu, const char *name,
		      size_t length, uint32_t *ret)
{
	char text[128];
	double scale;
	double *scale_slot;
	np_str *slot;
	np_str id;
	int rc = np_strtab_add(load->detail->strings, text,
			       canonical(name, length, text, sizeof(text), &scale), &id, load->err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < pmu->names.count; i++) {
		if (pmu->names.item[i] == id) {
			*ret = (uint32_t)i;
			return NP_OK;
		}
	}
	slot = np_vec_add(&pmu->names, load->err);
	scale_slot = np_vec_add(&pmu->scales, load->err);
	if (!slot || !scale_slot)
		return NP_E_NOMEM;
	*slot = id;
	*scale_slot = scale;
	*ret = (uint32_t)(pmu->names.count - 1);
	return NP_OK;
}

int detail_pmu_reserve(struct detail_load *load, struct detail_pmu *pmu)
{
	struct np_detail *detail = load->detail;
	size_t before = detail->pmu ? pmu->room : 0;
	size_t room = before > 0 ? before : FIRST_ROOM;
	size_t values;
	double *grown;

	while (room < pmu->names.count)
		room *= 2;
	if (room == before)
		return NP_OK;
	if (__builtin_mul_overflow(detail->kernels.count, room, &values) ||
	    values > SIZE_MAX / sizeof(double) - 1)
		return np_fail_nomem(load->err, "counters");
	grown = malloc((values + 1) * sizeof(double));
	if (!grown)
		return np_fail_nomem(load->err, "counters");
	for (size_t i = 0; i < values; i++)
		grown[i] = (double)NAN;
	for (size_t k = 0; before > 0 && k < detail->kernels.count; k++)
		memcpy(&grown[k * room], &detail->pmu[k * before], before * sizeof(double));
	free(detail->pmu);
	detail->pmu = grown;
	pmu->room = room;
	return NP_OK;
}

int detail_pmu_finish(struct detail_load *load, const struct detail_pmu *pmu)
{
	struct np_detail *detail = load->detail;
	size_t count = pmu->names.count;

	detail->pmu_count = count;
	if (count == 0)
		return NP_OK;
	detail->pmu_names = np_arena_array(detail->arena, count, sizeof(np_str));
	if (!detail->pmu_names)
		return np_fail_nomem(load->err, "counters");
	memcpy(detail->pmu_names, pmu->names.item, count * sizeof(np_str));
	for (size_t k = 1; k < detail->kernels.count; k++)
		memmove(&detail->pmu[k * count], &detail->pmu[k * pmu->room],
			count * sizeof(double));
	return NP_OK;
}

void detail_pmu_release(struct detail_pmu *pmu)
{
	np_vec_release(&pmu->names);
	np_vec_release(&pmu->scales);
}
