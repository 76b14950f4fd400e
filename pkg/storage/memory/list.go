// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ListOptions are the options of a list, as clients give them.
type ListOptions struct {
	Selection
	// Limit is the maximum number of objects to return; zero means no limit. Continue is the continue token of the
	// previous part of the list.
	Limit    int64
	Continue string

	ResourceVersion string
	Match           metav1.ResourceVersionMatch
}

// List returns the objects in the order of their keys, and the metadata of the list. The caller must not change them.
//
// A list in several parts shows each part as it is when the client requests it. All have the version of the first part:
// a watch from it reports all changes since then. Each part may come from another replica: a list continues after a
// key, and the order of keys is the same on all replicas. Clients do not recover from a list that breaks off, but they
// do from a watch that is refused.
func (s *Store[T]) List(options ListOptions) ([]T, metav1.ListMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, version, err := s.begin(options)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	meta := metav1.ListMeta{ResourceVersion: formatVersion(version)}
	entries := s.inOrder()
	first := sort.Search(len(entries), func(i int) bool { return compareKeys(entries[i].key, from) > 0 })
	var found []T
	for i, one := range entries[first:] {
		if options.Namespace != "" && one.key.Namespace > options.Namespace {
			break
		}
		if !s.kind.matches(&options.Selection, one.object) {
			continue
		}
		if options.Limit > 0 && int64(len(found)) == options.Limit {
			meta.Continue = encodeContinue(version, keyOf(found[len(found)-1]))
			if options.selectsAll() {
				left := int64(len(entries) - first - i)
				meta.RemainingItemCount = &left
			}
			break
		}
		found = append(found, one.object)
	}
	return found, meta, nil
}

func (s *Selection) selectsAll() bool {
	return s.Namespace == "" && (s.Labels == nil || s.Labels.Empty()) && (s.Fields == nil || s.Fields.Empty())
}

// begin returns the key after which a list begins, and its version.
func (s *Store[T]) begin(options ListOptions) (after types.NamespacedName, version uint64, err error) {
	if options.Continue != "" {
		return decodeContinue(options.Continue)
	}
	requested, err := s.parseVersion(options.ResourceVersion)
	if err != nil {
		return after, 0, err
	}
	if requested > s.sequence || options.Match == metav1.ResourceVersionMatchExact && requested != s.sequence {
		return after, 0, s.expired(requested)
	}
	after.Namespace = options.Namespace
	return after, s.sequence, nil
}

// expired returns the error for a version that this store has not given out, or has forgotten.
func (s *Store[T]) expired(requested uint64) *apierrors.StatusError {
	if requested > s.sequence {
		return apierrors.NewResourceExpired(fmt.Sprintf("resourceVersion %d is from another server, and this server is at "+
			"%d: list %s again",
			requested, s.sequence, s.kind.Resource))
	}
	return apierrors.NewResourceExpired(fmt.Sprintf(
		"resourceVersion %d is too old, the oldest is %d: list %s again", requested, s.floor, s.kind.Resource))
}

// parseVersion returns a version; zero if any will do.
func (s *Store[T]) parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("this server has not issued the resourceVersion %q", text))
	}
	return version, nil
}

func formatVersion(version uint64) string { return strconv.FormatUint(version, 10) }

// continueToken is the position at which a list continues.
type continueToken struct {
	Version   uint64 `json:"v"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"`
}

func encodeContinue(version uint64, after types.NamespacedName) string {
	raw, _ := json.Marshal(continueToken{version, after.Namespace, after.Name}) // it cannot fail
	return base64.RawURLEncoding.EncodeToString(raw)
}

func decodeContinue(text string) (after types.NamespacedName, version uint64, err error) {
	var token continueToken
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &token)
	}
	if err != nil {
		return after, 0, apierrors.NewBadRequest("continue is not a token that a list has returned: list again without it")
	}
	return types.NamespacedName{Namespace: token.Namespace, Name: token.Name}, token.Version, nil
}
