import { Type } from 'typebox';

/** Path prefix of the MCP registry protocol. */
export const PROTOCOL_BASE = '/registry/{registryName}/v0.1';

/** Parameter of `PROTOCOL_BASE`. */
export const registryName = Type.String({ description: 'Any name: there is one registry.' });

/** Vendor segment of the paths of skills. */
export const ext = Type.String({ description: 'Namespace of the vendor: any name, such as `dev.vmcp`.' });
