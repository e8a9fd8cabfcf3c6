/* SPDX-License-Identifier: Apache-2.0 */
/* What the watch prints of a window: for people, for programs, for Prometheus. */
#include "watch_lines.h"

#include <inttypes.h>

#include "history_report.h"

#include "npuprof/jsonout.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

bool watch_names_cause(const struct hist_store *store, const struct hist_run *run)
{
	const char *kind = hist_text(store, run->verdict);

	/* Ranks that were not profiled are a notice about coverage. */
	return kind && strcmp(kind, "none") != 0 && strcmp(kind, "withheld") != 0 &&
	       strcmp(kind, "not-profiled") != 0;
}

static const char *window_of(const struct watch_line *line)
{
	const char *window = hist_label_of(line->store, line->run, "window");

	return window ? window : "?";
}

static const char *cause_of(const struct hist_store *store, const struct hist_run *run)
{
	const char *what = hist_text(store, run->what);

	return what ? what : hist_text(store, run->verdict);
}

void watch_say(struct np_buf *buf, const struct watch_line *line)
{
	const struct hist_run *run = &line->store->runs.item[line->run];
	NP_CLEANUP(np_buf_release) struct np_buf when = NP_BUF_INIT;

	history_time(&when, run->captured);
	np_say(buf, "{1}  {2}: {3} ranks, step {4}; {5}\n", NP_SAID_TEXT(when.text),
	       NP_SAID_TEXT(window_of(line)), NP_SAID_INT(run->ranks), NP_SAID_TIME(run->step),
	       NP_SAID_MSG(hist_text(line->store, run->sentence)));
	if (line->news == WATCH_BECAME)
		np_say(buf, "  from here on: {1}\n", NP_SAID_TEXT(cause_of(line->store, run)));
	else if (line->news == WATCH_CEASED)
		np_say(buf, "  no longer: {1}\n", NP_SAID_TEXT(line->before));
}

void watch_put_json(struct np_buf *buf, const struct watch_line *line)
{
	static const char *const news[] = {
		[WATCH_SAME] = NULL, [WATCH_BECAME] = "became", [WATCH_CEASED] = "ceased"
	};
	const struct hist_run *run = &line->store->runs.item[line->run];
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	np_jsonout_object_line(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.watch/1");
	np_jsonout_integer(&out, "run", line->id);
	np_jsonout_text(&out, "window", window_of(line));
	np_jsonout_text(&out, "job", hist_text(line->store, run->job));
	np_jsonout_integer(&out, "captured_ns", run->captured);
	np_jsonout_integer(&out, "ranks_used", run->ranks);
	np_jsonout_integer(&out, "steps", run->steps);
	np_jsonout_integer(&out, "step_ns", run->step);
	np_jsonout_text(&out, "verdict", hist_text(line->store, run->verdict));
	np_jsonout_text(&out, "verdict_what", hist_text(line->store, run->what));
	np_jsonout_text(&out, "verdict_text", hist_text(line->store, run->sentence));
	np_jsonout_text(&out, "news", news[line->news]);
	np_jsonout_text(&out, "before", line->before);
	np_jsonout_end(&out);
	if (np_jsonout_finish(&out, &err) == NP_OK)
		np_buf_add_bytes(buf, out.buf.text, out.buf.length);
	else
		buf->failed = true;
	np_jsonout_release(&out);
}

int64_t watch_line_run(const char *text, size_t length)
{
	static const char before[] = "{ \"schema\": \"npuprof.watch/1\", \"run\": ";
	size_t begin = sizeof(before) - 1;
	size_t end = begin;
	int64_t run;

	if (length <= begin || memcmp(text, before, begin) != 0)
		return NP_UNKNOWN;
	while (end < length && text[end] >= '0' && text[end] <= '9')
		end++;
	return np_text_to_int(text + begin, end - begin, &run) ? run : NP_UNKNOWN;
}

/* --- Prometheus ------------------------------------------------------------------------------ */

/* A value of a label, between quotes. */
static void put_label(FILE *stream, const char *name, const char *value)
{
	(void)fprintf(stream, "%s=\"", name);
	for (const char *at = value ? value : ""; *at; at++) {
		if (*at == '\n')
			(void)fputs("\\n", stream);
		else
			(void)fprintf(stream, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
	}
	(void)fputc('"', stream);
}

static void put_head(FILE *stream, const char *name, const char *type, const char *help)
{
	(void)fprintf(stream, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_seconds(FILE *stream, np_ns time)
{
	(void)fprintf(stream, "} %lld.%09lld\n", (long long)(time / 1000000000),
		      (long long)(time % 1000000000));
}

static void put_gauge(FILE *stream, const char *name, const char *help, const char *job, np_ns time)
{
	if (time == NP_UNKNOWN || time < 0)
		return;
	put_head(stream, name, "gauge", help);
	(void)fprintf(stream, "%s{", name);
	put_label(stream, "job", job);
	put_seconds(stream, time);
}

static void put_parts(FILE *stream, const struct watch_line *line, const char *job)
{
	static const char *const parts[] = { "computing",     "wait", "transfer",
					     "communication", "copy", "idle" };

	put_head(stream, "npuprof_step_part_seconds", "gauge",
		 "Where the mean step of the newest window went.");
	for (size_t i = 0; i < line->store->figures.count; i++) {
		const struct hist_figure *figure = &line->store->figures.item[i];
		const char *name = hist_text(line->store, figure->name);

		for (size_t j = 0; j < NP_COUNT(parts) && figure->run == line->run; j++) {
			if (strcmp(name, parts[j]) != 0 || figure->time < 0)
				continue;
			(void)fputs("npuprof_step_part_seconds{", stream);
			put_label(stream, "job", job);
			(void)fputc(',', stream);
			put_label(stream, "part", name);
			put_seconds(stream, figure->time);
		}
	}
}

int watch_write_metrics(const void *context, FILE *stream, struct np_err *err)
{
	const struct watch_metrics *metrics = context;
	const struct watch_line *line = metrics->newest;
	const struct hist_run *run = &line->store->runs.item[line->run];
	const char *job = hist_text(line->store, run->job);

	put_gauge(stream, "npuprof_step_seconds", "Mean step of the newest window.", job,
		  run->step);
	put_gauge(stream, "npuprof_window_timestamp_seconds",
		  "When the newest window was captured, since 1970.", job, run->captured);
	put_parts(stream, line, job);
	put_head(stream, "npuprof_verdict_info", "gauge", "What the newest window names.");
	(void)fputs("npuprof_verdict_info{", stream);
	put_label(stream, "job", job);
	(void)fputc(',', stream);
	put_label(stream, "kind", hist_text(line->store, run->verdict));
	(void)fputc(',', stream);
	put_label(stream, "what", hist_text(line->store, run->what));
	(void)fputs("} 1\n", stream);
	put_head(stream, "npuprof_watch_windows_total", "counter",
		 "Windows analysed since the start.");
	(void)fprintf(stream, "npuprof_watch_windows_total{");
	put_label(stream, "job", job);
	(void)fprintf(stream, "} %" PRId64 "\n", metrics->windows);
	put_head(stream, "npuprof_watch_failed_windows_total", "counter",
		 "Windows that could not be analysed.");
	(void)fprintf(stream, "npuprof_watch_failed_windows_total{");
	put_label(stream, "job", job);
	(void)fprintf(stream, "} %" PRId64 "\n", metrics->failed);
	return ferror(stream) ? np_fail(err, NP_E_IO, "%s", "the metrics could not be written")
			      : NP_OK;
}
