/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATCH_LINES_H
#define WATCH_LINES_H

#include "history/engine/hist_store.h"
#include "history/engine/watch_course.h"

#include "npuprof/buf.h"

#include <stdio.h>

/*
 * A window that was analysed, as a line for people, as a line of JSON (npuprof.watch/1), and the
 * newest one as a file for the textfile collector of Prometheus' node_exporter.
 */

/* Against the window before. */
enum watch_news {
	WATCH_SAME,
	WATCH_BECAME, /* a verdict names somebody, or somebody else */
	WATCH_CEASED, /* nobody is named any more */
};

struct watch_line {
	const struct hist_store *store;
	size_t run; /* index in it */
	int64_t id; /* of the run in the store that is kept */
	const char *window;
	int64_t replaces; /* the run that it was before more of it arrived; NP_UNKNOWN: none */
	enum watch_news news;
	const char *before; /* the verdict of the window before; NULL for none */
	struct watch_usual usual;
};

/* Does the verdict of a run name a cause? */
bool watch_names_cause(const struct hist_store *store, const struct hist_run *run);

void watch_say(struct np_buf *buf, const struct watch_line *line);
void watch_put_json(struct np_buf *buf, const struct watch_line *line);

/* The number of the run in a line of JSON; NP_UNKNOWN for what is no such line. */
int64_t watch_line_run(const char *text, size_t length);

/* The figures of the newest window, as text; the caller's. */
int watch_put_newest(const struct watch_line *line, const char *job, char **ret, struct np_err *err)
	NP_MUST_USE;

struct watch_metrics {
	const char *newest; /* NULL: there is none yet */
	const char *job;
	const char *version;
	np_ns looked;    /* when new windows were looked for last */
	int64_t windows; /* analysed by this process */
	int64_t failed;
};

int watch_write_metrics(const void *metrics, FILE *stream, struct np_err *err);

#endif /* WATCH_LINES_H */
