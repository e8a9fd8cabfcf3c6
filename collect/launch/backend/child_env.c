/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

static bool is_ours(const char *word, bool with_mpi)
{
	static const char *const prefixes[] = {
		"NPUPROF_", "OMPI_", "PMIX_", "PMI_", "ORTE_", "OPAL_", "PRTE_", "MPI_LOCAL",
	};

	for (size_t i = 0; i < (with_mpi ? 1 : NP_COUNT(prefixes)); i++) {
		if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static int add_word(struct np_env *env, const char *word, struct np_err *err)
{
	char **slot = np_vec_add(&env->words, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = strdup(word);
	return *slot ? NP_OK : np_fail_nomem(err, "the environment");
}

int np_env_inherit(struct np_env *env, char *const *from, bool with_mpi, struct np_err *err)
{
	int rc = NP_OK;

	for (; *from && rc == NP_OK; from++) {
		if (!is_ours(*from, with_mpi))
			rc = add_word(env, *from, err);
	}
	return rc;
}

void np_env_release(struct np_env *env)
{
	for (size_t i = 0; i < env->words.count; i++)
		free(env->words.item[i]);
	np_vec_release(&env->words);
}

static char **find(const struct np_env *env, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < env->words.count; i++) {
		const char *word = env->words.item[i];

		if (strncmp(word, name, length) == 0 && word[length] == '=')
			return &env->words.item[i];
	}
	return NULL;
}

const char *np_env_get(const struct np_env *env, const char *name)
{
	char **word = find(env, name);

	return word ? *word + strlen(name) + 1 : NULL;
}

int np_env_set(struct np_env *env, const char *name, const char *value, struct np_err *err)
{
	char **old = find(env, name);
	char *word = NULL;
	char **slot;

	if (asprintf(&word, "%s=%s", name, value) < 0)
		return np_fail_nomem(err, "the environment");
	slot = old ? old : np_vec_add(&env->words, err);
	if (!slot) {
		free(word);
		return NP_E_NOMEM;
	}
	free(*slot);
	*slot = word;
	return NP_OK;
}

char *const *np_env_words(struct np_env *env, struct np_err *err)
{
	char **end = np_vec_add(&env->words, err);

	if (!end)
		return NULL;
	*end = NULL;
	env->words.count--;
	return env->words.item;
}
