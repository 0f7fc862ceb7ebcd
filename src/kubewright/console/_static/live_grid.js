// The list of one kind: an AG Grid that receives only changes. Content of the cluster becomes text nodes, never HTML.
import * as AgGrid from "nicegui-aggrid";

AgGrid.ModuleRegistry.registerModules([AgGrid.AllCommunityModule]);

const theme = AgGrid.themeQuartz.withParams({
  accentColor: "var(--kw-accent)",
  browserColorScheme: "inherit",
  backgroundColor: "var(--kw-surface)",
  foregroundColor: "var(--kw-text)",
  textColor: "var(--kw-text)",
  headerTextColor: "var(--kw-muted)",
  headerBackgroundColor: "var(--kw-raised)",
  headerFontWeight: 600,
  headerFontSize: 12,
  borderColor: "var(--kw-line)",
  rowBorder: { color: "var(--kw-line)" },
  columnBorder: false,
  rowHoverColor: "var(--kw-hover)",
  selectedRowBackgroundColor: "var(--kw-selected)",
  wrapperBorderRadius: 6,
  fontFamily: "inherit",
  fontSize: 13,
  cellHorizontalPadding: 12,
  spacing: 6,
});

/**
 * AG Grid adds its style sheets with the first grid of a document and removes them with the last one. Each time, the
 * browser compiles them and restyles the page. This grid is never shown, and keeps them. The shell imports this file
 * when a page is idle, so that they exist before the first list.
 */
AgGrid.createGrid(document.createElement("div"), { theme, themeStyleContainer: document.head, columnDefs: [], rowData: [] });

