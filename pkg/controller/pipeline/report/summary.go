// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
)

// Summary returns the text of an error without the rules that a service account lacks. The condition
// Ready has them whole; cut to the length of an event, they could not be pasted.
func Summary(err error) string {
	refusal, ok := errors.AsType[*permissions.Error](err)
	if !ok {
		return err.Error()
	}
	return strings.Replace(err.Error(), refusal.Error(), refusal.Summary(), 1)
}
