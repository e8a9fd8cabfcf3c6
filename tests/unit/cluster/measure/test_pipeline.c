/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/pipeline.h"

#include "np_cluster_fixture.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/waits.h"

/* Rank 0 is the first of two stages; what it does is written down piece by piece. */
struct story {
	struct np_run *run;
	struct np_rank *rank;
	uint32_t pp;
	uint32_t dp;
	np_ns now;
	np_ns wait[16]; /* by operator */
};

static const struct np_parallel two_stages = {
	.known = true, .world = 2, .tp = 1, .pp = 2, .dp = 1, .cp = 1, .ep = 1
};

static struct story begin_with(int32_t profiled)
{
	struct story story = { .run = np_run_new() };

	for (int32_t i = 0; i < profiled; i++) {
		struct np_rank *rank = add_rank(story.run, i, true);

		rank->parallel = two_stages;
		if (i == 0)
			story.rank = rank;
	}
	story.pp = add_group(story.run, story.rank, 5, "pp", LIST(0, 1));
	story.dp = add_group(story.run, story.rank, 6, "dp", LIST(0));
	(void)add_step(story.run, story.rank, "3");
	return story;
}

static struct story begin(void)
{
	return begin_with(2);
}

static void end(struct story *story)
{
	np_run_free(story->run);
}

#define with_story NP_CLEANUP(end) struct story

static void add_segment(struct story *story, np_leaf leaf, np_ns length)
{
	struct np_activity *activity = &story->rank->activity;
	struct np_segment *segment = np_vec_add(&activity->segments, NULL);
	struct np_share *share = np_vec_add(&activity->shares, NULL);

	assert_non_null(segment);
	assert_non_null(share);
	*segment = (struct np_segment){ story->now, (uint32_t)(activity->shares.count - 1) };
	*share = (struct np_share){ leaf, (uint32_t)length };
	story->now += length;
}

static void compute(struct story *story, np_ns length)
{
	add_segment(story, np_leaf_make(NP_LEAF_COMPUTE, 0), length);
}

static void idle(struct story *story, np_ns length)
{
	add_segment(story, np_leaf_make(NP_LEAF_FREE_HOST, 0), length);
}

/* An operator of which nothing is hidden. */
static void communicate(struct story *story, const char *type, np_ns wait, np_ns transfer)
{
	bool p2p = np_op_is_p2p(type);
	struct np_comm_op *op = add_op(story->rank, p2p ? story->pp : story->dp, p2p);
	struct np_exposed *piece = np_vec_add(&story->rank->activity.exposed, NULL);
	uint32_t index = (uint32_t)(story->rank->ops.count - 1);

	assert_non_null(piece);
	assert_true(index < NP_COUNT(story->wait));
	op->type = intern(story->run, type);
	op->start = story->now;
	op->end = story->now + wait + transfer;
	op->bytes = NP_UNKNOWN;
	op->peer = p2p ? 2 : 0;
	*piece = (struct np_exposed){ op->start, op->end, index, 0, 0 };
	story->wait[index] = wait;
	add_segment(story, np_leaf_make(NP_LEAF_COMM, index), wait + transfer);
}

/* A strip has the same time in each kind, without a gap. */
static void assert_drawn(const struct np_strip *strip, const struct np_pipeline_time *time)
{
	const np_ns expected[NP_STRIP_KINDS] = {
		[NP_STRIP_USEFUL] = time->useful,     [NP_STRIP_OTHER_COMM] = time->other_comm,
		[NP_STRIP_WARMUP] = time->warmup,     [NP_STRIP_IMBALANCE] = time->imbalance,
		[NP_STRIP_TRANSFER] = time->transfer, [NP_STRIP_HOST] = time->host,
		[NP_STRIP_TAIL] = time->tail,
	};
	np_ns drawn[NP_STRIP_KINDS] = { 0 };
	np_ns at = 0;

	for (size_t i = 0; i < strip->slices.count; i++) {
		const struct np_strip_slice *slice = &strip->slices.item[i];

		assert_int_equal(slice->begin, at);
		assert_true(slice->end > slice->begin);
		drawn[slice->kind] += slice->end - slice->begin;
		at = slice->end;
	}
	assert_int_equal(at, time->span);
	for (size_t i = 0; i < NP_STRIP_KINDS; i++)
		assert_int_equal(drawn[i], expected[i]);
}

