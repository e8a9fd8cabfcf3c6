/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: parts of names, units, wrapping, safe printing, words that were meant. */
#include "npuprof/text.h"

#include <inttypes.h>

bool np_text_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool np_text_ends(const char *text, const char *with)
{
	size_t length = strlen(text);
	size_t tail = strlen(with);

	return length >= tail && strcmp(text + length - tail, with) == 0;
}

const char *np_text_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Units */

struct unit {
	const char *name;
	uint64_t size; /* a power of 1000 */
};

/* Show `amount` in `unit` with three digits if it takes no more than three. */
static bool add_in_unit(struct np_buf *buf, uint64_t amount, const struct unit *unit)
{
	unsigned places = 2;
	uint64_t step = unit->size / 100;

	for (; step <= unit->size; step *= 10, places--) {
		uint64_t shown = (amount + step / 2) / step;
		unsigned ones = places == 2 ? 100 : 10;

		if (shown >= 1000)
			continue;
		if (places == 0)
			np_buf_printf(buf, "%" PRIu64 " %s", shown, unit->name);
		else
			np_buf_printf(buf, "%" PRIu64 ".%0*" PRIu64 " %s", shown / ones,
				      (int)places, shown % ones, unit->name);
		return true;
	}
	return false;
}

/* The first unit is for whole numbers below 1000, the last for all that is too large. */
static void add_amount(struct np_buf *buf, int64_t amount, const struct unit *unit, size_t units)
{
	uint64_t magnitude = amount < 0 ? -(uint64_t)amount : (uint64_t)amount;
	const struct unit *last = &unit[units - 1];

	if (amount == NP_UNKNOWN) {
		np_buf_add_char(buf, '?');
		return;
	}
	if (amount == 0) {
		np_buf_add_char(buf, '0');
		return;
	}
	if (amount < 0)
		np_buf_add_char(buf, '-');
	if (magnitude < 1000) {
		np_buf_printf(buf, "%" PRIu64 " %s", magnitude, unit[0].name);
		return;
	}
	for (size_t i = 1; i < units; i++) {
		if (add_in_unit(buf, magnitude, &unit[i]))
			return;
	}
	np_buf_printf(buf, "%" PRIu64 " %s", (magnitude + last->size / 2) / last->size, last->name);
}

void np_text_duration(struct np_buf *buf, np_ns time)
{
	static const struct unit units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
	};

	add_amount(buf, time, units, NP_COUNT(units));
}

void np_text_bytes(struct np_buf *buf, int64_t bytes)
{
	static const struct unit units[] = {
		{ "B", 1 },           { "kB", 1000 },          { "MB", 1000000 },
		{ "GB", 1000000000 }, { "TB", 1000000000000 },
	};

	add_amount(buf, bytes, units, NP_COUNT(units));
}

/* Foreign text */

size_t np_utf8_length(const char *text, size_t length)
{
	const unsigned char *byte = (const unsigned char *)text;
	size_t size;
	/* Bounds of the second byte: they keep out overlong forms, surrogates, > U+10FFFF. */
	unsigned low = 0x80;
	unsigned high = 0xbf;

	if (length == 0)
		return 0;
	if (byte[0] < 0x80)
		return 1;
	if (byte[0] < 0xc2 || byte[0] > 0xf4)
		return 0;
	if (byte[0] == 0xe0)
		low = 0xa0;
	else if (byte[0] == 0xed)
		high = 0x9f;
	else if (byte[0] == 0xf0)
		low = 0x90;
	else if (byte[0] == 0xf4)
		high = 0x8f;

	size = byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
	if (length < size || byte[1] < low || byte[1] > high)
		return 0;
	for (size_t i = 2; i < size; i++) {
		if (byte[i] < 0x80 || byte[i] > 0xbf)
			return 0;
	}
	return size;
}

/* The character of a valid sequence of `size` bytes. */
static uint32_t decode(const char *text, size_t size)
{
	static const unsigned char first_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t character = (unsigned char)text[0] & first_mask[size];

	for (size_t i = 1; i < size; i++)
		character = character << 6 | ((unsigned char)text[i] & 0x3fU);
	return character;
}

