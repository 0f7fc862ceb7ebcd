package main

import (
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const writtenAnnotation = "bench.example.com/written"

// progress tells the harness, on standard output, when the first reconcile begins and when all are done.
type progress struct {
	objects int
	writes  int
	started time.Time

	first     sync.Once
	mutex     sync.Mutex
	seen      map[types.NamespacedName]struct{}
	latencies []float64
	// reconciles counts all of them, also those that found nothing to do.
	reconciles int
}

func newProgress(objects, writes int) *progress {
	return &progress{
		objects: objects,
		writes:  writes,
		started: time.Now(),
		seen:    make(map[types.NamespacedName]struct{}, objects),
	}
}

// began is called before each reconcile.
func (p *progress) began() {
	p.first.Do(func() { say(map[string]any{"event": "first"}) })
}

// reconciled is called after each complete reconcile of an object.
func (p *progress) reconciled(key types.NamespacedName, foo *Foo) {
	now := time.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.reconciles++
	if _, again := p.seen[key]; !again {
		p.seen[key] = struct{}{}
		if len(p.seen) == p.objects {
			say(map[string]any{"event": "reconciled", "count": len(p.seen), "reconciles": p.reconciles})
		}
	}
	if written, ok := writtenAt(foo); ok && written.After(p.started) && len(p.latencies) < p.writes {
		p.latencies = append(p.latencies, now.Sub(written).Seconds()*1000)
		if len(p.latencies) == p.writes {
			say(map[string]any{"event": "latencies", "milliseconds": p.latencies})
		}
	}
}

// writtenAt is the moment at which the harness wrote the object, in seconds since the epoch.
func writtenAt(foo *Foo) (time.Time, bool) {
	seconds, err := strconv.ParseFloat(foo.Annotations[writtenAnnotation], 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMicro(int64(seconds * 1e6)), true
}

func say(event map[string]any) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}
