/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command for each phase of a job, and shows when each was at work. */
#include "phases.h"

#include "cli/command/cmd.h"
#include "cli/command/output.h"

#include "npuprof/dirs.h"
#include "npuprof/discover.h"
#include "npuprof/grid.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"

/* --- when each rank was at work -------------------------------------------------------------- */

struct phase_time {
	char *phase;
	char *host;
	int32_t rank;
	int32_t device;
	np_ns begin; /* on the clock of the host; NP_UNKNOWN without times */
	np_ns end;
	np_ns idle;    /* within */
	np_ns overlap; /* with other phases on the same NPU */
};

struct np_phase_times {
	NP_VEC(struct phase_time) list;
};

static void release_times(struct np_phase_times *times)
{
	for (size_t i = 0; i < times->list.count; i++) {
		free(times->list.item[i].phase);
		free(times->list.item[i].host);
	}
	np_vec_release(&times->list);
}

/* From the first start to the last end on the device, and what of it nothing ran in. */
static void measure(const struct np_rank *rank, struct phase_time *time)
{
	np_ns busy = 0;

	time->begin = NP_UNKNOWN;
	time->end = NP_UNKNOWN;
	for (size_t i = 0; i < rank->times.count; i++) {
		const struct np_step_time *each = &rank->times.item[i];

		if (each->begin == NP_UNKNOWN || each->span == NP_UNKNOWN)
			continue;
		if (time->begin == NP_UNKNOWN || each->begin < time->begin)
			time->begin = each->begin;
		if (time->end == NP_UNKNOWN || each->begin + each->span > time->end)
			time->end = each->begin + each->span;
		if (each->free != NP_UNKNOWN)
			busy += each->span - each->free;
	}
	time->idle = time->begin == NP_UNKNOWN ? NP_UNKNOWN : time->end - time->begin - busy;
	/* Steps of several devices add up to more than the time. */
	if (time->idle != NP_UNKNOWN && time->idle < 0)
		time->idle = NP_UNKNOWN;
}

int phases_gather(struct np_phase_times *times, const char *phase, const struct np_run *run,
		  struct np_err *err)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		const char *host = rank ? np_run_text(run, rank->host_uid) : NULL;
		struct phase_time *time = rank ? np_vec_add(&times->list, err) : NULL;

		if (!rank)
			continue;
		if (!time || !(time->phase = strdup(phase)) ||
		    !(time->host = strdup(host ? host : "")))
			return np_fail_nomem(err, "phases");
		time->rank = rank->id;
		time->device = rank->device;
		measure(rank, time);
	}
	return NP_OK;
}

static bool same_npu(const struct phase_time *a, const struct phase_time *b)
{
	return a->device >= 0 ? a->device == b->device && strcmp(a->host, b->host) == 0
			      : a->rank == b->rank;
}

struct phase_stretch {
	np_ns begin;
	np_ns end;
};