static struct np_pipeline told(struct story *story)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = NULL;
	NP_CLEANUP(np_align_freep) struct np_align *align = NULL;
	struct np_activity *activity = &story->rank->activity;
	struct np_activity_cell *cell = np_vec_add(&activity->cells, NULL);
	struct np_segment *last = np_vec_add(&activity->segments, NULL);
	struct np_step_time *time = np_vec_add(&story->rank->times, NULL);
	struct np_pipeline pipeline = { 0 };
	struct np_strips strips = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_waits waits = { 0 };
	np_ns by_slot[NP_COUNT(story->wait)] = { 0 };

	assert_non_null(cell);
	assert_non_null(last);
	assert_non_null(time);
	last->first = (uint32_t)activity->shares.count;
	*cell = (struct np_activity_cell){ .begin = 0,
					   .end = story->now,
					   .segments = (uint32_t)activity->segments.count - 1,
					   .exposed = (uint32_t)activity->exposed.count };
	time->span = story->now;
	assert_ok(np_cluster_build(story->run, &cluster, &err), err);
	assert_ok(np_align_build(story->run, 1, &align, &err), err);
	for (size_t i = 0; i < story->rank->ops.count; i++)
		by_slot[np_align_slot(align, 0, i)] = story->wait[i];
	waits.wait = by_slot;
	assert_ok(np_pipeline_measure(cluster, align, &waits, &pipeline, &err), err);
	assert_ok(np_pipeline_strips(cluster, align, &waits, &pipeline, 0, &strips, &err), err);
	assert_int_equal(strips.list.count, pipeline.list.count);
	for (size_t i = 0; i < strips.list.count; i++)
		assert_drawn(&strips.list.item[i], &pipeline.list.item[i]);
	np_strips_release(&strips);
	return pipeline;
}

#define with_pipeline NP_CLEANUP(np_pipeline_release) struct np_pipeline

static void assert_whole(const struct np_pipeline_time *time)
{
	assert_int_equal(time->useful + time->other_comm + time->warmup + time->imbalance +
				 time->transfer + time->host + time->tail,
			 time->span);
}

static void every_nanosecond_has_one_place(void **state)
{
	with_story story = begin();

	(void)state;
	compute(&story, 100);
	communicate(&story, "hcom_allReduce_", 7, 13);
	communicate(&story, "hcom_send_", 20, 10);
	communicate(&story, "hcom_receive_", 60, 10);
	compute(&story, 200);
	idle(&story, 5);
	communicate(&story, "hcom_allReduce_", 30, 11);
	with_pipeline pipeline = told(&story);
	const struct np_pipeline_time *time = pipeline.list.item;
	assert_int_equal(pipeline.list.count, 1);
	assert_int_equal(pipeline.stages, 2);
	assert_whole(time);
	assert_int_equal(time->useful, 300);
	/* Waiting for ranks of the same stage is no matter of the pipeline, but behind its end. */
	assert_int_equal(time->other_comm, 7 + 13 + 11);
	assert_int_equal(time->warmup, 20 + 60);
	assert_int_equal(time->imbalance, 0);
	assert_int_equal(time->transfer, 20);
	assert_int_equal(time->host, 5);
	assert_int_equal(time->tail, 30);
	/* One micro-batch: the other stage takes as long as this one works, 100 + 20 here. */
	assert_int_equal(time->micro_batches, 1);
	assert_int_equal(time->ideal, 120);
	assert_int_equal(time->excess, 80 + 20 + 5 + 30 - 120);
}

/* By the sizes of the parallel dimensions, and without them by the list of members. */
static void messages_to_a_stage_that_was_not_profiled_are_messages(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		with_story story = begin_with(1);

		story.rank->parallel.known = known;
		compute(&story, 100);
		communicate(&story, "hcom_send_", 20, 10);
		communicate(&story, "hcom_receive_", 60, 10);
		with_pipeline pipeline = told(&story);
		assert_int_equal(pipeline.stages, 2);
		assert_int_equal(pipeline.list.count, 1);
		assert_whole(pipeline.list.item);
		assert_int_equal(pipeline.list.item[0].other_comm, 0);
		assert_int_equal(pipeline.list.item[0].warmup, 20 + 60);
		assert_int_equal(pipeline.list.item[0].transfer, 20);
	}
}

