// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// FieldManager is the field manager of all writes to the host, except of server-side apply.
const FieldManager = object.FieldManager

// Client reads from the host. It speaks JSON and returns objects as bytes.
type Client struct {
	rest *rest.RESTClient
	// applier is the field manager of server-side apply. Objects show the fields that it owns.
	applier string
	objects *object.Reader
}

// NewClient returns a client for a configuration, which it does not change. The applier is the
// field manager of server-side apply. The client has no limit for the rate of requests of its own:
// the host's priority and fairness bound it, and the limiter of the configuration if it has one.
func NewClient(config *rest.Config, applier string) (*Client, error) {
	config = rest.CopyConfig(config)
	objects := object.NewReader(applier)
	config.QPS = -1
	config.WarningHandler, config.WarningHandlerWithContext = nil, warningHandler{}
	config.NegotiatedSerializer = newNegotiatedSerializer(objects)
	config.ContentType, config.AcceptContentTypes = jsonMediaType, jsonMediaType
	config.GroupVersion = &schema.GroupVersion{}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the host: %w", err)
	}
	return &Client{rest: client, applier: applier, objects: objects}, nil
}

// Get returns the body that the host sends for a path and the parameters of a query.
func (c *Client) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	request := c.rest.Get().AbsPath(path)
	for name, values := range query {
		request = request.Param(name, values[0])
	}
	return bodyOf(request.Do(ctx))
}

// GetAs returns the body that the host sends for a path in a media type.
func (c *Client) GetAs(ctx context.Context, path, mediaType string) ([]byte, error) {
	return bodyOf(c.rest.Get().AbsPath(path).SetHeader("Accept", mediaType).Do(ctx))
}

// at adds the path of a resource in a namespace to a request, in all namespaces if it is empty. Hooks
// choose namespaces and names. The request fails if one of them would lead to another path.
func at(request *rest.Request, resource schema.GroupVersionResource, namespace string) *rest.Request {
	if resource.Group == "" {
		request = request.AbsPath("api", resource.Version)
	} else {
		request = request.AbsPath("apis", resource.Group, resource.Version)
	}
	return request.NamespaceIfScoped(namespace, namespace != "").Resource(resource.Resource)
}

// named adds the path of an object to a request.
func named(request *rest.Request, of object.Type, name types.NamespacedName) *rest.Request {
	return at(request, of.GroupVersionResource, name.Namespace).Name(name.Name)
}

// bodyOf returns the body of the response to a request.
func bodyOf(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// parse parses the object in the response to a request.
func (c *Client) parse(result rest.Result) (*object.Object, error) {
	body, err := bodyOf(result)
	if err != nil {
		return nil, err
	}
	return c.objects.Take(body)
}
