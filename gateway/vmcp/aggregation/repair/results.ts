import { readString, scanBackendEnvelope } from '../../../http/json-scan.ts';
import { isArraySpan, isObjectSpan, memberOf, splice, type Span } from '../../../http/json-walk.ts';
import { shortText } from '../../../http/short-text.ts';
import { revisionOf } from '../../../contract/protocol/revisions.ts';
import {
  absent,
  anyObject,
  becomes,
  faultOf,
  ifObject,
  isEmptyList,
  isEmptyObject,
  isNull,
  list,
  needed,
  object,
  present,
  text,
  textOf,
  type Fault,
  type Fill,
  type Form,
  type Report,
  type Value,
} from './forms.ts';
import { annotations, resource, type Repair } from './list-items.ts';

/** The two ends of a call. 2026-07-28 has any structured content, older revisions only objects. */
interface Ends {
  readonly isAnyFrom: boolean;
  readonly isAnyTo: boolean;
  /** URI of a resource at the backend. */
  readonly name: string;
}

/** Form of the results of a method. */
type FormOf = (bytes: Buffer, result: Span, ends: Ends) => Form;

const meta = object({ progressToken: present });

/** Takes null for an empty text, and another value for its JSON text. */
const asText: Form = (value, report) => {
  if (isNull(value)) return becomes('""', faultOf(value, 'is null'), report);
  const fault = text(value, report);
  if (typeof fault !== 'object') return undefined;
  report(fault, ' and becomes its JSON text');
  return JSON.stringify(textOf(value));
};

const CONTENTS = { uri: text, mimeType: text, _meta: meta };

/** Returns the form of the contents of a resource: a text, or a blob. `uri` fills in a missing URI. */
const contentsOf = (uri: Fill): Form => {
  const withBlob = object({ ...CONTENTS, text: present }, { uri });
  const withText = object({ ...CONTENTS, blob: present, text: asText }, { uri, text: absent('""') });
  return (value, report) => {
    const blob = memberOf(value.text, value.span, 'blob');
    return (blob && readString(value.text, blob) !== undefined ? withBlob : withText)(value, report);
  };
};

const OPTIONAL = { annotations, _meta: meta };
const media = object({ ...OPTIONAL, data: text, mimeType: text }, { data: needed, mimeType: needed });

/** Takes content with a text for a text. */
const typeOfText: Fill = (_, get) =>
  get('text') === undefined ? undefined : { text: '"text"', outcome: ' and becomes "text"' };

/** Forms of the blocks of content, by type. Other types may be of newer revisions. */
const BLOCKS: ReadonlyMap<string | undefined, Form> = new Map<string | undefined, Form>([
  ['text', object({ ...OPTIONAL, text: asText }, { text: absent('""') })],
  ['image', media],
  ['audio', media],
  ['resource_link', resource],
  ['resource', object({ ...OPTIONAL, resource: contentsOf(needed) }, { resource: needed })],
  [undefined, object({ ...OPTIONAL, type: text }, { type: typeOfText })],
]);

function becomesText(repaired: string, value: Value, report: Report): string {
  report(faultOf(value, 'is a string'), ' and becomes a text');
  return repaired;
}

const block: Form = (value, report) => {
  if (readString(value.text, value.span) !== undefined)
    return becomesText(`{"type":"text","text":${textOf(value)}}`, value, report);
  const type = readString(value.text, memberOf(value.text, value.span, 'type'));
  return (BLOCKS.get(type) ?? present)(value, report);
};
const blocks = list(block);

/** Takes a block, or a text, in place of the list for its only element. */
const blocksOrOne: Form = (value, report) => {
  if (isNull(value) || isArraySpan(value.text, value.span) || isEmptyObject(value)) return blocks(value, report);
  const one = block(value, report);
  if (typeof one === 'object') return one;
  report(faultOf(value, 'is no list'), ' and becomes its only element');
  return `[${one ?? textOf(value)}]`;
};

const CALL = 'tools/call';

const hasAny = (revision: string | undefined): boolean => revisionOf(revision).hasAnyStructuredContent === true;

/** Members of results that are not complete, which lack the others. */
const INCOMPLETE = ['resultType', 'inputRequests', 'task', 'toolResult'];

