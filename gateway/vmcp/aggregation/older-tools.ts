import { readString } from '../../http/json-scan.ts';
import {
  arrayElements,
  isArraySpan,
  isObjectSpan,
  memberOf,
  readKey,
  splice,
  visitMembers,
  type Span,
} from '../../http/json-walk.ts';

const SCHEMA = Buffer.from('"outputSchema"');

/** Pages for clients of older revisions, by the page of the view. */
const KNOWN = new WeakMap<Buffer, Buffer>();

/**
 * Returns a page of tools for clients of revisions before 2026-07-28: without output schemas of other types than `object`, as an
 * SDK would reject the whole list. @see MCP 2025-11-25, schema, Tool; SEP-2106
 */
export function olderTools(page: Buffer): Buffer {
  let older = KNOWN.get(page);
  if (!older) KNOWN.set(page, (older = page.includes(SCHEMA) ? withoutNewSchemas(page) : page));
  return older;
}

function withoutNewSchemas(page: Buffer): Buffer {
  const list = memberOf(page, { start: 0, end: page.length }, 'tools');
  if (!list || !isArraySpan(page, list)) return page;
  const tools = arrayElements(page, list);
  if (!tools.some((tool) => hasNewSchema(page, tool))) return page;
  const texts = tools.map((tool) =>
    hasNewSchema(page, tool) ? withoutSchema(page, tool) : page.toString('utf8', tool.start, tool.end),
  );
  return splice(page, { start: 0, end: page.length }, list, `[${texts.join(',')}]`);
}

function hasNewSchema(text: Buffer, tool: Span): boolean {
  const schema = memberOf(text, tool, 'outputSchema');
  if (!schema || !isObjectSpan(text, schema)) return false;
  return readString(text, memberOf(text, schema, 'type')) !== 'object';
}

function withoutSchema(text: Buffer, tool: Span): string {
  const members: string[] = [];
  visitMembers(text, tool, (keyStart, keyEnd, _, end) => {
    if (readKey(text, keyStart, keyEnd) !== 'outputSchema') members.push(text.toString('utf8', keyStart, end));
  });
  return `{${members.join(',')}}`;
}
