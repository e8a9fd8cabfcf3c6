/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/comm_tasks.h"

#include "np_fault.h"
#include "np_test.h"

#include "npuprof/arena.h"

/* --- fixture: operators and their tasks ------------------------------------------------------- */

#define MOST_TASKS 32

struct fixture {
	struct np_rank *rank;
	struct np_strtab *strings;
	struct np_comm_task tasks[MOST_TASKS];
	size_t count;
	struct np_comm_tasks_form form;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t group;

	*state = fixture;
	fixture->rank = np_rank_new(0, "/rank0");
	fixture->strings = np_strtab_new();
	fixture->form = (struct np_comm_tasks_form){ .has_links = true };
	return np_rank_group(fixture->rank, 42, &group, NULL);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	np_rank_free(fixture->rank);
	np_strtab_free(fixture->strings);
	free(fixture);
	return 0;
}

static np_str intern(struct fixture *fixture, const char *text)
{
	np_str id = NP_STR_NONE;

	assert_int_equal(np_strtab_add(fixture->strings, text, strlen(text), &id, NULL), NP_OK);
	return id;
}

static uint32_t add_op(struct fixture *fixture, const char *name, np_ns start, np_ns end)
{
	struct np_comm_op *op = np_vec_add(&fixture->rank->ops, NULL);

	assert_non_null(op);
	*op = (struct np_comm_op){ .start = start,
				   .end = end,
				   .transfer = NP_LENGTH_UNKNOWN,
				   .name = intern(fixture, name),
				   .p2p = np_op_is_p2p(name) };
	return (uint32_t)(fixture->rank->ops.count - 1);
}

/* A task of `kind`; the caller adds what is special about it. */
static struct np_comm_task *add_task(struct fixture *fixture, uint32_t op, uint32_t plane,
				     enum np_comm_task_kind kind, np_ns start, np_ns end)
{
	struct np_comm_task *task = &fixture->tasks[fixture->count++];

	assert_true(fixture->count <= MOST_TASKS);
	*task = (struct np_comm_task){ .start = start,
				       .end = end,
				       .bytes = NP_UNKNOWN,
				       .op = op,
				       .plane = plane,
				       .src = NP_NO_PEER,
				       .dst = NP_NO_PEER,
				       .link = 0xffff,
				       .transport = 0xff,
				       .kind = (uint8_t)kind };
	return task;
}

/* A copy over a link. */
static struct np_comm_task *add_copy(struct fixture *fixture, uint32_t op, uint32_t plane,
				     np_ns start, np_ns end, int64_t bytes, uint16_t link,
				     int32_t src, int32_t dst)
{
	struct np_comm_task *task = add_task(fixture, op, plane, NP_TASK_PAYLOAD, start, end);

	task->bytes = bytes;
	task->link = link;
	task->transport = NP_TRANSPORT_SDMA;
	task->src = src;
	task->dst = dst;
	return task;
}

static void measure(struct fixture *fixture)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_comm_tasks_measure(fixture->rank, fixture->strings, fixture->tasks,
					fixture->count, fixture->form, &err),
		  err);
}

static void assert_times(const struct fixture *fixture, uint32_t index, np_ns transit, np_ns wait,
			 np_ns sync, np_ns transfer)
{
	const struct np_rank *rank = fixture->rank;
	struct np_vendor_times times = np_rank_vendor_times(rank, index);

	assert_int_equal(np_rank_length(rank, times.transit), transit);
	assert_int_equal(np_rank_length(rank, times.wait), wait);
	assert_int_equal(np_rank_length(rank, times.sync), sync);
	assert_int_equal(np_rank_length(rank, rank->ops.item[index].transfer), transfer);
}

static void assert_band(const struct np_band *band, enum np_band_type type, int64_t bytes,
			np_ns time, int64_t package_bytes, int64_t package_count,
			np_ns package_time)
{
	assert_int_equal(band->type, type);
	assert_int_equal(band->bytes, bytes);
	assert_int_equal(band->time, time);
	assert_int_equal(band->package_bytes, package_bytes);
	assert_int_equal(band->package_count, package_count);
	assert_int_equal(band->package_time, package_time);
}

/* The pick of a link, or NULL. */
static const struct np_link *find_link(const struct fixture *fixture, enum np_link_pick pick,
				       int32_t src, int32_t dst)
{
	for (size_t i = 0; i < fixture->rank->links.count; i++) {
		const struct np_link *link = &fixture->rank->links.item[i];

		if (link->pick == pick && link->src == src && link->dst == dst)
			return link;
	}
	return NULL;
}

/* --- times on the master plane ---------------------------------------------------------------- */

/*
 * Plane 0 spans the operator with copies on the chip; plane 1 waits 10, sends 20,
 * waits 5, sends 15: transit 35, wait 15, sync 10 (the wait before the first send).
 */
static void without_a_mark_plane_1_is_the_master(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 0, 0, 8, 1000, NP_LINK_ON_CHIP, 0, NP_NO_PEER);
	add_task(fixture, op, 0, NP_TASK_NOTIFY_WAIT, 8, 90);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 10, 20);
	add_copy(fixture, op, 1, 20, 40, 1000, NP_LINK_HCCS, 0, 1);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 40, 45);
	add_copy(fixture, op, 1, 45, 60, 1000, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 2, 50, 70, 1000, NP_LINK_HCCS, 0, 2);
	measure(fixture);
	/* Payload over all planes: 0-8, 20-40, 45-70 = 53. */
	assert_times(fixture, op, 35, 15, 10, 53);
}

