/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns every kernel its class of work: the first rule that fits wins (cmp_class.h). */
#include "cmp_class.h"

#include "npuprof/idmap.h"

#include <strings.h>

static const struct {
	const char *id;
	const char *title;
} classes[CMP_CLASSES] = {
	[CMP_FLASH_FORWARD] = { "flash_attention_forward", "Flash Attention (Forward)" },
	[CMP_FLASH_BACKWARD] = { "flash_attention_backward", "Flash Attention (Backward)" },
	[CMP_CONV_FORWARD] = { "conv_forward", "Conv (Forward)" },
	[CMP_CONV_BACKWARD] = { "conv_backward", "Conv (Backward)" },
	[CMP_MATMUL] = { "matmul", "Matmul" },
	[CMP_PAGED_ATTENTION] = { "paged_attention", "Paged Attention" },
	[CMP_MC2] = { "mc2", "MC2" },
	[CMP_CUBE] = { "cube", "Cube" },
	[CMP_VECTOR_TRANS] = { "vector_trans", "Vector (Trans)" },
	[CMP_VECTOR] = { "vector", "Vector (No Trans)" },
	[CMP_TENSOR_MOVE] = { "tensor_move", "SDMA (Tensor Move)" },
	[CMP_OTHER] = { "other", "Other" },
	[CMP_UNKNOWN_CLASS] = { "unknown", "Unknown" },
};

/* Lists end with NULL; membership is a substring, whatever the case. */
static const char *const flash_ops[] = {
	"flash_attention", "fusion_attention",    "flashattn", "xformers_flash",
	"flash2attn",      "efficient_attention", NULL
};
static const char *const conv_ops[] = { "aten::conv", NULL };
static const char *const matmul_ops[] = { "aten::addmm", "aten::bmm", "aten::mm", "aten::matmul",
					  NULL };
static const char *const backward[] = { "bwd", "backward", "back", "grad", NULL };
static const char *const trans[] = { "cast", "transdata", "transpose", NULL };
static const char *const mc2[] = { "allgathermatmul", "matmulreducescatter", "matmulallreduce",
				   NULL };
static const char *const flash_types[] = { "flashattention", "fusedinferattention", NULL };
static const char *const gpu_cubes[] = { "gemm", "conv", "cutlass", "wgrad", "gemvx", NULL };
static const char *const ai_cores[] = { "ai_core", "aicore", "vector", "aivec",
					"mix",     "aic",    "aiv",    NULL };
static const char *const cube_cores[] = { "ai_core", "aicore", "mix_aic", NULL };

const char *cmp_class_id(enum cmp_class class)
{
	return classes[class].id;
}

const char *cmp_class_title(enum cmp_class class)
{
	return classes[class].title;
}

static bool hits(const char *text, const char *const *list)
{
	for (; text && *list; list++) {
		if (strcasestr(text, *list))
			return true;
	}
	return false;
}

static bool starts(const char *text, const char *with)
{
	return text && strncasecmp(text, with, strlen(with)) == 0;
}

bool cmp_is_cube_op(const char *name)
{
	return hits(name, matmul_ops) || hits(name, flash_ops) || hits(name, conv_ops);
}

static bool cmp_is_backward(const char *name)
{
	return hits(name, backward);
}

bool cmp_is_conversion(const char *type)
{
	return hits(type, trans);
}

static enum cmp_class by_operator(const struct cmp_kernel_traits *traits)
{
	if (hits(traits->op, flash_ops))
		return cmp_is_backward(traits->op) ? CMP_FLASH_BACKWARD : CMP_FLASH_FORWARD;
	if (hits(traits->op, conv_ops))
		return traits->op_backward || cmp_is_backward(traits->op) ? CMP_CONV_BACKWARD
									  : CMP_CONV_FORWARD;
	return CMP_MATMUL;
}

/* The core is known and is none of those that run kernels of operators: AI_CPU, DSA_SQE … */
static bool outside_ai_cores(const struct cmp_kernel_traits *traits)
{
	return traits->core && strcasecmp(traits->core, "N/A") != 0 &&
	       !hits(traits->core, ai_cores);
}

static enum np_cube is_cube(const struct cmp_kernel_traits *traits)
{
	if (traits->cube != NP_CUBE_UNKNOWN || !traits->core)
		return traits->cube;
	return hits(traits->core, cube_cores) ? NP_CUBE_YES : NP_CUBE_NO;
}

/* Of a GPU only the name is known, and in short it stands for the type. */
static enum cmp_class by_gpu_kernel(const struct cmp_kernel_traits *traits)
{
	return hits(traits->name ? traits->name : traits->type, gpu_cubes) ? CMP_CUBE : CMP_VECTOR;
}

