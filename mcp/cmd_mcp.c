/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof mcp`: a server of the Model Context Protocol on the standard input and output. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "mcp_tools.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

struct mcp_options {
	struct np_opt_list dirs;
	const char *store;
	int64_t jobs;
};

static const struct np_opt own_options[] = {
	{
		.letter = 'd',
		.name = "dir",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct mcp_options, dirs),
		.value = "DIR",
		.help = "runs below DIR can be asked about, and nothing else; may be repeated",
	},
	{
		.name = "store",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct mcp_options, store),
		.value = "FILE",
		.help = "the store of npuprof history that can be asked about",
		.preset_words = "NPUPROF_HISTORY of the environment",
	},
	{
		.letter = 'j',
		.name = "jobs",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct mcp_options, jobs),
		.value = "N",
		.help = "read N ranks at a time",
		.preset_words = "one per processor",
		.low = 1,
		.high = 1024,
	},
};

static const struct np_opt_group groups[] = {
	{ "Server", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST,
		    .fill = NP_FILL_DIRECTORY,
		    .value = "DIR",
		    .offset = offsetof(struct mcp_options, dirs) },
	.least = 1,
	.most = NP_OPERANDS_ANY,
};

static int cmd_mcp(int argc, const char *const *argv);

const struct np_cmd np_cmd_mcp = {
	.name = "mcp",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR...",
	.summary = "a server that lets agents ask about runs, on standard input and output",
	.about =
		"Speaks the Model Context Protocol, revisions 2026-07-28 and 2025-11-25, one message "
		"per line: which runs there are below DIR, why one is slow, what a repair would save, "
		"what changed, and the tables behind it. Answers are short and have pages. What was "
		"analysed is kept while the server runs. Nothing is written, and nothing outside DIR "
		"is read. It ends with its standard input.",
	.run = cmd_mcp,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PLAIN,
};

/* What was heard and is not answered yet, in order. */
struct mcp_queue {
	struct mcp_server *server;
	pthread_mutex_t lock;
	pthread_cond_t more;
	NP_VEC(struct mcp_message *) list;
	size_t next;
	bool ended;
};

/* More than this and nothing is read until something is answered. */
#define QUEUE_MOST 256

static void push(struct mcp_queue *queue, struct mcp_message *message)
{
	struct np_err err = NP_ERR_INIT;
	struct mcp_message **slot;

	if (!message)
		return;
	(void)pthread_mutex_lock(&queue->lock);
	if (queue->next > 0 && queue->next == queue->list.count)
		queue->next = queue->list.count = 0;
	while (queue->list.count - queue->next >= QUEUE_MOST)
		(void)pthread_cond_wait(&queue->more, &queue->lock);
	slot = np_vec_add(&queue->list, &err);
	if (slot)
		*slot = message;
	(void)pthread_cond_broadcast(&queue->more);
	(void)pthread_mutex_unlock(&queue->lock);
	if (!slot)
		mcp_server_answer(queue->server, message);
}

/* NULL: there will be none. */
static struct mcp_message *pop(struct mcp_queue *queue)
{
	struct mcp_message *message = NULL;

	(void)pthread_mutex_lock(&queue->lock);
	while (queue->next == queue->list.count && !queue->ended)
		(void)pthread_cond_wait(&queue->more, &queue->lock);
	if (queue->next < queue->list.count)
		message = queue->list.item[queue->next++];
	(void)pthread_cond_broadcast(&queue->more);
	(void)pthread_mutex_unlock(&queue->lock);
	return message;
}

/* A line that is being read. */
struct mcp_line {
	struct np_buf text;
	bool too_long; /* the rest of it is skipped */
};

static void take_bytes(struct mcp_queue *queue, struct mcp_line *line, const char *bytes,
		       size_t length)
{
	while (length > 0) {
		const char *end = memchr(bytes, '\n', length);
		size_t part = end ? (size_t)(end - bytes) : length;

		line->too_long = line->too_long || line->text.length + part > MCP_LINE_MOST;
		if (!line->too_long)
			np_buf_add_bytes(&line->text, bytes, part);
		if (end && (line->too_long || line->text.failed))
			push(queue, mcp_server_hear_long(queue->server));
		else if (end)
			push(queue,
			     mcp_server_hear(queue->server, line->text.text, line->text.length));
		if (end) {
			np_buf_clear(&line->text);
			line->too_long = false;
			part++;
		}
		bytes += part;
		length -= part;
	}
}

static void *hear(void *context)
{
	struct mcp_queue *queue = context;
	struct mcp_line line = { .text = NP_BUF_INIT };
	char bytes[65536];
	ssize_t length;

	do {
		length = read(STDIN_FILENO, bytes, sizeof(bytes));
		if (length > 0)
			take_bytes(queue, &line, bytes, (size_t)length);
	} while (length > 0 || (length < 0 && errno == EINTR));
	/* The last line may be without its end. */
	if (line.text.length > 0 && !line.too_long)
		take_bytes(queue, &line, "\n", 1);
	np_buf_release(&line.text);
	(void)pthread_mutex_lock(&queue->lock);
	queue->ended = true;
	(void)pthread_cond_broadcast(&queue->more);
	(void)pthread_mutex_unlock(&queue->lock);
	return NULL;
}

static int serve(const struct mcp_catalog *catalog)
{
	struct mcp_queue queue = { .server = mcp_server_new(catalog, np_output_stream()),
				   .lock = PTHREAD_MUTEX_INITIALIZER,
				   .more = PTHREAD_COND_INITIALIZER };
	struct mcp_message *message;
	pthread_t reader;

	if (!queue.server)
		return np_report(NP_EXIT_FAILED, "out of memory for the server");
	if (pthread_create(&reader, NULL, hear, &queue) != 0) {
		mcp_server_free(queue.server);
		return np_report(NP_EXIT_FAILED, "cannot start a thread");
	}
	while ((message = pop(&queue)) != NULL)
		mcp_server_answer(queue.server, message);
	(void)pthread_join(reader, NULL);
	mcp_server_end(queue.server);
	np_vec_release(&queue.list);
	mcp_server_free(queue.server);
	return NP_EXIT_DONE;
}

static int run(const struct mcp_options *options)
{
	struct mcp_runs runs;
	struct np_err err = NP_ERR_INIT;
	const struct mcp_catalog catalog = { .name = "npuprof",
					     .version = NP_VERSION,
					     .instructions = mcp_instructions,
					     .tools = mcp_tools,
					     .tool_count = mcp_tool_count,
					     .resources = mcp_resources,
					     .resource_count = mcp_resource_count,
					     .context = &runs };
	int status;

	np_advice_set_up();
	if (mcp_runs_init(&runs, &options->dirs, (size_t)options->jobs, &err) < 0)
		status = err.code == NP_E_USAGE ? np_cmd_usage(&np_cmd_mcp, "%s", err.text)
						: np_report(NP_EXIT_FAILED, "%s", err.text);
	else {
		runs.store = options->store ? options->store : getenv("NPUPROF_HISTORY");
		status = serve(&catalog);
	}
	mcp_runs_release(&runs);
	return status;
}

static int cmd_mcp(int argc, const char *const *argv)
{
	struct mcp_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_mcp, argc, argv, &options, &status))
		status = run(&options);
	np_opt_release(&np_cmd_mcp.options, &options);
	return status;
}
