/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, sockets and the configuration that launcher and library share. */
#include "protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "npuprof/realtime.h"
#include "npuprof/text.h"

static const char *const source_names[NP_STEP_SOURCES] = {
	[NP_STEP_AUTO] = "auto",   [NP_STEP_EXPLICIT] = "explicit", [NP_STEP_MSTX] = "mstx",
	[NP_STEP_STAMP] = "stamp", [NP_STEP_HCCL] = "hccl",         [NP_STEP_SYNC] = "sync",
	[NP_STEP_TORCH] = "torch", [NP_STEP_TIME] = "time",
};

static const char *const level_names[] = {
	[NP_PROF_LEVEL_NONE] = "Level_none",
	[NP_PROF_LEVEL_0] = "Level0",
	[NP_PROF_LEVEL_1] = "Level1",
	[NP_PROF_LEVEL_2] = "Level2",
};

const char *np_step_source_name(enum np_step_source source)
{
	return source_names[source];
}

const char *np_prof_level_name(enum np_prof_level level)
{
	return level_names[level];
}

/*
 * The configuration as text: one table for both directions.
 */
enum config_kind {
	KIND_TEXT,
	KIND_BOOL,
	KIND_INT32,
	KIND_INT64,
	KIND_CHOICE, /* an enum, by number */
};

struct config_field {
	const char *key;
	enum config_kind kind;
	size_t offset;
	size_t size;   /* of a text */
	int64_t least; /* of a number */
	int64_t greatest;
};

#define AT(member)   offsetof(struct np_inject_config, member)
#define ROOM(member) sizeof(((struct np_inject_config *)0)->member)

#define TEXT(key, member) \
	{ \
		key, KIND_TEXT, AT(member), ROOM(member), 0, 0 \
	}
#define BOOL(key, member) \
	{ \
		key, KIND_BOOL, AT(member), 0, 0, 1 \
	}
#define INT32(key, member) \
	{ \
		key, KIND_INT32, AT(member), 0, -1, INT32_MAX \
	}
#define INT64(key, member, least) \
	{ \
		key, KIND_INT64, AT(member), 0, least, INT64_MAX / 1000000 \
	}
#define CHOICE(key, member, last) \
	{ \
		key, KIND_CHOICE, AT(member), 0, 0, last \
	}

static const struct config_field fields[] = {
	TEXT("job", job),
	INT32("rank", rank),
	INT32("world_size", world_size),
	TEXT("host", host),
	TEXT("host_uid", host_uid),
	BOOL("selected", selected),
	TEXT("ranks", ranks),
	TEXT("dir", dir),
	INT64("step_start", step_start, 0),
	INT64("step_end", step_end, -1),
	BOOL("warmup", warmup),
	CHOICE("source", source, NP_STEP_SYNC),
	TEXT("pattern", pattern),
	INT64("delay_ms", delay_ms, 0),
	INT64("duration_ms", duration_ms, -1),
	INT64("grace_ms", grace_ms, 0),
	CHOICE("level", options.level, NP_PROF_LEVEL_2),
	TEXT("aic_metrics", options.aic_metrics),
	BOOL("l2_cache", options.l2_cache),
	BOOL("mstx", options.mstx),
	BOOL("memory", options.memory),
	BOOL("op_attr", options.op_attr),
	BOOL("record_shapes", options.record_shapes),
	BOOL("sys_io", options.sys_io),
	BOOL("sys_interconnection", options.sys_interconnection),
	TEXT("host_sys", options.host_sys),
	INT64("storage_limit_mb", options.storage_limit_mb, 0),
};

static int64_t number_of(const struct config_field *field, const char *at)
{
	int32_t narrow;
	int64_t wide;

	if (field->kind == KIND_BOOL)
		return *(const bool *)at;
	if (field->kind == KIND_INT64) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow)); /* an enum has the size of an int */
	return narrow;
}

static void set_number(const struct config_field *field, char *at, int64_t value)
{
	int32_t narrow = (int32_t)value;

	if (field->kind == KIND_BOOL)
		*(bool *)at = value != 0;
	else if (field->kind == KIND_INT64)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
}

