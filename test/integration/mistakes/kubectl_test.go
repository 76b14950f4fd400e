// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// show runs the commands that a person looks with, and returns what they print.
func (r *run) show() string {
	r.Helper()
	var text strings.Builder
	if r.applied != "" {
		text.WriteString("$ kubectl apply -f controller.yaml\n" + r.normal(r.applied) + "\n")
	}
	if r.refused {
		return withoutForeignWords(strings.TrimRight(text.String(), "\n") + "\n")
	}
	kind := strings.TrimSuffix(r.controllerResource().Resource, "s")
	parent := unstructured.Unstructured{Object: r.parent}
	group := parent.GroupVersionKind().Group

	get := env.Kubectl(r, "get", kind, r.Unique, "-o", "wide")
	text.WriteString("$ kubectl get " + kind + " websites -o wide\n" + r.normal(table(get)) + "\n")

	target := strings.Join(slices.DeleteFunc([]string{strings.ToLower(parent.GetKind()), group}, func(s string) bool { return s == "" }), ".")
	// A parent that is gone is an error, and the controller is described all the same.
	described, err := env.Host.RunKubectl(r.Context(), "describe", "--show-events", "-n", r.Namespace, kind+"/"+r.Unique, target+"/"+parent.GetName())
	text.WriteString("$ kubectl describe --show-events " + kind + "/websites " + target + "/" + parent.GetName() + "\n" + r.normal(description(described)) + "\n")
	if err != nil {
		_, said, _ := strings.Cut(err.Error(), "exit status 1: ")
		text.WriteString(r.normal(said) + "\n")
	}

	events := env.Kubectl(r, "events", "-n", r.Namespace)
	text.WriteString("$ kubectl events\n" + r.normal(eventRows(events)))
	return withoutForeignWords(text.String())
}

// foreignWords are what kube-apiserver says, which each of its versions may say otherwise, and a patch of kubectl.
var foreignWords = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{
		regexp.MustCompile(`(can't (?:create|update|apply)(?: status for)? \S+ \S+: |the cluster warns: ).+`),
		"$1<what the cluster says>",
	},
	{regexp.MustCompile(`patch: Invalid value: "map\[.*\]": `), "patch: Invalid value: <patch>: "},
}

func withoutForeignWords(text string) string {
	for _, part := range foreignWords {
		text = part.pattern.ReplaceAllString(text, part.with)
	}
	return text
}

// table removes the alignment and the age of a table.
func table(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = age.ReplaceAllString(narrow(line), "  <age>  ")
	}
	return strings.Join(lines, "\n") + "\n"
}

var (
	age    = regexp.MustCompile(`  \d+[smh](\d+s)?  `)
	spaces = regexp.MustCompile(`(\S)  +`)
)

// narrow leaves two spaces between columns.
func narrow(line string) string { return strings.TrimRight(spaces.ReplaceAllString(line, "$1  "), " ") }

// description returns the lines of `kubectl describe` that tell how objects are doing: their names,
// their status and their events.
func description(text string) string {
	var kept, events []string
	section := ""
	flush := func() {
		kept = append(kept, rows(events, describedEvent)...)
		events = nil
	}
	for line := range strings.Lines(text) {
		line = narrow(strings.TrimRight(line, "\n"))
		if begins := sections.FindStringSubmatch(line); begins != nil && (section != "Events" || begins[1] == "Name") {
			flush()
			section = begins[1]
		}
		switch {
		case section == "Events" && strings.HasPrefix(line, "Events:"):
			kept = append(kept, line)
		case section == "Events" && line != "" && !heading.MatchString(line):
			events = append(events, line)
		case section == "Name", section == "Status" && line != "":
			kept = append(kept, line)
		}
	}
	flush()
	return conditions(kept)
}

