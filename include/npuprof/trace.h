/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TRACE_H
#define NP_TRACE_H

#include "npuprof/gz.h"

/*
 * Reading Chrome traces
 * =====================
 *
 * Events one after the other out of trace_view.json, msprof_*.json or a trace of
 * Kineto, in memory that does not depend on the size of the file: an array of
 * events, or an object whose "traceEvents" is one, plain or gzip.
 *
 *	while ((rc = np_trace_next(trace, &event, err)) == NP_OK && event)
 *		use(event);
 *
 * What writers do is accepted: an analysis that crashed leaves an array without
 * its end (the tally has that), a comma may stand behind the last event, texts may
 * hold control characters and invalid UTF-8, numbers may be NaN. An escape JSON
 * does not know stays as it is written; half a surrogate pair becomes U+FFFD. Of
 * a member that occurs twice the first counts. Anything else that is not JSON is
 * NP_E_FORMAT, reported as "path: byte N: reason"; what came before it is good.
 *
 * Values nobody asks for are skipped and only checked for structure.
 *
 * A reader belongs to one thread at a time.
 */

/* What a trace may have; beyond it is damaged or hostile, NP_E_FORMAT. */
#define NP_TRACE_DEPTH_MAX        64 /* arrays and objects inside each other in one value */
#define NP_TRACE_TEXT_BYTES_MAX   ((size_t)16 << 20)
#define NP_TRACE_EVENT_BYTES_MAX  ((size_t)64 << 20)
#define NP_TRACE_MEMBER_BYTES_MAX ((size_t)1 << 20) /* of a member kept in np_trace_info */

/* A pid, tid or id: some are numbers, some numbers in quotes, some names. */
struct np_trace_id {
	struct np_slice text; /* without quotes; no bytes: there is none */
	/*
	 * If `number`, the whole number that the text is, modulo 2^64: ids from 2^63
	 * on are negative. Otherwise a hash of the text, also for numbers beyond 64
	 * bits, which HostToDevice events have; NP_UNKNOWN if there is none. So equal
	 * texts have equal values and equal `number`.
	 */
	int64_t value;
	bool number;
};

/* Slices are valid until the next call of np_trace_next(). */
struct np_trace_event {
	char phase;           /* "ph": 'X', 'M', 's', …; NUL if there is none */
	char bind_point;      /* "bp": 'e' or NUL */
	bool bad;             /* a member has the wrong type or is no time; it reads as absent */
	struct np_slice name; /* escapes are decoded */
	struct np_slice cat;
	/*
	 * The file's µs, text or number, to the ns; NP_UNKNOWN if absent. What counts from a
	 * base (np_trace_info) that stands before the events has it added.
	 */
	np_ns ts_ns;
	np_ns dur_ns; /* likewise; it may be negative */
	struct np_trace_id pid;
	struct np_trace_id tid;
	struct np_trace_id id;
	struct np_slice args; /* as written, normally an object; see np_trace_arg() */
	uint64_t offset;      /* of the event in the file, for messages */
	char *scratch;        /* private */
};

/* When it ended; without a sensible duration, when it began. */
static inline np_ns np_trace_end(const struct np_trace_event *event)
{
	np_ns end;

	if (event->dur_ns == NP_UNKNOWN || event->dur_ns < 0 ||
	    __builtin_add_overflow(event->ts_ns, event->dur_ns, &end))
		return event->ts_ns;
	return end;
}

/* What has been seen so far. */
struct np_trace_tally {
	uint64_t events;
	uint64_t bad;     /* events that are flagged so, and array elements that are none */
	uint64_t dropped; /* 1 if the last event was only partly written */
	bool truncated;   /* the file ends before its array or object does */
};

/* Members beside "traceEvents"; those behind it are known after the last event. */
struct np_trace_info {
	struct np_slice display_time_unit; /* "ms" or "ns", without quotes */
	int64_t base_time_ns;              /* "baseTimeNanoseconds": what Kineto's ts count from */
	struct np_slice distributed_info;  /* JSON text as written, for np_json_parse() */
	bool kineto; /* members that only Kineto writes: "schemaVersion", "deviceProperties" */
	bool cuda;   /* those of its back-ends for GPUs: "cuda_runtime_version" … */
};

struct np_trace;

/*
 * Open a file and read up to its first event. NP_E_NOTFOUND if it is missing or
 * has no content, NP_E_FORMAT if it is no trace.
 */
int np_trace_open(const char *path, struct np_trace **ret, struct np_err *err) NP_MUST_USE;

/* The same for bytes in memory; `what` and `block` are those of np_gz_open_bytes(). */
int np_trace_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
			struct np_trace **ret, struct np_err *err) NP_MUST_USE;

void np_trace_close(struct np_trace *trace);
void np_trace_closep(struct np_trace **trace);

/* The next event, or NULL at the end. */
int np_trace_next(struct np_trace *trace, const struct np_trace_event **ret, struct np_err *err)
	NP_MUST_USE;

const struct np_trace_tally *np_trace_tally(const struct np_trace *trace);
const struct np_trace_info *np_trace_info(const struct np_trace *trace);

/* Arguments of an event */

enum np_trace_type {
	NP_TRACE_NONE, /* there is no such member */
	NP_TRACE_NULL,
	NP_TRACE_BOOL,
	NP_TRACE_NUMBER,
	NP_TRACE_TEXT,
	NP_TRACE_ARRAY,
	NP_TRACE_OBJECT,
};

struct np_trace_value {
	enum np_trace_type type;
	struct np_slice text; /* of a text its characters, of anything else the JSON as written */
};

/*
 * Find a member of the event's args. Nothing is remembered: every call walks over
 * them again. False, with type NP_TRACE_NONE, if there is none.
 */
bool np_trace_arg(const struct np_trace_event *event, const char *key, struct np_trace_value *ret);

/* Find several members in one walk; returns how many there are. */
size_t np_trace_args(const struct np_trace_event *event, const char *const *keys, size_t count,
		     struct np_trace_value *ret);

/*
 * Values as numbers, for numbers and for texts that are one ("connection_id" is
 * either). False, with `ret` untouched, for anything else and for what does not
 * fit: integers must be whole, µs become ns exactly as those of `ts` do.
 */
bool np_trace_value_integer(const struct np_trace_value *value, int64_t *ret);
bool np_trace_value_us(const struct np_trace_value *value, np_ns *ret);
bool np_trace_value_real(const struct np_trace_value *value, double *ret);

/* np_trace_arg() and then the integer, or the characters of a text. */
bool np_trace_arg_integer(const struct np_trace_event *event, const char *key, int64_t *ret);
bool np_trace_arg_text(const struct np_trace_event *event, const char *key, struct np_slice *ret);

#endif /* NP_TRACE_H */
