import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CLIENTS } from '../management/clients/clients.ts';
import { landingPage, type LandingFacts } from './landing-page.ts';

const FACTS: LandingFacts = { name: 'tools', url: 'https://tools.example/mcp', issuer: 'https://login.example' };
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

describe('the page at /', () => {
  it('allows its own style and script only, no framing and no other resource', () => {
    const { headers, body } = landingPage(FACTS);
    const style = /<style>(.*)<\/style>/su.exec(body)?.[1] ?? '';
    const script = /<script>(.*)<\/script>/su.exec(body)?.[1] ?? '';
    expect(headers['Content-Security-Policy']).toBe(
      `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    );
    expect(headers).toMatchObject({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' });
    expect(body).not.toMatch(/<(?:img|link|iframe|object|svg|a|form)\b|\son\w+=|\sstyle=|\ssrc=|@import|url\(/iu);
  });

  it('has an entry for every client', () => {
    const { body } = landingPage(FACTS);
    for (const { name } of CLIENTS) expect(body).toContain(`<summary>${name}</summary>`);
    expect(body.match(/<pre id="entry-/gu)).toHaveLength(CLIENTS.length);
  });

  it('names the issuer, and lists servers only when they are given', () => {
    expect(landingPage(FACTS).body).toContain('https://login.example');
    expect(landingPage(FACTS).body).not.toContain('Servers behind it');
    const open = landingPage({ ...FACTS, issuer: undefined, backends: [{ name: 'memory', state: 'healthy' }] }).body;
    expect(open).toContain('No login is needed.');
    expect(open).toContain('<li><bdi>memory</bdi> <span class="quiet">healthy</span></li>');
  });

  it('has a placeholder for a URL that the gateway does not know', () => {
    const { body } = landingPage({ ...FACTS, url: undefined });
    expect(body).toContain('Replace <code>HOST</code> with the address of this page.');
    expect(body).toContain('http://HOST/mcp');
  });

  it('escapes its texts', () => {
    const evil = '"><script>alert(1)</script>';
    const { body } = landingPage({
      name: evil,
      url: `https://x/${evil}`,
      issuer: evil,
      backends: [{ name: evil, state: evil }],
    });
    expect(body.match(/<script>/gu)).toHaveLength(1);
  });
});
