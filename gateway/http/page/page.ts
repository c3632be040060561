import { createHash } from 'node:crypto';
import { displayText, Html, markup } from './markup.ts';
import type { Response } from 'express';
/** Colours of the pages by theme. A test checks that each text has a contrast of 4.5:1 (WCAG 2.2, 1.4.3). */
export const PALETTE = {
  light: {
    page: '#f3f4f6',
    card: '#ffffff',
    text: '#1b1f24',
    quiet: '#525a65',
    line: '#c5cad2',
    edge: '#767d88',
    accent: '#1d4ed8',
    onAccent: '#ffffff',
    well: '#eef2fb',
    warning: '#fff3d1',
    onWarning: '#553600',
    warningEdge: '#a96a00',
  },
  dark: {
    page: '#101317',
    card: '#1a1f25',
    text: '#e9ebee',
    quiet: '#aab2bd',
    line: '#39414b',
    edge: '#7f8894',
    accent: '#8db5ff',
    onAccent: '#0a1a35',
    well: '#232b38',
    warning: '#382a08',
    onWarning: '#ffe2a0',
    warningEdge: '#d39a2a',
  },
} as const;

const variables = (colours: Readonly<Record<string, string>>): string =>
  Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');

/** Style sheet of all pages. The policy of a page contains the hash of its whole style sheet. */
const STYLE = `
:root{color-scheme:light dark;${variables(PALETTE.light)}}
@media (prefers-color-scheme:dark){:root{${variables(PALETTE.dark)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:36rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.25rem;color:var(--quiet);font-size:.875rem}
header p{margin:0 0 .75rem}
main{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding-top:1.5rem;padding-bottom:1.5rem}
footer{padding-top:.75rem;padding-bottom:2rem;color:var(--quiet);font-size:.875rem}
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}
h2{margin:1.5rem 0 .25rem;font-size:.875rem;font-weight:600;color:var(--quiet)}
p{margin:.5rem 0}
h2+p{margin-top:.25rem}
ul,ol{margin:.25rem 0;padding-left:1.5rem}
li{margin:.25rem 0}
a{color:var(--accent)}
code{font:.875em/1.4 ui-monospace,monospace;color:var(--quiet)}
.target{margin:.25rem 0 .75rem;padding:.75rem 1rem;background:var(--well);border-radius:.5rem}
.target strong{display:block;font:600 clamp(1.375rem,6vw,2rem)/1.25 ui-monospace,monospace}
.target span,.quiet{color:var(--quiet);font-size:.875rem}
.target code{color:var(--quiet)}
.warning{margin:.75rem 0;padding:.75rem 1rem;background:var(--warning);color:var(--onWarning)}
.warning{border-left:.25rem solid var(--warningEdge);border-radius:.25rem}
.answers{display:flex;flex-wrap:wrap;gap:.75rem}
form{position:sticky;bottom:0;margin:1.5rem -1.25rem -1.5rem;padding:.75rem 1.25rem;background:var(--card)}
form{border-top:1px solid var(--line);border-radius:0 0 .75rem .75rem}
@media (max-height:30rem){form{position:static}}
button{flex:1 1 9rem;min-height:3rem;padding:.5rem 1.25rem;border:1px solid var(--edge);border-radius:.5rem}
button{background:var(--card);color:var(--text);font:600 1rem/1.5 system-ui,sans-serif;cursor:pointer}
button.primary{background:var(--accent);border-color:var(--accent);color:var(--onAccent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
@media (max-width:38rem){main,form{border-radius:0}main{border-left:0;border-right:0}}
`;

/** HTML response. */
export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PageContent {
  readonly status: number;
  readonly title: string;
  /** Name of the server, above the page. */
  readonly server: string;
  readonly main: Html;
  readonly footer: Html;
  /** Allows the page to post a form. */
  readonly form: boolean;
  /** Style sheet of this page, behind the one of all pages. */
  readonly style?: string;
  /** Script of this page, which must be readable without it. */
  readonly script?: string;
}

const sourceOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/**
 * Returns the policy. A page with a form has no `form-action`, because browsers apply it to the redirects after the form too,
 * and those lead to the client. @see CSP Level 3 §6.4.1
 */
const contentSecurityPolicy = (style: string, { form, script }: PageContent): string =>
  [
    "default-src 'none'",
    `style-src ${sourceOf(style)}`,
    ...(script === undefined ? [] : [`script-src ${sourceOf(script)}`]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(form ? [] : ["form-action 'none'"]),
  ].join('; ');

/** Returns the headers. With `no-referrer`, browsers post a form with `Origin: null` and `Sec-Fetch-Site: same-origin`. */
const headersOf = (policy: string): Readonly<Record<string, string>> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policy,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
});

export function renderPage(content: PageContent): Page {
  const { status, title, server, main, footer, script } = content;
  const style = STYLE + (content.style ?? '');
  const body = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<header><p>${displayText(server)}</p></header>
<main>
${main}
</main>
<footer>
${footer}
</footer>
${script === undefined ? undefined : new Html(`<script>${script}</script>\n`)}</body>
</html>
`;
  return { status, headers: headersOf(contentSecurityPolicy(style, content)), body: body.toString() };
}

export function sendPage(res: Response, { status, headers, body }: Page): void {
  res.status(status).set(headers).send(body);
}
