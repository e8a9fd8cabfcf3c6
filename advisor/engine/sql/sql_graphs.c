/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_match(pattern) finds induced subgraphs.
 *
 * Induced subgraphs of the graphs in v_graph_node and v_graph_edge. The pattern
 * is JSON: {"nodes": {"a": "MatMul|BatchMatMul", "b": "Add"}, "edges": [["a", "b"]]}.
 * Types are compared whatever their case. Every match gives one row per node of
 * the pattern: match, graph, role, node. A match has exactly the edges of the
 * pattern between its nodes.
 */
#include "sql_tables.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/json.h"

#define MAX_ROLES 16

struct node {
	const char *graph;
	const char *id;
	const char *type;
	uint32_t first_out; /* in `out`, of nodes by source */
	uint32_t out_count;
};

struct edge {
	uint32_t src;
	uint32_t dst;
};

struct role {
	const char *name;
	const char *types;
};

struct graph_tables {
	struct adv_sql *sql;
	struct np_arena *arena;
	NP_VEC(struct node) nodes; /* by graph, then id */
	NP_VEC(struct edge) edges; /* by source, then target */
	struct role role[MAX_ROLES];
	size_t role_count;
	bool wanted[MAX_ROLES][MAX_ROLES];
	uint32_t chosen[MAX_ROLES];
	int64_t matches;
	struct adv_rows *rows;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct node *x = a;
	const struct node *y = b;
	int order = strcmp(x->graph, y->graph);

	return order != 0 ? order : strcmp(x->id, y->id);
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a;
	const struct edge *y = b;

	return x->src != y->src ? np_order(x->src, y->src) : np_order(x->dst, y->dst);
}

/* Column `column` as text in the arena. */
static const char *text_of(struct graph_tables *graphs, struct adv_sql_stmt *stmt, size_t column)
{
	struct np_cell cell = adv_sql_cell(stmt, column);
	struct np_buf text = NP_BUF_INIT;
	const char *copy;

	adv_cell_format(&text, &cell);
	copy = text.failed ? NULL : np_arena_text(graphs->arena, text.text, text.length);
	np_buf_release(&text);
	return copy;
}

static int load_nodes(struct graph_tables *graphs, struct np_err *err)
{
	NP_CLEANUP(adv_sql_finishp) struct adv_sql_stmt *stmt = NULL;
	int rc = adv_sql_prepare(graphs->sql, "SELECT graph, id, op_type FROM v_graph_node", false,
				 &stmt, err);

	while (rc == NP_OK && (rc = adv_sql_step(stmt, err)) > 0) {
		struct node *node = np_vec_add(&graphs->nodes, err);

		if (!node)
			return NP_E_NOMEM;
		node->graph = text_of(graphs, stmt, 0);
		node->id = text_of(graphs, stmt, 1);
		node->type = text_of(graphs, stmt, 2);
		rc = node->graph && node->id && node->type ? NP_OK : np_fail_nomem(err, "a graph");
	}
	if (rc == NP_OK && graphs->nodes.count > 0)
		qsort(graphs->nodes.item, graphs->nodes.count, sizeof(struct node), compare_nodes);
	return rc;
}

static uint32_t find_node(const struct graph_tables *graphs, const char *graph, const char *id)
{
	const struct node wanted = { .graph = graph, .id = id };
	const struct node *found = NULL;

	if (graphs->nodes.count > 0)
		found = bsearch(&wanted, graphs->nodes.item, graphs->nodes.count, sizeof(wanted),
				compare_nodes);
	return found ? (uint32_t)(found - graphs->nodes.item) : UINT32_MAX;
}

static int load_edges(struct graph_tables *graphs, struct np_err *err)
{
	NP_CLEANUP(adv_sql_finishp) struct adv_sql_stmt *stmt = NULL;
	int rc = adv_sql_prepare(graphs->sql, "SELECT graph, src, dst FROM v_graph_edge", false,
				 &stmt, err);

	while (rc == NP_OK && (rc = adv_sql_step(stmt, err)) > 0) {
		const char *graph = text_of(graphs, stmt, 0);
		const char *src = text_of(graphs, stmt, 1);
		const char *dst = text_of(graphs, stmt, 2);
		struct edge edge;
		struct edge *slot;

		if (!graph || !src || !dst)
			return np_fail_nomem(err, "a graph");
		rc = NP_OK;
		edge.src = find_node(graphs, graph, src);
		edge.dst = find_node(graphs, graph, dst);
		if (edge.src == UINT32_MAX || edge.dst == UINT32_MAX)
			continue;
		slot = np_vec_add(&graphs->edges, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = edge;
	}
	if (rc == NP_OK && graphs->edges.count > 0)
		qsort(graphs->edges.item, graphs->edges.count, sizeof(struct edge), compare_edges);
	for (size_t i = 0; rc == NP_OK && i < graphs->edges.count; i++) {
		struct node *node = &graphs->nodes.item[graphs->edges.item[i].src];

		if (node->out_count++ == 0)
			node->first_out = (uint32_t)i;
	}
	return rc;
}

static bool has_edge(const struct graph_tables *graphs, uint32_t src, uint32_t dst)
{
	const struct edge wanted = { src, dst };
	const struct node *node = &graphs->nodes.item[src];

	return node->out_count > 0 && bsearch(&wanted, &graphs->edges.item[node->first_out],
					      node->out_count, sizeof(wanted), compare_edges);
}

/* Is the type one of "A|B|C"? */
static bool type_fits(const char *types, const char *type)
{
	size_t length = strlen(type);

	while (*types) {
		size_t one = strcspn(types, "|");

		if (one == length && strncasecmp(types, type, one) == 0)
			return true;
		types += one;
		types += *types == '|';
	}
	return false;
}

static bool fits(const struct graph_tables *graphs, size_t role, uint32_t node)
{
	const struct node *first = &graphs->nodes.item[graphs->chosen[0]];
	const struct node *this = &graphs->nodes.item[node];

	if (!type_fits(graphs->role[role].types, this->type) ||
	    (role > 0 && strcmp(first->graph, this->graph) != 0))
		return false;
	for (size_t i = 0; i < role; i++) {
		uint32_t other = graphs->chosen[i];

		if (other == node || has_edge(graphs, other, node) != graphs->wanted[i][role] ||
		    has_edge(graphs, node, other) != graphs->wanted[role][i])
			return false;
	}
	return true;
}

static int give(struct graph_tables *graphs, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < graphs->role_count && rc == NP_OK; i++) {
		const struct node *node = &graphs->nodes.item[graphs->chosen[i]];

		rc = adv_rows_add(graphs->rows,
				  (struct np_cell[]){ np_cell_integer(graphs->matches),
						      np_cell_text(node->graph),
						      np_cell_text(graphs->role[i].name),
						      np_cell_text(node->id) },
				  err);
	}
	graphs->matches++;
	if (rc == NP_OK && graphs->sql->limits.rows > 0 &&
	    graphs->matches > graphs->sql->limits.rows)
		rc = np_fail(err, NP_E_RANGE, "too many matches");
	return rc;
}

