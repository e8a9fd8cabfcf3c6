/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INFO_H
#define NP_INFO_H

/* Presenting what is in a directory. */

#include "report.h"

#include "npuprof/readiness.h"

/* More communicators than fit a screen are in the JSON. */
#define INFO_MAX_GROUPS 12

struct info {
	const struct np_run *run;
	const struct np_cluster *cluster;
	const char *input;
	size_t width;
	bool color;
};

int info_screen(const struct info *info, const struct np_readiness *analyses, struct np_buf *buf,
		struct np_err *err) NP_MUST_USE;
int info_json(const struct info *info, const struct np_readiness *analyses, FILE *stream,
	      struct np_err *err) NP_MUST_USE;

#endif /* NP_INFO_H */
