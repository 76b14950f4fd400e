// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apiserver"
)

// fakeHost answers what our server asks of its host. It can be what a real one of today cannot:
// old, wrongly configured, or gone. How a real one goes along with us is for the integration tests.
type fakeHost struct {
	// resources are those it serves, as resource.version.group.
	resources []string
	// configMap says which front proxy to trust; an error is the answer instead.
	configMap    map[string]string
	configMapErr *apierrors.StatusError
	// versionErr is the answer to who asks for the version.
	versionErr *apierrors.StatusError
	// allow decides on access.
	allow func(authorizationv1.SubjectAccessReviewSpec) bool

	server *httptest.Server

	mu      sync.Mutex
	reviews []authorizationv1.SubjectAccessReviewSpec
}

// currentResources are those of a host of our own version.
func currentResources() []string {
	return []string{
		"mutatingadmissionpolicies.v1.admissionregistration.k8s.io",
		"validatingadmissionpolicies.v1.admissionregistration.k8s.io",
		"flowschemas.v1.flowcontrol.apiserver.k8s.io",
	}
}

// newFakeHost starts a host that trusts the front proxies of an authority and serves everything,
// until it is changed.
func newFakeHost(t *testing.T, clients *clientAuthority) *fakeHost {
	t.Helper()
	authority := string(readFile(t, clients.file))
	host := &fakeHost{
		resources: currentResources(),
		configMap: map[string]string{
			"client-ca-file":                     authority,
			"requestheader-client-ca-file":       authority,
			"requestheader-allowed-names":        `["front-proxy"]`,
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
		allow: func(authorizationv1.SubjectAccessReviewSpec) bool { return true },
	}
	// No other listener gets its address when it disappears.
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	host.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: host}}
	host.server.Start()
	t.Cleanup(host.disappear)
	return host
}

// appear makes a host reachable again that has disappeared, at the same address.
func (h *fakeHost) appear(t *testing.T) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", h.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	url := h.server.URL
	h.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}}
	h.server.Start()
	if h.server.URL != url {
		t.Fatalf("the host has come back as %s, want %s", h.server.URL, url)
	}
}

// disappear makes the host unreachable.
func (h *fakeHost) disappear() {
	h.server.CloseClientConnections()
	h.server.Close()
}

// kubeconfig is a file that says how to reach the host.
func (h *fakeHost) kubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["host"] = &clientcmdapi.Cluster{Server: h.server.URL}
	config.Contexts["host"] = &clientcmdapi.Context{Cluster: "host"}
	config.CurrentContext = "host"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// serverConfig is that of a server of this host, without controllers.
func (h *fakeHost) serverConfig(t *testing.T) serverConfig {
	t.Helper()
	return serverConfig{
		dataDir: newDataDir(t),
		options: func(o *Options) {
			o.Standalone = false
			o.Controllers.LeaderElection = false
			o.Recommended.CoreAPI.CoreAPIKubeconfigPath = h.kubeconfig(t)
		},
		adjust: func(config *apiserver.Config) { config.ExtraConfig.RunControllers = nil },
	}
}

func (h *fakeHost) reviewed() []authorizationv1.SubjectAccessReviewSpec {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.reviews)
}

func (h *fakeHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parser := apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	request, err := parser.NewRequestInfo(r)
	switch {
	case err != nil:
		h.answerError(w, apierrors.NewBadRequest(err.Error()))
	case r.URL.Path == "/version" && h.versionErr != nil:
		h.answerError(w, h.versionErr)
	case r.URL.Path == "/version":
		h.answer(w, http.StatusOK, version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.0"})
	case !request.IsResourceRequest:
		h.answerDiscovery(w, strings.TrimPrefix(r.URL.Path, "/apis/"))
	case request.Resource == "subjectaccessreviews":
		h.review(w, r)
	case request.Resource == "configmaps" && h.configMapErr != nil:
		h.answerError(w, h.configMapErr)
	case request.Verb == "watch" && r.URL.Query().Get("sendInitialEvents") == "true":
		h.answerError(w, apierrors.NewBadRequest("no streaming lists"))
	case request.Verb == "watch":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case request.Resource == "configmaps" && request.Verb == "get":
		h.answer(w, http.StatusOK, h.authentication())
	case request.Resource == "configmaps":
		h.answer(w, http.StatusOK, corev1.ConfigMapList{Items: []corev1.ConfigMap{h.authentication()}})
	default:
		h.answer(w, http.StatusOK, metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	}
}

// setResources changes what the host serves.
func (h *fakeHost) setResources(resources ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resources = resources
}

func (h *fakeHost) authentication() corev1.ConfigMap {
	return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: authenticationConfigMap, Namespace: "kube-system"}, Data: h.configMap}
}

func (h *fakeHost) answerDiscovery(w http.ResponseWriter, groupVersion string) {
	list := metav1.APIResourceList{GroupVersion: groupVersion}
	h.mu.Lock()
	resources := h.resources
	h.mu.Unlock()
	for _, served := range resources {
		resource, _ := schema.ParseResourceArg(served)
		if resource.GroupVersion().String() == groupVersion {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource.Resource})
		}
	}
	if len(list.APIResources) == 0 {
		h.answerError(w, apierrors.NewNotFound(schema.GroupResource{}, groupVersion))
		return
	}
	h.answer(w, http.StatusOK, list)
}

func (h *fakeHost) review(w http.ResponseWriter, r *http.Request) {
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		h.answerError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	h.mu.Lock()
	h.reviews = append(h.reviews, review.Spec)
	h.mu.Unlock()
	review.Status.Allowed = h.allow(review.Spec)
	h.answer(w, http.StatusCreated, review)
}

func (h *fakeHost) answerError(w http.ResponseWriter, err *apierrors.StatusError) {
	h.answer(w, int(err.ErrStatus.Code), err.ErrStatus)
}

func (h *fakeHost) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
