import { describe, expect, it } from 'vitest';
import { aggregate } from '../aggregate.ts';
import { APPS, SKILLS } from '../extensions.ts';
import { judgedUri, routeReference, routeResource } from '../routing.ts';
import { catalog, names, parse, routes, rules } from '../testdata/catalogs.ts';
import type { Catalog } from '../catalog.ts';

const view = (...catalogs: Catalog[]) => aggregate(catalogs, rules(), []).view;
const target = (served: ReturnType<typeof view>, uri: string): string | undefined => {
  const route = routeResource(served, uri);
  return route && `${route.backend}/${route.name}`;
};

const skillServer = (backend: string, offer: Parameters<typeof catalog>[1] = {}): Catalog => ({
  ...catalog(backend, { ...offer, capabilities: { extensions: { [SKILLS]: {} } } }),
  skills: [],
});

describe('resources and templates of skills', () => {
  const offer = { resources: ['skill://x/SKILL.md', 'file:///x'], templates: ['skill://x/{+path}', 'file:///{name}'] };

  it('get the name of their backend as the first segment, and others do not', () => {
    const served = view(catalog('b', offer), catalog('a', { resources: ['skill://x/SKILL.md'] }));
    expect(routes(served, 'resources')).toEqual([
      'file:///x -> b/file:///x',
      'skill://a/x/SKILL.md -> a/skill://x/SKILL.md',
      'skill://b/x/SKILL.md -> b/skill://x/SKILL.md',
    ]);
    expect(names(served, 'templates')).toEqual(['file:///{name}', 'skill://b/x/{+path}']);
    expect(parse(served.lists.resources.items[1])).toEqual({ uri: 'skill://a/x/SKILL.md', from: 'a' });
    expect(parse(served.lists.templates.items[1])).toEqual({ uriTemplate: 'skill://b/x/{+path}', from: 'b' });
  });

  it('do not clash, not even with a backend that claims the prefix of another', () => {
    const claim = catalog('a', { resources: ['skill://b/x/SKILL.md'], templates: ['skill://{+any}', '{+any}'] });
    const { view: served, warnings } = aggregate([claim, skillServer('b')], rules(), []);
    expect(warnings).toEqual([]);
    expect(target(served, 'skill://b/x/SKILL.md')).toBe('b/skill://x/SKILL.md');
    expect(target(served, 'skill://b/y')).toBe('b/skill://y');
    expect(target(served, 'skill://a/b/x/SKILL.md')).toBe('a/skill://b/x/SKILL.md');
    expect(target(served, 'skill://a/y')).toBe('a/skill://y');
    expect(target(served, 'skill://b/x/../y')).toBeUndefined();
  });

  it('are read and completed under the URI at their backend', () => {
    const served = view(catalog('b', offer));
    expect(target(served, 'skill://b/x/SKILL.md')).toBe('b/skill://x/SKILL.md');
    expect(target(served, 'skill://b/x/a/b.md')).toBe('b/skill://x/a/b.md');
    expect(target(served, 'skill://b/y/a.md')).toBeUndefined();
    expect(target(served, 'file:///y')).toBe('b/file:///{name}');
    const reference = { type: 'ref/resource', key: 'skill://b/x/{+path}', value: { start: 0, end: 0 } } as const;
    expect(routeReference(served, reference)).toMatchObject({ name: 'skill://x/{+path}', renamed: true });
  });

  it('can be read under the URI at the backend when no other backend has it, and are judged by the advertised one', () => {
    const served = view(catalog('b', offer));
    const route = routeResource(served, 'skill://x/SKILL.md');
    expect(route && judgedUri(route, 'skill://x/SKILL.md')).toBe('skill://b/x/SKILL.md');
    const both = view(catalog('b', offer), catalog('c', offer));
    expect(routeResource(both, 'skill://x/SKILL.md')).toBeUndefined();
    const named = view(catalog('b', { resources: ['skill://c/x'] }), catalog('c', {}));
    expect(routeResource(named, 'skill://c/x')).toBeUndefined();
    expect(names(served, 'resources')).not.toContain('skill://x/SKILL.md');
  });
});

const tool = (name: string, uri: string) => ({
  name,
  _meta: { ui: { resourceUri: uri, visibility: ['model'] }, 'ui/resourceUri': uri, kept: 'ui://kept' },
});
const app = (backend: string, ...uris: string[]): Catalog =>
  catalog(backend, {
    tools: uris.map((uri, index) => tool(`t${String(index)}`, uri)),
    resources: uris,
    capabilities: { extensions: { [APPS]: {} } },
  });
const appOf = (served: ReturnType<typeof view>, name: string): unknown =>
  (parse(served.lists.tools.items.find(({ key }) => key === name))['_meta'] as { ui: object }).ui;

describe('apps', () => {
  it('keep their URIs while no two backends have the same', () => {
    const served = view(app('a', 'ui://one'), app('b', 'ui://two'));
    expect(names(served, 'resources')).toEqual(['ui://one', 'ui://two']);
    expect(appOf(served, 'b_t0')).toEqual({ resourceUri: 'ui://two', visibility: ['model'] });
    expect(served.capabilities.extensions).toEqual({ [APPS]: {} });
  });

  it('of a backend whose URI an earlier backend has get its name, in the list and in the tools', () => {
    const { view: served, warnings } = aggregate([app('b', 'ui://one', 'ui://two'), app('a', 'ui://one')], rules(), []);
    expect(warnings).toEqual([]);
    expect(routes(served, 'resources')).toEqual([
      'ui://b/one -> b/ui://one',
      'ui://b/two -> b/ui://two',
      'ui://one -> a/ui://one',
    ]);
    expect(parse(served.lists.tools.items.find(({ key }) => key === 'b_t0'))['_meta']).toEqual({
      ui: { resourceUri: 'ui://b/one', visibility: ['model'] },
      'ui/resourceUri': 'ui://b/one',
      kept: 'ui://kept',
    });
    expect(appOf(served, 'a_t0')).toEqual({ resourceUri: 'ui://one', visibility: ['model'] });
  });

  it('of a backend cannot take the place of those of another', () => {
    const served = view(app('a', 'ui://one', 'ui://b/one'), app('b', 'ui://one'));
    expect(routes(served, 'resources')).toEqual([
      'ui://a/b/one -> a/ui://b/one',
      'ui://a/one -> a/ui://one',
      'ui://one -> b/ui://one',
    ]);
  });

  it('can be read when only a tool names them', () => {
    const hidden = catalog('b', { tools: [tool('t', 'ui://one'), tool('u', 'file:///secret')] });
    const served = view(app('a', 'ui://one'), hidden);
    expect(appOf(served, 'b_t')).toEqual({ resourceUri: 'ui://b/one', visibility: ['model'] });
    expect(target(served, 'ui://b/one')).toBe('b/ui://one');
    expect(names(served, 'resources')).toEqual(['ui://one']);
    expect(target(served, 'file:///secret')).toBeUndefined();
  });
});
