package simulator

import (
	"net/http"
	"net/url"
	"regexp"
)

// asksForBroken tells of a request that names a site which always fails, and names the first such site. It is a function of the seed
// and the site alone, so that every attempt, and every chunk that the site is part of, fails.
func (c *call) asksForBroken() (site string, broken bool) {
	if c.config.BrokenSites <= 0 {
		return "", false
	}
	siteID := regexp.MustCompile(`\b[A-Z]{2,8}-[0-9A-Za-z]+\b`)
	of := func(text string) (string, bool) {
		for _, id := range siteID.FindAllString(text, -1) {
			if unit(hashText(c.config.Seed+11, id)) < c.config.BrokenSites {
				return id, true
			}
		}
		return "", false
	}
	if asked, err := url.QueryUnescape(c.request.URL.RawQuery); err == nil {
		if site, broken = of(asked); broken {
			return site, true
		}
	}
	return of(string(c.body))
}

// answerBroken answers for a site that always fails.
func (c *call) answerBroken(site string) {
	status := c.config.BrokenStatus
	code, text := "InvalidParameterValue", "The site "+site+" cannot be served."
	if status >= http.StatusInternalServerError {
		code, text = "NoApplicableCode", "query error (check logs)"
	}
	c.refuse(status, code, text)
}
