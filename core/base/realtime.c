/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of a host and its name, which tests and demonstrations may set apart. */
#include "npuprof/realtime.h"

#include <pthread.h>

#include "npuprof/text.h"

static struct {
	int64_t rank;
	bool has_host;
	char host[64];
	np_ns offset;
	double ppm;
	np_ns epoch;
} here = { .rank = -1 };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static np_ns read_clock(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return (np_ns)now.tv_sec * 1000000000 + now.tv_nsec;
}

np_ns np_steady_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static int64_t rank_of_environment(void)
{
	static const char *const names[] = { "RANK", "RANK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					     "SLURM_PROCID" };

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		const char *text = getenv(names[i]);
		int64_t rank;

		if (text && np_text_to_int(text, strlen(text), &rank) && rank >= 0)
			return rank;
	}
	return -1;
}

#ifdef NP_SIM_CLOCK

/* The part of a list before the next comma; `*list` moves on. False at the end. */
static bool next_part(const char **list, const char **part, size_t *length)
{
	if (!**list)
		return false;
	*part = *list;
	*length = strcspn(*list, ",");
	*list += *length + ((*list)[*length] == ',');
	return true;
}

/* "3" or "0-3" has the rank. */
static bool range_has(const char *text, size_t length, int64_t rank)
{
	const char *dash = memchr(text, '-', length);
	size_t first_length = dash ? (size_t)(dash - text) : length;
	int64_t first;
	int64_t last;

	if (!np_text_to_int(text, first_length, &first))
		return false;
	last = first;
	if (dash && !np_text_to_int(dash + 1, length - first_length - 1, &last))
		return false;
	return first <= rank && rank <= last;
}

bool np_realtime_host_of(int64_t rank, char *name, size_t size)
{
	const char *list = getenv("NPUSIM_HOST_OF");
	const char *part;
	size_t length;

	while (list && next_part(&list, &part, &length)) {
		const char *colon = memchr(part, ':', length);

		if (!colon || !range_has(part, (size_t)(colon - part), rank))
			continue;
		(void)snprintf(name, size, "%.*s", (int)(part + length - colon - 1), colon + 1);
		return true;
	}
	return false;
}

/* "5000000" or "5000000:20", the offset in ns and the drift in ppm. */
static void read_skew(const char *text, size_t length)
{
	const char *colon = memchr(text, ':', length);
	size_t offset_length = colon ? (size_t)(colon - text) : length;
	int64_t value;

	if (np_text_to_int(text, offset_length, &value))
		here.offset = value;
	if (colon && np_text_to_scaled(colon + 1, length - offset_length - 1, 3, &value))
		here.ppm = (double)value / 1000;
}

static void read_skews(void)
{
	const char *list = getenv("NPUSIM_CLOCK_SKEW");
	size_t host_length = strlen(here.host);
	const char *part;
	size_t length;

	while (list && next_part(&list, &part, &length)) {
		if (length > host_length && part[host_length] == ':' &&
		    memcmp(part, here.host, host_length) == 0)
			read_skew(part + host_length + 1, length - host_length - 1);
	}
}

static void read_environment(void)
{
	const char *epoch = getenv("NPUSIM_CLOCK_EPOCH");

	here.rank = rank_of_environment();
	here.has_host = np_realtime_host_of(here.rank, here.host, sizeof(here.host));
	if (!here.has_host)
		return;
	read_skews();
	if (!epoch || !np_text_to_int(epoch, strlen(epoch), &here.epoch))
		here.epoch = -1;
}

/* The drift since the epoch. Only the length of time passes through a double. */
static np_ns drift_at(np_ns true_ns)
{
	np_ns since;

	if (here.ppm == 0)
		return 0;
	if (here.epoch >= 0)
		since = true_ns - here.epoch;
	else
		since = true_ns - (read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME));
	return (np_ns)((double)since * here.ppm / 1e6);
}

np_ns np_realtime_at(np_ns true_ns)
{
	(void)pthread_once(&once, read_environment);
	return true_ns + here.offset + drift_at(true_ns);
}

#else

static void read_environment(void)
{
	here.rank = rank_of_environment();
}

bool np_realtime_host_of(int64_t rank, char *name, size_t size)
{
	(void)rank;
	(void)name;
	(void)size;
	return false;
}

np_ns np_realtime_at(np_ns true_ns)
{
	return true_ns;
}

#endif

np_ns np_realtime_ns(void)
{
	return np_realtime_at(read_clock(CLOCK_REALTIME));
}

const char *np_realtime_host(void)
{
	(void)pthread_once(&once, read_environment);
	return here.has_host ? here.host : NULL;
}

int64_t np_realtime_rank(void)
{
	(void)pthread_once(&once, read_environment);
	return here.rank;
}
