/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MCP_ANSWER_H
#define NP_MCP_ANSWER_H

/*
 * Answers of a bounded size
 * =========================
 *
 * The JSON that a tool gives: members, and one list of which as many elements stand in it as
 * have room; how many there are and where to go on stand behind them. Room is counted as the
 * answer travels, as a text within JSON.
 *
 *	mcp_answer_init(&answer, buf, most, first);
 *	mcp_answer_text(&answer, "units", "ns");
 *	mcp_answer_list(&answer, "rows");
 *	mcp_answer_item(&answer, "{...}", length);
 *	rc = mcp_answer_end(&answer, err);
 */

#include "npuprof/buf.h"
#include "npuprof/err.h"
#include "npuprof/json.h"
#include "npuprof/jsonout.h"

/* What an answer may take by default, at least and at most, in bytes. */
#define MCP_ANSWER_MOST    8000
#define MCP_ANSWER_LEAST   2000
#define MCP_ANSWER_LIMIT   200000
#define MCP_ANSWER_WRAPPER 400 /* of them for what stands around it in the message */

struct mcp_answer {
	struct np_buf *buf;
	size_t most;
	size_t used;  /* as a text within JSON */
	size_t first; /* element of the list to begin with */
	size_t seen;
	size_t shown;
	bool listing;
	bool full;
};

void mcp_answer_init(struct mcp_answer *answer, struct np_buf *buf, size_t most, size_t first);

/*
 * Members, in front of the list; NULL is null. Raw is JSON; one that has no room is replaced by its
 * size. What stands beside the list takes no more than half of the room that is left.
 */
void mcp_answer_raw(struct mcp_answer *answer, const char *key, const char *json);
void mcp_answer_beside(struct mcp_answer *answer, const char *key, const char *json);
void mcp_answer_text(struct mcp_answer *answer, const char *key, const char *text);
void mcp_answer_integer(struct mcp_answer *answer, const char *key, int64_t value);

/* The list, and its elements, of which those before `first` and those without room are counted. */
void mcp_answer_list(struct mcp_answer *answer, const char *key);
void mcp_answer_item(struct mcp_answer *answer, const char *json, size_t length);

/* Will another element be shown? What is only counted need not be made. */
bool mcp_answer_wants(const struct mcp_answer *answer);

/* NP_E_USAGE where `first` lies behind the list. */
int mcp_answer_end(struct mcp_answer *answer, struct np_err *err) NP_MUST_USE;

/*
 * A node of a document as it was read, on one line. Arrays longer than `most` are cut there, and
 * the member "<key>_total" says how many there are; 0: none is.
 */
void mcp_put_node(struct np_jsonout *out, const char *key, const struct np_json *node, size_t most);

#endif /* NP_MCP_ANSWER_H */
