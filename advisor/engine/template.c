/* SPDX-License-Identifier: Apache-2.0 */
#include "template.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/json.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

/* A place for a value: "{name|format}". */
struct slot {
	const char *name;
	size_t name_length;
	const char *format; /* NULL without one */
	size_t format_length;
	size_t length; /* of all of it */
};

static bool read_slot(const char *text, struct slot *ret)
{
	const char *close = strchr(text, '}');
	const char *bar;

	if (!close)
		return false;
	bar = memchr(text, '|', (size_t)(close - text));
	ret->name = text + 1;
	ret->name_length = (size_t)((bar ? bar : close) - text) - 1;
	ret->format = bar ? bar + 1 : NULL;
	ret->format_length = bar ? (size_t)(close - bar) - 1 : 0;
	ret->length = (size_t)(close - text) + 1;
	return true;
}

/* "list(3)": the number, or -1. */
static int64_t list_limit(const char *format, size_t length)
{
	int64_t number;

	if (length > 6 && strncmp(format, "list(", 5) == 0 && format[length - 1] == ')' &&
	    np_text_to_int(format + 5, length - 6, &number) && number > 0)
		return number;
	return -1;
}

static const char *const plain_formats[] = { "int", "f1", "f2",    "f3",   "pct",
					     "dur", "bw", "bytes", "code", "ranks" };

bool template_knows_format(const char *format, size_t length)
{
	for (size_t i = 0; i < NP_COUNT(plain_formats); i++) {
		if (strlen(plain_formats[i]) == length &&
		    strncmp(plain_formats[i], format, length) == 0)
			return true;
	}
	return list_limit(format, length) > 0;
}

/* Texts of a list: a JSON array, or values between commas. */
struct list {
	struct np_buf *buf;
	int64_t limit;
	int64_t seen;
};

static void list_item(struct list *list, const char *text, size_t length)
{
	if (list->seen++ >= list->limit)
		return;
	np_buf_add(list->buf, list->seen > 1 ? ", " : "");
	np_buf_add_bytes(list->buf, text, length);
}

static bool list_of_json(struct list *list, const char *text, size_t length)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;

	if (length == 0 || text[0] != '[' || np_json_parse(text, length, "list", &doc, NULL) < 0)
		return false;
	for (size_t i = 0; i < np_json_count(doc); i++) {
		const struct np_json *item = np_json_item(doc, i);
		const char *word = np_json_text(item);
		int64_t number;
		char digits[24];

		if (!word && np_json_integer(item, &number)) {
			(void)snprintf(digits, sizeof(digits), "%" PRId64, number);
			word = digits;
		}
		if (word)
			list_item(list, word, strlen(word));
	}
	return true;
}

static void add_list(struct np_buf *buf, const char *text, size_t length, int64_t limit)
{
	struct list list = { .buf = buf, .limit = limit };
	const char *end = text + length;

	if (!list_of_json(&list, text, length)) {
		while (text < end) {
			const char *comma = memchr(text, ',', (size_t)(end - text));
			const char *stop = comma ? comma : end;

			while (text < stop && *text == ' ')
				text++;
			list_item(&list, text, (size_t)(stop - text));
			text = stop + 1;
		}
	}
	if (list.seen > limit)
		np_buf_printf(buf, " and %" PRId64 " more", list.seen - limit);
}

/* Numbers between commas as people write them: "0-3,8". */
static void add_ranks(struct np_buf *buf, const char *text, size_t length)
{
	NP_VEC(int64_t) numbers = { 0 };
	const char *end = text + length;
	bool plain = true;

	while (text < end && plain) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma ? comma : end;
		int64_t *slot = np_vec_add(&numbers, NULL);

		plain = slot && np_text_to_int(text, (size_t)(stop - text), slot) &&
			(numbers.count < 2 || slot[-1] < slot[0]);
		text = stop + 1;
	}
	if (plain)
		np_ranges_format(buf, numbers.item, numbers.count);
	else
		np_buf_add_bytes(buf, end - length, length);
	np_vec_release(&numbers);
}

