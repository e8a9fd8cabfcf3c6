/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/rank.h"

#include "np_fault.h"
#include "np_test.h"

/* formats §2.4 and cluster §3: the vendor's numbers for these communicators. */
static void hashes_are_those_of_the_vendor(void **state)
{
	static const struct {
		const char *name;
		uint64_t hash;
	} known[] = {
		{ "90.91.105.46%enp189s0f0_60000_0_1736410538306028",
		  UINT64_C(17148521525495523210) },
		{ "90.91.105.46%enp189s0f0_60000_0_1736414082311975",
		  UINT64_C(11978775601474615865) },
		{ "group_name_0", UINT64_C(5862276093215481612) },
		{ "group_name_19", UINT64_C(3985310405473756128) },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(known); i++)
		assert_true(np_group_hash(known[i].name, strlen(known[i].name)) == known[i].hash);
}

/* Files for people have the hash itself; a short number counts the communicators of a process. */
static void a_name_that_is_a_hash_stays_what_it_is(void **state)
{
	uint64_t number = 0;

	(void)state;
	assert_true(np_group_hash("336488521765294195", 18) == UINT64_C(336488521765294195));
	assert_true(np_group_hash("17148521525495523210", 20) == UINT64_C(17148521525495523210));
	assert_true(np_group_hash("12", 2) == ((uint64_t)(49 * 29 + 50) << 32 | (49 * 131 + 50)));
	assert_true(np_group_number("12", 2, &number));
	assert_true(number == 12);
	assert_false(np_group_number("12a", 3, &number));
	assert_false(np_group_number("", 0, &number));
}

static void a_communicator_is_found_again_by_its_hash(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(3, "/somewhere");
	uint32_t index[3];

	(void)state;
	assert_non_null(rank);
	assert_int_equal(np_rank_group(rank, 77, &index[0], NULL), NP_OK);
	assert_int_equal(np_rank_group(rank, 88, &index[1], NULL), NP_OK);
	assert_int_equal(np_rank_group(rank, 77, &index[2], NULL), NP_OK);
	assert_int_equal(index[0], index[2]);
	assert_int_not_equal(index[0], index[1]);
	assert_int_equal(rank->groups.count, 2);
	assert_int_equal(rank->groups.item[0].group_rank, -1);
	assert_null(rank->groups.item[0].members);
}

static void a_new_rank_knows_its_id_and_path_and_no_device(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(3, "/somewhere");

	(void)state;
	assert_int_equal(rank->id, 3);
	assert_string_equal(rank->path, "/somewhere");
	assert_int_equal(rank->device, -1);
	assert_false(rank->parallel.known);
	assert_int_equal(rank->step_source, NP_FROM_NOTHING);
}

static void lengths_of_any_size_come_back_as_they_were(void **state)
{
	static const np_ns lengths[] = { 0,          1,  INT32_MAX, (np_ns)INT32_MAX + 1,
					 UINT32_MAX, -1, NP_NS_MAX, NP_UNKNOWN,
					 -NP_NS_MAX };
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(3, "/somewhere");
	np_length kept[NP_COUNT(lengths)];

	(void)state;
	for (size_t i = 0; i < NP_COUNT(lengths); i++)
		assert_int_equal(np_rank_shorten(rank, lengths[i], &kept[i], NULL), NP_OK);
	for (size_t i = 0; i < NP_COUNT(lengths); i++)
		assert_int_equal(np_rank_length(rank, kept[i]), lengths[i]);
	assert_int_equal(rank->long_times.count, 5);
}

/* Operators 0 and 2 were not told about. */
static void what_the_vendor_does_not_say_of_an_operator_is_unknown(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(3, "/somewhere");

	(void)state;
	assert_int_equal(np_rank_set_vendor_times(rank, 1, 20, 30, NP_UNKNOWN, NULL), NP_OK);
	assert_int_equal(np_rank_vendor_times(rank, 1).transit, 20);
	assert_int_equal(np_rank_vendor_times(rank, 1).wait, 30);
	assert_int_equal(np_rank_vendor_times(rank, 1).sync, NP_LENGTH_UNKNOWN);
	assert_int_equal(np_rank_vendor_times(rank, 0).wait, NP_LENGTH_UNKNOWN);
	assert_int_equal(np_rank_vendor_times(rank, 2).wait, NP_LENGTH_UNKNOWN);
}

static void numbers_that_no_device_has_are_no_device(void **state)
{
	(void)state;
	assert_int_equal(np_device_of(0), 0);
	assert_int_equal(np_device_of(127), 127);
	assert_int_equal(np_device_of(128), -1);
	assert_int_equal(np_device_of(-5), -1);
	assert_int_equal(np_device_of(NP_UNKNOWN), -1);
}

