/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles of plain data, read in one pass; what would name code is refused. */
#include "npuprof/pickle.h"

#include "npuprof/gz.h"
#include "npuprof/vec.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <sys/stat.h>

/* Compressed files may be this much larger unpacked, and at least that large. */
#define UNPACKED_TIMES 64
#define UNPACKED_LEAST ((uint64_t)64 << 20)

/* Opcodes with fixed arguments fit into this. */
#define OPCODE_MOST 16

/* The four low bits of a value; the others are its payload. */
enum tag {
	TAG_NONE,
	TAG_BOOL,
	TAG_INTEGER, /* signed, 60 bits */
	TAG_WIDE,    /* number in `wide`, as int64_t */
	TAG_LARGE,   /* likewise, as uint64_t of 2^63 and more */
	TAG_REAL,    /* likewise, as double */
	TAG_TEXT,    /* np_str */
	TAG_PAIR,    /* a tuple of two numbers below 2^30 */
	TAG_LIST,    /* number in `nodes` */
	TAG_TUPLE,
	TAG_DICT,
	TAG_RECORD, /* of the user: a dictionary that was a record at once needs no node */
};

#define TAG_BITS  NP_PICKLED_TAG_BITS
#define PAIR_BITS 30
#define PAIR_MOST (INT64_C(1) << PAIR_BITS)

/* What a container holds. */
struct held {
	size_t count;
	size_t capacity;
	np_pickled item[];
};

/* 0: empty; with the lowest bit: a record; else a struct held *. */
typedef uintptr_t node;

struct np_pickle {
	struct np_gz *gz;
	struct np_window window;
	size_t at; /* of the next byte in the window */
	uint64_t limit;
	uint64_t frame_end;
	uint64_t trailing;
	struct np_strtab *texts;
	struct np_pickle_user user;
	uint64_t size; /* of the file */
	NP_VEC(np_pickled) stack;
	NP_VEC(size_t) marks; /* heights of the stack */
	/* Four bytes each, as there may be several for each event: the value, or where it stands.
	 */
	NP_VEC(uint32_t) memo; /* UNSET: not set */
	NP_VEC(np_pickled) memo_wide;
	size_t memo_set;
	NP_VEC(node) nodes;
	NP_VEC(uint64_t) wide;
};

#define UNSET UINT32_MAX

/* Of a place of the memo: the rest is a number in `memo_wide`. No value has this tag. */
#define TAG_ELSEWHERE ((1U << TAG_BITS) - 1)

/* Bytes of arguments that have a fixed length, and the names of all opcodes, for messages. */
struct opcode {
	const char *name;
	uint8_t arguments;
	char kind; /* 0: unknown, 'd': data, 'c': names code or foreign objects, 'u': unsupported */
};

static const struct opcode opcodes[256] = {
	[0x80] = { "PROTO", 1, 'd' },
	[0x95] = { "FRAME", 8, 'd' },
	['.'] = { "STOP", 0, 'd' },
	['('] = { "MARK", 0, 'd' },
	['0'] = { "POP", 0, 'd' },
	['1'] = { "POP_MARK", 0, 'd' },
	['2'] = { "DUP", 0, 'd' },
	['N'] = { "NONE", 0, 'd' },
	[0x88] = { "NEWTRUE", 0, 'd' },
	[0x89] = { "NEWFALSE", 0, 'd' },
	['J'] = { "BININT", 4, 'd' },
	['K'] = { "BININT1", 1, 'd' },
	['M'] = { "BININT2", 2, 'd' },
	[0x8a] = { "LONG1", 1, 'd' },
	[0x8b] = { "LONG4", 4, 'd' },
	['G'] = { "BINFLOAT", 8, 'd' },
	[0x8c] = { "SHORT_BINUNICODE", 1, 'd' },
	['X'] = { "BINUNICODE", 4, 'd' },
	[0x8d] = { "BINUNICODE8", 8, 'd' },
	['U'] = { "SHORT_BINSTRING", 1, 'd' },
	['T'] = { "BINSTRING", 4, 'd' },
	['C'] = { "SHORT_BINBYTES", 1, 'd' },
	['B'] = { "BINBYTES", 4, 'd' },
	[0x8e] = { "BINBYTES8", 8, 'd' },
	[')'] = { "EMPTY_TUPLE", 0, 'd' },
	[0x85] = { "TUPLE1", 0, 'd' },
	[0x86] = { "TUPLE2", 0, 'd' },
	[0x87] = { "TUPLE3", 0, 'd' },
	['t'] = { "TUPLE", 0, 'd' },
	[']'] = { "EMPTY_LIST", 0, 'd' },
	['l'] = { "LIST", 0, 'd' },
	['a'] = { "APPEND", 0, 'd' },
	['e'] = { "APPENDS", 0, 'd' },
	['}'] = { "EMPTY_DICT", 0, 'd' },
	['d'] = { "DICT", 0, 'd' },
	['s'] = { "SETITEM", 0, 'd' },
	['u'] = { "SETITEMS", 0, 'd' },
	[0x94] = { "MEMOIZE", 0, 'd' },
	['q'] = { "BINPUT", 1, 'd' },
	['r'] = { "LONG_BINPUT", 4, 'd' },
	['h'] = { "BINGET", 1, 'd' },
	['j'] = { "LONG_BINGET", 4, 'd' },
	['c'] = { "GLOBAL", 0, 'c' },
	[0x93] = { "STACK_GLOBAL", 0, 'c' },
	['i'] = { "INST", 0, 'c' },
	['o'] = { "OBJ", 0, 'c' },
	[0x81] = { "NEWOBJ", 0, 'c' },
	[0x92] = { "NEWOBJ_EX", 0, 'c' },
	['R'] = { "REDUCE", 0, 'c' },
	['b'] = { "BUILD", 0, 'c' },
	[0x82] = { "EXT1", 0, 'c' },
	[0x83] = { "EXT2", 0, 'c' },
	[0x84] = { "EXT4", 0, 'c' },
	['P'] = { "PERSID", 0, 'c' },
	['Q'] = { "BINPERSID", 0, 'c' },
	[0x97] = { "NEXT_BUFFER", 0, 'c' },
	[0x98] = { "READONLY_BUFFER", 0, 'c' },
	['I'] = { "INT", 0, 'u' },
	['L'] = { "LONG", 0, 'u' },
	['F'] = { "FLOAT", 0, 'u' },
	['S'] = { "STRING", 0, 'u' },
	['V'] = { "UNICODE", 0, 'u' },
	['g'] = { "GET", 0, 'u' },
	['p'] = { "PUT", 0, 'u' },
	[0x8f] = { "EMPTY_SET", 0, 'u' },
	[0x90] = { "ADDITEMS", 0, 'u' },
	[0x91] = { "FROZENSET", 0, 'u' },
	[0x96] = { "BYTEARRAY8", 0, 'u' },
};

