/** Takes screenshots of the pages in a real browser: `node gateway/authserver/consent/testdata/screenshots.ts docs/images`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { consentPage } from '../consent-page.ts';
import { errorPage } from '../error-page.ts';
import { QUESTIONS } from './questions.ts';

const CHROMIUM = '/usr/bin/chromium';
const out = resolve(process.argv[2] ?? '.');
const facts = { server: 'auth.tools.example', requestId: '7f9c2ba4' };
const error = errorPage('redirect_uri', facts).body;
const { document, loopback, app } = QUESTIONS;

interface Shot {
  readonly name: string;
  readonly body: string;
  readonly width: number;
  readonly height: number;
  readonly dark: boolean;
}
const desktop = { width: 720, height: 900 };
const phone = { width: 390, height: 1120 };
const SHOTS: readonly Shot[] = [
  { name: 'consent-desktop-light', body: consentPage(document).body, ...desktop, dark: false },
  { name: 'consent-desktop-dark', body: consentPage(loopback).body, ...desktop, height: 960, dark: true },
  { name: 'consent-phone-light', body: consentPage(loopback).body, ...phone, dark: false },
  { name: 'consent-phone-dark', body: consentPage(app).body, ...phone, dark: true },
  { name: 'consent-error-light', body: error, width: 720, height: 360, dark: false },
];

const dir = mkdtempSync(join(tmpdir(), 'vmcp-pages-'));
for (const { name, body, width, height, dark } of SHOTS) {
  const [page, frame] = [join(dir, `${name}.html`), join(dir, `${name}-frame.html`)];
  writeFileSync(page, body);
  // Chromium windows cannot be as narrow as a phone, but frames can
  const style = `border:0;width:${String(width)}px;height:${String(height)}px`;
  writeFileSync(frame, `<body style="margin:0;overflow:hidden;background:#888"><iframe src="${page}" style="${style}"></iframe>`);
  execFileSync(CHROMIUM, [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    `--user-data-dir=${join(dir, 'profile')}`,
    `--blink-settings=preferredColorScheme=${dark ? '0' : '1'}`,
    `--window-size=${String(width)},${String(height)}`,
    `--screenshot=${join(out, `${name}.png`)}`,
    `file://${frame}`,
  ], { stdio: 'ignore' }); // prettier-ignore
}
rmSync(dir, { recursive: true, maxRetries: 5 });
