/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a comparison as a workbook: our tables, or those of msprof-analyze in front of them. */
#include "compare_report.h"

#include "cli/command/module.h"
#include "vendor_sheets.h"

#include "npuprof/lock.h"
#include "npuprof/temporary.h"
#include "npuprof/text.h"
#include "npuprof/workbook.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

static int put_title(struct np_buf *title, const struct compare_report *report, struct np_err *err)
{
	np_buf_add(title, "Base: ");
	np_text_safe(title, report->input[CMP_BASE], strlen(report->input[CMP_BASE]));
	np_buf_add(title, "   New: ");
	np_text_safe(title, report->input[CMP_NEW], strlen(report->input[CMP_NEW]));
	return np_buf_check(title, err);
}

static int write_ours(const struct compare_report *report, struct np_workbook *book,
		      struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; compare_relations[i] && rc == NP_OK; i++) {
		if (compare_relation_applies(compare_relations[i], report))
			rc = np_relation_write(compare_relations[i], report, &book->sink, err);
	}
	return rc;
}

/* --- the sheets of msprof-analyze ------------------------------------------------------------ */

/* "per step, mean of 3 steps and 8 ranks": what the figures of both sides are. */
static void put_meaning(struct np_buf *buf, const struct comparison *comparison)
{
	const struct cmp_side *sides = comparison->sides;

	np_buf_printf(buf, "per step, mean of %zu ranks and %zu", comparison->pairs.count,
		      sides[CMP_BASE].steps.count);
	if (sides[CMP_NEW].steps.count != sides[CMP_BASE].steps.count)
		np_buf_printf(buf, " and %zu", sides[CMP_NEW].steps.count);
	np_buf_add(buf, " steps");
}

static void put_path(struct np_buf *buf, const char *title, const char *path)
{
	np_buf_add(buf, title);
	np_text_safe(buf, path, strlen(path));
}

static int write_vendor(const struct compare_report *report, struct np_workbook *book,
			struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf base = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf new_ = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf note = NP_BUF_INIT;
	int rc = NP_OK;

	put_path(&base, "Base Profiling: ", report->input[CMP_BASE]);
	put_path(&new_, "Comparison Profiling: ", report->input[CMP_NEW]);
	put_meaning(&note, report->comparison);
	if (np_buf_check(&base, err) < 0 || np_buf_check(&new_, err) < 0 ||
	    np_buf_check(&note, err) < 0)
		return NP_E_NOMEM;
	for (size_t i = 0; i < vendor_sheet_count && rc == NP_OK; i++) {
		const struct vendor_sheet *sheet = &vendor_sheets[i];
		const struct np_sheet layout = {
			.header_row = 2,
			.note = note.text,
			.side = { { base.text, sheet->side_from[CMP_BASE], sheet->side_count },
				  { new_.text, sheet->side_from[CMP_NEW], sheet->side_count } },
			.outline = sheet->outline,
		};
		bool applies = false;

		rc = vendor_sheet_applies(sheet, report, &applies, err);
		book->sheet = &layout;
		if (rc == NP_OK && applies)
			rc = vendor_sheet_write(sheet, report, &book->sink, err);
		book->sheet = NULL;
	}
	return rc;
}

/* --- files ----------------------------------------------------------------------------------- */

static int write_book(const struct compare_report *report, bool vendor, const char *path,
		      struct np_err *err)
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
	if (vendor)
		rc = write_vendor(report, book, err);
	if (rc == NP_OK)
		rc = write_ours(report, book, err);
	return book->finish(book, rc, err);
}

static int write_file(const struct compare_report *report, bool vendor, const char *path,
		      struct np_err *err)
{
	char *temporary = np_temporary_new(path);
	int rc = temporary ? write_book(report, vendor, temporary, err) : np_fail_nomem(err, path);

	if (rc == NP_OK && np_temporary_place(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot rename '%s': %s", temporary, strerror(errno));
	if (rc < 0 && temporary)
		(void)unlink(temporary);
	np_temporary_free(temporary);
	return rc;
}

int compare_xlsx(const struct compare_report *report, const char *path, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	int rc = write_file(report, false, path, &why);

	if (rc == NP_E_NOTFOUND)
		return np_fail(err, rc,
			       "cannot write '%s': %s; workbooks need an npuprof that was built "
			       "with libxlsxwriter, and '-f csv -o DIR' writes the same tables",
			       path, why.text);
	if (rc < 0)
		*err = why;
	return rc;
}

/* A sheet as a file of its own. */
struct sheet_file {
	const struct vendor_sheet *sheet;
	const struct compare_report *report;
};

static int write_sheet(const void *context, FILE *stream, struct np_err *err)
{
	const struct sheet_file *file = context;
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;

	np_csv_sink_init(&sink, &buf, stream);
	return vendor_sheet_write(file->sheet, file->report, &sink.base, err);
}

static int write_sheets(const struct compare_report *report, const char *directory,
			struct np_err *err)
{
	int rc = np_make_output(directory, err);

	for (size_t i = 0; i < vendor_sheet_count && rc == NP_OK; i++) {
		const struct sheet_file file = { &vendor_sheets[i], report };
		bool applies = false;
		char *path;

		rc = vendor_sheet_applies(file.sheet, report, &applies, err);
		if (rc < 0 || !applies)
			continue;
		if (asprintf(&path, "%s/%s.csv", directory, file.sheet->name) < 0)
			return np_fail_nomem(err, directory);
		rc = np_write_file(path, write_sheet, &file, err);
		free(path);
	}
	return rc;
}

int compare_vendor_files(const struct compare_report *report, const char *directory,
			 char **ret_path, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	time_t now = time(NULL);
	struct tm utc;
	char stamp[32];
	char *path;
	int rc = np_make_output(directory, err);

	if (rc < 0)
		return rc;
	(void)strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", gmtime_r(&now, &utc));
	if (asprintf(&path, "%s/performance_comparison_result_%s.xlsx", directory, stamp) < 0)
		return np_fail_nomem(err, directory);
	rc = write_file(report, true, path, &why);
	if (rc == NP_E_NOTFOUND) {
		path[strlen(path) - strlen(".xlsx")] = '\0';
		rc = write_sheets(report, path, err);
		if (rc == NP_OK)
			rc = np_fail(err, NP_E_NOTFOUND,
				     "workbooks cannot be written (%s): the sheets are csv files "
				     "in '%s'",
				     why.text, path);
	} else if (rc < 0) {
		*err = why;
	}
	if (rc == NP_OK || rc == NP_E_NOTFOUND)
		*ret_path = path;
	else
		free(path);
	return rc;
}
