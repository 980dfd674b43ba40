// SPDX-License-Identifier: GPL-2.0-or-later
#include "wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "access.h"
#include "http.h"
#include "pcidevfs/util.h"

enum {
	CONNECT_MS = 10000,
	WATCH_MS = 660000, /* longer than any watch that we ask for */
	IDLE_S = 10,
	PROBE_S = 5,
	UNHEARD_MS = 20000,
};

/* Behind a cable that was pulled nothing is closed, and watches send nothing: the kernel asks the
 * other one after IDLE_S, and gives it up if that, or anything, is not acknowledged in time. */
static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	unsigned int ms = UNHEARD_MS;

	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	return CURL_SOCKOPT_OK;
}

static void set_tcp(CURL *e)
{
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, (long)IDLE_S);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, (long)PROBE_S);
	curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
}

static void set_blob(CURL *e, CURLoption option, char *pem)
{
	struct curl_blob blob = { pem, pem ? strlen(pem) : 0, CURL_BLOB_COPY };

	if (pem)
		curl_easy_setopt(e, option, &blob);
}

static void set_tls(CURL *e, const struct access *a)
{
	if (a->secrets[SECRET_CA]) { /* and none of the system's */
		curl_easy_setopt(e, CURLOPT_CAINFO, NULL);
		curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	}
	set_blob(e, CURLOPT_CAINFO_BLOB, a->secrets[SECRET_CA]);
	set_blob(e, CURLOPT_SSLCERT_BLOB, a->secrets[SECRET_CERT]);
	set_blob(e, CURLOPT_SSLKEY_BLOB, a->secrets[SECRET_KEY]);
	if (a->insecure) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static bool add_line(struct curl_slist **list, const char *line)
{
	struct curl_slist *more = line ? curl_slist_append(*list, line) : NULL;

	if (more)
		*list = more;
	return more;
}

__attribute__((format(printf, 2, 3))) static bool add_header(struct wire *w, const char *fmt, ...)
{
	_free_ char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = NULL;
	va_end(ap);
	return add_line(&w->headers, line);
}

static bool set_headers(struct wire *w, const char *token)
{
	const struct call *c = w->call;
	bool ok = add_header(w, "Accept: application/json") && add_header(w, "Expect:");

	if (token)
		ok = ok && add_header(w, "Authorization: Bearer %s", token);
	if (c->body)
		ok = ok && add_header(w, "Content-Type: %s", c->type);
	curl_easy_setopt(w->easy, CURLOPT_HTTPHEADER, w->headers);
	return ok;
}

/* The name that its certificate has, at the address of the server. */
static bool call_it(struct wire *w, const char *name)
{
	char *host = NULL, *port = NULL;
	_free_ char *line = NULL;
	bool ok = !curl_url_get(w->url, CURLUPART_HOST, &host, 0) &&
		  !curl_url_get(w->url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) &&
		  asprintf(&line, "::%s:%s", host, port) >= 0 && add_line(&w->connect_to, line) &&
		  add_header(w, "Host: %s:%s", host, port) &&
		  !curl_url_set(w->url, CURLUPART_HOST, name, 0);

	curl_free(host);
	curl_free(port);
	curl_easy_setopt(w->easy, CURLOPT_CONNECT_TO, w->connect_to);
	return ok;
}

int wire_check(const struct access *access, struct err *err)
{
	CURLU *url = curl_url();
	CURLUcode code =
		url ? curl_url_set(url, CURLUPART_URL, access->server, 0) : CURLUE_OUT_OF_MEMORY;

	curl_url_cleanup(url);
	return code ? fail(err, EINVAL, "server: \"%.128s\": %s", access->server,
			   curl_url_strerror(code))
		    : 0;
}

static bool set_url(struct wire *w, const struct access *access)
{
	_free_ char *text = NULL;

	w->url = curl_url();
	return w->url && asprintf(&text, "%s%s", access->server, w->call->path) >= 0 &&
	       !curl_url_set(w->url, CURLUPART_URL, text, CURLU_PATH_AS_IS) &&
	       (!access->server_name || call_it(w, access->server_name)) &&
	       !curl_easy_setopt(w->easy, CURLOPT_CURLU, w->url);
}

bool wire_prepare(struct wire *w, const struct access *access, bool shares)
{
	const struct call *c = w->call;
	bool tls = !strncmp(access->server, "https:", 6); /* else everybody reads the token */
	CURL *e = w->easy;

	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, c->method);
	if (c->body) {
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)strlen(c->body));
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, c->body);
	}
	curl_easy_setopt(e, CURLOPT_PRIVATE, w);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, w->error);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	/* Behind an https_proxy: its answer to CONNECT is not the server's. */
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_USERAGENT, "pcidevfs-sync/" VERSION);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	/* Whoever waits to share a watch's connection, and it speaks HTTP/1.1, waits until that
	 * ends: libcurl 8 looks again no sooner. */
	curl_easy_setopt(e, CURLOPT_PIPEWAIT, shares ? 1L : 0L);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)(c->document ? WATCH_MS : WIRE_ANSWER_MS));
	set_tcp(e);
	set_tls(e, access);
	return set_url(w, access) && set_headers(w, tls ? access->secrets[SECRET_TOKEN] : NULL);
}