static void the_lowest_plane_on_which_something_happened_is_the_master(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_task(fixture, op, 1, NP_TASK_OTHER, 0, 90);
	add_copy(fixture, op, 1, 0, 5, 10, NP_LINK_ON_CHIP, 0, NP_NO_PEER);
	add_copy(fixture, op, 4, 20, 40, 1000, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 3, 30, 37, 1000, NP_LINK_HCCS, 0, 2);
	measure(fixture);
	assert_times(fixture, op, 7, 0, 0, 25);
}

static void plane_0_is_the_master_when_nothing_else_is_there(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_broadcast__210_0_1", 0, 100);

	add_task(fixture, op, 0, NP_TASK_NOTIFY_WAIT, 0, 30);
	add_copy(fixture, op, 0, 30, 70, 1000, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_times(fixture, op, 40, 30, 30, 40);
}

/* cluster: new CANN marks a plane, which may hold local copies only: transit 0 is what it says. */
static void the_marked_plane_is_the_master(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	fixture->form.has_master = true;
	add_copy(fixture, op, 0, 0, 8, 1000, NP_LINK_ON_CHIP, 0, NP_NO_PEER)->master = true;
	add_task(fixture, op, 0, NP_TASK_NOTIFY_WAIT, 8, 10)->master = true;
	add_copy(fixture, op, 1, 20, 40, 1000, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_times(fixture, op, 0, 2, 2, 28);
}

static void of_several_marked_planes_the_first_in_time_is_the_master(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	fixture->form.has_master = true;
	add_copy(fixture, op, 1, 50, 60, 1000, NP_LINK_HCCS, 0, 1)->master = true;
	add_copy(fixture, op, 2, 20, 25, 1000, NP_LINK_HCCS, 0, 1)->master = true;
	measure(fixture);
	assert_times(fixture, op, 5, 0, 0, 15);
}

static void marks_do_not_count_where_the_column_is_absent(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 2, 20, 25, 1000, NP_LINK_HCCS, 0, 1)->master = true;
	add_copy(fixture, op, 1, 50, 60, 1000, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_times(fixture, op, 10, 0, 0, 15);
}

static void an_operator_of_which_no_task_is_marked_has_the_old_rule(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	fixture->form.has_master = true;
	add_copy(fixture, op, 0, 0, 8, 1000, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 1, 50, 60, 1000, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_times(fixture, op, 10, 0, 0, 18);
}

static void all_waits_are_synchronisation_when_nothing_is_sent(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 0, 30);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 30, 35);
	measure(fixture);
	assert_times(fixture, op, 0, 35, 35, 0);
}

/* A copy on the chip crosses no link: waits after it still come before the first send. */
static void a_local_copy_does_not_end_the_synchronisation(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 1, 0, 5, 10, NP_LINK_ON_CHIP, 0, NP_NO_PEER);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 5, 30);
	add_copy(fixture, op, 1, 30, 40, 10, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_times(fixture, op, 10, 25, 25, 15);
}

static void the_order_of_the_tasks_does_not_matter(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);
	uint32_t second = add_op(fixture, "hcom_allReduce__210_1_1", 200, 300);

	add_copy(fixture, second, 1, 210, 230, 10, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, first, 1, 45, 60, 10, NP_LINK_HCCS, 0, 1);
	add_task(fixture, first, 1, NP_TASK_NOTIFY_WAIT, 40, 45);
	add_task(fixture, second, 1, NP_TASK_NOTIFY_WAIT, 230, 240);
	add_copy(fixture, first, 1, 20, 40, 10, NP_LINK_HCCS, 0, 1);
	add_task(fixture, first, 1, NP_TASK_NOTIFY_WAIT, 10, 20);
	measure(fixture);
	assert_times(fixture, first, 35, 15, 10, 35);
	assert_times(fixture, second, 20, 10, 0, 20);
}

static void an_operator_without_tasks_stays_unknown(void **state)
{
	struct fixture *fixture = *state;
	uint32_t without = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);
	uint32_t with = add_op(fixture, "hcom_allReduce__210_1_1", 0, 100);

	add_copy(fixture, with, 1, 0, 10, 10, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_times(fixture, without, NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN);
}

static void no_tasks_at_all_are_allowed(void **state)
{
	struct fixture *fixture = *state;

	measure(fixture);
	assert_int_equal(fixture->rank->bands.count, 0);
	assert_int_equal(fixture->rank->links.count, 0);
}

/* Clocks of tasks and operators differ by a little: transfer never exceeds the operator. */
static void transfer_is_never_longer_than_the_operator(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 50);

	add_copy(fixture, op, 1, 0, 60, 10, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_int_equal(fixture->rank->ops.item[op].transfer, 50);
}

/* --- Level0 ----------------------------------------------------------------------------------- */

