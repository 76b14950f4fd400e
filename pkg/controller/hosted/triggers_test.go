// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
)

func TestWhichChangesOfAChildMayConcernTheController(t *testing.T) {
	const (
		ours   = `"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"p","uid":"u","controller":true}]`
		theirs = `"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]`
	)
	c := &Controller{
		observer: observe.Observer{Targets: []*observe.Target{{Watch: &cache.View{Type: webs}}}, Claims: observe.NewLabelClaims(true)},
		taken:    newTakenNames(),
	}
	c.taken.set(web("p"), []pipeline.Key{child("ConfigMap", "default", "wanted")})
	tests := map[string]struct {
		name, before, after string
		want                bool
	}{
		"a child of ours":                                {"a", ours, ours, true},
		"a child of another controller's":                {"a", theirs, theirs, false},
		"somebody's whose name one of our parents wants": {"wanted", theirs, theirs, true},
		"which is gone":                                  {"wanted", theirs, "", true},
		"which is new":                                   {"wanted", "", theirs, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after *object.Object
			if test.before != "" {
				before = configMap(t, test.name, test.before)
			}
			if test.after != "" {
				after = configMap(t, test.name, test.after)
			}
			if got := c.mayConcern(before, after); got != test.want {
				t.Errorf("it may: %v, want %v", got, test.want)
			}
		})
	}
}
