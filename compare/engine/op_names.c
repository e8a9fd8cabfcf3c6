/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the map of names of operators, and renames by it (cmp_op_names.h). */
#include "cmp_op_names.h"

#include "npuprof/buf.h"
#include "npuprof/vec.h"

#include <string.h>

enum {
	NAME_MOST = 200
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static int wrong(const char *text, const char *at, const char *expected, struct np_err *err)
{
	return np_fail(err, NP_E_USAGE,
		       "--op-name-map: character %zu must be %s; it is written {'a': 'b', 'c': "
		       "'d'}",
		       (size_t)(at - text) + 1, expected);
}

/* A text in quotes of either kind; `*at` moves behind it. */
static int read_name(const char *text, const char **at, char **ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	const char *from = skip_blanks(*at);
	char quote = *from;
	const char *c = from + 1;

	if (quote != '\'' && quote != '"')
		return wrong(text, from, "a quote", err);
	for (; *c && *c != quote; c++) {
		if (*c == '\\' && c[1])
			c++;
		np_buf_add_char(&name, *c);
	}
	if (!*c)
		return wrong(text, c, "the closing quote", err);
	if (name.length == 0 || name.length > NAME_MOST)
		return np_fail(err, NP_E_USAGE,
			       "--op-name-map: a name has 1 to %d characters, not %zu", NAME_MOST,
			       name.length);
	*ret = name.failed ? NULL : strdup(name.text);
	if (!*ret)
		return np_fail_nomem(err, "names of operators");
	*at = c + 1;
	return NP_OK;
}

static int read_pair(const char *text, const char **at, struct cmp_op_names *names,
		     struct np_err *err)
{
	struct cmp_op_name *pair = np_vec_add(names, err);
	int rc = pair ? read_name(text, at, &pair->from, err) : NP_E_NOMEM;

	if (rc < 0)
		return rc;
	*at = skip_blanks(*at);
	if (**at != ':')
		return wrong(text, *at, "':'", err);
	++*at;
	return read_name(text, at, &pair->to, err);
}

int cmp_op_names_parse(const char *text, struct cmp_op_names *ret, struct np_err *err)
{
	const char *at = skip_blanks(text);
	int rc = NP_OK;

	*ret = (struct cmp_op_names){ 0 };
	if (*at != '{')
		return wrong(text, at, "'{'", err);
	at = skip_blanks(at + 1);
	while (rc == NP_OK && *at != '}') {
		rc = read_pair(text, &at, ret, err);
		if (rc < 0)
			return rc;
		at = skip_blanks(at);
		if (*at == ',')
			at = skip_blanks(at + 1);
		else if (*at != '}')
			return wrong(text, at, "',' or '}'", err);
	}
	at = skip_blanks(at + 1);
	return *at ? wrong(text, at, "the end", err) : rc;
}

void cmp_op_names_release(struct cmp_op_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->item[i].from);
		free(names->item[i].to);
	}
	np_vec_release(names);
}

const char *cmp_op_names_map(const struct cmp_op_names *names, const char *name)
{
	for (size_t i = 0; names && i < names->count; i++) {
		if (strcmp(names->item[i].from, name) == 0)
			return names->item[i].to;
	}
	return name;
}
