/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "position.h"
#include "rule.h"

void problems_release(struct problems *problems)
{
	for (size_t i = 0; i < problems->list.count; i++) {
		free(problems->list.item[i].file);
		free(problems->list.item[i].rule);
		free(problems->list.item[i].text);
	}
	np_vec_release(&problems->list);
}

void problem_add(struct problems *problems, const struct rule_file *file, const char *rule,
		 const char *path, size_t inside, bool warning, const char *fmt, ...)
{
	struct problem *problem = np_vec_add(&problems->list, NULL);
	va_list args;

	problems->errors += !warning;
	if (!problem) {
		problems->lost = true;
		return;
	}
	problem->warning = warning;
	problem->file = strdup(file->path);
	problem->rule = rule ? strdup(rule) : NULL;
	va_start(args, fmt);
	if (vasprintf(&problem->text, fmt, args) < 0)
		problem->text = NULL;
	va_end(args);
	if (file->text && path) {
		size_t offset =
			inside == SIZE_MAX
				? position_offset(file->text, file->length, path)
				: position_offset_inside(file->text, file->length, path, inside);
		struct position position = position_of(file->text, offset);

		problem->line = position.line;
		problem->column = position.column;
	}
}

void problem_format(struct np_buf *buf, const struct problem *problem)
{
	np_buf_add(buf, problem->file ? problem->file : "?");
	if (problem->line > 0)
		np_buf_printf(buf, ":%zu:%zu", problem->line, problem->column);
	np_buf_add(buf, ": ");
	if (problem->rule)
		np_buf_printf(buf, "%s: ", problem->rule);
	np_buf_printf(buf, "%s%s", problem->warning ? "warning: " : "",
		      problem->text ? problem->text : "out of memory");
}
