/* SPDX-License-Identifier: Apache-2.0 */
/* The command "npuprof ctl": asks a running job for a window, how far it is, or follows its
 * windows. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "collect/launch/plan/options.h"
#include "collect/launch/session/ctl.h"
#include "collect/rank_list.h"
#include "ctl_watch.h"

#include "npuprof/lang.h"

static int cmd_ctl(int argc, const char *const *argv);

struct ctl_options {
	const char *dir;
	int64_t steps;
	int64_t at;
	int level;
	const char *ranks;
	int64_t every;
	const char *msprof;
	struct np_opt_list words;
	struct np_watch_options watch;
};

#define AT(member) offsetof(struct ctl_options, member)

enum {
	PATIENCE_S = 900, /* torch_npu may need some of its steps */
};

static const struct np_opt rows[] = {
	{
		.letter = 'd',
		.name = "dir",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = AT(dir),
		.value = "DIR",
		.help = "the directory of the job, or the one above if one job runs in it",
		.preset = "./profile",
	},
	{
		.name = "steps",
		.kind = NP_OPT_INTEGER,
		.offset = AT(steps),
		.value = "N",
		.help = "start, watch: so many steps; -1 until stop",
		.preset = "1",
		.low = -1,
		.high = NP_PLAN_LAST_STEP,
	},
	{
		.name = "at",
		.kind = NP_OPT_INTEGER,
		.offset = AT(at),
		.value = "STEP",
		.help = "start: from this step, or if it has begun from a later one; -1 soon",
		.preset = "-1",
		.low = -1,
		.high = NP_PLAN_LAST_STEP,
	},
	NP_OPT_LEVEL(AT(level), "start, watch: how much is recorded", "that of the job"),
	NP_OPT_RANKS(AT(ranks), "start, watch: these ranks, as in npuprof-collect",
		     "those of the job"),
	{
		.name = "every",
		.kind = NP_OPT_INTEGER,
		.offset = AT(every),
		.value = "S",
		.help = "watch: open a window every S seconds",
		.preset_words = "none: only those that others ask for",
		.low = 1,
		.high = 86400,
	},
	{
		.name = "msprof",
		.kind = NP_OPT_TEXT,
		.offset = AT(msprof),
		.value = "PROGRAM",
		.help = "watch: export windows with this msprof instead of the one in PATH",
	},
};

static const struct np_opt_group groups[] = {
	{ "Options", rows, NP_COUNT(rows), 0 },
	NP_GROUP_WATCHING(struct ctl_options, watch),
	NP_GROUP_GENERAL,
};

static void offer_actions(struct np_buf *words)
{
	np_buf_add(words, " start stop status watch");
}

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST,
		    .offset = AT(words),
		    .value = "start|stop|status|watch",
		    .offer = offer_actions },
	.least = 1,
	.most = 1,
};

extern const struct np_cmd np_cmd_ctl;

const struct np_cmd np_cmd_ctl = {
	.name = "ctl",
	.topic = "Collecting",
	.synopsis = "start|stop|status|watch [options]",
	.summary =
		"start or stop a window of a job that is running, ask how far it is, or watch it",
	.about = "Talks to a job that npuprof-collect has started, on any of its hosts. "
		 "'start' opens a window at a step that no rank has begun yet, the same on all "
		 "ranks; 'stop' ends the one that is open; 'status' tells which step it is and how "
		 "much was collected; 'watch' exports and analyses every window of the job, adds "
		 "it to the history and tells of it in a line, until the job has ended. Only the "
		 "user who runs the job may do that.",
	.run = cmd_ctl,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
};

/* The launcher answers in English. */
static int print_answer(const char *text)
{
	struct np_buf buf = NP_BUF_INIT;

	np_lang_put_lines(&buf, text);
	np_buf_add_char(&buf, '\n');
	return np_output_release(&buf);
}

/* The request that the options mean; false: they mean none, and that was said. */
static bool make_request(const struct ctl_options *options, enum np_ctl_verb verb,
			 struct np_ctl_request *ret)
{
	struct np_err err = NP_ERR_INIT;

	*ret = (struct np_ctl_request){ .version = NP_CTL_VERSION,
					.verb = (int32_t)verb,
					.steps = options->steps == 0 ? 1 : options->steps,
					.at = options->at,
					.level = options->level };
	if (options->ranks && np_rank_list_check(options->ranks, &err) < 0)
		(void)np_cmd_usage(&np_cmd_ctl, "--ranks: %s", err.text);
	else if (options->ranks && strlen(options->ranks) >= sizeof(ret->ranks))
		(void)np_cmd_usage(&np_cmd_ctl, "--ranks: the list is too long");
	else {
		(void)snprintf(ret->ranks, sizeof(ret->ranks), "%s",
			       options->ranks ? options->ranks : "");
		return true;
	}
	return false;
}

static int ask(const struct ctl_options *options, enum np_ctl_verb verb)
{
	struct np_ctl_request request;
	struct np_ctl_answer answer;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (np_watch_given(&options->watch) || options->every > 0 || options->msprof)
		return np_cmd_usage(&np_cmd_ctl, "%s belongs to watch",
				    np_watch_given(&options->watch)
					    ? np_watch_given(&options->watch)
				    : options->msprof ? "--msprof"
						      : "--every");
	if (!make_request(options, verb, &request))
		return NP_EXIT_USAGE;
	rc = np_ctl_ask(options->dir, &request, &answer, PATIENCE_S, &err);
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_ctl, "%s", err.text);
	if (rc < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	if (answer.failed)
		return np_report(NP_EXIT_FAILED, "%s", answer.text);
	return print_answer(answer.text) == 0 ? NP_EXIT_DONE : NP_EXIT_FAILED;
}

static int watch(const struct ctl_options *options)
{
	struct ctl_watch_order order = { .dir = options->dir,
					 .every_s = options->every,
					 .patience_s = PATIENCE_S,
					 .msprof = options->msprof,
					 .watch = &options->watch };

	if (options->every > 0 && options->steps < 0)
		return np_cmd_usage(&np_cmd_ctl, "--every needs windows that end: give --steps N");
	if (!make_request(options, NP_CTL_START, &order.request))
		return NP_EXIT_USAGE;
	return ctl_watch(&np_cmd_ctl, &order);
}

static int cmd_ctl(int argc, const char *const *argv)
{
	static const char *const verbs[] = {
		[NP_CTL_START] = "start",
		[NP_CTL_STOP] = "stop",
		[NP_CTL_STATUS] = "status",
	};
	struct ctl_options options = { .level = -1, .watch = NP_WATCH_OPTIONS_INIT };
	int status;

	if (np_cmd_options(&np_cmd_ctl, argc, argv, &options, &status)) {
		size_t verb = 0;

		while (verb < NP_COUNT(verbs) && strcmp(options.words.item[0], verbs[verb]) != 0)
			verb++;
		if (verb < NP_COUNT(verbs))
			status = ask(&options, (enum np_ctl_verb)verb);
		else if (strcmp(options.words.item[0], "watch") == 0)
			status = watch(&options);
		else
			status = np_cmd_usage(&np_cmd_ctl,
					      "'%s' is none of start, stop, status and watch",
					      options.words.item[0]);
	}
	np_opt_release(&np_cmd_ctl.options, &options);
	return status;
}
