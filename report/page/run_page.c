/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the page together: markup with style, script and data in their places. */
#include "npuprof/run_page.h"

#include "cli/command/cmd.h"
#include "cli/command/output.h"
#include "cli/prepare/phases.h"
#include "page_aliases.h"
#include "page_assets.h"
#include "page_model.h"

#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include <errno.h>
#include <inttypes.h>

/* --- without names --------------------------------------------------------------------------- */

/* Length of the JSON string at `text`, with its quotes. */
static size_t string_length(const char *text)
{
	size_t i = 1;

	while (text[i] && text[i] != '"')
		i += text[i] == '\\' && text[i + 1] ? 2 : 1;
	return text[i] ? i + 1 : i;
}

/* Values only: a host may be called like a key. */
static void put_anonymous(struct np_buf *buf, const char *json, const struct page_aliases *aliases)
{
	for (const char *at = json; *at;) {
		size_t length = *at == '"' ? string_length(at) : 1;
		const char *end = at + length;

		if (length == 1 || *end == ':')
			np_buf_add_bytes(buf, at, length);
		else
			page_aliases_put(buf, aliases, at, length);
		at = end;
	}
}

/* --- the page --------------------------------------------------------------------------------- */

/*
 * Without white space between values, which is a quarter of it. Inside of a script element
 * only "<" can do harm, and in JSON it stands in strings alone.
 */
static void put_data(FILE *stream, const char *json)
{
	bool inside = false;

	for (const char *at = json; *at; at++) {
		size_t plain = strcspn(at, inside ? "<\\\"" : " \n\"");

		(void)fwrite(at, 1, plain, stream);
		at += plain;
		if (*at == '\0')
			break;
		if (*at == '<') {
			(void)fputs("\\u003c", stream);
		} else if (*at == '\\' && at[1]) {
			(void)fputc(*at++, stream);
			(void)fputc(*at, stream);
		} else if (*at == '"') {
			inside = !inside;
			(void)fputc(*at, stream);
		}
	}
}

/* Text in markup. */
static void put_text(FILE *stream, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			(void)fputs("&lt;", stream);
			break;
		case '>':
			(void)fputs("&gt;", stream);
			break;
		case '&':
			(void)fputs("&amp;", stream);
			break;
		case '"':
			(void)fputs("&quot;", stream);
			break;
		default:
			(void)fputc(*text, stream);
			break;
		}
	}
}

/* The data of one run, or of the phases of a job. */
static void put_runs(FILE *stream, const struct np_run_page *page)
{
	if (page->runs.count == 1 && !page->phase_ranks) {
		put_data(stream, page->runs.item[0]);
		return;
	}
	(void)fputs("{\"schema\":\"npuprof.page/1\",\"phases\":[", stream);
	for (size_t i = 0; i < page->runs.count; i++) {
		(void)fputs(i > 0 ? "," : "", stream);
		put_data(stream, page->runs.item[i]);
	}
	(void)fputc(']', stream);
	if (page->phase_ranks) {
		(void)fputc(',', stream);
		put_data(stream, page->phase_ranks);
	}
	(void)fputc('}', stream);
}

/* A path may be no UTF-8. */
static void put_title(FILE *stream, const struct np_run_page *page)
{
	NP_CLEANUP(np_buf_release) struct np_buf title = NP_BUF_INIT;

	if (page->title)
		np_text_safe(&title, page->title, strlen(page->title));
	put_text(stream, title.text ? title.text : "npuprof");
}

static void put_place(FILE *stream, const char *name, size_t length, const struct np_run_page *page)
{
	if (strncmp(name, "style", length) == 0)
		(void)fwrite(page_css, 1, page_css_size, stream);
	else if (strncmp(name, "script", length) == 0)
		(void)fwrite(page_js, 1, page_js_size, stream);
	else if (strncmp(name, "policy", length) == 0)
		(void)fprintf(stream,
			      "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; "
			      "base-uri 'none'; form-action 'none'",
			      page_js_sha256, page_css_sha256);
	else if (strncmp(name, "language", length) == 0)
		put_text(stream, page->chinese ? "zh-CN" : "en");
	else if (strncmp(name, "title", length) == 0)
		put_title(stream, page);
	else
		put_runs(stream, page);
}

/* Everything between {{ and }} is the name of a place. */
static void put_markup(FILE *stream, const struct np_run_page *page)
{
	const char *at = page_html;
	const char *end = page_html + page_html_size;

	while (at < end) {
		const char *open = memmem(at, (size_t)(end - at), "{{", 2);
		const char *close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;

		(void)fwrite(at, 1, (size_t)((close ? open : end) - at), stream);
		if (!close)
			break;
		put_place(stream, open + 2, (size_t)(close - open - 2), page);
		at = close + 2;
	}
}

int np_run_page_write(const void *context, FILE *stream, struct np_err *err)
{
	put_markup(stream, context);
	if (fflush(stream) != 0 || ferror(stream))
		return np_fail(err, NP_E_IO, "writing the page: %s", strerror(errno));
	return NP_OK;
}

int np_run_page_set_times(struct np_run_page *page, const struct np_phase_times *times,
			  struct np_err *err)
{
	if (!times)
		return NP_OK;
	page->phase_ranks = phases_times_json(times);
	return page->phase_ranks ? NP_OK : np_fail_nomem(err, "the page");
}

int np_run_page_print(struct np_run_page *page, const struct np_phase_times *times, int status)
{
	struct np_err err = NP_ERR_INIT;

	if (page->runs.count == 0)
		return status;
	if (np_run_page_set_times(page, times, &err) < 0 ||
	    np_run_page_write(page, np_output_stream(), &err) < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	return status;
}

/* --- its data --------------------------------------------------------------------------------- */

/* Keep the text; one that names nobody if that is asked for. */
static int keep(struct np_run_page *page, const struct np_analysis *analysis,
		const struct np_run_page_options *options, const char *json, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf anonymous = NP_BUF_INIT;
	struct page_aliases aliases = { 0 };
	char **run = np_vec_add(&page->runs, err);
	int rc = run ? NP_OK : NP_E_NOMEM;

	if (rc == NP_OK && options->anonymous)
		rc = page_aliases_find(analysis->run, analysis->memory, options->input,
				       options->base, &aliases, err);
	if (rc == NP_OK && options->anonymous)
		put_anonymous(&anonymous, json, &aliases);
	page_aliases_release(&aliases);
	if (rc < 0)
		return rc;
	*run = anonymous.failed ? NULL : strdup(options->anonymous ? anonymous.text : json);
	return *run ? NP_OK : np_fail_nomem(err, "the page");
}

int np_run_page_add(struct np_run_page *page, const struct np_analysis *analysis,
		    const struct np_run_page_options *options, struct np_err *err)
{
	struct page_model model = { 0 };
	struct np_jsonout out;
	int rc = page_model_build(analysis, options, &model, err);

	if (rc < 0)
		return rc;
	np_jsonout_init(&out, NULL);
	rc = page_put_data(&out, &model, options, err);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	if (rc == NP_OK)
		rc = keep(page, analysis, options, out.buf.text, err);
	page->chinese = options->chinese;
	if (rc == NP_OK && !page->title && !options->anonymous) {
		page->title = strdup(options->input);
		rc = page->title ? NP_OK : np_fail_nomem(err, "the page");
	}
	np_jsonout_release(&out);
	page_model_release(&model);
	return rc;
}

void np_run_page_release(struct np_run_page *page)
{
	for (size_t i = 0; i < page->runs.count; i++)
		free(page->runs.item[i]);
	np_vec_release(&page->runs);
	free(page->title);
	free(page->phase_ranks);
}
