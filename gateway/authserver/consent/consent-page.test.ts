import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { contrast } from '../../../e2e/harness/browser/contrast.ts';
import { consentPage, describeScopes, type ConsentQuestion } from './consent-page.ts';
import { ERROR_PAGES, errorPage, type ErrorPageName, type UnusableDocument } from './error-page.ts';
import { PALETTE, type Page } from '../../http/page/page.ts';
import { QUESTIONS } from './testdata/questions.ts';

const FACTS = { server: 'auth.tools.example', requestId: 'req-1', pageUrl: 'https://tools.example/' };
const pages: readonly (readonly [string, Page])[] = [
  ...Object.entries(QUESTIONS).map(([name, question]) => [name, consentPage(question)] as const),
  ...(Object.keys(ERROR_PAGES) as ErrorPageName[]).map((name) => [name, errorPage(name, FACTS)] as const),
];

const hasForm = (body: string): boolean => body.includes('<form');

const text = (page: Page): string =>
  page.body
    .replace(/<style>.*?<\/style>/su, '')
    .replace(/<[^>]*>/gu, ' ')
    .replace(/\s+/gu, ' ');

describe.each(pages)('the page %s', (_, { headers, body }) => {
  it('allows no script, subresource, framing or caching, and links to nothing else (rows 5, 6, 64)', () => {
    const policy = headers['Content-Security-Policy'] ?? '';
    const style = /<style>(.*)<\/style>/su.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^;']+'; frame-ancestors 'none'; base-uri 'none'/u);
    expect(policy).toContain(`'sha256-${hash}'`);
    expect(headers).toMatchObject({
      'Content-Type': 'text/html; charset=utf-8',
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cache-Control': 'no-store',
    });
    expect(body).not.toMatch(/<(?:script|img|link|iframe|object|svg)\b|\son\w+=|\sstyle=|@import|url\(/iu);
    expect([...body.matchAll(/<a\b[^>]*/gu)].map(String)).toEqual(hasForm(body) ? [] : [`<a href="${FACTS.pageUrl}"`]);
  });

  it('has a language, a title, a header, one main and one h1', () => {
    expect(body).toMatch(/^<!doctype html>\n<html lang="en">/u);
    for (const tag of ['title', 'header', 'main', 'footer', 'h1']) expect(body.split(`<${tag}>`), tag).toHaveLength(2);
    expect(body).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
  });

  it('has labels that refer to existing elements', () => {
    for (const [, id] of body.matchAll(/aria-labelledby="([^"]+)"/gu)) expect(body).toContain(`id="${id ?? ''}"`);
  });
});

