/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the simulated transformer. */
#include "sim/npusim/npusim.h"
#include "train.h"

/*
 * The kernels of a transformer of width 1024, with the names CANN shows for such
 * ones and round times. Wider models take longer; shapes are those of 1024.
 */
struct kernel {
	enum train_part part;
	const char *name;
	const char *type;
	const char *api;
	bool cube;
	bool split; /* tensor parallelism divides the work */
	int us;
	const char *input_shapes;
	const char *output_shapes;
	const char *types; /* of inputs */
	const char *output_types;
};

#define CUBE   true, true
#define VECTOR false, false
#define HALVES "DT_BF16;DT_BF16"
#define FLOATS "FLOAT;FLOAT;FLOAT;FLOAT"

/* clang-format off */
static const struct kernel kernels[] = {
	{ PART_FORWARD, "aclnnRmsNorm_RmsNorm_RmsNorm", "RmsNorm", "aclnnRmsNorm", VECTOR, 40,
	  "4096,1,1024;1024", "4096,1,1024;4096,1,1", HALVES, "DT_BF16;FLOAT" },
	{ PART_FORWARD, "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", CUBE, 300,
	  "4096,1024;3072,1024", "4096,3072", HALVES, "DT_BF16" },
	{ PART_FORWARD, "aclnnFlashAttentionScore_FlashAttentionScore_FlashAttentionScore", "FlashAttentionScore",
	  "aclnnFlashAttentionScore", CUBE, 420, "4096,1,1024;4096,1,1024;4096,1,1024", "4096,1,1024",
	  "DT_BF16;DT_BF16;DT_BF16", "DT_BF16" },
	{ PART_FORWARD, "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", CUBE, 150,
	  "4096,1024;1024,1024", "4096,1024", HALVES, "DT_BF16" },
	{ PART_FORWARD, "aclnnAdd_AddAiCore_Add", "Add", "aclnnAdd", VECTOR, 25,
	  "4096,1,1024;4096,1,1024", "4096,1,1024", HALVES, "DT_BF16" },
	{ PART_FORWARD, "aclnnRmsNorm_RmsNorm_RmsNorm", "RmsNorm", "aclnnRmsNorm", VECTOR, 40,
	  "4096,1,1024;1024", "4096,1,1024;4096,1,1", HALVES, "DT_BF16;FLOAT" },
	{ PART_FORWARD, "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", CUBE, 380,
	  "4096,1024;5632,1024", "4096,5632", HALVES, "DT_BF16" },
	{ PART_FORWARD, "aclnnSwiGlu_SwiGlu_SwiGlu", "SwiGlu", "aclnnSwiGlu", VECTOR, 70,
	  "4096,1,5632", "4096,1,2816", "DT_BF16", "DT_BF16" },
	{ PART_FORWARD, "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", CUBE, 260,
	  "4096,2816;1024,2816", "4096,1024", HALVES, "DT_BF16" },
	{ PART_FORWARD, "aclnnAdd_AddAiCore_Add", "Add", "aclnnAdd", VECTOR, 25,
	  "4096,1,1024;4096,1,1024", "4096,1,1024", HALVES, "DT_BF16" },

	{ PART_BACKWARD, "aclnnMatmul_MatMulV2Common_MatMulV2", "MatMulV2", "aclnnMatmul", CUBE, 520,
	  "4096,1024;4096,2816", "1024,2816", HALVES, "DT_BF16" },
	{ PART_BACKWARD, "aclnnSwiGluGrad_SwiGluGrad_SwiGluGrad", "SwiGluGrad", "aclnnSwiGluGrad", VECTOR, 90,
	  "4096,1,2816;4096,1,5632", "4096,1,5632", HALVES, "DT_BF16" },
	{ PART_BACKWARD, "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", CUBE, 760,
	  "4096,5632;5632,1024", "4096,1024", HALVES, "DT_BF16" },
	{ PART_BACKWARD, "aclnnRmsNormGrad_RmsNormGrad_RmsNormGrad", "RmsNormGrad", "aclnnRmsNormGrad", VECTOR, 60,
	  "4096,1,1024;4096,1,1024;4096,1,1;1024", "4096,1,1024;1024", "DT_BF16;DT_BF16;FLOAT;DT_BF16", "DT_BF16;FLOAT" },
	{ PART_BACKWARD, "aclnnMatmul_MatMulV2Common_MatMulV2", "MatMulV2", "aclnnMatmul", CUBE, 300,
	  "4096,1024;4096,1024", "1024,1024", HALVES, "DT_BF16" },
	{ PART_BACKWARD, "aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad_FlashAttentionScoreGrad",
	  "FlashAttentionScoreGrad", "aclnnFlashAttentionScoreGrad", CUBE, 840,
	  "4096,1,1024;4096,1,1024;4096,1,1024;4096,1,1024", "4096,1,1024;4096,1,1024;4096,1,1024",
	  "DT_BF16;DT_BF16;DT_BF16;DT_BF16", "DT_BF16;DT_BF16;DT_BF16" },
	{ PART_BACKWARD, "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", CUBE, 600,
	  "4096,3072;3072,1024", "4096,1024", HALVES, "DT_BF16" },
	{ PART_BACKWARD, "aclnnAdd_AddAiCore_Add", "Add", "aclnnAdd", VECTOR, 25,
	  "4096,1,1024;4096,1,1024", "4096,1,1024", HALVES, "DT_BF16" },

	{ PART_FIRST, "aclnnEmbedding_GatherV2AiCore_GatherV2", "GatherV2", "aclnnEmbedding", VECTOR, 60,
	  "32000,1024;1,4096", "1,4096,1024", "DT_BF16;INT64", "DT_BF16" },
	{ PART_LAST, "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", CUBE, 600,
	  "4096,1024;1024,32000", "4096,32000", HALVES, "DT_BF16" },
	{ PART_LAST, "aclnnCrossEntropyLoss_CrossEntropyLoss_CrossEntropyLoss", "CrossEntropyLoss",
	  "aclnnCrossEntropyLoss", VECTOR, 140, "4096,32000;4096", "1", "DT_BF16;INT64", "FLOAT" },
	{ PART_NORM, "aclnnNorm_LpNormV2_LpNormV2", "LpNormV2", "aclnnNorm", VECTOR, 80,
	  "12582912", "1", "FLOAT", "FLOAT" },
	{ PART_OPTIMIZER, "aclnnApplyAdamWV2_ApplyAdamWV2_ApplyAdamWV2", "ApplyAdamWV2", "aclnnApplyAdamWV2", VECTOR,
	  220, "12582912;12582912;12582912;12582912", "12582912", FLOATS, "FLOAT" },
	{ PART_OPTIMIZER, "aclnnCast_CastAiCore_Cast", "Cast", "aclnnCast", VECTOR, 60,
	  "12582912", "12582912", "FLOAT", "DT_BF16" },
	{ PART_EXPERTS, "aclnnGroupedMatmulV4_GroupedMatmul_GroupedMatmul", "GroupedMatmul", "aclnnGroupedMatmulV4",
	  CUBE, 450, "4096,1024;8,1024,2816;8", "4096,2816", "DT_BF16;DT_BF16;INT64", "DT_BF16" },
};
/* clang-format on */

