// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"fmt"
)

// Connect reads the authorities and credentials of the hook's connections. A webhook
// that has none, of its own or from an endpoint, needs not be connected. If Secrets or
// ConfigMaps they are read from change later, the next call goes by them; if they are of
// no use then, those in use stay, and stale is called with the reason, and with nil when
// it is over. If they are of no use already, Connect returns a *SourceError.
func (w *Webhook) Connect(ctx context.Context, stale func(error)) error {
	explain := func(err error) error {
		return fmt.Errorf("can't resolve endpoint config for %s hook: %w", w.name, err)
	}
	err := w.connection.open(ctx, func(err error) {
		if err != nil {
			err = explain(err)
		}
		stale(err)
	})
	if err != nil {
		return explain(err)
	}
	return nil
}
