import { randomBytes } from 'node:crypto';
import { raw } from '../clients/raw.ts';
import { CookieJar } from './cookie-jar.ts';
import { formsOf, type Form } from './html-form.ts';

/** A page that the browser showed. */
export interface Shown {
  readonly url: URL;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** End of a navigation: a page, or the URL of a client, which is not opened. */
export type End = { readonly page: Shown } | { readonly client: URL };

export interface BrowserOptions {
  /** Name of the user, by host and port or everywhere. */
  readonly user?: string | ((host: string) => string);
  /** Prefixes of the clients' URLs. */
  readonly clients?: readonly string[];
  /** Password of the user. */
  readonly password?: string;
  readonly cookies?: CookieJar;
}

const MAX_STEPS = 30;

/** A browser without scripts, with a user: cookies, redirects, and forms that it fills in. */
export class ScriptedBrowser {
  readonly cookies: CookieJar;
  /** Every page, the newest last. */
  readonly pages: Shown[] = [];
  /** Every URL that was opened or returned to a client. */
  readonly visited: URL[] = [];
  /** The button that it presses on the consent page. */
  decision: 'approve' | 'deny' = 'approve';
  readonly #user: (host: string) => string;
  readonly #clients: readonly string[];
  readonly #password: string;

  constructor(options: BrowserOptions = {}) {
    const { user = `user-${randomBytes(4).toString('hex')}`, clients = CLIENT_URLS, password = 'any' } = options;
    this.#user = typeof user === 'string' ? () => user : user;
    this.#clients = clients;
    this.#password = password;
    this.cookies = options.cookies ?? new CookieJar();
  }

  /** Opens a URL like a user who types it, and follows its redirects. */
  open(url: string | URL): Promise<End> {
    return this.#walk(new URL(url), undefined, undefined);
  }

  /** Presses the first button, or the first with this name and value; fills in `fields` before. */
  press(page: Shown, button?: readonly [name: string, value: string], fields: Readonly<Record<string, string>> = {}) {
    const form = formsOf(page.body).find(({ buttons }) => button === undefined || hasButton(buttons, button));
    if (!form) throw new Error(`there is no such button on ${page.url.href}: ${page.body.slice(0, 800)}`);
    const filled = new URLSearchParams({ ...form.hidden, ...fields, ...(button && { [button[0]]: button[1] }) });
    return this.#walk(new URL(form.action ?? page.url.href, page.url), filled, page.url);
  }

  /** Logs in on every login page, presses `decision` on consent pages, and returns the URL of the client. */
  async login(start: string | URL): Promise<URL> {
    let end = await this.open(start);
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if ('client' in end) return end.client;
      end = await this.answer(end.page);
    }
    throw new Error(`the login does not end: ${this.visited.map(({ pathname }) => pathname).join(' ')}`);
  }

  /** Fills in and sends the form of a page. Throws an Error that quotes a page without a form. */
  answer(page: Shown): Promise<End> {
    const [form] = formsOf(page.body);
    if (!form) throw new Error(`nothing to press on ${page.url.href} (${String(page.status)}): ${page.body}`);
    const typed = typedIn(form, this.#user(page.url.host), this.#password);
    const decision = ['decision', this.decision] as const;
    return this.press(page, hasButton(form.buttons, decision) ? decision : undefined, typed);
  }

  async #walk(start: URL, form: URLSearchParams | undefined, from: URL | undefined): Promise<End> {
    let [url, body, initiator] = [start, form, from];
    for (let step = 0; step < MAX_STEPS; step += 1) {
      this.visited.push(url);
      if (this.#clients.some((prefix) => url.href.startsWith(prefix))) return { client: url };
      const shown = await this.#load(url, body, initiator);
      const { location } = shown.headers;
      if (typeof location !== 'string' || shown.status < 300 || shown.status > 399) {
        this.pages.push(shown);
        return { page: shown };
      }
      if (shown.status === 307 || shown.status === 308) throw new Error(`${url.pathname} repeats the form elsewhere`);
      [url, body, initiator] = [new URL(location, url), undefined, url];
    }
    throw new Error(`redirects do not end: ${url.href}`);
  }

  async #load(url: URL, form: URLSearchParams | undefined, initiator: URL | undefined): Promise<Shown> {
    const crossSite = initiator !== undefined && initiator.hostname !== url.hostname;
    const method = form ? 'POST' : 'GET';
    const cookie = this.cookies.header(url, { crossSite, method });
    const answer = await raw(url.href, {
      method,
      headers: {
        accept: 'text/html',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        'sec-fetch-site': fetchSite(initiator, url),
        ...(cookie !== '' && { cookie }),
        // The pages send `Referrer-Policy: no-referrer`, so the browser sends `Origin: null`.
        ...(form && { origin: 'null', 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: form.toString() }),
    });
    this.cookies.keep(url, answer.headers['set-cookie'] ?? []);
    return { url, ...answer };
  }
}

/** Redirect URI of test clients. Nothing listens there. */
export const CLIENT_URL = 'http://127.0.0.1:33418/callback';
const CLIENT_URLS = [CLIENT_URL];

const hasButton = (buttons: Form['buttons'], [name, value]: readonly [string, string]): boolean =>
  buttons.some((button) => button.name === name && button.value === value);

function typedIn({ texts }: Form, user: string, password: string): Record<string, string> {
  return Object.fromEntries(texts.map((name) => [name, name === 'password' ? password : user]));
}

/** @see https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header */
function fetchSite(initiator: URL | undefined, url: URL): string {
  if (!initiator) return 'none';
  if (initiator.origin === url.origin) return 'same-origin';
  return initiator.hostname === url.hostname && initiator.protocol === url.protocol ? 'same-site' : 'cross-site';
}
