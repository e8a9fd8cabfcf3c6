/* SPDX-License-Identifier: Apache-2.0 */
/* Reads requests of the Model Context Protocol, answers them, and keeps to either revision. */
#include "mcp_server.h"

#include "npuprof/jsonout.h"
#include "npuprof/lang.h"
#include "npuprof/relation.h"
#include "npuprof/vec.h"

#include <inttypes.h>
#include <pthread.h>

#define MODERN "2026-07-28"
#define LEGACY "2025-11-25"

/* Revisions before it that differ in nothing that is offered here; 2025-03-26 has batches. */
#define OLDER  "2025-06-18"
#define OLDEST "2024-11-05"

/* All, for who asks, as JSON. */
#define VERSIONS "[\"" MODERN "\",\"" LEGACY "\",\"" OLDER "\",\"" OLDEST "\"]"

/* Keys of _meta. */
#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

enum {
	RPC_PARSE = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_UNSUPPORTED_VERSION = -32022,
	RPC_NO_RESOURCE = -32002, /* of the older revision only */
};

/* How long a client may keep a list that never changes while the server runs. */
#define LIST_KEPT_MS 3600000

struct mcp_message {
	struct np_json *doc; /* NULL: it could not be read */
	const char *method;  /* NULL: it is no request */
	const struct np_json *params;
	char *id;        /* as JSON; NULL: there is none that can be told */
	bool modern;     /* its _meta names a version */
	bool cancelled;  /* guarded by the server's lock */
	int problem;     /* of the message itself; 0: none */
	const char *why; /* the words of it */
	struct mcp_message *next;
};

struct mcp_server {
	const struct mcp_catalog *catalog;
	FILE *stream;
	pthread_mutex_t lock; /* of what is below, and of the stream */
	struct mcp_message *pending;
	bool initialized;
	NP_VEC(char *) listeners; /* ids of subscriptions, as JSON */
};

struct mcp_server *mcp_server_new(const struct mcp_catalog *catalog, FILE *stream)
{
	struct mcp_server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	server->catalog = catalog;
	server->stream = stream;
	(void)pthread_mutex_init(&server->lock, NULL);
	return server;
}

static void free_message(struct mcp_message *message)
{
	if (!message)
		return;
	np_json_free(message->doc);
	free(message->id);
	free(message);
}

void mcp_server_free(struct mcp_server *server)
{
	if (!server)
		return;
	while (server->pending) {
		struct mcp_message *next = server->pending->next;

		free_message(server->pending);
		server->pending = next;
	}
	for (size_t i = 0; i < server->listeners.count; i++)
		free(server->listeners.item[i]);
	np_vec_release(&server->listeners);
	(void)pthread_mutex_destroy(&server->lock);
	free(server);
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_text(struct np_buf *buf, const char *text)
{
	np_jsonout_quote(buf, text, strlen(text));
}

static void put_member(struct np_buf *buf, const char *key, const char *text)
{
	np_buf_printf(buf, "\"%s\":", key);
	put_text(buf, text);
}

/* One line; nothing of what a client took back. */
static void send_line(struct mcp_server *server, const struct np_buf *line,
		      const struct mcp_message *message)
{
	static const char no_memory[] =
		"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}\n";

	(void)pthread_mutex_lock(&server->lock);
	if (!message || !message->cancelled) {
		if (line->failed)
			(void)fputs(no_memory, server->stream);
		else
			(void)fprintf(server->stream, "%s\n", line->text);
		(void)fflush(server->stream);
	}
	(void)pthread_mutex_unlock(&server->lock);
}

static void begin_response(struct np_buf *line, const struct mcp_message *message)
{
	np_buf_add(line, "{\"jsonrpc\":\"2.0\",");
	if (message->id)
		np_buf_printf(line, "\"id\":%s,", message->id);
}

/* `data` is JSON, or NULL. */
static void send_error(struct mcp_server *server, const struct mcp_message *message, int code,
		       const char *text, const char *data)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	begin_response(&line, message);
	np_buf_printf(&line, "\"error\":{\"code\":%d,", code);
	put_member(&line, "message", text);
	if (data)
		np_buf_printf(&line, ",\"data\":%s", data);
	np_buf_add(&line, "}}");
	send_line(server, &line, message);
}

static void put_self(struct np_buf *buf, const struct mcp_catalog *catalog)
{
	np_buf_add_char(buf, '{');
	put_member(buf, "name", catalog->name);
	np_buf_add_char(buf, ',');
	put_member(buf, "version", catalog->version);
	np_buf_add_char(buf, '}');
}

