// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// reminderInterval is how long a definition may be deleted before the cluster is reminded of it.
	reminderInterval = 5 * time.Second
	// reminderAnnotation holds the time of the last reminder.
	reminderAnnotation = "metacontroller.k8s.io/deletion-reminder"
)

// deleteDefinition deletes the definition with that UID, and returns when it is gone.
func (m *Migration) deleteDefinition(ctx context.Context, of kind, uid types.UID) error {
	err := m.dynamic.Resource(definitions()).Delete(ctx, of.definition(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the CustomResourceDefinition %s: %w", of.definition(), err)
	}
	if err := m.untilDeleted(ctx, of); err != nil {
		return err
	}
	again, err := m.getDefinition(ctx, of)
	if err != nil {
		return err
	}
	if again.Unstructured != nil {
		return fmt.Errorf("the CustomResourceDefinition %s was deleted and has been created again: remove it from what deploys it", of.definition())
	}
	return nil
}

// untilDeleted waits until none of the definitions is being deleted.
//
// kube-apiserver may forget a definition that it deletes until its informer resyncs, five minutes later: it does not enqueue it
// for a change of the condition Terminating, and that is the change that its own retry conflicts with. Any other change of the
// definition enqueues it, so the cluster is reminded by an annotation.
func (m *Migration) untilDeleted(ctx context.Context, of ...kind) error {
	reminded := time.Now()
	return m.until(ctx, "the end of the CustomResourceDefinitions", func(ctx context.Context) error {
		for _, kind := range of {
			found, err := m.getDefinition(ctx, kind)
			if err != nil {
				return err
			}
			if found.Unstructured == nil || found.GetDeletionTimestamp() == nil {
				continue
			}
			if time.Since(reminded) > reminderInterval {
				reminded = time.Now()
				if err := m.remind(ctx, found); err != nil {
					return err
				}
			}
			return fmt.Errorf("%s is still being deleted", kind.definition())
		}
		return nil
	})
}

func (m *Migration) remind(ctx context.Context, of definition) error {
	annotations := of.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[reminderAnnotation] = time.Now().UTC().Format(time.RFC3339)
	of.SetAnnotations(annotations)
	_, err := m.dynamic.Resource(definitions()).Update(ctx, of.Unstructured, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // it has been changed or deleted meanwhile
	}
	return err
}
