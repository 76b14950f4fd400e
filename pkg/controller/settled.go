// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/version"
)

// settled returns where controllers remember which parents are settled; nil if they do not. In the developer's
// mode all parents are synced when a controller starts: the hook is probably another one.
func (c *Config) settled() *hosted.Settled {
	if c.Settled == nil {
		return nil
	}
	build := fmt.Sprint(version.Get(), c.Namespace, c.ApplyStrategy, c.ApplyFieldManager)
	return &hosted.Settled{Store: c.Settled, Build: build, SyncAll: c.SyncAllOnStart || c.DeveloperMode}
}