describe('the consent page', () => {
  it('shows the client, the redirect URI, the scopes, the resource and the providers (row 1)', () => {
    const said = text(consentPage(QUESTIONS.document));
    for (const part of ['Claude', 'unverified', 'published at claude.ai', 'https://claude.ai/api/mcp/auth_callback'])
      expect(said).toContain(part);
    for (const part of [
      'see your name profile',
      'in your name tools:call',
      'Engineering tools https://tools.example/mcp',
    ])
      expect(said).toContain(part);
    expect(said.indexOf('Example Login')).toBeLessThan(said.indexOf('GitHub at github.com'));
    expect(said).toContain('remembers an approval for 30 days');
    expect(consentPage(QUESTIONS.document).body).toContain('<strong dir="ltr">claude.ai</strong>');
  });

  it('contains a form with the CSRF token of its login attempt', () => {
    const { body } = consentPage(QUESTIONS.loopback);
    expect(body).toContain('<form method="post" action="/oauth/consent"');
    expect(body).toContain('<input type="hidden" name="transaction" value="q3Jx0bS1v9oX2m8h">');
    expect(body).toContain('<input type="hidden" name="csrf" value="n5Yb2QkGm1c4uX7d">');
    expect([...body.matchAll(/<button[^>]*name="decision" value="(\w+)">(\w+)</gu)].map(([, ...own]) => own)).toEqual([
      ['approve', 'Approve'],
      ['deny', 'Deny'],
    ]);
  });

  it('warns of loopback and private-use schemes, and does not promise to remember', () => {
    expect(text(consentPage(QUESTIONS.loopback))).toContain('A program on this computer asks.');
    expect(text(consentPage(QUESTIONS.app))).toContain('Whichever app opens “cursor:” links');
    expect(text(consentPage(QUESTIONS.document))).not.toContain('asks.');
    expect(text(consentPage(QUESTIONS.loopback))).not.toContain('remembers');
  });

  it('says that a client is unverified', () => {
    const base = QUESTIONS.loopback;
    expect(text(consentPage(base))).toContain('nobody has checked');
    const nameless = text(consentPage({ ...base, client: { id: 'x', source: 'registered' } }));
    expect(nameless).toContain('Allow an application without a name');
  });

  it('shortens a long name', () => {
    const named = (name: string): string =>
      /<bdi>(.*?)<\/bdi>/u.exec(
        consentPage({ ...QUESTIONS.loopback, client: { id: 'x', name, source: 'registered' } }).body,
      )?.[1] ?? '';
    expect(named('a'.repeat(64))).toBe('a'.repeat(64));
    expect(named('a'.repeat(65))).toBe(`${'a'.repeat(64)}…`);
    expect(named('\u{1F600}'.repeat(100))).toBe(`${'\u{1F600}'.repeat(64)}…`);
  });

  it('shows the whole redirect URI with its query, escaped', () => {
    const { redirectUri } = QUESTIONS.odd;
    expect(redirectUri).toContain("?next='x'&tenant=1");
    const shown = redirectUri.replaceAll('&', '&amp;').replaceAll("'", '&#39;');
    expect(consentPage(QUESTIONS.odd).body).toContain(`<code dir="ltr">${shown}</code>`);
  });

  it('describes the scopes of OpenID and of the operator', () => {
    const own = new Map([['email', 'write to you']]);
    expect(describeScopes(['openid', 'email', 'x'], own)).toEqual([
      { name: 'openid', text: 'know that it is you when you come back' },
      { name: 'email', text: 'write to you' },
      { name: 'x', text: undefined },
    ]);
  });
});

