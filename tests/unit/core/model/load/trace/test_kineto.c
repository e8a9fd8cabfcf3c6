/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank is made of that was read from a trace of PyTorch's own profiler. */
#include "np_load_fixture.h"

#include "core/model/vendor/kineto.h"

/* Names of keys are double quoted in the file; here, single. */
static void write_trace(const char *name, const char *head, const char *events)
{
	char text[16384];
	int length = snprintf(text, sizeof(text), "{%s'traceEvents': [%s]}", head, events);

	assert_in_range(length, 1, sizeof(text) - 1);
	for (int i = 0; i < length; i++) {
		if (text[i] == '\'')
			text[i] = '"';
	}
	write_text(below("%s", name), text);
}

/* A job of four ranks, this the second; its groups are the job and the pair {1, 3}. */
#define JOB(backend) \
	"'schemaVersion': 1, 'distributedInfo': {'backend': '" backend "', 'rank': 1, " \
	"'world_size': 4, 'pg_config': [{'pg_name': '0', 'pg_desc': 'default_pg', 'ranks': " \
	"[0, 1, 2, 3]}, {'pg_name': '2', 'pg_desc': 'PIPELINE_MODEL_PARALLEL_GROUP', 'ranks': " \
	"[1, 3]}]}, 'baseTimeNanoseconds': 1000000000000, "

#define STEP \
	"{'ph':'X','cat':'user_annotation','name':'ProfilerStep#7','pid':9,'tid':9,'ts':0,'dur':900},"
#define CALL(at, correlation, external) \
	"{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','pid':9,'tid':9,'ts':" at \
	",'dur':5,'args':{'External id':" external ",'correlation':" correlation "}},"
#define KERNEL(name, at, length, args) \
	"{'ph':'X','cat':'kernel','name':'" name "','pid':0,'tid':7,'ts':" at ",'dur':" length \
	",'args':{" args "'device':0,'stream':7}}"

static const struct np_comm_op *only_op(const struct np_run *run)
{
	const struct np_rank *rank = np_run_rank(run, 1);

	assert_non_null(rank);
	assert_int_equal(rank->ops.count, 1);
	return &rank->ops.item[0];
}

static void check_all_reduce(const struct np_run *run)
{
	const struct np_rank *rank = np_run_rank(run, 1);
	const struct np_comm_op *op = only_op(run);
	const struct np_group *group = &rank->groups.item[op->group];

	assert_string_equal(np_run_text(run, op->type), "hcom_allReduce_");
	assert_int_equal(op->bytes, 2048); /* 1024 of bf16 */
	assert_string_equal(np_run_text(run, group->pg_name), "default_pg");
	assert_int_equal(group->member_count, 4);
	assert_int_equal(group->group_rank, 1);
	/* 1000 s, and 100 µs behind it. */
	assert_int_equal(op->start, INT64_C(1000000100000));
	assert_int_equal(op->end - op->start, 50250);
	assert_true(rank->contents & NP_OF_GPU);
	assert_int_equal(rank->parallel.world, 4);
}

#define ARGUMENTS \
	"'Collective name':'allreduce','In msg nelems':1024,'Out msg nelems':1024,'Group size':4," \
	"'dtype':'BFloat16','Process Group Name':'0',"

static void a_kernel_of_nccl_has_the_arguments_of_its_collective(void **state)
{
	(void)state;
	write_trace("a.pt.trace.json", JOB("nccl"),
		    STEP CALL("10", "5", "77")
			    KERNEL("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "100", "50.25",
				   ARGUMENTS "'correlation':5,"));
	{
		with_run *run = load();

		check_all_reduce(run);
	}
}

static void older_ones_have_them_on_the_host_and_are_joined_by_the_external_id(void **state)
{
	(void)state;
	write_trace(
		"a.pt.trace.json", JOB("nccl"),
		STEP KERNEL(
			"ncclKernel_AllReduce_RING_LL_Sum_half(x)", "100", "50.25",
			"'External id':77,'correlation':5,") "," CALL("10", "5",
								      "77") "{'ph':'X','cat':'cpu_op','name':'record_param_comms','pid':9,'tid':9,'ts':8,"
									    "'dur':1,'args':{" ARGUMENTS
									    "'External id':77}}");
	{
		with_run *run = load();

		check_all_reduce(run);
	}
}

