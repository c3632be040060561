import type { ListedItem, Policy, Viewer } from '../../policy/policy.ts';
import { shownInstructions } from '../aggregation/instructions.ts';
import { advertisedList } from '../aggregation/pages.ts';
import { skillServerOf } from '../aggregation/resources/skills.ts';
import {
  PAGED_KINDS,
  type AdvertisedItem,
  type AdvertisedList,
  type PagedKind,
  type View,
} from '../aggregation/view.ts';

/** Key of anonymous viewers, which have no identity. */
const ANYONE = {};

/** Returns false for an item that a policy hides from `viewer`. */
export const isListed = (item: ListedItem, viewer: Viewer, policies: readonly Policy[]): boolean =>
  policies.every((policy) => policy.isListed?.(item, viewer) ?? true);

/** Returns a file or directory of a skill as policies see it: a resource that no list has. */
export const skillItem = (name: string, backend: string): ListedItem => ({
  kind: 'resources',
  name,
  backend,
  json: undefined,
});

/** Filtered views that are remembered for other viewers with the same items. */
const MOST_SHARED = 1_000;

/** Cache of the filtered views, by view and viewer. Viewers with the same items share one. */
export class ListedViews {
  #policies: readonly Policy[] | undefined;
  #views = new WeakMap<View, FilteredViews>();

  /** Returns `view` without the items that a policy hides from `viewer`; the same object when no policy hides items. */
  of(view: View, viewer: Viewer, policies: readonly Policy[]): View {
    if (!policies.some((policy) => policy.isListed !== undefined)) return view;
    if (this.#policies !== policies) {
      this.#policies = policies;
      this.#views = new WeakMap();
    }
    let filtered = this.#views.get(view);
    if (!filtered) this.#views.set(view, (filtered = { byViewer: new WeakMap(), shared: new Map() }));
    const { byViewer, shared } = filtered;
    const key = viewer.identity ?? ANYONE;
    let listed = byViewer.get(key);
    if (!listed) byViewer.set(key, (listed = listedView(view, viewer, policies, shared)));
    return listed;
  }
}

/** Filtered views of one view. */
interface FilteredViews {
  readonly byViewer: WeakMap<object, View>;
  /** By the omitted items. A view that no viewer uses any more may be collected. */
  readonly shared: Map<string, WeakRef<View>>;
}

function listedView(view: View, viewer: Viewer, policies: readonly Policy[], shared: FilteredViews['shared']): View {
  const omitted = PAGED_KINDS.map((kind) => omittedOf(view, kind, viewer, policies));
  const key = omitted.map((indexes) => [...indexes].join(' ')).join(',');
  const known = shared.get(key)?.deref();
  if (known) return known;
  const filter = (kind: PagedKind): AdvertisedList => {
    const indexes = omitted[PAGED_KINDS.indexOf(kind)];
    const list = view.lists[kind];
    if (!indexes || indexes.size === 0) return list;
    const items = list.items.filter((_item, index) => !indexes.has(index));
    return advertisedList(kind, items, view.unavailable);
  };
  const lists = {
    tools: filter('tools'),
    resources: filter('resources'),
    templates: filter('templates'),
    prompts: filter('prompts'),
    skills: filter('skills'),
  };
  const listed = { ...view, lists, instructions: instructionsFor(view, lists) };
  if (shared.size >= MOST_SHARED) shared.clear();
  shared.set(key, new WeakRef(listed));
  return listed;
}

/** Returns the instructions of the backends of which `lists` have an item, and of those that list nothing. */
function instructionsFor(view: View, lists: View['lists']): View['instructions'] {
  if (view.instructions.texts.size === 0) return view.instructions;
  const owners = (of: View['lists']) =>
    new Set(PAGED_KINDS.flatMap((kind) => of[kind].items.map((item) => itemOf(view, kind, item).backend)));
  const [all, shown] = [owners(view.lists), owners(lists)];
  return shownInstructions(view.instructions, (backend) => shown.has(backend) || !all.has(backend));
}

/** Returns the indexes of the items that a policy hides from `viewer`. */
function omittedOf(view: View, kind: PagedKind, viewer: Viewer, policies: readonly Policy[]): ReadonlySet<number> {
  return new Set(
    view.lists[kind].items.flatMap((item, index) =>
      isListed(itemOf(view, kind, item), viewer, policies) ? [] : [index],
    ),
  );
}

/** Returns an item of a list as policies see it. */
function itemOf(view: View, kind: PagedKind, { key: name, json }: AdvertisedItem): ListedItem {
  if (kind !== 'skills') return { kind, name, backend: view[kind].get(name)?.backend ?? '', json };
  const backend = skillServerOf(view, name)?.server.backend ?? '';
  return { ...skillItem(name, backend), json: view.resources.get(name)?.json };
}
