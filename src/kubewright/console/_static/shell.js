// Functions of every page: keyboard shortcuts, theme, and browser history.
const STEP = { j: 1, k: -1 };

function typing(element) {
  return element?.closest?.("input, textarea, select, [contenteditable=''], [contenteditable='true']");
}

/**
 * Keeps the order of events that happen before the page's socket has completed its handshake.
 * NiceGUI polls for the handshake once per event, so that Enter can overtake the text that was typed before it. Here all
 * of them wait in one queue. NiceGUI sets both properties: `socket` when the page is mounted, `did_handshake` afterwards.
 */
function queueEarlyEvents() {
  let socket, ready = false;
  const queue = [];
  const stub = { emit: (...message) => queue.push(message) };

  Object.defineProperty(window, "socket", {
    get: () => socket ?? stub,
    set(made) {
      socket = made;
      const emit = made.emit.bind(made);
      made.emit = (...message) => {
        if (ready || message[0] === "handshake") return emit(...message);
        queue.push(message);
        return made;
      };
      made.on("disconnect", () => (ready = false));
    },
  });

  Object.defineProperty(window, "did_handshake", {
    get: () => true,
    set(done) {
      ready = done;
      while (ready && queue.length) {
        const [event, message, ...more] = queue.shift();
        message.client_id ??= window.clientId;  // not known yet while components are mounted
        socket.emit(event, message, ...more);
      }
    },
  });
}

queueEarlyEvents();  // pages import this file before they are mounted

export default {
  template: "<div hidden></div>",
  props: { addresses: Object, namespace: String },
  mounted() {
    this.here = location.pathname + location.search;
    if (typeof this.namespace === "string") this.scope(this.namespace);
    document.addEventListener("keydown", this.key);
    window.addEventListener("popstate", this.back);
    window.addEventListener("beforeunload", this.leave);
  },
  unmounted() {
    document.removeEventListener("keydown", this.key);
    window.removeEventListener("popstate", this.back);
    window.removeEventListener("beforeunload", this.leave);
  },
  methods: {
    theme(choice) {
      const seconds = 60 * 60 * 24 * 365;
      document.cookie = `kubewright-theme=${choice}; path=/; max-age=${seconds}; SameSite=Strict`;
    },
    scope(namespace) {
      document.cookie = `kubewright-namespace=${encodeURIComponent(namespace)}; path=${window.path_prefix ?? ""}/; SameSite=Strict`;
    },
    address(url, push) {
      history[push ? "pushState" : "replaceState"]({}, "", (window.path_prefix ?? "") + url);
      this.here = location.pathname + location.search;
    },
    unsaved(something) {
      this.asks = something;
    },
    async reveal(id) {
      await this.$nextTick();  // groups that were expanded just now are drawn first
      // For an input, NiceGUI's id is that of the input itself.
      const place = document.getElementById(id);
      const field = place?.matches("input, textarea") ? place : place?.querySelector("input, textarea, [contenteditable='true']");
      (field ?? place)?.scrollIntoView({ block: "center" });
      field?.focus();
    },
    go(url) {
      this.asks = false;
      location.href = (window.path_prefix ?? "") + url;
    },
    leave(event) {
      // The browser shows its own message.
      if (this.asks) event.preventDefault();
    },
    back() {
      // Ignores navigation within the page, such as the skip link.
      if (location.pathname + location.search !== this.here) location.reload();
    },
    key(event) {
      if (!event.defaultPrevented && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        this.$emit("palette");
        return;
      }
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (typing(event.target)) {
        if (event.key === "Escape") event.target.blur();
        return;
      }
      const second = this.first === "g" ? this.addresses[event.key] : undefined;
      this.first = event.key === "g" && !second ? "g" : undefined;
      if (second) location.href = (window.path_prefix ?? "") + second;
      else if (event.key === "/") this.focus();
      else if (event.key === "?") this.$emit("help");
      else if (event.key in STEP) document.dispatchEvent(new CustomEvent("kubewright:move", { detail: STEP[event.key] }));
      else return;
      event.preventDefault();
    },
    focus() {
      const field = document.querySelector("[data-search=page] input, input[data-search=page]") ?? document.querySelector("[data-search=all] input, input[data-search=all]");
      field?.focus();
      field?.select();
    },
  },
};