const isComplete = (bytes: Buffer, result: Span): boolean =>
  !INCOMPLETE.some((key) => memberOf(bytes, result, key) !== undefined);

/** Returns the form of a result with a member that is a list. */
const withList =
  (key: string, forms: Readonly<Record<string, Form>>) =>
  (bytes: Buffer, result: Span): Form =>
    object({ _meta: meta, ...forms }, isComplete(bytes, result) ? { [key]: absent('[]') } : {});

const AS_TEXT = ' and becomes the structured content as text';

/**
 * Returns the form of the result of a tool. Structured content that a client does not know becomes text, if the result has no other
 * content.
 */
function callForm(bytes: Buffer, result: Span, { isAnyFrom, isAnyTo }: Ends): Form {
  const structured = memberOf(bytes, result, 'structuredContent');
  const given = structured && { text: bytes, span: structured, path: '' };
  const isUnknown = !isAnyTo && given !== undefined && !isNull(given) && !isObjectSpan(bytes, structured as Span);
  const other = isUnknown ? `[${JSON.stringify({ type: 'text', text: textOf(given) })}]` : '[]';
  const outcome = isUnknown ? AS_TEXT : ' and becomes []';
  const fill: Fill = (fault, get) => absent(other)(fault, get) && { text: other, outcome };
  const content: Form = (value, report) => {
    if (!isUnknown || !isEmptyList(value)) return blocksOrOne(value, report);
    report(faultOf(value, 'is empty'), outcome);
    return other;
  };
  return object(
    {
      _meta: meta,
      isError: present,
      content,
      ...(!isAnyFrom && { structuredContent: isAnyTo ? present : anyObject }),
    },
    isComplete(bytes, result) ? { content: fill } : {},
  );
}

/** Most values of a completion. @see MCP 2025-11-25, server/utilities/completion */
const MOST_VALUES = 100;

const values: Form = (value, report) => {
  const checked = list(text)(value, report);
  if (typeof checked === 'object') return checked;
  const all = JSON.parse(checked ?? textOf(value)) as readonly string[];
  if (all.length <= MOST_VALUES) return checked;
  report(faultOf(value, `has more than ${String(MOST_VALUES)} elements`), ', so the others are left out');
  return JSON.stringify(all.slice(0, MOST_VALUES));
};

const completion = object({ values, total: present, hasMore: present }, { values: absent('[]') });

/** Returns the form of the contents of a resource. Those without a URI get that of the request. */
const readForm: FormOf = (bytes, result, { name }) => {
  const uri: Fill = () => ({ text: JSON.stringify(name), outcome: ' and becomes the URI of the request' });
  return withList('contents', { contents: list(ifObject(contentsOf(uri))) })(bytes, result);
};

/** A list of blocks passes unchanged: some clients read it. */
const messageContent: Form = (value, report) =>
  isArraySpan(value.text, value.span) ? undefined : block(value, report);
const message = object({ role: present, content: messageContent }, { role: absent('"user"'), content: needed });

const RESULTS: ReadonlyMap<string, FormOf> = new Map<string, FormOf>([
  [CALL, callForm],
  ['resources/read', readForm],
  ['prompts/get', withList('messages', { description: text, messages: list(message) })],
  ['completion/complete', () => object({ _meta: meta, completion }, { completion: absent('{"values":[]}') })],
]);

/** Members of the result of a tool for which null is no value. */
const MEMBERS = [
  ...['_meta', 'annotations', 'audience', 'blob', 'content', 'data', 'description', 'icons', 'isError', 'lastModified'],
  ...[
    'mimeType',
    'name',
    'priority',
    'progressToken',
    'resource',
    'size',
    'structuredContent',
    'text',
    'title',
    'type',
    'uri',
  ],
];
/** Such a member with null, outside of strings. */
const NULL_MEMBER = new RegExp(`[^\\\\]"(?:${MEMBERS.join('|')})"\\s*:\\s*null`, 'u');
/** A null element of a list. */
const NULL_ELEMENT = /[[,]\s*null\s*[\],]/u;
const STRUCTURED = '"structuredContent":';
/** Content of most results: a single text. */
const ONE_TEXT = 'ontent":[{"type":"text","text":"';
const TYPE = 'ype":';
/** Content that is a list of texts without other members. */
const TEXTS =
  /"content"\s*:\s*\[\s*(?:\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*"(?:[^"\\]|\\.)*"\s*\}\s*(?:,\s*|(?=\])))*\]/su;