struct interval {
	uint32_t first;
	uint32_t last;
};

static int compare_with_interval(const void *key, const void *item)
{
	const uint32_t *character = key;
	const struct interval *interval = item;

	if (*character < interval->first)
		return -1;
	return *character > interval->last;
}

static bool is_among(uint32_t character, const struct interval *table, size_t count)
{
	return bsearch(&character, table, count, sizeof(*table), compare_with_interval) != NULL;
}

/* C0, DEL, C1, line separators and marks that reorder what is around them. */
static bool is_control(uint32_t character)
{
	static const struct interval controls[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2066, 0x2069 },
	};

	return is_among(character, controls, NP_COUNT(controls));
}

/* Most text is nothing else: taken as a whole. */
static size_t printable_ascii(const char *text, size_t length)
{
	size_t i = 0;

	while (i < length && text[i] >= ' ' && text[i] <= '~')
		i++;
	return i;
}

void np_text_safe(struct np_buf *buf, const char *text, size_t length)
{
	size_t i = 0;

	while (i < length) {
		size_t plain = printable_ascii(text + i, length - i);
		size_t size;

		np_buf_add_bytes(buf, text + i, plain);
		i += plain;
		if (i == length)
			break;
		size = np_utf8_length(text + i, length - i);
		if (size > 0 && !is_control(decode(text + i, size))) {
			np_buf_add_bytes(buf, text + i, size);
			i += size;
			continue;
		}
		for (size_t end = i + (size > 0 ? size : 1); i < end; i++)
			np_buf_printf(buf, "\\x%02x", (unsigned)(unsigned char)text[i]);
	}
}

void np_text_quoted(struct np_buf *buf, const char *path)
{
	bool plain =
		*path && path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789/._-+,:@%")] == '\0';

	np_buf_add(buf, plain ? "" : "'");
	for (const char *quote; (quote = strchr(path, '\'')); path = quote + 1) {
		np_text_safe(buf, path, (size_t)(quote - path));
		np_buf_add(buf, "'\\''");
	}
	np_text_safe(buf, path, strlen(path));
	np_buf_add(buf, plain ? "" : "'");
}

/* Marks put on the character before, of the scripts that names and paths are written in. */
static const struct interval combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x05bf, 0x05bf },
	{ 0x05c1, 0x05c2 }, { 0x05c4, 0x05c5 }, { 0x05c7, 0x05c7 }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x0670, 0x0670 }, { 0x06d6, 0x06dc }, { 0x06df, 0x06e4 },
	{ 0x06e7, 0x06e8 }, { 0x06ea, 0x06ed }, { 0x0900, 0x0902 }, { 0x093a, 0x093a },
	{ 0x093c, 0x093c }, { 0x0941, 0x0948 }, { 0x094d, 0x094d }, { 0x0951, 0x0957 },
	{ 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e }, { 0x1160, 0x11ff },
	{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
	{ 0x2060, 0x206f }, { 0x20d0, 0x20ff }, { 0x302a, 0x302d }, { 0x3099, 0x309a },
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xe0100, 0xe01ef },
};

