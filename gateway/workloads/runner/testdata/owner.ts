import { createLauncher } from '../launcher.ts';
import { script } from './fixture.ts';

/** A minimal vmcp process: starts a child and a grandchild that ignore the end of stdin and SIGTERM. */
const stubborn = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`;
const code = `
  const grandchild = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(stubborn)}]);
  console.log(grandchild.pid);
  ${stubborn}`;

const [, , stateDir = ''] = process.argv;
const log = { info: () => undefined, warn: () => undefined };
const launcher = createLauncher({ stateDir, projectRoot: stateDir, hostEnv: process.env, log });
const child = launcher.spawn(script(code), { name: 'stubborn', stdin: true });
child.stdout.once('data', (pid: Buffer) => {
  console.log(JSON.stringify({ child: child.pid, grandchild: Number(pid.toString()) }));
});
// Ends by itself, so that it never outlives its test.
setTimeout(() => void launcher.close(0), 60_000).unref();
