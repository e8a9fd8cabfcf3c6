/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a comparison as a workbook. */
#include "compare_report.h"

#include "cli/command/module.h"

#include "npuprof/temporary.h"
#include "npuprof/text.h"
#include "npuprof/workbook.h"

#include <errno.h>
#include <unistd.h>

static int put_title(struct np_buf *title, const struct compare_report *report, struct np_err *err)
{
	np_buf_add(title, "Base: ");
	np_text_safe(title, report->input[CMP_BASE], strlen(report->input[CMP_BASE]));
	np_buf_add(title, "   New: ");
	np_text_safe(title, report->input[CMP_NEW], strlen(report->input[CMP_NEW]));
	return np_buf_check(title, err);
}

static int write_book(const struct compare_report *report, const char *path, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf title = NP_BUF_INIT;
	struct np_workbook_style style = { .bad = cmp_verdict_name(CMP_REGRESSION),
					   .good = cmp_verdict_name(CMP_IMPROVEMENT) };
	struct np_workbook *book;
	np_workbook_opener *open;
	int rc = put_title(&title, report, err);

	if (rc == NP_OK)
		rc = np_module_find(NP_WORKBOOK_LIBRARY, NP_WORKBOOK_OPEN, (void **)&open, err);
	style.title = title.text;
	if (rc == NP_OK)
		rc = open(path, &style, &book, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; compare_relations[i] && rc == NP_OK; i++) {
		if (compare_relation_applies(compare_relations[i], report))
			rc = np_relation_write(compare_relations[i], report, &book->sink, err);
	}
	return book->finish(book, rc, err);
}

int compare_xlsx(const struct compare_report *report, const char *path, struct np_err *err)
{
	char *temporary = np_temporary_new(path);
	int rc = temporary ? write_book(report, temporary, err) : np_fail_nomem(err, path);

	if (rc == NP_OK && rename(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot rename '%s': %s", temporary, strerror(errno));
	if (rc < 0 && temporary)
		(void)unlink(temporary);
	np_temporary_free(temporary);
	return rc;
}