/* East Asian characters and pictures that terminals draw two columns wide. */
static const struct interval wide[] = {
	{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },   { 0x23e9, 0x23ec },
	{ 0x23f0, 0x23f0 },   { 0x23f3, 0x23f3 },   { 0x25fd, 0x25fe },   { 0x2614, 0x2615 },
	{ 0x2648, 0x2653 },   { 0x267f, 0x267f },   { 0x2693, 0x2693 },   { 0x26a1, 0x26a1 },
	{ 0x26aa, 0x26ab },   { 0x26bd, 0x26be },   { 0x26c4, 0x26c5 },   { 0x26ce, 0x26ce },
	{ 0x26d4, 0x26d4 },   { 0x26ea, 0x26ea },   { 0x26f2, 0x26f3 },   { 0x26f5, 0x26f5 },
	{ 0x26fa, 0x26fa },   { 0x26fd, 0x26fd },   { 0x2705, 0x2705 },   { 0x270a, 0x270b },
	{ 0x2728, 0x2728 },   { 0x274c, 0x274c },   { 0x274e, 0x274e },   { 0x2753, 0x2755 },
	{ 0x2757, 0x2757 },   { 0x2795, 0x2797 },   { 0x27b0, 0x27b0 },   { 0x27bf, 0x27bf },
	{ 0x2b1b, 0x2b1c },   { 0x2b50, 0x2b50 },   { 0x2b55, 0x2b55 },   { 0x2e80, 0x303e },
	{ 0x3041, 0xa4cf },   { 0xa960, 0xa97c },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
	{ 0xfe10, 0xfe19 },   { 0xfe30, 0xfe6b },   { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },
	{ 0x16fe0, 0x18d08 }, { 0x1aff0, 0x1b2fb }, { 0x1f004, 0x1f004 }, { 0x1f0cf, 0x1f0cf },
	{ 0x1f18e, 0x1f18e }, { 0x1f191, 0x1f19a }, { 0x1f200, 0x1f320 }, { 0x1f32d, 0x1f335 },
	{ 0x1f337, 0x1f37c }, { 0x1f37e, 0x1f393 }, { 0x1f3a0, 0x1f3ca }, { 0x1f3cf, 0x1f3d3 },
	{ 0x1f3e0, 0x1f3f0 }, { 0x1f3f4, 0x1f3f4 }, { 0x1f3f8, 0x1f43e }, { 0x1f440, 0x1f440 },
	{ 0x1f442, 0x1f4fc }, { 0x1f4ff, 0x1f53d }, { 0x1f54b, 0x1f54e }, { 0x1f550, 0x1f567 },
	{ 0x1f57a, 0x1f57a }, { 0x1f595, 0x1f596 }, { 0x1f5a4, 0x1f5a4 }, { 0x1f5fb, 0x1f64f },
	{ 0x1f680, 0x1f6c5 }, { 0x1f6cc, 0x1f6cc }, { 0x1f6d0, 0x1f6d2 }, { 0x1f6d5, 0x1f6d7 },
	{ 0x1f6dd, 0x1f6df }, { 0x1f6eb, 0x1f6ec }, { 0x1f6f4, 0x1f6fc }, { 0x1f7e0, 0x1f7f0 },
	{ 0x1f90c, 0x1f93a }, { 0x1f93c, 0x1f945 }, { 0x1f947, 0x1f9ff }, { 0x1fa70, 0x1faff },
	{ 0x20000, 0x3fffd },
};

static size_t width_of(uint32_t character)
{
	if (character < 0x300)
		return is_control(character) ? 0 : 1;
	if (is_among(character, combining, NP_COUNT(combining)) || is_control(character))
		return 0;
	return is_among(character, wide, NP_COUNT(wide)) ? 2 : 1;
}

size_t np_text_width(const char *text, size_t length)
{
	size_t width = 0;
	size_t size;

	for (size_t i = 0; i<length; i += size> 0 ? size : 1) {
		size = np_utf8_length(text + i, length - i);
		/* Terminals show one sign for a byte that makes no sense. */
		width += size > 0 ? width_of(decode(text + i, size)) : 1;
	}
	return width;
}

/* Append as many whole characters of the text as fit into `limit` columns; return the columns. */
static size_t add_prefix(struct np_buf *buf, const char *text, size_t length, size_t limit)
{
	size_t used = 0;
	size_t i = 0;

	while (i < length) {
		size_t size = np_utf8_length(text + i, length - i);
		size_t columns;

		if (size == 0)
			size = 1;
		columns = np_text_width(text + i, size);
		if (used + columns > limit)
			break;
		used += columns;
		i += size;
	}
	np_buf_add_bytes(buf, text, i);
	return used;
}

