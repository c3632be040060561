/** Returns the text of a request. */
export function requestText(id: number, method: string, params: Buffer | undefined): Buffer {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`;
  return params ? Buffer.concat([Buffer.from(`${head},"params":`), params, Buffer.from('}')]) : Buffer.from(`${head}}`);
}

/** Returns the text of a `notifications/cancelled`. */
export const cancelledText = (id: number, reason: string): Buffer =>
  Buffer.from(
    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":${JSON.stringify(reason)}}}`,
  );

/** Returns the id of an invalid reply, so that its call fails now and not at its timeout. */
export function readReplyId(message: Buffer): number | undefined {
  try {
    const value: unknown = JSON.parse(message.toString('utf8'));
    if (typeof value !== 'object' || value === null || 'method' in value || !('id' in value)) return undefined;
    return typeof value.id === 'number' || typeof value.id === 'string' ? Number(value.id) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns true for 1, 2, 4, 8 ...: limits the lines in the log. */
export const isRare = (count: number): boolean => (count & (count - 1)) === 0;
