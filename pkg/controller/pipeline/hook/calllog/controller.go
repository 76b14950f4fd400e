// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package calllog

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/redact"
)

// Controller has the last calls of one controller. Its methods may be called concurrently.
type Controller struct {
	log *Log
	of  v1alpha1.ControllerReference

	mu sync.Mutex
	// last is the number of the last call.
	last              uint64
	succeeded, failed ring
}

func newController(log *Log, of v1alpha1.ControllerReference) *Controller {
	c := &Controller{log: log, of: of}
	c.succeeded, c.failed = newRing(maxCalls, c.dropped), newRing(maxCalls, c.dropped)
	return c
}

// Owner is the part of a call about the controller that makes it. It does not change.
type Owner struct {
	UID    types.UID
	Labels map[string]string
	// Namespace is the namespace of the calls about cluster-scoped parents.
	Namespace string
	// Children are the child types.
	Children []object.Type
}

// Recorder keeps the calls of one running controller. A nil Recorder keeps none.
type Recorder struct {
	controller *Controller
	owner      Owner
}

// Recorder returns a recorder of the calls of a controller that runs as the owner. A nil controller has a nil one.
func (c *Controller) Recorder(owner Owner) *Recorder {
	if c == nil {
		return nil
	}
	return &Recorder{c, owner}
}

// Call is a call that has ended. Nothing of it is changed, and of its bytes only copies are kept.
type Call struct {
	// Hook is the name of the hook, and URL is its address, as it may be shown.
	Hook, URL string
	// Snapshot is the state that the call was about.
	Snapshot *pipeline.Snapshot
	Began    time.Time
	Took     time.Duration
	// Code is the status of the answer; zero if there was none.
	Code int
	// Result and Err are its outcome.
	Result v1alpha1.HookCallResult
	Err    error
	// Request is the body of the request, and Answer that of the response; nil if there was none.
	Request, Answer []byte
	// Credentials are those that the hook was called with.
	Credentials []string
}

// call is a call that is kept.
type call struct {
	number               uint64
	owner                *Owner
	hook, url            string
	parent               v1alpha1.ParentReference
	parentType           object.Type
	revision             string
	began                time.Time
	took                 time.Duration
	code                 int
	result               v1alpha1.HookCallResult
	message              string
	credentials          []string
	controllerJSON       []byte // what hooksOf returns; nil if the request is complete
	related              []place
	request, answer      body
	answered, isWithheld bool
	span                 span
}

// body is how much there was of a body, and how much of it is kept.
type body struct{ bytes, kept int }

// place is a type, and a namespace, in which a call shows objects.
type place struct {
	of        object.Type
	namespace string
}

// Add keeps a call, unless a namespace that it shows was deleted since the call began.
func (r *Recorder) Add(of *Call) {
	if r == nil {
		return
	}
	c := r.controller
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.log.deleted.isAfterCall(of) {
		return
	}
	limit := int(c.log.ringBytes.Load())
	into := &c.succeeded
	if of.Result == v1alpha1.HookCallFailed {
		into = &c.failed
	}
	request, answer, isWithheld := keepable(of, limit/bodiesOfRing)
	var hooks []byte
	if len(request) < len(of.Request) && !isWithheld {
		if hooks = hooksOf(of.Snapshot.Controller); len(hooks) > maxHooksBytes {
			request, answer, hooks, isWithheld = nil, nil, nil, true
		}
	}
	added := into.add(len(request)+len(answer), limit)
	c.last++
	added.fill(of, &r.owner, c.last)
	added.controllerJSON = hooks
	added.request.kept, added.answer.kept, added.isWithheld = len(request), len(answer), isWithheld
	bytes := into.read(added.span)
	copy(bytes, request)
	copy(bytes[len(request):], answer)
	c.changed(added)
}

// keepable returns how much of the bodies is kept. If a part of them is left out, and there may be Secrets in them,
// nothing is: the values to blank might be in that part.
func keepable(of *Call, most int) (request, answer []byte, isWithheld bool) {
	request, answer = of.Request[:min(len(of.Request), most)], of.Answer[:min(len(of.Answer), most)]
	if len(request) == len(of.Request) && len(answer) == len(of.Answer) {
		return request, answer, false
	}
	if redact.MentionsSecret(of.Request) || redact.MentionsSecret(of.Answer) {
		return nil, nil, true
	}
	return request, answer, false
}

// maxHooksBytes limits what is kept of the controller for a call whose request is not kept completely.
const maxHooksBytes = 4 << 10

// hooksOf returns a controller with only its hooks, whose addresses may contain secrets.
func hooksOf(controller []byte) []byte {
	hooks := object.Lookup(controller, "spec", "hooks")
	if hooks == nil {
		hooks = []byte("null")
	}
	return slices.Concat([]byte(`{"spec":{"hooks":`), hooks, []byte("}}"))
}

// fill sets all fields except those that depend on the ring.
func (c *call) fill(of *Call, owner *Owner, number uint64) {
	parent := of.Snapshot.Parent
	c.number, c.owner = number, owner
	c.hook, c.url, c.revision = of.Hook, of.URL, of.Snapshot.Revision
	c.parent = v1alpha1.ParentReference{
		APIVersion: parent.APIVersion, Kind: parent.Kind, Namespace: parent.Namespace, Name: parent.Name, UID: parent.UID,
	}
	c.parentType = of.Snapshot.ParentType
	c.began, c.took, c.code, c.result = of.Began, of.Took, of.Code, of.Result
	c.credentials = of.Credentials
	c.request.bytes, c.answer.bytes, c.answered = len(of.Request), len(of.Answer), of.Answer != nil
	if c.message = ""; of.Err != nil {
		c.message = of.Err.Error()
	}
	c.related = c.related[:0]
	for kind, one := range of.Snapshot.RelatedObjects() {
		c.addRelated(place{kind, one.Namespace})
	}
}

// maxPlaces is the maximum number of types and namespaces of related objects that a call records. Beyond it, the call
// records all namespaces of a type.
const maxPlaces = 16

func (c *call) addRelated(of place) {
	for i, known := range c.related {
		if known == of || i >= maxPlaces && known.of == of.of {
			return
		}
	}
	if len(c.related) >= maxPlaces {
		of.namespace = ""
	}
	c.related = append(c.related, of)
}

func (c *Controller) changed(of *call) {
	if c.log.changes.IsFollowed() {
		c.log.changes.Changed(key{c, of.number, c.nameOf(of)})
	}
}

// dropped is called with c.mu locked.
func (c *Controller) dropped(of *call) {
	number := of.number
	of.number = 0
	if c.log.changes.IsFollowed() {
		c.log.changes.Changed(key{c, number, c.log.nameOf(of, number)})
	}
}

func (c *Controller) shrink(limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.succeeded.shrink(limit)
	c.failed.shrink(limit)
}

func (c *Controller) dropWhere(is func(*call) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.succeeded.dropWhere(is)
	c.failed.dropWhere(is)
}

// shows reports whether a call is about a parent in a namespace, or shows a related object in it.
func (c *call) shows(namespace string) bool {
	return c.parent.Namespace == namespace ||
		slices.ContainsFunc(c.related, func(of place) bool { return of.namespace == namespace })
}
