package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// readYAML reads the documents of a file in the part of YAML that the files of deploy/ use: mappings and lists by
// indentation, {…} and […] on one line, "…", |, > and >-, anchors of mappings with <<, and comments. Values are text,
// []any and map[string]any. Anything else, and a key that is there twice, is an error.
func readYAML(text string) (documents []any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%v", problem)
		}
	}()
	for part := range strings.SplitSeq("\n"+text, "\n---\n") {
		r := &yamlReader{anchors: map[string]any{}}
		for n, line := range strings.Split(part, "\n") {
			text := strings.TrimLeft(line, " ")
			r.lines = append(r.lines, yamlLine{text, len(line) - len(text), n})
		}
		if r.skip(); len(r.lines) == 0 {
			continue
		}
		documents = append(documents, r.block(r.lines[0].indent))
		if r.skip(); len(r.lines) > 0 {
			r.fail("an indentation of its own")
		}
	}
	return documents, nil
}

type yamlLine struct {
	text   string
	indent int
	number int
}

type yamlReader struct {
	lines   []yamlLine
	anchors map[string]any
}

func (r *yamlReader) fail(what string) {
	panic(fmt.Sprintf("line %d, %q: %s", r.lines[0].number, r.lines[0].text, what))
}

// skip goes to the next line that is neither empty nor a comment.
func (r *yamlReader) skip() {
	for len(r.lines) > 0 && (r.lines[0].text == "" || r.lines[0].text[0] == '#') {
		r.lines = r.lines[1:]
	}
}

// block reads a mapping or a list with this indentation.
func (r *yamlReader) block(indent int) any {
	if strings.HasPrefix(r.lines[0].text, "- ") {
		var list []any
		for r.skip(); r.at(indent) && strings.HasPrefix(r.lines[0].text, "- "); r.skip() {
			list = append(list, r.item(indent+2))
		}
		return list
	}
	values := map[string]any{}
	for r.skip(); r.at(indent); r.skip() {
		key, rest, ok := strings.Cut(r.lines[0].text, ":")
		if _, twice := values[key]; !ok || twice || rest != "" && rest[0] != ' ' {
			r.fail("want a new KEY: VALUE")
		}
		if key == "<<" {
			for k, v := range r.anchors[strings.TrimPrefix(strings.TrimSpace(rest), "*")].(map[string]any) {
				values[k] = v
			}
			r.lines = r.lines[1:]
			continue
		}
		values[key] = r.value(strings.TrimSpace(rest), indent)
	}
	return values
}

func (r *yamlReader) at(indent int) bool { return len(r.lines) > 0 && r.lines[0].indent == indent }

// item reads what follows "- ".
func (r *yamlReader) item(indent int) any {
	rest := r.lines[0].text[2:]
	key, after, ok := strings.Cut(rest, ":")
	if ok && !strings.ContainsAny(key, "{[\" ") && (after == "" || after[0] == ' ') {
		r.lines[0].text, r.lines[0].indent = rest, indent
		return r.block(indent)
	}
	return r.value(rest, indent-2)
}

// value reads what follows a key, on its line or below it.
func (r *yamlReader) value(rest string, indent int) any {
	line := r.lines[0]
	r.lines = r.lines[1:]
	if i := strings.Index(rest, " #"); i >= 0 && !strings.Contains(rest, `"`) {
		rest = strings.TrimSpace(rest[:i])
	}
	anchor, named := strings.CutPrefix(rest, "&")
	if strings.HasPrefix(rest, "#") || named {
		rest = ""
	}
	switch {
	case rest == "|" || rest == ">" || rest == ">-":
		var text []string
		for len(r.lines) > 0 && (r.lines[0].text == "" || r.lines[0].indent > indent) {
			text = append(text, r.lines[0].text)
			r.lines = r.lines[1:]
		}
		return strings.Join(text, map[bool]string{true: "\n", false: " "}[rest == "|"])
	case rest == "":
		if r.skip(); len(r.lines) == 0 || r.lines[0].indent <= indent {
			panic(fmt.Sprintf("line %d, %q: no value", line.number, line.text))
		}
		below := r.block(r.lines[0].indent)
		if named {
			r.anchors[anchor] = below
		}
		return below
	}
	for !closed(rest) { // it goes on in the next line
		if len(r.lines) == 0 {
			panic(fmt.Sprintf("line %d, %q: a bracket is open", line.number, line.text))
		}
		rest += " " + r.lines[0].text
		r.lines = r.lines[1:]
	}
	v, left := flow(rest, false)
	if strings.TrimSpace(left) != "" {
		panic(fmt.Sprintf("line %d, %q: %q is too much", line.number, line.text, left))
	}
	return v
}

func closed(text string) bool {
	open := func(left, right string) bool { return strings.Count(text, left) > strings.Count(text, right) }
	return !open("[", "]") && !open("{", "}") || text[0] != '[' && text[0] != '{'
}

// flow reads a value in brackets, in quotes or plain, and returns what is left of the text.
func flow(text string, inside bool) (any, string) {
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, "["):
		var list []any
		for text = strings.TrimSpace(text[1:]); !strings.HasPrefix(text, "]"); text = comma(text) {
			var v any
			v, text = flow(text, true)
			list = append(list, v)
		}
		return list, text[1:]
	case strings.HasPrefix(text, "{"):
		values := map[string]any{}
		for text = strings.TrimSpace(text[1:]); !strings.HasPrefix(text, "}"); text = comma(text) {
			key, rest, ok := strings.Cut(text, ": ")
			if _, twice := values[key]; !ok || twice {
				panic(fmt.Sprintf("%q: want a new KEY: VALUE", text))
			}
			values[key], text = flow(rest, true)
		}
		return values, text[1:]
	case strings.HasPrefix(text, `"`):
		decoder := json.NewDecoder(strings.NewReader(text))
		var s string
		if err := decoder.Decode(&s); err != nil {
			panic(err)
		}
		return s, text[decoder.InputOffset():]
	case inside:
		end := strings.IndexAny(text, ",]}")
		return strings.TrimSpace(text[:end]), text[end:]
	}
	return text, ""
}

func comma(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, ","); ok {
		return strings.TrimSpace(rest)
	}
	if text == "" || text[0] != ']' && text[0] != '}' {
		panic(fmt.Sprintf("%q: want a comma", text))
	}
	return text
}

// The reader of YAML reads what it should, and refuses what is wrong.
func TestReadYAML(t *testing.T) {
	got, err := readYAML("# head\nx: &x\n  a: 1\ny:\n  <<: *x\n  b: [\"p: q\",\n      r]\n" +
		"z:\n  - n: 1 # one\n    m:\n      - {k: v, w: {}}\n  - plain text\n" +
		"s: |\n  one\n  two\n---\nt: >\n  one\n  two\n")
	raw, _ := json.Marshal(got)
	const want = `[{"s":"one\ntwo\n","x":{"a":"1"},"y":{"a":"1","b":["p: q","r"]},` +
		`"z":[{"m":[{"k":"v","w":{}}],"n":"1"},"plain text"]},{"t":"one two "}]`
	if plain := strings.NewReplacer(`two\n"`, `two"`, `two "`, `two"`); err != nil ||
		plain.Replace(string(raw)) != plain.Replace(want) {
		t.Errorf("%s, %v\nwant %s", raw, err, want)
	}
	for _, wrong := range []string{"a: 1\na: 2\n", "a: [1, 2\n", "a:\nb: 1\n", "a: 1\n   b: 2\n", "a: {k: v w}}\n",
		"a: {k: 1, k: 2}\n"} {
		if got, err := readYAML(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, got)
		}
	}
}
