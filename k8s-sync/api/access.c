// SPDX-License-Identifier: GPL-2.0-or-later
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "client/yaml.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

void access_free(struct access *a)
{
	char *const all[] = {
		a->server, a->ca, a->cert, a->key, a->token, a->token_file, a->ca_file
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		free(all[i]);
	*a = (struct access){ 0 };
}

static int digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

char *base64_decode(const char *text, size_t *ret_size)
{
	char *out = malloc(strlen(text) / 4 * 3 + 4);
	unsigned int bits = 0, n = 0;
	size_t len = 0;

	for (; out && *text && *text != '='; text++) {
		int d = digit_of(*text);

		if (d < 0 && strchr(" \n\r\t", *text))
			continue;
		if (d < 0) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (unsigned int)d;
		n += 6;
		if (n >= 8)
			out[len++] = (char)(bits >> (n -= 8));
	}
	if (out)
		out[len] = '\0';
	*ret_size = len;
	return out;
}

/* A whole small file, with a NUL behind it. */
static int slurp(const char *path, char **ret, struct err *err)
{
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = malloc(YAML_SIZE_MAX + 1);
	ssize_t n = fd < 0 ? -errno : text ? read_all(fd, text, YAML_SIZE_MAX) : -ENOMEM;

	if (n < 0 || n == YAML_SIZE_MAX) {
		free(text);
		return n < 0 ? fail(err, (int)-n, "%s: %s", path, strerror((int)-n))
			     : fail(err, E2BIG, "%s: it is too large", path);
	}
	text[n] = '\0';
	*ret = realloc(text, (size_t)n + 1);
	return 0;
}

static char *path_in(const char *dir, const char *name)
{
	char *path;

	if (*name == '/')
		return strdup(name);
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* NAME-data holds it in base64, NAME is a file. */
static int pem(const struct yaml *map, const char *name, const char *dir, char **ret,
	       struct err *err)
{
	const char *file = yml_text(map, name), *data;
	_free_ char *path = NULL;
	char key[64];
	size_t size;

	snprintf(key, sizeof(key), "%s-data", name);
	data = yml_text(map, key);
	if (data && *data) {
		*ret = base64_decode(data, &size);
		return *ret ? 0 : fail(err, EINVAL, "%s: it is not base64", key);
	}
	if (!file || !*file)
		return 0;
	path = path_in(dir, file);
	return path ? slurp(path, ret, err) : fail(err, ENOMEM, "no memory");
}

/* The item called `name` of a list, and in it the member. */
static const struct yaml *named(const struct yaml *root, const char *list, const char *name,
				const char *member)
{
	const struct yaml *l = yml_get(root, list);

	for (const struct yaml *y = l && l->type == YAML_LIST ? l->first : NULL; y; y = y->next) {
		const char *n = yml_text(y, "name");

		if (n && name && !strcmp(n, name))
			return yml_get(y, member);
	}
	return NULL;
}

static int take_server(const char *server, struct access *ret, struct err *err)
{
	size_t n = server ? strlen(server) : 0;

	if (!server || (strncmp(server, "https://", 8) && strncmp(server, "http://", 7)) ||
	    server[strcspn(server, " \t\r\n?#@")])
		return fail(err, EINVAL,
			    "server: \"%.128s\" is not an address such as https://10.0.0.1:6443",
			    server ? server : "");
	while (n && server[n - 1] == '/')
		n--;
	ret->server = strndup(server, n);
	return ret->server ? 0 : fail(err, ENOMEM, "no memory");
}

static int take_cluster(const struct yaml *c, const char *dir, struct access *ret, struct err *err)
{
	const char *insecure = yml_text(c, "insecure-skip-tls-verify");

	if (yml_get(c, "tls-server-name"))
		return fail(
			err, EOPNOTSUPP,
			"clusters: tls-server-name is not supported; write that name into server");
	ret->insecure = insecure && !strcmp(insecure, "true");
	return take_server(yml_text(c, "server"), ret, err)
		       ?: pem(c, "certificate-authority", dir, &ret->ca, err);
}

/* A token goes into a header: no line may end in it. */
static int take_token(const char *text, struct access *ret, struct err *err)
{
	size_t n = strcspn(text, "\r\n");

	if (!n || text[n + strspn(text + n, "\r\n \t")])
		return fail(err, EINVAL, "the token is empty or has more than one line");
	free(ret->token);
	ret->token = strndup(text, n);
	return ret->token ? 0 : fail(err, ENOMEM, "no memory");
}

static int take_user(const struct yaml *u, const char *dir, struct access *ret, struct err *err)
{
	const char *token = yml_text(u, "token"), *file = yml_text(u, "tokenFile");
	int r = pem(u, "client-certificate", dir, &ret->cert, err)
			?: pem(u, "client-key", dir, &ret->key, err);

	if (r)
		return r;
	if (yml_get(u, "exec") || yml_get(u, "auth-provider"))
		return fail(
			err, EOPNOTSUPP,
			"users: credentials by exec or auth-provider are not supported; use a certificate or a token");
	if (file && *file) {
		ret->token_file = path_in(dir, file);
		return ret->token_file ? 0 : fail(err, ENOMEM, "no memory");
	}
	return token && *token ? take_token(token, ret, err) : 0;
}

static int take_context(const struct yaml *root, const char *dir, struct access *ret,
			struct err *err)
{
	const char *name = yml_text(root, "current-context");
	const struct yaml *context = named(root, "contexts", name, "context"), *cluster, *user;

	if (!context)
		return fail(err, EINVAL, "current-context: there is no context \"%.64s\"",
			    name ? name : "");
	cluster = named(root, "clusters", yml_text(context, "cluster"), "cluster");
	if (!cluster)
		return fail(err, EINVAL, "contexts: the cluster of \"%.64s\" is missing", name);
	user = named(root, "users", yml_text(context, "user"), "user");
	return take_cluster(cluster, dir, ret, err) ?: take_user(user, dir, ret, err);
}

int access_parse(const char *text, size_t size, const char *dir, struct access *ret,
		 struct err *err)
{
	struct access a = { 0 };
	struct yaml *root = NULL;
	int r = yml_read(text, size, &root, err) ?: take_context(root, dir, &a, err);

	yml_free(root);
	if (r)
		access_free(&a);
	else
		*ret = a;
	return r;
}

static int from_file(const char *file, struct access *ret, struct err *err)
{
	const char *slash = strrchr(file, '/');
	_free_ char *text = NULL, *dir = NULL;
	int r = slurp(file, &text, err);

	if (r)
		return r;
	dir = slash ? strndup(file, (size_t)(slash - file)) : strdup(".");
	if (!dir)
		return fail(err, ENOMEM, "no memory");
	r = access_parse(text, strlen(text), dir, ret, err);
	return r ? fail_wrap(err, "%s", file) : 0;
}

static int from_pod(struct access *ret, struct err *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	bool six = host && strchr(host, ':');
	struct access a = { 0 };

	if (!host || !port)
		return fail(
			err, ENOENT,
			"this is not a pod: KUBERNETES_SERVICE_HOST is not set; give --kubeconfig");
	if (asprintf(&a.server, "https://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port) <
	    0)
		return fail(err, ENOMEM, "no memory");
	a.token_file = strdup(POD_DIR "/token");
	a.ca_file = strdup(POD_DIR "/ca.crt");
	*ret = a;
	return 0;
}

/* Reads the file if it is another one than was seen; it is swapped by a link. */
static bool reread(const char *path, struct file_seen *seen, char **ret)
{
	struct stat st;
	char *text = NULL;

	if (!path || stat(path, &st))
		return false;
	if (*ret && st.st_ino == seen->ino && st.st_mtim.tv_sec == seen->at.tv_sec &&
	    st.st_mtim.tv_nsec == seen->at.tv_nsec)
		return false;
	if (slurp(path, &text, NULL))
		return false;
	*seen = (struct file_seen){ st.st_ino, st.st_mtim };
	free(*ret);
	*ret = text;
	return true;
}

bool access_refresh(struct access *a)
{
	bool ca = reread(a->ca_file, &a->ca_seen, &a->ca);
	bool token = reread(a->token_file, &a->token_seen, &a->token);

	if (token && a->token)
		a->token[strcspn(a->token, " \t\r\n")] = '\0';
	return ca || token;
}

int access_load(const char *file, struct access *ret, struct err *err)
{
	int r = file ? from_file(file, ret, err) : from_pod(ret, err);

	if (r)
		return r;
	access_refresh(ret);
	if (ret->token_file && !ret->token)
		return fail(err, ENOENT, "%s: the token cannot be read", ret->token_file);
	return 0;
}
