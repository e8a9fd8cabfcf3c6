/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/strtab.h"

#include <pthread.h>

#include "np_fault.h"
#include "np_test.h"

static struct np_strtab *some_table(void)
{
	struct np_strtab *table = np_strtab_new();

	assert_non_null(table);
	return table;
}

static np_str add(struct np_strtab *table, const char *text)
{
	struct np_err err = NP_ERR_INIT;
	np_str id = NP_STR_NONE;

	assert_ok(np_strtab_add(table, text, strlen(text), &id, &err), err);
	assert_int_not_equal(id, NP_STR_NONE);
	return id;
}

static void equal_text_has_an_equal_id(void **state)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();
	np_str matmul = add(table, "MatMul");
	np_str add_op = add(table, "Add");

	(void)state;
	assert_int_equal(add(table, "MatMul"), matmul);
	assert_int_not_equal(add_op, matmul);
	assert_string_equal(np_strtab_text(table, matmul), "MatMul");
	assert_string_equal(np_strtab_text(table, add_op), "Add");
	assert_int_equal(np_strtab_count(table), 2);
}

static void equal_lists_are_kept_once(void **state)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();
	/* 0 8 16 24, 100 */
	const struct np_list_run runs[] = { { 0, 8, 4 }, { 100, 0, 1 } };
	struct np_err err = NP_ERR_INIT;
	const int32_t *list[3];
	size_t count;

	(void)state;
	assert_ok(np_strtab_list(table, runs, 2, &list[0], &count, &err), err);
	assert_int_equal(count, 5);
	assert_int_equal(list[0][3], 24);
	assert_int_equal(list[0][4], 100);
	assert_ok(np_strtab_list(table, runs, 1, &list[1], &count, &err), err);
	assert_int_equal(count, 4);
	assert_ptr_not_equal(list[1], list[0]);
	assert_ok(np_strtab_list(table, runs, 2, &list[2], &count, &err), err);
	assert_ptr_equal(list[2], list[0]);
	assert_int_equal(count, 5);
}

static void no_text_reads_as_empty(void **state)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();

	(void)state;
	assert_string_equal(np_strtab_text(table, NP_STR_NONE), "");
	assert_int_equal(np_strtab_length(table, NP_STR_NONE), 0);
	assert_int_equal(np_strtab_count(table), 0);
}

static void the_empty_text_is_a_text(void **state)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();
	np_str empty = add(table, "");

	(void)state;
	assert_int_equal(add(table, ""), empty);
	assert_string_equal(np_strtab_text(table, empty), "");
	assert_int_equal(np_strtab_count(table), 1);
}

static void text_is_told_apart_by_all_its_bytes(void **state)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();
	np_str whole;
	np_str part;

	(void)state;
	assert_int_equal(np_strtab_add(table, "a\0b", 3, &whole, NULL), NP_OK);
	assert_int_equal(np_strtab_add(table, "a\0b", 1, &part, NULL), NP_OK);
	assert_int_not_equal(whole, part);
	assert_int_equal(np_strtab_length(table, whole), 3);
	assert_memory_equal(np_strtab_text(table, whole), "a\0b", 4);
	assert_int_equal(np_strtab_length(table, part), 1);
}

static void name_of(char *name, size_t size, size_t i)
{
	assert_true(snprintf(name, size, "aclnnMatmul_%zu", i) > 0);
}

static void texts_stay_where_they_are_while_the_table_grows(void **state)
{
	enum {
		TEXTS = 50000
	};
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();
	const char **first = calloc(TEXTS, sizeof(*first));
	char name[64];

	(void)state;
	assert_non_null(first);
	for (size_t i = 0; i < TEXTS; i++) {
		name_of(name, sizeof(name), i);
		first[i] = np_strtab_text(table, add(table, name));
	}
	assert_int_equal(np_strtab_count(table), TEXTS);
	for (size_t i = 0; i < TEXTS; i++) {
		name_of(name, sizeof(name), i);
		assert_ptr_equal(np_strtab_text(table, add(table, name)), first[i]);
		assert_string_equal(first[i], name);
	}
	assert_int_equal(np_strtab_count(table), TEXTS);
	free(first);
}

