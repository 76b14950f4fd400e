// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPythonLambda(t *testing.T) { withBothHooks(t, "python-lambda", "8086", playPythonLambda) }

func playPythonLambda(t *testing.T, example string) {
	namespace := env.Namespace(t)
	env.Kubectl(t, "apply", "-n", namespace, "-f", filepath.Join(example, "greeter.yaml"))

	const lambda, deployment, codeOfPods = "pythonlambda/greeter", "deployment/greeter", `{.spec.template.metadata.annotations.example\.com/code}`
	waitFor(t, namespace, "service/greeter", "{.spec.ports[0].targetPort}", "http")
	waitFor(t, namespace, lambda, "{.status.url} {.status.readyReplicas}", "http://greeter."+namespace+" 0")
	ask(t, runLambda(t, namespace), `{"who":"World"}`, `{"greeting": "Hello, World!"}`)
	ask(t, runLambda(t, namespace), `{}`, `{"error": "KeyError: 'who'"}`)

	former := uid(t, namespace, deployment)
	env.Kubectl(t, "delete", deployment, "-n", namespace)
	waitForAnother(t, namespace, deployment, former)
	env.Kubectl(t, "patch", deployment, "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status":{"replicas":1,"readyReplicas":1}}`)
	waitFor(t, namespace, lambda, "{.status.readyReplicas}", "1")

	old := env.Kubectl(t, "get", deployment, "-n", namespace, "-o", "jsonpath="+codeOfPods)
	env.Kubectl(t, "patch", lambda, "-n", namespace, "--type=merge", "-p",
		`{"spec":{"replicas":2,"code":"def handle(request):\n    return request[::-1]\n"}}`)
	waitFor(t, namespace, deployment, "{.spec.replicas}", "2")
	waitFor(t, namespace, "configmap/greeter", `{.data.function\.py}`, "def handle(request):\n    return request[::-1]\n")
	if found := env.Kubectl(t, "get", deployment, "-n", namespace, "-o", "jsonpath="+codeOfPods); found == old {
		t.Error("the code has changed, the Pods have not")
	}
	ask(t, runLambda(t, namespace), `[1,2,3]`, `[3, 2, 1]`)

	for _, child := range []string{"configmap/greeter", deployment, "service/greeter"} {
		waitFor(t, namespace, child, "{.metadata.ownerReferences[*].name}", "greeter")
	}
}

// runLambda does the work of the Pods' container, and returns its port.
func runLambda(t *testing.T, namespace string) (port string) {
	t.Helper()
	code, err := env.Kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), "greeter", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mounted := t.TempDir()
	for name, content := range code.Data {
		if err := os.WriteFile(filepath.Join(mounted, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return startPython(t, filepath.Join(mounted, "server.py"))
}

func ask(t *testing.T, port, question, want string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:"+port, strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if found := strings.TrimSpace(string(answer)); found != want {
		t.Errorf("the lambda answers %s to %s, want %s", found, question, want)
	}
}
