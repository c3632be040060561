import { isObject, parseObject } from '../../../contract/json.ts';
import { wholeOf, withMember } from '../../../http/json-walk.ts';
import { portableSchema } from './portable-schema.ts';

/** Results by the JSON text of a tool, which stays the same until its backend lists another. */
const KNOWN = new WeakMap<Buffer, Buffer>();

/** Returns the JSON text of a tool with a portable input schema. The other members keep their bytes. */
export function portableTool(tool: Buffer): Buffer {
  let portable = KNOWN.get(tool);
  if (!portable) KNOWN.set(tool, (portable = withPortableSchema(tool)));
  return portable;
}

function withPortableSchema(tool: Buffer): Buffer {
  const schema = parseObject(tool.toString())?.['inputSchema'];
  if (!isObject(schema)) return tool;
  return withMember(tool, wholeOf(tool), 'inputSchema', JSON.stringify(portableSchema(schema)));
}
