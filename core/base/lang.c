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
#define DEEPEST 4

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
	size_t plain = plain_length(sentence);
	size_t letters = plain;

	if (strncmp(sentence, text, plain) != 0)
		return 0;
	sentence += plain;
	text += plain;
	while (*sentence) {
		struct gap_text *gap = &gaps[sentence[1] - '1'];
		const char *end;

		sentence += 3;
		plain = plain_length(sentence);
		end = plain == 0 ? text + strlen(text)
				 : memmem(text, strlen(text), sentence, plain);
		/* The end of the sentence is that of the text. */
		while (end && !sentence[plain] && end[plain])
			end = memmem(end + 1, strlen(end + 1), sentence, plain);
		if (!end || end == text)
			return 0;
		*gap = (struct gap_text){ text, (size_t)(end - text) };
		letters += plain;
		sentence += plain;
		text = end + plain;
	}
	return *text ? 0 : letters;
}

static void put_filled(struct np_buf *buf, const char *text, size_t length, int depth)
{
	NP_CLEANUP(np_buf_release) struct np_buf whole = NP_BUF_INIT;
	struct gap_text gaps[MOST_GAPS];
	const char *best = NULL;
	size_t most = 0;

	np_buf_add_bytes(&whole, text, length);
	buf->failed |= whole.failed;
	if (whole.failed)
		return;
	if (np_lang_text(whole.text) != whole.text) {
		np_buf_add(buf, np_lang_text(whole.text));
		return;
	}
	for (size_t i = 0; i < NP_COUNT(table) && depth < DEEPEST; i++) {
		size_t letters = match(table[i].english, whole.text, gaps);

		if (letters > most && strchr(table[i].english, '{')) {
			most = letters;
			best = table[i].english;
		}
	}
	if (!best) {
		np_buf_add_bytes(buf, text, length);
		return;
	}
	(void)match(best, whole.text, gaps);
	for (const char *chinese = np_lang_text(best); *chinese;) {
		size_t plain = plain_length(chinese);

		np_buf_add_bytes(buf, chinese, plain);
		chinese += plain;
		if (!*chinese)
			break;
		put_filled(buf, gaps[chinese[1] - '1'].text, gaps[chinese[1] - '1'].length,
			   depth + 1);
		chinese += 3;
	}
}

void np_lang_put(struct np_buf *buf, const char *text)
{
	if (speaking == NP_LANG_EN)
		np_buf_add(buf, text);
	else
		put_filled(buf, text, strlen(text), 0);
}

void np_lang_put_parts(struct np_buf *buf, const char *text)
{
	while (speaking != NP_LANG_EN && *text) {
		const char *next = strstr(text + 1, "; ");
		size_t length = next ? (size_t)(next - text) : strlen(text);

		put_filled(buf, text, length, 0);
		text += length;
	}
	np_buf_add(buf, text);
}
