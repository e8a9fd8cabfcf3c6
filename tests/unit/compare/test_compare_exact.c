/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/engine/cmp_comparison.h"

#include "compare/engine/cmp_gate.h"
#include "npuprof/align.h"

#include "np_random.h"
#include "np_synth.h"

#include <malloc.h>

/* Simulated runs of all forms, compared: whatever they are, everything sums up. */

static struct np_analysis *analyse(const char *dir, np_kernel_framework_op *framework_op)
{
	struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_analysis_build(synth_load_sums(dir, framework_op), NULL, 1, &analysis, &err),
		  err);
	return analysis;
}

static struct comparison *compare_by(const char *base, const char *new_,
				     np_kernel_framework_op *framework_op)
{
	static const struct np_workers workers = { .threads = 1 };
	const struct cmp_options options = { .min_ns = 5e4,
					     .min_share = 0.01,
					     .workers = &workers };
	struct comparison *comparison = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(comparison_build(analyse(base, framework_op), analyse(new_, framework_op),
				   &options, &comparison, &err),
		  err);
	return comparison;
}

/* As the command does: kernels are summed while they are loaded, where that can be. */
static struct comparison *compare(const char *base, const char *new_)
{
	return compare_by(base, new_, cmp_is_cube_op);
}

static np_ns effects_of(const struct comparison *comparison, size_t leaf)
{
	np_ns sum = 0;

	for (size_t i = 0; i < comparison->kernels.count; i++) {
		const struct cmp_kernel *kernel = &comparison->kernels.item[i];

		if (kernel->leaf == leaf)
			sum += kernel->count_effect + kernel->speed_effect + kernel->mix_effect +
			       kernel->overlap_effect;
	}
	return sum;
}

static void assert_comms_sum(const struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->comms.count; i++) {
		const struct cmp_comm *comm = &comparison->comms.item[i];
		np_ns sum = comm->wait_effect + comm->overlap_effect;
		np_ns leaves = 0;

		sum += comm->bytes_effect == NP_UNKNOWN ? 0 : comm->bytes_effect;
		sum += comm->bandwidth_effect == NP_UNKNOWN ? 0 : comm->bandwidth_effect;
		for (size_t j = 0; j < comparison->leaves.count; j++) {
			if (comparison->leaves.item[j].comm == i)
				leaves += comparison->leaves.item[j].change.delta;
		}
		assert_int_equal(sum, comm->delta);
		assert_int_equal(sum, leaves);
	}
}

static void assert_sums(const struct comparison *comparison)
{
	np_ns sums[CMP_SIDES] = { 0, 0 };
	np_ns delta = 0;

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		sums[0] += leaf->change.ns[0];
		sums[1] += leaf->change.ns[1];
		delta += leaf->change.delta;
		if (leaf->kind == CMP_LEAF_COMPUTE)
			assert_int_equal(effects_of(comparison, i), leaf->change.delta);
	}
	assert_int_equal(sums[0], comparison->step.ns[0]);
	assert_int_equal(sums[1], comparison->step.ns[1]);
	assert_int_equal(delta, comparison->step.delta);
	assert_comms_sum(comparison);
}

static const struct cmp_leaf *leaf_of(const struct comparison *comparison, const char *path)
{
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		if (strcmp(comparison->leaves.item[i].path, path) == 0)
			return &comparison->leaves.item[i];
	}
	return NULL;
}

static void assert_mirrored(const struct comparison *one, const struct comparison *two)
{
	assert_int_equal(one->step.delta, -two->step.delta);
	assert_int_equal(one->leaves.count, two->leaves.count);
	for (size_t i = 0; i < one->leaves.count; i++) {
		const struct cmp_leaf *leaf = &one->leaves.item[i];
		const struct cmp_leaf *other = leaf_of(two, leaf->path);

		assert_non_null(other);
		assert_int_equal(leaf->change.delta, -other->change.delta);
	}
}

static void assert_same_text(const struct comparison *one, np_str a, const struct comparison *two,
			     np_str b)
{
	const char *x = cmp_text(one, a);
	const char *y = cmp_text(two, b);

	assert_string_equal(x ? x : "", y ? y : "");
}

