/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the rows of modes until they are written, and notes what they could not use. */
#include "npuprof/mode_tables.h"

#include "mode.h"

#include "npuprof/arena.h"
#include "npuprof/ranges.h"
#include "npuprof/text.h"

static int produce(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_mode_table *table = model;
	int rc = NP_OK;

	for (size_t i = 0; i < table->rows && rc == NP_OK; i++)
		rc = np_sink_row(sink, &table->cells[i * table->relation.column_count], err);
	return rc;
}

struct np_mode_table *mode_table(struct np_modes *modes, const char *mode, const char *name,
				 const char *summary, const struct np_column *columns, size_t count,
				 struct np_err *err)
{
	struct np_mode_table *table = np_arena_alloc(modes->arena, sizeof(*table));

	if (!table) {
		(void)np_fail_nomem(err, name);
		return NULL;
	}
	table->relation = (struct np_relation){ .name = name,
						.summary = summary,
						.columns = columns,
						.column_count = count,
						.produce = produce };
	table->mode = mode;
	if (modes->last)
		modes->last->next = table;
	else
		modes->tables = table;
	modes->last = table;
	return table;
}

static int grow(struct np_mode_table *table, struct np_err *err)
{
	size_t capacity = table->capacity ? table->capacity * 2 : 16;
	struct np_cell *cells =
		reallocarray(table->cells, capacity * table->relation.column_count, sizeof(*cells));

	if (!cells)
		return np_fail_nomem(err, table->relation.name);
	table->cells = cells;
	table->capacity = capacity;
	return NP_OK;
}

int mode_row(struct np_modes *modes, struct np_mode_table *table, const struct np_cell *cells,
	     struct np_err *err)
{
	size_t width = table->relation.column_count;
	struct np_cell *row;
	int rc = table->rows < table->capacity ? NP_OK : grow(table, err);

	if (rc < 0)
		return rc;
	row = &table->cells[table->rows * width];
	for (size_t i = 0; i < width; i++) {
		row[i] = cells[i];
		if (cells[i].type != NP_CELL_TEXT)
			continue;
		row[i].text.bytes =
			np_arena_text(modes->arena, cells[i].text.bytes, cells[i].text.length);
		if (!row[i].text.bytes)
			return np_fail_nomem(err, table->relation.name);
	}
	table->rows++;
	return NP_OK;
}

const char *mode_name(const struct np_modes *modes, np_str text)
{
	return text == NP_STR_NONE ? "N/A" : np_strtab_text(modes->run->strings, text);
}

struct np_cell mode_name_cell(const struct np_modes *modes, np_str text)
{
	return text == NP_STR_NONE ? np_cell_text("N/A")
				   : np_cell_bytes(np_strtab_text(modes->run->strings, text),
						   np_strtab_length(modes->run->strings, text));
}

const char *mode_data_type(uint8_t number)
{
	static const char *const names[] = { "N/A",    "INT8",  "INT16",  "INT32", "FP16",
					     "FP32",   "INT64", "UINT64", "UINT8", "UINT16",
					     "UINT32", "FP64",  "BFP16",  "INT128" };

	return number < NP_COUNT(names) ? names[number] : names[0];
}

int32_t mode_rank_id(const struct np_modes *modes, size_t index)
{
	return modes->run->ranks[index]->id;
}

struct np_cell mode_step_cell(const struct np_modes *modes, np_str step)
{
	const char *text = np_run_text(modes->run, step);
	int64_t number;

	if (!text)
		return np_cell_null();
	return np_text_to_int(text, strlen(text), &number) ? np_cell_integer(number)
							   : np_cell_text(text);
}

/* Times in ns have 19 digits: two at once. */
static char *put_two_digits(char *at, unsigned value)
{
	*--at = (char)('0' + value % 10);
	*--at = (char)('0' + value / 10);
	return at;
}

const char *mode_us_text(np_ns time, struct us_text *text)
{
	uint64_t rest = time < 0 ? 0 - (uint64_t)time : (uint64_t)time;
	char *at = text->bytes + sizeof(text->bytes);

	*--at = '\0';
	at = put_two_digits(at, (unsigned)(rest % 100));
	rest /= 100;
	*--at = (char)('0' + rest % 10);
	*--at = '.';
	for (rest /= 10; rest >= 100; rest /= 100)
		at = put_two_digits(at, (unsigned)(rest % 100));
	if (rest >= 10)
		at = put_two_digits(at, (unsigned)rest);
	else
		*--at = (char)('0' + rest);
	if (time < 0)
		*--at = '-';
	return at;
}

void mode_note(struct np_modes *modes, enum np_note_kind kind, const char *mode, const bool *which,
	       const char *reason)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	struct np_run *run = modes->run;
	int64_t *list = malloc((run->sources.count + 1) * sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < run->sources.count; i++) {
		if (which[i])
			list[count++] = mode_rank_id(modes, i);
	}
	if (count > 0) {
		np_ranges_format(&ranks, list, count);
		np_note_add(&run->notes, kind, NP_NO_RANK, run->roots.item[0], mode,
			    "rank%s %s: %s", count == 1 ? "" : "s", ranks.text, reason);
	}
	free(list);
}

int mode_note_results(struct np_modes *modes, const char *mode, void *const *ranks,
		      mode_is_such *is_such, const char *reason, struct np_err *err)
{
	size_t count = modes->run->sources.count;
	bool *which = calloc(count + 1, sizeof(*which));

	if (!which)
		return np_fail_nomem(err, mode);
	for (size_t i = 0; i < count; i++)
		which[i] = ranks[i] && is_such(ranks[i]);
	mode_note(modes, NP_NOTE_SKIPPED, mode, which, reason);
	free(which);
	return NP_OK;
}

int mode_note_absent(struct np_modes *modes, const char *mode, const struct np_mode_table *table,
		     const char *column, void *const *ranks, struct np_err *err)
{
	size_t width = table->relation.column_count;
	size_t count = modes->run->sources.count;
	bool *absent = calloc(count + 1, sizeof(*absent));
	size_t row = 0;
	size_t at = 0;

	if (!absent)
		return np_fail_nomem(err, mode);
	while (at + 1 < width && strcmp(table->relation.columns[at].name, column) != 0)
		at++;
	for (size_t i = 0; i < count; i++) {
		absent[i] = ranks[i] && table->rows > 0;
		for (; ranks[i] && row < table->rows &&
		       table->cells[row * width + at].integer == mode_rank_id(modes, i);
		     row++)
			absent[i] = false;
	}
	mode_note(modes, NP_NOTE_SKIPPED, mode, absent, table->empty);
	free(absent);
	return NP_OK;
}

size_t mode_top(const struct np_modes *modes, size_t own)
{
	return modes->options.top > 0 ? (size_t)modes->options.top : own;
}
