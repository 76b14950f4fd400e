// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"encoding/xml"
	"fmt"
	"io"
)

// Report holds the results of the cases of a folder.
type Report struct {
	Folder  string
	Results []*Result
}

// The elements of a file of JUnit.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		File    string       `xml:"file,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitReason `xml:"failure"`
		Error   *junitReason `xml:"error"`
		Output  string       `xml:"system-out,omitempty"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes reports in the form of JUnit, which build servers read.
func WriteJUnit(to io.Writer, reports []*Report) error {
	var all junitSuites
	for _, report := range reports {
		suite := junitSuite{Name: report.Folder, Tests: len(report.Results)}
		var seconds float64
		for _, result := range report.Results {
			seconds += result.Duration.Seconds()
			one := junitCase{Name: result.Name, Class: report.Folder, File: result.Path,
				Time: fmt.Sprintf("%.3f", result.Duration.Seconds()), Output: result.Printed}
			switch {
			case result.Err != nil:
				suite.Errors++
				one.Error = &junitReason{Message: "it could not be run", Text: result.Err.Error()}
			case result.Doubt != "":
				suite.Failures++
				one.Failure = &junitReason{Message: "it was not updated", Text: result.Doubt}
			case result.Difference != "":
				suite.Failures++
				one.Failure = &junitReason{Message: "it is not as expected", Text: result.Difference}
			}
			suite.Cases = append(suite.Cases, one)
		}
		suite.Time = fmt.Sprintf("%.3f", seconds)
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}
