// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"crypto/sha1"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// longestPrefix is how much of the parent's type is in the name of a revision, which has
// a hash of 40 characters and may have 253.
const longestPrefix = 212

// revisionName is the name of the revision that remembers patch, in canonical form, of the
// parent with that UID. The hash makes it the name of no other parent's revision.
func revisionName(parent pipeline.Type, uid types.UID, patch []byte) string {
	group := parent.Group
	if group == "" {
		group = "core"
	}
	prefix := parent.Resource + "." + group
	hash := sha1.New()
	_, _ = hash.Write([]byte(uid))
	_, _ = hash.Write(patch)
	return prefix[:min(len(prefix), longestPrefix)] + "-" + hex.EncodeToString(hash.Sum(nil))
}