static_assert(TAG_INTEGER == NP_PICKLED_TAG_SMALL && TAG_TEXT == NP_PICKLED_TAG_TEXT,
	      "the tags that the header has are these");

static np_pickled make(enum tag tag, uint64_t payload)
{
	return payload << TAG_BITS | tag;
}

static enum tag tag_of(np_pickled value)
{
	return (enum tag)(value & ((1U << TAG_BITS) - 1));
}

static uint64_t payload_of(np_pickled value)
{
	return value >> TAG_BITS;
}

static bool has_node(np_pickled value)
{
	return tag_of(value) >= TAG_LIST && tag_of(value) <= TAG_DICT;
}

static node *node_of(const struct np_pickle *pickle, np_pickled value)
{
	return &pickle->nodes.item[payload_of(value)];
}

static uint64_t offset_of(const struct np_pickle *pickle)
{
	return pickle->window.offset + pickle->at;
}

/* What is wrong with the opcode at `pickle->at`. */
static int NP_PRINTF(4, 5) wrong(const struct np_pickle *pickle, unsigned char op,
				 struct np_err *err, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return np_fail(err, NP_E_FORMAT, "'%s': damaged: %s at byte %llu: %s",
		       np_gz_path(pickle->gz), opcodes[op].name,
		       (unsigned long long)offset_of(pickle), text);
}

static int cut(const struct np_pickle *pickle, struct np_err *err)
{
	return np_fail(err, NP_E_FORMAT, "'%s' is cut at byte %llu: the pickle has no end",
		       np_gz_path(pickle->gz),
		       (unsigned long long)(pickle->window.offset + pickle->window.length));
}

/* Have `count` bytes from `at` on in the window, or the end of the file. */
static int have(struct np_pickle *pickle, size_t count, struct np_err *err)
{
	while (pickle->window.length - pickle->at < count && !pickle->window.ended) {
		int rc = np_gz_more(pickle->gz, pickle->at, &pickle->window, err);

		if (rc < 0)
			return rc;
		pickle->at = 0;
		if (pickle->window.offset > pickle->limit)
			return np_fail(err, NP_E_RANGE,
				       "'%s': more than %llu bytes come out of it; unpack it first",
				       np_gz_path(pickle->gz), (unsigned long long)pickle->limit);
	}
	return NP_OK;
}

static uint64_t little(const unsigned char *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = count; i > 0; i--)
		value = value << 8 | bytes[i - 1];
	return value;
}

static int push(struct np_pickle *pickle, np_pickled value, struct np_err *err)
{
	np_pickled *top = np_vec_add(&pickle->stack, err);

	if (!top)
		return NP_E_NOMEM;
	*top = value;
	return NP_OK;
}

static int push_wide(struct np_pickle *pickle, enum tag tag, uint64_t bits, struct np_err *err)
{
	uint64_t *wide = np_vec_add(&pickle->wide, err);

	if (!wide)
		return NP_E_NOMEM;
	*wide = bits;
	return push(pickle, make(tag, pickle->wide.count - 1), err);
}

static int push_integer(struct np_pickle *pickle, int64_t value, struct np_err *err)
{
	const int64_t most = INT64_C(1) << (63 - TAG_BITS);

	if (value >= -most && value < most)
		return push(pickle, make(TAG_INTEGER, (uint64_t)value), err);
	return push_wide(pickle, TAG_WIDE, (uint64_t)value, err);
}

static int push_node(struct np_pickle *pickle, enum tag tag, struct np_err *err)
{
	node *added = np_vec_add(&pickle->nodes, err);

	if (!added)
		return NP_E_NOMEM;
	return push(pickle, make(tag, pickle->nodes.count - 1), err);
}

/* A number of 8 bytes at most, or 9 of an unsigned one. */
static int push_long(struct np_pickle *pickle, unsigned char op, uint64_t length,
		     struct np_err *err)
{
	const size_t head = 1 + (size_t)opcodes[op].arguments;
	const unsigned char *bytes;
	uint64_t value;
	int rc;

	if (length > 9)
		return wrong(pickle, op, err, "a number of %llu bytes", (unsigned long long)length);
	rc = have(pickle, head + (size_t)length, err);
	if (rc < 0)
		return rc;
	if (pickle->window.length - pickle->at < head + length)
		return cut(pickle, err);
	bytes = (const unsigned char *)pickle->window.bytes + pickle->at + head;
	if (length == 9 && bytes[8] != 0)
		return wrong(pickle, op, err, "a number of more than 64 bits");
	value = little(bytes, length < 8 ? (size_t)length : 8);
	if (length == 9 && value > INT64_MAX)
		rc = push_wide(pickle, TAG_LARGE, value, err);
	else if (length > 0 && length < 8 && (bytes[length - 1] & 0x80))
		rc = push_integer(pickle, (int64_t)(value | UINT64_MAX << (8 * length)), err);
	else
		rc = push_integer(pickle, (int64_t)value, err);
	pickle->at += (size_t)length;
	return rc;
}

static int push_text(struct np_pickle *pickle, unsigned char op, uint64_t length,
		     struct np_err *err)
{
	const size_t head = 1 + (size_t)opcodes[op].arguments;
	np_str id;
	int rc;

	if (length > NP_PICKLE_TEXT_MOST)
		return wrong(pickle, op, err, "a text of %llu bytes; at most %zu are read",
			     (unsigned long long)length, NP_PICKLE_TEXT_MOST);
	rc = have(pickle, head + (size_t)length, err);
	if (rc < 0)
		return rc;
	if (pickle->window.length - pickle->at < head + length)
		return cut(pickle, err);
	rc = np_strtab_add(pickle->texts, pickle->window.bytes + pickle->at + head, (size_t)length,
			   &id, err);
	if (rc < 0)
		return rc;
	pickle->at += (size_t)length;
	return push(pickle, make(TAG_TEXT, id), err);
}

static int push_real(struct np_pickle *pickle, uint64_t little_endian, struct np_err *err)
{
	return push_wide(pickle, TAG_REAL, __builtin_bswap64(little_endian), err);
}

