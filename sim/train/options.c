/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of the training job. */
#include <getopt.h>

#include "npuprof/text.h"
#include "train.h"

enum {
	OPT_STEPS = 256,
	OPT_LAYERS,
	OPT_HIDDEN,
	OPT_TP,
	OPT_PP,
	OPT_DP,
	OPT_MICRO,
	OPT_BUCKETS,
	OPT_DATA,
	OPT_RANKS,
	OPT_CRASH_RANK,
	OPT_CRASH_STEP,
	OPT_SELF,
	OPT_SELF_MASK,
	OPT_UNTIL,
	OPT_MARK,
	OPT_MOE,
	OPT_MPI,
	OPT_TORCH,
	OPT_NO_FINALIZE,
};

static const struct option longs[] = {
	{ "steps", required_argument, NULL, OPT_STEPS },
	{ "layers", required_argument, NULL, OPT_LAYERS },
	{ "hidden", required_argument, NULL, OPT_HIDDEN },
	{ "tp", required_argument, NULL, OPT_TP },
	{ "pp", required_argument, NULL, OPT_PP },
	{ "dp", required_argument, NULL, OPT_DP },
	{ "micro-batches", required_argument, NULL, OPT_MICRO },
	{ "grad-accum", required_argument, NULL, OPT_MICRO },
	{ "buckets", required_argument, NULL, OPT_BUCKETS },
	{ "data-ms", required_argument, NULL, OPT_DATA },
	{ "ranks", required_argument, NULL, OPT_RANKS },
	{ "crash-rank", required_argument, NULL, OPT_CRASH_RANK },
	{ "crash-step", required_argument, NULL, OPT_CRASH_STEP },
	{ "self-profile", required_argument, NULL, OPT_SELF },
	{ "self-mask", required_argument, NULL, OPT_SELF_MASK },
	{ "until", required_argument, NULL, OPT_UNTIL },
	{ "mark", required_argument, NULL, OPT_MARK },
	{ "moe", no_argument, NULL, OPT_MOE },
	{ "mpi", no_argument, NULL, OPT_MPI },
	{ "torch", no_argument, NULL, OPT_TORCH },
	{ "no-finalize", no_argument, NULL, OPT_NO_FINALIZE },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"Usage: npu-train-demo [OPTION]...\n"
	"A training job on simulated NPUs: it launches kernels and collectives, and computes nothing.\n"
	"One process is one rank: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or mpirun.\n"
	"\n"
	"      --ranks N           start N ranks here\n"
	"      --steps N           steps to train (10)\n"
	"      --until FILE        fewer if FILE comes into being: one step more, and FILE.last has its number\n"
	"      --layers N          layers of the model (8)\n"
	"      --hidden N          its width (1024)\n"
	"      --tp N, --pp N      tensor and pipeline parallel size (1)\n"
	"      --dp N              data parallel size (what the other two leave)\n"
	"      --micro-batches N, --grad-accum N\n"
	"                          micro-batches per step (1, or two per pipeline stage)\n"
	"      --buckets N         gradient buckets per step (4)\n"
	"      --moe               exchange tokens between experts in every layer\n"
	"      --data-ms N         time to load a batch (2)\n"
	"      --mark SOURCE       tell steps by npuprof (npuprof_step), mstx or none (npuprof)\n"
	"      --mpi               call MPI_Init, as an MPI program does\n"
	"      --torch             behave as torch_npu does with PROF_CONFIG_PATH\n"
	"      --self-profile DIR  profile all steps but the first through aclprof*, into DIR\n"
	"      --self-mask N       what to record then (39, which is Level1)\n"
	"      --crash-rank R      this rank aborts …\n"
	"      --crash-step S      … at the beginning of this step (3)\n"
	"      --no-finalize       leave without aclFinalize and the like\n"
	"  -q, --quiet             no progress\n"
	"  -h, --help              this text\n"
	"\n"
	"NPUSIM_KILL_AT_STEP=R:S kills rank R with SIGKILL at step S. See sim/README.md for all NPUSIM_ variables.\n";

/* Where a numeric option goes, and its smallest value. */
static int64_t *number_of(struct train_options *o, int option, int64_t *min)
{
	*min = 1;
	switch (option) {
	case OPT_STEPS:
		return &o->steps;
	case OPT_LAYERS:
		return &o->layers;
	case OPT_HIDDEN:
		return &o->hidden;
	case OPT_TP:
		return &o->tp;
	case OPT_PP:
		return &o->pp;
	case OPT_DP:
		return &o->dp;
	case OPT_MICRO:
		return &o->micro_batches;
	case OPT_BUCKETS:
		return &o->buckets;
	case OPT_RANKS:
		return &o->ranks;
	default:
		break;
	}
	*min = 0;
	switch (option) {
	case OPT_DATA:
		return &o->data_ms;
	case OPT_CRASH_RANK:
		return &o->crash_rank;
	case OPT_CRASH_STEP:
		return &o->crash_step;
	case OPT_SELF_MASK:
		return &o->self_mask;
	default:
		return NULL;
	}
}

static bool take_number(struct train_options *options, int option)
{
	int64_t min;
	int64_t *number = number_of(options, option, &min);
	char *end;
	long long value = strtoll(optarg, &end, 0);

	if (!number || *end || end == optarg || value < min || value > 1000000000) {
		(void)fprintf(stderr, "npu-train-demo: '%s' is no number for this option\n",
			      optarg);
		return false;
	}
	*number = value;
	return true;
}

static bool take_mark(struct train_options *options)
{
	static const char *const names[] = {
		[MARK_NPUPROF] = "npuprof",
		[MARK_MSTX] = "mstx",
		[MARK_NONE] = "none",
	};

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (strcmp(optarg, names[i]) == 0) {
			options->mark = (enum train_mark)i;
			return true;
		}
	}
	(void)fprintf(stderr, "npu-train-demo: --mark takes mstx, npuprof or none, not '%s'\n",
		      optarg);
	return false;
}

