// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const apiServicePath = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.metacontroller.k8s.io"

// cluster answers what clean asks. It has what it was made with, until that is deleted.
type cluster struct {
	mu      sync.Mutex
	objects map[string]string
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	object, found := c.objects[r.URL.Path]
	switch {
	case object == "down":
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"the server is currently unable to handle the request"}`)
	case !found:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case r.Method == http.MethodDelete:
		delete(c.objects, r.URL.Path)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	default:
		_, _ = io.WriteString(w, object)
	}
}

// isRegistered reports whether the APIService is there.
func (c *cluster) isRegistered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[apiServicePath] != ""
}

// clusterWith starts a cluster that serves lists of controllers, and points KUBECONFIG at it. A list is
// "down" if its server does not answer.
func clusterWith(t *testing.T, manager, composites, decorators string) *cluster {
	t.Helper()
	list := func(kind, items string) string {
		if items == "down" {
			return items
		}
		return fmt.Sprintf(`{"kind":"%sList","apiVersion":"metacontroller.k8s.io/v1alpha1","items":[%s]}`, kind, items)
	}
	labels := fmt.Sprintf(`"labels":{"app.kubernetes.io/managed-by":%q}`, manager)
	c := &cluster{objects: map[string]string{
		"/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers": list("CompositeController", composites),
		"/apis/metacontroller.k8s.io/v1alpha1/decoratorcontrollers": list("DecoratorController", decorators),
		apiServicePath:                      `{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"v1alpha1.metacontroller.k8s.io",` + labels + `}}`,
		"/api/v1/namespaces/metacontroller": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"metacontroller",` + labels + `}}`,
		"/api/v1/namespaces/metacontroller/services/metacontroller-apiserver": `{"kind":"Service","apiVersion":"v1","metadata":{"name":"metacontroller-apiserver",` + labels + `}}`,
	}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["a"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["a"] = &clientcmdapi.Context{Cluster: "a"}
	config.CurrentContext = "a"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	return c
}

func controller(kind, name, metadata, hooks string) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":"metacontroller.k8s.io/v1alpha1","metadata":{"name":%q%s},"spec":{"hooks":{"sync":{}%s}}}`, kind, name, metadata, hooks)
}

func TestCleanStopsBeforeFinalizersAreOrphaned(t *testing.T) {
	const ours, webhook = "metacontroller-apiserver-attach", `,"finalize":{"webhook":{}}`
	plain := controller("CompositeController", "plain", "", "")
	finalizing := controller("CompositeController", "websites", "", webhook)
	for name, test := range map[string]struct {
		manager, composites, decorators string
		args                            []string
		refused                         []string // parts of the error; none if the registration is removed
	}{
		"no controllers":              {manager: ours},
		"one without a finalize hook": {manager: ours, composites: plain},
		"controllers with finalize hooks": {
			manager: ours, composites: plain + "," + finalizing, decorators: controller("DecoratorController", "backups", "", webhook),
			refused: []string{"compositecontroller/websites, decoratorcontroller/backups", "kubectl delete compositecontroller/websites decoratorcontroller/backups", "FORCE=1"},
		},
		"one that is still releasing its parents": {
			manager: ours, composites: controller("CompositeController", "websites", `,"finalizers":["metacontroller.k8s.io/drain"]`, ""),
			refused: []string{"compositecontroller/websites"},
		},
		"controllers with finalize hooks, by force": {manager: ours, composites: finalizing, args: []string{"-force"}},
		"a server that is down":                     {manager: ours, composites: "down", refused: []string{"does not say which controllers there are", "'make run'", "FORCE=1"}},
		"a server that is down, by force":           {manager: ours, composites: "down", args: []string{"-force"}},
		"the registration of another server":        {manager: "helm", composites: finalizing, refused: []string{"another metacontroller-apiserver"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, test.manager, test.composites, test.decorators)
			err := command(t.Context(), append([]string{"clean"}, test.args...), io.Discard)
			if refused := len(test.refused) > 0; refused != (err != nil) || refused != c.isRegistered() {
				t.Fatalf("it ends with the error %v; registered: %v", err, c.isRegistered())
			}
			for _, part := range test.refused {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), "plain") {
				t.Errorf("a controller without a finalize hook is named: %v", err)
			}
		})
	}
}

func TestCleanSaysWhatStays(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		dataDir string
		says    bool
	}{
		"there is a data directory": {dir, true},
		"there is none":             {filepath.Join(dir, "none"), false},
	} {
		t.Run(name, func(t *testing.T) {
			clusterWith(t, "metacontroller-apiserver-attach", "", "")
			var out strings.Builder
			if err := command(t.Context(), []string{"clean", "-data-dir", test.dataDir}, &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "Ctrl-C") {
				t.Errorf("it does not say when to stop the server: %s", out.String())
			}
			if says := strings.Contains(out.String(), "rm -r '"+test.dataDir+"'") && strings.Contains(out.String(), "the next 'make run' brings them back"); says != test.says {
				t.Errorf("it says %s", out.String())
			}
		})
	}
}
