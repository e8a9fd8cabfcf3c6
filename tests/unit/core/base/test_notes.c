/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/notes.h"

#include "np_fault.h"
#include "np_test.h"

static void a_note_keeps_copies_of_its_texts(void **state)
{
	struct np_notes notes = { 0 };
	char path[] = "/rank0";
	char what[] = "rank";

	(void)state;
	np_note_add(&notes, NP_NOTE_SKIPPED, 7, path, what, "%d of %s", 3, "4");
	path[0] = what[0] = 'x';
	assert_int_equal(notes.list.count, 1);
	assert_int_equal(notes.list.item[0].kind, NP_NOTE_SKIPPED);
	assert_int_equal(notes.list.item[0].rank, 7);
	assert_string_equal(notes.list.item[0].path, "/rank0");
	assert_string_equal(notes.list.item[0].what, "rank");
	assert_string_equal(notes.list.item[0].reason, "3 of 4");
	assert_false(notes.lost);
	np_notes_release(&notes);
}

static void notes_are_counted_by_kind(void **state)
{
	struct np_notes notes = { 0 };

	(void)state;
	np_note_add(&notes, NP_NOTE_SKIPPED, NP_NO_RANK, "a", "rank", "gone");
	np_note_add(&notes, NP_NOTE_WARNING, NP_NO_RANK, "b", "rank", "odd");
	np_note_add(&notes, NP_NOTE_WARNING, NP_NO_RANK, "c", "rank", "odd");
	assert_int_equal(np_notes_count(&notes, NP_NOTE_SKIPPED), 1);
	assert_int_equal(np_notes_count(&notes, NP_NOTE_WARNING), 2);
	np_notes_release(&notes);
	assert_int_equal(np_notes_count(&notes, NP_NOTE_WARNING), 0);
}

static void moved_notes_stand_behind_those_that_were_there(void **state)
{
	struct np_notes to = { 0 };
	struct np_notes from = { 0 };

	(void)state;
	np_note_add(&to, NP_NOTE_WARNING, 0, "a", "rank", "first");
	np_note_add(&from, NP_NOTE_WARNING, 1, "b", "rank", "second");
	np_note_add(&from, NP_NOTE_WARNING, 1, "c", "rank", "third");
	np_notes_move(&to, &from);
	assert_int_equal(from.list.count, 0);
	assert_int_equal(to.list.count, 3);
	assert_string_equal(to.list.item[0].reason, "first");
	assert_string_equal(to.list.item[2].reason, "third");
	np_notes_release(&to);
	np_notes_release(&from);
}

static void moving_no_notes_changes_nothing(void **state)
{
	struct np_notes to = { 0 };
	struct np_notes from = { 0 };

	(void)state;
	np_notes_move(&to, &from);
	assert_int_equal(to.list.count, 0);
	assert_false(to.lost);
}

static void that_a_note_was_lost_moves_along(void **state)
{
	struct np_notes to = { 0 };
	struct np_notes from = { .lost = true };

	(void)state;
	np_notes_move(&to, &from);
	assert_true(to.lost);
}

/* Notes do not fail: that one was lost is remembered instead. */
static int add_and_move(struct np_err *err)
{
	struct np_notes to = { 0 };
	struct np_notes from = { 0 };
	bool lost;

	(void)err;
	np_note_add(&from, NP_NOTE_WARNING, 1, "b", "rank", "second");
	np_notes_move(&to, &from);
	lost = to.lost;
	assert_int_equal(to.list.count, lost ? 0 : 1);
	np_notes_release(&to);
	return lost ? NP_E_NOMEM : NP_OK;
}

static void a_note_that_found_no_memory_is_remembered_as_lost(void **state)
{
	(void)state;
	assert_survives_faults(add_and_move);
}