static void add_number(struct np_buf *buf, double number, const char *format, size_t length)
{
	if (length == 2 && format[0] == 'f')
		np_buf_printf(buf, "%.*f", format[1] - '0', number);
	else if (strncmp(format, "int", length) == 0)
		np_buf_printf(buf, "%.0f", number);
	else if (strncmp(format, "pct", length) == 0)
		np_buf_printf(buf, "%.*f %%", fabs(number) < 0.0995 ? 1 : 0, number * 100);
	else if (strncmp(format, "dur", length) == 0)
		np_text_duration(buf, np_double_to_scaled(number, 1));
	else if (strncmp(format, "bytes", length) == 0)
		np_text_bytes(buf, np_double_to_scaled(number, 1));
	else
		np_buf_printf(buf, "%.3g GB/s", number);
}

static void add_plain(struct np_buf *buf, const struct np_cell *value)
{
	if (value->type == NP_CELL_REAL)
		np_buf_printf(buf, "%.6g", value->real);
	else
		cell_format(buf, value);
}

static void add_formatted(struct np_buf *buf, const struct np_cell *value, const char *format,
			  size_t length)
{
	double number;

	if (value->type == NP_CELL_NULL) {
		np_buf_add(buf, "?");
	} else if (!format) {
		add_plain(buf, value);
	} else if (length == 4 && strncmp(format, "code", length) == 0) {
		np_buf_add_char(buf, '`');
		add_plain(buf, value);
		np_buf_add_char(buf, '`');
	} else if (value->type == NP_CELL_TEXT && list_limit(format, length) > 0) {
		add_list(buf, value->text.bytes, value->text.length, list_limit(format, length));
	} else if (value->type == NP_CELL_TEXT && strncmp(format, "ranks", length) == 0) {
		add_ranks(buf, value->text.bytes, value->text.length);
	} else if (cell_number(value, &number) && list_limit(format, length) < 0 &&
		   strncmp(format, "ranks", length) != 0) {
		add_number(buf, number, format, length);
	} else {
		add_plain(buf, value);
	}
}

void template_format(struct np_buf *buf, const struct np_cell *value, const char *format)
{
	add_formatted(buf, value, format, format ? strlen(format) : 0);
}

static const struct np_cell *find(const struct values *values, const struct slot *slot)
{
	for (size_t i = 0; i < values->list.count; i++) {
		const struct named_value *one = &values->list.item[i];

		if (strlen(one->name) == slot->name_length &&
		    strncmp(one->name, slot->name, slot->name_length) == 0)
			return &one->value;
	}
	return NULL;
}

void template_fill(struct np_buf *buf, const char *text, const struct values *values)
{
	static const struct np_cell nothing = { .type = NP_CELL_NULL };

	while (*text) {
		struct slot slot;
		const struct np_cell *value;

		if ((text[0] == '{' || text[0] == '}') && text[1] == text[0]) {
			np_buf_add_char(buf, text[0]);
			text += 2;
		} else if (text[0] == '{' && read_slot(text, &slot)) {
			value = find(values, &slot);
			add_formatted(buf, value ? value : &nothing, slot.format,
				      slot.format_length);
			text += slot.length;
		} else {
			np_buf_add_char(buf, *text++);
		}
	}
}

int template_check(const char *text, const struct values *values, size_t *ret_offset,
		   struct np_err *err)
{
	const char *begin = text;

	while (*text) {
		struct slot slot;

		*ret_offset = (size_t)(text - begin);
		if ((text[0] == '{' || text[0] == '}') && text[1] == text[0]) {
			text += 2;
			continue;
		}
		if (text[0] != '{' && text[0] != '}') {
			text++;
			continue;
		}
		if (text[0] == '}' || !read_slot(text, &slot))
			return np_fail(err, NP_E_FORMAT, "a brace without its partner; write %c%c",
				       text[0], text[0]);
		if (!find(values, &slot))
			return np_fail(err, NP_E_FORMAT, "there is no value '%.*s'",
				       (int)slot.name_length, slot.name);
		if (slot.format && !template_knows_format(slot.format, slot.format_length))
			return np_fail(err, NP_E_FORMAT, "there is no format '%.*s'",
				       (int)slot.format_length, slot.format);
		text += slot.length;
	}
	return NP_OK;
}
