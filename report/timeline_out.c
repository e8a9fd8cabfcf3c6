/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a timeline as JSON of Chrome's trace viewer, or as Perfetto's protobuf. */
#include "timeline_out.h"

#include "npuprof/jsonout.h"
#include "npuprof/relation.h"

#include <errno.h>
#include <inttypes.h>

#define FLUSH_BYTES 65536

/* The facts of the file stand before all ranks. */
#define ABOUT_PROCESS 1

/* Tracks of the protobuf are known by one number; a process may have a million of them. */
static uint64_t track_uuid(int32_t process, int32_t track)
{
	return (uint64_t)(uint32_t)process << 20 | (uint32_t)track;
}

static bool is_compressed(enum timeline_form form)
{
	return form == TIMELINE_JSON_GZ || form == TIMELINE_PROTO_GZ;
}

static bool is_proto(const struct timeline_out *out)
{
	return out->form == TIMELINE_PROTO || out->form == TIMELINE_PROTO_GZ;
}

int timeline_out_init(struct timeline_out *out, enum timeline_form form, FILE *stream,
		      struct np_err *err)
{
	*out = (struct timeline_out){
		.form = form, .stream = stream, .text = NP_BUF_INIT, .err = NP_ERR_INIT
	};
	if (is_compressed(form))
		out->gz = np_gz_writer_new(stream);
	return is_compressed(form) && !out->gz ? np_fail_nomem(err, "the timeline") : NP_OK;
}

static void end_sequences(struct timeline_out *out)
{
	for (size_t i = 0; i < out->sequences.count; i++) {
		struct timeline_sequence *sequence = &out->sequences.item[i];

		for (size_t kind = 0; kind < TIMELINE_TEXTS; kind++)
			np_strtab_free(sequence->texts[kind]);
	}
	out->sequences.count = 0;
}

void timeline_out_release(struct timeline_out *out)
{
	np_gz_writer_free(out->gz);
	end_sequences(out);
	np_vec_release(&out->sequences);
	np_buf_release(&out->text);
	np_bytes_release(&out->packet.bytes);
	np_bytes_release(&out->part.bytes);
}

static void write_bytes(struct timeline_out *out, const void *bytes, size_t length)
{
	if (out->err.code != NP_OK || length == 0)
		return;
	if (out->gz)
		(void)!np_gz_write(out->gz, bytes, length, &out->err);
	else if (fwrite(bytes, 1, length, out->stream) != length)
		(void)!np_fail(&out->err, NP_E_IO, "cannot write: %s", strerror(errno));
}

static void write_bundle(struct timeline_out *out);

