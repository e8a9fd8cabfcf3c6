/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/relation.h"

#include "npuprof/jsonout.h"

static void put_cell(struct np_jsonout *out, const char *key, const struct np_cell *cell)
{
	switch (cell->type) {
	case NP_CELL_NULL:
		np_jsonout_null(out, key);
		break;
	case NP_CELL_INTEGER:
		np_jsonout_integer(out, key, cell->integer);
		break;
	case NP_CELL_REAL:
		np_jsonout_real(out, key, cell->real);
		break;
	case NP_CELL_TEXT:
		np_jsonout_bytes(out, key, cell->text.bytes, cell->text.length);
		break;
	}
}

static int begin(struct np_sink *base, const struct np_relation *relation, struct np_err *err)
{
	struct np_jsonout_sink *sink = (struct np_jsonout_sink *)base;

	(void)err;
	sink->relation = relation;
	np_jsonout_array(sink->out, relation->name);
	return NP_OK;
}

static int put_row(struct np_sink *base, const struct np_cell *cells, struct np_err *err)
{
	const struct np_jsonout_sink *sink = (const struct np_jsonout_sink *)base;

	(void)err;
	np_jsonout_object_line(sink->out, NULL);
	for (size_t i = 0; i < sink->relation->column_count; i++)
		put_cell(sink->out, sink->relation->columns[i].name, &cells[i]);
	np_jsonout_end(sink->out);
	return NP_OK;
}

static int end(struct np_sink *base, struct np_err *err)
{
	(void)err;
	np_jsonout_end(((struct np_jsonout_sink *)base)->out);
	return NP_OK;
}

void np_jsonout_sink_init(struct np_jsonout_sink *sink, struct np_jsonout *out)
{
	*sink = (struct np_jsonout_sink){ .base = { begin, put_row, end }, .out = out };
}
