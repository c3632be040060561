import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/poll.ts';
import type { Scope } from '../harness/scope.ts';
import { root, runCommand } from '../harness/vmcp.ts';

const CHROMIUM = '/usr/bin/chromium';
const INSPECTOR = join(root, 'node_modules', '.bin', 'mcp-inspector');
const PAGE = /http:\/\/127\.0\.0\.1:\d+\/?\?MCP_INSPECTOR_API_TOKEN=\w+/u;

/** Takes docs/images/client-inspector.png: the page of the MCP Inspector after a call of `everything_echo` at `url`. */
export async function takeClientPicture(scope: Scope, url: string): Promise<void> {
  const address = await startInspector(scope, url);
  const browser = await chromium.launch({ executablePath: CHROMIUM });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 560 }, colorScheme: 'light' });
    await page.goto(address);
    await callEcho(page);
    await page.screenshot({ path: join(root, 'docs', 'images', 'client-inspector.png') });
  } finally {
    await browser.close();
  }
}

/** Starts the Inspector for `url` without its own browser, and returns the address of its page. */
async function startInspector(scope: Scope, url: string): Promise<string> {
  const env = {
    CLIENT_PORT: String(await freePort()),
    MCP_AUTO_OPEN_ENABLED: 'false',
    MCP_INSPECTOR_SECRET_STORE: 'memory',
  };
  const inspector = await runCommand(scope, [INSPECTOR, '--server-url', url, '--transport', 'http'], { env });
  return eventually('the page of the Inspector', () => PAGE.exec(inspector.output())?.[0], { timeoutMs: 60_000 });
}

/** Connects, calls the tool `everything_echo`, waits for its result, and lists tools of both servers. */
async function callEcho(page: Page): Promise<void> {
  await page.getByLabel(/^Connect or disconnect/u).click({ force: true });
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByLabel('Close monitoring sidebar').click();
  await page.getByText('Tools', { exact: true }).first().click();
  await page.getByText('everything_echo').click();
  await page.getByLabel('message *').fill('hello');
  await page.getByRole('button', { name: 'Execute Tool' }).click();
  await page.getByText('Echo: hello').waitFor();
  await page.getByPlaceholder('Search tools...').fill('ch');
  await page.getByText('memory_search_nodes').waitFor();
}