static int by_begin(const void *left, const void *right)
{
	const struct phase_stretch *a = left;
	const struct phase_stretch *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* The time in which other phases were at work on the same NPU, each moment once. */
static void find_overlap(struct np_phase_times *times, size_t index, struct phase_stretch *others)
{
	struct phase_time *own = &times->list.item[index];
	np_ns covered = own->begin;
	size_t count = 0;

	own->overlap = NP_UNKNOWN;
	if (own->begin == NP_UNKNOWN)
		return;
	for (size_t i = 0; i < times->list.count; i++) {
		const struct phase_time *other = &times->list.item[i];

		if (i != index && other->begin != NP_UNKNOWN && same_npu(own, other) &&
		    other->begin < own->end && other->end > own->begin)
			others[count++] = (struct phase_stretch){ other->begin, other->end };
	}
	qsort(others, count, sizeof(*others), by_begin);
	own->overlap = 0;
	for (size_t i = 0; i < count; i++) {
		np_ns from = others[i].begin > covered ? others[i].begin : covered;
		np_ns to = others[i].end < own->end ? others[i].end : own->end;

		if (to > from) {
			own->overlap += to - from;
			covered = to;
		}
	}
}

static int find_overlaps(struct np_phase_times *times, struct np_err *err)
{
	struct phase_stretch *others = malloc((times->list.count + 1) * sizeof(*others));

	if (!others)
		return np_fail_nomem(err, "phases");
	for (size_t i = 0; i < times->list.count; i++)
		find_overlap(times, i, others);
	free(others);
	return NP_OK;
}

static np_ns length_of(const struct phase_time *time)
{
	return time->begin == NP_UNKNOWN ? NP_UNKNOWN : time->end - time->begin;
}

static int put_times(const struct np_phase_times *times, const struct np_common *common,
		     struct np_err *err)
{
	static const struct np_grid_column columns[] = {
		{ "phase", NP_LEFT, true },    { "rank", NP_RIGHT, false },
		{ "device", NP_RIGHT, false }, { "time", NP_RIGHT, false },
		{ "idle", NP_RIGHT, false },   { "with other phases", NP_RIGHT, false },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));
	struct np_buf buf = NP_BUF_INIT;
	int rc = grid ? NP_OK : np_fail_nomem(err, "phases");

	for (size_t i = 0; i < times->list.count && grid; i++) {
		const struct phase_time *time = &times->list.item[i];

		np_grid_cell(grid, time->phase);
		np_grid_printf(grid, "%d", time->rank);
		if (time->device >= 0)
			np_grid_printf(grid, "%d", time->device);
		else
			np_grid_cell(grid, "?");
		np_grid_duration(grid, length_of(time));
		np_grid_duration(grid, time->idle);
		np_grid_duration(grid, time->overlap);
	}
	if (common->format == NP_OUTPUT_MD)
		np_buf_add(&buf, "\n# Phases\n\n");
	else
		np_buf_add(&buf,
			   "\nPhases: time on the device, idle within, and shared with other phases"
			   " on the same NPU\n");
	if (rc == NP_OK)
		rc = common->format == NP_OUTPUT_MD
			     ? np_grid_write_markdown(grid, &buf, err)
			     : np_grid_write(grid, &buf, 2, np_output_width(stdout), false, err);
	np_grid_free(grid);
	if (rc == NP_OK)
		return np_output_release(&buf) == 0 ? NP_OK : np_fail(err, NP_E_IO, "%s", "");
	np_buf_release(&buf);
	return rc;
}

/* --- what a phase prints becomes a part of the whole ----------------------------------------- */

