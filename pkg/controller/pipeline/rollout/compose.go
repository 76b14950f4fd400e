// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import "github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"

// compose makes one answer of those about all revisions: the latest one's, in which each
// child has the form that its revision wants. Another sync is due when the first revision
// asks for it, and there is nothing left to finalize when all say so.
func (m *members) compose(responses []*pipeline.Response) *pipeline.Response {
	composed := *responses[0]
	older := map[pipeline.Key]*member{}
	for _, member := range m.inOrder {
		if member.at != 0 {
			older[member.Key] = member
		}
	}
	composed.Children = nil
	for _, desired := range responses[0].Children {
		if id, kind := m.identify(desired); kind != nil && older[id] != nil {
			desired = older[id].forms[older[id].at]
		}
		composed.Children = append(composed.Children, desired)
	}
	for _, response := range responses[1:] {
		if after := response.ResyncAfter; after > 0 && (composed.ResyncAfter <= 0 || after < composed.ResyncAfter) {
			composed.ResyncAfter = after
		}
		composed.Finalized = composed.Finalized && response.Finalized
	}
	return &composed
}
