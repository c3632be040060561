import { readString } from '../../http/json-scan.ts';
import { arrayElements, isArraySpan, isObjectSpan, objectMembers, wholeOf, type Span } from '../../http/json-walk.ts';
import { revisionOf } from '../../contract/protocol/revisions.ts';
import { hasValidHeaders } from '../tool-headers.ts';
import type { ListItem } from './catalog.ts';
import { repairItem } from './repair/list-items.ts';
import { wellFormed } from './repair/well-formed.ts';
import { parseUriTemplate } from './uri-template.ts';
import type { PagedKind, Warning } from './view.ts';
import { collectWarnings, quote, type WarningCollector } from './warnings.ts';

/** Method of a list, member of its result that holds the items, and member of an item that holds its name. */
export const WIRE: Readonly<
  Record<PagedKind, { readonly method: string; readonly list: string; readonly key: string }>
> = {
  tools: { method: 'tools/list', list: 'tools', key: 'name' },
  resources: { method: 'resources/list', list: 'resources', key: 'uri' },
  templates: { method: 'resources/templates/list', list: 'resourceTemplates', key: 'uriTemplate' },
  prompts: { method: 'prompts/list', list: 'prompts', key: 'name' },
  skills: { method: 'skills/list', list: 'skills', key: 'uri' },
};

/** Items of a list in messages. */
const NOUNS: Readonly<Record<PagedKind, string>> = {
  tools: 'tools',
  resources: 'resources',
  templates: 'resource templates',
  prompts: 'prompts',
  skills: 'skills',
};

/** Most kinds of problems of a list that are reported: a server chooses the depth of its schemas. */
const MOST_CAUSES = 50;
/** Most bytes of an item. No model could read a longer item, and a check of 1 MiB may take 0.2 s. */
const MAX_ITEM_BYTES = 512 * 1024;
const BYTES_PER_TURN = 128 * 1024;
const MAX_TEMPLATE_BYTES = 1024;
const MAX_TEMPLATE_VARIABLES = 8;
const MAX_TEMPLATE_PREFIX_SUM = 256;

/** Items of a list of a backend. */
export interface ReadItems {
  readonly items: ListItem[];
  readonly warnings: Warning[];
}

/**
 * Reads the items of all pages of one backend's list. `pages` are the JSON texts of the `result` members of messages
 * that passed `scanEnvelope`. Items that clients would reject are repaired, or omitted like those that cannot be served (null, not
 * an object, no name, an expensive template), with a warning, and with `hasHeaders` also tools that declare invalid headers. All
 * others are kept byte for byte, and copied so that the pages can be freed. Pauses now and then, as a long list takes seconds.
 */
export function* readItems(
  backend: string,
  kind: PagedKind,
  pages: readonly Buffer[],
  hasHeaders = false,
): Generator<undefined, ReadItems> {
  const warnings = collectWarnings(MOST_CAUSES);
  const items = new Map<string, ListItem>();
  let bytes = 0;
  for (const page of pages) {
    for (const span of listed(backend, kind, page, warnings)) {
      bytes += span.end - span.start;
      if (bytes > BYTES_PER_TURN) {
        bytes = 0;
        yield;
      }
      const key = itemKey(page, span, WIRE[kind].key);
      if (key === undefined) {
        const message = `an item of the ${kind} list of ${quote(backend)} without ${WIRE[kind].key} is omitted`;
        warnings.add('MalformedItem', backend, message);
      } else if (items.has(key)) {
        const message = `the ${kind} list of ${quote(backend)} contains an item twice, the first one is served`;
        warnings.add('DuplicateItem', backend, message, key);
      } else if (kind !== 'templates' || isServable(backend, key, warnings)) {
        const json = repaired(backend, kind, key, page.subarray(span.start, span.end), warnings);
        if (json && (kind !== 'tools' || !hasHeaders || isCallable(backend, key, json, warnings)))
          items.set(key, { key, json });
      }
    }
  }
  return { items: [...items.values()], warnings: warnings.list() };
}

