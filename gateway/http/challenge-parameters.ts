const PARAMETER = /(?:^|[ ,])([\w-]{1,64})="([^"]*)"|(?:^|[ ,])([\w-]{1,64})=([^\s",]+)/gu;

/** Returns the parameters of a `WWW-Authenticate` header by lower-case name. The first of equal names counts. RFC 9110 §11.6.1 */
export function challengeParameters(header: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [, quotedName, quoted, plainName, plain] of header.matchAll(PARAMETER)) {
    const name = (quotedName ?? plainName ?? '').toLowerCase();
    if (!parameters.has(name)) parameters.set(name, quoted ?? plain ?? '');
  }
  return parameters;
}
