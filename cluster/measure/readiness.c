/* SPDX-License-Identifier: Apache-2.0 */
/* What every analysis needs of a rank, and the switch that collects it. */
#include "npuprof/readiness.h"

#include "npuprof/align.h"
#include "npuprof/contents.h"
#include "npuprof/ranges.h"

/* The run that is asked. */
struct asked {
	const struct np_cluster *cluster;
	const struct np_align *align; /* NULL where operators were not matched */
};

typedef bool has(const struct asked *asked, const struct np_rank *rank, size_t index);

static bool has_exposed(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	(void)asked;
	(void)index;
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		if (rank->comm_steps.item[i].exposed == NP_UNKNOWN)
			return false;
	}
	return rank->ops.count > 0;
}

/* A few messages may be lost at the edges of captures. */
#define UNKNOWN_MOST 0.02

/* Does almost every message say to whom it went? */
static bool knows_peers(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	size_t messages = 0;
	size_t unknown = 0;

	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		const struct np_communicator *each;
		uint16_t peer;

		if (!op->p2p)
			continue;
		messages++;
		peer = asked->align ? np_align_peer(asked->align, index, i) : op->peer;
		if (peer != 0 && peer != NP_PEERS)
			continue;
		each = np_cluster_communicator(asked->cluster, rank->groups.item[op->group].hash);
		unknown += !each || each->size > 2;
	}
	return (double)unknown <= UNKNOWN_MOST * (double)messages;
}

static bool has_pipeline(const struct np_cluster *cluster)
{
	return cluster->stages.count > 1 || cluster->parallel.pp > 1;
}

static bool has_messages(const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->ops.count; i++) {
		if (rank->ops.item[i].p2p)
			return true;
	}
	return false;
}

/* Messages, and neither sizes nor names of communicators that say what for. */
bool np_readiness_misses_stages(const struct np_cluster *cluster, const struct np_rank *rank)
{
	return !has_pipeline(cluster) && !cluster->parallel.known && has_messages(rank);
}

/* Where there are stages: what ran, and to whom messages went. */
static bool has_stages(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	if (!has_pipeline(asked->cluster))
		return !np_readiness_misses_stages(asked->cluster, rank);
	return rank->activity.cells.count > 0 && knows_peers(asked, rank, index);
}

/* Every communicator of the rank was profiled on all of its members. */
static bool has_peers(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	bool found = false;

	(void)index;
	for (size_t i = 0; i < rank->ops.count; i++) {
		uint64_t hash = rank->groups.item[rank->ops.item[i].group].hash;
		const struct np_communicator *each;

		/* Operators of one communicator come in runs. */
		if (i > 0 && rank->ops.item[i].group == rank->ops.item[i - 1].group)
			continue;
		each = np_cluster_communicator(asked->cluster, hash);
		if (!each || each->observed_count < each->size)
			return false;
		found = true;
	}
	return found;
}

/* Do sub-tasks of another rank tell what this one's are missing? */
static bool others_tell(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	for (size_t i = 0; asked->align && i < rank->ops.count; i++) {
		uint32_t slot = np_align_slot(asked->align, index, i);

		if (np_align_hides_waits(asked->align, np_align_instance(asked->align, slot)))
			return false;
	}
	return asked->align != NULL;
}

/* From sub-tasks, or from the arrivals of all ranks. */
static bool has_wait(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		if (rank->comm_steps.item[i].transfer == NP_UNKNOWN)
			return has_peers(asked, rank, index) || others_tell(asked, rank, index);
	}
	return rank->ops.count > 0;
}

static bool has_place(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	const struct np_coordinates *at = &asked->cluster->coordinates[index];

	(void)rank;
	return at->tp >= 0 && at->dp >= 0 && at->pp >= 0;
}

/* Did an operator find that of another rank? */
static bool is_matched(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	for (size_t i = 0; asked->align && i < rank->ops.count; i++) {
		if (np_align_instance(asked->align, np_align_slot(asked->align, index, i))->count >
		    1)
			return true;
	}
	return !asked->align && rank->ops.count > 0;
}

/* What it did, and when, beside others. */
static bool has_verdict(const struct asked *asked, const struct np_rank *rank, size_t index)
{
	return np_rank_has(rank, NP_DATA_INTERVALS) && is_matched(asked, rank, index);
}

