/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the environment variables that steer the simulation, once. */
#include <pthread.h>

#include "npuprof/ranges.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"
#include "nsim.h"

static struct nsim_knobs knobs;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* One entry of NPUSIM_FAIL. */
struct failure {
	char call[64];
	int code;
	int64_t only; /* the call that fails, from 1; 0 all */
	_Atomic int64_t calls;
};

static struct failure failures[32];
static size_t failure_count;

static int64_t int_knob(const char *name, int64_t fallback)
{
	const char *text = getenv(name);
	int64_t value;

	return text && np_text_to_int(text, strlen(text), &value) ? value : fallback;
}

/* A decimal fraction of at most six places. */
static double fraction_of(const char *text, double fallback)
{
	int64_t value;

	if (!text || !np_text_to_scaled(text, strlen(text), 6, &value))
		return fallback;
	return (double)value / 1e6;
}

static double positive_knob(const char *name, double fallback)
{
	double value = fraction_of(getenv(name), fallback);

	return value > 0 ? value : fallback;
}

static double slow_factor(int64_t rank)
{
	const char *text = getenv("NPUSIM_SLOW_RANK");
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranks = NULL;

	if (!text || np_ranges_parse(text, &ranks, NULL) < 0 || !np_ranges_has(ranks, rank))
		return 1;
	return positive_knob("NPUSIM_SLOW_FACTOR", 1.5);
}

/* "2-5:3.5" */
static void read_slow_link(void)
{
	const char *text = getenv("NPUSIM_SLOW_LINK");
	const char *dash = text ? strchr(text, '-') : NULL;
	const char *colon = dash ? strchr(dash, ':') : NULL;
	int64_t from;
	int64_t to;

	knobs.slow_link[0] = -1;
	knobs.slow_link[1] = -1;
	knobs.slow_link_factor = 1;
	if (!colon || !np_text_to_int(text, (size_t)(dash - text), &from) ||
	    !np_text_to_int(dash + 1, (size_t)(colon - dash - 1), &to))
		return;
	knobs.slow_link[0] = from;
	knobs.slow_link[1] = to;
	knobs.slow_link_factor = fraction_of(colon + 1, 1);
}

/* "rank2", "rank*": is it this one? */
static bool is_this_rank(const char *text, size_t length)
{
	int64_t rank;

	if (length < 5 || memcmp(text, "rank", 4) != 0)
		return false;
	if (length == 5 && text[4] == '*')
		return true;
	return np_text_to_int(text + 4, length - 4, &rank) && rank == knobs.rank;
}

/* "aclprofStart:rank2:500005@3"; what cannot be read has no effect. */
static void read_failure(const char *part, size_t length)
{
	const char *end = part + length;
	const char *rank = memchr(part, ':', length);
	const char *code = rank ? memchr(rank + 1, ':', (size_t)(end - rank - 1)) : NULL;
	const char *at = code ? memchr(code, '@', (size_t)(end - code)) : NULL;
	struct failure *failure = &failures[failure_count];
	int64_t value;
	int64_t only = 0;

	if (!code || failure_count == NP_COUNT(failures) ||
	    !is_this_rank(rank + 1, (size_t)(code - rank - 1)) ||
	    !np_text_to_int(code + 1, (size_t)((at ? at : end) - code - 1), &value) ||
	    (at && !np_text_to_int(at + 1, (size_t)(end - at - 1), &only)))
		return;
	(void)snprintf(failure->call, sizeof(failure->call), "%.*s", (int)(rank - part), part);
	failure->code = (int)value;
	failure->only = only;
	failure_count++;
}

static void read_failures(void)
{
	const char *list = getenv("NPUSIM_FAIL");

	while (list && *list) {
		size_t length = strcspn(list, ",");

		read_failure(list, length);
		list += length + (list[length] == ',');
	}
}

static void read_knobs(void)
{
	const char *soc = getenv("NPUSIM_SOC");
	const char *cann = getenv("NPUSIM_CANN");
	int64_t devices = int_knob("NPUSIM_DEVICES", 8);

	knobs.rank = np_realtime_rank();
	knobs.seed = (uint64_t)int_knob("NPUSIM_SEED", 1);
	knobs.jitter = fraction_of(getenv("NPUSIM_JITTER"), 3) / 100;
	knobs.slow_factor = slow_factor(knobs.rank);
	knobs.devices = devices > 0 && devices <= 1024 ? (uint32_t)devices : 8;
	knobs.soc = soc && *soc ? soc : "Ascend910B4";
	knobs.old_cann = cann && strcmp(cann, "old") == 0;
	knobs.hccs_gbps = positive_knob("NPUSIM_LINK_GBPS", 20);
	knobs.rdma_gbps = positive_knob("NPUSIM_RDMA_GBPS", 20);
	knobs.hccl_timeout = int_knob("NPUSIM_HCCL_TIMEOUT_MS", 20000) * 1000000;
	knobs.join_timeout = int_knob("NPUSIM_HCCL_JOIN_MS", 20000) * 1000000;
	knobs.enospc_after = int_knob("NPUSIM_ENOSPC_AFTER", -1);
	read_slow_link();
	read_failures();
}

const struct nsim_knobs *nsim_knobs(void)
{
	(void)pthread_once(&once, read_knobs);
	return &knobs;
}

bool nsim_fails(const char *call, int *code)
{
	(void)nsim_knobs();
	for (size_t i = 0; i < failure_count; i++) {
		struct failure *failure = &failures[i];

		if (strcmp(failure->call, call) != 0)
			continue;
		failure->calls++;
		if (failure->only != 0 && failure->calls != failure->only)
			continue;
		*code = failure->code;
		return true;
	}
	return false;
}

np_ns nsim_true_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (np_ns)now.tv_sec * 1000000000 + now.tv_nsec;
}

void nsim_sleep_until(np_ns true_ns)
{
	const struct timespec until = { .tv_sec = true_ns / 1000000000,
					.tv_nsec = true_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) != 0)
		continue;
}

/* The finisher of splitmix64. */
static uint64_t mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
	value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
	return value ^ (value >> 31);
}

double nsim_chance(uint64_t what, uint64_t which)
{
	const struct nsim_knobs *k = nsim_knobs();
	uint64_t value = mix(mix(mix(k->seed) ^ (uint64_t)k->rank) ^ mix(what)) ^ which;

	return (double)(mix(value) >> 11) / 9007199254740992.0;
}
