/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: values, the reading of a command line, and the help made from them. */
#include "opt.h"

#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"
#include "npuprof/vec.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* --- values ---------------------------------------------------------------------------------- */

/* A row, the field it fills, and how the user wrote it: for messages. */
struct opt_use {
	const struct np_opt *option;
	void *field;
	const char *spelling;
};

static size_t count_choices(const struct np_opt *option)
{
	size_t count = 0;

	while (option->choices && option->choices[count])
		count++;
	return count;
}

/* Append the ways to write a value: "table, json, csv or md". */
static void add_one_of(struct np_buf *buf, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			np_buf_add(buf, np_lang_text(i + 1 < count ? ", " : " or "));
		np_buf_add(buf, names[i]);
	}
}

/* Index of the choice spelled by `length` bytes of `text`, or -1. */
static int find_choice(const struct np_opt *option, const char *text, size_t length)
{
	for (int i = 0; option->choices[i]; i++) {
		if (strlen(option->choices[i]) == length &&
		    memcmp(option->choices[i], text, length) == 0)
			return i;
	}
	return -1;
}

static int fail_choice(const struct opt_use *use, const char *text, size_t length,
		       struct np_err *err)
{
	const struct np_opt *option = use->option;
	struct np_buf word = NP_BUF_INIT;
	struct np_buf hint = NP_BUF_INIT;
	const char *meant;
	int rc;

	np_buf_add_bytes(&word, text, length);
	meant = np_text_closest(word.text, option->choices, count_choices(option));
	if (meant) {
		np_buf_printf(&hint, "; did you mean '%s'?", meant);
	} else {
		np_buf_add(&hint, "; it is one of ");
		add_one_of(&hint, option->choices, count_choices(option));
	}
	rc = np_fail(err, NP_E_USAGE, "unknown value '%s' for '%s'%s", word.text, use->spelling,
		     hint.text);
	np_buf_release(&word);
	np_buf_release(&hint);
	return rc;
}

static int set_choice(const struct opt_use *use, const char *value, struct np_err *err)
{
	int chosen = find_choice(use->option, value, strlen(value));

	if (chosen < 0)
		return fail_choice(use, value, strlen(value), err);
	*(int *)use->field = chosen;
	return NP_OK;
}

static int set_choices(const struct opt_use *use, const char *value, struct np_err *err)
{
	uint64_t mask = 0;
	const char *part = value;

	for (;;) {
		size_t length = strcspn(part, ",");
		int chosen = find_choice(use->option, part, length);

		if (chosen < 0)
			return fail_choice(use, part, length, err);
		mask |= UINT64_C(1) << chosen;
		if (part[length] == '\0')
			break;
		part += length + 1;
	}
	*(uint64_t *)use->field |= mask;
	return NP_OK;
}

static int set_integer(const struct opt_use *use, const char *value, struct np_err *err)
{
	const struct np_opt *option = use->option;
	int64_t number;

	if (!np_text_to_int(value, strlen(value), &number) || number < option->low ||
	    number > option->high)
		return np_fail(err, NP_E_USAGE,
			       "'%s' needs a whole number from %" PRId64 " to %" PRId64
			       ", not '%s'",
			       use->spelling, option->low, option->high, value);
	*(int64_t *)use->field = number;
	return NP_OK;
}

static int set_ranges(const struct opt_use *use, const char *value, struct np_err *err)
{
	struct np_opt_ranges *ranges = use->field;
	struct np_err why = NP_ERR_INIT;
	struct np_ranges *set;
	int rc;

	if (strcmp(value, "all") == 0) {
		np_ranges_freep(&ranges->set);
		ranges->text = NULL;
		return NP_OK;
	}
	rc = np_ranges_parse(value, &set, &why);
	if (rc == NP_E_NOMEM)
		return np_fail_nomem(err, "a list of numbers");
	if (rc < 0)
		return np_fail(err, rc, "cannot use '%s' for '%s': %s", value, use->spelling,
			       why.text);
	np_ranges_free(ranges->set);
	ranges->set = set;
	ranges->text = value;
	return NP_OK;
}

