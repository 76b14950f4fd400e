// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

const replicaUser = "system:serviceaccount:metacontroller:metacontroller-apiserver"

// leadership is what a process knows of the leader.
type leadership struct {
	itself  bool
	address string
	leads   context.Context
}

func (l *leadership) Leads() bool { return l.itself }

func (l *leadership) Address() (string, context.Context) { return l.address, l.leads }

// serveAs has requests authenticated by their bearer token, which is the name of the user, and answers with what has
// arrived.
func serveAs(t *testing.T, proxy *LeaderProxy) *httptest.Server {
	t.Helper()
	config := &genericapiserver.Config{}
	authenticate := func(r *http.Request) (*authenticator.Response, bool, error) {
		name, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: []string{"group of " + name}}}, found, nil
	}
	config.Authentication.Authenticator = authenticator.RequestFunc(authenticate)
	if err := proxy.applyTo(config); err != nil {
		t.Fatal(err)
	}
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	answer := proxy.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		as, _ := request.UserFrom(r.Context())
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s as %s of %v with %s", r.Method, r.URL, as.GetName(), as.GetGroups(), body)
		if r.URL.Query().Get("watch") == "true" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}), NewCodecs(scheme))
	parser := request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := parser.NewRequestInfo(r)
		if err != nil {
			t.Error(err)
		}
		r = r.WithContext(request.WithRequestInfo(r.Context(), info))
		found, ok, err := config.Authentication.Authenticator.AuthenticateRequest(r)
		if err != nil || !ok {
			http.Error(w, fmt.Sprint("who? ", err), http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization")
		answer.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), found.User)))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// certificate is one of the Service svc in ns.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := authority.Serving(net.IPv4(127, 0, 0, 1), "svc.ns.svc")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(serving.Cert, serving.Key)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func proxyTo(t *testing.T, of Leader, host string) *LeaderProxy {
	t.Helper()
	config := &rest.Config{Host: host, BearerToken: replicaUser}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &LeaderProxy{
		Leader: of, Trust: NewTrust(config, client.Discovery().RESTClient(), "v1alpha1.metacontroller.k8s.io"),
		User: func(context.Context) (string, error) { return replicaUser, nil },
	}
}

// pair is a process that leads, and one that does not.
type pair struct {
	leads, other *httptest.Server
	follows      *leadership
	end          context.CancelFunc
}

func newPair(t *testing.T) pair {
	t.Helper()
	var p pair
	var apiService atomic.Value
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, apiService.Load().(string))
	}))
	t.Cleanup(host.Close)
	p.leads = serveAs(t, proxyTo(t, &leadership{itself: true, leads: t.Context()}, host.URL))
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.leads.Certificate().Raw})
	apiService.Store(fmt.Sprintf(`{"spec":{"caBundle":%q,"service":{"namespace":"ns","name":"svc"}}}`,
		base64.StdEncoding.EncodeToString(authority)))
	p.follows = &leadership{address: strings.TrimPrefix(p.leads.URL, "https://")}
	p.follows.leads, p.end = context.WithCancel(t.Context())
	passes := proxyTo(t, p.follows, host.URL)
	p.other = serveAs(t, passes)
	t.Cleanup(passes.Close)
	return p
}