static void at_level0_transit_is_the_union_of_payload_and_wait_the_rest(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 100, 200);

	fixture->form.has_links = false;
	add_task(fixture, op, 0, NP_TASK_NOTIFY_WAIT, 100, 130);
	add_task(fixture, op, 0, NP_TASK_PAYLOAD, 130, 150);
	add_task(fixture, op, 0, NP_TASK_PAYLOAD, 140, 160);
	add_task(fixture, op, 0, NP_TASK_PAYLOAD, 170, 180);
	measure(fixture);
	/* Payload 130-160, 170-180 = 40 of 100; the first begins 30 after the start. */
	assert_times(fixture, op, 40, 60, 30, 40);
	assert_int_equal(fixture->rank->bands.count, 0);
	assert_int_equal(fixture->rank->links.count, 0);
}

static void at_level0_an_operator_without_payload_only_waits(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 100, 200);

	fixture->form.has_links = false;
	add_task(fixture, op, 0, NP_TASK_NOTIFY_WAIT, 100, 130);
	measure(fixture);
	assert_times(fixture, op, 0, 100, 100, 0);
}

/* --- RDMA ------------------------------------------------------------------------------------- */

/*
 * A collective closes a group with 5 tasks, the last send included: k sends, then
 * the closing task at i + k + 3. Two sends at 10 and 20, then 4 more tasks, the
 * last of which (index 5) ends at 60: one transfer of 10 to 60 with both sizes.
 */
static void an_rdma_group_lasts_until_its_closing_task(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);
	struct np_comm_task *send;

	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 0, 10);
	send = add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, 10, 12);
	send->bytes = 300;
	send->src = 0;
	send->dst = 8;
	add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, 20, 22)->bytes = 400;
	add_task(fixture, op, 1, NP_TASK_OTHER, 22, 24);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 24, 40);
	add_task(fixture, op, 1, NP_TASK_OTHER, 40, 42);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 42, 60);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 70, 75);
	measure(fixture);
	/* Waits inside the group are part of the transfer; before it 10 and after it 5. */
	assert_times(fixture, op, 50, 15, 10, 50);
	assert_int_equal(fixture->rank->bands.count, 1);
	assert_band(&fixture->rank->bands.item[0], NP_BAND_RDMA, 700, 50, 700, 1, 50);
	assert_non_null(find_link(fixture, NP_LINK_TOTAL, 0, 8));
	assert_int_equal(find_link(fixture, NP_LINK_TOTAL, 0, 8)->bytes, 700);
	assert_string_equal(np_strtab_text(fixture->strings,
					   find_link(fixture, NP_LINK_TOTAL, 0, 8)->transport),
			    "RDMA");
}

/* A send or a receive closes with 3: the closing task stands at i + k + 1. */
static void send_and_receive_close_an_rdma_group_sooner(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_send__210_0_1", 0, 100);

	add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, 10, 12)->bytes = 300;
	add_task(fixture, op, 1, NP_TASK_OTHER, 12, 14);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 14, 30);
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 30, 37);
	measure(fixture);
	assert_times(fixture, op, 20, 7, 0, 20);
}

static void two_rdma_groups_follow_each_other(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_receive__210_0_1", 0, 100);

	for (int i = 0; i < 2; i++) {
		np_ns at = i * 50;

		add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, at, at + 2)->bytes = 300;
		add_task(fixture, op, 1, NP_TASK_OTHER, at + 2, at + 4);
		add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, at + 4, at + 10);
	}
	measure(fixture);
	assert_times(fixture, op, 20, 0, 0, 20);
	assert_band(&fixture->rank->bands.item[0], NP_BAND_RDMA, 600, 20, 300, 2, 20);
}

static void an_rdma_group_that_is_not_closed_is_no_transfer(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, 10, 12)->bytes = 300;
	add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, 12, 14)->bytes = 300;
	add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, 14, 30);
	measure(fixture);
	assert_times(fixture, op, 0, 16, 16, 0);
	assert_int_equal(fixture->rank->bands.count, 0);
	assert_int_equal(fixture->rank->links.count, 0);
}

static void sends_at_the_very_end_are_skipped(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 1, 0, 10, 10, NP_LINK_HCCS, 0, 1);
	add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, 10, 12);
	add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, 12, 14);
	measure(fixture);
	assert_times(fixture, op, 10, 0, 0, 10);
}

/* --- bandwidth -------------------------------------------------------------------------------- */

/*
 * HCCS: 40 MB in 10, 40 MB in 12, 1 MB in 3 (one of them HCCS_SW); PCIE 5 MB in 7;
 * SIO 2 MB in 4; another link 3 MB in 6. SDMA sums all six: 91 MB in 42.
 */
