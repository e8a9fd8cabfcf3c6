/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

const struct syn_form syn_forms[] = {
	{ SYN_TORCH, .db = true },       { SYN_TORCH, .text = true },
	{ SYN_TORCH, true, true },       { SYN_MSPROF, .db = true },
	{ SYN_MSPROF, .text = true },    { SYN_MINDSPORE, .db = true },
	{ SYN_MINDSPORE, .text = true }, { SYN_MSMONITOR, .db = true },
};

const char *const syn_form_names[] = { "db",          "text",         "both",           "msprof-db",
				       "msprof-text", "mindspore-db", "mindspore-text", "msmonitor",
				       NULL };

bool syn_has_framework(const struct syn_form *form)
{
	return form->maker == SYN_TORCH || form->maker == SYN_MINDSPORE;
}
