// SPDX-License-Identifier: GPL-2.0-or-later
#include "access.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "client/file.h"
#include "client/yaml.h"
#include "k8s-sync/agree/js.h"
#include "pcidevfs/err.h"

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-"
#define BLANKS " \t\r\n"
#define POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

void access_free(struct access *a)
{
	for (size_t i = 0; i < SECRETS; i++) {
		free(a->secrets[i]);
		free(a->files[i].path);
	}
	free(a->server);
	free(a->server_name);
	*a = (struct access){ 0 };
}

/* A token goes into a header: no line may end in it. */
static bool is_token(char *text)
{
	size_t n = strcspn(text, BLANKS), end = n + strspn(text + n, BLANKS);
	bool one = n && !text[end];

	text[n] = '\0';
	return one;
}

/* Returns 1 if it is another one than before, 0, or -EINVAL. */
static int access_set(struct access *a, enum secret which, char *text)
{
	char *was = a->secrets[which];
	bool changed;

	if (which == SECRET_TOKEN && !is_token(text)) {
		free(text);
		return -EINVAL;
	}
	changed = !was || strcmp(was, text);
	free(was);
	a->secrets[which] = text;
	return changed;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_decode(const char *text, size_t *ret_size)
{
	char *out = malloc(strlen(text) / 4 * 3 + 4);
	unsigned int bits = 0, n = 0;
	size_t len = 0;

	for (; out && *text && *text != '='; text++) {
		const char *digit = strchr(digits, *text);

		if (!digit && strchr(BLANKS, *text))
			continue;
		if (!digit) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (unsigned int)(digit - digits);
		n += 6;
		if (n >= 8)
			out[len++] = (char)(bits >> (n -= 8));
	}
	if (out)
		out[len] = '\0';
	*ret_size = len;
	return out;
}

/* Reads the file if it is another one than was seen. Returns 1 if it changed, 0, or -errno. */
static int reread(struct access *a, enum secret which, struct err *err)
{
	struct secret_file *f = &a->files[which];
	struct stat st;
	char *text = NULL;
	int r;

	if (!f->path)
		return 0;
	if (stat(f->path, &st))
		return fail(err, errno, "%s: %s", f->path, strerror(errno));
	if (file_is_same(&st, &f->seen))
		return 0;
	r = small_file(f->path, &text, err);
	if (r)
		return r;
	r = access_set(a, which, text);
	if (r < 0)
		return fail(err, EINVAL, "%s: the token is empty or has more than one line",
			    f->path);
	f->seen = st;
	return r;
}

bool access_refresh(struct access *a)
{
	bool changed = false;

	for (enum secret i = 0; i < SECRETS; i++)
		changed |= reread(a, i, NULL) > 0;
	return changed;
}

static int from_path(struct access *a, enum secret which, const char *dir, const char *name,
		     struct err *err)
{
	char *path = NULL;
	int r;

	if (*name == '/' ? !(path = strdup(name)) : asprintf(&path, "%s/%s", dir, name) < 0)
		return fail_nomem(err);
	a->files[which].path = path;
	r = reread(a, which, err);
	return r < 0 ? r : 0;
}

/* NAME-data holds it in base64, NAME is a file. */
static int pem(json_object *map, const char *name, const char *dir, struct access *a,
	       enum secret which, struct err *err)
{
	const char *file = js_text(map, name), *data;
	char key[64], *text;
	size_t size;

	snprintf(key, sizeof(key), "%s-data", name);
	data = js_text(map, key);
	if (*data) {
		text = base64_decode(data, &size);
		if (!text)
			return fail(err, EINVAL, "%s: it is not base64", key);
		access_set(a, which, text);
		return 0;
	}
	return *file ? from_path(a, which, dir, file, err) : 0;
}

/* The item called `name` of a list, and in it the member. */
static json_object *named(json_object *root, const char *list, const char *name,
			  const char *member)
{
	return js_get(js_find(js_get(root, list), "name", name), member);
}

static int take_server(const char *server, struct access *ret, struct err *err)
{
	size_t n = strlen(server);

	if ((strncmp(server, "https://", 8) && strncmp(server, "http://", 7)) ||
	    server[strcspn(server, " \t\r\n?#@")])
		return fail(err, EINVAL,
			    "server: \"%.128s\" is not an address such as https://10.0.0.1:6443",
			    server);
	while (n && server[n - 1] == '/')
		n--;
	ret->server = strndup(server, n);
	return ret->server ? 0 : fail_nomem(err);
}

static int take_cluster(json_object *c, const char *dir, struct access *ret, struct err *err)
{
	const char *name = js_text(c, "tls-server-name");

	ret->insecure = !strcmp(js_text(c, "insecure-skip-tls-verify"), "true");
	if (*name) {
		if (name[strspn(name, NAME_CHARS)])
			return fail(err, EINVAL,
				    "tls-server-name: \"%.128s\" is not the name of a host", name);
		ret->server_name = strdup(name);
		if (!ret->server_name)
			return fail_nomem(err);
	}
	return take_server(js_text(c, "server"), ret, err)
		       ?: pem(c, "certificate-authority", dir, ret, SECRET_CA, err);
}

/* Ways to come to a credential by a program, which is not run. */
static const char *const programs[] = { "exec", "auth-provider" };

static int take_user(json_object *u, const char *dir, struct access *ret, struct err *err)
{
	const char *token = js_text(u, "token"), *file = js_text(u, "tokenFile");
	char *copy;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (js_get(u, programs[i]))
			return fail(err, EOPNOTSUPP,
				    "users: %s is not supported; use a client certificate, a token file, or a pod's service account",
				    programs[i]);
	r = pem(u, "client-certificate", dir, ret, SECRET_CERT, err)
			?: pem(u, "client-key", dir, ret, SECRET_KEY, err);
	if (r)
		return r;
	if (*file)
		return from_path(ret, SECRET_TOKEN, dir, file, err);
	if (!*token)
		return 0;
	copy = strdup(token);
	if (!copy)
		return fail_nomem(err);
	return access_set(ret, SECRET_TOKEN, copy) < 0
		       ? fail(err, EINVAL, "the token is empty or has more than one line")
		       : 0;
}

static int take_context(json_object *root, const char *dir, struct access *ret, struct err *err)
{
	const char *name = js_text(root, "current-context");
	json_object *context = named(root, "contexts", name, "context"), *cluster, *user;

	if (!context)
		return fail(err, EINVAL, "current-context: there is no context \"%.64s\"", name);
	cluster = named(root, "clusters", js_text(context, "cluster"), "cluster");
	if (!cluster)
		return fail(err, EINVAL, "contexts: the cluster of \"%.64s\" is missing", name);
	user = named(root, "users", js_text(context, "user"), "user");
	return take_cluster(cluster, dir, ret, err) ?: take_user(user, dir, ret, err);
}

int access_parse(const char *text, size_t size, const char *dir, struct access *ret,
		 struct err *err)
{
	_json_ json_object *root = NULL;
	int r;

	*ret = (struct access){ 0 };
	r = yml_read(text, size, &root, err) ?: take_context(root, dir, ret, err);
	if (r)
		access_free(ret);
	return r;
}

static int from_file(const char *file, struct access *ret, struct err *err)
{
	const char *slash = strrchr(file, '/');
	_free_ char *text = NULL, *dir = NULL;
	int r = small_file(file, &text, err);

	if (r)
		return r;
	dir = slash ? strndup(file, (size_t)(slash - file)) : strdup(".");
	if (!dir)
		return fail_nomem(err);
	r = access_parse(text, strlen(text), dir, ret, err);
	return r ? fail_wrap(err, "%s", file) : 0;
}

static int from_pod(struct access *ret, struct err *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	bool six = host && strchr(host, ':');

	if (!host || !port)
		return fail(
			err, ENOENT,
			"this is not a pod: KUBERNETES_SERVICE_HOST is not set; give --kubeconfig");
	if (asprintf(&ret->server, "https://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port) <
	    0)
		return fail_nomem(err);
	return from_path(ret, SECRET_TOKEN, POD_DIR, "token", err)
		       ?: from_path(ret, SECRET_CA, POD_DIR, "ca.crt", err);
}

int access_load(const char *file, struct access *ret, struct err *err)
{
	return file ? from_file(file, ret, err) : from_pod(ret, err);
}
