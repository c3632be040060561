/** Yardstick of tools/list: an Express application that answers every POST with the bytes of `--body FILE`. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import express from 'express';
import { announce, listen } from './child.ts';

const { values } = parseArgs({ options: { body: { type: 'string' } } });
if (values.body === undefined) throw new RangeError('give --body FILE');
const body = readFileSync(values.body);

const app = express().disable('x-powered-by').disable('etag');
app.post('/mcp', (_req, res) => {
  res.type('application/json').send(body);
});

const server = createServer(app);
server.keepAliveTimeout = 120_000;
announce([await listen(server, 0)]);