static void packets_are_summed_by_transport_and_size(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);
	const struct np_band *bands;

	add_copy(fixture, op, 1, 0, 10, 40000000, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 2, 0, 12, 40000000, NP_LINK_HCCS_SW, 0, 1);
	add_copy(fixture, op, 3, 0, 3, 1000000, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 4, 0, 7, 5000000, NP_LINK_PCIE, 0, 2);
	add_copy(fixture, op, 5, 0, 4, 2000000, NP_LINK_SIO, 0, 3);
	add_copy(fixture, op, 6, 0, 6, 3000000, 9, 0, 4);
	measure(fixture);
	bands = fixture->rank->bands.item;
	assert_int_equal(fixture->rank->bands.count, 5);
	assert_band(&bands[0], NP_BAND_HCCS, 81000000, 25, 40000000, 2, 22);
	assert_band(&bands[1], NP_BAND_HCCS, 81000000, 25, 1000000, 1, 3);
	assert_band(&bands[2], NP_BAND_PCIE, 5000000, 7, 5000000, 1, 7);
	assert_band(&bands[3], NP_BAND_SDMA, 91000000, 42, 0, 0, 0);
	assert_band(&bands[4], NP_BAND_SIO, 2000000, 4, 2000000, 1, 4);
	/* Two of three HCCS packets exceed 32 MB. */
	assert_near(bands[0].large_packet_ratio, 0.6667, 1e-9);
	assert_near(bands[1].large_packet_ratio, 0.6667, 1e-9);
	assert_near(bands[2].large_packet_ratio, 0, 1e-9);
	assert_near(bands[3].large_packet_ratio, 0, 1e-9);
}

static void a_packet_of_exactly_the_limit_is_not_large(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 1, 0, 10, 32000000, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 1, 10, 20, 32000001, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_near(fixture->rank->bands.item[0].large_packet_ratio, 0.5, 1e-9);
}

static void rdma_packets_are_large_from_half_a_megabyte(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_send__210_0_1", 0, 100);

	for (int i = 0; i < 2; i++) {
		np_ns at = i * 20;

		add_task(fixture, op, 1, NP_TASK_RDMA_PAYLOAD, at, at + 2)->bytes = 500000 + i;
		add_task(fixture, op, 1, NP_TASK_OTHER, at + 2, at + 4);
		add_task(fixture, op, 1, NP_TASK_NOTIFY_WAIT, at + 4, at + 10);
	}
	measure(fixture);
	assert_int_equal(fixture->rank->bands.count, 2);
	assert_near(fixture->rank->bands.item[0].large_packet_ratio, 0.5, 1e-9);
	/* Larger sizes first. */
	assert_int_equal(fixture->rank->bands.item[0].package_bytes, 500001);
}

static void local_copies_are_in_no_transport(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 0, 0, 10, 40, NP_LINK_ON_CHIP, 0, NP_NO_PEER);
	measure(fixture);
	assert_int_equal(fixture->rank->bands.count, 0);
	assert_int_equal(fixture->rank->ops.item[op].transfer, 10);
}

/* formats §2.3: buckets whose numbers sum to 0 are omitted. */
static void a_transport_that_moved_nothing_in_no_time_has_no_row(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 1, 10, 10, 0, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_int_equal(fixture->rank->bands.count, 0);
}

/* --- links ------------------------------------------------------------------------------------ */

static void links_are_labelled_by_their_type_and_local_ones_stay_on_their_rank(void **state)
{
	static const struct {
		uint16_t link;
		const char *label;
	} links[] = {
		{ NP_LINK_ON_CHIP, "LOCAL" },
		{ NP_LINK_HCCS, "HCCS" },
		{ NP_LINK_PCIE, "PCIE" },
		{ NP_LINK_ROCE, "ROCE" },
		{ NP_LINK_SIO, "SIO" },
		{ NP_LINK_HCCS_SW, "HCCS" },
		{ NP_LINK_STANDARD_ROCE, "STANDARD_ROCE" },
		{ NP_LINK_UB, "UB" },
		{ NP_LINK_UBOE, "UBoE" },
		{ 77, "SDMA" },
	};
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	for (size_t i = 0; i < NP_COUNT(links); i++)
		add_copy(fixture, op, 1, (np_ns)i, (np_ns)i + 1, 10, links[i].link, (int32_t)i,
			 links[i].link == NP_LINK_ON_CHIP ? NP_NO_PEER : 20);
	measure(fixture);
	for (size_t i = 0; i < NP_COUNT(links); i++) {
		int32_t dst = links[i].link == NP_LINK_ON_CHIP ? (int32_t)i : 20;
		const struct np_link *link = find_link(fixture, NP_LINK_TOTAL, (int32_t)i, dst);

		assert_non_null(link);
		assert_string_equal(np_strtab_text(fixture->strings, link->transport),
				    links[i].label);
	}
}

static void copies_over_ub_are_transfers_of_their_own_link(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 1, 10, 30, 2000000, NP_LINK_UB, 0, 1)->transport = NP_TRANSPORT_UB;
	measure(fixture);
	assert_int_equal(fixture->rank->ops.item[op].transfer, 20);
	assert_int_equal(find_link(fixture, NP_LINK_TOTAL, 0, 1)->bytes, 2000000);
	assert_int_equal(fixture->rank->transfers.count, 1);
	assert_string_equal(
		np_strtab_text(fixture->strings, fixture->rank->transfers.item[0].transport), "UB");
}

