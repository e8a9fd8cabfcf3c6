/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler's end of mstx: what libprofapi.so is in CANN. InitInjectionMstx here
 * is the one found without MSTX_INJECTION_PATH, unless a preloaded library has its own.
 */
#include <unistd.h>

#include "nsim.h"
#include "raw.h"

struct nsim_hooks nsim_hooks;

struct mstxDomainRegistration_st {
	struct mstxDomainRegistration_st *next;
	char name[1024];
};

struct nsim_mstx_range {
	uint64_t id; /* 0: free */
	np_ns start;
	int32_t tid;
	uint32_t connection;
	struct nsim_stream *stream;
	const char *domain;
	char message[256];
};

#define MAX_RANGES 1024

static struct nsim_mstx_range ranges[MAX_RANGES];
static uint64_t last_range;
static struct mstxDomainRegistration_st *domains; /* kept: ranges and lines refer to names */

static bool is_good(const char *message)
{
	return message && message[0] && !strchr("=+-@", message[0]);
}

static const char *name_of(mstxDomainHandle_t domain)
{
	return domain ? domain->name : "default";
}

/* The connection of an event, and its marker on the stream if it has one. Locked. */
static uint32_t mark_device(struct nsim_stream *stream)
{
	uint32_t connection = NPUSIM_MSTX_NO_CONN + nsim_connection();

	if (!stream || nsim_marker_push(stream, connection) != ACL_SUCCESS)
		return NPUSIM_MSTX_NO_CONN;
	return connection;
}

/* A NULL stream means host only here, not the default stream. */
static struct nsim_stream *stream_of(aclrtStream handle)
{
	return handle ? nsim_stream_of(handle) : NULL;
}

static void domain_mark(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
	np_ns now = nsim_true_ns();

	if (!is_good(message))
		return;
	nsim_lock();
	if (nsim_records(ACL_PROF_MSPROFTX))
		nsim_record_tx(&(struct nsim_tx){ .start = now,
						  .end = now,
						  .type = 0,
						  .tid = gettid(),
						  .end_tid = gettid(),
						  .connection = mark_device(stream_of(stream)),
						  .domain = name_of(domain),
						  .message = message });
	nsim_unlock();
}

static struct nsim_mstx_range *free_range(void)
{
	for (size_t i = 0; i < MAX_RANGES; i++) {
		if (ranges[i].id == 0)
			return &ranges[i];
	}
	return NULL;
}

static mstxRangeId domain_range_start(mstxDomainHandle_t domain, const char *message,
				      aclrtStream stream)
{
	struct nsim_mstx_range *range = NULL;
	mstxRangeId id = 0;

	if (!is_good(message))
		return 0;
	nsim_lock();
	if (nsim_records(ACL_PROF_MSPROFTX))
		range = free_range();
	if (range) {
		*range = (struct nsim_mstx_range){ .id = ++last_range,
						   .start = nsim_true_ns(),
						   .tid = gettid(),
						   .stream = stream_of(stream),
						   .domain = name_of(domain) };
		range->connection = mark_device(range->stream);
		(void)snprintf(range->message, sizeof(range->message), "%s", message);
		id = range->id;
	}
	nsim_unlock();
	return id;
}

static void end_range(struct nsim_mstx_range *range)
{
	if (range->stream && range->connection != NPUSIM_MSTX_NO_CONN)
		(void)nsim_marker_push(range->stream, range->connection);
	if (nsim_records(ACL_PROF_MSPROFTX))
		nsim_record_tx(&(struct nsim_tx){ .start = range->start,
						  .end = nsim_true_ns(),
						  .type = 2,
						  .range = range->id,
						  .tid = range->tid,
						  .end_tid = gettid(),
						  .connection = range->connection,
						  .domain = range->domain,
						  .message = range->message });
	range->id = 0;
}

static void range_end(mstxRangeId id)
{
	nsim_lock();
	for (size_t i = 0; id != 0 && i < MAX_RANGES; i++) {
		if (ranges[i].id == id)
			end_range(&ranges[i]);
	}
	nsim_unlock();
}

static void domain_range_end(mstxDomainHandle_t domain, mstxRangeId id)
{
	(void)domain;
	range_end(id);
}

static void mark(const char *message, aclrtStream stream)
{
	domain_mark(NULL, message, stream);
}

static mstxRangeId range_start(const char *message, aclrtStream stream)
{
	return domain_range_start(NULL, message, stream);
}

static mstxDomainHandle_t domain_create(const char *name)
{
	mstxDomainHandle_t domain;

	if (!name || !*name || strlen(name) >= sizeof(domain->name))
		return NULL;
	nsim_lock();
	domain = domains;
	while (domain && strcmp(domain->name, name) != 0)
		domain = domain->next;
	if (!domain) {
		domain = calloc(1, sizeof(*domain));
		if (domain) {
			(void)snprintf(domain->name, sizeof(domain->name), "%s", name);
			domain->next = domains;
			domains = domain;
		}
	}
	nsim_unlock();
	return domain;
}

static void domain_destroy(mstxDomainHandle_t domain)
{
	(void)domain;
}

static void tool_id(uint64_t *id)
{
	if (id)
		*id = 0x1000; /* "msprof" */
}

/* Write a slot if the table has it; the size that is announced may be too large. */
static void fill(mstxFunctionTable table, unsigned size, unsigned slot, mstxFunction fn)
{
	if (slot <= size && table[slot])
		*table[slot] = fn;
}

int InitInjectionMstx(mstxGetModuleTable get)
{
	mstxFunctionTable table = NULL;
	unsigned size = 0;

	if (!get || get(MSTX_MODULE_CORE, &table, &size) != 0 || !table)
		return 1;
	fill(table, size, MSTX_CORE_MARK, (mstxFunction)mark);
	fill(table, size, MSTX_CORE_RANGE_START, (mstxFunction)range_start);
	fill(table, size, MSTX_CORE_RANGE_END, (mstxFunction)range_end);
	fill(table, size, MSTX_CORE_TOOL_ID, (mstxFunction)tool_id);
	if (get(MSTX_MODULE_CORE_DOMAIN, &table, &size) != 0 || !table)
		return 1;
	fill(table, size, MSTX_DOMAIN_CREATE, (mstxFunction)domain_create);
	fill(table, size, MSTX_DOMAIN_DESTROY, (mstxFunction)domain_destroy);
	fill(table, size, MSTX_DOMAIN_MARK, (mstxFunction)domain_mark);
	fill(table, size, MSTX_DOMAIN_RANGE_START, (mstxFunction)domain_range_start);
	fill(table, size, MSTX_DOMAIN_RANGE_END, (mstxFunction)domain_range_end);
	return 0;
}
