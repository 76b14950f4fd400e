// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

// protocol is what differs between the sync and finalize hooks of the kinds of
// controllers.
type protocol struct {
	// parent and children are what requests and answers call these.
	parent, children string
	// metadata tells that answers may change the parent's labels and annotations.
	metadata bool
}

func compositeProtocol() protocol { return protocol{parent: "parent", children: "children"} }

func decoratorProtocol() protocol {
	return protocol{parent: "object", children: "attachments", metadata: true}
}