// A sibling combinator next to `*` or `div`, `:has()` of any element, and a class that AG Grid toggles above all rows.
const COSTLY = /(\*|\bdiv)\s*[+~]|[+~]\s*\*|^:has\(|-content-no-gap > div/;

/**
 * Removes rules of NiceGUI, Quasar and AG Grid with which a browser restyles all rows whenever one is added or removed:
 * 1,400 elements in each frame of a scrolling list. console.css contains those that pages need, without their cost.
 */
function removeCostlyRules(sheet) {
  for (let at = sheet.cssRules.length - 1; at >= 0; at--) {
    const rule = sheet.cssRules[at];
    if (rule.styleSheet) removeCostlyRules(rule.styleSheet);  // @import
    else if (rule.selectorText === undefined && rule.cssRules) removeCostlyRules(rule);  // @layer
    else if (COSTLY.test(rule.selectorText ?? "")) sheet.deleteRule(at);
  }
}

const searched = new WeakSet();

function removeAllCostlyRules() {
  for (const sheet of document.styleSheets) {
    if (searched.has(sheet)) continue;
    searched.add(sheet);
    removeCostlyRules(sheet);
  }
}

removeAllCostlyRules();

const NARROW = window.matchMedia("(max-width: 700px)");
const MOST_SELECTED = 1000;
const KEPT_WHEN_NARROW = ["name", "state", "age"];

function age(moment, now) {
  const seconds = Math.max(0, Math.floor((now - moment) / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return hours % 24 ? `${days}d${hours % 24}h` : `${days}d`;
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return days % 365 && years < 8 ? `${years}y${days % 365}d` : `${years}y`;
}

function compare(one, other) {
  if (one === other) return 0;
  if (one === null || one === undefined) return -1;
  if (other === null || other === undefined) return 1;
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

export default {
  template: `
    <div class="kw-grid">
      <div class="kw-grid-body" ref="body">
        <div class="kw-grid-none" v-if="loaded && total && !shown">Nothing matches the filter.</div>
      </div>
      <div class="kw-grid-foot" role="status" data-testid="summary">{{ summary }}</div>
    </div>`,
  props: { columns: Array, fields: Array, states: Object, path: String, prefix: String, label: String, sort: String, filter: String, wide: Boolean, initial: String },
  data: () => ({ loaded: false, total: 0, shown: 0, selected: 0 }),
  computed: {
    summary() {
      if (!this.loaded) return "Loading …";
      const all = `${this.total.toLocaleString("en")} ${this.total === 1 ? "object" : "objects"}`;
      const parts = [this.shown === this.total ? all : `${this.shown.toLocaleString("en")} of ${all}`];
      if (this.selected) parts.push(`${this.selected.toLocaleString("en")} selected`);
      return parts.join(" · ");
    },
  },
  mounted() {
    this.text = this.filter || "";
    const { put = [], last = false } = this.initial ? JSON.parse(this.initial) : {};
    this.loaded = last;
    const host = document.createElement("div");
    host.style.height = "100%";
    this.$refs.body.append(host);
    this.api = AgGrid.createGrid(host, {
      theme,
      columnDefs: this.columns.map(this.definition),
      rowData: this.rows(put),
      getRowId: (params) => params.data.id,
      defaultColDef: { sortable: true, resizable: true, suppressHeaderMenuButton: true, enableCellChangeFlash: true, minWidth: 64, comparator: compare },
      rowSelection: { mode: "multiRow", checkboxes: !NARROW.matches, headerCheckbox: !NARROW.matches, selectAll: "filtered", enableClickSelection: true },
      selectionColumnDef: { width: 40, minWidth: 40, resizable: false, sortable: false, suppressHeaderMenuButton: true },
      rowHeight: NARROW.matches ? 52 : 34,
      headerHeight: 34,
      animateRows: false,
      ensureDomOrder: true,
      enableCellTextSelection: true,
      enableBrowserTooltips: true,
      suppressFieldDotNotation: true,
      suppressDragLeaveHidesColumns: true,
      suppressNoRowsOverlay: true,
      cellFlashDuration: 700,
      cellFadeDuration: 500,
      quickFilterText: this.text,
      cacheQuickFilter: true,
      onGridReady: (event) => event.api.setGridAriaProperty("label", this.label),
      onModelUpdated: this.count,
      onSelectionChanged: this.selecting,
      onSortChanged: this.sorted,
      onCellKeyDown: (event) => {
        if (event.event.key === "Enter" && event.data) this.open(event.data, event.event);
      },
      onRowDoubleClicked: (event) => this.open(event.data, event.event),
    });
    removeAllCostlyRules();  // the one of this grid
    this.count();
    NARROW.addEventListener("change", this.widths);
    document.addEventListener("kubewright:move", this.moved);
    this.clock = setInterval(this.tick, 1000);
    this.$emit("mounted");
  },
  unmounted() {
    clearInterval(this.clock);
    NARROW.removeEventListener("change", this.widths);
    document.removeEventListener("kubewright:move", this.moved);
    this.api?.destroy();
  },
  methods: {
    definition(column) {
      const [direction, sorted] = this.sort?.startsWith("-") ? ["desc", this.sort.slice(1)] : ["asc", this.sort];
      const made = {
        colId: column.id,
        field: column.field,
        headerName: column.name,
        headerTooltip: column.description || undefined,
        sort: sorted === column.id ? direction : undefined,
        flex: column.flex ?? undefined,
        initialWidth: column.flex ? undefined : NARROW.matches ? column.narrow : column.width,
        minWidth: column.flex ? (NARROW.matches ? column.narrow : column.width) : undefined,
        hide: !this.isShown(column),
        tooltipValueGetter: (params) => (params.value === null || params.value === undefined ? undefined : String(params.value)),
      };
      if (column.type === "name") {
        made.cellRenderer = this.nameCell;
      } else if (column.type === "state") {
        made.cellRenderer = this.stateCell;
        made.tooltipValueGetter = (params) => params.data.why || undefined;
        made.comparator = (one, other) => this.states[one].rank - this.states[other].rank;
        made.getQuickFilterText = (params) => `${params.value} ${params.data.why || ""}`;
      } else if (column.type === "date") {
        made.valueGetter = (params) => (params.data[column.field] ? Date.parse(params.data[column.field]) : null);
        made.valueFormatter = (params) => (params.value ? age(params.value, Date.now()) : "");
        made.tooltipValueGetter = (params) => params.data[column.field] || undefined;
        made.comparator = (one, other) => compare(other, one);  // newest first: ascending age
        made.getQuickFilterText = () => "";
        made.enableCellChangeFlash = false;
      } else if (column.type === "number") {
        made.type = "rightAligned";
      } else {
        made.valueFormatter = (params) => (params.value === null || params.value === undefined ? "" : String(params.value));
      }
      return made;
    },
    nameCell(params) {
      const cell = document.createElement("div");
      cell.className = "kw-cell-name";
      const link = document.createElement("a");
      link.href = this.address(params.data);
      link.textContent = params.value;
      link.tabIndex = -1;  // the cell has the focus; Enter opens the link
      cell.append(link);
      if (NARROW.matches && params.data.namespace) {
        const where = document.createElement("small");
        where.textContent = params.data.namespace;
        cell.append(where);
      }
      return cell;
    },
    stateCell(params) {
      const cell = document.createElement("span");
      cell.className = `kw-state kw-${params.value}`;
      const icon = document.createElement("i");
      icon.className = "material-icons notranslate";
      icon.setAttribute("aria-hidden", "true");
      icon.textContent = this.states[params.value].icon;
      cell.append(icon, params.value);
      return cell;
    },
    address(row) {
      const place = [row.namespace || "-", row.name].map(encodeURIComponent).join("/");
      return `${this.prefix}/objects/${this.path}/${place}`;
    },
    open(row, event) {
      if (event.ctrlKey || event.metaKey) window.open(this.address(row), "_blank", "noopener");
      else window.open(this.address(row), "_self");
    },
    rows(packed) {
      return packed.map((values) => Object.fromEntries(this.fields.map((field, at) => [field, values[at]])));
    },
    /** Adds, replaces and removes rows. `last`: the list is complete. */
    change(json) {
      const { put, gone, last } = JSON.parse(json);
      const add = [];
      const update = [];
      for (const row of this.rows(put)) (this.api.getRowNode(row.id) ? update : add).push(row);
      this.api.applyTransaction({ add, update, remove: gone.filter((id) => this.api.getRowNode(id)).map((id) => ({ id })) });
      if (last) this.loaded = true;
      this.count();
    },
    search(text) {
      this.text = text;
      this.api.setGridOption("quickFilterText", text);
    },
    widen(wide) {
      this.isWide = wide;
      this.widths();
    },
    isShown(column) {
      return NARROW.matches ? KEPT_WHEN_NARROW.includes(column.id) : (this.isWide ?? this.wide) || !column.wide;
    },
    widths() {
      this.api.setColumnsVisible(this.columns.filter(this.isShown).map((column) => column.id), true);
      this.api.setColumnsVisible(this.columns.filter((column) => !this.isShown(column)).map((column) => column.id), false);
      this.api.setGridOption("rowHeight", NARROW.matches ? 52 : 34);
      this.api.resetRowHeights();
      this.api.refreshCells({ columns: ["name"], force: true, suppressFlash: true });
    },
    count() {
      if (!this.api) return;
      let total = 0;
      this.api.forEachNode(() => total++);
      this.total = total;
      this.shown = this.api.getDisplayedRowCount();
      this.selecting();
    },
    tick() {
      const dates = this.columns.filter((column) => column.type === "date").map((column) => column.id);
      this.api.refreshCells({ columns: dates, force: true, suppressFlash: true });
    },
    /** Reports the selection, also when selected rows disappear. Rows that a filter hides are not part of it. */
    selecting() {
      const ids = this.api.getSelectedNodes().filter((node) => node.displayed).map((node) => node.id);
      this.selected = ids.length;
      const key = JSON.stringify(ids);
      if (key === this.reported) return;
      this.reported = key;
      this.$emit("selected", { ids: ids.slice(0, MOST_SELECTED + 1) });
    },
    sorted() {
      const [first] = this.api.getColumnState().filter((column) => column.sort).sort((one, other) => one.sortIndex - other.sortIndex);
      this.$emit("sorted", { sort: first ? (first.sort === "desc" ? "-" : "") + first.colId : "" });
    },
    moved(event) {
      const focused = this.api.getFocusedCell();
      const last = this.api.getDisplayedRowCount() - 1;
      if (last < 0) return;
      const row = focused ? Math.min(last, Math.max(0, focused.rowIndex + event.detail)) : 0;
      this.api.ensureIndexVisible(row);
      this.api.setFocusedCell(row, focused?.column ?? "name");
    },
  },
};
