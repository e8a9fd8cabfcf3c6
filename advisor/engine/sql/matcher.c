/* SPDX-License-Identifier: Apache-2.0 */
#include "matcher.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/json.h"
#include "npuprof/order.h"

#define LAST_CODE 0x10ffffU

void matcher_free(struct matcher *matcher)
{
	if (!matcher)
		return;
	for (size_t i = 0; i < matcher->tokens.count; i++)
		free(matcher->tokens.item[i]);
	for (size_t i = 0; i < matcher->texts.count; i++)
		free(matcher->texts.item[i]);
	for (size_t i = 0; i < matcher->list.count; i++) {
		free(matcher->list.item[i].name);
		np_pattern_free(matcher->list.item[i].pattern);
	}
	np_vec_release(&matcher->tokens);
	np_vec_release(&matcher->texts);
	np_vec_release(&matcher->list);
	free(matcher->source);
	free(matcher);
}

void matcher_freep(struct matcher **matcher)
{
	matcher_free(*matcher);
	*matcher = NULL;
}

/* Read a token at `*text` into `buf`; false if there is none. Alone, '.' is none. */
static bool read_token(const char **text, struct np_buf *buf)
{
	np_buf_clear(buf);
	if ((*text)[0] == '.' && strchr("-(){}|?*+", (*text)[1]))
		return false;
	while (**text && !strchr("-(){}|?*+", **text)) {
		if (**text == '\\' && (*text)[1])
			(*text)++;
		np_buf_add_char(buf, *(*text)++);
	}
	return buf->length > 0;
}

/* Call `use` for each token of a pattern. */
static int collect_tokens(struct matcher *matcher, const char *text, struct np_err *err)
{
	struct np_buf token = NP_BUF_INIT;
	int rc = NP_OK;

	while (*text && rc == NP_OK) {
		if (read_token(&text, &token)) {
			char **slot = np_vec_add(&matcher->tokens, err);

			if (slot)
				*slot = strdup(token.text);
			if (!slot || !*slot)
				rc = np_fail_nomem(err, "a pattern");
		} else if (*text) {
			text++;
		}
	}
	np_buf_release(&token);
	return rc;
}

static void sort_tokens(struct matcher *matcher)
{
	size_t kept = 0;

	if (matcher->tokens.count == 0)
		return;
	qsort(matcher->tokens.item, matcher->tokens.count, sizeof(char *), np_by_text);
	for (size_t i = 0; i < matcher->tokens.count; i++) {
		if (kept > 0 &&
		    strcmp(matcher->tokens.item[kept - 1], matcher->tokens.item[i]) == 0)
			free(matcher->tokens.item[i]);
		else
			matcher->tokens.item[kept++] = matcher->tokens.item[i];
	}
	matcher->tokens.count = kept;
}

uint32_t matcher_code(const struct matcher *matcher, const char *token)
{
	char *const *found = NULL;

	if (matcher->tokens.count > 0)
		found = bsearch(&token, matcher->tokens.item, matcher->tokens.count, sizeof(char *),
				np_by_text);
	return found ? MATCHER_OTHER + 1 + (uint32_t)(found - matcher->tokens.item) : MATCHER_OTHER;
}

void matcher_add_code(struct np_buf *buf, uint32_t code)
{
	const char bytes[MATCHER_WIDTH] = { (char)(0xf0 | code >> 18),
					    (char)(0x80 | (code >> 12 & 0x3f)),
					    (char)(0x80 | (code >> 6 & 0x3f)),
					    (char)(0x80 | (code & 0x3f)) };

	np_buf_add_bytes(buf, bytes, MATCHER_WIDTH);
}

/* "{0,2}": copy it if that is what it is. */
static bool add_repeat(const char **text, struct np_buf *buf)
{
	size_t length = strspn(*text + 1, "0123456789,");

	if (length == 0 || length > 9 || (*text)[length + 1] != '}')
		return false;
	np_buf_add_bytes(buf, *text, length + 2);
	*text += length + 2;
	return true;
}

