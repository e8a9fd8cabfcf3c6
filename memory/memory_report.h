/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_REPORT_H
#define NP_MEMORY_REPORT_H

#include "engine/mem_imbalance.h"

#include "npuprof/buf.h"
#include "npuprof/notes.h"

/* What is printed of the memory of all ranks. */
struct memory_report {
	mem_ranks ranks;
	struct mem_imbalance *imbalance;
	struct mem_comparison *comparison; /* with --base, else NULL */
	const char *base;
	const char *moment;   /* as given */
	size_t top;           /* groups that are shown */
	const char *gate;     /* as given, or NULL */
	int64_t device_bytes; /* that the user gave; NP_UNKNOWN */
	struct np_notes *notes;
	size_t width;
	bool color;
};

/* The word of --by. */
const char *memory_by_name(enum mem_by by);

/* The page as lines or Markdown; JSON; the groups as CSV. */
int memory_report_page(const struct memory_report *report, bool markdown, struct np_buf *buf,
		       struct np_err *err) NP_MUST_USE;
int memory_report_json(const struct memory_report *report, void *stream, struct np_err *err)
	NP_MUST_USE;
int memory_report_csv(const struct memory_report *report, void *stream, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_MEMORY_REPORT_H */
