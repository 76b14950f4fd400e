// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"slices"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
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
		text = notShown
	}
	logger.Info(message, "hook", w.name, "url", w.shown, "bytes", len(body), "body", text)
}

// involvesSecrets tells whether a call of a hook is, or may be, about Secrets.
func involvesSecrets(snapshot *pipeline.Snapshot) bool {
	return isSecret(snapshot.Parent) ||
		slices.ContainsFunc(snapshot.Children, func(group pipeline.Group) bool { return hasSecrets(group.Type, group.Claimed) }) ||
		slices.ContainsFunc(snapshot.Related, func(group pipeline.Related) bool { return hasSecrets(group.Type, group.Objects) })
}

func hasSecrets(of pipeline.Type, objects []*object.Object) bool {
	return of.Kind == "Secret" && of.Group == "" || slices.ContainsFunc(objects, isSecret)
}

func isSecret(o *object.Object) bool { return o.APIVersion == "v1" && o.Kind == "Secret" }

// mentionsSecrets tells whether there may be Secrets in an answer, which may not even be JSON.
func mentionsSecrets(answer []byte) bool { return bytes.Contains(answer, []byte("Secret")) }
