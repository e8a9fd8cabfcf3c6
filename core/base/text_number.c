/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers from text, to the last digit, and times without a detour over reals. */
#include "npuprof/text.h"

#include <endian.h>
#include <math.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Put a digit behind a number; false when it grows out of range. */
static bool push_digit(uint64_t *number, char digit)
{
	return !__builtin_mul_overflow(*number, (uint64_t)10, number) &&
	       !__builtin_add_overflow(*number, (uint64_t)(digit - '0'), number);
}

/* INT64_MIN is refused along with the rest: it is NP_UNKNOWN. */
static bool with_sign(uint64_t magnitude, bool negative, int64_t *ret)
{
	if (magnitude > INT64_MAX)
		return false;
	*ret = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

/* Skip a sign; true if it is a minus. */
static bool skip_sign(const char **text, const char *end)
{
	bool negative = *text < end && **text == '-';

	if (*text < end && (**text == '-' || **text == '+'))
		(*text)++;
	return negative;
}

bool np_text_to_int(const char *text, size_t length, int64_t *ret)
{
	const char *end;
	uint64_t magnitude = 0;
	bool negative;

	/* An absent cell has no bytes to point at. */
	if (length == 0)
		return false;
	end = text + length;
	negative = skip_sign(&text, end);
	if (text == end)
		return false;
	for (; text < end; text++) {
		if (!is_digit(*text) || !push_digit(&magnitude, *text))
			return false;
	}
	return with_sign(magnitude, negative, ret);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* 8 bytes of text, the first of them lowest. */
static uint64_t eight_bytes(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return le64toh(word);
}

/* The number that these are; false if they are not all digits. */
static bool number_of_eight(uint64_t word, uint64_t *ret)
{
	/* 0 to 9 now, if they are digits: what is more has the highest bit with 0x76 added or
	 * before. */
	word ^= UINT64_C(0x3030303030303030);
	if (((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080))
		return false;
	/* Neighbours to numbers of two digits, of four and of eight. */
	word = word * (1 + (10 << 8)) >> 8;
	word = (word & UINT64_C(0x00ff00ff00ff00ff)) * (1 + (100 << 16)) >> 16;
	*ret = (word & UINT64_C(0x0000ffff0000ffff)) * (1 + (UINT64_C(10000) << 32)) >> 32;
	return true;
}

static bool eight_digits(const char *text, uint64_t *ret)
{
	return number_of_eight(eight_bytes(text), ret);
}

/* Digits from `*text` on, at most `limit` of them, put behind `number`. */
static bool push_digits(const char **text, const char *end, size_t limit, uint64_t *number)
{
	uint64_t eight;

	while (limit >= 8 && end - *text >= 8 && *number < UINT64_C(100000000000) &&
	       eight_digits(*text, &eight)) {
		*number = *number * 100000000 + eight;
		*text += 8;
		limit -= 8;
	}
	for (; limit > 0 && *text < end && is_digit(**text); limit--, (*text)++) {
		if (!push_digit(number, **text))
			return false;
	}
	return true;
}

/* The digits after the point: `shift` of them count, the first one dropped rounds. */
static bool push_fraction(const char **text, const char *end, unsigned shift, uint64_t *number)
{
	const char *start = *text;
	bool round_up;

	if (!push_digits(text, end, shift, number))
		return false;
	for (size_t digits = (size_t)(*text - start); digits < shift; digits++) {
		if (!push_digit(number, '0'))
			return false;
	}
	round_up = *text < end && is_digit(**text) && **text >= '5';
	while (*text < end && is_digit(**text))
		(*text)++;
	return !round_up || !__builtin_add_overflow(*number, (uint64_t)1, number);
}

/* Up to 7 digits behind 8 bytes that may be read too: as 8 digits that begin with zeros. */
static bool rest_of_number(const char *text, size_t length, uint64_t *number)
{
	static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000 };
	uint64_t before = UINT64_MAX >> 8 * length;
	uint64_t word = eight_bytes(text + length - 8);
	uint64_t rest;

	if (!number_of_eight((word & ~before) | (UINT64_C(0x3030303030303030) & before), &rest))
		return false;
	*number = *number * powers[length] + rest;
	return true;
}

/* Nothing but digits, and so few that they are in range: most numbers of most files. */
static bool plain_number(const char *text, size_t length, int64_t *ret)
{
	bool is_long = length >= 8;
	uint64_t number = 0;
	uint64_t eight;

	/* All below 9 × 10^18 are. */
	if (length > 18 && (length > 19 || *text == '9'))
		return false;
	for (; length >= 8; length -= 8, text += 8) {
		if (!eight_digits(text, &eight))
			return false;
		number = number * 100000000 + eight;
	}
	if (is_long && length > 0 && !rest_of_number(text, length, &number))
		return false;
	for (; !is_long && length > 0; length--, text++) {
		if (!is_digit(*text))
			return false;
		number = number * 10 + (uint64_t)(*text - '0');
	}
	*ret = (int64_t)number;
	return true;
}

static bool any_number(const char *text, size_t length, unsigned shift, int64_t *ret)
{
	const char *end = text + length;
	uint64_t magnitude = 0;
	const char *start;
	bool negative;
	bool point;

	while (text < end && is_space(*text))
		text++;
	while (text < end && is_space(end[-1]))
		end--;
	negative = skip_sign(&text, end);

	start = text;
	if (!push_digits(&text, end, SIZE_MAX, &magnitude))
		return false;
	point = text < end && *text == '.';
	text += point;
	if (!push_fraction(&text, end, shift, &magnitude))
		return false;
	/* All of it was a number, and there was at least one digit. */
	if (text < end || text - start <= point)
		return false;
	return with_sign(magnitude, negative, ret);
}

bool np_text_to_scaled(const char *text, size_t length, unsigned shift, int64_t *ret)
{
	if (length == 0)
		return false;
	if (shift == 0 && plain_number(text, length, ret))
		return true;
	return any_number(text, length, shift, ret);
}

int64_t np_double_to_scaled(double value, double scale)
{
	double scaled = round(value * scale);

	/* Written so that NaN is refused too. */
	if (!(fabs(scaled) < 0x1p63))
		return NP_UNKNOWN;
	return (int64_t)scaled;
}

/* No double has digits that count further behind the point. */
#define MOST_PLACES 323

/* Below this a product with a power of ten is off by less than 2^-10. */
#define SCALED_MOST 0x1p43

/*
 * Where the digit behind the last one that stays is not near 5, what is nearest is known
 * without working out all digits: and a quotient of two whole numbers that a double holds is
 * rounded as reading its decimals would be.
 */
static bool round_fast(double value, int digits, double *ret)
{
	static const double powers[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };
	double scaled;
	double below;

	if (digits < 0 || digits >= (int)NP_COUNT(powers))
		return false;
	scaled = fabs(value) * powers[digits];
	if (!(scaled < SCALED_MOST))
		return false;
	below = floor(scaled);
	if (fabs(scaled - below - 0.5) < 0x1p-9)
		return false;
	if (scaled - below > 0.5)
		below += 1;
	*ret = copysign(below / powers[digits], value);
	return true;
}

double np_round(double value, int digits)
{
	/* Up to 309 digits before the point, then the places, sign, point and NUL. */
	char text[309 + MOST_PLACES + 3];
	double fast;
	int length;

	if (!isfinite(value) || digits > MOST_PLACES)
		return value;
	if (round_fast(value, digits, &fast))
		return fast;
	/* The C library rounds the exact value of the double, as Python does. */
	length = snprintf(text, sizeof(text), "%.*f", digits > 0 ? digits : 0, value);
	if (length < 0 || (size_t)length >= sizeof(text))
		return value;
	return strtod(text, NULL);
}