static int add_to_list(const struct opt_use *use, const char *value, struct np_err *err)
{
	struct np_opt_list *list = use->field;
	const char **item = np_vec_add(list, err);

	if (!item)
		return NP_E_NOMEM;
	*item = value;
	return NP_OK;
}

/* Takes effect at once: also on what is wrong with the rest of the line. */
static int set_language(const struct opt_use *use, const char *value, struct np_err *err)
{
	enum np_lang lang;

	if (!np_lang_parse(value, &lang))
		return np_fail(err, NP_E_USAGE, "'%s' for '%s' is not en, zh or cn", value,
			       use->spelling);
	(void)np_lang_set(lang);
	np_lang_set_asked();
	return NP_OK;
}

static int set_value(const struct opt_use *use, const char *value, struct np_err *err)
{
	if (*value == '\0')
		return np_fail(err, NP_E_USAGE, "the value of '%s' is empty", use->spelling);

	switch (use->option->kind) {
	case NP_OPT_INTEGER:
		return set_integer(use, value, err);
	case NP_OPT_LIST:
		return add_to_list(use, value, err);
	case NP_OPT_CHOICE:
		return set_choice(use, value, err);
	case NP_OPT_CHOICES:
		return set_choices(use, value, err);
	case NP_OPT_RANGES:
		return set_ranges(use, value, err);
	case NP_OPT_LANG:
		return set_language(use, value, err);
	default:
		*(const char **)use->field = value;
		return NP_OK;
	}
}

static int set_flag(const struct opt_use *use)
{
	switch (use->option->kind) {
	case NP_OPT_HELP:
		return NP_OPT_WANTS_HELP;
	case NP_OPT_VERSION:
		return NP_OPT_WANTS_VERSION;
	case NP_OPT_COUNT:
		++*(int *)use->field;
		return NP_OK;
	default:
		*(bool *)use->field = true;
		return NP_OK;
	}
}

static void release_value(const struct np_opt *option, void *field)
{
	if (option->kind == NP_OPT_LIST) {
		struct np_opt_list *list = field;

		np_vec_release(list);
	} else if (option->kind == NP_OPT_RANGES) {
		struct np_opt_ranges *ranges = field;

		np_ranges_freep(&ranges->set);
	}
}

/* --- reading --------------------------------------------------------------------------------- */

/* One command line being read. */
struct reader {
	const struct np_opt_table *table;
	const char *command;
	const char *const *argv;
	int argc;
	int next;
	char *target;
	struct np_err *err;
};

bool np_opt_has_value(const struct np_opt *option)
{
	switch (option->kind) {
	case NP_OPT_FLAG:
	case NP_OPT_COUNT:
	case NP_OPT_HELP:
	case NP_OPT_VERSION:
		return false;
	default:
		return true;
	}
}

/* '_' and '-' are the same in names: scripts of msprof-analyze and MindSpeed have the former. */
static bool same_name(const char *known, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (known[i] == '\0' || known[i] != (name[i] == '_' ? '-' : name[i]))
			return false;
	}
	return known[length] == '\0';
}

static void *field_of(const struct np_opt_group *group, const struct np_opt *option, char *target)
{
	return target + group->base + option->offset;
}

/* The option with this letter or, when that is 0, with this name. */
static bool find_option(const struct reader *reader, char letter, const char *name, size_t length,
			struct opt_use *ret)
{
	for (size_t g = 0; g < reader->table->count; g++) {
		const struct np_opt_group *group = &reader->table->groups[g];

		for (size_t i = 0; i < group->count; i++) {
			const struct np_opt *option = &group->options[i];
			bool found = letter ? option->letter == letter
					    : option->name && same_name(option->name, name, length);

			if (found) {
				ret->option = option;
				ret->field = field_of(group, option, reader->target);
				return true;
			}
		}
	}
	return false;
}

