/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command/common.h"
#include "mode.h"
#include "options.h"

#define AT(member) offsetof(struct np_collect_options, member)

static const struct np_opt what_rows[] = {
	NP_OPT_RANKS(
		AT(ranks),
		"profile these ranks: numbers and ranges separated by commas or spaces, all or -1, "
		"every:K, node-leaders",
		"0"),
	{
		.name = "step-start",
		.kind = NP_OPT_INTEGER,
		.offset = AT(step_start),
		.value = "N",
		.help = "first step that is profiled",
		.preset_words = "0",
		.high = NP_PLAN_LAST_STEP,
	},
	{
		.name = "step-end",
		.kind = NP_OPT_INTEGER,
		.offset = AT(step_end),
		.value = "N",
		.help = "first step that is no longer profiled; -1 for all to the end",
		.preset_words = "-1",
		.low = -1,
		.high = NP_PLAN_LAST_STEP,
	},
	NP_OPT_LEVEL(AT(level), "how much is recorded", "level1"),
	{
		.name = "aic-metrics",
		.kind = NP_OPT_CHOICE,
		.offset = AT(aic_metrics),
		.value = "NAME",
		.help = "counters of the AI cores",
		.choices = np_plan_metrics,
		.preset_words = "PipeUtilization",
	},
	{
		.name = "with-cpu",
		.kind = NP_OPT_FLAG,
		.offset = AT(with_cpu),
		.help = "record the framework's operators (needs the framework's profiler)",
	},
	{
		.name = "with-stack",
		.kind = NP_OPT_FLAG,
		.offset = AT(with_stack),
		.help = "record call stacks (needs the framework's profiler)",
	},
	{
		.name = "with-memory",
		.kind = NP_OPT_FLAG,
		.offset = AT(with_memory),
		.help = "record memory",
	},
	{
		.name = "record-shapes",
		.kind = NP_OPT_FLAG,
		.offset = AT(record_shapes),
		.help = "record shapes of operators at level0 too",
	},
	{
		.name = "preset",
		.kind = NP_OPT_CHOICE,
		.offset = AT(preset),
		.value = "NAME",
		.help = "level and switches for a purpose; single options go before it",
		.choices = np_plan_presets,
	},
	{
		.name = "config",
		.kind = NP_OPT_TEXT,
		.offset = AT(config),
		.value = "FILE",
		.help = "settings from a JSON file: ours, a tools.json of MindSpeed-MM or a "
			"profiler_config.json of torch_npu; options go before it",
	},
	{
		.name = "profile",
		.kind = NP_OPT_FLAG,
		.offset = AT(profile),
		.help = "profile even if the file of --config says enable: false",
	},
};

static const struct np_opt window_rows[] = {
	{
		.name = "dynamic",
		.kind = NP_OPT_FLAG,
		.offset = AT(dynamic),
		.help = "profile nothing until 'npuprof ctl start' or SIGUSR2 asks for a window",
	},
	{
		.name = "window-steps",
		.kind = NP_OPT_INTEGER,
		.offset = AT(window_steps),
		.value = "N",
		.help = "steps of a window that SIGUSR2 asks for",
		.preset_words = "2",
		.low = 1,
		.high = NP_PLAN_LAST_STEP,
	},
	{
		.name = "step-source",
		.kind = NP_OPT_CHOICE,
		.offset = AT(step_source),
		.value = "SOURCE",
		.help = "what tells that a step begins",
		.choices = np_plan_sources,
		.preset_words = "auto",
	},
	{
		.name = "step-mstx",
		.kind = NP_OPT_TEXT,
		.offset = AT(step_mstx),
		.value = "RE",
		.help = "mstx messages that begin a step; group 1 is its number",
	},
	{
		.name = "delay",
		.kind = NP_OPT_INTEGER,
		.offset = AT(delay),
		.value = "SECONDS",
		.help = "with --step-source time: begin so long after the first use of the NPU",
		.preset_words = "0",
		.high = 1000000,
	},
	{
		.name = "duration",
		.kind = NP_OPT_INTEGER,
		.offset = AT(duration),
		.value = "SECONDS",
		.help = "with --step-source time: end so long after that",
		.preset_words = "to the end",
		.low = -1,
		.high = 1000000,
	},
	{
		.name = "max-size",
		.kind = NP_OPT_INTEGER,
		.offset = AT(max_size),
		.value = "MB",
		.help = "end the window when the raw data of all ranks together is larger",
		.preset_words = "0: any size",
		.high = 1000000000,
	},
};

