import { createHash } from 'node:crypto';
import { displayText } from '../clients/metadata/display-text.ts';
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
  /** Host of the issuer. */
  readonly server: string;
  readonly main: Html;
  readonly footer: Html;
  /** Allows the page to post a form. */
  readonly form: boolean;
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/**
 * Returns the policy. A page with a form has no `form-action`, because browsers apply it to the redirects after the form too,
 * and those lead to the client. @see CSP Level 3 §6.4.1
 */
const contentSecurityPolicy = (form: boolean): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(form ? [] : ["form-action 'none'"]),
  ].join('; ');

/** Returns the headers. With `no-referrer`, browsers post a form with `Origin: null` and `Sec-Fetch-Site: same-origin`. */
const headersOf = (form: boolean): Readonly<Record<string, string>> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy(form),
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
});

export function renderPage({ status, title, server, main, footer, form }: PageContent): Page {
  const body = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<header><p>${displayText(server)}</p></header>
<main>
${main}
</main>
<footer>
${footer}
</footer>
</body>
</html>
`;
  return { status, headers: headersOf(form), body: body.toString() };
}
