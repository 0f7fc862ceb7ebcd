// A list of links, as one component: an element of NiceGUI for each link costs the server and the browser much more.
export default {
  template: `
    <component :is="tag">
      <template v-for="[text, address, classes, icon, current] in entries">
        <a v-if="address" :href="prefix + address" :class="classes" :aria-current="current ? 'page' : undefined">
          <q-icon v-if="icon" :name="icon" aria-hidden="true" /><span>{{ text }}</span>
        </a>
        <div v-else :class="classes">{{ text }}</div>
      </template>
    </component>`,
  props: { tag: String, prefix: String, entries: Array },
};
