package docs

// form is what stands in YAML for a type that has code of its own to read it.
type form struct {
	words   string
	schema  schema
	objects []string // structs that may stand there, each by its keys
	orelse  []any    // what else may
}

func scalar(pattern string) schema {
	if pattern == "" {
		return schema{"type": []string{"string", "number", "boolean"}} // all scalars are text
	}
	return schema{"type": "string", "pattern": pattern}
}

func oneOf(list ...any) schema { return schema{"anyOf": list} }

func object(required string, properties schema) schema {
	o := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if required != "" {
		o["required"] = []string{required}
	}
	return o
}

// forms tells what the types are that do not say it themselves: plain ones, and those whose reading is code.
func forms() map[string]form {
	text := scalar("")
	list := schema{"type": "array", "items": text, "minItems": 1}
	whole := schema{"type": []string{"integer", "string"}, "pattern": "^-?[0-9]+$"}
	duration := form{words: "time span", schema: scalar(`^([0-9]+d|([0-9.]+(ns|us|µs|ms|s|m|h))+)$`)}
	source := scalar(`^(\$|header:)`)
	return map[string]form{
		"string":        {words: "text", schema: text},
		"bool":          {words: "`true` or `false`", schema: schema{"enum": []any{true, false, "true", "false"}}},
		"int":           {words: "number", schema: whole},
		"int64":         {words: "number", schema: whole},
		"Duration":      duration,
		"time.Duration": duration,
		"regexp.Regexp": {words: "regular expression", schema: text},
		"Path":          {words: "path", schema: scalar(`^\$`)},
		"Source":        {words: "source", schema: source},
		"Template":      {words: "text", schema: text},
		"separator":     {words: "one character, or `tab`", schema: text},
		"Span":          {words: "span, such as `1y`, `6mo`, `30d`", schema: scalar(`^[1-9][0-9]*(y|mo|d|h|m|s)$`)},
		"messages.InFlight": {words: "number, or `unbounded`", schema: oneOf(
			schema{"type": "integer", "minimum": 1, "maximum": 10000}, scalar(`^([0-9]+|[Uu][Nn][Bb][Oo][Uu][Nn][Dd][Ee][Dd])$`))},
		"CredentialSource": {words: "`env:NAME`, `file:NAME` or `keyring:NAME`", schema: scalar(`^(env|file|keyring):.`)},
		"AnonymousLimit":   {words: "number, or `observe`", schema: oneOf(schema{"type": "integer", "minimum": 1}, scalar(`^(observe|[1-9][0-9]*)$`))},
		"Format":           {words: "word", schema: schema{"enum": []string{"parquet", "csv", "jsonl", "arrow", "geojson"}}},
		"Output":           {words: "path, or mapping", objects: []string{"Output"}, orelse: []any{text}},
		"unitRule":         {words: "text, or `{column: NAME}`", schema: oneOf(text, object("column", schema{"column": text}))},
		"duplicateRule": {
			words:  "`keep_first`, `fail_if_different`, or `{newest: COLUMN}`",
			schema: oneOf(schema{"enum": []string{"keep_first", "fail_if_different"}}, object("newest", schema{"newest": text})),
		},
		"StopRule": {
			words:  "`empty_page`, `short_page`, `{total: SOURCE}` or `{pages: SOURCE}`",
			schema: oneOf(schema{"enum": []string{"empty_page", "short_page"}}, object("total", schema{"total": source}), object("pages", schema{"pages": source})),
		},
		"allowedValues": {
			words:  "list, or value → other spellings",
			schema: oneOf(text, list, schema{"type": "object", "additionalProperties": oneOf(text, list)}),
		},
		"QuotaObservation": {words: "`ietf`, or mapping", schema: oneOf(schema{"enum": []string{"ietf"}}, object("", schema{
			"limit": source, "remaining": source,
			"reset": object("from", schema{"from": source, "as": schema{"enum": []string{"delta_s", "delta_ms", "epoch_s", "epoch_ms", "http_date"}}}),
		}))},
		"conditionRule": {words: "value, list or mapping", objects: []string{"ValueFile", "FromQuery", "Interval", "Instant"}, orelse: []any{text, list}},
	}
}

// stands says which type a place has whose own type only holds what is read later.
func stands() map[string]string {
	return map[string]string{
		"limits":               "Limits",
		"defaults":             "collectionRule",
		"collections.*":        "collectionRule",
		"collections.*.limits": "Limits",
		"defaults.limits":      "Limits",
	}
}
