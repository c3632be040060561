import type { Outbound } from '../../../outbound/fetch.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { faultOf } from '../protocol/fault-of.ts';
import { STANDARD_FIELDS, type IdentityFields } from './identity-fields.ts';
import { UpstreamError } from '../upstream-error.ts';
import type { UserInfoConfig } from '../../../contract/run-config/upstreams.ts';
import { isObject } from '../../../contract/json.ts';

const MAX_REPLY_BYTES = 1024 * 1024;
const WHAT = 'the userinfo request';

export interface UserInfoRequest {
  readonly url: string;
  readonly accessToken: string;
  readonly config: UserInfoConfig;
  readonly outbound: Outbound;
  readonly timeoutMs: number;
}

type Document = Readonly<Record<string, unknown>>;

export const fieldsOf = ({ field_mapping: mapping }: UserInfoConfig): IdentityFields => ({
  subject: mapping?.subject_fields ?? STANDARD_FIELDS.subject,
  name: mapping?.name_fields ?? STANDARD_FIELDS.name,
  email: mapping?.email_fields ?? STANDARD_FIELDS.email,
});

/** Fetches the userinfo document for an access token. Rejects with `UpstreamError`. */
export async function fetchUserInfo({
  url,
  accessToken,
  config,
  outbound,
  timeoutMs,
}: UserInfoRequest): Promise<Document> {
  const method = config.http_method === 'POST' ? 'POST' : 'GET';
  const headers = {
    accept: 'application/json',
    'user-agent': 'vmcp', // GitHub requires one
    ...lowerCase(config.additional_headers ?? {}),
    authorization: `Bearer ${accessToken}`,
    ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
  };
  const body = method === 'POST' ? '' : undefined;
  try {
    const reply = await outbound.request({ url, method, headers, body, maxBytes: MAX_REPLY_BYTES, timeoutMs });
    return objectIn(reply.status, reply.body);
  } catch (error) {
    throw faultOf(error, { what: WHAT, status: undefined });
  }
}

function objectIn(status: number, body: string): Document {
  if (status !== 200) {
    const fault = status >= 500 || status === 429 || status === 408 ? 'unavailable' : 'bad_reply';
    throw new UpstreamError(fault, `${WHAT} failed: the provider answered ${String(status)}`);
  }
  try {
    const document = parseExactJson(body);
    if (isObject(document)) return document;
  } catch {
    // reported below, without the content
  }
  throw new UpstreamError('bad_reply', `${WHAT} failed: the reply is not a JSON object`);
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
