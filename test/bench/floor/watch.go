// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// watch calls handle with each object that there is, that comes, changes or goes.
func watch(ctx context.Context, client rest.Interface, path string, handle func(seen *object.Object, gone bool)) error {
	since := ""
	for ctx.Err() == nil {
		// The host ends watches that it cannot get rid of events fast enough for.
		if err := watchOnce(ctx, client, path, &since, handle); !errors.Is(err, io.EOF) {
			return fmt.Errorf("watch %s: %w", path, err)
		}
	}
	return nil
}

// watchOnce watches until the host ends it, from a resource version on, which it keeps up to date, or from the present
// objects on.
func watchOnce(ctx context.Context, client rest.Interface, path string, since *string, handle func(seen *object.Object, gone bool)) error {
	request := client.Get().AbsPath(path).SetHeader("Accept", "application/json").Param("watch", "true").Param("allowWatchBookmarks", "true")
	if *since == "" {
		request = request.Param("sendInitialEvents", "true").Param("resourceVersionMatch", "NotOlderThan")
	} else {
		request = request.Param("resourceVersion", *since)
	}
	stream, err := request.Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	for lines := bufio.NewReaderSize(stream, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		head, rest, _ := bytes.Cut(line, []byte(`,"object":`))
		seen, err := object.Parse(bytes.TrimSuffix(rest, []byte("}\n")))
		if err != nil {
			return fmt.Errorf("read %q: %w", line, err)
		}
		bookmark := bytes.HasSuffix(head, []byte(`"BOOKMARK"`))
		if bookmark || *since != "" { // the present objects, which a bookmark ends, come in any order
			*since = seen.ResourceVersion
		}
		if !bookmark {
			handle(seen, bytes.HasSuffix(head, []byte(`"DELETED"`)))
		}
	}
}
