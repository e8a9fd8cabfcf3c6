/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of what msMonitor wrote. */
#include "monitor_end.h"

#include "npuprof/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So much of the end of a file is looked at. */
#define TAIL_BYTES 65536

/* The rank that a line says, if it is the one that does. */
static int32_t rank_of_line(const char *line, size_t length)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *kind;
	int64_t rank;

	if (np_json_parse(line, length, "rank", &doc, NULL) < 0)
		return -1;
	kind = np_json_text(np_json_member(doc, "kind"));
	if (!kind || strcmp(kind, "rank_device_map") != 0 ||
	    !np_json_integer(np_json_member(doc, "rank"), &rank) || rank < 0 || rank > INT32_MAX)
		return -1;
	return (int32_t)rank;
}

int32_t monitor_end_rank(const char *path)
{
	FILE *file = fopen(path, "re");
	char *tail = file ? malloc(TAIL_BYTES) : NULL;
	int32_t rank = -1;
	size_t length = 0;

	if (tail) {
		if (fseek(file, -TAIL_BYTES, SEEK_END) < 0)
			rewind(file);
		length = fread(tail, 1, TAIL_BYTES, file);
	}
	for (size_t from = 0, to; from < length && rank < 0; from = to + 1) {
		const char *end = memchr(tail + from, '\n', length - from);

		to = end ? (size_t)(end - tail) : length;
		if (memmem(tail + from, to - from, "rank_device_map", 15))
			rank = rank_of_line(tail + from, to - from);
	}
	free(tail);
	if (file)
		(void)fclose(file);
	return rank;
}
