/* SPDX-License-Identifier: Apache-2.0 */
/* What became of one rank, gathered from what its library says. */
#include "record.h"

#include <inttypes.h>

#include "npuprof/text.h"

void np_record_init(struct np_record *record, int32_t rank, bool selected)
{
	*record = (struct np_record){
		.rank = rank,
		.launcher = rank,
		.selected = selected,
		.pid = NP_UNKNOWN,
		.device = NP_UNKNOWN,
		.exit = NP_UNKNOWN,
		.last_seen_step = NP_UNKNOWN,
		.world = NP_UNKNOWN,
		.first_step = NP_UNKNOWN,
		.last_step = NP_UNKNOWN,
		.source = NP_UNKNOWN,
		.bytes = NP_UNKNOWN,
		.dropped = NP_UNKNOWN,
		.memory = { .first_step = NP_UNKNOWN,
			    .last_step = NP_UNKNOWN,
			    .bytes = NP_UNKNOWN },
	};
}

/* The first failure is the cause; what follows are its consequences. */
void np_record_fail(struct np_record *record, const char *text)
{
	if (!record->failure[0])
		(void)snprintf(record->failure, sizeof(record->failure), "%.*s", NP_RECORD_TEXT - 1,
			       text);
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

bool np_record_is_open(const struct np_record *record)
{
	return record->opened && !record->closed;
}

/* Where a rank directory is: ".../window-3/<name>" is in a window of its own. */
static void place_window(struct np_record_window *window, const char *dir)
{
	const char prefix[] = "window-";
	const char *slash = strrchr(dir, '/');
	const char *before = slash;
	int64_t number;

	(void)snprintf(window->name, sizeof(window->name), "%.*s", NP_RECORD_NAME - 1,
		       slash ? slash + 1 : dir);
	window->number = 1;
	while (before > dir && before[-1] != '/')
		before--;
	if (!slash || strncmp(before, prefix, sizeof(prefix) - 1) != 0)
		return;
	before += sizeof(prefix) - 1;
	if (!np_text_to_int(before, (size_t)(slash - before), &number) || number < 1)
		return;
	window->number = (int32_t)number;
	window->below = true;
}

/* --- from another launcher ------------------------------------------------- */

/* Looked at as bytes: a bool that is neither 0 nor 1 must not be read as one. */
static bool is_flag(const void *flag)
{
	return *(const unsigned char *)flag <= 1;
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool check_window(const struct np_record_window *window)
{
	return is_flag(&window->below) && is_flag(&window->closed) && window->number >= 0 &&
	       ends(window->name, sizeof(window->name));
}

bool np_record_check(const void *bytes)
{
	const struct np_record *record = bytes;
	bool good = record->rank >= 0 && record->rank < NP_RECORD_RANKS && record->launcher >= -1 &&
		    is_flag(&record->selected) && is_flag(&record->limited) &&
		    is_flag(&record->loaded) && is_flag(&record->attached) &&
		    is_flag(&record->opened) && is_flag(&record->closed) &&
		    record->code_count <= NP_RECORD_CODES &&
		    record->window_count <= NP_RECORD_WINDOWS &&
		    (record->source == NP_UNKNOWN ||
		     (record->source >= 0 && record->source < NP_STEP_SOURCES)) &&
		    ends(record->source_detail, sizeof(record->source_detail)) &&
		    ends(record->dir, sizeof(record->dir)) &&
		    ends(record->failure, sizeof(record->failure)) &&
		    is_flag(&record->memory.wanted) &&
		    ends(record->memory.file, sizeof(record->memory.file)) &&
		    ends(record->memory.reason, sizeof(record->memory.reason));

	for (uint32_t i = 0; good && i < record->code_count; i++)
		good = ends(record->codes[i].call, sizeof(record->codes[i].call));
	for (uint32_t i = 0; good && i < record->window_count; i++)
		good = check_window(&record->windows[i]);
	return good;
}

/* --- what the library says ------------------------------------------------- */

static void take_opened(struct np_record *record, const struct np_message *message)
{
	bool first = !record->opened;

	record->opened = true;
	record->closed = false;
	if (first) {
		record->first_step = message->step;
		(void)snprintf(record->dir, sizeof(record->dir), "%.*s", NP_RECORD_DIR - 1,
			       message->text);
	}
	if (record->window_count < NP_RECORD_WINDOWS) {
		struct np_record_window *window = &record->windows[record->window_count++];

		*window = (struct np_record_window){ .first_step = message->step,
						     .last_step = NP_UNKNOWN,
						     .bytes = NP_UNKNOWN };
		place_window(window, message->text);
	}
}

static void sum_bytes(struct np_record *record)
{
	record->bytes = 0;
	for (uint32_t i = 0; i < record->window_count; i++)
		record->bytes = np_plus(record->bytes, record->windows[i].bytes);
}

static void take_closed(struct np_record *record, const struct np_message *message)
{
	struct np_record_window *window =
		record->window_count ? &record->windows[record->window_count - 1] : NULL;

	record->closed = true;
	if (!window)
		return;
	window->closed = true;
	window->last_step = message->step;
	window->bytes = message->value;
	if (record->window_count == 1)
		record->last_step = message->step;
	sum_bytes(record);
}

static void take_bytes(struct np_record *record, const struct np_message *message)
{
	if (record->window_count == 0)
		return;
	record->windows[record->window_count - 1].bytes = message->value;
	sum_bytes(record);
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
		record->pid = message->pid;
		record->device = message->value;
		record->world = message->step;
		break;
	case NP_MSG_STEP:
		record->last_seen_step = message->step;
		break;
	case NP_MSG_SOURCE:
		record->source = message->value;
		(void)snprintf(record->source_detail, sizeof(record->source_detail), "%.*s",
			       NP_RECORD_DETAIL - 1, message->text);
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
		np_record_fail(record, message->text);
		break;
	case NP_MSG_SELF_PROFILING:
		(void)snprintf(text, sizeof(text),
			       "the application profiles itself (%.60s); switch one of the two off",
			       message->text);
		np_record_fail(record, text);
		break;
	case NP_MSG_BYTES:
		take_bytes(record, message);
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
		np_record_fail(record, "the library did not get into the application; is it linked "
				       "statically, or is LD_PRELOAD cleared?");
	} else if (!record->attached) {
		np_record_fail(record, "the application never used an NPU (no aclrtSetDevice)");
	} else if (record->last_seen_step == NP_UNKNOWN) {
		np_record_fail(record,
			       "the application marks no steps (mstx, npuprof_step) and none could "
			       "be recognised");
	} else {
		(void)snprintf(text, sizeof(text),
			       "the application ended in step %" PRId64 ", before step %" PRId64,
			       record->last_seen_step, step_start);
		np_record_fail(record, text);
	}
}

void np_record_conclude(struct np_record *record, int64_t step_start, int64_t step_end,
			bool dynamic)
{
	char text[NP_RECORD_TEXT];

	if (!record->selected || (dynamic && !record->opened))
		return;
	if (!record->opened) {
		explain_absence(record, step_start);
	} else if (!record->closed) {
		np_record_fail(record, "the application ended before the profile was closed; it "
				       "may be incomplete");
	} else if (!dynamic && !record->limited && step_end > 0 &&
		   record->last_step != NP_UNKNOWN && record->last_step < step_end - 1) {
		(void)snprintf(text, sizeof(text),
			       "the profile ends with step %" PRId64 "; %" PRId64 " was asked for",
			       record->last_step, step_end - 1);
		np_record_fail(record, text);
	}
}

const char *np_record_state(const struct np_record *record)
{
	if (record->opened)
		return "raw";
	if (!record->selected)
		return "none";
	if (record->failure[0])
		return "failed";
	/* Chosen for windows on request, of which there was none. */
	return record->exit != NP_UNKNOWN ? "none" : NULL;
}