var (
	// sections are the lines that begin a part of what `kubectl describe` prints. Others without
	// indent are in the text of a message.
	sections = regexp.MustCompile(`^(Name|Namespace|Labels|Annotations|API Version|Kind|Metadata|Spec|Status|Events):`)
	// heading are the lines above the events.
	heading = regexp.MustCompile(`^  (Type  Reason|----)`)
)

var (
	describedEvent = regexp.MustCompile(`^  (Normal|Warning)  (\S+)  .*?  (\S+)  `)
	listedEvent    = regexp.MustCompile(`^\S+( \(x\d+ over \S+\))?  (Normal|Warning)  `)
)

// eventRows returns the rows of `kubectl events` without their ages and counts.
func eventRows(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = narrow(strings.TrimRight(line, "\n")); line != "" && !strings.HasPrefix(line, "LAST SEEN") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "No events found.\n"
	}
	return strings.Join(rows(lines, listedEvent), "\n") + "\n"
}

// rows returns the rows of a table of events without ages and counts, in the order of the alphabet,
// and each once. Lines that do not begin a row go on with the row before.
func rows(lines []string, begin *regexp.Regexp) []string {
	var all []string
	for _, line := range lines {
		switch {
		case begin == describedEvent && begin.MatchString(line):
			all = append(all, begin.ReplaceAllString(line, "  $1  $2  $3  "))
		case begin == listedEvent && begin.MatchString(line):
			all = append(all, begin.ReplaceAllString(line, "$2  "))
		case len(all) > 0:
			all[len(all)-1] += "\n" + line
		default:
			all = append(all, line)
		}
	}
	for i := range all {
		all[i] = withoutDifferences(all[i])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// conditions removes from a status the conditions that say that all is well, Stalled, which repeats Ready, and what
// differs each time.
func conditions(lines []string) string {
	var kept, condition []string
	flush := func() {
		if text := strings.Join(condition, "\n"); !isWell.MatchString(text) || isWarned.MatchString(text) {
			kept = append(kept, condition...)
		}
		condition = nil
	}
	inCondition := false
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.HasPrefix(trimmed, "Last Transition Time:"):
			flush()
			inCondition = true
			continue
		case inCondition && indent < 4:
			flush()
			inCondition = false
		}
		switch {
		case strings.HasPrefix(trimmed, "Observed Generation:"), strings.HasPrefix(trimmed, "Time:"):
		case strings.HasPrefix(trimmed, "Recovered:"):
			kept = append(kept, line[:indent]+"Recovered:  <time>")
		case inCondition:
			condition = append(condition, line)
		default:
			kept = append(kept, line)
		}
	}
	flush()
	return strings.Join(kept, "\n") + "\n"
}

var (
	isWell   = regexp.MustCompile(`(?m)^ +Status: +True$|^ +Reason: +NoWarnings$`)
	isWarned = regexp.MustCompile(`(?m)^ +Status: +True\n +Type: +Warnings$`)
)

// differing are the parts of a text that are others in each run, or on each machine.
var differing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+->`), "<server>->"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`example\.com-[0-9a-f]{40}`), "example.com-<revision>"},
	{regexp.MustCompile(`random-[a-z0-9]{8}`), "<random>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`was (\w+) \d+ times in a row`), "was $1 <count> times in a row"},
	{regexp.MustCompile(`the next write waits \S+,`), "the next write waits <duration>,"},
	// What the resolver of the machine says of a name that does not exist.
	{regexp.MustCompile(`lookup (\S+\.invalid)( on \S+)?: [^"\n;(]*[^"\n;( ]`), "lookup $1: no such host"},
}

// normal replaces what is different in each run.
func (r *run) normal(text string) string {
	_, host, _ := strings.Cut(r.Hook.URL(""), "://")
	return withoutDifferences(strings.NewReplacer(r.Unique, "websites", r.Namespace, "team", host, "<hook>").Replace(text))
}

func withoutDifferences(text string) string {
	for _, part := range differing {
		text = part.pattern.ReplaceAllString(text, part.with)
	}
	return text
}
