import { Type, type Static, type TSchema } from 'typebox';
import { Closed } from '../fields.ts';
import { flag, text, texts } from '../optional.ts';

type MakeObject = <P extends Record<string, TSchema>>(
  properties: P,
  options: { description: string },
) => ReturnType<typeof Type.Object<P>>;

/** Returns the schema with the objects of `object`, which reject or ignore unknown members. `named` has its title, if any. */
const profile = (object: MakeObject, named: { title?: string } = {}) =>
  object(
    {
      name: text('Name of the profile. `none` and `network` are built in.'),
      network: Type.Optional(
        object(
          {
            mode: text('`bridge`, `none`, `host` or the name of a network.'),
            inbound: Type.Optional(
              object({ allow_host: texts('Allowed values of the Host header.') }, { description: 'Requests to it.' }),
            ),
            outbound: Type.Optional(
              object(
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
      read: texts(
        'Paths that are mounted read-only: a path, `host:container`, `file://` before one of these, or `volume://NAME:container`.',
      ),
      write: texts('Paths that are mounted with write access, in the same forms.'),
    },
    { ...named, description: 'File system and network access of a container.' },
  );

/** File system and network access of a container; unknown members are ignored, as in registries and requests. */
export const PermissionProfile = profile((properties, options) => Type.Object(properties, options), {
  title: 'PermissionProfile',
});
export type PermissionProfile = Static<typeof PermissionProfile>;

/** As `PermissionProfile` in a run configuration, which rejects unknown members. */
export const ClosedPermissionProfile = profile((properties, options) => Closed(properties, options));
