import { Type } from 'typebox';
import { Closed } from '../../../gateway/contract/fields.ts';
import { ATOMIC, block, text, textMap, texts, whole } from '../../../gateway/contract/optional.ts';
import { rule, type Rule } from '../../../gateway/contract/rule.ts';

/** Longest label value and name of a listener. */
const NAME = { minLength: 1, maxLength: 253 };
/** Time as the Gateway API writes it. */
const GATEWAY_DURATION = { pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$', maxLength: 32 };
const HOSTNAME = '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const NETWORK = '^[0-9a-fA-F:.]+/[0-9]{1,3}$';

const metadata = {
  annotations: textMap('Additional annotations.', { maxProperties: 64 }),
  labels: textMap('Additional labels.', { maxProperties: 64 }),
};

const parentRefs = Type.Array(
  Closed({
    kind: Type.Optional(
      Type.Enum(['Gateway', 'ListenerSet'], { default: 'Gateway', description: 'Kind of the parent.' }),
    ),
    name: Type.String({ ...NAME, description: 'Name of the parent.' }),
    namespace: text('Namespace of the parent. Defaults to that of this resource.', { minLength: 1, maxLength: 63 }),
    sectionName: text('Listener of the parent. Defaults to every listener that accepts the route.', NAME),
    port: whole('Port of the listeners.', { minimum: 1, maximum: 65535, format: 'int32' }),
  }),
  { minItems: 1, maxItems: 32, description: 'Gateways that the route belongs to.', ...ATOMIC },
);

const route = block(
  'HTTPRoute of the Gateway API that the operator creates: it leads the public paths of this server, and no others, to its Service. The cluster must serve gateway.networking.k8s.io/v1.',
  {
    parentRefs,
    hostnames: texts(
      'Host names of the route. Defaults to those of the listeners.',
      { maxItems: 16, ...ATOMIC },
      { pattern: HOSTNAME, minLength: 1, maxLength: 253 },
    ),
    timeouts: block(
      'Timeouts of the MCP endpoint, whose responses can be endless streams. Defaults to `request: 0s`, which means no timeout. Set `{}` for a controller that rejects timeouts.',
      {
        request: text('Time for a whole request; `0s` for no limit.', GATEWAY_DURATION),
        backendRequest: text('Time for one request to the Service; `0s` for no limit.', GATEWAY_DURATION),
      },
    ),
    ...metadata,
  },
);

const service = block('Additions to the Service.', {
  ...metadata,
  loadBalancerClass: text(
    'Implementation of the load balancer, such as `service.k8s.aws/nlb`. Kubernetes accepts no change while the type is LoadBalancer.',
    { minLength: 1, maxLength: 253 },
  ),
  loadBalancerSourceRanges: texts(
    'Networks that may reach the load balancer.',
    { maxItems: 64, ...ATOMIC },
    { pattern: NETWORK, maxLength: 64 },
  ),
  externalTrafficPolicy: Type.Optional(
    Type.Enum(['Cluster', 'Local'], {
      description: '`Local` keeps the addresses of clients: only nodes with a pod of this server answer.',
    }),
  ),
});

/** Fields about the way of clients to the pods. */
export const exposureFields = {
  serviceType: Type.Optional(
    Type.Enum(['ClusterIP', 'NodePort', 'LoadBalancer'], { default: 'ClusterIP', description: 'Type of the Service.' }),
  ),
  sessionAffinity: Type.Optional(
    Type.Enum(['ClientIP', 'None'], { default: 'ClientIP', description: 'Session affinity of the Service.' }),
  ),
  endpointPrefix: text(
    'Path in front of `/mcp` in the URL of clients: `/team` for `https://example.com/team/mcp`. A proxy may keep or remove it. Defaults to that of the resource URL.',
    { pattern: '^(/[A-Za-z0-9._~-]+)+/?$', maxLength: 253 },
  ),
  resourceOverrides: block('Additions to the objects that the operator creates.', { service }),
  route,
};

interface Spec {
  readonly serviceType?: string;
  readonly endpointPrefix?: string;
  readonly resourceOverrides?: { readonly service?: Readonly<Record<string, unknown>> };
}

const hasMember = ({ resourceOverrides }: Spec, member: string): boolean =>
  resourceOverrides?.service?.[member] !== undefined;

/** Requires a type of Service that reads the field. The API server rejects the Service otherwise. */
const ofService = (member: string, types: readonly string[]): Rule => {
  const set = `has(self.resourceOverrides) && has(self.resourceOverrides.service) && has(self.resourceOverrides.service.${member})`;
  return rule<Spec>('', {
    field: `resourceOverrides.service.${member}`,
    rule: `!(${set}) || self.serviceType in [${types.map((type) => `'${type}'`).join(', ')}]`,
    message: `${member} needs serviceType ${types.join(' or ')}`,
    check: (self) => !hasMember(self, member) || types.includes(self.serviceType ?? 'ClusterIP'),
  });
};

export const exposureRules: Rule[] = [
  ofService('loadBalancerClass', ['LoadBalancer']),
  ofService('loadBalancerSourceRanges', ['LoadBalancer']),
  ofService('externalTrafficPolicy', ['LoadBalancer', 'NodePort']),
  rule<Spec>('', {
    field: 'endpointPrefix',
    rule: "!has(self.endpointPrefix) || !(self.endpointPrefix + '/').startsWith('/.well-known/')",
    message: 'paths below /.well-known/ belong to the whole host: choose another prefix',
    check: ({ endpointPrefix }) => endpointPrefix === undefined || !`${endpointPrefix}/`.startsWith('/.well-known/'),
  }),
];