static const struct np_opt output_rows[] = {
	{
		.letter = 'o',
		.name = "save-path",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = AT(save_path),
		.value = "DIR",
		.help = "make the directory of the job below DIR",
		.preset_words = "./profile",
	},
	{
		.name = "job",
		.kind = NP_OPT_TEXT,
		.offset = AT(job),
		.value = "NAME",
		.help = "name of the job and of its directory",
		.preset_words = "made from time and process",
	},
	{
		.name = "export",
		.kind = NP_OPT_CHOICE,
		.offset = AT(export),
		.value = "WHEN",
		.help = "turn the raw data into something readable",
		.choices = np_plan_exports,
		.preset_words = "none",
	},
	{
		.name = "export-type",
		.kind = NP_OPT_CHOICE,
		.offset = AT(export_type),
		.value = "TYPE",
		.help = "what the export writes",
		.choices = np_plan_export_types,
		.preset_words = "db",
	},
	{
		.name = "data-simplification",
		.kind = NP_OPT_FLAG,
		.offset = AT(data_simplification),
		.help = "delete intermediate files after the export",
	},
};

static const struct np_opt running_rows[] = {
	{
		.name = "grace",
		.kind = NP_OPT_INTEGER,
		.offset = AT(grace),
		.value = "SECONDS",
		.help = "time an application has to end by itself when the job fails",
		.preset_words = "10",
		.high = 3600,
	},
	{
		.name = "force-env",
		.kind = NP_OPT_FLAG,
		.offset = AT(force_env),
		.help = "replace RANK, WORLD_SIZE, MASTER_ADDR … where they are set already",
	},
	{
		.name = "dry-run",
		.kind = NP_OPT_FLAG,
		.offset = AT(dry_run),
		.help = "check everything, print the plan and start nothing",
	},
	{
		.letter = 'q',
		.name = "quiet",
		.kind = NP_OPT_FLAG,
		.offset = AT(quiet),
		.help = "say nothing on standard error but failures",
	},
};

static const struct np_opt where_rows[] = {
	{
		.name = "backend",
		.kind = NP_OPT_CHOICE,
		.offset = AT(backend),
		.value = "NAME",
		.help = "who profiles: our library in the application (acl), torch_npu's "
			"dynamic_profile (torch), or msprof around it",
		.choices = np_plan_backends,
		.preset_words = "auto",
	},
	{
		.name = "pid",
		.kind = NP_OPT_TEXT,
		.offset = AT(pid),
		.value = "LIST",
		.help = "start no application: attach msprof, on request, to these processes, which "
			"were started with PROFILING_MODE=dynamic",
	},
	{
		.name = "coord",
		.kind = NP_OPT_CHOICE,
		.offset = AT(coord),
		.value = "MODE",
		.help = "how the launchers talk to each other",
		.choices = np_mode_choices,
		.preset_words = "auto",
	},
	{
		.name = "rdzv",
		.kind = NP_OPT_TEXT,
		.offset = AT(rdzv),
		.value = "HOST:PORT",
		.help = "without mpirun, one launcher for each node: where node 0 is reached",
	},
	{
		.name = "nnodes",
		.kind = NP_OPT_INTEGER,
		.offset = AT(nnodes),
		.value = "N",
		.help = "number of nodes with --rdzv",
		.preset_words = "what Slurm says",
		.low = 1,
		.high = 100000,
	},
	{
		.name = "node-rank",
		.kind = NP_OPT_INTEGER,
		.offset = AT(node_rank),
		.value = "K",
		.help = "number of this node with --rdzv, from 0",
		.preset_words = "what Slurm says",
		.high = 99999,
	},
	{
		.name = "rdzv-timeout",
		.kind = NP_OPT_INTEGER,
		.offset = AT(rdzv_timeout),
		.value = "SECONDS",
		.help = "how long launchers wait for each other",
		.preset_words = "60; the stage with MPI: 20",
		.low = 1,
		.high = 86400,
	},
};

const struct np_opt_group np_collect_groups[NP_COLLECT_GROUPS] = {
	{ "What", what_rows, NP_COUNT(what_rows), 0 },
	{ "Steps and windows", window_rows, NP_COUNT(window_rows), 0 },
	{ "Who and where", where_rows, NP_COUNT(where_rows), 0 },
	{ "Output", output_rows, NP_COUNT(output_rows), 0 },
	{ "Running", running_rows, NP_COUNT(running_rows), 0 },
	NP_GROUP_GENERAL,
};
