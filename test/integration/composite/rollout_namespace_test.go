// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// When a namespace is deleted, its revisions may be deleted before its parents. Parents are
// finalized without them.
func TestANamespaceGoesInTheMiddleOfARollout(t *testing.T) {
	t.Parallel()
	r := prepareRolling(t)
	r.answer(func(asked request) object {
		if asked.Finalizing {
			return object{"status": object{}, "finalized": hasAnnotation("touched")(&asked.Parent)}
		}
		return object{"status": object{}, "children": r.desired(asked)}
	})
	r.RunComposite(r.rollingSpec(v1alpha1.ChildUpdateRollingRecreate, withFinalize))
	r.startAll(2)
	r.rollOut("2")
	r.waitForRevisions(2)

	const hostControllers = 2 * time.Minute // the host looks for new types every half minute
	namespaces := env.Kube.CoreV1().Namespaces()
	if err := namespaces.Delete(t.Context(), r.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.Within(t, hostControllers, func(ctx context.Context) error {
		parent, err := r.GetParent(ctx, "a")
		if err == nil && parent.GetDeletionTimestamp() == nil {
			err = errors.New("the parent is not being deleted yet")
		}
		return err
	})
	r.waitForRevisions(0)
	r.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "yes"}}})
	r.WaitUntilParentIsGone("a")
	env.Within(t, hostControllers, func(ctx context.Context) error {
		_, err := namespaces.Get(ctx, r.Namespace, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the namespace is still there: %v", err)
		}
		return nil
	})
}
