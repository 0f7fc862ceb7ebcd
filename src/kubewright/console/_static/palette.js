// The palette (Ctrl+K): pages and kinds are filtered here, objects by the server. Content of the cluster is shown as text.
const DEBOUNCE = 150;
const SHOWN = 40;

function rank(text, words) {
  const name = text.toLowerCase();
  if (!words.every((word) => name.includes(word))) return undefined;
  return words.some((word) => name === word) ? 0 : words.some((word) => name.startsWith(word)) ? 1 : 2;
}

export default {
  template: `
    <dialog ref="dialog" class="kw-palette" aria-label="Search and go to" data-testid="palette" @click.self="close">
      <div class="kw-palette-body">
        <input ref="field" class="kw-palette-field" role="combobox" autocomplete="off" spellcheck="false" maxlength="200"
          aria-label="Search objects, kinds and pages" aria-controls="kw-palette-list" aria-autocomplete="list"
          :aria-expanded="String(items.length > 0)" :aria-activedescendant="items.length ? 'kw-palette-' + selected : undefined"
          placeholder="Search objects, kinds and pages" v-model="text" @input="typed"
          @keydown.down.prevent="move(1)" @keydown.up.prevent="move(-1)" @keydown.enter.prevent="go(items[selected], $event)">
        <ul id="kw-palette-list" class="kw-palette-list" role="listbox" aria-label="Results" v-show="items.length">
          <li v-for="(one, at) in items" :key="one.url" :id="'kw-palette-' + at" role="option" :aria-selected="String(at === selected)"
            class="kw-palette-item" @mousemove="selected = at" @click="go(one, $event)">
            <span :class="one.state ? 'kw-state kw-' + one.state : 'kw-muted'"><i class="material-icons notranslate" aria-hidden="true">{{ one.icon }}</i></span>
            <span class="kw-palette-title">{{ one.title }}</span>
            <span class="kw-muted kw-palette-detail">{{ one.detail }}</span>
          </li>
        </ul>
        <div class="kw-muted kw-palette-status" role="status" data-testid="palette-status">{{ status }}</div>
        <div class="kw-palette-keys"><span v-for="(meaning, key) in keys"><kbd>{{ key }}</kbd> {{ meaning }}</span></div>
      </div>
    </dialog>`,
  props: { fixed: Array, keys: Object, note: String },
  data: () => ({ text: "", selected: 0, objects: [], searching: false }),
  computed: {
    words() {
      return this.text.toLowerCase().split(/\s+/).filter(Boolean);
    },
    items() {
      const fixed = this.fixed
        .map((one) => ({ ...one, rank: rank(`${one.title} ${one.words ?? ""}`.trim(), this.words) }))
        .filter((one) => one.rank !== undefined);
      const found = this.words.length ? this.objects : [];
      return [...fixed, ...found].sort((one, other) => one.rank - other.rank).slice(0, SHOWN);
    },
    status() {
      if (this.searching) return "Searching…";
      if (!this.words.length) return "Type a part of a name. Enter opens it; Ctrl+Enter: in a new tab.";
      const count = this.items.length;
      const counted = count ? `${count === SHOWN ? "The first " : ""}${count} ${count === 1 ? "match" : "matches"}.` : "No matches.";
      return `${counted} ${this.note}`.trim();
    },
  },
  mounted() {
    this.number = 0;
    this.open();
  },
  unmounted() {
    clearTimeout(this.timer);
  },
  methods: {
    open() {
      if (!this.$refs.dialog.open) this.$refs.dialog.showModal();
      this.$refs.field.focus();
      this.$refs.field.select();
    },
    close() {
      this.$refs.dialog.close();
    },
    typed() {
      this.selected = 0;
      this.number += 1;  // results of earlier searches are dropped
      this.objects = [];
      this.searching = this.words.length > 0;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.$emit("search", { number: this.number, text: this.text }), DEBOUNCE);
    },
    /** Adds objects that the server found. `done`: the search is complete. */
    show(number, json, done) {
      if (number !== this.number) return;
      this.objects.push(...JSON.parse(json));
      if (done) this.searching = false;
    },
    async move(step) {
      const count = this.items.length;
      if (count) this.selected = (this.selected + step + count) % count;
      await this.$nextTick();
      document.getElementById(`kw-palette-${this.selected}`)?.scrollIntoView({ block: "nearest" });
    },
    go(item, event) {
      if (!item) return;
      const url = (window.path_prefix ?? "") + item.url;
      if (event.ctrlKey || event.metaKey) {
        window.open(url, "_blank", "noopener");
        return;
      }
      this.close();
      window.open(url, "_self");
    },
  },
};
