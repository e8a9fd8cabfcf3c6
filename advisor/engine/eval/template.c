/* SPDX-License-Identifier: Apache-2.0 */
/* Fills values into texts. */
#include "template.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/json.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

/* A place for a value, "{name|format}", or for a text that depends on one, "{name?text}". */
struct slot {
	const char *name;
	size_t name_length;
	const char *format; /* NULL without one */
	size_t format_length;
	const char *inner; /* the text that depends on the value, or NULL */
	size_t inner_length;
	size_t length; /* of all of it */
};

/* Where the text that begins at `text` ends: at a brace that closes none of its own; or NULL. */
static const char *end_of_inner(const char *text, const char *end)
{
	bool inside = false;

	for (; text < end; text++) {
		if (*text == '}' && !inside)
			return text;
		if (*text == '{' || *text == '}')
			inside = *text == '{';
	}
	return NULL;
}

static bool read_slot(const char *text, const char *end, struct slot *ret)
{
	const char *name = text + 1;
	const char *stop = name;
	const char *close;

	while (stop < end && *stop != '|' && *stop != '?' && *stop != '}')
		stop++;
	if (stop == end)
		return false;
	close = *stop == '?' ? end_of_inner(stop + 1, end)
			     : memchr(stop, '}', (size_t)(end - stop));
	if (!close)
		return false;
	*ret = (struct slot){ .name = name,
			      .name_length = (size_t)(stop - name),
			      .length = (size_t)(close - text) + 1 };
	if (*stop == '|') {
		ret->format = stop + 1;
		ret->format_length = (size_t)(close - stop) - 1;
	} else if (*stop == '?') {
		ret->inner = stop + 1;
		ret->inner_length = (size_t)(close - stop) - 1;
	}
	return true;
}

/* "count(kernel,kernels)": the words for one and for several. */
struct words {
	const char *one;
	size_t one_length;
	const char *several;
	size_t several_length;
};

static bool read_words(const char *format, size_t length, struct words *ret)
{
	static const char begin[] = "count(";
	const char *one = format + strlen(begin);
	const char *end = format + length - 1;
	const char *comma;

	if (length < strlen(begin) + 2 || strncmp(format, begin, strlen(begin)) != 0 || *end != ')')
		return false;
	comma = memchr(one, ',', (size_t)(end - one));
	if (!comma || comma == one || comma + 1 == end)
		return false;
	*ret = (struct words){ .one = one,
			       .one_length = (size_t)(comma - one),
			       .several = comma + 1,
			       .several_length = (size_t)(end - comma) - 1 };
	return true;
}

/* "list(3)": the number, or -1; "list(3,等)" has a word for what is left out. */
static int64_t list_limit(const char *format, size_t length, struct words *ret)
{
	const char *comma;
	int64_t number;
	size_t digits;

	if (length <= 6 || strncmp(format, "list(", 5) != 0 || format[length - 1] != ')')
		return -1;
	comma = memchr(format, ',', length);
	digits = (size_t)((comma ? comma : format + length - 1) - format) - 5;
	if (!np_text_to_int(format + 5, digits, &number) || number <= 0)
		return -1;
	*ret = (struct words){ .several = comma ? comma + 1 : NULL };
	if (comma)
		ret->several_length = (size_t)(format + length - 1 - ret->several);
	return number;
}

static const char *const plain_formats[] = { "int", "f1", "f2",    "f3",   "pct",
					     "dur", "bw", "bytes", "code", "ranks" };

bool adv_template_knows_format(const char *format, size_t length)
{
	for (size_t i = 0; i < NP_COUNT(plain_formats); i++) {
		if (strlen(plain_formats[i]) == length &&
		    strncmp(plain_formats[i], format, length) == 0)
			return true;
	}
	return list_limit(format, length, &(struct words){ 0 }) > 0 ||
	       read_words(format, length, &(struct words){ 0 });
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

static void add_list(struct np_buf *buf, const char *text, size_t length, int64_t limit,
		     const struct words *rest)
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
	if (list.seen > limit && rest->several)
		np_buf_printf(buf, " %.*s", (int)rest->several_length, rest->several);
	else if (list.seen > limit)
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
		np_buf_printf(buf, "%.*f GB/s",
			      fabs(number) < 9.995   ? 2
			      : fabs(number) < 99.95 ? 1
						     : 0,
			      number);
}

static void add_plain(struct np_buf *buf, const struct np_cell *value)
{
	if (value->type == NP_CELL_REAL)
		np_buf_printf(buf, "%.6g", value->real);
	else
		adv_cell_format(buf, value);
}

static void add_count(struct np_buf *buf, const struct np_cell *value, const struct words *words)
{
	double number;

	add_plain(buf, value);
	np_buf_add_char(buf, ' ');
	if (adv_cell_number(value, &number) && number >= 1 && number <= 1)
		np_buf_add_bytes(buf, words->one, words->one_length);
	else
		np_buf_add_bytes(buf, words->several, words->several_length);
}

