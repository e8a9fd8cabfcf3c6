/* SPDX-License-Identifier: Apache-2.0 */
/* Looks texts up in the table of translations, whole or as sentences with gaps. */
#include "npuprof/lang.h"

#include "npuprof/text.h"

#include <stdlib.h>
#include <string.h>

struct translation {
	const char *english;
	const char *chinese;
};

/* In the order of strcmp(); made of po/zh.po by tools/po/po_table.c. */
static const struct translation table[] = {
#include <zh_table.inc>
};

static _Thread_local enum np_lang speaking;

enum np_lang np_lang(void)
{
	return speaking;
}

static bool asked; /* by the user; set before there are threads */

bool np_lang_asked(void)
{
	return asked;
}

void np_lang_set_asked(void)
{
	asked = true;
}

enum np_lang np_lang_set(enum np_lang lang)
{
	enum np_lang before = speaking;

	speaking = lang;
	return before;
}

bool np_lang_parse(const char *word, enum np_lang *ret)
{
	if (strcmp(word, "zh") == 0 || strcmp(word, "cn") == 0)
		*ret = NP_LANG_ZH;
	else if (strcmp(word, "en") == 0)
		*ret = NP_LANG_EN;
	else
		return false;
	return true;
}

enum np_lang np_lang_of_environment(void)
{
	static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
		const char *value = getenv(names[i]);

		if (value && *value)
			return np_text_begins(value, "zh") ? NP_LANG_ZH : NP_LANG_EN;
	}
	return NP_LANG_EN;
}

enum np_lang np_lang_of_line(int argc, const char *const *argv)
{
	enum np_lang lang = np_lang_of_environment();

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--lang") == 0 && i + 1 < argc)
			(void)np_lang_parse(argv[i + 1], &lang);
		else if (np_text_begins(argv[i], "--lang="))
			(void)np_lang_parse(argv[i] + strlen("--lang="), &lang);
	}
	return lang;
}

static int by_english(const void *text, const void *row)
{
	return strcmp(text, ((const struct translation *)row)->english);
}

const char *np_lang_text(const char *text)
{
	const struct translation *found = NULL;

	if (speaking == NP_LANG_ZH && text)
		found = bsearch(text, table, NP_COUNT(table), sizeof(table[0]), by_english);
	return found ? found->chinese : text;
}

/* --- sentences whose gaps are filled --------------------------------------------------------- */

#define MOST_GAPS 9

/* A reason may hold another reason. */
#define DEEPEST 6

struct gap_text {
	const char *text;
	size_t length;
};

static bool is_gap(const char *text)
{
	return text[0] == '{' && text[1] >= '1' && text[1] <= '9' && text[2] == '}';
}

/* The letters up to the next gap. */
static size_t plain_length(const char *sentence)
{
	size_t length = 0;

	while (sentence[length] && !is_gap(sentence + length))
		length++;
	return length;
}

/*
 * Is the text an instance of the sentence? Then what is in its gaps, each as short as can be, and
 * how many letters of the sentence were there; else 0.
 */
static size_t match(const char *sentence, const char *text, struct gap_text gaps[MOST_GAPS])
{
	const char *const begin = sentence;
	size_t plain = plain_length(sentence);
	size_t letters = plain;

	if (strncmp(sentence, text, plain) != 0)
		return 0;
	sentence += plain;
	text += plain;
	while (*sentence) {
		struct gap_text *gap = &gaps[sentence[1] - '1'];
		const bool quoted = sentence > begin && sentence[-1] == '\'' && sentence[3] == '\'';
		const char *end;

		sentence += 3;
		plain = plain_length(sentence);
		end = plain == 0 ? text + strlen(text)
				 : memmem(text, strlen(text), sentence, plain);
		/* The end of the sentence is that of the text. */
		while (end && !sentence[plain] && end[plain])
			end = memmem(end + 1, strlen(end + 1), sentence, plain);
		/* What is quoted ends with its quote: behind that another sentence has begun. */
		if (!end || (quoted && memchr(text, '\'', (size_t)(end - text))))
			return 0;
		*gap = (struct gap_text){ text, (size_t)(end - text) };
		letters += plain;
		sentence += plain;
		text = end + plain;
	}
	return *text ? 0 : letters;
}

/* The fewest letters of a sentence that can be told from others by what it says. */
#define LEAST_LETTERS 5
#define LEAST_PLAIN   3

/*
 * Can it be that sentence? Gaps are anything: what is beside them must say something, or hold them
 * together, or they are single words.
 */
