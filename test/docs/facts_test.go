package docs

// queryFacts are the bounds and defaults of the keys of a query file.
func queryFacts() map[string]fact {
	const most = 1 << 40
	return map[string]fact{
		"run.max_requests":          {least: 1, most: most},
		"run.hold_back":             {least: 1, most: most},
		"run.priority":              {least: -10, most: 10, usual: "0", silent: true},
		"run.weight":                {least: 1, most: 100, usual: "1", silent: true},
		"run.on_quota.then":         {usual: "pause"},
		"run.on_failure":            {usual: "stop"},
		"verify.bad_values":         {usual: "stop"},
		"verify.coverage":           {usual: "report"},
		"verify.changed_during_run": {usual: "report"},
		"max_chunks":                {least: 1, most: 10_000_000},
		"max_rows":                  {least: 1, most: most},
		"output.if_exists":          {usual: "fail", with: "output: {to: t.csv}"},
	}
}

// serviceFacts are those of a service definition.
func serviceFacts() map[string]fact {
	const cursor = "collections: {levels: {paging: {style: cursor, next: $.next, send: {cursor: '{}'}}}}"
	const offset = "collections: {levels: {paging: {style: offset, send: {offset: '{offset}'}, stop: empty_page}}}"
	return map[string]fact{
		"limits.url_bytes":                {least: 64, most: 64 << 10, usual: "2000"},
		"limits.body_bytes":               {least: 0, most: 512 << 10, usual: "0"},
		"limits.values":                   {least: 0, most: 1_000_000, usual: "0"},
		"limits.page_rows":                {least: 0, most: 10_000_000, usual: "0"},
		"limits.response_bytes":           {least: 1 << 10, most: 2 << 30, usual: "268435456"},
		"limits.chunk_rows":               {least: 0, most: 1_000_000_000, usual: "0"},
		"limits.in_flight":                {usual: "4"},
		"timeouts.connect":                {usual: "10s"},
		"timeouts.stall":                  {usual: "1m"},
		"timeouts.page":                   {usual: "10m"},
		"retry.attempts":                  {least: 1, most: 100, usual: "4"},
		"retry.base":                      {usual: "1s"},
		"retry.cap":                       {usual: "1m"},
		"quotas.*.counts":                 {usual: "requests"},
		"quotas.*.per":                    {usual: "credential"},
		"quotas.*.model":                  {usual: "rolling"},
		"quotas.*.limit":                  {least: 1, most: 1 << 50},
		"quotas.*.hold_back":              {usual: "0"},
		"hosts[].insecure":                {usual: "false", with: "hosts: [{host: rivers.example}]"},
		"collections.*.unknown_fields":    {usual: "text"},
		"collections.*.on_duplicate":      {usual: "keep_first"},
		"collections.*.params.*.required": {usual: "false", with: "collections: {levels: {params: {more: {type: text}}}}"},
		"collections.*.paging.style":      {usual: "none"},
		"collections.*.paging.empty_page": {usual: "continue", with: cursor},
		"collections.*.paging.repeat":     {usual: "fail", with: cursor},
		"collections.*.paging.max_pages":  {least: 1, most: 1_000_000, usual: "10000", with: cursor},
		"collections.*.paging.first":      {least: 0, most: 1_000_000_000, usual: "0", with: offset, silent: true},
		"collections.*.rows.names":        {usual: "as_sent", silent: true},
		"collections.*.rows.separator":    {usual: ",", with: "collections: {levels: {rows: {format: csv}}}", silent: true},
		"collections.*.request.method":    {usual: "GET", silent: true},
		"collections.*.axes[].align":      {usual: "none", with: "collections: {levels: {axes: [{window: time, span: 30d}]}}"},
		"collections.*.axes[].boundary":   {usual: "step", with: "collections: {levels: {axes: [{window: time, span: 30d}]}}"},
		"credentials.*.required":          {usual: "false", with: "{credentials: {key: {send: {bearer: true}, from: env:KEY}}, hosts: [{host: rivers.example, credentials: [key]}]}"},
	}
}
