/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs a fuzz target over files, for compilers without libFuzzer: the corpora
 * are part of the ordinary test suite.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0;
	size_t capacity = 0;

	if (!file) {
		perror(path);
		return 1;
	}
	do {
		capacity = capacity ? capacity * 2 : 4096;
		data = realloc(data, capacity);
		if (!data)
			abort();
		size += fread(data + size, 1, capacity - size, file);
	} while (size == capacity);
	(void)fclose(file);
	(void)LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= run_file(argv[i]);
	printf("%d files\n", argc - 1);
	return failed;
}