/* The long name closest to `word`, or NULL; also when memory is short: it is only a hint. */
static const char *closest_name(const struct np_opt_table *table, const char *word)
{
	NP_VEC(const char *) names = { 0 };
	const char *meant;

	for (size_t g = 0; g < table->count; g++) {
		for (size_t i = 0; i < table->groups[g].count; i++) {
			const char **name = np_vec_add(&names, NULL);

			if (name)
				*name = table->groups[g].options[i].name;
		}
	}
	meant = np_text_closest(word, names.item, names.count);
	np_vec_release(&names);
	return meant;
}

static int fail_unknown(const struct reader *reader, const char *spelling, const char *meant)
{
	if (reader->command && meant)
		return np_fail(reader->err, NP_E_USAGE,
			       "unknown option '%s' for %s; did you mean '--%s'?", spelling,
			       reader->command, meant);
	if (reader->command)
		return np_fail(reader->err, NP_E_USAGE, "unknown option '%s' for %s", spelling,
			       reader->command);
	if (meant)
		return np_fail(reader->err, NP_E_USAGE, "unknown option '%s'; did you mean '--%s'?",
			       spelling, meant);
	return np_fail(reader->err, NP_E_USAGE, "unknown option '%s'", spelling);
}

/* The value of an option written as a word of its own. */
static int separate_value(struct reader *reader, const struct opt_use *use, const char **ret)
{
	const char *word;

	if (reader->next == reader->argc)
		return np_fail(reader->err, NP_E_USAGE, "'%s' needs a value: %s", use->spelling,
			       use->option->value);

	word = reader->argv[reader->next];
	/* A negative number is no option; it is for the bounds to refuse. */
	if (word[0] == '-' && word[1] != '\0' && use->option->kind != NP_OPT_INTEGER)
		return np_fail(reader->err, NP_E_USAGE,
			       "'%s' needs a value, and '%s' looks like an option", use->spelling,
			       word);
	reader->next++;
	*ret = word;
	return NP_OK;
}

/* Is there no word that could be its value? */
static bool stands_alone(const struct reader *reader)
{
	const char *word = reader->next < reader->argc ? reader->argv[reader->next] : "-";

	return word[0] == '-';
}

static int use_option(struct reader *reader, const struct opt_use *use, const char *attached)
{
	const char *value = attached;
	int rc;

	if (!np_opt_has_value(use->option)) {
		if (attached)
			return np_fail(reader->err, NP_E_USAGE, "'%s' takes no value",
				       use->spelling);
		return set_flag(use);
	}
	if (!value && use->option->alone && stands_alone(reader)) {
		*(const char **)use->field = use->option->alone;
		return NP_OK;
	}
	if (!value) {
		rc = separate_value(reader, use, &value);
		if (rc < 0)
			return rc;
	}
	return set_value(use, value, reader->err);
}

/* "--name" or "--name=value". */
static int read_long(struct reader *reader, const char *word)
{
	const char *name = word + 2;
	size_t length = strcspn(name, "=");
	struct np_buf spelling = NP_BUF_INIT;
	struct opt_use use = { 0 };
	int rc;

	np_buf_add_bytes(&spelling, word, length + 2);
	if (np_buf_check(&spelling, reader->err) < 0) {
		rc = NP_E_NOMEM;
	} else if (find_option(reader, '\0', name, length, &use)) {
		use.spelling = spelling.text;
		rc = use_option(reader, &use, name[length] == '=' ? name + length + 1 : NULL);
	} else {
		rc = fail_unknown(reader, spelling.text,
				  closest_name(reader->table, spelling.text + 2));
	}
	np_buf_release(&spelling);
	return rc;
}

/* "-H" is "-h" where it is nothing else. */
static bool find_letter(const struct reader *reader, char letter, struct opt_use *ret)
{
	return find_option(reader, letter, NULL, 0, ret) ||
	       (letter == 'H' && find_option(reader, 'h', NULL, 0, ret));
}

/* What follows a letter: a '=' before a value is no part of it, unless there is such a file. */
static const char *attached_value(const char *text)
{
	return text[0] == '=' && access(text, F_OK) < 0 ? text + 1 : text;
}

