/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PAGE_ASSETS_H
#define NP_PAGE_ASSETS_H

/* The files of the page as the build embeds them (cmake/NpEmbed.cmake). */

#include <stddef.h>

extern const char page_html[];
extern const size_t page_html_size;
extern const char page_css[];
extern const size_t page_css_size;
extern const char page_css_sha256[]; /* base64, as a Content-Security-Policy has it */
extern const char page_js[];
extern const size_t page_js_size;
extern const char page_js_sha256[];

#endif /* NP_PAGE_ASSETS_H */
