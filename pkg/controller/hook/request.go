// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// compositeRequest puts the body of a composite sync or finalize request together
// from the bytes of the objects, in protocol version v1.
func compositeRequest(snapshot *stage.Snapshot) []byte {
	body := make([]byte, 0, requestSize(snapshot))
	body = append(body, `{"controller":`...)
	body = append(body, snapshot.Controller...)
	body = append(body, `,"parent":`...)
	body = append(body, snapshot.Parent.JSON...)
	body = append(body, `,"children":`...)
	body = appendGroups(body, snapshot)
	body = append(body, `,"related":{},"finalizing":`...)
	body = strconv.AppendBool(body, snapshot.Finalizing)
	return append(body, '}')
}

func requestSize(snapshot *stage.Snapshot) int {
	size := 128 + len(snapshot.Controller) + len(snapshot.Parent.JSON)
	for _, group := range snapshot.Children {
		size += 64
		for _, child := range group.Claimed {
			size += 8 + len(child.Namespace) + len(child.Name) + len(child.JSON)
		}
	}
	return size
}

func appendGroups(body []byte, snapshot *stage.Snapshot) []byte {
	body = append(body, '{')
	for i, group := range snapshot.Children {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, '"')
		body = append(body, group.Type.String()...)
		body = append(body, `":{`...)
		for j, child := range group.Claimed {
			if j > 0 {
				body = append(body, ',')
			}
			body = appendKey(body, snapshot.Parent, child)
			body = append(body, child.JSON...)
		}
		body = append(body, '}')
	}
	return append(body, '}')
}

// appendKey appends the name a child goes by in version v1: relative to its
// parent, so the namespace is there only below a cluster-scoped parent. Names of
// some types, ClusterRoles among them, may hold quotes.
func appendKey(body []byte, parent, child *object.Object) []byte {
	key := child.Name
	if parent.Namespace == "" && child.Namespace != "" {
		key = child.Namespace + "/" + key
	}
	body, _ = jsontext.AppendQuote(body, key) // an error says that it mended what is no UTF-8
	return append(body, ':')
}
