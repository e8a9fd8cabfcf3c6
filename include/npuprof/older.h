/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_OLDER_H
#define NP_OLDER_H

/*
 * What GNU C libraries before 2.32 do not have, down to 2.28 (openEuler 20.03, RHEL 8). The names
 * are those of newer ones, so that nobody has to know.
 */
#include <string.h>

#ifdef __GLIBC__
#if !__GLIBC_PREREQ(2, 30)
#include <sys/syscall.h>
#include <unistd.h>

static inline pid_t gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}
#endif

#if !__GLIBC_PREREQ(2, 32)
/* Errors that are known have texts that stay; others are put into memory of the thread. */
static inline const char *strerrordesc_np(int number)
{
	static __thread char text[64];

	return strerror_r(number, text, sizeof(text));
}
#endif
#endif

#endif /* NP_OLDER_H */
