const HEAD = Buffer.from('{"jsonrpc":"2.0","id":');
const RESULT = Buffer.from(',"result":');
const CLOSE = Buffer.from('}');

/** Returns the pieces of a response. `result` is JSON text and is not copied. */
export const resultPieces = (id: Buffer, result: Buffer | string): [Buffer, Buffer, Buffer] => [
  Buffer.concat([HEAD, id, RESULT]),
  typeof result === 'string' ? Buffer.from(result) : result,
  CLOSE,
];

export const resultMessage = (id: Buffer, result: Buffer | string): Buffer => Buffer.concat(resultPieces(id, result));

export const errorMessage = (id: Buffer | null, code: number, message: string, data?: unknown): Buffer => {
  const error = JSON.stringify(data === undefined ? { code, message } : { code, message, data });
  return Buffer.from(`{"jsonrpc":"2.0","id":${id === null ? 'null' : id.toString()},"error":${error}}`);
};
