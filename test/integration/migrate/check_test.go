// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

func read(w *world, file string) string {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), file))
	if err != nil {
		w.Fatal(err)
	}
	return string(content)
}

func (w *world) expectSays(args []string, fails bool, parts ...string) {
	w.Helper()
	said, err := w.tryToMigrate(args...)
	if (err != nil) != fails {
		w.Errorf("migrate %v: error %v", args, err)
	}
	for _, part := range parts {
		if !strings.Contains(said, part) {
			w.Errorf("migrate %v does not say %q", args, part)
		}
	}
}

// check needs no server, says all that stands in the way and what is different, and writes nothing.
func TestWhatCheckSays(t *testing.T) {
	w := newWorld(t)
	w.breakDiscovery()
	env.Kubectl(t, "-n", aggregation.Namespace, "delete", "service", aggregation.ServiceName)
	for _, name := range []string{"a", "b"} {
		env.Apply(t, fmt.Sprintf(plain, name, "http://127.0.0.1:1"))
	}
	from := env.AuditEnd(t)
	w.expectSays([]string{"check"}, true, "no workload has the command or the image of Metacontroller", "--original=none")
	w.expectSays([]string{"switch"}, true, "no workload has the command or the image of Metacontroller", "the server is not installed")
	w.expectSays([]string{"check", "--original=none"}, false, "No problem blocks the migration")
	w.installOriginal(1, "--apply-strategy=server-side-apply", "--workers=20")
	w.expectSays([]string{"check"}, false,
		"The CustomResourceDefinitions serve the API.", "2 CompositeControllers", "0 DecoratorControllers", "0 "+
			"ControllerRevisions",
		"Metacontroller runs as statefulset/metacontroller/metacontroller, with 1 replica",
		"Metacontroller runs with the arguments ", "--apply-strategy=server-side-apply --workers=20",
		"the server is not installed: Service", "No problem blocks the migration")
	owner, err := env.Dynamic.Resource(compositeControllers).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	env.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: dependent, namespace: %s, ownerReferences: [{apiVersion: metacontroller.k8s.io/v1alpha1,
	kind: CompositeController, name: a, uid: %s}]}
`, env.Namespace(t), owner.GetUID()))
	env.Apply(t, fmt.Sprintf(plain, "odd", "ftp://hooks.example"))
	w.expectSays([]string{"switch"}, true, "Problems:", "CompositeController odd: the server does not accept it",
		"spec.hooks.sync.webhook.url",
		"these objects have owners that get new UIDs", "/dependent", "the migration is blocked by 3 problems")
	events, err := env.Host.Audit().Find(from, hostcluster.Request{User: migrator, Verbs: hostcluster.Writes()})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		t.Errorf("check has written: %s %s", event.Verb, event.RequestURI)
	}
	if w.kubeconfig, err = env.Host.WriteKubeconfig("nobody", "nobody", "system:authenticated"); err != nil {
		t.Fatal(err)
	}
	w.expectSays([]string{"check"}, true, "")
}

// Who applies the manifests over Metacontroller's definitions breaks nothing, reads what has happened, and has both
// ways open.
func TestTheServerIsInstalledOverTheDefinitions(t *testing.T) {
	w := newWorld(t)
	env.Apply(t, fmt.Sprintf(plain, "a", "http://127.0.0.1:1"))
	w.installOriginal(1)
	env.KubectlError(t, "wait", "--for=jsonpath={.status.conditions[*].reason}=Passed", "--timeout=1s",
		"apiservice/"+aggregation.APIServiceName)
	w.installOver()
	env.Kubectl(t, "create", "namespace", "unrelated")
	env.Kubectl(t, "delete", "namespace", "unrelated", "--timeout=60s")
	env.Apply(t, fmt.Sprintf(plain, "applied-again", "http://127.0.0.1:2"))
	env.Kubectl(t, "wait", "--for=jsonpath={.status.conditions[?(@.type==\"Ready\")].reason}=Held", "--timeout=60s",
		"cc/applied-again")
	message := "jsonpath={.status.conditions[?(@.type==\"Ready\")].message}"
	if said := env.Kubectl(t, "get", "cc", "applied-again", "-o", message); !strings.Contains(said,
		"the server was installed over Metacontroller's CustomResourceDefinition") {
		t.Errorf("the status does not say why: %s", said)
	}
	if log := w.logged(); !strings.Contains(log, "Controllers are held") || !strings.Contains(log, "migrate switch") {
		t.Error("the log does not say what to do")
	}
	w.expectSays([]string{"check"}, false, "The server was installed over Metacontroller's CustomResourceDefinitions",
		"Metacontroller still runs, as ")
	for _, step := range []string{"back", "switch"} { // somebody's write would be lost
		w.expectSays([]string{step}, true, "the server has 1 object that differ",
			"CompositeController applied-again is only there", "--discard-others")
	}
	env.Kubectl(t, "delete", "cc", "applied-again")
	w.migrate("back")
	w.waitForDefinitions()
	w.expectNothingLeft()
	w.migrate("switch", "--accept-writes") // the type of its parents is not there
	env.Kubectl(t, "get", "cc", "a")
	// Who applies Metacontroller's definitions again stops nothing.
	env.Kubectl(t, "apply", "-f", filepath.Join(hostcluster.RepositoryRoot(), "pkg", "migration", "crds"))
	w.expectSays([]string{"check"}, false, "The server serves the API.")
	// A server that does not answer is no obstacle to the way back from what was installed over the definitions.
	w.migrate("back")
	w.installOver()
	if err := w.server.Stop(aggregation.StopTimeout); err != nil {
		t.Fatal(err)
	}
	w.expectSays([]string{"back"}, false, "the server does not answer")
	w.waitForDefinitions()
}

// breakDiscovery has kube-apiserver take the APIService back, which leaves the discovery of the group broken. check
// says so, and how to repair it.
func (w *world) breakDiscovery() {
	w.Helper()
	manifest := strings.ReplaceAll(read(w, "artifacts/deploy/base/apiservice.yaml"), `automanaged: "false"`,
		`automanaged: "true"`)
	w.eventually(func(context.Context) error { // what kube-apiserver does with it is a race
		env.Apply(w, manifest)
		said, _ := w.tryToMigrate("check", "--original=none")
		if !strings.Contains(said, "so no namespace can be deleted") || !strings.Contains(said,
			"kubectl delete apiservice v1alpha1.metacontroller.k8s.io") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	env.Kubectl(w, "delete", "apiservice", aggregation.APIServiceName)
	w.eventually(func(context.Context) error {
		_, err := w.tryToMigrate("check", "--original=none")
		return err
	})
	w.waitForDefinitions()
}

func (w *world) logged() string {
	w.Helper()
	content, err := os.ReadFile(w.log())
	if err != nil {
		w.Fatal(err)
	}
	return string(content)
}
