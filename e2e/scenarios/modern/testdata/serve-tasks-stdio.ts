import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { changingLists } from '../../../conformance/fixture/changing-lists.ts';
import { modernConformanceServer } from '../../../conformance/fixture/modern/server.ts';
import { TaskStore } from '../../../conformance/fixture/modern/task-store.ts';
import { watchTasks } from '../../../conformance/fixture/modern/task-stream.ts';

const lists = changingLists(() => undefined);
const tasks = new TaskStore();
const toServer = new PassThrough();
const write = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);

serveStdio(() => modernConformanceServer(lists, tasks), {
  legacy: 'reject',
  transport: new StdioServerTransport(toServer, process.stdout),
});
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const watching = watchTasks(tasks, JSON.parse(line), write);
    if (!watching) toServer.write(`${line}\n`);
    else if ('error' in watching) write(watching.error);
  })
  .once('close', () => toServer.end());