static void add_formatted(struct np_buf *buf, const struct np_cell *value, const char *format,
			  size_t length)
{
	struct words words;
	double number;

	if (value->type == NP_CELL_NULL) {
		np_buf_add(buf, "?");
	} else if (!format) {
		add_plain(buf, value);
	} else if (read_words(format, length, &words)) {
		add_count(buf, value, &words);
	} else if (length == 4 && strncmp(format, "code", length) == 0) {
		np_buf_add_char(buf, '`');
		add_plain(buf, value);
		np_buf_add_char(buf, '`');
	} else if (value->type == NP_CELL_TEXT && list_limit(format, length, &words) > 0) {
		add_list(buf, value->text.bytes, value->text.length,
			 list_limit(format, length, &words), &words);
	} else if (value->type == NP_CELL_TEXT && strncmp(format, "ranks", length) == 0) {
		add_ranks(buf, value->text.bytes, value->text.length);
	} else if (adv_cell_number(value, &number) && list_limit(format, length, &words) < 0 &&
		   strncmp(format, "ranks", length) != 0) {
		add_number(buf, number, format, length);
	} else {
		add_plain(buf, value);
	}
}

void adv_template_format(struct np_buf *buf, const struct np_cell *value, const char *format)
{
	add_formatted(buf, value, format, format ? strlen(format) : 0);
}

static const struct np_cell *find(const struct adv_values *values, const struct slot *slot)
{
	for (size_t i = 0; i < values->list.count; i++) {
		const struct adv_named_value *one = &values->list.item[i];

		if (strlen(one->name) == slot->name_length &&
		    strncmp(one->name, slot->name, slot->name_length) == 0)
			return &one->value;
	}
	return NULL;
}

/* Is there something to say: neither NULL, nor zero, nor an empty text? */
static bool is_something(const struct np_cell *value)
{
	double number;

	if (!value || value->type == NP_CELL_NULL)
		return false;
	if (value->type == NP_CELL_TEXT)
		return value->text.length > 0;
	return !adv_cell_number(value, &number) || fabs(number) > 0;
}

/* A brace that stands for itself. Texts that depend on a value have none. */
static bool is_doubled(const char *text, const char *end, bool inner)
{
	return !inner && end - text > 1 && (text[0] == '{' || text[0] == '}') && text[1] == text[0];
}

static void fill(struct np_buf *buf, const char *text, size_t length,
		 const struct adv_values *values, bool inner)
{
	static const struct np_cell nothing = { .type = NP_CELL_NULL };
	const char *end = text + length;

	while (text < end) {
		struct slot slot;
		const struct np_cell *value;

		if (is_doubled(text, end, inner)) {
			np_buf_add_char(buf, text[0]);
			text += 2;
			continue;
		}
		if (text[0] != '{' || !read_slot(text, end, &slot)) {
			np_buf_add_char(buf, *text++);
			continue;
		}
		value = find(values, &slot);
		if (!slot.inner)
			add_formatted(buf, value ? value : &nothing, slot.format,
				      slot.format_length);
		else if (!inner && is_something(value))
			fill(buf, slot.inner, slot.inner_length, values, true);
		text += slot.length;
	}
}

void adv_template_fill(struct np_buf *buf, const char *text, const struct adv_values *values)
{
	fill(buf, text, strlen(text), values, false);
}

bool adv_template_is_known(const char *text, const struct adv_values *values)
{
	const char *end = text + strlen(text);
	struct slot slot;

	for (; (text = strchr(text, '{')) && read_slot(text, end, &slot); text += slot.length) {
		const struct np_cell *value = find(values, &slot);

		if (!value || value->type == NP_CELL_NULL)
			return false;
	}
	return true;
}

static int check_slot(const struct slot *slot, const struct adv_values *values, bool inner,
		      struct np_err *err)
{
	if (!find(values, slot))
		return np_fail(err, NP_E_FORMAT, "there is no value '%.*s'", (int)slot->name_length,
			       slot->name);
	if (slot->format && !adv_template_knows_format(slot->format, slot->format_length))
		return np_fail(err, NP_E_FORMAT, "there is no format '%.*s'",
			       (int)slot->format_length, slot->format);
	if (slot->inner && inner)
		return np_fail(err, NP_E_FORMAT, "a text that depends on a value within another");
	return NP_OK;
}

/* `ret_offset` is counted from `text`. */
static int check(const char *text, size_t length, const struct adv_values *values, bool inner,
		 size_t *ret_offset, struct np_err *err)
{
	const char *begin = text;
	const char *end = text + length;
	int rc = NP_OK;

	while (text < end && rc == NP_OK) {
		size_t offset = (size_t)(text - begin);
		struct slot slot;

		*ret_offset = offset;
		if (is_doubled(text, end, inner)) {
			text += 2;
			continue;
		}
		if (text[0] != '{' && text[0] != '}') {
			text++;
			continue;
		}
		if (text[0] == '}' || !read_slot(text, end, &slot))
			return np_fail(err, NP_E_FORMAT, "a brace without its partner; write %c%c",
				       text[0], text[0]);
		rc = check_slot(&slot, values, inner, err);
		if (rc == NP_OK && slot.inner) {
			rc = check(slot.inner, slot.inner_length, values, true, ret_offset, err);
			*ret_offset += offset + (size_t)(slot.inner - text);
		}
		text += slot.length;
	}
	return rc;
}

int adv_template_check(const char *text, const struct adv_values *values, size_t *ret_offset,
		       struct np_err *err)
{
	return check(text, strlen(text), values, false, ret_offset, err);
}
