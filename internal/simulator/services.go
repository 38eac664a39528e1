package simulator

// The fake services, by the names of their built-in definitions.
const (
	serviceWaterData = "usgs-waterdata"
	serviceNGWMN     = "usgs-ngwmn"
	serviceNWDC      = "usgs-nwdc"
	serviceOpenHydro = "open-hydro"
)