static enum cmp_class by_kernel(const struct cmp_kernel_traits *traits)
{
	if (hits(traits->type, flash_types))
		return cmp_is_backward(traits->type) ? CMP_FLASH_BACKWARD : CMP_FLASH_FORWARD;
	if (starts(traits->type, "conv"))
		return cmp_is_backward(traits->type) ? CMP_CONV_BACKWARD : CMP_CONV_FORWARD;
	if (traits->type && strcasestr(traits->type, "matmul"))
		return CMP_MATMUL;
	if (outside_ai_cores(traits))
		return CMP_OTHER;
	if (is_cube(traits) == NP_CUBE_YES)
		return CMP_CUBE;
	if (hits(traits->name, trans))
		return CMP_VECTOR_TRANS;
	return is_cube(traits) == NP_CUBE_NO || traits->type ? CMP_VECTOR : CMP_UNKNOWN_CLASS;
}

enum cmp_class cmp_classify(const struct cmp_kernel_traits *traits)
{
	if (traits->core && strcmp(traits->core, NP_CORE_GPU) == 0)
		return traits->op ? by_operator(traits) : by_gpu_kernel(traits);
	if (traits->type && strcasestr(traits->type, "pagedattention"))
		return CMP_PAGED_ATTENTION;
	if (starts(traits->name, "aclnninplacecopy") && strcasestr(traits->name, "tensormove"))
		return CMP_TENSOR_MOVE;
	/* With any prefix: aclnn's names carry one. */
	if (hits(traits->name, mc2) || hits(traits->type, mc2))
		return CMP_MC2;
	return traits->op ? by_operator(traits) : by_kernel(traits);
}

/* --- who launched a kernel ------------------------------------------------------------------- */

struct finder {
	const struct np_detail *detail;
	struct np_open_calls open;
	struct np_idmap *by_id; /* connection → framework row of its outermost cube operator */
	uint8_t *is_cube;       /* by np_str of a name: 0 not asked yet, 1 no, 2 yes */
};

static bool cube_name(struct finder *finder, np_str name)
{
	if (finder->is_cube[name] == 0)
		finder->is_cube[name] =
			cmp_is_cube_op(np_detail_text(finder->detail, name)) ? 2 : 1;
	return finder->is_cube[name] == 2;
}

static int open_call(struct finder *finder, uint32_t index, struct np_err *err)
{
	const struct np_framework_call *call = &finder->detail->framework.item[index];
	uint32_t outer;
	int rc = np_open_calls_enter(&finder->open, call->tid, call->start, call->end,
				     cube_name(finder, call->name) ? index : UINT32_MAX, &outer,
				     err);

	for (uint32_t i = 0; rc == NP_OK && outer != UINT32_MAX && i < call->link_count; i++) {
		const struct np_framework_link *link =
			&finder->detail->links.item[call->first_link + i];

		if (link->kind == NP_LEADS_TO_TASK)
			rc = np_idmap_set(finder->by_id, link->id, outer, err);
	}
	return rc;
}

static int walk_calls(struct finder *finder, uint32_t *ret, struct np_err *err)
{
	const struct np_detail *detail = finder->detail;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->framework.count && rc == NP_OK; i++) {
		if (detail->framework.item[i].kind == NP_FRAMEWORK_OP)
			rc = open_call(finder, i, err);
	}
	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		int64_t connection = detail->kernels.item[i].connection;

		ret[i] = connection == NP_UNKNOWN ? NP_NO_ROW
						  : np_idmap_get(finder->by_id, connection);
	}
	return rc;
}

int cmp_find_cube_ops(const struct np_detail *detail, uint32_t **ret, struct np_err *err)
{
	struct finder finder = { .detail = detail,
				 .by_id = np_idmap_new(),
				 .is_cube = calloc(np_strtab_count(detail->strings) + 2, 1) };
	uint32_t *found = malloc((detail->kernels.count + 1) * sizeof(*found));
	int rc = np_open_calls_init(&finder.open, err);

	if (rc == NP_OK && (!finder.by_id || !finder.is_cube || !found))
		rc = np_fail_nomem(err, "operators of the framework");
	if (rc == NP_OK)
		rc = walk_calls(&finder, found, err);
	np_open_calls_release(&finder.open);
	np_idmap_free(finder.by_id);
	free(finder.is_cube);
	if (rc < 0) {
		free(found);
		return rc;
	}
	*ret = found;
	return NP_OK;
}
