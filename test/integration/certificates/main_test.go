// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// secretName is the name in artifacts/deploy, which the rights of the server are for.
const secretName = "metacontroller-apiserver-certificates"

// patience is how long tests wait. Only failing tests use it up.
const patience = time.Minute

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.MainWithoutServer(m, func(e *harness.Env) { env = e }))
}

// server is a running metacontroller-apiserver.
type server struct {
	*process.Process
	port int
}

// install gives the cluster what a server needs except the APIService, and no Secret.
func install(t *testing.T) {
	t.Helper()
	// The rights for tenants write no Secrets and no APIServices beside those for certificates.
	env.InstallRights(t, "components/tenants/controllers-role.yaml")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, args := range [][]string{
			{"delete", "--ignore-not-found", "apiservice", aggregation.APIServiceName},
			{"delete", "--ignore-not-found", "-n", aggregation.Namespace, "secret", secretName},
		} {
			if _, err := env.Host.RunKubectl(ctx, args...); err != nil {
				t.Error(err)
			}
		}
	})
}

// start starts a server, which ends with the test. It does not wait for anything.
func start(t *testing.T, kubeconfig string) *server {
	t.Helper()
	binary, err := env.ServerBinary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(env.Host.Dir(), "server-")
	if err != nil {
		t.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	started, err := process.Start("metacontroller-apiserver", filepath.Join(dir, "log"), exec.Command(binary,
		"--data-dir="+filepath.Join(dir, "data"), "--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1",
		"--secure-port="+strconv.Itoa(port), "--certificate-secret="+secretName,
		"--leader-election-id="+harness.Name("lease")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(aggregation.StopTimeout); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log of the server ends with\n%s", process.Tail(started.LogPath(), 20))
		}
	})
	return &server{Process: started, port: port}
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	path, err := env.Host.WriteKubeconfig("server", harness.ServerUser, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func register(t *testing.T, to *server) {
	t.Helper()
	env.Register(t, to.port)
}

func eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	if err := poll.Within(t.Context(), patience, check); err != nil {
		t.Fatal(err)
	}
}

// served waits until the cluster serves our API, which it does only if it trusts the server.
func served(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error { return aggregation.Served(ctx, env.Config) })
}

// leaf returns the certificate that a server shows.
func (s *server) leaf() ([]byte, error) {
	// What is asked here is which certificate it is, and not whether it is trusted.
	connection, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, errors.Join(err, s.Exited())
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].Raw, nil
}

func secrets() corev1client.SecretInterface { return env.Kube.CoreV1().Secrets(aggregation.Namespace) }

// secret waits for the Secret.
func secret(t *testing.T) *corev1.Secret {
	t.Helper()
	var found *corev1.Secret
	eventually(t, func(ctx context.Context) (err error) {
		found, err = secrets().Get(ctx, secretName, metav1.GetOptions{})
		return err
	})
	return found
}

func deleteSecret(t *testing.T) {
	t.Helper()
	if err := secrets().Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// fill replaces what the Secret holds, as one who restores it does.
func fill(t *testing.T, data map[string][]byte) {
	t.Helper()
	patch, err := json.Marshal([]any{
		map[string]any{"op": "replace", "path": "/data", "value": data},
		map[string]any{"op": "remove", "path": "/metadata/annotations"},
	})
	if err != nil {
		t.Fatal(err)
	}
	env.Kubectl(t, "patch", "-n", aggregation.Namespace, "secret", secretName, "--type=json", "-p", string(patch))
}

// caBundle waits until the caBundle is as it should be.
func caBundle(t *testing.T, check func(bundle string) error) {
	t.Helper()
	services := env.Dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	eventually(t, func(ctx context.Context) error {
		service, err := services.Get(ctx, aggregation.APIServiceName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		encoded, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
		var bundle []byte
		if err := json.Unmarshal([]byte(strconv.Quote(encoded)), &bundle); err != nil {
			return err
		}
		return check(string(bundle))
	})
}

// use sends requests through the cluster until the returned function is called, which fails the test if any of them
// failed.
func use(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := env.Metacontroller.MetacontrollerV1alpha1().RESTClient()
	count, failures := 0, []error(nil)
	var using sync.WaitGroup
	using.Go(func() {
		for ctx.Err() == nil {
			// The client would try a failed request again, and hide an outage of seconds.
			err := client.Get().Resource("compositecontrollers").MaxRetries(0).Do(ctx).Error()
			if count++; err != nil && ctx.Err() == nil {
				failures = append(failures, err)
			}
		}
	})
	return func() {
		t.Helper()
		cancel()
		using.Wait()
		if count == 0 {
			t.Error("no request was made")
		}
		if len(failures) > 0 {
			t.Errorf("%d of %d requests failed, the first: %v", len(failures), count, failures[0])
		}
	}
}
