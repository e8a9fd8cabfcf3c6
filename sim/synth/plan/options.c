/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of npuprof-synth (options.h). */
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "npuprof/text.h"
#include "plants.h"

enum options_type {
	FLAG,
	COUNT, /* a whole number of at least `minimum` */
	REAL,
	TEXT,
	CHOICE, /* one of `choices`, stored as its index */
	SEED,
	FORM_OF, /* rank:form, any number of times */
};

struct option {
	const char *section; /* printed above the option, if any */
	const char *name;
	const char *letter;
	const char *argument;
	const char *help;
	enum options_type type;
	size_t offset;
	int64_t minimum;
	int64_t maximum;
	const char *const *choices;
};

#define AT(field) offsetof(struct syn_config, field)

static const char *const level_choices[] = { "0", "1", "2", NULL };
static const char *const schema_choices[] = { "1.0", "1.2", NULL };
static const char *const engine_choices[] = { "stars", "ccu", "dpu", NULL };
static const char *const p2p_choices[] = { "sendrecv", "batch", NULL };
static const char *const grads_choices[] = { "allreduce", "scatter", NULL };

/* clang-format off */
static const struct option options[] = {
	{ .section = "Where", .name = "out", .letter = "o", .argument = "DIR", .help = "directory to write", .type = TEXT, .offset = AT(out) },
	{ .name = "force", .help = "write into a directory that is not empty", .type = FLAG, .offset = AT(force) },
	{ .name = "jobs", .letter = "j", .argument = "N", .help = "threads (default: one per processor)", .type = COUNT, .offset = AT(threads), .maximum = 1024 },
	{ .name = "quiet", .letter = "q", .help = "do not say what was written", .type = FLAG, .offset = AT(quiet) },

	{ .section = "Job", .name = "schedule", .argument = "dp|tp|pp|ep|3d", .help = "what takes the ranks the sizes leave (default dp)", .type = CHOICE, .offset = AT(schedule), .choices = syn_schedule_names },
	{ .name = "ranks", .argument = "N", .help = "ranks (default: product of the sizes, or 8)", .type = COUNT, .offset = AT(ranks), .minimum = 1, .maximum = 65536 },
	{ .name = "hosts", .argument = "H", .help = "hosts, at most 8 ranks on each (default: as few as possible)", .type = COUNT, .offset = AT(hosts), .minimum = 1, .maximum = 65536 },
	{ .name = "tp", .argument = "N", .help = "tensor-parallel size", .type = COUNT, .offset = AT(tp), .minimum = 1, .maximum = 4096 },
	{ .name = "cp", .argument = "N", .help = "context-parallel size", .type = COUNT, .offset = AT(cp), .minimum = 1, .maximum = 4096 },
	{ .name = "dp", .argument = "N", .help = "data-parallel size", .type = COUNT, .offset = AT(dp), .minimum = 1, .maximum = 65536 },
	{ .name = "pp", .argument = "N", .help = "pipeline stages", .type = COUNT, .offset = AT(pp), .minimum = 1, .maximum = 4096 },
	{ .name = "ep", .argument = "N", .help = "expert-parallel size, a divisor of dp", .type = COUNT, .offset = AT(ep), .minimum = 1, .maximum = 4096 },
	{ .name = "steps", .argument = "N", .help = "steps (default 3)", .type = COUNT, .offset = AT(steps), .minimum = 1, .maximum = 100000 },
	{ .name = "first-step", .argument = "N", .help = "id of the first step (default 10)", .type = COUNT, .offset = AT(first_step), .maximum = 1000000000 },
	{ .name = "micro-batches", .argument = "N", .help = "per step (default 1, with stages twice their number)", .type = COUNT, .offset = AT(micro_batches), .minimum = 1, .maximum = 1024 },
	{ .name = "layers", .argument = "N", .help = "of the whole model (default 8)", .type = COUNT, .offset = AT(layers), .minimum = 1, .maximum = 4096 },
	{ .name = "kernels-per-layer", .argument = "N", .help = "forward; backward has twice as many (default 12)", .type = COUNT, .offset = AT(kernels), .minimum = 2, .maximum = 1000000 },
	{ .name = "shapes", .argument = "N", .help = "that kernels of one kind in layers have, in turn (default 1)", .type = COUNT, .offset = AT(shapes), .minimum = 1, .maximum = 1000000 },
	{ .name = "buckets", .argument = "N", .help = "gradient buckets per step and rank (default 4)", .type = COUNT, .offset = AT(buckets), .minimum = 1, .maximum = 4096 },
	{ .name = "p2p", .argument = "sendrecv|batch", .help = "messages between stages (default sendrecv)", .type = CHOICE, .offset = AT(batched_p2p), .choices = p2p_choices },
	{ .name = "grads", .argument = "allreduce|scatter", .help = "how gradients are reduced (default allreduce)", .type = CHOICE, .offset = AT(shard_grads), .choices = grads_choices },
	{ .name = "size-mb", .argument = "X", .help = "choose the kernels per layer so that a rank's database, or trace, has about X MB", .type = REAL, .offset = AT(size_mb) },

	{ .section = "Chance", .name = "seed", .argument = "N", .help = "of all random draws (default 1)", .type = SEED, .offset = AT(seed) },
	{ .name = "noise", .argument = "X", .help = "scale of all noise, 0 for none (default 1)", .type = REAL, .offset = AT(noise) },

	{ .section = "Form", .name = "format", .argument = "FORM", .help = "db, text, both, msprof-db, msprof-text, mindspore-db, mindspore-text, msmonitor, msmonitor-jsonl, nsys, kineto, kineto-gpu (default db)", .type = CHOICE, .offset = AT(form), .choices = syn_form_names },
	{ .name = "format-of", .argument = "R:FORM", .help = "another form for one rank; may be given several times", .type = FORM_OF },
	{ .name = "layout", .argument = "LAYOUT", .help = "usual, flat, vllm, verl, verl-steps, windows, outputs, files, sglang, sglang-stages: how captures lie in directories (default usual)", .type = CHOICE, .offset = AT(layout), .choices = syn_layout_names },
	{ .name = "gzip", .help = "traces are compressed (.json.gz)", .type = FLAG, .offset = AT(gzip) },
	{ .name = "unclosed-trace", .help = "traces without their last bracket, as a crash leaves them", .type = FLAG, .offset = AT(unclosed_trace) },
	{ .name = "slices", .argument = "N", .help = "traces of msprof in N files", .type = COUNT, .offset = AT(slices), .minimum = 1, .maximum = 1000 },
	{ .name = "no-rank-id", .help = "msprof and Kineto do not know their rank", .type = FLAG, .offset = AT(no_rank_id) },

	{ .section = "Capture", .name = "level", .argument = "0|1|2", .help = "profiler level (default 1)", .type = CHOICE, .offset = AT(level), .choices = level_choices },
	{ .name = "schema", .argument = "1.0|1.2", .help = "generation of the databases (default 1.0)", .type = CHOICE, .offset = AT(schema), .choices = schema_choices },
	{ .name = "engine", .argument = "stars|ccu|dpu", .help = "what carries out communication: sub-tasks of databases are in COMMUNICATION_TASK_INFO, CCU or DPU_TASK (default stars)", .type = CHOICE, .offset = AT(engine), .choices = engine_choices },
	{ .name = "pmu", .help = "with TASK_PMU_INFO", .type = FLAG, .offset = AT(pmu) },
	{ .name = "memory", .help = "with the memory tables", .type = FLAG, .offset = AT(memory) },
	{ .name = "snapshot", .help = "with a snapshot of each rank's caching allocator, below memory_snapshot/", .type = FLAG, .offset = AT(snapshot) },
	{ .name = "no-analysis", .help = "without analysis.db", .type = FLAG, .offset = AT(no_analysis) },
	{ .name = "no-steps", .help = "without step marks", .type = FLAG, .offset = AT(no_steps) },
	{ .name = "omit-ranks", .argument = "LIST", .help = "ranks that are not written, such as 3,5-7", .type = TEXT, .offset = AT(omit_text) },
	{ .name = "manifest", .help = "with npuprof_manifest.json", .type = FLAG, .offset = AT(manifest) },
	{ .name = "no-instances", .help = "truth.json without the list of operators", .type = FLAG, .offset = AT(no_instances) },
};
/* clang-format on */

