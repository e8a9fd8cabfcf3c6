/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frame of a call stack that is the user's own. */
#include "frames.h"

#include <string.h>

#include "npuprof/text.h"

/* Parts of paths of code that is not the user's. */
static const char *const libraries[] = {
	"/torch/",     "torch/",     "torch_npu/",  "/megatron/", "megatron/", "mindspeed/",
	"/deepspeed/", "deepspeed/", "/lib/python", "<built-in",  "<frozen",   "<string>",
};

static bool is_library(const char *frame, size_t length)
{
	for (size_t i = 0; i < NP_COUNT(libraries); i++) {
		size_t size = strlen(libraries[i]);
		bool anywhere = libraries[i][0] == '/' || libraries[i][0] == '<';

		if (anywhere ? memmem(frame, length, libraries[i], size) != NULL
			     : length >= size && memcmp(frame, libraries[i], size) == 0)
			return true;
		if (!anywhere && length > size) {
			/* Inside of a path it must begin a directory. */
			const char *found = memmem(frame, length, libraries[i], size);

			if (found && found > frame && found[-1] == '/')
				return true;
		}
	}
	return false;
}

bool adv_frame_position(const char *frame, size_t length, size_t *ret_file_length,
			int64_t *ret_line)
{
	const char *open = memchr(frame, '(', length);
	const char *close = open ? memchr(open, ')', length - (size_t)(open - frame)) : NULL;

	if (!close || open == frame ||
	    !np_text_to_int(open + 1, (size_t)(close - open) - 1, ret_line) || *ret_line < 1)
		return false;
	*ret_file_length = (size_t)(open - frame);
	return true;
}

const char *adv_user_frame(const char *stack, size_t *ret_length)
{
	while (*stack) {
		size_t length = strcspn(stack, "\n;");
		size_t skipped = strspn(stack, " \t\r");
		size_t file;
		int64_t line;

		if (skipped < length) {
			const char *frame = stack + skipped;
			size_t rest = length - skipped;

			while (rest > 0 && (frame[rest - 1] == '\r' || frame[rest - 1] == ' '))
				rest--;
			if (adv_frame_position(frame, rest, &file, &line) &&
			    !is_library(frame, rest)) {
				*ret_length = rest;
				return frame;
			}
		}
		stack += length;
		stack += strspn(stack, "\n;");
	}
	return NULL;
}
