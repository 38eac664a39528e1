package braid

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/braidhq/braid/pkg/messages"
)

// maxListed bounds how many queries are read of a server, which pages them without end when it is none of ours.
const maxListed = 1_000_000

// Statuses gives all queries, the newest first, page by page. What is submitted meanwhile may be missing.
func (c *Client) Statuses(ctx context.Context) ([]*messages.Status, error) {
	var all []*messages.Status
	path := queriesPath // an older server knows neither parameters nor pages
	for {
		list, err := call(ctx, c, http.MethodGet, path, nil, maxListBytes, decodeList)
		if err != nil {
			return nil, err
		}
		if all = append(all, list.statuses...); list.next == "" {
			return all, nil
		}
		if len(list.statuses) == 0 || len(all) > maxListed {
			return nil, fmt.Errorf("%w at %s: its list of queries has no end", ErrServer, c.base)
		}
		path = queriesPath + "?" + url.Values{"limit": {"1000"}, "after": {list.next}}.Encode()
	}
}

type statusList struct {
	statuses []*messages.Status
	next     string
}

func decodeList(data []byte) (*statusList, error) {
	var list struct {
		Queries []json.RawMessage
		Next    string
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("decode queries: %w", err)
	}
	statuses := make([]*messages.Status, len(list.Queries))
	for i, one := range list.Queries {
		var err error
		if statuses[i], err = decodeStatus(one); err != nil {
			return nil, fmt.Errorf("decode queries: %d: %w", i, err)
		}
	}
	return &statusList{statuses, list.Next}, nil
}