/* The height that may not be gone below. */
static size_t stack_floor(const struct np_pickle *pickle)
{
	return pickle->marks.count > 0 ? pickle->marks.item[pickle->marks.count - 1] : 0;
}

static bool has_items(const struct np_pickle *pickle, size_t count)
{
	return pickle->stack.count - stack_floor(pickle) >= count;
}

static int hold(node *at, const np_pickled *items, size_t count, struct np_err *err)
{
	struct held *held = (struct held *)*at; /* NOLINT(performance-no-int-to-ptr) */
	size_t had = held ? held->count : 0;

	if (count == 0)
		return NP_OK;
	if (!held || held->capacity - had < count) {
		size_t capacity = had + count + (had > 0 ? had / 2 : 0);
		struct held *grown =
			realloc(held, sizeof(*held) + capacity * sizeof(held->item[0]));

		if (!grown)
			return np_fail_nomem(err, "a pickle");
		held = grown;
		held->count = had;
		held->capacity = capacity;
		*at = (node)held;
	}
	memcpy(&held->item[had], items, count * sizeof(*items));
	held->count += count;
	return NP_OK;
}

/* Give the user what is added to a container; sets *ret_record if it is a record then. */
static int offer(struct np_pickle *pickle, unsigned char op, enum tag tag, node at,
		 const np_pickled *items, size_t count, uint64_t *ret_record, struct np_err *err)
{
	const struct np_pickle_user *user = &pickle->user;
	int rc = NP_OK;

	if (tag == TAG_DICT && at == 0 && count > 0 && user->take)
		return user->take(user->context, pickle, items, count / 2, ret_record, err);
	if (tag == TAG_LIST && (at == 0 || (at & 1)) && count > 0 && user->take_list)
		rc = user->take_list(user->context, pickle, at ? at >> 1 : UINT64_MAX, items, count,
				     ret_record, err);
	if (rc == NP_OK && (at & 1) && *ret_record == UINT64_MAX)
		return wrong(pickle, op, err, "what was complete is added to");
	return rc;
}

/* Put the items above `from` into the container just below them, and take them off. */
static int put_into(struct np_pickle *pickle, unsigned char op, enum tag tag, size_t from,
		    struct np_err *err)
{
	const np_pickled *items = &pickle->stack.item[from];
	size_t count = pickle->stack.count - from;
	np_pickled container = pickle->stack.item[from - 1];
	uint64_t record = UINT64_MAX;
	node *at;
	int rc;

	if (tag_of(container) == TAG_RECORD && tag == TAG_DICT)
		return wrong(pickle, op, err, "what was complete is added to");
	if (tag_of(container) != tag)
		return wrong(pickle, op, err, "there is no %s to add to",
			     tag == TAG_LIST ? "list" : "dictionary");
	if (tag == TAG_DICT && count % 2 != 0)
		return wrong(pickle, op, err, "a key without a value");
	at = node_of(pickle, container);
	rc = offer(pickle, op, tag, *at, items, count, &record, err);
	if (rc == NP_OK && record != UINT64_MAX)
		*at = (node)(record << 1 | 1);
	else if (rc == NP_OK)
		rc = hold(at, items, count, err);
	pickle->stack.count = from;
	return rc;
}

/* A container of the items above `from` in their place. */
static int gather(struct np_pickle *pickle, unsigned char op, enum tag tag, size_t from,
		  struct np_err *err)
{
	size_t count = pickle->stack.count - from;
	int64_t first;
	int64_t second;
	int rc;

	if (tag == TAG_TUPLE && count == 2 &&
	    np_pickled_integer(pickle, pickle->stack.item[from], &first) &&
	    np_pickled_integer(pickle, pickle->stack.item[from + 1], &second) && first >= 0 &&
	    first < PAIR_MOST && second >= 0 && second < PAIR_MOST) {
		pickle->stack.count = from;
		return push(pickle, make(TAG_PAIR, (uint64_t)first << PAIR_BITS | (uint64_t)second),
			    err);
	}
	/* The container is made above them and moved below: put_into() wants it there. */
	rc = push_node(pickle, tag, err);
	if (rc < 0)
		return rc;
	if (count > 0) {
		np_pickled made = pickle->stack.item[pickle->stack.count - 1];

		memmove(&pickle->stack.item[from + 1], &pickle->stack.item[from],
			count * sizeof(pickle->stack.item[0]));
		pickle->stack.item[from] = made;
	}
	return put_into(pickle, op, tag, from + 1, err);
}

/* Take the topmost mark off; false if there is none. */
static bool take_mark(struct np_pickle *pickle, size_t *ret)
{
	if (pickle->marks.count == 0)
		return false;
	*ret = pickle->marks.item[--pickle->marks.count];
	return true;
}

static int remember(struct np_pickle *pickle, uint32_t *place, np_pickled value, struct np_err *err)
{
	np_pickled *wide;

	if (value < UNSET) {
		*place = (uint32_t)value;
		return NP_OK;
	}
	/* One less than the most, which would read as not set. */
	if (pickle->memo_wide.count >= (UNSET >> TAG_BITS) - 1)
		return np_fail(err, NP_E_RANGE, "'%s': too many large values to remember",
			       np_gz_path(pickle->gz));
	wide = np_vec_add(&pickle->memo_wide, err);
	if (!wide)
		return NP_E_NOMEM;
	*wide = value;
	*place = (uint32_t)(pickle->memo_wide.count - 1) << TAG_BITS | TAG_ELSEWHERE;
	return NP_OK;
}

static int put_memo(struct np_pickle *pickle, unsigned char op, uint64_t place, struct np_err *err)
{
	if (!has_items(pickle, 1))
		return wrong(pickle, op, err, "there is nothing to remember");
	/* Whoever counts from 0 has used a byte for each. */
	if (place > offset_of(pickle))
		return wrong(pickle, op, err, "place %llu of the memo is beyond any in use",
			     (unsigned long long)place);
	if (place >= pickle->memo.count) {
		size_t more = (size_t)place + 1 - pickle->memo.count;

		if (np_vec_reserve(&pickle->memo, more, err) < 0)
			return NP_E_NOMEM;
		memset(&pickle->memo.item[pickle->memo.count], 0xff,
		       more * sizeof(pickle->memo.item[0]));
		pickle->memo.count += more;
	}
	pickle->memo_set += pickle->memo.item[place] == UNSET;
	return remember(pickle, &pickle->memo.item[place],
			pickle->stack.item[pickle->stack.count - 1], err);
}

