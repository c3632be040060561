import { randomUUID } from 'node:crypto';

const CONNECTION_ID = /^([0-9a-z]{8})-[0-9a-f-]{36}$/u;

/**
 * Returns the id of a connection of HTTP+SSE (2024-11-05), and of its session. It names the replica with the connection,
 * so that every other one finds it, and differs from all ids of sessions of streamable HTTP.
 */
export const newConnectionId = (replica: string): string => `${replica}-${randomUUID()}`;

/** Returns the replica with a connection; undefined for any other id. */
export const replicaOfConnection = (id: string): string | undefined => CONNECTION_ID.exec(id)?.[1];
