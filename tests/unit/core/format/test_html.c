/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown turned into HTML: text from profiles stays text. */
#include "npuprof/html.h"

#include "np_test.h"

#include <string.h>

/* The body of the page that the Markdown becomes. */
static void check(const char *markdown, const char *expected)
{
	struct np_buf buf = NP_BUF_INIT;
	char body[2048];
	const char *from;
	const char *to;

	np_html_from_markdown(&buf, "a <title>", markdown);
	assert_false(buf.failed);
	assert_non_null(strstr(buf.text, "<title>a &lt;title&gt;</title>"));
	from = strstr(buf.text, "<body>\n");
	to = strstr(buf.text, "</body>");
	assert_non_null(from);
	assert_non_null(to);
	from += strlen("<body>\n");
	(void)snprintf(body, sizeof(body), "%.*s", (int)(to - from), from);
	assert_string_equal(body, expected);
	np_buf_release(&buf);
}

static void headings_lists_and_paragraphs_are_kept(void **state)
{
	(void)state;
	check("# one\n\ntwo\nthree\n\n* a\n- b\n## c\n",
	      "<h1>one</h1>\n<p>two\nthree\n</p>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<h2>c</h2>\n");
}

static void tables_have_a_header_and_escaped_bars(void **state)
{
	(void)state;
	check("| x | y |\n|---:|---|\n| 1 | a\\|b |\n",
	      "<table>\n<tr><th>x</th><th>y</th></tr>\n<tr><td>1</td><td>a|b</td></tr>\n</table>\n");
}

static void text_of_profiles_stays_text(void **state)
{
	(void)state;
	check("<script>alert(\"1\")</script> & 'x'\n",
	      "<p>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;\n</p>\n");
	check("| <img src=x> |\n", "<table>\n<tr><th>&lt;img src=x&gt;</th></tr>\n</table>\n");
	check("`<b>` and **<i>**\n", "<p><code>&lt;b&gt;</code> and <b>&lt;i&gt;</b>\n</p>\n");
	check("```\n<pre>\n```\n", "<pre>&lt;pre&gt;\n</pre>\n");
	check("[x](javascript:alert)\n", "<p>[x](javascript:alert)\n</p>\n");
}

static void marks_without_an_end_are_text(void **state)
{
	(void)state;
	check("a ` b ** c \\\n", "<p>a ` b ** c \\\n</p>\n");
	check("", "");
	check("|", "<table>\n</table>\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headings_lists_and_paragraphs_are_kept),
		cmocka_unit_test(tables_have_a_header_and_escaped_bars),
		cmocka_unit_test(text_of_profiles_stays_text),
		cmocka_unit_test(marks_without_an_end_are_text),
	};

	return cmocka_run_group_tests_name("html", tests, NULL, NULL);
}
