import type { Dispatcher } from 'undici';
import { isHeaderValue } from '../../contract/reserved-names.ts';
import { CredentialError } from '../../outgoing/authenticator.ts';
import { FileUnreadable, readSecretFile } from '../../outbound/watched-file.ts';

/** Path of the file with the value, by header name in any case. */
export type HeaderFiles = Readonly<Record<string, string>>;

/** Returns the current value in the file. @throws CredentialError */
export function headerFromFile(name: string, path: string): string {
  const value = readText(path, `the value of header ${name}`);
  if (isHeaderValue(value)) return value;
  const message = `the value of header ${name} in ${path} contains a line break or another character that is not allowed in a header`;
  throw new CredentialError('misconfigured', message);
}

/** Returns the text of a file without one trailing line break. @throws CredentialError that names `what`. */
export function readText(path: string, what: string): string {
  try {
    return readSecretFile(path);
  } catch (error) {
    if (!(error instanceof FileUnreadable)) throw error;
    throw new CredentialError('misconfigured', `${what} is in ${path}, which cannot be read (${error.code})`);
  }
}

/** Returns placeholders for the headers of files: names in lower case, values empty. */
export const headerPlaces = (files: HeaderFiles = {}): Record<string, string> =>
  Object.fromEntries(Object.keys(files).map((name) => [name.toLowerCase(), '']));

/**
 * Fills in the values of files when a request is sent, for each header that is present and empty; other values stay. A
 * request whose file cannot be used fails with `CredentialError`.
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

/** Headers in the forms that the transports use: a flat list of names and values, or an object. */
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