static void sends_receives_and_batches_are_point_to_point(void **state)
{
	(void)state;
	assert_true(np_op_is_p2p("hcom_send__097_0_1"));
	assert_true(np_op_is_p2p("hcom_receive__097_0_1"));
	assert_true(np_op_is_p2p("hcom_batchSendRecv__097_0_1"));
	assert_true(np_op_is_p2p("HCOM_SEND_"));
	assert_false(np_op_is_p2p("hcom_allReduce__097_0_1"));
	assert_false(np_op_is_p2p("hcom_reduceScatter__097_0_1"));
	assert_false(np_op_is_p2p("hcom_"));
	assert_false(np_op_is_p2p(""));
}

static void transports_and_picks_have_the_vendors_names(void **state)
{
	static const char *const bands[] = { "HCCS", "PCIE", "SDMA", "RDMA", "SIO" };
	static const char *const picks[] = { "top1",    "middle",  "bottom1",
					     "bottom2", "bottom3", "total" };

	(void)state;
	assert_int_equal(NP_COUNT(bands), NP_BAND_COUNT);
	assert_int_equal(NP_COUNT(picks), NP_LINK_PICKS);
	for (int i = 0; i < NP_BAND_COUNT; i++)
		assert_string_equal(np_band_name((enum np_band_type)i), bands[i]);
	for (int i = 0; i < NP_LINK_PICKS; i++)
		assert_string_equal(np_link_pick_name((enum np_link_pick)i), picks[i]);
}

static void freeing_no_rank_is_allowed(void **state)
{
	struct np_rank *rank = NULL;

	(void)state;
	np_rank_free(NULL);
	np_rank_freep(&rank);
}

static int make_rank(struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(3, "/somewhere");
	uint32_t index;

	if (!rank)
		return NP_E_NOMEM;
	return np_rank_group(rank, 77, &index, err);
}

/* Two communicators whose links take turns, and packets of two operators. */
static struct np_rank *make_linked(const int32_t *members)
{
	struct np_rank *rank = np_rank_new(3, "/somewhere");

	for (uint32_t i = 0; i < 2; i++) {
		struct np_group *group = np_vec_add(&rank->groups, NULL);

		group->members = members;
		group->member_count = 2;
		group->group_rank = (int32_t)i;
	}
	(void)np_vec_add(&rank->transfers, NULL);
	for (uint32_t i = 0; i < 6; i++) {
		struct np_link *link = np_vec_add(&rank->links, NULL);
		struct np_band *band = np_vec_add(&rank->bands, NULL);

		*link = (struct np_link){ .group = i % 2,
					  .step = i == 5 ? NP_NO_STEP : i,
					  .op_class = 7 + i,
					  .pick = (enum np_link_pick)i,
					  .src = -1,
					  .dst = (int32_t)(1 - i),
					  .transport = 9,
					  .bytes = i == 4 ? NP_UNKNOWN : (int64_t)i << 40,
					  .time = 1000 - i,
					  .op_name = NP_STR_NONE,
					  .p2p = i == 2 };
		*band = (struct np_band){ .op = i / 3,
					  .type = NP_BAND_RDMA,
					  .bytes = (int64_t)i << 50,
					  .time = NP_NS_MAX,
					  .large_packet_ratio = 1.0 / (i + 1),
					  .package_bytes = 100 - i,
					  .package_count = i,
					  .package_time = NP_UNKNOWN };
	}
	return rank;
}

static void assert_same_link(const struct np_link *link, uint32_t of)
{
	static const int32_t members[] = { 0, 3 };
	NP_CLEANUP(np_rank_freep) struct np_rank *plain = make_linked(members);
	const struct np_link *same = &plain->links.item[of];

	assert_int_equal(link->group, same->group);
	assert_int_equal(link->step, same->step);
	assert_int_equal(link->op_class, same->op_class);
	assert_int_equal(link->pick, same->pick);
	assert_int_equal(link->src, same->src);
	assert_int_equal(link->dst, same->dst);
	assert_int_equal(link->transport, same->transport);
	assert_int_equal(link->bytes, same->bytes);
	assert_int_equal(link->time, same->time);
	assert_int_equal(link->op_name, same->op_name);
	assert_int_equal(link->p2p, same->p2p);
}

static void packed_links_of_a_communicator_are_what_they_were(void **state)
{
	static const int32_t members[] = { 0, 3 };
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = make_linked(members);

	(void)state;
	assert_int_equal(np_rank_pack_rows(rank, NULL), NP_OK);
	assert_int_equal(rank->links.count, 0);
	for (uint32_t group = 0; group < 2; group++) {
		struct np_rank_links links;

		assert_int_equal(np_rank_links(rank, group, &links, NULL), NP_OK);
		assert_int_equal(links.count, 3);
		for (uint32_t i = 0; i < 3; i++)
			assert_same_link(&links.item[i], 2 * i + group);
		np_rank_links_release(&links);
	}
	assert_int_equal(np_rank_unpack_rows(rank, NULL), NP_OK);
	assert_int_equal(rank->links.count, 6);
	assert_same_link(&rank->links.item[5], 5);
	assert_null(rank->packed_rows);
}

