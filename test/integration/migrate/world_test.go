// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

var (
	apiServices          = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	definitions          = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	compositeControllers = v1alpha1.SchemeGroupVersion.WithResource("compositecontrollers")
	decoratorControllers = v1alpha1.SchemeGroupVersion.WithResource("decoratorcontrollers")
	controllerRevisions  = v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")
)

// kinds are the resources that move.
var kinds = []schema.GroupVersionResource{compositeControllers, decoratorControllers, controllerRevisions}

// world is a cluster with the definitions of Metacontroller, and a server beside them that is not registered.
type world struct {
	*testing.T
	server *process.Process
	dir    string
	port   int
	args   []string
	// kubeconfig is that of the migrator.
	kubeconfig string
}

// rights installs the rights of all worlds.
var rights sync.Once

// newWorld returns a world whose server has more flags, if any. It goes with the test.
func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	dir, err := os.MkdirTemp(env.Host.Dir(), "world-") // in memory, if that is
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, dir: dir, args: args}
	t.Cleanup(w.clean)
	rights.Do(func() { env.InstallRights(t, "components/migration/rbac.yaml") })
	env.Kubectl(t, "apply", "-f", filepath.Join(hostcluster.RepositoryRoot(), "pkg", "migration", "crds"))
	w.waitForDefinitions()
	env.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {type: ExternalName, externalName: localhost}
