import type { Request, Response } from 'express';
import { expect, it } from 'vitest';
import { consentKey, type Consent } from '../consent/remembering.ts';
import type { AuthServerContext } from '../context.ts';
import { newSecrets, settingsFor } from '../endpoints/testdata/client-server.ts';
import { isConsentRemembered, rememberConsent } from './consent-cookie.ts';

const NOW = 1_800_000_000_000;
const secrets = newSecrets();
const context = { now: () => NOW, secrets: () => secrets, settings: settingsFor() } as unknown as AuthServerContext;

const consentOf = (clientId: string): Consent => ({
  ...{ clientId, redirectUri: 'http://localhost/cb' },
  ...{ scopes: ['openid'], resource: 'https://tools.example/mcp' },
});

const asking = (cookies: ReadonlyMap<string, string>): Request =>
  ({ headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') } }) as unknown as Request;

/** Returns the cookies of the browser after an approval. */
function approve(before: ReadonlyMap<string, string>, consent: Consent): Map<string, string> {
  const after = new Map(before);
  const append = (_name: string, line: string): void => {
    const [, name = '', value = '', age] = /^([^=]+)=([^;]*);.*Max-Age=(\d+)/u.exec(line) ?? [];
    if (age === '0') after.delete(name);
    else after.set(name, value);
  };
  rememberConsent(asking(before), { append } as unknown as Response, consent, context);
  return after;
}

it('keeps the 30 latest approvals', () => {
  const prefix = '__Host-vmcp-consent-';
  const old = Array.from(
    { length: 60 },
    (_, age) => [`${prefix}old${String(age)}`, `${String(9_999 - age)}.x`] as const,
  );
  const others = ['__Host-vmcp-flow-a', '__Host-other'].map((name) => [name, '1'] as const);
  let cookies: Map<string, string> = new Map([...others, ...old]);
  const left: number[] = [];
  for (const client of ['a', 'b', 'c', 'd', 'd']) {
    cookies = approve(cookies, consentOf(client));
    left.push([...cookies.keys()].filter((name) => name.startsWith(prefix)).length);
  }
  expect(left).toEqual([51, 42, 33, 30, 30]);
  for (const client of ['a', 'b', 'c', 'd']) {
    expect([...cookies.keys()]).toContain(`${prefix}${consentKey(consentOf(client)).slice(0, 22)}`);
    expect(isConsentRemembered(asking(cookies), consentOf(client), context)).toBe(true);
  }
  expect([...cookies.keys()]).toEqual(expect.arrayContaining([...others, ...old.slice(0, 26)].map(([name]) => name)));
});
