import { decodeJwt } from 'jose';
import { formsOf } from '../../harness/browser/html-form.ts';
import type { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';

/** Secret parameters of URLs and forms. */
const PARAMETERS = ['code', 'state', 'nonce', 'transaction', 'csrf'];

/** Returns the secrets of a browser: cookies, and secret parameters of URLs and forms. */
export function secretsOf({ cookies, visited, pages }: ScriptedBrowser): Set<string> {
  const inUrls = visited.flatMap(({ searchParams }) => PARAMETERS.flatMap((name) => searchParams.getAll(name)));
  const hosts = new Set(visited.map(({ hostname }) => hostname));
  const inCookies = [...hosts].flatMap((host) => cookies.of(host).map(({ value }) => value));
  const inForms = pages.flatMap(({ body }) =>
    formsOf(body).flatMap(({ hidden }) => PARAMETERS.map((name) => hidden[name] ?? '')),
  );
  return new Set([...inUrls, ...inCookies, ...inForms].filter((text) => text.length >= SHORTEST));
}

/** Returns the id of the login, which every access token contains. */
export const tsidOf = (accessToken: string): string => String(decodeJwt(accessToken)['tsid']);

/** Length of a part of a secret that counts as a leak; shorter texts are not secrets. */
const SHORTEST = 16;

/** Returns quotes of the places in a text that contain a part of a secret. */
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