/* The bytes of the longest end of the text, of whole characters, that fits into `limit` columns. */
static size_t suffix_length(const char *text, size_t length, size_t limit)
{
	size_t used = 0;
	size_t kept = 0;

	while (kept < length) {
		size_t size = 1;
		size_t columns;

		while (kept + size < length && (text[length - kept - size] & 0xc0) == 0x80)
			size++;
		columns = np_text_width(text + length - kept - size, size);
		if (used + columns > limit)
			break;
		used += columns;
		kept += size;
	}
	return kept;
}

/* Append a text that is too wide, with "…" where some is left out; return the columns. */
size_t np_text_cut(struct np_buf *buf, const char *text, size_t length, size_t width, bool keep_end)
{
	size_t end = keep_end ? suffix_length(text, length, (width - 1) / 2) : 0;
	size_t used = np_text_width(text + length - end, end);

	used += add_prefix(buf, text, length, width - 1 - used);
	np_buf_add(buf, "…");
	np_buf_add_bytes(buf, text + length - end, end);
	return used + 1;
}

/* Is this word a unit, whatever punctuation follows it? */
static bool is_unit(const char *word, size_t length)
{
	static const char *const units[] = { "ns", "us", "ms", "s",    "B",   "kB",     "MB",
					     "GB", "TB", "%",  "GB/s", "MHz", "TFLOP/s" };

	while (length > 0 && strchr(".,;:)", word[length - 1]))
		length--;
	/* Punctuation of Chinese has three bytes each. */
	while (length > 3 && memmem("，。；：）、", strlen("，。；：）、"), word + length - 3, 3))
		length -= 3;
	for (size_t i = 0; i < NP_COUNT(units); i++) {
		if (strlen(units[i]) == length && memcmp(units[i], word, length) == 0)
			return true;
	}
	return false;
}

/* May a line end between two characters that no space parts? Only beside one of two columns. */
static bool may_part(const char *left, size_t left_size, const char *right, size_t right_size)
{
	static const char closing[] = "，。；：）、！？》】,.;:)%";
	static const char opening[] = "（《【(";
	bool wide_left = np_text_width(left, left_size) == 2;

	if (!wide_left && np_text_width(right, right_size) != 2)
		return false;
	/* A number keeps what it counts. */
	if (!wide_left && *left >= '0' && *left <= '9')
		return false;
	return !memmem(closing, strlen(closing), right, right_size) &&
	       !memmem(opening, strlen(opening), left, left_size);
}

static size_t size_at(const char *text)
{
	size_t size = np_utf8_length(text, strnlen(text, 4));

	return size > 0 ? size : 1;
}

/* What cannot be broken: a word, or a character of a text that is written without spaces. */
static size_t word_length(const char *text)
{
	size_t length = 0;

	while (text[length] && text[length] != ' ') {
		size_t size = size_at(text + length);
		const char *next = text + length + size;

		length += size;
		if (*next && *next != ' ' && may_part(next - size, size, next, size_at(next)))
			break;
	}
	return length;
}

/* A word, and with a number the unit behind it: they never part at the end of a line. */
static size_t unbroken(const char *text)
{
	size_t length = word_length(text);
	size_t next;

	/* "≤ 14.3 us" */
	if (text[length] == ' ' && (np_text_begins(text, "≤ ") || np_text_begins(text, "≥ ")))
		return length + 1 + unbroken(text + length + 1);
	if (length == 0 || text[length] != ' ' || text[length - 1] < '0' || text[length - 1] > '9')
		return length;
	next = word_length(text + length + 1);
	return is_unit(text + length + 1, next) ||
			       (next > 0 &&
				np_text_width(text + length + 1, size_at(text + length + 1)) == 2)
		       ? length + 1 + next
		       : length;
}

void np_text_wrap(struct np_buf *buf, const char *text, size_t indent, size_t width)
{
	size_t column = indent;
	size_t space = 0;

	while (*text) {
		size_t length = unbroken(text);
		size_t word = np_text_width(text, length);
		bool first = column == indent;

		if (!first && column + space + word > width) {
			np_buf_add_char(buf, '\n');
			np_buf_add_repeated(buf, ' ', indent);
			column = indent;
			first = true;
		}
		if (!first) {
			np_buf_add_repeated(buf, ' ', space);
			column += space;
		}
		np_buf_add_bytes(buf, text, length);
		column += word;
		text += length;
		space = *text == ' ';
		text += strspn(text, " ");
	}
	np_buf_add_char(buf, '\n');
}

