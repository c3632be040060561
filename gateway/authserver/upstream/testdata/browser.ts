export interface Visited {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly page: string;
  /** Absolute URL. */
  readonly location: string | undefined;
}

/** Minimal browser for logins: keeps cookies, follows redirects, and submits forms with a user name. */
export class Browser {
  /** Cookies of a host, shared by all its ports as in real browsers. */
  readonly #cookies = new Map<string, string>();
  readonly #stopAt: string;
  readonly #headers: Readonly<Record<string, string>>;

  /**
   * @param stopAt URL that it does not request: `login` ends there
   * @param headers sent with every request
   */
  constructor(stopAt: string, headers: Readonly<Record<string, string>> = {}) {
    this.#stopAt = stopAt;
    this.#headers = headers;
  }

  /** Cookies by name, with the values to send. */
  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies;
  }

  /** Logs in and approves consent. Returns the URL of the callback with its parameters. */
  async login(start: string, user: string): Promise<URL> {
    let next = { url: start, body: undefined as string | undefined };
    for (let steps = 0; steps < 30; steps += 1) {
      if (next.url.startsWith(this.#stopAt)) return new URL(next.url);
      const { location, page, url } = await this.visit(next.url, next.body);
      next = location === undefined ? this.fill(page, url, user) : { url: location, body: undefined };
    }
    throw new Error('the login does not end');
  }

  /** Sends one request, with `body` as form data, without following redirects. */
  async visit(url: string, body?: string, headers: Readonly<Record<string, string>> = {}): Promise<Visited> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { cookie, ...(body !== undefined && form), ...this.#headers, ...headers },
      redirect: 'manual',
      ...(body !== undefined && { body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]?.split(/=(.*)/su) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const location = response.headers.get('location');
    return {
      url,
      status: response.status,
      headers: response.headers,
      page: await response.text(),
      location: location === null ? undefined : new URL(location, url).href,
    };
  }

  /** Fills in the form of a page, and approves if there is a choice. */
  fill(page: string, url: string, user: string): { url: string; body: string } {
    const action = /<form[^>]* action="([^"]+)"/u.exec(page)?.[1];
    if (action === undefined) throw new Error(`no form on the page: ${page.slice(0, 500)}`);
    const hidden = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/gu)];
    const body = new URLSearchParams();
    for (const [, name = '', value = ''] of hidden) body.append(name, value);
    if (page.includes('name="login"')) body.set('login', user);
    if (page.includes('name="password"')) body.set('password', 'x');
    if (page.includes('name="decision"')) body.set('decision', 'approve');
    return { url: new URL(action, url).href, body: body.toString() };
  }
}

export const callbackOf = (url: URL) => {
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined;
  return {
    code: parameter('code'),
    iss: parameter('iss'),
    error: parameter('error'),
    errorDescription: parameter('error_description'),
  };
};
