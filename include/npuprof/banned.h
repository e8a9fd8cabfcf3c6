/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BANNED_H
#define NP_BANNED_H

/*
 * Functions that cannot be used safely become compile errors. System headers
 * that declare them are included first, so that only uses fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* With _FORTIFY_SOURCE some of them are macros, which cannot be poisoned. */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef gets

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
#pragma GCC poison strtok atoi atol atoll atof
#pragma GCC poison localtime gmtime ctime asctime tmpnam

#endif /* NP_BANNED_H */
