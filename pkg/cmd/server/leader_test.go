// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// listensAt is a listener that only says where it listens.
type listensAt string

func (l listensAt) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (l listensAt) Close() error              { return nil }
func (l listensAt) Addr() net.Addr            { return l }
func (l listensAt) Network() string           { return "tcp" }
func (l listensAt) String() string            { return string(l) }

func TestWhereReplicasReachThisProcess(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"at the address that it listens at":  {[]string{"--bind-address=192.0.2.1"}, "192.0.2.1:6443"},
		"at the one that it is said to have": {[]string{"--bind-address=0.0.0.0", "--advertise-address=192.0.2.2"}, "192.0.2.2:6443"},
		"at the one that it is said to have, rather than where it listens": {
			[]string{"--bind-address=192.0.2.1", "--advertise-address=192.0.2.2"}, "192.0.2.2:6443",
		},
		"at one of version 6": {[]string{"--bind-address=2001:db8::1"}, "[2001:db8::1]:6443"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(t, test.flags...).replicaAddress(listensAt("[::]:6443"))
			if err != nil || got != test.want {
				t.Errorf("the address is %q, want %q (%v)", got, test.want, err)
			}
		})
	}
}

func TestWhoThisProcessIsAsksTheHostUntilItAnswers(t *testing.T) {
	asked := 0
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		if asked++; asked == 1 {
			return true, nil, errors.New("no route to host")
		}
		review := &authenticationv1.SelfSubjectReview{}
		review.Status.UserInfo.Username = "system:serviceaccount:metacontroller:metacontroller-apiserver"
		return true, review, nil
	})
	own := ownUser{client: client}
	if name, err := own.get(t.Context()); err == nil {
		t.Errorf("without an answer, it is %q", name)
	}
	for range 2 {
		name, err := own.get(context.WithoutCancel(t.Context()))
		if err != nil || name != "system:serviceaccount:metacontroller:metacontroller-apiserver" {
			t.Errorf("it is %q, %v", name, err)
		}
	}
	if asked != 2 {
		t.Errorf("the host was asked %d times, want 2: the answer stays the same", asked)
	}
}