static int get_memo(struct np_pickle *pickle, unsigned char op, uint64_t place, struct np_err *err)
{
	if (place >= pickle->memo.count || pickle->memo.item[place] == UNSET)
		return wrong(pickle, op, err, "place %llu of the memo is empty",
			     (unsigned long long)place);
	if ((pickle->memo.item[place] & TAG_ELSEWHERE) == TAG_ELSEWHERE)
		return push(pickle, pickle->memo_wide.item[pickle->memo.item[place] >> TAG_BITS],
			    err);
	return push(pickle, pickle->memo.item[place], err);
}

/* The name that GLOBAL and INST carry, as far as it is legible. */
static void legible(const struct np_pickle *pickle, unsigned char op, char *to, size_t size)
{
	const char *bytes = pickle->window.bytes + pickle->at + 1;
	size_t left = pickle->window.length - pickle->at - 1;
	size_t length = 0;
	unsigned lines = op == 'P' ? 1 : 2;

	if (op == 'c' || op == 'i' || op == 'P') {
		while (length < left && length + 1 < size && lines > 0) {
			if (bytes[length] == '\n' && --lines == 0)
				break;
			if (bytes[length] != '\n' && !isprint((unsigned char)bytes[length]))
				break;
			to[length] = bytes[length] == '\n' ? ' ' : bytes[length];
			length++;
		}
	} else if (op == 0x93 && has_items(pickle, 2)) {
		const np_pickled *top = &pickle->stack.item[pickle->stack.count - 2];
		int written = snprintf(to, size, "%s %s",
				       np_strtab_text(pickle->texts, np_pickled_text(top[0])),
				       np_strtab_text(pickle->texts, np_pickled_text(top[1])));

		length = written < 0 ? 0 : (size_t)written < size ? (size_t)written : size - 1;
		for (size_t i = 0; i < length; i++) {
			if (!isprint((unsigned char)to[i]))
				length = i;
		}
	}
	to[length] = '\0';
}

static int refuse(struct np_pickle *pickle, unsigned char op, struct np_err *err)
{
	unsigned long long at = offset_of(pickle);
	char name[100];

	/* What cannot be read has no name, and is refused all the same. */
	(void)have(pickle, sizeof(name) + 1, NULL);

	if (opcodes[op].kind != 'c')
		return np_fail(err, NP_E_FORMAT,
			       "'%s': opcode 0x%02x%s%s at byte %llu is not part of plain data",
			       np_gz_path(pickle->gz), op, opcodes[op].name ? " " : "",
			       opcodes[op].name ? opcodes[op].name : "", at);
	legible(pickle, op, name, sizeof(name));
	return np_fail(err, NP_E_FORMAT,
		       "'%s': %s%s%s%s at byte %llu names code or objects from outside: not read",
		       np_gz_path(pickle->gz), opcodes[op].name, name[0] ? " '" : "", name,
		       name[0] ? "'" : "", at);
}

static int pop(struct np_pickle *pickle, unsigned char op, struct np_err *err)
{
	size_t mark;

	if (has_items(pickle, 1))
		pickle->stack.count--;
	else if (!take_mark(pickle, &mark))
		return wrong(pickle, op, err, "there is nothing to take off");
	return NP_OK;
}

static int add_mark(struct np_pickle *pickle, unsigned char op, struct np_err *err)
{
	size_t *mark;

	if (pickle->marks.count >= NP_PICKLE_MARKS_MOST)
		return wrong(pickle, op, err, "more than %d marks are open", NP_PICKLE_MARKS_MOST);
	mark = np_vec_add(&pickle->marks, err);
	if (!mark)
		return NP_E_NOMEM;
	*mark = pickle->stack.count;
	return NP_OK;
}

/* Opcodes that work on what lies above the topmost mark. */
static int do_marked(struct np_pickle *pickle, unsigned char op, struct np_err *err)
{
	enum tag tag = op == 'e' || op == 'l' ? TAG_LIST : op == 't' ? TAG_TUPLE : TAG_DICT;
	size_t mark;

	if (!take_mark(pickle, &mark))
		return wrong(pickle, op, err, "there is no mark");
	if (op == '1') {
		pickle->stack.count = mark;
		return NP_OK;
	}
	if (op != 'e' && op != 'u')
		return gather(pickle, op, tag, mark, err);
	if (mark <= stack_floor(pickle))
		return wrong(pickle, op, err, "there is nothing to add to");
	return put_into(pickle, op, tag, mark, err);
}

/* Opcodes that work on the topmost few. */
static int do_topmost(struct np_pickle *pickle, unsigned char op, size_t count, struct np_err *err)
{
	if (!has_items(pickle, count))
		return wrong(pickle, op, err, "%zu values are needed", count);
	switch (op) {
	case '2':
		return push(pickle, pickle->stack.item[pickle->stack.count - 1], err);
	case 'a':
		return put_into(pickle, op, TAG_LIST, pickle->stack.count - 1, err);
	case 's':
		return put_into(pickle, op, TAG_DICT, pickle->stack.count - 2, err);
	default:
		return gather(pickle, op, TAG_TUPLE, pickle->stack.count - count, err);
	}
}

static int begin_frame(struct np_pickle *pickle, unsigned char op, uint64_t length,
		       struct np_err *err)
{
	uint64_t begin = offset_of(pickle) + 9;

	/* How much is left is known at the end; that it fits into 63 bits, now. */
	if (length > INT64_MAX - begin)
		return wrong(pickle, op, err, "a frame of %llu bytes", (unsigned long long)length);
	pickle->frame_end = begin + length;
	return NP_OK;
}

