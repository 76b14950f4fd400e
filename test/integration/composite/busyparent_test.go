// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// A parent that others annotate faster than its hook answers gets its status, and is finalized.
func TestAParentThatChangesFasterThanItsHookAnswers(t *testing.T) {
	t.Parallel()
	f := start(t, harness.Slowly(scripted(t, done).handle), withFinalize)
	f.createParent("a")
	f.KeepBusy("a", harness.Annotating)
	f.waitForSynced("a")
	f.WaitForFinalizers("a", f.Finalizer())
	f.DeleteParent("a", metav1.DeletePropagationBackground)
	f.WaitUntilParentIsGone("a")
	f.ExpectNoSyncError("a")
}
