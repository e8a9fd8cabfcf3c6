/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REGISTRY_H
#define NP_REGISTRY_H

/* All modes that have code of their own, and what the list of them (modes.c) says to who runs them.
 */

#include "cluster/modes/common/mode.h"

extern const struct mode mode_cann_api_sum;
extern const struct mode mode_cluster_time_compare_summary;
extern const struct mode mode_cluster_time_summary;
extern const struct mode mode_communication_bottleneck;
extern const struct mode mode_computational_op_masking;
extern const struct mode mode_compute_op_sum;
extern const struct mode mode_ep_load_balance;
extern const struct mode mode_export_summary;
extern const struct mode mode_free_analysis;
extern const struct mode mode_freq_analysis;
extern const struct mode mode_hccl_sum;
extern const struct mode mode_module_statistic;
extern const struct mode mode_mstx2commop;
extern const struct mode mode_mstx_sum;
extern const struct mode mode_operator_mfu;
extern const struct mode mode_p2p_pairing;
extern const struct mode mode_pp_chart;
extern const struct mode mode_slow_link;
extern const struct mode mode_slow_rank;

/* Modes have a bit each in np_modes_options.modes. */
#define MODES_MOST 64

/* modes.c: of these, those with code of their own, in the order of the table; how many. */
size_t modes_chosen(uint64_t modes, const struct mode *ret[MODES_MOST]);

/* Note for each of these modes what it made of ranks with several devices. */
int modes_note_devices(struct np_modes *modes, struct np_err *err) NP_MUST_USE;

/* Note for modes about links what is not known of them. */
int modes_note_links(struct np_modes *modes, struct np_err *err) NP_MUST_USE;

#endif /* NP_REGISTRY_H */