/* One opcode, whose fixed arguments are in the window. */
static int do_opcode(struct np_pickle *pickle, unsigned char op, uint64_t argument,
		     struct np_err *err)
{
	switch (op) {
	case 'h':
	case 'j':
		return get_memo(pickle, op, argument, err);
	case 0x94:
		return put_memo(pickle, op, pickle->memo_set, err);
	case 'q':
	case 'r':
		return put_memo(pickle, op, argument, err);
	case 'K':
	case 'M':
		return push(pickle, make(TAG_INTEGER, argument), err);
	case 'J':
		return push_integer(pickle, (int32_t)(uint32_t)argument, err);
	case 0x8a:
	case 0x8b:
		return push_long(pickle, op, argument, err);
	case '(':
		return add_mark(pickle, op, err);
	case '}':
		return push_node(pickle, TAG_DICT, err);
	case ']':
		return push_node(pickle, TAG_LIST, err);
	case ')':
		return push_node(pickle, TAG_TUPLE, err);
	case 'u':
	case 'e':
	case 'l':
	case 'd':
	case 't':
	case '1':
		return do_marked(pickle, op, err);
	case 'a':
	case 0x86:
		return do_topmost(pickle, op, 2, err);
	case 's':
	case 0x87:
		return do_topmost(pickle, op, 3, err);
	case '2':
	case 0x85:
		return do_topmost(pickle, op, 1, err);
	case '0':
		return pop(pickle, op, err);
	case 'N':
		return push(pickle, make(TAG_NONE, 0), err);
	case 0x88:
	case 0x89:
		return push(pickle, make(TAG_BOOL, op == 0x88), err);
	case 'G':
		return push_real(pickle, argument, err);
	case 0x95:
		return begin_frame(pickle, op, argument, err);
	case 0x80:
		return argument >= 2 && argument <= 5
			       ? NP_OK
			       : wrong(pickle, op, err, "protocol %u is not known",
				       (unsigned)argument);
	default: /* the texts: what is not data was refused */
		return push_text(pickle, op, argument, err);
	}
}

/* Behind STOP: count what is not padding. */
static int look_behind(struct np_pickle *pickle, struct np_err *err)
{
	uint64_t length;
	int rc = NP_OK;

	while (rc == NP_OK && (pickle->at < pickle->window.length || !pickle->window.ended)) {
		for (; pickle->at < pickle->window.length; pickle->at++)
			pickle->trailing += pickle->window.bytes[pickle->at] != 0;
		rc = have(pickle, 1, err);
	}
	length = pickle->window.offset + pickle->window.length;
	if (rc == NP_OK && pickle->frame_end > length)
		return np_fail(err, NP_E_FORMAT,
			       "'%s': damaged: a frame ends at byte %llu, the file at %llu",
			       np_gz_path(pickle->gz), (unsigned long long)pickle->frame_end,
			       (unsigned long long)length);
	return rc;
}

/* Other files that are called snapshots. */
static int check_magic(const struct np_pickle *pickle, struct np_err *err)
{
	const unsigned char *bytes = (const unsigned char *)pickle->window.bytes;

	if (pickle->window.length > 0 && bytes[0] == 0x80)
		return NP_OK;
	if (pickle->window.length > 3 && memcmp(bytes, "PK\3\4", 4) == 0)
		return np_fail(
			err, NP_E_FORMAT,
			"'%s' is an archive (of torch.save?), not a pickle of protocol 2 to 5: "
			"write it with pickle.dump",
			np_gz_path(pickle->gz));
	return np_fail(err, NP_E_FORMAT,
		       "'%s' is not a pickle of protocol 2 to 5, as pickle.dump writes them",
		       np_gz_path(pickle->gz));
}

