/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/page.h"

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
	*section = (struct np_section){ .title = title, .text = NP_BUF_INIT };
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
		np_text_lines(buf, section->text.text, 2, width);
		if (rc == NP_OK)
			rc = np_buf_check(&section->text, err);
	}
	return rc;
}
