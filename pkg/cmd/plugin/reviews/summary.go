// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Add adds the summary of an answer to that of the answers before it.
func Add(to *v1alpha1.SyncReviewSummary, of v1alpha1.SyncReviewSummary) {
	to.Parents += of.Parents
	to.Changed += of.Changed
	to.Unchanged += of.Unchanged
	to.Failed += of.Failed
	to.Undecided += of.Undecided
	for _, counted := range of.Steps {
		at := slices.IndexFunc(to.Steps, func(other v1alpha1.ReviewedStepCount) bool {
			return other.Operation == counted.Operation && other.APIVersion == counted.APIVersion && other.Kind == counted.Kind
		})
		if at < 0 {
			to.Steps = append(to.Steps, counted)
		} else {
			to.Steps[at].Count += counted.Count
		}
	}
}
