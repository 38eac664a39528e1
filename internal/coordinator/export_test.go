package coordinator

// Watched counts the queries that are followed for those who look at them.
func (c *Coordinator) Watched() int {
	c.gallery.mu.Lock()
	defer c.gallery.mu.Unlock()
	return len(c.gallery.pictures)
}

// SweepViews gives up the queries that nobody has looked at lately.
func (c *Coordinator) SweepViews() { c.gallery.sweep() }

// MostWatched is how many are followed at most.
const MostWatched = mostPictures