`, aggregation.ServiceName, aggregation.Namespace))
	if w.kubeconfig, err = env.Host.WriteKubeconfig("migration", migrator, "system:serviceaccounts", "system:authenticated"); err != nil {
		t.Fatal(err)
	}
	if w.port, err = process.FreePort(); err != nil {
		t.Fatal(err)
	}
	w.startServer()
	return w
}

// waitForDefinitions waits until the definitions serve the API.
func (w *world) waitForDefinitions() {
	w.Helper()
	w.eventually(func(ctx context.Context) error {
		of, err := env.Dynamic.Resource(apiServices).Get(ctx, aggregation.APIServiceName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if _, leads, _ := unstructured.NestedMap(of.Object, "spec", "service"); leads {
			return errors.New("the APIService leads to a server")
		}
		for _, kind := range kinds {
			if _, err := env.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// startServer starts the server, with its data.
func (w *world) startServer() {
	w.Helper()
	binary, err := env.ServerBinary(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	kubeconfig, err := env.Host.WriteKubeconfig("server", harness.ServerUser, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		w.Fatal(err)
	}
	command := exec.Command(binary, append([]string{
		"--data-dir=" + filepath.Join(w.dir, "data"), "--kubeconfig=" + kubeconfig, "--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(w.port), "--certificate-secret=metacontroller-apiserver-certificates",
		"--leader-election-id=" + filepath.Base(w.dir), // it has a storage of its own
	}, w.args...)...)
	if w.server, err = process.Start("metacontroller-apiserver", w.log(), command); err != nil {
		w.Fatal(err)
	}
}

func (w *world) log() string { return filepath.Join(w.dir, "server.log") }

// migrator is who migrates: the service account of the Jobs of artifacts/deploy/components/migration, with its rights.
const migrator = "system:serviceaccount:metacontroller:metacontroller-apiserver-migration"

// command returns the command that does a step of the migration.
func (w *world) command(args ...string) *exec.Cmd {
	w.Helper()
	binary, err := env.ServerBinary(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	all := []string{"migrate", "--service-port=" + strconv.Itoa(w.port), "--kubeconfig=" + w.kubeconfig,
		"--propagation=100ms", "--timeout=1m"} // there is one kube-apiserver
	return exec.Command(binary, append(all, args...)...)
}

// migrate does a step, and returns what it says.
func (w *world) migrate(args ...string) string {
	w.Helper()
	said, err := w.tryToMigrate(args...)
	if err != nil {
		w.Fatalf("migrate %v: %v\n%s", args, err, said)
	}
	return said
}

// tryToMigrate does a step that may fail.
func (w *world) tryToMigrate(args ...string) (string, error) {
	w.Helper()
	command := w.command(args...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	began := time.Now()
	err := command.Run()
	w.Logf("migrate %v took %s and says\n%s", args, time.Since(began).Round(time.Millisecond), out.String())
	return out.String(), err
}

func (w *world) eventually(check func(context.Context) error) {
	w.Helper()
	if err := poll.Within(w.Context(), 2*time.Minute, check); err != nil {
		w.Fatal(err)
	}
}

// clean removes everything but the namespaces, whatever the state is.
func (w *world) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if w.Failed() {
		w.Logf("the log of the server ends with\n%s", process.Tail(w.log(), 40))
	}
	if w.server != nil && w.server.Exited() == nil {
		if err := errors.Join(w.server.Stop(aggregation.StopTimeout), harness.RaceFree(w.log())); err != nil {
			w.Error(err)
		}
	}
	admission := env.Kube.AdmissionregistrationV1()
	err := errors.Join(
		notFoundIsFine(admission.ValidatingAdmissionPolicyBindings().Delete(ctx, policyName, metav1.DeleteOptions{})),
		notFoundIsFine(admission.ValidatingAdmissionPolicies().Delete(ctx, policyName, metav1.DeleteOptions{})),
		notFoundIsFine(env.Dynamic.Resource(apiServices).Delete(ctx, aggregation.APIServiceName, metav1.DeleteOptions{})),
	)
	if err != nil {
		w.Error(err)
	}
	var removing sync.WaitGroup
	for _, kind := range kinds {
		removing.Go(func() { w.removeDefinition(ctx, kind) })
	}
	removing.Wait()
	err = env.Kube.CoreV1().Secrets(aggregation.Namespace).Delete(
		ctx, "metacontroller-apiserver-certificates", metav1.DeleteOptions{})
	if err := notFoundIsFine(err); err != nil {
		w.Error(err)
	}
}

// policyName is the name of the policy that refuses writes while objects are moved.
const policyName = "metacontroller-apiserver-migration"

func notFoundIsFine(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// removeDefinition removes a definition with its objects.
func (w *world) removeDefinition(ctx context.Context, kind schema.GroupVersionResource) {
	name := kind.GroupResource().String()
	found, err := env.Dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		w.Error(err)
		return
	}
	served := ""
	versions, _ := found.Object["spec"].(map[string]any)["versions"].([]any)
	for _, version := range versions {
		if of := version.(map[string]any); of["served"] == true {
			served = of["name"].(string)
		}
	}
	if err := env.Dynamic.Resource(definitions).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		w.Error(err)
	}
	reminded := time.Now()
	err = poll.Within(ctx, time.Minute, func(ctx context.Context) error {
		_, err := env.Dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		list, listErr := env.Dynamic.Resource(schema.GroupVersionResource{Group: kind.Group, Version: served, Resource: kind.Resource}).List(ctx, metav1.ListOptions{})
		if listErr != nil {
			return errors.Join(errors.New("it is still there"), err, listErr)
		}
		for _, of := range list.Items {
			if len(of.GetFinalizers()) > 0 {
				_, err := env.Dynamic.Resource(schema.GroupVersionResource{Group: kind.Group, Version: served, Resource: kind.Resource}).Namespace(of.GetNamespace()).
					Patch(ctx, of.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					return err
				}
			}
		}
		// kube-apiserver may forget a definition that it deletes: see pkg/migration/definitions.go.
		if time.Since(reminded) < 5*time.Second {
			return errors.New("it is still there")
		}
		reminded = time.Now()
		reminder := fmt.Appendf(nil, `{"metadata":{"annotations":{"reminder":%q}}}`, reminded)
		_, err = env.Dynamic.Resource(definitions).Patch(ctx, name, types.MergePatchType, reminder, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return errors.New("it is still there")
	})
	if err != nil {
		w.Errorf("remove the definition %s: %v", name, err)
	}
}
