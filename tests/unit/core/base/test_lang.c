/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in another language, and how those without spaces are wrapped. */
#include "npuprof/lang.h"

#include "npuprof/text.h"

#include "np_test.h"

static int speak_english(void **state)
{
	(void)state;
	(void)np_lang_set(NP_LANG_EN);
	return 0;
}

static void english_is_as_it_is_written(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	assert_string_equal(np_lang_text("Verdict"), "Verdict");
	np_lang_put_parts(&buf, "no rank stands out; why is not known");
	assert_string_equal(buf.text, "no rank stands out; why is not known");
}

static void what_has_no_entry_stays(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	assert_int_equal(np_lang_set(NP_LANG_ZH), NP_LANG_EN);
	assert_string_equal(np_lang_text("Verdict"), "结论");
	assert_string_equal(np_lang_text("no such entry"), "no such entry");
	np_lang_put(&buf, "no such entry");
	assert_string_equal(buf.text, "no such entry");
}

static void a_filled_sentence_is_found_by_its_gaps(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put(&buf, "6 of the 8 ranks of the job have no profile here: 2-7");
	assert_string_equal(buf.text, "作业的 8 个 rank 中有 6 个没有采集数据：2-7");
}

static void parts_are_translated_each_and_gaps_in_them(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put_parts(&buf, "rank 5 makes the others wait (chronic): computes longer; why is"
				" not known");
	assert_string_equal(buf.text, "rank 5 拖慢了其他 rank（持续）：计算耗时更长；原因未知");
}

static void names_in_quotes_are_no_words(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put(&buf, "unknown option '--rank' for memory; did you mean '--ranks'?");
	assert_string_equal(buf.text, "'memory' 没有选项 '--rank'；是否想输入 '--ranks'？");
}

static void a_reason_within_a_reason_is_said_too(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put(&buf, "cannot open 'a/b': No such file or directory");
	assert_string_equal(buf.text, "无法打开 'a/b'：没有那个文件或目录");
}

static void what_stands_beside_a_mark_is_said_by_itself(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put(&buf, "x_y: no communication operators; profile_memory=True");
	assert_string_equal(buf.text, "x_y：没有通信算子；profile_memory=True");
}

/* What is quoted first does not reach to the quote of the second. */
static void reasons_in_a_row_are_said_each(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put(
		&buf,
		"'a.db' is damaged or cut short; export this rank again; 'b.db' is damaged or cut "
		"short; export this rank again");
	assert_string_equal(buf.text, "'a.db' 已损坏或被截断；请重新导出该 rank；'b.db' "
				      "已损坏或被截断；请重新导出该 rank");
}

/* "{1} of {2}" is an entry, and not what this means. */
static void few_letters_are_no_sentence(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put(&buf, "the end of all things");
	assert_string_equal(buf.text, "the end of all things");
}

static void lines_are_said_each(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	(void)np_lang_set(NP_LANG_ZH);
	np_lang_put_lines(&buf, "no window is open\nxyz\n");
	assert_string_equal(buf.text, "没有打开的窗口\nxyz\n");
}

static void a_line_names_its_language_before_the_application(void **state)
{
	const char *const line[] = { "npuprof", "collect", "--lang", "zh", "--", "x", "--lang=en" };

	(void)state;
	assert_int_equal(np_lang_of_line(NP_COUNT(line), line), NP_LANG_ZH);
}

static void words_name_languages(void **state)
{
	enum np_lang lang = NP_LANG_EN;

	(void)state;
	assert_true(np_lang_parse("cn", &lang));
	assert_int_equal(lang, NP_LANG_ZH);
	assert_false(np_lang_parse("fr", &lang));
	assert_int_equal(lang, NP_LANG_ZH);
}

/* Ten columns are five characters; punctuation does not begin a line, a number keeps its unit. */
static void chinese_is_broken_anywhere_but_before_punctuation(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_text_wrap(&buf, "计算通信等，待 12 ms（8 个）", 0, 10);
	assert_string_equal(buf.text, "计算通信\n等，待\n12 ms\n（8 个）\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(english_is_as_it_is_written, speak_english),
		cmocka_unit_test_teardown(what_has_no_entry_stays, speak_english),
		cmocka_unit_test_teardown(a_filled_sentence_is_found_by_its_gaps, speak_english),
		cmocka_unit_test_teardown(parts_are_translated_each_and_gaps_in_them,
					  speak_english),
		cmocka_unit_test_teardown(names_in_quotes_are_no_words, speak_english),
		cmocka_unit_test_teardown(a_reason_within_a_reason_is_said_too, speak_english),
		cmocka_unit_test_teardown(reasons_in_a_row_are_said_each, speak_english),
		cmocka_unit_test_teardown(what_stands_beside_a_mark_is_said_by_itself,
					  speak_english),
		cmocka_unit_test_teardown(few_letters_are_no_sentence, speak_english),
		cmocka_unit_test_teardown(lines_are_said_each, speak_english),
		cmocka_unit_test_teardown(a_line_names_its_language_before_the_application,
					  speak_english),
		cmocka_unit_test_teardown(words_name_languages, speak_english),
		cmocka_unit_test_teardown(chinese_is_broken_anywhere_but_before_punctuation,
					  speak_english),
	};

	return cmocka_run_group_tests_name("lang", tests, NULL, NULL);
}
