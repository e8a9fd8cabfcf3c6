/* SPDX-License-Identifier: Apache-2.0 */
#include "advisor_problems.h"

#include "cli/command/output.h"

void say_problems(const struct problems *problems)
{
	for (size_t i = 0; i < problems->list.count; i++) {
		struct np_buf line = NP_BUF_INIT;

		problem_format(&line, &problems->list.item[i]);
		(void)np_report(0, "%s", line.text);
		np_buf_release(&line);
	}
}
