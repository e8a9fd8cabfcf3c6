/* SPDX-License-Identifier: Apache-2.0 */
/* Plain pickles are read in one pass; whatever names code, lies or has no end is refused. */
#include "npuprof/pickle.h"

#include "np_fixture.h"

#include "npuprof/buf.h"

/* A literal with its length, zeros included. */
#define BYTES(literal) (literal), sizeof(literal) - 1

static int open_and_run(const char *bytes, size_t length, size_t block, np_pickle_take *take,
			void *context, struct np_pickle **ret, np_pickled *root, struct np_err *err)
{
	const struct np_pickle_user user = { .take = take, .context = context };
	int rc = np_pickle_open_bytes(bytes, length, "test", block, ret, err);

	return rc < 0 ? rc : np_pickle_run(*ret, &user, root, err);
}

/* Refused with these words, wherever the window ends. */
static void assert_refused(const char *bytes, size_t length, const char *words)
{
	for (size_t block = 0; block <= 20; block++) {
		NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
		struct np_err err = NP_ERR_INIT;
		np_pickled root = 0;

		assert_true(open_and_run(bytes, length, block, NULL, NULL, &pickle, &root, &err) <
			    0);
		assert_holds(err.text, words);
		assert_one_line(&err);
	}
}

static void assert_text(const struct np_pickle *pickle, np_pickled value, const char *text)
{
	assert_int_equal(np_pickled_type(pickle, value), NP_PICKLED_TEXT);
	assert_string_equal(np_strtab_text(np_pickle_texts(pickle), np_pickled_text(value)), text);
}

static void assert_integer(const struct np_pickle *pickle, np_pickled value, int64_t expected)
{
	int64_t integer = 0;

	assert_true(np_pickled_integer(pickle, value, &integer));
	assert_int_equal(integer, expected);
}

static void plain_data_of_all_kinds_is_read(void **state)
{
	/* [None, True, 200, -2, 2**47, -2**62, 2**63, 0.5, "name", (1, 2), (), {"k": 7}, same
	 * "name"] */
	static const char bytes[] =
		"\x80\x04\x95\x40\0\0\0\0\0\0\0]\x94(N\x88K\xc8J\xfe\xff\xff\xff"
		"\x8a\x06\0\0\0\0\0\x80\x8a\x07\0\0\0\0\0\0\x80"
		"\x8a\x09\0\0\0\0\0\0\0\x80\0G\x3f\xe0\0\0\0\0\0\0"
		"\x8c\x04name\x94K\x01K\x02\x86\x94)}\x94\x8c\x01k\x94K\x07sh\x01"
		"\x8a\0M\x01\x02"
		"e.";

	(void)state;
	for (size_t block = 0; block <= 40; block++) {
		NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
		struct np_err err = NP_ERR_INIT;
		const np_pickled *items;
		np_pickled root = 0;
		uint64_t large = 0;
		int64_t first = 0;
		int64_t second = 0;
		int64_t none = 0;
		bool truth = false;
		double real = 0;
		size_t count = 0;

		assert_ok(open_and_run(BYTES(bytes), block, NULL, NULL, &pickle, &root, &err), err);
		items = np_pickled_items(pickle, root, &count);
		assert_int_equal(count, 15);
		assert_int_equal(np_pickled_type(pickle, items[0]), NP_PICKLED_NONE);
		assert_true(np_pickled_bool(items[1], &truth));
		assert_true(truth);
		assert_integer(pickle, items[2], 200);
		assert_integer(pickle, items[3], -2);
		assert_integer(pickle, items[4], -(INT64_C(1) << 47));
		assert_integer(pickle, items[5], -(INT64_C(1) << 55));
		assert_false(np_pickled_integer(pickle, items[6], &none));
		assert_true(np_pickled_unsigned(pickle, items[6], &large));
		assert_true(large == UINT64_C(1) << 63);
		assert_true(np_pickled_real(pickle, items[7], &real));
		assert_near(real, 0.5, 0);
		assert_text(pickle, items[8], "name");
		assert_true(np_pickled_pair(pickle, items[9], &first, &second));
		assert_int_equal(first, 1);
		assert_int_equal(second, 2);
		assert_int_equal(np_pickled_type(pickle, items[10]), NP_PICKLED_TUPLE);
		assert_int_equal(np_pickled_type(pickle, items[11]), NP_PICKLED_DICT);
		assert_text(pickle, items[12], "name");
		assert_integer(pickle, items[13], 0);
		assert_integer(pickle, items[14], 513);
		items = np_pickled_items(pickle, items[11], &count);
		assert_int_equal(count, 2);
		assert_text(pickle, items[0], "k");
		assert_integer(pickle, items[1], 7);
	}
}

