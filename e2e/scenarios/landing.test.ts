import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { PassThrough } from 'node:stream';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { startGateway } from '../../gateway/process/gateway.ts';
import { createLog } from '../../gateway/telemetry/log.ts';
import { configOver, startGatewayOver } from '../harness/authenticated-gateway.ts';
import { startHttpBackend } from '../harness/backends/http.ts';
import { hasChromium, startChromium } from '../harness/browser/chromium.ts';
import { startIssuer, type Issuer } from '../harness/issuer.ts';
import { eventually } from '../harness/poll.ts';
import { blockScope, testScope } from '../harness/scope.ts';

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
/** Policy by which users see one tool. */
const ONE_TOOL = 'permit(principal, action == Action::"call_tool", resource == Tool::"secret-backend_echo");';
const RESOURCE = 'https://tools.example/mcp';

const scope = blockScope();
let issuer: Issuer;
let anonymous: string;
let guarded: string;

beforeAll(async () => {
  const { url } = await startHttpBackend(scope, 'sdk-1-stateful', 'secret-backend');
  const backend = { name: 'secret-backend', transport: 'streamable-http', url, insecure_allow_http: true, allow_private_ips: true } as const; // oxfmt-ignore
  issuer = await startIssuer(scope);
  const rootOf = async (parts: object): Promise<string> =>
    new URL('/', (await startGatewayOver(scope, { backends: [backend], ...parts })).url).href;
  anonymous = await rootOf({});
  guarded = await rootOf({ issuer, oidc: { resourceURL: RESOURCE }, cedar: { policies: [ONE_TOOL] } });
});

const get = async (url: string, headers: Record<string, string> = HTML) => {
  const response = await fetch(url, { headers });
  return { status: response.status, type: response.headers.get('content-type') ?? '', body: await response.text() };
};

describe('GET /', () => {
  it('answers a browser with a page, and others with 404 as JSON', async () => {
    expect(await get(anonymous)).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
    for (const accept of ['*/*', 'application/json']) {
      const { status, type, body } = await get(anonymous, { accept });
      expect({ status, type }).toEqual({ status: 404, type: 'application/json; charset=utf-8' });
      expect(JSON.parse(body)).toMatchObject({ error: 'not_found' });
    }
    expect((await get(`${anonymous}other`)).status).toBe(404);
  });

  it('lists the servers of an anonymous virtual server with their state and tools, and the version', async () => {
    await eventually('the backend is healthy', async () =>
      /secret-backend<.*healthy, [1-9]\d* tools</u.test((await get(anonymous)).body),
    );
    expect((await get(anonymous)).body).toMatch(/Served by vmcp \d/u);
  });

  it('shows the servers of a protected virtual server to known users only', async () => {
    const { status, body } = await get(guarded);
    expect(status).toBe(200);
    expect(body).toContain(issuer.url);
    expect(body).not.toMatch(/secret-backend|\d tools?\b|vmcp \d/u);
    await eventually('the page counts the tools that the user sees', async () => {
      const known = await get(guarded, { ...HTML, authorization: `Bearer ${issuer.token()}` });
      return /secret-backend<.*healthy, 1 tool<[^]*vmcp \d/u.test(known.body);
    });
    const forged = await get(guarded, { ...HTML, authorization: 'Bearer forged' });
    expect(forged.status).toBe(401);
    expect(forged.body).not.toContain('secret-backend');
  });

  it('sends browsers from the MCP endpoints to the page, and no other client', async () => {
    for (const root of [anonymous, guarded]) {
      for (const path of ['mcp', 'mcp/', 'sse', 'mcp?from=chat']) {
        const { status, headers } = await fetch(root + path, { headers: HTML, redirect: 'manual' });
        expect(status, path).toBe(303);
        expect(new URL(headers.get('location') ?? '', root + path).href).toBe(root);
        expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['no-store', 'Accept']);
      }
      expect((await get(`${root}mcp`)).body).toContain('Give its URL to your MCP client.');
    }
    const statusOf = async (root: string, headers: Record<string, string>, method = 'GET'): Promise<number> => {
      const { status, body } = await fetch(`${root}mcp`, { method, headers, redirect: 'manual' });
      await body?.cancel();
      return status;
    };
    const stream = { accept: 'text/event-stream' };
    const both = { accept: 'text/html, text/event-stream' };
    for (const headers of [{ accept: '*/*' }, {}, stream, both, { ...HTML, authorization: 'Bearer x' }])
      expect(await statusOf(guarded, headers), JSON.stringify(headers)).toBe(401);
    expect([await statusOf(anonymous, { accept: '*/*' }), await statusOf(anonymous, stream)]).toEqual([406, 400]);
    expect([await statusOf(anonymous, HTML, 'HEAD'), await statusOf(guarded, HTML, 'POST')]).toEqual([405, 401]);
  });

  it('shows the configured URL, never the Host of the request', async () => {
    const gateway = await startGateway({
      servers: [
        { config: configOver({ backends: [], issuer, oidc: { resourceURL: RESOURCE } }), host: '0.0.0.0', port: 0 },
        { config: { ...configOver({ backends: [] }), name: 'other' }, host: '0.0.0.0', port: 0 },
      ],
      management: { host: '127.0.0.1', port: 0 },
      log: createLog(new PassThrough().resume(), 'error'),
      version: '0.0.0',
    });
    testScope().defer(() => gateway.stop(0));
    const [configured = '', unknown = ''] = await Promise.all(
      gateway.servers.map(async ({ mcpUrl }) => {
        const sent = request(new URL('/', mcpUrl), { headers: { ...HTML, host: 'evil.example' } });
        const answer = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
          sent.once('response', resolve).once('error', reject).end();
        });
        return text(answer);
      }),
    );
    expect(configured).toContain(`<code id="url" dir="ltr">${RESOURCE}</code>`);
    expect(unknown).toContain('<code id="url" dir="ltr">http://HOST/mcp</code>');
    expect(configured + unknown).not.toContain('evil.example');
  });
});