static void waiting_between_gradients_is_imbalance(void **state)
{
	with_story story = begin();

	(void)state;
	for (int i = 0; i < 3; i++) {
		compute(&story, 10);
		communicate(&story, "hcom_send_", 0, 10);
		communicate(&story, "hcom_receive_", 30 + i, 10);
	}
	with_pipeline pipeline = told(&story);
	assert_int_equal(pipeline.list.count, 1);
	assert_whole(pipeline.list.item);
	assert_int_equal(pipeline.list.item[0].warmup, 30);
	assert_int_equal(pipeline.list.item[0].imbalance, 31 + 32);
	assert_int_equal(pipeline.list.item[0].micro_batches, 3);
}

static void gradients_of_what_was_taken_in_ahead_are_draining(void **state)
{
	with_story story = begin();

	(void)state;
	communicate(&story, "hcom_send_", 0, 10);
	communicate(&story, "hcom_send_", 0, 10);
	communicate(&story, "hcom_receive_", 30, 10);
	compute(&story, 10);
	communicate(&story, "hcom_send_", 5, 10);
	communicate(&story, "hcom_receive_", 31, 10);
	compute(&story, 10);
	communicate(&story, "hcom_receive_", 32, 10);
	with_pipeline pipeline = told(&story);
	assert_int_equal(pipeline.list.count, 1);
	assert_whole(pipeline.list.item);
	assert_int_equal(pipeline.list.item[0].warmup, 30 + 32);
	assert_int_equal(pipeline.list.item[0].imbalance, 5 + 31);
}

static void batches_are_taken_for_one_forward_one_backward(void **state)
{
	with_story story = begin();

	(void)state;
	/* One ahead, two exchanges of both, one for the last gradient: three micro-batches. */
	communicate(&story, "hcom_batchSendRecv_", 1, 10);
	communicate(&story, "hcom_batchSendRecv_", 20, 10);
	compute(&story, 10);
	communicate(&story, "hcom_batchSendRecv_", 300, 10);
	compute(&story, 10);
	communicate(&story, "hcom_batchSendRecv_", 4000, 10);
	with_pipeline pipeline = told(&story);
	assert_int_equal(pipeline.list.count, 1);
	assert_whole(pipeline.list.item);
	assert_int_equal(pipeline.list.item[0].micro_batches, 3);
	assert_int_equal(pipeline.list.item[0].warmup, 1 + 20 + 4000);
	assert_int_equal(pipeline.list.item[0].imbalance, 300);
	assert_int_equal(pipeline.list.item[0].transfer, 40);
}

static void a_rank_whose_waiting_is_unknown_has_no_row(void **state)
{
	with_story story = begin();

	(void)state;
	communicate(&story, "hcom_send_", 0, 10);
	communicate(&story, "hcom_receive_", 30, 10);
	story.wait[1] = NP_UNKNOWN;
	with_pipeline pipeline = told(&story);
	assert_int_equal(pipeline.list.count, 0);
}

static void without_stages_there_is_no_pipeline(void **state)
{
	with_story story = begin();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		story.run->ranks[i]->parallel.pp = 1;
		story.run->ranks[i]->parallel.dp = 2;
	}
	compute(&story, 10);
	communicate(&story, "hcom_allReduce_", 30, 10);
	with_pipeline pipeline = told(&story);
	assert_int_equal(pipeline.stages, 0);
	assert_int_equal(pipeline.list.count, 0);
}

/* --- to whom messages went -------------------------------------------------------------------- */

/* Three stages of one rank each with a message there and back between neighbours, n times. */
static struct np_run *three_stages(void)
{
	struct np_run *run = np_run_new();

