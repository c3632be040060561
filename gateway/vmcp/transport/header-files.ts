import type { Dispatcher } from 'undici';
import { isHeaderValue } from '../../contract/header-names.ts';
import { CredentialError } from '../../outgoing/authenticator.ts';
import { FileUnreadable, readSecretFile } from '../../outbound/watched-file.ts';

/** Name of a header, in any case, to the path of the file that holds its value. */
export type HeaderFiles = Readonly<Record<string, string>>;

/**
 * The value that stands in the file now.
 * @throws CredentialError
 */
export function headerFromFile(name: string, path: string): string {
  const value = readText(path, `the value of header ${name}`);
  if (isHeaderValue(value)) return value;
  const message = `the value of header ${name} in ${path} holds a line break or another character that no header may hold`;
  throw new CredentialError('misconfigured', message);
}

/**
 * Text of a file, without one trailing line break.
 * @throws CredentialError that says what stands in the file.
 */
export function readText(path: string, what: string): string {
  try {
    return readSecretFile(path);
  } catch (error) {
    if (!(error instanceof FileUnreadable)) throw error;
    throw new CredentialError('misconfigured', `${what} stands in ${path}, which cannot be read (${error.code})`);
  }
}

/** The headers as they are listed before the files are read: names in lower case, values empty. */
export const headerPlaces = (files: HeaderFiles = {}): Record<string, string> =>
  Object.fromEntries(Object.keys(files).map((name) => [name.toLowerCase(), '']));

/**
 * Puts the values of files on requests as these leave, wherever a header of that name is listed and empty: what took its
 * place stays. A request whose file cannot be used fails with `CredentialError`.
 */
export function withHeaderFiles(dispatcher: Dispatcher, files: HeaderFiles = {}): Dispatcher {
  const values = new Map(
    Object.entries(files).map(([name, path]) => [name.toLowerCase(), () => headerFromFile(name, path)]),
  );
  if (values.size === 0) return dispatcher;
  return dispatcher.compose((dispatch) => (request, handler) => {
    let headers: string[];
    try {
      headers = filled(request.headers, values);
    } catch (error) {
      queueMicrotask(() => handler.onResponseError?.(NEVER_STARTED, error as Error));
      return true;
    }
    return dispatch({ ...request, headers }, handler);
  });
}

/** Headers as the transports write them: a flat list of names and values, or an object. */
function filled(headers: Dispatcher.DispatchOptions['headers'], values: ReadonlyMap<string, () => string>): string[] {
  const flat = (Array.isArray(headers) ? headers.slice() : Object.entries(headers ?? {}).flat()) as string[];
  for (let at = 0; at < flat.length; at += 2) {
    const value = flat[at + 1] === '' ? values.get(flat[at] ?? '') : undefined;
    if (value) flat[at + 1] = value();
  }
  return flat;
}

const NEVER_STARTED: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};
