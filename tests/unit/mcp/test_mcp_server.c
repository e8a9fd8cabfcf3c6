/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of the server for agents: what is answered, in which revision, and what is not. */
#include "mcp/protocol/mcp_server.h"

#include "np_test.h"

/* A server with one tool, and what it has sent since the last look. */
struct talk {
	struct mcp_server *server;
	FILE *stream;
	char *sent;
	size_t size;
	int runs;
};

static int echo(struct mcp_call *call, struct np_buf *ret, struct np_err *err)
{
	struct talk *talk = call->context;
	const char *word = np_json_text(np_json_member(call->arguments, "word"));

	talk->runs++;
	/* As if the other thread had heard it while this one is at work. */
	if (word && strcmp(word, "cancel") == 0) {
		static const char line[] =
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			"\"params\":{\"requestId\":1,\"reason\":\"too slow\"}}";

		assert_false(mcp_call_cancelled(call));
		assert_null(mcp_server_hear(talk->server, line, strlen(line)));
		assert_true(mcp_call_cancelled(call));
	}
	mcp_call_progress(call, "half", 1, 2);
	mcp_call_progress(call, "half again", 1, 2);
	mcp_call_progress(call, "all", 2, 2);
	if (word && strcmp(word, "fail") == 0)
		return np_fail(err, NP_E_USAGE, "no such \"word\"");
	np_buf_printf(ret, "{\"word\":\"%s\"}", word ? word : "");
	return NP_OK;
}

static const struct mcp_tool tools[] = {
	{ "echo", "Echo", "Says it again",
	  "{\"type\":\"object\",\"properties\":{\"word\":{\"type\":\"string\"},\"many\":{\"type\":"
	  "\"array\",\"items\":{\"type\":\"string\"}},\"kind\":{\"type\":\"string\",\"enum\":[\"a\","
	  "\"b\"]},\"size\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9}},\"required\":"
	  "[\"word\"]}",
	  echo },
};

static const struct mcp_resource resources[] = {
	{ "test://one", "one", "One", "The first", "text/plain", "line 1\nline 2" },
};

static int setup(void **state)
{
	static struct mcp_catalog catalog;
	struct talk *talk = calloc(1, sizeof(*talk));

	assert_non_null(talk);
	catalog = (struct mcp_catalog){ .name = "test",
					.version = "1",
					.instructions = "ask",
					.tools = tools,
					.tool_count = 1,
					.resources = resources,
					.resource_count = 1,
					.context = talk };
	talk->stream = open_memstream(&talk->sent, &talk->size);
	assert_non_null(talk->stream);
	talk->server = mcp_server_new(&catalog, talk->stream);
	assert_non_null(talk->server);
	*state = talk;
	return 0;
}

static int teardown(void **state)
{
	struct talk *talk = *state;

	mcp_server_free(talk->server);
	(void)fclose(talk->stream);
	free(talk->sent);
	free(talk);
	return 0;
}

/* What one line is answered with, which stays until the next; "" for nothing. */
static const char *say(struct talk *talk, const char *line)
{
	struct mcp_message *message;

	rewind(talk->stream);
	(void)fflush(talk->stream);
	talk->sent[0] = '\0';
	message = mcp_server_hear(talk->server, line, strlen(line));
	if (message)
		mcp_server_answer(talk->server, message);
	(void)fputc('\0', talk->stream);
	(void)fflush(talk->stream);
	return talk->sent;
}

#define META \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN(method, more) \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" META more "}}"
#define LEGACY(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"" method "\",\"params\":{" params "}}"
#define INITIALIZE \
	LEGACY("initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}," \
			     "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}")

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("'%s' is not in: %s\n", part, text);
	assert_non_null(strstr(text, part));
}

static void a_request_that_says_what_it_is_needs_no_other_before_it(void **state)
{
	const char *sent = say(*state, MODERN("tools/call", ",\"name\":\"echo\",\"arguments\":"
							    "{\"word\":\"hi\"}"));

	assert_string_equal(sent,
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\","
			    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\","
			    "\"version\":\"1\"}},\"content\":[{\"type\":\"text\",\"text\":"
			    "\"{\\\"word\\\":\\\"hi\\\"}\"}],\"isError\":false}}\n");
}