int np_inject_config_format(const struct np_inject_config *config, struct np_buf *ret,
			    struct np_err *err)
{
	for (size_t i = 0; i < NP_COUNT(fields); i++) {
		const struct config_field *field = &fields[i];
		const char *at = (const char *)config + field->offset;

		if (field->kind != KIND_TEXT) {
			np_buf_printf(ret, "%s=%" PRId64 "\n", field->key, number_of(field, at));
			continue;
		}
		if (strnlen(at, field->size) == field->size)
			return np_fail(err, NP_E_RANGE, "%s is longer than %zu bytes", field->key,
				       field->size - 1);
		if (strchr(at, '\n'))
			return np_fail(err, NP_E_USAGE, "a line break in %s", field->key);
		np_buf_printf(ret, "%s=%s\n", field->key, at);
	}
	return np_buf_check(ret, err);
}

static const struct config_field *find_field(const char *key, size_t length)
{
	for (size_t i = 0; i < NP_COUNT(fields); i++)
		if (strlen(fields[i].key) == length && memcmp(fields[i].key, key, length) == 0)
			return &fields[i];
	return NULL;
}

static int parse_value(const struct config_field *field, char *at, const char *value, size_t length,
		       struct np_err *err)
{
	int64_t number;

	if (field->kind == KIND_TEXT) {
		if (length >= field->size)
			return np_fail(err, NP_E_RANGE,
				       NP_ENV_CONFIG ": %s is longer than %zu bytes", field->key,
				       field->size - 1);
		memcpy(at, value, length);
		at[length] = '\0';
		return NP_OK;
	}
	if (!np_text_to_int(value, length, &number) || number < field->least ||
	    number > field->greatest)
		return np_fail(err, NP_E_RANGE, NP_ENV_CONFIG ": '%.*s' is no value for %s",
			       (int)length, value, field->key);
	set_number(field, at, number);
	return NP_OK;
}

static int parse_line(const char *line, size_t length, struct np_inject_config *config,
		      struct np_err *err)
{
	const char *equals = memchr(line, '=', length);
	const struct config_field *field;

	if (!equals)
		return np_fail(err, NP_E_FORMAT, NP_ENV_CONFIG ": '%.*s' has no '='", (int)length,
			       line);
	field = find_field(line, (size_t)(equals - line));
	if (!field)
		return np_fail(err, NP_E_FORMAT, NP_ENV_CONFIG ": unknown key '%.*s'",
			       (int)(equals - line), line);
	return parse_value(field, (char *)config + field->offset, equals + 1,
			   length - (size_t)(equals + 1 - line), err);
}

int np_inject_config_parse(const char *text, struct np_inject_config *ret, struct np_err *err)
{
	struct np_inject_config config = NP_INJECT_CONFIG_INIT;

	while (*text) {
		size_t length = strcspn(text, "\n");
		int rc = length > 0 ? parse_line(text, length, &config, err) : NP_OK;

		if (rc < 0)
			return rc;
		text += length + (text[length] == '\n');
	}
	if (config.selected && config.dir[0] != '/')
		return np_fail(err, NP_E_USAGE, NP_ENV_CONFIG ": dir '%s' is not an absolute path",
			       config.dir);
	*ret = config;
	return NP_OK;
}

/*
 * Messages
 */
void np_message_init(struct np_message *message, enum np_message_type type, int32_t rank)
{
	*message = (struct np_message){
		.version = NP_PROTOCOL_VERSION,
		.type = type,
		.step = NP_UNKNOWN,
		.value = NP_UNKNOWN,
		.time = np_realtime_ns(),
		.pid = (int32_t)getpid(),
		.rank = rank,
	};
}

/* Bytes of `message` that are to be sent: the text without what follows it. */
static size_t np_message_size(const struct np_message *message)
{
	return offsetof(struct np_message, text) + strnlen(message->text, NP_MESSAGE_TEXT - 1) + 1;
}

/* What the numbers of a message may be; NP_UNKNOWN is always one of them. */
struct message_rule {
	bool known;
	int64_t step_least;
	int64_t step_most;
	int64_t value_least;
	int64_t value_most;
};

/* No counter of an application comes near this, and sums of some do not overflow. */
#define MANY       (INT64_C(1) << 53)
#define MANY_BYTES (INT64_C(1) << 56)

#define STEPS  -1, MANY
#define COUNT  -1, INT32_MAX
#define NUMBER INT64_MIN, INT64_MAX
#define BYTES  0, MANY_BYTES

