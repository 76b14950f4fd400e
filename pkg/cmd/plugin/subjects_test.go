// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestErrorsAboutACandidateAreAboutItsFile(t *testing.T) {
	tests := map[string]struct {
		file candidateFile
		err  error
		want string
	}{
		"a field of the candidate":          {"web.yaml", apierrors.NewBadRequest("spec.candidate.hooks.sync: Required value"), "web.yaml: spec.hooks.sync: Required value"},
		"a field whose name begins alike":   {"web.yaml", apierrors.NewBadRequest("spec.candidates[0]: Unknown field"), "spec.candidates[0]: Unknown field"},
		"another field":                     {"web.yaml", apierrors.NewBadRequest("spec.parent: Required value"), "spec.parent: Required value"},
		"an error that is not the server's": {"web.yaml", errors.New("spec.candidate: no answer"), "spec.candidate: no answer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.file.explain(test.err).Error(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
