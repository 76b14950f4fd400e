// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
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
		return nil, fmt.Errorf("create a client for the host: %w", err)
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

// List returns the objects of a type in a namespace, in all namespaces if it is empty. The options
// select the objects and name the resource version.
func (c *Client) List(
	ctx context.Context, of object.Type, namespace string, options metav1.ListOptions,
) (*ObjectList, error) {
	var body bytes.Buffer
	if err := c.readList(ctx, of, namespace, jsonMediaType, options, &body); err != nil {
		return nil, err
	}
	return c.parseList(of, body.Bytes(), func(item []byte) []byte { return item })
}

// Watch returns the changes of the objects that List would return. With the options of a streaming
// list, the objects come first.
func (c *Client) Watch(
	ctx context.Context, of object.Type, namespace string, options metav1.ListOptions,
) (watch.Interface, error) {
	options.Watch = true
	var stream watch.Interface
	err := retryUntilServed(ctx, func() (err error) {
		stream, err = c.listRequest(of, namespace, options).Watch(ctx)
		return err
	})
	return stream, err
}

// optionsVersion is the version that list options are encoded in. With another version the host does not see that it
// should stream the list.
var optionsVersion = metav1.Unversioned

func (c *Client) listRequest(of object.Type, namespace string, options metav1.ListOptions) *rest.Request {
	return at(c.rest.Get(), of.GroupVersionResource, namespace).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, optionsVersion).
		MaxRetries(0)
}

// readList reads a list, in the form that accept names, into body. It reads a stream, because
// client-go logs every other body at its highest verbosity: Secrets, and annotations that repeat them.
func (c *Client) readList(
	ctx context.Context, of object.Type, namespace, accept string, options metav1.ListOptions, body *bytes.Buffer,
) error {
	return retryUntilServed(ctx, func() error {
		stream, err := c.listRequest(of, namespace, options).SetHeader("Accept", accept).Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		body.Reset()
		_, err = body.ReadFrom(stream)
		return err
	})
}

// retryUntilServed repeats a request that fails with NotFound or TooManyRequests, for about a
// second. For a moment the host announces a new type that it does not serve yet, or whose cache it
// has not filled yet. The Retry-After of such an answer is a whole second and is ignored.
func retryUntilServed(ctx context.Context, request func() error) error {
	backoff := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Steps: 6}
	var err error
	ended := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		err = request()
		return !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err), nil
	})
	if err == nil {
		return ended // ctx had ended before the first request
	}
	return err
}

// ObjectList is a list of objects of the host.
type ObjectList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*object.Object
}

// DeepCopyObject implements runtime.Object. Nothing changes a list, so it returns the list itself.
func (l *ObjectList) DeepCopyObject() runtime.Object { return l }

// parseList reads a list. For each item, choose returns the bytes to parse, nil to leave it out.
func (c *Client) parseList(of object.Type, body []byte, choose func(item []byte) []byte) (*ObjectList, error) {
	list := &ObjectList{}
	if err := json.Unmarshal(object.Lookup(body, "metadata"), &list.ListMeta); err != nil {
		return nil, fmt.Errorf("list of %s: metadata: %w", of, err)
	}
	err := object.Elements(object.Lookup(body, "items"), func(_ int, element []byte) error {
		if element = choose(element); element == nil {
			return nil
		}
		item, err := c.objects.Parse(withType(of, element))
		if err != nil {
			return err
		}
		list.Items = append(list.Items, item)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", of, err)
	}
	return list, nil
}

// withType adds kind and apiVersion to the item of a list. Built-in types leave them out. Events of watches have them
// in this order, on which the hash of an object depends.
func withType(of object.Type, item []byte) []byte {
	if object.Lookup(item, "kind") != nil {
		return item
	}
	head := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, of.Kind, of.GroupVersion())
	return append([]byte(head), bytes.TrimPrefix(item, []byte("{"))...)
}

// Account is a ServiceAccount of the host that requests are made as. The zero value is the server
// itself.
type Account struct {
	Namespace, Name string
}

// username returns the name of the account as a user of the host; empty for the server itself.
func (a Account) username() string {
	if a == (Account{}) {
		return ""
	}
	return v1alpha1.ServiceAccountReference(a).Username()
}

// impersonate makes a request as a user; empty is the server itself. The host adds the groups of a service account.
// It sets a header of the request instead of using a client for each account so that all accounts share the
// connections of one client.
func impersonate(request *rest.Request, user string) *rest.Request {
	if user == "" {
		return request
	}
	return request.SetHeader(authenticationv1.ImpersonateUserHeader, user)
}