static int count_taken(void *context, struct np_pickle *pickle, const np_pickled *pairs,
		       size_t count, uint64_t *ret_record, struct np_err *err)
{
	size_t *taken = context;

	(void)err;
	assert_int_equal(count, 1);
	assert_text(pickle, pairs[0], "a");
	*ret_record = (*taken)++;
	return NP_OK;
}

static void a_dictionary_becomes_the_record_of_who_takes_it(void **state)
{
	/* Protocol 2 as C++ writes it: [{"a": 1}, {"a": 2}, the first once more] */
	static const char bytes[] = "\x80\x02](}q\x01(X\x01\0\0\0aq\x02K\x01u}(h\x02K\x02uh\x01"
				    "e.";
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	struct np_err err = NP_ERR_INIT;
	const np_pickled *items;
	np_pickled root = 0;
	size_t taken = 0;
	size_t count = 0;

	(void)state;
	assert_ok(open_and_run(BYTES(bytes), 0, count_taken, &taken, &pickle, &root, &err), err);
	assert_int_equal(taken, 2);
	items = np_pickled_items(pickle, root, &count);
	assert_int_equal(count, 3);
	assert_int_equal(np_pickled_type(pickle, items[2]), NP_PICKLED_RECORD);
	assert_int_equal(np_pickled_record(pickle, items[0]), 0);
	assert_int_equal(np_pickled_record(pickle, items[1]), 1);
	assert_int_equal(np_pickled_record(pickle, items[2]), 0);
	np_pickled_settle(pickle, root, 7);
	assert_int_equal(np_pickled_type(pickle, root), NP_PICKLED_RECORD);
	assert_int_equal(np_pickled_record(pickle, root), 7);
}

static void a_record_that_is_added_to_is_damage(void **state)
{
	static const char bytes[] = "\x80\x02}q\0(X\x01\0\0\0aK\x01u(X\x01\0\0\0aK\x02u.";
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	struct np_err err = NP_ERR_INIT;
	np_pickled root = 0;
	size_t taken = 0;

	(void)state;
	assert_int_equal(open_and_run(BYTES(bytes), 0, count_taken, &taken, &pickle, &root, &err),
			 NP_E_FORMAT);
	assert_holds(err.text, "SETITEMS at byte 24: what was complete is added to");
}

/* Lists of numbers become their sum, with what is added to them later. */
static int sum_taken(void *context, struct np_pickle *pickle, uint64_t before,
		     const np_pickled *items, size_t count, uint64_t *ret_record,
		     struct np_err *err)
{
	uint64_t sum = before == UINT64_MAX ? 0 : before;
	int64_t number;

	(void)context;
	(void)err;
	for (size_t i = 0; i < count; i++) {
		if (!np_pickled_integer(pickle, items[i], &number))
			return NP_OK;
		sum += (uint64_t)number;
	}
	*ret_record = sum;
	return NP_OK;
}

