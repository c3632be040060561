import { type ContainerOptions, ClosedPermissionProfile } from '../../../gateway/contract/container.ts';
import { SCHEMA_VERSION, type RunConfig } from '../../../gateway/contract/run-config/run-config.ts';
import { containerOptionsOf } from '../../../gateway/workloads/container/options.ts';
import { documentName, parseConfigMapDocument } from '../config-map-document.ts';
import type { ObjectScope } from '../scope.ts';
import type { MCPServer } from '../snapshot.ts';
import { imageScheme } from './images.ts';

/** Members of a run configuration that a profile sets, and what precedes messages about the profile. */
interface Access {
  readonly members: Pick<RunConfig, 'permission_profile' | 'permission_profile_name_or_path' | 'isolate_network'>;
  readonly document?: string;
}

const PROFILE = 'spec.permissionProfile';

/** Resolves `permissionProfile` and `volumes` in local mode; undefined without either, and with mistakes, which it reports. */
export function resolveContainer(server: MCPServer, scope: ObjectScope): ContainerOptions | undefined {
  const { image, volumes = [], permissionProfile: profile } = server.spec;
  const access = profile === undefined ? OPEN : accessOf(server, profile, scope);
  if (access === undefined) return undefined;
  const isContainer = imageScheme(image) === 'oci';
  const { options, problems } = containerOptionsOf({
    schema_version: SCHEMA_VERSION,
    image,
    ...access.members,
    ...(!isContainer && { isolate_network: false }),
    ...(volumes.length > 0 && {
      volumes: volumes.map((each) => `${each.hostPath}:${each.mountPath}${each.readOnly === true ? ':ro' : ''}`),
    }),
  });
  const report = scope.on(server);
  for (const { reason, path, message } of problems) {
    const [field, text] = placeOf(path, message, access.document);
    report.problem(reason, field, text);
  }
  return options && Object.keys(options).length > 0 ? options : undefined;
}

/** Without a profile, and with the built-in `network`, a container has the default network of its engine. */
const OPEN: Access = { members: { isolate_network: false } };

function accessOf(
  server: MCPServer,
  { type = 'builtin', name, key = '' }: NonNullable<MCPServer['spec']['permissionProfile']>,
  scope: ObjectScope,
): Access | undefined {
  if (type === 'builtin') return name === 'network' ? OPEN : { members: { permission_profile_name_or_path: name } };
  const text = scope.snapshot.configMaps.get(name)?.data[key];
  if (text === undefined) return undefined; // its reference is reported
  const document = documentName(name, key);
  const read = parseConfigMapDocument(ClosedPermissionProfile, text);
  if ('problems' in read) {
    for (const message of read.problems) {
      scope.on(server).problem('InvalidPermissionProfile', PROFILE, `${document}: ${message}`);
    }
    return undefined;
  }
  const { config } = read;
  const mode = config.network?.mode ?? '';
  const isIsolated = config.privileged !== true && ['', 'bridge', 'default', 'none'].includes(mode);
  return { members: { permission_profile: config, isolate_network: isIsolated }, document };
}

/** Converts a path in the run configuration to the field of the MCPServer, and the message with it. */
function placeOf(path: string, message: string, document = ''): readonly [field: string, message: string] {
  const [, inProfile] = /^permission_profile\.(.*)$/u.exec(path) ?? [];
  if (inProfile !== undefined) return [PROFILE, `${document}: ${inProfile}: ${message}`];
  if (path === 'permission_profile') return [PROFILE, `${document}: ${message}`];
  return path === 'permission_profile_name_or_path' ? [`${PROFILE}.name`, message] : [`spec.${path}`, message];
}
