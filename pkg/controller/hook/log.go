// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// bodyVerbosity is the log level at which hook authors see what is said.
const bodyVerbosity = 6

// log shows a body, unless it holds what does not belong into a log.
func (w *Webhook) log(ctx context.Context, message string, body []byte, secret bool) {
	logger := klog.FromContext(ctx).V(bodyVerbosity)
	if !logger.Enabled() {
		return
	}
	text := string(body)
	if secret {
		text = "(not shown, there are Secrets in it)"
	}
	logger.Info(message, "hook", w.name, "url", w.endpoint.Redacted(), "bytes", len(body), "body", text)
}

func showsSecrets(snapshot *stage.Snapshot) bool {
	return isSecret(snapshot.Parent) || slices.ContainsFunc(snapshot.Children, func(group stage.Group) bool {
		return slices.ContainsFunc(group.Claimed, isSecret)
	})
}

func isSecret(child *object.Object) bool { return child.APIVersion == "v1" && child.Kind == "Secret" }
