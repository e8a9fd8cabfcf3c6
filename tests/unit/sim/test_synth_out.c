/* SPDX-License-Identifier: Apache-2.0 */
#include "np_fixture.h"

#include <inttypes.h>

#include "np_random.h"
#include "npuprof/gz.h"
#include "sim/synth/account/overlap.h"
#include "sim/synth/out/out.h"
#include "sim/synth/out/sorter.h"
#include "sim/synth/plan/options.h"

/*
 * What the generator writes text with: numbers, spools, compression, sorting.
 */

/* What `put` writes, compared with a text. */
#define ASSERT_WRITES(put, text) \
	do { \
		struct np_err err_ = NP_ERR_INIT; \
		struct syn_out out; \
		char *written_; \
		size_t length_; \
		assert_ok(syn_out_open(&out, below("out"), false, &err_), err_); \
		put; \
		assert_ok(syn_out_close(&out, NP_OK, &err_), err_); \
		written_ = read_bytes(below("out"), &length_); \
		assert_int_equal(length_, strlen(text)); \
		assert_memory_equal(written_, text, length_); \
		free(written_); \
	} while (0)

static void integers_are_written_to_their_limits(void **state)
{
	(void)state;
	ASSERT_WRITES(syn_put_int(&out, 0), "0");
	ASSERT_WRITES(syn_put_int(&out, INT64_MAX), "9223372036854775807");
	ASSERT_WRITES(syn_put_int(&out, INT64_MIN), "-9223372036854775808");
}

static void times_keep_their_nanoseconds(void **state)
{
	(void)state;
	ASSERT_WRITES(syn_put_us(&out, INT64_C(1736408883704643212)), "1736408883704643.212");
	ASSERT_WRITES(syn_put_us(&out, 7), "0.007");
	ASSERT_WRITES(syn_put_us(&out, -1500), "-1.500");
	ASSERT_WRITES(syn_put_us_float(&out, 53741), "53.741");
	ASSERT_WRITES(syn_put_us_float(&out, 53700), "53.7");
	ASSERT_WRITES(syn_put_us_float(&out, 5000), "5.0");
	ASSERT_WRITES(syn_put_us_float(&out, 0), "0.0");
}

/* The right column is what Python prints. */
static void doubles_look_as_in_python(void **state)
{
	(void)state;
	ASSERT_WRITES(syn_put_real(&out, 0.0), "0.0");
	ASSERT_WRITES(syn_put_real(&out, 0.1 + 0.2), "0.30000000000000004");
	ASSERT_WRITES(syn_put_real(&out, 116251.25), "116251.25");
	ASSERT_WRITES(syn_put_real(&out, 4001.281999999992), "4001.281999999992");
	ASSERT_WRITES(syn_put_real(&out, 1736408883732241.5), "1736408883732241.5");
	ASSERT_WRITES(syn_put_real(&out, 1e15), "1000000000000000.0");
	ASSERT_WRITES(syn_put_real(&out, 1e16), "1e+16");
	ASSERT_WRITES(syn_put_real(&out, 0.0001), "0.0001");
	ASSERT_WRITES(syn_put_real(&out, 2e-05), "2e-05");
	ASSERT_WRITES(syn_put_real(&out, -12.5), "-12.5");
	ASSERT_WRITES(syn_put_real(&out, 120.0), "120.0");
}

static void doubles_read_back_the_same(void **state)
{
	struct np_err err = NP_ERR_INIT;
	uint64_t random = 7;
	double values[500];
	struct syn_out out;
	size_t length;
	char *text;
	char *at;

	(void)state;
	assert_ok(syn_out_open(&out, below("reals"), false, &err), err);
	for (size_t i = 0; i < NP_COUNT(values); i++) {
		values[i] = (double)np_random(&random) / (double)(1 + np_random(&random) % 1000000);
		syn_put_real(&out, values[i]);
		syn_put_char(&out, '\n');
	}
	assert_ok(syn_out_close(&out, NP_OK, &err), err);
	text = read_bytes(below("reals"), &length);
	at = text;
	for (size_t i = 0; i < NP_COUNT(values); i++)
		assert_true(strtod(at, &at) == values[i]);
	free(text);
}

static void times_become_the_doubles_a_reader_gets(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		np_ns time =
			INT64_C(1736408883000000000) + (np_ns)(np_random(&random) % 1000000000);
		char text[32];

		(void)snprintf(text, sizeof(text), "%" PRId64 ".%03" PRId64, time / 1000,
			       time % 1000);
		assert_true(syn_us(time) == strtod(text, NULL));
	}
}

static void cells_are_quoted_where_they_must(void **state)
{
	(void)state;
	ASSERT_WRITES(syn_put_cell(&out, "FLOAT;FLOAT"), "FLOAT;FLOAT");
	ASSERT_WRITES(syn_put_cell(&out, "\"32,3\""), "\"\"\"32,3\"\"\"");
	ASSERT_WRITES(syn_put_cell(&out, "a,b"), "\"a,b\"");
}

