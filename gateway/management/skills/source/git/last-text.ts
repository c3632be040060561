/** Reads a stream to its end and returns its last bytes as text. */
export async function lastText(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  let last = Buffer.alloc(0);
  for await (const chunk of stream) last = Buffer.from(Buffer.concat([last, chunk]).subarray(-maxBytes));
  return last.toString('utf8');
}
