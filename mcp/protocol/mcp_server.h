/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MCP_SERVER_H
#define NP_MCP_SERVER_H

/*
 * The Model Context Protocol, the server's side
 * =============================================
 *
 * Messages of JSON-RPC 2.0, one per line, in two revisions side by side: 2026-07-28, in which
 * every request says in its _meta what it is, and 2025-11-25, which begins with `initialize`.
 * Which one a request is of is seen from the request: one with a version in its _meta is of the
 * first, others are of the second once that has begun.
 *
 * One thread hears what comes, in order, and takes note of cancellations at once; another one
 * answers. What is wrong with a message is answered as the protocol says and never ends the
 * server.
 *
 *	hearing:	message = mcp_server_hear(server, line, length);
 *	answering:	mcp_server_answer(server, message);
 */

#include "npuprof/buf.h"
#include "npuprof/err.h"
#include "npuprof/json.h"

#include <stdio.h>

struct mcp_server;
struct mcp_message;

/* A call of a tool in hand. */
struct mcp_call {
	struct mcp_server *server;
	const struct mcp_message *message;
	const struct np_json *arguments; /* an object, or NULL */
	void *context;                   /* mcp_catalog.context */
	int64_t shown;                   /* the last progress that was sent, or -1 */
};

/*
 * Does what a tool is for: the answer, which is JSON of one line, goes to `ret`. A failure is told
 * to the model, which may ask again in another way: its text says what to do.
 */
typedef int mcp_tool_run(struct mcp_call *call, struct np_buf *ret, struct np_err *err);

struct mcp_tool {
	const char *name;
	const char *title;
	const char *description;
	const char *schema; /* of its arguments: JSON of one line, an object */
	mcp_tool_run *run;
};

/* A text that can be read by its address. */
struct mcp_resource {
	const char *uri;
	const char *name;
	const char *title;
	const char *description;
	const char *type; /* MIME */
	const char *text;
};

/* What the server offers; it outlives the server. */
struct mcp_catalog {
	const char *name;
	const char *version;
	const char *instructions;
	const struct mcp_tool *tools;
	size_t tool_count;
	const struct mcp_resource *resources;
	size_t resource_count;
	void *context;
};

/* Lines that are longer are refused. */
#define MCP_LINE_MOST ((size_t)1 << 20)

/* Answers go to `stream`. NULL without memory. */
struct mcp_server *mcp_server_new(const struct mcp_catalog *catalog, FILE *stream) NP_MUST_USE;
void mcp_server_free(struct mcp_server *server);

/*
 * Take a line, without its end. NULL for what needs no answer: a notification, a blank line. What
 * is not NULL has to be answered, in this order, which frees it.
 */
struct mcp_message *mcp_server_hear(struct mcp_server *server, const char *line, size_t length)
	NP_MUST_USE;

/* The same for a line that is longer than may be: what is wrong with it is all that is known. */
struct mcp_message *mcp_server_hear_long(struct mcp_server *server) NP_MUST_USE;

void mcp_server_answer(struct mcp_server *server, struct mcp_message *message);

/* The client has gone: what it listens to ends. */
void mcp_server_end(struct mcp_server *server);

/* Has the client taken the call back? Nothing is sent for it any more. */
bool mcp_call_cancelled(const struct mcp_call *call);

/* How far it is, where the client asked for it; `done` that is not more than before is not sent. */
void mcp_call_progress(struct mcp_call *call, const char *what, int64_t done, int64_t total);

#endif /* NP_MCP_SERVER_H */
