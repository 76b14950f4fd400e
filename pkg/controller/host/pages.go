// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// acceptMetadata asks for a list with the metadata of objects and nothing else. A server that does
// not know such a list answers with the objects.
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// Pages calls visit with the objects of a type that contain a text, a page at a time. It reads past
// all caches, which may not show the last writes yet.
func (c *Client) Pages(ctx context.Context, of object.Type, text string, visit func(page []*object.Object) error) error {
	return c.pages(ctx, of, jsonMediaType, func(body []byte) (next string, err error) {
		page, err := c.parseList(of, body, func(item []byte) []byte {
			if !bytes.Contains(item, []byte(text)) {
				return nil
			}
			return bytes.Clone(item) // the next page overwrites the body
		})
		if err != nil {
			return "", err
		}
		if len(page.Items) > 0 {
			err = visit(page.Items)
		}
		return page.Continue, err
	})
}

// MetadataPages is Pages for the metadata of objects: that is all it requests and searches.
func (c *Client) MetadataPages(ctx context.Context, of object.Type, text string, visit func(page []metav1.PartialObjectMetadata) error) error {
	return c.pages(ctx, of, acceptMetadata, func(body []byte) (next string, err error) {
		page, next, err := parseMetadata(body, text)
		if err != nil {
			return "", fmt.Errorf("list of %s: %w", of, err)
		}
		if len(page) > 0 {
			err = visit(page)
		}
		return next, err
	})
}

// pageSize is how many objects are requested and in memory at a time.
const pageSize = 500

// pages lists all objects of a type in pages, in the form that accept names, and calls read with
// each. read returns the token of the next page.
func (c *Client) pages(ctx context.Context, of object.Type, accept string, read func(body []byte) (next string, err error)) error {
	options := metav1.ListOptions{Limit: pageSize}
	var body bytes.Buffer
	for {
		if err := c.readList(ctx, of, "", accept, options, &body); err != nil {
			return fmt.Errorf("list %s: %w", of, err)
		}
		next, err := read(body.Bytes())
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

// parseMetadata returns the metadata of the items that mention the text in it, and the token of the
// next page. Of items that are whole objects, only the metadata is read.
func parseMetadata(body []byte, text string) (page []metav1.PartialObjectMetadata, next string, err error) {
	var list metav1.ListMeta
	if err := json.Unmarshal(object.Lookup(body, "metadata"), &list); err != nil {
		return nil, "", fmt.Errorf("metadata: %w", err)
	}
	err = object.Elements(object.Lookup(body, "items"), func(_ int, item []byte) error {
		metadata := object.Lookup(item, "metadata")
		if !bytes.Contains(metadata, []byte(text)) {
			return nil
		}
		var read metav1.PartialObjectMetadata
		if err := json.Unmarshal(metadata, &read.ObjectMeta); err != nil {
			return fmt.Errorf("item: %w", err)
		}
		page = append(page, read)
		return nil
	})
	return page, list.Continue, err
}