static void a_list_becomes_the_record_of_who_takes_it_and_may_grow(void **state)
{
	/* [[1, 2] and then [4], [None], []]; the first is added to once more with APPEND 8 */
	static const char bytes[] = "\x80\x02](]q\0(K\x01K\x02"
				    "e(K\x04"
				    "eK\x08"
				    "a](Ne]e.";
	/* A list of 3 that is added a None to. */
	static const char damaged[] = "\x80\x02](K\x03"
				      "e(Ne.";
	const struct np_pickle_user user = { .take_list = sum_taken };
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	NP_CLEANUP(np_pickle_closep) struct np_pickle *other = NULL;
	struct np_err err = NP_ERR_INIT;
	const np_pickled *items;
	uint64_t records[3];
	np_pickled root = 0;
	size_t count = 0;

	(void)state;
	assert_ok(np_pickle_open_bytes(BYTES(bytes), "test", 0, &pickle, &err), err);
	assert_ok(np_pickle_run(pickle, &user, &root, &err), err);
	items = np_pickled_items(pickle, root, &count);
	assert_int_equal(count, 3);
	assert_int_equal(np_pickled_records(pickle, items, count, records), 1);
	assert_int_equal(records[0], 15);
	assert_int_equal(np_pickled_type(pickle, items[1]), NP_PICKLED_LIST);
	assert_int_equal(np_pickled_type(pickle, items[2]), NP_PICKLED_LIST);
	assert_ok(np_pickle_open_bytes(BYTES(damaged), "test", 0, &other, &err), err);
	assert_int_equal(np_pickle_run(other, &user, &root, &err), NP_E_FORMAT);
	assert_holds(err.text, "APPENDS at byte 9: what was complete is added to");
}

static void what_names_code_is_refused_with_its_name_and_offset(void **state)
{
	static const struct {
		unsigned char op;
		const char *name;
	} codes[] = {
		{ 'o', "OBJ" },
		{ 0x81, "NEWOBJ" },
		{ 0x92, "NEWOBJ_EX" },
		{ 'R', "REDUCE" },
		{ 'b', "BUILD" },
		{ 0x82, "EXT1" },
		{ 0x83, "EXT2" },
		{ 0x84, "EXT4" },
		{ 'Q', "BINPERSID" },
		{ 0x97, "NEXT_BUFFER" },
		{ 0x98, "READONLY_BUFFER" },
	};

	(void)state;
	assert_refused(BYTES("\x80\x02"
			     "cos\nsystem\n(X\x02\0\0\0idtR."),
		       "'test': GLOBAL 'os system' at byte 2 names code");
	assert_refused(BYTES("\x80\x04\x8c\x02os\x8c\x06system\x93."),
		       "STACK_GLOBAL 'os system' at byte 14 names code");
	assert_refused(BYTES("\x80\x02(ios\nsystem\n."), "INST 'os system' at byte 3 names code");
	assert_refused(BYTES("\x80\x02P12\n."), "PERSID '12' at byte 2 names code");
	assert_refused(BYTES("\x80\x02"
			     "cbuiltins\nlist\n)R."),
		       "GLOBAL 'builtins list' at byte 2 names code");
	for (size_t i = 0; i < NP_COUNT(codes); i++) {
		char bytes[] = "\x80\x04]\x94K\x01?.";
		char words[100];

		bytes[6] = (char)codes[i].op;
		(void)snprintf(words, sizeof(words), "%s at byte 6 names code", codes[i].name);
		assert_refused(bytes, sizeof(bytes) - 1, words);
	}
}

static void what_no_writer_of_snapshots_uses_is_refused(void **state)
{
	(void)state;
	assert_refused(BYTES("\x80\x02I12\n."),
		       "opcode 0x49 INT at byte 2 is not part of plain data");
	assert_refused(BYTES("\x80\x04\x8f."), "opcode 0x8f EMPTY_SET at byte 2");
	assert_refused(BYTES("\x80\x04\x96\x01\0\0\0\0\0\0\0x."), "BYTEARRAY8 at byte 2");
	assert_refused(BYTES("\x80\x04\xff."), "opcode 0xff at byte 2");
	assert_refused(BYTES("\x80\x09N."), "protocol 9 is not known");
	assert_refused(BYTES("{\"segments\": []}"), "is not a pickle of protocol 2 to 5");
	assert_refused(BYTES("PK\3\4rest"), "is an archive");
}

