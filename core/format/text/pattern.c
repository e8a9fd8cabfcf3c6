/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of PCRE2, with limits. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "npuprof/pattern.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* What one match may cost: far beyond honest patterns, a fraction of a second for others. */
#define MATCH_LIMIT 1000000
#define DEPTH_LIMIT 20000
#define HEAP_LIMIT  (16U * 1024) /* KiB */

/* Longer patterns are somebody's mistake, and cost time before any text is seen. */
#define LENGTH_LIMIT (64U * 1024)

struct np_pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	uint32_t groups;
	bool matched;
};

static int set_up(struct np_pattern *pattern, struct np_err *err)
{
	pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
	pattern->limits = pcre2_match_context_create(NULL);
	if (!pattern->match || !pattern->limits)
		return np_fail_nomem(err, "a pattern");
	(void)pcre2_set_match_limit(pattern->limits, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(pattern->limits, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(pattern->limits, HEAP_LIMIT);
	(void)pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &pattern->groups);
	/* Only for speed: without it the interpreter does the work. */
	(void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
	return NP_OK;
}

int np_pattern_compile(const char *text, size_t length, unsigned flags, struct np_pattern **ret,
		       size_t *ret_offset, struct np_err *err)
{
	uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	NP_CLEANUP(np_pattern_freep) struct np_pattern *pattern = calloc(1, sizeof(*pattern));
	PCRE2_SIZE offset = 0;
	int problem = 0;
	int rc;

	if (!pattern)
		return np_fail_nomem(err, "a pattern");
	if (ret_offset)
		*ret_offset = 0;
	if (length > LENGTH_LIMIT)
		return np_fail(err, NP_E_FORMAT, "the pattern has %zu bytes, more than %u", length,
			       LENGTH_LIMIT);
	if (flags & NP_PATTERN_NOCASE)
		options |= PCRE2_CASELESS;
	if (flags & NP_PATTERN_WHOLE)
		options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
	pattern->code = pcre2_compile((PCRE2_SPTR)text, length, options, &problem, &offset, NULL);
	if (!pattern->code) {
		PCRE2_UCHAR why[128] = "";

		(void)pcre2_get_error_message(problem, why, sizeof(why));
		if (ret_offset)
			*ret_offset = offset;
		return np_fail(err, NP_E_FORMAT, "bad pattern at character %zu: %s", offset + 1,
			       (const char *)why);
	}
	rc = set_up(pattern, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(pattern);
	return rc;
}

void np_pattern_free(struct np_pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_match_context_free(pattern->limits);
	pcre2_match_data_free(pattern->match);
	pcre2_code_free(pattern->code);
	free(pattern);
}

void np_pattern_freep(struct np_pattern **pattern)
{
	np_pattern_free(*pattern);
	*pattern = NULL;
}

size_t np_pattern_groups(const struct np_pattern *pattern)
{
	return pattern->groups;
}

static int match_failed(int code, struct np_err *err)
{
	PCRE2_UCHAR why[128] = "";

	switch (code) {
	case PCRE2_ERROR_NOMEMORY:
		return np_fail_nomem(err, "a pattern");
	case PCRE2_ERROR_MATCHLIMIT:
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
		return np_fail(err, NP_E_RANGE,
			       "the pattern backtracks too much on this text; make it more exact");
	default:
		(void)pcre2_get_error_message(code, why, sizeof(why));
		return np_fail(err, NP_E_RANGE, "the pattern cannot be matched: %s",
			       (const char *)why);
	}
}

int np_pattern_match(struct np_pattern *pattern, const char *text, size_t length, size_t from,
		     bool *ret, struct np_err *err)
{
	int rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, length, from, 0, pattern->match,
			     pattern->limits);

	/* The machine code has a small fixed stack; the interpreter uses the heap. */
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, length, from, PCRE2_NO_JIT,
				 pattern->match, pattern->limits);
	pattern->matched = rc > 0;
	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
		return match_failed(rc, err);
	*ret = pattern->matched;
	return NP_OK;
}

bool np_pattern_capture(const struct np_pattern *pattern, size_t group, struct np_capture *ret)
{
	const PCRE2_SIZE *pairs;

	if (!pattern->matched || group > pattern->groups)
		return false;
	pairs = pcre2_get_ovector_pointer(pattern->match);
	if (pairs[2 * group] == PCRE2_UNSET)
		return false;
	ret->begin = pairs[2 * group];
	ret->end = pairs[2 * group + 1];
	/* \K in a lookahead can put the begin behind the end. */
	if (ret->begin > ret->end)
		ret->begin = ret->end;
	return true;
}

/* Read "$1", "${12}" or "$$" at `text`; gives the group, or SIZE_MAX for what is no group. */
static size_t read_group(const char *text, size_t length, size_t *ret_used)
{
	bool braces = length > 2 && text[1] == '{';
	size_t i = braces ? 2 : 1;
	size_t group = 0;
	size_t digits = 0;

	for (; i < length && text[i] >= '0' && text[i] <= '9' && digits < (braces ? 3U : 1U); i++) {
		group = group * 10 + (size_t)(text[i] - '0');
		digits++;
	}
	if (digits == 0 || (braces && (i >= length || text[i] != '}')))
		return SIZE_MAX;
	*ret_used = braces ? i + 1 : i;
	return group;
}

static void add_replacement(const struct np_pattern *pattern, const char *text,
			    const char *replacement, size_t length, struct np_buf *buf)
{
	for (size_t i = 0; i < length; i++) {
		struct np_capture part;
		size_t used = 0;
		size_t group;

		if (replacement[i] != '$') {
			np_buf_add_char(buf, replacement[i]);
			continue;
		}
		group = read_group(replacement + i, length - i, &used);
		if (group != SIZE_MAX) {
			if (np_pattern_capture(pattern, group, &part))
				np_buf_add_bytes(buf, text + part.begin, part.end - part.begin);
			i += used - 1;
		} else {
			np_buf_add_char(buf, '$');
			if (i + 1 < length && replacement[i + 1] == '$')
				i++;
		}
	}
}

int np_pattern_replace(struct np_pattern *pattern, const char *text, size_t length,
		       const char *replacement, size_t replacement_length, size_t limit,
		       struct np_buf *buf, struct np_err *err)
{
	size_t begin = buf->length;
	struct np_capture all = { 0, 0 };
	size_t done = 0;
	size_t from = 0;

	while (from <= length) {
		bool found = false;
		int rc = np_pattern_match(pattern, text, length, from, &found, err);

		if (rc < 0)
			return rc;
		if (!found || !np_pattern_capture(pattern, 0, &all))
			break;
		np_buf_add_bytes(buf, text + done, all.begin > done ? all.begin - done : 0);
		add_replacement(pattern, text, replacement, replacement_length, buf);
		if (buf->length - begin > limit)
			return np_fail(err, NP_E_RANGE, "the text becomes longer than %zu bytes",
				       limit);
		done = all.end;
		from = all.end > from ? all.end : from + 1;
		/* An empty match: go on behind the next whole character. */
		while (all.end == all.begin && from < length &&
		       ((unsigned char)text[from] & 0xc0) == 0x80)
			from++;
	}
	if (done < length)
		np_buf_add_bytes(buf, text + done, length - done);
	return np_buf_check(buf, err);
}
