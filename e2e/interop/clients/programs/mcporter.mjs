import { execFileSync } from 'node:child_process';

const run = (...args) => execFileSync(process.execPath, ['node_modules/.bin/mcporter', ...args], { encoding: 'utf8' });
const target = ['--http-url', process.argv[2], '--allow-http', '--name', 'vmcp'];
const { tools } = JSON.parse(run('list', ...target, '--json'));
const echo = run('call', ...target, 'everything_echo', 'message:hello').trim();
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), echo }));
