// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// acceptMetadata asks for a list with the metadata of objects and nothing else. A server that does not know such a
// list returns the objects.
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// Pages lists the objects of a type that contain a text, a page at a time. It reads past all caches,
// which may not show the last writes yet. It remembers its place: after an error, the same page is
// requested again. An object that exists all the time is on at least one page.
type Pages struct {
	client *Client
	of     object.Type
	text   string
	// token is the host's name of the next page; empty for the first one.
	token string
	done  bool
}

// Pages returns Pages before the first one.
func (c *Client) Pages(of object.Type, text string) *Pages {
	return &Pages{client: c, of: of, text: text}
}

// Done reports whether the last page was returned.
func (p *Pages) Done() bool { return p.done }

// Next returns the objects of the next page that contain the text.
func (p *Pages) Next(ctx context.Context) (page []*object.Object, err error) {
	err = p.request(ctx, jsonMediaType, func(body []byte) (next string, err error) {
		list, err := p.client.parseList(p.of, body, func(item []byte) []byte {
			if !bytes.Contains(item, []byte(p.text)) {
				return nil
			}
			return bytes.Clone(item) // the body is much larger
		})
		if err != nil {
			return "", err
		}
		page = list.Items
		return list.Continue, nil
	})
	return page, err
}

// NextMetadata is Next for the metadata of objects: that is all it requests and searches. All pages
// must be requested in the same way.
func (p *Pages) NextMetadata(ctx context.Context) (page []metav1.PartialObjectMetadata, err error) {
	err = p.request(ctx, acceptMetadata, func(body []byte) (next string, err error) {
		page, next, err = parseMetadata(body, p.text)
		if err != nil {
			return "", fmt.Errorf("list of %s: %w", p.of, err)
		}
		return next, nil
	})
	return page, err
}

const (
	// pageSize is the number of objects that are requested, and in memory, at a time.
	pageSize = 500
	// pageTimeout bounds the time that the host may take for a page. A kube-apiserver gives up on a request after
	// the same time.
	pageTimeout = time.Minute
)

// request requests the next page, in the form that accept names, and calls read with it. read
// returns the token of the page after it.
func (p *Pages) request(ctx context.Context, accept string, read func(body []byte) (next string, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pageTimeout, fmt.Errorf("no answer within %s", pageTimeout))
	defer cancel()
	var body bytes.Buffer
	err := p.readInto(ctx, accept, &body)
	if token, expired := tokenAfter(err); expired && p.token != "" {
		p.token = token
		err = p.readInto(ctx, accept, &body)
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", p.of, cmp.Or(context.Cause(ctx), err))
	}
	next, err := read(body.Bytes())
	if err != nil {
		return err
	}
	p.token, p.done = next, next == ""
	return nil
}

func (p *Pages) readInto(ctx context.Context, accept string, body *bytes.Buffer) error {
	return p.client.readList(ctx, p.of, "", accept, metav1.ListOptions{Limit: pageSize, Continue: p.token}, body)
}

// tokenAfter reports whether the error of a request for a page is that the token has expired, which
// it does after some minutes. The host then offers a token for the pages that are left, at a later
// resource version. If it offers none, the first page comes next.
func tokenAfter(err error) (token string, expired bool) {
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		return "", false
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		token = status.ErrStatus.Continue
	}
	return token, true
}

// parseMetadata returns the metadata of the items that mention the text in it, and the token of the next page. Of items
// that are complete objects, it reads only the metadata.
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