/* A name as a text of JSON. */
static void put_name(FILE *to, const char *name)
{
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;

	np_text_safe(&safe, name, strlen(name));
	(void)fputc('"', to);
	for (const char *at = safe.text ? safe.text : ""; *at; at++)
		(void)fprintf(to, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
	(void)fputc('"', to);
}

static void put_json(FILE *to, const char *phase, const char *object, bool first)
{
	const char *open = strchr(object, '{');
	size_t length;

	if (!open)
		return;
	length = strlen(open + 1);
	while (length > 0 && open[length] == '\n')
		length--;
	(void)fputs(first ? "    {\n  \"phase\": " : ",\n    {\n  \"phase\": ", to);
	put_name(to, phase);
	(void)fprintf(to, ",%.*s", (int)length, open + 1);
}

static void put_number(FILE *to, const char *name, np_ns value, const char *behind)
{
	if (value == NP_UNKNOWN)
		(void)fprintf(to, "\"%s\": null%s", name, behind);
	else
		(void)fprintf(to, "\"%s\": %lld%s", name, (long long)value, behind);
}

static void put_times_json(FILE *to, const struct np_phase_times *times)
{
	(void)fputs("  \"phase_ranks\": [", to);
	for (size_t i = 0; i < times->list.count; i++) {
		const struct phase_time *time = &times->list.item[i];

		(void)fputs(i > 0 ? ",\n    { \"phase\": " : "\n    { \"phase\": ", to);
		put_name(to, time->phase);
		(void)fputs(", ", to);
		put_number(to, "rank", time->rank, ", ");
		put_number(to, "device", time->device < 0 ? NP_UNKNOWN : time->device, ", ");
		put_number(to, "time_ns", length_of(time), ", ");
		put_number(to, "idle_ns", time->idle, ", ");
		put_number(to, "overlap_ns", time->overlap, " }");
	}
	(void)fputs("\n  ]\n", to);
}

/* A further first column; rows may hold line ends in quotes. */
static void put_csv(FILE *to, const char *phase, const char *table, bool first)
{
	bool quoted = false;
	bool begin = true;
	bool head = true;

	for (const char *at = table; *at; at++) {
		if (begin && head && first)
			(void)fputs("phase,", to);
		else if (begin && !head) {
			put_name(to, phase);
			(void)fputc(',', to);
		}
		begin = false;
		if (!head || first)
			(void)fputc(*at, to);
		quoted = quoted != (*at == '"');
		if (*at == '\n' && !quoted) {
			begin = true;
			head = false;
		}
	}
}

static bool is_machine(const struct np_common *common)
{
	return common->format == NP_OUTPUT_JSON || common->format == NP_OUTPUT_CSV;
}

/* --- what is said of several phases is said once ---------------------------------------------- */

/* A message, and the phases that it was not repeated for. */
struct phase_message {
	char *text;
	const char *last; /* phase that it was heard in */
	NP_VEC(const char *) again;
};

/* A phase of which there is no result. */
struct phase_failure {
	const char *phase;
	char *reason; /* what was reported last */
};

/* Commands that run one after the other; reports come without a context. */
static struct {
	const struct phases_job *job; /* NULL while none runs */
	const char *phase;
	size_t phases;    /* in all */
	bool heading_due; /* the page of the phase has not begun */
	bool first;       /* nothing was printed yet */
	char *reason;     /* reported last in this phase */
	NP_VEC(struct phase_message) messages;
	NP_VEC(struct phase_failure) failures;
} running;

static void put_heading(FILE *to)
{
	const struct np_common *common = running.job->common;
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;

	if (!running.heading_due || running.job->end)
		return;
	running.heading_due = false;
	np_text_safe(&safe, running.phase, strlen(running.phase));
	(void)fprintf(to, "%s%sphase %s%s\n", running.first ? "" : "\n",
		      common->format == NP_OUTPUT_MD ? "# " : "=== ", safe.text ? safe.text : "",
		      common->format == NP_OUTPUT_MD ? "\n" : " ===");
	running.first = false;
}

/* A message that was heard of another phase is counted, and said of all at the end. */
static bool may_say(const char *text)
{
	struct phase_message *message = NULL;
	const char **again;

	free(running.reason);
	running.reason = strdup(text);
	for (size_t i = 0; i < running.messages.count && !message; i++) {
		if (strcmp(running.messages.item[i].text, text) == 0)
			message = &running.messages.item[i];
	}
	if (message) {
		if (message->last != running.phase) {
			message->last = running.phase;
			again = np_vec_add(&message->again, NULL);
			if (again)
				*again = running.phase;
		}
		return false;
	}
	message = np_vec_add(&running.messages, NULL);
	if (message)
		*message = (struct phase_message){ .text = strdup(text), .last = running.phase };
	if (message && !message->text)
		running.messages.count--;
	/* So that one sees of which phase it is. */
	if (!is_machine(running.job->common)) {
		put_heading(stdout);
		(void)fflush(stdout);
	}
	return true;
}

/* So many phases are named. */
#define MOST_NAMED 3

static void say_again(const struct phase_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;
	size_t count = message->again.count;

	if (count == 0)
		return;
	if (count + 1 == running.phases) {
		(void)np_report(0, "it is the same in all %zu phases", running.phases);
		return;
	}
	for (size_t i = 0; i < count && i < MOST_NAMED; i++)
		np_buf_printf(&names, "%s%s", i ? ", " : "", message->again.item[i]);
	if (count > MOST_NAMED)
		np_buf_printf(&names, " and %zu more", count - MOST_NAMED);
	(void)np_report(0, "likewise %s %s: %s", count > 1 ? "phases" : "phase",
			names.text ? names.text : "", message->text);
}

static void end_running(void)
{
	np_output_filter(NULL);
	for (size_t i = 0; i < running.messages.count; i++) {
		say_again(&running.messages.item[i]);
		free(running.messages.item[i].text);
		np_vec_release(&running.messages.item[i].again);
	}
	for (size_t i = 0; i < running.failures.count; i++)
		free(running.failures.item[i].reason);
	np_vec_release(&running.messages);
	np_vec_release(&running.failures);
	free(NP_STEAL(running.reason));
	running.job = NULL;
}

/* --- a phase after the other ----------------------------------------------------------------- */

static void put_part(FILE *to, const char *text)
{
	switch ((enum np_output_format)running.job->common->format) {
	case NP_OUTPUT_JSON:
		if (running.first)
			(void)fprintf(to, "{\n  \"schema\": \"%s\",\n  \"phases\": [\n",
				      running.job->schema);
		put_json(to, running.phase, text, running.first);
		running.first = false;
		break;
	case NP_OUTPUT_CSV:
		put_csv(to, running.phase, text, running.first);
		running.first = false;
		break;
	case NP_OUTPUT_TABLE:
	case NP_OUTPUT_MD:
	default:
		put_heading(to);
		(void)fputs(text, to);
		break;
	}
}

static bool has_failed(int status)
{
	return status == NP_EXIT_FAILED || status == NP_EXIT_USAGE;
}

static void keep_failure(void)
{
	struct phase_failure *failure = np_vec_add(&running.failures, NULL);

	if (failure)
		*failure = (struct phase_failure){ running.phase, NP_STEAL(running.reason) };
}

/* Run the command for a phase, with what it prints put where it belongs. */
static int run_one(const struct phases_job *job, const char *phase)
{
	char *text = NULL;
	size_t length = 0;
	FILE *part = open_memstream(&text, &length);
	FILE *before;
	int status;

	if (!part)
		return np_report(NP_EXIT_FAILED, "out of memory for a phase");
	job->common->phase_part = phase;
	running.phase = phase;
	running.heading_due = true;
	free(NP_STEAL(running.reason));
	before = np_output_divert(part);
	status = job->run(job->options);
	(void)np_output_divert(before);
	(void)fclose(part);
	if (text && length > 0)
		put_part(before, text);
	free(text);
	if (has_failed(status))
		keep_failure();
	return status;
}

/* Some phases may fail, and the others be of use. */
static int worse(int all, int one, bool some)
{
	if (all == NP_EXIT_GATE || one == NP_EXIT_GATE)
		return NP_EXIT_GATE;
	if (!some)
		return one;
	if (all == one)
		return all;
	return NP_EXIT_PARTIAL;
}

static void put_failures(FILE *to)
{
	if (running.failures.count == 0)
		return;
	(void)fputs("  \"phases_failed\": [", to);
	for (size_t i = 0; i < running.failures.count; i++) {
		const struct phase_failure *failure = &running.failures.item[i];

		(void)fputs(i > 0 ? ",\n    { \"phase\": " : "\n    { \"phase\": ", to);
		put_name(to, failure->phase);
		(void)fputs(", \"reason\": ", to);
		put_name(to, failure->reason ? failure->reason : "");
		(void)fputs(" }", to);
	}
	(void)fputs("\n  ],\n", to);
}

char *phases_times_json(const struct np_phase_times *times)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	put_failures(stream);
	put_times_json(stream, times);
	(void)fclose(stream);
	return text;
}

