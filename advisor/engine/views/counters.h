/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_COUNTERS_H
#define NP_ADVISOR_COUNTERS_H

/* Counters of the AI cores under the names of the profiler; times are in ns. */
/* clang-format off */
#define COUNTERS(X) \
	X(aic_total_time) X(aic_total_cycles) X(aic_mac_time) X(aic_mac_ratio) \
	X(aic_scalar_time) X(aic_scalar_ratio) X(aic_mte1_time) X(aic_mte1_ratio) \
	X(aic_mte2_time) X(aic_mte2_ratio) X(aic_mte3_time) X(aic_mte3_ratio) \
	X(aic_fixpipe_time) X(aic_fixpipe_ratio) X(aic_icache_miss_rate) X(aic_vec_time) \
	X(aic_vec_ratio) X(aiv_total_time) X(aiv_total_cycles) X(aiv_vec_time) \
	X(aiv_vec_ratio) X(aiv_scalar_time) X(aiv_scalar_ratio) X(aiv_mte1_time) \
	X(aiv_mte1_ratio) X(aiv_mte2_time) X(aiv_mte2_ratio) X(aiv_mte3_time) \
	X(aiv_mte3_ratio) X(aiv_icache_miss_rate) X(cube_utilization) X(aic_mac_fp16_ratio) \
	X(aic_mac_int8_ratio) X(aic_cube_fops) X(aiv_vec_fp32_ratio) X(aiv_vec_fp16_ratio) \
	X(aiv_vec_int32_ratio) X(aiv_vec_misc_ratio) X(aiv_vector_fops) \
	X(aic_main_mem_read_bw) X(aic_main_mem_write_bw) X(aiv_main_mem_read_bw) \
	X(aiv_main_mem_write_bw) X(aic_l2_read_bw) X(aic_l2_write_bw) X(aiv_l2_read_bw) \
	X(aiv_l2_write_bw) X(aiv_ub_read_bw) X(aiv_ub_write_bw) \
	X(aiv_vec_bankgroup_cflt_ratio) X(aiv_vec_bank_cflt_ratio) \
	X(aiv_vec_resc_cflt_ratio)
/* clang-format on */

#endif /* NP_ADVISOR_COUNTERS_H */
