import { execFileSync } from 'node:child_process';

const inspect = (...args) => {
  const line = [
    'node_modules/.bin/mcp-inspector',
    '--cli',
    process.argv[2],
    '--transport',
    'http',
    '--method',
    ...args,
  ];
  return JSON.parse(execFileSync(process.execPath, line, { encoding: 'utf8' }));
};
const { tools } = inspect('tools/list');
const { content } = inspect('tools/call', '--tool-name', 'everything_echo', '--tool-arg', 'message=hello');
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), echo: content[0].text }));