/* `members` of the result, each behind a comma. */
static void send_result(struct mcp_server *server, const struct mcp_message *message,
			const struct np_buf *members)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;

	begin_response(&line, message);
	np_buf_add(&line, "\"result\":{");
	if (message->modern) {
		np_buf_add(&line, "\"resultType\":\"complete\",\"_meta\":{\"" META_SERVER "\":");
		put_self(&line, server->catalog);
		np_buf_add_char(&line, '}');
		np_buf_add(&line, members->text);
	} else if (members->length > 0) {
		np_buf_add(&line, members->text + 1);
	}
	np_buf_add(&line, "}}");
	line.failed = line.failed || members->failed;
	send_line(server, &line, message);
}

/* A list that stays as it is: for how long it may be kept, and by whom. */
static void put_kept(struct np_buf *members, const struct mcp_message *message)
{
	if (message->modern)
		np_buf_printf(members, ",\"ttlMs\":%d,\"cacheScope\":\"private\"", LIST_KEPT_MS);
}

/* --- hearing --------------------------------------------------------------------------------- */

/* An id as JSON; NULL for what is none, or without memory. */
static char *id_of(const struct np_json *node)
{
	struct np_buf text = NP_BUF_INIT;
	int64_t number;

	if (np_json_type(node) == NP_JSON_TEXT)
		put_text(&text, np_json_text(node));
	else if (np_json_type(node) == NP_JSON_INTEGER && np_json_integer(node, &number))
		np_integer_format(&text, number);
	if (text.failed || text.length == 0) {
		np_buf_release(&text);
		return NULL;
	}
	return text.text;
}

static struct mcp_message *refuse(struct mcp_message *message, int code, const char *why)
{
	if (message) {
		message->problem = code;
		message->why = why;
	}
	return message;
}

static const struct np_json *meta_of(const struct mcp_message *message)
{
	return np_json_member(message->params, "_meta");
}

/* A request that the client has sent and wants no answer to any more. */
static void cancel(struct mcp_server *server, const struct np_json *params)
{
	char *id = id_of(np_json_member(params, "requestId"));

	(void)pthread_mutex_lock(&server->lock);
	for (struct mcp_message *each = server->pending; id && each; each = each->next) {
		if (each->id && strcmp(each->id, id) == 0)
			each->cancelled = true;
	}
	for (size_t i = 0; id && i < server->listeners.count; i++) {
		if (strcmp(server->listeners.item[i], id) != 0)
			continue;
		free(server->listeners.item[i]);
		server->listeners.item[i] = server->listeners.item[--server->listeners.count];
		i--;
	}
	(void)pthread_mutex_unlock(&server->lock);
	free(id);
}

/* A member; NULL where it is null, too, which many clients write for what they do not give. */
static const struct np_json *given(const struct np_json *object, const char *key)
{
	const struct np_json *value = np_json_member(object, key);

	return np_json_type(value) == NP_JSON_NULL ? NULL : value;
}

/* What a message that could be read is; false: it needs no answer. */
static bool classify(struct mcp_server *server, struct mcp_message *message)
{
	const struct np_json *doc = message->doc;
	const char *version = np_json_text(np_json_member(doc, "jsonrpc"));
	const struct np_json *id = np_json_member(doc, "id");
	const char *method = np_json_text(np_json_member(doc, "method"));

	message->id = id_of(id);
	message->params = given(doc, "params");
	if (np_json_type(doc) != NP_JSON_OBJECT || !version || strcmp(version, "2.0") != 0)
		(void)refuse(message, RPC_INVALID_REQUEST,
			     "a message is one object of JSON-RPC 2.0, not a batch");
	else if (!id && method) {
		if (strcmp(method, "notifications/cancelled") == 0)
			cancel(server, message->params);
		return false;
	} else if (!method && (np_json_member(doc, "result") || np_json_member(doc, "error")))
		return false; /* the answer to a question that was never asked */
	else if (!message->id)
		(void)refuse(message, RPC_INVALID_REQUEST,
			     "the id of a request is a text or a whole number");
	else if (!method)
		(void)refuse(message, RPC_INVALID_REQUEST,
			     "a request has a method, which is a text");
	else if (message->params && np_json_type(message->params) != NP_JSON_OBJECT)
		(void)refuse(message, RPC_INVALID_PARAMS, "params are an object");
	message->method = message->problem ? NULL : method;
	message->modern = np_json_member(meta_of(message), META_VERSION) != NULL;
	return true;
}