static void transfers_of_unknown_size_have_no_bandwidth_but_take_time(void **state)
{
	static const int64_t sizes[] = { 0, NP_UNKNOWN };
	struct fixture *fixture = *state;

	fixture->rank->sizes_known = true;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", (np_ns)i * 100,
				     (np_ns)i * 100 + 100);

		add_copy(fixture, op, 1, (np_ns)i * 100, (np_ns)i * 100 + 60, sizes[i],
			 NP_LINK_HCCS, 0, 1);
	}
	measure(fixture);
	assert_int_equal(fixture->rank->ops.item[0].transfer, 60);
	assert_int_equal(fixture->rank->ops.item[1].transfer, 60);
	assert_int_equal(fixture->rank->bands.count, 0);
	assert_int_equal(fixture->rank->links.count, 0);
	assert_int_equal(fixture->rank->transfers.count, 0);
	assert_false(fixture->rank->sizes_known);
	assert_int_equal(fixture->rank->notes.list.count, 1);
	assert_non_null(strstr(fixture->rank->notes.list.item[0].reason, "2 of 2 transfers"));
}

static void a_known_size_stands_beside_one_that_is_not(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 200);

	fixture->rank->sizes_known = true;
	add_copy(fixture, op, 1, 0, 100, 0, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 1, 100, 150, 4000000, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_true(fixture->rank->sizes_known);
	assert_int_equal(fixture->rank->bands.item[0].bytes, 4000000);
	assert_int_equal(fixture->rank->bands.item[0].time, 50);
	assert_int_equal(find_link(fixture, NP_LINK_TOTAL, 0, 1)->time, 50);
}

static void a_task_without_a_source_is_none_of_a_link(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);

	add_copy(fixture, op, 1, 0, 10, 10, NP_LINK_HCCS, NP_NO_PEER, 3);
	measure(fixture);
	assert_int_equal(fixture->rank->links.count, 0);
	assert_int_equal(fixture->rank->bands.count, 2);
}

/* Operator i moves 100 bytes over link 0-1 in times[i]: the shorter, the better. */
static void add_ops_on_a_link(struct fixture *fixture, const np_ns *times, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char name[64];
		uint32_t op;

		(void)snprintf(name, sizeof(name), "hcom_allReduce__210_%zu_1", i);
		op = add_op(fixture, name, (np_ns)i * 1000, (np_ns)i * 1000 + 900);
		add_copy(fixture, op, 1, (np_ns)i * 1000, (np_ns)i * 1000 + times[i], 100,
			 NP_LINK_HCCS, 0, 1);
	}
}

/* Expected operator of a pick by its number in the name; -1 for no such pick. */
static void assert_pick(const struct fixture *fixture, enum np_link_pick pick, int expected)
{
	const struct np_link *link = find_link(fixture, pick, 0, 1);
	char name[64];

	if (expected < 0) {
		assert_null(link);
		return;
	}
	assert_non_null(link);
	(void)snprintf(name, sizeof(name), "hcom_allReduce__210_%d_1", expected);
	assert_string_equal(np_strtab_text(fixture->strings, link->op_name), name);
	assert_string_equal(np_strtab_text(fixture->strings, link->op_class), "allreduce");
	assert_int_equal(link->bytes, 100);
}

static void one_operator_is_top_middle_and_bottom(void **state)
{
	struct fixture *fixture = *state;

	add_ops_on_a_link(fixture, (const np_ns[]){ 10 }, 1);
	measure(fixture);
	assert_pick(fixture, NP_LINK_TOP1, 0);
	assert_pick(fixture, NP_LINK_MIDDLE, 0);
	assert_pick(fixture, NP_LINK_BOTTOM1, 0);
	assert_pick(fixture, NP_LINK_BOTTOM2, -1);
	assert_pick(fixture, NP_LINK_BOTTOM3, -1);
}

/* Sorted by bandwidth: 1, 0. */
static void of_two_operators_the_second_is_the_middle(void **state)
{
	struct fixture *fixture = *state;

	add_ops_on_a_link(fixture, (const np_ns[]){ 20, 10 }, 2);
	measure(fixture);
	assert_pick(fixture, NP_LINK_TOP1, 1);
	assert_pick(fixture, NP_LINK_MIDDLE, 0);
	assert_pick(fixture, NP_LINK_BOTTOM1, 0);
	assert_pick(fixture, NP_LINK_BOTTOM2, 1);
	assert_pick(fixture, NP_LINK_BOTTOM3, -1);
}

/* Sorted: 1, 2, 0. */
static void of_three_operators_each_is_a_bottom(void **state)
{
	struct fixture *fixture = *state;

	add_ops_on_a_link(fixture, (const np_ns[]){ 30, 10, 20 }, 3);
	measure(fixture);
	assert_pick(fixture, NP_LINK_TOP1, 1);
	assert_pick(fixture, NP_LINK_MIDDLE, 2);
	assert_pick(fixture, NP_LINK_BOTTOM1, 0);
	assert_pick(fixture, NP_LINK_BOTTOM2, 2);
	assert_pick(fixture, NP_LINK_BOTTOM3, 1);
}

