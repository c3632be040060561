import type { Failure, Deny, PolicyCall, PolicyClient, PolicyDeps } from '../policy.ts';
import { readAnswer, type WebhookReply, type WebhookRole } from './answer.ts';
import { timeoutMsOf, type WebhookConfig } from './config.ts';
import { signatureHeaders, webhookBody } from './request.ts';

const MAX_REPLY_BYTES = 1024 * 1024;
/** Longest request body, in characters. A longer call cannot be judged, so it is denied. */
const MAX_REQUEST_LENGTH = 1024 * 1024;
/** RFC 2104 section 3 advises a key of at least the length of the hash. */
const MIN_KEY_BYTES = 32;

/** Effect of one webhook on a call: its refusal, or the arguments that the next one reads. */
export type WebhookResult = Deny | Failure | { readonly verdict: 'continue'; readonly arguments: Buffer | undefined };

/** One configured webhook with its own connections. */
export interface Webhook {
  /** Sends the call with these arguments. Never rejects. Ends at once when the client cancels the call. */
  ask(call: PolicyCall, args: Buffer | undefined): Promise<WebhookResult>;
}

/** Recorded result of one request: `outcome` for metrics, `detail` for the log. */
interface Judged {
  readonly outcome: string;
  readonly result: WebhookResult;
  readonly detail?: string | undefined;
}

/** Creates a webhook. It asks nothing yet. */
export function createWebhook(config: WebhookConfig, role: WebhookRole, deps: PolicyDeps): Webhook {
  const { tls_config: tls = {} } = config;
  const client = deps.createClient({
    url: config.url,
    allowPrivateIPs: config.allow_private_ips === true,
    insecureAllowHTTP: config.insecure_allow_http === true,
    caFile: tls.ca_bundle_path,
    certFile: tls.client_cert_path,
    keyFile: tls.client_key_path,
    insecureSkipVerify: tls.insecure_skip_verify,
  });
  return {
    async ask(call, args) {
      const startedAt = deps.now();
      const judged = await judge(call, args, { config, role, deps, client });
      const { outcome, detail } = judged;
      const { name } = config;
      deps.observeWebhook({ name, role, outcome, seconds: (deps.now() - startedAt) / 1_000 });
      if (detail !== undefined)
        deps.log.warn('a webhook gave no usable answer', { webhook: name, role, outcome, detail });
      return judged.result;
    },
  };
}

interface Parts {
  readonly config: WebhookConfig;
  readonly role: WebhookRole;
  readonly deps: PolicyDeps;
  readonly client: PolicyClient;
}

/** A webhook would judge one value, and the backend could read the other. */
const AMBIGUOUS = {
  verdict: 'deny',
  reason: 'ambiguous_arguments',
  message: 'two arguments have the same name, or names that differ only in case: send each argument once',
} as const;

const TOO_MANY = {
  verdict: 'deny',
  reason: 'too_many_arguments',
  message: 'the call has more than 1000 arguments: send fewer',
} as const;

function tooLarge(name: string): Judged {
  const message = `the call is too large for webhook "${name}" of the gateway: send shorter arguments`;
  return { outcome: 'request_too_large', result: { verdict: 'deny', reason: 'webhook_request_too_large', message } };
}

/** A character takes at most three bytes. */
const isTooLarge = (args: Buffer | undefined): boolean => (args?.length ?? 0) > 3 * MAX_REQUEST_LENGTH;

async function judge(call: PolicyCall, args: Buffer | undefined, parts: Parts): Promise<Judged> {
  const { config, role, deps } = parts;
  const { name } = config;
  if (isTooLarge(args)) return tooLarge(name);
  if (call.arguments && call.readArguments(() => false) === undefined)
    return { outcome: 'denied', result: call.hasTooManyArguments === true ? TOO_MANY : AMBIGUOUS };
  const uid = deps.newId();
  const facts = { uid, now: deps.now(), server: deps.server, namespace: deps.namespace, claims: config.claims ?? [] };
  const body = webhookBody(call, args, facts);
  if (body.length > MAX_REQUEST_LENGTH) return tooLarge(name);
  const signature = signatureOf(body, config, deps);
  if ('fault' in signature) return { outcome: 'misconfigured', result: failed(config), detail: signature.fault };
  const reply = await send(call, body, signature.headers, parts);
  if (call.signal.aborted) return { outcome: 'cancelled', result: failed(config) };
  if ('fault' in reply) return unanswered(reply.kind, reply.fault, args, config);
  const answer = readAnswer(reply, { role, uid, method: call.method, arguments: args });
  switch (answer.kind) {
    case 'allowed':
      return { outcome: 'allowed', result: { verdict: 'continue', arguments: args } };
    case 'mutated':
      return { outcome: 'mutated', result: { verdict: 'continue', arguments: answer.arguments } };
    case 'denied':
      return { outcome: 'denied', result: denied(name, answer.text) };
    case 'invalid':
      return unanswered('invalid', answer.detail, args, config);
    case 'forbidden_change':
      return { outcome: 'forbidden_change', result: failed(config), detail: answer.detail };
  }
}

interface Fault {
  readonly kind: string;
  readonly fault: string;
}

/** Signs the body. A key that cannot be used fails the call whatever the failure policy: the control is not set up. */
function signatureOf(
  body: string,
  { hmac_secret_ref: file }: WebhookConfig,
  { readSecret, now }: PolicyDeps,
): { readonly headers: Readonly<Record<string, string>> } | { readonly fault: string } {
  if (file === undefined) return { headers: {} };
  try {
    const key = readSecret(file);
    if (Buffer.byteLength(key) < MIN_KEY_BYTES) {
      return { fault: `the key in ${file} is shorter than ${String(MIN_KEY_BYTES)} bytes` };
    }
    return { headers: signatureHeaders(body, key, now()) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

async function send(
  { signal }: PolicyCall,
  body: string,
  signature: Readonly<Record<string, string>>,
  { config, client }: Parts,
): Promise<WebhookReply | Fault> {
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...signature };
  try {
    return await client({ headers, body, maxReplyBytes: MAX_REPLY_BYTES, timeoutMs: timeoutMsOf(config), signal });
  } catch (error) {
    const kind: unknown = error instanceof Error && 'kind' in error ? error.kind : undefined;
    const fault = error instanceof Error ? error.message : String(error);
    return { kind: typeof kind === 'string' ? kind : 'unreachable', fault };
  }
}

/** Applies the failure policy. */
const unanswered = (outcome: string, detail: string, args: Buffer | undefined, config: WebhookConfig): Judged => ({
  outcome,
  detail,
  result: config.failure_policy === 'ignore' ? { verdict: 'continue', arguments: args } : failed(config),
});

const failed = ({ name }: WebhookConfig): Failure => ({
  verdict: 'fail',
  reason: 'webhook_failed',
  message: `webhook "${name}" of the gateway gave no usable answer, so the call was not sent`,
});

const denied = (name: string, text: string | undefined): Deny => ({
  verdict: 'deny',
  reason: 'webhook_denied',
  message: `webhook "${name}" of the gateway denied the call${text === undefined ? '' : `: ${text}`}`,
});
