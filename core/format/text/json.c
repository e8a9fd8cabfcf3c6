/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is wanted as a whole, by jansson. */
#include "npuprof/json.h"

#include "npuprof/gz.h"
#include "npuprof/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

/*
 * A struct np_json is jansson's json_t under another name, so that only this
 * file depends on jansson: nodes are converted, never defined.
 */
static const json_t *inside(const struct np_json *node)
{
	return (const json_t *)node;
}

static const struct np_json *outside(const json_t *node)
{
	return (const struct np_json *)node;
}

/* jansson's iterators want a json_t they could change; they do not when they only walk. */
static json_t *inside_mutable(const struct np_json *node)
{
	union {
		const struct np_json *shown;
		json_t *real;
	} view = { .shown = node };

	return view.real;
}

static int parse_failed(const char *what, const json_error_t *error, struct np_err *err)
{
	struct np_buf reason = NP_BUF_INIT;
	int rc;

	/* Often jansson does not say that memory ran out, or takes it for a bad token. */
	if (errno == ENOMEM)
		return np_fail_nomem(err, what);

	/* jansson quotes the place where it stopped, whatever bytes are there. */
	np_text_safe(&reason, error->text, strlen(error->text));
	rc = np_fail(err, NP_E_FORMAT, "%s:%d:%d: %s", what, error->line, error->column,
		     reason.failed ? "not JSON" : reason.text);
	np_buf_release(&reason);
	return rc;
}

int np_json_parse(const char *text, size_t length, const char *what, struct np_json **ret,
		  struct np_err *err)
{
	static const char mark[] = { '\xef', '\xbb', '\xbf' };
	json_error_t error;
	json_t *doc;

	if (length >= sizeof(mark) && memcmp(text, mark, sizeof(mark)) == 0) {
		text += sizeof(mark);
		length -= sizeof(mark);
	}
	errno = 0;
	doc = json_loadb(text, length, JSON_DECODE_ANY, &error);
	if (!doc)
		return parse_failed(what, &error, err);
	*ret = (struct np_json *)doc;
	return NP_OK;
}

/* Check that the file is one to be read and give its size. */
static int measure(int fd, const char *path, size_t max_bytes, size_t *ret, struct np_err *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return np_fail_errno(err, "read", path);
	if (!S_ISREG(status.st_mode))
		return np_fail(err, NP_E_FORMAT, "'%s' is not a regular file", path);
	if (status.st_size == 0)
		return np_fail(err, NP_E_NOTFOUND, "'%s' is empty", path);
	if ((uintmax_t)status.st_size > max_bytes)
		return np_fail(err, NP_E_FORMAT,
			       "'%s' has %jd bytes, more than the %zu its kind may have", path,
			       (intmax_t)status.st_size, max_bytes);
	*ret = (size_t)status.st_size;
	return NP_OK;
}

/* Read up to `size` bytes; a file that has become shorter gives less. */
static int read_all(int fd, const char *path, char *text, size_t size, size_t *ret,
		    struct np_err *err)
{
	size_t length = 0;

	while (length < size) {
		ssize_t got = read(fd, text + length, size - length);

		if (got == 0)
			break;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return np_fail_errno(err, "read", path);
		length += (size_t)got;
	}
	*ret = length;
	return NP_OK;
}

static bool is_compressed(const char *text, size_t length)
{
	return length > 2 && text[0] == '\x1f' && text[1] == '\x8b';
}

/* What people have compressed to keep; the limit is of the text. */
static int parse_compressed(const char *bytes, size_t size, const char *path, size_t max_bytes,
			    struct np_json **ret, struct np_err *err)
{
	NP_CLEANUP(np_gz_closep) struct np_gz *gz = NULL;
	struct np_window window;
	int rc = np_gz_open_bytes(bytes, size, path, 0, &gz, &window, err);

	while (rc == NP_OK && !window.ended) {
		if (window.length > max_bytes)
			return np_fail(err, NP_E_FORMAT, "'%s' is larger than %zu bytes", path,
				       max_bytes);
		rc = np_gz_more(gz, 0, &window, err);
	}
	return rc == NP_OK ? np_json_parse(window.bytes, window.length, path, ret, err) : rc;
}