/* What is recorded or not is asked of npuprof/contents.h; the rest is worked out here. */
static const struct {
	const char *name;
	enum np_data data;
	has *has;            /* NULL: the data is all that it takes */
	const char *missing; /* NULL: the data is */
	const char *cure;
} analyses[NP_ANALYSIS_COUNT] = {
	[NP_ANALYSIS_STEP_TIMES] = { "step times", NP_DATA_STEP_TIMES, NULL, NULL, NULL },
	[NP_ANALYSIS_STEPS] = { "step by step", NP_DATA_STEPS, NULL, NULL, NULL },
	[NP_ANALYSIS_COMMUNICATORS] = { "communicators", NP_DATA_OPERATORS, NULL, NULL, NULL },
	[NP_ANALYSIS_EXPOSED] = { "exposed communication", NP_DATA_OPERATORS, has_exposed,
				  "no intervals of kernels beside the operators",
				  "export_type=db, or text with trace_view.json" },
	[NP_ANALYSIS_PARTITION] = { "partition of the step", NP_DATA_INTERVALS, NULL, NULL, NULL },
	[NP_ANALYSIS_WAIT] = { "wait and transfer", NP_DATA_OPERATORS, has_wait,
			       "the small tasks of operators are not there",
			       "export_type=db, or text with trace_view.json and Level1" },
	[NP_ANALYSIS_LINKS] = { "bandwidth and links", NP_DATA_SIZES, NULL, NULL, NULL },
	[NP_ANALYSIS_PIPELINE] = { "pipeline", NP_DATA_ANY, has_stages, "no intervals of kernels",
				   "export_type=db, or text with trace_view.json" },
	[NP_ANALYSIS_MATCHING] = { "who waited for whom", NP_DATA_OPERATORS, has_peers,
				   "not all ranks of its communicators were profiled",
				   "all ranks of the job profiled" },
	[NP_ANALYSIS_PLACES] = { "parallel dimensions", NP_DATA_ANY, has_place,
				 "no distributed_args and no parallel_group_info",
				 "prof.add_metadata_json('distributed_args', …), as MindSpeed does" },
	[NP_ANALYSIS_MEMORY] = { "memory", NP_DATA_MEMORY, NULL, NULL, NULL },
	[NP_ANALYSIS_FREQUENCY] = { "frequency", NP_DATA_FREQUENCY, NULL, NULL, NULL },
	[NP_ANALYSIS_HOST] = { "host gaps", NP_DATA_LAUNCHES, NULL, NULL, NULL },
	[NP_ANALYSIS_CALLS] = { "calls of the host", NP_DATA_CALLS, NULL, NULL, NULL },
	[NP_ANALYSIS_VERDICT] = { "replay and verdict", NP_DATA_OPERATORS, has_verdict,
				  "no operator was matched with one of another rank",
				  "all ranks of the job profiled, in the same steps" },
};

static bool is_ready(const struct asked *asked, enum np_answer which, const struct np_rank *rank,
		     size_t index)
{
	return np_rank_has(rank, analyses[which].data) &&
	       (!analyses[which].has || analyses[which].has(asked, rank, index));
}

static const char *missing_of(enum np_answer which)
{
	return analyses[which].missing ? analyses[which].missing
				       : np_data_missing(analyses[which].data);
}

static const char *cure_of(enum np_answer which)
{
	return analyses[which].cure ? analyses[which].cure : np_data_cure(analyses[which].data);
}

/* Does it take what is not used of files that are partial? */
static bool rests_on_files(enum np_answer which)
{
	return which != NP_ANALYSIS_STEP_TIMES && which != NP_ANALYSIS_COMMUNICATORS &&
	       which != NP_ANALYSIS_MATCHING && which != NP_ANALYSIS_PLACES;
}

/* What it is that a rank is missing, where that may be one of several things. */
static void explain(const struct asked *asked, enum np_answer which, size_t index,
		    const char **missing, const char **cure)
{
	const struct np_rank *rank = asked->cluster->run->ranks[index];

	*missing = missing_of(which);
	*cure = cure_of(which);
	if (rank->ops.count == 0 && (which == NP_ANALYSIS_EXPOSED || which == NP_ANALYSIS_WAIT ||
				     which == NP_ANALYSIS_LINKS || which == NP_ANALYSIS_MATCHING ||
				     which == NP_ANALYSIS_VERDICT)) {
		*missing = missing_of(NP_ANALYSIS_COMMUNICATORS);
		*cure = cure_of(NP_ANALYSIS_COMMUNICATORS);
	}
	if (which == NP_ANALYSIS_VERDICT && !np_rank_has(rank, NP_DATA_INTERVALS)) {
		*missing = missing_of(NP_ANALYSIS_PARTITION);
		*cure = cure_of(NP_ANALYSIS_PARTITION);
	}
	if (rests_on_files(which) && np_rank_withheld(rank)) {
		*missing = "files of the rank are partial";
		*cure = "whole files, exported again";
		return;
	}
	if (which != NP_ANALYSIS_PIPELINE)
		return;
	if (np_readiness_misses_stages(asked->cluster, rank)) {
		*missing = "ranks send messages, but nothing tells which of them are a stage";
		*cure = cure_of(NP_ANALYSIS_PLACES);
		return;
	}
	if (rank->activity.cells.count == 0 || knows_peers(asked, rank, index))
		return;
	*missing = "messages do not say to which stage they went";
	*cure = "profiler_level=Level1, or all ranks so that the ends of messages tell";
}

