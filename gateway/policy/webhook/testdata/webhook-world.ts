import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { createPolicyClient } from '../../../policies-of.ts';
import { createAuthority } from '../../../outbound/testdata/authority.ts';
import { serve } from '../../../outbound/testdata/servers.ts';
import { readSecretFile } from '../../../outbound/watched-file.ts';
import type { PolicyDeps, ServiceUse } from '../../policy.ts';
import { policyDeps } from '../../testdata/policy-deps.ts';
import type { WebhookConfig } from '../config.ts';

/** Body of a request, as docs/policies/webhooks.md describes it. */
export interface WebhookBody {
  readonly version: string;
  readonly uid: string;
  readonly timestamp: string;
  readonly principal: object | null;
  readonly context: object;
  readonly mcp_request: {
    readonly method: string;
    readonly params: { readonly name?: string; readonly arguments?: Readonly<Record<string, unknown>> };
  };
}

export interface Received {
  readonly body: WebhookBody;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** Common name of the client's certificate. */
  readonly client: string | undefined;
}

type Answer = (received: Received, res: ServerResponse) => object | undefined;

/** An authority, a folder of files, and what a policy gets from the gateway. Ends with the test. */
export async function webhookWorld() {
  const dir = await mkdtemp(join(tmpdir(), 'vmcp-webhook-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const authority = createAuthority('webhooks');
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(dir, name), content);
    return join(dir, name);
  };
  const ca = await file('ca.pem', authority.cert);
  const uses: Omit<ServiceUse, 'seconds'>[] = [];
  const logged: string[] = [];
  const log = { warn: (message: string, facts: object = {}) => void logged.push(`${message} ${JSON.stringify(facts)}`) };
  const deps: PolicyDeps = {
    ...policyDeps(),
    now: Date.now,
    log,
    readSecret: readSecretFile,
    createClient: (options) => createPolicyClient(options, log),
    observeWebhook: ({ seconds: _, ...use }) => void uses.push(use),
  };

  /** Starts an HTTPS webhook. `answer` returns the JSON of its reply, or undefined when it replies itself. */
  const webhook = async (name: string, answer: Answer, config: Partial<WebhookConfig> = {}, tls: object = {}) => {
    const received: Received[] = [];
    const onRequest: RequestListener = (req, res) => {
      const client = req.socket instanceof TLSSocket ? peerOf(req.socket) : undefined;
      void text(req).then((body) => {
        const one = { body: JSON.parse(body) as WebhookBody, text: body, headers: req.headers, client };
        received.push(one);
        const reply = answer(one, res);
        if (reply) res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
      });
    };
    const server = await serve(onRequest, { tls: { ...authority.sign('IP:127.0.0.1'), ...tls } });
    const url = `https://127.0.0.1:${String(server.port)}/hook`;
    const trust = { tls_config: { ca_bundle_path: ca } };
    return { received, server, config: { name, url, ...trust, ...config } };
  };
  return { deps, uses, logged, file, ca, authority, webhook };
}

/** Answer that sets one argument. */
export const setting = (key: string, value: unknown): object => ({
  allowed: true,
  patch_type: 'json_patch',
  patch: [{ op: 'add', path: `/mcp_request/params/arguments/${key}`, value }],
});

const peerOf = (socket: TLSSocket): string | undefined => {
  const { subject } = socket.getPeerCertificate() as { readonly subject?: { readonly CN?: string } };
  return subject?.CN;
};
