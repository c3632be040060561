/**
 * Load of W8: `--workers` browsers log in at the authorization server of the gateway repeatedly for `--seconds`.
 * Prints one `Load` as a JSON line; a request is a whole grant: authorize, consent, redirects to the provider and back,
 * token. Every browser logs in once before the measurement; its approval is remembered, unless `--ask`.
 */
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { reportAndExit } from './load.ts';
import { cookiesOf, headerOf, RawConnection, type RawReply } from './raw-connection.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '' },
    client: { type: 'string', default: '' },
    redirect: { type: 'string', default: '' },
    resource: { type: 'string', default: '' },
    users: { type: 'string', default: '32' },
    workers: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '4' },
    ask: { type: 'boolean', default: false },
  },
});
const port = Number(values.port);
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
// Headers of a form on a page with `Referrer-Policy: no-referrer`.
const SAME_ORIGIN = 'Origin: null\r\nSec-Fetch-Site: same-origin\r\n';
// One verifier for all logins: the work of the client is not measured.
const VERIFIER = 'v'.repeat(64);
const AUTHORIZE = `/oauth/authorize?${new URLSearchParams({
  response_type: 'code',
  client_id: values.client,
  redirect_uri: values.redirect,
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
  scope: 'openid offline_access',
  resource: values.resource,
  state: 'state-of-the-client',
}).toString()}`;
const TOKEN = `${new URLSearchParams({
  grant_type: 'authorization_code',
  client_id: values.client,
  redirect_uri: values.redirect,
  code_verifier: VERIFIER,
  resource: values.resource,
}).toString()}&code=`;

const latencies: number[] = [];
const failures: Record<string, number> = {};
let grants = 0;

/** Returns the target of a redirect. @throws Error with the text of any other reply */
function locationOf(reply: RawReply, step: string): string {
  const location = headerOf(reply, 'location');
  if (reply.status === 303 && location !== undefined) return location;
  const said = /<h1>[^<]*/u.exec(reply.body)?.[0].slice(4) ?? reply.body.slice(0, 200);
  throw new Error(`${step} answered ${String(reply.status)}: ${said}`);
}

const queryValue = (url: string, name: string): string => new RegExp(`[?&]${name}=([^&]*)`, 'u').exec(url)?.[1] ?? '';
const fieldOf = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`, 'u').exec(html)?.[1] ?? '';

/** A browser together with its client. */
class Browser {
  readonly #connection = new RawConnection(port);
  /** Cookies of approvals, which remain valid after a login. */
  #remembered = '';

  async grant(): Promise<void> {
    const { location, cookies } = await this.#authorize();
    const user = `user-${String(grants++ % Number(values.users))}`;
    const state = queryValue(location, 'state');
    const callback = `/oauth/callback?code=${user}.${queryValue(location, 'nonce')}&state=${state}`;
    const back = await this.#connection.send('GET', callback, `Cookie: ${cookies}\r\n`);
    const code = queryValue(locationOf(back, 'callback'), 'code');
    if (code === '') throw new Error(`callback sent ${locationOf(back, 'callback')}`);
    const reply = await this.#connection.send('POST', '/oauth/token', FORM, TOKEN + code);
    if (reply.status !== 200 || !reply.body.includes('"refresh_token":"')) {
      throw new Error(`token answered ${String(reply.status)}: ${reply.body.slice(0, 200)}`);
    }
  }

  /** Opens the page and approves it if necessary. Resolves to the URL of the provider and the cookies of this login. */
  async #authorize(): Promise<{ location: string; cookies: string }> {
    const known = values.ask || this.#remembered === '' ? '' : `Cookie: ${this.#remembered}\r\n`;
    const page = await this.#connection.send('GET', AUTHORIZE, known);
    const cookies = cookiesOf(page).join('; ');
    if (page.status !== 200) return { location: locationOf(page, 'authorize'), cookies };
    if (known !== '') throw new Error('an approval was not remembered');
    const names = ['transaction', 'csrf'].map((name) => `${name}=${encodeURIComponent(fieldOf(page.body, name))}`);
    const headers = `${FORM}${SAME_ORIGIN}Cookie: ${cookies}\r\n`;
    const answer = await this.#connection.send(
      'POST',
      '/oauth/consent',
      headers,
      `${names.join('&')}&decision=approve`,
    );
    this.#remembered = cookiesOf(answer).join('; ');
    return { location: locationOf(answer, 'approval'), cookies };
  }
}

async function worker(browser: Browser, deadline: number): Promise<void> {
  while (performance.now() < deadline) {
    const begun = performance.now();
    try {
      await browser.grant();
      latencies.push(performance.now() - begun);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      failures[reason] = (failures[reason] ?? 0) + 1;
      if (failures[reason] > 100) return; // the other attempts would fail too
    }
  }
}

const browsers = Array.from({ length: Number(values.workers) }, () => new Browser());
await Promise.all(browsers.map((browser) => browser.grant()));
const startedAt = performance.now();
await Promise.all(browsers.map((browser) => worker(browser, startedAt + Number(values.seconds) * 1_000)));
reportAndExit(startedAt, latencies, failures);