describe.runIf(hasChromium)('the page in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium(scope);
  });

  /** Opens the page; `complaints` collects errors, also violations of the policy. */
  async function open(options: BrowserContextOptions): Promise<{ page: Page; complaints: string[] }> {
    const context = await browser.newContext(options);
    testScope().defer(() => context.close());
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
        complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(anonymous);
    return { page, complaints };
  }

  it('is readable without script', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    expect(await page.locator('#url').innerText()).toBe(`${anonymous}mcp`);
    expect(await page.getByRole('button').count()).toBe(0);
    await page.getByText('Cursor', { exact: true }).click();
    expect(await page.locator('#entry-cursor').innerText()).toContain('"mcpServers"');
  });

  it('copies the entry of a client', async () => {
    const { page, complaints } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByText('Cursor', { exact: true }).click();
    const button = page.getByRole('button', { name: 'Copy: Cursor' });
    await button.click();
    await expect.poll(() => button.innerText()).toBe('Copied');
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(JSON.parse(copied)).toEqual({ mcpServers: { 'under-test': { type: 'http', url: `${anonymous}mcp` } } });
    expect(complaints).toEqual([]);
  });

  it('copies a complete command, and works with the keyboard alone', async () => {
    const { page, complaints } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const copied = (): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');
    await page.getByRole('button', { name: 'Copy: Claude Code command' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(copied).toBe(`claude mcp add --scope user --transport http under-test ${anonymous}mcp`);
    expect(await page.getByRole('status').innerText()).toBe('Copied');
    await page.getByText('Cursor', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await expect.poll(copied).toBe(`vmcp connect cursor --url ${anonymous}mcp --name under-test`);
    expect(complaints).toEqual([]);
  });

  it('writes the address of the browser into the page of a gateway that does not know its own', async () => {
    const gateway = await startGateway({
      servers: [{ config: { ...configOver({ backends: [] }), name: 'other' }, host: '0.0.0.0', port: 0 }],
      management: { host: '127.0.0.1', port: 0 },
      log: createLog(new PassThrough().resume(), 'error'),
      version: '0.0.0',
    });
    testScope().defer(() => gateway.stop(0));
    const { page, complaints } = await open({});
    const root = new URL('/', gateway.servers[0]?.mcpUrl).href;
    await page.goto(`${root}mcp`);
    expect(page.url()).toBe(root);
    expect(await page.locator('#url').innerText()).toBe(`${root}mcp`);
    expect(await page.locator('#command-claude-code').innerText()).toContain(` --url ${root}mcp `);
    expect(await page.locator('main').textContent()).not.toContain('HOST');
    expect(complaints).toEqual([]);
  });

  it('breaks no word of a command', async () => {
    const { page } = await open({});
    const words = "'#own-claude-code span span, #command-claude-code span span'";
    expect(await page.evaluate(`document.querySelectorAll(${words}).length`)).toBeGreaterThan(12);
    for (const width of [390, 720, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      const divided = `[...document.querySelectorAll(${words})]
        .filter((word) => word.getClientRects().length > 1 || word.offsetHeight > 30).map((word) => word.textContent)`;
      expect(await page.evaluate(divided), String(width)).toEqual([]);
    }
  });

  it.each(['light', 'dark'] as const)('fits a phone, %s', async (colorScheme) => {
    const { page, complaints } = await open({ colorScheme, viewport: { width: 375, height: 740 } });
    await page.getByText('Claude Desktop', { exact: true }).click();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const [red = 0] =
      (await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')).match(/\d+/gu) ?? [];
    expect(Number(red) < 128).toBe(colorScheme === 'dark');
    expect(complaints).toEqual([]);
  });
});
