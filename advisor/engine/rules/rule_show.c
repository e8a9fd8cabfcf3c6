/* SPDX-License-Identifier: Apache-2.0 */
/* Explains a rule to people. */
#include "rule_show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include "advisor/engine/views/view.h"

#define INDENT 14

static void heading(struct np_buf *buf, const char *name)
{
	size_t width;

	name = np_lang_text(name);
	width = np_text_width(name, strlen(name));
	np_buf_printf(buf, "  %s", name);
	np_buf_add_repeated(buf, ' ', width < INDENT - 2 ? INDENT - 2 - width : 0);
}

/* Foreign text, wrapped behind its heading. */
static void line(struct np_buf *buf, const char *name, const char *text, size_t width)
{
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;

	if (!text)
		return;
	heading(buf, name);
	np_text_safe(&safe, text, strlen(text));
	np_text_wrap(buf, safe.text, INDENT, width);
	buf->failed |= safe.failed;
}

/* SQL as it stands in the rule, line by line: it is to be read, copied and tried. */
static void sql_line(struct np_buf *buf, const char *name, const struct adv_rule_sql *sql)
{
	const char *text = sql->text;

	for (bool first = true; text && *text; first = false) {
		size_t length = strcspn(text, "\n");

		heading(buf, first ? name : "");
		np_text_safe(buf, text, length);
		np_buf_add_char(buf, '\n');
		text += length + (text[length] == '\n');
	}
}

static void show_value(struct np_buf *buf, const struct np_json *value)
{
	const char *text = np_json_text(value);
	double number;

	if (text)
		np_buf_printf(buf, "'%s'", text);
	else if (np_json_real(value, &number))
		np_buf_printf(buf, "%.10g", number);
	else
		np_buf_add(buf, "(table)");
}

static void show_params(struct np_buf *buf, const struct adv_rule *rule)
{
	for (size_t i = 0; i < rule->params.count; i++) {
		const struct adv_rule_param *param = &rule->params.item[i];

		heading(buf, i == 0 ? "parameters" : "");
		np_buf_printf(buf, "%s = ", param->name);
		if (param->set)
			np_buf_add(buf, param->set);
		else
			show_value(buf, param->per_chip ? np_json_member(param->value, "*")
							: param->value);
		if (param->unit)
			np_buf_printf(buf, " %s", param->unit);
		np_buf_add(buf, param->per_chip ? np_lang_text(" (by chip)\n") : "\n");
	}
}

static void show_needs(struct np_buf *buf, const struct adv_rule *rule)
{
	if (rule->level > 0) {
		heading(buf, "needs");
		np_buf_printf(buf, "profiler_level=Level%" PRId64 "\n", rule->level);
	}
	for (size_t i = 0; i < rule->needs.count; i++) {
		const struct adv_rule_need *need = &rule->needs.item[i];

		heading(buf, i == 0 && rule->level == 0 ? "needs" : "");
		np_buf_add(buf, need->view);
		for (size_t c = 0; c < need->columns.count; c++)
			np_buf_printf(buf, "%s%s", c > 0 ? ", " : ": ", need->columns.item[c]);
		np_say(buf, " ({1})\n", NP_SAID_MSG(adv_view_cure(need->view, NULL)));
	}
}

void adv_rule_show(struct np_buf *buf, const struct adv_rule *rule, enum adv_rule_language language,
		   size_t width)
{
	NP_CLEANUP(np_buf_release) struct np_buf title = NP_BUF_INIT;
	const char *text = adv_rule_text_in(rule->title, language);

	np_buf_printf(&title, "%s: ", rule->id);
	np_text_safe(&title, text ? text : "", text ? strlen(text) : 0);
	np_text_wrap(buf, title.text, 2, width);
	buf->failed |= title.failed;
	line(buf, "why", adv_rule_text_in(rule->about, language), width);
	line(buf, "dimension", rule->dimension, width);
	line(buf, "looks at", np_lang_text(rule->over_cluster ? "the cluster" : "each rank"),
	     width);
	show_needs(buf, rule);
	sql_line(buf, "when", &rule->when);
	show_params(buf, rule);
	sql_line(buf, "query", &rule->query);
	sql_line(buf, "filter", &rule->filter);
	for (size_t i = 0; i < rule->summary.count; i++) {
		heading(buf, i == 0 ? "counts" : "");
		np_buf_printf(buf, "%s = %s%s\n", rule->summary.item[i].name,
			      rule->summary.item[i].sql.text,
			      rule->summary.item[i].over_query
				      ? np_lang_text(" (before the filter)")
				      : "");
	}
	sql_line(buf, "fires", &rule->fire);
	for (int i = SEVERITY_COUNT - 1; i >= 0; i--)
		sql_line(buf, adv_severity_name((enum adv_severity)i), &rule->severity[i]);
	line(buf, "otherwise", np_lang_text(adv_severity_name(rule->otherwise)), width);
	sql_line(buf, "gain", &rule->gain);
	line(buf, "basis", adv_rule_text_in(rule->basis, language), width);
	line(buf, "repair", rule->repair, width);
	line(buf, "group", rule->group, width);
	line(buf, "says", adv_rule_text_in(rule->message, language), width);
	for (size_t i = 0; i < rule->advice.count; i++)
		line(buf, i == 0 ? "advises" : "",
		     adv_rule_text_in(rule->advice.item[i].text, language), width);
	for (size_t i = 0; i < rule->docs.count; i++)
		line(buf, i == 0 ? "see" : "", rule->docs.item[i], width);
	line(buf, "from", rule->file->path, width);
}