/* Text of any size, in pieces around the size of the buffer. */
static void put_much(struct syn_out *out, int lines)
{
	for (int i = 0; i < lines; i++) {
		SYN_PUT(out, "line ");
		syn_put_int(out, i);
		SYN_PUT(out, " of the text\n");
	}
}

static void spool_of_any_size_moves_whole(void **state)
{
	static const int sizes[] = { 0, 1, 100, 50000 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		struct syn_out direct;
		struct syn_out moved;
		struct syn_out spool;
		size_t lengths[2];
		char *texts[2];

		assert_ok(syn_out_open(&direct, below("direct"), false, &err), err);
		assert_ok(syn_out_open(&moved, below("moved"), false, &err), err);
		assert_ok(syn_out_spool(&spool, np_fixture_root, &err), err);
		/* Twice: a spool is empty after it was moved. */
		for (int round = 0; round < 2; round++) {
			put_much(&direct, sizes[i]);
			put_much(&spool, sizes[i]);
			assert_ok(syn_out_move(&moved, &spool, &err), err);
		}
		assert_ok(syn_out_close(&direct, NP_OK, &err), err);
		assert_ok(syn_out_close(&moved, NP_OK, &err), err);
		assert_ok(syn_out_close(&spool, NP_OK, &err), err);
		texts[0] = read_bytes(below("direct"), &lengths[0]);
		texts[1] = read_bytes(below("moved"), &lengths[1]);
		assert_int_equal(lengths[0], lengths[1]);
		assert_memory_equal(texts[0], texts[1], lengths[0]);
		free(texts[0]);
		free(texts[1]);
	}
}

static void spools_leave_nothing_behind(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct dirent **names;
	struct syn_out spool;

	(void)state;
	assert_ok(syn_out_spool(&spool, np_fixture_root, &err), err);
	put_much(&spool, 50000);
	assert_int_equal(np_fixture_names(np_fixture_root, &names), 0);
	free(names);
	assert_ok(syn_out_close(&spool, NP_OK, &err), err);
}

static void failed_write_is_told_when_the_file_is_closed(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct syn_out out;

	(void)state;
	assert_ok(syn_out_open(&out, "/dev/full", false, &err), err);
	put_much(&out, 50000);
	assert_int_equal(syn_out_close(&out, NP_OK, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "/dev/full"));
	assert_int_equal(syn_out_open(&out, below("no/such"), false, &err), NP_E_IO);
}

/* Bytes that hardly repeat, then much that does. */
static void put_bytes(struct syn_out *out, size_t count)
{
	uint64_t random = 11;

	for (size_t i = 0; i < count; i++) {
		if (i % 4096 < 1000)
			syn_put_char(out, (char)(np_random(&random) & 0xff));
		else
			syn_put_char(out, (char)('a' + i % 7));
	}
}

static void compressed_file_reads_back_the_same(void **state)
{
	static const size_t sizes[] = { 1, 3, 4, 300, 49152, 49153, 700000 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		NP_CLEANUP(np_gz_closep) struct np_gz *gz = NULL;
		struct np_window window;
		struct syn_out plain;
		struct syn_out packed;
		size_t length;
		size_t at = 0;
		char *text;

		assert_ok(syn_out_open(&plain, below("plain"), false, &err), err);
		assert_ok(syn_out_open(&packed, below("packed"), true, &err), err);
		put_bytes(&plain, sizes[i]);
		put_bytes(&packed, sizes[i]);
		assert_ok(syn_out_close(&plain, NP_OK, &err), err);
		assert_ok(syn_out_close(&packed, NP_OK, &err), err);
		text = read_bytes(below("plain"), &length);
		assert_int_equal(length, sizes[i]);
		assert_ok(np_gz_open(below("packed"), &gz, &window, &err), err);
		for (;;) {
			assert_true(at + window.length <= length);
			assert_memory_equal(window.bytes, text + at, window.length);
			at += window.length;
			if (window.ended)
				break;
			assert_ok(np_gz_more(gz, window.length, &window, &err), err);
		}
		assert_int_equal(at, length);
		free(text);
	}
}

struct item {
	uint64_t key;
	uint64_t number;
	char filler[48];
};

static int by_key(const void *a, const void *b)
{
	const struct item *x = a;
	const struct item *y = b;

	if (x->key != y->key)
		return x->key > y->key ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The last size is more than is kept in memory, so that runs are merged from the file. */
static void items_come_out_in_order(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, 1500000 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		struct syn_sorter sorter;
		struct item before = { 0 };
		uint64_t random = 5;
		uint64_t numbers = 0;
		const void *next;
		size_t count = 0;

		syn_sorter_init(&sorter, sizeof(struct item), by_key, np_fixture_root);
		for (size_t k = 0; k < sizes[i]; k++) {
			struct item item = { .key = np_random(&random) % 100000, .number = k };

			assert_ok(syn_sorter_add(&sorter, &item, &err), err);
		}
		assert_ok(syn_sorter_begin(&sorter, &err), err);
		assert_ok(syn_sorter_next(&sorter, &next, &err), err);
		for (; next; count++) {
			const struct item *item = next;

			assert_true(count == 0 || by_key(&before, item) < 0);
			before = *item;
			numbers += item->number;
			assert_ok(syn_sorter_next(&sorter, &next, &err), err);
		}
		assert_int_equal(count, sizes[i]);
		assert_int_equal(numbers, sizes[i] ? sizes[i] * (sizes[i] - 1) / 2 : 0);
		syn_sorter_release(&sorter);
	}
}