/* Three ranks say the same but for a number, another one says something else. */
static void notes_that_say_the_same_but_for_numbers_are_one_group(void **state)
{
	struct np_notes notes = { 0 };
	struct np_note_groups groups;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	np_note_add(&notes, NP_NOTE_WARNING, 3, "d", "analysis.db", "12 values disagree");
	np_note_add(&notes, NP_NOTE_WARNING, 1, "b", "analysis.db", "7 values disagree");
	np_note_add(&notes, NP_NOTE_SKIPPED, 1, "b", "analysis.db", "7 values disagree");
	np_note_add(&notes, NP_NOTE_WARNING, 1, "b", "analysis.db", "1.5 values disagree");
	np_note_add(&notes, NP_NOTE_WARNING, 2, "b", "analysis.db", "7 values are missing");
	np_note_add(&notes, NP_NOTE_WARNING, NP_NO_RANK, "e", "analysis.db", "7 values disagree");
	assert_ok(np_notes_group(&notes, &groups, &err), err);
	assert_int_equal(groups.list.count, 4);
	assert_int_equal(groups.list.item[0].first->kind, NP_NOTE_SKIPPED);
	assert_int_equal(groups.list.item[1].count, 3);
	assert_int_equal(groups.list.item[1].first->rank, 3);
	assert_int_equal(groups.list.item[1].ranks.count, 2);
	assert_int_equal(groups.list.item[1].ranks.item[0], 1);
	assert_int_equal(groups.list.item[1].ranks.item[1], 3);
	assert_int_equal(groups.list.item[3].ranks.count, 0);
	np_note_groups_release(&groups);
	np_notes_release(&notes);
}

static void one_row_in_a_thousand_is_a_warning_and_one_more_is_a_loss(void **state)
{
	(void)state;
	assert_int_equal(np_note_of_loss(1, 1000), NP_NOTE_WARNING);
	assert_int_equal(np_note_of_loss(2, 1999), NP_NOTE_SKIPPED);
	assert_int_equal(np_note_of_loss(2, 2000), NP_NOTE_WARNING);
	assert_int_equal(np_note_of_loss(1, 999), NP_NOTE_SKIPPED);
	assert_int_equal(np_note_of_loss(1, 1), NP_NOTE_SKIPPED);
}

static void what_was_told_of_a_file_is_not_told_again(void **state)
{
	struct np_notes told = { 0 };
	struct np_notes from = { 0 };
	struct np_notes to = { 0 };

	(void)state;
	np_note_add(&told, NP_NOTE_SKIPPED, 3, "r3/kernels", "kernels", "no times");
	np_note_add(&from, NP_NOTE_SKIPPED, 3, "r3/kernels", "kernels",
		    "no times; used instead: …");
	np_note_add(&from, NP_NOTE_SKIPPED, 3, "r3/kernels", "sizes", "they are negative");
	np_note_add(&from, NP_NOTE_SKIPPED, 4, "r3/kernels", "kernels", "no times");
	np_note_add(&from, NP_NOTE_WARNING, 3, "r3/memory", "memory", "no sizes");
	np_notes_move_untold(&to, &from, &told);
	assert_int_equal(from.list.count, 0);
	assert_int_equal(to.list.count, 3);
	assert_string_equal(to.list.item[0].what, "sizes");
	assert_int_equal(to.list.item[1].rank, 4);
	assert_string_equal(to.list.item[2].path, "r3/memory");
	np_notes_release(&told);
	np_notes_release(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_keeps_copies_of_its_texts),
		cmocka_unit_test(notes_are_counted_by_kind),
		cmocka_unit_test(moved_notes_stand_behind_those_that_were_there),
		cmocka_unit_test(moving_no_notes_changes_nothing),
		cmocka_unit_test(that_a_note_was_lost_moves_along),
		cmocka_unit_test(a_note_that_found_no_memory_is_remembered_as_lost),
		cmocka_unit_test(notes_that_say_the_same_but_for_numbers_are_one_group),
		cmocka_unit_test(what_was_told_of_a_file_is_not_told_again),
		cmocka_unit_test(one_row_in_a_thousand_is_a_warning_and_one_more_is_a_loss),
	};

	return cmocka_run_group_tests_name("notes", tests, NULL, NULL);
}
