import { jsonText } from '../../../gateway/contract/text/printable.ts';
import { VERSION } from '../version.ts';
import { defineCommand, outputOption } from './command.ts';

export const versionCommand = defineCommand(
  {
    name: 'version',
    does: 'print the version of vmcp, of Node.js and of the platform',
    example: 'vmcp version --output json',
  },
  (command) =>
    command.addOption(outputOption()).action((flags: { output?: 'json' }) => {
      const facts = { version: VERSION, node: process.versions.node, platform: `${process.platform}/${process.arch}` };
      const text = `vmcp ${facts.version} (Node.js ${facts.node}, ${facts.platform})`;
      process.stdout.write(`${flags.output === 'json' ? jsonText(facts) : text}\n`);
    }),
);
