/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the kernels that a simulated step is made of (model.h). */
#include "model.h"

#define BF3 "DT_BF16;DT_BF16"

/* clang-format off */
const struct syn_kernel_model syn_kernel_models[SYN_K_COUNT] = {
	[SYN_K_ZERO] = { "aclnnInplaceZero_ZerosLikeAiCore_ZerosLike", "ZerosLike", "aclnnInplaceZero",
			 "aten::zero_", SYN_VECTOR, 90000, true, false, "\"25165824\"", "\"25165824\"", "FLOAT" },
	[SYN_K_EMBED] = { "aclnnEmbedding_GatherV2AiCore_GatherV2", "GatherV2", "aclnnEmbedding",
			  "aten::embedding", SYN_VECTOR, 48000, false, false, "\"151936,1024;1,4096;1\"", "\"1,4096,1024\"",
			  "DT_BF16;INT64;INT64" },
	[SYN_K_HEAD] = { "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul",
			 "aten::matmul", SYN_CUBE, 340000, true, false, "\"4096,1024;1024,151936\"", "\"4096,151936\"", BF3 },
	[SYN_K_LOSS] = { "aclnnCrossEntropyLoss_CrossEntropyLoss_CrossEntropyLoss", "CrossEntropyLoss",
			 "aclnnCrossEntropyLoss", "aten::cross_entropy_loss", SYN_VECTOR, 120000, true, false,
			 "\"4096,151936;4096\"", "\"1\"", "DT_BF16;INT64" },
	[SYN_K_NORM] = { "aclnnNorm_LpNormV2_LpNormV2", "LpNormV2", "aclnnNorm", "aten::norm", SYN_VECTOR,
			 22000, true, false, "\"25165824\"", "\"1\"", "FLOAT" },
	[SYN_K_ADAM] = { "aclnnApplyAdamWV2_ApplyAdamWV2_ApplyAdamWV2", "ApplyAdamWV2", "aclnnApplyAdamWV2",
			 "npu::npu_apply_adam_w", SYN_VECTOR, 110000, true, false,
			 "\"12582912;12582912;12582912;12582912\"", "\"12582912\"", "FLOAT;FLOAT;FLOAT;FLOAT" },
	[SYN_K_CAST] = { "aclnnCast_CastAiCore_Cast", "Cast", "aclnnCast", "aten::to", SYN_VECTOR, 30000,
			 true, false, "\"12582912\"", "\"12582912\"", "FLOAT" },
	[SYN_K_GATE] = { "aclnnMoeGatingTopKSoftmax_MoeGatingTopKSoftmax_MoeGatingTopKSoftmax",
			 "MoeGatingTopKSoftmax", "aclnnMoeGatingTopKSoftmax", "npu::npu_moe_gating_top_k_softmax",
			 SYN_VECTOR, 24000, false, false, "\"4096,64\"", "\"4096,8\"", "DT_BF16" },
	[SYN_K_EXPERT_UP] = { "aclnnGroupedMatmulV4_GroupedMatmul_GroupedMatmul", "GroupedMatmul",
			      "aclnnGroupedMatmulV4", "npu::npu_grouped_matmul", SYN_CUBE, 0, true, true,
			      "\"%d,1024;8,1024,2816;8\"", "\"%d,2816\"", "DT_BF16;DT_BF16;INT64" },
	[SYN_K_EXPERT_DOWN] = { "aclnnGroupedMatmulV4_GroupedMatmul_GroupedMatmul", "GroupedMatmul",
				"aclnnGroupedMatmulV4", "npu::npu_grouped_matmul", SYN_CUBE, 0, true, true,
				"\"%d,1408;8,1408,1024;8\"", "\"%d,1024\"", "DT_BF16;DT_BF16;INT64" },
	[SYN_K_UNPERMUTE] = { "aclnnMoeTokenUnpermute_MoeTokenUnpermute_MoeTokenUnpermute", "MoeTokenUnpermute",
			      "aclnnMoeTokenUnpermute", "npu::npu_moe_token_unpermute", SYN_VECTOR, 28000, false, false,
			      "\"32768,1024;32768\"", "\"4096,1024\"", "DT_BF16;INT32" },

	[SYN_K_FORWARD] = { "aclnnRmsNorm_RmsNorm_RmsNorm", "RmsNorm", "aclnnRmsNorm", "npu::npu_rms_norm",
			    SYN_VECTOR, 18000, false, false, "\"4096,1,1024;1024\"", "\"4096,1,1024;4096,1,1\"", BF3 },
	{ "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::matmul", SYN_CUBE,
	  150000, true, false, "\"4096,1024;3072,1024\"", "\"4096,3072\"", BF3 },
	{ "aclnnSlice_SliceAiCore_Slice", "Slice", "aclnnSlice", "aten::slice", SYN_VECTOR, 8000, true, false,
	  "\"4096,3072;2;2\"", "\"4096,1024\"", "DT_BF16;INT64;INT64" },
	{ "aclnnRotaryPositionEmbedding_RotaryPositionEmbedding_RotaryPositionEmbedding",
	  "RotaryPositionEmbedding", "aclnnRotaryPositionEmbedding", "npu::npu_rotary_mul", SYN_VECTOR, 22000,
	  true, false, "\"4096,1,16,64;4096,1,1,64;4096,1,1,64\"", "\"4096,1,16,64\"", "DT_BF16;DT_BF16;DT_BF16" },
	{ "aclnnFlashAttentionScore_FlashAttentionScore_FlashAttentionScore", "FlashAttentionScore",
	  "aclnnFlashAttentionScore", "npu::npu_fusion_attention", SYN_MIXED, 210000, true, false,
	  "\"4096,1,1024;4096,1,1024;4096,1,1024;2048,2048\"", "\"1,16,4096,8;1,16,4096,8;4096,1,1024\"",
	  "DT_BF16;DT_BF16;DT_BF16;BOOL" },
	{ "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::matmul", SYN_CUBE, 70000,
	  true, false, "\"4096,1024;1024,1024\"", "\"4096,1024\"", BF3 },
	{ "aclnnAdd_AddAiCore_Add", "Add", "aclnnAdd", "aten::add", SYN_VECTOR, 12000, false, false,
	  "\"4096,1,1024;4096,1,1024\"", "\"4096,1,1024\"", BF3 },
	{ "aclnnRmsNorm_RmsNorm_RmsNorm", "RmsNorm", "aclnnRmsNorm", "npu::npu_rms_norm", SYN_VECTOR, 18000,
	  false, false, "\"4096,1,1024;1024\"", "\"4096,1,1024;4096,1,1\"", BF3 },
	{ "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::matmul", SYN_CUBE, 190000,
	  true, false, "\"4096,1024;5632,1024\"", "\"4096,5632\"", BF3 },
	{ "aclnnSwiGlu_SwiGlu_SwiGlu", "SwiGlu", "aclnnSwiGlu", "npu::npu_swiglu", SYN_VECTOR, 35000, true, false,
	  "\"4096,1,5632\"", "\"4096,1,2816\"", "DT_BF16" },
	{ "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::matmul", SYN_CUBE, 130000,
	  true, false, "\"4096,2816;1024,2816\"", "\"4096,1024\"", BF3 },
	{ "aclnnAdd_AddAiCore_Add", "Add", "aclnnAdd", "aten::add", SYN_VECTOR, 12000, false, false,
	  "\"4096,1,1024;4096,1,1024\"", "\"4096,1,1024\"", BF3 },

	[SYN_K_BACKWARD] = { "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::mm",
			     SYN_CUBE, 130000, true, false, "\"4096,1024;1024,2816\"", "\"4096,2816\"", BF3 },
	{ "aclnnMatmul_MatMulV2Common_MatMulV2", "MatMulV2", "aclnnMatmul", "aten::mm", SYN_CUBE, 130000, true,
	  false, "\"4096,1024;4096,2816\"", "\"1024,2816\"", BF3 },
	{ "aclnnSwiGluGrad_SwiGluGrad_SwiGluGrad", "SwiGluGrad", "aclnnSwiGluGrad", "npu::npu_swiglu_backward",
	  SYN_VECTOR, 45000, true, false, "\"4096,1,2816;4096,1,5632\"", "\"4096,1,5632\"", BF3 },
	{ "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::mm", SYN_CUBE, 190000, true,
	  false, "\"4096,5632;5632,1024\"", "\"4096,1024\"", BF3 },
	{ "aclnnMatmul_MatMulV2Common_MatMulV2", "MatMulV2", "aclnnMatmul", "aten::mm", SYN_CUBE, 190000, true,
	  false, "\"4096,5632;4096,1024\"", "\"5632,1024\"", BF3 },
	{ "aclnnRmsNormGrad_RmsNormGrad_RmsNormGrad", "RmsNormGrad", "aclnnRmsNormGrad",
	  "npu::npu_rms_norm_backward", SYN_VECTOR, 30000, false, false, "\"4096,1,1024;4096,1,1024;4096,1,1;1024\"",
	  "\"4096,1,1024;1024\"", "DT_BF16;DT_BF16;FLOAT;DT_BF16" },
	{ "aclnnAdd_AddAiCore_Add", "Add", "aclnnAdd", "aten::add", SYN_VECTOR, 12000, false, false,
	  "\"4096,1,1024;4096,1,1024\"", "\"4096,1,1024\"", BF3 },
	{ "aclnnCast_CastAiCore_Cast", "Cast", "aclnnCast", "aten::to", SYN_VECTOR, 10000, true, false,
	  "\"1024,1024\"", "\"1024,1024\"", "DT_BF16" },
	{ "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::mm", SYN_CUBE, 70000, true,
	  false, "\"4096,1024;1024,1024\"", "\"4096,1024\"", BF3 },
	{ "aclnnMatmul_MatMulV2Common_MatMulV2", "MatMulV2", "aclnnMatmul", "aten::mm", SYN_CUBE, 70000, true,
	  false, "\"4096,1024;4096,1024\"", "\"1024,1024\"", BF3 },
	{ "aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad_FlashAttentionScoreGrad",
	  "FlashAttentionScoreGrad", "aclnnFlashAttentionScoreGrad", "npu::npu_fusion_attention_grad",
	  SYN_MIXED, 420000, true, false, "\"4096,1,1024;4096,1,1024;4096,1,1024;4096,1,1024\"",
	  "\"4096,1,1024;4096,1,1024;4096,1,1024\"", "DT_BF16;DT_BF16;DT_BF16;DT_BF16" },
	{ "aclnnRotaryPositionEmbeddingGrad_RotaryPositionEmbeddingGrad_RotaryPositionEmbeddingGrad",
	  "RotaryPositionEmbeddingGrad", "aclnnRotaryPositionEmbeddingGrad", "npu::npu_rotary_mul_backward",
	  SYN_VECTOR, 24000, true, false, "\"4096,1,16,64;4096,1,1,64;4096,1,1,64\"", "\"4096,1,16,64\"",
	  "DT_BF16;DT_BF16;DT_BF16" },
	{ "aclnnCat_ConcatD_ConcatD", "ConcatD", "aclnnCat", "aten::cat", SYN_VECTOR, 14000, true, false,
	  "\"4096,1024;4096,1024;4096,1024\"", "\"4096,3072\"", "DT_BF16;DT_BF16;DT_BF16" },
	{ "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::mm", SYN_CUBE, 150000, true,
	  false, "\"4096,3072;3072,1024\"", "\"4096,1024\"", BF3 },
	{ "aclnnMatmul_MatMulV2Common_MatMulV2", "MatMulV2", "aclnnMatmul", "aten::mm", SYN_CUBE, 150000, true,
	  false, "\"4096,3072;4096,1024\"", "\"3072,1024\"", BF3 },
	{ "aclnnRmsNormGrad_RmsNormGrad_RmsNormGrad", "RmsNormGrad", "aclnnRmsNormGrad",
	  "npu::npu_rms_norm_backward", SYN_VECTOR, 30000, false, false, "\"4096,1,1024;4096,1,1024;4096,1,1;1024\"",
	  "\"4096,1,1024;1024\"", "DT_BF16;DT_BF16;FLOAT;DT_BF16" },

	[SYN_K_RESHAPED] = { "aclnnMatmul_MatMulV3Common_MatMulV3", "MatMulV3", "aclnnMatmul", "aten::matmul", SYN_CUBE,
			     150000, true, false, "\"8192,1024;3072,1024\"", "\"8192,3072\"", BF3 },
};
/* clang-format on */

