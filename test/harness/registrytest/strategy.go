// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// Write is a write of an object and its wanted result. Objects are YAML.
type Write struct {
	// Stored is the object before an update; empty for a create.
	Stored string
	// Sent is what the client sends.
	Sent string

	// Want is the object to be stored, if the write is to succeed.
	Want string
	// WantErrors are to be in the error, if the write is to fail.
	WantErrors []string
	// WantWarnings are to be sent along.
	WantWarnings []string
}

// Strategy is a strategy for creates and updates.
type Strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// Check sends a write through a strategy, in the way that the generic registry does, and compares.
func (w Write) Check(t *testing.T, strategy Strategy) {
	t.Helper()
	warnings := &recordedWarnings{}
	ctx := warning.WithWarningRecorder(genericapirequest.NewContext(), warnings)
	sent, err := w.send(ctx, t, strategy)

	if diff := cmp.Diff(w.WantWarnings, warnings.texts); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
	if len(w.WantErrors) > 0 {
		for _, want := range w.WantErrors {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error = %v, want it to contain %q", err, want)
			}
		}
		return
	}
	if err != nil {
		t.Fatalf("the write failed: %v", err)
	}
	if diff := cmp.Diff(Decode[runtime.Object](t, w.Want), sent, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("the object to be stored differs (-want +got):\n%s", diff)
	}
}

// send returns the object as it would be stored, without what differs from run to run.
func (w Write) send(ctx context.Context, t *testing.T, strategy Strategy) (runtime.Object, error) {
	t.Helper()
	sent := Decode[runtime.Object](t, w.Sent)
	metadata, err := meta.Accessor(sent)
	if err != nil {
		t.Fatal(err)
	}
	ctx = genericapirequest.WithNamespace(ctx, metadata.GetNamespace())
	if w.Stored != "" {
		return sent, rest.BeforeUpdate(strategy, ctx, sent, Decode[runtime.Object](t, w.Stored))
	}
	rest.FillObjectMetaSystemFields(metadata)
	err = rest.BeforeCreate(strategy, ctx, sent)
	metadata.SetUID("")
	metadata.SetCreationTimestamp(metav1.Time{})
	return sent, err
}

type recordedWarnings struct {
	texts []string
}

func (w *recordedWarnings) AddWarning(_, text string) {
	w.texts = append(w.texts, text)
}