static void assert_same(const struct comparison *one, const struct comparison *two)
{
	assert_int_equal(one->leaves.count, two->leaves.count);
	for (size_t i = 0; i < one->leaves.count; i++) {
		const struct cmp_leaf *a = &one->leaves.item[i];
		const struct cmp_leaf *b = &two->leaves.item[i];

		assert_string_equal(a->path, b->path);
		assert_int_equal(a->change.ns[CMP_BASE], b->change.ns[CMP_BASE]);
		assert_int_equal(a->change.ns[CMP_NEW], b->change.ns[CMP_NEW]);
	}
	assert_int_equal(one->kernels.count, two->kernels.count);
	for (size_t i = 0; i < one->kernels.count; i++) {
		const struct cmp_kernel *a = &one->kernels.item[i];
		const struct cmp_kernel *b = &two->kernels.item[i];

		assert_same_text(one, a->type, two, b->type);
		assert_same_text(one, a->shapes, two, b->shapes);
		assert_memory_equal(a->ns, b->ns, sizeof(a->ns));
		assert_memory_equal(a->least, b->least, sizeof(a->least));
		assert_memory_equal(a->most, b->most, sizeof(a->most));
		assert_true(a->count[0] == b->count[0] && a->count[1] == b->count[1]);
		assert_int_equal(a->overlap_effect, b->overlap_effect);
		assert_int_equal(a->delta, b->delta);
	}
}

static const char *pick(uint64_t *seed, const char *const *choices, size_t count)
{
	return choices[np_random_below(seed, count)];
}

/* A run of any form, size and number of steps. */
static void write_any(const char *dir, uint64_t *seed)
{
	static const char *const forms[] = { "db",        "text",        "both",
					     "msprof-db", "msprof-text", "mindspore-text",
					     "msmonitor", "mindspore-db" };
	static const char *const ranks[] = { "1", "2", "4", "8" };
	static const char *const steps[] = { "1", "2", "3", "5" };
	static const char *const schedules[] = { "dp", "tp", "dp" };
	static const char *const levels[] = { "0", "1", "1", "1" };
	char number[24];

	(void)snprintf(number, sizeof(number), "%u", (unsigned)(np_random(seed) % 1000));
	synth_write(dir, (const char *const[]){
				 "--ranks", pick(seed, ranks, NP_COUNT(ranks)), "--steps",
				 pick(seed, steps, NP_COUNT(steps)), "--schedule",
				 pick(seed, schedules, NP_COUNT(schedules)), "--format",
				 pick(seed, forms, NP_COUNT(forms)), "--level",
				 pick(seed, levels, NP_COUNT(levels)), "--seed", number, "--layers",
				 "2", "--kernels-per-layer", "6", "--no-instances", NULL });
}

static void whatever_is_compared_sums_up_and_mirrors(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct comparison *one;
		struct comparison *two;

		(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "round %d", round);
		write_any(below("a%d", round), &seed);
		write_any(below("b%d", round), &seed);
		one = compare(below("a%d", round), below("b%d", round));
		two = compare(below("b%d", round), below("a%d", round));
		assert_sums(one);
		assert_sums(two);
		assert_mirrored(one, two);
		comparison_free(one);
		comparison_free(two);
	}
}

/* Whether the loader has summed the kernels or they are read one by one makes no difference. */
static void kernels_summed_while_loading_are_those_read_one_by_one(void **state)
{
	static const char *const more[][2] = { { "--pmu", "--memory" },
					       { "--schema", "1.2" },
					       { "--level", "2" },
					       { "--tp", "2" },
					       { "--host-gap", "1:200" } };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(more); i++) {
		struct comparison *summed;
		struct comparison *single;

		for (int j = 0; j < 2; j++)
			synth_write(below(j ? "new%zu" : "base%zu", i),
				    (const char *const[]){ "--ranks", "4", "--steps", "3", "--seed",
							   j ? "7" : "8", "--layers", "2",
							   "--no-instances", more[i][0], more[i][1],
							   NULL });
		summed = compare_by(below("base%zu", i), below("new%zu", i), cmp_is_cube_op);
		single = compare_by(below("base%zu", i), below("new%zu", i), NULL);
		assert_non_null(summed->sides[0].analysis->run->ranks[1]->packed_sums);
		assert_null(single->sides[0].analysis->run->ranks[1]->packed_sums);
		assert_same(summed, single);
		comparison_free(summed);
		comparison_free(single);
	}
}

