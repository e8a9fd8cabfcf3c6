/* SPDX-License-Identifier: Apache-2.0 */
/* What the watch prints of a window: for people, for programs, for Prometheus. */
#include "watch_lines.h"

#include <inttypes.h>
#include <math.h>

#include "history_report.h"

#include "npuprof/jsonout.h"
#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

bool watch_names_cause(const struct hist_store *store, const struct hist_run *run)
{
	const char *kind = hist_text(store, run->verdict);

	/* Ranks that were not profiled are a notice about coverage. */
	return kind && strcmp(kind, "none") != 0 && strcmp(kind, "withheld") != 0 &&
	       strcmp(kind, "not-profiled") != 0;
}

static const char *cause_of(const struct hist_store *store, const struct hist_run *run)
{
	const char *what = hist_text(store, run->what);

	return what ? what : hist_text(store, run->verdict);
}

/* The machine of a rank that is named, "device 3 of node-7"; nothing where it is not known. */
static void add_machine(struct np_buf *buf, const struct watch_line *line)
{
	const struct hist_run *run = &line->store->runs.item[line->run];
	const struct hist_rank *rank = hist_named_rank(line->store, run, run->what);

	if (rank)
		history_unit(buf, line->store, HIST_DEVICE, rank->host, rank->device);
}

/* What the repair that is named saves of the step; NP_UNKNOWN where nobody has replayed it. */
static np_ns saved_of(const struct watch_line *line)
{
	const struct hist_run *run = &line->store->runs.item[line->run];

	for (size_t i = 0; i < line->store->repairs.count; i++) {
		const struct hist_repair *one = &line->store->repairs.item[i];

		if (one->run == line->run && one->repair == run->what && run->what != NP_STR_NONE)
			return one->saved;
	}
	return NP_UNKNOWN;
}

static void say_became(struct np_buf *buf, const struct watch_line *line)
{
	const struct hist_run *run = &line->store->runs.item[line->run];
	NP_CLEANUP(np_buf_release) struct np_buf machine = NP_BUF_INIT;
	np_ns saved = saved_of(line);

	add_machine(&machine, line);
	np_say(buf, "  from here on: {1}", NP_SAID_TEXT(cause_of(line->store, run)));
	if (machine.length > 0)
		np_say(buf, ", {1}", NP_SAID_TEXT(machine.text));
	if (saved != NP_UNKNOWN && saved > 0 && run->step != NP_UNKNOWN && run->step > 0)
		np_say(buf, "; its repair saves {1} of the step ({2})", NP_SAID_TIME(saved),
		       NP_SAID_SHARE((double)saved / (double)run->step));
	np_buf_add_char(buf, '\n');
}

/* Of the step itself, which may be longer with nobody to blame. */
static void say_usual(struct np_buf *buf, const struct watch_line *line)
{
	const struct hist_run *run = &line->store->runs.item[line->run];
	const struct watch_usual *usual = &line->usual;

	if (usual->began)
		np_say(buf, "  the step is longer than usual: {1}, where {2} to {3} are usual\n",
		       NP_SAID_TIME(run->step), NP_SAID_TIME((np_ns)usual->low),
		       NP_SAID_TIME((np_ns)usual->high));
	else if (usual->ended && usual->step == WATCH_STEP_LONGER)
		np_say(buf, "  the step was longer for {1} windows: that is usual from here on\n",
		       NP_SAID_INT(WATCH_LASTING));
	else if (usual->ended)
		np_say(buf, "  the step is as usual again: {1}, where {2} to {3} are usual\n",
		       NP_SAID_TIME(run->step), NP_SAID_TIME((np_ns)usual->low),
		       NP_SAID_TIME((np_ns)usual->high));
}

