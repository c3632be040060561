import { Type, type Static } from 'typebox';
import { Closed } from '../fields.ts';
import { block, flag, text, textMap, texts } from '../optional.ts';

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