static void queue(struct mcp_server *server, struct mcp_message *message)
{
	(void)pthread_mutex_lock(&server->lock);
	message->next = server->pending;
	server->pending = message;
	(void)pthread_mutex_unlock(&server->lock);
}

static bool is_blank(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (!strchr(" \t\r", line[i]) || !line[i])
			return false;
	}
	return true;
}

/* Who asks whether the server is alive is told at once, also while a run is being analysed. */
static bool is_ping(const struct mcp_message *message)
{
	return !message->problem && !message->modern && strcmp(message->method, "ping") == 0;
}

static void ping(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;

	send_result(server, message, &members);
}

struct mcp_message *mcp_server_hear(struct mcp_server *server, const char *line, size_t length)
{
	struct mcp_message *message = is_blank(line, length) ? NULL : calloc(1, sizeof(*message));
	struct np_err err = NP_ERR_INIT;

	if (!message)
		return NULL;
	if (np_json_parse(line, length, "the message", &message->doc, &err) < 0) {
		(void)refuse(message, RPC_PARSE, "the message is no JSON");
	} else if (!classify(server, message)) {
		free_message(message);
		return NULL;
	}
	if (is_ping(message)) {
		ping(server, message);
		free_message(message);
		return NULL;
	}
	queue(server, message);
	return message;
}

struct mcp_message *mcp_server_hear_long(struct mcp_server *server)
{
	struct mcp_message *message = calloc(1, sizeof(*message));

	if (message)
		queue(server,
		      refuse(message, RPC_INVALID_REQUEST, "the message is longer than 1 MiB"));
	return message;
}

/* --- methods --------------------------------------------------------------------------------- */

static void put_capabilities(struct np_buf *members)
{
	np_buf_add(members, ",\"capabilities\":{\"tools\":{},\"resources\":{}}");
}

static void discover(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;

	np_buf_add(&members, ",\"supportedVersions\":" VERSIONS);
	put_capabilities(&members);
	np_buf_add_char(&members, ',');
	put_member(&members, "instructions", server->catalog->instructions);
	put_kept(&members, message);
	send_result(server, message, &members);
}

/* The one that is asked for, if it is spoken, else the newest with a handshake. */
static const char *legacy_version(const char *asked)
{
	static const char *const versions[] = { LEGACY, OLDER, OLDEST };

	for (size_t i = 0; i < NP_COUNT(versions); i++) {
		if (strcmp(versions[i], asked) == 0)
			return versions[i];
	}
	return LEGACY;
}

/* The handshake of the older revisions. */
static void initialize(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;
	const char *version = np_json_text(np_json_member(message->params, "protocolVersion"));

	if (!version ||
	    np_json_type(np_json_member(message->params, "capabilities")) != NP_JSON_OBJECT ||
	    np_json_type(np_json_member(message->params, "clientInfo")) != NP_JSON_OBJECT) {
		send_error(server, message, RPC_INVALID_PARAMS,
			   "initialize needs protocolVersion, capabilities and clientInfo", NULL);
		return;
	}
	server->initialized = true;
	np_buf_add_char(&members, ',');
	put_member(&members, "protocolVersion", legacy_version(version));
	put_capabilities(&members);
	np_buf_add(&members, ",\"serverInfo\":");
	put_self(&members, server->catalog);
	np_buf_add_char(&members, ',');
	put_member(&members, "instructions", server->catalog->instructions);
	send_result(server, message, &members);
}

/* Lists are given as a whole: no cursor of theirs is one that this server gave. */
static bool has_cursor(struct mcp_server *server, const struct mcp_message *message)
{
	if (!given(message->params, "cursor"))
		return false;
	send_error(server, message, RPC_INVALID_PARAMS,
		   "there is no such cursor: this list is given as a whole", NULL);
	return true;
}

static void list_tools(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;

	if (has_cursor(server, message))
		return;
	np_buf_add(&members, ",\"tools\":[");
	for (size_t i = 0; i < server->catalog->tool_count; i++) {
		const struct mcp_tool *tool = &server->catalog->tools[i];

		np_buf_add(&members, i > 0 ? ",{" : "{");
		put_member(&members, "name", tool->name);
		np_buf_add_char(&members, ',');
		put_member(&members, "title", tool->title);
		np_buf_add_char(&members, ',');
		put_member(&members, "description", tool->description);
		np_buf_printf(&members,
			      ",\"inputSchema\":%s,\"annotations\":{\"readOnlyHint\":true,"
			      "\"openWorldHint\":false}}",
			      tool->schema);
	}
	np_buf_add_char(&members, ']');
	put_kept(&members, message);
	send_result(server, message, &members);
}