/* Where no phase has a result there is nothing to print. */
static int end_all(const struct phases_job *job, struct np_phase_times *times, int status)
{
	struct np_err err = NP_ERR_INIT;
	int rc = find_overlaps(times, &err);
	FILE *to = np_output_stream();

	if (has_failed(status))
		return status;
	if (job->end) {
		if (rc == NP_OK)
			return job->end(job->options, times, status);
	} else if (job->common->format == NP_OUTPUT_JSON && !running.first) {
		(void)fputs("\n  ],\n", to);
		put_failures(to);
		put_times_json(to, times);
		(void)fputs("}\n", to);
	} else if (rc == NP_OK && times->list.count > 0 && np_common_page(job->common)) {
		rc = put_times(times, job->common, &err);
	}
	return rc < 0 ? np_report(NP_EXIT_FAILED, "%s", err.text) : status;
}

static int run_all(const struct phases_job *job, char *const *names, size_t count)
{
	struct np_phase_times times = { 0 };
	int status = NP_EXIT_DONE;

	const char *output = job->common->output;

	running.job = job;
	running.phases = count;
	running.first = true;
	np_output_filter(may_say);
	job->common->phase_times = &times;
	/* What is not in one phase may be in another: a rank, a step, a repair of one. */
	for (size_t i = 0; i < count; i++) {
		char *below = job->beside && output ? np_join_path(output, names[i]) : NULL;
		int one;

		if (below)
			job->common->output = below;
		one = run_one(job, names[i]);
		job->common->output = output;
		free(below);
		status = worse(status, one, i > 0);
	}
	status = end_all(job, &times, status);
	end_running();
	job->common->phase_times = NULL;
	job->common->phase_part = NULL;
	release_times(&times);
	return status;
}