static int read_open_file(int fd, const char *path, size_t max_bytes, struct np_json **ret,
			  struct np_err *err)
{
	size_t size = 0;
	size_t length = 0;
	char *text;
	int rc;

	rc = measure(fd, path, max_bytes, &size, err);
	if (rc < 0)
		return rc;
	text = malloc(size + 1); /* never nothing, whatever the size */
	if (!text)
		return np_fail_nomem(err, path);
	rc = read_all(fd, path, text, size, &length, err);
	if (rc == NP_OK && is_compressed(text, length))
		rc = parse_compressed(text, length, path, max_bytes, ret, err);
	else if (rc == NP_OK)
		rc = np_json_parse(text, length, path, ret, err);
	free(text);
	return rc;
}

int np_json_read_file(const char *path, size_t max_bytes, struct np_json **ret, struct np_err *err)
{
	/* Without O_NONBLOCK a pipe of that name would make us wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd < 0)
		return np_fail_errno(err, "open", path);
	rc = read_open_file(fd, path, max_bytes, ret, err);
	(void)close(fd);
	return rc;
}

void np_json_free(struct np_json *doc)
{
	json_decref((json_t *)doc);
}

void np_json_freep(struct np_json **doc)
{
	np_json_free(*doc);
	*doc = NULL;
}

enum np_json_type np_json_type(const struct np_json *node)
{
	if (!node)
		return NP_JSON_NONE;
	switch (json_typeof(inside(node))) {
	case JSON_OBJECT:
		return NP_JSON_OBJECT;
	case JSON_ARRAY:
		return NP_JSON_ARRAY;
	case JSON_STRING:
		return NP_JSON_TEXT;
	case JSON_INTEGER:
		return NP_JSON_INTEGER;
	case JSON_REAL:
		return NP_JSON_REAL;
	case JSON_TRUE:
	case JSON_FALSE:
		return NP_JSON_BOOL;
	case JSON_NULL:
		break;
	}
	return NP_JSON_NULL;
}

const struct np_json *np_json_member(const struct np_json *object, const char *key)
{
	return outside(json_object_get(inside(object), key));
}

const struct np_json *np_json_item(const struct np_json *array, size_t index)
{
	return outside(json_array_get(inside(array), index));
}

size_t np_json_count(const struct np_json *node)
{
	if (json_is_array(inside(node)))
		return json_array_size(inside(node));
	return json_object_size(inside(node));
}

bool np_json_next(const struct np_json *object, struct np_json_entry *entry)
{
	json_t *real = inside_mutable(object);

	if (entry->position)
		entry->position = json_object_iter_next(real, entry->position);
	else
		entry->position = json_object_iter(real);
	if (!entry->position)
		return false;
	entry->key = json_object_iter_key(entry->position);
	entry->value = outside(json_object_iter_value(entry->position));
	return true;
}

const char *np_json_text(const struct np_json *node)
{
	return json_string_value(inside(node));
}

static bool real_to_integer(double value, int64_t *ret)
{
	/* The lower bound itself would be NP_UNKNOWN. */
	if (!(value > -0x1p63 && value < 0x1p63) || trunc(value) != value)
		return false;
	*ret = (int64_t)value;
	return true;
}

bool np_json_integer(const struct np_json *node, int64_t *ret)
{
	const char *text = np_json_text(node);
	int64_t value = NP_UNKNOWN;

	if (json_is_real(inside(node)))
		return real_to_integer(json_real_value(inside(node)), ret);
	if (json_is_integer(inside(node)))
		value = json_integer_value(inside(node));
	else if (!text || !np_text_to_int(text, strlen(text), &value))
		return false;
	if (value == NP_UNKNOWN)
		return false;
	*ret = value;
	return true;
}

bool np_json_real(const struct np_json *node, double *ret)
{
	if (!json_is_number(inside(node)))
		return false;
	*ret = json_number_value(inside(node));
	return true;
}

bool np_json_bool(const struct np_json *node, bool *ret)
{
	if (!json_is_boolean(inside(node)))
		return false;
	*ret = json_is_true(inside(node));
	return true;
}
