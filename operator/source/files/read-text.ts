import { createReadStream } from 'node:fs';
import { STDIN_FILE } from './find-files.ts';
import { decodeUtf8 } from '../../../gateway/contract/text/utf8.ts';

/** Maximum size of a manifest. */
export const MAX_FILE_BYTES = 5 * 1024 * 1024;

export type FileText = { readonly text: string } | { readonly reason: string; readonly message: string };

/** Reads a text file, or returns the reason why it cannot. Accepts pipes and stops at the size limit. */
export async function readText(file: string, maxBytes = MAX_FILE_BYTES): Promise<FileText> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // A pipe of a parent process may be a socket, which cannot be opened by its path.
    const input = file === STDIN_FILE ? process.stdin : createReadStream(file);
    for await (const chunk of input as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) {
        const limit = String(maxBytes / 1024 / 1024);
        return { reason: 'FileTooLarge', message: `larger than ${limit} MiB: split it into several files` };
      }
      chunks.push(chunk);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    if (code === 'ENOENT') return { reason: 'FileNotFound', message: 'no such file: correct the path' };
    return { reason: 'FileNotReadable', message: `cannot be read (${code}): make it a readable file` };
  }
  const text = decodeUtf8(Buffer.concat(chunks));
  if (text === undefined) return { reason: 'InvalidEncoding', message: 'not UTF-8 text: save the file as UTF-8' };
  return { text: text.replace(/^\uFEFF/u, '') };
}
