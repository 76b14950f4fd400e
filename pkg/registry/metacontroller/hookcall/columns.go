// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookcall

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// newTable returns the table of HookCalls.
func newTable() rest.TableConvertor {
	columns := []metav1.TableColumnDefinition{
		{Name: "Controller", Type: "string", Description: "The controller, by its short name."},
		{Name: "Hook", Type: "string", Description: "The hook that was called: sync, finalize or customize."},
		{Name: "Parent", Type: "string", Description: "The parent, or target, that the call was about."},
		{Name: "Code", Type: "string", Description: "The HTTP status code of the answer."},
		{Name: "Took", Type: "string", Description: "How long the call took."},
		{Name: "Result", Type: "string", Description: "Succeeded, Failed or Throttled."},
		{Name: "Age", Type: "string", Description: "How long ago the call began."},
		{Name: "Message", Type: "string", Description: "Why the call failed."},
	}
	wide := []metav1.TableColumnDefinition{
		{Name: "Sent", Type: "integer", Description: "The size of the request in bytes."},
		{Name: "Received", Type: "string", Description: "The size of the answer in bytes."},
		{Name: "URL", Type: "string", Description: "Where the hook was called."},
	}
	return resource.NewTableWithoutAge(columns, wide, func(of *v1alpha1.HookCall) ([]any, []any) {
		spec, status := &of.Spec, &of.Status
		code, received := resource.None, resource.None
		if status.Code != 0 {
			code = strconv.Itoa(int(status.Code))
		}
		if status.Response != nil {
			received = strconv.FormatInt(status.Response.Bytes, 10)
		}
		sent := int64(0)
		if status.Request != nil {
			sent = status.Request.Bytes
		}
		return []any{
				live.ControllerName(spec.Controller), spec.Hook, spec.Parent.Kind + "/" + spec.Parent.Name, code,
				status.Duration.Round(time.Millisecond).String(), string(status.Result),
				duration.HumanDuration(time.Since(status.StartTime.Time)), live.ShortMessage(status.Message),
			},
			[]any{sent, received, spec.URL}
	})
}
