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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// acceptMetadata asks for a list with the metadata of objects and nothing else. A server that does
// not know such a list answers with the objects.
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// MetadataPages calls visit with the metadata of the objects of a type that mention a text in it, a
// page at a time. Like Pages, it reads from the host and not from a cache, and needs the memory of
// one page.
func (c *Client) MetadataPages(ctx context.Context, of pipeline.Type, text string, visit func(page []metav1.PartialObjectMetadata) error) error {
	options := metav1.ListOptions{Limit: pageSize}
	var body bytes.Buffer
	for {
		if err := c.readMetadata(ctx, of, options, &body); err != nil {
			return fmt.Errorf("list %s: %w", of, err)
		}
		page, next, err := parseMetadata(body.Bytes(), text)
		if err != nil {
			return fmt.Errorf("list of %s: %w", of, err)
		}
		if len(page) > 0 {
			if err := visit(page); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		options.Continue = next
	}
}

// readMetadata reads one page into body. It reads a stream, because client-go logs every other body
// at its highest verbosity: the annotations of a Secret may repeat its data.
func (c *Client) readMetadata(ctx context.Context, of pipeline.Type, options metav1.ListOptions, body *bytes.Buffer) error {
	return retryUntilServed(ctx, func() error {
		stream, err := c.rest.Get().
			AbsPath(path(of.GroupVersionResource, "")...).
			SpecificallyVersionedParams(&options, metav1.ParameterCodec, optionsVersion).
			SetHeader("Accept", acceptMetadata).
			MaxRetries(0).
			Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		body.Reset()
		_, err = body.ReadFrom(stream)
		return err
	})
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
