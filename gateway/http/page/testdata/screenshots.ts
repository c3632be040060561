/** Takes screenshots of the pages in a real browser: `node gateway/http/page/testdata/screenshots.ts docs/images`. */
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { consentPage } from '../../../authserver/consent/consent-page.ts';
import { errorPage } from '../../../authserver/consent/error-page.ts';
import { QUESTIONS } from '../../../authserver/consent/testdata/questions.ts';
import { landingPage } from '../../../landing/landing-page.ts';

const CHROMIUM = '/usr/bin/chromium';
const out = resolve(process.argv[2] ?? '.');
const facts = { server: 'auth.tools.example', requestId: '7f9c2ba4', pageUrl: 'https://tools.example/' };
const error = errorPage('redirect_uri', facts).body;
const { document, loopback, app } = QUESTIONS;
const LANDING = {
  name: 'quickstart',
  url: 'http://127.0.0.1:4483/mcp',
  issuer: undefined,
  program: 'bin/vmcp',
  inside: {
    version: '0.1.0',
    backends: [
      { name: 'everything', state: 'healthy', tools: 13 },
      { name: 'memory', state: 'healthy', tools: 9 },
    ],
  },
};
const TEAM = { name: 'engineering-tools', url: 'https://tools.example.com/mcp', issuer: 'https://login.example.com' };
interface Shot {
  readonly name: string;
  readonly body: string;
  readonly width: number;
  readonly height: number;
  readonly dark: boolean;
}
const desktop = { width: 720, height: 900 };
const phone = { width: 375, height: 740 };
const SHOTS: readonly Shot[] = [
  { name: 'consent-desktop-light', body: consentPage(document).body, ...desktop, dark: false },
  { name: 'consent-desktop-dark', body: consentPage(loopback).body, ...desktop, dark: true },
  { name: 'consent-phone-light', body: consentPage(loopback).body, ...phone, dark: false },
  { name: 'consent-phone-dark', body: consentPage(app).body, ...phone, dark: true },
  { name: 'consent-error-light', body: error, width: 720, height: 460, dark: false },
  { name: 'page-desktop-light', body: landingPage(LANDING).body, ...desktop, dark: false },
  { name: 'page-phone-dark', body: landingPage(TEAM).body, ...phone, height: 900, dark: true },
];

const browser = await chromium.launch({ executablePath: CHROMIUM });
for (const { name, body, width, height, dark } of SHOTS) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light' });
  await page.setContent(body);
  const isConsent = name.startsWith('consent-desktop'); // shown whole
  if (isConsent) await page.setViewportSize({ width, height: await page.evaluate<number>('document.documentElement.scrollHeight') });
  await page.screenshot({ path: join(out, `${name}.png`) });
  await page.close();
}
await browser.close();