static void packed_packets_are_what_they_were(void **state)
{
	static const int32_t members[] = { 0, 3 };
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = make_linked(members);
	NP_CLEANUP(np_rank_freep) struct np_rank *plain = make_linked(members);
	struct np_rank_bands bands;

	(void)state;
	assert_int_equal(np_rank_pack_rows(rank, NULL), NP_OK);
	assert_int_equal(np_rank_band_count(rank), 6);
	assert_int_equal(np_rank_bands(rank, &bands, NULL), NP_OK);
	assert_int_equal(bands.count, 6);
	for (size_t i = 0; i < bands.count; i++) {
		const struct np_band *band = &bands.item[i];
		const struct np_band *same = &plain->bands.item[i];

		assert_int_equal(band->op, same->op);
		assert_int_equal(band->type, same->type);
		assert_int_equal(band->bytes, same->bytes);
		assert_int_equal(band->time, same->time);
		assert_true(band->large_packet_ratio >= same->large_packet_ratio &&
			    band->large_packet_ratio <= same->large_packet_ratio);
		assert_int_equal(band->package_bytes, same->package_bytes);
		assert_int_equal(band->package_count, same->package_count);
		assert_int_equal(band->package_time, same->package_time);
	}
	np_rank_bands_release(&bands);
}

/* Of what no table will show only the number of packets is left; nobody gets any of them. */
static void rows_that_nobody_shows_are_counted(void **state)
{
	static const int32_t members[] = { 0, 3 };
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = make_linked(members);
	struct np_rank_bands bands;
	struct np_rank_links links;

	(void)state;
	assert_int_equal(np_rank_count_rows(rank, 2, NULL), NP_OK);
	assert_int_equal(np_rank_band_count(rank), 8);
	assert_int_equal(rank->links.count + rank->bands.count + rank->vendor_times.count, 0);
	assert_int_equal(np_rank_bands(rank, &bands, NULL), NP_OK);
	assert_int_equal(bands.count, 0);
	np_rank_bands_release(&bands);
	assert_int_equal(np_rank_links(rank, 1, &links, NULL), NP_OK);
	assert_int_equal(links.count, 0);
	np_rank_links_release(&links);
}

/* Without members links say who is in a communicator: they stay. */
static void rows_that_are_measured_are_not_counted(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = make_linked(NULL);

	(void)state;
	assert_int_equal(np_rank_count_rows(rank, 0, NULL), NP_OK);
	assert_null(rank->packed_rows);
	assert_int_equal(rank->links.count, 6);
}

/* Who is in a communicator may be known from them alone. */
static void links_of_communicators_without_members_are_not_packed(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = make_linked(NULL);

	(void)state;
	assert_int_equal(np_rank_pack_rows(rank, NULL), NP_OK);
	assert_int_equal(rank->links.count, 6);
	assert_null(rank->packed_rows);
}

static void thousands_of_communicators_and_steps_are_found_again(void **state)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(0, "r");
	struct np_err err = NP_ERR_INIT;
	uint32_t index;

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < NP_RANK_GROUPS; i++) {
			assert_ok(np_rank_group(rank, 7 * (uint64_t)i, &index, &err), err);
			assert_int_equal(index, i);
			assert_ok(np_rank_step(rank, 3 * i + 1, &index, &err), err);
			assert_int_equal(index, i);
		}
	}
	/* Who changes a hash says so, and it is found as what it is now. */
	rank->groups.item[100].hash = 5;
	np_rank_forget_places(rank);
	assert_ok(np_rank_group(rank, 5, &index, &err), err);
	assert_int_equal(index, 100);
	/* One more than a rank can be in. */
	assert_int_equal(np_rank_group(rank, 6, &index, &err), NP_E_FORMAT);
	assert_string_equal(err.text, "a rank in more than 10000 communicators");
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(make_rank);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_vendor),
		cmocka_unit_test(a_name_that_is_a_hash_stays_what_it_is),
		cmocka_unit_test(a_communicator_is_found_again_by_its_hash),
		cmocka_unit_test(a_new_rank_knows_its_id_and_path_and_no_device),
		cmocka_unit_test(lengths_of_any_size_come_back_as_they_were),
		cmocka_unit_test(what_the_vendor_does_not_say_of_an_operator_is_unknown),
		cmocka_unit_test(numbers_that_no_device_has_are_no_device),
		cmocka_unit_test(sends_receives_and_batches_are_point_to_point),
		cmocka_unit_test(transports_and_picks_have_the_vendors_names),
		cmocka_unit_test(packed_links_of_a_communicator_are_what_they_were),
		cmocka_unit_test(packed_packets_are_what_they_were),
		cmocka_unit_test(links_of_communicators_without_members_are_not_packed),
		cmocka_unit_test(rows_that_nobody_shows_are_counted),
		cmocka_unit_test(rows_that_are_measured_are_not_counted),
		cmocka_unit_test(freeing_no_rank_is_allowed),
		cmocka_unit_test(thousands_of_communicators_and_steps_are_found_again),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
