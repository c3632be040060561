import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { isObject, type JsonObject } from '../../../gateway/contract/json.ts';

/** Renders the content of a result: texts as they are, other kinds as one line each. */
export function resultText(result: JsonObject): string {
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  if (content.length === 0 && result['structuredContent'] !== undefined)
    return `${jsonText(result['structuredContent'], 2)}\n`;
  return content.map((block) => withLineEnd(isObject(block) ? blockText(block) : '[unknown]')).join('');
}

const withLineEnd = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

function blockText(block: JsonObject): string {
  const { type, text, resource } = block;
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'resource' && isObject(resource)) return summary('resource', resource);
  return summary(typeof type === 'string' ? type : 'unknown', block);
}

/** Renders `[image image/png 12 KiB]`. */
function summary(kind: string, { uri, mimeType, data, blob, text }: JsonObject): string {
  const parts = [kind, uri, mimeType, sizeOf(data ?? blob, text)];
  return `[${parts.filter((part) => typeof part === 'string').join(' ')}]`;
}

function sizeOf(base64: unknown, text: unknown): string | undefined {
  if (typeof base64 === 'string') return size(Buffer.byteLength(base64, 'base64'));
  return typeof text === 'string' ? size(Buffer.byteLength(text)) : undefined;
}

/** Renders a number of bytes as people read it: `512 bytes`, `12 KiB`, `3 MiB`. */
function size(bytes: number): string {
  if (bytes < 1_024) return `${String(bytes)} bytes`;
  const kib = bytes / 1_024;
  return kib < 1_024 ? `${String(Math.round(kib))} KiB` : `${String(Math.round(kib / 1_024))} MiB`;
}
