// Copies text that the server sends on request, and reports the result.
const WORDS = { ready: "Copy", done: "Copied", failed: "Not copied" };
const ICONS = { ready: "content_copy", done: "check", failed: "block" };
const SHOWN_MILLISECONDS = 4000;

export default {
  template: `
    <span class="kw-copy">
      <q-btn flat dense color="primary" :icon="icon" aria-label="Copy" :title="why" @click="ask">
        <span class="kw-copy-words" aria-hidden="true">
          <span v-for="(word, name) in words" :class="{ 'kw-copy-shown': name === state }">{{ word }}</span>
        </span>
      </q-btn>
      <span role="status" aria-live="polite" class="kw-only-heard">{{ announcement }}</span>
    </span>`,
  data: () => ({ state: "ready", why: "", announcement: "", words: WORDS }),
  computed: {
    icon() {
      return ICONS[this.state];
    },
  },
  unmounted() {
    clearTimeout(this.timer);
  },
  methods: {
    ask() {
      this.announcement = ""; // so that screen readers announce the same text again
      this.$emit("ask");
    },
    async write(text) {
      try {
        if (!navigator.clipboard) throw new Error("the browser allows it with HTTPS or on localhost only");
        await navigator.clipboard.writeText(text);
        this.report("done", "");
      } catch (error) {
        this.report("failed", error.message || "the browser denied access to the clipboard");
      }
    },
    report(state, why) {
      this.state = state;
      this.why = why;
      this.announcement = why ? `${WORDS[state]}: ${why}` : WORDS[state];
      clearTimeout(this.timer);
      this.timer = setTimeout(() => (this.state = "ready"), SHOWN_MILLISECONDS);
    },
  },
};