static void list_resources(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;

	if (has_cursor(server, message))
		return;
	np_buf_add(&members, ",\"resources\":[");
	for (size_t i = 0; i < server->catalog->resource_count; i++) {
		const struct mcp_resource *each = &server->catalog->resources[i];
		const struct {
			const char *key;
			const char *value;
		} texts[] = { { "uri", each->uri },
			      { "name", each->name },
			      { "title", each->title },
			      { "description", each->description },
			      { "mimeType", each->type } };

		np_buf_add(&members, i > 0 ? ",{" : "{");
		for (size_t j = 0; j < NP_COUNT(texts); j++) {
			np_buf_add(&members, j > 0 ? "," : "");
			put_member(&members, texts[j].key, texts[j].value);
		}
		np_buf_add_char(&members, '}');
	}
	np_buf_add_char(&members, ']');
	put_kept(&members, message);
	send_result(server, message, &members);
}

static void list_templates(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;

	if (has_cursor(server, message))
		return;
	np_buf_add(&members, ",\"resourceTemplates\":[]");
	put_kept(&members, message);
	send_result(server, message, &members);
}

static void read_resource(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;
	const char *uri = np_json_text(np_json_member(message->params, "uri"));
	const struct mcp_resource *found = NULL;

	for (size_t i = 0; uri && i < server->catalog->resource_count && !found; i++) {
		if (strcmp(server->catalog->resources[i].uri, uri) == 0)
			found = &server->catalog->resources[i];
	}
	if (!found) {
		send_error(server, message,
			   uri && !message->modern ? RPC_NO_RESOURCE : RPC_INVALID_PARAMS,
			   uri ? "there is no such resource" : "uri is missing", NULL);
		return;
	}
	np_buf_add(&members, ",\"contents\":[{");
	put_member(&members, "uri", found->uri);
	np_buf_add_char(&members, ',');
	put_member(&members, "mimeType", found->type);
	np_buf_add_char(&members, ',');
	put_member(&members, "text", found->text);
	np_buf_add(&members, "}]");
	put_kept(&members, message);
	send_result(server, message, &members);
}

/* --- arguments: the part of JSON Schema that the tools of this server use --------------------- */

static bool has_type(const struct np_json *value, const char *type)
{
	static const struct {
		const char *name;
		enum np_json_type type;
	} types[] = { { "string", NP_JSON_TEXT },
		      { "integer", NP_JSON_INTEGER },
		      { "array", NP_JSON_ARRAY } };

	for (size_t i = 0; type && i < NP_COUNT(types); i++) {
		if (strcmp(types[i].name, type) == 0)
			return np_json_type(value) == types[i].type;
	}
	return false;
}

static bool is_allowed(const struct np_json *choices, const char *text)
{
	for (size_t i = 0; i < np_json_count(choices); i++) {
		if (strcmp(np_json_text(np_json_item(choices, i)), text) == 0)
			return true;
	}
	return !choices || !text;
}

static int check_value(const char *key, const struct np_json *schema, const struct np_json *value,
		       struct np_err *err)
{
	const char *type = np_json_text(np_json_member(schema, "type"));
	const struct np_json *items = np_json_member(schema, "items");
	int64_t number = 0;
	int64_t least = INT64_MIN;
	int64_t most = INT64_MAX;

	if (!has_type(value, type))
		return np_fail(err, NP_E_USAGE, "argument '%s' has to be of type %s", key, type);
	if (!is_allowed(np_json_member(schema, "enum"), np_json_text(value)))
		return np_fail(err, NP_E_USAGE,
			       "argument '%s' is none of those that tools/list names", key);
	(void)np_json_integer(np_json_member(schema, "minimum"), &least);
	(void)np_json_integer(np_json_member(schema, "maximum"), &most);
	if (np_json_integer(value, &number) && np_json_type(value) == NP_JSON_INTEGER &&
	    (number < least || number > most))
		return np_fail(err, NP_E_USAGE, "argument '%s' is out of range", key);
	for (size_t i = 0; items && i < np_json_count(value); i++) {
		if (!has_type(np_json_item(value, i), np_json_text(np_json_member(items, "type"))))
			return np_fail(err, NP_E_USAGE, "argument '%s' is a list of texts", key);
	}
	return NP_OK;
}

