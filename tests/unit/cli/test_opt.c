/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command/opt.h"

#include "npuprof/text.h"

#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "np_test.h"

static const char *const colours[] = { "red", "green", "blue", NULL };

/* Options of every kind, some in a struct of their own as the common ones are. */
struct inner {
	bool flag;
	int loud;
};

struct values {
	int before;
	struct inner inner;
	int64_t number;
	const char *text;
	struct np_opt_list list;
	int colour;
	uint64_t colours;
	struct np_opt_ranges ranges;
};

static const struct np_opt outer_rows[] = {
	{ .letter = 'n',
	  .name = "number",
	  .kind = NP_OPT_INTEGER,
	  .offset = offsetof(struct values, number),
	  .value = "N",
	  .help = "a number",
	  .preset = "7",
	  .low = -5,
	  .high = 50 },
	{ .letter = 't',
	  .name = "text",
	  .kind = NP_OPT_TEXT,
	  .offset = offsetof(struct values, text),
	  .value = "TEXT",
	  .help = "a text",
	  .preset_words = "none" },
	{ .letter = 'l',
	  .name = "list",
	  .kind = NP_OPT_LIST,
	  .offset = offsetof(struct values, list),
	  .value = "ITEM",
	  .help = "an item" },
	{ .letter = 'c',
	  .name = "colour",
	  .kind = NP_OPT_CHOICE,
	  .offset = offsetof(struct values, colour),
	  .value = "COLOUR",
	  .help = "paint it",
	  .choices = colours,
	  .preset = "green" },
	{ .name = "colours",
	  .kind = NP_OPT_CHOICES,
	  .offset = offsetof(struct values, colours),
	  .value = "COLOUR[,COLOUR...]",
	  .help = "mix them",
	  .choices = colours },
	{ .name = "ranges",
	  .kind = NP_OPT_RANGES,
	  .offset = offsetof(struct values, ranges),
	  .value = "LIST",
	  .help = "some numbers" },
};

static const struct np_opt inner_rows[] = {
	{ .letter = 'f',
	  .name = "flag",
	  .kind = NP_OPT_FLAG,
	  .offset = offsetof(struct inner, flag),
	  .help = "a flag" },
	{ .letter = 'v',
	  .name = "loud",
	  .kind = NP_OPT_COUNT,
	  .offset = offsetof(struct inner, loud),
	  .help = "louder" },
	{ .letter = 'h', .name = "help", .kind = NP_OPT_HELP, .help = "show help" },
	{ .letter = 'V', .name = "version", .kind = NP_OPT_VERSION, .help = "show the version" },
};

static const struct np_opt_group groups[] = {
	{ "Outer", outer_rows, NP_COUNT(outer_rows), 0 },
	{ "Inner", inner_rows, NP_COUNT(inner_rows), offsetof(struct values, inner) },
};

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST, .value = "ITEM", .offset = offsetof(struct values, list) },
	.least = 0,
	.most = NP_OPERANDS_ANY,
};

static const struct np_opt_table table = { groups, NP_COUNT(groups), &operand };

/* Parse a command line of the test; words are separated by single spaces. */
static int parse_table(const struct np_opt_table *with, const char *line, struct values *values,
		       struct np_err *err)
{
	static char copy[256];
	const char *argv[16];
	char *rest = copy;
	int argc = 0;

	*values = (struct values){ 0 };
	*err = NP_ERR_INIT;
	assert_true(snprintf(copy, sizeof(copy), "%s", line) < (int)sizeof(copy));
	while (*line && rest) {
		assert_true((size_t)argc < NP_COUNT(argv));
		argv[argc++] = strsep(&rest, " ");
	}
	return np_opt_parse(with, "paint", argc, argv, values, err);
}

static int parse(const char *line, struct values *values, struct np_err *err)
{
	return parse_table(&table, line, values, err);
}

static void assert_refused(const char *line, const char *text)
{
	struct values values;
	struct np_err err;
	int rc = parse(line, &values, &err);

	np_opt_release(&table, &values);
	assert_int_equal(rc, NP_E_USAGE);
	assert_string_equal(err.text, text);
}

