// Shares one stream of events among all windows of a browser, which opens only six connections to
// an address: one window holds it and passes on what comes; when that goes, another one does.

// Calls `on(kind, data, id)` for each event, until `signal` is aborted: for those of `kinds`, for
// "open", for "lost" (data: whether it will not try again by itself), and for "joined", where
// another window holds the stream and may have passed on what this one has not read.
export function stream(path, kinds, address, on, signal) {
  const windows = new BroadcastChannel(path);
  windows.onmessage = ({ data }) => on(...data);

  function tell(...event) {
    windows.postMessage(event);
    on(...event);
  }

  function hold() {
    return new Promise((done) => {
      if (signal.aborted) return done();
      const source = new EventSource(address());
      const end = () => {
        source.close();
        done();
      };
      for (const kind of kinds) {
        source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data), event.lastEventId));
      }
      source.onopen = () => tell("open");
      source.onerror = () => {
        const over = source.readyState === EventSource.CLOSED;
        if (over) end();
        tell("lost", over);
      };
      signal.addEventListener("abort", end);
    });
  }

  function join(lock) {
    if (lock) return hold();
    on("joined");
    return navigator.locks.request(path, { signal }, hold);
  }

  signal.addEventListener("abort", () => windows.close());
  if (navigator.locks) navigator.locks.request(path, { ifAvailable: true }, join).catch(() => {});  // given up
  else hold();  // a page that is no secure context has none
}
