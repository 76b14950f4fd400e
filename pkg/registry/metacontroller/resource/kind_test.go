// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

// writes are writes of one kind, by what is to happen.
type writes map[string]registrytest.Write

// check sends each write through a strategy of the kind.
func (w writes) check(t *testing.T, strategy registrytest.Strategy) {
	t.Helper()
	for name, write := range w {
		t.Run(name, func(t *testing.T) { write.Check(t, strategy) })
	}
}

// shown are objects of one kind and their wanted rows, by what is to be shown.
type shown map[string]struct{ object, want string }

// check makes a table of each object.
func (s shown) check(t *testing.T, convertor rest.TableConvertor, headings string) {
	t.Helper()
	for name, test := range s {
		t.Run(name, func(t *testing.T) {
			object := registrytest.Decode[runtime.Object](t, test.object)
			if diff := cmp.Diff(headings+"\n"+test.want, registrytest.Table(t, convertor, object)); diff != "" {
				t.Errorf("table differs (-want +got):\n%s", diff)
			}
		})
	}
}

// checkResetFields compares the fields that a server-side apply through a strategy cannot own.
func checkResetFields(t *testing.T, strategy rest.ResetFieldsStrategy, want string) {
	t.Helper()
	if diff := cmp.Diff(want, strategy.GetResetFields()["metacontroller.k8s.io/v1alpha1"].String()); diff != "" {
		t.Errorf("reset fields of %T differ (-want +got):\n%s", strategy, diff)
	}
}

const (
	// unread is the status of a controller that is created.
	unread = `, status: {conditions: [{type: Ready, status: Unknown, reason: NotObservedYet,
  message: the leader of the servers has not read this controller yet}]}`
	controllerHeadings = "NAME PARENT READY PARENTS FAILING WARNED AGE | CHILDREN SYNCED OUTDATED HOOK REASON RESYNC"
)
