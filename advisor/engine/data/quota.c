/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the memory that a rule holds on its thread. */
#include "quota.h"

#include <inttypes.h>

static _Thread_local bool counting;
static _Thread_local bool exceeded;
static _Thread_local int64_t limit;
static _Thread_local int64_t left;

void adv_quota_begin(int64_t bytes)
{
	limit = bytes;
	left = bytes;
	exceeded = false;
	counting = bytes > 0;
}

void adv_quota_end(void)
{
	counting = false;
}

bool adv_quota_take(int64_t bytes)
{
	if (!counting)
		return true;
	if (bytes > left) {
		exceeded = true;
		return false;
	}
	left -= bytes;
	return true;
}

void adv_quota_give(int64_t bytes)
{
	if (counting)
		left += bytes;
}

bool adv_quota_exceeded(void)
{
	return exceeded;
}

int adv_quota_fail(struct np_err *err)
{
	return np_fail(err, NP_E_RANGE, "it needs more than %" PRId64 " MB of memory",
		       limit / 1000000);
}
