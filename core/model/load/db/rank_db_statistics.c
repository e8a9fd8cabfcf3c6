/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

#include "core/model/load/capture/statistics.h"

/* --- kernels by type ------------------------------------------------------------------------- */

int rank_db_count_kernel(struct rank_db *load, int64_t type, int64_t core, np_ns time)
{
	struct np_statistic *entry;
	uint32_t index;
	/* String ids stay below 2^31 by far; two of them make one key. */
	int64_t key = (int64_t)((uint64_t)type << 32 ^ (uint64_t)core);
	int rc;

	if (type == NP_UNKNOWN)
		return NP_OK;
	index = np_idmap_get(load->kernel_index, key);
	if (index != NP_IDMAP_NONE) {
		statistics_add(&load->rank->kernels.item[index], time);
		return NP_OK;
	}
	entry = np_vec_add(&load->rank->kernels, load->err);
	if (!entry)
		return NP_E_NOMEM;
	rc = rank_db_intern(load, type, &entry->name);
	if (rc == NP_OK && core != NP_UNKNOWN)
		rc = rank_db_intern(load, core, &entry->kind);
	statistics_add(entry, time);
	if (rc < 0)
		return rc;
	return np_idmap_set(load->kernel_index, key, (uint32_t)(load->rank->kernels.count - 1),
			    load->err);
}

/* --- calls by function ----------------------------------------------------------------------- */

int rank_db_count_call(struct rank_db *load, int64_t type, int64_t name, np_ns time)
{
	int64_t key = (int64_t)((uint64_t)name << 16 ^ (uint64_t)type);
	const char *level = vendor_api_name(type);
	struct np_statistic *entry;
	uint32_t index;
	int rc;

	if (name == NP_UNKNOWN || time < 0)
		return NP_OK;
	index = np_idmap_get(load->call_index, key);
	if (index != NP_IDMAP_NONE) {
		statistics_add(&load->rank->calls.item[index], time);
		return NP_OK;
	}
	entry = np_vec_add(&load->rank->calls, load->err);
	if (!entry)
		return NP_E_NOMEM;
	rc = rank_db_intern(load, name, &entry->name);
	if (rc == NP_OK)
		rc = np_strtab_add(load->strings, level, strlen(level), &entry->kind, load->err);
	statistics_add(entry, time);
	if (rc < 0)
		return rc;
	return np_idmap_set(load->call_index, key, (uint32_t)(load->rank->calls.count - 1),
			    load->err);
}
