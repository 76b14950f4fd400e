// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// maxMessage is how many bytes of a message are in a table.
const maxMessage = 120

// ControllerName names a controller as kubectl get takes it.
func ControllerName(of v1alpha1.ControllerReference) string {
	if of.Kind == "DecoratorController" {
		return "dec/" + of.Name
	}
	return "cc/" + of.Name
}

// ShortMessage returns the beginning of a message in one line.
func ShortMessage(message string) string {
	return text.Shorten(text.OneLine(message), maxMessage)
}
