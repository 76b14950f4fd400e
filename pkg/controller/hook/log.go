// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"slices"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// bodyVerbosity is the log level of the bodies of requests and answers.
const bodyVerbosity = 6

// log logs a body. If secret is true, it logs only the size.
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

// involvesSecrets reports whether the request of a call has Secrets in it, or may have.
func involvesSecrets(snapshot *stage.Snapshot) bool {
	return isSecret(snapshot.Parent) ||
		slices.ContainsFunc(snapshot.Children, func(group stage.Group) bool { return hasSecrets(group.Type, group.Claimed) }) ||
		slices.ContainsFunc(snapshot.Related, func(group stage.Related) bool { return hasSecrets(group.Type, group.Objects) })
}

func hasSecrets(of stage.Type, objects []*object.Object) bool {
	return of.Kind == "Secret" && of.Group == "" || slices.ContainsFunc(objects, isSecret)
}

func isSecret(o *object.Object) bool { return o.APIVersion == "v1" && o.Kind == "Secret" }

// mentionsSecrets reports whether there may be Secrets in an answer, which need not be JSON.
func mentionsSecrets(answer []byte) bool { return bytes.Contains(answer, []byte("Secret")) }