static void or_by_the_call_that_launched_them(void **state)
{
	(void)state;
	write_trace(
		"a.pt.trace.json", JOB("nccl"),
		STEP KERNEL(
			"ncclKernel_AllReduce_RING_LL_Sum_half(x)", "100", "50.25",
			"'correlation':5,") "," CALL("10", "5",
						     "77") "{'ph':'X','cat':'cpu_op','name':'record_param_comms','pid':9,'tid':9,'ts':8,"
							   "'dur':1,'args':{" ARGUMENTS
							   "'External id':77}}");
	{
		with_run *run = load();

		check_all_reduce(run);
	}
}

static void a_message_knows_its_other_end(void **state)
{
	(void)state;
	write_trace("a.pt.trace.json", JOB("nccl"),
		    STEP CALL("10", "5", "77")
			    KERNEL("ncclDevKernel_SendRecv(x)", "100", "50",
				   "'Collective name':'recv','In msg nelems':0,'Out msg nelems':10,"
				   "'Group size':2,'dtype':'Float','Process Group Name':'2',"
				   "'Src Rank':3,'Dst Rank':1,'correlation':5,"));
	{
		with_run *run = load();
		const struct np_comm_op *op = only_op(run);

		assert_string_equal(np_run_text(run, op->type), "hcom_receive_");
		assert_true(op->p2p);
		assert_int_equal(op->bytes, 40);
		assert_int_equal(op->peer, 2); /* local rank 1 of {1, 3} */
		assert_string_equal(
			np_run_text(run, np_run_rank(run, 1)->groups.item[op->group].pg_name),
			"pp");
	}
}

static void a_list_of_ranks_that_was_cut_is_none(void **state)
{
	(void)state;
	write_trace("rank1.json", "'schemaVersion': 1, ",
		    STEP CALL("10", "5", "77")
			    KERNEL("ncclDevKernel_AllReduce(x)", "100", "50",
				   "'Collective name':'allreduce','Group size':64,'dtype':'?',"
				   "'Process Group Name':'4','Process Group Ranks':'[0, 1, ...]',"
				   "'Process Group Description':'undefined','correlation':5,"));
	{
		with_run *run = load();
		const struct np_comm_op *op = only_op(run);
		const struct np_group *group = &np_run_rank(run, 1)->groups.item[op->group];

		assert_null(group->members);
		assert_int_equal(group->pg_name, NP_STR_NONE);
		assert_int_equal(op->bytes, NP_UNKNOWN);
	}
}

/*
 * Of the NPU: kernels at 100-150 and, of the same operator, at 950-990, behind the host's
 * step; the arrows stand elsewhere in the file. A collective 960-1000 that nothing launched.
 */
static void arrows_lead_to_the_kernels_of_an_npu(void **state)
{
	(void)state;
	write_trace(
		"a.json.gz.json", JOB("hccl"),
		"{'ph':'f','cat':'ac2g','name':'ac2g','id':3,'pid':0,'tid':2,'ts':950,'bp':'e'},"
		"{'ph':'X','cat':'kernel','name':'aclnnMatmul_MatMulCommon_MatMulV2','pid':0,"
		"'tid':2,'ts':950,'dur':40,'args':{'type':'AI_CORE','streamId':2}},"
		"{'ph':'X','cat':'kernel','name':'aclnnMatmul_MatMulCommon_MatMulV2','pid':0,"
		"'tid':2,'ts':100,'dur':50,'args':{'type':'AI_CORE','streamId':2}},"
		"{'ph':'X','cat':'collective_comm','name':'hcom_allReduce__123_0_1','pid':0,"
		"'tid':5,'ts':960,'dur':40,'args':{'External id':1073741824,'commName':'net_0',"
		"'streamId':5}}," STEP
		"{'ph':'f','cat':'ac2g','name':'ac2g','id':3,'pid':0,'tid':2,'ts':100,'bp':'e'},"
		"{'ph':'X','cat':'cpu_op','name':'aten::mm','pid':9,'tid':9,'ts':20,'dur':30,"
		"'args':{'External id':3}}");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 1);
		const struct np_step_time *time = time_of(run, rank, "7", 0);
		const struct np_comm_op *op = only_op(run);

		assert_false(rank->contents & NP_OF_GPU);
		assert_int_equal(time->computing, 90000);
		assert_int_equal(time->communication_not_overlapped, 10000);
		assert_int_equal(op->step, 0);
		assert_string_equal(np_run_text(run, op->type), "hcom_allReduce_");
		assert_string_equal(np_run_text(run, rank->groups.item[op->group].name), "net_0");
		assert_int_equal(rank->kernels.count, 1);
		assert_string_equal(np_run_text(run, rank->kernels.item[0].name), "MatMulV2");
		assert_string_equal(np_run_text(run, rank->kernels.item[0].kind), "AI_CORE");
		assert_int_equal(rank->kernels.item[0].total, 90000);
	}
}

