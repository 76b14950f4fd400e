// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// readerOf returns who follows a page in a world. The program that the page names has the port of the world's server.
func (w *world) readerOf() *manual.Reader {
	w.Helper()
	binary, err := env.ServerBinary(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	programs := w.TempDir()
	program := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" --service-port=%d --kubeconfig='%s'\n", binary, w.port, w.kubeconfig)
	if err := os.WriteFile(filepath.Join(programs, "metacontroller-apiserver"), []byte(program), 0o700); err != nil {
		w.Fatal(err)
	}
	return &manual.Reader{
		Folder:      w.TempDir(),
		Environment: append(env.Host.KubectlCommand(w.Context()).Env, "PATH="+programs+":"+filepath.Dir(env.Host.Kubectl())+":"+os.Getenv("PATH")),
		Patience:    time.Minute,
	}
}

// Who follows the page, from its first step to its last and back, sees what it shows. Everything is there afterwards,
// and no child was written. Somebody's finalizer does not stop the definitions from going.
func TestTheCommandsOfThePageWork(t *testing.T) {
	page, err := manual.Read("docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	e, _ := newEstate(w, []shape{{name: "websites", method: "RollingInPlace", rolls: true}, {name: "labels", method: "InPlace", decorates: true}})
	for _, of := range e.shapes {
		if _, err := e.leaveController(of); err != nil {
			t.Fatal(err)
		}
		if err := e.leaveParent(of, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := env.Dynamic.Resource(decoratorControllers).Patch(t.Context(), "labels", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":["example.com/kept"]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.installOriginal(1)
	before, from := e.census(), env.AuditEnd(t)
	if ran := w.readerOf().Follow(t, page); ran < 4 {
		t.Errorf("%d blocks of commands were run", ran)
	}
	w.waitForDefinitions()
	w.waitForOriginal(true)
	e.expectSurvived(before, "back after finish")
	w.expectNothingLeft()
	e.expectNoChildWrites(from)
}