static aclrtFuncHandle handles[NP_COUNT(kernels)];

static const char *formats_of(const char *shapes)
{
	static const char *const formats[] = { "ND", "ND;ND", "ND;ND;ND", "ND;ND;ND;ND" };
	size_t extra = 0;

	for (const char *c = shapes; *c; c++)
		extra += *c == ';';
	return formats[extra < NP_COUNT(formats) ? extra : NP_COUNT(formats) - 1];
}

int train_model_init(int64_t hidden, int64_t tp, struct np_err *err)
{
	double width = (double)hidden / 1024;

	for (size_t i = 0; i < NP_COUNT(kernels); i++) {
		const struct kernel *kernel = &kernels[i];
		double us = kernel->us * width * (kernel->cube ? width : 1);
		struct npusim_kernel description = {
			.name = kernel->name,
			.op_type = kernel->type,
			.core = kernel->cube ? "AI_CORE" : "AI_VECTOR_CORE",
			.api = kernel->api,
			.input_shapes = kernel->input_shapes,
			.input_types = kernel->types,
			.input_formats = formats_of(kernel->input_shapes),
			.output_shapes = kernel->output_shapes,
			.output_types = kernel->output_types,
			.output_formats = formats_of(kernel->output_shapes),
			.attributes = "",
			.duration_ns = (int64_t)(us * 1000 / (kernel->split ? (double)tp : 1)),
		};

		handles[i] = npusim_kernel_handle(&description);
		if (!handles[i])
			return np_fail_nomem(err, "kernels");
	}
	return NP_OK;
}

int train_model_launch(enum train_part part, aclrtStream stream, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < NP_COUNT(kernels); i++) {
		if (kernels[i].part == part)
			rc = TRAIN_CALL(aclrtLaunchKernel(handles[i], kernels[i].cube ? 20 : 40,
							  NULL, 0, stream),
					err);
	}
	return rc;
}
