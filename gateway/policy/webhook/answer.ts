import { methodOf } from '../../contract/protocol/methods.ts';
import { isObject } from '../../contract/json.ts';
import { parseExactly, applyPatch, PatchError, pointerTokens, readPatch, type PatchOperation } from './json-patch.ts';
import { WEBHOOK_VERSION } from './request.ts';

/** Role of a webhook in the configuration. Only a mutating one may change arguments. */
export type WebhookRole = 'mutating' | 'validating';

/** HTTP reply of a webhook. */
export interface WebhookReply {
  readonly status: number;
  readonly body: string;
}

export type WebhookAnswer =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'mutated'; readonly arguments: Buffer }
  | { readonly kind: 'denied'; readonly text: string | undefined }
  /** No usable answer: `failure_policy` decides. */
  | { readonly kind: 'invalid'; readonly detail: string }
  /** The webhook changes a part of the call that none may change. The call is rejected, whatever `failure_policy` says. */
  | { readonly kind: 'forbidden_change'; readonly detail: string };

/** The call that an answer belongs to. */
export interface AskedCall {
  readonly role: WebhookRole;
  readonly uid: string;
  readonly method: string;
  /** JSON text of the arguments that the webhook received. */
  readonly arguments: Buffer | undefined;
}

const MAX_TEXT = 300;
/** White space, control and format characters, among them those that reverse the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Z}\p{Cs}]+/gu;
/** Prefix of every path that a patch may change. */
const ARGUMENTS = ['mcp_request', 'params', 'arguments'];

const invalid = (detail: string): WebhookAnswer => ({ kind: 'invalid', detail });

/** Reads the reply of a webhook. Only 200 is an answer; 422 always denies. @see docs/policies/webhooks.md */
export function readAnswer({ status, body }: WebhookReply, call: AskedCall): WebhookAnswer {
  if (status === 422) return { kind: 'denied', text: undefined };
  if (status !== 200) return invalid(`it answered HTTP ${String(status)}`);
  const answer = parse(body);
  if (!isObject(answer)) return invalid('its answer is not a JSON object');
  const { version, uid, allowed } = answer;
  if (typeof allowed !== 'boolean') return invalid('its answer has no boolean "allowed"');
  if (version !== undefined && version !== WEBHOOK_VERSION) return invalid('its answer has an unknown "version"');
  if (uid !== undefined && uid !== call.uid) return invalid('its answer has the "uid" of another request');
  if (!allowed) return { kind: 'denied', text: sentenceOf(answer['message']) ?? sentenceOf(answer['reason']) };
  return change(answer['patch_type'], answer['patch'], call);
}

function parse(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

/** Returns text for the user: one line of at most 300 characters, without control characters. */
function sentenceOf(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const line = text
    .slice(0, 4 * MAX_TEXT)
    .replaceAll(UNPRINTABLE, ' ')
    .trim();
  const characters = Array.from(line);
  if (characters.length > MAX_TEXT) return `${characters.slice(0, MAX_TEXT - 1).join('')}…`;
  return line === '' ? undefined : line;
}

function change(type: unknown, patch: unknown, call: AskedCall): WebhookAnswer {
  if (patch === undefined || patch === null) return { kind: 'allowed' };
  if (call.role === 'validating') return { kind: 'forbidden_change', detail: 'it is validating and sent a patch' };
  if (type !== 'json_patch') return invalid('its answer has a patch without "patch_type": "json_patch"');
  try {
    const operations = readPatch(patch);
    if (operations.length === 0) return { kind: 'allowed' };
    return operations.every(staysInArguments) && methodOf(call.method).hasArguments
      ? patched(operations, call)
      : { kind: 'forbidden_change', detail: 'its patch changes more than /mcp_request/params/arguments' };
  } catch (error) {
    if (error instanceof PatchError) return invalid(error.message);
    if (error instanceof RangeError) return invalid('its patch nests values too deeply');
    throw error;
  }
}

/** Returns true when an operation reads and writes arguments only. */
const staysInArguments = ({ path, from }: PatchOperation): boolean =>
  [path, ...(from === undefined ? [] : [from])].every((pointer) => {
    const tokens = pointerTokens(pointer);
    return ARGUMENTS.every((token, index) => tokens[index] === token);
  });

function patched(operations: readonly PatchOperation[], { method, arguments: before }: AskedCall): WebhookAnswer {
  const params = before ? { arguments: parseExactly(before.toString('utf8')) } : {};
  const document = applyPatch({ mcp_request: { params } }, operations) as {
    readonly mcp_request: { readonly params: { readonly arguments?: unknown } };
  };
  const { arguments: after = {} } = document.mcp_request.params;
  const text = JSON.stringify(after);
  if (!text.startsWith('{')) return invalid('its patch leaves arguments that are not an object');
  if (method === 'prompts/get' && !Object.values(after as object).every((value) => typeof value === 'string')) {
    return invalid('its patch leaves an argument of a prompt that is not a string');
  }
  return { kind: 'mutated', arguments: Buffer.from(text) };
}
