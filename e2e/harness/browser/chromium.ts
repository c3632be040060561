import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';
import { freePort } from '../free-port.ts';
import type { Scope } from '../scope.ts';

const EXECUTABLE = '/usr/bin/chromium';

/** False on a machine without the Debian package chromium; `make programs` then prints `not applicable`. */
export const hasChromium = existsSync(EXECUTABLE);

/** Starts a browser that can reach this machine only; it ends with the scope. */
export async function startChromium(scope: Scope): Promise<Browser> {
  const rules = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost';
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: [rules] });
  scope.defer(() => browser.close());
  return browser;
}

/** Callback listener of a client on this machine. */
export interface ClientCallback {
  readonly url: string;
  /** Requested URLs. */
  readonly calls: URL[];
  /** HTML of the page at `/`. */
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

/** Logs in as `user` on every login page until the browser returns to the client or shows `end`. */
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
