/* SPDX-License-Identifier: Apache-2.0 */
/* A report for people: sections under their titles, for a screen or as Markdown. */
#include "npuprof/page.h"

#include "npuprof/lang.h"
#include "npuprof/text.h"

#include <assert.h>

void np_page_release(struct np_page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		np_grid_free(page->sections[i].grid);
		np_buf_release(&page->sections[i].text);
	}
}

struct np_section *np_page_add(struct np_page *page, const char *title)
{
	struct np_section *section = &page->sections[page->count++];

	assert(page->count <= NP_PAGE_SECTIONS);
	*section = (struct np_section){ .title = np_lang_text(title), .text = NP_BUF_INIT };
	return section;
}

void np_page_drop_empty(struct np_page *page)
{
	const struct np_section *last = &page->sections[page->count - 1];

	if (!last->grid && last->text.length == 0)
		page->count--;
}

int np_page_write(const struct np_page *page, struct np_buf *buf, size_t width, bool color,
		  struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < page->count && rc == NP_OK; i++) {
		const struct np_section *section = &page->sections[i];

		np_buf_printf(buf, color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", section->title);
		if (section->grid)
			rc = np_grid_write(section->grid, buf, 2, width, color, err);
		np_text_lines(buf, section->text.text, 2, section->hang, width, section->cut);
		if (rc == NP_OK)
			rc = np_buf_check(&section->text, err);
	}
	return rc;
}

/* Each line as an item of a list: a viewer wraps it, and takes nothing in it for markup. */
static void put_items(struct np_buf *buf, const char *text)
{
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;

	while (*text) {
		size_t length = strcspn(text, "\n");

		np_buf_clear(&safe);
		np_text_safe(&safe, text, length);
		np_buf_add(buf, "- ");
		np_grid_add_markdown(buf, safe.text, safe.length);
		np_buf_add_char(buf, '\n');
		text += length + (text[length] == '\n');
	}
	buf->failed |= safe.failed;
}

int np_page_write_markdown(const struct np_page *page, struct np_buf *buf, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < page->count && rc == NP_OK; i++) {
		const struct np_section *section = &page->sections[i];

		np_buf_printf(buf, "\n## %s\n\n", section->title);
		if (section->grid)
			rc = np_grid_write_markdown(section->grid, buf, err);
		if (section->text.length > 0) {
			np_buf_add(buf, section->grid ? "\n" : "");
			put_items(buf, section->text.text);
		}
		if (rc == NP_OK)
			rc = np_buf_check(&section->text, err);
	}
	return rc;
}
