import { describe, expect, it } from 'vitest';
import type { Catalog } from '../catalog.ts';
import { aggregate } from '../aggregate.ts';
import { SKILLS } from '../extensions.ts';
import { listPage, PAGE_SIZE } from '../pages.ts';
import { collectWarnings } from '../warnings.ts';
import { routeResource } from '../routing.ts';
import { advertisedReply, advertisedSkills, serveSkills, skillServerOf } from './skills.ts';
import { prefixing, SKILL_SCHEME } from './uri-names.ts';
import { catalog, rules } from '../testdata/catalogs.ts';

const entry = (uri: string, ...files: string[]) => ({
  uri,
  frontmatter: { name: 'x', description: 'skill://kept', uri: 'skill://kept' },
  resources: files.map((file) => ({ uri: file, size: 1.0, digest: 'sha256:0' })),
});

const skillsOf = (backend: string, ...entries: { readonly uri: string }[]) =>
  advertisedSkills(
    backend,
    entries.map((each) => ({ key: each.uri, json: Buffer.from(JSON.stringify(each)) })),
  );

const serving = (backend: string, settings: object, ...uris: string[]): Catalog => ({
  ...catalog(backend, { capabilities: { extensions: { [SKILLS]: settings } } }),
  skills: skillsOf(backend, ...uris.map((uri) => entry(uri))).items,
});

const AT_ACME = prefixing('acme', SKILL_SCHEME);
const replied = (result: object) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
const parsed = (text: Buffer) => (JSON.parse(text.toString()) as { result: Record<string, unknown> }).result;

describe('the skills of a backend', () => {
  it('get its name as the first segment, in the entry and in its files, and nothing else changes', () => {
    const own = entry('skill://org/x/SKILL.md', 'skill://org/x/SKILL.md', 'skill://org/x/a/b.md');
    const { items } = skillsOf('acme', own);
    expect(items.map(({ key }) => key)).toEqual(['skill://acme/org/x/SKILL.md']);
    expect(items[0]?.json.toString()).toBe(JSON.stringify(own).replaceAll('skill://org', 'skill://acme/org'));
  });

  it('may be dynamic', () => {
    const own = { ...entry('skill://x/SKILL.md'), resources: 'dynamic' };
    const [item] = skillsOf('acme', own).items;
    expect(JSON.parse(item?.json.toString() ?? '')).toEqual({ ...own, uri: 'skill://acme/x/SKILL.md' });
  });

  it.each(['skill://x/OTHER.md', 'skill://x/../SKILL.md', 'skill://x//SKILL.md', 'skill:///SKILL.md'])(
    'are omitted with a warning when nobody could read them: %s',
    (uri) => {
      const { items, warnings } = skillsOf('acme', entry(uri), entry('skill://y/SKILL.md'));
      expect(items.map(({ key }) => key)).toEqual(['skill://acme/y/SKILL.md']);
      expect(warnings).toMatchObject([{ reason: 'MalformedItem', backend: 'acme' }]);
    },
  );
});

describe('an advertised URI', () => {
  const view = {
    skillServers: serveSkills([serving('acme', { directoryRead: true }), catalog('plain', {})], collectWarnings())
      .servers,
  };

  it.each([
    ['a file', 'skill://acme/org/x/SKILL.md', 'skill://org/x/SKILL.md'],
    ['a directory at the root', 'skill://acme/x', 'skill://x'],
    ['a directory that ends in a slash', 'skill://acme/x/', 'skill://x/'],
    ['an encoded name', 'skill://acme/x/a%20b.md', 'skill://x/a%20b.md'],
  ])('leads back to %s', (_, uri, own) => {
    expect(skillServerOf(view, uri)).toEqual({ server: { backend: 'acme', directoryRead: true }, uri: own });
  });

  it.each([
    'skill://acme',
    'skill://acme/',
    'skill://other/x/SKILL.md',
    'skill://plain/x/SKILL.md',
    'skill://constructor/x/SKILL.md',
    'docs://acme/x/SKILL.md',
    'skill://acme/x/../y/SKILL.md',
    'skill://acme/x/%2e%2e/y/SKILL.md',
    'skill://acme/x//SKILL.md',
    'skill://acme//x/SKILL.md',
    'skill://acme/x%2FSKILL.md',
    'skill://acme/x/%53KILL.md',
    'skill://acme/x/SKILL.md?a',
    'skill://acme/x/SKILL.md#a',
  ])('leads nowhere: %s', (uri) => {
    expect(skillServerOf(view, uri)).toBeUndefined();
  });
});

