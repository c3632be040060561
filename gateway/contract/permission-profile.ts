import { Type, type Static } from 'typebox';
import { flag, text, texts } from './optional.ts';

/** File system and network access of a container. */
export const PermissionProfile = Type.Object(
  {
    name: text('Name of the profile. `none` and `network` are built in.'),
    network: Type.Optional(
      Type.Object(
        {
          mode: text('`bridge`, `none`, `host` or the name of a network.'),
          inbound: Type.Optional(
            Type.Object(
              { allow_host: texts('Allowed values of the Host header.') },
              { description: 'Requests to it.' },
            ),
          ),
          outbound: Type.Optional(
            Type.Object(
              {
                allow_host: texts('Allowed hosts. A leading dot allows subdomains.'),
                allow_port: Type.Optional(Type.Array(Type.Integer(), { description: 'Allowed ports.' })),
                insecure_allow_all: flag('Allow every host and port.'),
              },
              { description: 'Connections of the container.' },
            ),
          ),
        },
        { description: 'Network access.' },
      ),
    ),
    privileged: flag('Run without a sandbox.'),
    read: texts('Paths that are mounted read-only.'),
    write: texts('Paths that are mounted with write access.'),
  },
  { description: 'File system and network access of a container.' },
);
export type PermissionProfile = Static<typeof PermissionProfile>;
