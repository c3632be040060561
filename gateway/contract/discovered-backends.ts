import { Type, type Static } from 'typebox';
import { Closed } from './fields.ts';
import { Aggregation } from './aggregation/aggregation.ts';
import { Vmcp } from './gateway-config.ts';
import { SCHEMA_VERSION } from './run-config/run-config.ts';

/** Key of the ConfigMap that holds the document. */
export const DISCOVERED_BACKENDS_KEY = 'backends.json';

/** Backends of a gateway, in a document of their own because they change at run time. */
export const DiscoveredBackends = Closed(
  {
    schema_version: Type.Enum([SCHEMA_VERSION], { description: 'Version of this document.' }),
    backends: Vmcp.properties.backends,
    outgoing_auth: Vmcp.properties.outgoing_auth,
    backend_tools: Aggregation.properties.backend_tools,
  },
  {
    description:
      'Stands for `vmcp.backends`, `vmcp.outgoing_auth` and `vmcp.aggregation.backend_tools` of a configuration with `vmcp.cluster`.',
  },
);

export type DiscoveredBackends = Static<typeof DiscoveredBackends>;