static uint32_t four_bytes(const unsigned char *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/* LONG1 with a number that fits into a value; UINT64_MAX: it does not, or is negative. */
static inline uint64_t short_long(const unsigned char *bytes)
{
	const unsigned length = bytes[1];
	uint64_t value;

	if (length == 0 || length > 8 || (bytes[1 + length] & 0x80))
		return UINT64_MAX;
	value = four_bytes(bytes + 2) | (uint64_t)four_bytes(bytes + 6) << 32;
	if (length < 8)
		value &= (UINT64_C(1) << 8 * length) - 1;
	return value < UINT64_C(1) << (63 - TAG_BITS) ? value : UINT64_MAX;
}

/* APPENDS and SETITEMS with a container below the mark; else nothing is done, and it is not plain.
 */
static int put_plain(struct np_pickle *pickle, unsigned char op, bool *ret_plain,
		     struct np_err *err)
{
	const size_t count = pickle->marks.count;
	size_t mark;

	*ret_plain = count > 0 && pickle->marks.item[count - 1] >
					  (count > 1 ? pickle->marks.item[count - 2] : 0);
	if (!*ret_plain)
		return NP_OK;
	mark = pickle->marks.item[--pickle->marks.count];
	return put_into(pickle, op, op == 'e' ? TAG_LIST : TAG_DICT, mark, err);
}

/* Remember the value on top at the end of the memo, where there is room for it. */
static bool remember_plain(struct np_pickle *pickle, const np_pickled *top)
{
	if (pickle->memo_set != pickle->memo.count || pickle->memo.count >= pickle->memo.capacity ||
	    (size_t)(top - pickle->stack.item) <= stack_floor(pickle) || top[-1] >= UNSET)
		return false;
	pickle->memo.item[pickle->memo.count++] = (uint32_t)top[-1];
	pickle->memo_set++;
	return true;
}

/* Values of the memo in a row, as in lists of frames; returns what is behind them. */
static inline const unsigned char *get_plain(const struct np_pickle *pickle,
					     const unsigned char *bytes, const unsigned char *end,
					     np_pickled **top, const np_pickled *most)
{
	const uint32_t *const memo = pickle->memo.item;
	const size_t count = pickle->memo.count;
	np_pickled *to = *top;

	while (end - bytes >= OPCODE_MOST && to < most) {
		const bool is_long = *bytes == 'j';
		uint32_t number;

		if (!is_long && *bytes != 'h')
			break;
		number = is_long ? four_bytes(bytes + 1) : bytes[1];
		/* UNSET reads as one that stands elsewhere. */
		if (number >= count || (memo[number] & TAG_ELSEWHERE) == TAG_ELSEWHERE)
			break;
		*to++ = memo[number];
		bytes += is_long ? 5 : 2;
	}
	*top = to;
	return bytes;
}

/* A dictionary that is read at once has so many keys and values at most, in so many bytes without
 * those of a list in it. */
#define WHOLE_VALUES 32
#define WHOLE_BYTES  (WHOLE_VALUES * OPCODE_MOST)

/* What stands in a dictionary; nothing of it is on the stack yet. */
struct whole_dict {
	np_pickled *values;
	size_t count;
	bool remembered; /* by the memo, in its next place */
	bool has_list;   /* one of the values is a list, of values of the memo */
	bool list_remembered;
	np_pickled *items;
	size_t item_count;
};

/* Of an opcode that remembers what is on top in this place of the memo, the next; 0: it is none. */
static size_t put_length(const unsigned char *bytes, size_t place)
{
	if (bytes[0] == 0x94)
		return 1;
	if (bytes[0] == 'q' && bytes[1] == place)
		return 2;
	return bytes[0] == 'r' && four_bytes(bytes + 1) == place ? 5 : 0;
}

/*
 * From behind the mark on, where there are bytes for as many values as there may be; returns what
 * is behind SETITEMS, or NULL: it is not so simple.
 */
static const unsigned char *look_at_dict(const struct np_pickle *pickle, const unsigned char *bytes,
					 const unsigned char *end, const np_pickled *most,
					 struct whole_dict *dict)
{
	const uint32_t *const memo = pickle->memo.item;
	const size_t known = pickle->memo.count;
	const np_pickled *const last = dict->items;
	np_pickled *to = dict->values;
	np_pickled *behind = dict->items;

	for (; to < last; to++) {
		const bool is_long = bytes[0] == 'j';
		uint32_t number = is_long ? four_bytes(bytes + 1) : bytes[1];
		uint64_t value;
		size_t put;

		/* Most are of these two, all keys among them. */
		if (bytes[0] == 'h' || is_long) {
			/* UNSET reads as one that stands elsewhere. */
			if (number >= known || (memo[number] & TAG_ELSEWHERE) == TAG_ELSEWHERE)
				return NULL;
			*to = memo[number];
			bytes += is_long ? 5 : 2;
			continue;
		}
		switch (bytes[0]) {
		case 'K':
			*to = make(TAG_INTEGER, number);
			bytes += 2;
			continue;
		case 'M':
			*to = make(TAG_INTEGER, number | (uint32_t)bytes[2] << 8);
			bytes += 3;
			continue;
		case 'J':
			number = four_bytes(bytes + 1);
			if (number > INT32_MAX)
				return NULL;
			*to = make(TAG_INTEGER, number);
			bytes += 5;
			continue;
		case 0x8a:
			value = short_long(bytes);
			if (value == UINT64_MAX)
				return NULL;
			*to = make(TAG_INTEGER, value);
			bytes += 2 + number;
			continue;
		case ']':
			if (dict->has_list)
				return NULL;
			dict->has_list = true;
			put = put_length(bytes + 1, known + dict->remembered);
			dict->list_remembered = put > 0;
			*to = make(TAG_LIST, pickle->nodes.count);
			bytes += 1 + put;
			if (*bytes != '(')
				continue;
			bytes = get_plain(pickle, bytes + 1, end, &behind, most);
			if (*bytes++ != 'e' || end - bytes < WHOLE_BYTES)
				return NULL;
			continue;
		case 'u':
			dict->count = (size_t)(to - dict->values);
			dict->item_count = (size_t)(behind - dict->items);
			return dict->count % 2 == 0 ? bytes + 1 : NULL;
		default:
			return NULL;
		}
	}
	return NULL;
}

/* Records of dictionaries stand in values below this. */
#define RECORD_MOST (UINT64_C(1) << (64 - TAG_BITS))

/* A dictionary that has just these items. */
static int make_dict(struct np_pickle *pickle, const np_pickled *items, size_t count,
		     np_pickled *ret, struct np_err *err)
{
	uint64_t record = UINT64_MAX;
	int rc = offer(pickle, 'u', TAG_DICT, 0, items, count, &record, err);
	node made = 0;

	if (rc < 0)
		return rc;
	if (record < RECORD_MOST) {
		*ret = make(TAG_RECORD, record);
		return NP_OK;
	}
	if (record != UINT64_MAX)
		made = (node)(record << 1 | 1);
	else if (hold(&made, items, count, err) < 0)
		return NP_E_NOMEM;
	*ret = make(TAG_DICT, pickle->nodes.count);
	pickle->nodes.item[pickle->nodes.count++] = made;
	return NP_OK;
}

/* Likewise the list in it, which has its place already. */
static int fill_list(struct np_pickle *pickle, size_t number, const np_pickled *items, size_t count,
		     struct np_err *err)
{
	uint64_t record = UINT64_MAX;
	int rc = offer(pickle, 'e', TAG_LIST, 0, items, count, &record, err);

	if (rc == NP_OK && record != UINT64_MAX)
		pickle->nodes.item[number] = (node)(record << 1 | 1);
	else if (rc == NP_OK)
		rc = hold(&pickle->nodes.item[number], items, count, err);
	return rc;
}

/*
 * EMPTY_DICT, mostly remembered, MARK, values of the memo and numbers, SETITEMS, as events are:
 * all of it at once, with no more on the stack than the dictionary, which goes to `top`. What is
 * not so simple is left to the opcodes: *ret_behind stays NULL, and nothing was done.
 */
static int run_dict(struct np_pickle *pickle, const unsigned char *bytes, const unsigned char *end,
		    np_pickled *top, const np_pickled *most, const unsigned char **ret_behind,
		    struct np_err *err)
{
	struct whole_dict dict = { .values = top + 1, .items = top + 1 + WHOLE_VALUES };
	const size_t number = pickle->nodes.count;
	const size_t place = pickle->memo.count;
	/* There are more bytes than these in the window. */
	const size_t put = put_length(bytes + 1, place);
	const unsigned char *behind;
	int rc = NP_OK;

	if (end - bytes < WHOLE_BYTES || bytes[1 + put] != '(' || most - top <= WHOLE_VALUES + 1 ||
	    pickle->memo_set != place || pickle->memo.capacity - place < 2 ||
	    pickle->nodes.capacity - number < 2 || number >= (UNSET >> TAG_BITS) - 1)
		return NP_OK;
	dict.remembered = put > 0;
	behind = look_at_dict(pickle, bytes + 2 + put, end, most, &dict);
	if (!behind)
		return NP_OK;
	/* The dictionary is remembered first, and known last. */
	if (dict.remembered)
		pickle->memo.item[pickle->memo.count++] = UNSET;
	if (dict.list_remembered)
		pickle->memo.item[pickle->memo.count++] = (uint32_t)make(TAG_LIST, number);
	pickle->memo_set = pickle->memo.count;
	if (dict.has_list)
		pickle->nodes.item[pickle->nodes.count++] = 0;
	if (dict.item_count > 0)
		rc = fill_list(pickle, number, dict.items, dict.item_count, err);
	if (rc == NP_OK)
		rc = make_dict(pickle, dict.values, dict.count, top, err);
	if (rc == NP_OK && dict.remembered)
		rc = remember(pickle, &pickle->memo.item[place], *top, err);
	*ret_behind = behind;
	return rc;
}

/*
 * The opcodes that nearly all of a file consists of, as long as whole ones are in the window and
 * there is nothing about them to refuse or to make room for: that is left to do_opcode(), where
 * they are the same.
 */
static int run_plain(struct np_pickle *pickle, struct np_err *err)
{
	const unsigned char *const window = (const unsigned char *)pickle->window.bytes;
	const unsigned char *bytes = window + pickle->at;
	const unsigned char *const end = window + pickle->window.length;
	np_pickled *top;
	const np_pickled *most;
	bool plain = true;
	int rc = NP_OK;

	/* Before the first value there is nothing to go on from. */
	if (!pickle->stack.item)
		return NP_OK;
	top = pickle->stack.item + pickle->stack.count;
	most = pickle->stack.item + pickle->stack.capacity;
	while (plain && end - bytes >= OPCODE_MOST && top < most) {
		size_t length = 2;
		uint32_t number = bytes[1];
		uint64_t value;

		switch (bytes[0]) {
		case 'j':
		case 'h': {
			const unsigned char *behind = get_plain(pickle, bytes, end, &top, most);

			length = (size_t)(behind - bytes);
			plain = length > 0;
			break;
		}
		case 'M':
			number |= (uint32_t)bytes[2] << 8;
			length = 3;
			__attribute__((fallthrough));
		case 'K':
			*top++ = make(TAG_INTEGER, number);
			break;
		case 'J':
			number = four_bytes(bytes + 1);
			length = 5;
			plain = number <= INT32_MAX;
			*top = make(TAG_INTEGER, number);
			top += plain;
			break;
		case 0x8a:
			value = short_long(bytes);
			length = 2 + (size_t)number;
			plain = value != UINT64_MAX;
			*top = make(TAG_INTEGER, value);
			top += plain;
			break;
		case '(':
			length = 1;
			plain = pickle->marks.count < pickle->marks.capacity &&
				pickle->marks.count < NP_PICKLE_MARKS_MOST;
			if (plain)
				pickle->marks.item[pickle->marks.count++] =
					(size_t)(top - pickle->stack.item);
			break;
		case '}': {
			const unsigned char *behind = NULL;

			pickle->at = (size_t)(bytes - window);
			rc = run_dict(pickle, bytes, end, top, most, &behind, err);
			if (rc < 0)
				return rc;
			if (behind) {
				length = (size_t)(behind - bytes);
				top++;
				break;
			}
		}
			__attribute__((fallthrough));
		case ']':
			length = 1;
			plain = pickle->nodes.count < pickle->nodes.capacity;
			if (!plain)
				break;
			pickle->nodes.item[pickle->nodes.count] = 0;
			*top++ = make(bytes[0] == '}' ? TAG_DICT : TAG_LIST, pickle->nodes.count++);
			break;
		case 'r':
			number = four_bytes(bytes + 1);
			length = 5;
			__attribute__((fallthrough));
		case 'q':
			plain = number == pickle->memo.count && remember_plain(pickle, top);
			break;
		case 0x94:
			length = 1;
			plain = remember_plain(pickle, top);
			break;
		case 'e':
		case 'u':
			length = 1;
			pickle->at = (size_t)(bytes - window);
			pickle->stack.count = (size_t)(top - pickle->stack.item);
			rc = put_plain(pickle, bytes[0], &plain, err);
			if (rc < 0)
				return rc;
			top = pickle->stack.item + pickle->stack.count;
			break;
		default:
			plain = false;
			break;
		}
		bytes += plain ? length : 0;
	}
	pickle->at = (size_t)(bytes - window);
	pickle->stack.count = (size_t)(top - pickle->stack.item);
	return rc;
}

/* So many bytes of a file at least have a container or something to remember. */
#define BYTES_EACH 40

int np_pickle_run(struct np_pickle *pickle, const struct np_pickle_user *user, np_pickled *ret_root,
		  struct np_err *err)
{
	int rc = have(pickle, OPCODE_MOST, err);

	if (rc == NP_OK)
		rc = check_magic(pickle, err);
	if (user)
		pickle->user = *user;
	np_vec_expect(&pickle->memo, pickle->size / BYTES_EACH);
	np_vec_expect(&pickle->nodes, pickle->size / BYTES_EACH);
	while (rc == NP_OK) {
		const unsigned char *bytes;
		size_t arguments;

		if (pickle->window.length - pickle->at < OPCODE_MOST && !pickle->window.ended)
			rc = have(pickle, OPCODE_MOST, err);
		if (rc < 0)
			return rc;
		rc = run_plain(pickle, err);
		if (rc < 0)
			return rc;
		bytes = (const unsigned char *)pickle->window.bytes + pickle->at;
		if (pickle->window.length - pickle->at < OPCODE_MOST && !pickle->window.ended)
			continue;
		if (pickle->at >= pickle->window.length)
			return cut(pickle, err);
		if (opcodes[*bytes].kind != 'd')
			return refuse(pickle, *bytes, err);
		arguments = opcodes[*bytes].arguments;
		if (pickle->window.length - pickle->at < 1 + arguments)
			return cut(pickle, err);
		if (*bytes == '.')
			break;
		rc = do_opcode(pickle, *bytes, little(bytes + 1, arguments), err);
		pickle->at += 1 + arguments;
	}
	if (rc < 0)
		return rc;
	if (pickle->stack.count != 1 || pickle->marks.count > 0)
		return wrong(pickle, '.', err, "%zu values are left instead of one",
			     pickle->stack.count);
	*ret_root = pickle->stack.item[0];
	pickle->at++;
	return look_behind(pickle, err);
}

static int make_reader(struct np_pickle **ret, struct np_err *err)
{
	struct np_pickle *pickle = calloc(1, sizeof(*pickle));

	if (pickle)
		pickle->texts = np_strtab_new();
	if (!pickle || !pickle->texts) {
		free(pickle);
		return np_fail_nomem(err, "a pickle");
	}
	*ret = pickle;
	return NP_OK;
}

static void set_limit(struct np_pickle *pickle, uint64_t size)
{
	pickle->limit = size < UINT64_MAX / UNPACKED_TIMES ? size * UNPACKED_TIMES : UINT64_MAX;
	if (pickle->limit < UNPACKED_LEAST)
		pickle->limit = UNPACKED_LEAST;
}

int np_pickle_open(const char *path, struct np_pickle **ret, struct np_err *err)
{
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	struct stat status;
	int rc = make_reader(&pickle, err);

	if (rc == NP_OK)
		rc = np_gz_open(path, &pickle->gz, &pickle->window, err);
	if (rc < 0)
		return rc;
	pickle->size = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
	set_limit(pickle, pickle->size);
	*ret = NP_STEAL(pickle);
	return NP_OK;
}

int np_pickle_open_bytes(const void *bytes, size_t length, const char *what, size_t block,
			 struct np_pickle **ret, struct np_err *err)
{
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	int rc = make_reader(&pickle, err);

	if (rc == NP_OK)
		rc = np_gz_open_bytes(bytes, length, what, block, &pickle->gz, &pickle->window,
				      err);
	if (rc < 0)
		return rc;
	set_limit(pickle, length);
	*ret = NP_STEAL(pickle);
	return NP_OK;
}

static void forget(node *at)
{
	if (!(*at & 1))
		free((void *)*at); /* NOLINT(performance-no-int-to-ptr) */
	*at = 0;
}

void np_pickle_close(struct np_pickle *pickle)
{
	if (!pickle)
		return;
	for (size_t i = 0; i < pickle->nodes.count; i++)
		forget(&pickle->nodes.item[i]);
	np_vec_release(&pickle->nodes);
	np_vec_release(&pickle->wide);
	np_vec_release(&pickle->memo);
	np_vec_release(&pickle->memo_wide);
	np_vec_release(&pickle->marks);
	np_vec_release(&pickle->stack);
	np_strtab_free(pickle->texts);
	np_gz_close(pickle->gz);
	free(pickle);
}

void np_pickle_closep(struct np_pickle **pickle)
{
	np_pickle_close(*pickle);
}

struct np_strtab *np_pickle_texts(const struct np_pickle *pickle)
{
	return pickle->texts;
}

struct np_strtab *np_pickle_take_texts(struct np_pickle *pickle)
{
	return NP_STEAL(pickle->texts);
}

uint64_t np_pickle_trailing(const struct np_pickle *pickle)
{
	return pickle->trailing;
}

uint64_t np_pickle_size(const struct np_pickle *pickle)
{
	return pickle->size;
}

enum np_pickled_type np_pickled_type(const struct np_pickle *pickle, np_pickled value)
{
	static const enum np_pickled_type types[] = {
		[TAG_NONE] = NP_PICKLED_NONE,       [TAG_BOOL] = NP_PICKLED_BOOL,
		[TAG_INTEGER] = NP_PICKLED_INTEGER, [TAG_WIDE] = NP_PICKLED_INTEGER,
		[TAG_LARGE] = NP_PICKLED_INTEGER,   [TAG_REAL] = NP_PICKLED_REAL,
		[TAG_TEXT] = NP_PICKLED_TEXT,       [TAG_PAIR] = NP_PICKLED_TUPLE,
		[TAG_LIST] = NP_PICKLED_LIST,       [TAG_TUPLE] = NP_PICKLED_TUPLE,
		[TAG_DICT] = NP_PICKLED_DICT,       [TAG_RECORD] = NP_PICKLED_RECORD,
	};

	if (has_node(value) && (*node_of(pickle, value) & 1))
		return NP_PICKLED_RECORD;
	return types[tag_of(value)];
}

bool np_pickled_integer(const struct np_pickle *pickle, np_pickled value, int64_t *ret)
{
	if (tag_of(value) == TAG_INTEGER)
		*ret = (int64_t)value >> TAG_BITS;
	else if (tag_of(value) == TAG_WIDE)
		*ret = (int64_t)pickle->wide.item[payload_of(value)];
	else
		return false;
	return true;
}

bool np_pickled_unsigned(const struct np_pickle *pickle, np_pickled value, uint64_t *ret)
{
	int64_t integer;

	if (tag_of(value) == TAG_LARGE) {
		*ret = pickle->wide.item[payload_of(value)];
		return true;
	}
	if (!np_pickled_integer(pickle, value, &integer) || integer < 0)
		return false;
	*ret = (uint64_t)integer;
	return true;
}

bool np_pickled_bool(np_pickled value, bool *ret)
{
	if (tag_of(value) != TAG_BOOL)
		return false;
	*ret = payload_of(value) != 0;
	return true;
}

bool np_pickled_real(const struct np_pickle *pickle, np_pickled value, double *ret)
{
	int64_t integer;

	if (tag_of(value) == TAG_REAL)
		memcpy(ret, &pickle->wide.item[payload_of(value)], sizeof(*ret));
	else if (np_pickled_integer(pickle, value, &integer))
		*ret = (double)integer;
	else
		return false;
	return true;
}

const np_pickled *np_pickled_items(const struct np_pickle *pickle, np_pickled value,
				   size_t *ret_count)
{
	const struct held *held = NULL;

	if (has_node(value) && !(*node_of(pickle, value) & 1))
		held = (const struct held *)*node_of(pickle,
						     value); /* NOLINT(performance-no-int-to-ptr) */
	*ret_count = held ? held->count : 0;
	return held ? held->item : NULL;
}

bool np_pickled_pair(const struct np_pickle *pickle, np_pickled value, int64_t *ret_first,
		     int64_t *ret_second)
{
	const np_pickled *items;
	size_t count;

	if (tag_of(value) == TAG_PAIR) {
		*ret_first = (int64_t)(payload_of(value) >> PAIR_BITS);
		*ret_second = (int64_t)(payload_of(value) & (uint64_t)(PAIR_MOST - 1));
		return true;
	}
	if (tag_of(value) != TAG_TUPLE)
		return false;
	items = np_pickled_items(pickle, value, &count);
	return count == 2 && np_pickled_integer(pickle, items[0], ret_first) &&
	       np_pickled_integer(pickle, items[1], ret_second);
}

uint64_t np_pickled_record(const struct np_pickle *pickle, np_pickled value)
{
	return tag_of(value) == TAG_RECORD ? payload_of(value) : *node_of(pickle, value) >> 1;
}

size_t np_pickled_records(const struct np_pickle *pickle, const np_pickled *items, size_t count,
			  uint64_t *ret)
{
	const node *nodes = pickle->nodes.item;

	for (size_t i = 0; i < count; i++) {
		node at;

		if (tag_of(items[i]) == TAG_RECORD) {
			ret[i] = payload_of(items[i]);
			continue;
		}
		at = has_node(items[i]) ? nodes[payload_of(items[i])] : 0;
		if (!(at & 1))
			return i;
		ret[i] = at >> 1;
	}
	return count;
}

void np_pickled_settle(struct np_pickle *pickle, np_pickled value, uint64_t record)
{
	node *at = has_node(value) ? node_of(pickle, value) : NULL;

	if (!at)
		return;
	forget(at);
	*at = (node)(record << 1 | 1);
}
