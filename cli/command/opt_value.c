/* SPDX-License-Identifier: Apache-2.0 */
#include "opt_value.h"

#include <inttypes.h>
#include <string.h>

#include "npuprof/text.h"
#include "npuprof/vec.h"

size_t opt_count_choices(const struct np_opt *option)
{
	size_t count = 0;

	while (option->choices[count])
		count++;
	return count;
}

void np_opt_one_of(struct np_buf *buf, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			np_buf_add(buf, i + 1 < count ? ", " : " or ");
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
	meant = np_text_closest(word.text, option->choices, opt_count_choices(option));
	if (meant) {
		np_buf_printf(&hint, "; did you mean '%s'?", meant);
	} else {
		np_buf_add(&hint, "; it is one of ");
		np_opt_one_of(&hint, option->choices, opt_count_choices(option));
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
	int rc = np_ranges_parse(value, &set, &why);

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

int opt_set_value(const struct opt_use *use, const char *value, struct np_err *err)
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
	default:
		*(const char **)use->field = value;
		return NP_OK;
	}
}

int opt_set_flag(const struct opt_use *use)
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

void opt_release_value(const struct np_opt *option, void *field)
{
	if (option->kind == NP_OPT_LIST) {
		struct np_opt_list *list = field;

		np_vec_release(list);
	} else if (option->kind == NP_OPT_RANGES) {
		struct np_opt_ranges *ranges = field;

		np_ranges_freep(&ranges->set);
	}
}