/* Sorted: 1, 3, 2, 0; total 400 bytes in 100. */
static void of_four_operators_the_third_is_the_middle(void **state)
{
	struct fixture *fixture = *state;
	const struct np_link *total;

	add_ops_on_a_link(fixture, (const np_ns[]){ 40, 10, 30, 20 }, 4);
	measure(fixture);
	assert_pick(fixture, NP_LINK_TOP1, 1);
	assert_pick(fixture, NP_LINK_MIDDLE, 2);
	assert_pick(fixture, NP_LINK_BOTTOM1, 0);
	assert_pick(fixture, NP_LINK_BOTTOM2, 2);
	assert_pick(fixture, NP_LINK_BOTTOM3, 3);
	total = find_link(fixture, NP_LINK_TOTAL, 0, 1);
	assert_int_equal(total->bytes, 400);
	assert_int_equal(total->time, 100);
	assert_int_equal(total->op_name, NP_STR_NONE);
}

static void equal_bandwidths_keep_the_order_of_the_operators(void **state)
{
	struct fixture *fixture = *state;

	add_ops_on_a_link(fixture, (const np_ns[]){ 10, 10, 10 }, 3);
	measure(fixture);
	assert_pick(fixture, NP_LINK_TOP1, 0);
	assert_pick(fixture, NP_LINK_MIDDLE, 1);
	assert_pick(fixture, NP_LINK_BOTTOM1, 2);
}

/*
 * 8 bytes in 1300 ns are 0.00615 GB/s. In 1280 ns they are 0.00625, which as a quotient of
 * doubles, 8e-06 MB by 0.00128 ms, is a little less: 0.0062 both.
 */
static void bandwidths_that_are_equal_when_rounded_keep_the_order_of_the_operators(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first = add_op(fixture, "hcom_allReduce__210_4_1", 0, 9000);
	uint32_t second = add_op(fixture, "hcom_allReduce__210_5_1", 10000, 19000);

	add_copy(fixture, first, 1, 0, 1300, 8, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, second, 1, 10000, 11280, 8, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_string_equal(
		np_strtab_text(fixture->strings, find_link(fixture, NP_LINK_TOP1, 0, 1)->op_name),
		"hcom_allReduce__210_4_1");
	assert_string_equal(np_strtab_text(fixture->strings,
					   find_link(fixture, NP_LINK_BOTTOM1, 0, 1)->op_name),
			    "hcom_allReduce__210_5_1");
}

/* 0.00006 and 0.00122 ms are a little less than 0.00128: 0.0063, and the other 0.0062. */
static void times_of_tasks_are_summed_as_the_vendor_sums_them(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first = add_op(fixture, "hcom_allReduce__210_4_1", 0, 9000);
	uint32_t second = add_op(fixture, "hcom_allReduce__210_5_1", 10000, 19000);

	add_copy(fixture, first, 1, 0, 1280, 8, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, second, 1, 10000, 10060, 4, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, second, 1, 11000, 12220, 4, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	assert_string_equal(
		np_strtab_text(fixture->strings, find_link(fixture, NP_LINK_TOP1, 0, 1)->op_name),
		"hcom_allReduce__210_5_1");
}

static void tasks_of_one_operator_on_one_link_are_summed(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);
	const struct np_link *link;

	add_copy(fixture, op, 1, 0, 10, 10, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 2, 20, 25, 30, NP_LINK_HCCS, 0, 1);
	add_copy(fixture, op, 3, 20, 25, 50, NP_LINK_HCCS, 1, 0);
	measure(fixture);
	link = find_link(fixture, NP_LINK_TOP1, 0, 1);
	assert_int_equal(link->bytes, 40);
	assert_int_equal(link->time, 15);
	assert_int_equal(find_link(fixture, NP_LINK_TOTAL, 1, 0)->bytes, 50);
}

static void classes_steps_and_communicators_are_kept_apart(void **state)
{
	struct fixture *fixture = *state;
	uint32_t ops[4];
	uint32_t group;

	assert_int_equal(np_rank_group(fixture->rank, 43, &group, NULL), NP_OK);
	ops[0] = add_op(fixture, "hcom_allReduce__210_0_1", 0, 100);
	ops[1] = add_op(fixture, "hcom_allGather__210_0_1", 0, 100);
	ops[2] = add_op(fixture, "hcom_allReduce__210_1_1", 0, 100);
	ops[3] = add_op(fixture, "hcom_allReduce__210_2_1", 0, 100);
	fixture->rank->ops.item[ops[2]].step = 1;
	fixture->rank->ops.item[ops[3]].group = group;
	for (size_t i = 0; i < 4; i++)
		add_copy(fixture, ops[i], 1, 0, 10, 10, NP_LINK_HCCS, 0, 1);
	measure(fixture);
	/* Four links of one operator each: top1, middle, bottom1 and total. */
	assert_int_equal(fixture->rank->links.count, 16);
}

/* --- np_op_class ------------------------------------------------------------------------------ */

/* --- transfers -------------------------------------------------------------------------------- */

static void add_transfer(struct fixture *fixture, uint32_t op, uint32_t plane, int32_t dst,
			 np_ns start, np_ns end, int64_t bytes)
{
	struct np_comm_task *task = add_task(fixture, op, plane, NP_TASK_PAYLOAD, start, end);

	task->bytes = bytes;
	task->src = 0;
	task->dst = dst;
	task->link = NP_LINK_HCCS;
	task->transport = NP_TRANSPORT_SDMA;
}

static void transfers_are_joined_by_link_and_size_and_keep_the_middle_one(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__042_0_1", 0, 10000);
	const struct np_transfer *row;

	/* 100, 300 and 200 ns for a kilobyte; then half of it, and another rank. */
	add_transfer(fixture, op, 1, 1, 1000, 1100, 1024);
	add_transfer(fixture, op, 1, 1, 2000, 2300, 1024);
	add_transfer(fixture, op, 1, 1, 3000, 3200, 1024);
	add_transfer(fixture, op, 1, 1, 4000, 4050, 512);
	add_transfer(fixture, op, 1, 2, 5000, 5070, 1024);
	measure(fixture);
	assert_int_equal(fixture->rank->transfers.count, 3);
	row = &fixture->rank->transfers.item[1];
	assert_int_equal(row->dst, 1);
	assert_int_equal(row->count, 3);
	assert_int_equal(row->bytes, 3 * 1024);
	assert_int_equal(row->time, 600);
	assert_int_equal(row->middle_time, 200);
	assert_int_equal(row->middle_bytes, 1024);
	assert_int_equal(row->concurrency, 0);
	assert_string_equal(np_strtab_text(fixture->strings, row->transport), "HCCS");
	assert_int_equal(fixture->rank->transfers.item[0].bytes, 512);
	assert_int_equal(fixture->rank->transfers.item[2].dst, 2);
}

static void transfers_know_how_many_ran_with_them(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__042_0_1", 0, 10000);

	/* Three at once, of which one lasts much longer than the others; then one alone. */
	add_transfer(fixture, op, 1, 1, 1000, 1100, 1024);
	add_transfer(fixture, op, 2, 2, 1000, 2600, 1024);
	add_transfer(fixture, op, 3, 3, 1000, 1100, 1024);
	add_transfer(fixture, op, 1, 4, 3000, 3100, 1024);
	measure(fixture);
	assert_int_equal(fixture->rank->transfers.count, 4);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture->rank->transfers.item[i].concurrency, 2);
	assert_int_equal(fixture->rank->transfers.item[3].concurrency, 0);
}

