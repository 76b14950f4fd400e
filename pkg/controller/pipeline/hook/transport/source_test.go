// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// cluster has the Secrets and ConfigMaps of a test.
type cluster struct {
	testing.TB
	// refusal is the error of every attempt to read; nil if reading is allowed.
	refusal error

	mu        sync.Mutex
	version   int
	objects   map[Source]*object.Object
	followers map[Source]map[int]func(*object.Object)
	opened    int
}

func newCluster(t testing.TB) *cluster {
	return &cluster{TB: t, objects: map[Source]*object.Object{}, followers: map[Source]map[int]func(*object.Object){}}
}

// Follow implements Sources.
func (c *cluster) Follow(_ context.Context, of object.Type, name types.NamespacedName, changed func(*object.Object)) (stop func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal != nil {
		return nil, c.refusal
	}
	source := Source{Type: of, Name: name}
	if c.followers[source] == nil {
		c.followers[source] = map[int]func(*object.Object){}
	}
	c.opened++
	id := c.opened
	c.followers[source][id] = changed
	changed(c.objects[source])
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.followers[source], id)
	}, nil
}

// followed returns the number of followers.
func (c *cluster) followed() (count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, followers := range c.followers {
		count += len(followers)
	}
	return count
}

// put creates or changes an object. The data of a Secret are not in base64 yet.
func (c *cluster) put(source Source, data map[string]string) {
	c.Helper()
	if source.Type.Kind != "Secret" {
		c.putRaw(source, map[string]any{"data": data})
		return
	}
	binary := map[string][]byte{}
	for key, value := range data {
		binary[key] = []byte(value)
	}
	c.putRaw(source, map[string]any{"data": binary})
}

func (c *cluster) putRaw(source Source, content map[string]any) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	content["apiVersion"], content["kind"] = "v1", source.Type.Kind
	content["metadata"] = map[string]any{"name": source.Name.Name, "namespace": source.Name.Namespace, "resourceVersion": fmt.Sprint(c.version)}
	body, err := json.Marshal(content)
	if err != nil {
		c.Fatal(err)
	}
	parsed, err := object.Parse(body)
	if err != nil {
		c.Fatal(err)
	}
	c.tell(source, parsed)
}

func (c *cluster) remove(source Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(source, nil)
}

func (c *cluster) tell(source Source, now *object.Object) {
	c.objects[source] = now
	for _, changed := range c.followers[source] {
		changed(now)
	}
}
