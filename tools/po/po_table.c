/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rows of a C table of a catalogue: po_table zh.po zh_table.inc; what is wrong in it fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST    4000
#define LONGEST 4000

struct entry {
	char *text[2]; /* msgid, msgstr, as written between the quotes */
	int line;
};

static struct entry entries[MOST];
static size_t count;
static const char *input;

static int fail(int line, const char *why)
{
	(void)fprintf(stderr, "%s:%d: %s\n", input, line, why);
	return EXIT_FAILURE;
}

/* By the bytes that the escapes mean, as strcmp() sees them at run time. */
static const char *meaning(const char *text, char *ret)
{
	char *to = ret;

	for (; *text; text++) {
		if (*text == '\\' && text[1] == 'n' && text++)
			*to++ = '\n';
		else
			*to++ = *text == '\\' ? *++text : *text;
	}
	*to = '\0';
	return ret;
}

static int by_msgid(const void *left, const void *right)
{
	static char a[LONGEST];
	static char b[LONGEST];

	return strcmp(meaning(((const struct entry *)left)->text[0], a),
		      meaning(((const struct entry *)right)->text[0], b));
}

/* Append what is between the quotes of a line. */
static int add(char **text, const char *line, int number)
{
	const char *from = strchr(line, '"');
	const char *to = strrchr(line, '"');
	size_t before = *text ? strlen(*text) : 0;
	char *longer;

	if (!from || from == to || before + strlen(line) >= LONGEST)
		return fail(number, "expected a text in quotes, not longer than 4000 bytes");
	longer = realloc(*text, before + strlen(line) + 1);
	if (!longer)
		return fail(number, "out of memory");
	memcpy(longer + before, from + 1, (size_t)(to - from - 1));
	longer[before + (size_t)(to - from - 1)] = '\0';
	*text = longer;
	return EXIT_SUCCESS;
}

static int read_all(FILE *stream)
{
	static char line[LONGEST];
	int which = 0;

	for (int number = 1; fgets(line, sizeof(line), stream); number++) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (strncmp(line, "msgid ", 6) == 0) {
			if (count == MOST)
				return fail(number,
					    "more entries than the table of po_table.c has");
			entries[count++].line = number;
			which = 0;
		} else if (strncmp(line, "msgstr ", 7) == 0) {
			which = 1;
		} else if (line[0] != '"') {
			return fail(number, "expected msgid, msgstr, a text or a comment");
		}
		if (count == 0 || add(&entries[count - 1].text[which], line, number))
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

/* Is the gap that of an ending, such as the "s" of "ranks"? Other languages have none. */
static int is_ending(const char *text, const char *gap)
{
	return gap > text && gap[-1] >= 'a' && gap[-1] <= 'z';
}

/* Each gap of one text is in the other, or a value would be lost. */
static int same_gaps(const struct entry *entry)
{
	for (char i = '1'; i <= '9'; i++) {
		char gap[] = { '{', i, '}', '\0' };
		const char *here = strstr(entry->text[0], gap);
		const char *there = strstr(entry->text[1], gap);

		if (!here != !there && !(here && is_ending(entry->text[0], here)))
			return 0;
	}
	return 1;
}

static int same_end(const struct entry *entry)
{
	size_t a = strlen(entry->text[0]);
	size_t b = strlen(entry->text[1]);

	return (a > 1 && strcmp(entry->text[0] + a - 2, "\\n") == 0) ==
	       (b > 1 && strcmp(entry->text[1] + b - 2, "\\n") == 0);
}

static int check(const struct entry *entry, const struct entry *next)
{
	if (!entry->text[1] || !*entry->text[1])
		return fail(entry->line, "not translated");
	if (!same_gaps(entry))
		return fail(entry->line, "the texts do not have the same gaps");
	if (!same_end(entry))
		return fail(entry->line, "only one of the texts ends a line");
	if (next && by_msgid(entry, next) == 0)
		return fail(next->line, "the same msgid again");
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	FILE *stream = argc == 3 ? fopen(argv[1], "r") : NULL;
	FILE *out;
	int status;

	input = argc > 1 ? argv[1] : "po_table";
	if (!stream)
		return fail(0, "cannot be read; usage: po_table CATALOGUE TABLE");
	status = read_all(stream);
	(void)fclose(stream);
	qsort(entries, count, sizeof(entries[0]), by_msgid);
	for (size_t i = 0; i < count && status == EXIT_SUCCESS; i++)
		status = check(&entries[i], i + 1 < count ? &entries[i + 1] : NULL);
	out = status == EXIT_SUCCESS ? fopen(argv[2], "w") : NULL;
	if (!out)
		return status == EXIT_SUCCESS ? fail(0, "the table cannot be written") : status;
	/* The entry of the empty text is the head of the catalogue. */
	for (size_t i = 0; i < count; i++) {
		if (*entries[i].text[0])
			(void)fprintf(out, "{ \"%s\", \"%s\" },\n", entries[i].text[0],
				      entries[i].text[1]);
	}
	for (size_t i = 0; i < count; i++) {
		free(entries[i].text[0]);
		free(entries[i].text[1]);
	}
	return fclose(out) == 0 ? EXIT_SUCCESS : fail(0, "the table cannot be written");
}