/*
 * Kernels 100-200 and 300-400, an operator 150-350 with a task from 90 on:
 * exposed 200-300, no gap between them; the gap before 100 is there with
 * schema 1.2 only.
 */
static void overlap_lane_begins_as_its_schema_does(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int schema = 0; schema < 2; schema++) {
		const struct syn_config config = { .schema = schema };
		const struct syn_task copy = { .kind = SYN_TASK_MEMCPY,
					       .start_ns = 90,
					       .end_ns = 95 };
		const struct syn_task first = { .start_ns = 100, .end_ns = 200 };
		const struct syn_task second = { .start_ns = 300, .end_ns = 400 };
		const struct syn_comm_event comm = { .start_ns = 150, .end_ns = 350 };
		struct syn_intervals part = { 0 };
		struct syn_overlap overlap;

		syn_overlap_init(&overlap);
		assert_ok(syn_overlap_task(&overlap, &copy, &err), err);
		assert_ok(syn_overlap_task(&overlap, &second, &err), err);
		assert_ok(syn_overlap_comm(&overlap, &comm, &err), err);
		assert_ok(syn_overlap_task(&overlap, &first, &err), err);
		assert_ok(syn_overlap_lane(&overlap, &config, SYN_LANE_COMPUTING, &part, &err),
			  err);
		assert_int_equal(part.all.count, 2);
		assert_int_equal(part.all.item[1].start_ns, 300);
		assert_ok(syn_overlap_lane(&overlap, &config, SYN_LANE_EXPOSED, &part, &err), err);
		assert_int_equal(part.all.count, 1);
		assert_int_equal(part.all.item[0].start_ns, 200);
		assert_int_equal(part.all.item[0].end_ns, 300);
		assert_ok(syn_overlap_lane(&overlap, &config, SYN_LANE_FREE, &part, &err), err);
		assert_int_equal(part.all.count, schema);
		if (schema) {
			assert_int_equal(part.all.item[0].start_ns, 90);
			assert_int_equal(part.all.item[0].end_ns, 100);
		}
		syn_intervals_release(&part);
		syn_overlap_release(&overlap);
	}
}

static int parse(const char *const *words, int count, struct syn_config *config, struct np_err *err)
{
	char *argv[8] = { NULL };
	enum syn_action action;
	int rc;

	for (int i = 0; i < count; i++)
		argv[i] = strdup(words[i]);
	syn_config_init(config);
	rc = syn_options_parse(count, argv, config, &action, err);
	if (rc == NP_OK)
		rc = syn_config_complete(config, err);
	for (int i = 0; i < count; i++)
		free(argv[i]);
	return rc;
}

static void one_rank_can_have_a_form_of_its_own(void **state)
{
	static const char *const words[] = { "synth",    "/nowhere", "--ranks",     "2",
					     "--format", "text",     "--format-of", "1:msprof-db" };
	struct np_err err = NP_ERR_INIT;
	struct syn_config config;

	(void)state;
	assert_ok(parse(words, (int)NP_COUNT(words), &config, &err), err);
	assert_int_equal(syn_form_of(&config, 0)->maker, SYN_TORCH);
	assert_true(syn_form_of(&config, 0)->text);
	assert_int_equal(syn_form_of(&config, 1)->maker, SYN_MSPROF);
	assert_true(syn_form_of(&config, 1)->db);
	syn_config_release(&config);
}

static void wrong_forms_are_refused(void **state)
{
	static const char *const bad[] = { "1", "1:", "x:text", "-1:text", "1:texts", "5:text" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(bad); i++) {
		const char *words[] = {
			"synth", "/nowhere", "--ranks", "2", "--format-of", bad[i]
		};
		struct np_err err = NP_ERR_INIT;
		struct syn_config config;

		assert_int_equal(parse(words, (int)NP_COUNT(words), &config, &err), NP_E_USAGE);
		syn_config_release(&config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(integers_are_written_to_their_limits),
		with_fixture(times_keep_their_nanoseconds),
		with_fixture(doubles_look_as_in_python),
		with_fixture(doubles_read_back_the_same),
		cmocka_unit_test(times_become_the_doubles_a_reader_gets),
		with_fixture(cells_are_quoted_where_they_must),
		with_fixture(spool_of_any_size_moves_whole),
		with_fixture(spools_leave_nothing_behind),
		with_fixture(failed_write_is_told_when_the_file_is_closed),
		with_fixture(compressed_file_reads_back_the_same),
		with_fixture(items_come_out_in_order),
		cmocka_unit_test(overlap_lane_begins_as_its_schema_does),
		cmocka_unit_test(one_rank_can_have_a_form_of_its_own),
		cmocka_unit_test(wrong_forms_are_refused),
	};

	return cmocka_run_group_tests_name("synth_out", tests, NULL, NULL);
}
