/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_REPORT_H
#define NP_MEMORY_REPORT_H

#include "engine/composition.h"
#include "memory_whatif.h"

#include "npuprof/buf.h"
#include "npuprof/notes.h"

/* What is known of one device of one file. */
struct memory_result {
	char *path;
	int64_t rank; /* NP_UNKNOWN: the name does not tell */
	size_t device;
	struct mem_history *history; /* its snapshot is gone */
	struct composition *composition;
	size_t at; /* the event that the composition is of */
	uint64_t at_allocated;
	uint64_t at_requested;
	uint64_t at_reserved;
	struct layout_gaps gaps; /* at that event */
	size_t peak_blocks;
	uint64_t workspace;
	int64_t limit; /* bytes that the process can have; NP_UNKNOWN */
	struct memory_whatif whatif;
	bool tripped; /* the gate */
};

struct memory_report {
	NP_VEC(struct memory_result) results;
	const char *by;
	const char *moment;
	size_t top;       /* groups that are shown */
	const char *gate; /* as given, or NULL */
	struct np_notes *notes;
	size_t width;
	bool color;
};

void memory_report_release(struct memory_report *report);

/* The page as lines or Markdown; JSON; the groups as CSV. */
int memory_report_page(const struct memory_report *report, bool markdown, struct np_buf *buf,
		       struct np_err *err) NP_MUST_USE;
int memory_report_json(const struct memory_report *report, void *stream, struct np_err *err)
	NP_MUST_USE;
int memory_report_csv(const struct memory_report *report, void *stream, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_MEMORY_REPORT_H */