static int64_t *number_at(struct syn_config *config, const struct option *option)
{
	return (int64_t *)(void *)((char *)config + option->offset);
}

static int bad_value(const struct option *option, const char *value, struct np_err *err)
{
	return np_fail(err, NP_E_USAGE, "--%s takes %s, not '%s'", option->name, option->argument,
		       value);
}

static int set_count(struct syn_config *config, const struct option *option, const char *value,
		     struct np_err *err)
{
	int64_t count;

	if (!np_text_to_int(value, strlen(value), &count))
		return bad_value(option, value, err);
	if (count < option->minimum || count > option->maximum)
		return np_fail(err, NP_E_USAGE, "--%s %s is not between %" PRId64 " and %" PRId64,
			       option->name, value, option->minimum, option->maximum);
	*number_at(config, option) = count;
	return NP_OK;
}

static int set_real(struct syn_config *config, const struct option *option, const char *value,
		    struct np_err *err)
{
	char *end;
	double number;

	errno = 0;
	number = strtod(value, &end);
	if (end == value || *end || errno || !isfinite(number) || number < 0.0 || number > 1e6)
		return bad_value(option, value, err);
	*(double *)(void *)((char *)config + option->offset) = number;
	return NP_OK;
}

static int set_choice(struct syn_config *config, const struct option *option, const char *value,
		      struct np_err *err)
{
	for (int64_t i = 0; option->choices[i]; i++) {
		if (strcmp(value, option->choices[i]) != 0)
			continue;
		*number_at(config, option) = i;
		return NP_OK;
	}
	return bad_value(option, value, err);
}