uint16_t syn_layer_kernel(enum syn_pass pass, int64_t index, int64_t count)
{
	/* More kernels than the layer has stand for a finer cut of the same ones. */
	if (pass == SYN_PASS_FORWARD)
		return (uint16_t)(SYN_K_FORWARD + index * SYN_K_FORWARDS / count);
	return (uint16_t)(SYN_K_BACKWARD + index * SYN_K_BACKWARDS / count);
}

const char *syn_core_name(enum syn_core core)
{
	static const char *const names[] = { "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC" };

	return names[core];
}

int syn_core_blocks(enum syn_core core)
{
	return core == SYN_VECTOR ? 40 : 20;
}

int syn_core_mix_blocks(enum syn_core core)
{
	return core == SYN_MIXED ? 40 : 0;
}

void syn_shape_text(const char *shapes, int32_t tokens, char *text, size_t size)
{
	const char *hole = strstr(shapes, "%d");
	size_t length = 2;

	if (!hole && tokens == 0) {
		(void)snprintf(text, size, "%s", shapes);
		return;
	}
	if (!hole) {
		hole = shapes + strcspn(shapes, "0123456789");
		length = strspn(hole, "0123456789");
	}
	(void)snprintf(text, size, "%.*s%d%s", (int)(hole - shapes), shapes, tokens, hole + length);
}