/* One row for every type (protocol.h says what each number is). */
static const struct message_rule message_rules[] = {
	[NP_MSG_HELLO] = { true, NUMBER, NUMBER },
	[NP_MSG_ATTACHED] = { true, COUNT, COUNT },
	[NP_MSG_SOURCE] = { true, NUMBER, 0, NP_STEP_SOURCES - 1 },
	[NP_MSG_STEP] = { true, STEPS, NUMBER },
	[NP_MSG_WINDOW_OPEN] = { true, STEPS, NUMBER },
	[NP_MSG_WINDOW_CLOSED] = { true, STEPS, BYTES },
	[NP_MSG_PROF_CODE] = { true, NUMBER, NUMBER },
	[NP_MSG_PROF_ERROR] = { true, NUMBER, NUMBER },
	[NP_MSG_SELF_PROFILING] = { true, NUMBER, NUMBER },
	[NP_MSG_BYTES] = { true, STEPS, BYTES },
	[NP_MSG_COMM] = { true, COUNT, COUNT },
	[NP_MSG_ACCEPTED] = { true, STEPS, NUMBER },
	[NP_MSG_TOO_LATE] = { true, STEPS, NUMBER },
	[NP_MSG_PONG] = { true, NUMBER, NUMBER },
	[NP_MSG_DONE] = { true, NUMBER, COUNT },
	[NP_MSG_REFUSED] = { true, NUMBER, NUMBER },
	[NP_MSG_RENDEZVOUS] = { true, NUMBER, NUMBER },
	[NP_MSG_STOP] = { true, STEPS, NUMBER },
	[NP_MSG_START] = { true, STEPS, STEPS },
	[NP_MSG_PING] = { true, NUMBER, NUMBER },
	[NP_MSG_CANCEL] = { true, NUMBER, NUMBER },
};

static bool is_within(int64_t number, int64_t least, int64_t most)
{
	return number == NP_UNKNOWN || (number >= least && number <= most);
}

/* Is what was received (into *message, `size` bytes) a message of this protocol? Ends its text. */
bool np_message_check(struct np_message *message, size_t size)
{
	size_t head = offsetof(struct np_message, text);
	const struct message_rule *rule;

	if (size <= head || size > sizeof(*message) || message->version != NP_PROTOCOL_VERSION ||
	    message->type >= NP_COUNT(message_rules))
		return false;
	rule = &message_rules[message->type];
	message->text[size - head - 1] = '\0';
	return rule->known && message->rank >= -1 && message->rank < NP_MOST_RANKS &&
	       message->pid > 0 && is_within(message->step, rule->step_least, rule->step_most) &&
	       is_within(message->value, rule->value_least, rule->value_most);
}

bool np_message_send(int fd, const struct np_message *message)
{
	return send(fd, message, np_message_size(message), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

int np_message_receive(int fd, struct np_message *ret)
{
	for (;;) {
		ssize_t size = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT);

		if (size > 0 && np_message_check(ret, (size_t)size))
			return 1;
		if (size == 0)
			return -1;
		if (size < 0 && errno != EINTR)
			return errno == EAGAIN ? 0 : -1;
	}
}

/*
 * Sockets
 */
static bool address_of(const char *name, struct sockaddr_un *address, socklen_t *length)
{
	size_t size = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (size == 0 || size >= sizeof(address->sun_path))
		return false;
	memcpy(address->sun_path + 1, name, size); /* a leading NUL: the abstract name space */
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
	return true;
}

static bool same_user(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       peer.uid == geteuid();
}

static int new_socket(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int np_protocol_listen(const char *name, struct np_err *err)
{
	struct sockaddr_un address;
	socklen_t length;
	int fd;

	if (!address_of(name, &address, &length))
		return np_fail(err, NP_E_RANGE, "'%s' is no name for a socket", name);
	fd = new_socket();
	if (fd < 0)
		return np_fail(err, NP_E_IO, "cannot make a socket: %s", strerror(errno));
	if (bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, SOMAXCONN) < 0) {
		int problem = errno;

		(void)close(fd);
		return np_fail(err, problem == EADDRINUSE ? NP_E_BUSY : NP_E_IO,
			       "cannot listen on socket '@%s': %s", name, strerror(problem));
	}
	return fd;
}

int np_protocol_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0 && !same_user(fd)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

int np_protocol_connect(const char *name)
{
	struct sockaddr_un address;
	socklen_t length;
	int fd;

	if (!address_of(name, &address, &length))
		return -1;
	fd = new_socket();
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, length) == 0 && same_user(fd))
		return fd;
	(void)close(fd);
	return -1;
}