static void presets_hold_where_nothing_was_said(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("", &values, &err), err);
	assert_int_equal(values.number, 7);
	assert_int_equal(values.colour, 1);
	assert_null(values.text);
	assert_null(values.ranges.set);
	assert_false(values.inner.flag);
	np_opt_release(&table, &values);
}

static void a_value_may_be_attached_or_separate(void **state)
{
	static const char *const lines[] = { "-t word", "-tword", "--text word", "--text=word" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(lines); i++) {
		struct values values;
		struct np_err err;

		assert_ok(parse(lines[i], &values, &err), err);
		assert_string_equal(values.text, "word");
		np_opt_release(&table, &values);
	}
}

static void an_attached_value_may_look_like_anything(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("--text=-x=y", &values, &err), err);
	assert_string_equal(values.text, "-x=y");
	np_opt_release(&table, &values);
	assert_ok(parse("-t-x", &values, &err), err);
	assert_string_equal(values.text, "-x");
	np_opt_release(&table, &values);
}

static void flags_share_a_dash_and_the_last_may_take_a_value(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("-fvvt word", &values, &err), err);
	assert_true(values.inner.flag);
	assert_int_equal(values.inner.loud, 2);
	assert_string_equal(values.text, "word");
	assert_int_equal(values.before, 0);
	np_opt_release(&table, &values);
}

/* As scripts of other tools write them. */
static void underscores_and_an_equals_sign_after_a_letter_are_understood(void **state)
{
	const char *const argv[] = { "-n=7", "-t=a", "-l==b", "--colo_urs", "red" };
	struct values values = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_opt_parse(&table, NULL, 3, argv, &values, &err), NP_OK);
	assert_int_equal(values.number, 7);
	assert_string_equal(values.text, "a");
	/* Only the first is no part of the value. */
	assert_string_equal(values.list.item[0], "=b");
	np_opt_release(&table, &values);
	values = (struct values){ 0 };
	assert_int_equal(np_opt_parse(&table, NULL, 2, argv + 3, &values, &err), NP_E_USAGE);
	np_opt_release(&table, &values);
}

static void all_ranges_are_none_that_was_given(void **state)
{
	const char *const argv[] = { "--ranges", "1-3", "--ranges", "all" };
	struct values values = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_opt_parse(&table, NULL, 4, argv, &values, &err), NP_OK);
	assert_null(values.ranges.set);
	np_opt_release(&table, &values);
}

static void lists_keep_options_and_operands_in_order(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("a -l b --list=c - -- -l --", &values, &err), err);
	assert_int_equal(values.list.count, 6);
	assert_string_equal(values.list.item[0], "a");
	assert_string_equal(values.list.item[1], "b");
	assert_string_equal(values.list.item[2], "c");
	assert_string_equal(values.list.item[3], "-");
	assert_string_equal(values.list.item[4], "-l");
	assert_string_equal(values.list.item[5], "--");
	np_opt_release(&table, &values);
}

static void choices_become_indices_and_bits(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("-c blue --colours red,blue,red", &values, &err), err);
	assert_int_equal(values.colour, 2);
	assert_int_equal(values.colours, 5);
	np_opt_release(&table, &values);
}

static void choices_of_several_uses_add_up(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("--colours red --colours blue", &values, &err), err);
	assert_int_equal(values.colours, 5);
	np_opt_release(&table, &values);
}

static void numbers_respect_their_bounds(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("-n -5", &values, &err), err);
	assert_int_equal(values.number, -5);
	np_opt_release(&table, &values);
	assert_refused("-n 51", "'-n' needs a whole number from -5 to 50, not '51'");
	assert_refused("-n 1x", "'-n' needs a whole number from -5 to 50, not '1x'");
	assert_refused("--number=99999999999999999999",
		       "'--number' needs a whole number from -5 to 50, not '99999999999999999999'");
}

static void ranges_are_checked_and_the_last_ones_count(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse("--ranges 0-7 --ranges=3,9", &values, &err), err);
	assert_string_equal(values.ranges.text, "3,9");
	assert_true(np_ranges_has(values.ranges.set, 9));
	assert_false(np_ranges_has(values.ranges.set, 0));
	np_opt_release(&table, &values);
	assert_null(values.ranges.set);
	assert_int_equal(parse("--ranges 7-0", &values, &err), NP_E_USAGE);
	np_opt_release(&table, &values);
}