static int extend(struct graph_tables *graphs, size_t role, struct np_err *err);

static int try_node(struct graph_tables *graphs, size_t role, uint32_t node, struct np_err *err)
{
	if (!fits(graphs, role, node))
		return NP_OK;
	graphs->chosen[role] = node;
	return extend(graphs, role + 1, err);
}

/* An earlier role with an edge to `role`: its targets are the only candidates. */
static size_t source_of(const struct graph_tables *graphs, size_t role)
{
	for (size_t i = 0; i < role; i++) {
		if (graphs->wanted[i][role])
			return i;
	}
	return SIZE_MAX;
}

static int extend(struct graph_tables *graphs, size_t role, struct np_err *err)
{
	size_t source;
	int rc = NP_OK;

	if (role == graphs->role_count)
		return give(graphs, err);
	if (adv_sql_late(graphs->sql))
		return np_fail(err, NP_E_RANGE, "out of time");
	source = source_of(graphs, role);
	if (source != SIZE_MAX) {
		const struct node *from = &graphs->nodes.item[graphs->chosen[source]];

		for (uint32_t i = 0; i < from->out_count && rc == NP_OK; i++)
			rc = try_node(graphs, role, graphs->edges.item[from->first_out + i].dst,
				      err);
		return rc;
	}
	for (size_t i = 0; i < graphs->nodes.count && rc == NP_OK; i++)
		rc = try_node(graphs, role, (uint32_t)i, err);
	return rc;
}

static size_t role_index(const struct graph_tables *graphs, const char *name)
{
	for (size_t i = 0; name && i < graphs->role_count; i++) {
		if (strcmp(graphs->role[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

static int read_pattern(struct graph_tables *graphs, const struct np_json *doc, struct np_err *err)
{
	const struct np_json *edges = np_json_member(doc, "edges");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	const struct np_json *nodes = np_json_member(doc, "nodes");

	if (np_json_count(nodes) < 1 || np_json_count(nodes) > MAX_ROLES)
		return np_fail(err, NP_E_FORMAT, "a pattern has 1 to %d nodes", MAX_ROLES);
	while (np_json_next(nodes, &entry)) {
		struct role *role = &graphs->role[graphs->role_count++];

		role->name = entry.key;
		role->types = np_json_text(entry.value);
		if (!role->types)
			return np_fail(err, NP_E_FORMAT, "node '%s' has no type", entry.key);
	}
	for (size_t i = 0; i < np_json_count(edges); i++) {
		const struct np_json *edge = np_json_item(edges, i);
		size_t src = role_index(graphs, np_json_text(np_json_item(edge, 0)));
		size_t dst = role_index(graphs, np_json_text(np_json_item(edge, 1)));

		if (src == SIZE_MAX || dst == SIZE_MAX)
			return np_fail(err, NP_E_FORMAT, "edge %zu is not between two nodes", i);
		graphs->wanted[src][dst] = true;
	}
	return NP_OK;
}

static int compute(struct adv_sql *sql, sqlite3_value **arguments, struct adv_rows *rows,
		   struct np_err *err)
{
	struct graph_tables graphs = { .sql = sql, .rows = rows, .arena = np_arena_new() };
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *text = NULL;
	int rc = graphs.arena ? adv_sql_text_argument(arguments[0], "pattern", &text, err)
			      : np_fail_nomem(err, "a graph");

	if (rc == NP_OK)
		rc = np_json_parse(text, strlen(text), "pattern", &doc, err);
	if (rc == NP_OK)
		rc = read_pattern(&graphs, doc, err);
	if (rc == NP_OK)
		rc = load_nodes(&graphs, err);
	if (rc == NP_OK)
		rc = load_edges(&graphs, err);
	if (rc == NP_OK)
		rc = extend(&graphs, 0, err);
	np_vec_release(&graphs.nodes);
	np_vec_release(&graphs.edges);
	np_arena_free(graphs.arena);
	return rc;
}

int adv_sql_add_graphs(struct adv_sql *sql)
{
	static const char *const names[] = { "match", "graph", "role", "node" };
	static const struct adv_sql_table table = {
		.name = "graph_match",
		.declaration = "CREATE TABLE x(\"match\", graph, role, node, pattern HIDDEN)",
		.result_columns = NP_COUNT(names),
		.arguments = 1,
		.needed = 1,
		.compute = compute,
		.result_names = names,
	};

	return adv_sql_add_table(sql, &table);
}