/* The pattern over tokens as one over characters. */
static int translate(const struct matcher *matcher, const char *text, struct np_buf *buf,
		     struct np_err *err)
{
	struct np_buf token = NP_BUF_INIT;
	const char *begin = text;

	while (*text) {
		if (read_token(&text, &token)) {
			matcher_add_code(buf, matcher_code(matcher, token.text));
		} else if (*text == '-') {
			text++;
		} else if (*text == '(') {
			np_buf_add(buf, "(?:");
			text++;
		} else if (*text == '{') {
			if (!add_repeat(&text, buf)) {
				np_buf_release(&token);
				return np_fail(err, NP_E_FORMAT,
					       "bad repeat at character %zu of '%s'",
					       (size_t)(text - begin) + 1, begin);
			}
		} else {
			np_buf_add_char(buf, *text++);
		}
	}
	np_buf_release(&token);
	return np_buf_check(buf, err);
}

static int add_text(struct matcher *matcher, const char *name, const char *text, struct np_err *err)
{
	struct sequence *sequence = np_vec_add(&matcher->list, err);
	char **slot = sequence ? np_vec_add(&matcher->texts, err) : NULL;

	if (!slot)
		return NP_E_NOMEM;
	sequence->name = strdup(name ? name : text);
	*slot = strdup(text);
	if (!sequence->name || !*slot)
		return np_fail_nomem(err, "a pattern");
	return collect_tokens(matcher, text, err);
}

static int add_node(struct matcher *matcher, const char *name, const struct np_json *node,
		    struct np_err *err)
{
	int rc = NP_OK;

	if (np_json_type(node) == NP_JSON_ARRAY) {
		for (size_t i = 0; i < np_json_count(node) && rc == NP_OK; i++)
			rc = add_node(matcher, name, np_json_item(node, i), err);
		return rc;
	}
	if (!np_json_text(node))
		return np_fail(err, NP_E_FORMAT, "a pattern is not a text");
	return add_text(matcher, name, np_json_text(node), err);
}

static int add_all(struct matcher *matcher, const char *text, struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc;

	if (text[0] != '[' && text[0] != '{')
		return add_text(matcher, NULL, text, err);
	rc = np_json_parse(text, strlen(text), "patterns", &doc, err);
	if (rc == NP_OK && np_json_type(doc) == NP_JSON_ARRAY)
		return add_node(matcher, NULL, doc, err);
	while (rc == NP_OK && np_json_next(doc, &entry))
		rc = add_node(matcher, entry.key, entry.value, err);
	return rc;
}

static int compile_all(struct matcher *matcher, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	int rc = NP_OK;

	sort_tokens(matcher);
	if (matcher->tokens.count >= LAST_CODE - MATCHER_OTHER)
		rc = np_fail(err, NP_E_FORMAT, "too many tokens");
	for (size_t i = 0; i < matcher->list.count && rc == NP_OK; i++) {
		np_buf_clear(&text);
		rc = translate(matcher, matcher->texts.item[i], &text, err);
		if (rc == NP_OK)
			rc = np_pattern_compile(text.text, text.length, 0,
						&matcher->list.item[i].pattern, NULL, err);
		if (rc == NP_E_FORMAT)
			rc = np_fail(err, NP_E_FORMAT, "'%s': %s", matcher->texts.item[i],
				     err->text);
	}
	np_buf_release(&text);
	return rc;
}

int matcher_new(const char *text, struct matcher **ret, struct np_err *err)
{
	NP_CLEANUP(matcher_freep) struct matcher *matcher = calloc(1, sizeof(*matcher));
	int rc;

	if (matcher)
		matcher->source = strdup(text);
	if (!matcher || !matcher->source)
		return np_fail_nomem(err, "patterns");
	rc = add_all(matcher, text, err);
	if (rc == NP_OK)
		rc = compile_all(matcher, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(matcher);
	return rc;
}
