// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/corpus"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// argoCD is the URL of the program in the folder argocd.
type argoCD string

// startArgoCD starts the program, which watches the whole cluster until the test ends. Each CustomResourceDefinition
// that comes or goes costs it much, so tests that use it are not parallel to others.
func startArgoCD(t *testing.T) argoCD {
	t.Helper()
	health := httptest.NewServer(http.HandlerFunc(serveHealth))
	program := tool(t, "test/clients/argocd", "argocd")
	command := exec.Command(program, "-kubeconfig", env.Host.AdminKubeconfig(), "-health", health.URL)
	command.Stderr = os.Stderr
	stdin, errIn := command.StdinPipe()
	stdout, errOut := command.StdoutPipe()
	if err := errors.Join(errIn, errOut, command.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(stdin.Close(), command.Wait()); err != nil {
			t.Errorf("the program argocd ends: %v", err)
		}
		health.Close()
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return argoCD(strings.TrimSpace(url))
}

// serveHealth answers the health of the controller that it is sent, by the script of docs/gitops.md.
func serveHealth(w http.ResponseWriter, r *http.Request) {
	var controller map[string]any
	err := json.NewDecoder(r.Body).Decode(&controller)
	if err == nil {
		var status, message string
		if status, message, err = corpus.ArgoHealth(controller); err == nil {
			err = json.NewEncoder(w).Encode(map[string]string{"status": status, "message": message})
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// application is an Application of Argo CD, and what is to be done with it.
type application struct {
	Name, Namespace    string
	Manifests          []any
	ServerSide         bool
	Comparison, Policy string
}

// application returns the Application of a release.
func (r *release) application(t *testing.T, manifests ...string) application {
	t.Helper()
	a := application{Name: r.name, Namespace: r.namespace}
	for _, object := range objects(t, manifests...) {
		a.Manifests = append(a.Manifests, object.Object)
	}
	return a
}

// do has the program do something, and returns what it says about objects.
func (a argoCD) do(ctx context.Context, what string, about application) (texts []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, waitsFor)
	defer cancel()
	body, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	return texts, hook.Post(ctx, string(a)+"/"+what, body, &texts)
}

// sync syncs the Application.
func (a argoCD) sync(t *testing.T, about application) {
	t.Helper()
	untilListed(t, func(ctx context.Context) error {
		_, err := a.do(ctx, "sync", about)
		return err
	})
}

// delete deletes the Application, and waits until its objects are gone.
func (a argoCD) delete(t *testing.T, about application, policy metav1.DeletionPropagation) {
	t.Helper()
	about.Policy = string(policy)
	env.Eventually(t, func(ctx context.Context) error {
		left, err := a.do(ctx, "delete", about)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("these should be gone: %v", left)
		}
		return err
	})
}

// inWaves returns the Application of a release with a controller and parents of a size, each in a later wave than what
// it needs.
func (r *release) inWaves(t *testing.T, controller, size string) application {
	t.Helper()
	inWave := func(wave, manifest string) string {
		annotations := `annotations: {argocd.argoproj.io/sync-wave: "` + wave + `"}, `
		return strings.Replace(manifest, "metadata: {", "metadata: {"+annotations, 1)
	}
	manifests := []string{r.definition(), inWave("1", controller)}
	for _, parent := range r.parents {
		manifests = append(manifests, inWave("2", r.parent(parent, size)))
	}
	return r.application(t, manifests...)
}

func TestArgoCDSyncsAndFindsNoDifference(t *testing.T) {
	argo := startArgoCD(t)
	for name, test := range map[string]struct {
		serverSide  bool
		comparisons []string
	}{
		"apply on the client": {false, []string{"", "server"}},
		"apply on the server": {true, []string{"structured", "server"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRelease(t)
			about := r.inWaves(t, r.controller(), "small")
			about.ServerSide = test.serverSide
			argo.sync(t, about)
			r.waitUntilSynced(t, "small")
			env.WaitForReady(t, harness.Composite(r.name), metav1.ConditionTrue, "Running")
			for _, comparison := range test.comparisons {
				about.Comparison = comparison
				env.Eventually(t, func(ctx context.Context) error { // the cache of Argo CD follows
					differences, err := argo.do(ctx, "differences", about)
					if err == nil && len(differences) > 0 {
						err = fmt.Errorf("by comparison %q, OutOfSync: %s", comparison, strings.Join(differences, "\n"))
					}
					return err
				})
			}

			about.Manifests = r.inWaves(t, r.controller(), "large").Manifests
			argo.sync(t, about)
			r.waitUntilSynced(t, "large")
			about.Manifests = nil // a prune of all, with the definition
			argo.sync(t, about)
			r.waitUntilGone(t)
			if err := r.checkFinalized(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// A controller that cannot run fails the sync before its parents are applied.
func TestArgoCDWaitsForAControllerBeforeTheNextWave(t *testing.T) {
	argo := startArgoCD(t)
	r := newRelease(t)
	began := time.Now()
	_, err := argo.do(t.Context(), "sync", r.inWaves(t, r.broken(), "small"))
	if err == nil || !strings.Contains(err.Error(), "pails") || time.Since(began) > waitsFor/2 {
		t.Errorf("after %s, Argo CD says: %v", time.Since(began), err)
	}
	if out := env.Kubectl(t, "get", "buckets."+r.group, "--namespace", r.namespace, "--output=name"); out != "" {
		t.Errorf("the next wave was applied: %s", out)
	}
	argo.sync(t, r.inWaves(t, r.controller(), "small"))
	r.waitUntilSynced(t, "small")
	argo.delete(t, r.application(t), metav1.DeletePropagationForeground)
	r.waitUntilGone(t)
	if err := r.checkFinalized(t); err != nil {
		t.Error(err)
	}
}
