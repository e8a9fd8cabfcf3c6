/* SPDX-License-Identifier: Apache-2.0 */
/* One line of JSON instead of a page: what is gathered while a command runs, and its end. */
#include "agent.h"

#include "cli/command/cmd.h"
#include "cli/command/output.h"

#include "npuprof/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *command; /* NULL: nobody asked */
	FILE *real;          /* standard output while the command prints nowhere */
	struct np_jsonout message;
	NP_VEC(char *) notes;
	char *suggestion;
	char *failure; /* what was reported first */
} answer;

static void add_note(const char *text)
{
	char **slot = np_vec_add(&answer.notes, NULL);

	if (slot)
		*slot = strdup(text);
}

static void hear(const char *text)
{
	if (!answer.failure)
		answer.failure = strdup(text);
	add_note(text);
}

bool agent_begin(const char *command)
{
	FILE *nowhere = fopen("/dev/null", "we");

	if (!nowhere)
		return false;
	answer.command = command;
	answer.real = np_output_divert(nowhere);
	np_jsonout_init(&answer.message, NULL);
	np_jsonout_object_line(&answer.message, NULL);
	np_output_listen(hear);
	return true;
}

struct np_jsonout *agent_open(const char *phase)
{
	if (!answer.command)
		return NULL;
	if (phase)
		np_jsonout_object_line(&answer.message, phase);
	return &answer.message;
}

void agent_close(const char *phase)
{
	if (answer.command && phase)
		np_jsonout_end(&answer.message);
}

void agent_suggest(const char *text)
{
	if (answer.command && text && !answer.suggestion)
		answer.suggestion = strdup(text);
}

void agent_note(const struct np_notes *notes)
{
	for (size_t i = 0; answer.command && i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];
		struct np_buf text = NP_BUF_INIT;

		if (note->kind != NP_NOTE_SKIPPED)
			continue;
		if (note->rank != NP_NO_RANK)
			np_buf_printf(&text, "rank %d: ", (int)note->rank);
		np_buf_printf(&text, "%s: %s", note->what, note->reason);
		if (!text.failed)
			add_note(text.text);
		np_buf_release(&text);
	}
}

/* The message as it was filled, or what went wrong. */
static void put_message(struct np_buf *line, bool failed)
{
	struct np_jsonout err;

	if (!failed) {
		np_jsonout_end(&answer.message);
		np_buf_add(line, answer.message.buf.text);
		return;
	}
	np_jsonout_init(&err, NULL);
	np_jsonout_object_line(&err, NULL);
	np_jsonout_text(&err, "err", answer.failure ? answer.failure : "");
	np_jsonout_end(&err);
	np_buf_add(line, err.buf.text);
	np_jsonout_release(&err);
}

/* A member of the line that is a text, or an array of them. */
static void put_member(struct np_buf *line, const char *name, const char *text)
{
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	np_jsonout_array_line(&out, NULL);
	np_jsonout_text(&out, NULL, text);
	np_jsonout_end(&out);
	/* Without the brackets. */
	np_buf_printf(line, ", \"%s\": %.*s", name, (int)out.buf.length - 2, out.buf.text + 1);
	np_jsonout_release(&out);
}

static void put_notes(struct np_buf *line)
{
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	np_jsonout_array_line(&out, NULL);
	for (size_t i = 0; i < answer.notes.count; i++)
		np_jsonout_text(&out, NULL, answer.notes.item[i]);
	np_jsonout_end(&out);
	np_buf_printf(line, ", \"notes\": %s", out.buf.text);
	np_jsonout_release(&out);
}

static void release(void)
{
	np_output_listen(NULL);
	np_jsonout_release(&answer.message);
	for (size_t i = 0; i < answer.notes.count; i++)
		free(answer.notes.item[i]);
	np_vec_release(&answer.notes);
	free(answer.suggestion);
	free(answer.failure);
	answer.command = NULL;
}

int agent_end(int status)
{
	bool failed = status == NP_EXIT_FAILED || status == NP_EXIT_USAGE;
	struct np_buf line = NP_BUF_INIT;
	int unwritten;

	(void)fclose(np_output_divert(answer.real));
	np_buf_printf(&line, "{\"status\": \"%s\", \"code\": %d, \"message\": ",
		      failed ? "error" : "success", status);
	put_message(&line, failed);
	put_member(&line, "suggestion", answer.suggestion ? answer.suggestion : "");
	np_buf_add(&line, ", \"log_path\": \"\", \"schema\": \"npuprof.agent/1\"");
	put_member(&line, "command", answer.command);
	put_notes(&line);
	np_buf_add(&line, "}\n");
	release();
	unwritten = np_output_release(&line);
	return unwritten ? NP_EXIT_FAILED : status;
}