static void unknown_options_are_refused_with_what_was_meant(void **state)
{
	(void)state;
	assert_refused("--tetx a", "unknown option '--tetx' for paint; did you mean '--text'?");
	assert_refused("--xyzzy", "unknown option '--xyzzy' for paint");
	assert_refused("-fz", "unknown option '-z' for paint");
	assert_refused("-text=a", "unknown option '-text=a' for paint; did you mean '--text'?");
	assert_refused("--=a", "unknown option '--' for paint");
}

static void long_names_are_not_abbreviated(void **state)
{
	(void)state;
	assert_refused("--tex a", "unknown option '--tex' for paint; did you mean '--text'?");
	/* One option's name may begin another's. */
	assert_refused("--colou red",
		       "unknown option '--colou' for paint; did you mean '--colour'?");
}

static void unknown_choices_are_refused_with_what_was_meant(void **state)
{
	(void)state;
	assert_refused("-c gren", "unknown value 'gren' for '-c'; did you mean 'green'?");
	assert_refused("--colour=xyzzy", "unknown value 'xyzzy' for '--colour'; it is one of red, "
					 "green or blue");
	assert_refused("--colours red,,blue", "unknown value '' for '--colours'; it is one of red, "
					      "green or blue");
	assert_refused("--colours red,bleu",
		       "unknown value 'bleu' for '--colours'; did you mean 'blue'?");
}

static void values_must_be_there_and_only_where_they_belong(void **state)
{
	(void)state;
	assert_refused("-t", "'-t' needs a value: TEXT");
	assert_refused("--text", "'--text' needs a value: TEXT");
	assert_refused("-t -f", "'-t' needs a value, and '-f' looks like an option");
	assert_refused("--text=", "the value of '--text' is empty");
	assert_refused("--flag=yes", "'--flag' takes no value");
}

static void help_and_version_end_the_reading(void **state)
{
	struct values values;
	struct np_err err;

	(void)state;
	assert_int_equal(parse("-l a -h --xyzzy", &values, &err), NP_OPT_WANTS_HELP);
	np_opt_release(&table, &values);
	assert_int_equal(parse("-fV", &values, &err), NP_OPT_WANTS_VERSION);
	np_opt_release(&table, &values);
}

static void operands_are_counted(void **state)
{
	const struct np_opt_operand one = { .option = { .kind = NP_OPT_TEXT,
							.value = "TEXT",
							.offset = offsetof(struct values, text) },
					    .least = 1,
					    .most = 1 };
	const struct np_opt_table with = { groups, NP_COUNT(groups), &one };
	const struct np_opt_table without = { groups, NP_COUNT(groups), NULL };
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse_table(&with, "a", &values, &err), err);
	assert_string_equal(values.text, "a");
	assert_int_equal(parse_table(&with, "-f", &values, &err), NP_E_USAGE);
	assert_string_equal(err.text, "paint needs an argument TEXT");
	assert_int_equal(parse_table(&with, "a b", &values, &err), NP_E_USAGE);
	assert_string_equal(err.text, "unexpected argument 'b' for paint");
	assert_int_equal(parse_table(&without, "a", &values, &err), NP_E_USAGE);
	assert_string_equal(err.text, "unexpected argument 'a' for paint");
}

static void an_option_counts_for_the_operand_it_stands_for(void **state)
{
	const struct np_opt_operand some = { .option = operand.option,
					     .least = 1,
					     .most = NP_OPERANDS_ANY };
	const struct np_opt_table with = { groups, NP_COUNT(groups), &some };
	struct values values;
	struct np_err err;

	(void)state;
	assert_ok(parse_table(&with, "-l a", &values, &err), err);
	np_opt_release(&with, &values);
	assert_int_equal(parse_table(&with, "-f", &values, &err), NP_E_USAGE);
	np_opt_release(&with, &values);
}

