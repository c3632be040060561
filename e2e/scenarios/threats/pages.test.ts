import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { startHttpBackend } from '../../harness/backends/http.ts';
import { hasChromium, startChromium, startClientCallback } from '../../harness/browser/chromium.ts';
import { initializeRequest, MCP_HEADERS } from '../../harness/clients/raw.ts';
import { entry, gatewayOver } from '../../harness/manifests.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { startVmcp, type Vmcp } from '../../harness/vmcp.ts';

const GROUP = JSON.stringify({ name: 'of-a-page' });
const INITIALIZE = initializeRequest();

const scope = blockScope();
let vmcp: Vmcp;
let browser: Browser;
/** Page of another port of this machine, and that of `--allow-origin`. */
let other: string;
let allowed: string;

/** Opens a page, and collects the status of each answer of the gateway: -1 when the browser withholds it. */
async function open(url: string): Promise<{ page: Page; statuses: number[] }> {
  const context = await browser.newContext();
  testScope().defer(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  const statuses: number[] = [];
  context.on('response', (response) => {
    if (!response.url().startsWith(url)) statuses.push(response.status());
  });
  context.on('requestfailed', (sent) => {
    if (!sent.url().startsWith(url)) statuses.push(-1);
  });
  return { page, statuses };
}

/** Runs a request in the page. Returns its status, 0 for an opaque answer and -1 for one that the browser withholds. */
const request = (page: Page, url: string, init: object): Promise<number> =>
  page.evaluate(
    async ([to, options]) => {
      try {
        return (await fetch(to, options)).status;
      } catch {
        return -1;
      }
    },
    [url, init] as const,
  );

const json = (body: string, headers = {}) => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json', ...headers },
});
const hidden = (body: string) => ({ method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body });
const groups = async (): Promise<string> => (await fetch(`${vmcp.management}/api/v1beta/groups`)).text();

describe.runIf(hasChromium)('row 96: in Chromium, a page of another port of this machine', () => {
  beforeAll(async () => {
    const [one, two] = [await startClientCallback(scope), await startClientCallback(scope)];
    [other, allowed] = [new URL(one.url).origin, new URL(two.url).origin];
    browser = await startChromium(scope);
    const { url } = await startHttpBackend(scope, 'sdk-2', 'alpha');
    const files = gatewayOver([entry('alpha', url)]);
    vmcp = await startVmcp(scope, { files, args: ['--allow-origin', allowed] });
  });

  it('cannot call the management API, and its own pages can', async () => {
    const api = `${vmcp.management}/api/v1beta/groups`;
    const { page, statuses } = await open(other);
    expect(await request(page, api, json(GROUP))).toBe(-1);
    expect(await request(page, `${api}/default`, { method: 'DELETE' })).toBe(-1);
    expect(await request(page, api, { mode: 'no-cors' })).toBe(-1); // Cross-Origin-Resource-Policy
    expect(await request(page, api, hidden(GROUP))).toBe(-1);
    expect(new Set(statuses)).toEqual(new Set([-1]));
    expect(await groups()).not.toContain('of-a-page');

    const own = await open(`${vmcp.management}/status`);
    expect(await request(own.page, api, json(GROUP))).toBe(201);
    expect(await request(own.page, api, { ...json(GROUP), headers: { 'content-type': 'text/plain' } })).toBe(415);
    expect(await request(own.page, `${api}/of-a-page`, { method: 'DELETE' })).toBe(204);
  });

  it.each(['management', 'origin'] as const)(
    'cannot use forms, images, frames, beacons and links: %s',
    async (listener) => {
      const target = `${vmcp[listener]}${listener === 'management' ? '/api/v1beta/groups' : '/mcp'}`;
      const { page, statuses } = await open(other);
      await page.setContent(`
      <form method=post enctype=text/plain target=frame action="${target}"><input name='{"name":"of-a-page","x":"' value='"}'></form>
      <iframe name=frame></iframe><img src="${target}"><iframe src="${target}"></iframe><a href="${target}">link</a>`);
      await page.evaluate(`document.forms[0].submit(); navigator.sendBeacon('${target}', '{"name":"of-a-page"}')`);
      await expect.poll(() => statuses.length).toBeGreaterThanOrEqual(4);
      await page.getByText('link').click();
      await expect.poll(() => page.url()).toBe(target);
      expect(statuses).toContain(403);
      expect(statuses.filter((status) => status !== 403 && status !== -1)).toEqual([]);
      expect(await groups()).not.toContain('of-a-page');
    },
  );

  it('cannot call the MCP endpoint, and its own pages and those of --allow-origin can', async () => {
    const call = json(INITIALIZE, MCP_HEADERS);
    const { page, statuses } = await open(other);
    expect(await request(page, vmcp.url, call)).toBe(-1);
    expect(await request(page, vmcp.url, hidden(INITIALIZE))).toBe(0);
    expect(await request(page, `${vmcp.origin}/sse`, { mode: 'no-cors' })).toBe(0);
    await expect.poll(() => statuses.filter((status) => status === 403).length).toBe(2);
    const link = await page.goto(`${vmcp.origin}/`, { referer: other });
    expect(link?.status()).toBe(200);

    const own = await open(`${vmcp.origin}/health`);
    expect(await request(own.page, vmcp.url, call)).toBe(200);
    const configured = await open(allowed);
    expect(await request(configured.page, vmcp.url, call)).toBe(200);
    expect(await request(configured.page, `${vmcp.management}/api/v1beta/groups`, json(GROUP))).toBe(-1);
    expect(await groups()).not.toContain('of-a-page');
  });
});
