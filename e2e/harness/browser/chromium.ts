import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';
import { freePort } from '../free-port.ts';
import type { Scope } from '../scope.ts';

const EXECUTABLE = '/usr/bin/chromium';

/** False on a machine without the Debian package chromium; `make chromium` says so (`not applicable`). */
export const hasChromium = existsSync(EXECUTABLE);

/** A real browser that reaches this machine and no other, until the scope ends. */
export async function startChromium(scope: Scope): Promise<Browser> {
  const rules = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost';
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: [rules] });
  scope.defer(() => browser.close());
  return browser;
}

/** Where a client on this machine waits for the browser. */
export interface ClientCallback {
  readonly url: string;
  /** The addresses that it was called at. */
  readonly calls: URL[];
  /** HTML that it serves at `/`, beside its callback. */
  home: string;
}

export async function startClientCallback(scope: Scope): Promise<ClientCallback> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${String(port)}`;
  const state: ClientCallback = { url: `${origin}/callback`, calls: [], home: '' };
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', origin);
    if (url.pathname === '/callback') state.calls.push(url);
    res.writeHead(url.pathname === '/favicon.ico' ? 404 : 200, { 'content-type': 'text/html' });
    res.end(url.pathname === '/callback' ? '<title>Done</title>You can close this window.' : state.home);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return state;
}

/** Fills in every page that asks for a name, as `user`, until the browser is back at the client or shows `end`. */
export async function signIn(page: Page, callback: ClientCallback, user: string, end?: Locator): Promise<void> {
  for (let pages = 0; pages < 12; pages += 1) {
    if (page.url().startsWith(callback.url) || ((await end?.count()) ?? 0) > 0) return;
    const name = page.locator('input[name=login]');
    if ((await name.count()) > 0) {
      await name.fill(user);
      await page.locator('input[name=password]').fill('any');
    }
    await Promise.all([page.waitForNavigation(), page.locator('button[type=submit]').first().click()]);
  }
  throw new Error(`the login does not end: ${page.url()}`);
}
