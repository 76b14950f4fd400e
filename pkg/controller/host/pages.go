// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// pageSize is how many objects are asked for and held at once.
const pageSize = 500

// Pages calls visit with all objects of a type, some at a time, as the host has them
// now: past all caches, which may not show yet what was written last.
func (c *Client) Pages(ctx context.Context, of stage.Type, visit func(page []*object.Object) error) error {
	lister := &listWatch{client: c, of: of}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		listed, err := lister.list(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", of, err)
		}
		page := listed.(*objectList)
		if err := visit(page.Items); err != nil {
			return err
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}