struct syn_pmu syn_pmu_of(enum syn_core core, np_ns time)
{
	double busy = (double)time * 0.97;
	double cube = core == SYN_VECTOR ? 0.0 : 1.0;
	double vector = core == SYN_CUBE ? 0.0 : 1.0;

	return (struct syn_pmu){
		.aic_time = cube * busy,
		.aic_cycles = cube * busy * 28.8,
		.aic_mac = cube * 0.78,
		.aic_mte2 = cube * 0.55,
		.aiv_time = vector * busy,
		.aiv_cycles = vector * busy * 57.6,
		.aiv_vec = vector * 0.31,
		.aiv_mte2 = vector * 0.62,
	};
}

const char *const syn_cube_units[SYN_CUBE_UNITS] = { "mac", "scalar", "mte1", "mte2", "fixpipe" };
const char *const syn_vector_units[SYN_VECTOR_UNITS] = { "vec", "scalar", "mte2", "mte3" };

void syn_pmu_cube(const struct syn_pmu *pmu, double ret[SYN_CUBE_UNITS])
{
	double busy = pmu->aic_mac > 0.0 ? 1.0 : 0.0;

	ret[0] = pmu->aic_mac;
	ret[1] = busy * 0.2;
	ret[2] = busy * 0.4;
	ret[3] = pmu->aic_mte2;
	ret[4] = busy * 0.1;
}

void syn_pmu_vector(const struct syn_pmu *pmu, double ret[SYN_VECTOR_UNITS])
{
	double busy = pmu->aiv_vec > 0.0 ? 1.0 : 0.0;

	ret[0] = pmu->aiv_vec;
	ret[1] = busy * 0.1;
	ret[2] = pmu->aiv_mte2;
	ret[3] = busy * 0.3;
}
