/* SPDX-License-Identifier: Apache-2.0 */
#include "np_fault.h"
#include "np_synth.h"

#include "npuprof/rank.h"
#include "npuprof/summary.h"

static const char *const database[] = {
	"--ranks", "2",        "--steps", "2", "--layers", "2", "--kernels-per-layer",
	"4",       "--format", "db",      NULL
};
static const char *const text[] = {
	"--ranks", "2",        "--steps", "2", "--layers", "2", "--kernels-per-layer",
	"4",       "--format", "text",    NULL
};

static struct np_summary summary_of(const struct np_run *run, size_t index)
{
	return (struct np_summary){ .program = NULL,
				    .key = 7,
				    .source = run->sources.item[index],
				    .rank = run->ranks[index] };
}

static struct np_bytes encoded(const struct np_summary *summary, const struct np_strtab *strings)
{
	struct np_bytes bytes = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_summary_encode(summary, strings, &bytes, &err), err);
	return bytes;
}

static void assert_refused(const uint8_t *bytes, size_t length, const char *words)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_summary summary = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_int_equal(np_summary_decode(bytes, length, "bytes", strings, &summary, &err),
			 NP_E_FORMAT);
	assert_holds(err.text, words);
	assert_one_line(&err);
	assert_null(summary.rank);
	np_strtab_free(strings);
}

/* Write, read into other strings, write again: the same bytes. */
static void assert_round_trip(const char *dir)
{
	struct np_run *run = synth_load(dir);

	for (size_t i = 0; i < run->sources.count; i++) {
		struct np_summary summary = summary_of(run, i);
		struct np_bytes bytes = encoded(&summary, run->strings);
		struct np_strtab *strings = np_strtab_new();
		struct np_summary again = { 0 };
		struct np_err err = NP_ERR_INIT;
		struct np_bytes twice;
		np_str other;

		/* So that no string has the number it had. */
		assert_ok(np_strtab_add(strings, "other", 5, &other, &err), err);
		assert_ok(
			np_summary_decode(bytes.item, bytes.count, "bytes", strings, &again, &err),
			err);
		assert_int_equal(again.key, 7);
		assert_string_equal(again.source.dir, run->sources.item[i].dir);
		assert_int_equal(again.rank->ops.count, run->ranks[i]->ops.count);
		assert_true(again.rank->ops.count > 0);
		assert_memory_equal(again.rank->times.item, run->ranks[i]->times.item,
				    again.rank->times.count * sizeof(again.rank->times.item[0]));
		assert_string_equal(np_strtab_text(strings, again.rank->ops.item[0].name),
				    np_run_text(run, run->ranks[i]->ops.item[0].name));
		twice = encoded(&again, strings);
		assert_int_equal(twice.count, bytes.count);
		assert_memory_equal(twice.item, bytes.item, bytes.count);
		np_bytes_release(&twice);
		np_bytes_release(&bytes);
		np_summary_release(&again);
		np_strtab_free(strings);
	}
	np_run_free(run);
}

static void a_rank_of_a_database_comes_back_as_it_was(void **state)
{
	(void)state;
	synth_write(below("run"), database);
	assert_round_trip(below("run"));
}

static void a_rank_of_text_files_comes_back_as_it_was(void **state)
{
	(void)state;
	synth_write(below("run"), text);
	assert_round_trip(below("run"));
}

/* Read from a file, with links and packets only counted, and as it is. */
static struct np_rank *read_counted(const char *path, enum np_load_rows rows,
				    struct np_strtab *strings)
{
	char *name = strdup(path);
	struct np_source_files source = { .summary = name, .rank = 3, .rows = rows };
	struct np_summary summary = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_rank *rank;

	assert_ok(np_summary_read_source(&source, strings, &summary, &err), err);
	rank = NP_STEAL(summary.rank);
	np_summary_release(&summary);
	free(name);
	return rank;
}

/*
 * What only tables show is passed over: all else is there. A rank whose links are what is
 * measured (no transfers) has all of it.
 */
