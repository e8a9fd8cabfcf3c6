/* SPDX-License-Identifier: Apache-2.0 */
/* Reads dumps of graphs: protobuf text, of which operators and their inputs are kept. */
#include "graph.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT ((size_t)512 << 20)

/* Operators are nested in graphs, attributes in operators; only the first levels matter. */
struct parser {
	struct adv_graphs *graphs;
	const char *graph;
	const char *at;
	const char *end;
	int depth;
	int op_depth; /* depth inside of the present operator, or -1 */
	struct np_buf name;
	struct np_buf type;
	NP_VEC(char *) inputs;
	struct np_err *err;
};

void adv_graphs_release(struct adv_graphs *graphs)
{
	adv_rows_release(&graphs->nodes);
	adv_rows_release(&graphs->edges);
}

static int begin(struct adv_graphs *graphs, struct np_err *err)
{
	static const char *const nodes[] = { "graph", "id", "name", "op_type" };
	static const char *const edges[] = { "graph", "src", "dst" };
	static const enum np_column_type texts[] = { NP_TEXT, NP_TEXT, NP_TEXT, NP_TEXT };
	int rc = NP_OK;

	if (!graphs->nodes.columns)
		rc = adv_rows_init(&graphs->nodes, nodes, texts, NP_COUNT(nodes), err);
	if (rc == NP_OK && !graphs->edges.columns)
		rc = adv_rows_init(&graphs->edges, edges, texts, NP_COUNT(edges), err);
	return rc;
}

static void skip_space(struct parser *parser)
{
	while (parser->at < parser->end && isspace((unsigned char)*parser->at))
		parser->at++;
}

/* A quoted text at the present place, without its escapes; false if there is none. */
static bool read_text(struct parser *parser, struct np_buf *ret)
{
	np_buf_clear(ret);
	if (parser->at >= parser->end || *parser->at != '"')
		return false;
	for (parser->at++; parser->at < parser->end && *parser->at != '"'; parser->at++) {
		if (*parser->at == '\\' && parser->at + 1 < parser->end)
			parser->at++;
		np_buf_add_char(ret, *parser->at);
	}
	if (parser->at < parser->end)
		parser->at++;
	return true;
}

static void clear_op(struct parser *parser)
{
	np_buf_clear(&parser->name);
	np_buf_clear(&parser->type);
	for (size_t i = 0; i < parser->inputs.count; i++)
		free(parser->inputs.item[i]);
	parser->inputs.count = 0;
}

/* The operator is complete: a node, and an edge from each input. */
static int finish_op(struct parser *parser)
{
	struct np_cell graph = np_cell_text(parser->graph);
	struct np_cell name = np_cell_text(parser->name.text);
	int rc = NP_OK;

	if (parser->name.length > 0)
		rc = adv_rows_add(
			&parser->graphs->nodes,
			(struct np_cell[]){ graph, name, name, np_cell_text(parser->type.text) },
			parser->err);
	for (size_t i = 0; i < parser->inputs.count && rc == NP_OK; i++) {
		char *colon = strrchr(parser->inputs.item[i], ':');

		if (colon)
			*colon = '\0';
		if (parser->inputs.item[i][0] && parser->name.length > 0)
			rc = adv_rows_add(&parser->graphs->edges,
					  (struct np_cell[]){ graph,
							      np_cell_text(parser->inputs.item[i]),
							      name },
					  parser->err);
	}
	clear_op(parser);
	return rc;
}

