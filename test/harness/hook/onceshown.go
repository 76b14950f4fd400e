// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OnceShown puts off the calls about a parent until one has shown all of these objects that it controls as they are
// here. A controller that begins with a watch which others have already may see late what was just written, and would
// be told to create what it does not see.
func OnceShown(objects []unstructured.Unstructured, handler Handler) Handler {
	var mu sync.Mutex
	shown := map[string]bool{} // by version
	early := func(call Call) bool {
		mu.Lock()
		defer mu.Unlock()
		for i := range objects {
			parent, version := metav1.GetControllerOf(&objects[i]).UID, objects[i].GetResourceVersion()
			shown[version] = shown[version] || has(call.Body, "resourceVersion", version)
			if !shown[version] && has(call.Body, "uid", string(parent)) {
				return true
			}
		}
		return false
	}
	return func(ctx context.Context, call Call) Answer {
		if early(call) {
			return Text(http.StatusTooManyRequests, "")
		}
		return handler(ctx, call)
	}
}

func has(body []byte, field, value string) bool {
	return bytes.Contains(body, fmt.Appendf(nil, "%q:%q", field, value))
}
