// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/transcript"
)

var update = flag.Bool("update", false, "write what the commands print into testdata")

// request is the part of requests that the hooks of the shop read.
type request struct {
	Parent, Object struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct{ Text, Image string }
	}
	Related map[string]map[string]struct {
		Data map[string]string
	}
}

// theme has a hook see the ConfigMap with the color.
func theme(of *request) hook.Answer {
	return hook.JSON(map[string]any{"relatedResources": []any{
		map[string]any{"apiVersion": "v1", "resource": "configmaps", "namespace": of.Parent.Metadata.Namespace, "names": []string{"theme"}},
	}})
}

// site is what the hook of the shop wants: a page, and a password.
func site(of *request, page, password string) hook.Answer {
	name, color := of.Parent.Metadata.Name, ""
	for _, one := range of.Related["ConfigMap.v1"] {
		color = one.Data["color"]
	}
	return hook.JSON(map[string]any{
		"status": map[string]any{"color": color},
		"children": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"page": page}},
			map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name},
				"data": map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(password))}},
		},
	})
}

// badge is what the hook of the decorator wants.
func badge(of *request) hook.Answer {
	return hook.JSON(map[string]any{"attachments": []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": of.Object.Metadata.Name + "-badge"}},
	}})
}

// rack is what the hook of the racks wants: two Pods.
func rack(of *request) hook.Answer {
	if of.Parent.Spec.Image == "broken" {
		return hook.Text(http.StatusInternalServerError, "there is no such image")
	}
	var pods []any
	for i := range 2 {
		pods = append(pods, map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": fmt.Sprintf("%s-%d", of.Parent.Metadata.Name, i)},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": of.Parent.Spec.Image}}},
		})
	}
	return hook.JSON(map[string]any{"status": map[string]any{}, "children": pods})
}

// serve serves the hooks of the shop.
func serve(t *testing.T, sync func(*request) hook.Answer) *hook.Server {
	t.Helper()
	return hook.Serve(t, func(_ context.Context, call hook.Call) hook.Answer {
		var of request
		if err := json.Unmarshal(call.Body, &of); err != nil {
			return hook.Text(http.StatusBadRequest, err.Error())
		}
		switch call.Path {
		case "/customize":
			return theme(&of)
		case "/badge":
			return badge(&of)
		case "/rack":
			return rack(&of)
		}
		return sync(&of)
	})
}

// now is the hook that the controller calls, and next the one that its author is writing.
func now(of *request) hook.Answer {
	if of.Parent.Spec.Text == "fail" {
		return hook.Text(http.StatusInternalServerError, "the text is wrong")
	}
	if of.Parent.Spec.Text == "misspell" {
		return hook.JSON(map[string]any{"status": map[string]any{"colour": "red"}, "children": []any{}})
	}
	return site(of, "<h1>"+of.Parent.Spec.Text+"</h1>\n<hr>\n", "open sesame")
}

func next(of *request) hook.Answer {
	if of.Parent.Metadata.Name == "blog" {
		return hook.Text(http.StatusInternalServerError, "Traceback:\n  the text is empty")
	}
	return site(of, "<h2>"+of.Parent.Spec.Text+"</h2>\n<hr>\n", "swordfish")
}

// newSession returns a session in which the shop has two Websites, which are synced. Its files are in $DIR, and
// at $FILES.
func newSession(t *testing.T) *transcript.Session {
	t.Helper()
	binary, err := env.PluginBinary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	session := &transcript.Session{
		Env: env, Update: *update, Path: []string{filepath.Dir(binary), filepath.Join(hostcluster.RepositoryRoot(), "cmd", "kubectl-metacontroller")}, Users: map[string]string{},
		Words: []transcript.Word{{Word: "$HOOK", Meaning: serve(t, now).URL("")}, {Word: "$NEXT", Meaning: serve(t, next).URL("")}},
		Patterns: []transcript.Pattern{
			{Word: "hidden-DIGEST", Match: regexp.MustCompile(`hidden-[0-9a-f]{24}`)},
			{Word: "UID", Match: regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)},
			{Word: "DIGEST", Match: regexp.MustCompile(`\b[0-9a-f]{40}\b`)},
			{Word: "CALL", Match: regexp.MustCompile(`\d{8}-\d{6}-\d{6}-[0-9a-z]{4}`)},
			{Word: "TIME", Match: regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)`)},
			{Word: "(TIME)", Match: regexp.MustCompile(`\(\d+ ms\)`)},
			// The first sync writes the status and the children, and these changes cause the next syncs. Which change the last
			// sync is told of depends on how long things took.
			{Word: "trigger: parent", Match: regexp.MustCompile(`trigger: (parent|child)\b`)},
			{Word: "SIZE bytes", Match: regexp.MustCompile(`\d+ bytes`)},
			// The widths of columns of times depend on how long things took.
			{Word: "AGE   ", Match: regexp.MustCompile(`\bAGE {3,}`)},
			{Word: "AGE", Match: regexp.MustCompile(`(?m)\b[0-9.]+(µs|ms|s|m[0-9]+s|m)$`)},
			{Word: "AGE  ", Match: regexp.MustCompile(`\b[0-9.]+(µs|ms|s|m[0-9]+s|m)\b *`)},
		},
	}
	for user, group := range map[string]string{"admin": "system:masters", "stranger": "strangers"} {
		if session.Users[user], err = env.Host.WriteKubeconfig(user, user, group); err != nil {
			t.Fatal(err)
		}
	}
	session.Words = append(session.Words, transcript.Word{Word: "$DIR", Meaning: render(t, session)})
	files := httptest.NewServer(http.FileServer(http.Dir(session.Meaning("$DIR"))))
	t.Cleanup(files.Close)
	session.Words = append(session.Words, transcript.Word{Word: "$FILES", Meaning: files.URL})
	directory := session.Meaning("$DIR")
	for _, file := range []string{"crd.yaml", "sites.yaml", "controller.yaml"} {
		path := filepath.Join(directory, file)
		env.Kubectl(t, "apply", "-f", path)
		if file == "crd.yaml" {
			env.WaitUntilEstablished(t, "-f", path)
		}
	}
	env.Kubectl(t, "wait", "--for=jsonpath={.status.parents.synced}=2", "cc/websites", "--timeout=60s")
	return session
}

// render writes the files of the shop into a folder, with the meanings of their words.
func render(t *testing.T, session *transcript.Session) string {
	t.Helper()
	directory := t.TempDir()
	files, err := filepath.Glob("testdata/shop/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, filepath.Base(file)), []byte(session.Meaning(string(raw))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}