static void lengths_beyond_the_file_allocate_nothing(void **state)
{
	(void)state;
	assert_refused(BYTES("\x80\x04X\xff\xff\xff\x7f"
			     "abc."),
		       "BINUNICODE at byte 2: a text of 2147483647 bytes");
	assert_refused(BYTES("\x80\x04X\xff\xff\xff\xff"
			     "abc."),
		       "a text of 4294967295 bytes");
	assert_refused(BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
			     "abc."),
		       "a text of 18446744073709551615 bytes");
	assert_refused(BYTES("\x80\x04\x8e\0\0\0\0\0\0\0\x80"
			     "abc."),
		       "BINBYTES8 at byte 2: a text of");
	assert_refused(BYTES("\x80\x04\x8c\x09"
			     "abc."),
		       "is cut at byte 8");
	assert_refused(BYTES("\x80\x04\x8b\0\0\0\x80zzzz."), "a number of 2147483648 bytes");
	assert_refused(BYTES("\x80\x04\x8a\x09zzzzzzzzz."), "a number of more than 64 bits");
	assert_refused(BYTES("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN."), "a frame of");
	assert_refused(BYTES("\x80\x04\x95\x40\0\0\0\0\0\0\0N."),
		       "a frame ends at byte 75, the file at 13");
}

static void memos_are_bounded_by_the_file(void **state)
{
	(void)state;
	assert_refused(BYTES("\x80\x02Nr\xff\xff\xff\xff."),
		       "LONG_BINPUT at byte 3: place 4294967295 of the memo is beyond any in use");
	assert_refused(BYTES("\x80\x02h\x05."), "BINGET at byte 2: place 5 of the memo is empty");
	assert_refused(BYTES("\x80\x02Nq\x02h\x01."), "place 1 of the memo is empty");
	assert_refused(BYTES("\x80\x02j\xff\xff\xff\xff."), "LONG_BINGET at byte 2");
	assert_refused(BYTES("\x80\x04\x94."), "MEMOIZE at byte 2: there is nothing to remember");
}

static void damaged_stacks_are_named(void **state)
{
	(void)state;
	assert_refused(BYTES("\x80\x02"
			     "e."),
		       "APPENDS at byte 2: there is no mark");
	assert_refused(BYTES("\x80\x02("
			     "e."),
		       "APPENDS at byte 3: there is nothing to add to");
	assert_refused(BYTES("\x80\x02N("
			     "K\x01"
			     "e."),
		       "there is no list to add to");
	assert_refused(BYTES("\x80\x02](K\x01u."), "there is no dictionary to add to");
	assert_refused(BYTES("\x80\x02}(K\x01u."), "a key without a value");
	assert_refused(BYTES("\x80\x02"
			     "0."),
		       "POP at byte 2: there is nothing to take off");
	assert_refused(BYTES("\x80\x02N(\x86."), "TUPLE2 at byte 4: 2 values are needed");
	assert_refused(BYTES("\x80\x02]N("
			     "a."),
		       "APPEND at byte 5: 2 values are needed");
	assert_refused(BYTES("\x80\x02NN."), "2 values are left instead of one");
	assert_refused(BYTES("\x80\x02."), "0 values are left instead of one");
	assert_refused(BYTES("\x80\x02N(."), "values are left instead of one");
}

