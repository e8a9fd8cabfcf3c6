/* SPDX-License-Identifier: Apache-2.0 */
/* What the whole device had, by module, beside a snapshot: the table that torch_npu leaves with it.
 */
#include "mem_rank.h"

#include "npuprof/csv.h"
#include "npuprof/dirs.h"
#include "npuprof/mem_snapshots.h"
#include "npuprof/text.h"

#include <stdlib.h>

/* Digits of <YmdHMS>, and how far two of them may be apart that are of one dump: a minute. */
#define STAMP_DIGITS 14
#define STAMP_APART  100

/* device_<d>_memUsageInfo_<YmdHMS>.csv */
static bool is_usage(const char *name, size_t device, int64_t *ret_stamp)
{
	char begin[64];
	int length = snprintf(begin, sizeof(begin), "device_%zu_memUsageInfo_", device);
	size_t digits;

	if (!np_text_begins(name, begin))
		return false;
	name += length;
	digits = strspn(name, "0123456789");
	return digits == STAMP_DIGITS && strcmp(name + digits, ".csv") == 0 &&
	       np_text_to_int(name, digits, ret_stamp);
}

/* The time in the name of a dump at out of memory; NP_UNKNOWN for other names. */
static int64_t stamp_in(const char *name)
{
	int64_t stamp;

	for (const char *at = name; *at; at++) {
		size_t digits = strspn(at, "0123456789");

		if (digits == STAMP_DIGITS && np_text_to_int(at, digits, &stamp))
			return stamp;
		at += digits > 0 ? digits - 1 : 0;
	}
	return NP_UNKNOWN;
}

/*
 * The table of this device and dump, to free; none where it may be of another process.
 * Names with times belong together within a minute, others where there are no two of either.
 */
static int find_table(const struct mem_rank *rank, char **ret, struct np_err *err)
{
	const char *name = np_text_last_part(rank->path);
	char *dir =
		name == rank->path ? strdup(".") : strndup(rank->path, (size_t)(name - rank->path));
	const int64_t stamp = stamp_in(name);
	struct np_names names = { 0 };
	const char *found = NULL;
	size_t tables = 0;
	size_t snapshots = 0;
	int rc = dir ? np_names_read(dir, &names, err) : np_fail_nomem(err, rank->path);

	if (rc == NP_OK) {
		for (size_t i = 0; i < names.list.count; i++) {
			const char *one = names.list.item[i];
			int64_t of;

			snapshots += np_mem_snapshots_is(one);
			if (!is_usage(one, rank->device, &of) ||
			    (stamp != NP_UNKNOWN && llabs(of - stamp) > STAMP_APART))
				continue;
			tables++;
			found = one;
		}
		if (tables == 1 && (stamp != NP_UNKNOWN || snapshots == 1)) {
			*ret = np_join_path(dir, found);
			rc = *ret ? NP_OK : np_fail_nomem(err, dir);
		}
	}
	np_names_release(&names);
	free(dir);
	return rc;
}

/* "420.5000" MiB with four decimals. */
static int64_t bytes_of(struct np_slice cell)
{
	int64_t scaled;

	if (!np_text_to_scaled(cell.bytes, cell.length, 4, &scaled) || scaled < 0 ||
	    scaled > INT64_MAX >> 21)
		return NP_UNKNOWN;
	return (scaled * (1 << 20) + 5000) / 10000;
}

static int order_modules(const void *a, const void *b)
{
	const struct mem_component *one = a;
	const struct mem_component *other = b;
	int order = np_order(other->peak_reserved, one->peak_reserved);

	return order ? order : strcmp(one->name, other->name);
}

static int read_table(struct mem_rank *rank, const char *path, bool at_end, struct np_err *err)
{
	static const struct np_csv_column columns[] = {
		{ "moduleName", NP_REQUIRED },
		{ "curMemSize(MB)", NP_REQUIRED },
		{ "memPeakSize(MB)", NP_REQUIRED },
	};
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row;
	int rc = np_csv_open(path, columns, NP_COUNT(columns), &csv, err);

	while (rc == NP_OK && (rc = np_csv_next(csv, &row, err)) == NP_OK && row) {
		int64_t peak = bytes_of(row->cell[2]);
		struct mem_component *component;

		if (peak <= 0)
			continue;
		component = np_vec_add(&rank->components, err);
		if (!component)
			return NP_E_NOMEM;
		*component = (struct mem_component){
			.name = strndup(row->cell[0].bytes, row->cell[0].length),
			.module = true,
			.peak_allocated = NP_UNKNOWN,
			.peak_reserved = peak,
			.peak_time = NP_UNKNOWN,
			.at_allocated = NP_UNKNOWN,
			/* It was written with the dump. */
			.at_reserved = at_end ? bytes_of(row->cell[1]) : NP_UNKNOWN,
			.growth = NP_UNKNOWN,
		};
		if (!component->name)
			return np_fail_nomem(err, "a module");
	}
	if (rank->components.count > 0)
		qsort(rank->components.item, rank->components.count,
		      sizeof(rank->components.item[0]), order_modules);
	return rc;
}

int mem_rank_read_usage(struct mem_rank *rank, bool at_end, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	char *path = NULL;
	int rc = find_table(rank, &path, &problem);

	if (rc == NP_OK && path)
		rc = read_table(rank, path, at_end, &problem);
	free(path);
	if (rc == NP_E_NOMEM)
		return np_fail(err, rc, "%s", problem.text);
	if (rc == NP_OK)
		return NP_OK;
	rank->usage_problem = strdup(problem.text);
	return rank->usage_problem ? NP_OK : np_fail_nomem(err, "a reason");
}