describe('a reply', () => {
  it('of skills/get has advertised URIs', () => {
    const message = replied({ skill: entry('skill://x/SKILL.md', 'skill://x/SKILL.md'), ttlMs: 0 });
    expect(advertisedReply(message, 'skill', AT_ACME).toString()).toBe(
      message.toString().replaceAll('skill://x', 'skill://acme/x'),
    );
  });

  it('of resources/read keeps the bytes of the contents', () => {
    const message = replied({ contents: [{ uri: 'skill://x/SKILL.md', text: 'see skill://x/a.md' }] });
    expect(parsed(advertisedReply(message, 'contents', AT_ACME))['contents']).toEqual([
      { uri: 'skill://acme/x/SKILL.md', text: 'see skill://x/a.md' },
    ]);
  });

  it('of a directory has only what policies show', () => {
    const resources = ['a.md', 'b.md'].map((name) => ({ uri: `skill://x/${name}`, name }));
    const message = replied({ resources: [...resources, { name: 'none' }], nextCursor: 'c' });
    const result = parsed(advertisedReply(message, 'resources', AT_ACME, (uri) => uri !== 'skill://acme/x/a.md'));
    expect(result).toEqual({ resources: [{ uri: 'skill://acme/x/b.md', name: 'b.md' }], nextCursor: 'c' });
  });

  it.each(['skill', 'contents', 'resources'] as const)('with an error stays as it is: %s', (member) => {
    const message = Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}');
    expect(advertisedReply(message, member, AT_ACME).toString()).toBe(message.toString());
  });

  it('with an error names the URI of the request', () => {
    const message = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"uri":"skill://x"}}}';
    expect(advertisedReply(Buffer.from(message), 'contents', AT_ACME).toString()).toBe(
      message.replace('skill://x', 'skill://acme/x'),
    );
  });
});

describe('a skill of another scheme than skill', () => {
  const docs = (backend: string) => serving(backend, {}, 'docs://org/x/SKILL.md');
  const { view, warnings } = aggregate([docs('b'), docs('a')], rules({}), []);

  it('keeps its URI, and the first backend that lists it serves it', () => {
    expect(view.lists.skills.items.map(({ key }) => key)).toEqual(['docs://org/x/SKILL.md']);
    expect(routeResource(view, 'docs://org/x/a/b.md')).toMatchObject({ backend: 'a', name: 'docs://org/x/a/b.md' });
    expect(routeResource(view, 'docs://org/y/SKILL.md')).toBeUndefined();
    expect(warnings).toMatchObject([{ reason: 'ResourceClash', backend: 'b' }]);
  });

  it('does not take the URIs of a template', () => {
    const other = catalog('z', { templates: ['docs://org/{+path}'] });
    const served = aggregate([docs('a'), other], rules({}), []).view;
    expect(routeResource(served, 'docs://org/x/b.md')?.backend).toBe('z');
  });
});

describe('the list of all skills', () => {
  const view = (...catalogs: Catalog[]) => aggregate(catalogs, rules({}), []).view;

  it('is sorted, and the same in every order of the backends', () => {
    const a = serving('a', {}, 'skill://x/SKILL.md');
    const b = serving('b', {}, 'skill://z/SKILL.md', 'skill://x/SKILL.md');
    const keys = ['skill://a/x/SKILL.md', 'skill://b/x/SKILL.md', 'skill://b/z/SKILL.md'];
    expect(view(a, b).lists.skills.items.map(({ key }) => key)).toEqual(keys);
    expect(view(b, a).lists.skills.digest).toBe(view(a, b).lists.skills.digest);
  });

  it('has pages that contain each skill once', () => {
    const uris = Array.from({ length: PAGE_SIZE + 1 }, (_, index) => `skill://x${String(index)}/SKILL.md`);
    const served = view(serving('a', {}, ...uris));
    const first = JSON.parse((listPage(served, 'skills') as Buffer).toString()) as {
      skills: unknown[];
      nextCursor: string;
    };
    const last = JSON.parse((listPage(served, 'skills', first.nextCursor) as Buffer).toString()) as {
      skills: unknown[];
    };
    expect([first.skills.length, last.skills.length, 'nextCursor' in last]).toEqual([PAGE_SIZE, 1, false]);
    expect(listPage(served, 'resources', first.nextCursor)).toHaveProperty('reason', 'BadCursor');
  });

  it('may be kept as long as the strictest backend allows, also one without skills', () => {
    const hinted = (backend: string, ttlMs: number, cacheScope: 'public' | 'private', ...uris: string[]) => ({
      ...serving(backend, {}, ...uris),
      hints: { skills: { ttlMs, cacheScope } },
    });
    const a = hinted('a', 9_000, 'public', 'skill://x/SKILL.md');
    expect(view(a, catalog('plain', { resources: ['x:1'] })).hints.skills).toEqual({
      ttlMs: 9_000,
      cacheScope: 'public',
    });
    expect(view(a, hinted('b', 5_000, 'private')).hints.skills).toEqual({ ttlMs: 5_000, cacheScope: 'private' });
    expect(view(a, serving('b', {})).hints.skills).toEqual({ ttlMs: 0, cacheScope: 'private' }); // its list failed
    expect(aggregate([a], rules({}), ['gone']).view.hints.skills.ttlMs).toBe(0);
  });

  it.each([
    ['no backend', [catalog('a', {})], {}],
    ['a backend', [serving('a', {}), catalog('b', {})], { [SKILLS]: {} }],
    [
      'one that reads directories',
      [serving('a', {}), serving('b', { directoryRead: true })],
      { [SKILLS]: { directoryRead: true } },
    ],
    ['one with a setting of another type', [serving('a', { directoryRead: 1 })], { [SKILLS]: {} }],
  ])('is offered as %s offers it', (_, catalogs, extensions) => {
    expect(view(...catalogs).capabilities.extensions).toEqual(extensions);
  });
});