static int set_form_of(struct syn_config *config, const struct option *option, const char *value,
		       struct np_err *err)
{
	size_t length = strcspn(value, ":");
	struct syn_form_choice *choice;
	int64_t rank;
	int64_t form = 0;

	if (!value[length] || !np_text_to_int(value, length, &rank) || rank < 0)
		return bad_value(option, value, err);
	while (syn_form_names[form] && strcmp(syn_form_names[form], value + length + 1) != 0)
		form++;
	if (!syn_form_names[form])
		return bad_value(option, value, err);
	choice = np_vec_add(&config->form_choices, err);
	if (!choice)
		return NP_E_NOMEM;
	*choice = (struct syn_form_choice){ rank, form };
	return NP_OK;
}

static int set_option(struct syn_config *config, const struct option *option, const char *value,
		      struct np_err *err)
{
	char *base = (char *)config + option->offset;
	int64_t seed;

	assert(value || option->type == FLAG);
	switch (option->type) {
	case FLAG:
		*(bool *)(void *)base = true;
		return NP_OK;
	case COUNT:
		return set_count(config, option, value, err);
	case REAL:
		return set_real(config, option, value, err);
	case CHOICE:
		return set_choice(config, option, value, err);
	case SEED:
		if (!np_text_to_int(value, strlen(value), &seed) || seed < 0)
			return bad_value(option, value, err);
		config->seed = (uint64_t)seed;
		return NP_OK;
	case FORM_OF:
		return set_form_of(config, option, value, err);
	case TEXT:
		break;
	}
	*(const char **)(void *)base = value;
	return NP_OK;
}

static bool is_name(const char *name, const char *text, size_t length)
{
	return name && strlen(name) == length && strncmp(name, text, length) == 0;
}

static const struct option *find_option(const char *text, size_t length)
{
	for (size_t i = 0; i < NP_COUNT(options); i++) {
		if (is_name(options[i].name, text, length))
			return &options[i];
	}
	return NULL;
}

static const struct syn_plant_kind *find_plant(const char *text, size_t length)
{
	for (size_t i = 0; i < syn_plant_kind_count; i++) {
		if (is_name(syn_plant_kinds[i].name, text, length))
			return &syn_plant_kinds[i];
	}
	return NULL;
}

static int unknown_option(const char *text, size_t length, struct np_err *err)
{
	const char *names[NP_COUNT(options) + 64];
	size_t count = 0;
	char word[64];
	const char *close;

	for (size_t i = 0; i < NP_COUNT(options); i++)
		names[count++] = options[i].name;
	for (size_t i = 0; i < syn_plant_kind_count && count < NP_COUNT(names); i++)
		names[count++] = syn_plant_kinds[i].name;
	(void)snprintf(word, sizeof(word), "%.*s", (int)length, text);
	close = np_text_closest(word, names, count);
	if (close)
		return np_fail(err, NP_E_USAGE, "unknown option '--%s'; did you mean '--%s'?", word,
			       close);
	return np_fail(err, NP_E_USAGE, "unknown option '--%s'; -h lists them", word);
}

