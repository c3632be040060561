import type { FormPost, FormReply } from '../outgoing/authenticator.ts';
import { createOutbound, type Outbound, type OutboundOptions } from './fetch.ts';
import { policyFor } from './policy.ts';
import type { Logger } from '../contract/logger.ts';

/** Form POSTs to token endpoints. Rejects with `OutboundError`; redirects are replies. */
export interface FormPoster {
  (post: FormPost): Promise<FormReply>;
  close(): Promise<void>;
}

/** One guard per set of flags, each with its own keep-alive connections per origin. */
export function createFormPoster(
  log?: Pick<Logger, 'warn'>,
  { lookup }: Pick<OutboundOptions, 'lookup'> = {},
): FormPoster {
  const guards = new Map<string, Outbound>();
  const guardOf = ({ url, allowPrivateIPs, insecureAllowHTTP }: FormPost): Outbound => {
    const policy = policyFor(url, { allowPrivateIPs, insecureAllowHTTP });
    const key = JSON.stringify([policy, URL.parse(url)?.host]);
    const guard = guards.get(key) ?? createOutbound({ policy, configuredUrl: url, log, lookup });
    guards.set(key, guard);
    return guard;
  };
  const post = async (form: FormPost): Promise<FormReply> => {
    const { status, contentType, body } = await guardOf(form).request({
      url: form.url,
      method: 'POST',
      headers: {
        accept: 'application/json',
        ...form.headers,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(form.form).toString(),
      maxBytes: form.maxReplyBytes,
      timeoutMs: form.timeoutMs,
    });
    return { status, contentType, body };
  };
  const close = async (): Promise<void> => {
    await Promise.all([...guards.values()].map((guard) => guard.close()));
  };
  return Object.assign(post, { close });
}
