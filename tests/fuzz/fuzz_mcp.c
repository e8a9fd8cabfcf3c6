/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a client of the server for agents sends: lines are answered with at most one line each.
 */
#include "mcp/protocol/mcp_answer.h"
#include "mcp/protocol/mcp_server.h"

#include <stdint.h>

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int echo(struct mcp_call *call, struct np_buf *ret, struct np_err *err)
{
	struct np_jsonout out;

	(void)err;
	mcp_call_progress(call, "once", 1, 2);
	np_jsonout_init(&out, NULL);
	mcp_put_node(&out, NULL, call->arguments, 3);
	np_buf_add(ret, out.buf.text);
	np_jsonout_release(&out);
	return NP_OK;
}

static const struct mcp_tool tools[] = {
	{ "echo", "Echo", "Says it again",
	  "{\"type\":\"object\",\"properties\":{\"word\":{\"type\":\"string\"},\"many\":{\"type\":"
	  "\"array\",\"items\":{\"type\":\"string\"}},\"size\":{\"type\":\"integer\",\"minimum\":1}}}",
	  echo },
};

/* Every line that is sent is JSON. */
static void check_sent(const char *sent, size_t size)
{
	while (size > 0) {
		const char *end = memchr(sent, '\n', size);
		struct np_json *doc = NULL;
		size_t length;

		if (!end)
			abort();
		length = (size_t)(end - sent);
		if (np_json_parse(sent, length, "what was sent", &doc, NULL) < 0)
			abort();
		np_json_free(doc);
		sent += length + 1;
		size -= length + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mcp_resource resources[] = { { "test://one", "one", "One", "The first",
							   "text/plain", "text" } };
	const struct mcp_catalog catalog = { .name = "test",
					     .version = "1",
					     .instructions = "ask",
					     .tools = tools,
					     .tool_count = 1,
					     .resources = resources,
					     .resource_count = 1 };
	char *sent = NULL;
	size_t sent_size = 0;
	FILE *stream = open_memstream(&sent, &sent_size);
	struct mcp_server *server = stream ? mcp_server_new(&catalog, stream) : NULL;
	const char *at = (const char *)data;

	while (server && size > 0) {
		const char *end = memchr(at, '\n', size);
		size_t length = end ? (size_t)(end - at) : size;
		struct mcp_message *message = mcp_server_hear(server, at, length);

		if (message)
			mcp_server_answer(server, message);
		length += end != NULL;
		at += length;
		size -= length;
	}
	if (server)
		mcp_server_end(server);
	mcp_server_free(server);
	if (stream)
		(void)fclose(stream);
	check_sent(sent, sent ? sent_size : 0);
	free(sent);
	return 0;
}