static bool take(struct train_options *options, int option)
{
	switch (option) {
	case OPT_SELF:
		options->self_profile = optarg;
		return true;
	case OPT_UNTIL:
		options->until = optarg;
		return true;
	case OPT_MARK:
		return take_mark(options);
	case OPT_MOE:
		options->moe = true;
		return true;
	case OPT_MPI:
		options->mpi = true;
		return true;
	case OPT_TORCH:
		options->torch = true;
		return true;
	case OPT_NO_FINALIZE:
		options->no_finalize = true;
		return true;
	case 'q':
		options->quiet = true;
		return true;
	case '?':
		return false;
	default:
		return take_number(options, option);
	}
}

int train_options_parse(struct train_options *options, int argc, char **argv)
{
	int option;

	*options = (struct train_options){ .steps = 10,
					   .layers = 8,
					   .hidden = 1024,
					   .tp = 1,
					   .pp = 1,
					   .buckets = 4,
					   .data_ms = 2,
					   .crash_rank = -1,
					   .crash_step = 3,
					   .self_mask = 0x27 };
	while ((option = getopt_long(argc, argv, "qh", longs, NULL)) != -1) {
		if (option == 'h') {
			(void)fputs(usage, stdout);
			return 1;
		}
		if (!take(options, option))
			return 3;
	}
	if (optind != argc) {
		(void)fprintf(stderr, "npu-train-demo: unexpected argument '%s'\n", argv[optind]);
		return 3;
	}
	if (options->layers % options->pp != 0) {
		(void)fprintf(stderr,
			      "npu-train-demo: %lld layers cannot be divided over %lld stages\n",
			      (long long)options->layers, (long long)options->pp);
		return 3;
	}
	if (options->micro_batches == 0)
		options->micro_batches = options->pp > 1 ? 2 * options->pp : 1;
	return 0;
}