static int check_arguments(const struct mcp_tool *tool, const struct np_json *arguments,
			   struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *schema = NULL;
	const struct np_json *needed;
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc = np_json_parse(tool->schema, strlen(tool->schema), tool->name, &schema, err);

	while (rc == NP_OK && np_json_next(arguments, &entry)) {
		const struct np_json *property =
			np_json_member(np_json_member(schema, "properties"), entry.key);

		if (!property)
			rc = np_fail(err, NP_E_USAGE, "there is no argument '%s'", entry.key);
		else if (np_json_type(entry.value) != NP_JSON_NULL)
			rc = check_value(entry.key, property, entry.value, err);
	}
	needed = np_json_member(schema, "required");
	for (size_t i = 0; i < np_json_count(needed) && rc == NP_OK; i++) {
		const char *key = np_json_text(np_json_item(needed, i));

		if (!given(arguments, key))
			rc = np_fail(err, NP_E_USAGE, "argument '%s' is missing", key);
	}
	return rc;
}

static void call_tool(struct mcp_server *server, const struct mcp_message *message)
{
	const char *name = np_json_text(np_json_member(message->params, "name"));
	const struct np_json *arguments = given(message->params, "arguments");
	NP_CLEANUP(np_buf_release) struct np_buf members = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const struct mcp_tool *tool = NULL;
	struct np_err err = NP_ERR_INIT;
	struct mcp_call call = { server, message, arguments, server->catalog->context, -1 };
	int rc;

	for (size_t i = 0; name && i < server->catalog->tool_count && !tool; i++) {
		if (strcmp(server->catalog->tools[i].name, name) == 0)
			tool = &server->catalog->tools[i];
	}
	if (!tool || (arguments && np_json_type(arguments) != NP_JSON_OBJECT)) {
		send_error(server, message, RPC_INVALID_PARAMS,
			   tool ? "arguments are an object" : "there is no such tool", NULL);
		return;
	}
	rc = check_arguments(tool, arguments, &err);
	if (rc == NP_OK)
		rc = tool->run(&call, &text, &err);
	if (rc == NP_OK && text.failed)
		rc = np_fail_nomem(&err, "the answer");
	if (rc < 0) {
		np_buf_clear(&text);
		np_lang_put(&text, err.text);
	}
	np_buf_add(&members, ",\"content\":[{\"type\":\"text\",");
	put_member(&members, "text", text.failed ? err.text : text.text);
	np_buf_printf(&members, "}],\"isError\":%s", rc == NP_OK ? "false" : "true");
	send_result(server, message, &members);
}

/* Nothing that is offered ever changes: what is listened to begins, and ends with the client. */
static void listen(struct mcp_server *server, const struct mcp_message *message)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	char **slot = NULL;

	if (np_json_type(np_json_member(message->params, "notifications")) != NP_JSON_OBJECT) {
		send_error(server, message, RPC_INVALID_PARAMS, "notifications are an object",
			   NULL);
		return;
	}
	(void)pthread_mutex_lock(&server->lock);
	if (!message->cancelled)
		slot = np_vec_add(&server->listeners, &err);
	if (slot)
		*slot = strdup(message->id);
	if (slot && !*slot)
		server->listeners.count--;
	(void)pthread_mutex_unlock(&server->lock);
	np_buf_printf(
		&line,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
		"\"params\":{\"_meta\":{\"" META_SUBSCRIPTION "\":%s},\"notifications\":{}}}",
		message->id);
	send_line(server, &line, message);
}

/* --- answering ------------------------------------------------------------------------------- */

enum {
	IN_LEGACY = 1,
	IN_MODERN = 2,
};

static const struct {
	const char *name;
	unsigned eras;
	void (*answer)(struct mcp_server *server, const struct mcp_message *message);
} methods[] = {
	{ "server/discover", IN_MODERN, discover },
	{ "initialize", IN_LEGACY, initialize },
	{ "tools/list", IN_LEGACY | IN_MODERN, list_tools },
	{ "tools/call", IN_LEGACY | IN_MODERN, call_tool },
	{ "resources/list", IN_LEGACY | IN_MODERN, list_resources },
	{ "resources/templates/list", IN_LEGACY | IN_MODERN, list_templates },
	{ "resources/read", IN_LEGACY | IN_MODERN, read_resource },
	{ "subscriptions/listen", IN_MODERN, listen },
};