// answer is what a client gets.
type answer struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, server *httptest.Server, method, path, as string, header ...string) answer {
	t.Helper()
	asked, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	asked.Header.Set("Authorization", "Bearer "+as)
	for pair := range slices.Chunk(header, 2) {
		asked.Header.Set(pair[0], pair[1])
	}
	response, err := server.Client().Do(asked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if asked.URL.Query().Get("watch") == "true" {
		return answer{response.StatusCode, response.Header, ""}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

const ours = "/apis/metacontroller.k8s.io/v1alpha1/"

func TestTheLeaderAnswersForTheSameUser(t *testing.T) {
	p := newPair(t)
	for name, path := range map[string]string{
		"a row":           "GET " + ours + "namespaces/ns/syncs/a",
		"a list":          "GET " + ours + "syncs?limit=5",
		"a call":          "GET " + ours + "namespaces/ns/hookcalls/a",
		"a review":        "POST " + ours + "syncreviews",
		"a resync":        "POST " + ours + "compositecontrollers/a/resync?dryRun=All",
		"another resync":  "POST " + ours + "decoratorcontrollers/a/resync",
		"what all can do": "GET " + ours + "compositecontrollers/a",
	} {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(path, " ")
			got := ask(t, p.other, method, path, "jane").body
			if want := fmt.Sprintf("%s %s as jane of [group of jane] with body", method, path); got != want {
				t.Errorf("the answer is %q, want %q", got, want)
			}
		})
	}
}

func TestOnlyAReplicaNamesAnotherUser(t *testing.T) {
	p := newPair(t)
	named := []string{passedOnHeader, "true", "X-Remote-User", "root", "X-Remote-Group", "system:masters"}
	for name, test := range map[string]struct{ method, path, as, want string }{
		"a replica, for what the leader has": {
			http.MethodGet, ours + "syncs", replicaUser, "as root of [system:masters]",
		},
		"a replica, for what is stored": {
			http.MethodPost, ours + "compositecontrollers", replicaUser, "as " + replicaUser,
		},
		"somebody else, for what the leader has": {
			http.MethodGet, ours + "syncs", "eve", `user "eve" must not forward requests of other users`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, p.leads, test.method, test.path, test.as, named...).body; !strings.Contains(got, test.want) {
				t.Errorf("the answer is %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestWithoutALeaderTheClientTriesAgain(t *testing.T) {
	p := newPair(t)
	expect := func(why string, got answer, says string) {
		t.Helper()
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" ||
			!strings.Contains(got.body, says) {
			t.Errorf("%s, the answer is %+v", why, got)
		}
	}
	got := ask(t, p.other, http.MethodGet, ours+"syncs", replicaUser, passedOnHeader, "true", "X-Remote-User", "jane")
	expect("if it was passed on already", got, "no server runs the controllers")
	p.leads.CloseClientConnections()
	p.leads.Close()
	got = ask(t, p.other, http.MethodGet, ours+"syncs", "jane")
	expect("if the leader has ended", got, "forwarding the request")
	p.follows.address = ""
	got = ask(t, p.other, http.MethodGet, ours+"syncs", "jane")
	expect("if there is none", got, `"reason":"ServiceUnavailable"`)
}

// A client would take a 401 for its own, and drop its credentials.
func TestALeaderThatDoesNotAcceptTheReplicaIsUnavailable(t *testing.T) {
	p := newPair(t)
	p.leads.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "who?", http.StatusUnauthorized)
	})
	got := ask(t, p.other, http.MethodGet, ours+"syncs", "jane")
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" ||
		!strings.Contains(got.body, "it rejected this replica") {
		t.Errorf("the answer is %+v", got)
	}
}

// A process that was stopped keeps its connections.
func TestAWatchEndsWithTheLeader(t *testing.T) {
	p := newPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, p.other.URL+ours+"syncs?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	asked.Header.Set("Authorization", "Bearer jane")
	response, err := p.other.Client().Do(asked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	begin := make([]byte, 3)
	if _, err := io.ReadFull(response.Body, begin); err != nil || string(begin) != "GET" {
		t.Fatalf("the watch begins with %q, %v", begin, err)
	}
	p.end()
	if _, err := io.ReadAll(response.Body); ctx.Err() != nil {
		t.Errorf("the watch goes on: %v", err)
	}
}

func TestWhomReplicasTrust(t *testing.T) {
	trust := NewTrust(&rest.Config{
		BearerToken:     "token",
		TLSClientConfig: rest.TLSClientConfig{CAFile: "/host", CAData: []byte("host"), CertData: []byte("cert")},
	}, nil, "v1")
	config, err := trust.config([]byte(`{"spec":{"caBundle":"Y2E=","service":{"namespace":"ns","name":"svc"}}}`))
	if err != nil || string(config.CAData) != "ca" || config.CAFile != "" || config.ServerName != "svc.ns.svc" ||
		config.BearerToken != "token" || string(config.CertData) != "cert" {
		t.Errorf("the configuration is %+v, %v", config, err)
	}
	for name, service := range map[string]string{
		"nobody if the cluster does not check": `{"spec":{"insecureSkipTLSVerify":true,` +
			`"service":{"namespace":"ns","name":"svc"}}}`,
		"nobody if the API is that of the cluster": `{"spec":{}}`,
		"nobody if there is no answer":             ``,
	} {
		t.Run(name, func(t *testing.T) {
			if config, err := trust.config([]byte(service)); err == nil {
				t.Errorf("the configuration is %+v", config)
			}
		})
	}
}
