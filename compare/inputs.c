/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and measures one side of a comparison, whatever kind of input it is (inputs.h). */
#include "inputs.h"

#include "cli/prepare/prepare.h"

#include <errno.h>
#include <sys/stat.h>

int inputs_load(const char *path, const struct np_common *common, struct np_analysis **ret,
		struct np_err *err)
{
	const struct np_opt_list picks = { 0 };
	struct np_common own = *common;
	struct stat status;

	if (stat(path, &status) < 0)
		return np_fail(err, NP_E_USAGE, "cannot read '%s': %s", path, strerror(errno));
	own.dirs = (struct np_opt_list){ &path, 1, 1 };
	return prepare_analysis(&own, &picks, ret, err);
}