/* Of the revision without a handshake: is what each request has to say there, and understood? */
static bool check_meta(struct mcp_server *server, const struct mcp_message *message)
{
	const struct np_json *meta = meta_of(message);
	const struct np_json *client = np_json_member(meta, META_CLIENT);
	const char *version = np_json_text(np_json_member(meta, META_VERSION));
	NP_CLEANUP(np_buf_release) struct np_buf data = NP_BUF_INIT;

	if (!version || np_json_type(np_json_member(meta, META_CAPABILITIES)) != NP_JSON_OBJECT ||
	    (client && (!np_json_text(np_json_member(client, "name")) ||
			!np_json_text(np_json_member(client, "version"))))) {
		send_error(server, message, RPC_INVALID_PARAMS,
			   "_meta needs " META_VERSION " (a text) and " META_CAPABILITIES
			   " (an object); " META_CLIENT " has name and version",
			   NULL);
		return false;
	}
	if (strcmp(version, MODERN) == 0)
		return true;
	np_buf_add(&data, "{\"supported\":" VERSIONS ",");
	put_member(&data, "requested", version);
	np_buf_add_char(&data, '}');
	send_error(server, message, RPC_UNSUPPORTED_VERSION,
		   "unsupported protocol version; " LEGACY " begins with initialize",
		   data.failed ? NULL : data.text);
	return false;
}

/* May it be answered in the older revision: has that begun, or does this begin it? */
static bool check_begun(struct mcp_server *server, const struct mcp_message *message)
{
	if (server->initialized || strcmp(message->method, "initialize") == 0)
		return true;
	send_error(server, message, RPC_INVALID_PARAMS,
		   "_meta does not name a protocol version (" MODERN
		   "), and there was no initialize (" LEGACY ")",
		   "{\"supported\":" VERSIONS "}");
	return false;
}

static void answer(struct mcp_server *server, const struct mcp_message *message)
{
	unsigned era = message->modern ? IN_MODERN : IN_LEGACY;

	if (message->problem) {
		send_error(server, message, message->problem, message->why, NULL);
		return;
	}
	if (!(message->modern ? check_meta(server, message) : check_begun(server, message)))
		return;
	for (size_t i = 0; i < NP_COUNT(methods); i++) {
		if ((methods[i].eras & era) && strcmp(methods[i].name, message->method) == 0) {
			methods[i].answer(server, message);
			return;
		}
	}
	send_error(server, message, RPC_NO_METHOD, "there is no such method", NULL);
}

void mcp_server_answer(struct mcp_server *server, struct mcp_message *message)
{
	struct mcp_message **at = &server->pending;
	bool cancelled;

	(void)pthread_mutex_lock(&server->lock);
	cancelled = message->cancelled;
	(void)pthread_mutex_unlock(&server->lock);
	if (!cancelled)
		answer(server, message);
	(void)pthread_mutex_lock(&server->lock);
	while (*at && *at != message)
		at = &(*at)->next;
	if (*at)
		*at = message->next;
	(void)pthread_mutex_unlock(&server->lock);
	free_message(message);
}

void mcp_server_end(struct mcp_server *server)
{
	for (size_t i = 0; i < server->listeners.count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
		const char *id = server->listeners.item[i];

		np_buf_printf(
			&line,
			"{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\","
			"\"_meta\":{\"" META_SUBSCRIPTION "\":%s}}}",
			id, id);
		send_line(server, &line, NULL);
	}
}

/* --- calls ----------------------------------------------------------------------------------- */

bool mcp_call_cancelled(const struct mcp_call *call)
{
	bool cancelled;

	(void)pthread_mutex_lock(&call->server->lock);
	cancelled = call->message->cancelled;
	(void)pthread_mutex_unlock(&call->server->lock);
	return cancelled;
}

void mcp_call_progress(struct mcp_call *call, const char *what, int64_t done, int64_t total)
{
	NP_CLEANUP(np_buf_release) struct np_buf line = NP_BUF_INIT;
	char *token = id_of(np_json_member(meta_of(call->message), "progressToken"));

	if (token && done > call->shown) {
		call->shown = done;
		np_buf_printf(&line,
			      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			      "\"params\":{\"progressToken\":%s,\"progress\":%" PRId64,
			      token, done);
		if (total > 0)
			np_buf_printf(&line, ",\"total\":%" PRId64, total);
		np_buf_add_char(&line, ',');
		put_member(&line, "message", what);
		np_buf_add(&line, "}}");
		send_line(call->server, &line, call->message);
	}
	free(token);
}