static void tell_members(struct np_rank *rank, uint32_t group, const int32_t *members, size_t count)
{
	struct np_group *told = &rank->groups.item[group];
	int32_t *copy = np_arena_array(rank->arena, count, sizeof(*members));

	assert_non_null(copy);
	memcpy(copy, members, count * sizeof(*members));
	told->members = copy;
	told->member_count = count;
}

/*
 * Three at once, two of them to rank 2, which is the second one of the other
 * communicator: their link is shared.
 */
static void transfers_know_how_many_ran_over_the_same_link(void **state)
{
	struct fixture *fixture = *state;
	struct np_rank *rank = fixture->rank;
	uint32_t op = add_op(fixture, "hcom_allReduce__042_0_1", 0, 10000);
	uint32_t pair;

	assert_int_equal(np_rank_group(rank, 43, &pair, NULL), NP_OK);
	tell_members(rank, 0, (const int32_t[]){ 0, 1, 2 }, 3);
	tell_members(rank, pair, (const int32_t[]){ 0, 2 }, 2);
	add_transfer(fixture, op, 1, 1, 1000, 1100, 1024);
	add_transfer(fixture, op, 2, 2, 1000, 1200, 1024);
	op = add_op(fixture, "hcom_allReduce__043_0_1", 0, 10000);
	rank->ops.item[op].group = pair;
	add_transfer(fixture, op, 1, 1, 1000, 1200, 1024);
	measure(fixture);
	assert_int_equal(rank->transfers.count, 3);
	assert_int_equal(rank->transfers.item[0].concurrency, 2);
	assert_int_equal(rank->transfers.item[1].concurrency, 2 | 1 << NP_CONCURRENCY_LINK_SHIFT);
	assert_int_equal(rank->transfers.item[2].concurrency, 2 | 1 << NP_CONCURRENCY_LINK_SHIFT);
}

static void what_stays_on_the_device_or_has_no_size_is_no_transfer(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__042_0_1", 0, 10000);

	add_transfer(fixture, op, 1, 0, 1000, 1100, 1024);
	add_transfer(fixture, op, 1, NP_NO_PEER, 2000, 2100, 1024);
	add_transfer(fixture, op, 1, 1, 3000, 3100, NP_UNKNOWN);
	add_transfer(fixture, op, 1, 1, 4000, 4000, 1024);
	measure(fixture);
	assert_int_equal(fixture->rank->transfers.count, 0);
}

static void operators_that_were_retried_mark_their_transfers(void **state)
{
	struct fixture *fixture = *state;
	uint32_t op = add_op(fixture, "hcom_allReduce__042_0_1", 0, 10000);

	fixture->rank->ops.item[op].retried = true;
	add_transfer(fixture, op, 1, 1, 1000, 1100, 1024);
	measure(fixture);
	assert_int_equal(fixture->rank->transfers.item[0].troubled, 1);
}

static void sizes_have_four_classes_to_the_octave(void **state)
{
	(void)state;
	assert_int_equal(np_transfer_class(1279), np_transfer_class(1024));
	assert_int_equal(np_transfer_class(1280), np_transfer_class(1024) + 1);
	assert_int_equal(np_transfer_class(2048), np_transfer_class(1024) + 4);
	assert_int_equal(np_transfer_class(0), np_transfer_class(4));
}

