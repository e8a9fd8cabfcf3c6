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

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(make_rank);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_vendor),
		cmocka_unit_test(a_communicator_is_found_again_by_its_hash),
		cmocka_unit_test(a_new_rank_knows_its_id_and_path_and_no_device),
		cmocka_unit_test(lengths_of_any_size_come_back_as_they_were),
		cmocka_unit_test(what_the_vendor_does_not_say_of_an_operator_is_unknown),
		cmocka_unit_test(numbers_that_no_device_has_are_no_device),
		cmocka_unit_test(sends_receives_and_batches_are_point_to_point),
		cmocka_unit_test(transports_and_picks_have_the_vendors_names),
		cmocka_unit_test(freeing_no_rank_is_allowed),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
