// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/server"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/etcd"
)

// run runs the command and returns what it prints.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	command := NewCommand()
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&errOut)
	command.SilenceErrors = true
	err = command.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// newSnapshot returns a snapshot of a storage with one key.
func newSnapshot(t *testing.T) []byte {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	storage, err := etcd.Start(t.Context(), etcd.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := storage.Close(); err != nil {
			t.Error(err)
		}
	}()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{storage.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	snapshot, err := storage.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = snapshot.Close() }()
	if _, err := io.Copy(&content, snapshot); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

// serve serves an answer where a server has its snapshot, and returns a kubeconfig.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(server.SnapshotPath, answer)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, metav1.StatusReasonNotFound, http.StatusNotFound)
	})
	host := httptest.NewServer(mux)
	t.Cleanup(host.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["host"] = &clientcmdapi.Cluster{Server: host.URL}
	config.Contexts["host"] = &clientcmdapi.Context{Cluster: "host"}
	config.CurrentContext = "host"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func refuse(w http.ResponseWriter, reason metav1.StatusReason, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code), Message: string(reason) + " it is",
	})
}

func TestASnapshotIsSavedShownAndRestored(t *testing.T) {
	content := newSnapshot(t)
	kubeconfig := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	stdout, _, err := run(t, "save", "--kubeconfig="+kubeconfig, "-")
	if err != nil || stdout != string(content) {
		t.Errorf("save writes %d bytes to stdout and %v, want %d", len(stdout), err, len(content))
	}
	for name, most := range map[string]int{"snapshot.db": len(content), "snapshot.db.gz": len(content) / 3} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			_, said, err := run(t, "save", "--kubeconfig="+kubeconfig, path)
			if err != nil || !strings.HasPrefix(said, "Saved "+path+": ") {
				t.Fatalf("save says %q and %v", said, err)
			}
			if saved, err := os.Stat(path); err != nil || saved.Size() > int64(most) {
				t.Errorf("the file has %d bytes, want at most %d; %v", saved.Size(), most, err)
			}
			stdout, _, err := run(t, "status", path)
			if err != nil || !strings.HasPrefix(stdout, "Revision:  2\nKeys:      1\nSize:      ") {
				t.Errorf("status says %q and %v", stdout, err)
			}
			stdout, _, err = run(t, "status", "-o=json", path)
			var info etcd.SnapshotInfo
			if err != nil || json.Unmarshal([]byte(stdout), &info) != nil || info.Size == 0 {
				t.Errorf("status says %q and %v", stdout, err)
			}
			dataDir := t.TempDir()
			_, said, err = run(t, "restore", "--data-dir="+dataDir, path)
			if err != nil || !strings.Contains(said, "Restored "+path+" in "+dataDir) || strings.Contains(said, "former") {
				t.Errorf("restore says %q and %v", said, err)
			}
			_, said, err = run(t, "restore", "--data-dir="+dataDir, path)
			if err != nil || !strings.Contains(said, "The previous storage is now in "+dataDir+"/etcd.before-") {
				t.Errorf("restore says %q and %v when it is run again", said, err)
			}
		})
	}
}

func TestWhatCannotBeSaved(t *testing.T) {
	content := newSnapshot(t)
	whole := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	existing := filepath.Join(t.TempDir(), "existing.db")
	if err := os.WriteFile(existing, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for name, test := range map[string]struct {
		args  []string
		words string
	}{
		"no place":        {[]string{"--kubeconfig=" + whole}, "specify FILE"},
		"two places":      {[]string{"--kubeconfig=" + whole, "--directory=" + t.TempDir(), "a.db"}, "specify FILE"},
		"fewer than none": {[]string{"--kubeconfig=" + whole, "--directory=" + t.TempDir(), "--keep=-1"}, "--keep=-1"},
		"files to keep": {[]string{"--kubeconfig=" + whole, "--keep=1", "a.db"}, "--keep=1: must be 0 or more, and " +
			"requires --directory"},
		"an existing file": {[]string{"--kubeconfig=" + whole, existing}, existing + " already exists"},
		"no directory":     {[]string{"--kubeconfig=" + whole, filepath.Join(t.TempDir(), "none", "a.db")}, "no such file or directory"},
		"a user without the right": {
			[]string{"--kubeconfig=" + serve(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, metav1.StatusReasonForbidden, 403) }), "a.db"}, "Forbidden it is"},
		"an external etcd": {
			[]string{"--kubeconfig=" + serve(t, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "the server stores its objects in an external etcd", http.StatusNotImplemented)
			}), "a.db"}, "external etcd"},
		"no server": {
			[]string{"--kubeconfig=" + serve(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, metav1.StatusReasonNotFound, 404) }), "a.db"},
			"the cluster has no available metacontroller-apiserver"},
		"half a snapshot": {
			[]string{"--kubeconfig=" + serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content[:len(content)/2]) }), filepath.Join(t.TempDir(), "a.db")},
			"not a complete snapshot"},
		"something else": {
			[]string{"--kubeconfig=" + serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "text") }),
				filepath.Join(t.TempDir(), "a.db")},
			"not a complete snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, append([]string{"save"}, test.args...)...)
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("the error is %v, want %q in it", err, test.words)
			}
			if path := test.args[len(test.args)-1]; filepath.IsAbs(path) && path != existing {
				if left, err := os.ReadDir(filepath.Dir(path)); err == nil && len(left) > 0 {
					t.Errorf("%v is left", left)
				}
			}
		})
	}
	if kept, err := os.ReadFile(existing); err != nil || string(kept) != "mine" {
		t.Errorf("the existing file is %q now, %v", kept, err)
	}
}