/* The text with what is longer than a line cut. */
static void cut_words(struct np_buf *buf, const char *text, size_t length, size_t width)
{
	while (length > 0) {
		size_t spaces = strspn(text, " ");
		size_t word;

		spaces = spaces < length ? spaces : length;
		np_buf_add_bytes(buf, text, spaces);
		text += spaces;
		length -= spaces;
		word = word_length(text);
		word = word < length ? word : length;
		if (np_text_width(text, word) > width)
			np_text_cut(buf, text, word, width, true);
		else
			np_buf_add_bytes(buf, text, word);
		text += word;
		length -= word;
	}
}

void np_text_lines(struct np_buf *buf, const char *text, size_t indent, size_t hang, size_t width,
		   bool cut)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf shorter = NP_BUF_INIT;
	size_t room = width > indent + hang + 1 ? width - indent - hang : 1;

	while (*text) {
		size_t length = strcspn(text, "\n");

		np_buf_clear(&line);
		np_text_safe(&line, text, length);
		np_buf_clear(&shorter);
		if (cut)
			cut_words(&shorter, line.text, line.length, room);
		np_buf_add_repeated(buf, ' ', indent);
		np_text_wrap(buf, cut ? shorter.text : line.text, indent + hang, width);
		text += length + (text[length] == '\n');
	}
	buf->failed |= line.failed || shorter.failed;
}

/* Nobody means to write a longer word than this. */
#define LONGEST_WORD 64

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* One row of the distance table: a[..i] against every beginning of b. */
static void fill_row(const char *a, size_t i, const char *b, size_t b_length,
		     size_t (*row)[LONGEST_WORD + 1])
{
	size_t *now = row[i % 3];
	const size_t *before = row[(i - 1) % 3];

	now[0] = i;
	for (size_t j = 1; j <= b_length; j++) {
		int x = lower(a[i - 1]);
		int y = lower(b[j - 1]);

		now[j] = least(before[j - 1] + (x != y), least(before[j], now[j - 1]) + 1);
		/* Two letters swapped are one slip, not two. */
		if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
			now[j] = least(now[j], row[(i - 2) % 3][j - 2] + 1);
	}
}

static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[3][LONGEST_WORD + 1];

	for (size_t j = 0; j <= b_length; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a_length; i++)
		fill_row(a, i, b, b_length, row);
	return row[a_length % 3][b_length];
}

static bool is_beginning(const char *word, size_t length, const char *of)
{
	for (size_t i = 0; i < length; i++) {
		if (lower(word[i]) != lower(of[i]))
			return false;
	}
	return true;
}

/* How far a candidate is from the word; SIZE_MAX when it cannot be meant. */
static size_t remoteness(const char *word, size_t length, const char *candidate)
{
	size_t candidate_length = strlen(candidate);
	size_t apart;

	if (candidate_length == 0 || candidate_length > LONGEST_WORD)
		return SIZE_MAX;
	/* A word cut short is likelier than any slip; one letter could be anything. */
	if (length > 1 && length <= candidate_length && is_beginning(word, length, candidate))
		return candidate_length - length;
	apart = distance(word, length, candidate, candidate_length);
	/* About one slip in three letters: more than that is another word. */
	return apart <= (length + 1) / 3 ? LONGEST_WORD + apart : SIZE_MAX;
}

const char *np_text_closest(const char *word, const char *const *candidates, size_t count)
{
	size_t length = strlen(word);
	size_t nearest = SIZE_MAX;
	const char *closest = NULL;

	if (length == 0 || length > LONGEST_WORD)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t apart = remoteness(word, length, candidates[i]);

		if (apart < nearest) {
			nearest = apart;
			closest = candidates[i];
		}
	}
	return closest;
}
