// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// pageSize is how many objects are asked for and held at once.
const pageSize = 500

// Pages calls visit with the objects of a type that mention a text, some at a time, as the
// host has them now: past all caches, which may not show yet what was written last. To
// look through very many objects takes no more memory than one page of them.
func (c *Client) Pages(ctx context.Context, of pipeline.Type, text string, visit func(page []*object.Object) error) error {
	options := metav1.ListOptions{Limit: pageSize}
	var body bytes.Buffer
	for {
		if err := c.readList(ctx, of, "", options, &body); err != nil {
			return fmt.Errorf("list %s: %w", of, err)
		}
		page, err := c.parseList(of, body.Bytes(), func(item []byte) []byte {
			if !bytes.Contains(item, []byte(text)) {
				return nil
			}
			return bytes.Clone(item) // the body is overwritten by the next
		})
		if err != nil {
			return err
		}
		if len(page.Items) > 0 {
			if err := visit(page.Items); err != nil {
				return err
			}
		}
		if page.Continue == "" {
			return nil
		}
		options.Continue = page.Continue
	}
}
