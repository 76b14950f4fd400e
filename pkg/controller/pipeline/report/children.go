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
	e.recorder.Event(parent, corev1.EventTypeWarning, reasonDuplicate,
		cut("The hook lists children more than once, and the last one of each counts: "+list(children)))
}

// NameTaken tells that children could not be created because their names belong to
// somebody else.
func (e *Events) NameTaken(parent *object.Object, children []string) {
	message := list(children) + " exists and is not this object's: it was left alone; delete it, or have the hook choose another name"
	if len(children) > 1 {
		message = "These exist and are not this object's: they were left alone; delete them, or have the hook choose other names: " + list(children)
	}
	e.recorder.Event(parent, corev1.EventTypeWarning, reasonNameTaken, cut(message))
}

// list names the first few of some children and how many more there are.
func list(children []string) string {
	const most = 5
	named := strings.Join(children[:min(len(children), most)], ", ")
	if more := len(children) - most; more > 0 {
		named = fmt.Sprintf("%s and %d more", named, more)
	}
	return named
}
