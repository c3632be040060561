import { decodeJwt } from 'jose';
import { formsOf } from '../../harness/browser/html-form.ts';
import type { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';

/** Parameters of URLs and forms that whoever reads a log could use. */
const PARAMETERS = ['code', 'state', 'nonce', 'transaction', 'csrf'];

/** What a browser was trusted with on its way: cookies, and secret parameters of addresses and forms. */
export function secretsOf({ cookies, visited, pages }: ScriptedBrowser): Set<string> {
  const inUrls = visited.flatMap(({ searchParams }) => PARAMETERS.flatMap((name) => searchParams.getAll(name)));
  const hosts = new Set(visited.map(({ hostname }) => hostname));
  const inCookies = [...hosts].flatMap((host) => cookies.of(host).map(({ value }) => value));
  const inForms = pages.flatMap(({ body }) =>
    formsOf(body).flatMap(({ hidden }) => PARAMETERS.map((name) => hidden[name] ?? '')),
  );
  return new Set([...inUrls, ...inCookies, ...inForms].filter((text) => text.length >= SHORTEST));
}

/** The handle of the login, which is in every access token. */
export const tsidOf = (accessToken: string): string => String(decodeJwt(accessToken)['tsid']);

/** Shorter texts are no secrets; so many characters of one in a row are a leak. */
const SHORTEST = 16;

/** Where in a text a part of a secret stands; quotes what is around it. */
export function leaksIn(text: string, secrets: Iterable<string>): string[] {
  const runs = new Map<string, string>();
  for (const secret of secrets)
    for (let at = 0; at + SHORTEST <= secret.length; at += 1) runs.set(secret.slice(at, at + SHORTEST), secret);
  const found = new Map<string, string>();
  for (let at = 0; at + SHORTEST <= text.length; at += 1) {
    const secret = runs.get(text.slice(at, at + SHORTEST));
    if (secret !== undefined && !found.has(secret)) found.set(secret, text.slice(Math.max(0, at - 120), at + 80));
  }
  return [...found.values()];
}