void wire_release(struct wire *w)
{
	if (w->easy)
		curl_easy_cleanup(w->easy);
	curl_slist_free_all(w->headers);
	curl_slist_free_all(w->connect_to);
	curl_url_cleanup(w->url);
	intake_close(&w->intake);
}

/* What users read, whatever the library's version calls it. exact: it says all there is to say. */
static const struct {
	CURLcode code;
	const char *says;
	bool exact;
} failures[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, "its name cannot be resolved" },
	{ CURLE_COULDNT_CONNECT, "cannot connect" },
	{ CURLE_OPERATION_TIMEDOUT, "no answer came in time", true },
	{ CURLE_PARTIAL_FILE, "the answer ended before it was complete", true },
	{ CURLE_GOT_NOTHING, "it closed the connection without an answer", true },
	{ CURLE_SEND_ERROR, "the connection broke" },
	{ CURLE_RECV_ERROR, "the connection broke" },
	{ CURLE_HTTP2, "the connection broke" },
	{ CURLE_HTTP2_STREAM, "the connection broke" },
	{ CURLE_SSL_CONNECT_ERROR, "TLS failed" },
	{ CURLE_SSL_CERTPROBLEM, "the client's certificate or key cannot be used" },
	{ CURLE_SSL_CACERT_BADFILE, "certificate-authority cannot be used" },
	{ CURLE_PEER_FAILED_VERIFICATION, "its certificate is not trusted" },
};

/* Numbers of X509_V_ERR_ in OpenSSL, which curl passes on. */
static const char *certificate_says(const struct wire *w, const char *otherwise)
{
	enum { NOT_YET_VALID = 9, EXPIRED = 10 };
	long why = 0;

	curl_easy_getinfo(w->easy, CURLINFO_SSL_VERIFYRESULT, &why);
	if (why == NOT_YET_VALID)
		return "its certificate is not valid yet";
	return why == EXPIRED ? "its certificate has expired" : otherwise;
}

/* The library's words are the last resort. */
static void explain(const struct wire *w, CURLcode code, char *ret, size_t size)
{
	const char *detail = w->error[0] ? w->error : curl_easy_strerror(code), *says = NULL;
	bool exact = false;
	long number = 0;

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		if (failures[i].code == code) {
			says = failures[i].says;
			exact = failures[i].exact;
		}
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		says = certificate_says(w, says);
	if (code == CURLE_COULDNT_CONNECT &&
	    !curl_easy_getinfo(w->easy, CURLINFO_OS_ERRNO, &number) && number)
		detail = strerror((int)number);
	if (!says || w->lost)
		snprintf(ret, size, "%.300s", detail);
	else if (exact)
		snprintf(ret, size, "%s", says);
	else
		snprintf(ret, size, "%s: %.250s", says, detail);
}

/* A clock that is wrong looks like a certificate that is. */
int wire_failed(const struct wire *w, const struct access *access, CURLcode code, struct err *err)
{
	time_t now = (time_t)(now_real_ns() / 1000000000);
	char clock[64] = "", why[320];
	struct tm tm;

	explain(w, code, why, sizeof(why));
	if (code == CURLE_PEER_FAILED_VERIFICATION && gmtime_r(&now, &tm))
		strftime(clock, sizeof(clock), " (the clock here says %Y-%m-%d %Hh UTC)", &tm);
	return fail(err, ENOTCONN, "the API server is away: %s: %s%s", access->server, why, clock);
}
