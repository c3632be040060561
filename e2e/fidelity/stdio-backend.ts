/** The raw backend as a stdio process: `stdio-backend.ts NAME`. */
import { createInterface } from 'node:readline';
import { rawReply, type RawRequest } from './raw-backend.ts';
import { asLine } from './framing.ts';

const name = process.argv[2] ?? '';

createInterface({ input: process.stdin }).on('line', (line) => {
  const reply = rawReply(name, JSON.parse(line) as RawRequest);
  if (reply) process.stdout.write(`${asLine(reply.message)}\n`);
});
