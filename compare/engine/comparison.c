/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the stages of a comparison in order and owns what they made (cmp_comparison.h). */
#include "cmp_comparison.h"

#include "npuprof/arena.h"
#include "npuprof/buf.h"

const char *cmp_keep(struct comparison *comparison, const struct np_buf *buf)
{
	return buf->failed ? NULL : np_arena_text(comparison->arena, buf->text, buf->length);
}

static void release_side(struct cmp_side *side)
{
	for (size_t i = 0; side->kernels && i < side->analysis->run->sources.count; i++) {
		np_vec_release(&side->kernels[i].shares);
		np_vec_release(&side->kernels[i].sequence);
	}
	free(side->kernels);
	np_vec_release(&side->groups);
	np_vec_release(&side->steps);
	free(side->places);
	free(side->step_cells);
	free(side->step_length);
	free(side->step_overlap);
}

void comparison_free(struct comparison *comparison)
{
	if (!comparison)
		return;
	for (int i = 0; i < CMP_SIDES; i++) {
		release_side(&comparison->sides[i]);
		if (i != CMP_NEW || !comparison->options.new_is_lent)
			np_analysis_free(comparison->sides[i].analysis);
		np_idmap_free(comparison->comm_index[i]);
	}
	np_vec_release(&comparison->pairs);
	np_vec_release(&comparison->leaves);
	np_vec_release(&comparison->comms);
	np_map_release(&comparison->comm_names);
	np_vec_release(&comparison->kernels);
	np_vec_release(&comparison->mc2);
	np_vec_release(&comparison->structure);
	np_vec_release(&comparison->causes);
	np_notes_release(&comparison->warnings);
	np_strtab_free(comparison->names);
	np_arena_free(comparison->arena);
	free(comparison);
}

void comparison_freep(struct comparison **comparison)
{
	comparison_free(*comparison);
}

static int measure(struct comparison *comparison, struct np_err *err)
{
	int (*const stages[])(struct comparison *, struct np_err *) = {
		cmp_pair_ranks,          cmp_choose_steps,   cmp_reduce_kernels,
		cmp_match_communicators, cmp_measure_leaves, cmp_measure_comms,
		cmp_measure_kernels,     cmp_measure_mc2,    cmp_measure_structure,
		cmp_test_changes,        cmp_find_causes,
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(stages) && rc == NP_OK; i++)
		rc = stages[i](comparison, err);
	if (rc == NP_OK)
		cmp_check_comparable(comparison);
	return rc;
}

int comparison_build(struct np_analysis *base, struct np_analysis *new_,
		     const struct cmp_options *options, struct comparison **ret, struct np_err *err)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	int rc;

	if (!comparison) {
		np_analysis_free(base);
		if (!options->new_is_lent)
			np_analysis_free(new_);
		return np_fail_nomem(err, "the comparison");
	}
	comparison->options = *options;
	comparison->sides[CMP_BASE].analysis = base;
	comparison->sides[CMP_NEW].analysis = new_;
	comparison->sides[CMP_BASE].path = base->run->roots.item[0];
	comparison->sides[CMP_NEW].path = new_->run->roots.item[0];
	comparison->names = np_strtab_new();
	comparison->arena = np_arena_new();
	rc = comparison->names && comparison->arena ? measure(comparison, err)
						    : np_fail_nomem(err, "the comparison");
	if (rc < 0) {
		comparison_free(comparison);
		return rc;
	}
	*ret = comparison;
	return NP_OK;
}
