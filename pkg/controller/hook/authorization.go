// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
)

func (s *settings) resolveAuthorization(find finder, into *material) error {
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
	switch {
	case credential == "":
		return opened.unusable(fmt.Errorf("key %q is empty", ref.Key))
	case strings.ContainsFunc(header, isControl):
		return opened.unusable(fmt.Errorf("key %q: there is a line break or another control character in it", ref.Key))
	}
	into.authorization, into.secrets = header, []string{credential}
	return nil
}

// isControl reports whether a character cannot be in a header.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func (s *settings) resolveBasicAuth(find finder, into *material) error {
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
	word := strings.TrimSpace(string(password))
	credentials := strings.TrimSpace(string(user)) + ":" + word
	switch {
	case strings.Contains(string(user), ":"):
		return opened.unusable(fmt.Errorf("key %q: a user name cannot contain a colon", userKey))
	case credentials == ":":
		return opened.unusable(fmt.Errorf("keys %q and %q are empty", userKey, passwordKey))
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(credentials))
	into.authorization, into.secrets = "Basic "+encoded, []string{encoded}
	if word != "" {
		into.secrets = append(into.secrets, word)
	}
	return nil
}
