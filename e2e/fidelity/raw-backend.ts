import type { ReplyCase } from './corpus/case.ts';
import { REPLIES } from './corpus/index.ts';
import { LIST_ITEMS, type ItemCase, type List } from './corpus/list-items.ts';

/** The part of a request that the backend reads. */
export interface RawRequest {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly uri?: string;
    readonly ref?: { readonly name?: string };
  };
}

export interface RawReply {
  /** JSON text of the whole message. */
  readonly message: string;
  /** HTTP status; unused over stdio. */
  readonly status: number;
}

const LISTS: Readonly<Record<string, List>> = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
};

const PLAIN_ITEM: Readonly<Record<ReplyCase['method'], readonly [List, item: string]>> = {
  'tools/call': ['tools', '{"name":KEY,"inputSchema":{"type":"object"}}'],
  'resources/read': ['resources', '{"uri":KEY,"name":"case"}'],
  'prompts/get': ['prompts', '{"name":KEY}'],
  'completion/complete': ['prompts', '{"name":KEY}'],
};

export const caseUri = (backend: string, name: string): string => `corpus://${backend}/case/${name}`;

export const itemKey = ({ key }: ItemCase, backend: string): string => key.replaceAll('{backend}', () => backend);

/** Returns the JSON text of a list item of `backend`. */
export function itemText(item: ItemCase, backend: string): string {
  const keyText = item.keyText ?? JSON.stringify(itemKey(item, backend));
  return item.item.replace('KEY', () => keyText);
}

function listText(backend: string, list: List): string {
  const cases = REPLIES.flatMap(({ name, method }) => {
    const [home, item] = PLAIN_ITEM[method];
    const key = method === 'resources/read' ? caseUri(backend, name) : name;
    return home === list ? [item.replace('KEY', () => JSON.stringify(key))] : [];
  });
  const odd = LIST_ITEMS[list].map((item) => itemText(item, backend));
  return `{"${list}":[${[...odd, ...cases].join(',')}]}`;
}

const initializeText = (revision: string): string =>
  `{"protocolVersion":${JSON.stringify(revision)},"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"raw","version":"0"}}`;

function findCase(backend: string, { method, params }: RawRequest): ReplyCase | undefined {
  return REPLIES.find((reply) => {
    if (reply.method !== method) return false;
    if (method === 'resources/read') return params?.uri === caseUri(backend, reply.name);
    return (params?.ref?.name ?? params?.name) === reply.name;
  });
}

/** Returns the exact reply to a request; undefined for messages without a reply. */
export function rawReply(backend: string, request: RawRequest): RawReply | undefined {
  const { id, method = '' } = request;
  if (id === undefined) return undefined;
  const list = LISTS[method];
  if (list) return usual(id, 'result', listText(backend, list));
  if (method === 'initialize') return usual(id, 'result', initializeText(request.params?.protocolVersion ?? ''));
  if (method === 'ping') return usual(id, 'result', '{}');
  const found = findCase(backend, request);
  if (!found) return usual(id, 'error', notInCorpus(request));
  const { envelope, member, json, status = 200 } = found;
  if (envelope === undefined) return { ...usual(id, member, json), status };
  return { message: envelope.replace('ID', () => String(id)).replace('MEMBER', () => json), status };
}

/** Returns an error with the requested name. */
const notInCorpus = ({ params }: RawRequest): string =>
  JSON.stringify({ code: -32602, message: 'not in the corpus', data: params ?? null });

const usual = (id: number | string, member: ReplyCase['member'], json: string): RawReply => ({
  message: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${member}":${json}}`,
  status: 200,
});