/* Every level refers to the one below it ten times: 10^60 if anybody expanded it. */
static void a_bomb_of_shared_lists_stays_as_small_as_its_file(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf bytes = NP_BUF_INIT;
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	struct np_err err = NP_ERR_INIT;
	np_pickled root = 0;
	size_t count = 0;

	(void)state;
	np_buf_add_bytes(&bytes, BYTES("\x80\x04]\x94"));
	for (int level = 0; level < 60; level++) {
		np_buf_add_bytes(&bytes, BYTES("0]\x94("));
		for (int i = 0; i < 10; i++) {
			np_buf_add_char(&bytes, 'h');
			np_buf_add_char(&bytes, (char)level);
		}
		np_buf_add_char(&bytes, 'e');
	}
	np_buf_add_char(&bytes, '.');
	assert_ok(open_and_run(bytes.text, bytes.length, 0, NULL, NULL, &pickle, &root, &err), err);
	(void)np_pickled_items(pickle, root, &count);
	assert_int_equal(count, 10);
}

static void a_list_within_itself_and_endless_nesting_need_no_recursion(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf bytes = NP_BUF_INIT;
	NP_CLEANUP(np_pickle_closep) struct np_pickle *itself = NULL;
	NP_CLEANUP(np_pickle_closep) struct np_pickle *deep = NULL;
	struct np_err err = NP_ERR_INIT;
	np_pickled root = 0;
	const int depth = 200000;

	(void)state;
	assert_ok(open_and_run(BYTES("\x80\x04]\x94h\0a."), 0, NULL, NULL, &itself, &root, &err),
		  err);
	np_buf_add_bytes(&bytes, BYTES("\x80\x04"));
	np_buf_add_repeated(&bytes, ']', (size_t)depth);
	np_buf_add_repeated(&bytes, 'a', (size_t)depth - 1);
	np_buf_add_char(&bytes, '.');
	assert_ok(open_and_run(bytes.text, bytes.length, 0, NULL, NULL, &deep, &root, &err), err);
	np_buf_clear(&bytes);
	np_buf_add_bytes(&bytes, BYTES("\x80\x04"));
	np_buf_add_repeated(&bytes, '(', NP_PICKLE_MARKS_MOST + 1);
	assert_refused(bytes.text, bytes.length, "more than 1000 marks are open");
}

static void what_is_remembered_is_the_same_however_large_it_is(void **state)
{
	/* [2**62, -3, (70000, 5), 9] and each of them again, out of places 1 to 4. */
	static const char bytes[] =
		"\x80\x02](\x8a\x08\0\0\0\0\0\0\0\x40q\x01J\xfd\xff\xff\xffq\x02"
		"J\x70\x11\x01\0K\x05\x86q\x03K\x09q\x04"
		"h\x01h\x02h\x03h\x04"
		"e.";
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	struct np_err err = NP_ERR_INIT;
	const np_pickled *items;
	np_pickled root = 0;
	size_t count = 0;

	(void)state;
	assert_ok(open_and_run(BYTES(bytes), 0, NULL, NULL, &pickle, &root, &err), err);
	items = np_pickled_items(pickle, root, &count);
	assert_int_equal(count, 8);
	for (size_t i = 0; i < 8; i += 4) {
		int64_t first = 0;
		int64_t second = 0;

		assert_integer(pickle, items[i], INT64_C(1) << 62);
		assert_integer(pickle, items[i + 1], -3);
		assert_true(np_pickled_pair(pickle, items[i + 2], &first, &second));
		assert_int_equal(first, 70000);
		assert_int_equal(second, 5);
		assert_integer(pickle, items[i + 3], 9);
	}
}

/* What was taken, in words, and how many. */
struct told {
	struct np_buf words;
	size_t count;
};

static void tell(struct told *told, const struct np_pickle *pickle, np_pickled value)
{
	enum np_pickled_type type = np_pickled_type(pickle, value);
	int64_t number = 0;
	size_t count = 0;

	(void)np_pickled_integer(pickle, value, &number);
	(void)np_pickled_items(pickle, value, &count);
	np_buf_printf(&told->words, " %d:%lld:%u:%zu", (int)type, (long long)number,
		      (unsigned)np_pickled_text(value), count);
	if (type == NP_PICKLED_RECORD)
		np_buf_printf(&told->words, "#%llu",
			      (unsigned long long)np_pickled_record(pickle, value));
}

