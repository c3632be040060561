import { randomInt } from 'node:crypto';

/** Length of the names of replicas, which consist of lower-case letters and digits. */
const LENGTH = 8;
/** Different names. With the numbers of requests they fit into integers that every JSON parser reads exactly. */
const NAMES = 2 ** 32;
/** Different numbers of requests of a session at one replica. */
const REQUESTS = 2 ** 21;

/** Returns a random name for a replica. */
export const newReplicaName = (): string => nameOf(randomInt(1, NAMES));

const nameOf = (number: number): string => number.toString(36).padStart(LENGTH, '0');

/**
 * Returns the id of request `number` to a client. It contains the replica, so that the client's answer finds it from every other
 * one. An integer, because some clients answer `0` to any other id.
 */
export const requestIdOf = (replica: string | undefined, number: number): number =>
  (replica === undefined ? 0 : Number.parseInt(replica, 36) * REQUESTS) + (number % REQUESTS);

/** Returns the replica whose request has this id; undefined for an id without a replica, such as 0. */
export const replicaOfRequest = (id: number): string | undefined =>
  id < REQUESTS ? undefined : nameOf(Math.floor(id / REQUESTS));
