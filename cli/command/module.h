/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MODULE_H
#define NP_MODULE_H

#include "npuprof/err.h"

/*
 * Libraries that belong to npuprof and are loaded when they are needed: what few
 * runs use must not make the start of all of them longer.
 */

/*
 * The address of `symbol` in a library that stands beside the program, in the
 * library directory of its installation, or where the system looks. NP_E_NOTFOUND
 * where there is no such library, with the reason; NP_E_FORMAT where it is of
 * another version.
 */
int np_module_find(const char *library, const char *symbol, void **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_MODULE_H */