static bool tells(const char *sentence, const struct gap_text gaps[MOST_GAPS])
{
	size_t letters = 0;
	size_t plain = 0;
	bool words = true;
	const char *end = NULL; /* behind the last gap */

	for (const char *c = sentence; *c; c++) {
		if (is_gap(c)) {
			const struct gap_text *gap = &gaps[c[1] - '1'];

			words = words && !memchr(gap->text, ' ', gap->length);
			end = c + 3;
			c += 2;
			continue;
		}
		plain++;
		letters += (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
	}
	if (!end)
		return false;
	return letters >= LEAST_LETTERS || (words && plain >= LEAST_PLAIN) ||
	       (!is_gap(sentence) && *end);
}

static bool put_filled(struct np_buf *buf, const char *text, size_t length, int depth);

/* The sentence that the text is an instance of, with what is in its gaps; NULL where none is. */
static const char *find_sentence(const char *text, struct gap_text gaps[MOST_GAPS])
{
	const char *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < NP_COUNT(table); i++) {
		size_t letters = match(table[i].english, text, gaps);

		if (letters > most && tells(table[i].english, gaps)) {
			most = letters;
			best = table[i].english;
		}
	}
	if (best)
		(void)match(best, text, gaps);
	return best;
}

static void put_sentence(struct np_buf *buf, const char *chinese, const struct gap_text *gaps,
			 int depth)
{
	bool quoted = false;

	for (const char *at = chinese; *at;) {
		size_t plain = plain_length(at);
		const struct gap_text *gap;

		for (size_t i = 0; i < plain; i++)
			quoted ^= at[i] == '\'';
		np_buf_add_bytes(buf, at, plain);
		at += plain;
		if (!*at)
			break;
		gap = &gaps[at[1] - '1'];
		if (quoted)
			np_buf_add_bytes(buf, gap->text, gap->length);
		else
			(void)put_filled(buf, gap->text, gap->length, depth + 1);
		at += 3;
	}
}

/*
 * What stands on both sides of a mark, if one of them can be said: else false, and nothing.
 * Sentences may have the mark in them: the first one at which what stands before it can be said,
 * else the first of all.
 */
static bool put_sides(struct np_buf *buf, const char *text, size_t length, const char *mark,
		      int depth)
{
	NP_CLEANUP(np_buf_release) struct np_buf sides = NP_BUF_INIT;
	const char *first = length > 2 ? memmem(text + 1, length - 1, mark, 2) : NULL;
	const char *at = first;
	bool said = false;

	while (at && !said) {
		np_buf_clear(&sides);
		said = put_filled(&sides, text, (size_t)(at - text), depth);
		if (!said)
			at = memmem(at + 1, length - (size_t)(at + 1 - text), mark, 2);
	}
	if (!first)
		return false;
	if (!said) {
		at = first;
		np_buf_clear(&sides);
		np_buf_add_bytes(&sides, text, (size_t)(at - text));
	}
	said |= put_filled(&sides, at, length - (size_t)(at - text), depth);
	buf->failed |= sides.failed;
	if (said)
		np_buf_add_bytes(buf, sides.text, sides.length);
	return said;
}

/* Was there something to say it by? */
static bool put_filled(struct np_buf *buf, const char *text, size_t length, int depth)
{
	NP_CLEANUP(np_buf_release) struct np_buf whole = NP_BUF_INIT;
	struct gap_text gaps[MOST_GAPS];
	const char *sentence = NULL;

	np_buf_add_bytes(&whole, text, length);
	buf->failed |= whole.failed;
	if (whole.failed || length == 0)
		return false;
	if (np_lang_text(whole.text) != whole.text) {
		np_buf_add(buf, np_lang_text(whole.text));
		return true;
	}
	if (depth < DEEPEST)
		sentence = find_sentence(whole.text, gaps);
	if (sentence) {
		put_sentence(buf, np_lang_text(sentence), gaps, depth);
		return true;
	}
	/* Not an entry of its own, as "; did you mean '{1}'?" is. */
	if (length > 2 && (np_text_begins(whole.text, "; ") || np_text_begins(whole.text, ": "))) {
		np_buf_add(buf, np_lang_text(*text == ';' ? "; " : ": "));
		return put_filled(buf, text + 2, length - 2, depth);
	}
	if (depth < DEEPEST && (put_sides(buf, whole.text, length, "; ", depth + 1) ||
				put_sides(buf, whole.text, length, ": ", depth + 1)))
		return true;
	np_buf_add_bytes(buf, text, length);
	return false;
}

void np_lang_put(struct np_buf *buf, const char *text)
{
	if (speaking == NP_LANG_EN)
		np_buf_add(buf, text);
	else
		(void)put_filled(buf, text, strlen(text), 0);
}

void np_lang_put_parts(struct np_buf *buf, const char *text)
{
	while (speaking != NP_LANG_EN && *text) {
		const char *next = strstr(text + 1, "; ");
		size_t length = next ? (size_t)(next - text) : strlen(text);

		(void)put_filled(buf, text, length, 0);
		text += length;
	}
	np_buf_add(buf, text);
}

void np_lang_put_lines(struct np_buf *buf, const char *text)
{
	while (speaking != NP_LANG_EN && *text) {
		size_t length = strcspn(text, "\n");

		(void)put_filled(buf, text, length, 0);
		text += length;
		if (*text)
			np_buf_add_char(buf, *text++);
	}
	np_buf_add(buf, text);
}