static void rows_that_nobody_shows_are_passed_over(void **state)
{
	(void)state;
	for (int transfers = 0; transfers < 2; transfers++) {
		struct np_strtab *strings = np_strtab_new();
		struct np_rank *rank = np_rank_new(3, "dir");
		struct np_summary summary = { .source = { .rank = 3, .dir = strdup("dir") },
					      .rank = rank };
		struct np_err err = NP_ERR_INIT;
		static const int32_t members[] = { 1, 3 };
		struct np_rank *whole;
		struct np_rank *counted;
		uint32_t group;

		assert_ok(np_rank_group(rank, 9, &group, &err), err);
		rank->groups.item[group].members = members;
		rank->groups.item[group].member_count = 2;
		rank->groups.item[group].group_rank = 1;
		((struct np_comm_op *)np_vec_add(&rank->ops, &err))->step = NP_NO_STEP;
		assert_ok(np_rank_set_vendor_times(rank, 0, 1, 2, 3, &err), err);
		for (int i = 0; i < 3; i++)
			((struct np_band *)np_vec_add(&rank->bands, &err))->bytes = 100 + i;
		((struct np_link *)np_vec_add(&rank->links, &err))->step = NP_NO_STEP;
		if (transfers)
			*(struct np_transfer *)np_vec_add(&rank->transfers, &err) =
				(struct np_transfer){ .step = NP_NO_STEP, .bytes = 77 };
		assert_ok(np_summary_write_file(below("3.npsum"), &summary, strings, &err), err);
		whole = read_counted(below("3.npsum"), NP_ROWS_WHOLE, strings);
		counted = read_counted(below("3.npsum"), NP_ROWS_COUNTED, strings);
		assert_int_equal(whole->bands.count, 3);
		assert_int_equal(np_rank_band_count(counted), 3);
		assert_int_equal(counted->bands.count, transfers ? 0 : 3);
		assert_int_equal(counted->links.count, transfers ? 0 : 1);
		assert_int_equal(counted->vendor_times.count, transfers ? 0 : 1);
		assert_int_equal(counted->transfers.count, transfers);
		if (transfers)
			assert_int_equal(counted->transfers.item[0].bytes, 77);
		else
			assert_int_equal(counted->bands.item[2].bytes, 102);
		assert_int_equal(counted->groups.item[0].member_count, 2);
		np_rank_free(whole);
		np_rank_free(counted);
		np_summary_release(&summary);
		np_strtab_free(strings);
	}
}

static void values_at_their_limits_come_back(void **state)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_rank *rank = np_rank_new(3, "dir");
	struct np_summary summary = { .source = { .rank = 3, .dir = strdup("dir") }, .rank = rank };
	struct np_summary again = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_comm_op *op;
	struct np_bytes bytes;
	uint32_t group;

	(void)state;
	assert_ok(np_rank_group(rank, UINT64_MAX, &group, &err), err);
	for (size_t i = 0; i < 3; i++) {
		op = np_vec_add(&rank->ops, &err);
		op->start = (np_ns[]){ NP_UNKNOWN, -NP_NS_MAX, NP_NS_MAX }[i];
		op->end = (np_ns[]){ NP_UNKNOWN, NP_NS_MAX, NP_NS_MAX }[i];
		op->bytes = (int64_t[]){ NP_UNKNOWN, INT64_MAX, INT64_MIN + 1 }[i];
		op->step = NP_NO_STEP;
		op->device = i == 1 ? INT8_MIN : INT8_MAX;
		op->p2p = i == 0;
		op->retried = i == 1;
		op->relayed = i == 2;
		op->data_type = i == 1 ? 31 : 0;
		op->peer = i == 2 ? NP_PEERS : 0;
		assert_ok(np_rank_shorten(rank, (np_ns[]){ NP_UNKNOWN, INT32_MAX, NP_NS_MAX }[i],
					  &op->transfer, &err),
			  err);
	}
	assert_ok(np_rank_set_vendor_times(rank, 1, 1, -1, NP_LENGTH_LONG, &err), err);
	bytes = encoded(&summary, strings);
	assert_ok(np_summary_decode(bytes.item, bytes.count, "bytes", strings, &again, &err), err);
	assert_int_equal(again.rank->ops.count, 3);
	assert_memory_equal(again.rank->ops.item, rank->ops.item, 3 * sizeof(*op));
	assert_int_equal(np_rank_length(again.rank, again.rank->ops.item[2].transfer), NP_NS_MAX);
	assert_int_equal(again.rank->vendor_times.count, 2);
	assert_memory_equal(again.rank->vendor_times.item, rank->vendor_times.item,
			    2 * sizeof(struct np_vendor_times));
	assert_int_equal(again.rank->long_times.count, 3);
	assert_memory_equal(again.rank->long_times.item, rank->long_times.item, 3 * sizeof(np_ns));
	assert_true(again.rank->groups.item[0].hash == UINT64_MAX);
	np_bytes_release(&bytes);
	np_summary_release(&again);
	np_summary_release(&summary);
	np_strtab_free(strings);
}