static void an_impossible_length_is_out_of_memory(void **state)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();
	struct np_err err = NP_ERR_INIT;
	np_str id = 77;

	(void)state;
	assert_int_equal(np_strtab_add(table, "x", SIZE_MAX, &id, &err), NP_E_NOMEM);
	assert_int_equal(err.code, NP_E_NOMEM);
	assert_int_equal(id, 77);
	assert_int_equal(np_strtab_count(table), 0);
}

enum {
	THREADS = 4,
	SHARED_TEXTS = 3000
};

struct reader {
	struct np_strtab *table;
	size_t start;
	size_t wrong;
	np_str id[SHARED_TEXTS];
};

/* Each thread starts somewhere else, and reads its texts while the others add. */
static void *add_and_read(void *argument)
{
	struct reader *reader = argument;
	char name[64];

	for (size_t i = 0; i < SHARED_TEXTS; i++) {
		size_t which = (reader->start + i) % SHARED_TEXTS;
		int length = snprintf(name, sizeof(name), "shared-%zu", which);
		np_str *id = &reader->id[which];

		if (np_strtab_add(reader->table, name, (size_t)length, id, NULL) != NP_OK ||
		    strcmp(np_strtab_text(reader->table, *id), name) != 0 ||
		    np_strtab_count(reader->table) == 0)
			reader->wrong++;
	}
	return NULL;
}

static void threads_agree_on_the_ids(void **state)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = some_table();
	struct reader *reader = calloc(THREADS, sizeof(*reader));
	pthread_t thread[THREADS];

	(void)state;
	assert_non_null(reader);
	for (size_t i = 0; i < THREADS; i++) {
		reader[i].table = table;
		reader[i].start = i * 700;
		assert_int_equal(pthread_create(&thread[i], NULL, add_and_read, &reader[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(reader[i].wrong, 0);
		assert_memory_equal(reader[i].id, reader[0].id, sizeof(reader[0].id));
	}
	assert_int_equal(np_strtab_count(table), SHARED_TEXTS);
	free(reader);
}

static int fill_table(struct np_err *err)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *table = np_strtab_new();
	char name[64];

	if (!table)
		return np_fail_nomem(err, "a table");
	for (size_t i = 0; i < 5000; i++) {
		np_str id = 77;
		int rc;

		name_of(name, sizeof(name), i);
		rc = np_strtab_add(table, name, strlen(name), &id, err);
		if (rc < 0) {
			assert_int_equal(id, 77);
			assert_int_equal(np_strtab_count(table), i);
			/* The next try succeeds, with nothing lost or counted twice. */
			assert_int_equal(add(table, name), i + 1);
			assert_int_equal(np_strtab_count(table), i + 1);
			return rc;
		}
	}
	return NP_OK;
}

static void running_out_of_memory_leaves_the_table_as_it_was(void **state)
{
	(void)state;
	assert_survives_faults(fill_table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_text_has_an_equal_id),
		cmocka_unit_test(equal_lists_are_kept_once),
		cmocka_unit_test(no_text_reads_as_empty),
		cmocka_unit_test(the_empty_text_is_a_text),
		cmocka_unit_test(text_is_told_apart_by_all_its_bytes),
		cmocka_unit_test(texts_stay_where_they_are_while_the_table_grows),
		cmocka_unit_test(an_impossible_length_is_out_of_memory),
		cmocka_unit_test(threads_agree_on_the_ids),
		cmocka_unit_test(running_out_of_memory_leaves_the_table_as_it_was),
	};

	return cmocka_run_group_tests_name("strtab", tests, NULL, NULL);
}