/* --- which phases there are ------------------------------------------------------------------ */

/* The phases of some inputs; a run that cannot be found has none, and its command says why. */
static struct np_run *look(const struct phases_job *job, const char *const *dirs, size_t count)
{
	const struct np_discover_options how = { .picks = job->picks ? job->picks->item : NULL,
						 .pick_count = job->picks ? job->picks->count : 0 };
	struct np_run *run = np_run_new();

	if (run && np_discover(run, dirs, count, &how, NULL) < 0) {
		np_run_free(run);
		return NULL;
	}
	return run;
}

static bool has_phase(const struct np_run *run, const char *name)
{
	for (size_t i = 0; i < run->phases.count; i++) {
		if (strcmp(run->phases.item[i], name) == 0)
			return true;
	}
	return false;
}

/* Phases of two runs are paired by name; those that only one has are said. */
static int run_paired(const struct phases_job *job, const struct np_run *base,
		      const struct np_run *new)
{
	char **names = calloc(base->phases.count + 1, sizeof(*names));
	size_t count = 0;
	size_t alone = 0;
	int status;

	if (!names)
		return np_report(NP_EXIT_FAILED, "out of memory for phases");
	for (size_t i = 0; i < base->phases.count; i++) {
		if (has_phase(new, base->phases.item[i]))
			names[count++] = base->phases.item[i];
	}
	for (size_t i = 0; i < base->phases.count + new->phases.count; i++) {
		bool of_base = i < base->phases.count;
		const char *name =
			of_base ? base->phases.item[i] : new->phases.item[i - base->phases.count];

		if (has_phase(of_base ? new : base, name))
			continue;
		(void)np_report(0, "phase '%s' is not compared: only %s has it", name,
				of_base ? "the base" : "the new run");
		alone++;
	}
	if (count == 0)
		status = np_report(NP_EXIT_FAILED, "the runs have no phase in common");
	else
		status = run_all(job, names, count);
	free(names);
	return alone > 0 && status == NP_EXIT_DONE ? NP_EXIT_PARTIAL : status;
}

/* The command as ever, where there is one phase or one is chosen. */
static int run_alone(const struct phases_job *job)
{
	int status = job->run(job->options);

	return job->end ? job->end(job->options, NULL, status) : status;
}

static int run_chosen(const struct phases_job *job, const struct np_run *run)
{
	if (run->phases.count > 1 && job->common->phase)
		job->common->phase_part = job->common->phase;
	if (run->phases.count < 2 || job->common->phase)
		return run_alone(job);
	if (!*job->schema)
		return np_cmd_usage(job->command,
				    "the run has %zu phases, which this format cannot hold: choose"
				    " one with --phase",
				    run->phases.count);
	return run_all(job, run->phases.item, run->phases.count);
}

static int run_pair(const struct phases_job *job, const struct np_run *base,
		    const struct np_run *new)
{
	const struct np_run *several = base->phases.count > 1 ? base : new;

	if ((base->phases.count < 2 && new->phases.count < 2) || job->common->phase)
		return run_alone(job);
	if (base->phases.count < 2 || new->phases.count < 2)
		return np_cmd_usage(job->command,
				    "one side has %zu phases and the other has one: choose with"
				    " --phase",
				    several->phases.count);
	return run_paired(job, base, new);
}

int phases_run(const struct phases_job *job)
{
	static const char *const here[] = { "." };
	const struct np_opt_list *dirs = &job->common->dirs;
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	NP_CLEANUP(np_run_freep) struct np_run *other = NULL;

	if (job->common->from_summaries)
		return run_alone(job);
	if (job->others) {
		run = look(job, job->others->item, 1);
		other = run ? look(job, job->others->item + 1, 1) : NULL;
		return other ? run_pair(job, run, other) : run_alone(job);
	}
	run = dirs->count ? look(job, dirs->item, dirs->count) : look(job, here, 1);
	return run ? run_chosen(job, run) : run_alone(job);
}