/** Returns a copy of an item that clients can read; undefined for an item that cannot be repaired. */
function repaired(
  backend: string,
  kind: PagedKind,
  key: string,
  item: Buffer,
  warnings: WarningCollector,
): Buffer | undefined {
  if (item.length > MAX_ITEM_BYTES) {
    const message = `${NOUNS[kind]} of ${quote(backend)} over 512 KiB are left out`;
    warnings.add('MalformedItem', backend, message, key);
    return undefined;
  }
  const text = wellFormed(item);
  const { json, repairs } = repairItem(kind, text);
  const place = `of ${NOUNS[kind]} of ${quote(backend)}`;
  for (const { fault, outcome } of repairs) {
    const reason = json ? 'ItemRepaired' : 'MalformedItem';
    warnings.add(reason, backend, `${JSON.stringify(fault.path)} ${place} ${fault.words}${outcome}`, key);
  }
  if (text !== item) {
    const message = `a text ${place} ends within a character, and has a replacement character there`;
    warnings.add('ItemRepaired', backend, message, key);
  }
  return json === item ? Buffer.from(item) : json;
}

/** Returns false for a tool that must not be called, because its declaration of headers is invalid. */
function isCallable(backend: string, key: string, tool: Buffer, warnings: WarningCollector): boolean {
  if (hasValidHeaders(tool)) return true;
  const message =
    'a tool is omitted: its "x-mcp-header" is not the name of a header for one string, integer or boolean below "properties"';
  warnings.add('ToolHeaderInvalid', backend, message, key);
  return false;
}

/**
 * Returns `nextCursor` of one list result; undefined on the last page. An empty cursor is one of 2026-07-28 and later; servers of
 * older revisions end their lists with it. @see MCP 2026-07-28, server/utilities/pagination
 */
export function nextCursor(result: Buffer, revision: string): string | undefined {
  const span = wholeOf(result);
  if (!isObjectSpan(result, span)) return undefined;
  const cursor = readString(result, objectMembers(result, span).get('nextCursor'));
  return cursor === '' && !revisionOf(revision).hasEmptyCursors ? undefined : cursor;
}

function listed(backend: string, kind: PagedKind, page: Buffer, warnings: WarningCollector): readonly Span[] {
  const span = wholeOf(page);
  const list = isObjectSpan(page, span) ? objectMembers(page, span).get(WIRE[kind].list) : undefined;
  if (list && isArraySpan(page, list)) return arrayElements(page, list);
  const message = `a result of the ${kind} list of ${quote(backend)} has no array "${WIRE[kind].list}" and is omitted`;
  warnings.add('MalformedList', backend, message);
  return [];
}

function itemKey(page: Buffer, item: Span, member: string): string | undefined {
  if (!isObjectSpan(page, item)) return undefined;
  const key = readString(page, objectMembers(page, item).get(member));
  return key?.isWellFormed() === true && key !== '' ? key : undefined;
}

function isServable(backend: string, text: string, warnings: WarningCollector): boolean {
  const template = Buffer.byteLength(text) > MAX_TEMPLATE_BYTES ? 'too long' : parseUriTemplate(text);
  if (template === undefined) {
    warnings.add(
      'TemplateUnmatchable',
      backend,
      'a URI template that is not valid in RFC 6570 is listed but matches nothing',
      text,
    );
    return true;
  }
  if (
    template !== 'too long' &&
    template.variableCount <= MAX_TEMPLATE_VARIABLES &&
    template.prefixSum <= MAX_TEMPLATE_PREFIX_SUM
  )
    return true;
  warnings.add(
    'TemplateTooLarge',
    backend,
    'a URI template over 1024 bytes, 8 variables or 256 summed prefixes is omitted',
    text,
  );
  return false;
}