/*
 * What PyTorch's own profiler can supply, and what only another tool does; `missing` of a GPU
 * where it is called otherwise there.
 */
static const struct {
	enum np_answer which;
	const char *npu;
	const char *gpu;
	const char *missing;
} of_kineto[] = {
	{ NP_ANALYSIS_STEP_TIMES, "activities=[CPU, PrivateUse1]", "activities=[CPU, CUDA]", NULL },
	{ NP_ANALYSIS_COMMUNICATORS, "activities=[CPU, PrivateUse1], on a distributed job",
	  "activities=[CPU, CUDA], on a distributed job", NULL },
	{ NP_ANALYSIS_LINKS,
	  "torch_npu.profiler at Level1: PyTorch's own profiler records no links",
	  "another tool: PyTorch's profiler records no links", NULL },
	{ NP_ANALYSIS_PLACES, "process groups that the job describes as tp, pp and dp",
	  "process groups that the job describes as tp, pp and dp",
	  "distributedInfo describes no groups as tp, pp and dp" },
	{ NP_ANALYSIS_FREQUENCY,
	  "torch_npu.profiler with export_type=db: PyTorch's own profiler records none",
	  "another tool: PyTorch's profiler records none", "no frequency" },
	{ NP_ANALYSIS_HOST,
	  "torch_npu.profiler at Level1: PyTorch's own profiler records no calls of CANN",
	  "activities=[CPU, CUDA]", "no calls of CUDA" },
	{ NP_ANALYSIS_CALLS,
	  "torch_npu.profiler at Level1: PyTorch's own profiler records no calls of CANN",
	  "activities=[CPU, CUDA]", "no calls of CUDA" },
};

static void explain_kineto(const struct asked *asked, enum np_answer which, size_t index,
			   const char **missing, const char **cure)
{
	const struct np_run *run = asked->cluster->run;
	bool gpu = (run->ranks[index]->contents & NP_OF_GPU) != 0;

	if (run->sources.item[index].kind != NP_KIND_KINETO)
		return;
	for (size_t i = 0; i < NP_COUNT(of_kineto); i++) {
		if (of_kineto[i].which != which)
			continue;
		*cure = gpu ? of_kineto[i].gpu : of_kineto[i].npu;
		if (of_kineto[i].missing && (gpu || which == NP_ANALYSIS_PLACES))
			*missing = of_kineto[i].missing;
	}
}

static int measure_one(const struct asked *asked, enum np_answer which, struct np_readiness *ret,
		       struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	const struct np_run *run = asked->cluster->run;
	int64_t *without = malloc((run->sources.count + 1) * sizeof(*without));
	const char *missing = NULL;
	const char *cure = NULL;
	size_t used = 0;
	size_t count = 0;
	bool partial = false; /* who explains it */

	if (!without)
		return np_fail_nomem(err, "readiness");
	for (size_t i = 0; i < run->sources.count; i++) {
		if (!run->ranks[i])
			continue;
		used++;
		if (is_ready(asked, which, run->ranks[i], i))
			continue;
		/* What a whole file is missing was not recorded. */
		if (count == 0 || (partial && !np_rank_withheld(run->ranks[i]))) {
			explain(asked, which, i, &missing, &cure);
			explain_kineto(asked, which, i, &missing, &cure);
			partial = np_rank_withheld(run->ranks[i]) != NULL;
		}
		without[count++] = run->ranks[i]->id;
	}
	np_ranges_format(&list, without, count);
	free(without);
	*ret = (struct np_readiness){ .name = analyses[which].name,
				      .ready = count == 0 && used > 0,
				      .without = count };
	if (ret->ready)
		return NP_OK;
	/* Without any rank everything is missing. */
	ret->cure = cure ? cure : cure_of(which);
	missing = missing ? missing : missing_of(which);
	if (count < used)
		(void)snprintf(ret->missing, sizeof(ret->missing), "%s (rank%s %s)", missing,
			       count == 1 ? "" : "s", list.text);
	else
		(void)snprintf(ret->missing, sizeof(ret->missing), "%s", missing);
	return np_buf_check(&list, err);
}

int np_readiness_measure(const struct np_cluster *cluster, const struct np_align *align,
			 struct np_readiness ret[NP_ANALYSIS_COUNT], struct np_err *err)
{
	const struct asked asked = { cluster, align };
	int rc = NP_OK;

	for (int i = 0; i < NP_ANALYSIS_COUNT && rc == NP_OK; i++)
		rc = measure_one(&asked, (enum np_answer)i, &ret[i], err);
	return rc;
}
