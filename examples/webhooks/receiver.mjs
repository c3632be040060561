// Verifies the signature, denies calls that mention "secret", and marks the message of the others as reviewed.
import { Buffer } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { PORT = '4420', WEBHOOK_KEY = '' } = process.env;

createServer(async (req, res) => {
  const body = Buffer.concat(await req.toArray());
  const time = String(req.headers['x-webhook-timestamp']);
  const wanted = `sha256=${createHmac('sha256', WEBHOOK_KEY).update(`${time}.`).update(body).digest('hex')}`;
  const signature = Buffer.from(String(req.headers['x-webhook-signature']));
  const isGenuine = signature.length === wanted.length && timingSafeEqual(signature, Buffer.from(wanted));
  if (!isGenuine || Math.abs(Date.now() / 1000 - Number(time)) > 300) return res.writeHead(401).end();
  const { version, uid, mcp_request: call } = JSON.parse(body);
  const { message = '' } = call.params.arguments ?? {};
  const path = '/mcp_request/params/arguments/message';
  const answer = message.includes('secret')
    ? { allowed: false, message: 'no secrets' }
    : { allowed: true, patch_type: 'json_patch', patch: [{ op: 'add', path, value: `${message} (reviewed)` }] };
  res.end(JSON.stringify({ version, uid, ...answer }));
})
  .on('error', ({ message }) => {
    console.error(`${message}: stop the program that listens there, or choose another with the variable PORT`);
    process.exitCode = 1;
  })
  .listen(Number(PORT), '127.0.0.1');
