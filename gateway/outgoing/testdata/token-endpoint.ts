import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface TokenRequest {
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
  readonly body: string;
}

/** Writes the answer to one request, or never does. */
export type TokenAnswer = (res: ServerResponse, request: TokenRequest) => unknown;

export interface TokenEndpoint {
  readonly url: string;
  readonly seen: TokenRequest[];
  answer: TokenAnswer;
}

export const GOOD_REPLY = {
  access_token: 'exchanged',
  token_type: 'Bearer',
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  expires_in: 3_600,
};

export const json =
  (body: unknown, status = 200): TokenAnswer =>
  (res) =>
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** Tokens that tell whose they are and how many were given before: `alice-token@2`. */
export const numbered = (members: object = {}): TokenAnswer => {
  let count = 0;
  return (res, request) => {
    count += 1;
    const access_token = `${String(request.form.get('subject_token'))}@${String(count)}`;
    return json({ ...GOOD_REPLY, access_token, ...members })(res, request);
  };
};

/** Starts a token endpoint on a loopback port that sends the answers of the test. It stops with the test. */
export async function tokenEndpoint(answer: TokenAnswer = numbered()): Promise<TokenEndpoint> {
  const seen: TokenRequest[] = [];
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      const request = { headers: req.headers, form: new URLSearchParams(body), body };
      seen.push(request);
      return endpoint.answer(res, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const endpoint: TokenEndpoint = { url: `http://127.0.0.1:${String(port)}/token`, seen, answer };
  return endpoint;
}