static void sums_of_kernels_come_back_and_must_be_of_a_sort(void **state)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_rank *rank = np_rank_new(3, "dir");
	struct np_summary summary = { .source = { .rank = 3, .dir = strdup("dir") }, .rank = rank };
	struct np_summary again = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_kernel_sort *sort;
	struct np_kernel_sum *sum;
	struct np_bytes bytes;

	(void)state;
	rank->kernel_sums = calloc(1, sizeof(*rank->kernel_sums));
	rank->kernel_sums->mhz = 1800;
	sort = np_vec_add(&rank->kernel_sums->sorts, &err);
	*sort = (struct np_kernel_sort){ .framework_op_backward = true, .cube = NP_CUBE_YES };
	assert_ok(np_strtab_add(strings, "MatMul", 6, &sort->type, &err), err);
	sum = np_vec_add(&rank->kernel_sums->sums, &err);
	*sum = (struct np_kernel_sum){ .device = -1, .count = 2, .total = 7, .most = NP_NS_MAX };
	bytes = encoded(&summary, strings);
	assert_ok(np_summary_decode(bytes.item, bytes.count, "bytes", strings, &again, &err), err);
	assert_int_equal(again.rank->kernel_sums->mhz, 1800);
	assert_int_equal(again.rank->kernel_sums->sorts.count, 1);
	assert_memory_equal(&again.rank->kernel_sums->sorts.item[0].name, &sort->name,
			    offsetof(struct np_kernel_sort, framework_op_backward));
	assert_true(again.rank->kernel_sums->sorts.item[0].framework_op_backward);
	assert_int_equal(again.rank->kernel_sums->sorts.item[0].cube, NP_CUBE_YES);
	assert_int_equal(again.rank->kernel_sums->sums.count, 1);
	assert_memory_equal(again.rank->kernel_sums->sums.item, sum, sizeof(*sum));
	np_bytes_release(&bytes);
	np_summary_release(&again);
	sum->sort = 1;
	bytes = encoded(&summary, strings);
	assert_int_equal(np_summary_decode(bytes.item, bytes.count, "bytes", strings, &again, &err),
			 NP_E_FORMAT);
	np_bytes_release(&bytes);
	np_summary_release(&summary);
	np_strtab_free(strings);
}

static void a_failure_comes_back_with_its_words(void **state)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_summary summary = { .source = { .rank = 1, .dir = strdup("x") },
				      .failure = NP_E_FORMAT,
				      .failure_text = strdup("no database") };
	struct np_bytes bytes = encoded(&summary, strings);
	struct np_summary again = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_summary_decode(bytes.item, bytes.count, "bytes", strings, &again, &err), err);
	assert_null(again.rank);
	assert_int_equal(again.failure, NP_E_FORMAT);
	assert_string_equal(again.failure_text, "no database");
	np_bytes_release(&bytes);
	np_summary_release(&again);
	np_summary_release(&summary);
	np_strtab_free(strings);
}

static struct np_bytes first_summary(void)
{
	struct np_run *run;
	struct np_summary summary;
	struct np_bytes bytes;

	synth_write(below("run"), database);
	run = synth_load(below("run"));
	summary = summary_of(run, 0);
	bytes = encoded(&summary, run->strings);
	np_run_free(run);
	return bytes;
}

static void any_changed_byte_is_noticed(void **state)
{
	struct np_bytes bytes = first_summary();

	(void)state;
	for (size_t i = 0; i < bytes.count; i++) {
		bytes.item[i] ^= 0x40;
		assert_refused(bytes.item, bytes.count, "summary");
		bytes.item[i] ^= 0x40;
	}
	np_bytes_release(&bytes);
}

static void a_summary_cut_anywhere_is_noticed(void **state)
{
	struct np_bytes bytes = first_summary();

	(void)state;
	for (size_t i = 0; i < bytes.count; i += i < 64 ? 1 : 37)
		assert_refused(bytes.item, i, "summary");
	np_bytes_release(&bytes);
}

static void another_form_is_refused_and_named(void **state)
{
	struct np_bytes bytes = first_summary();

	(void)state;
	bytes.item[8] = NP_SUMMARY_FORM + 1;
	assert_refused(bytes.item, bytes.count, "make it again from the profiles");
	np_bytes_release(&bytes);
}

