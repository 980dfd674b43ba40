// SPDX-License-Identifier: GPL-2.0-or-later
#include "credential.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <time.h>

#include "access.h"
#include "client/yaml.h"
#include "k8s-sync/agree/js.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define VERSIONS "client.authentication.k8s.io/"
#define DEPTH 16

static void vector_free(char **v)
{
	for (char **at = v; at && *at; at++)
		free(*at);
	free(v);
}

void exec_free(struct exec_plugin *e)
{
	if (!e)
		return;
	free(e->version);
	free(e->hint);
	vector_free(e->argv);
	vector_free(e->env);
	free(e);
}

static size_t length(const struct yaml *list)
{
	size_t n = 0;

	for (const struct yaml *y = list && list->type == YAML_LIST ? list->first : NULL; y;
	     y = y->next)
		n++;
	return n;
}

/* What the program finds in KUBERNETES_EXEC_INFO. */
static char *exec_info(const struct exec_plugin *e, const struct access *a, bool with_cluster)
{
	_json_ json_object *o = json_object_new_object();
	_free_ char *ca = NULL;
	char *line;

	js_set(o, "apiVersion", json_object_new_string(e->version));
	js_set(o, "kind", json_object_new_string("ExecCredential"));
	js_set(o, "spec.interactive", json_object_new_boolean(false));
	if (with_cluster) {
		js_set(o, "spec.cluster.server", json_object_new_string(a->server));
		if (a->server_name)
			js_set(o, "spec.cluster.tls-server-name",
			       json_object_new_string(a->server_name));
		if (a->insecure)
			js_set(o, "spec.cluster.insecure-skip-tls-verify",
			       json_object_new_boolean(true));
		ca = a->secrets[SECRET_CA] ? base64_encode(a->secrets[SECRET_CA]) : NULL;
		if (ca)
			js_set(o, "spec.cluster.certificate-authority-data",
			       json_object_new_string(ca));
	}
	return asprintf(&line, "KUBERNETES_EXEC_INFO=%s", json_object_to_json_string(o)) < 0 ? NULL
											     : line;
}

static int no_memory(struct err *err)
{
	return fail(err, ENOMEM, "no memory");
}

static int take_env(const struct yaml *exec, struct exec_plugin *e, const struct access *a,
		    struct err *err)
{
	const struct yaml *list = yml_get(exec, "env");
	const char *with = yml_text(exec, "provideClusterInfo");
	size_t n = 0;

	e->env = calloc(length(list) + 2, sizeof(char *));
	if (!e->env)
		return no_memory(err);
	for (const struct yaml *y = length(list) ? list->first : NULL; y; y = y->next) {
		const char *name = yml_text(y, "name"), *value = yml_text(y, "value");

		if (!name || !*name || strchr(name, '=') || !value)
			return fail(err, EINVAL, "exec: env has an entry without name and value");
		if (asprintf(&e->env[n], "%s=%s", name, value) < 0) {
			e->env[n] = NULL;
			return no_memory(err);
		}
		n++;
	}
	e->env[n] = exec_info(e, a, with && !strcmp(with, "true"));
	return e->env[n] ? 0 : no_memory(err);
}

static int take_argv(const struct yaml *exec, const char *dir, struct exec_plugin *e,
		     struct err *err)
{
	const char *command = yml_text(exec, "command");
	const struct yaml *list = yml_get(exec, "args");
	size_t n = 0;

	if (!command || !*command)
		return fail(err, EINVAL, "exec: the command is missing");
	e->argv = calloc(length(list) + 2, sizeof(char *));
	if (!e->argv)
		return no_memory(err);
	if (*command == '/' || !strchr(command, '/'))
		e->argv[n] = strdup(command);
	else if (asprintf(&e->argv[n], "%s/%s", dir, command) < 0)
		e->argv[n] = NULL;
	for (const struct yaml *y = length(list) ? list->first : NULL; e->argv[n] && y;
	     y = y->next) {
		if (y->type != YAML_TEXT)
			return fail(err, EINVAL, "exec: args has an entry that is not a text");
		e->argv[++n] = strdup(y->text);
	}
	return e->argv[n] ? 0 : no_memory(err);
}

int exec_parse(const struct yaml *exec, const char *dir, struct access *a, struct err *err)
{
	const char *version = yml_text(exec, "apiVersion"), *hint = yml_text(exec, "installHint");
	const char *mode = yml_text(exec, "interactiveMode");
	struct exec_plugin *e;

	if (!version || (strcmp(version, VERSIONS "v1") && strcmp(version, VERSIONS "v1beta1")))
		return fail(err, EINVAL,
			    "exec: apiVersion is \"%.64s\", it must be " VERSIONS "v1 or " VERSIONS
			    "v1beta1",
			    version ? version : "");
	if (mode && !strcmp(mode, "Always"))
		return fail(err, EINVAL,
			    "exec: interactiveMode is Always, but a service has no terminal");
	a->exec = e = calloc(1, sizeof(*e));
	if (!e || !(e->version = strdup(version)))
		return no_memory(err);
	e->hint = hint && *hint ? strdup(hint) : NULL;
	return take_argv(exec, dir, e, err) ?: take_env(exec, e, a, err);
}

/* ---- the answer */

/* RFC 3339. */
static bool parse_time(const char *text, uint64_t *ret)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	time_t local = rest ? timegm(&tm) : -1;

	if (!rest)
		return false;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	rest = strptime(rest, "%z", &tm);
	if (!rest || *rest || local - tm.tm_gmtoff < 0)
		return false;
	*ret = (uint64_t)(local - tm.tm_gmtoff);
	return true;
}

static int take_secret(struct access *a, json_object *status, const char *name, enum secret which,
		       struct err *err)
{
	const char *text = js_text(status, name);
	char *copy;

	if (!*text)
		return 0;
	copy = strdup(text);
	if (!copy)
		return no_memory(err);
	return access_set(a, which, copy) ? 0
					  : fail(err, EPROTO, "its token has more than one line");
}

static json_object *parse(const char *text, size_t size)
{
	struct json_tokener *t = json_tokener_new_ex(DEPTH);
	json_object *o = t ? json_tokener_parse_ex(t, text, (int)size) : NULL;

	if (t)
		json_tokener_free(t);
	return o;
}

int credential_take(struct access *a, const char *text, size_t size, uint64_t *ret_ends,
		    struct err *err)
{
	_json_ json_object *o = parse(text, size);
	json_object *status = js_get(o, "status");
	const char *ends = js_text(status, "expirationTimestamp");
	bool cert = *js_text(status, "clientCertificateData");
	int r;

	if (strcmp(js_text(o, "kind"), "ExecCredential"))
		return fail(err, EPROTO, "its answer is not an ExecCredential");
	if (strcmp(js_text(o, "apiVersion"), a->exec->version))
		return fail(err, EPROTO, "its answer is of %.64s, but %s was asked for",
			    js_text(o, "apiVersion"), a->exec->version);
	if (cert != !!*js_text(status, "clientKeyData"))
		return fail(err, EPROTO, "it told only one of certificate and key");
	if (!cert && !*js_text(status, "token"))
		return fail(err, EPROTO, "it told neither a token nor a certificate");
	*ret_ends = 0;
	if (*ends && !parse_time(ends, ret_ends))
		return fail(err, EPROTO, "its expirationTimestamp \"%.40s\" is not a time", ends);
	r = take_secret(a, status, "token", SECRET_TOKEN, err);
	r = r ?: take_secret(a, status, "clientCertificateData", SECRET_CERT, err);
	return r ?: take_secret(a, status, "clientKeyData", SECRET_KEY, err);
}
