// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// DuplicateChildren tells that a hook lists children more than once.
func (e *Events) DuplicateChildren(parent *object.Object, children []string) {
	const most = 5
	named := strings.Join(children[:min(len(children), most)], ", ")
	if more := len(children) - most; more > 0 {
		named = fmt.Sprintf("%s and %d more", named, more)
	}
	e.recorder.Eventf(parent, corev1.EventTypeWarning, reasonDuplicate,
		"The hook lists children more than once, and the last one of each counts: %s", named)
}
