// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
)

// RequestSyncs enqueues the selected parents of a controller, unless they are only to be counted. It returns how many
// there are, and how many more stay paused.
func (r *Reconciler) RequestSyncs(name string, selection hosted.Selection, onlyCount bool) (found v1alpha1.ResyncRequestStatus) {
	if running := r.runningNamed(name); running != nil {
		parents, paused := running.controller.RequestSyncs(selection, onlyCount)
		found.Parents, found.Paused = int32(parents), int32(paused)
	}
	return found
}