/* "-qv", "-fjson", "-f=json" or "-f json". */
static int read_short(struct reader *reader, const char *word)
{
	size_t length = strcspn(word + 1, "=");
	struct opt_use use = { 0 };
	int rc = NP_OK;

	/* "-format" is a slip of the hand, not the format "ormat". */
	if (length > 1 && find_option(reader, '\0', word + 1, length, &use))
		return fail_unknown(reader, word, use.option->name);

	for (const char *c = word + 1; *c && rc == NP_OK; c++) {
		char spelling[] = { '-', *c, '\0' };
		bool last = c[1] == '\0';

		use.spelling = spelling;
		if (!find_letter(reader, *c, &use))
			return fail_unknown(reader, spelling, NULL);
		if (np_opt_has_value(use.option))
			return use_option(reader, &use, last ? NULL : attached_value(c + 1));
		rc = set_flag(&use);
	}
	return rc;
}

static int too_many(const struct reader *reader, const char *word)
{
	if (!reader->command)
		return np_fail(reader->err, NP_E_USAGE, "unexpected argument '%s'", word);
	return np_fail(reader->err, NP_E_USAGE, "unexpected argument '%s' for %s", word,
		       reader->command);
}

static int read_operand(struct reader *reader, const char *word, size_t *seen)
{
	const struct np_opt_operand *operand = reader->table->operand;
	struct opt_use use = { 0 };

	if (!operand || *seen >= operand->most)
		return too_many(reader, word);
	++*seen;
	use.option = &operand->option;
	use.field = reader->target + operand->option.offset;
	use.spelling = operand->option.value;
	return set_value(&use, word, reader->err);
}

/* Options may fill the same list as the operands; either way is enough. */
static int check_operands(const struct reader *reader, size_t seen)
{
	const struct np_opt_operand *operand = reader->table->operand;
	struct np_buf way = NP_BUF_INIT;
	int rc = NP_OK;

	if (!operand)
		return NP_OK;
	if (operand->option.kind == NP_OPT_LIST)
		seen = ((struct np_opt_list *)(void *)(reader->target + operand->option.offset))
			       ->count;
	if (seen >= operand->least)
		return NP_OK;

	if (operand->option.choices) {
		np_buf_add(&way, ": ");
		add_one_of(&way, operand->option.choices, count_choices(&operand->option));
	}
	rc = np_fail(
		reader->err, NP_E_USAGE,
		operand->least > 1 ? "%s needs the arguments %s%s" : "%s needs an argument %s%s",
		reader->command ? reader->command : "npuprof", operand->option.value, way.text);
	np_buf_release(&way);
	return rc;
}

/* Choices of several uses add up, so what is preset counts only if there was none. */
static bool takes_preset(const struct opt_use *use, bool after)
{
	if (!use->option->preset || (use->option->kind == NP_OPT_CHOICES) != after)
		return false;
	return !after || *(const uint64_t *)use->field == 0;
}