static void a_run_is_equal_to_itself_and_passes_every_gate(void **state)
{
	struct comparison *comparison;
	struct cmp_gate gate = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	synth_write(below("run"), (const char *const[]){ "--ranks", "4", "--steps", "4", "--layers",
							 "2", "--memory", "--no-instances", NULL });
	comparison = compare(below("run"), below("run"));
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		assert_int_equal(comparison->leaves.item[i].change.delta, 0);
		assert_int_equal(comparison->leaves.item[i].change.verdict, CMP_NOISE);
	}
	assert_int_equal(comparison->step.delta, 0);
	assert_int_equal(comparison->causes.count, 0);
	assert_int_equal(comparison->structure.count, 0);
	assert_ok(cmp_gate_parse("step>0%,comm>0%,compute>0%,mem>0%,kernel:*>0%", &gate, &err),
		  err);
	assert_ok(cmp_gate_judge(&gate, comparison, &err), err);
	assert_int_equal(gate.result, CMP_GATE_PASS);
	cmp_gate_release(&gate);
	comparison_free(comparison);
}

/*
 * A text export does not tell the host, and clocks of one host are fitted together: what of a
 * communicator is waiting may differ by a few ns, all of its time may not.
 */
static void assert_comm_is_equal(const struct comparison *comparison, size_t comm)
{
	np_ns sum = 0;

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		if (leaf->comm != comm)
			continue;
		assert_in_range(leaf->change.delta + 10, 0, 20);
		sum += leaf->change.delta;
	}
	assert_int_equal(sum, 0);
}

static void text_and_database_of_one_run_are_equal(void **state)
{
	struct comparison *comparison;

	(void)state;
	for (int i = 0; i < 2; i++)
		synth_write(below(i ? "text" : "db"),
			    (const char *const[]){ "--ranks", "2", "--steps", "3", "--layers", "2",
						   "--format", i ? "text" : "db", "--no-instances",
						   NULL });
	comparison = compare(below("db"), below("text"));
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		if (comparison->leaves.item[i].comm == SIZE_MAX)
			assert_int_equal(comparison->leaves.item[i].change.delta, 0);
	}
	for (size_t i = 0; i < comparison->comms.count; i++)
		assert_comm_is_equal(comparison, i);
	comparison_free(comparison);
}

static np_ns between_of(const struct comparison *comparison)
{
	np_ns sum = 0;

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		if (cmp_is_between(comparison->leaves.item[i].path))
			sum += comparison->leaves.item[i].change.delta;
	}
	return sum;
}

/* Without noise: four of five steps have an iteration, and 4 ms more of idle time behind it. */
static void idle_time_between_steps_is_in_the_step_and_in_its_leaves(void **state)
{
	const char *const common[] = { "--ranks", "2", "--steps",        "5", "--layers", "2",
				       "--noise", "0", "--no-instances", NULL };
	const char *const pause[] = { "--ranks",        "2",         "--steps", "5",
				      "--layers",       "2",         "--noise", "0",
				      "--no-instances", "--between", "4000",    NULL };
	struct comparison *comparison;

	(void)state;
	synth_write(below("base"), common);
	synth_write(below("new"), pause);
	comparison = compare(below("base"), below("new"));
	assert_int_equal(comparison->basis, NP_BASIS_ITERATION);
	assert_int_equal(comparison->sides[CMP_BASE].steps.count, 4);
	assert_int_equal(comparison->sides[CMP_BASE].cells, 8);
	assert_sums(comparison);
	assert_in_range(comparison->step.delta, 4000000, 4500000);
	assert_near((double)between_of(comparison), (double)comparison->step.delta, 1000);
	assert_int_equal(comparison->step.verdict, CMP_REGRESSION);
	assert_int_equal(comparison->causes.item[0].kind, CMP_CAUSE_BETWEEN);
	assert_string_equal(comparison->causes.item[0].what, "between/host");
	comparison_free(comparison);
}

