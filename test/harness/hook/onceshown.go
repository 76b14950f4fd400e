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

// OnceShown answers 429 to calls about a parent until one call has shown all of these objects that
// the parent controls, in these versions. A controller that shares a watch may see objects late
// that were just written, and would create them again.
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
