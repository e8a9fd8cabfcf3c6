/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <inttypes.h>

void np_record_init(struct np_record *record, int32_t rank, bool selected)
{
	*record = (struct np_record){
		.rank = rank,
		.selected = selected,
		.device = NP_UNKNOWN,
		.exit = NP_UNKNOWN,
		.last_seen_step = NP_UNKNOWN,
		.first_step = NP_UNKNOWN,
		.last_step = NP_UNKNOWN,
		.source = NP_UNKNOWN,
		.bytes = NP_UNKNOWN,
		.dropped = NP_UNKNOWN,
	};
}

/* The first failure is the cause; what follows are its consequences. */
static void fail(struct np_record *record, const char *text)
{
	if (!record->failure[0])
		(void)snprintf(record->failure, sizeof(record->failure), "%s", text);
}

static void take_code(struct np_record *record, const struct np_message *message)
{
	struct np_record_code *code;

	if (record->code_count == NP_RECORD_CODES)
		return;
	code = &record->codes[record->code_count++];
	(void)snprintf(code->call, sizeof(code->call), "%.*s", NP_RECORD_CALL - 1, message->text);
	code->code = message->value;
}

static void take_opened(struct np_record *record, const struct np_message *message)
{
	record->opened = true;
	record->closed = false;
	if (record->first_step == NP_UNKNOWN)
		record->first_step = message->step;
	(void)snprintf(record->dir, sizeof(record->dir), "%.*s", NP_RECORD_DIR - 1, message->text);
}

static void take_closed(struct np_record *record, const struct np_message *message)
{
	record->closed = true;
	record->last_step = message->step;
	record->bytes = message->value;
}

void np_record_take(struct np_record *record, const struct np_message *message)
{
	char text[NP_RECORD_TEXT];

	switch ((enum np_message_type)message->type) {
	case NP_MSG_HELLO:
		record->loaded = true;
		break;
	case NP_MSG_ATTACHED:
		record->attached = true;
		record->device = message->value;
		break;
	case NP_MSG_STEP:
		record->last_seen_step = message->step;
		break;
	case NP_MSG_SOURCE:
		record->source = message->value;
		break;
	case NP_MSG_WINDOW_OPEN:
		take_opened(record, message);
		break;
	case NP_MSG_WINDOW_CLOSED:
		take_closed(record, message);
		break;
	case NP_MSG_PROF_CODE:
		take_code(record, message);
		break;
	case NP_MSG_PROF_ERROR:
		fail(record, message->text);
		break;
	case NP_MSG_SELF_PROFILING:
		(void)snprintf(text, sizeof(text),
			       "the application profiles itself (%.60s); switch one of the two off",
			       message->text);
		fail(record, text);
		break;
	case NP_MSG_BYTES:
		record->bytes = message->value;
		break;
	case NP_MSG_DONE:
		record->dropped = message->value;
		break;
	default:
		break;
	}
}

/* A window that never opened: how far did it come? */
static void explain_absence(struct np_record *record, int64_t step_start)
{
	char text[NP_RECORD_TEXT];

	if (!record->loaded) {
		fail(record, "the library did not get into the application; is it linked "
			     "statically, or is LD_PRELOAD cleared?");
	} else if (!record->attached) {
		fail(record, "the application never used an NPU (no aclrtSetDevice)");
	} else if (record->last_seen_step == NP_UNKNOWN) {
		fail(record, "the application marks no steps (mstx, npuprof_step) and none could "
			     "be recognised");
	} else {
		(void)snprintf(text, sizeof(text),
			       "the application ended in step %" PRId64 ", before step %" PRId64,
			       record->last_seen_step, step_start);
		fail(record, text);
	}
}

void np_record_conclude(struct np_record *record, int64_t step_start, int64_t step_end)
{
	char text[NP_RECORD_TEXT];

	if (!record->selected)
		return;
	if (!record->opened) {
		explain_absence(record, step_start);
	} else if (!record->closed) {
		fail(record, "the application ended before the profile was closed; it may be "
			     "incomplete");
	} else if (step_end > 0 && record->last_step != NP_UNKNOWN &&
		   record->last_step < step_end - 1) {
		(void)snprintf(text, sizeof(text),
			       "the profile ends with step %" PRId64 "; %" PRId64 " was asked for",
			       record->last_step, step_end - 1);
		fail(record, text);
	}
}

const char *np_record_state(const struct np_record *record)
{
	if (!record->selected)
		return "none";
	if (record->opened)
		return "raw";
	return record->failure[0] ? "failed" : NULL;
}