static void categories_of_older_versions_are_known(void **state)
{
	static const struct {
		const char *category;
		enum kineto_kind kind;
	} known[] = {
		{ "Kernel", KINETO_KERNEL },
		{ "Runtime", KINETO_CALL },
		{ "Operator", KINETO_OPERATOR },
		{ "Memcpy", KINETO_COPY },
		{ "gpu_user_annotation", KINETO_OTHER },
		{ "", KINETO_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(known); i++)
		assert_int_equal(kineto_kind_of((struct np_slice){ known[i].category,
								   strlen(known[i].category) }),
				 known[i].kind);
}

static const char *operator_of(const char *name)
{
	return kineto_operator((struct np_slice){ name, strlen(name) });
}

static void collectives_have_the_names_of_hccl(void **state)
{
	(void)state;
	assert_string_equal(operator_of("_allgather_base"), "hcom_allGather_");
	assert_string_equal(operator_of("_reduce_scatter_base"), "hcom_reduceScatter_");
	assert_string_equal(operator_of("all_to_allv"), "hcom_alltoallv_");
	assert_string_equal(operator_of("void vllm::cross_device_reduce_1stage<x>"),
			    "hcom_allReduce_");
	assert_string_equal(operator_of("ncclDevKernel_SendRecv(x)"), "hcom_batchSendRecv_");
	assert_null(operator_of("ncclDevKernel_Generic_1(x)"));
}

/* Members of the wrong type, times that cannot be, ids that are names: nothing breaks. */
static void values_that_cannot_be_are_passed_over(void **state)
{
	(void)state;
	write_trace(
		"rank1.json", "'schemaVersion': 1, 'distributedInfo': [7], ",
		STEP CALL("10", "5", "77") KERNEL("gemm", "100", "50", "'correlation':5,") "," KERNEL(
			"gemm", "'x'", "50",
			"") "," KERNEL("gemm", "100", "-3",
				       "") "," KERNEL("gemm", "9e300", "1",
						      "") ","
							  "{'ph':'X','cat':'kernel','name':7,'pid':[],'tid':{},'ts':200,'dur':1,'args':3},"
							  "{'ph':'X','cat':'kernel','name':'ncclX','ts':300,'dur':1,'args':{"
							  "'Process Group Ranks':'[-1, 0]','Group size':'many','Collective name':{}}},"
							  "{'ph':'f','cat':'ac2g','id':'x','ts':1}, 5, null");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 1);

		/* One of them names no device: it runs where the others do. */
		assert_int_equal(time_of(run, rank, "7", 0)->computing, 51000);
		assert_int_equal(rank->ops.count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(a_kernel_of_nccl_has_the_arguments_of_its_collective),
		with_fixture(older_ones_have_them_on_the_host_and_are_joined_by_the_external_id),
		with_fixture(or_by_the_call_that_launched_them),
		with_fixture(a_message_knows_its_other_end),
		with_fixture(a_list_of_ranks_that_was_cut_is_none),
		with_fixture(arrows_lead_to_the_kernels_of_an_npu),
		with_fixture(values_that_cannot_be_are_passed_over),
		cmocka_unit_test(categories_of_older_versions_are_known),
		cmocka_unit_test(collectives_have_the_names_of_hccl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
