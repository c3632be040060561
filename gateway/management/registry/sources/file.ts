import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { catalogIn } from '../document/catalog.ts';
import { RegistryFault } from '../fault.ts';
import type { RegistrySource } from './source.ts';
import { decodeUtf8 } from '../../../contract/text/utf8.ts';

const MAX_BYTES = 10 * 1024 * 1024;

/** Document in a file of this machine. It is read for every request, so an edit takes effect at once. */
export const file: RegistrySource = {
  type: 'file',
  isRemote: false,
  read: async (path, { readAt }) => ({ catalog: catalogIn(await readText(path), path, readAt) }),
};

/** Returns the path in a location, which may be a `file:` URL. Throws `RegistryFault`. */
export function pathIn(location: string): string {
  const path = location.startsWith('file:') ? pathOfUrl(location) : location;
  if (isAbsolute(path) && !path.includes('\0')) return path;
  throw new RegistryFault('setting', 'the path of the registry is not absolute: write /FOLDER/FILE.json');
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new RegistryFault('setting', 'the file URL is not usable: write file:///FOLDER/FILE.json', error);
  }
}

async function readText(path: string): Promise<string> {
  try {
    // Without O_NONBLOCK the open of a named pipe waits for a writer.
    const opened = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await opened.stat();
      if (!stats.isFile()) throw new RegistryFault('setting', `${path} is not a file`);
      if (stats.size > MAX_BYTES)
        throw new RegistryFault('document', `${path} is longer than ${String(MAX_BYTES)} bytes`);
      const text = decodeUtf8(await opened.readFile());
      if (text === undefined) throw new RegistryFault('document', `${path} is not UTF-8: save it in that encoding`);
      return text;
    } finally {
      await opened.close();
    }
  } catch (error) {
    if (error instanceof RegistryFault) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new RegistryFault('setting', `${path} cannot be read (${code}): check the path and its permissions`, error);
  }
}
