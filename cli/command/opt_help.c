/* SPDX-License-Identifier: Apache-2.0 */
#include "opt.h"

#include "npuprof/text.h"

#include <string.h>

/* Spellings wider than this have their explanation on the next line. */
enum {
	SPELLING_WIDTH = 30
};

static size_t count_choices(const struct np_opt *option)
{
	size_t count = 0;

	while (option->choices && option->choices[count])
		count++;
	return count;
}

/* "-d, --dir DIR", with the names under each other where there is no letter. */
static void add_spelling(struct np_buf *buf, const struct np_opt *option)
{
	if (option->letter)
		np_buf_printf(buf, "  -%c, --%s", option->letter, option->name);
	else
		np_buf_printf(buf, "      --%s", option->name);
	if (option->value)
		np_buf_printf(buf, option->alone ? " [%s]" : " %s", option->value);
}

static void add_explanation(struct np_buf *buf, const struct np_opt *option)
{
	np_buf_add(buf, option->help);
	if (option->choices) {
		np_buf_add(buf, ": ");
		np_opt_one_of(buf, option->choices, count_choices(option));
	}
	if (option->preset || option->preset_words)
		np_buf_printf(buf, " [default: %s]",
			      option->preset ? option->preset : option->preset_words);
}

/* The column of the explanations: after the widest spelling that has one beside it. */
static size_t explanation_column(const struct np_opt_table *table)
{
	struct np_buf spelling = NP_BUF_INIT;
	size_t widest = 0;

	for (size_t g = 0; g < table->count; g++) {
		for (size_t i = 0; i < table->groups[g].count; i++) {
			np_buf_clear(&spelling);
			add_spelling(&spelling, &table->groups[g].options[i]);
			if (spelling.length > widest && spelling.length <= SPELLING_WIDTH)
				widest = spelling.length;
		}
	}
	np_buf_release(&spelling);
	return widest + 2;
}

static void add_option(struct np_buf *buf, const struct np_opt *option, size_t column, size_t width)
{
	struct np_buf explanation = NP_BUF_INIT;
	size_t start = buf->length;
	size_t used;

	add_spelling(buf, option);
	used = buf->length - start;
	if (used + 2 > column) {
		np_buf_add_char(buf, '\n');
		used = 0;
	}
	np_buf_add_repeated(buf, ' ', column - used);
	add_explanation(&explanation, option);
	np_text_wrap(buf, explanation.text, column, width);
	np_buf_release(&explanation);
}

void np_opt_help(struct np_buf *buf, const struct np_opt_table *table, size_t width)
{
	size_t column = explanation_column(table);

	for (size_t g = 0; g < table->count; g++) {
		const struct np_opt_group *group = &table->groups[g];

		np_buf_printf(buf, "\n%s:\n", group->title);
		for (size_t i = 0; i < group->count; i++)
			add_option(buf, &group->options[i], column, width);
	}
}
