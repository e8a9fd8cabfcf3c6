/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_app as python would have it: a program that knows nothing of AscendCL loads a
 * library that does, for itself only.
 *
 *	inject_host LIBRARY [argument of inject_app]...
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *symbol = library ? dlsym(library, "inject_app_main") : NULL;
	int (*app)(int argc, char **argv);

	if (!symbol) {
		fprintf(stderr, "inject_host: %s\n", argc > 1 ? dlerror() : "no library");
		return 100;
	}
	memcpy(&app, &symbol, sizeof(app));
	return app(argc - 1, argv + 1);
}
