/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FILE_NAMES_H
#define NP_FILE_NAMES_H

/*
 * What the names of a profile's files and directories say: ranks, times, kinds.
 * Times are ms since 1970, to be compared with the times of files as well; the zone
 * is not known, which matters to nobody who compares two names.
 */
#include "npuprof/run.h"

/* Larger files are not metadata. */
#define NP_METADATA_MAX_BYTES ((size_t)64 << 20)

/* Operators of a whole run: larger than metadata, still read as a whole. */
#define NP_DERIVED_MAX_BYTES ((size_t)1 << 30)

/* "<prefix><suffix>" (rank −1) or "<prefix>_<rank><suffix>". */
bool file_name_rank(const char *name, const char *prefix, const char *suffix, int32_t *ret);

/* "<prefix>_<digits><suffix>": the digits as a number that grows with time. */
bool file_name_number(const char *name, const char *prefix, const char *suffix, int64_t *ret);

/* The database of a rank that torch_npu or MindSpore wrote; rank −1 if the name has none. */
bool file_name_is_rank_db(const char *name, enum np_kind *ret_kind, int32_t *ret_rank);

/* Is it called like one, whatever stands where the rank belongs? */
bool file_name_was_rank_db(const char *name);

/* "msmonitor_<pid>_<17 digits>_<rank or -1>.db"; the time is -1 if there is no such time. */
bool file_name_is_msmonitor(const char *name, int64_t *ret_time, int32_t *ret_rank);

/* Its lines: msmonitor_<pid>_<time>_<rank>.jsonl; the process is -1 where it is no number. */
bool file_name_is_monitor_lines(const char *name, int64_t *ret_process, int64_t *ret_time,
				int32_t *ret_rank);

/*
 * The time in a directory's name, "<worker>_<yyyymmddHHMMSSmmm>_ascend_pt" or
 * "PROF_000001_<yyyymmddHHMMSSmmm>_<suffix>"; -1 for a name without one.
 */
int64_t file_name_time(const char *dir);

#endif /* NP_FILE_NAMES_H */
