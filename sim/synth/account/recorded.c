/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up what a recording says of a kernel, where the timeline comes from one. */
#include "sim/synth/world/stream.h"

const struct syn_kernel_detail *syn_detail_of(const struct syn_rank_info *info,
					      const struct syn_kernel_model *model)
{
	return info->recorded ? &info->recorded->details[model - info->models] : NULL;
}

const char *syn_kernel_core(const struct syn_rank_info *info, const struct syn_kernel_model *model)
{
	const struct syn_kernel_detail *detail = syn_detail_of(info, model);

	return detail ? detail->core : syn_core_name(model->core);
}

int64_t syn_kernel_blocks(const struct syn_rank_info *info, const struct syn_kernel_model *model)
{
	const struct syn_kernel_detail *detail = syn_detail_of(info, model);

	return detail ? detail->blocks : syn_core_blocks(model->core);
}

int64_t syn_kernel_mix_blocks(const struct syn_rank_info *info,
			      const struct syn_kernel_model *model)
{
	const struct syn_kernel_detail *detail = syn_detail_of(info, model);

	return detail ? detail->mix_blocks : syn_core_mix_blocks(model->core);
}