/* With a right checksum: nothing may be believed, whatever a byte becomes. */
static void bytes_that_lie_are_refused_or_make_a_whole_rank(void **state)
{
	struct np_bytes bytes = first_summary();
	size_t refused = 0;
	size_t tried = 0;

	(void)state;
	for (size_t i = 32; i < bytes.count; i += 3) {
		struct np_strtab *strings = np_strtab_new();
		struct np_bytes lie = { 0 };
		struct np_summary summary = { 0 };
		struct np_err err = NP_ERR_INIT;

		bytes.item[i] ^= 0xff;
		assert_ok(np_summary_seal(bytes.item + 32, bytes.count - 32, &lie, &err), err);
		if (np_summary_decode(lie.item, lie.count, "lie", strings, &summary, &err) < 0)
			refused++;
		tried++;
		bytes.item[i] ^= 0xff;
		np_summary_release(&summary);
		np_bytes_release(&lie);
		np_strtab_free(strings);
	}
	/* Most changes break a number, an index or the order; some are another value. */
	assert_true(refused > tried / 4);
	np_bytes_release(&bytes);
}

static int encode_and_decode(struct np_err *err)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_rank *rank = np_rank_new(0, "dir");
	struct np_summary summary = { .source = { .dir = strdup("dir") }, .rank = rank };
	struct np_summary again = { 0 };
	struct np_bytes bytes = { 0 };
	np_str name;
	int rc = strings && rank && summary.source.dir ? NP_OK : np_fail_nomem(err, "a test");

	if (rc == NP_OK)
		rc = np_strtab_add(strings, "host", 4, &name, err);
	if (rc == NP_OK) {
		rank->host_name = name;
		rc = np_summary_encode(&summary, strings, &bytes, err);
	}
	if (rc == NP_OK)
		rc = np_summary_decode(bytes.item, bytes.count, "bytes", strings, &again, err);
	np_bytes_release(&bytes);
	np_summary_release(&again);
	np_summary_release(&summary);
	np_strtab_free(strings);
	return rc;
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(encode_and_decode);
}

/* --- keys and files ------------------------------------------------------------------------------
 */

static void a_key_changes_with_the_files_and_the_program(void **state)
{
	struct np_run *run;
	struct np_source_files *source;
	uint64_t key;

	(void)state;
	synth_write(below("run"), database);
	run = synth_load(below("run"));
	source = &run->sources.item[0];
	key = np_summary_key(source, "1.0");
	assert_true(key == np_summary_key(source, "1.0"));
	assert_true(key != np_summary_key(source, "1.1"));
	assert_true(key != np_summary_key(&run->sources.item[1], "1.0"));
	assert_int_equal(utimensat(AT_FDCWD, source->file[NP_FILE_RANK_DB],
				   (const struct timespec[]){ { 5, 0 }, { 5, 0 } }, 0),
			 0);
	assert_true(key != np_summary_key(source, "1.0"));
	np_run_free(run);
}

static struct np_run *load_with(const char *cache)
{
	const struct np_discover_options how = { 0 };
	const struct np_load_options options = { .procs = &np_procs_serial,
						 .workers = { .threads = 2 },
						 .cache = cache,
						 .program = "test",
						 .max_memory = 1 };
	const char *dirs[] = { below("run") };
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_discover(run, dirs, 1, &how, &err), err);
	assert_ok(np_load_run(run, &options, &err), err);
	return run;
}

static void a_cached_rank_is_not_read_again(void **state)
{
	struct np_run *run;
	struct stat before;
	char *path;

	(void)state;
	synth_write(below("run"), database);
	run = load_with(below("cache"));
	assert_no_notes(&run->notes);
	path = strdup(run->sources.item[0].file[NP_FILE_RANK_DB]);
	np_run_free(run);
	/* Of the same size and time, yet nothing to read. */
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(truncate(path, before.st_size), 0);
	assert_int_equal(utimensat(AT_FDCWD, path,
				   (const struct timespec[]){ before.st_atim, before.st_mtim }, 0),
			 0);
	run = load_with(below("cache"));
	assert_no_notes(&run->notes);
	assert_int_equal(np_run_used(run), 2);
	np_run_free(run);
	free(path);
}

