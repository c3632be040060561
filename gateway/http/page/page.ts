import { createHash } from 'node:crypto';
import { displayText } from './display-text.ts';
import { Html, markup } from './markup.ts';
import { STYLE } from './style.ts';

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
