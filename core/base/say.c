/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the gaps of sentences with values and their units. */
#include "npuprof/say.h"

#include "npuprof/lang.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

/* Below a percent a digit more, below a tenth of one nothing that anybody acts on. */
#define LEAST_SHARE 0.001
#define WHOLE_SHARE 0.0095

void np_say_share(struct np_buf *buf, double share)
{
	if (isnan(share))
		np_buf_add(buf, "?");
	else if (share > 0 && share < LEAST_SHARE)
		np_buf_add(buf, np_lang_text("under 0.1 %"));
	else
		np_buf_printf(buf, "%.*f %%", share > 0 && share < WHOLE_SHARE, 100 * share);
}

static void put_message(struct np_buf *buf, const char *text)
{
	NP_CLEANUP(np_buf_release) struct np_buf said = NP_BUF_INIT;

	np_lang_put(&said, text);
	buf->failed |= said.failed;
	if (!said.failed && said.text)
		np_text_safe(buf, said.text, said.length);
}

static void put_value(struct np_buf *buf, const struct np_said *value)
{
	switch (value->kind) {
	case NP_SAID_IS_TEXT:
		np_text_safe(buf, value->text ? value->text : "?",
			     value->text ? strlen(value->text) : 1);
		break;
	case NP_SAID_IS_MSG:
		put_message(buf, value->text ? value->text : "?");
		break;
	case NP_SAID_IS_INT:
		np_buf_printf(buf, "%" PRId64, value->number);
		break;
	case NP_SAID_IS_TIME:
		np_text_duration(buf, value->number);
		break;
	case NP_SAID_IS_BYTES:
		np_text_bytes(buf, value->number);
		break;
	case NP_SAID_IS_SHARE:
		np_say_share(buf, value->real);
		break;
	case NP_SAID_IS_REAL:
		np_buf_printf(buf, "%.1f", value->real);
		break;
	case NP_SAID_NOTHING:
		break;
	}
}

void np_say_values(struct np_buf *buf, const char *sentence, const struct np_said *values)
{
	int count = 0;

	sentence = np_lang_text(sentence);
	while (values[count].kind != NP_SAID_NOTHING)
		count++;
	while (*sentence) {
		size_t plain = strcspn(sentence, "{");
		int gap;

		np_buf_add_bytes(buf, sentence, plain);
		sentence += plain;
		if (!*sentence)
			break;
		gap = sentence[1] - '0';
		if (gap >= 1 && gap <= count && sentence[2] == '}') {
			put_value(buf, &values[gap - 1]);
			sentence += 3;
		} else {
			np_buf_add_char(buf, *sentence++);
		}
	}
}
