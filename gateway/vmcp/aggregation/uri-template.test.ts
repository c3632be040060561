import { describe, expect, it } from 'vitest';
import { aggregate } from './aggregate.ts';
import { listedUri, matchTemplate, readReference, routeReference, routeResource } from './routing.ts';
import { catalog, rules } from './testdata/catalogs.ts';
import { matchesTemplate, parseUriTemplate } from './uri-template.ts';

const matches = (template: string, uri: string): boolean => {
  const parsed = parseUriTemplate(template);
  if (!parsed) throw new Error(`not a template: ${template}`);
  return matchesTemplate(parsed, uri);
};

describe('matchesTemplate', () => {
  it.each([
    // level 1
    ['file:///{name}', 'file:///a.txt', true],
    ['file:///{name}', 'file:///a%2Fb', true],
    ['file:///{name}', 'file:///größe', true],
    ['file:///{name}', 'file:///', false],
    ['file:///{name}', 'file:///a/b', false],
    ['file:///{name}', 'file:///a?b', false],
    ['file:///{name}', 'http:///a', false],
    ['x:{id}', 'x:mail@host:1', true],
    ['x:{a}-{b}', 'x:1-2-3', true],
    ['x:{a}-{b}', 'x:12', false],
    ['x:{a}/end', 'x:1/end', true],
    ['x:{a}/end', 'x:1/ending', false],
    ['x:literal', 'x:literal', true],
    ['x:literal', 'x:literal2', false],
    // level 2
    ['file:///{+path}', 'file:///a/b?c#d', true],
    ['file:///{+path}', 'file:///', false],
    ['x:{page}{#section}', 'x:1#top/a', true],
    ['x:{page}{#section}', 'x:1', true],
    // level 3
    ['map:{x,y}', 'map:1,2', true],
    ['map:{x,y}', 'map:1', true],
    ['map:{+x,y}', 'map:1/2,3', true],
    ['x:{a}{.ext}', 'x:readme.md', true],
    ['x:{a}{/b,c}', 'x:1/2/3', true],
    ['x:{a}{/b,c}', 'x:1/2', true],
    ['x:{a}{/b,c}', 'x:1', true],
    ['x:{a}{/b,c}', 'x:1/2/3/4', false],
    ['x:p{;a,b}', 'x:p;a=1;b=2', true],
    ['x:p{;a,b}', 'x:p;a;b=2', true],
    ['x:p{;a,b}', 'x:p;c=2', false],
    ['x:s{?q,n}', 'x:s?q=a&n=2', true],
    ['x:s{?q,n}', 'x:s?n=2', true],
    ['x:s{?q,n}', 'x:s?q=', true],
    ['x:s{?q,n}', 'x:s', true],
    ['x:s{?q,n}', 'x:s&q=a', false],
    ['x:s{?q,n}', 'x:s?z=1', false],
    ['x:s{?q,n}', 'x:s?q=1&z=1', false],
    ['x:s?fixed=1{&q}', 'x:s?fixed=1&q=2', true],
    ['x:s?fixed=1{&q}', 'x:s?fixed=1', true],
    // level 4
    ['x:{a:3}', 'x:abc', true],
    ['x:{a:3}', 'x:abcd', false],
    ['x:{a:3}', 'x:%20%20%20', true],
    ['x:{a:1}{b:1}', 'x:ab', true],
    ['x:{a:1}{b:1}', 'x:abc', false],
    ['x:{a*}', 'x:1,2,3', true],
    ['x:r{/path*}', 'x:r/a/b/c', true],
    ['x:s{?q*}', 'x:s?a=1&b=2', true],
  ])('matches %s with %s: %s', (template, uri, expected) => {
    expect(matches(template, uri)).toBe(expected);
  });

  it.each([
    'x:{',
    'x:}',
    'x:{a}}',
    'x:{{a}}',
    'x:{}',
    'x:{a b}',
    'x:{=a}',
    'x:{|a}',
    'x:{a:0}',
    'x:{a:99999}',
    'x:{a,}',
    'x:{?}',
  ])('%s is not a template', (text) => {
    expect(parseUriTemplate(text)).toBeUndefined();
  });

  it('takes linear time for a template that is built to cause backtracking', () => {
    const template = '{+a}{+b}{+c}{+d}{+e}{+f}{+g}{+h}!';
    const started = performance.now();
    expect(matches(template, 'a'.repeat(2048))).toBe(false);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('listedUri', () => {
  const view = (...resources: string[]) =>
    aggregate([catalog('a', { resources, templates: ['file:///{name}'] })], rules(), []).view;

  it.each([
    ['a space', 'file:///a b', 'file:///a%20b'],
    ['other letters', 'file:///ü', 'file:///%C3%BC'],
    ['no path', 'https://example.com', 'https://example.com/'],
    ['a host in upper case and the usual port', 'https://EXAMPLE.com:443/x', 'https://example.com/x'],
    ['dots', 'note://a/b/../c', 'note://a/c'],
    ['an unusual letter of the host', 'https://münchen.example/', 'https://xn--mnchen-3ya.example/'],
  ])('finds a listed URI with %s by its normal form', (_, listed, asked) => {
    expect(new URL(listed).href).toBe(asked);
    expect(listedUri(view(listed), asked)).toBe(listed);
    expect(listedUri(view(listed), listed)).toBe(listed);
  });

  it('returns the given URI when it is known, or no other one, or several have its normal form', () => {
    expect(listedUri(view('file:///a b', 'file:///a%20b'), 'file:///a%20b')).toBe('file:///a%20b');
    expect(listedUri(view('x:/a/../b', 'x:/./b'), 'x:/b')).toBe('x:/b');
    expect(listedUri(view('file:///{name}'), 'file:///{name}')).toBe('file:///{name}');
    expect(listedUri(view('file:///a b'), 'file:///other')).toBe('file:///other');
    expect(listedUri(view('file:///a b'), 'no uri')).toBe('no uri');
  });
});

describe('routeResource', () => {
  const { view } = aggregate(
    [
      catalog('b', { resources: ['x:r', 'x:lit/{id}'], templates: ['x:{any}', 'x:item/{id}'] }),
      catalog('a', { templates: ['x:item/{other}', 'x:big/{+all}', 'x:{', 'x:t/{id}'] }),
    ],
    rules(),
    [],
  );
  const to = (uri: string) => {
    const route = routeResource(view, uri);
    return route && `${route.backend} ${route.name}`;
  };

  it.each([
    ['an exact URI first', 'x:r', 'b x:r'],
    ['an exact URI that looks like a template', 'x:lit/{id}', 'b x:lit/{id}'],
    ['the text of a template', 'x:t/{id}', 'a x:t/{id}'],
    ['the text of a template that cannot be matched', 'x:{', 'a x:{'],
    ['the first backend of equal templates', 'x:item/1', 'a x:item/{other}'],
    ['a matching template', 'x:other', 'b x:{any}'],
    ['nothing for a URI without a match', 'y:other', undefined],
    ['a URI of 2,048 bytes', `x:big/${'a'.repeat(2042)}`, 'a x:big/{+all}'],
    ['nothing for a URI of 2,049 bytes', `x:big/${'a'.repeat(2043)}`, undefined],
    ['nothing for a URI of 2,049 bytes in fewer characters', `x:big/${'ä'.repeat(1021)}a`, undefined],
  ])('finds %s', (_, uri, expected) => {
    expect(to(uri)).toBe(expected);
  });

  it('finds a long URI that is listed', () => {
    const uri = `x:${'a'.repeat(5000)}`;
    expect(routeResource(aggregate([catalog('a', { resources: [uri] })], rules(), []).view, uri)?.backend).toBe('a');
  });

  it('stays fast with 20,000 hostile templates and still matches templates of other backends', () => {
    const templates = Array.from({ length: 20_000 }, (_, index) => `{+a}{+b}{+c}{+d}{+e}{+f}!${String(index)}{g}`);
    const good = catalog('good', { templates: ['~x:{+all}'] });
    const { view: crowded } = aggregate([catalog('evil', { templates }), good], rules(), []);
    const started = performance.now();
    expect(matchTemplate(crowded, '~x:'.padEnd(2000, 'a'))?.backend).toBe('good');
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('completion references', () => {
  const { view } = aggregate(
    [catalog('a', { prompts: ['p'], resources: ['x:1'], templates: ['x:t/{id}'] })],
    rules(),
    [],
  );
  const route = (ref: string) => {
    const text = Buffer.from(ref);
    const reference = readReference(text, { start: 0, end: text.length });
    return (
      reference && [
        routeReference(view, reference)?.name,
        text.toString('utf8', reference.value.start, reference.value.end),
      ]
    );
  };

  it.each([
    ['{"type":"ref/prompt","name":"a_p"}', ['p', '"a_p"']],
    ['{"name":"a\\u005fp","title":"x","type":"ref/prompt"}', ['p', '"a\\u005fp"']],
    ['{"type":"ref/prompt","name":"p"}', [undefined, '"p"']],
    ['{"type":"ref/resource","uri":"x:t/{id}"}', ['x:t/{id}', '"x:t/{id}"']],
    ['{"type":"ref/resource","uri":"x:1"}', ['x:1', '"x:1"']],
    ['{"type":"ref/resource","uri":"x:t/9"}', ['x:t/{id}', '"x:t/9"']],
    ['{"type":"ref/resource","name":"a_p"}', undefined],
    ['{"type":"ref/tool","name":"a_p"}', undefined],
    ['{"type":7,"name":"a_p"}', undefined],
    ['"ref/prompt"', undefined],
  ])('are read and routed: %s', (ref, expected) => {
    expect(route(ref)).toEqual(expected);
  });

  it('are rejected with a duplicate key, and with another spelling of one', () => {
    expect(() => route('{"type":"ref/prompt","name":"a_p","name":"other"}')).toThrow('occurs twice');
    expect(() => route('{"type":"ref/prompt","name":"a_p","Name":"other"}')).toThrow('another spelling');
  });
});