	for (int32_t i = 0; i < 3; i++) {
		struct np_rank *rank = add_rank(run, i, true);

		rank->parallel = (struct np_parallel){
			.known = true, .world = 3, .tp = 1, .pp = 3, .dp = 1, .cp = 1, .ep = 1
		};
		(void)add_group(run, rank, 5, "pp", LIST(0, 1, 2));
	}
	return run;
}

/* A message that ends at this time; the receiver sees it 10 us later. */
static void send(struct np_run *run, int32_t from, int32_t to, np_ns end)
{
	struct np_comm_op *op = add_op(run->ranks[from], 0, true);

	*op = (struct np_comm_op){ .start = end - 1000,
				   .end = end,
				   .bytes = 64,
				   .p2p = true,
				   .type = intern(run, "hcom_send_") };
	op = add_op(run->ranks[to], 0, true);
	*op = (struct np_comm_op){ .start = end - 5000,
				   .end = end + 10000,
				   .bytes = 64,
				   .p2p = true,
				   .type = intern(run, "hcom_receive_") };
}

/* All clocks are right. NULL where nothing was found. */
static struct np_peers *find_peers(const struct np_run *run)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = build(run);
	struct np_clock_knot knot = { 0 };
	struct np_clock_rank ranks[3] = { { .knots = &knot, .knot_count = 1 },
					  { .knots = &knot, .knot_count = 1 },
					  { .knots = &knot, .knot_count = 1 } };
	const struct np_clock clock = { .ranks = ranks, .rank_count = 3, .residual_p90 = 1000 };
	struct np_err err = NP_ERR_INIT;
	struct np_peers *peers = NULL;

	assert_ok(np_pipeline_peers(cluster, &clock, &peers, &err), err);
	return peers;
}

/* The run itself stays as it was. */
static void assert_peers(const struct np_peers *peers, int32_t rank, const uint16_t *expected,
			 size_t count)
{
	assert_int_equal(peers->run->ranks[rank]->ops.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(peers->of_rank[rank][i], expected[i]);
		assert_int_equal(peers->run->ranks[rank]->ops.item[i].peer, 0);
	}
}

#define MS 1000000

static void messages_that_end_together_are_between_neighbours(void **state)
{
	with_run *run = three_stages();
	NP_CLEANUP(np_peers_freep) struct np_peers *peers = NULL;

	(void)state;
	send(run, 0, 1, 1 * MS);
	send(run, 1, 2, 2 * MS);
	send(run, 0, 1, 3 * MS);
	send(run, 2, 1, 4 * MS);
	send(run, 1, 0, 5 * MS);
	peers = find_peers(run);
	assert_non_null(peers);
	assert_peers(peers, 0, (const uint16_t[]){ 2, 2, 2 }, 3);
	assert_peers(peers, 1, (const uint16_t[]){ 1, 3, 1, 3, 1 }, 5);
	assert_peers(peers, 2, (const uint16_t[]){ 2, 2 }, 2);
}

/* Both ends count a transfer of their own: by 0.8 ms, where messages are 10 ms apart. */
static void ends_of_messages_may_be_apart_if_others_are_further(void **state)
{
	with_run *run = three_stages();
	NP_CLEANUP(np_peers_freep) struct np_peers *peers = NULL;

	(void)state;
	for (np_ns i = 1; i <= 4; i++) {
		send(run, 0, 1, (20 * i - 10) * MS);
		send(run, 2, 1, 20 * i * MS);
	}
	for (size_t i = 0; i < run->ranks[1]->ops.count; i++)
		run->ranks[1]->ops.item[i].end += 800000;
	peers = find_peers(run);
	assert_non_null(peers);
	assert_peers(peers, 0, (const uint16_t[]){ 2, 2, 2, 2 }, 4);
	assert_peers(peers, 1, (const uint16_t[]){ 1, 3, 1, 3, 1, 3, 1, 3 }, 8);
	assert_peers(peers, 2, (const uint16_t[]){ 2, 2, 2, 2 }, 4);
}

static void messages_that_end_at_one_time_on_both_sides_are_not_found(void **state)
{
	with_run *run = three_stages();

	(void)state;
	for (np_ns i = 1; i <= 4; i++) {
		send(run, 0, 1, i * MS);
		send(run, 2, 1, i * MS + 5000);
	}
	assert_null(find_peers(run));
}

