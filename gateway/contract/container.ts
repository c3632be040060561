import { Type, type Static, type TSchema } from 'typebox';
import { Closed } from './fields.ts';
import { block, flag, text, textMap, texts } from './optional.ts';

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

/** Network access of an isolated container. */
export const ContainerIsolation = Closed(
  {
    allow_hosts: texts('Hosts that it may connect to. A leading dot allows the subdomains too.'),
    allow_ports: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 65535 }), { description: 'Ports that it may connect to.' }),
    ),
    allow_all: flag('Allow every host and port, except addresses of the container host.'),
    allow_container_gateway: flag('Allow addresses of the container host, on every port.'),
    inbound_hosts: texts('Allowed values of the Host header, without port, beside loopback names.'),
  },
  { description: 'Isolated network. Without a member that allows hosts or ports, all connections are refused.' },
);
export type ContainerIsolation = Static<typeof ContainerIsolation>;

/** Options of a container beside its image, arguments and environment. */
export const ContainerOptions = Closed(
  {
    volumes: texts('Mounts, each `host:container[:ro]` with absolute paths.'),
    engine_volumes: texts('Volumes that the engine keeps, each `name:container[:ro]`.'),
    publish: texts('Published ports, each `hostPort:containerPort`, on 127.0.0.1.'),
    labels: textMap('Labels of the container.'),
    network: text('`none`, `host` or the name of a network of the engine. The default network when absent.'),
    privileged: flag('Run the container with all privileges.'),
    isolation: Type.Optional(ContainerIsolation),
    ignore: block('Use of ignore files, which name the paths of mounts that are hidden from the server.', {
      load_global: flag('Also read the ignore file of the user.'),
      print_overlays: flag('Write the hidden paths to the log.'),
    }),
  },
  { description: 'Options of a container.' },
);
export type ContainerOptions = Static<typeof ContainerOptions>;
