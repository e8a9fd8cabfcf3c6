/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, times and kinds of profiles from the names of their files and directories. */
#include "file_names.h"

#include "npuprof/text.h"

bool file_name_rank(const char *name, const char *prefix, const char *suffix, int32_t *ret)
{
	size_t begin = strlen(prefix);
	size_t length = strlen(name);
	int64_t number;

	if (!np_text_begins(name, prefix) || !np_text_ends(name, suffix) ||
	    length < begin + strlen(suffix))
		return false;
	length -= begin + strlen(suffix);
	if (length == 0) {
		*ret = -1;
		return true;
	}
	if (name[begin] != '_' || !np_text_to_int(name + begin + 1, length - 1, &number) ||
	    number < 0 || number > INT32_MAX)
		return false;
	*ret = (int32_t)number;
	return true;
}

bool file_name_number(const char *name, const char *prefix, const char *suffix, int64_t *ret)
{
	size_t begin = strlen(prefix);
	size_t length = strlen(name);

	if (!np_text_begins(name, prefix) || !np_text_ends(name, suffix) ||
	    length < begin + strlen(suffix) + 2 || name[begin] != '_')
		return false;
	return np_text_to_int(name + begin + 1, length - begin - strlen(suffix) - 1, ret);
}

/* `count` digits as a number. */
static int number_of(const char *digits, int count)
{
	int number = 0;

	for (int i = 0; i < count; i++)
		number = number * 10 + (digits[i] - '0');
	return number;
}

/* yyyymmddHHMMSS and up to three digits more as a time; -1 if there is no such time. */
static int64_t stamp_of_digits(const char *begin, const char *end)
{
	struct tm when = { 0 };
	int64_t milliseconds = 0;
	int64_t number;

	if (end - begin < 14 || end - begin > 17 ||
	    !np_text_to_int(begin, (size_t)(end - begin), &number) || number < 0)
		return -1;
	when.tm_year = number_of(begin, 4) - 1900;
	when.tm_mon = number_of(begin + 4, 2) - 1;
	when.tm_mday = number_of(begin + 6, 2);
	when.tm_hour = number_of(begin + 8, 2);
	when.tm_min = number_of(begin + 10, 2);
	when.tm_sec = number_of(begin + 12, 2);
	if (when.tm_mon < 0 || when.tm_mon > 11 || when.tm_mday < 1 || when.tm_mday > 31 ||
	    when.tm_hour > 23 || when.tm_min > 59 || when.tm_sec > 60)
		return -1;
	/* Old names end in seconds, new ones in milliseconds. */
	for (ptrdiff_t i = 14; i < 17; i++)
		milliseconds = milliseconds * 10 + (i < end - begin ? begin[i] - '0' : 0);
	return (int64_t)timegm(&when) * 1000 + milliseconds;
}

/* "<worker>.<time>.pt.trace.json": the time since 1970 in s, ms, µs or ns; -1 for another name. */
static int64_t time_of_kineto(const char *name)
{
	const char *end = strstr(name, ".pt.trace.json");
	const char *begin = end;
	int64_t time;

	while (begin && begin > name && begin[-1] >= '0' && begin[-1] <= '9')
		begin--;
	if (!end || begin == name || begin[-1] != '.' || end - begin < 10 ||
	    !np_text_to_int(begin, (size_t)(end - begin), &time))
		return -1;
	switch (end - begin) {
	case 10:
		return time * 1000;
	case 16:
		return time / 1000;
	case 19:
		return time / 1000000;
	default:
		return time;
	}
}

int64_t file_name_time(const char *dir)
{
	const char *name = np_text_last_part(dir);
	const char *end = NULL;
	const char *begin;

	/* The last one: the name of the worker is free and may hold it too. */
	for (const char *at = name; (at = strstr(at, "_ascend_")); at++)
		end = at;
	if (np_text_begins(name, "PROF_"))
		end = strrchr(name, '_');
	if (!end)
		return time_of_kineto(name);
	for (begin = end; begin > name && begin[-1] >= '0' && begin[-1] <= '9';)
		begin--;
	if (begin > name && begin[-1] != '_')
		return -1;
	return stamp_of_digits(begin, end);
}

bool file_name_is_rank_db(const char *name, enum np_kind *kind, int32_t *rank)
{
	if (file_name_rank(name, "ascend_pytorch_profiler", ".db", rank)) {
		*kind = NP_KIND_PYTORCH;
		return true;
	}
	if (file_name_rank(name, "ascend_mindspore_profiler", ".db", rank)) {
		*kind = NP_KIND_MINDSPORE;
		return true;
	}
	return false;
}

bool file_name_was_rank_db(const char *name)
{
	return (np_text_begins(name, "ascend_pytorch_profiler") ||
		np_text_begins(name, "ascend_mindspore_profiler")) &&
	       np_text_ends(name, ".db");
}

/* msmonitor_<pid>_<time>_<rank><suffix> */
static bool is_monitor(const char *name, const char *suffix, int64_t *process, int64_t *stamp,
		       int32_t *rank)
{
	const char *fields[3];
	const char *end = name + strlen(name);
	int64_t number;

	if (!np_text_begins(name, "msmonitor_") || !np_text_ends(name, suffix))
		return false;
	fields[0] = name + strlen("msmonitor_");
	for (size_t i = 1; i < NP_COUNT(fields); i++) {
		fields[i] = strchr(fields[i - 1], '_');
		if (!fields[i])
			return false;
		fields[i]++;
	}
	end -= strlen(suffix);
	if (end <= fields[2] || !np_text_to_int(fields[2], (size_t)(end - fields[2]), &number) ||
	    number < -1 || number > INT32_MAX)
		return false;
	*rank = (int32_t)number;
	*stamp = stamp_of_digits(fields[1], fields[2] - 1);
	if (!np_text_to_int(fields[0], (size_t)(fields[1] - 1 - fields[0]), process))
		*process = -1;
	return true;
}

bool file_name_is_msmonitor(const char *name, int64_t *stamp, int32_t *rank)
{
	int64_t process;

	return is_monitor(name, ".db", &process, stamp, rank);
}

bool file_name_is_monitor_lines(const char *name, int64_t *process, int64_t *stamp, int32_t *rank)
{
	return is_monitor(name, ".jsonl", process, stamp, rank) ||
	       is_monitor(name, ".jsonl.gz", process, stamp, rank);
}
