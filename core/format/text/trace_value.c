/* SPDX-License-Identifier: Apache-2.0 */
/* Values of an event: decoded texts, exact times, arguments. */
#include "trace_private.h"

#include "npuprof/text.h"

/* Of a value as it stands, its characters: decoded to the same place of the scratch space. */
static struct np_trace_value value_of(const struct np_trace_event *event,
				      const struct np_token *token)
{
	struct np_trace_value value = { token->type, { token->begin, token->length } };
	char *decoded;

	if (token->type == NP_TRACE_TEXT && token->escaped) {
		decoded = event->scratch + (token->begin - event->args.bytes);
		value.text.bytes = decoded;
		value.text.length = np_decode_text(token->begin, token->length, decoded);
	}
	return value;
}

/* Fill in the first that is asked for under this key and has no value yet. */
static size_t offer(const struct np_trace_event *event, const struct np_token *key,
		    const struct np_token *token, const char *const *keys, size_t count,
		    struct np_trace_value *ret)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (ret[i].type == NP_TRACE_NONE && np_key_is(key, keys[i])) {
			ret[i] = value_of(event, token);
			found++;
		}
	}
	return found;
}

size_t np_trace_args(const struct np_trace_event *event, const char *const *keys, size_t count,
		     struct np_trace_value *ret)
{
	struct np_cursor cursor = { .at = event->args.bytes };
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct np_trace_value){ .type = NP_TRACE_NONE };
	if (event->args.length == 0 || *cursor.at++ != '{')
		return 0;
	/* The object is known to be complete: every step gets to its end. */
	cursor.end = event->args.bytes + event->args.length;
	while (found < count && np_cursor_skip_blanks(&cursor) != '}') {
		struct np_token key;
		struct np_token token;

		if (np_read_key(&cursor, &key) != NP_STEP_DONE ||
		    np_read_value(&cursor, &token) != NP_STEP_DONE)
			break;
		found += offer(event, &key, &token, keys, count, ret);
		if (np_cursor_skip_blanks(&cursor) == ',')
			cursor.at++;
	}
	return found;
}

bool np_trace_arg(const struct np_trace_event *event, const char *key, struct np_trace_value *ret)
{
	return np_trace_args(event, &key, 1, ret) == 1;
}

/* A number with an exponent in parts: digits × 10^exponent. */
struct scientific {
	bool negative;
	uint64_t digits;
	int64_t exponent;
};

/* No exponent that matters is larger, and sums of a few cannot overflow. */
#define EXPONENT_MAX 10000

static bool read_digits(const char **at, const char *end, struct scientific *ret, int64_t step)
{
	for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
		if (__builtin_mul_overflow(ret->digits, (uint64_t)10, &ret->digits) ||
		    __builtin_add_overflow(ret->digits, (uint64_t)(**at - '0'), &ret->digits))
			return false;
		ret->exponent -= step;
	}
	return true;
}

static bool read_scientific(struct np_slice text, struct scientific *ret)
{
	const char *at = text.bytes;
	const char *end = at + text.length;
	int64_t exponent = 0;

	*ret = (struct scientific){ .negative = at < end && *at == '-' };
	at += ret->negative;
	if (!read_digits(&at, end, ret, 0))
		return false;
	if (at < end && *at == '.') {
		at++;
		if (!read_digits(&at, end, ret, 1))
			return false;
	}
	if (at >= end || (*at != 'e' && *at != 'E') ||
	    !np_text_to_int(at + 1, (size_t)(end - at - 1), &exponent) || exponent > EXPONENT_MAX ||
	    exponent < -EXPONENT_MAX)
		return false;
	ret->exponent += exponent;
	return true;
}

/* digits × 10^exponent as an integer, if it is one. */
static bool shift_exactly(struct scientific number, int64_t *ret)
{
	if (number.digits == 0) {
		*ret = 0;
		return true;
	}
	for (; number.exponent < 0; number.exponent++) {
		if (number.digits % 10 != 0)
			return false;
		number.digits /= 10;
	}
	for (; number.exponent > 0; number.exponent--) {
		if (__builtin_mul_overflow(number.digits, (uint64_t)10, &number.digits))
			return false;
	}
	if (number.digits > INT64_MAX)
		return false;
	*ret = number.negative ? -(int64_t)number.digits : (int64_t)number.digits;
	return true;
}

/*
 * A number with an exponent times 10^shift. It counts only if the result is
 * exact: "1.69512345678901234e+15" has lost digits, and so may have any other.
 */
static bool scientific_to_scaled(struct np_slice text, int shift, int64_t *ret)
{
	struct scientific number;

	if (!read_scientific(text, &number))
		return false;
	number.exponent += shift;
	return shift_exactly(number, ret);
}

static bool is_number_or_text(const struct np_trace_value *value)
{
	return value->type == NP_TRACE_NUMBER || value->type == NP_TRACE_TEXT;
}

bool np_trace_value_us(const struct np_trace_value *value, np_ns *ret)
{
	int64_t time = 0;

	if (!is_number_or_text(value))
		return false;
	if (!np_text_to_scaled(value->text.bytes, value->text.length, 3, &time) &&
	    (value->type != NP_TRACE_NUMBER || !scientific_to_scaled(value->text, 3, &time)))
		return false;
	if (time > NP_NS_MAX || time < -NP_NS_MAX)
		return false;
	*ret = time;
	return true;
}

/* "3", "3.0" and 3e0 are whole; "3.5" is not. */
bool np_trace_value_integer(const struct np_trace_value *value, int64_t *ret)
{
	struct np_slice text = value->text;
	const char *point;

	if (!is_number_or_text(value))
		return false;
	point = text.length > 0 ? memchr(text.bytes, '.', text.length) : NULL;
	if (!point && np_text_to_int(text.bytes, text.length, ret))
		return true;
	if (value->type != NP_TRACE_NUMBER)
		return false;
	if (scientific_to_scaled(text, 0, ret))
		return true;
	if (!point)
		return false;
	for (const char *zero = point + 1; zero < text.bytes + text.length; zero++) {
		if (*zero != '0')
			return false;
	}
	return np_text_to_int(text.bytes, (size_t)(point - text.bytes), ret);
}

bool np_trace_value_real(const struct np_trace_value *value, double *ret)
{
	char text[64];
	char *end = NULL;
	double real;

	if (!is_number_or_text(value) || value->text.length == 0 ||
	    value->text.length >= sizeof(text))
		return false;
	memcpy(text, value->text.bytes, value->text.length);
	text[value->text.length] = '\0';
	real = strtod(text, &end);
	if (end != text + value->text.length)
		return false;
	*ret = real;
	return true;
}

bool np_trace_arg_integer(const struct np_trace_event *event, const char *key, int64_t *ret)
{
	struct np_trace_value value;

	return np_trace_arg(event, key, &value) && np_trace_value_integer(&value, ret);
}

bool np_trace_arg_text(const struct np_trace_event *event, const char *key, struct np_slice *ret)
{
	struct np_trace_value value;

	if (!np_trace_arg(event, key, &value) || value.type != NP_TRACE_TEXT)
		return false;
	*ret = value.text;
	return true;
}
