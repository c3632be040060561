import { DEFAULT_NAMESPACE } from '../files/manifest-object.ts';
import { COMMANDS, gatewayFile, type FolderCommands, type NewFile } from './folder-files.ts';
import { serverText } from './server-resource.ts';

const NAME = 'everything';

/** Returns the files of a new folder: a group and an endpoint with this name, and one server to try. */
export function starterFiles(name: string, commands: FolderCommands = COMMANDS): NewFile[] {
  const server = serverText(
    {
      runs: 'here',
      image: 'npx://@modelcontextprotocol/server-everything',
      transport: 'stdio',
      args: [],
      env: [],
      secrets: [],
    },
    { name: NAME, namespace: DEFAULT_NAMESPACE, group: name, secretName: NAME },
    'A server to try the endpoint: it has tools, prompts and resources of each kind.',
    'npx://PACKAGE is a package of npm, uvx://PACKAGE one of PyPI, NAME:TAG a container image.',
    `Remove it:  ${commands.line('remove', NAME, '--dir', commands.dir)}`,
  );
  return [
    gatewayFile(name, commands),
    { name: `${NAME}.yaml`, text: server.text, objects: [`${server.kind}/${NAME}`] },
  ];
}