/* Set what is preset before, or after, the options are read. */
static int set_presets(const struct reader *reader, bool after)
{
	for (size_t g = 0; g < reader->table->count; g++) {
		const struct np_opt_group *group = &reader->table->groups[g];

		for (size_t i = 0; i < group->count; i++) {
			const struct np_opt *option = &group->options[i];
			struct opt_use use = { option, field_of(group, option, reader->target),
					       option->name };
			int rc;

			if (!takes_preset(&use, after))
				continue;
			rc = set_value(&use, option->preset, reader->err);
			if (rc < 0)
				return rc;
		}
	}
	return NP_OK;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* Read the next word, which is an option other than "--". */
static int read_option(struct reader *reader)
{
	const char *word = reader->argv[reader->next++];

	return word[1] == '-' ? read_long(reader, word) : read_short(reader, word);
}

int np_opt_parse(const struct np_opt_table *table, const char *command, int argc,
		 const char *const *argv, void *target, struct np_err *err)
{
	struct reader reader = { table, command, argv, argc, 0, target, err };
	bool options_end = false;
	size_t seen = 0;
	int rc = set_presets(&reader, false);

	while (rc == NP_OK && reader.next < argc) {
		const char *word = argv[reader.next];

		if (options_end || !is_option(word)) {
			reader.next++;
			rc = read_operand(&reader, word, &seen);
		} else if (strcmp(word, "--") == 0) {
			reader.next++;
			options_end = true;
		} else {
			rc = read_option(&reader);
		}
	}
	if (rc == NP_OK)
		rc = check_operands(&reader, seen);
	return rc == NP_OK ? set_presets(&reader, true) : rc;
}

int np_opt_parse_front(const struct np_opt_table *table, int argc, const char *const *argv,
		       void *target, int *ret_next, struct np_err *err)
{
	struct reader reader = { table, NULL, argv, argc, 0, target, err };
	int rc = set_presets(&reader, false);

	while (rc == NP_OK && reader.next < argc && is_option(argv[reader.next])) {
		if (strcmp(argv[reader.next], "--") == 0) {
			reader.next++;
			break;
		}
		rc = read_option(&reader);
	}
	if (rc == NP_OK)
		*ret_next = reader.next;
	return rc;
}

void np_opt_release(const struct np_opt_table *table, void *target)
{
	for (size_t g = 0; g < table->count; g++) {
		const struct np_opt_group *group = &table->groups[g];

		for (size_t i = 0; i < group->count; i++)
			release_value(&group->options[i],
				      field_of(group, &group->options[i], target));
	}
	if (table->operand)
		release_value(&table->operand->option,
			      (char *)target + table->operand->option.offset);
}

/* --- help ------------------------------------------------------------------------------------ */

/* Spellings wider than this have their explanation on the next line. */
enum {
	SPELLING_WIDTH = 30
};

/* "-d, --dir DIR", with the names under each other where there is no letter. */
static void add_spelling(struct np_buf *buf, const struct np_opt *option)
{
	if (option->letter)
		np_buf_printf(buf, "  -%c, --%s", option->letter, option->name);
	else
		np_buf_printf(buf, "      --%s", option->name);
	if (option->value)
		np_buf_printf(buf, option->alone ? " [%s]" : " %s", option->value);
}

static void add_explanation(struct np_buf *buf, const struct np_opt *option)
{
	np_buf_add(buf, np_lang_text(option->help));
	if (option->choices) {
		np_buf_add(buf, np_lang_text(": "));
		add_one_of(buf, option->choices, count_choices(option));
	}
	if (option->preset || option->preset_words)
		np_say(buf, " [default: {1}]",
		       NP_SAID_TEXT(option->preset ? option->preset
						   : np_lang_text(option->preset_words)));
}

/* The column of the explanations: after the widest spelling that has one beside it. */
static size_t explanation_column(const struct np_opt_table *table)
{
	struct np_buf spelling = NP_BUF_INIT;
	size_t widest = 0;

	for (size_t g = 0; g < table->count; g++) {
		for (size_t i = 0; i < table->groups[g].count; i++) {
			np_buf_clear(&spelling);
			add_spelling(&spelling, &table->groups[g].options[i]);
			if (spelling.length > widest && spelling.length <= SPELLING_WIDTH)
				widest = spelling.length;
		}
	}
	np_buf_release(&spelling);
	return widest + 2;
}

static void add_option(struct np_buf *buf, const struct np_opt *option, size_t column, size_t width)
{
	struct np_buf explanation = NP_BUF_INIT;
	size_t start = buf->length;
	size_t used;

	add_spelling(buf, option);
	used = buf->length - start;
	if (used + 2 > column) {
		np_buf_add_char(buf, '\n');
		used = 0;
	}
	np_buf_add_repeated(buf, ' ', column - used);
	add_explanation(&explanation, option);
	np_text_wrap(buf, explanation.text, column, width);
	np_buf_release(&explanation);
}

void np_opt_help(struct np_buf *buf, const struct np_opt_table *table, size_t width)
{
	size_t column = explanation_column(table);

	for (size_t g = 0; g < table->count; g++) {
		const struct np_opt_group *group = &table->groups[g];

		np_say(buf, "\n{1}:\n", NP_SAID_TEXT(np_lang_text(group->title)));
		for (size_t i = 0; i < group->count; i++)
			add_option(buf, &group->options[i], column, width);
	}
}