static void classes_are_the_names_without_prefix_and_number(void **state)
{
	static const char *const classes[][2] = {
		{ "hcom_reduceScatter__097_4_1", "reducescatter" },
		{ "hcom_allReduce__210_0_1", "allreduce" },
		{ "hcom_alltoallv__210_0_1", "alltoallv" },
		{ "hcom_batchSendRecv__210_0_1", "batchsendrecv" },
		{ "hcom_send__210_0_1", "send" },
		{ "hcom_allReduce_", "allreduce" },
		{ "HCOM_Broadcast__1", "broadcast" },
		{ "allgather", "allgather" },
		{ "hcom_", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(classes); i++) {
		char text[64];

		assert_int_equal(np_op_class(classes[i][0], text, sizeof(text)),
				 strlen(classes[i][1]));
		assert_string_equal(text, classes[i][1]);
	}
}

static void a_class_that_does_not_fit_is_cut(void **state)
{
	char text[5];

	(void)state;
	assert_int_equal(np_op_class("hcom_allReduce__210_0_1", text, sizeof(text)), 4);
	assert_string_equal(text, "allr");
}

/* --- memory ----------------------------------------------------------------------------------- */

static int measure_in_little_memory(struct np_err *err)
{
	void *state = NULL;
	struct fixture *fixture;
	size_t left = np_fault_left;
	int rc;

	np_fault_left = 0;
	assert_int_equal(setup(&state), 0);
	fixture = state;
	add_ops_on_a_link(fixture, (const np_ns[]){ 40, 10, 30, 20 }, 4);
	add_task(fixture, 0, 1, NP_TASK_RDMA_PAYLOAD, 500, 510)->bytes = 700;
	for (int i = 0; i < 5; i++)
		add_task(fixture, 0, 1, NP_TASK_OTHER, 510 + i, 520 + i);
	np_fault_left = left;
	rc = np_comm_tasks_measure(fixture->rank, fixture->strings, fixture->tasks, fixture->count,
				   fixture->form, err);
	left = np_fault_left;
	np_fault_left = 0;
	assert_int_equal(teardown(&state), 0);
	np_fault_left = left;
	return rc;
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(measure_in_little_memory);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(without_a_mark_plane_1_is_the_master),
		test(the_lowest_plane_on_which_something_happened_is_the_master),
		test(plane_0_is_the_master_when_nothing_else_is_there),
		test(the_marked_plane_is_the_master),
		test(of_several_marked_planes_the_first_in_time_is_the_master),
		test(marks_do_not_count_where_the_column_is_absent),
		test(an_operator_of_which_no_task_is_marked_has_the_old_rule),
		test(all_waits_are_synchronisation_when_nothing_is_sent),
		test(a_local_copy_does_not_end_the_synchronisation),
		test(the_order_of_the_tasks_does_not_matter),
		test(an_operator_without_tasks_stays_unknown),
		test(no_tasks_at_all_are_allowed),
		test(transfer_is_never_longer_than_the_operator),
		test(at_level0_transit_is_the_union_of_payload_and_wait_the_rest),
		test(at_level0_an_operator_without_payload_only_waits),
		test(an_rdma_group_lasts_until_its_closing_task),
		test(send_and_receive_close_an_rdma_group_sooner),
		test(two_rdma_groups_follow_each_other),
		test(an_rdma_group_that_is_not_closed_is_no_transfer),
		test(sends_at_the_very_end_are_skipped),
		test(packets_are_summed_by_transport_and_size),
		test(a_packet_of_exactly_the_limit_is_not_large),
		test(rdma_packets_are_large_from_half_a_megabyte),
		test(local_copies_are_in_no_transport),
		test(a_transport_that_moved_nothing_in_no_time_has_no_row),
		test(links_are_labelled_by_their_type_and_local_ones_stay_on_their_rank),
		test(copies_over_ub_are_transfers_of_their_own_link),
		test(transfers_of_unknown_size_have_no_bandwidth_but_take_time),
		test(a_known_size_stands_beside_one_that_is_not),
		test(a_task_without_a_source_is_none_of_a_link),
		test(one_operator_is_top_middle_and_bottom),
		test(of_two_operators_the_second_is_the_middle),
		test(of_three_operators_each_is_a_bottom),
		test(of_four_operators_the_third_is_the_middle),
		test(equal_bandwidths_keep_the_order_of_the_operators),
		test(bandwidths_that_are_equal_when_rounded_keep_the_order_of_the_operators),
		test(times_of_tasks_are_summed_as_the_vendor_sums_them),
		test(tasks_of_one_operator_on_one_link_are_summed),
		test(transfers_are_joined_by_link_and_size_and_keep_the_middle_one),
		test(transfers_know_how_many_ran_with_them),
		test(transfers_know_how_many_ran_over_the_same_link),
		test(what_stays_on_the_device_or_has_no_size_is_no_transfer),
		test(operators_that_were_retried_mark_their_transfers),
		test(sizes_have_four_classes_to_the_octave),
		test(classes_steps_and_communicators_are_kept_apart),
		test(classes_are_the_names_without_prefix_and_number),
		test(a_class_that_does_not_fit_is_cut),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("comm_tasks", tests, NULL, NULL);
}
