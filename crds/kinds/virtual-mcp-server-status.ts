import { Type } from 'typebox';
import { Closed } from '../../gateway/contract/fields.ts';
import { ATOMIC, mapBy, text, textMap, whole } from '../../gateway/contract/optional.ts';
import { statusFields } from './kind.ts';

const count = (description: string) => whole(description, { format: 'int32' });

const discoveredBackends = Type.Optional(
  Type.Array(
    Closed({
      name: Type.String({ description: 'Name of the backend.' }),
      url: text('Where it is spoken to.'),
      status: Type.Optional(
        Type.Enum(['ready', 'degraded', 'unavailable', 'unauthenticated', 'unknown'], { description: 'Its health.' }),
      ),
      authType: text('Strategy that is used towards it.'),
      authConfigRef: text('MCPExternalAuthConfig that is used towards it.'),
      mcpRevision: text('Protocol revision that it speaks.'),
      lastHealthCheck: text('When it was last probed.', { format: 'date-time' }),
      message: text('Why it is not ready.'),
      circuitBreakerState: Type.Optional(
        Type.Enum(['closed', 'open', 'half-open'], { description: 'State of its circuit breaker.' }),
      ),
      circuitLastChanged: text('When that state last changed.', { format: 'date-time' }),
      consecutiveFailures: count('Failed probes in a row.'),
    }),
    { description: 'Backends as the gateway sees them. Written by the gateway.', ...mapBy('name') },
  ),
);

const runtimeProblems = Type.Optional(
  Type.Array(
    Closed({
      reason: Type.String({ description: 'CamelCase word for what is wrong.' }),
      path: text('Field that it is about.'),
      message: Type.String({ description: 'One sentence that says what to do.' }),
    }),
    { description: 'What only the running gateway can find out. Written by the gateway.', ...ATOMIC },
  ),
);

/** Conditions, phase and url are the operator's; what its descriptions name otherwise is the gateway's. */
export const virtualMCPServerStatus = Closed(
  {
    ...statusFields,
    phase: Type.Optional(
      Type.Enum(['Pending', 'Ready', 'Degraded', 'Failed'], { default: 'Pending', description: 'Summary.' }),
    ),
    message: text('Why the phase is what it is.'),
    url: text('MCP endpoint inside the cluster.'),
    backendCount: count('Backends that calls are routed to. Written by the gateway.'),
    discoveredBackends,
    runtimeProblems,
    oidcConfigHash: text('Digest of the MCPOIDCConfig in use.'),
    authzConfigHash: text('Digest of the policies in use.'),
    telemetryConfigHash: text('Digest of the telemetry configuration in use.'),
    externalAuthHashes: textMap('Digest of the MCPExternalAuthConfig in use, by backend.'),
    secretHash: text('Digest of the versions of the Secrets in use.'),
  },
  { description: 'What is running.' },
);