/* The arguments as they are taken one by one. */
struct options_reader {
	int argc;
	char **argv;
	int at;
};

/* The value of an option: behind '=' or the next argument. */
static int take_value(struct options_reader *reader, const char *name, const char *inline_value,
		      const char **ret, struct np_err *err)
{
	if (inline_value) {
		*ret = inline_value;
		return NP_OK;
	}
	if (reader->at >= reader->argc)
		return np_fail(err, NP_E_USAGE, "--%s needs a value", name);
	*ret = reader->argv[reader->at++];
	return NP_OK;
}

static int parse_long(struct options_reader *reader, const char *text, struct syn_config *config,
		      struct np_err *err)
{
	size_t length = strcspn(text, "=");
	const char *value = text[length] ? text + length + 1 : NULL;
	const struct option *option = find_option(text, length);
	const struct syn_plant_kind *plant = find_plant(text, length);
	int rc;

	if (!option && !plant)
		return unknown_option(text, length, err);
	if (option && option->type == FLAG) {
		if (value)
			return np_fail(err, NP_E_USAGE, "--%s takes no value", option->name);
		return set_option(config, option, NULL, err);
	}
	rc = take_value(reader, option ? option->name : plant->name, value, &value, err);
	if (rc < 0)
		return rc;
	return option ? set_option(config, option, value, err)
		      : syn_plants_add(config, plant, value, err);
}

static int parse_short(struct options_reader *reader, const char *text, struct syn_config *config,
		       struct np_err *err)
{
	for (size_t i = 0; i < NP_COUNT(options); i++) {
		const struct option *option = &options[i];
		const char *value = text[1] ? text + 1 : NULL;
		int rc = NP_OK;

		if (!is_name(option->letter, text, 1))
			continue;
		if (option->type != FLAG)
			rc = take_value(reader, option->name, value, &value, err);
		else if (value)
			break;
		return rc == NP_OK ? set_option(config, option, value, err) : rc;
	}
	return np_fail(err, NP_E_USAGE, "unknown option '-%s'; -h lists them", text);
}

int syn_options_parse(int argc, char **argv, struct syn_config *config, enum syn_action *ret,
		      struct np_err *err)
{
	struct options_reader reader = { argc, argv, 1 };

	*ret = SYN_ACT_RUN;
	while (reader.at < argc) {
		const char *text = argv[reader.at++];
		int rc;

		if (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0) {
			*ret = SYN_ACT_HELP;
			return NP_OK;
		}
		if (strcmp(text, "-V") == 0 || strcmp(text, "--version") == 0) {
			*ret = SYN_ACT_VERSION;
			return NP_OK;
		}
		if (strncmp(text, "--", 2) == 0)
			rc = parse_long(&reader, text + 2, config, err);
		else if (text[0] == '-' && text[1])
			rc = parse_short(&reader, text + 1, config, err);
		else if (!config->out)
			rc = set_option(config, find_option("out", 3), text, err);
		else
			rc = np_fail(err, NP_E_USAGE, "unexpected argument '%s'", text);
		if (rc < 0)
			return rc;
	}
	if (!config->out)
		return np_fail(err, NP_E_USAGE, "no output directory; use -o DIR");
	return NP_OK;
}

static void print_line(const char *letter, const char *name, const char *argument, const char *help)
{
	char left[64];

	(void)snprintf(left, sizeof(left), "%s%s%s--%s%s%s", letter ? "-" : "",
		       letter ? letter : "", letter ? ", " : "", name, argument ? " " : "",
		       argument ? argument : "");
	(void)printf("  %-38s %s\n", left, help);
}

void syn_options_help(void)
{
	(void)printf(
		"usage: npuprof-synth -o DIR [options]\n\n"
		"Write the profiles of a simulated Ascend cluster, and what is true of them.\n");
	for (size_t i = 0; i < NP_COUNT(options); i++) {
		if (options[i].section)
			(void)printf("\n%s\n", options[i].section);
		print_line(options[i].letter, options[i].name, options[i].argument,
			   options[i].help);
	}
	print_line("h", "help", NULL, "print this");
	print_line("V", "version", NULL, "print the version");
	(void)printf("\nPlanted faults (each may be given several times)\n");
	for (size_t i = 0; i < syn_plant_kind_count; i++)
		print_line(NULL, syn_plant_kinds[i].name, syn_plant_kinds[i].syntax,
			   syn_plant_kinds[i].help);
}