static void options_before_a_command_stop_at_it(void **state)
{
	const char *const argv[] = { "-f", "cluster", "-x" };
	const char *const marked[] = { "--", "-f" };
	struct values values = { 0 };
	struct np_err err = NP_ERR_INIT;
	int next = -1;

	(void)state;
	assert_ok(np_opt_parse_front(&table, 3, argv, &values, &next, &err), err);
	assert_int_equal(next, 1);
	assert_true(values.inner.flag);
	assert_ok(np_opt_parse_front(&table, 2, marked, &values, &next, &err), err);
	assert_int_equal(next, 1);
	assert_ok(np_opt_parse_front(&table, 0, NULL, &values, &next, &err), err);
	assert_int_equal(next, 0);
}

static void help_shows_spellings_choices_and_defaults(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_opt_help(&buf, &table, 60);
	assert_string_equal(buf.text, "\n"
				      "Outer:\n"
				      "  -n, --number N       a number [default: 7]\n"
				      "  -t, --text TEXT      a text [default: none]\n"
				      "  -l, --list ITEM      an item\n"
				      "  -c, --colour COLOUR  paint it: red, green or blue\n"
				      "                       [default: green]\n"
				      "      --colours COLOUR[,COLOUR...]\n"
				      "                       mix them: red, green or blue\n"
				      "      --ranges LIST    some numbers\n"
				      "\n"
				      "Inner:\n"
				      "  -f, --flag           a flag\n"
				      "  -v, --loud           louder\n"
				      "  -h, --help           show help\n"
				      "  -V, --version        show the version\n");
	np_buf_release(&buf);
}

static void wrapped_text_keeps_its_indent_and_width(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_text_wrap(&buf, "one two three incomprehensible", 4, 12);
	assert_string_equal(buf.text, "one two\n    three\n    incomprehensible\n");
	np_buf_release(&buf);
}

/* The common rows: complete, and no spelling twice. */
static void common_rows_are_complete_and_distinct(void **state)
{
	static const struct np_opt_group common[] = {
		NP_GROUP_INPUT(
			struct { struct np_common common; }, common),
		NP_GROUP_OUTPUT(
			struct { struct np_common common; }, common),
		NP_GROUP_RUNNING(
			struct { struct np_common common; }, common),
		NP_GROUP_GENERAL,
	};
	bool letters[128] = { false };

	(void)state;
	for (size_t g = 0; g < NP_COUNT(common); g++) {
		for (size_t i = 0; i < common[g].count; i++) {
			const struct np_opt *option = &common[g].options[i];

			assert_non_null(option->name);
			assert_non_null(option->help);
			assert_int_equal(np_opt_has_value(option), option->value != NULL);
			assert_false(option->letter && letters[(size_t)option->letter]);
			letters[(size_t)option->letter] = true;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presets_hold_where_nothing_was_said),
		cmocka_unit_test(a_value_may_be_attached_or_separate),
		cmocka_unit_test(an_attached_value_may_look_like_anything),
		cmocka_unit_test(flags_share_a_dash_and_the_last_may_take_a_value),
		cmocka_unit_test(underscores_and_an_equals_sign_after_a_letter_are_understood),
		cmocka_unit_test(all_ranges_are_none_that_was_given),
		cmocka_unit_test(lists_keep_options_and_operands_in_order),
		cmocka_unit_test(choices_become_indices_and_bits),
		cmocka_unit_test(choices_of_several_uses_add_up),
		cmocka_unit_test(numbers_respect_their_bounds),
		cmocka_unit_test(ranges_are_checked_and_the_last_ones_count),
		cmocka_unit_test(unknown_options_are_refused_with_what_was_meant),
		cmocka_unit_test(long_names_are_not_abbreviated),
		cmocka_unit_test(unknown_choices_are_refused_with_what_was_meant),
		cmocka_unit_test(values_must_be_there_and_only_where_they_belong),
		cmocka_unit_test(help_and_version_end_the_reading),
		cmocka_unit_test(operands_are_counted),
		cmocka_unit_test(an_option_counts_for_the_operand_it_stands_for),
		cmocka_unit_test(options_before_a_command_stop_at_it),
		cmocka_unit_test(help_shows_spellings_choices_and_defaults),
		cmocka_unit_test(wrapped_text_keeps_its_indent_and_width),
		cmocka_unit_test(common_rows_are_complete_and_distinct),
	};

	return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
