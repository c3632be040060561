import type { OutboundError, OutboundFault } from '../../../outbound/outbound-error.ts';
import { ProxyError } from '../../../outbound/proxy/proxy-error.ts';
import { HOST_PROBLEMS, INSECURE, isLoopbackUrl } from './client-id-url.ts';

/** Part of the way to a document that prevents its use. */
export type DocumentFault =
  | 'client_id' // no URL that may be fetched
  | 'denied_host'
  | 'other_host' // not in the list of allowed hosts
  | 'loopback_address'
  | 'private_address'
  | 'forbidden_address' // of the kinds that are never called
  | 'proxy'
  | 'unreachable'
  | 'document'; // what the host answers

/** Returns the fault of a client id that `checkClientIdUrl` rejects. */
export function faultOfClientId(clientId: string, problem: string): DocumentFault {
  if (problem === HOST_PROBLEMS.denied) return 'denied_host';
  if (problem === HOST_PROBLEMS.other) return 'other_host';
  return problem === INSECURE && isLoopbackUrl(clientId) ? 'loopback_address' : 'client_id';
}

/** Faults of the network. A host that the guard refuses says nothing about the network. */
const OF_NETWORK: ReadonlySet<OutboundFault> = new Set(['unreachable', 'timeout']);

/** Returns true when the request has not reached the host. */
export const isOfNetwork = ({ kind }: OutboundError): boolean => OF_NETWORK.has(kind);

export function faultOfRequest(error: OutboundError): DocumentFault {
  if (error instanceof ProxyError) return 'proxy';
  if (isOfNetwork(error)) return 'unreachable';
  if (error.kind !== 'refused') return 'document';
  switch (error.refusal) {
    case 'PrivateAddress':
      return 'private_address';
    case 'LoopbackAddress':
      return 'loopback_address';
    default:
      return 'forbidden_address';
  }
}