/* The third's ends nearer to when the first's was sent than its own: the order tells. */
static void messages_that_end_together_by_chance_have_their_places_by_the_others(void **state)
{
	with_run *run = three_stages();
	NP_CLEANUP(np_peers_freep) struct np_peers *peers = NULL;

	(void)state;
	for (np_ns i = 1; i <= 9; i++) {
		send(run, 0, 1, 10 * i * MS);
		send(run, 2, 1, 10 * i * MS + (i == 5 ? 60000 : 5 * MS));
	}
	peers = find_peers(run);
	assert_non_null(peers);
	assert_peers(peers, 0, (const uint16_t[]){ 2, 2, 2, 2, 2, 2, 2, 2, 2 }, 9);
	assert_peers(peers, 1,
		     (const uint16_t[]){ 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3 },
		     18);
	assert_peers(peers, 2, (const uint16_t[]){ 2, 2, 2, 2, 2, 2, 2, 2, 2 }, 9);
}

/* What ended before it was sent came from elsewhere, however near. */
static void no_message_ends_before_it_was_sent(void **state)
{
	with_run *run = three_stages();

	(void)state;
	for (np_ns i = 1; i <= 4; i++) {
		send(run, 0, 1, 10 * i * MS);
		send(run, 1, 2, (10 * i + 1) * MS);
	}
	for (size_t i = 0; i < run->ranks[1]->ops.count; i++) {
		struct np_comm_op *op = &run->ranks[1]->ops.item[i];

		op->start -= i % 2 == 0 ? 200000 : 0;
		op->end -= i % 2 == 0 ? 120000 : 0;
	}
	assert_null(find_peers(run));
}

/* Interleaved stages send from the last to the first as well. */
static void messages_of_a_ring_of_stages_are_found(void **state)
{
	with_run *run = three_stages();
	NP_CLEANUP(np_peers_freep) struct np_peers *peers = NULL;

	(void)state;
	for (np_ns i = 1; i <= 4; i++) {
		send(run, 0, 1, 10 * i * MS);
		send(run, 1, 2, (10 * i + 1) * MS);
		send(run, 2, 0, (10 * i + 2) * MS);
	}
	peers = find_peers(run);
	assert_non_null(peers);
	assert_peers(peers, 0, (const uint16_t[]){ 2, 3, 2, 3, 2, 3, 2, 3 }, 8);
	assert_peers(peers, 1, (const uint16_t[]){ 1, 3, 1, 3, 1, 3, 1, 3 }, 8);
	assert_peers(peers, 2, (const uint16_t[]){ 2, 1, 2, 1, 2, 1, 2, 1 }, 8);
}

static void messages_that_say_it_are_left_alone(void **state)
{
	with_run *run = three_stages();

	(void)state;
	send(run, 0, 1, 1 * MS);
	run->ranks[0]->ops.item[0].peer = 3;
	assert_null(find_peers(run));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_nanosecond_has_one_place),
		cmocka_unit_test(messages_to_a_stage_that_was_not_profiled_are_messages),
		cmocka_unit_test(waiting_between_gradients_is_imbalance),
		cmocka_unit_test(gradients_of_what_was_taken_in_ahead_are_draining),
		cmocka_unit_test(batches_are_taken_for_one_forward_one_backward),
		cmocka_unit_test(a_rank_whose_waiting_is_unknown_has_no_row),
		cmocka_unit_test(without_stages_there_is_no_pipeline),
		cmocka_unit_test(messages_that_end_together_are_between_neighbours),
		cmocka_unit_test(ends_of_messages_may_be_apart_if_others_are_further),
		cmocka_unit_test(messages_that_end_at_one_time_on_both_sides_are_not_found),
		cmocka_unit_test(
			messages_that_end_together_by_chance_have_their_places_by_the_others),
		cmocka_unit_test(no_message_ends_before_it_was_sent),
		cmocka_unit_test(messages_of_a_ring_of_stages_are_found),
		cmocka_unit_test(messages_that_say_it_are_left_alone),
	};

	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