static int take_field(struct parser *parser, const char *key, size_t length)
{
	struct np_buf text = NP_BUF_INIT;
	char **slot;
	int rc = NP_OK;

	if (!read_text(parser, &text)) {
		/* Numbers and words end at white space. */
		while (parser->at < parser->end && !isspace((unsigned char)*parser->at) &&
		       *parser->at != '}')
			parser->at++;
	} else if (parser->op_depth == parser->depth && !text.failed) {
		if (length == 4 && memcmp(key, "name", 4) == 0) {
			np_buf_clear(&parser->name);
			np_buf_add(&parser->name, text.text);
		} else if (length == 4 && memcmp(key, "type", 4) == 0) {
			np_buf_clear(&parser->type);
			np_buf_add(&parser->type, text.text);
		} else if (length == 5 && memcmp(key, "input", 5) == 0) {
			slot = np_vec_add(&parser->inputs, parser->err);
			if (slot)
				*slot = strdup(text.text);
			if (!slot || !*slot)
				rc = np_fail_nomem(parser->err, "a graph");
		}
	}
	np_buf_release(&text);
	return rc;
}

/* One field or the end of a message. */
static int step(struct parser *parser)
{
	const char *key = parser->at;
	size_t length;

	if (*parser->at == '}') {
		int rc = parser->op_depth == parser->depth ? finish_op(parser) : NP_OK;

		if (parser->op_depth == parser->depth)
			parser->op_depth = -1;
		parser->at++;
		parser->depth--;
		return rc;
	}
	while (parser->at < parser->end &&
	       (isalnum((unsigned char)*parser->at) || *parser->at == '_'))
		parser->at++;
	length = (size_t)(parser->at - key);
	skip_space(parser);
	if (parser->at < parser->end && *parser->at == ':') {
		parser->at++;
		skip_space(parser);
	}
	if (parser->at < parser->end && *parser->at == '{') {
		parser->at++;
		parser->depth++;
		if (parser->op_depth < 0 && length == 2 && memcmp(key, "op", 2) == 0)
			parser->op_depth = parser->depth;
		return NP_OK;
	}
	if (length == 0) {
		parser->at++; /* punctuation that says nothing */
		return NP_OK;
	}
	return take_field(parser, key, length);
}

int adv_graph_parse(struct adv_graphs *graphs, const char *name, const char *text, size_t length,
		    struct np_err *err)
{
	struct parser parser = { .graphs = graphs,
				 .graph = name,
				 .at = text,
				 .end = text + length,
				 .op_depth = -1,
				 .name = NP_BUF_INIT,
				 .type = NP_BUF_INIT,
				 .err = err };
	size_t before;
	int rc = begin(graphs, err);

	before = adv_rows_count(&graphs->nodes);
	skip_space(&parser);
	while (rc == NP_OK && parser.at < parser.end) {
		rc = step(&parser);
		skip_space(&parser);
	}
	if (rc == NP_OK && adv_rows_count(&graphs->nodes) == before)
		rc = np_fail(err, NP_E_FORMAT, "'%s' has no operators; is it a dump of a graph?",
			     name);
	clear_op(&parser);
	np_vec_release(&parser.inputs);
	np_buf_release(&parser.name);
	np_buf_release(&parser.type);
	return rc;
}

int adv_graph_read(struct adv_graphs *graphs, const char *path, struct np_err *err)
{
	const char *slash = strrchr(path, '/');
	struct np_buf text = NP_BUF_INIT;
	FILE *stream = fopen(path, "re");
	char block[65536];
	size_t got;
	int rc;

	if (!stream)
		return np_fail(err, NP_E_NOTFOUND, "cannot open '%s': %s", path,
			       strerrordesc_np(errno));
	while (text.length <= FILE_LIMIT && (got = fread(block, 1, sizeof(block), stream)) > 0)
		np_buf_add_bytes(&text, block, got);
	rc = ferror(stream) ? np_fail(err, NP_E_IO, "cannot read '%s'", path)
			    : np_buf_check(&text, err);
	(void)fclose(stream);
	if (rc == NP_OK && text.length > FILE_LIMIT)
		rc = np_fail(err, NP_E_FORMAT, "'%s' is too large for a graph", path);
	if (rc == NP_OK)
		rc = adv_graph_parse(graphs, slash ? slash + 1 : path, text.text, text.length, err);
	np_buf_release(&text);
	return rc;
}
