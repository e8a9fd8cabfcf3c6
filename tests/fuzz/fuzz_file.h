/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FUZZ_FILE_H
#define NP_FUZZ_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * For targets that read files
 * ===========================
 *
 * The bytes of a run become the file fuzz_path, which is removed at the end.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_path[] = "/tmp/npuprof-fuzz-XXXXXX";

static inline void require(bool holds)
{
	if (!holds)
		abort();
}

static inline void fuzz_remove_file(void)
{
	(void)unlink(fuzz_path);
}

static inline bool fuzz_write_file(const uint8_t *data, size_t size)
{
	static int file = -1;

	if (file < 0) {
		file = mkstemp(fuzz_path);
		(void)atexit(fuzz_remove_file);
	}
	return ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size;
}

#endif /* NP_FUZZ_FILE_H */
