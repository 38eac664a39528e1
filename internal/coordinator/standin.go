package coordinator

import "github.com/braidhq/braid/pkg/service"

func adapterName(d *service.Definition) string { return "" }