static void a_stale_summary_is_made_again_and_told(void **state)
{
	struct np_run *run;
	char *path;

	(void)state;
	synth_write(below("run"), database);
	run = load_with(below("cache"));
	path = strdup(run->sources.item[0].file[NP_FILE_RANK_DB]);
	np_run_free(run);
	assert_int_equal(
		utimensat(AT_FDCWD, path, (const struct timespec[]){ { 5, 0 }, { 5, 0 } }, 0), 0);
	run = load_with(below("cache"));
	assert_noted(&run->notes, NP_NOTE_WARNING, "summary", "read again");
	np_run_free(run);
	run = load_with(below("cache"));
	assert_no_notes(&run->notes);
	np_run_free(run);
	free(path);
}

static void a_damaged_summary_is_made_again_and_told(void **state)
{
	struct np_run *run;
	char *path;

	(void)state;
	synth_write(below("run"), database);
	run = load_with(below("cache"));
	path = np_summary_path(below("cache"), &run->sources.item[0]);
	np_run_free(run);
	write_text(path, "garbage");
	run = load_with(below("cache"));
	assert_int_equal(np_run_used(run), 2);
	assert_noted(&run->notes, NP_NOTE_WARNING, "summary", "is no summary");
	np_run_free(run);
	free(path);
}

static void a_cache_that_cannot_be_written_costs_nothing_but_a_note(void **state)
{
	struct np_run *run;

	(void)state;
	synth_write(below("run"), database);
	write_text(below("cache"), "a file");
	run = load_with(below("cache"));
	assert_int_equal(np_run_used(run), 2);
	assert_noted(&run->notes, NP_NOTE_WARNING, "summaries", "cannot");
	np_run_free(run);
}

static void a_directory_without_summaries_is_refused(void **state)
{
	const struct np_discover_options how = { 0 };
	const char *dirs[] = { np_fixture_root };
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("rank0.npsum"), "nothing");
	assert_int_equal(np_summary_discover(run, dirs, 1, &how, &err), NP_E_NOTFOUND);
	assert_holds(err.text, "--cache");
	assert_noted(&run->notes, NP_NOTE_SKIPPED, "summary", "is no summary");
	np_run_free(run);
}

/* Seeds of another form would be refused at once, and nothing behind that be fuzzed. */
static void what_fuzzing_begins_with_is_of_this_form(void **state)
{
	static const char *const seeds[] = { "rank_db", "rank_text" };
	const char *source = getenv("NPUPROF_SOURCE");

	(void)state;
	if (!source)
		skip();
	for (size_t i = 0; i < NP_COUNT(seeds); i++) {
		struct np_strtab *strings = np_strtab_new();
		struct np_summary summary = { 0 };
		struct np_bytes sealed = { 0 };
		struct np_err err = NP_ERR_INIT;
		uint8_t bytes[16384];
		char path[4096];
		size_t length;
		FILE *file;

		(void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/summary/%s", source,
			       seeds[i]);
		file = fopen(path, "r");
		assert_non_null(file);
		length = fread(bytes, 1, sizeof(bytes), file);
		(void)fclose(file);
		assert_ok(np_summary_seal(bytes, length, &sealed, &err), err);
		assert_ok(np_summary_decode(sealed.item, sealed.count, seeds[i], strings, &summary,
					    &err),
			  err);
		assert_int_equal(summary.rank->kernel_sums != NULL, i == 0);
		np_summary_release(&summary);
		np_bytes_release(&sealed);
		np_strtab_free(strings);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, np_fixture_setup, np_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_rank_of_a_database_comes_back_as_it_was),
		TEST(a_rank_of_text_files_comes_back_as_it_was),
		TEST(values_at_their_limits_come_back),
		TEST(rows_that_nobody_shows_are_passed_over),
		TEST(sums_of_kernels_come_back_and_must_be_of_a_sort),
		TEST(a_failure_comes_back_with_its_words),
		TEST(any_changed_byte_is_noticed),
		TEST(a_summary_cut_anywhere_is_noticed),
		TEST(another_form_is_refused_and_named),
		TEST(bytes_that_lie_are_refused_or_make_a_whole_rank),
		TEST(running_out_of_memory_is_told),
		TEST(a_key_changes_with_the_files_and_the_program),
		TEST(a_cached_rank_is_not_read_again),
		TEST(a_stale_summary_is_made_again_and_told),
		TEST(a_damaged_summary_is_made_again_and_told),
		TEST(a_cache_that_cannot_be_written_costs_nothing_but_a_note),
		TEST(a_directory_without_summaries_is_refused),
		TEST(what_fuzzing_begins_with_is_of_this_form),
	};

	return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
