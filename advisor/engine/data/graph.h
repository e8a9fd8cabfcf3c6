/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_GRAPH_H
#define NP_ADVISOR_GRAPH_H

#include "values.h"

/*
 * Dumps of graphs
 * ===============
 *
 * The graph engine of CANN writes its graphs as protobuf text (DUMP_GE_GRAPH):
 *
 *	graph { name: "g" op { name: "a" type: "MatMul" input: "x:0" input: "b:-1" … } … }
 *
 * Of it the operators, their types and their inputs are read, as rows of
 * v_graph_node and v_graph_edge. Inputs "name:-1" only order and are edges too.
 */
struct adv_graphs {
	struct adv_rows nodes;
	struct adv_rows edges;
};

void adv_graphs_release(struct adv_graphs *graphs);

/* Add the graph of a file; its name is that of the file. */
int adv_graph_read(struct adv_graphs *graphs, const char *path, struct np_err *err) NP_MUST_USE;

/* The same of text that is in memory. */
int adv_graph_parse(struct adv_graphs *graphs, const char *name, const char *text, size_t length,
		    struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_GRAPH_H */
