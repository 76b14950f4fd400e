// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
)

func (s *settings) resolveAuthorization(find finder, into *credentials) error {
	if s.authorization == nil {
		return nil
	}
	field, ref := s.path+".authorization", s.authorization.SecretRef
	scheme := cmp.Or(strings.TrimSpace(s.authorization.Type), "Bearer")
	switch {
	case strings.EqualFold(scheme, "basic"):
		return fmt.Errorf("%s.type: %q is not supported here; use basicAuth", field, scheme)
	case ref.Key == "":
		return fmt.Errorf("%s.secretRef.key is the key of the credential in the Secret and must not be empty", field)
	}
	opened, err := find.open(field+".secretRef", secret(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	value, err := opened.value(ref.Key)
	if err != nil {
		return err
	}
	credential := strings.TrimSpace(string(value))
	header := scheme + " " + credential
	if strings.ContainsFunc(header, isControl) {
		return opened.unusable(fmt.Errorf("key %q: there is a line break or another control character in it", ref.Key))
	}
	into.authorization = header
	if credential == "" {
		into.empty = opened.unusable(fmt.Errorf("key %q is empty", ref.Key))
		return nil
	}
	into.secrets = []string{credential}
	return nil
}

// isControl reports whether a character cannot be in a header.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func (s *settings) resolveBasicAuth(find finder, into *credentials) error {
	if s.basicAuth == nil {
		return nil
	}
	ref := s.basicAuth.SecretRef
	opened, err := find.open(s.path+".basicAuth.secretRef", secret(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	userKey, passwordKey := cmp.Or(s.basicAuth.UsernameKey, "username"), cmp.Or(s.basicAuth.PasswordKey, "password")
	user, err := opened.value(userKey)
	if err != nil {
		return err
	}
	password, err := opened.value(passwordKey)
	if err != nil {
		return err
	}
	if strings.Contains(string(user), ":") {
		return opened.unusable(fmt.Errorf("key %q: a user name cannot contain a colon", userKey))
	}
	name, word := strings.TrimSpace(string(user)), strings.TrimSpace(string(password))
	encoded := base64.StdEncoding.EncodeToString([]byte(name + ":" + word))
	into.authorization = "Basic " + encoded
	if name == "" && word == "" {
		into.empty = opened.unusable(fmt.Errorf("keys %q and %q are empty", userKey, passwordKey))
		return nil
	}
	into.secrets = []string{encoded}
	if word != "" {
		into.secrets = append(into.secrets, word)
	}
	return nil
}