/* Every fifth is kept as it is. */
static int tell_taken(void *context, struct np_pickle *pickle, const np_pickled *pairs,
		      size_t count, uint64_t *ret_record, struct np_err *err)
{
	struct told *told = context;

	(void)err;
	for (size_t i = 0; i < 2 * count; i++)
		tell(told, pickle, pairs[i]);
	if (told->count++ % 5 != 4)
		*ret_record = told->count;
	return NP_OK;
}

static int tell_list(void *context, struct np_pickle *pickle, uint64_t before,
		     const np_pickled *items, size_t count, uint64_t *ret_record,
		     struct np_err *err)
{
	struct told *told = context;

	(void)err;
	np_buf_printf(&told->words, " [%zu%s", count, before == UINT64_MAX ? "" : "+");
	for (size_t i = 0; i < count; i++)
		tell(told, pickle, items[i]);
	if (count == 2)
		*ret_record = 1000 + told->count;
	return NP_OK;
}

/* Dictionaries as events and frames are, each followed by itself out of the memo. */
static void add_put(struct np_buf *buf, bool numbered, unsigned place)
{
	const char own[] = { 'r', (char)place, (char)(place >> 8), 0, 0 };

	if (!numbered)
		np_buf_add_bytes(buf, BYTES("\x94"));
	else if (place < 256)
		np_buf_add_bytes(buf, (const char[]){ 'q', (char)place }, 2);
	else
		np_buf_add_bytes(buf, own, sizeof(own));
}

/* Numbered, as protocol 2 has it, or not. */
static void add_dictionaries(struct np_buf *buf, unsigned count, bool numbered)
{
	unsigned place = 3;

	np_buf_add_bytes(buf, BYTES("\x80\x04]\x94(\x8c\x01"
				    "a\x94\x8c\x01"
				    "b\x94"));
	for (unsigned i = 0; i < count; i++) {
		const char own[] = { 'j', (char)place, (char)(place >> 8), 0, 0 };
		const char low = (char)i;

		np_buf_add_bytes(buf, BYTES("}"));
		add_put(buf, numbered, place);
		np_buf_add_bytes(buf, BYTES("(h\x01"));
		if (i % 4 == 0)
			np_buf_add_bytes(buf, BYTES("M\x01\x02h\x02K\x07"));
		else if (i % 4 == 1)
			np_buf_add_bytes(buf, BYTES("J\x01\x02\x03\x04h\x02]"));
		else if (i % 4 == 2)
			np_buf_add_bytes(buf, BYTES("\x8a\x06\x01\x02\x03\x04\x05\x06h\x02]"));
		else
			np_buf_add_bytes(buf, BYTES("]"));
		if (i % 4 > 0)
			add_put(buf, numbered, place + 1);
		if (i % 4 == 1)
			np_buf_add_bytes(buf, BYTES("(h\x01h\x02"
						    "e"));
		if (i % 4 == 3) {
			np_buf_add_bytes(buf, BYTES("(h\x01K\x01"
						    "eh\x02K"));
			np_buf_add_bytes(buf, &low, 1);
		}
		np_buf_add_bytes(buf, BYTES("u"));
		np_buf_add_bytes(buf, own, sizeof(own));
		place += i % 4 == 0 ? 1 : 2;
	}
	np_buf_add_bytes(buf, BYTES("e."));
}