/* What has gathered, whole events or packets, once it is this much. */
static void flush(struct timeline_out *out, size_t least)
{
	if (out->text.length < least)
		return;
	if (out->text.failed && out->err.code == NP_OK)
		(void)!np_fail_nomem(&out->err, "the timeline");
	if (out->form == TIMELINE_PROTO)
		write_bundle(out);
	else
		write_bytes(out, out->text.text, out->text.length);
	np_buf_clear(&out->text);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_quoted(struct np_buf *buf, const char *text)
{
	np_jsonout_quote(buf, text ? text : "?", strlen(text ? text : "?"));
}

/* Thousandths of a microsecond are nanoseconds: nothing is lost. */
static void put_time(struct np_buf *buf, np_ns ns)
{
	np_ns size = ns < 0 ? -ns : ns;
	const char part[] = { '.', (char)('0' + size / 100 % 10), (char)('0' + size / 10 % 10),
			      (char)('0' + size % 10) };

	if (ns < 0)
		np_buf_add_char(buf, '-');
	np_integer_format(buf, size / 1000);
	np_buf_add_bytes(buf, part, sizeof(part));
}

static void begin_event(struct timeline_out *out)
{
	np_buf_add(&out->text, out->begun ? ",\n" : "[\n");
	out->begun = true;
	out->events++;
}

static void put_args(struct np_buf *buf, const struct timeline_arg *args)
{
	for (size_t i = 0; i < TIMELINE_ARGS && args[i].name; i++) {
		np_buf_add(buf, i > 0 ? ",\"" : "\"");
		np_buf_add(buf, args[i].name);
		np_buf_add(buf, "\":");
		if (args[i].text)
			put_quoted(buf, args[i].text);
		else if (args[i].number == NP_UNKNOWN)
			np_buf_add(buf, "null");
		else
			np_integer_format(buf, args[i].number);
	}
}

/* What a process or a track is called, and its place. */
static void put_name(struct timeline_out *out, const char *what, int32_t process, int32_t track,
		     const char *name)
{
	begin_event(out);
	np_buf_printf(&out->text,
		      "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%" PRId32 ",\"tid\":%" PRId32
		      ",\"args\":{\"name\":",
		      what, process, track);
	put_quoted(&out->text, name);
	np_buf_add(&out->text, "}}");
	begin_event(out);
	np_buf_printf(&out->text,
		      "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%" PRId32
		      ",\"tid\":%" PRId32 ",\"args\":{\"sort_index\":%" PRId32 "}}",
		      what, process, track, strcmp(what, "process") == 0 ? process : track);
	flush(out, FLUSH_BYTES);
}

/* An end of an arrow, at the begin of a slice. */
static void put_arrow(struct timeline_out *out, const struct timeline_slice *slice, uint64_t number,
		      bool from)
{
	begin_event(out);
	np_buf_printf(&out->text,
		      "{\"ph\":\"%s\",%s\"id\":%" PRIu64
		      ",\"name\":\"waits for\",\"cat\":\"wait\",\"pid\":%" PRId32
		      ",\"tid\":%" PRId32 ",\"ts\":",
		      from ? "s" : "f", from ? "" : "\"bp\":\"e\",", number, slice->process,
		      slice->track);
	put_time(&out->text, slice->begin);
	np_buf_add_char(&out->text, '}');
}

static void put_slice(struct timeline_out *out, const struct timeline_slice *slice)
{
	struct np_buf *buf = &out->text;

	begin_event(out);
	np_buf_add(buf, "{\"ph\":\"X\",\"pid\":");
	np_integer_format(buf, slice->process);
	np_buf_add(buf, ",\"tid\":");
	np_integer_format(buf, slice->track);
	np_buf_add(buf, ",\"name\":");
	put_quoted(buf, slice->name);
	np_buf_add(buf, ",\"cat\":\"");
	np_buf_add(buf, slice->category);
	np_buf_add(buf, "\",\"ts\":");
	put_time(buf, slice->begin);
	np_buf_add(buf, ",\"dur\":");
	put_time(buf, slice->length);
	np_buf_add(buf, ",\"args\":{\"dur_ns\":");
	np_integer_format(buf, slice->length);
	if (slice->args[0].name)
		np_buf_add_char(buf, ',');
	put_args(buf, slice->args);
	np_buf_add(buf, "}}");
	for (size_t i = 0; i < slice->from_count; i++)
		put_arrow(out, slice, slice->from[i], true);
	if (slice->to != 0)
		put_arrow(out, slice, slice->to, false);
	flush(out, FLUSH_BYTES);
}

/* --- protobuf -------------------------------------------------------------------------------- */

/* Fields of Perfetto's messages that are used (tests/cli/perfetto.proto). */
enum {
	TRACE_PACKET = 1,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_COMPRESSED = 50,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	DEFAULTS_EVENT = 11,
	DEFAULTS_CLOCK = 58,
	CLOCKS_CLOCK = 1,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,
	CLOCK_INCREMENTAL = 3,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_ORDERING = 11,
	TRACK_RANK = 12,
	PROCESS_PID = 1,
	PROCESS_SORT = 3,
	PROCESS_NAME = 6,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_VALUE = 30,
	EVENT_FROM = 47,
	EVENT_TO = 48,
	ANNOTATION_NAME = 1,
	ANNOTATION_INT = 4,
	ANNOTATION_TEXT = 17,
	INTERNED_NAME = 2,
	INTERNED_ANNOTATION = 3,
	INTERNED_TEXT = 29,
	NAME_ID = 1,
	NAME_TEXT = 2,
};

enum {
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_COUNTER = 4,
};

#define WIRE_NUMBER  0
#define WIRE_FIXED64 1
#define WIRE_BYTES   2

static void put_number(struct np_bytes_writer *to, unsigned field, uint64_t value)
{
	np_bytes_put_number(to, field << 3 | WIRE_NUMBER);
	np_bytes_put_number(to, value);
}

static void put_bytes(struct np_bytes_writer *to, unsigned field, const void *bytes, size_t length)
{
	np_bytes_put_number(to, field << 3 | WIRE_BYTES);
	np_bytes_put_number(to, length);
	np_bytes_put_raw(to, bytes, length);
}

static void put_string(struct np_bytes_writer *to, unsigned field, const char *text)
{
	put_bytes(to, field, text, strlen(text));
}

static void put_fixed(struct np_bytes_writer *to, unsigned field, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	np_bytes_put_number(to, field << 3 | WIRE_FIXED64);
	np_bytes_put_raw(to, bytes, sizeof(bytes));
}

/* A message as a field of another; it is empty then. */
static void put_message(struct np_bytes_writer *to, unsigned field, struct np_bytes_writer *message)
{
	put_bytes(to, field, message->bytes.item ? (const void *)message->bytes.item : "",
		  message->bytes.count);
	to->failed = to->failed || message->failed;
	message->bytes.count = 0;
}

/*
 * Packets as one packet, compressed, as the format has it: what reads plain packets reads these
 * too. A bundle has to stay below 512 KB; FLUSH_BYTES and one packet more are far from it.
 */
static void write_bundle(struct timeline_out *out)
{
	struct np_bytes_writer bundle = { 0 };
	struct np_bytes packed = { 0 };

	if (out->text.length > 0 && out->err.code == NP_OK &&
	    np_gz_pack(out->text.text, out->text.length, &packed, &out->err) == NP_OK) {
		put_bytes(&out->packet, PACKET_COMPRESSED, packed.item, packed.count);
		put_message(&bundle, TRACE_PACKET, &out->packet);
		if (bundle.failed)
			(void)!np_fail_nomem(&out->err, "the timeline");
		write_bytes(out, bundle.bytes.item, bundle.bytes.count);
	}
	np_bytes_release(&packed);
	np_bytes_release(&bundle.bytes);
}

/* Perfetto's clocks: that of the trace, and the first that a sequence may define for itself. */
#define CLOCK_OF_TRACE    6
#define CLOCK_OF_SEQUENCE 64

/* Children of a track in the order of their ranks. */
#define ORDERING_EXPLICIT 3

/* Flags of a packet: the state of its sequence begins; it is needed. */
#define FLAG_CLEARED 1
#define FLAG_NEEDED  2

static void end_packet(struct timeline_out *out, uint32_t sequence, unsigned flags)
{
	struct np_bytes_writer head = { 0 };

	put_number(&out->packet, PACKET_SEQUENCE, sequence);
	if (flags)
		put_number(&out->packet, PACKET_FLAGS, flags);
	put_message(&head, TRACE_PACKET, &out->packet);
	if (head.failed && out->err.code == NP_OK)
		(void)!np_fail_nomem(&out->err, "the timeline");
	if (!head.failed)
		np_buf_add_bytes(&out->text, (const char *)head.bytes.item, head.bytes.count);
	np_bytes_release(&head.bytes);
	flush(out, FLUSH_BYTES);
}

/* Descriptions of tracks are of a sequence without events. */
#define DESCRIBING 1

static void put_clock(struct np_bytes_writer *to, unsigned id, bool incremental)
{
	struct np_bytes_writer clock = { 0 };

	put_number(&clock, CLOCK_ID, id);
	put_number(&clock, CLOCK_TIME, 0);
	if (incremental)
		put_number(&clock, CLOCK_INCREMENTAL, 1);
	put_message(to, CLOCKS_CLOCK, &clock);
	np_bytes_release(&clock.bytes);
}

/* The first packet of a sequence: its clock, which counts from packet to packet, and its track. */
static void begin_sequence(struct timeline_out *out, struct timeline_sequence *sequence,
			   uint64_t uuid)
{
	struct np_bytes_writer defaults = { 0 };

	sequence->number = DESCRIBING + ++out->numbers;
	put_clock(&out->part, CLOCK_OF_TRACE, false);
	put_clock(&out->part, CLOCK_OF_SEQUENCE, true);
	put_message(&out->packet, PACKET_CLOCKS, &out->part);
	put_number(&out->part, EVENT_TRACK, uuid);
	put_message(&defaults, DEFAULTS_EVENT, &out->part);
	put_number(&defaults, DEFAULTS_CLOCK, CLOCK_OF_SEQUENCE);
	put_message(&out->packet, PACKET_DEFAULTS, &defaults);
	np_bytes_release(&defaults.bytes);
	end_packet(out, sequence->number, FLAG_CLEARED);
}

/* The sequence of a track of the process in hand; NULL without memory. */
static struct timeline_sequence *sequence_of(struct timeline_out *out, int32_t process,
					     int32_t track)
{
	if (process != out->process)
		end_sequences(out);
	out->process = process;
	while (out->sequences.count <= (size_t)track) {
		struct timeline_sequence *sequence = np_vec_add(&out->sequences, &out->err);

		if (!sequence)
			return NULL;
		*sequence = (struct timeline_sequence){ 0 };
	}
	if (out->sequences.item[track].number == 0)
		begin_sequence(out, &out->sequences.item[track], track_uuid(process, track));
	return &out->sequences.item[track];
}

static void put_interned(struct timeline_out *out, enum timeline_text kind, uint64_t number,
			 const char *text)
{
	static const unsigned fields[] = { [TIMELINE_NAME] = INTERNED_NAME,
					   [TIMELINE_ANNOTATION] = INTERNED_ANNOTATION,
					   [TIMELINE_VALUE] = INTERNED_TEXT };
	struct np_bytes_writer entry = { 0 };
	struct np_bytes_writer interned = { 0 };

	put_number(&entry, NAME_ID, number);
	put_string(&entry, NAME_TEXT, text);
	put_message(&interned, fields[kind], &entry);
	put_message(&out->packet, PACKET_INTERNED, &interned);
	np_bytes_release(&entry.bytes);
	np_bytes_release(&interned.bytes);
}

/* The number of a text in its sequence, told within the packet in hand if it is new; 0 fails. */
static uint64_t text_number(struct timeline_out *out, struct timeline_sequence *sequence,
			    enum timeline_text kind, const char *text)
{
	np_str id = NP_STR_NONE;

	if (!sequence->texts[kind])
		sequence->texts[kind] = np_strtab_new();
	if (!sequence->texts[kind] && out->err.code == NP_OK)
		(void)!np_fail_nomem(&out->err, "the timeline");
	if (out->err.code != NP_OK ||
	    np_strtab_add(sequence->texts[kind], text, strlen(text), &id, &out->err) < 0)
		return 0;
	/* Numbers are given in order: the first that is not known is new. */
	if (id >= sequence->known[kind]) {
		put_interned(out, kind, (uint64_t)id + 1, text);
		sequence->known[kind] = id + 1;
	}
	return (uint64_t)id + 1;
}

static void put_process_packet(struct timeline_out *out, int32_t process, const char *name)
{
	struct np_bytes_writer about = { 0 };

	put_number(&about, PROCESS_PID, (uint64_t)process);
	put_number(&about, PROCESS_SORT, (uint64_t)process);
	put_string(&about, PROCESS_NAME, name);
	put_number(&out->part, TRACK_UUID, track_uuid(process, 0));
	put_message(&out->part, TRACK_PROCESS, &about);
	put_number(&out->part, TRACK_ORDERING, ORDERING_EXPLICIT);
	put_message(&out->packet, PACKET_TRACK, &out->part);
	np_bytes_release(&about.bytes);
	end_packet(out, DESCRIBING, 0);
}

static void put_track_packet(struct timeline_out *out, int32_t process, int32_t track,
			     const char *name, bool counter)
{
	put_number(&out->part, TRACK_UUID, track_uuid(process, track));
	put_string(&out->part, TRACK_NAME, name);
	put_number(&out->part, TRACK_PARENT, track_uuid(process, 0));
	if (counter)
		put_bytes(&out->part, TRACK_COUNTER, "", 0);
	put_number(&out->part, TRACK_RANK, (uint64_t)track);
	put_message(&out->packet, PACKET_TRACK, &out->part);
	end_packet(out, DESCRIBING, 0);
}

static void put_annotation(struct timeline_out *out, struct timeline_sequence *sequence,
			   const struct timeline_arg *arg)
{
	struct np_bytes_writer annotation = { 0 };

	put_number(&annotation, ANNOTATION_NAME,
		   text_number(out, sequence, TIMELINE_ANNOTATION, arg->name));
	if (arg->text)
		put_number(&annotation, ANNOTATION_TEXT,
			   text_number(out, sequence, TIMELINE_VALUE, arg->text));
	else
		put_number(&annotation, ANNOTATION_INT, (uint64_t)arg->number);
	put_message(&out->part, EVENT_ANNOTATION, &annotation);
	np_bytes_release(&annotation.bytes);
}

/* Viewers take times before the base for none. */
static void begin_packet(struct timeline_out *out, struct timeline_sequence *sequence, np_ns time,
			 unsigned type)
{
	np_ns now = time > sequence->last ? time : sequence->last;

	put_number(&out->packet, PACKET_TIMESTAMP, (uint64_t)(now - sequence->last));
	sequence->last = now;
	put_number(&out->part, EVENT_TYPE, type);
	out->events++;
}

static void put_slice_packets(struct timeline_out *out, const struct timeline_slice *slice)
{
	struct timeline_sequence *sequence = sequence_of(out, slice->process, slice->track);

	if (!sequence)
		return;
	begin_packet(out, sequence, slice->begin, TYPE_BEGIN);
	put_number(&out->part, EVENT_NAME,
		   text_number(out, sequence, TIMELINE_NAME, slice->name ? slice->name : "?"));
	for (size_t i = 0; i < TIMELINE_ARGS && slice->args[i].name; i++) {
		if (slice->args[i].text || slice->args[i].number != NP_UNKNOWN)
			put_annotation(out, sequence, &slice->args[i]);
	}
	for (size_t i = 0; i < slice->from_count; i++)
		put_fixed(&out->part, EVENT_FROM, slice->from[i]);
	if (slice->to != 0)
		put_fixed(&out->part, EVENT_TO, slice->to);
	put_message(&out->packet, PACKET_EVENT, &out->part);
	end_packet(out, sequence->number, FLAG_NEEDED);
	begin_packet(out, sequence, slice->begin + slice->length, TYPE_END);
	put_message(&out->packet, PACKET_EVENT, &out->part);
	end_packet(out, sequence->number, FLAG_NEEDED);
}

static void put_counter_packet(struct timeline_out *out, int32_t process, int32_t track, np_ns time,
			       int64_t value)
{
	struct timeline_sequence *sequence = sequence_of(out, process, track);

	if (!sequence)
		return;
	begin_packet(out, sequence, time, TYPE_COUNTER);
	put_number(&out->part, EVENT_VALUE, (uint64_t)value);
	put_message(&out->packet, PACKET_EVENT, &out->part);
	end_packet(out, sequence->number, FLAG_NEEDED);
}

/* --- both ------------------------------------------------------------------------------------ */

void timeline_out_about(struct timeline_out *out, const struct timeline_arg *facts)
{
	struct timeline_slice slice = { .process = ABOUT_PROCESS,
					.track = 1,
					.length = 1,
					.name = "about this file",
					.category = "about" };

	timeline_out_process(out, ABOUT_PROCESS, "npuprof timeline");
	timeline_out_track(out, ABOUT_PROCESS, 1, "about");
	for (size_t i = 0; i < TIMELINE_ARGS && facts[i].name; i++)
		slice.args[i] = facts[i];
	timeline_out_slice(out, &slice);
}

void timeline_out_process(struct timeline_out *out, int32_t process, const char *name)
{
	if (is_proto(out))
		put_process_packet(out, process, name);
	else
		put_name(out, "process", process, 0, name);
}

void timeline_out_track(struct timeline_out *out, int32_t process, int32_t track, const char *name)
{
	if (is_proto(out))
		put_track_packet(out, process, track, name, false);
	else
		put_name(out, "thread", process, track, name);
}

void timeline_out_counter_track(struct timeline_out *out, int32_t process, int32_t track,
				const char *name)
{
	/* In JSON the first value makes the track. */
	if (is_proto(out))
		put_track_packet(out, process, track, name, true);
}

void timeline_out_slice(struct timeline_out *out, const struct timeline_slice *slice)
{
	if (is_proto(out))
		put_slice_packets(out, slice);
	else
		put_slice(out, slice);
}

void timeline_out_counter(struct timeline_out *out, int32_t process, int32_t track,
			  const char *name, np_ns time, int64_t value)
{
	if (is_proto(out)) {
		put_counter_packet(out, process, track, time, value);
		return;
	}
	begin_event(out);
	np_buf_printf(&out->text, "{\"ph\":\"C\",\"pid\":%" PRId32 ",\"name\":", process);
	put_quoted(&out->text, name);
	np_buf_add(&out->text, ",\"ts\":");
	put_time(&out->text, time);
	np_buf_printf(&out->text, ",\"args\":{\"value\":%" PRId64 "}}", value);
	flush(out, FLUSH_BYTES);
}

int timeline_out_end(struct timeline_out *out, struct np_err *err)
{
	if (!is_proto(out))
		np_buf_add(&out->text, out->begun ? "\n]\n" : "[]\n");
	flush(out, 0);
	if (out->err.code == NP_OK && out->gz)
		(void)!np_gz_writer_end(out->gz, &out->err);
	return out->err.code == NP_OK ? NP_OK : np_fail(err, out->err.code, "%s", out->err.text);
}
