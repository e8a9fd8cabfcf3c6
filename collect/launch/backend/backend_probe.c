/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"
#include "collect/launch/check.h"
#include "collect/launch/plan/check_find.h"

#include "npuprof/text.h"

enum {
	PATIENCE_MS = 20000, /* python on a busy file system */
	NAP_MS = 10,
};

/* Found, and not imported: that would take seconds and a device. */
#define QUESTION \
	"import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('torch_npu') else 3)"

_Noreturn static void ask_python(const char *python)
{
	int nothing = open("/dev/null", O_RDWR);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(nothing, fd);
	(void)execlp(python, python, "-c", QUESTION, (char *)NULL);
	_exit(127);
}

static bool can_import(const char *python)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		ask_python(python);
	for (int i = 0; pid > 0 && i < PATIENCE_MS / NAP_MS; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		(void)usleep(NAP_MS * 1000);
	}
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return false;
}

/* An ELF program that names nobody to load libraries for it. */
static bool is_static(const char *name)
{
	char path[PATH_MAX];
	Elf64_Ehdr head;
	Elf64_Phdr part;
	bool loads = true;
	FILE *file = np_find_program(name, path, sizeof(path)) ? fopen(path, "re") : NULL;

	if (!file)
		return false;
	if (fread(&head, sizeof(head), 1, file) == 1 &&
	    memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    head.e_phentsize == sizeof(part) && fseek(file, (long)head.e_phoff, SEEK_SET) == 0) {
		loads = false;
		for (int i = 0; i < head.e_phnum && !loads; i++)
			loads = fread(&part, sizeof(part), 1, file) != 1 ||
				part.p_type == PT_INTERP;
	}
	(void)fclose(file);
	return !loads;
}

void np_backend_probe(char *const *app, struct np_backend_signs *ret)
{
	bool is_python = strncmp(np_text_last_part(app[0]), "python", 6) == 0;
	struct np_err err = NP_ERR_INIT;
	char path[PATH_MAX];
	bool simulated;

	*ret = (struct np_backend_signs){
		.is_python = is_python || strcmp(np_text_last_part(app[0]), "torchrun") == 0,
		.is_static = is_static(app[0]),
		.has_ascendcl = np_check_library(&simulated, &err) == NP_OK,
		.has_msprof = np_find_program("msprof", path, sizeof(path)),
	};
	if (ret->is_python)
		ret->has_torch_npu = can_import(is_python ? app[0] : "python3");
}
