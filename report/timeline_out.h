/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_TIMELINE_OUT_H
#define NP_REPORT_TIMELINE_OUT_H

/*
 * Files that timeline viewers open
 * ================================
 *
 * The same events in two forms: the JSON of Chrome's trace viewer, which Perfetto and
 * MindStudio Insight read too, and Perfetto's own protobuf, below a fifth of the size: its
 * packets are in compressed bundles, as the format has it. Either may be compressed as a whole
 * as well; packets of the protobuf are plain there. Events of a track come in order, those of a
 * process before those of the next. Times are ns since the base of the file, which its metadata
 * name.
 *
 * The first failure is remembered; what follows it does nothing, so that only
 * timeline_out_end() has to be checked.
 */

#include <stdio.h>

#include "npuprof/buf.h"
#include "npuprof/bytes.h"
#include "npuprof/gz.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

enum timeline_form {
	TIMELINE_JSON,
	TIMELINE_JSON_GZ,
	TIMELINE_PROTO,
	TIMELINE_PROTO_GZ,
};

/* What a text is in the protobuf; each kind has numbers of its own. */
enum timeline_text {
	TIMELINE_NAME,       /* of a slice */
	TIMELINE_ANNOTATION, /* of an argument */
	TIMELINE_VALUE,      /* that an argument is */
	TIMELINE_TEXTS,
};

/*
 * A track of the protobuf is a sequence of packets of its own: times are differences to the
 * packet before, the track is said once, and texts are written once and then by number.
 */
struct timeline_sequence {
	uint32_t number; /* 0: has not begun */
	np_ns last;      /* time of its last packet */
	struct np_strtab *texts[TIMELINE_TEXTS];
	np_str known[TIMELINE_TEXTS]; /* how many of them are written */
};

struct timeline_out {
	enum timeline_form form;
	FILE *stream;
	struct np_gz_writer *gz;
	struct np_buf text;
	struct np_bytes_writer packet;
	struct np_bytes_writer part;
	NP_VEC(struct timeline_sequence) sequences; /* by track of the process in hand */
	int32_t process;                            /* that one */
	uint32_t numbers;                           /* sequences so far */
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
