/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_TIMELINE_OUT_H
#define NP_REPORT_TIMELINE_OUT_H

/*
 * Files that timeline viewers open
 * ================================
 *
 * The same events in two forms: the JSON of Chrome's trace viewer, which Perfetto and
 * MindStudio Insight read too, plain or compressed; and Perfetto's own protobuf, about a
 * fifth of the size of plain JSON. Events are written as they come and need no order.
 * Times are ns since the base of the file, which its metadata name.
 *
 * The first failure is remembered; what follows it does nothing, so that only
 * timeline_out_end() has to be checked.
 */

#include <stdio.h>

#include "npuprof/buf.h"
#include "npuprof/bytes.h"
#include "npuprof/gz.h"
#include "npuprof/strtab.h"

enum timeline_form {
	TIMELINE_JSON,
	TIMELINE_JSON_GZ,
	TIMELINE_PROTO,
};

struct timeline_out {
	enum timeline_form form;
	FILE *stream;
	struct np_gz_writer *gz;
	struct np_buf text;
	struct np_bytes_writer packet;
	struct np_bytes_writer part;
	struct np_strtab *names; /* texts of the protobuf: written once, then by number */
	size_t names_written;
	bool begun;
	struct np_err err;
	int64_t events;
};

/* A number or a text that is shown with a slice; the name is NULL behind the last one. */
struct timeline_arg {
	const char *name;
	int64_t number;
	const char *text; /* NULL: the number */
};

#define TIMELINE_ARGS 6

struct timeline_slice {
	int32_t process;
	int32_t track;
	np_ns begin;
	np_ns length; /* in JSON also as args.dur_ns, exactly */
	const char *name;
	const char *category;
	struct timeline_arg args[TIMELINE_ARGS];
	/* Arrows that begin and end at this slice, by number. */
	const uint64_t *from;
	size_t from_count;
	uint64_t to; /* 0 for none */
};

int timeline_out_init(struct timeline_out *out, enum timeline_form form, FILE *stream,
		      struct np_err *err) NP_MUST_USE;
/* Facts about the file: of the protobuf a process that is called so. */
void timeline_out_about(struct timeline_out *out, const struct timeline_arg *facts);
void timeline_out_process(struct timeline_out *out, int32_t process, const char *name);
void timeline_out_track(struct timeline_out *out, int32_t process, int32_t track, const char *name);
void timeline_out_slice(struct timeline_out *out, const struct timeline_slice *slice);
/* Before the values of a counter. */
void timeline_out_counter_track(struct timeline_out *out, int32_t process, int32_t track,
				const char *name);
void timeline_out_counter(struct timeline_out *out, int32_t process, int32_t track,
			  const char *name, np_ns time, int64_t value);
int timeline_out_end(struct timeline_out *out, struct np_err *err) NP_MUST_USE;
void timeline_out_release(struct timeline_out *out);

#endif /* NP_REPORT_TIMELINE_OUT_H */
