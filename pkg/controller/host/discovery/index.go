// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// indexLasts is how long what the host was asked for once serves all who ask.
const indexLasts = time.Second

// documentIndex tells where the host has the OpenAPI v3 document of which version.
type documentIndex struct {
	urls  map[schema.GroupVersion]string
	asked time.Time
}

// lastIndex is the index that was read last.
type lastIndex struct {
	mu sync.Mutex
	documentIndex
}

// readIndex reads where the host has its documents. There are none if it has no OpenAPI
// v3, or does not show it.
func (d *Discovery) readIndex(ctx context.Context) (documentIndex, error) {
	d.index.mu.Lock()
	defer d.index.mu.Unlock()
	asked := time.Now()
	if asked.Sub(d.index.asked) < indexLasts {
		return d.index.documentIndex, nil
	}
	urls := map[schema.GroupVersion]string{}
	body, err := d.get(ctx, "/openapi/v3")
	if err == nil {
		urls, err = parseIndex(body)
	} else if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		err = nil
	}
	if err != nil {
		return documentIndex{}, err
	}
	d.documents.prune(urls)
	d.index.documentIndex = documentIndex{urls: urls, asked: asked}
	return d.index.documentIndex, nil
}

func parseIndex(body []byte) (map[schema.GroupVersion]string, error) {
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(body, &index); err != nil {
		return nil, err
	}
	urls := map[schema.GroupVersion]string{}
	for path, published := range index.Paths {
		switch segments := strings.Split(path, "/"); {
		case len(segments) == 2 && segments[0] == "api":
			urls[schema.GroupVersion{Version: segments[1]}] = published.ServerRelativeURL
		case len(segments) == 3 && segments[0] == "apis":
			urls[schema.GroupVersion{Group: segments[1], Version: segments[2]}] = published.ServerRelativeURL
		}
	}
	return urls, nil
}
