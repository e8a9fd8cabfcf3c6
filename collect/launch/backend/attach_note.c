/* SPDX-License-Identifier: Apache-2.0 */
#include "attach_note.h"

#include <errno.h>
#include <limits.h>

#include "npuprof/jsonout.h"

bool np_attach_comm_take(const struct np_message *message, struct np_attach_comm *ret)
{
	size_t length = strcspn(message->text, "\n");
	const char *rest = message->text + length + (message->text[length] ? 1 : 0);

	if (message->type != NP_MSG_COMM || length == 0 || length >= sizeof(ret->name))
		return false;
	*ret = (struct np_attach_comm){ .rank = message->rank,
					.place = message->step,
					.size = message->value };
	memcpy(ret->name, message->text, length);
	(void)snprintf(ret->pg_name, sizeof(ret->pg_name), "%.*s", (int)sizeof(ret->pg_name) - 1,
		       rest);
	return true;
}

/* When a step began, or NP_UNKNOWN. */
static np_ns begin_of(const struct np_attach_note *note, int64_t step)
{
	for (size_t i = 0; i < note->step_count; i++) {
		if (note->steps[i].step == step)
			return note->steps[i].begin;
	}
	return NP_UNKNOWN;
}

static bool are_steps_known(const struct np_attach_note *note)
{
	if (note->first == NP_UNKNOWN || note->last == NP_UNKNOWN)
		return false;
	for (int64_t step = note->first; step <= note->last + 1; step++) {
		if (begin_of(note, step) == NP_UNKNOWN)
			return false;
	}
	return true;
}

static void put_steps(struct np_jsonout *out, const struct np_attach_note *note)
{
	bool known = are_steps_known(note);

	np_jsonout_array(out, "steps");
	for (int64_t step = note->first; known && step <= note->last; step++) {
		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "step", step);
		np_jsonout_integer(out, "begin_ns", begin_of(note, step));
		np_jsonout_integer(out, "end_ns", begin_of(note, step + 1));
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_comms(struct np_jsonout *out, const struct np_attach_note *note)
{
	np_jsonout_array(out, "communicators");
	for (size_t i = 0; i < note->comm_count; i++) {
		const struct np_attach_comm *comm = &note->comms[i];

		if (comm->rank != note->record->rank)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "name", comm->name);
		np_jsonout_integer(out, "size", comm->size);
		np_jsonout_integer(out, "group_rank", comm->place);
		np_jsonout_text(out, "pg_name", comm->pg_name[0] ? comm->pg_name : NULL);
		np_jsonout_null(out, "ranks");
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

int np_attach_note_format(const struct np_attach_note *note, struct np_buf *text,
			  struct np_err *err)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	const struct np_record *record = note->record;
	bool named = record->source >= 0 && record->source < NP_STEP_SOURCES;
	int rc;

	np_jsonout_init(&out, NULL);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", NP_RANK_FILE_SCHEMA);
	np_jsonout_text(&out, "job", note->job);
	np_jsonout_integer(&out, "rank", record->rank);
	np_jsonout_integer(&out, "world_size", record->world);
	np_jsonout_text(&out, "host", note->host);
	np_jsonout_integer(&out, "pid", record->pid);
	np_jsonout_integer(&out, "device", record->device);
	np_jsonout_text(&out, "state", "closed");
	np_jsonout_text(&out, "reason", "recorded by msprof");
	np_jsonout_text(&out, "step_source",
			named ? np_step_source_name((enum np_step_source)record->source) : NULL);
	np_jsonout_text(&out, "step_detail", record->source_detail);
	put_steps(&out, note);
	np_jsonout_object_line(&out, "window");
	np_jsonout_integer(&out, "first_step", note->first);
	np_jsonout_integer(&out, "last_step", note->last);
	np_jsonout_end(&out);
	put_comms(&out, note);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_buf_add_bytes(text, out.buf.text, out.buf.length);
	return rc == NP_OK ? np_buf_check(text, err) : rc;
}

int np_attach_note_write(const struct np_attach_note *note, const char *dir, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	char path[PATH_MAX];
	int rc = np_attach_note_format(note, &text, err);
	bool written;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%.*s/" NP_RANK_FILE, PATH_MAX - 32, dir);
	file = rc == NP_OK ? fopen(path, "we") : NULL;
	if (rc < 0)
		return rc;
	written = file && fwrite(text.text, 1, text.length, file) == text.length;
	if ((file && fclose(file) != 0) || !written)
		return np_fail(err, NP_E_IO, "cannot write '%.380s': %s", path,
			       strerrordesc_np(errno));
	return NP_OK;
}
