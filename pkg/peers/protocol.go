// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// Path is where a replica serves its peers. No other path begins with it.
const Path = "/metacontroller-peers/"

const (
	syncsPath     = Path + "v1/syncs"
	hookCallsPath = Path + "v1/hookcalls"
	resyncPath    = Path + "v1/resync"
)

// replicaHeader is the header of each answer that names the replica.
const replicaHeader = "Metacontroller-Replica"

const (
	// heartbeat is how often a replica that has nothing to tell says so, and silence is how long another one waits for a message.
	heartbeat = 3 * time.Second
	silence   = 10 * time.Second
	// callTimeout bounds all other requests. They are answered from memory, and a user waits for them.
	callTimeout = 2 * time.Second
	// maxObjects is how many objects are in one message.
	maxObjects = 500
)

// message is a part of what changes. The first ones have all objects.
type message[T memory.Object] struct {
	Changed []T                    `json:"changed,omitempty"`
	Gone    []types.NamespacedName `json:"gone,omitempty"`
	// More is true if the next message belongs to this one, and Alive is true if there is nothing to tell.
	More  bool `json:"more,omitempty"`
	Alive bool `json:"alive,omitempty"`
}

// callAnswer is a call with its bodies.
type callAnswer struct {
	Call     *v1alpha1.HookCall `json:"call"`
	Required []rights.Required  `json:"required"`
}

// resyncQuestion is about the parents of one controller. Its answer is a ResyncRequestStatus.
type resyncQuestion struct {
	Controller v1alpha1.ControllerReference `json:"controller"`
	Spec       v1alpha1.ResyncRequestSpec   `json:"spec"`
	OnlyCount  bool                         `json:"onlyCount,omitempty"`
}
