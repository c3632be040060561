import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express, { type Response } from 'express';
import { expect, it } from 'vitest';
import { addHeader, sendAddedHeaders } from './added-headers.ts';

const ANSWERS: Readonly<Record<string, (res: Response) => void>> = {
  'without a head': (res) => void res.end(),
  'with an object': (res) => void res.writeHead(200, { 'content-length': 0 }).end(),
  'with a list': (res) => void res.writeHead(200, ['content-length', '0']).end(),
  'with a reason': (res) => void res.writeHead(200, 'Fine', { 'content-length': 0 }).end(),
  'with a header that is set': (res) => void res.set('content-type', 'text/plain').writeHead(200).end(),
  'by Express': (res) => void res.json({}),
  'with flushed headers': (res) => {
    res.flushHeaders();
    res.end();
  },
};
const OWN: Readonly<Record<string, (res: Response) => void>> = {
  'in the head': (res) => void res.writeHead(200, { 'x-second': 'own' }).end(),
  'in the head, beside one that is set': (res) =>
    void res.set('content-type', 'text/plain').writeHead(200, { 'x-second': 'own' }).end(),
  'that is set': (res) => void res.set('X-Second', 'own').end(),
};

async function headersOf(answer: (res: Response) => void): Promise<Headers> {
  const app = express();
  sendAddedHeaders(app);
  app.use((_req, res) => {
    addHeader(res, 'x-first', 'x-second'); // a value like a name
    addHeader(res, 'x-second', 'two');
    answer(res);
  });
  await using server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { headers } = await fetch(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  return headers;
}

it.each(Object.entries(ANSWERS))('adds headers to an answer %s', async (_how, answer) => {
  const headers = await headersOf(answer);
  expect([headers.get('x-first'), headers.get('x-second')]).toEqual(['x-second', 'two']);
});

it.each(Object.entries(OWN))('leaves a header of the answer %s', async (_how, answer) => {
  const headers = await headersOf(answer);
  expect([headers.get('x-first'), headers.get('x-second')]).toEqual(['x-second', 'own']);
});
