import type { ListedItem, Policy, Viewer } from '../../policy/policy.ts';
import { advertisedList } from '../aggregation/pages.ts';
import { skillServerOf } from '../aggregation/resources/skills.ts';
import type { AdvertisedItem, AdvertisedList, ListKind, PagedKind, Route, View } from '../aggregation/view.ts';

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

/** Cache of the filtered views, by view and viewer. */
export class ListedViews {
  #policies: readonly Policy[] | undefined;
  #views = new WeakMap<View, WeakMap<object, View>>();

  /** Returns `view` without the items that a policy hides from `viewer`; the same object when no policy hides items. */
  of(view: View, viewer: Viewer, policies: readonly Policy[]): View {
    if (!policies.some((policy) => policy.isListed !== undefined)) return view;
    if (this.#policies !== policies) {
      this.#policies = policies;
      this.#views = new WeakMap();
    }
    let byViewer = this.#views.get(view);
    if (!byViewer) this.#views.set(view, (byViewer = new WeakMap()));
    const key = viewer.identity ?? ANYONE;
    let listed = byViewer.get(key);
    if (!listed) byViewer.set(key, (listed = listedView(view, viewer, policies)));
    return listed;
  }
}

function listedView(view: View, viewer: Viewer, policies: readonly Policy[]): View {
  const kept = (kind: PagedKind, itemOf: (item: AdvertisedItem) => ListedItem): AdvertisedList => {
    const list = view.lists[kind];
    const items = list.items.filter((item) => isListed(itemOf(item), viewer, policies));
    return items.length === list.items.length ? list : advertisedList(kind, items, view.unavailable);
  };
  const filter = (kind: ListKind, routes: ReadonlyMap<string, Route>): AdvertisedList =>
    kept(kind, ({ key: name, json }) => ({ kind, name, backend: routes.get(name)?.backend ?? '', json }));
  const lists = {
    tools: filter('tools', view.tools),
    resources: filter('resources', view.resources),
    templates: filter('templates', view.templates),
    prompts: filter('prompts', view.prompts),
    skills: kept('skills', ({ key }) => ({
      ...skillItem(key, skillServerOf(view, key)?.server.backend ?? ''),
      json: view.resources.get(key)?.json,
    })),
  };
  return { ...view, lists };
}