/* One step has no iteration: the other side is then measured by its spans as well, all five. */
static void sides_are_on_the_same_basis(void **state)
{
	struct comparison *comparison;
	struct comparison *mirrored;

	(void)state;
	for (int i = 0; i < 2; i++)
		synth_write(below(i ? "new" : "base"),
			    (const char *const[]){ "--ranks", "2", "--steps", i ? "1" : "5",
						   "--layers", "2", "--between", "4000",
						   "--no-instances", NULL });
	comparison = compare(below("base"), below("new"));
	mirrored = compare(below("new"), below("base"));
	assert_int_equal(comparison->basis, NP_BASIS_SPAN);
	assert_int_equal(comparison->sides[CMP_BASE].steps.count, 5);
	assert_int_equal(comparison->sides[CMP_NEW].steps.count, 1);
	assert_sums(comparison);
	assert_mirrored(comparison, mirrored);
	for (size_t i = 0; i < comparison->leaves.count; i++)
		assert_false(cmp_is_between(comparison->leaves.item[i].path));
	assert_true(np_notes_count(&comparison->warnings, NP_NOTE_WARNING) > 0);
	comparison_free(comparison);
	comparison_free(mirrored);
}

/* Rank 1 is cut: its last steps are no cells, and the kernels of those are in no sum. */
static void steps_of_a_cut_rank_without_iteration_are_no_cells(void **state)
{
	struct comparison *comparison;

	(void)state;
	synth_write(below("cut"),
		    (const char *const[]){ "--ranks", "2", "--steps", "6", "--layers", "2",
					   "--truncate", "1:0.55", "--no-instances", NULL });
	comparison = compare(below("cut"), below("cut"));
	assert_int_equal(comparison->basis, NP_BASIS_ITERATION);
	assert_int_equal(comparison->sides[CMP_BASE].steps.count, 5);
	assert_int_equal(comparison->pairs.item[0].cells[CMP_BASE], 5);
	assert_in_range(comparison->pairs.item[1].cells[CMP_BASE], 1, 4);
	assert_sums(comparison);
	comparison_free(comparison);
}

/* Four ranks of a pipeline of two stages, and eight: roles are the same in the first of each. */
static void ranks_of_worlds_of_different_size_are_paired_by_role(void **state)
{
	struct comparison *comparison;

	(void)state;
	for (int i = 0; i < 2; i++)
		synth_write(below(i ? "eight" : "four"),
			    (const char *const[]){ "--ranks", i ? "8" : "4", "--tp", "2", "--dp",
						   i ? "4" : "2", "--steps", "2", "--layers", "2",
						   "--no-instances", NULL });
	comparison = compare(below("four"), below("eight"));
	assert_string_equal(comparison->paired_by, "role");
	assert_int_equal(comparison->pairs.count, 4);
	assert_sums(comparison);
	comparison_free(comparison);
}

static void a_slower_type_is_an_effect_of_speed(void **state)
{
	const char *common[] = { "--ranks", "2", "--steps", "4", "--layers",       "2",
				 "--seed",  "1", "--noise", "0", "--no-instances", NULL };
	const char *slow[] = { "--ranks",      "2", "--steps", "4", "--layers",       "2",
			       "--seed",       "1", "--noise", "0", "--no-instances", "--slow-type",
			       "MatMulV2:1.5", NULL };
	const struct cmp_leaf *leaf;
	struct comparison *comparison;

	(void)state;
	synth_write(below("base"), common);
	synth_write(below("new"), slow);
	comparison = compare(below("base"), below("new"));
	leaf = leaf_of(comparison, "compute/matmul/MatMulV2");
	assert_non_null(leaf);
	/* Times are rounded to whole ns before they are summed. */
	assert_near((double)leaf->change.ns[CMP_NEW], 1.5 * (double)leaf->change.ns[CMP_BASE], 100);
	for (size_t i = 0; i < comparison->kernels.count; i++) {
		const struct cmp_kernel *kernel = &comparison->kernels.item[i];

		assert_int_equal(kernel->count_effect, 0);
		assert_int_equal(kernel->mix_effect, 0);
		if (&comparison->leaves.item[kernel->leaf] == leaf)
			assert_true(kernel->speed_effect > 0);
	}
	assert_string_equal(comparison->causes.item[0].what, "MatMulV2");
	comparison_free(comparison);
}

