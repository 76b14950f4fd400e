// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
)

// RequestSyncs has parents of a controller synced soon, as far as this process runs it, unless they are only to be counted. It
// returns how many there are, and how many more stay paused.
func (h *Handle) RequestSyncs(ctx context.Context, of v1alpha1.ControllerReference, spec *v1alpha1.ResyncRequestSpec, onlyCount bool) (found v1alpha1.ResyncRequestStatus, err error) {
	selection, err := selectionOf(spec)
	if err != nil {
		return found, err
	}
	err = h.use(ctx, func(_ context.Context, l *loop) error {
		for _, reconciler := range l.reconcilers {
			if reconciler.Kind() == of.Kind {
				found = reconciler.RequestSyncs(of.Name, selection, onlyCount)
			}
		}
		return nil
	})
	return found, err
}

// selectionOf returns the parents that a request is about.
func selectionOf(spec *v1alpha1.ResyncRequestSpec) (hosted.Selection, error) {
	if one := spec.Parent; one != nil {
		return hosted.Selection{APIVersion: one.APIVersion, Kind: one.Kind, Namespace: one.Namespace, IsExact: true, Name: one.Name}, nil
	}
	if spec.Parents == nil {
		return hosted.Selection{}, errors.New("neither parent nor parents is set")
	}
	selection := hosted.Selection{Namespace: spec.Parents.Namespace}
	if spec.Parents.LabelSelector == nil {
		return selection, nil
	}
	selected, err := metav1.LabelSelectorAsSelector(spec.Parents.LabelSelector)
	selection.Labels = selected
	return selection, err
}