void watch_say(struct np_buf *buf, const struct watch_line *line)
{
	const struct hist_run *run = &line->store->runs.item[line->run];
	const char *sentence = hist_text(line->store, run->sentence);
	NP_CLEANUP(np_buf_release) struct np_buf when = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf verdict = NP_BUF_INIT;

	history_time(&when, run->captured);
	if (sentence)
		np_lang_put_parts(&verdict, sentence);
	np_say(buf, "{1}  {2}: {3} ranks, step {4}; {5}\n", NP_SAID_TEXT(when.text),
	       NP_SAID_TEXT(line->window), NP_SAID_INT(run->ranks), NP_SAID_TIME(run->step),
	       NP_SAID_TEXT(verdict.text));
	buf->failed |= when.failed || verdict.failed;
	if (line->replaces != NP_UNKNOWN)
		np_say(buf, "  in place of run {1}: more of this window arrived after that\n",
		       NP_SAID_INT(line->replaces));
	if (line->news == WATCH_BECAME)
		say_became(buf, line);
	else if (line->news == WATCH_CEASED)
		np_say(buf, "  no longer: {1}\n", NP_SAID_TEXT(line->before));
	say_usual(buf, line);
}

void watch_put_json(struct np_buf *buf, const struct watch_line *line)
{
	static const char *const news[] = {
		[WATCH_SAME] = NULL, [WATCH_BECAME] = "became", [WATCH_CEASED] = "ceased"
	};
	static const char *const steps[] = { [WATCH_STEP_UNKNOWN] = NULL,
					     [WATCH_STEP_USUAL] = "usual",
					     [WATCH_STEP_LONGER] = "longer",
					     [WATCH_STEP_SHORTER] = "shorter" };
	const struct hist_run *run = &line->store->runs.item[line->run];
	const struct hist_rank *rank = hist_named_rank(line->store, run, run->what);
	bool known = isfinite(line->usual.low);
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	np_jsonout_object_line(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.watch/1");
	np_jsonout_integer(&out, "run", line->id);
	np_jsonout_text(&out, "window", line->window);
	np_jsonout_text(&out, "fingerprint", hist_text(line->store, run->fingerprint));
	np_jsonout_integer(&out, "replaces_run", line->replaces);
	np_jsonout_text(&out, "job", hist_text(line->store, run->job));
	np_jsonout_integer(&out, "captured_ns", run->captured);
	np_jsonout_integer(&out, "ranks_used", run->ranks);
	np_jsonout_integer(&out, "steps", run->steps);
	np_jsonout_integer(&out, "step_ns", run->step);
	np_jsonout_text(&out, "verdict", hist_text(line->store, run->verdict));
	np_jsonout_text(&out, "verdict_what", hist_text(line->store, run->what));
	np_jsonout_text(&out, "verdict_text", hist_text(line->store, run->sentence));
	np_jsonout_integer(&out, "verdict_saved_ns", saved_of(line));
	np_jsonout_text(&out, "verdict_host", rank ? hist_text(line->store, rank->host) : NULL);
	np_jsonout_integer(&out, "verdict_device", rank ? rank->device : NP_UNKNOWN);
	np_jsonout_text(&out, "news", news[line->news]);
	np_jsonout_text(&out, "before", line->before);
	np_jsonout_text(&out, "step_is", steps[line->usual.step]);
	np_jsonout_integer(&out, "step_usual_low_ns", known ? (np_ns)line->usual.low : NP_UNKNOWN);
	np_jsonout_integer(&out, "step_usual_high_ns",
			   known ? (np_ns)line->usual.high : NP_UNKNOWN);
	np_jsonout_text(&out, "step_news",
			line->usual.began   ? "became"
			: line->usual.ended ? "ceased"
					    : NULL);
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

/* A value of a label, between quotes. One byte that is no UTF-8, and the whole file is refused. */
static void put_label(FILE *stream, const char *name, const char *value)
{
	const char *at = value ? value : "";
	size_t left = strlen(at);

	(void)fprintf(stream, "%s=\"", name);
	while (left > 0) {
		size_t length = np_utf8_length(at, left);

		if (length == 0)
			(void)fputs("\xEF\xBF\xBD", stream); /* U+FFFD */
		else if (*at == '\n')
			(void)fputs("\\n", stream);
		else
			(void)fprintf(stream, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "",
				      (int)length, at);
		length = length > 0 ? length : 1;
		at += length;
		left -= length;
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

static void put_counter(FILE *stream, const char *name, const char *help, const char *job,
			int64_t count)
{
	put_head(stream, name, "counter", help);
	(void)fprintf(stream, "%s{", name);
	put_label(stream, "job", job);
	(void)fprintf(stream, "} %" PRId64 "\n", count);
}

/* Between which steps are usual, and whether one that is longer lasts. */
static void put_usual(FILE *stream, const struct watch_usual *usual, const char *job)
{
	if (isfinite(usual->low)) {
		put_head(
			stream, "npuprof_step_usual_seconds", "gauge",
			"The shortest and the longest step that windows before the newest let expect.");
		for (int i = 0; i < 2; i++) {
			(void)fputs("npuprof_step_usual_seconds{", stream);
			put_label(stream, "job", job);
			(void)fputc(',', stream);
			put_label(stream, "bound", i == 0 ? "low" : "high");
			put_seconds(stream, (np_ns)fmax(0, i == 0 ? usual->low : usual->high));
		}
	}
	put_head(stream, "npuprof_step_longer_than_usual", "gauge",
		 "1 while steps are longer than usual, else 0.");
	(void)fputs("npuprof_step_longer_than_usual{", stream);
	put_label(stream, "job", job);
	(void)fprintf(stream, "} %d\n", usual->longer);
}

static void put_newest(FILE *stream, const struct watch_line *line, const char *job)
{
	const struct hist_run *run = &line->store->runs.item[line->run];
	const struct hist_rank *rank = hist_named_rank(line->store, run, run->what);
	char device[24] = "";

	if (rank)
		(void)snprintf(device, sizeof(device), "%lld", (long long)rank->device);
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
	(void)fputc(',', stream);
	put_label(stream, "host", rank ? hist_text(line->store, rank->host) : NULL);
	(void)fputc(',', stream);
	put_label(stream, "device", device);
	(void)fputs("} 1\n", stream);
	put_gauge(stream, "npuprof_verdict_saved_seconds",
		  "What the repair that the newest window names saves of its step; 0 for none.",
		  job, watch_names_cause(line->store, run) ? saved_of(line) : 0);
	put_usual(stream, &line->usual, job);
}

int watch_put_newest(const struct watch_line *line, const char *job, char **ret, struct np_err *err)
{
	size_t size = 0;
	FILE *stream = open_memstream(ret, &size);

	if (!stream)
		return np_fail_nomem(err, "the metrics");
	put_newest(stream, line, job);
	return fclose(stream) == 0 ? NP_OK : np_fail_nomem(err, "the metrics");
}

int watch_write_metrics(const void *context, FILE *stream, struct np_err *err)
{
	const struct watch_metrics *metrics = context;

	put_head(stream, "npuprof_build_info", "gauge", "The version of npuprof.");
	(void)fputs("npuprof_build_info{", stream);
	put_label(stream, "version", metrics->version);
	(void)fputs("} 1\n", stream);
	if (metrics->newest)
		(void)fputs(metrics->newest, stream);
	put_gauge(stream, "npuprof_watch_last_look_timestamp_seconds",
		  "When new windows were looked for last, since 1970.", metrics->job,
		  metrics->looked);
	put_counter(stream, "npuprof_watch_windows_total", "Windows analysed since the start.",
		    metrics->job, metrics->windows);
	put_counter(stream, "npuprof_watch_failed_windows_total",
		    "Windows that could not be analysed, since the start.", metrics->job,
		    metrics->failed);
	return ferror(stream) ? np_fail(err, NP_E_IO, "%s", "the metrics could not be written")
			      : NP_OK;
}