static void read_told(const struct np_buf *bytes, size_t block, struct told *told)
{
	const struct np_pickle_user user = { tell_taken, tell_list, told };
	NP_CLEANUP(np_pickle_closep) struct np_pickle *pickle = NULL;
	struct np_err err = NP_ERR_INIT;
	const np_pickled *items;
	np_pickled root = 0;
	size_t count = 0;

	assert_ok(np_pickle_open_bytes(bytes->text, bytes->length, "test", block, &pickle, &err),
		  err);
	assert_ok(np_pickle_run(pickle, &user, &root, &err), err);
	items = np_pickled_items(pickle, root, &count);
	for (size_t i = 0; i < count; i++)
		tell(told, pickle, items[i]);
}

static void a_dictionary_is_the_same_at_once_and_opcode_by_opcode(void **state)
{
	(void)state;
	for (int numbered = 0; numbered < 2; numbered++) {
		NP_CLEANUP(np_buf_release) struct np_buf bytes = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf expected = NP_BUF_INIT;

		add_dictionaries(&bytes, 900, numbered);
		/* In a window of 100 bytes there is never room to look at a whole one. */
		for (size_t block = 100; block != 1; block = block == 100 ? 0
							     : block == 0 ? 700
									  : 1) {
			struct told told = { .words = NP_BUF_INIT };

			read_told(&bytes, block, &told);
			assert_int_equal(told.count, 900);
			if (block == 100)
				np_buf_add(&expected, told.words.text);
			assert_string_equal(told.words.text, expected.text);
			np_buf_release(&told.words);
		}
	}
}

static void a_file_cut_anywhere_is_refused_in_a_line(void **state)
{
	static const char bytes[] = "\x80\x04\x95\x15\0\0\0\0\0\0\0}\x94(\x8c\x01k\x94]\x94(K\x01"
				    "M\x01\x02"
				    "eu.";

	(void)state;
	for (size_t length = 1; length < sizeof(bytes) - 1; length++) {
		char words[40];

		(void)snprintf(words, sizeof(words), "is cut at byte %zu", length);
		assert_refused(bytes, length, words);
	}
}

static void zeros_behind_the_end_are_padding_and_others_are_counted(void **state)
{
	NP_CLEANUP(np_pickle_closep) struct np_pickle *padded = NULL;
	NP_CLEANUP(np_pickle_closep) struct np_pickle *followed = NULL;
	struct np_err err = NP_ERR_INIT;
	np_pickled root = 0;

	(void)state;
	assert_ok(open_and_run(BYTES("\x80\x02N.\0\0"), 0, NULL, NULL, &padded, &root, &err), err);
	assert_int_equal(np_pickle_trailing(padded), 0);
	assert_ok(open_and_run(BYTES("\x80\x02N.cos\n"), 0, NULL, NULL, &followed, &root, &err),
		  err);
	assert_int_equal(np_pickle_trailing(followed), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_data_of_all_kinds_is_read),
		cmocka_unit_test(a_dictionary_becomes_the_record_of_who_takes_it),
		cmocka_unit_test(a_record_that_is_added_to_is_damage),
		cmocka_unit_test(a_list_becomes_the_record_of_who_takes_it_and_may_grow),
		cmocka_unit_test(what_names_code_is_refused_with_its_name_and_offset),
		cmocka_unit_test(what_no_writer_of_snapshots_uses_is_refused),
		cmocka_unit_test(lengths_beyond_the_file_allocate_nothing),
		cmocka_unit_test(memos_are_bounded_by_the_file),
		cmocka_unit_test(damaged_stacks_are_named),
		cmocka_unit_test(a_bomb_of_shared_lists_stays_as_small_as_its_file),
		cmocka_unit_test(a_list_within_itself_and_endless_nesting_need_no_recursion),
		cmocka_unit_test(what_is_remembered_is_the_same_however_large_it_is),
		cmocka_unit_test(a_dictionary_is_the_same_at_once_and_opcode_by_opcode),
		cmocka_unit_test(a_file_cut_anywhere_is_refused_in_a_line),
		cmocka_unit_test(zeros_behind_the_end_are_padding_and_others_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
