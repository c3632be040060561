import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CLIENTS } from '../management/clients/clients.ts';
import { landingPage, type Inside, type LandingFacts } from './landing-page.ts';

const FACTS: LandingFacts = { name: 'tools', url: 'https://tools.example/mcp', issuer: 'https://login.example' };
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const inside = (...tools: readonly (number | undefined)[]): Inside => ({
  version: '1.2.3',
  backends: tools.map((count) => ({ name: 'memory', state: 'healthy', tools: count })),
});

const unescaped = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"');

const linksOf = (body: string): Record<string, string> =>
  Object.fromEntries(
    [...body.matchAll(/<a class="button" href="([^"]*)">([^<]*)<\/a>/gu)].map(([, href = '', text = '']) => [
      text,
      unescaped(href),
    ]),
  );

/** Returns the text of a `pre` element, as the button copies it. */
const textOf = (body: string, id: string): string =>
  unescaped((new RegExp(`<pre id="${id}" dir="ltr">(.*?)</pre>`, 'su').exec(body)?.[1] ?? '').replace(/<[^>]*>/gu, ''));

describe('the page at /', () => {
  it('allows its own style and script only, no framing and no other resource', () => {
    const { headers, body } = landingPage(FACTS);
    const style = /<style>(.*)<\/style>/su.exec(body)?.[1] ?? '';
    const script = /<script>(.*)<\/script>/su.exec(body)?.[1] ?? '';
    expect(headers['Content-Security-Policy']).toBe(
      `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    );
    expect(headers).toMatchObject({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' });
    expect(body).not.toMatch(/<(?:img|link|iframe|object|svg|form)\b|\son\w+=|\sstyle=|\ssrc=|@import|url\(/iu);
  });

  it('has an entry for every client', () => {
    const { body } = landingPage(FACTS);
    for (const { name } of CLIENTS) expect(body).toContain(`<summary>${name}</summary>`);
    expect(body.match(/<pre id="entry-/gu)).toHaveLength(CLIENTS.length);
  });

  it('names the issuer, and lists servers only when they are given', () => {
    expect(landingPage(FACTS).body).toContain('https://login.example');
    expect(landingPage(FACTS).body).not.toContain('Servers behind it');
    const open = landingPage({ ...FACTS, issuer: undefined, inside: inside(undefined) }).body;
    expect(open).toContain('No login is needed.');
    expect(open).toContain('<li><bdi>memory</bdi> <span class="quiet">healthy</span></li>');
  });

  it('shows tools and the version beside the servers only', () => {
    const closed = landingPage(FACTS).body;
    expect(closed).toContain('Served by vmcp: one endpoint');
    expect(closed).not.toMatch(/\d tools?\b/u);
    const open = landingPage({ ...FACTS, inside: inside(9, 1) }).body;
    expect(open).toContain('<span class="quiet">healthy, 9 tools</span>');
    expect(open).toContain('<span class="quiet">healthy, 1 tool</span>');
    expect(open).toContain('<p>10 tools in all.</p>');
    expect(open).toContain('Served by vmcp 1.2.3: one endpoint');
    expect(landingPage({ ...FACTS, inside: inside(9, 2, undefined) }).body).toContain('<p>11 tools of 2 servers.</p>');
    expect(landingPage({ ...FACTS, inside: inside(9, undefined) }).body).not.toContain('<p>9 tools');
  });

  it('shows the most used clients first, and the others by name', () => {
    const names = [...landingPage(FACTS).body.matchAll(/<summary>(.*?)<\/summary>/gu)].map(([, name]) => name);
    expect(names.slice(0, 5)).toEqual(['Claude Code', 'Cursor', 'VS Code', 'Amp', 'Antigravity']);
  });

  it('has links with the entry of the server, for clients with a URL scheme', () => {
    const url = 'https://tools.example/a%20b/mcp?x=1&y=2';
    const links = linksOf(landingPage({ ...FACTS, name: 'my tools', url }).body);
    const entry = { type: 'http', url };
    expect(Object.keys(links)).toEqual([
      'Add to Cursor',
      'Add to VS Code',
      'Add to LM Studio',
      'Add to VS Code Insiders',
    ]);
    for (const [client, start] of [
      ['Cursor', 'cursor://anysphere.cursor-deeplink/mcp/install'],
      ['LM Studio', 'lmstudio://add_mcp'],
    ] as const) {
      const link = links[`Add to ${client}`] ?? '';
      expect(link.split('?')[0]).toBe(start);
      const { searchParams } = new URL(link);
      expect(searchParams.get('name')).toBe('my tools');
      expect(JSON.parse(Buffer.from(searchParams.get('config') ?? '', 'base64').toString())).toEqual(entry);
    }
    for (const [client, start] of [
      ['VS Code', 'vscode:mcp/install'],
      ['VS Code Insiders', 'vscode-insiders:mcp/install'],
    ] as const) {
      const [path, query = ''] = (links[`Add to ${client}`] ?? '').split('?');
      expect(path).toBe(start);
      expect(JSON.parse(decodeURIComponent(decodeURIComponent(query)))).toEqual({ name: 'my tools', ...entry });
    }
  });

  it('has a complete command for every client', () => {
    const { body } = landingPage({ ...FACTS, name: "ann's tools", program: 'bin/vmcp' });
    for (const { type } of CLIENTS)
      expect(textOf(body, `command-${type}`)).toBe(
        String.raw`bin/vmcp connect ${type} --url https://tools.example/mcp --name 'ann'\''s tools'`,
      );
    expect(textOf(landingPage(FACTS).body, 'own-claude-code')).toBe(
      'claude mcp add --scope user --transport http tools https://tools.example/mcp',
    );
    expect(textOf(landingPage({ ...FACTS, url: 'https://x.example/sse' }).body, 'own-claude-code')).toContain(
      'sse tools',
    );
  });

  it('has a placeholder for a URL that the gateway does not know', () => {
    const { body } = landingPage({ ...FACTS, url: undefined });
    expect(body).toContain('Replace <code>HOST</code> with the address of this page.');
    expect(body).toContain('http://HOST/mcp');
    expect(linksOf(body)).toEqual({});
  });

  it('escapes its texts', () => {
    const evil = '"><script>alert(1)</script>';
    const { body } = landingPage({
      name: evil,
      url: `https://x/${evil}`,
      issuer: evil,
      program: evil,
      inside: { version: evil, backends: [{ name: evil, state: evil }] },
    });
    expect(body.match(/<script>/gu)).toHaveLength(1);
  });
});
