import { readString } from '../../../http/json-scan.ts';
import { wholeOf } from '../../../http/json-walk.ts';
import type { PagedKind } from '../view.ts';
import {
  absent,
  anyObject,
  flag,
  list,
  needed,
  number,
  object,
  oneOf,
  text,
  valid,
  type Fault,
  type Fill,
  type Form,
} from './forms.ts';
import { inputSchema, outputSchema } from './json-schema.ts';

const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/u;

/** Returns true for a date with time and offset. @see RFC 3339 §5.6 */
function isDateTime(given: string): boolean {
  const [, year, month, day] = (DATE_TIME.exec(given) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

const string = (kind: string, accepts: (given: string) => boolean): Form =>
  valid(kind, ({ text: bytes, span }) => {
    const given = readString(bytes, span);
    return given !== undefined && accepts(given);
  });

/** Annotations of resources and of the content of results. */
export const annotations = object({
  audience: list(oneOf('user', 'assistant')),
  priority: number('number from 0 to 1', (given) => given >= 0 && given <= 1),
  lastModified: string('date with time and offset', isDateTime),
});

const icons = list(
  object({ src: text, mimeType: text, sizes: list(text), theme: oneOf('light', 'dark') }, { src: needed }),
);

/** Members that tools, resources, templates and prompts have. */
const COMMON = { name: text, title: text, description: text, icons, _meta: anyObject };

const toolAnnotations = object({
  title: text,
  readOnlyHint: flag,
  destructiveHint: flag,
  idempotentHint: flag,
  openWorldHint: flag,
});

const tool = (hasNulls: boolean): Form =>
  object(
    {
      ...COMMON,
      inputSchema: inputSchema(hasNulls),
      outputSchema: outputSchema(hasNulls),
      annotations: toolAnnotations,
      execution: object({ taskSupport: oneOf('forbidden', 'optional', 'required') }),
    },
    { name: needed, inputSchema: absent('{"type":"object"}') },
  );

/** Takes the name of a resource from its title or its URI. */
const named =
  (uri: 'uri' | 'uriTemplate'): Fill =>
  (_, get) => ({ text: get('title') ?? get(uri) ?? '""', outcome: ' and becomes the title or the URI' });

const MEMBERS = { ...COMMON, mimeType: text, annotations };

/** Form of resources in lists. Links to resources in results have it, too. */
export const resource = object(
  {
    ...MEMBERS,
    uri: string('URI (RFC 3986)', (given) => URL.canParse(given)),
    size: number('number of bytes', (given) => Number.isInteger(given) && Math.abs(given) < 2 ** 63),
  },
  { uri: needed, name: named('uri') },
);

const template = object({ ...MEMBERS, uriTemplate: text }, { uriTemplate: needed, name: named('uriTemplate') });

const prompt = object(
  {
    ...COMMON,
    arguments: list(object({ name: text, title: text, description: text, required: flag }, { name: needed })),
  },
  { name: needed },
);

const PLAIN_TOOL = tool(false);
const NULL_TOOL = tool(true);
const NULL = Buffer.from('null');

function formOf(kind: PagedKind, json: Buffer): Form | undefined {
  switch (kind) {
    case 'tools':
      return json.includes(NULL) ? NULL_TOOL : PLAIN_TOOL;
    case 'resources':
      return resource;
    case 'templates':
      return template;
    case 'prompts':
      return prompt;
    case 'skills':
      return undefined;
  }
}

/** A fault of an item, and what becomes of its member: ` and is left out`. */
export interface Repair {
  readonly fault: Fault;
  readonly outcome: string;
}

/**
 * Returns the JSON text of a list item as clients can read it: the same bytes if they can; undefined for an item that cannot be
 * repaired. Clients reject a whole list for one item that is no MCP, also for null as an optional member.
 */
export function repairItem(
  kind: PagedKind,
  json: Buffer,
): { readonly json: Buffer | undefined; readonly repairs: readonly Repair[] } {
  const repairs = new Map<string, Repair>();
  const report = (fault: Fault, outcome: string): void => {
    repairs.set(`${fault.path} ${fault.words}${outcome}`, { fault, outcome });
  };
  const checked = formOf(kind, json)?.({ text: json, span: wholeOf(json), path: '' }, report);
  if (typeof checked !== 'object')
    return { json: checked === undefined ? json : Buffer.from(checked), repairs: [...repairs.values()] };
  return { json: undefined, repairs: [{ fault: checked, outcome: ', so they are left out' }] };
}
