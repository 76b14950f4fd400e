// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// maxMessage is how many characters of a message are in a table.
const maxMessage = 120

// ControllerName names a controller as kubectl get takes it.
func ControllerName(of v1alpha1.ControllerReference) string {
	if of.Kind == "DecoratorController" {
		return "dec/" + of.Name
	}
	return "cc/" + of.Name
}

// ShortMessage returns the beginning of a message in one line.
func ShortMessage(text string) string {
	if text == "" {
		return ""
	}
	shown := []rune(strings.Join(strings.Fields(text), " "))
	if len(shown) <= maxMessage {
		return string(shown)
	}
	return string(shown[:maxMessage]) + "…"
}