/** Returns true for a short result whose content is not obviously in order. In a long result only null is searched. */
function mayHaveOddContent(result: string): boolean {
  const at = result.indexOf(ONE_TEXT);
  return (at === -1 || result.includes(TYPE, at + ONE_TEXT.length)) && !TEXTS.test(result);
}

/**
 * Returns true for the result of a tool that must be read, which costs more than these searches in all others. A search is fast for a
 * text that begins with a rare character.
 */
function mayBeOdd(reply: Buffer): boolean {
  const found = shortText(reply) ?? reply;
  if (typeof found === 'string' ? mayHaveOddContent(found) : !found.includes('ontent"')) return true;
  if (found.includes('"annotations"')) return true;
  if (found.includes('uredC')) {
    const structured = found.indexOf(STRUCTURED);
    if (!found.includes('"content"') || reply[structured + STRUCTURED.length] !== 0x7b) return true;
  }
  if (!found.includes('null')) return false;
  const all = typeof found === 'string' ? found : found.toString('latin1');
  return NULL_MEMBER.test(all) || NULL_ELEMENT.test(all);
}

/**
 * Returns the reply of a backend to a request of `method` as its client can read it, with the repairs; undefined for a reply that
 * the client can read as it is. `from` and `to` are the revisions of backend and client, `name` is that of the item at the backend.
 */
export function repairReply(
  method: string,
  reply: Buffer,
  from: string | undefined,
  to: string | undefined,
  name: string,
): { readonly reply: Buffer; readonly repairs: readonly Repair[] } | undefined {
  const formOf = RESULTS.get(method);
  if (!formOf || (method === CALL && (isPlainResult(reply) || !mayBeOdd(reply)))) return undefined;
  const { result } = scanBackendEnvelope(reply);
  if (!result || !isObjectSpan(reply, result)) return undefined;
  const repairs: Repair[] = [];
  const report = (fault: Fault, outcome: string): void => {
    repairs.push({ fault, outcome });
  };
  const value = { text: reply, span: result, path: '' };
  const ends = { isAnyFrom: hasAny(from), isAnyTo: hasAny(to), name };
  const repaired = formOf(reply, result, ends)(value, report);
  if (typeof repaired !== 'string') return undefined;
  return { reply: splice(reply, { start: 0, end: reply.length }, result, repaired), repairs };
}

const HEAD = '"result":{"content":[{"type":"text","text":"';
/** End of such a reply, from the quote behind its text on. The members of a reply may have any order. */
const REST = /"\}\](?:,"isError":false)?\}(?:,"jsonrpc":"2\.0")?(?:,"id":(?:\d{1,20}|"[^"\\]{0,80}"))?\}$/uy;
/** Escaped quotes in a text above which it is not looked at further. */
const MOST_QUOTES = 64;

let last: Buffer | undefined;
let isLastPlain = false;

/**
 * Returns true for a short reply whose result is a single text and nothing else. Most results are, and need no other look. The envelope
 * of the reply must be known to be in order. Several checks of the same reply share the answer.
 */
export function isPlainResult(reply: Buffer): boolean {
  if (reply === last) return isLastPlain;
  const text = shortText(reply);
  if (text === undefined) return false; // a long reply is not kept
  last = reply;
  return (isLastPlain = isPlain(text));
}

function isPlain(all: string): boolean {
  const head = all.indexOf(HEAD);
  if (head === -1) return false;
  let at = head + HEAD.length - 1;
  for (let quotes = 0; quotes < MOST_QUOTES; quotes += 1) {
    at = all.indexOf('"', at + 1);
    if (at === -1) return false;
    if (all[at - 1] === '\\') continue; // a text that ends with a backslash is searched beyond its end, and in vain
    REST.lastIndex = at;
    return REST.test(all);
  }
  return false;
}
