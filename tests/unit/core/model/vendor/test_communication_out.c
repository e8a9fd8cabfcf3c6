/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how the vendor's text about communication is written. */
#include "core/model/vendor/communication_out.h"

#include "np_test.h"

/* What was put into an object, on one line. */
struct written_text {
	struct np_jsonout out;
};

static void begin(struct written_text *written)
{
	np_jsonout_init(&written->out, NULL);
	np_jsonout_object_line(&written->out, NULL);
}

static const char *finish(struct written_text *written)
{
	struct np_err err = NP_ERR_INIT;

	np_jsonout_end(&written->out);
	assert_ok(np_jsonout_finish(&written->out, &err), err);
	return written->out.buf.text;
}

static void an_operator_that_comes_twice_has_a_key_of_its_own(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;

	(void)state;
	np_communication_key(&key, "hcom_allReduce__123_0_1", 0, 123);
	assert_string_equal(key.text, "hcom_allReduce__123_0_1@123");
	np_communication_key(&key, NP_COMMUNICATION_TOTAL, 1, UINT64_MAX);
	assert_string_equal(key.text, "Total Op Info#2@18446744073709551615");
}

static void the_pseudo_step_has_no_number(void **state)
{
	char label[16];

	(void)state;
	np_communication_step(label, sizeof(label), "13");
	assert_string_equal(label, "step13");
	np_communication_step(label, sizeof(label), NULL);
	assert_string_equal(label, "step");
	assert_string_equal(np_communication_kind(true), "p2p");
	assert_string_equal(np_communication_kind(false), "collective");
}

/* 4 ms of which 1 ms is transit and 2 ms wait: idle is 1 ms, 2 / (2 + 1) is waiting. */
static void times_are_ms_and_totals_have_no_start(void **state)
{
	const struct np_op_times times = {
		.ops = 1, .elapsed = 4000000, .transit = 1000000, .wait = 2000000, .sync = 0
	};
	const np_ns start = 5000500;
	struct written_text one;
	struct written_text total;

	(void)state;
	begin(&one);
	np_communication_put_times(&one.out, &times, &start);
	assert_string_equal(
		finish(&one),
		"{ \"Communication Time Info\": { \"Start Timestamp(us)\": 5000.5, "
		"\"Elapse Time(ms)\": 4.0, \"Transit Time(ms)\": 1.0, \"Wait Time(ms)\": 2.0, "
		"\"Synchronization Time(ms)\": 0.0, \"Idle Time(ms)\": 1.0, "
		"\"Wait Time Ratio\": 0.6667, \"Synchronization Time Ratio\": 0.0 } }\n");
	begin(&total);
	np_communication_put_times(&total.out, &NP_OP_TIMES_INIT, NULL);
	assert_string_equal(
		finish(&total),
		"{ \"Communication Time Info\": { \"Elapse Time(ms)\": null, "
		"\"Transit Time(ms)\": null, \"Wait Time(ms)\": null, "
		"\"Synchronization Time(ms)\": null, \"Idle Time(ms)\": null, "
		"\"Wait Time Ratio\": null, \"Synchronization Time Ratio\": null } }\n");
	np_jsonout_release(&one.out);
	np_jsonout_release(&total.out);
}

/* 2 MB in 1 ms are 2 GB/s. A size of which there are no packets is not listed. */
static void a_transport_has_its_sums_and_its_packets(void **state)
{
	const double ratio = 0.5;
	struct written_text written;

	(void)state;
	begin(&written);
	np_communication_open_transport(&written.out, NP_BAND_SDMA, 2000000, 1000000, &ratio);
	np_communication_put_packets(&written.out, 1000000, 2, 1000000);
	np_communication_put_packets(&written.out, 5, 0, 0);
	np_communication_put_packets(&written.out, 6, NP_UNKNOWN, NP_UNKNOWN);
	np_communication_close_transport(&written.out);
	np_communication_open_transport(&written.out, NP_BAND_RDMA, 0, 0, NULL);
	np_communication_close_transport(&written.out);
	assert_string_equal(finish(&written),
			    "{ \"SDMA\": { \"Transit Size(MB)\": 2.0, \"Transit Time(ms)\": 1.0, "
			    "\"Bandwidth(GB/s)\": 2.0, \"Large Packet Ratio\": 0.5, "
			    "\"Size Distribution\": { \"1.0\": [2, 1.0] } }, "
			    "\"RDMA\": { \"Transit Size(MB)\": 0.0, \"Transit Time(ms)\": 0.0, "
			    "\"Bandwidth(GB/s)\": 0.0, \"Size Distribution\": {} } }\n");
	np_jsonout_release(&written.out);
}

static void a_link_of_a_rank_and_of_a_cluster_have_the_same_names(void **state)
{
	const struct np_matrix_link link = { .ends = "0-1",
					     .transport = "HCCS",
					     .megabytes = 1.5,
					     .milliseconds = (double)NAN,
					     .gb_per_s = 0 };
	struct written_text written;

	(void)state;
	begin(&written);
	np_matrix_put_link(&written.out, &link);
	np_matrix_put_cluster_link(&written.out, &link);
	assert_string_equal(
		finish(&written),
		"{ \"0-1\": { \"Transport Type\": \"HCCS\", \"Transit Size(MB)\": 1.5, "
		"\"Transit Time(ms)\": null, \"Bandwidth(GB/s)\": 0.0 }, "
		"\"0-1\": { \"Transport Type\": \"HCCS\", \"Transit Time(ms)\": null, "
		"\"Transit Size(MB)\": 1.5, \"Op Name\": null, \"Bandwidth(GB/s)\": 0.0 } }\n");
	np_jsonout_release(&written.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operator_that_comes_twice_has_a_key_of_its_own),
		cmocka_unit_test(the_pseudo_step_has_no_number),
		cmocka_unit_test(times_are_ms_and_totals_have_no_start),
		cmocka_unit_test(a_transport_has_its_sums_and_its_packets),
		cmocka_unit_test(a_link_of_a_rank_and_of_a_cluster_have_the_same_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