static void discover_names_both_revisions(void **state)
{
	const char *sent = say(*state, MODERN("server/discover", ""));

	assert_has(
		sent,
		"\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2024-11-05\"]");
	assert_has(sent, "\"capabilities\":{\"tools\":{},\"resources\":{}}");
	assert_has(sent, "\"ttlMs\":3600000,\"cacheScope\":\"private\"");
}

static void the_older_revision_begins_with_initialize_and_has_no_newer_fields(void **state)
{
	const char *sent = say(*state, INITIALIZE);

	assert_has(sent, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"protocolVersion\":"
			 "\"2025-11-25\",\"capabilities\"");
	assert_has(sent, "\"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}");
	assert_string_equal(
		say(*state, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), "");
	sent = say(*state, LEGACY("tools/list", ""));
	assert_has(sent, "\"result\":{\"tools\":[{\"name\":\"echo\"");
	assert_null(strstr(sent, "resultType"));
	assert_null(strstr(sent, "ttlMs"));
	assert_string_equal(say(*state, LEGACY("ping", "")),
			    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n");
}

static void revisions_before_it_are_spoken_when_they_are_asked_for(void **state)
{
	static const char *const asked[][2] = { { "2025-06-18", "2025-06-18" },
						{ "2024-11-05", "2024-11-05" },
						{ "2025-03-26", "2025-11-25" },
						{ "1999-01-01", "2025-11-25" } };

	for (size_t i = 0; i < NP_COUNT(asked); i++) {
		char line[300];
		char version[60];

		(void)snprintf(line, sizeof(line),
			       LEGACY("initialize", "\"protocolVersion\":\"%s\",\"capabilities\":{}"
						    ",\"clientInfo\":{\"name\":\"t\","
						    "\"version\":\"1\"}"),
			       asked[i][0]);
		(void)snprintf(version, sizeof(version), "\"protocolVersion\":\"%s\"", asked[i][1]);
		assert_has(say(*state, line), version);
	}
}

static void null_is_what_was_not_given(void **state)
{
	(void)say(*state, INITIALIZE);
	assert_has(say(*state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
			       "\"params\":null}"),
		   "\"tools\":[");
	assert_has(say(*state, LEGACY("tools/list", "\"cursor\":null")), "\"tools\":[");
	assert_has(say(*state, LEGACY("tools/call", "\"name\":\"echo\",\"arguments\":"
						    "{\"word\":null}")),
		   "argument 'word' is missing");
	assert_has(say(*state, LEGACY("tools/call", "\"name\":\"echo\",\"arguments\":null")),
		   "argument 'word' is missing");
}

static void a_ping_is_answered_before_what_waits(void **state)
{
	struct talk *talk = *state;
	const char line[] = LEGACY("tools/list", "");
	struct mcp_message *waits;

	(void)say(talk, INITIALIZE);
	waits = mcp_server_hear(talk->server, line, strlen(line));
	assert_non_null(waits);
	assert_string_equal(say(talk, LEGACY("ping", "")),
			    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n");
	mcp_server_answer(talk->server, waits);
}

static void both_revisions_are_spoken_side_by_side(void **state)
{
	(void)say(*state, INITIALIZE);
	assert_has(say(*state, MODERN("tools/list", "")), "\"resultType\":\"complete\"");
	assert_null(strstr(say(*state, LEGACY("tools/list", "")), "resultType"));
	/* A method of the other one is none. */
	assert_has(say(*state, MODERN("ping", "")), "\"code\":-32601");
	assert_has(say(*state, LEGACY("server/discover", "")), "\"code\":-32601");
}

static void what_is_of_neither_revision_is_refused_with_both_named(void **state)
{
	const char *sent = say(*state, LEGACY("tools/list", ""));

	assert_has(sent, "\"code\":-32602");
	assert_has(sent,
		   "\"supported\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2024-11-05\"]");
}

static void a_version_that_is_not_spoken_is_told_with_those_that_are(void **state)
{
	const char *sent =
		say(*state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
			    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\","
			    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");

	assert_has(sent, "\"code\":-32022");
	assert_has(
		sent,
		"\"data\":{\"supported\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2024-11-05\"],\"requested\":"
		"\"1900-01-01\"}");
}

static void fields_that_a_request_needs_are_asked_for(void **state)
{
	assert_has(say(*state,
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
		       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
		       "\"2026-07-28\"}}}"),
		   "\"code\":-32602");
	assert_has(say(*state,
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
		       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7,"
		       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"),
		   "\"code\":-32602");
	assert_has(say(*state, LEGACY("initialize", "")), "\"code\":-32602");
}

static void malformed_messages_are_answered_as_the_protocol_says(void **state)
{
	static const struct {
		const char *line;
		const char *answer;
	} cases[] = {
		{ "{", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700" },
		{ "\x80", "\"code\":-32700" },
		{ "[]", "\"code\":-32600" },
		{ "7", "\"code\":-32600" },
		{ "{\"id\":1,\"method\":\"ping\"}", "\"id\":1,\"error\":{\"code\":-32600" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "\"code\":-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "\"code\":-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "\"code\":-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "\"code\":-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", "\"code\":-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", "\"code\":-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
		  "\"code\":-32602" },
		{ MODERN("tools/call", ",\"name\":\"none\""), "\"code\":-32602" },
		{ MODERN("tools/call", ",\"name\":7"), "\"code\":-32602" },
		{ MODERN("tools/call", ",\"name\":\"echo\",\"arguments\":[]"), "\"code\":-32602" },
		{ MODERN("tools/list", ",\"cursor\":\"x\""), "\"code\":-32602" },
		{ MODERN("resources/read", ""), "\"code\":-32602" },
		{ MODERN("resources/read", ",\"uri\":\"file:///etc/passwd\""), "\"code\":-32602" },
		{ MODERN("no/such", ""), "\"code\":-32601" },
	};
	/* Neither an answer to nobody's question nor a notification is answered. */
	static const char *const silent[] = { "", " \r",
					      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
					      "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}" };

	for (size_t i = 0; i < NP_COUNT(cases); i++)
		assert_has(say(*state, cases[i].line), cases[i].answer);
	for (size_t i = 0; i < NP_COUNT(silent); i++)
		assert_string_equal(say(*state, silent[i]), "");
	assert_int_equal(((struct talk *)*state)->runs, 0);
}

static void nesting_without_end_is_no_json(void **state)
{
	struct np_buf line = NP_BUF_INIT;

	np_buf_add_repeated(&line, '[', 500000);
	assert_has(say(*state, line.text), "\"code\":-32700");
	np_buf_release(&line);
}

static void arguments_are_held_against_the_schema_and_the_model_is_told(void **state)
{
	static const struct {
		const char *arguments;
		const char *answer;
	} cases[] = {
		{ "{}", "argument 'word' is missing" },
		{ "{\"word\":7}", "argument 'word' has to be of type string" },
		{ "{\"word\":\"a\",\"other\":1}", "there is no argument 'other'" },
		{ "{\"word\":\"a\",\"many\":[1]}", "argument 'many' is a list of texts" },
		{ "{\"word\":\"a\",\"kind\":\"c\"}", "argument 'kind' is none of those" },
		{ "{\"word\":\"a\",\"size\":10}", "argument 'size' is out of range" },
		{ "{\"word\":\"a\",\"size\":\"1\"}", "argument 'size' has to be of type integer" },
		{ "{\"word\":\"fail\"}", "no such \\\"word\\\"" },
	};

	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		char line[600];
		const char *sent;

		(void)snprintf(line, sizeof(line),
			       MODERN("tools/call", ",\"name\":\"echo\",\"arguments\":%s"),
			       cases[i].arguments);
		sent = say(*state, line);
		assert_has(sent, cases[i].answer);
		assert_has(sent, "\"isError\":true");
	}
	assert_int_equal(((struct talk *)*state)->runs, 1);
}

static void a_resource_that_is_not_there_has_the_code_of_the_revision(void **state)
{
	assert_has(say(*state, MODERN("resources/read", ",\"uri\":\"test://one\"")),
		   "\"contents\":[{\"uri\":\"test://one\",\"mimeType\":\"text/plain\",\"text\":"
		   "\"line 1\\u000aline 2\"}]");
	(void)say(*state, INITIALIZE);
	assert_has(say(*state, LEGACY("resources/read", "\"uri\":\"test://two\"")),
		   "\"code\":-32002");
	assert_has(say(*state, LEGACY("resources/templates/list", "")), "\"resourceTemplates\":[]");
}

static void progress_is_told_to_who_asks_and_only_grows(void **state)
{
	const char *sent =
		say(*state,
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
		    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		    "\"io.modelcontextprotocol/clientCapabilities\":{},\"progressToken\":\"p\"},"
		    "\"name\":\"echo\",\"arguments\":{\"word\":\"hi\"}}}");

	assert_has(sent,
		   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
		   "\"progressToken\":\"p\",\"progress\":1,\"total\":2,\"message\":\"half\"}}\n");
	assert_null(strstr(sent, "half again"));
	assert_has(sent, "\"progress\":2");
}

static void a_request_that_was_taken_back_is_not_answered(void **state)
{
	static const char request[] =
		MODERN("tools/call", ",\"name\":\"echo\",\"arguments\":{\"word\":\"hi\"}");
	static const char cancelled[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		"\"params\":{\"requestId\":1}}";
	struct talk *talk = *state;
	struct mcp_message *message = mcp_server_hear(talk->server, request, strlen(request));

	assert_non_null(message);
	/* Another one, and one of another type, do not matter. */
	assert_string_equal(say(talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				      "\"params\":{\"requestId\":\"1\"}}"),
			    "");
	assert_string_equal(say(talk, cancelled), "");
	mcp_server_answer(talk->server, message);
	(void)fflush(talk->stream);
	assert_int_equal(talk->runs, 0);
	/* What comes later under the same number is answered. */
	assert_has(say(talk, request), "\"isError\":false");
}

static void a_request_that_is_taken_back_while_a_tool_runs_is_never_answered(void **state)
{
	struct talk *talk = *state;

	assert_string_equal(
		say(talk,
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
		    "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		    "\"io.modelcontextprotocol/clientCapabilities\":{},\"progressToken\":\"p\"},"
		    "\"name\":\"echo\",\"arguments\":{\"word\":\"cancel\"}}}"),
		"");
	assert_int_equal(talk->runs, 1);
	/* What was answered, and what never was asked, cannot be taken back: no word about it. */
	assert_string_equal(say(talk, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				      "\"params\":{\"requestId\":1}}"),
			    "");
	assert_has(say(talk,
		       MODERN("tools/call", ",\"name\":\"echo\",\"arguments\":{\"word\":\"hi\"}")),
		   "\"isError\":false");
}

static void what_is_listened_to_begins_at_once_and_ends_with_the_client(void **state)
{
	struct talk *talk = *state;
	const char *sent = say(talk, MODERN("subscriptions/listen", ",\"notifications\":{}"));

	assert_string_equal(
		sent,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
		"\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1},"
		"\"notifications\":{}}}\n");
	rewind(talk->stream);
	mcp_server_end(talk->server);
	(void)fputc('\0', talk->stream);
	(void)fflush(talk->stream);
	assert_string_equal(talk->sent,
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\","
			    "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1}}}\n");
}

#define in_talk(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_talk(a_request_that_says_what_it_is_needs_no_other_before_it),
		in_talk(discover_names_both_revisions),
		in_talk(the_older_revision_begins_with_initialize_and_has_no_newer_fields),
		in_talk(revisions_before_it_are_spoken_when_they_are_asked_for),
		in_talk(null_is_what_was_not_given),
		in_talk(a_ping_is_answered_before_what_waits),
		in_talk(both_revisions_are_spoken_side_by_side),
		in_talk(what_is_of_neither_revision_is_refused_with_both_named),
		in_talk(a_version_that_is_not_spoken_is_told_with_those_that_are),
		in_talk(fields_that_a_request_needs_are_asked_for),
		in_talk(malformed_messages_are_answered_as_the_protocol_says),
		in_talk(nesting_without_end_is_no_json),
		in_talk(arguments_are_held_against_the_schema_and_the_model_is_told),
		in_talk(a_resource_that_is_not_there_has_the_code_of_the_revision),
		in_talk(progress_is_told_to_who_asks_and_only_grows),
		in_talk(a_request_that_was_taken_back_is_not_answered),
		in_talk(a_request_that_is_taken_back_while_a_tool_runs_is_never_answered),
		in_talk(what_is_listened_to_begins_at_once_and_ends_with_the_client),
	};

	return cmocka_run_group_tests_name("mcp_server", tests, NULL, NULL);
}