static void casts_put_in_are_found_in_the_order_of_kernels(void **state)
{
	struct comparison *comparison;
	int64_t casts = 0;

	(void)state;
	synth_write(below("base"),
		    (const char *const[]){ "--ranks", "2", "--steps", "2", "--layers", "2",
					   "--no-instances", NULL });
	synth_write(below("new"),
		    (const char *const[]){ "--ranks", "2", "--steps", "2", "--layers", "2",
					   "--no-instances", "--extra-casts", "3", NULL });
	comparison = compare(below("base"), below("new"));
	for (size_t i = 0; i < comparison->structure.count; i++) {
		const struct cmp_structure *each = &comparison->structure.item[i];

		if (strcmp(each->kind, "conversion") == 0 && strcmp(each->what, "Cast") == 0)
			casts += each->count;
	}
	assert_int_equal(casts, 6);
	comparison_free(comparison);
}

static void another_shape_is_an_effect_of_the_mix(void **state)
{
	struct comparison *comparison;
	np_ns mix = 0;
	bool named = false;

	(void)state;
	synth_write(below("base"),
		    (const char *const[]){ "--ranks", "2", "--steps", "2", "--layers", "2",
					   "--no-instances", NULL });
	synth_write(below("new"),
		    (const char *const[]){ "--ranks", "2", "--steps", "2", "--layers", "2",
					   "--no-instances", "--reshape", "2", NULL });
	comparison = compare(below("base"), below("new"));
	for (size_t i = 0; i < comparison->kernels.count; i++)
		mix += comparison->kernels.item[i].mix_effect;
	assert_true(mix > 0);
	for (size_t i = 0; i < comparison->structure.count; i++)
		named = named ||
			(strcmp(comparison->structure.item[i].kind, "shape") == 0 &&
			 strcmp(comparison->structure.item[i].to, "8192,1024;3072,1024") == 0);
	assert_true(named);
	comparison_free(comparison);
}

/* Bytes that are allocated now. */
static size_t in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
	return mallinfo2().uordblks;
#else
	return (size_t)(unsigned)mallinfo().uordblks;
#endif
}

/* What a run of so many ranks, compared with itself, holds in the end; and its kernels. */
static size_t held_by(const char *ranks, int64_t *ret_kernels)
{
	const char *dir = below("of%s", ranks);
	struct comparison *comparison;
	size_t before;
	size_t held;

	synth_write(dir, (const char *const[]){ "--ranks", ranks, "--steps", "2", "--layers", "2",
						"--kernels-per-layer", "400", "--shapes", "2000",
						"--no-instances", NULL });
	before = in_use();
	comparison = compare(dir, dir);
	held = in_use() - before;
	*ret_kernels = 0;
	for (int i = 0; i < CMP_SIDES; i++) {
		for (size_t j = 0; j < comparison->sides[i].groups.count; j++)
			*ret_kernels += comparison->sides[i].groups.item[j].sum.count;
	}
	comparison_free(comparison);
	return held;
}

/* Where hardly two kernels are alike there are as many sums as kernels. */
static void kernels_of_many_shapes_take_few_bytes_of_a_further_rank(void **state)
{
	int64_t few;
	int64_t many;
	size_t held_by_few = held_by("2", &few);
	size_t held_by_many = held_by("6", &many);

	(void)state;
	assert_true(many > 2 * few);
	assert_in_range((held_by_many - held_by_few) / (size_t)(many - few), 0, 40);
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_FILES(whatever_is_compared_sums_up_and_mirrors),
		ON_FILES(kernels_summed_while_loading_are_those_read_one_by_one),
		ON_FILES(a_run_is_equal_to_itself_and_passes_every_gate),
		ON_FILES(text_and_database_of_one_run_are_equal),
		ON_FILES(idle_time_between_steps_is_in_the_step_and_in_its_leaves),
		ON_FILES(sides_are_on_the_same_basis),
		ON_FILES(steps_of_a_cut_rank_without_iteration_are_no_cells),
		ON_FILES(ranks_of_worlds_of_different_size_are_paired_by_role),
		ON_FILES(a_slower_type_is_an_effect_of_speed),
		ON_FILES(casts_put_in_are_found_in_the_order_of_kernels),
		ON_FILES(another_shape_is_an_effect_of_the_mix),
		ON_FILES(kernels_of_many_shapes_take_few_bytes_of_a_further_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