describe('texts of clients (row 6)', () => {
  /** Returns the structure of a page: its tags and attribute names without texts and values. */
  const structure = (body: string): readonly string[] =>
    [...body.matchAll(/<!?\/?[a-z](?:[^>"]|"[^"]*")*>/giu)].map(([tag]) => tag.replace(/"[^"]*"/gu, '""'));

  const question = (foreign: string): ConsentQuestion => ({
    ...QUESTIONS.loopback,
    server: `s${foreign}`,
    client: { id: 'x', name: `n${foreign}`, source: 'registered' },
    scopes: [{ name: `c${foreign}`, text: `t${foreign}` }],
    resource: { name: `r${foreign}`, uri: `u${foreign}` },
    providers: [{ name: `p${foreign}`, host: `h${foreign}` }],
    form: { action: `/a${foreign}`, attempt: `i${foreign}`, csrf: `f${foreign}` },
  });
  const expected = structure(consentPage(question('')).body);

  /** Deterministic, so that failures are reproducible. */
  function* random(): Generator<number> {
    for (let state = 42; ;) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      yield state >>> 8;
    }
  }
  const PIECES = [
    ...Array.from('<>"\'`&;=/!- \\\n\t\0ax'),
    '<script>alert(1)</script>',
    '</style>',
    '</title>',
    '<!--',
    '-->',
    ']]>',
    '" onload="x',
    '&lt;',
    '&#60;',
    'javascript:',
    '\u202E',
    '\u2066',
    '\u200B',
    '\uD800',
    '\u{1F600}',
    '$&',
    '$1',
    '${x}',
  ];

  it('never change the structure of the page', () => {
    const numbers = random();
    const next = (below: number): number => Number(numbers.next().value) % below;
    for (let run = 0; run < 2_000; run += 1) {
      const foreign = Array.from({ length: 1 + next(12) }, () => PIECES[next(PIECES.length)]).join('');
      const { body } = consentPage(question(foreign));
      expect(structure(body), JSON.stringify(foreign)).toEqual(expected);
      expect(body.match(/[<>]/gu)?.length, JSON.stringify(foreign)).toBe(
        consentPage(question('')).body.match(/[<>]/gu)?.length,
      );
    }
  });

  it('are shown literally, without invisible characters', () => {
    const foreign = question('<b>&amp;\u202Ex\u0000\n"');
    const { body } = consentPage({ ...foreign, form: QUESTIONS.loopback.form });
    expect(body).toContain('<bdi>n&lt;b&gt;&amp;amp;x &quot;</bdi>');
    expect(body).toContain('<li>t&lt;b&gt;&amp;amp;x &quot; <code dir="ltr">c&lt;b&gt;');
    expect(body).not.toContain('\u202E');
  });

  it('are escaped on error pages too', () => {
    const { body } = errorPage('server_error', { server: '<s>', requestId: '"><script>' });
    expect(body).toContain('&quot;&gt;&lt;script&gt;');
    const document = { host: '<b>\u202E', fault: 'document', detail: '<i>\u200B', advertised: true } as const;
    const { body: named } = errorPage('client_document', { ...FACTS, document });
    expect(named).toContain('<code dir="ltr">&lt;b&gt;</code>');
    expect(named).toContain('description: &lt;i&gt;.');
    expect(body).toContain('<header><p>&lt;s&gt;</p></header>');
  });
});

describe('error pages', () => {
  it.each(Object.entries(ERROR_PAGES))('%s shows the cause, the advice and the error code', (name, explanation) => {
    const page = errorPage(name as ErrorPageName, FACTS);
    expect(page.status).toBe(explanation.status);
    const said = text(page);
    for (const part of [explanation.title, explanation.what, explanation.advice, explanation.code, 'req-1'])
      expect(said).toContain(part);
    expect(page.headers['Content-Security-Policy']).toContain("form-action 'none'");
    expect(page.headers).not.toHaveProperty('Retry-After');
  });

  it('lead to the page of the server if its URL is known', () => {
    expect(text(errorPage('sign_in_over', FACTS))).toContain('How to connect an application to this server');
    expect(errorPage('sign_in_over', { ...FACTS, pageUrl: undefined }).body).not.toContain('<a ');
  });

  const HOST = 'apps.client.example';
  const faults: readonly (readonly [UnusableDocument['fault'], readonly string[]])[] = [
    ['client_id', ['the reason']],
    ['denied_host', [HOST, 'remove apps.client.example from cimd.deniedHosts']],
    ['other_host', [HOST, 'add apps.client.example to cimd.allowedHosts']],
    ['loopback_address', [HOST, 'loopback address', 'cimd.allowLoopbackHTTP', 'cimd.documents']],
    ['private_address', [HOST, 'private address', 'cimd.documents']],
    ['forbidden_address', [HOST, 'internal address', 'cimd.documents']],
    ['proxy', [HOST, 'HTTPS_PROXY', 'NO_PROXY', 'it can now register', 'cimd.documents']],
    ['unreachable', [HOST, 'it can now register', 'cimd.documents']],
    ['document', [HOST, 'the reason', 'publish the description at apps.client.example']],
  ];
  it.each(faults)('name the host and the setting for a document with the fault %s', (fault, parts) => {
    const document = { host: HOST, fault, detail: 'the reason', advertised: false };
    const said = text(errorPage('client_document', { ...FACTS, document })).replaceAll(' , ', ', ');
    for (const part of parts) expect(said).toContain(part);
    expect(said).not.toContain('maker of the application');
    expect(text(errorPage('client_document', { ...FACTS, document: { ...document, advertised: true } }))).not.toContain(
      'register',
    );
  });

  it('show when to try again', () => {
    const page = errorPage('too_many_requests', { ...FACTS, retryAfterSeconds: 12 });
    expect([page.status, page.headers['Retry-After']]).toEqual([429, '12']);
  });
});

describe('the colours', () => {
  it.each(Object.entries(PALETTE))('of the %s theme have enough contrast', (_, colours) => {
    const texts = [
      [colours.text, colours.page],
      [colours.text, colours.card],
      [colours.text, colours.well],
      [colours.quiet, colours.page],
      [colours.quiet, colours.card],
      [colours.quiet, colours.well],
      [colours.onAccent, colours.accent],
      [colours.accent, colours.card],
      [colours.onWarning, colours.warning],
    ] as const;
    for (const [text, ground] of texts) expect(contrast(text, ground), `${text} on ${ground}`).toBeGreaterThan(4.5);
    const edges = [
      [colours.edge, colours.card],
      [colours.accent, colours.card],
      [colours.accent, colours.page],
    ] as const;
    for (const [edge, ground] of edges) expect(contrast(edge, ground), `${edge} on ${ground}`).toBeGreaterThan(3);
  });
});
