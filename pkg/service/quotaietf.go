package service

import (
	"strconv"
	"strings"
	"time"
)

// ratePolicy is one member of RateLimit-Policy or RateLimit, a list of structured fields: a name with parameters.
type ratePolicy struct {
	name   string
	params map[string]string
}

// readIETF reads the fields of draft-ietf-httpapi-ratelimit-headers: q, w and qu of the policies, r and t of the limits. Of
// several the one with the quota's own window counts, else the one that leaves least.
func (q Quota) readIETF(header map[string][]string, now time.Time, reading *QuotaReading) {
	policies := readPolicies(headerValues(header, "RateLimit-Policy"))
	limits := readPolicies(headerValues(header, "RateLimit"))
	found, exact := -1, false
	for i, limit := range limits {
		declared := policyNamed(policies, limit.name)
		left, ok := limit.count("r")
		if !ok || !q.isCounted(declared) {
			continue
		}
		window, known := declared.count("w")
		same := known && time.Duration(min(window, 1<<32))*time.Second == q.Window
		if found >= 0 && (exact && !same || exact == same && left >= reading.Remaining) {
			continue
		}
		found, exact = i, same
		reading.Remaining = left
		reading.Limit, _ = declared.count("q")
		reading.Reset = ResetForm("delta_s").instant(limit.params["t"], now)
	}
	if found < 0 && len(policies) > 0 {
		for _, declared := range policies {
			if n, ok := declared.count("q"); ok && q.isCounted(declared) && (reading.Limit == 0 || n < reading.Limit) {
				reading.Limit = n
			}
		}
	}
}

// isCounted tells whether a policy counts what the quota counts. A policy that does not say counts requests.
func (q Quota) isCounted(p ratePolicy) bool {
	unit := p.params["qu"]
	switch q.Counts {
	case "bytes":
		return unit == "content-bytes" || unit == ""
	case "requests":
		return unit == "requests" || unit == ""
	}
	return unit != "requests" && unit != "content-bytes"
}

func (p ratePolicy) count(name string) (int64, bool) {
	n, err := strconv.ParseInt(p.params[name], 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	return min(n, mostUnits), true
}

// policyNamed finds the policy of a limit; the only one stands for all.
func policyNamed(policies []ratePolicy, name string) ratePolicy {
	for _, p := range policies {
		if p.name == name {
			return p
		}
	}
	if len(policies) == 1 {
		return policies[0]
	}
	return ratePolicy{}
}

const maxPolicies = 32

// readPolicies reads lists of items with parameters. What comes behind a mistake is not read.
func readPolicies(values []string) []ratePolicy {
	var all []ratePolicy
	for _, value := range values {
		rest := strings.TrimSpace(value)
		for rest != "" && len(all) < maxPolicies {
			var p ratePolicy
			var ok bool
			if p, rest, ok = readPolicy(rest); !ok {
				break
			}
			all = append(all, p)
		}
	}
	return all
}

func readPolicy(text string) (p ratePolicy, rest string, ok bool) {
	p.params = map[string]string{}
	if p.name, rest, ok = readBare(text); !ok {
		return p, rest, false
	}
	for {
		rest = strings.TrimLeft(rest, " \t")
		switch {
		case rest == "":
			return p, "", true
		case rest[0] == ',':
			return p, strings.TrimLeft(rest[1:], " \t"), true
		case rest[0] != ';':
			return p, "", false
		}
		rest = strings.TrimLeft(rest[1:], " \t")
		end := strings.IndexAny(rest, "=;, \t")
		if end < 0 || rest[min(end, len(rest)-1)] != '=' { // a parameter without a value
			if end < 0 {
				end = len(rest)
			}
			rest = rest[end:]
			continue
		}
		key := strings.ToLower(rest[:end])
		var value string
		if value, rest, ok = readBare(rest[end+1:]); !ok {
			return p, "", false
		}
		p.params[key] = value
	}
}

// readBare reads a text in quotes, a number, a token or bytes between colons.
func readBare(text string) (value, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		var out strings.Builder
		for i := 1; i < len(text); i++ {
			switch {
			case text[i] == '\\' && i+1 < len(text):
				i++
				out.WriteByte(text[i])
			case text[i] == '"':
				return out.String(), text[i+1:], true
			default:
				out.WriteByte(text[i])
			}
		}
		return "", "", false
	}
	if strings.HasPrefix(text, ":") {
		if end := strings.IndexByte(text[1:], ':'); end >= 0 {
			return text[1 : end+1], text[end+2:], true
		}
		return "", "", false
	}
	end := strings.IndexAny(text, ";, \t")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], end > 0
}
